-- Whoever looks at a stored file that has no row asks which operations are under
-- way. They are few, and the ended ones of 31 days are many.

-- +goose Up
create index operations_open on operations (organization) where finished_at = 0;

-- +goose Down
drop index operations_open;
