-- Work that outlives a call: see package job and docs/decisions/0020.

-- +goose Up
create table jobs (
	organization bigint not null,
	id           text   not null,
	kind         text   not null,
	-- Of two jobs of a kind with the same key, which is not empty, only one
	-- waits or runs.
	key          text   not null,
	-- JSON that the kind's handler alone reads.
	payload      text   not null,
	-- waiting, running or failed; who is finished has no row.
	state        text   not null,
	-- Grows with each taking: whoever took a job may change it only while this
	-- is still its own number.
	claim        bigint not null,
	-- The takings that count: one that was given back does not.
	attempt      bigint not null,
	-- When it may be taken; of a running one the end of its lease, of a failed
	-- one when it was given up.
	due_at       bigint not null,
	-- What went wrong last.
	error        text   not null,
	created_at   bigint not null,
	-- Of the last taking; zero before the first.
	started_at   bigint not null,
	primary key (organization, id)
);
create unique index jobs_unique on jobs (organization, kind, key) where key <> '' and state <> 'failed';
create index jobs_due on jobs (organization, due_at) where state <> 'failed';
create index jobs_failed on jobs (organization, due_at) where state = 'failed';

-- The line of the organizations that have jobs: whose turn is due first is
-- served next, with a few jobs, and then stands behind the others.
create table job_turns (
	organization bigint not null primary key,
	-- Never later than the first of its jobs may be taken.
	due_at       bigint not null
);
create index job_turns_due on job_turns (due_at);

-- +goose Down
drop table job_turns;
drop table jobs;
