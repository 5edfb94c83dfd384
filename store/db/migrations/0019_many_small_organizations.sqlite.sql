-- For PostgreSQL's planner alone: on SQLite statements name their index.

-- +goose Up
select 1;

-- +goose Down
select 1;
