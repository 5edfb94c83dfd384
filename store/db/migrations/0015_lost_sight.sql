-- Who lost sight of a record, and at which tick: sync answers each with a
-- deletion marker. A row ends when its principal sees the record again.

-- +goose Up
create table lost_sight (
    organization bigint not null,
    record_id text not null,
    principal text not null,
    family text not null,
    tick bigint not null,
    primary key (organization, record_id, principal)
);

create index lost_sight_of_principal on lost_sight (organization, family, principal, tick, record_id);

-- +goose Down
drop table lost_sight;
