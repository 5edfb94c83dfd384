-- Whoever looks at a stored file that has no row asks which operations are under
-- way. They are few, and the ended ones of 31 days are many.
--
-- Sessions are ended by one job for all of an organization's that end within the
-- same hour, in the order of their ends. A row stays three hours longer, since
-- bytes may come until then; ended says that the first removal is done.

-- +goose Up
create index operations_open on operations (organization) where finished_at = 0;
alter table uploads add column ended boolean not null default false;
create index uploads_expires_at on uploads (organization, expires_at);

-- +goose Down
drop index uploads_expires_at;
alter table uploads drop column ended;
drop index operations_open;
