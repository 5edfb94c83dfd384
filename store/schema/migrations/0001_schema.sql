-- The schema of both engines. README.md says how to change it.
--
-- Types are text, bigint and boolean. Times are microseconds since 1970, and 0
-- means never. A tick is a time that is unique in its organization (table clocks).
-- Text between /*postgres: and */ or /*sqlite: and */ is for one engine alone.
--
-- On PostgreSQL:
--   collate "C" orders a text by its bytes, as SQLite does. A column has it if a
--     statement sorts by it or compares a range.
--   n_distinct tells the planner how many values to believe in. It plans a
--     statement once for all organizations: see docs/decisions/0025.

-- +goose Up


------------------------------------------------------------ Who is calling ----
-- These tables are small and belong to the instance: they are not spread over a
-- cluster (schema.Whole), and the organization does not lead their keys.

-- A live organization, or the sandbox beside one. An erased organization keeps
-- its row without a name, so that its number is not used again: docs/decisions/0031.
create table organizations (
	number           bigint  not null primary key,
	id               text    not null unique,
	name             text    not null,
	-- The number of the live organization. Null for a live one.
	sandbox_of       bigint  unique references organizations (number),
	module_on        boolean not null,
	secrecy_declared boolean not null,
	level            text    not null check (level in ('off', 'read', 'on')),
	state            text    not null check (state in ('open', 'closed', 'deleting')),
	created_at       bigint  not null,
	-- The date of the erasure while the state is deleting.
	erase_at         bigint  not null default 0,
	-- When the rows and files were erased.
	erased_at        bigint  not null default 0,
	-- ISO 3166-1 alpha-2.
	country          text    not null default 'DE',
	-- When the declaration of secrecy was made or withdrawn, and by whom. Empty for
	-- the operator.
	secrecy_at       bigint  not null default 0,
	secrecy_by       text    not null default '',
	-- From when on people need a second factor. Zero if none is required. That of a
	-- sandbox is its organization's.
	second_factor_from bigint not null default 0,
	-- Whether passwords sign in to the organization, and the one admin who may in any
	-- case, empty for nobody. Without an OpenID provider it has no effect.
	passwords_off      boolean not null default false,
	password_admin     text    not null default '',
	-- Which applications people may connect: none, those that an admin approved, or all.
	-- That of a sandbox is its organization's.
	applications       text    not null default 'known' check (applications in ('off', 'known', 'all'))
);

-- How people sign in: an address with its password and its second factors. One
-- account may be a person in several organizations.
create table accounts (
	id                  text   not null primary key,
	email               text   not null,
	-- The address in lower case. Only the person changes it.
	email_folded        text   not null unique,
	-- Argon2id in the PHC string format. Empty without a password.
	password            text   not null default '',
	password_changed_at bigint not null default 0,
	-- The secret of the generator of codes (TOTP), sealed under the master key.
	-- Empty without one.
	totp_secret         text   not null default '',
	-- The step of the last used code: none is used twice.
	totp_step           bigint not null default 0,
	totp_since          bigint not null default 0,
	created_at          bigint not null,
	-- True as long as nobody has shown that the address is theirs: an admin passed the link
	-- of the invitation on. A mailed link ends that.
	unconfirmed         boolean not null default false,
	-- True from the first sign-in on. Devices and sessions are forgotten after 90 days.
	signed_in           boolean not null default false
);

-- Codes that replace a second factor, once each.
create table recovery_codes (
	account_id text not null references accounts (id) on delete cascade,
	-- SHA-256 of the code in hex.
	code_hash  text not null,
	primary key (account_id, code_hash)
);

create table passkeys (
	id            text   not null primary key,
	account_id    text   not null references accounts (id) on delete cascade,
	-- The id that the device gave, in base64url.
	credential_id text   not null unique,
	-- The public key and the counter, as the library of WebAuthn writes them.
	credential    text   not null,
	name          text   not null,
	created_at    bigint not null,
	last_used_at  bigint not null
);
create index passkeys_account on passkeys (account_id, id);

-- Who an account is at an OpenID provider (single sign-on). An identity signs in to
-- one account, and an account has one identity at a provider.
create table identities (
	id           text   not null primary key,
	account_id   text   not null references accounts (id) on delete cascade,
	-- The iss and sub of its ID tokens.
	issuer       text   not null,
	subject      text   not null,
	-- The address that the provider named last, for people to recognise it.
	label        text   not null,
	created_at   bigint not null,
	last_used_at bigint not null,
	unique (issuer, subject),
	unique (account_id, issuer)
);

-- What is begun and not ended: a sign-in before its second factor, a ceremony of a
-- passkey, a mailed link. Each serves once.
create table sign_in_tickets (
	-- SHA-256 of the token in hex.
	token_hash text   not null primary key,
	kind       text   not null,
	-- Null where nobody is known yet, and for an address that is nobody's.
	account_id text   references accounts (id) on delete cascade,
	-- A JSON object that belongs to the kind.
	data       text   not null,
	expires_at bigint not null
);
create index sign_in_tickets_account on sign_in_tickets (account_id);
create index sign_in_tickets_expires_at on sign_in_tickets (expires_at);

-- Guesses of passwords and codes, and mails that strangers cause.
create table sign_in_attempts (
	-- SHA-256 of what is counted, in hex, without a key: it can be compared with a list of addresses.
	subject    text   not null primary key,
	count      bigint not null,
	since      bigint not null,
	-- No attempt before.
	next_at    bigint not null,
	expires_at bigint not null
);
create index sign_in_attempts_expires_at on sign_in_attempts (expires_at);

-- Where accounts signed in lately: a row for each browser of an account and each network
-- from which it signed in. Guesses of strangers keep nobody out there.
create table devices (
	-- SHA-256 of the token in hex. The token itself is in a cookie of the browser alone.
	token_hash text   not null,
	-- SHA-256 of the network in hex, as in sign_in_attempts.
	network    text   not null,
	account_id text   not null references accounts (id) on delete cascade,
	created_at bigint not null,
	-- The last sign-in.
	seen_at    bigint not null,
	primary key (token_hash, network)
);
create index devices_account on devices (account_id, seen_at);
create index devices_network on devices (network, seen_at);
create index devices_seen_at on devices (seen_at);

-- Users and service accounts.
create table principals (
	id           text    not null primary key,
	kind         text    not null check (kind in ('user', 'serviceAccount')),
	-- A live organization. Its sandbox has the same principals.
	organization bigint  not null references organizations (number),
	name         text    not null,
	-- Null for a service account.
	email        text,
	-- The address in lower case.
	email_folded text,
	-- The account that signs in as this person. Null until the person has accepted
	-- an invitation, and for a service account.
	account_id   text    references accounts (id),
	role         text    not null check (role in ('admin', 'member', 'viewer')),
	-- A JSON object from a family to none, read or write. It narrows the role.
	rights       text    not null,
	disabled     boolean not null,
	created_at   bigint  not null,
	language     text    not null default 'de',
	-- A JSON object: how the person wants the pages to be.
	preferences  text    not null default '{}',
	-- When a person was erased. The row stays without name and address, since
	-- records name its id.
	erased_at    bigint  not null default 0
);
-- The people of an organization, for lists and for what concerns all of them.
create index principals_organization on principals (organization, kind, id);
-- Messages reach one person of an organization by an address.
create unique index principals_email on principals (organization, email_folded);
-- The persons of an account.
create unique index principals_account on principals (account_id, organization);

-- Sign-ins of people with a browser. An ended one keeps its row until it expires,
-- so that the refusals of its browser have a reason in the request log.
create table sessions (
	id           text    not null primary key,
	-- SHA-256 of the token in hex. The token itself is stored nowhere.
	token_hash   text    not null unique,
	account_id   text    not null references accounts (id),
	-- The person of the account, and their live organization. The same token also
	-- opens its sandbox.
	organization bigint  not null references organizations (number),
	principal_id text    not null references principals (id),
	created_at   bigint  not null,
	-- How the person signed in: password, passkey or sso.
	method       text    not null,
	-- The last call, to the minute.
	last_seen_at bigint  not null,
	-- The end at the latest, and the time without a call after which it ends.
	expires_at   bigint  not null,
	idle         bigint  not null,
	-- Until when the sign-in counts as recent.
	fresh_until  bigint  not null,
	ended_at     bigint  not null default 0,
	-- What the person sees in the list of their sessions: the address and the
	-- browser of the sign-in.
	address      text    not null,
	agent        text    not null,
	-- The token_hash of its browser in devices. Empty without one.
	device       text    not null default ''
);
-- Retention.
create index sessions_expires_at on sessions (organization, expires_at);
-- The sessions of somebody who changes their password.
create index sessions_account on sessions (account_id, expires_at);
-- The sessions of somebody who is erased.
create index sessions_principal on sessions (principal_id);

