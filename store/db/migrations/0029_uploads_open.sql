-- What an organization has announced and made no document of yet is summed up
-- with each new upload; the index holds just these, and all that is asked.

-- +goose Up
create index uploads_open on uploads (organization, expires_at, size) where operation = '';

-- +goose Down
drop index uploads_open;
