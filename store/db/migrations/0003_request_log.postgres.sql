-- Every call of the API, kept 30 days. Organization 0 holds the calls of
-- credentials that belong to nobody. The primary key leads to the newest calls
-- of an organization, the first index to those of a key, the second to the
-- refused and failed ones, which are few and asked for most.

-- +goose Up
create table request_log (
	organization bigint not null,
	-- When the call was taken, in microseconds.
	at           bigint not null,
	request_id   text   collate "C" not null,
	key_id       text   not null,
	-- The first 8 characters of the kid, also of keys that do not exist.
	kid_short    text   not null,
	principal_id text   not null,
	operation    text   not null,
	method       text   not null,
	status       bigint not null,
	refused      boolean not null generated always as (status >= 400) stored,
	-- The problem's code, empty where the call succeeded.
	code         text   not null,
	-- In microseconds.
	duration     bigint not null,
	address      text   not null,
	-- Why the credential was refused; never sent to the caller.
	reason       text   not null,
	primary key (organization, at, request_id)
);
create index request_log_key on request_log (organization, kid_short, at, request_id);
create index request_log_refused on request_log (organization, refused, at, request_id) where refused = true;

-- +goose Down
drop table request_log;
