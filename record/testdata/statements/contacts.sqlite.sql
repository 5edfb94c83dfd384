-- Written by TestStatements (make docs): what calls on contacts send to sqlite.

-------- POST /contacts

select 1
from companies as r
where r.organization = $1
	and r.id = $2
	and r.deleted = false
	and coalesce(nullif(r.audience, ''), $3) = $3;

select id, audience
from contacts
where organization = $1
	and external_id = $2
	and external_id is not null;

update clocks
set tick = case when $2 > tick then $2 else tick + 1 end
where organization = $1
returning tick;

insert into contacts (organization, id, revision, created_at, updated_at, deleted, owner_id, audience, external_id, schema_hash, content, created_by, created_door, created_request, created_credential, email, company_id, sort_name)
values ($1, $2, $3, $4, $5, false, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17);

insert into tags (organization, family, reader, tag, tick)
select cast($1 as bigint), cast($2 as text), cast($3 as text), value, cast($5 as bigint)
from json_each($4);

insert into sorted_tags (organization, family, reader, tag, sort_key)
select cast($1 as bigint), cast($2 as text), cast($3 as text), value, cast($5 as text)
from json_each($4);

insert into events (organization, tick, id, type, object, record_id, revision, changed, request_id, trace)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10);

insert into search_documents (organization, family, created, audience, id, words)
values ($1, $2, $3, $4, $5, $6);

-------- GET /contacts/{id}, by a member

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when r.company_id is null or exists (
	select 1
	from companies as x
	where x.organization = $1
		and x.id = r.company_id
		and x.deleted = false
		and x.audience in ('', $3)
) then 0 else 1 end, owner_id, audience
from contacts as r
where organization = $1
	and id = $2
	and deleted = false
	and audience in ('', $3);

-------- GET /contacts/{id}, by an admin

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when r.company_id is null or exists (
	select 1
	from companies as x
	where x.organization = $1
		and x.id = r.company_id
		and x.deleted = false
) then 0 else 1 end, owner_id, audience
from contacts as r
where organization = $1
	and id = $2
	and deleted = false
	and $3 = $3;

-------- GET /contacts, by a member

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when r.company_id is null or exists (
	select 1
	from companies as x
	where x.organization = $1
		and x.id = r.company_id
		and x.deleted = false
		and x.audience in ('', $2)
) then 0 else 1 end
from (
	select id, revision, created_at, updated_at, deleted, schema_hash, content, company_id
	from contacts
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content, company_id
	from contacts
	where organization = $1
		and audience = $2
		and deleted = false
		and updated_at > $3
		and updated_at < $4
) as r
order by updated_at desc
limit $5;

-------- GET /contacts, by an admin

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when r.company_id is null or exists (
	select 1
	from companies as x
	where x.organization = $1
		and x.id = r.company_id
		and x.deleted = false
) then 0 else 1 end
from (
	select id, revision, created_at, updated_at, deleted, schema_hash, content, company_id
	from contacts
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content, company_id
	from contacts
	where organization = $1
		and audience <> ''
		and $2 = $2
		and deleted = false
		and updated_at > $3
		and updated_at < $4
) as r
order by updated_at desc
limit $5;

-------- GET /contacts?sort=updatedAt&updatedSince=2026-01-01T00:00:00Z, by a member

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when r.company_id is null or exists (
	select 1
	from companies as x
	where x.organization = $1
		and x.id = r.company_id
		and x.deleted = false
		and x.audience in ('', $2)
) then 0 else 1 end
from (
	select id, revision, created_at, updated_at, deleted, schema_hash, content, company_id
	from contacts
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content, company_id
	from contacts
	where organization = $1
		and audience = $2
		and deleted = false
		and updated_at > $3
		and updated_at < $4
) as r
order by updated_at
limit $5;

-------- GET /contacts?sort=updatedAt&updatedSince=2026-01-01T00:00:00Z, by an admin

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when r.company_id is null or exists (
	select 1
	from companies as x
	where x.organization = $1
		and x.id = r.company_id
		and x.deleted = false
) then 0 else 1 end
from (
	select id, revision, created_at, updated_at, deleted, schema_hash, content, company_id
	from contacts
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content, company_id
	from contacts
	where organization = $1
		and audience <> ''
		and $2 = $2
		and deleted = false
		and updated_at > $3
		and updated_at < $4
) as r
order by updated_at
limit $5;

-------- GET /contacts?sort=updatedAt&updatedSince=2026-01-01T00:00:00Z&includeDeleted=true, by a member

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when r.company_id is null or exists (
	select 1
	from companies as x
	where x.organization = $1
		and x.id = r.company_id
		and x.deleted = false
		and x.audience in ('', $2)
) then 0 else 1 end
from (
	select id, revision, created_at, updated_at, deleted, schema_hash, content, company_id
	from contacts
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content, company_id
	from contacts
	where organization = $1
		and audience = $2
		and deleted = false
		and updated_at > $3
		and updated_at < $4
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content, company_id
	from contacts
	where organization = $1
		and audience = ''
		and deleted = true
		and updated_at > $3
		and updated_at < $4
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content, company_id
	from contacts
	where organization = $1
		and audience = $2
		and deleted = true
		and updated_at > $3
		and updated_at < $4
	union all
	select record_id as id, cast(0 as bigint) as revision, tick as created_at, tick as updated_at, cast(true as boolean) as deleted, cast(0 as bigint) as schema_hash, cast('{}' as text) as content, cast(null as text) as company_id
	from visibility_losses
	where organization = $1
		and family = 'contacts'
		and principal = $2
		and tick > $3
		and tick < $4
) as r
order by updated_at
limit $5;

-------- GET /contacts?sort=updatedAt&updatedSince=2026-01-01T00:00:00Z&includeDeleted=true, by an admin

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when r.company_id is null or exists (
	select 1
	from companies as x
	where x.organization = $1
		and x.id = r.company_id
		and x.deleted = false
) then 0 else 1 end
from (
	select id, revision, created_at, updated_at, deleted, schema_hash, content, company_id
	from contacts
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content, company_id
	from contacts
	where organization = $1
		and audience <> ''
		and $2 = $2
		and deleted = false
		and updated_at > $3
		and updated_at < $4
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content, company_id
	from contacts
	where organization = $1
		and audience = ''
		and deleted = true
		and updated_at > $3
		and updated_at < $4
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content, company_id
	from contacts
	where organization = $1
		and audience <> ''
		and $2 = $2
		and deleted = true
		and updated_at > $3
		and updated_at < $4
) as r
order by updated_at
limit $5;

