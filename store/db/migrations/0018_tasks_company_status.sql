-- The open tasks of one company, among all that were ever done for it.

-- +goose Up
create index tasks_company_id_status on tasks (organization, company_id, status, updated_at) where deleted = false and company_id is not null;
create index tasks_company_id_status_audience on tasks (organization, company_id, status, audience, updated_at) where deleted = false and company_id is not null;

-- +goose Down
drop index tasks_company_id_status_audience;
drop index tasks_company_id_status;
