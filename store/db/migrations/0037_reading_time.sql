-- How much of a processor's time reading texts took for an organization, in
-- microseconds, by the five minutes in which a reading began. Rows of the last
-- hour count against its budget; older ones go with the next reading.

-- +goose Up
create table reading_time (
    organization bigint not null,
    at bigint not null,
    spent bigint not null,
    primary key (organization, at)
);

-- +goose Down
drop table reading_time;
