-- On PostgreSQL long values lie apart from the row, and its key in an index.

-- +goose Up
select 1;

-- +goose Down
select 1;
