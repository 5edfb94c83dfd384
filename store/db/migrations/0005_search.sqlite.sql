-- +goose Up
create table search_documents (
	organization bigint not null,
	family text not null,
	position bigint not null,
	id text not null,
	words text not null,
	primary key (organization, family, position)
) without rowid;

create table search_postings (
	organization bigint not null,
	family text not null,
	audience text not null,
	rank smallint not null,
	word text not null,
	position bigint not null,
	primary key (organization, family, audience, rank, word, position)
) without rowid;
