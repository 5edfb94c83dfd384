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

-- +goose Down
delete from generations where name = 'limits';
drop table limit_replicas;
drop table limits;