create table api_keys (
	kid           text    not null primary key,
	id            text    not null unique,
	-- A live organization for a live key, its sandbox for a test key.
	organization  bigint  not null references organizations (number),
	principal_id  text    not null references principals (id),
	name          text    not null,
	environment   text    not null check (environment in ('test', 'live')),
	-- SHA-256 of the secret in hex. The secret itself is stored nowhere.
	secret_hash   text    not null,
	-- JSON arrays of strings.
	scopes        text    not null,
	networks      text    not null,
	version_pin   text    not null,
	expires_at    bigint  not null,
	paused        boolean not null,
	revoked_at    bigint  not null,
	created_at    bigint  not null,
	last_used_at  bigint  not null,
	-- Who has seen the secret: the principal who made the key or last rotated it, empty
	-- for the operator.
	made_by       text    not null default '',
	-- The values before the last rotation. They tell a client that still uses the
	-- old secret from one that guesses.
	previous_kid  text,
	previous_hash text
);
create index api_keys_organization on api_keys (organization, id);
create index api_keys_previous_kid on api_keys (previous_kid);
-- The keys of somebody who is erased.
create index api_keys_principal on api_keys (principal_id);

-- The applications that act for principals by OAuth 2.1.
create table oauth_clients (
	id            text    not null primary key,
	-- How it became known: an admin made it, it registered itself (RFC 7591), or its
	-- client_id is the address of a document that describes it.
	kind          text    not null check (kind in ('admin', 'registered', 'document')),
	-- The name by which it calls itself: the id, or the address of its document.
	client_id     text    not null unique,
	name          text    not null,
	-- A JSON array of strings.
	redirect_uris text    not null,
	-- none, client_secret_basic or client_secret_post.
	auth_method   text    not null,
	-- SHA-256 of the secret in hex. Empty for a client without one.
	secret_hash   text    not null default '',
	-- The service account that a client of an admin acts for, and its organization: a
	-- live one or its sandbox. Null for others, which people let in.
	organization  bigint  references organizations (number),
	principal_id  text    references principals (id),
	-- A JSON array: what a client of an admin may ask for.
	scopes        text    not null default '[]',
	disabled      boolean not null default false,
	created_at    bigint  not null,
	-- When a grant of it was last made.
	last_used_at  bigint  not null,
	-- How long its document need not be read again, and SHA-256 of the document in hex.
	fresh_until   bigint  not null default 0,
	document_hash text    not null default ''
);
create index oauth_clients_organization on oauth_clients (organization, id);
-- The clients that no admin made and that nobody uses.
create index oauth_clients_unused on oauth_clients (kind, last_used_at);

-- What a principal lets an application do.
create table oauth_grants (
	id           text    not null primary key,
	client_id    text    not null references oauth_clients (id),
	-- A live organization or its sandbox.
	organization bigint  not null references organizations (number),
	principal_id text    not null references principals (id),
	-- A JSON array of strings.
	scopes       text    not null,
	-- The resource that its tokens are good at: v1 or mcp.
	audience     text    not null check (audience in ('v1', 'mcp')),
	created_at   bigint  not null,
	-- The end at the latest, or the end itself.
	expires_at   bigint  not null,
	ended_at     bigint  not null default 0,
	paused       boolean not null default false,
	last_used_at bigint  not null default 0,
	-- How long it lasts unless the person renews it, in microseconds: zero if nobody has
	-- to. When the person was told that it ends soon, zero before.
	renewal      bigint  not null default 0,
	warned_at    bigint  not null default 0
);
-- The grants of somebody who leaves, or of an application.
create index oauth_grants_principal on oauth_grants (principal_id, client_id);
create index oauth_grants_client on oauth_grants (client_id);
-- Retention, and the list of an organization.
create index oauth_grants_expires_at on oauth_grants (organization, expires_at);
-- The grants whose time is over, whose endpoints are still to be disabled.
create index oauth_grants_unended on oauth_grants (expires_at) where ended_at = 0;

-- The grants that somebody has to renew.
create index oauth_grants_renewal on oauth_grants (expires_at) where renewal > 0 and warned_at = 0 and ended_at = 0;

-- Codes, access tokens and refresh tokens. A used refresh token stays as long as its
-- grant, so that its second use is recognized.
create table oauth_tokens (
	kid          text   not null primary key,
	kind         text   not null check (kind in ('code', 'access', 'refresh')),
	organization bigint not null,
	grant_id     text   not null references oauth_grants (id) on delete cascade,
	-- SHA-256 of the secret in hex. The secret itself is stored nowhere.
	secret_hash  text   not null,
	-- A JSON array: of the scopes of the grant.
	scopes       text   not null,
	created_at   bigint not null,
	expires_at   bigint not null,
	-- When a code or a refresh token was used, and what its successors are derived from.
	used_at      bigint not null default 0,
	seed         text   not null default '',
	-- Of a code: where it was sent, the challenge of RFC 7636, and the failed tries.
	redirect_uri text   not null default '',
	challenge    text   not null default '',
	failures     bigint not null default 0
);
create index oauth_tokens_grant on oauth_tokens (grant_id);
-- Retention.
create index oauth_tokens_expires_at on oauth_tokens (organization, expires_at);
-- The refresh tokens that waited too long for their use.
create index oauth_tokens_silent on oauth_tokens (expires_at) where kind = 'refresh' and used_at = 0;

-- The applications that an organization lets its people connect, and those that wait for
-- an admin. One that registered itself stands here for one person, one with a document
-- for all people, with that document.
create table oauth_approvals (
	-- A live organization.
	organization  bigint not null,
	id            text   not null,
	-- Of oauth_clients. The row of a client stays as long as this one.
	client_id     text   not null,
	-- Who may connect it. Empty for everybody.
	principal     text   not null default '',
	-- SHA-256 of the document that was approved. Empty for a client without one.
	document_hash text   not null default '',
	-- A JSON array: the people who asked for it.
	asked_by      text   not null default '[]',
	asked_at      bigint not null,
	-- Zero while it waits. approved_by is empty for the operator.
	approved_at   bigint not null default 0,
	approved_by   text   not null default '',
	primary key (organization, id)
);
create unique index oauth_approvals_client on oauth_approvals (organization, client_id, principal, document_hash);
-- Retention of those that nobody answered.
create index oauth_approvals_asked_at on oauth_approvals (organization, asked_at);

-- Open invitations. An accepted or revoked one has no row.
create table invitations (
	id           text   not null primary key,
	-- A live organization.
	organization bigint not null,
	-- SHA-256 of the token in hex. The token itself is stored nowhere.
	token_hash   text   not null unique,
	email        text   not null,
	-- The address in lower case.
	email_folded text   not null,
	-- Empty if the person's browser decides.
	language     text   not null,
	-- What the person will have, as in principals.
	role         text   not null check (role in ('admin', 'member', 'viewer')),
	rights       text   not null,
	-- The admin who invited. Empty for the operator.
	invited_by   text   not null,
	created_at   bigint not null,
	expires_at   bigint not null,
	-- True if the admin got the link, because no mail server sends it.
	handed_over  boolean not null default false
);
-- One invitation for each address.
create unique index invitations_email on invitations (organization, email_folded);
-- The list of an organization, and retention.
create index invitations_expires_at on invitations (organization, expires_at);


--------------------------------------------------------------- The instance ----
-- These tables belong to the instance too.

-- Counters of what replicas cache. A change adds 1 to the counter, and a replica
-- that finds another number drops its cache.
create table generations (
	name   text   not null primary key,
	number bigint not null
);
insert into generations (name, number) values ('access', 1);

-- Switches of the operator, such as the pause, and facts about the instance, such
-- as the fingerprint of the master key.
create table settings (
	name  text not null primary key,
	value text not null
);

-- The replicas that share the limits.
create table limit_replicas (
	id          text   not null primary key,
	-- New with every start of the process.
	incarnation text   not null,
	renewed_at  bigint not null
);


