-- The address of an upload session takes a file as long as the key that opened
-- the session may upload, so the session remembers its key.

-- +goose Up
alter table uploads add column key_id text not null default '';

-- +goose Down
alter table uploads drop column key_id;
