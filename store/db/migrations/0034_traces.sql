-- What a traced call leaves behind for what follows from it: the traceparent
-- (W3C Trace Context) under which jobs and deliveries go on. Null for all that
-- is not traced, which is nearly everything. It holds random numbers only.

-- +goose Up
alter table jobs add column trace text;
alter table events add column trace text;
alter table webhook_deliveries add column trace text;

-- +goose Down
alter table webhook_deliveries drop column trace;
alter table events drop column trace;
alter table jobs drop column trace;