--------------------------------------------------------- Changes and events ----

-- The change clock of an organization. A change takes the next tick and holds
-- the row until its commit. Sync and the event feed rest on this order.
create table clocks (
	organization bigint not null primary key,
	tick         bigint not null
);

-- The change log of 30 days. It is the event feed and the outbox of webhooks.
create table events (
	organization bigint not null,
	tick         bigint not null,
	-- The id tells the tick (id.Exact).
	id           text   not null,
	type         text   not null,
	-- The kind of the record, such as contact.
	object       text   not null,
	record_id    text   not null,
	-- The revision of the record after the change. Null if it was deleted, or has
	-- no revisions.
	revision     bigint,
	-- The names of the members that changed, separated by blanks.
	changed      text   not null default '',
	-- The call that made the change. Null if a job made it.
	request_id   text,
	-- The traceparent (W3C Trace Context) of the call. Null if it was not traced.
	trace        text,
	primary key (organization, tick)
) /*sqlite: without rowid */;
/*postgres:
alter table events alter column organization set (n_distinct = 16);
*/

-- Principals that no longer see a record, with the tick of the loss. Sync answers
-- each of them with a deletion marker. A row ends when its principal sees the
-- record again.
create table visibility_losses (
	organization bigint not null,
	record_id    text   not null,
	principal    text   not null,
	family       text   not null,
	tick         bigint not null,
	primary key (organization, record_id, principal)
);
-- A stream of sync: the losses of one principal in the order of their ticks.
create index visibility_losses_of_principal on visibility_losses (organization, family, principal, tick, record_id);
/*postgres:
alter table visibility_losses alter column organization set (n_distinct = 16);
*/


-------------------------------------------------------------------- Records ----
-- The families have the same columns up to content. Package record assembles
-- the statements.
--
--   revision    grows by 1 with each change: the ETag.
--   created_at, updated_at
--               ticks of the creation and of the last change. Lists and sync are
--               in the order of updated_at.
--   deleted     a deleted record keeps its row without content, as its deletion marker.
--   audience    who sees the record: empty for the whole organization, else its owner.
--   schema_hash identifies the members that the content has: docs/decisions/0008.
--   created_by, created_door, created_request, created_credential
--               the first line of the record's history (record_changes): its principal,
--               door, Request-Id and credential. A deleted record has none.
--   content     the members of the record in the JSON of the answer.
--
-- A column between created_credential and content repeats a member that lists can be narrowed
-- by, or that refers to another record. It is null if the member is not set. The
-- content comes last: SQLite reads what is behind a long text page by page.
--
-- A list merges streams, each of which is one range of an index:
--
--   *_live_audience     records for everyone, or the private ones of the actor
--   *_live_private      all private records, for admins
--   *_deleted_audience, *_deleted_private
--                       the deletion markers of these, for sync
--   *_COLUMN_audience, *_COLUMN_private
--                       records with a value of a filter. The second one is left out if
--                       few records share a value: those of an admin are then sorted.
--   *_COLUMN_status_audience, *_COLUMN_status_private
--                       the open tasks among all that were ever done
--   *_shared            records for everyone, by owner or in another order than that
--                       of changes
--   *_own, *_private    the private records of the actor, or of all for admins

create table contacts (
	organization bigint  not null,
	id           text    not null,
	revision     bigint  not null,
	created_at   bigint  not null,
	updated_at   bigint  not null,
	deleted      boolean not null,
	owner_id     text    not null,
	audience     text    not null,
	external_id  text,
	schema_hash  bigint  not null,
	created_by   text    not null default '',
	created_door text    not null default '',
	created_request text not null default '',
	created_credential text not null default '',
	company_id   text,
	-- With ASCII letters in lower case.
	email        text /*postgres: collate "C" */,
	-- The name as it is ordered (DIN 5007-2), with the id.
	sort_name    text /*postgres: collate "C" */,
	content      text    not null,
	primary key (organization, id)
);
create index contacts_live_audience on contacts (organization, audience, updated_at) where deleted = false;
create index contacts_live_private on contacts (organization, updated_at) where deleted = false and audience <> '';
create index contacts_owner_id_sort_name_shared on contacts (organization, owner_id, sort_name) where deleted = false and audience = '' and sort_name is not null;
create index contacts_sort_name_shared on contacts (organization, sort_name) where deleted = false and audience = '' and sort_name is not null;
create index contacts_sort_name_private on contacts (organization, sort_name) where deleted = false and audience <> '' and sort_name is not null;
create index contacts_sort_name_own on contacts (organization, audience, sort_name) where deleted = false and audience <> '' and sort_name is not null;
create index contacts_company_id_sort_name_shared on contacts (organization, company_id, sort_name) where deleted = false and audience = '' and company_id is not null and sort_name is not null;
create index contacts_company_id_sort_name_private on contacts (organization, company_id, sort_name) where deleted = false and audience <> '' and company_id is not null and sort_name is not null;
create index contacts_company_id_sort_name_own on contacts (organization, company_id, audience, sort_name) where deleted = false and audience <> '' and company_id is not null and sort_name is not null;
create index contacts_deleted_audience on contacts (organization, audience, updated_at) where deleted = true;
create index contacts_deleted_private on contacts (organization, updated_at) where deleted = true and audience <> '';
create index contacts_owner_id_shared on contacts (organization, owner_id, updated_at) where deleted = false and audience = '';
create unique index contacts_external_id on contacts (organization, external_id) where external_id is not null;
create index contacts_company_id_private on contacts (organization, company_id, updated_at) where deleted = false and company_id is not null and audience <> '';
create index contacts_company_id_audience on contacts (organization, company_id, audience, updated_at) where deleted = false and company_id is not null;
create index contacts_email_audience on contacts (organization, email, audience, updated_at) where deleted = false and email is not null;
/*postgres:
alter table contacts alter column organization set (n_distinct = 16), alter column audience set (n_distinct = 1000),
	alter column owner_id set (n_distinct = 1000),
	alter column company_id set (n_distinct = 1000), alter column email set (n_distinct = 1000);
*/

create table companies (
	organization bigint  not null,
	id           text    not null,
	revision     bigint  not null,
	created_at   bigint  not null,
	updated_at   bigint  not null,
	deleted      boolean not null,
	owner_id     text    not null,
	audience     text    not null,
	external_id  text,
	schema_hash  bigint  not null,
	created_by   text    not null default '',
	created_door text    not null default '',
	created_request text not null default '',
	created_credential text not null default '',
	-- The name as it is ordered (DIN 5007-2), with the id.
	sort_name    text /*postgres: collate "C" */,
	content      text    not null,
	primary key (organization, id)
);
create index companies_live_audience on companies (organization, audience, updated_at) where deleted = false;
create index companies_live_private on companies (organization, updated_at) where deleted = false and audience <> '';
create index companies_owner_id_sort_name_shared on companies (organization, owner_id, sort_name) where deleted = false and audience = '' and sort_name is not null;
create index companies_sort_name_shared on companies (organization, sort_name) where deleted = false and audience = '' and sort_name is not null;
create index companies_sort_name_private on companies (organization, sort_name) where deleted = false and audience <> '' and sort_name is not null;
create index companies_sort_name_own on companies (organization, audience, sort_name) where deleted = false and audience <> '' and sort_name is not null;
create index companies_deleted_audience on companies (organization, audience, updated_at) where deleted = true;
create index companies_deleted_private on companies (organization, updated_at) where deleted = true and audience <> '';
create index companies_owner_id_shared on companies (organization, owner_id, updated_at) where deleted = false and audience = '';
create unique index companies_external_id on companies (organization, external_id) where external_id is not null;
/*postgres:
alter table companies alter column organization set (n_distinct = 16), alter column audience set (n_distinct = 1000),
	alter column owner_id set (n_distinct = 1000);
*/

