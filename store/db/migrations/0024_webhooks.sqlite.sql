-- Where events are sent, which are on their way, and what came of each attempt.
-- The event log is the outbox: behind its cursor an endpoint's deliveries are
-- yet to be made. See package webhook.

-- +goose Up
create table webhook_endpoints (
	organization     bigint not null,
	id               text   not null,
	-- The principal that made it; nobody else sees it.
	principal        text   not null,
	name             text   not null,
	url              text   not null,
	-- A JSON array of strings.
	event_types      text   not null,
	-- active, failing or disabled.
	status           text   not null,
	-- gone, no_success, or empty.
	disabled_reason  text   not null,
	-- Sealed (masterkey.Vault); the previous one is empty where there is none.
	secret           text   not null,
	previous_secret  text   not null,
	-- Until when the previous one signs too; zero where there is none.
	previous_until   bigint not null,
	-- Grows, and updated_at with it, when the owner or the status changes
	-- anything; not with the times and counts of attempts.
	revision         bigint not null,
	created_at       bigint not null,
	updated_at       bigint not null,
	-- A tick: of the events behind it deliveries are yet to be made.
	cursor           bigint not null,
	-- When the first of its deliveries is due; zero where there is none.
	due_at           bigint not null,
	-- The first failed attempt since the last success, and how many there were.
	failed_since     bigint not null,
	failures         bigint not null,
	-- Zero is never.
	last_success_at  bigint not null,
	last_failure_at  bigint not null,
	-- A tick: all that was never tried when the endpoint was last disabled is
	-- behind it. Zero where it never was.
	missed_since     bigint not null,
	primary key (organization, id)
);
create index webhook_endpoints_principal on webhook_endpoints (organization, principal, id);
create index webhook_endpoints_due on webhook_endpoints (due_at) where due_at > 0;

-- Deliveries that wait or run. With the row of its last attempt a delivery is
-- deleted.
create table webhook_deliveries (
	organization bigint not null,
	endpoint     text   not null,
	event_id     text   not null,
	-- The event, so that it needs not be looked for.
	tick         bigint not null,
	type         text   not null,
	object       text   not null,
	record_id    text   not null,
	-- Those that were made.
	attempts     bigint not null,
	-- When the next is made; of a running one, when another may take it.
	due_at       bigint not null,
	-- Grows with each taking: only whoever has the last settles it.
	claim        bigint not null,
	created_at   bigint not null,
	primary key (organization, endpoint, event_id)
);
create index webhook_deliveries_due on webhook_deliveries (organization, endpoint, due_at);

-- The delivery log, kept 30 days; never a byte of what a receiver answered.
create table webhook_attempts (
	organization    bigint not null,
	id              text   not null,
	endpoint        text   not null,
	event_id        text   not null,
	event_type      text   not null,
	-- 1 to 10.
	attempt         bigint not null,
	-- succeeded or failed.
	status          text   not null,
	-- Zero where nothing was answered.
	response_status bigint not null,
	-- In milliseconds.
	response_ms     bigint not null,
	-- Empty where the attempt succeeded.
	error_code      text   not null,
	attempted_at    bigint not null,
	-- Zero where no other follows.
	next_attempt_at bigint not null,
	primary key (organization, id)
);
create index webhook_attempts_endpoint on webhook_attempts (organization, endpoint, id);
create index webhook_attempts_event on webhook_attempts (organization, endpoint, event_id);
create index webhook_attempts_failed on webhook_attempts (organization, endpoint, attempted_at) where status = 'failed';
create index webhook_attempts_age on webhook_attempts (organization, attempted_at);

-- +goose Down
drop table webhook_attempts;
drop table webhook_deliveries;
drop table webhook_endpoints;