-------- GET /contacts?q=anna, by a member

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

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when r.company_id is null or exists (
	select 1
	from companies as x
	where x.organization = $1
		and x.id = r.company_id
		and x.deleted = false
		and x.audience in ('', $2)
) then 0 else 1 end
from contacts as r
where r.organization = $1
	and coalesce(nullif(r.audience, ''), $2) = $2
	and r.deleted = false
	and r.id in (
	select value
	from json_each($3)
);

-------- GET /contacts?q=anna, by an admin

-- as above: begin ...

-- as above: select m.created, ( select d.audience from search_documents d where d.organization = $1 an ...

-- as above: select created, audience, id, words from search_documents where organization = $1 and fami ...

-- as above: select s.segment, coalesce(( select b.postings from search_blocks b where b.organization = ...

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when r.company_id is null or exists (
	select 1
	from companies as x
	where x.organization = $1
		and x.id = r.company_id
		and x.deleted = false
) then 0 else 1 end
from contacts as r
where r.organization = $1
	and $2 = $2
	and r.deleted = false
	and r.id in (
	select value
	from json_each($3)
);

-------- GET /contacts?externalId, by a member

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when r.company_id is null or exists (
	select 1
	from companies as x
	where x.organization = $1
		and x.id = r.company_id
		and x.deleted = false
		and x.audience in ('', $2)
) then 0 else 1 end
from (
	select id, revision, created_at, updated_at, deleted, schema_hash, content, company_id
	from contacts indexed by contacts_external_id
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and external_id = $6
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content, company_id
	from contacts indexed by contacts_external_id
	where organization = $1
		and audience = $2
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and external_id = $6
) as r
order by updated_at desc
limit $5;

-------- GET /contacts?externalId, by an admin

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when r.company_id is null or exists (
	select 1
	from companies as x
	where x.organization = $1
		and x.id = r.company_id
		and x.deleted = false
) then 0 else 1 end
from (
	select id, revision, created_at, updated_at, deleted, schema_hash, content, company_id
	from contacts indexed by contacts_external_id
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and external_id = $6
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content, company_id
	from contacts indexed by contacts_external_id
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

-------- GET /contacts?email, by a member

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when r.company_id is null or exists (
	select 1
	from companies as x
	where x.organization = $1
		and x.id = r.company_id
		and x.deleted = false
		and x.audience in ('', $2)
) then 0 else 1 end
from (
	select id, revision, created_at, updated_at, deleted, schema_hash, content, company_id
	from contacts indexed by contacts_email_audience
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and email = $6
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content, company_id
	from contacts indexed by contacts_email_audience
	where organization = $1
		and audience = $2
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and email = $6
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content, company_id
	from tags as g cross join contacts indexed by contacts_live_audience
	where g.organization = $1
		and g.family = 'contacts.email'
		and g.reader = ''
		and $2 = $2
		and g.tag = $6
		and contacts.organization = $1
		and contacts.deleted = false
		and contacts.updated_at = g.tick
		and contacts.audience = ''
		and contacts.updated_at > $3
		and contacts.updated_at < $4
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content, company_id
	from tags as g cross join contacts indexed by contacts_live_audience
	where g.organization = $1
		and g.family = 'contacts.email'
		and g.reader = $2
		and g.tag = $6
		and contacts.organization = $1
		and contacts.deleted = false
		and contacts.updated_at = g.tick
		and contacts.audience = $2
		and contacts.audience <> ''
		and contacts.updated_at > $3
		and contacts.updated_at < $4
) as r
order by updated_at desc
limit $5;

-------- GET /contacts?email, by an admin

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when r.company_id is null or exists (
	select 1
	from companies as x
	where x.organization = $1
		and x.id = r.company_id
		and x.deleted = false
) then 0 else 1 end
from (
	select id, revision, created_at, updated_at, deleted, schema_hash, content, company_id
	from contacts indexed by contacts_email_audience
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and email = $6
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content, company_id
	from contacts indexed by contacts_email_audience
	where organization = $1
		and audience <> ''
		and $2 = $2
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and email = $6
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content, company_id
	from tags as g cross join contacts indexed by contacts_live_audience
	where g.organization = $1
		and g.family = 'contacts.email'
		and g.reader = ''
		and $2 = $2
		and g.tag = $6
		and contacts.organization = $1
		and contacts.deleted = false
		and contacts.updated_at = g.tick
		and contacts.audience = ''
		and contacts.updated_at > $3
		and contacts.updated_at < $4
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content, company_id
	from tags as g cross join contacts indexed by contacts_live_private
	where g.organization = $1
		and g.family = 'contacts.email'
		and g.reader = '*'
		and $2 = $2
		and g.tag = $6
		and contacts.organization = $1
		and contacts.deleted = false
		and contacts.updated_at = g.tick
		and contacts.audience <> ''
		and $2 = $2
		and contacts.updated_at > $3
		and contacts.updated_at < $4
) as r
order by updated_at desc
limit $5;

-------- GET /contacts?companyId, by a member

-- as above: select 1 from companies as r where r.organization = $1 and r.id = $2 and r.deleted = false ...

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when r.company_id is null or exists (
	select 1
	from companies as x
	where x.organization = $1
		and x.id = r.company_id
		and x.deleted = false
		and x.audience in ('', $2)
) then 0 else 1 end
from (
	select id, revision, created_at, updated_at, deleted, schema_hash, content, company_id
	from contacts indexed by contacts_company_id_audience
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and company_id = $6
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content, company_id
	from contacts indexed by contacts_company_id_audience
	where organization = $1
		and audience = $2
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and company_id = $6
) as r
order by updated_at desc
limit $5;

-------- GET /contacts?companyId, by an admin

select 1
from companies as r
where r.organization = $1
	and r.id = $2
	and r.deleted = false
	and $3 = $3;

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when r.company_id is null or exists (
	select 1
	from companies as x
	where x.organization = $1
		and x.id = r.company_id
		and x.deleted = false
) then 0 else 1 end
from (
	select id, revision, created_at, updated_at, deleted, schema_hash, content, company_id
	from contacts indexed by contacts_company_id_audience
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and company_id = $6
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content, company_id
	from contacts indexed by contacts_company_id_private
	where organization = $1
		and audience <> ''
		and $2 = $2
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and company_id = $6
) as r
order by updated_at desc
limit $5;

-------- GET /contacts?email&companyId, by a member

-- as above: select 1 from companies as r where r.organization = $1 and r.id = $2 and r.deleted = false ...

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when r.company_id is null or exists (
	select 1
	from companies as x
	where x.organization = $1
		and x.id = r.company_id
		and x.deleted = false
		and x.audience in ('', $2)
) then 0 else 1 end
from (
	select id, revision, created_at, updated_at, deleted, schema_hash, content, company_id
	from contacts indexed by contacts_email_audience
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and email = $6
		and company_id || '' = $7
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content, company_id
	from contacts indexed by contacts_email_audience
	where organization = $1
		and audience = $2
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and email = $6
		and company_id || '' = $7
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content, company_id
	from tags as g cross join contacts indexed by contacts_live_audience
	where g.organization = $1
		and g.family = 'contacts.email'
		and g.reader = ''
		and $2 = $2
		and g.tag = $6
		and contacts.organization = $1
		and contacts.deleted = false
		and contacts.updated_at = g.tick
		and contacts.audience = ''
		and contacts.updated_at > $3
		and contacts.updated_at < $4
		and company_id || '' = $7
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content, company_id
	from tags as g cross join contacts indexed by contacts_live_audience
	where g.organization = $1
		and g.family = 'contacts.email'
		and g.reader = $2
		and g.tag = $6
		and contacts.organization = $1
		and contacts.deleted = false
		and contacts.updated_at = g.tick
		and contacts.audience = $2
		and contacts.audience <> ''
		and contacts.updated_at > $3
		and contacts.updated_at < $4
		and company_id || '' = $7
) as r
order by updated_at desc
limit $5;

-------- GET /contacts?email&companyId, by an admin

-- as above: select 1 from companies as r where r.organization = $1 and r.id = $2 and r.deleted = false ...

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when r.company_id is null or exists (
	select 1
	from companies as x
	where x.organization = $1
		and x.id = r.company_id
		and x.deleted = false
) then 0 else 1 end
from (
	select id, revision, created_at, updated_at, deleted, schema_hash, content, company_id
	from contacts indexed by contacts_email_audience
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and email = $6
		and company_id || '' = $7
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content, company_id
	from contacts indexed by contacts_email_audience
	where organization = $1
		and audience <> ''
		and $2 = $2
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and email = $6
		and company_id || '' = $7
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content, company_id
	from tags as g cross join contacts indexed by contacts_live_audience
	where g.organization = $1
		and g.family = 'contacts.email'
		and g.reader = ''
		and $2 = $2
		and g.tag = $6
		and contacts.organization = $1
		and contacts.deleted = false
		and contacts.updated_at = g.tick
		and contacts.audience = ''
		and contacts.updated_at > $3
		and contacts.updated_at < $4
		and company_id || '' = $7
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content, company_id
	from tags as g cross join contacts indexed by contacts_live_private
	where g.organization = $1
		and g.family = 'contacts.email'
		and g.reader = '*'
		and $2 = $2
		and g.tag = $6
		and contacts.organization = $1
		and contacts.deleted = false
		and contacts.updated_at = g.tick
		and contacts.audience <> ''
		and $2 = $2
		and contacts.updated_at > $3
		and contacts.updated_at < $4
		and company_id || '' = $7
) as r
order by updated_at desc
limit $5;

-------- GET /contacts/count, by a member

select count(*)
from (
	select 1
	from contacts
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
	union all
	select 1
	from contacts
	where organization = $1
		and audience = $2
		and deleted = false
		and updated_at > $3
		and updated_at < $4
	limit $5
) as counted;

-------- GET /contacts/count, by an admin

select count(*)
from (
	select 1
	from contacts
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
	union all
	select 1
	from contacts
	where organization = $1
		and audience <> ''
		and $2 = $2
		and deleted = false
		and updated_at > $3
		and updated_at < $4
	limit $5
) as counted;

-------- GET /contacts/count?externalId, by a member

select count(*)
from (
	select 1
	from contacts indexed by contacts_external_id
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and external_id = $6
	union all
	select 1
	from contacts indexed by contacts_external_id
	where organization = $1
		and audience = $2
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and external_id = $6
	limit $5
) as counted;

-------- GET /contacts/count?externalId, by an admin

select count(*)
from (
	select 1
	from contacts indexed by contacts_external_id
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and external_id = $6
	union all
	select 1
	from contacts indexed by contacts_external_id
	where organization = $1
		and audience <> ''
		and $2 = $2
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and external_id = $6
	limit $5
) as counted;

-------- GET /contacts/count?email, by a member

select count(*)
from (
	select 1
	from contacts indexed by contacts_email_audience
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and email = $6
	union all
	select 1
	from contacts indexed by contacts_email_audience
	where organization = $1
		and audience = $2
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and email = $6
	union all
	select 1
	from tags as g cross join contacts indexed by contacts_live_audience
	where g.organization = $1
		and g.family = 'contacts.email'
		and g.reader = ''
		and $2 = $2
		and g.tag = $6
		and contacts.organization = $1
		and contacts.deleted = false
		and contacts.updated_at = g.tick
		and contacts.audience = ''
		and contacts.updated_at > $3
		and contacts.updated_at < $4
	union all
	select 1
	from tags as g cross join contacts indexed by contacts_live_audience
	where g.organization = $1
		and g.family = 'contacts.email'
		and g.reader = $2
		and g.tag = $6
		and contacts.organization = $1
		and contacts.deleted = false
		and contacts.updated_at = g.tick
		and contacts.audience = $2
		and contacts.audience <> ''
		and contacts.updated_at > $3
		and contacts.updated_at < $4
	limit $5
) as counted;

-------- GET /contacts/count?email, by an admin

select count(*)
from (
	select 1
	from contacts indexed by contacts_email_audience
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and email = $6
	union all
	select 1
	from contacts indexed by contacts_email_audience
	where organization = $1
		and audience <> ''
		and $2 = $2
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and email = $6
	union all
	select 1
	from tags as g cross join contacts indexed by contacts_live_audience
	where g.organization = $1
		and g.family = 'contacts.email'
		and g.reader = ''
		and $2 = $2
		and g.tag = $6
		and contacts.organization = $1
		and contacts.deleted = false
		and contacts.updated_at = g.tick
		and contacts.audience = ''
		and contacts.updated_at > $3
		and contacts.updated_at < $4
	union all
	select 1
	from tags as g cross join contacts indexed by contacts_live_private
	where g.organization = $1
		and g.family = 'contacts.email'
		and g.reader = '*'
		and $2 = $2
		and g.tag = $6
		and contacts.organization = $1
		and contacts.deleted = false
		and contacts.updated_at = g.tick
		and contacts.audience <> ''
		and $2 = $2
		and contacts.updated_at > $3
		and contacts.updated_at < $4
	limit $5
) as counted;

-------- GET /contacts/count?companyId, by a member

-- as above: select 1 from companies as r where r.organization = $1 and r.id = $2 and r.deleted = false ...

select count(*)
from (
	select 1
	from contacts indexed by contacts_company_id_audience
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and company_id = $6
	union all
	select 1
	from contacts indexed by contacts_company_id_audience
	where organization = $1
		and audience = $2
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and company_id = $6
	limit $5
) as counted;

-------- GET /contacts/count?companyId, by an admin

-- as above: select 1 from companies as r where r.organization = $1 and r.id = $2 and r.deleted = false ...

select count(*)
from (
	select 1
	from contacts indexed by contacts_company_id_audience
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and company_id = $6
	union all
	select 1
	from contacts indexed by contacts_company_id_private
	where organization = $1
		and audience <> ''
		and $2 = $2
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and company_id = $6
	limit $5
) as counted;

-------- GET /contacts/count?email&companyId, by a member

-- as above: select 1 from companies as r where r.organization = $1 and r.id = $2 and r.deleted = false ...

select count(*)
from (
	select 1
	from contacts indexed by contacts_email_audience
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and email = $6
		and company_id || '' = $7
	union all
	select 1
	from contacts indexed by contacts_email_audience
	where organization = $1
		and audience = $2
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and email = $6
		and company_id || '' = $7
	union all
	select 1
	from tags as g cross join contacts indexed by contacts_live_audience
	where g.organization = $1
		and g.family = 'contacts.email'
		and g.reader = ''
		and $2 = $2
		and g.tag = $6
		and contacts.organization = $1
		and contacts.deleted = false
		and contacts.updated_at = g.tick
		and contacts.audience = ''
		and contacts.updated_at > $3
		and contacts.updated_at < $4
		and company_id || '' = $7
	union all
	select 1
	from tags as g cross join contacts indexed by contacts_live_audience
	where g.organization = $1
		and g.family = 'contacts.email'
		and g.reader = $2
		and g.tag = $6
		and contacts.organization = $1
		and contacts.deleted = false
		and contacts.updated_at = g.tick
		and contacts.audience = $2
		and contacts.audience <> ''
		and contacts.updated_at > $3
		and contacts.updated_at < $4
		and company_id || '' = $7
	limit $5
) as counted;

-------- GET /contacts/count?email&companyId, by an admin

-- as above: select 1 from companies as r where r.organization = $1 and r.id = $2 and r.deleted = false ...

select count(*)
from (
	select 1
	from contacts indexed by contacts_email_audience
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and email = $6
		and company_id || '' = $7
	union all
	select 1
	from contacts indexed by contacts_email_audience
	where organization = $1
		and audience <> ''
		and $2 = $2
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and email = $6
		and company_id || '' = $7
	union all
	select 1
	from tags as g cross join contacts indexed by contacts_live_audience
	where g.organization = $1
		and g.family = 'contacts.email'
		and g.reader = ''
		and $2 = $2
		and g.tag = $6
		and contacts.organization = $1
		and contacts.deleted = false
		and contacts.updated_at = g.tick
		and contacts.audience = ''
		and contacts.updated_at > $3
		and contacts.updated_at < $4
		and company_id || '' = $7
	union all
	select 1
	from tags as g cross join contacts indexed by contacts_live_private
	where g.organization = $1
		and g.family = 'contacts.email'
		and g.reader = '*'
		and $2 = $2
		and g.tag = $6
		and contacts.organization = $1
		and contacts.deleted = false
		and contacts.updated_at = g.tick
		and contacts.audience <> ''
		and $2 = $2
		and contacts.updated_at > $3
		and contacts.updated_at < $4
		and company_id || '' = $7
	limit $5
) as counted;

-------- PATCH /contacts/{id} {"lastName":"Tal"}

-- as above: select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when  ...

-- as above: update clocks set tick = case when $2 > tick then $2 else tick + 1 end where organization  ...

update contacts
set revision = revision + 1, updated_at = $4, owner_id = $5, audience = $6, external_id = $7, schema_hash = $8, content = $9, email = $10, company_id = $11, sort_name = $12
where organization = $1
	and id = $2
	and revision = $3
	and deleted = false;

insert into record_changes (organization, record_id, revision, changed_at, act, members, principal, door, request_id, credential)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10);

update tags
set tick = $6
where organization = $1
	and family = $2
	and reader = $3
	and tag in (
	select value
	from json_each($4)
)
	and tick = $5;

update sorted_tags
set sort_key = $6
where organization = $1
	and family = $2
	and reader = $3
	and tag in (
	select value
	from json_each($4)
)
	and sort_key = $5;

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

-------- PATCH /contacts/{id} {"visibility":"private"}

-- as above: select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when  ...

-- as above: update clocks set tick = case when $2 > tick then $2 else tick + 1 end where organization  ...

-- as above: update contacts set revision = revision + 1, updated_at = $4, owner_id = $5, audience = $6 ...

-- as above: insert into record_changes (organization, record_id, revision, changed_at, act, members, p ...

delete from tags
where organization = $1
	and family = $2
	and reader = $3
	and tag in (
	select value
	from json_each($4)
)
	and tick = $5;

delete from sorted_tags
where organization = $1
	and family = $2
	and reader = $3
	and tag in (
	select value
	from json_each($4)
)
	and sort_key = $5;

-- as above: insert into tags (organization, family, reader, tag, tick) select cast($1 as bigint), cast ...

-- as above: insert into tags (organization, family, reader, tag, tick) select cast($1 as bigint), cast ...

-- as above: insert into sorted_tags (organization, family, reader, tag, sort_key) select cast($1 as bi ...

-- as above: insert into sorted_tags (organization, family, reader, tag, sort_key) select cast($1 as bi ...

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

-------- PATCH /contacts/{id} {"visibility":"organization"}

-- as above: select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when  ...

-- as above: update clocks set tick = case when $2 > tick then $2 else tick + 1 end where organization  ...

-- as above: update contacts set revision = revision + 1, updated_at = $4, owner_id = $5, audience = $6 ...

-- as above: insert into record_changes (organization, record_id, revision, changed_at, act, members, p ...

-- as above: delete from tags where organization = $1 and family = $2 and reader = $3 and tag in ( sele ...

-- as above: delete from tags where organization = $1 and family = $2 and reader = $3 and tag in ( sele ...

-- as above: delete from sorted_tags where organization = $1 and family = $2 and reader = $3 and tag in ...

-- as above: delete from sorted_tags where organization = $1 and family = $2 and reader = $3 and tag in ...

-- as above: insert into tags (organization, family, reader, tag, tick) select cast($1 as bigint), cast ...

-- as above: insert into sorted_tags (organization, family, reader, tag, sort_key) select cast($1 as bi ...

delete from visibility_losses
where organization = $1
	and record_id = $2;

-- as above: insert into events (organization, tick, id, type, object, record_id, revision, changed, re ...

-- as above: select audience, id, words from search_documents where organization = $1 and family = $2 a ...

-- as above: update search_documents set audience = $4, words = $5 where organization = $1 and family = ...

-- as above: select segment from search_segments where organization = $1 and family = $2 and after < $3 ...

-------- DELETE /contacts/{id}

-- as above: select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when  ...

-- as above: update clocks set tick = case when $2 > tick then $2 else tick + 1 end where organization  ...

update contacts
set revision = revision + 1, updated_at = $4, deleted = true, external_id = null, content = '{}', created_by = '', created_door = '', created_request = '', created_credential = '', email = null, company_id = null, sort_name = null
where organization = $1
	and id = $2
	and revision = $3
	and deleted = false;

delete from record_changes
where organization = $1
	and record_id = $2;

-- as above: insert into record_changes (organization, record_id, revision, changed_at, act, members, p ...

-- as above: delete from tags where organization = $1 and family = $2 and reader = $3 and tag in ( sele ...

-- as above: delete from sorted_tags where organization = $1 and family = $2 and reader = $3 and tag in ...

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

-------- PATCH /contacts/{id} {"tags":["Erbrecht"]}

-- as above: select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when  ...

-- as above: update clocks set tick = case when $2 > tick then $2 else tick + 1 end where organization  ...

-- as above: update contacts set revision = revision + 1, updated_at = $4, owner_id = $5, audience = $6 ...

-- as above: insert into record_changes (organization, record_id, revision, changed_at, act, members, p ...

-- as above: delete from tags where organization = $1 and family = $2 and reader = $3 and tag in ( sele ...

-- as above: delete from sorted_tags where organization = $1 and family = $2 and reader = $3 and tag in ...

-- as above: insert into tags (organization, family, reader, tag, tick) select cast($1 as bigint), cast ...

-- as above: insert into sorted_tags (organization, family, reader, tag, sort_key) select cast($1 as bi ...

-- as above: insert into events (organization, tick, id, type, object, record_id, revision, changed, re ...

-- as above: select audience, id, words from search_documents where organization = $1 and family = $2 a ...

-- as above: update search_documents set audience = $4, words = $5 where organization = $1 and family = ...

-- as above: select segment from search_segments where organization = $1 and family = $2 and after < $3 ...

-------- GET /contacts?tag=mandant in a session, by a member

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when r.company_id is null or exists (
	select 1
	from companies as x
	where x.organization = $1
		and x.id = r.company_id
		and x.deleted = false
		and x.audience in ('', $2)
) then 0 else 1 end
from (
	select id, revision, created_at, g.tick as updated_at, deleted, schema_hash, content, company_id
	from tags as g cross join contacts indexed by contacts_live_audience
	where g.organization = $1
		and g.family = 'contacts'
		and g.reader = ''
		and $2 = $2
		and g.tick > $3
		and g.tick < $4
		and contacts.organization = $1
		and contacts.deleted = false
		and contacts.updated_at = g.tick
		and contacts.audience = ''
		and tag = $6
	union all
	select id, revision, created_at, g.tick as updated_at, deleted, schema_hash, content, company_id
	from tags as g cross join contacts indexed by contacts_live_audience
	where g.organization = $1
		and g.family = 'contacts'
		and g.reader = $2
		and g.tick > $3
		and g.tick < $4
		and contacts.organization = $1
		and contacts.deleted = false
		and contacts.updated_at = g.tick
		and contacts.audience = $2
		and contacts.audience <> ''
		and tag = $6
) as r
order by updated_at desc
limit $5;

-------- GET /contacts?tag=mandant in a session, by an admin

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when r.company_id is null or exists (
	select 1
	from companies as x
	where x.organization = $1
		and x.id = r.company_id
		and x.deleted = false
) then 0 else 1 end
from (
	select id, revision, created_at, g.tick as updated_at, deleted, schema_hash, content, company_id
	from tags as g cross join contacts indexed by contacts_live_audience
	where g.organization = $1
		and g.family = 'contacts'
		and g.reader = ''
		and $2 = $2
		and g.tick > $3
		and g.tick < $4
		and contacts.organization = $1
		and contacts.deleted = false
		and contacts.updated_at = g.tick
		and contacts.audience = ''
		and tag = $6
	union all
	select id, revision, created_at, g.tick as updated_at, deleted, schema_hash, content, company_id
	from tags as g cross join contacts indexed by contacts_live_private
	where g.organization = $1
		and g.family = 'contacts'
		and g.reader = '*'
		and $2 = $2
		and g.tick > $3
		and g.tick < $4
		and contacts.organization = $1
		and contacts.deleted = false
		and contacts.updated_at = g.tick
		and contacts.audience <> ''
		and $2 = $2
		and tag = $6
) as r
order by updated_at desc
limit $5;

-------- GET /contacts?tag=mandant&ownerId={me} in a session, by a member

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when r.company_id is null or exists (
	select 1
	from companies as x
	where x.organization = $1
		and x.id = r.company_id
		and x.deleted = false
		and x.audience in ('', $2)
) then 0 else 1 end
from (
	select id, revision, created_at, g.tick as updated_at, deleted, schema_hash, content, company_id
	from tags as g cross join contacts indexed by contacts_live_audience
	where g.organization = $1
		and g.family = 'contacts'
		and g.reader = ''
		and $2 = $2
		and g.tick > $3
		and g.tick < $4
		and contacts.organization = $1
		and contacts.deleted = false
		and contacts.updated_at = g.tick
		and contacts.audience = ''
		and tag = $6
		and owner_id || '' = $7
	union all
	select id, revision, created_at, g.tick as updated_at, deleted, schema_hash, content, company_id
	from tags as g cross join contacts indexed by contacts_live_audience
	where g.organization = $1
		and g.family = 'contacts'
		and g.reader = $2
		and g.tick > $3
		and g.tick < $4
		and contacts.organization = $1
		and contacts.deleted = false
		and contacts.updated_at = g.tick
		and contacts.audience = $2
		and contacts.audience <> ''
		and tag = $6
		and owner_id || '' = $7
) as r
order by updated_at desc
limit $5;

-------- GET /contacts?tag=mandant&ownerId={me} in a session, by an admin

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when r.company_id is null or exists (
	select 1
	from companies as x
	where x.organization = $1
		and x.id = r.company_id
		and x.deleted = false
) then 0 else 1 end
from (
	select id, revision, created_at, g.tick as updated_at, deleted, schema_hash, content, company_id
	from tags as g cross join contacts indexed by contacts_live_audience
	where g.organization = $1
		and g.family = 'contacts'
		and g.reader = ''
		and $2 = $2
		and g.tick > $3
		and g.tick < $4
		and contacts.organization = $1
		and contacts.deleted = false
		and contacts.updated_at = g.tick
		and contacts.audience = ''
		and tag = $6
		and owner_id || '' = $7
	union all
	select id, revision, created_at, g.tick as updated_at, deleted, schema_hash, content, company_id
	from tags as g cross join contacts indexed by contacts_live_private
	where g.organization = $1
		and g.family = 'contacts'
		and g.reader = '*'
		and $2 = $2
		and g.tick > $3
		and g.tick < $4
		and contacts.organization = $1
		and contacts.deleted = false
		and contacts.updated_at = g.tick
		and contacts.audience <> ''
		and $2 = $2
		and tag = $6
		and owner_id || '' = $7
) as r
order by updated_at desc
limit $5;

-------- GET /contacts?companyId={company}&tag=mandant in a session, by a member

-- as above: select 1 from companies as r where r.organization = $1 and r.id = $2 and r.deleted = false ...

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when r.company_id is null or exists (
	select 1
	from companies as x
	where x.organization = $1
		and x.id = r.company_id
		and x.deleted = false
		and x.audience in ('', $2)
) then 0 else 1 end
from (
	select id, revision, created_at, updated_at, deleted, schema_hash, content, company_id
	from contacts indexed by contacts_company_id_audience
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and company_id = $6
		and (
		select count(*)
		from tags as g
		where g.organization = $1
			and g.family = 'contacts'
			and g.reader = contacts.audience
			and g.tag = $7
			and g.tick = contacts.updated_at
	) > 0
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content, company_id
	from contacts indexed by contacts_company_id_audience
	where organization = $1
		and audience = $2
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and company_id = $6
		and (
		select count(*)
		from tags as g
		where g.organization = $1
			and g.family = 'contacts'
			and g.reader = contacts.audience
			and g.tag = $7
			and g.tick = contacts.updated_at
	) > 0
) as r
order by updated_at desc
limit $5;

-------- GET /contacts?companyId={company}&tag=mandant in a session, by an admin

-- as above: select 1 from companies as r where r.organization = $1 and r.id = $2 and r.deleted = false ...

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when r.company_id is null or exists (
	select 1
	from companies as x
	where x.organization = $1
		and x.id = r.company_id
		and x.deleted = false
) then 0 else 1 end
from (
	select id, revision, created_at, updated_at, deleted, schema_hash, content, company_id
	from contacts indexed by contacts_company_id_audience
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and company_id = $6
		and (
		select count(*)
		from tags as g
		where g.organization = $1
			and g.family = 'contacts'
			and g.reader = contacts.audience
			and g.tag = $7
			and g.tick = contacts.updated_at
	) > 0
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content, company_id
	from contacts indexed by contacts_company_id_private
	where organization = $1
		and audience <> ''
		and $2 = $2
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and company_id = $6
		and (
		select count(*)
		from tags as g
		where g.organization = $1
			and g.family = 'contacts'
			and g.reader = contacts.audience
			and g.tag = $7
			and g.tick = contacts.updated_at
	) > 0
) as r
order by updated_at desc
limit $5;

-------- GET /contacts?ownerId={me} in a session, by a member

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when r.company_id is null or exists (
	select 1
	from companies as x
	where x.organization = $1
		and x.id = r.company_id
		and x.deleted = false
		and x.audience in ('', $2)
) then 0 else 1 end
from (
	select id, revision, created_at, updated_at, deleted, schema_hash, content, company_id
	from contacts indexed by contacts_owner_id_shared
	where organization = $1
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and owner_id = $6
		and audience = ''
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content, company_id
	from contacts indexed by contacts_live_audience
	where organization = $1
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and audience = $6
		and audience <> ''
		and $2 = $6
) as r
order by updated_at desc
limit $5;

-------- GET /contacts?ownerId={me} in a session, by an admin

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when r.company_id is null or exists (
	select 1
	from companies as x
	where x.organization = $1
		and x.id = r.company_id
		and x.deleted = false
) then 0 else 1 end
from (
	select id, revision, created_at, updated_at, deleted, schema_hash, content, company_id
	from contacts indexed by contacts_owner_id_shared
	where organization = $1
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and owner_id = $6
		and audience = ''
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content, company_id
	from contacts indexed by contacts_live_audience
	where organization = $1
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and audience = $6
		and audience <> ''
		and $2 = $2
) as r
order by updated_at desc
limit $5;

-------- GET /contacts/count?tag=mandant in a session, by a member

select count(*)
from (
	select 1
	from tags as g
	where g.organization = $1
		and g.family = 'contacts'
		and g.reader = ''
		and $2 = $2
		and g.tick > $3
		and g.tick < $4
		and tag = $6
	union all
	select 1
	from tags as g
	where g.organization = $1
		and g.family = 'contacts'
		and g.reader = $2
		and g.tick > $3
		and g.tick < $4
		and tag = $6
	limit $5
) as counted;

-------- GET /contacts/count?tag=mandant in a session, by an admin

select count(*)
from (
	select 1
	from tags as g
	where g.organization = $1
		and g.family = 'contacts'
		and g.reader = ''
		and $2 = $2
		and g.tick > $3
		and g.tick < $4
		and tag = $6
	union all
	select 1
	from tags as g
	where g.organization = $1
		and g.family = 'contacts'
		and g.reader = '*'
		and $2 = $2
		and g.tick > $3
		and g.tick < $4
		and tag = $6
	limit $5
) as counted;

-------- GET /contacts/count?ownerId={me} in a session, by a member

select count(*)
from (
	select 1
	from contacts indexed by contacts_owner_id_shared
	where organization = $1
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and owner_id = $6
		and audience = ''
	union all
	select 1
	from contacts indexed by contacts_live_audience
	where organization = $1
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and audience = $6
		and audience <> ''
		and $2 = $6
	limit $5
) as counted;

-------- GET /contacts/count?ownerId={me} in a session, by an admin

select count(*)
from (
	select 1
	from contacts indexed by contacts_owner_id_shared
	where organization = $1
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and owner_id = $6
		and audience = ''
	union all
	select 1
	from contacts indexed by contacts_live_audience
	where organization = $1
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and audience = $6
		and audience <> ''
		and $2 = $2
	limit $5
) as counted;

-------- GET /contacts?sort=name in a session, by a member

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when r.company_id is null or exists (
	select 1
	from companies as x
	where x.organization = $1
		and x.id = r.company_id
		and x.deleted = false
		and x.audience in ('', $2)
) then 0 else 1 end, sort_name
from (
	select id, revision, created_at, updated_at, deleted, schema_hash, content, company_id, sort_name
	from contacts indexed by contacts_sort_name_shared
	where organization = $1
		and deleted = false
		and sort_name > $3
		and sort_name < $4
		and audience = ''
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content, company_id, sort_name
	from contacts indexed by contacts_sort_name_own
	where organization = $1
		and deleted = false
		and sort_name > $3
		and sort_name < $4
		and audience = $2
		and audience <> ''
) as r
order by sort_name
limit $5;

-------- GET /contacts?sort=name in a session, by an admin

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when r.company_id is null or exists (
	select 1
	from companies as x
	where x.organization = $1
		and x.id = r.company_id
		and x.deleted = false
) then 0 else 1 end, sort_name
from (
	select id, revision, created_at, updated_at, deleted, schema_hash, content, company_id, sort_name
	from contacts indexed by contacts_sort_name_shared
	where organization = $1
		and deleted = false
		and sort_name > $3
		and sort_name < $4
		and audience = ''
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content, company_id, sort_name
	from contacts indexed by contacts_sort_name_private
	where organization = $1
		and deleted = false
		and sort_name > $3
		and sort_name < $4
		and audience <> ''
		and $2 = $2
) as r
order by sort_name
limit $5;

-------- GET /contacts?sort=-name&companyId={company} in a session, by a member

-- as above: select 1 from companies as r where r.organization = $1 and r.id = $2 and r.deleted = false ...

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when r.company_id is null or exists (
	select 1
	from companies as x
	where x.organization = $1
		and x.id = r.company_id
		and x.deleted = false
		and x.audience in ('', $2)
) then 0 else 1 end, sort_name
from (
	select id, revision, created_at, updated_at, deleted, schema_hash, content, company_id, sort_name
	from contacts indexed by contacts_company_id_sort_name_shared
	where organization = $1
		and deleted = false
		and sort_name > $3
		and sort_name < $4
		and audience = ''
		and company_id = $6
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content, company_id, sort_name
	from contacts indexed by contacts_company_id_sort_name_own
	where organization = $1
		and deleted = false
		and sort_name > $3
		and sort_name < $4
		and audience = $2
		and audience <> ''
		and company_id = $6
) as r
order by sort_name desc
limit $5;

-------- GET /contacts?sort=-name&companyId={company} in a session, by an admin

-- as above: select 1 from companies as r where r.organization = $1 and r.id = $2 and r.deleted = false ...

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when r.company_id is null or exists (
	select 1
	from companies as x
	where x.organization = $1
		and x.id = r.company_id
		and x.deleted = false
) then 0 else 1 end, sort_name
from (
	select id, revision, created_at, updated_at, deleted, schema_hash, content, company_id, sort_name
	from contacts indexed by contacts_company_id_sort_name_shared
	where organization = $1
		and deleted = false
		and sort_name > $3
		and sort_name < $4
		and audience = ''
		and company_id = $6
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content, company_id, sort_name
	from contacts indexed by contacts_company_id_sort_name_private
	where organization = $1
		and deleted = false
		and sort_name > $3
		and sort_name < $4
		and audience <> ''
		and $2 = $2
		and company_id = $6
) as r
order by sort_name desc
limit $5;

-------- GET /contacts?sort=name&ownerId={me} in a session, by a member

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when r.company_id is null or exists (
	select 1
	from companies as x
	where x.organization = $1
		and x.id = r.company_id
		and x.deleted = false
		and x.audience in ('', $2)
) then 0 else 1 end, sort_name
from (
	select id, revision, created_at, updated_at, deleted, schema_hash, content, company_id, sort_name
	from contacts indexed by contacts_owner_id_sort_name_shared
	where organization = $1
		and deleted = false
		and sort_name > $3
		and sort_name < $4
		and owner_id = $6
		and audience = ''
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content, company_id, sort_name
	from contacts indexed by contacts_sort_name_own
	where organization = $1
		and deleted = false
		and sort_name > $3
		and sort_name < $4
		and audience = $6
		and audience <> ''
		and $2 = $6
) as r
order by sort_name
limit $5;

-------- GET /contacts?sort=name&ownerId={me} in a session, by an admin

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when r.company_id is null or exists (
	select 1
	from companies as x
	where x.organization = $1
		and x.id = r.company_id
		and x.deleted = false
) then 0 else 1 end, sort_name
from (
	select id, revision, created_at, updated_at, deleted, schema_hash, content, company_id, sort_name
	from contacts indexed by contacts_owner_id_sort_name_shared
	where organization = $1
		and deleted = false
		and sort_name > $3
		and sort_name < $4
		and owner_id = $6
		and audience = ''
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content, company_id, sort_name
	from contacts indexed by contacts_sort_name_own
	where organization = $1
		and deleted = false
		and sort_name > $3
		and sort_name < $4
		and audience = $6
		and audience <> ''
		and $2 = $2
) as r
order by sort_name
limit $5;

-------- GET /contacts?sort=name&tag=mandant in a session, by a member

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when r.company_id is null or exists (
	select 1
	from companies as x
	where x.organization = $1
		and x.id = r.company_id
		and x.deleted = false
		and x.audience in ('', $2)
) then 0 else 1 end, sort_name
from (
	select id, revision, created_at, updated_at, deleted, schema_hash, content, company_id, g.sort_key as sort_name
	from sorted_tags as g cross join contacts indexed by contacts_sort_name_shared
	where g.organization = $1
		and g.family = 'contacts'
		and g.reader = ''
		and $2 = $2
		and g.sort_key > $3
		and g.sort_key < $4
		and contacts.organization = $1
		and contacts.deleted = false
		and contacts.sort_name = g.sort_key
		and contacts.audience = ''
		and tag = $6
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content, company_id, g.sort_key as sort_name
	from sorted_tags as g cross join contacts indexed by contacts_sort_name_own
	where g.organization = $1
		and g.family = 'contacts'
		and g.reader = $2
		and g.sort_key > $3
		and g.sort_key < $4
		and contacts.organization = $1
		and contacts.deleted = false
		and contacts.sort_name = g.sort_key
		and contacts.audience = $2
		and contacts.audience <> ''
		and tag = $6
) as r
order by sort_name
limit $5;

-------- GET /contacts?sort=name&tag=mandant in a session, by an admin

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when r.company_id is null or exists (
	select 1
	from companies as x
	where x.organization = $1
		and x.id = r.company_id
		and x.deleted = false
) then 0 else 1 end, sort_name
from (
	select id, revision, created_at, updated_at, deleted, schema_hash, content, company_id, g.sort_key as sort_name
	from sorted_tags as g cross join contacts indexed by contacts_sort_name_shared
	where g.organization = $1
		and g.family = 'contacts'
		and g.reader = ''
		and $2 = $2
		and g.sort_key > $3
		and g.sort_key < $4
		and contacts.organization = $1
		and contacts.deleted = false
		and contacts.sort_name = g.sort_key
		and contacts.audience = ''
		and tag = $6
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content, company_id, g.sort_key as sort_name
	from sorted_tags as g cross join contacts indexed by contacts_sort_name_private
	where g.organization = $1
		and g.family = 'contacts'
		and g.reader = '*'
		and $2 = $2
		and g.sort_key > $3
		and g.sort_key < $4
		and contacts.organization = $1
		and contacts.deleted = false
		and contacts.sort_name = g.sort_key
		and contacts.audience <> ''
		and $2 = $2
		and tag = $6
) as r
order by sort_name
limit $5;

-------- GET /contacts?sort=name&back=true in a session, by a member

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when r.company_id is null or exists (
	select 1
	from companies as x
	where x.organization = $1
		and x.id = r.company_id
		and x.deleted = false
		and x.audience in ('', $2)
) then 0 else 1 end, sort_name
from (
	select id, revision, created_at, updated_at, deleted, schema_hash, content, company_id, sort_name
	from contacts indexed by contacts_sort_name_shared
	where organization = $1
		and deleted = false
		and sort_name > $3
		and sort_name < $4
		and audience = ''
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content, company_id, sort_name
	from contacts indexed by contacts_sort_name_own
	where organization = $1
		and deleted = false
		and sort_name > $3
		and sort_name < $4
		and audience = $2
		and audience <> ''
) as r
order by sort_name desc
limit $5;

-------- GET /contacts?sort=name&back=true in a session, by an admin

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when r.company_id is null or exists (
	select 1
	from companies as x
	where x.organization = $1
		and x.id = r.company_id
		and x.deleted = false
) then 0 else 1 end, sort_name
from (
	select id, revision, created_at, updated_at, deleted, schema_hash, content, company_id, sort_name
	from contacts indexed by contacts_sort_name_shared
	where organization = $1
		and deleted = false
		and sort_name > $3
		and sort_name < $4
		and audience = ''
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content, company_id, sort_name
	from contacts indexed by contacts_sort_name_private
	where organization = $1
		and deleted = false
		and sort_name > $3
		and sort_name < $4
		and audience <> ''
		and $2 = $2
) as r
order by sort_name desc
limit $5;

