-- Written by TestStatements (make docs): what calls on documents send to sqlite.

-------- POST /documents, and the job that makes one

select 1
from contacts as r
where r.organization = $1
	and r.id = $2
	and r.deleted = false
	and coalesce(nullif(r.audience, ''), $3) = $3;

select 1
from companies as r
where r.organization = $1
	and r.id = $2
	and r.deleted = false
	and coalesce(nullif(r.audience, ''), $3) = $3;

select 1
from tasks as r
where r.organization = $1
	and r.id = $2
	and r.deleted = false
	and coalesce(nullif(r.audience, ''), $3) = $3;

update clocks
set tick = case when $2 > tick then $2 else tick + 1 end
where organization = $1
returning tick;

insert into documents (organization, id, revision, created_at, updated_at, deleted, owner_id, audience, external_id, schema_hash, content, created_by, created_door, created_request, created_credential, contact_id, task_id, reference, company_id, kind, sort_name, sort_reference)
values ($1, $2, $3, $4, $5, false, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21);

insert into events (organization, tick, id, type, object, record_id, revision, changed, request_id, trace)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10);

insert into search_documents (organization, family, created, audience, id, words)
values ($1, $2, $3, $4, $5, $6);

-------- GET /documents/{id}, by a member

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when r.contact_id is null or exists (
	select 1
	from contacts as x
	where x.organization = $1
		and x.id = r.contact_id
		and x.deleted = false
		and x.audience in ('', $3)
) then 0 else 1 end + case when r.company_id is null or exists (
	select 1
	from companies as x
	where x.organization = $1
		and x.id = r.company_id
		and x.deleted = false
		and x.audience in ('', $3)
) then 0 else 2 end + case when r.task_id is null or exists (
	select 1
	from tasks as x
	where x.organization = $1
		and x.id = r.task_id
		and x.deleted = false
		and x.audience in ('', $3)
) then 0 else 4 end, owner_id, audience
from documents as r
where organization = $1
	and id = $2
	and deleted = false
	and audience in ('', $3);

-------- GET /documents/{id}, by an admin

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when r.contact_id is null or exists (
	select 1
	from contacts as x
	where x.organization = $1
		and x.id = r.contact_id
		and x.deleted = false
) then 0 else 1 end + case when r.company_id is null or exists (
	select 1
	from companies as x
	where x.organization = $1
		and x.id = r.company_id
		and x.deleted = false
) then 0 else 2 end + case when r.task_id is null or exists (
	select 1
	from tasks as x
	where x.organization = $1
		and x.id = r.task_id
		and x.deleted = false
) then 0 else 4 end, owner_id, audience
from documents as r
where organization = $1
	and id = $2
	and deleted = false
	and $3 = $3;

-------- GET /documents, by a member

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when r.contact_id is null or exists (
	select 1
	from contacts as x
	where x.organization = $1
		and x.id = r.contact_id
		and x.deleted = false
		and x.audience in ('', $2)
) then 0 else 1 end + case when r.company_id is null or exists (
	select 1
	from companies as x
	where x.organization = $1
		and x.id = r.company_id
		and x.deleted = false
		and x.audience in ('', $2)
) then 0 else 2 end + case when r.task_id is null or exists (
	select 1
	from tasks as x
	where x.organization = $1
		and x.id = r.task_id
		and x.deleted = false
		and x.audience in ('', $2)
) then 0 else 4 end
from (
	select id, revision, created_at, updated_at, deleted, schema_hash, content, contact_id, company_id, task_id
	from documents
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content, contact_id, company_id, task_id
	from documents
	where organization = $1
		and audience = $2
		and deleted = false
		and updated_at > $3
		and updated_at < $4
) as r
order by updated_at desc
limit $5;

-------- GET /documents, by an admin

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when r.contact_id is null or exists (
	select 1
	from contacts as x
	where x.organization = $1
		and x.id = r.contact_id
		and x.deleted = false
) then 0 else 1 end + case when r.company_id is null or exists (
	select 1
	from companies as x
	where x.organization = $1
		and x.id = r.company_id
		and x.deleted = false
) then 0 else 2 end + case when r.task_id is null or exists (
	select 1
	from tasks as x
	where x.organization = $1
		and x.id = r.task_id
		and x.deleted = false
) then 0 else 4 end
from (
	select id, revision, created_at, updated_at, deleted, schema_hash, content, contact_id, company_id, task_id
	from documents
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content, contact_id, company_id, task_id
	from documents
	where organization = $1
		and audience <> ''
		and $2 = $2
		and deleted = false
		and updated_at > $3
		and updated_at < $4
) as r
order by updated_at desc
limit $5;

