-- The Request-Id of the batch that a call was a part of, empty for others.

-- +goose Up
alter table request_log add column batch text not null default '';

-- +goose Down
alter table request_log drop column batch;
