-- A stored answer is erased with the record that it shows or names. Its row
-- stays until its day is over, so that a repeated call is not run again.
-- record is empty in rows of an earlier release that name none.

-- +goose Up
alter table idempotency add column record text not null default '';
alter table idempotency add column erased boolean not null default false;
update idempotency set record = substr(location, length(location) - 29) where length(location) > 30;
create index idempotency_record on idempotency (organization, record);

-- +goose Down
drop index idempotency_record;
alter table idempotency drop column erased;
alter table idempotency drop column record;
