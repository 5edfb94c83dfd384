-- Emails of one kind to one user are few, and each is about all that waits.

-- +goose Up
-- When the last three emails of a kind to a user were begun, the oldest first.
create table mail_turns (
	organization bigint not null,
	principal    text   not null,
	kind         text   not null,
	first_at     bigint not null,
	second_at    bigint not null,
	third_at     bigint not null,
	primary key (organization, principal, kind)
);
-- The notice in whose name the email goes that a notice is in.
alter table notices add column mail_id text not null default '';
create index notices_waiting on notices (organization, principal, kind, mail_due) where mail_due > 0;

-- +goose Down
drop index notices_waiting;
alter table notices drop column mail_id;
drop table mail_turns;