create table tasks (
	organization bigint  not null,
	id           text    not null,
	revision     bigint  not null,
	created_at   bigint  not null,
	updated_at   bigint  not null,
	deleted      boolean not null,
	owner_id     text    not null,
	audience     text    not null,
	external_id  text,
	schema_hash  bigint  not null,
	created_by   text    not null default '',
	created_door text    not null default '',
	created_request text not null default '',
	created_credential text not null default '',
	contact_id   text,
	company_id   text,
	document_id  text,
	-- The file number of the office, with ASCII letters in lower case.
	reference    text,
	assignee_id  text,
	status       text,
	-- When an open task is due, how urgent it is, and its id. Null for a completed one.
	sort_due_at  text /*postgres: collate "C" */,
	-- The file number of an open task as it is ordered, when the task is due, and its id. Null without one.
	sort_reference text /*postgres: collate "C" */,
	content      text    not null,
	primary key (organization, id)
);
create index tasks_live_audience on tasks (organization, audience, updated_at) where deleted = false;
create index tasks_live_private on tasks (organization, updated_at) where deleted = false and audience <> '';
create index tasks_sort_due_at_shared on tasks (organization, sort_due_at) where deleted = false and audience = '' and sort_due_at is not null;
create index tasks_sort_due_at_private on tasks (organization, sort_due_at) where deleted = false and audience <> '' and sort_due_at is not null;
create index tasks_sort_due_at_own on tasks (organization, audience, sort_due_at) where deleted = false and audience <> '' and sort_due_at is not null;
create index tasks_company_id_sort_due_at_shared on tasks (organization, company_id, sort_due_at) where deleted = false and audience = '' and company_id is not null and sort_due_at is not null;
create index tasks_company_id_sort_due_at_private on tasks (organization, company_id, sort_due_at) where deleted = false and audience <> '' and company_id is not null and sort_due_at is not null;
create index tasks_company_id_sort_due_at_own on tasks (organization, company_id, audience, sort_due_at) where deleted = false and audience <> '' and company_id is not null and sort_due_at is not null;
create index tasks_assignee_id_sort_due_at_shared on tasks (organization, assignee_id, sort_due_at) where deleted = false and audience = '' and assignee_id is not null and sort_due_at is not null;
create index tasks_assignee_id_sort_due_at_private on tasks (organization, assignee_id, sort_due_at) where deleted = false and audience <> '' and assignee_id is not null and sort_due_at is not null;
create index tasks_assignee_id_sort_due_at_own on tasks (organization, assignee_id, audience, sort_due_at) where deleted = false and audience <> '' and assignee_id is not null and sort_due_at is not null;
create index tasks_sort_reference_shared on tasks (organization, sort_reference) where deleted = false and audience = '' and sort_reference is not null;
create index tasks_sort_reference_private on tasks (organization, sort_reference) where deleted = false and audience <> '' and sort_reference is not null;
create index tasks_sort_reference_own on tasks (organization, audience, sort_reference) where deleted = false and audience <> '' and sort_reference is not null;
create index tasks_company_id_sort_reference_shared on tasks (organization, company_id, sort_reference) where deleted = false and audience = '' and company_id is not null and sort_reference is not null;
create index tasks_company_id_sort_reference_private on tasks (organization, company_id, sort_reference) where deleted = false and audience <> '' and company_id is not null and sort_reference is not null;
create index tasks_company_id_sort_reference_own on tasks (organization, company_id, audience, sort_reference) where deleted = false and audience <> '' and company_id is not null and sort_reference is not null;
create index tasks_assignee_id_sort_reference_shared on tasks (organization, assignee_id, sort_reference) where deleted = false and audience = '' and assignee_id is not null and sort_reference is not null;
create index tasks_assignee_id_sort_reference_private on tasks (organization, assignee_id, sort_reference) where deleted = false and audience <> '' and assignee_id is not null and sort_reference is not null;
create index tasks_assignee_id_sort_reference_own on tasks (organization, assignee_id, audience, sort_reference) where deleted = false and audience <> '' and assignee_id is not null and sort_reference is not null;
create index tasks_deleted_audience on tasks (organization, audience, updated_at) where deleted = true;
create index tasks_deleted_private on tasks (organization, updated_at) where deleted = true and audience <> '';
create unique index tasks_external_id on tasks (organization, external_id) where external_id is not null;
create index tasks_contact_id_audience on tasks (organization, contact_id, audience, updated_at) where deleted = false and contact_id is not null;
create index tasks_reference_audience on tasks (organization, reference, audience, updated_at) where deleted = false and reference is not null;
create index tasks_company_id_private on tasks (organization, company_id, updated_at) where deleted = false and company_id is not null and audience <> '';
create index tasks_company_id_audience on tasks (organization, company_id, audience, updated_at) where deleted = false and company_id is not null;
create index tasks_assignee_id_private on tasks (organization, assignee_id, updated_at) where deleted = false and assignee_id is not null and audience <> '';
create index tasks_assignee_id_audience on tasks (organization, assignee_id, audience, updated_at) where deleted = false and assignee_id is not null;
create index tasks_status_private on tasks (organization, status, updated_at) where deleted = false and status is not null and audience <> '';
create index tasks_status_audience on tasks (organization, status, audience, updated_at) where deleted = false and status is not null;
-- These come last: of two indexes that seem to cost the same, PostgreSQL takes the one that was made later.
create index tasks_assignee_id_status_private on tasks (organization, assignee_id, status, updated_at) where deleted = false and assignee_id is not null and audience <> '';
create index tasks_assignee_id_status_audience on tasks (organization, assignee_id, status, audience, updated_at) where deleted = false and assignee_id is not null;
create index tasks_company_id_status_private on tasks (organization, company_id, status, updated_at) where deleted = false and company_id is not null and audience <> '';
create index tasks_company_id_status_audience on tasks (organization, company_id, status, audience, updated_at) where deleted = false and company_id is not null;
/*postgres:
alter table tasks alter column organization set (n_distinct = 16), alter column audience set (n_distinct = 1000),
	alter column contact_id set (n_distinct = 1000), alter column company_id set (n_distinct = 1000),
	alter column reference set (n_distinct = 1000),
	alter column assignee_id set (n_distinct = 1000), alter column status set (n_distinct = 1000);
*/

