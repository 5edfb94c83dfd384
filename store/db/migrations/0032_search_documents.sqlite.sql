-- The words of a document are kilobytes, and a table without rowid keeps them in
-- the tree that it is searched by: a look-up read some twenty rows whole to
-- compare their keys (SQLite keeps a quarter of a page of a row within the tree,
-- and goes after the rest for each comparison). With a rowid only keys are compared.

-- +goose Up
create table search_words (
	organization bigint not null,
	family text not null,
	created bigint not null,
	audience text not null,
	id text not null,
	words text not null,
	primary key (organization, family, created)
);
insert into search_words (organization, family, created, audience, id, words)
select organization, family, created, audience, id, words from search_documents
order by organization, family, created;
drop table search_documents;
alter table search_words rename to search_documents;

-- +goose Down
create table search_words (
	organization bigint not null,
	family text not null,
	created bigint not null,
	audience text not null,
	id text not null,
	words text not null,
	primary key (organization, family, created)
) without rowid;
insert into search_words select organization, family, created, audience, id, words from search_documents;
drop table search_documents;
alter table search_words rename to search_documents;
