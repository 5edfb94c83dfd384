-- The key by which an endpoint was made, so that whoever revokes a stolen one
-- finds what it left behind. It is empty for endpoints of before.

-- +goose Up
alter table webhook_endpoints add column key_id text not null default '';

-- +goose Down
alter table webhook_endpoints drop column key_id;
