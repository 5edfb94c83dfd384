-- Who is calling: organizations, their clocks, principals and API keys. These
-- tables are small and instance-wide (reference tables where the rest is
-- spread by organization), so they are not led by the organization.

-- +goose Up
create table organizations (
	number           bigint  not null primary key,
	id               text    not null unique,
	name             text    not null,
	-- The number of the live organization beside which this sandbox stands.
	sandbox_of       bigint  unique references organizations (number),
	module_on        boolean not null,
	secrecy_declared boolean not null,
	level            text    not null check (level in ('off', 'read', 'on')),
	state            text    not null check (state in ('open', 'closed', 'deleting')),
	created_at       bigint  not null
);

create table clocks (
	organization bigint not null primary key,
	tick         bigint not null
);

create table principals (
	id           text    not null primary key,
	kind         text    not null check (kind in ('user', 'serviceAccount')),
	-- Always a live organization; its sandbox has the same principals.
	organization bigint  not null references organizations (number),
	name         text    not null,
	-- Null for service accounts.
	email        text,
	-- The address in lower case: one address signs in one user.
	email_folded text    unique,
	role         text    not null check (role in ('admin', 'member', 'viewer')),
	-- A JSON object from family to none, read or write, that narrows the role.
	rights       text    not null,
	disabled     boolean not null,
	created_at   bigint  not null
);
create index principals_organization on principals (organization, kind, id);

create table api_keys (
	kid          text    not null primary key,
	id           text    not null unique,
	-- A live organization for live keys, its sandbox for test keys.
	organization bigint  not null references organizations (number),
	principal_id text    not null references principals (id),
	name         text    not null,
	environment  text    not null check (environment in ('test', 'live')),
	-- SHA-256 of the secret in hex; the secret itself is kept nowhere.
	secret_hash  text    not null,
	-- JSON arrays of strings.
	scopes       text    not null,
	networks     text    not null,
	version_pin  text    not null,
	expires_at   bigint  not null,
	paused       boolean not null,
	-- Zero while the key is not revoked; zero where it was never used.
	revoked_at   bigint  not null,
	created_at   bigint  not null,
	last_used_at bigint  not null
);
create index api_keys_organization on api_keys (organization, id);

-- One row for everything that replicas keep in memory; whoever changes it
-- adds one, and who finds another number forgets what it kept.
create table generations (
	name   text   not null primary key,
	number bigint not null
);
insert into generations (name, number) values ('access', 1);

-- What an operator switches for the whole instance, such as the pause.
create table settings (
	name  text not null primary key,
	value text not null
);

-- +goose Down
drop table settings;
drop table generations;
drop table api_keys;
drop table principals;
drop table clocks;
drop table organizations;
