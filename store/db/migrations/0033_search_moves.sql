-- What a change of a record with many words leaves to be done in the segments:
-- these words are to stand there as the record's row in search_documents says.
-- They stand under some of these audiences until then; '' is everyone.

-- +goose Up
create table search_moves (
	organization bigint not null,
	family text not null,
	created bigint not null,
	number bigint not null,
	audiences text not null,
	words text not null,
	primary key (organization, family, created, number)
);

-- +goose Down
drop table search_moves;
