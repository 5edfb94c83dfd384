-- When an organization in the state deleting is erased, zero in other states; and
-- when it was. An erased one keeps its row without a name, so that its number is
-- not used again: see docs/decisions/0031.

-- +goose Up
alter table organizations add column erase_at bigint not null default 0;
alter table organizations add column erased_at bigint not null default 0;

-- +goose Down
alter table organizations drop column erased_at;
alter table organizations drop column erase_at;