-------- GET /documents?sort=updatedAt&updatedSince=2026-01-01T00:00:00Z, by a member

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when r.contact_id is null or exists (
	select 1
	from contacts as x
	where x.organization = $1
		and x.id = r.contact_id
		and x.deleted = false
		and x.audience in ('', $2)
) then 0 else 1 end + case when r.company_id is null or exists (
	select 1
	from companies as x
	where x.organization = $1
		and x.id = r.company_id
		and x.deleted = false
		and x.audience in ('', $2)
) then 0 else 2 end + case when r.task_id is null or exists (
	select 1
	from tasks as x
	where x.organization = $1
		and x.id = r.task_id
		and x.deleted = false
		and x.audience in ('', $2)
) then 0 else 4 end
from (
	select id, revision, created_at, updated_at, deleted, schema_hash, content, contact_id, company_id, task_id
	from documents
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content, contact_id, company_id, task_id
	from documents
	where organization = $1
		and audience = $2
		and deleted = false
		and updated_at > $3
		and updated_at < $4
) as r
order by updated_at
limit $5;

-------- GET /documents?sort=updatedAt&updatedSince=2026-01-01T00:00:00Z, by an admin

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when r.contact_id is null or exists (
	select 1
	from contacts as x
	where x.organization = $1
		and x.id = r.contact_id
		and x.deleted = false
) then 0 else 1 end + case when r.company_id is null or exists (
	select 1
	from companies as x
	where x.organization = $1
		and x.id = r.company_id
		and x.deleted = false
) then 0 else 2 end + case when r.task_id is null or exists (
	select 1
	from tasks as x
	where x.organization = $1
		and x.id = r.task_id
		and x.deleted = false
) then 0 else 4 end
from (
	select id, revision, created_at, updated_at, deleted, schema_hash, content, contact_id, company_id, task_id
	from documents
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content, contact_id, company_id, task_id
	from documents
	where organization = $1
		and audience <> ''
		and $2 = $2
		and deleted = false
		and updated_at > $3
		and updated_at < $4
) as r
order by updated_at
limit $5;

-------- GET /documents?sort=updatedAt&updatedSince=2026-01-01T00:00:00Z&includeDeleted=true, by a member

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when r.contact_id is null or exists (
	select 1
	from contacts as x
	where x.organization = $1
		and x.id = r.contact_id
		and x.deleted = false
		and x.audience in ('', $2)
) then 0 else 1 end + case when r.company_id is null or exists (
	select 1
	from companies as x
	where x.organization = $1
		and x.id = r.company_id
		and x.deleted = false
		and x.audience in ('', $2)
) then 0 else 2 end + case when r.task_id is null or exists (
	select 1
	from tasks as x
	where x.organization = $1
		and x.id = r.task_id
		and x.deleted = false
		and x.audience in ('', $2)
) then 0 else 4 end
from (
	select id, revision, created_at, updated_at, deleted, schema_hash, content, contact_id, company_id, task_id
	from documents
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content, contact_id, company_id, task_id
	from documents
	where organization = $1
		and audience = $2
		and deleted = false
		and updated_at > $3
		and updated_at < $4
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content, contact_id, company_id, task_id
	from documents
	where organization = $1
		and audience = ''
		and deleted = true
		and updated_at > $3
		and updated_at < $4
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content, contact_id, company_id, task_id
	from documents
	where organization = $1
		and audience = $2
		and deleted = true
		and updated_at > $3
		and updated_at < $4
	union all
	select record_id as id, cast(0 as bigint) as revision, tick as created_at, tick as updated_at, cast(true as boolean) as deleted, cast(0 as bigint) as schema_hash, cast('{}' as text) as content, cast(null as text) as contact_id, cast(null as text) as company_id, cast(null as text) as task_id
	from visibility_losses
	where organization = $1
		and family = 'documents'
		and principal = $2
		and tick > $3
		and tick < $4
) as r
order by updated_at
limit $5;

