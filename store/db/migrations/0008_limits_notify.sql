-- What is used of the limits, and what was told to whom about it.

-- +goose Up
-- One row for each subject that takes points: the organization itself (the
-- empty subject), its principals and its keys. state is JSON that the limiter
-- alone reads.
create table limits (
	organization bigint not null,
	subject      text   not null,
	state        text   not null,
	updated_at   bigint not null,
	primary key (organization, subject)
);
create index limits_age on limits (organization, updated_at);

-- The replicas that share the limits; instance-wide, like generations.
create table limit_replicas (
	id          text   not null primary key,
	-- New with every start of the process.
	incarnation text   not null,
	-- The number of joinings that the replica has acted on.
	seen        bigint not null,
	renewed_at  bigint not null
);
insert into generations (name, number) values ('limits', 1);

-- What was told to whom: the entries of everybody's bell, each with the email
-- that goes with it. The organization is a live one, as that of its people is.
create table notices (
	organization bigint not null,
	principal    text   not null,
	id           text   not null,
	created_at   bigint not null,
	kind         text   not null,
	-- JSON; numbers and identifiers only.
	data         text   not null,
	-- Zero while it is unread.
	read_at      bigint not null,
	-- When the email is to be sent next; zero where none is.
	mail_due     bigint not null,
	mail_tries   bigint not null,
	-- When it was sent; zero where it was not.
	mailed_at    bigint not null,
	primary key (organization, principal, id)
);
create index notices_age on notices (organization, created_at);
create index notices_due on notices (mail_due) where mail_due > 0;

alter table principals add column language text not null default 'de';

-- +goose Down
delete from generations where name = 'limits';
alter table principals drop column language;
drop table notices;
drop table limit_replicas;
drop table limits;
