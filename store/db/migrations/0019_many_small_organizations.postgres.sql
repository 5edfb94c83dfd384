-- PostgreSQL plans a statement once for all organizations and values. Of an
-- instance with one large and thousands of small organizations it would believe
-- that each has a few rows, and read all of the large one's to sort them, or to
-- look among them for one address. Where nothing is private it would believe
-- that any audience is that of all rows, and look for somebody's own among all.
-- Told that there are few organizations, and many of everything else, it reads
-- along the index that the statement was made for, which costs a small one
-- nothing.
--
-- A cluster that has the tables on several servers refuses such settings, and
-- plans each statement with its values: there nothing changes.

-- +goose Up
-- +goose StatementBegin
do $$ begin
	alter table contacts alter column organization set (n_distinct = 16);
	alter table contacts alter column audience set (n_distinct = 1000);
	alter table contacts alter column company_id set (n_distinct = 1000);
	alter table contacts alter column email set (n_distinct = 1000);
	alter table companies alter column organization set (n_distinct = 16);
	alter table companies alter column audience set (n_distinct = 1000);
	alter table tasks alter column organization set (n_distinct = 16);
	alter table tasks alter column audience set (n_distinct = 1000);
	alter table tasks alter column contact_id set (n_distinct = 1000);
	alter table tasks alter column company_id set (n_distinct = 1000);
	alter table tasks alter column assignee_id set (n_distinct = 1000);
	alter table tasks alter column status set (n_distinct = 1000);
	alter table lost_sight alter column organization set (n_distinct = 16);
	alter table events alter column organization set (n_distinct = 16);
	alter table idempotency alter column organization set (n_distinct = 16);
	alter table search_documents alter column organization set (n_distinct = 16);
	alter table search_segments alter column organization set (n_distinct = 16);
	alter table search_blocks alter column organization set (n_distinct = 16);
	alter table request_log alter column organization set (n_distinct = 16);
	alter table notices alter column organization set (n_distinct = 16);
exception when feature_not_supported then null;
end $$;
-- +goose StatementEnd
analyze contacts, companies, tasks, lost_sight, events, idempotency, search_documents, search_segments, search_blocks, request_log, notices;

-- +goose Down
-- +goose StatementBegin
do $$ begin
	alter table notices alter column organization reset (n_distinct);
	alter table request_log alter column organization reset (n_distinct);
	alter table search_blocks alter column organization reset (n_distinct);
	alter table search_segments alter column organization reset (n_distinct);
	alter table search_documents alter column organization reset (n_distinct);
	alter table idempotency alter column organization reset (n_distinct);
	alter table events alter column organization reset (n_distinct);
	alter table lost_sight alter column organization reset (n_distinct);
	alter table tasks alter column status reset (n_distinct);
	alter table tasks alter column assignee_id reset (n_distinct);
	alter table tasks alter column company_id reset (n_distinct);
	alter table tasks alter column contact_id reset (n_distinct);
	alter table tasks alter column audience reset (n_distinct);
	alter table tasks alter column organization reset (n_distinct);
	alter table companies alter column audience reset (n_distinct);
	alter table companies alter column organization reset (n_distinct);
	alter table contacts alter column email reset (n_distinct);
	alter table contacts alter column company_id reset (n_distinct);
	alter table contacts alter column audience reset (n_distinct);
	alter table contacts alter column organization reset (n_distinct);
exception when feature_not_supported then null;
end $$;
-- +goose StatementEnd
