-- The open tasks of one person, among all that the person has ever done.

-- +goose Up
create index tasks_assignee_id_status on tasks (organization, assignee_id, status, updated_at) where deleted = false and assignee_id is not null;
create index tasks_assignee_id_status_audience on tasks (organization, assignee_id, status, audience, updated_at) where deleted = false and assignee_id is not null;

-- +goose Down
drop index tasks_assignee_id_status_audience;
drop index tasks_assignee_id_status;
