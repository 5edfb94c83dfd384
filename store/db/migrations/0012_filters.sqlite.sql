-- What lists can be narrowed by: each filter has a column beside the content,
-- null where the member is not set, and indexes in the order of the list, led
-- by the value. One that many records may share has two, as the streams of a
-- list have: for an audience, and for admins. An email address is kept in lower
-- case as far as it is ASCII.

-- +goose Up
alter table contacts add column company_id text;
alter table contacts add column email text;
update contacts set company_id = json_extract(content, '$.companyId'), email = lower(json_extract(content, '$.email')) where deleted = false;
create index contacts_company_id on contacts (organization, company_id, updated_at) where deleted = false and company_id is not null;
create index contacts_company_id_audience on contacts (organization, company_id, audience, updated_at) where deleted = false and company_id is not null;
create index contacts_email_audience on contacts (organization, email, audience, updated_at) where deleted = false and email is not null;

-- Which keys still use which version: kartei versions. Empty where the version
-- was not asked for, or the call was made before this was kept.
alter table request_log add column version text not null default '';

-- +goose Down
alter table request_log drop column version;
drop index contacts_email_audience;
drop index contacts_company_id_audience;
drop index contacts_company_id;
alter table contacts drop column email;
alter table contacts drop column company_id;