create table documents (
	organization bigint  not null,
	id           text    not null,
	revision     bigint  not null,
	created_at   bigint  not null,
	updated_at   bigint  not null,
	deleted      boolean not null,
	owner_id     text    not null,
	audience     text    not null,
	external_id  text,
	schema_hash  bigint  not null,
	created_by   text    not null default '',
	created_door text    not null default '',
	created_request text not null default '',
	created_credential text not null default '',
	contact_id   text,
	company_id   text,
	task_id      text,
	-- The file number of the office, with ASCII letters in lower case.
	reference    text,
	-- What people call the type of the file: pdf, image.
	kind         text,
	-- The name as it is ordered (DIN 5007-2), with the id.
	sort_name    text /*postgres: collate "C" */,
	-- The file number as it is ordered, of a document that has one, with the name and the id.
	sort_reference text /*postgres: collate "C" */,
	content      text    not null,
	primary key (organization, id)
);
create index documents_live_audience on documents (organization, audience, updated_at) where deleted = false;
create index documents_live_private on documents (organization, updated_at) where deleted = false and audience <> '';
create index documents_owner_id_sort_name_shared on documents (organization, owner_id, sort_name) where deleted = false and audience = '' and sort_name is not null;
create index documents_sort_name_shared on documents (organization, sort_name) where deleted = false and audience = '' and sort_name is not null;
create index documents_sort_name_private on documents (organization, sort_name) where deleted = false and audience <> '' and sort_name is not null;
create index documents_sort_name_own on documents (organization, audience, sort_name) where deleted = false and audience <> '' and sort_name is not null;
create index documents_company_id_sort_name_shared on documents (organization, company_id, sort_name) where deleted = false and audience = '' and company_id is not null and sort_name is not null;
create index documents_company_id_sort_name_private on documents (organization, company_id, sort_name) where deleted = false and audience <> '' and company_id is not null and sort_name is not null;
create index documents_company_id_sort_name_own on documents (organization, company_id, audience, sort_name) where deleted = false and audience <> '' and company_id is not null and sort_name is not null;
create index documents_kind_private on documents (organization, kind, updated_at) where deleted = false and kind is not null and audience <> '';
create index documents_kind_audience on documents (organization, kind, audience, updated_at) where deleted = false and kind is not null;
create index documents_kind_sort_name_shared on documents (organization, kind, sort_name) where deleted = false and audience = '' and kind is not null and sort_name is not null;
create index documents_kind_sort_name_private on documents (organization, kind, sort_name) where deleted = false and audience <> '' and kind is not null and sort_name is not null;
create index documents_kind_sort_name_own on documents (organization, kind, audience, sort_name) where deleted = false and audience <> '' and kind is not null and sort_name is not null;
create index documents_owner_id_sort_reference_shared on documents (organization, owner_id, sort_reference) where deleted = false and audience = '' and sort_reference is not null;
create index documents_sort_reference_shared on documents (organization, sort_reference) where deleted = false and audience = '' and sort_reference is not null;
create index documents_sort_reference_private on documents (organization, sort_reference) where deleted = false and audience <> '' and sort_reference is not null;
create index documents_sort_reference_own on documents (organization, audience, sort_reference) where deleted = false and audience <> '' and sort_reference is not null;
create index documents_company_id_sort_reference_shared on documents (organization, company_id, sort_reference) where deleted = false and audience = '' and company_id is not null and sort_reference is not null;
create index documents_company_id_sort_reference_private on documents (organization, company_id, sort_reference) where deleted = false and audience <> '' and company_id is not null and sort_reference is not null;
create index documents_company_id_sort_reference_own on documents (organization, company_id, audience, sort_reference) where deleted = false and audience <> '' and company_id is not null and sort_reference is not null;
create index documents_kind_sort_reference_shared on documents (organization, kind, sort_reference) where deleted = false and audience = '' and kind is not null and sort_reference is not null;
create index documents_kind_sort_reference_private on documents (organization, kind, sort_reference) where deleted = false and audience <> '' and kind is not null and sort_reference is not null;
create index documents_kind_sort_reference_own on documents (organization, kind, audience, sort_reference) where deleted = false and audience <> '' and kind is not null and sort_reference is not null;
create index documents_deleted_audience on documents (organization, audience, updated_at) where deleted = true;
create index documents_deleted_private on documents (organization, updated_at) where deleted = true and audience <> '';
create index documents_owner_id_shared on documents (organization, owner_id, updated_at) where deleted = false and audience = '';
create unique index documents_external_id on documents (organization, external_id) where external_id is not null;
create index documents_contact_id_audience on documents (organization, contact_id, audience, updated_at) where deleted = false and contact_id is not null;
create index documents_reference_audience on documents (organization, reference, audience, updated_at) where deleted = false and reference is not null;
create index documents_company_id_private on documents (organization, company_id, updated_at) where deleted = false and company_id is not null and audience <> '';
create index documents_company_id_audience on documents (organization, company_id, audience, updated_at) where deleted = false and company_id is not null;
create index documents_task_id_audience on documents (organization, task_id, audience, updated_at) where deleted = false and task_id is not null;
/*postgres:
alter table documents alter column owner_id set (n_distinct = 1000), alter column reference set (n_distinct = 1000),
	alter column kind set (n_distinct = 1000);
*/

-- The tags of living records, in the order of changes and in that of the sort column. A
-- record has a row in each for every tag and reader: those of a private record are its
-- owner and '*', who is every admin; the reader of others is '', who is everyone. Its id is
-- not here, because its tick and its sort key are its own.
--
-- tags also has the additional emails of contacts, by which a filter finds them. Their
-- family is contacts.email, and their case is folded as in the column email.
create table tags (
	organization bigint not null,
	family       text   not null,
	reader       text   not null,
	-- Tags are folded: in lower case, with umlauts written out.
	tag          text   /*postgres: collate "C" */ not null,
	-- The tick of the record's last change.
	tick         bigint not null,
	primary key (organization, family, reader, tag, tick)
) /*sqlite: without rowid */;
create table sorted_tags (
	organization bigint not null,
	family       text   not null,
	reader       text   not null,
	tag          text   /*postgres: collate "C" */ not null,
	-- The sort column of the record.
	sort_key     text   /*postgres: collate "C" */ not null,
	primary key (organization, family, reader, tag, sort_key)
) /*sqlite: without rowid */;
/*postgres:
alter table tags alter column organization set (n_distinct = 16), alter column reader set (n_distinct = 1000),
	alter column tag set (n_distinct = 1000);
alter table sorted_tags alter column organization set (n_distinct = 16), alter column reader set (n_distinct = 1000),
	alter column tag set (n_distinct = 1000);
*/

-- The history of records: a line for each change but the creation, which stands in
-- the record's own row and so costs no statement. It holds no content. A record has its
-- last 200 lines. Its deletion erases them, and only the line of the deletion stays.
create table record_changes (
	organization bigint not null,
	record_id    text   not null,
	-- The revision that the change made.
	revision     bigint not null,
	-- The tick of the change.
	changed_at   bigint not null,
	-- The verb of its event, such as updated, completed or deleted.
	act          text   not null,
	-- The names of the members that changed, separated by spaces.
	members      text   not null,
	-- Who changed it: empty for the operator, by a hand-over.
	principal    text   not null,
	door         text   not null,
	request_id   text   not null,
	-- The API key or the grant of the change: empty for people in the web application, and
	-- for the operator.
	credential   text   not null,
	primary key (organization, record_id, revision)
) /*sqlite: without rowid */;
/*postgres:
alter table record_changes alter column organization set (n_distinct = 16);
*/


--------------------------------------------------------------------- Search ----
-- docs/decisions/0007-search-is-packed-postings.md

-- The words of one record. Rows that are newer than every segment are searched
-- themselves. The table has a rowid on SQLite: words of kilobytes would otherwise
-- stand in the tree of the keys, and each look-up would read some twenty of them.
create table search_documents (
	organization bigint not null,
	family       text   /*postgres: collate "C" */ not null,
	-- The tick of the record's creation.
	created      bigint not null,
	audience     text   /*postgres: collate "C" */ not null,
	id           text   not null,
	words        text   not null,
	primary key (organization, family, created)
);
/*postgres:
alter table search_documents alter column organization set (n_distinct = 16);
*/

-- A segment holds the postings of the records that were created after one tick
-- and until another. A segment in building will replace those of the level below
-- that lie within it.
create table search_segments (
	organization bigint  not null,
	family       text    /*postgres: collate "C" */ not null,
	segment      bigint  not null,
	level        bigint  not null,
	after        bigint  not null,
	until        bigint  not null,
	building     boolean not null,
	primary key (organization, family, segment)
) /*sqlite: without rowid */;
/*postgres:
alter table search_segments alter column organization set (n_distinct = 16);
*/

-- Some dozens of postings in the order of (word, position), packed. Word and
-- position are those of the last posting.
create table search_blocks (
	organization bigint   not null,
	family       text     /*postgres: collate "C" */ not null,
	segment      bigint   not null,
	audience     text     /*postgres: collate "C" */ not null,
	rank         smallint not null,
	word         text     /*postgres: collate "C" */ not null,
	position     bigint   not null,
	postings     text     not null,
	primary key (organization, family, segment, audience, rank, word, position)
) /*sqlite: without rowid */;
/*postgres:
alter table search_blocks alter column organization set (n_distinct = 16);
*/

-- Work that a change of a record with many words has left in the segments: these
-- words belong where the record's row in search_documents says. Until then they
-- stand under some of these audiences; '' is everyone.
create table search_moves (
	organization bigint not null,
	family       text   not null,
	created      bigint not null,
	number       bigint not null,
	-- Separated by spaces, as are the words.
	audiences    text   not null,
	words        text   not null,
	primary key (organization, family, created, number)
);


------------------------------------------------------------------ Duplicates ----
-- docs/decisions/0108-duplicates-are-found-behind-the-clock.md. Package duplicate fills
-- these tables in the background. Only the deletion of a record writes them at once.

-- Records with a common key are compared. A record has about ten.
create table duplicate_keys (
	organization bigint not null,
	-- 48 bits of a hash of a family, a kind and a value.
	key          bigint not null,
	-- The tick of the record's creation. It needs a quarter of the room of an id.
	created      bigint not null,
	primary key (organization, key, created)
) /*sqlite: without rowid */;
-- The keys of a record, so that a change deletes those that it no longer has.
create table duplicate_records (
	organization bigint not null,
	created      bigint not null,
	id           text   not null,
	-- A JSON array of numbers.
	keys         text   not null,
	primary key (organization, created)
) /*sqlite: without rowid */;
create unique index duplicate_records_id on duplicate_records (organization, id);
/*postgres:
alter table duplicate_keys alter column organization set (n_distinct = 16), alter column key set (n_distinct = -0.5);
alter table duplicate_records alter column organization set (n_distinct = 16);
*/

