-- Documents are kept as contacts are (see 0002_records.sql, and 0012_filters
-- for the columns of filters and references); their bytes lie in the blob
-- store, and document_words holds the words of their content, which the row
-- does not repeat. An upload is a promise to take one file; an operation is a
-- call that goes on after its answer.

-- +goose Up
create table documents (
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
    task_id text,
    primary key (organization, id)
);

create index documents_live_audience on documents (organization, audience, updated_at) where deleted = false;
create index documents_live on documents (organization, updated_at) where deleted = false;
create index documents_deleted_audience on documents (organization, audience, updated_at) where deleted = true;
create index documents_deleted on documents (organization, updated_at) where deleted = true;
create unique index documents_external_id on documents (organization, external_id) where external_id is not null;
create index documents_contact_id_audience on documents (organization, contact_id, audience, updated_at) where deleted = false and contact_id is not null;
create index documents_company_id on documents (organization, company_id, updated_at) where deleted = false and company_id is not null;
create index documents_company_id_audience on documents (organization, company_id, audience, updated_at) where deleted = false and company_id is not null;
create index documents_task_id_audience on documents (organization, task_id, audience, updated_at) where deleted = false and task_id is not null;

create table document_words (
    organization bigint not null,
    id text not null,
    words text not null,
    primary key (organization, id)
);

alter table tasks add column document_id text;

create table uploads (
    organization bigint not null,
    id text not null,
    principal text not null,
    file_name text not null,
    content_type text not null,
    size bigint not null,
    sha256 text not null,
    created_at bigint not null,
    expires_at bigint not null,
    -- Why the last file was not taken, empty where none was refused.
    refused text not null,
    -- The operation that makes a document of it, empty until there is one.
    operation text not null,
    primary key (organization, id)
);

create table operations (
    organization bigint not null,
    id text not null,
    principal text not null,
    type text not null,
    status text not null,
    progress bigint not null,
    -- What the operation needs to go on; empty once it has ended.
    input text not null,
    result_object text not null,
    result_id text not null,
    error text not null,
    request text not null,
    created_at bigint not null,
    started_at bigint not null,
    finished_at bigint not null,
    primary key (organization, id)
);

create index operations_finished on operations (organization, finished_at) where finished_at > 0;

-- +goose Down
drop table operations;
drop table uploads;
alter table tasks drop column document_id;
drop table document_words;
drop table documents;
