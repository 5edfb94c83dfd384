-- Companies and tasks are kept as contacts are: see 0002_records.sql, and
-- 0012_filters for the columns of filters and references.

-- +goose Up
create table companies (
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

create index companies_live_audience on companies (organization, audience, updated_at) where deleted = false;
create index companies_live on companies (organization, updated_at) where deleted = false;
create index companies_deleted_audience on companies (organization, audience, updated_at) where deleted = true;
create index companies_deleted on companies (organization, updated_at) where deleted = true;
create unique index companies_external_id on companies (organization, external_id) where external_id is not null;

create table tasks (
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
    contact_id text,
    company_id text,
    assignee_id text,
    status text,
    primary key (organization, id)
);

create index tasks_live_audience on tasks (organization, audience, updated_at) where deleted = false;
create index tasks_live on tasks (organization, updated_at) where deleted = false;
create index tasks_deleted_audience on tasks (organization, audience, updated_at) where deleted = true;
create index tasks_deleted on tasks (organization, updated_at) where deleted = true;
create unique index tasks_external_id on tasks (organization, external_id) where external_id is not null;
create index tasks_contact_id_audience on tasks (organization, contact_id, audience, updated_at) where deleted = false and contact_id is not null;
create index tasks_company_id on tasks (organization, company_id, updated_at) where deleted = false and company_id is not null;
create index tasks_company_id_audience on tasks (organization, company_id, audience, updated_at) where deleted = false and company_id is not null;
create index tasks_assignee_id on tasks (organization, assignee_id, updated_at) where deleted = false and assignee_id is not null;
create index tasks_assignee_id_audience on tasks (organization, assignee_id, audience, updated_at) where deleted = false and assignee_id is not null;
create index tasks_status on tasks (organization, status, updated_at) where deleted = false and status is not null;
create index tasks_status_audience on tasks (organization, status, audience, updated_at) where deleted = false and status is not null;

-- +goose Down
drop table tasks;
drop table companies;