-------- GET /documents?sort=updatedAt&updatedSince=2026-01-01T00:00:00Z&includeDeleted=true, by an admin

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when r.contact_id is null or exists (
	select 1
	from contacts as x
	where x.organization = $1
		and x.id = r.contact_id
		and x.deleted = false
) then 0 else 1 end + case when r.company_id is null or exists (
	select 1
	from companies as x
	where x.organization = $1
		and x.id = r.company_id
		and x.deleted = false
) then 0 else 2 end + case when r.task_id is null or exists (
	select 1
	from tasks as x
	where x.organization = $1
		and x.id = r.task_id
		and x.deleted = false
) then 0 else 4 end
from (
	select id, revision, created_at, updated_at, deleted, schema_hash, content, contact_id, company_id, task_id
	from documents
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content, contact_id, company_id, task_id
	from documents
	where organization = $1
		and audience <> ''
		and $2 = $2
		and deleted = false
		and updated_at > $3
		and updated_at < $4
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content, contact_id, company_id, task_id
	from documents
	where organization = $1
		and audience = ''
		and deleted = true
		and updated_at > $3
		and updated_at < $4
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content, contact_id, company_id, task_id
	from documents
	where organization = $1
		and audience <> ''
		and $2 = $2
		and deleted = true
		and updated_at > $3
		and updated_at < $4
) as r
order by updated_at
limit $5;

-------- GET /documents?q=anna, by a member

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

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when r.contact_id is null or exists (
	select 1
	from contacts as x
	where x.organization = $1
		and x.id = r.contact_id
		and x.deleted = false
		and x.audience in ('', $2)
) then 0 else 1 end + case when r.company_id is null or exists (
	select 1
	from companies as x
	where x.organization = $1
		and x.id = r.company_id
		and x.deleted = false
		and x.audience in ('', $2)
) then 0 else 2 end + case when r.task_id is null or exists (
	select 1
	from tasks as x
	where x.organization = $1
		and x.id = r.task_id
		and x.deleted = false
		and x.audience in ('', $2)
) then 0 else 4 end
from documents as r
where r.organization = $1
	and coalesce(nullif(r.audience, ''), $2) = $2
	and r.deleted = false
	and r.id in (
	select value
	from json_each($3)
);

-------- GET /documents?q=anna, by an admin

-- as above: begin ...

