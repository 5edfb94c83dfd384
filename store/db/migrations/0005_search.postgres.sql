-- +goose Up
create table search_documents (
	organization bigint not null,
	family text not null,
	position bigint not null,
	id text not null,
	words text not null,
	primary key (organization, family, position)
);

create table search_postings (
	organization bigint not null,
	family text collate "C" not null,
	audience text collate "C" not null,
	rank smallint not null,
	word text collate "C" not null,
	position bigint not null,
	primary key (organization, family, audience, rank, word, position)
);