-- Two records that are probably the same.
create table duplicate_pairs (
	organization bigint  not null,
	family       text    not null,
	-- The lesser id, by its bytes, and the greater one.
	first_id     text    /*postgres: collate "C" */ not null,
	second_id    text    /*postgres: collate "C" */ not null,
	-- 3 is sure, 2 likely and 1 possible.
	rank         bigint  not null,
	-- Separated by spaces.
	reasons      text    not null,
	-- The tick of the change by which the pair was found.
	found_at     bigint  not null,
	-- Whether duplicate_dismissals has the pair.
	dismissed    boolean not null,
	primary key (organization, first_id, second_id)
);
-- The list, and the list of dismissed pairs.
create index duplicate_pairs_open on duplicate_pairs (organization, family, rank, found_at, first_id, second_id) where dismissed = false;
create index duplicate_pairs_dismissed on duplicate_pairs (organization, family, rank, found_at, first_id, second_id) where dismissed = true;
create index duplicate_pairs_second on duplicate_pairs (organization, second_id);
/*postgres:
alter table duplicate_pairs alter column organization set (n_distinct = 16);
*/

-- Pairs of which a person said that they are two. They stay while both records exist, even if
-- the records change.
create table duplicate_dismissals (
	organization bigint not null,
	first_id     text   not null,
	second_id    text   not null,
	dismissed_at bigint not null,
	primary key (organization, first_id, second_id)
);
create index duplicate_dismissals_second on duplicate_dismissals (organization, second_id);

-- How far the records of a family are compared.
create table duplicate_progress (
	organization bigint not null,
	family       text   not null,
	-- The tick of the last change that is compared.
	until        bigint not null,
	-- The version of the rules. Another version begins anew.
	version      bigint not null,
	primary key (organization, family)
);


------------------------------------------------------- Files and operations ----

-- The words in the content of a document, for search. The row of the document
-- does not repeat them, and its bytes are in the blob store.
create table document_words (
	organization bigint not null,
	id           text   not null,
	words        text   not null,
	primary key (organization, id)
);

-- The processor time that was spent on reading texts, in microseconds, by the
-- five minutes in which a reading began. Rows of the last hour count against the
-- organization's budget. The next reading deletes older ones.
create table reading_time (
	organization bigint not null,
	at           bigint not null,
	spent        bigint not null,
	primary key (organization, at)
);

-- Upload sessions: each is a promise to take one file.
create table uploads (
	organization bigint  not null,
	id           text    not null,
	principal    text    not null,
	-- The key that opened the session. Its address takes a file only while this
	-- key may upload.
	key_id       text    not null default '',
	file_name    text    not null,
	content_type text    not null,
	size         bigint  not null,
	sha256       text    not null,
	created_at   bigint  not null,
	expires_at   bigint  not null,
	-- Why the last file was not taken. Empty if none was refused.
	refused      text    not null,
	-- The operation that makes a document of the file. Empty until there is one.
	operation    text    not null,
	-- Set by the first removal of the bytes. The row stays three hours longer,
	-- because bytes may arrive until then.
	ended        boolean not null default false,
	primary key (organization, id)
);
-- Sums up what was announced and is no document yet, from the index alone.
create index uploads_open on uploads (organization, expires_at, size, principal) where operation = '' and ended = false;
-- One job ends the sessions of an hour in this order.
create index uploads_expires_at on uploads (organization, expires_at);

-- Calls that go on after their answer.
create table operations (
	organization  bigint not null,
	id            text   /*postgres: collate "C" */ not null,
	principal     text   not null,
	type          text   not null,
	status        text   not null,
	progress      bigint not null,
	-- What the operation needs to go on. Empty once it has succeeded. A failed one
	-- keeps the name by which its principal knows it.
	input         text   not null,
	result_object text   not null,
	result_id     text   not null,
	error         text   not null,
	-- The Request-Id of the call.
	request       text   not null,
	created_at    bigint not null,
	started_at    bigint not null,
	finished_at   bigint not null,
	primary key (organization, id)
);
-- Retention: 31 days.
create index operations_finished on operations (organization, finished_at) where finished_at > 0;
-- The check of stored files without a row asks for these. They are few.
create index operations_open on operations (organization) where finished_at = 0;
-- People are told for a while which of their files were refused.
create index operations_failed on operations (organization, principal, finished_at) where status = 'failed';


----------------------------------------------------------------------- Jobs ----
-- Work that outlives a call: package job and docs/decisions/0020.

create table jobs (
	organization bigint not null,
	id           text   not null,
	kind         text   not null,
	-- Only one job of a kind waits or runs for a key that is not empty.
	key          text   not null,
	-- JSON that the kind's handler alone reads.
	payload      text   not null,
	-- waiting, running or failed. A finished job has no row.
	state        text   not null,
	-- The fencing token: it grows when a worker takes the job, and only the worker
	-- with the current number may change the row.
	claim        bigint not null,
	-- How often the job was taken, without those times when it was given back.
	attempt      bigint not null,
	-- When a worker may take the job. For a running job this is the end of the
	-- lease, for a failed one the time when it was given up.
	due_at       bigint not null,
	-- The last error.
	error        text   not null,
	created_at   bigint not null,
	-- When the job was taken last.
	started_at   bigint not null,
	-- As in events.
	trace        text,
	primary key (organization, id)
);
create unique index jobs_unique on jobs (organization, kind, key) where key <> '' and state <> 'failed';
-- The next jobs of an organization.
create index jobs_due on jobs (organization, due_at) where state <> 'failed';
-- Retention: 30 days.
create index jobs_failed on jobs (organization, due_at) where state = 'failed';

-- The queue of the organizations that have jobs. The one that is due first is
-- served next, with a few jobs, and then goes behind the others.
create table job_turns (
	organization bigint not null primary key,
	-- Never later than the due_at of its first job.
	due_at       bigint not null
);
create index job_turns_due on job_turns (due_at);


------------------------------------------------------------------- Webhooks ----
-- The event log is the outbox: an endpoint's cursor divides the events that have
-- deliveries from those that have none yet. See package webhook.

create table webhook_endpoints (
	organization    bigint not null,
	id              text   /*postgres: collate "C" */ not null,
	-- The principal that made the endpoint. Nobody else sees it.
	principal       text   not null,
	-- The key that last said where events are sent. A leaked key is traced by it.
	key_id          text   not null default '',
	name            text   not null,
	url             text   not null,
	-- A JSON array of strings.
	event_types     text   not null,
	-- active, failing or disabled.
	status          text   not null,
	-- gone, no_success or empty.
	disabled_reason text   not null,
	-- Sealed with the master key. The previous secret may be empty.
	secret          text   not null,
	previous_secret text   not null,
	-- Until then the previous secret signs too.
	previous_until  bigint not null,
	-- Grows, with updated_at, when the owner or the status changes anything. Times
	-- and counts of attempts do not count.
	revision        bigint not null,
	created_at      bigint not null,
	updated_at      bigint not null,
	-- The tick of the last event that has deliveries.
	cursor          bigint not null,
	-- When the first delivery is due. Zero if there is none.
	due_at          bigint not null,
	-- The first failed attempt since the last success, and their number.
	failed_since    bigint not null,
	failures        bigint not null,
	last_success_at bigint not null,
	last_failure_at bigint not null,
	-- A tick: events that were never tried when the endpoint was last disabled are
	-- behind it. Zero if it never was disabled.
	missed_since    bigint not null,
	primary key (organization, id)
);
-- The list of a principal.
create index webhook_endpoints_principal on webhook_endpoints (organization, principal, id);
-- The sweep for endpoints with due deliveries, over all organizations.
create index webhook_endpoints_due on webhook_endpoints (due_at) where due_at > 0;

-- Deliveries that wait or run. A delivery ends with the row of its last attempt.
create table webhook_deliveries (
	organization bigint not null,
	endpoint     text   not null,
	event_id     text   not null,
	-- The event itself, repeated to save a look-up.
	tick         bigint not null,
	type         text   not null,
	object       text   not null,
	record_id    text   not null,
	revision     bigint,
	changed      text   not null default '',
	request_id   text,
	-- How many attempts were made.
	attempts     bigint not null,
	-- When the next attempt is made. For a running one, when another worker may
	-- take it.
	due_at       bigint not null,
	-- The fencing token, as in jobs.
	claim        bigint not null,
	created_at   bigint not null,
	-- As in events.
	trace        text,
	primary key (organization, endpoint, event_id)
);
create index webhook_deliveries_due on webhook_deliveries (organization, endpoint, due_at);

