-- Replicas hold parts of the limits and need not wait for each other when one
-- joins.

-- +goose Up
alter table limit_replicas drop column seen;
delete from generations where name = 'limits';

-- +goose Down
insert into generations (name, number) values ('limits', 1);
alter table limit_replicas add column seen bigint not null default 0;
