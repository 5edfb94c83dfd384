-- +goose Up

-- A record is kept as the JSON that its answer is made of (content), beside
-- the columns that queries need; shape tells which members it has. updated_at is the tick of the last change:
-- unique in the organization, and what sync goes by. A deleted record keeps
-- its row without content, for deletion markers.
create table contacts (
    organization bigint not null,
    id text not null,
    revision bigint not null,
    created_at bigint not null,
    updated_at bigint not null,
    deleted boolean not null,
    owner_id text not null,
    audience text not null,
    external_id text,
    shape bigint not null,
    content text not null,
    primary key (organization, id)
);

-- The streams of which lists are made: for everyone or one owner, or for
-- admins; of living records, or of deleted ones.
create index contacts_live_audience on contacts (organization, audience, updated_at) where deleted = false;
create index contacts_live on contacts (organization, updated_at) where deleted = false;
create index contacts_deleted_audience on contacts (organization, audience, updated_at) where deleted = true;
create index contacts_deleted on contacts (organization, updated_at) where deleted = true;
create unique index contacts_external_id on contacts (organization, external_id) where external_id is not null;

-- The change log, which is the feed and the outbox.
create table events (
    organization bigint not null,
    tick bigint not null,
    id text not null,
    type text not null,
    object text not null,
    record_id text not null,
    primary key (organization, tick)
);

create unique index events_id on events (organization, id);

-- The answers that a repeated Idempotency-Key gets again.
create table idempotency (
    organization bigint not null,
    principal text not null,
    key text not null,
    created_at bigint not null,
    fingerprint text not null,
    status bigint not null,
    etag text not null,
    location text not null,
    body text not null,
    primary key (organization, principal, key)
);

create index idempotency_age on idempotency (organization, created_at);

-- +goose Down
drop table idempotency;
drop table events;
drop table contacts;
