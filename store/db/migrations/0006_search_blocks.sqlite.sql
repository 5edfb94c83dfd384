-- +goose Up

-- The words of a record together. Those that are newer than every segment are
-- read as they stand; docs/decisions/0007-search-is-packed-postings.md.
create table search_words (
	organization bigint not null,
	family text not null,
	created bigint not null,
	audience text not null,
	id text not null,
	words text not null,
	primary key (organization, family, created)
) without rowid;

insert into search_words
select d.organization, d.family, -d.position, coalesce((select c.audience from contacts c
	where c.organization = d.organization and c.id = d.id), ''), d.id, d.words
from search_documents d;

drop table search_documents;
drop table search_postings;
alter table search_words rename to search_documents;

-- A segment holds the postings of the records that were created after one
-- tick and until another. One that is building takes over from those of the
-- level below that lie within it.
create table search_segments (
	organization bigint not null,
	family text not null,
	segment bigint not null,
	level bigint not null,
	after bigint not null,
	until bigint not null,
	building boolean not null,
	primary key (organization, family, segment)
) without rowid;

-- Some dozens of postings in the order of (word, position); word and position
-- are those of the last one.
create table search_blocks (
	organization bigint not null,
	family text not null,
	segment bigint not null,
	audience text not null,
	rank smallint not null,
	word text not null,
	position bigint not null,
	postings text not null,
	primary key (organization, family, segment, audience, rank, word, position)
) without rowid;
