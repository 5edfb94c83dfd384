-- Written by TestStatements (make docs): what calls on companies send to sqlite.

-------- POST /companies

select id, audience
from companies
where organization = $1
	and external_id = $2
	and external_id is not null;

update clocks
set tick = case when $2 > tick then $2 else tick + 1 end
where organization = $1
returning tick;

insert into companies (organization, id, revision, created_at, updated_at, deleted, owner_id, audience, external_id, schema_hash, content, created_by, created_door, created_request, created_credential, sort_name)
values ($1, $2, $3, $4, $5, false, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15);

insert into events (organization, tick, id, type, object, record_id, revision, changed, request_id, trace)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10);

insert into search_documents (organization, family, created, audience, id, words)
values ($1, $2, $3, $4, $5, $6);

-------- GET /companies/{id}, by a member

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0, owner_id, audience
from companies as r
where organization = $1
	and id = $2
	and deleted = false
	and audience in ('', $3);

-------- GET /companies/{id}, by an admin

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0, owner_id, audience
from companies as r
where organization = $1
	and id = $2
	and deleted = false
	and $3 = $3;

-------- GET /companies, by a member

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0
from (
	select id, revision, created_at, updated_at, deleted, schema_hash, content
	from companies
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content
	from companies
	where organization = $1
		and audience = $2
		and deleted = false
		and updated_at > $3
		and updated_at < $4
) as r
order by updated_at desc
limit $5;

-------- GET /companies, by an admin

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0
from (
	select id, revision, created_at, updated_at, deleted, schema_hash, content
	from companies
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content
	from companies
	where organization = $1
		and audience <> ''
		and $2 = $2
		and deleted = false
		and updated_at > $3
		and updated_at < $4
) as r
order by updated_at desc
limit $5;

-------- GET /companies?sort=updatedAt&updatedSince=2026-01-01T00:00:00Z, by a member

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0
from (
	select id, revision, created_at, updated_at, deleted, schema_hash, content
	from companies
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content
	from companies
	where organization = $1
		and audience = $2
		and deleted = false
		and updated_at > $3
		and updated_at < $4
) as r
order by updated_at
limit $5;

-------- GET /companies?sort=updatedAt&updatedSince=2026-01-01T00:00:00Z, by an admin

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0
from (
	select id, revision, created_at, updated_at, deleted, schema_hash, content
	from companies
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content
	from companies
	where organization = $1
		and audience <> ''
		and $2 = $2
		and deleted = false
		and updated_at > $3
		and updated_at < $4
) as r
order by updated_at
limit $5;

-------- GET /companies?sort=updatedAt&updatedSince=2026-01-01T00:00:00Z&includeDeleted=true, by a member

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0
from (
	select id, revision, created_at, updated_at, deleted, schema_hash, content
	from companies
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content
	from companies
	where organization = $1
		and audience = $2
		and deleted = false
		and updated_at > $3
		and updated_at < $4
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content
	from companies
	where organization = $1
		and audience = ''
		and deleted = true
		and updated_at > $3
		and updated_at < $4
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content
	from companies
	where organization = $1
		and audience = $2
		and deleted = true
		and updated_at > $3
		and updated_at < $4
	union all
	select record_id as id, cast(0 as bigint) as revision, tick as created_at, tick as updated_at, cast(true as boolean) as deleted, cast(0 as bigint) as schema_hash, cast('{}' as text) as content
	from visibility_losses
	where organization = $1
		and family = 'companies'
		and principal = $2
		and tick > $3
		and tick < $4
) as r
order by updated_at
limit $5;

-------- GET /companies?sort=updatedAt&updatedSince=2026-01-01T00:00:00Z&includeDeleted=true, by an admin

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0
from (
	select id, revision, created_at, updated_at, deleted, schema_hash, content
	from companies
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content
	from companies
	where organization = $1
		and audience <> ''
		and $2 = $2
		and deleted = false
		and updated_at > $3
		and updated_at < $4
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content
	from companies
	where organization = $1
		and audience = ''
		and deleted = true
		and updated_at > $3
		and updated_at < $4
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content
	from companies
	where organization = $1
		and audience <> ''
		and $2 = $2
		and deleted = true
		and updated_at > $3
		and updated_at < $4
) as r
order by updated_at
limit $5;

-------- GET /companies?q=anna, by a member

begin;

select m.created, (
	select d.audience
	from search_documents d
	where d.organization = $1
		and d.family = $2
		and d.created = m.created
)
from (
	select distinct created
	from search_moves
	where organization = $1
		and family = $2
) m;

select created, audience, id, words
from search_documents
where organization = $1
	and family = $2
	and created > (
	select coalesce(max(until), 0)
	from search_segments
	where organization = $1
		and family = $2
)
	and created > $3
order by created
limit $4;