-- The delivery log of 30 days. It holds no byte of a receiver's response.
create table webhook_attempts (
	organization    bigint not null,
	id              text   /*postgres: collate "C" */ not null,
	endpoint        text   not null,
	event_id        text   not null,
	event_type      text   not null,
	-- 1 to 10.
	attempt         bigint not null,
	-- succeeded or failed.
	status          text   not null,
	-- Zero if there was no response.
	response_status bigint not null,
	-- In milliseconds.
	response_ms     bigint not null,
	-- Empty if the attempt succeeded.
	error_code      text   not null,
	attempted_at    bigint not null,
	-- Zero if no attempt follows.
	next_attempt_at bigint not null,
	primary key (organization, id)
);
-- The log of an endpoint.
create index webhook_attempts_endpoint on webhook_attempts (organization, endpoint, id);
-- Retention.
create index webhook_attempts_age on webhook_attempts (organization, attempted_at);
-- The log of an endpoint for one event, and its failures, which are also sent
-- again in this order.
create index webhook_attempts_event on webhook_attempts (organization, endpoint, event_id, id);
create index webhook_attempts_failed on webhook_attempts (organization, endpoint, id) where status = 'failed';


----------------------------------------------- Calls, limits, notifications ----

-- The request log of 30 days. Organization 0 holds the calls of credentials that
-- belong to nobody. The primary key leads to the newest calls of an organization.
create table request_log (
	organization bigint  not null,
	-- When the call arrived.
	at           bigint  not null,
	request_id   text    /*postgres: collate "C" */ not null,
	key_id       text    not null,
	-- The first 8 characters of the kid, also of a key that does not exist. For a
	-- session the last 8 of its principal, so that erasing the person finds its calls.
	kid_short    text    not null,
	principal_id text    not null,
	operation    text    not null,
	method       text    not null,
	status       bigint  not null,
	refused      boolean not null generated always as (status >= 400) /*postgres: stored */ /*sqlite: virtual */,
	-- The code of the problem. Empty if the call succeeded.
	code         text    not null,
	-- In microseconds.
	duration     bigint  not null,
	address      text    not null,
	-- Why the credential was refused. Never sent to the caller.
	reason       text    not null,
	-- The version of the API. Empty if the call named none.
	version      text    not null default '',
	-- The Request-Id of the batch that the call was a part of. Empty for others.
	batch        text    not null default '',
	-- The way in, for example rest or web.
	door         text    not null default '',
	primary key (organization, at, request_id)
);
-- The calls of one key.
create index request_log_key on request_log (organization, kid_short, at, request_id);
-- The refused and failed calls, which are few and asked for most.
create index request_log_refused on request_log (organization, refused, at, request_id) where refused = true;
-- The same calls of one key. With refused it has more equal members than each index above, so SQLite takes it.
create index request_log_key_refused on request_log (organization, kid_short, refused, at, request_id) where refused = true;
/*postgres:
alter table request_log alter column organization set (n_distinct = 16);
*/

-- The counts of calls and deliveries by hour, for 92 days, which charts show without a
-- look into the logs. Each process writes the sums of its own rows, and a job folds
-- them into one without a writer.
create table usage_hours (
	organization    bigint not null,
	-- The beginning of the hour in UTC.
	hour            bigint not null,
	-- call or delivery.
	kind            text   /*postgres: collate "C" */ not null,
	-- The key whose calls are counted, or the webhook endpoint whose deliveries.
	subject         text   /*postgres: collate "C" */ not null,
	writer          text   /*postgres: collate "C" */ not null,
	calls           bigint not null,
	-- Calls with the status 401, 403, 429, another one of class 4xx, and 5xx. Failed
	-- deliveries have failed too.
	unauthenticated bigint not null,
	forbidden       bigint not null,
	limited         bigint not null,
	rejected        bigint not null,
	failed          bigint not null,
	points          bigint not null,
	-- The records that calls returned.
	records         bigint not null,
	-- How many took at most 250 microseconds, 500, and so on, doubling, up to 32.768
	-- seconds, and how many took longer.
	took_0          bigint not null,
	took_1          bigint not null,
	took_2          bigint not null,
	took_3          bigint not null,
	took_4          bigint not null,
	took_5          bigint not null,
	took_6          bigint not null,
	took_7          bigint not null,
	took_8          bigint not null,
	took_9          bigint not null,
	took_10         bigint not null,
	took_11         bigint not null,
	took_12         bigint not null,
	took_13         bigint not null,
	took_14         bigint not null,
	took_15         bigint not null,
	took_16         bigint not null,
	took_17         bigint not null,
	took_18         bigint not null,
	primary key (organization, hour, kind, subject, writer)
);
/*postgres:
alter table usage_hours alter column organization set (n_distinct = 16);
*/

-- Stored answers: a repeated Idempotency-Key gets the same one for 24 hours.
create table idempotency (
	organization bigint  not null,
	principal    text    not null,
	key          text    not null,
	created_at   bigint  not null,
	-- Of the request. A key that comes with another one is refused.
	fingerprint  text    not null,
	status       bigint  not null,
	etag         text    not null,
	location     text    not null,
	body         text    not null,
	-- The record that the answer shows or names. The answer is erased with it, and
	-- its row stays, so that a repeated call is not run again.
	record       text    not null default '',
	erased       boolean not null default false,
	-- The session that alone sees an answer with a secret again, empty for other answers.
	holder       text    not null default '',
	primary key (organization, principal, key)
);
-- Retention.
create index idempotency_age on idempotency (organization, created_at);
-- Answers with secrets, which are erased after minutes.
create index idempotency_secrets on idempotency (organization, created_at) where holder <> '' and erased = false;
create index idempotency_record on idempotency (organization, record);
/*postgres:
alter table idempotency alter column organization set (n_distinct = 16);
*/

-- What an account has used of its limits. The organization itself (the empty
-- subject), its principals and its keys each have one.
create table limits (
	organization bigint not null,
	subject      text   not null,
	-- JSON that package limit alone reads.
	state        text   not null,
	updated_at   bigint not null,
	primary key (organization, subject)
);
-- Retention: 48 hours.
create index limits_age on limits (organization, updated_at);

-- One line for each administrative act. Nobody changes or deletes lines. They end
-- after 400 days, or with their organization. Organization 0 is the instance.
create table audit_lines (
	organization bigint not null,
	id           text   not null /*postgres: collate "C" */,
	at           bigint not null,
	-- Who acted. Empty for the operator and for callers who did not sign in.
	principal    text   not null,
	-- The kind and the identifier of the credential.
	kind         text   not null,
	credential   text   not null,
	door         text   not null,
	address      text   not null,
	-- The row of the table of operations.
	operation    text   not null,
	word         text   not null /*postgres: collate "C" */,
	-- What the act was about.
	target       text   not null,
	-- A JSON array of the members that changed. It holds no personal data.
	changes      text   not null,
	request_id   text   not null,
	primary key (organization, id)
);
-- Retention: 400 days.
create index audit_lines_age on audit_lines (organization, at);
/*postgres:
alter table audit_lines alter column organization set (n_distinct = 16);
*/

-- The records of somebody who leaves, on their way to another principal: a row for
-- the organization and one for its sandbox, with the same id. See package departure.
create table handovers (
	organization   bigint  not null,
	id             text    not null,
	from_principal text    not null,
	to_principal   text    not null,
	-- Whether private records go along.
	private        boolean not null,
	-- JSON that package departure alone reads: how far it came, and counts.
	progress       text    not null,
	-- The caller, for the line of the audit log at the end.
	requested_by   text    not null,
	kind           text    not null,
	request_id     text    not null,
	created_at     bigint  not null,
	-- Zero until everything is handed over.
	finished_at    bigint  not null,
	primary key (organization, id)
);
-- Those that are under way, which are few.
create index handovers_open on handovers (organization) where finished_at = 0;
-- Retention: 90 days.
create index handovers_finished on handovers (organization, finished_at) where finished_at > 0;

