-- The log of an endpoint by event and by result, each in the order in which it
-- is shown; what failed is sent again in that order too.

-- +goose Up
drop index webhook_attempts_event;
drop index webhook_attempts_failed;
create index webhook_attempts_event on webhook_attempts (organization, endpoint, event_id, id);
create index webhook_attempts_failed on webhook_attempts (organization, endpoint, id) where status = 'failed';

-- +goose Down
drop index webhook_attempts_failed;
drop index webhook_attempts_event;
create index webhook_attempts_event on webhook_attempts (organization, endpoint, event_id);
create index webhook_attempts_failed on webhook_attempts (organization, endpoint, attempted_at) where status = 'failed';