select s.segment, coalesce((
	select b.postings
	from search_blocks b
	where b.organization = $1
		and b.family = $2
		and b.segment = s.segment
		and b.audience = $3
		and b.rank = 0
		and (b.word, b.position) >= ($5, $6)
	order by b.word, b.position
	limit 1
), ''), coalesce((
	select b.postings
	from search_blocks b
	where b.organization = $1
		and b.family = $2
		and b.segment = s.segment
		and b.audience = $3
		and b.rank = 1
		and (b.word, b.position) >= ($7, $8)
	order by b.word, b.position
	limit 1
), ''), coalesce((
	select b.postings
	from search_blocks b
	where b.organization = $1
		and b.family = $2
		and b.segment = s.segment
		and b.audience = $3
		and b.rank = 2
		and (b.word, b.position) >= ($9, $10)
	order by b.word, b.position
	limit 1
), ''), coalesce((
	select b.postings
	from search_blocks b
	where b.organization = $1
		and b.family = $2
		and b.segment = s.segment
		and b.audience = $4
		and b.rank = 0
		and (b.word, b.position) >= ($5, $6)
	order by b.word, b.position
	limit 1
), ''), coalesce((
	select b.postings
	from search_blocks b
	where b.organization = $1
		and b.family = $2
		and b.segment = s.segment
		and b.audience = $4
		and b.rank = 1
		and (b.word, b.position) >= ($7, $8)
	order by b.word, b.position
	limit 1
), ''), coalesce((
	select b.postings
	from search_blocks b
	where b.organization = $1
		and b.family = $2
		and b.segment = s.segment
		and b.audience = $4
		and b.rank = 2
		and (b.word, b.position) >= ($9, $10)
	order by b.word, b.position
	limit 1
), '')
from search_segments s
where s.organization = $1
	and s.family = $2
order by s.until desc, s.level desc;

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0
from companies as r
where r.organization = $1
	and coalesce(nullif(r.audience, ''), $2) = $2
	and r.deleted = false
	and r.id in (
	select value
	from json_each($3)
);

-------- GET /companies?q=anna, by an admin

-- as above: begin ...