-- Imports of contacts: see package imports.
create table imports (
	organization bigint not null,
	id           text   not null,
	-- Who began it.
	principal    text   not null,
	state        text   not null,
	-- The key that seals everything else of the import, sealed under the master key.
	-- Without it nothing of the file can be read, in backups either.
	sealed_key   text   not null,
	-- Sealed JSON: the name of the file, its headings and the mapping.
	content      text   not null,
	-- JSON without personal data: how far it came, counts, why it stopped.
	progress     text   not null,
	-- The caller of the step that goes on: its rights hold, and the history names it.
	requested_by text   not null,
	kind         text   not null,
	door         text   not null,
	request_id   text   not null,
	created_at   bigint not null,
	-- Until when it keeps what it needs to be undone.
	expires_at   bigint not null,
	-- Zero until that time is over.
	forgotten_at bigint not null,
	-- Sealed JSON: the first values of each column, until the import runs or a record of
	-- it is erased.
	samples      text   not null default '',
	primary key (organization, id)
);
-- Those of a person, and those that keep something, which are few.
create index imports_principal on imports (organization, principal, id);
create index imports_kept on imports (organization) where forgotten_at = 0;
-- Retention: 90 days.
create index imports_forgotten on imports (organization, forgotten_at) where forgotten_at > 0;

-- Pieces of the file of an import, sealed, until its lines are read.
create table import_pieces (
	organization bigint not null,
	import_id    text   not null,
	number       bigint not null,
	content      text   not null,
	primary key (organization, import_id, number)
);

-- The lines of an import.
create table import_lines (
	organization bigint not null,
	import_id    text   not null,
	number       bigint not null,
	-- The line of the file.
	line         bigint not null,
	-- The sealed name of the file, of an import of several ones.
	file         text   not null default '',
	-- Sealed cells, until the line is done.
	content      text   not null,
	-- Empty until the dry run, then what it would do, then what was done.
	state        text   not null,
	-- Sealed JSON: which values are left out, moved or wrong, and why.
	problems     text   not null default '',
	-- The contact, and its revisions after and before the entry.
	record_id    text,
	revision     bigint not null default 0,
	former       bigint not null default 0,
	-- The company that the line created.
	company_id   text,
	-- Sealed members of the contact before the import.
	before       text   not null default '',
	primary key (organization, import_id, number)
);
-- What is kept of a record is erased with it.
create index import_lines_record on import_lines (organization, record_id) where record_id is not null;
create index import_lines_company on import_lines (organization, company_id) where company_id is not null;
-- The lines of a report that need a look.
create index import_lines_problems on import_lines (organization, import_id, number) where problems <> '';
/*postgres:
alter table import_lines alter column organization set (n_distinct = 16), alter column import_id set (n_distinct = 100);
alter table import_pieces alter column organization set (n_distinct = 16), alter column import_id set (n_distinct = 100);
*/

-- Merges of two contacts or companies: see package merge. After seven days a row has only the way
-- from the record that was deleted to the one that stayed.
create table merges (
	organization bigint not null,
	id           text   not null /*postgres: collate "C" */,
	-- contacts or companies.
	family       text   not null,
	-- The record that stayed, the one that was deleted, and the one that the undo made.
	kept         text   not null,
	merged       text   not null,
	restored     text   not null,
	-- The record that stayed at first, if it was merged itself since.
	via          text   not null default '',
	-- Who merged them.
	principal    text   not null,
	state        text   not null,
	-- The members of both records, sealed. Empty if the merge cannot be undone.
	copies       text   not null,
	-- How many records referred to the one that was deleted.
	moved        bigint not null,
	-- The operation that ends when all references are moved.
	operation    text   not null,
	-- The caller of the merge or of its undo: the history of moved references names it.
	requested_by text   not null,
	kind         text   not null,
	door         text   not null,
	request_id   text   not null,
	created_at   bigint not null,
	-- Until when it can be undone.
	expires_at   bigint not null,
	primary key (organization, id)
);
create unique index merges_merged on merges (organization, merged);
create index merges_kept on merges (organization, kept);

-- The records whose reference a merge has moved.
create table merge_moves (
	organization bigint not null,
	merge_id     text   not null,
	record_id    text   not null /*postgres: collate "C" */,
	primary key (organization, merge_id, record_id)
);
/*postgres:
alter table merges alter column organization set (n_distinct = 16), alter column kept set (n_distinct = 1000);
alter table merge_moves alter column organization set (n_distinct = 16), alter column merge_id set (n_distinct = 100);
*/

-- Acts on all records of a list: see package bulk. A job deletes them after seven days.
create table bulk_acts (
	organization bigint not null,
	id           text   not null /*postgres: collate "C" */,
	-- Who began it.
	principal    text   not null,
	state        text   not null,
	-- Why it stopped.
	reason       text   not null,
	-- JSON: the act, and until its records are noted the search and filters of the list.
	content      text   not null,
	-- JSON without personal data: how far it came, and counts.
	progress     text   not null,
	-- The caller of the step that goes on: its rights hold, and the history names it.
	requested_by text   not null,
	kind         text   not null,
	door         text   not null,
	request_id   text   not null,
	created_at   bigint not null,
	-- When the present step began.
	began_at     bigint not null,
	-- Until when it can be undone.
	expires_at   bigint not null,
	primary key (organization, id)
);

-- The records of an act.
create table bulk_lines (
	organization bigint not null,
	act_id       text   not null,
	record_id    text   not null /*postgres: collate "C" */,
	-- Empty until the record has its turn.
	state        text   not null,
	-- The revision of the record after the act.
	revision     bigint not null default 0,
	-- The member that the act changes, as it was before.
	before       text   not null,
	-- JSON: why the record stayed as it was.
	problem      text   not null default '',
	primary key (organization, act_id, record_id)
);
-- What is kept of a record is erased with it.
create index bulk_lines_record on bulk_lines (organization, record_id) where before <> '';
-- The lines of a report.
create index bulk_lines_problems on bulk_lines (organization, act_id, record_id) where problem <> '';
/*postgres:
alter table bulk_lines alter column organization set (n_distinct = 16), alter column act_id set (n_distinct = 100);
*/

-- The entries of everybody's bell, each with its email. The organization is a
-- live one, as that of its people.
create table notices (
	organization bigint not null,
	principal    text   not null,
	id           text   not null,
	created_at   bigint not null,
	kind         text   not null,
	-- JSON with numbers and identifiers only.
	data         text   not null,
	read_at      bigint not null,
	-- Whether the email is still to be sent.
	mailing      boolean not null,
	-- When the email that tells of it was begun: the one that was sent, or else the
	-- first that failed. Zero before.
	mail_at      bigint not null,
	-- When the email was sent. Zero if it was not.
	mailed_at    bigint not null,
	primary key (organization, principal, id)
);
-- Retention: 90 days.
create index notices_age on notices (organization, created_at);
-- The entries that a user has not read.
create index notices_unread on notices (organization, principal) where read_at = 0;
-- The notices that the next email to a user is about.
create index notices_mailing on notices (organization, principal, kind, id) where mailing;
-- The last emails of a kind to a user.
create index notices_mail_at on notices (organization, principal, kind, mail_at) where mail_at > 0;
/*postgres:
alter table notices alter column organization set (n_distinct = 16);
*/

-- The due dates of which assignees of tasks are told: one for each task that has or
-- had one. A task of a sandbox has none.
create table reminders (
	organization bigint not null,
	task_id      text   not null,
	due_at       bigint not null,
	-- When to look whether it is time. Null once the assignee was told of this date.
	look_at      bigint,
	primary key (organization, task_id)
);
-- What is due by now, in the whole instance: one range, however many tasks there are.
create index reminders_look on reminders (look_at) where look_at is not null;
/*postgres:
alter table reminders alter column organization set (n_distinct = 16);
*/

-- The records that a person opened lately, for the search field. Only the person
-- reads the list. It has no times, and ends with the twentieth record.
create table recents (
	organization bigint  not null,
	principal    text    not null,
	-- The person does not want the list.
	switched_off boolean not null,
	-- JSON that package lookup alone reads: families, ids and ticks of creation.
	records      text    not null,
	primary key (organization, principal)
);
/*postgres:
alter table recents alter column organization set (n_distinct = 16);
*/

/*postgres:
-- Of a table that was never analyzed the planner believes that it is larger.
analyze contacts, companies, tasks, record_changes, visibility_losses, events, idempotency, search_documents, search_segments, search_blocks, request_log, notices, duplicate_keys, duplicate_records, duplicate_pairs;
*/