-- as above: select m.created, ( select d.audience from search_documents d where d.organization = $1 an ...

-- as above: select created, audience, id, words from search_documents where organization = $1 and fami ...

-- as above: select s.segment, coalesce(( select b.postings from search_blocks b where b.organization = ...

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when r.contact_id is null or exists (
	select 1
	from contacts as x
	where x.organization = $1
		and x.id = r.contact_id
		and x.deleted = false
) then 0 else 1 end + case when r.company_id is null or exists (
	select 1
	from companies as x
	where x.organization = $1
		and x.id = r.company_id
		and x.deleted = false
) then 0 else 2 end + case when r.task_id is null or exists (
	select 1
	from tasks as x
	where x.organization = $1
		and x.id = r.task_id
		and x.deleted = false
) then 0 else 4 end
from documents as r
where r.organization = $1
	and $2 = $2
	and r.deleted = false
	and r.id in (
	select value
	from json_each($3)
);

-------- GET /documents?contactId, by a member

-- as above: select 1 from contacts as r where r.organization = $1 and r.id = $2 and r.deleted = false  ...

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when r.contact_id is null or exists (
	select 1
	from contacts as x
	where x.organization = $1
		and x.id = r.contact_id
		and x.deleted = false
		and x.audience in ('', $2)
) then 0 else 1 end + case when r.company_id is null or exists (
	select 1
	from companies as x
	where x.organization = $1
		and x.id = r.company_id
		and x.deleted = false
		and x.audience in ('', $2)
) then 0 else 2 end + case when r.task_id is null or exists (
	select 1
	from tasks as x
	where x.organization = $1
		and x.id = r.task_id
		and x.deleted = false
		and x.audience in ('', $2)
) then 0 else 4 end
from (
	select id, revision, created_at, updated_at, deleted, schema_hash, content, contact_id, company_id, task_id
	from documents indexed by documents_contact_id_audience
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and contact_id = $6
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content, contact_id, company_id, task_id
	from documents indexed by documents_contact_id_audience
	where organization = $1
		and audience = $2
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and contact_id = $6
) as r
order by updated_at desc
limit $5;

-------- GET /documents?contactId, by an admin

select 1
from contacts as r
where r.organization = $1
	and r.id = $2
	and r.deleted = false
	and $3 = $3;

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when r.contact_id is null or exists (
	select 1
	from contacts as x
	where x.organization = $1
		and x.id = r.contact_id
		and x.deleted = false
) then 0 else 1 end + case when r.company_id is null or exists (
	select 1
	from companies as x
	where x.organization = $1
		and x.id = r.company_id
		and x.deleted = false
) then 0 else 2 end + case when r.task_id is null or exists (
	select 1
	from tasks as x
	where x.organization = $1
		and x.id = r.task_id
		and x.deleted = false
) then 0 else 4 end
from (
	select id, revision, created_at, updated_at, deleted, schema_hash, content, contact_id, company_id, task_id
	from documents indexed by documents_contact_id_audience
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and contact_id = $6
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content, contact_id, company_id, task_id
	from documents indexed by documents_contact_id_audience
	where organization = $1
		and audience <> ''
		and $2 = $2
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and contact_id = $6
) as r
order by updated_at desc
limit $5;

-------- GET /documents?taskId, by a member

-- as above: select 1 from tasks as r where r.organization = $1 and r.id = $2 and r.deleted = false and ...

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when r.contact_id is null or exists (
	select 1
	from contacts as x
	where x.organization = $1
		and x.id = r.contact_id
		and x.deleted = false
		and x.audience in ('', $2)
) then 0 else 1 end + case when r.company_id is null or exists (
	select 1
	from companies as x
	where x.organization = $1
		and x.id = r.company_id
		and x.deleted = false
		and x.audience in ('', $2)
) then 0 else 2 end + case when r.task_id is null or exists (
	select 1
	from tasks as x
	where x.organization = $1
		and x.id = r.task_id
		and x.deleted = false
		and x.audience in ('', $2)
) then 0 else 4 end
from (
	select id, revision, created_at, updated_at, deleted, schema_hash, content, contact_id, company_id, task_id
	from documents indexed by documents_task_id_audience
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and task_id = $6
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content, contact_id, company_id, task_id
	from documents indexed by documents_task_id_audience
	where organization = $1
		and audience = $2
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and task_id = $6
) as r
order by updated_at desc
limit $5;

-------- GET /documents?taskId, by an admin

select 1
from tasks as r
where r.organization = $1
	and r.id = $2
	and r.deleted = false
	and $3 = $3;

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when r.contact_id is null or exists (
	select 1
	from contacts as x
	where x.organization = $1
		and x.id = r.contact_id
		and x.deleted = false
) then 0 else 1 end + case when r.company_id is null or exists (
	select 1
	from companies as x
	where x.organization = $1
		and x.id = r.company_id
		and x.deleted = false
) then 0 else 2 end + case when r.task_id is null or exists (
	select 1
	from tasks as x
	where x.organization = $1
		and x.id = r.task_id
		and x.deleted = false
) then 0 else 4 end
from (
	select id, revision, created_at, updated_at, deleted, schema_hash, content, contact_id, company_id, task_id
	from documents indexed by documents_task_id_audience
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and task_id = $6
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content, contact_id, company_id, task_id
	from documents indexed by documents_task_id_audience
	where organization = $1
		and audience <> ''
		and $2 = $2
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and task_id = $6
) as r
order by updated_at desc
limit $5;

-------- GET /documents?reference, by a member

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when r.contact_id is null or exists (
	select 1
	from contacts as x
	where x.organization = $1
		and x.id = r.contact_id
		and x.deleted = false
		and x.audience in ('', $2)
) then 0 else 1 end + case when r.company_id is null or exists (
	select 1
	from companies as x
	where x.organization = $1
		and x.id = r.company_id
		and x.deleted = false
		and x.audience in ('', $2)
) then 0 else 2 end + case when r.task_id is null or exists (
	select 1
	from tasks as x
	where x.organization = $1
		and x.id = r.task_id
		and x.deleted = false
		and x.audience in ('', $2)
) then 0 else 4 end
from (
	select id, revision, created_at, updated_at, deleted, schema_hash, content, contact_id, company_id, task_id
	from documents indexed by documents_reference_audience
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and reference = $6
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content, contact_id, company_id, task_id
	from documents indexed by documents_reference_audience
	where organization = $1
		and audience = $2
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and reference = $6
) as r
order by updated_at desc
limit $5;

-------- GET /documents?reference, by an admin

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when r.contact_id is null or exists (
	select 1
	from contacts as x
	where x.organization = $1
		and x.id = r.contact_id
		and x.deleted = false
) then 0 else 1 end + case when r.company_id is null or exists (
	select 1
	from companies as x
	where x.organization = $1
		and x.id = r.company_id
		and x.deleted = false
) then 0 else 2 end + case when r.task_id is null or exists (
	select 1
	from tasks as x
	where x.organization = $1
		and x.id = r.task_id
		and x.deleted = false
) then 0 else 4 end
from (
	select id, revision, created_at, updated_at, deleted, schema_hash, content, contact_id, company_id, task_id
	from documents indexed by documents_reference_audience
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and reference = $6
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content, contact_id, company_id, task_id
	from documents indexed by documents_reference_audience
	where organization = $1
		and audience <> ''
		and $2 = $2
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and reference = $6
) as r
order by updated_at desc
limit $5;

-------- GET /documents?companyId, by a member

-- as above: select 1 from companies as r where r.organization = $1 and r.id = $2 and r.deleted = false ...

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when r.contact_id is null or exists (
	select 1
	from contacts as x
	where x.organization = $1
		and x.id = r.contact_id
		and x.deleted = false
		and x.audience in ('', $2)
) then 0 else 1 end + case when r.company_id is null or exists (
	select 1
	from companies as x
	where x.organization = $1
		and x.id = r.company_id
		and x.deleted = false
		and x.audience in ('', $2)
) then 0 else 2 end + case when r.task_id is null or exists (
	select 1
	from tasks as x
	where x.organization = $1
		and x.id = r.task_id
		and x.deleted = false
		and x.audience in ('', $2)
) then 0 else 4 end
from (
	select id, revision, created_at, updated_at, deleted, schema_hash, content, contact_id, company_id, task_id
	from documents indexed by documents_company_id_audience
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and company_id = $6
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content, contact_id, company_id, task_id
	from documents indexed by documents_company_id_audience
	where organization = $1
		and audience = $2
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and company_id = $6
) as r
order by updated_at desc
limit $5;

-------- GET /documents?companyId, by an admin

select 1
from companies as r
where r.organization = $1
	and r.id = $2
	and r.deleted = false
	and $3 = $3;

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when r.contact_id is null or exists (
	select 1
	from contacts as x
	where x.organization = $1
		and x.id = r.contact_id
		and x.deleted = false
) then 0 else 1 end + case when r.company_id is null or exists (
	select 1
	from companies as x
	where x.organization = $1
		and x.id = r.company_id
		and x.deleted = false
) then 0 else 2 end + case when r.task_id is null or exists (
	select 1
	from tasks as x
	where x.organization = $1
		and x.id = r.task_id
		and x.deleted = false
) then 0 else 4 end
from (
	select id, revision, created_at, updated_at, deleted, schema_hash, content, contact_id, company_id, task_id
	from documents indexed by documents_company_id_audience
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and company_id = $6
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content, contact_id, company_id, task_id
	from documents indexed by documents_company_id_private
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

-------- GET /documents/count, by a member

select count(*)
from (
	select 1
	from documents
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
	union all
	select 1
	from documents
	where organization = $1
		and audience = $2
		and deleted = false
		and updated_at > $3
		and updated_at < $4
	limit $5
) as counted;

-------- GET /documents/count, by an admin

select count(*)
from (
	select 1
	from documents
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
	union all
	select 1
	from documents
	where organization = $1
		and audience <> ''
		and $2 = $2
		and deleted = false
		and updated_at > $3
		and updated_at < $4
	limit $5
) as counted;

-------- GET /documents/count?contactId, by a member

-- as above: select 1 from contacts as r where r.organization = $1 and r.id = $2 and r.deleted = false  ...

select count(*)
from (
	select 1
	from documents indexed by documents_contact_id_audience
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and contact_id = $6
	union all
	select 1
	from documents indexed by documents_contact_id_audience
	where organization = $1
		and audience = $2
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and contact_id = $6
	limit $5
) as counted;

-------- GET /documents/count?contactId, by an admin

-- as above: select 1 from contacts as r where r.organization = $1 and r.id = $2 and r.deleted = false  ...

select count(*)
from (
	select 1
	from documents indexed by documents_contact_id_audience
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and contact_id = $6
	union all
	select 1
	from documents indexed by documents_contact_id_audience
	where organization = $1
		and audience <> ''
		and $2 = $2
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and contact_id = $6
	limit $5
) as counted;

-------- GET /documents/count?taskId, by a member

-- as above: select 1 from tasks as r where r.organization = $1 and r.id = $2 and r.deleted = false and ...

select count(*)
from (
	select 1
	from documents indexed by documents_task_id_audience
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and task_id = $6
	union all
	select 1
	from documents indexed by documents_task_id_audience
	where organization = $1
		and audience = $2
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and task_id = $6
	limit $5
) as counted;

-------- GET /documents/count?taskId, by an admin

-- as above: select 1 from tasks as r where r.organization = $1 and r.id = $2 and r.deleted = false and ...

select count(*)
from (
	select 1
	from documents indexed by documents_task_id_audience
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and task_id = $6
	union all
	select 1
	from documents indexed by documents_task_id_audience
	where organization = $1
		and audience <> ''
		and $2 = $2
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and task_id = $6
	limit $5
) as counted;

-------- GET /documents/count?reference, by a member

select count(*)
from (
	select 1
	from documents indexed by documents_reference_audience
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and reference = $6
	union all
	select 1
	from documents indexed by documents_reference_audience
	where organization = $1
		and audience = $2
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and reference = $6
	limit $5
) as counted;

-------- GET /documents/count?reference, by an admin

select count(*)
from (
	select 1
	from documents indexed by documents_reference_audience
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and reference = $6
	union all
	select 1
	from documents indexed by documents_reference_audience
	where organization = $1
		and audience <> ''
		and $2 = $2
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and reference = $6
	limit $5
) as counted;

-------- GET /documents/count?companyId, by a member

-- as above: select 1 from companies as r where r.organization = $1 and r.id = $2 and r.deleted = false ...

select count(*)
from (
	select 1
	from documents indexed by documents_company_id_audience
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and company_id = $6
	union all
	select 1
	from documents indexed by documents_company_id_audience
	where organization = $1
		and audience = $2
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and company_id = $6
	limit $5
) as counted;

-------- GET /documents/count?companyId, by an admin

-- as above: select 1 from companies as r where r.organization = $1 and r.id = $2 and r.deleted = false ...

select count(*)
from (
	select 1
	from documents indexed by documents_company_id_audience
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and company_id = $6
	union all
	select 1
	from documents indexed by documents_company_id_private
	where organization = $1
		and audience <> ''
		and $2 = $2
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and company_id = $6
	limit $5
) as counted;

-------- PATCH /documents/{id} {"name":"akte.txt"}

-- as above: select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when  ...

-- as above: update clocks set tick = case when $2 > tick then $2 else tick + 1 end where organization  ...

update documents
set revision = revision + 1, updated_at = $4, owner_id = $5, audience = $6, external_id = $7, schema_hash = $8, content = $9, contact_id = $10, task_id = $11, reference = $12, company_id = $13, kind = $14, sort_name = $15, sort_reference = $16
where organization = $1
	and id = $2
	and revision = $3
	and deleted = false;

insert into record_changes (organization, record_id, revision, changed_at, act, members, principal, door, request_id, credential)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10);

select words
from document_words
where organization = $1
	and id = $2;

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

-------- PATCH /documents/{id} {"visibility":"private"}

-- as above: select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when  ...

-- as above: update clocks set tick = case when $2 > tick then $2 else tick + 1 end where organization  ...

-- as above: update documents set revision = revision + 1, updated_at = $4, owner_id = $5, audience = $ ...

-- as above: insert into record_changes (organization, record_id, revision, changed_at, act, members, p ...

select p.id
from principals p join organizations o on p.organization = coalesce(o.sandbox_of, o.number)
where o.number = $1
	and p.erased_at = 0;

insert into visibility_losses (organization, record_id, principal, family, tick)
select cast($1 as bigint), cast($2 as text), value, cast($3 as text), cast($4 as bigint)
from json_each($5);

-- as above: select words from document_words where organization = $1 and id = $2 ...

-- as above: select audience, id, words from search_documents where organization = $1 and family = $2 a ...

-- as above: update search_documents set audience = $4, words = $5 where organization = $1 and family = ...

-- as above: select segment from search_segments where organization = $1 and family = $2 and after < $3 ...

-------- PATCH /documents/{id} {"visibility":"organization"}

-- as above: select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when  ...

-- as above: update clocks set tick = case when $2 > tick then $2 else tick + 1 end where organization  ...

-- as above: update documents set revision = revision + 1, updated_at = $4, owner_id = $5, audience = $ ...

-- as above: insert into record_changes (organization, record_id, revision, changed_at, act, members, p ...

delete from visibility_losses
where organization = $1
	and record_id = $2;

-- as above: select words from document_words where organization = $1 and id = $2 ...

-- as above: select audience, id, words from search_documents where organization = $1 and family = $2 a ...

-- as above: update search_documents set audience = $4, words = $5 where organization = $1 and family = ...

-- as above: select segment from search_segments where organization = $1 and family = $2 and after < $3 ...

-------- DELETE /documents/{id}

-- as above: select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when  ...

delete from document_words
where organization = $1
	and id = $2;

insert into job_turns (organization, due_at)
values ($1, $2)
on conflict (organization) do update
set due_at = excluded.due_at
where job_turns.due_at > excluded.due_at;

insert into jobs (organization, id, kind, key, payload, state, claim, attempt, due_at, error, created_at, started_at, trace)
values ($1, $2, $3, $4, $5, 'waiting', 0, 0, $6, '', $7, 0, $8)
on conflict (organization, kind, key)
where key <> ''
	and state <> 'failed' do nothing;

-- as above: update clocks set tick = case when $2 > tick then $2 else tick + 1 end where organization  ...

update documents
set revision = revision + 1, updated_at = $4, deleted = true, external_id = null, content = '{}', created_by = '', created_door = '', created_request = '', created_credential = '', contact_id = null, task_id = null, reference = null, company_id = null, kind = null, sort_name = null, sort_reference = null
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

-- as above: insert into events (organization, tick, id, type, object, record_id, revision, changed, re ...

-- as above: select audience, id, words from search_documents where organization = $1 and family = $2 a ...

delete from search_documents
where organization = $1
	and family = $2
	and created = $3;

-- as above: select segment from search_segments where organization = $1 and family = $2 and after < $3 ...

-------- walk of the documents of a contact, by a member

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when r.contact_id is null or exists (
	select 1
	from contacts as x
	where x.organization = $1
		and x.id = r.contact_id
		and x.deleted = false
		and x.audience in ('', $2)
) then 0 else 1 end + case when r.company_id is null or exists (
	select 1
	from companies as x
	where x.organization = $1
		and x.id = r.company_id
		and x.deleted = false
		and x.audience in ('', $2)
) then 0 else 2 end + case when r.task_id is null or exists (
	select 1
	from tasks as x
	where x.organization = $1
		and x.id = r.task_id
		and x.deleted = false
		and x.audience in ('', $2)
) then 0 else 4 end
from documents as r indexed by documents_contact_id_audience
where r.organization = $1
	and coalesce(nullif(r.audience, ''), $2) = $2
	and r.deleted = false
	and r.id > $3
	and r.contact_id = $4
	and r.contact_id is not null
	and r.created_at <= $5
order by r.id
limit $6;

-------- walk of the documents of a contact, by an admin

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when r.contact_id is null or exists (
	select 1
	from contacts as x
	where x.organization = $1
		and x.id = r.contact_id
		and x.deleted = false
) then 0 else 1 end + case when r.company_id is null or exists (
	select 1
	from companies as x
	where x.organization = $1
		and x.id = r.company_id
		and x.deleted = false
) then 0 else 2 end + case when r.task_id is null or exists (
	select 1
	from tasks as x
	where x.organization = $1
		and x.id = r.task_id
		and x.deleted = false
) then 0 else 4 end
from documents as r indexed by documents_contact_id_audience
where r.organization = $1
	and $2 = $2
	and r.deleted = false
	and r.id > $3
	and r.contact_id = $4
	and r.contact_id is not null
	and r.created_at <= $5
order by r.id
limit $6;