-- as above: select m.created, ( select d.audience from search_documents d where d.organization = $1 an ...

-- as above: select created, audience, id, words from search_documents where organization = $1 and fami ...

-- as above: select s.segment, coalesce(( select b.postings from search_blocks b where b.organization = ...

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0
from companies as r
where r.organization = $1
	and $2 = $2
	and r.deleted = false
	and r.id in (
	select value
	from json_each($3)
);

-------- GET /companies?externalId, by a member

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0
from (
	select id, revision, created_at, updated_at, deleted, schema_hash, content
	from companies indexed by companies_external_id
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and external_id = $6
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content
	from companies indexed by companies_external_id
	where organization = $1
		and audience = $2
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and external_id = $6
) as r
order by updated_at desc
limit $5;

-------- GET /companies?externalId, by an admin

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0
from (
	select id, revision, created_at, updated_at, deleted, schema_hash, content
	from companies indexed by companies_external_id
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and external_id = $6
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content
	from companies indexed by companies_external_id
	where organization = $1
		and audience <> ''
		and $2 = $2
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and external_id = $6
) as r
order by updated_at desc
limit $5;

-------- GET /companies/count, by a member

select count(*)
from (
	select 1
	from companies
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
	union all
	select 1
	from companies
	where organization = $1
		and audience = $2
		and deleted = false
		and updated_at > $3
		and updated_at < $4
	limit $5
) as counted;

-------- GET /companies/count, by an admin

select count(*)
from (
	select 1
	from companies
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
	union all
	select 1
	from companies
	where organization = $1
		and audience <> ''
		and $2 = $2
		and deleted = false
		and updated_at > $3
		and updated_at < $4
	limit $5
) as counted;

-------- GET /companies/count?externalId, by a member

select count(*)
from (
	select 1
	from companies indexed by companies_external_id
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and external_id = $6
	union all
	select 1
	from companies indexed by companies_external_id
	where organization = $1
		and audience = $2
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and external_id = $6
	limit $5
) as counted;

-------- GET /companies/count?externalId, by an admin

select count(*)
from (
	select 1
	from companies indexed by companies_external_id
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and external_id = $6
	union all
	select 1
	from companies indexed by companies_external_id
	where organization = $1
		and audience <> ''
		and $2 = $2
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and external_id = $6
	limit $5
) as counted;

-------- PATCH /companies/{id} {"name":"Feld"}

-- as above: select id, revision, created_at, updated_at, deleted, schema_hash, content, 0, owner_id, a ...

-- as above: update clocks set tick = case when $2 > tick then $2 else tick + 1 end where organization  ...

update companies
set revision = revision + 1, updated_at = $4, owner_id = $5, audience = $6, external_id = $7, schema_hash = $8, content = $9, sort_name = $10
where organization = $1
	and id = $2
	and revision = $3
	and deleted = false;

insert into record_changes (organization, record_id, revision, changed_at, act, members, principal, door, request_id, credential)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10);

-- as above: insert into events (organization, tick, id, type, object, record_id, revision, changed, re ...

select audience, id, words
from search_documents
where organization = $1
	and family = $2
	and created = $3;

update search_documents
set audience = $4, words = $5
where organization = $1
	and family = $2
	and created = $3;

select segment
from search_segments
where organization = $1
	and family = $2
	and after < $3
	and until >= $3
order by level desc;

-------- PATCH /companies/{id} {"visibility":"private"}

-- as above: select id, revision, created_at, updated_at, deleted, schema_hash, content, 0, owner_id, a ...

-- as above: update clocks set tick = case when $2 > tick then $2 else tick + 1 end where organization  ...

-- as above: update companies set revision = revision + 1, updated_at = $4, owner_id = $5, audience = $ ...

-- as above: insert into record_changes (organization, record_id, revision, changed_at, act, members, p ...

select p.id
from principals p join organizations o on p.organization = coalesce(o.sandbox_of, o.number)
where o.number = $1
	and p.erased_at = 0;

insert into visibility_losses (organization, record_id, principal, family, tick)
select cast($1 as bigint), cast($2 as text), value, cast($3 as text), cast($4 as bigint)
from json_each($5);

-- as above: insert into events (organization, tick, id, type, object, record_id, revision, changed, re ...

-- as above: select audience, id, words from search_documents where organization = $1 and family = $2 a ...

-- as above: update search_documents set audience = $4, words = $5 where organization = $1 and family = ...

-- as above: select segment from search_segments where organization = $1 and family = $2 and after < $3 ...

-------- PATCH /companies/{id} {"visibility":"organization"}

-- as above: select id, revision, created_at, updated_at, deleted, schema_hash, content, 0, owner_id, a ...

-- as above: update clocks set tick = case when $2 > tick then $2 else tick + 1 end where organization  ...

-- as above: update companies set revision = revision + 1, updated_at = $4, owner_id = $5, audience = $ ...

-- as above: insert into record_changes (organization, record_id, revision, changed_at, act, members, p ...

delete from visibility_losses
where organization = $1
	and record_id = $2;

-- as above: insert into events (organization, tick, id, type, object, record_id, revision, changed, re ...

-- as above: select audience, id, words from search_documents where organization = $1 and family = $2 a ...

-- as above: update search_documents set audience = $4, words = $5 where organization = $1 and family = ...

-- as above: select segment from search_segments where organization = $1 and family = $2 and after < $3 ...

-------- DELETE /companies/{id}

-- as above: select id, revision, created_at, updated_at, deleted, schema_hash, content, 0, owner_id, a ...

-- as above: update clocks set tick = case when $2 > tick then $2 else tick + 1 end where organization  ...

update companies
set revision = revision + 1, updated_at = $4, deleted = true, external_id = null, content = '{}', created_by = '', created_door = '', created_request = '', created_credential = '', sort_name = null
where organization = $1
	and id = $2
	and revision = $3
	and deleted = false;

delete from record_changes
where organization = $1
	and record_id = $2;

-- as above: insert into record_changes (organization, record_id, revision, changed_at, act, members, p ...

update idempotency
set erased = true, etag = '', location = '', body = ''
where organization = $1
	and record = $2
	and erased = false;

delete from duplicate_keys
where organization = $1
	and created = (
	select created
	from duplicate_records
	where organization = $1
		and id = $2
)
	and key in (
	select value
	from json_each((
		select keys
		from duplicate_records
		where organization = $1
			and id = $2
	))
);

delete from duplicate_records
where organization = $1
	and id = $2;

delete from duplicate_pairs
where organization = $1
	and (first_id = $2 or second_id = $2);

delete from duplicate_dismissals
where organization = $1
	and (first_id = $2 or second_id = $2);

update bulk_lines
set before = ''
where organization = $1
	and record_id = $2
	and before <> '';

update imports
set samples = ''
where organization = $1
	and samples <> ''
	and id in (
	select import_id
	from import_lines
	where organization = $1
		and record_id = $2
		and record_id is not null
);

update import_lines
set content = '', file = '', before = '', problems = ''
where organization = $1
	and record_id = $2
	and record_id is not null;

update import_lines
set content = '', file = '', problems = ''
where organization = $1
	and company_id = $2
	and company_id is not null;

update merges
set copies = ''
where organization = $1
	and kept = $2;

delete from merge_moves
where organization = $1
	and merge_id in (
	select id
	from merges
	where organization = $1
		and kept = $2
		and state in ('merged', 'undone')
);

delete from merges
where organization = $1
	and kept = $2
	and state in ('merged', 'undone');

-- as above: insert into events (organization, tick, id, type, object, record_id, revision, changed, re ...

-- as above: select audience, id, words from search_documents where organization = $1 and family = $2 a ...

delete from search_documents
where organization = $1
	and family = $2
	and created = $3;

-- as above: select segment from search_segments where organization = $1 and family = $2 and after < $3 ...

