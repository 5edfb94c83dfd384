-- Written by TestStatements (make docs): what calls on tasks send to sqlite.

-------- POST /tasks

select 1
from principals p join organizations o on p.organization = coalesce(o.sandbox_of, o.number)
where o.number = $1
	and p.id = $2
	and p.erased_at = 0;

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

update clocks
set tick = case when $2 > tick then $2 else tick + 1 end
where organization = $1
returning tick;

insert into tasks (organization, id, revision, created_at, updated_at, deleted, owner_id, audience, external_id, schema_hash, content, created_by, created_door, created_request, created_credential, contact_id, reference, company_id, assignee_id, status, document_id, sort_due_at, sort_reference)
values ($1, $2, $3, $4, $5, false, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22);

insert into events (organization, tick, id, type, object, record_id, revision, changed, request_id, trace)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10);

insert into search_documents (organization, family, created, audience, id, words)
values ($1, $2, $3, $4, $5, $6);

-------- POST /tasks/{id}/complete

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when r.contact_id is null or exists (
	select 1
	from contacts as x
	where x.organization = $1
		and x.id = r.contact_id
		and x.deleted = false
		and x.audience in ('', $3)
) then 0 else 2 end + case when r.company_id is null or exists (
	select 1
	from companies as x
	where x.organization = $1
		and x.id = r.company_id
		and x.deleted = false
		and x.audience in ('', $3)
) then 0 else 4 end + case when r.document_id is null or exists (
	select 1
	from documents as x
	where x.organization = $1
		and x.id = r.document_id
		and x.deleted = false
		and x.audience in ('', $3)
) then 0 else 8 end, owner_id, audience
from tasks as r
where organization = $1
	and id = $2
	and deleted = false
	and audience in ('', $3);

-- as above: update clocks set tick = case when $2 > tick then $2 else tick + 1 end where organization  ...

update tasks
set revision = revision + 1, updated_at = $4, owner_id = $5, audience = $6, external_id = $7, schema_hash = $8, content = $9, contact_id = $10, reference = $11, company_id = $12, assignee_id = $13, status = $14, document_id = $15, sort_due_at = $16, sort_reference = $17
where organization = $1
	and id = $2
	and revision = $3
	and deleted = false;

insert into record_changes (organization, record_id, revision, changed_at, act, members, principal, door, request_id, credential)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10);

-- as above: insert into events (organization, tick, id, type, object, record_id, revision, changed, re ...

-------- GET /tasks/{id}, by a member

-- as above: select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when  ...

-------- GET /tasks/{id}, by an admin

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when r.contact_id is null or exists (
	select 1
	from contacts as x
	where x.organization = $1
		and x.id = r.contact_id
		and x.deleted = false
) then 0 else 2 end + case when r.company_id is null or exists (
	select 1
	from companies as x
	where x.organization = $1
		and x.id = r.company_id
		and x.deleted = false
) then 0 else 4 end + case when r.document_id is null or exists (
	select 1
	from documents as x
	where x.organization = $1
		and x.id = r.document_id
		and x.deleted = false
) then 0 else 8 end, owner_id, audience
from tasks as r
where organization = $1
	and id = $2
	and deleted = false
	and $3 = $3;

-------- GET /tasks, by a member

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when r.contact_id is null or exists (
	select 1
	from contacts as x
	where x.organization = $1
		and x.id = r.contact_id
		and x.deleted = false
		and x.audience in ('', $2)
) then 0 else 2 end + case when r.company_id is null or exists (
	select 1
	from companies as x
	where x.organization = $1
		and x.id = r.company_id
		and x.deleted = false
		and x.audience in ('', $2)
) then 0 else 4 end + case when r.document_id is null or exists (
	select 1
	from documents as x
	where x.organization = $1
		and x.id = r.document_id
		and x.deleted = false
		and x.audience in ('', $2)
) then 0 else 8 end
from (
	select id, revision, created_at, updated_at, deleted, schema_hash, content, assignee_id, contact_id, company_id, document_id
	from tasks
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content, assignee_id, contact_id, company_id, document_id
	from tasks
	where organization = $1
		and audience = $2
		and deleted = false
		and updated_at > $3
		and updated_at < $4
) as r
order by updated_at desc
limit $5;

-------- GET /tasks, by an admin

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when r.contact_id is null or exists (
	select 1
	from contacts as x
	where x.organization = $1
		and x.id = r.contact_id
		and x.deleted = false
) then 0 else 2 end + case when r.company_id is null or exists (
	select 1
	from companies as x
	where x.organization = $1
		and x.id = r.company_id
		and x.deleted = false
) then 0 else 4 end + case when r.document_id is null or exists (
	select 1
	from documents as x
	where x.organization = $1
		and x.id = r.document_id
		and x.deleted = false
) then 0 else 8 end
from (
	select id, revision, created_at, updated_at, deleted, schema_hash, content, assignee_id, contact_id, company_id, document_id
	from tasks
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content, assignee_id, contact_id, company_id, document_id
	from tasks
	where organization = $1
		and audience <> ''
		and $2 = $2
		and deleted = false
		and updated_at > $3
		and updated_at < $4
) as r
order by updated_at desc
limit $5;

-------- GET /tasks?sort=updatedAt&updatedSince=2026-01-01T00:00:00Z, by a member

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when r.contact_id is null or exists (
	select 1
	from contacts as x
	where x.organization = $1
		and x.id = r.contact_id
		and x.deleted = false
		and x.audience in ('', $2)
) then 0 else 2 end + case when r.company_id is null or exists (
	select 1
	from companies as x
	where x.organization = $1
		and x.id = r.company_id
		and x.deleted = false
		and x.audience in ('', $2)
) then 0 else 4 end + case when r.document_id is null or exists (
	select 1
	from documents as x
	where x.organization = $1
		and x.id = r.document_id
		and x.deleted = false
		and x.audience in ('', $2)
) then 0 else 8 end
from (
	select id, revision, created_at, updated_at, deleted, schema_hash, content, assignee_id, contact_id, company_id, document_id
	from tasks
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content, assignee_id, contact_id, company_id, document_id
	from tasks
	where organization = $1
		and audience = $2
		and deleted = false
		and updated_at > $3
		and updated_at < $4
) as r
order by updated_at
limit $5;

-------- GET /tasks?sort=updatedAt&updatedSince=2026-01-01T00:00:00Z, by an admin

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when r.contact_id is null or exists (
	select 1
	from contacts as x
	where x.organization = $1
		and x.id = r.contact_id
		and x.deleted = false
) then 0 else 2 end + case when r.company_id is null or exists (
	select 1
	from companies as x
	where x.organization = $1
		and x.id = r.company_id
		and x.deleted = false
) then 0 else 4 end + case when r.document_id is null or exists (
	select 1
	from documents as x
	where x.organization = $1
		and x.id = r.document_id
		and x.deleted = false
) then 0 else 8 end
from (
	select id, revision, created_at, updated_at, deleted, schema_hash, content, assignee_id, contact_id, company_id, document_id
	from tasks
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content, assignee_id, contact_id, company_id, document_id
	from tasks
	where organization = $1
		and audience <> ''
		and $2 = $2
		and deleted = false
		and updated_at > $3
		and updated_at < $4
) as r
order by updated_at
limit $5;

-------- GET /tasks?sort=updatedAt&updatedSince=2026-01-01T00:00:00Z&includeDeleted=true, by a member

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when r.contact_id is null or exists (
	select 1
	from contacts as x
	where x.organization = $1
		and x.id = r.contact_id
		and x.deleted = false
		and x.audience in ('', $2)
) then 0 else 2 end + case when r.company_id is null or exists (
	select 1
	from companies as x
	where x.organization = $1
		and x.id = r.company_id
		and x.deleted = false
		and x.audience in ('', $2)
) then 0 else 4 end + case when r.document_id is null or exists (
	select 1
	from documents as x
	where x.organization = $1
		and x.id = r.document_id
		and x.deleted = false
		and x.audience in ('', $2)
) then 0 else 8 end
from (
	select id, revision, created_at, updated_at, deleted, schema_hash, content, assignee_id, contact_id, company_id, document_id
	from tasks
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content, assignee_id, contact_id, company_id, document_id
	from tasks
	where organization = $1
		and audience = $2
		and deleted = false
		and updated_at > $3
		and updated_at < $4
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content, assignee_id, contact_id, company_id, document_id
	from tasks
	where organization = $1
		and audience = ''
		and deleted = true
		and updated_at > $3
		and updated_at < $4
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content, assignee_id, contact_id, company_id, document_id
	from tasks
	where organization = $1
		and audience = $2
		and deleted = true
		and updated_at > $3
		and updated_at < $4
	union all
	select record_id as id, cast(0 as bigint) as revision, tick as created_at, tick as updated_at, cast(true as boolean) as deleted, cast(0 as bigint) as schema_hash, cast('{}' as text) as content, cast(null as text) as assignee_id, cast(null as text) as contact_id, cast(null as text) as company_id, cast(null as text) as document_id
	from visibility_losses
	where organization = $1
		and family = 'tasks'
		and principal = $2
		and tick > $3
		and tick < $4
) as r
order by updated_at
limit $5;

-------- GET /tasks?sort=updatedAt&updatedSince=2026-01-01T00:00:00Z&includeDeleted=true, by an admin

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when r.contact_id is null or exists (
	select 1
	from contacts as x
	where x.organization = $1
		and x.id = r.contact_id
		and x.deleted = false
) then 0 else 2 end + case when r.company_id is null or exists (
	select 1
	from companies as x
	where x.organization = $1
		and x.id = r.company_id
		and x.deleted = false
) then 0 else 4 end + case when r.document_id is null or exists (
	select 1
	from documents as x
	where x.organization = $1
		and x.id = r.document_id
		and x.deleted = false
) then 0 else 8 end
from (
	select id, revision, created_at, updated_at, deleted, schema_hash, content, assignee_id, contact_id, company_id, document_id
	from tasks
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content, assignee_id, contact_id, company_id, document_id
	from tasks
	where organization = $1
		and audience <> ''
		and $2 = $2
		and deleted = false
		and updated_at > $3
		and updated_at < $4
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content, assignee_id, contact_id, company_id, document_id
	from tasks
	where organization = $1
		and audience = ''
		and deleted = true
		and updated_at > $3
		and updated_at < $4
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content, assignee_id, contact_id, company_id, document_id
	from tasks
	where organization = $1
		and audience <> ''
		and $2 = $2
		and deleted = true
		and updated_at > $3
		and updated_at < $4
) as r
order by updated_at
limit $5;

-------- GET /tasks?q=anna, by a member

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
) then 0 else 2 end + case when r.company_id is null or exists (
	select 1
	from companies as x
	where x.organization = $1
		and x.id = r.company_id
		and x.deleted = false
		and x.audience in ('', $2)
) then 0 else 4 end + case when r.document_id is null or exists (
	select 1
	from documents as x
	where x.organization = $1
		and x.id = r.document_id
		and x.deleted = false
		and x.audience in ('', $2)
) then 0 else 8 end
from tasks as r
where r.organization = $1
	and coalesce(nullif(r.audience, ''), $2) = $2
	and r.deleted = false
	and r.id in (
	select value
	from json_each($3)
);

-------- GET /tasks?q=anna, by an admin

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
) then 0 else 2 end + case when r.company_id is null or exists (
	select 1
	from companies as x
	where x.organization = $1
		and x.id = r.company_id
		and x.deleted = false
) then 0 else 4 end + case when r.document_id is null or exists (
	select 1
	from documents as x
	where x.organization = $1
		and x.id = r.document_id
		and x.deleted = false
) then 0 else 8 end
from tasks as r
where r.organization = $1
	and $2 = $2
	and r.deleted = false
	and r.id in (
	select value
	from json_each($3)
);

-------- GET /tasks?contactId, by a member

-- as above: select 1 from contacts as r where r.organization = $1 and r.id = $2 and r.deleted = false  ...

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when r.contact_id is null or exists (
	select 1
	from contacts as x
	where x.organization = $1
		and x.id = r.contact_id
		and x.deleted = false
		and x.audience in ('', $2)
) then 0 else 2 end + case when r.company_id is null or exists (
	select 1
	from companies as x
	where x.organization = $1
		and x.id = r.company_id
		and x.deleted = false
		and x.audience in ('', $2)
) then 0 else 4 end + case when r.document_id is null or exists (
	select 1
	from documents as x
	where x.organization = $1
		and x.id = r.document_id
		and x.deleted = false
		and x.audience in ('', $2)
) then 0 else 8 end
from (
	select id, revision, created_at, updated_at, deleted, schema_hash, content, assignee_id, contact_id, company_id, document_id
	from tasks indexed by tasks_contact_id_audience
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and contact_id = $6
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content, assignee_id, contact_id, company_id, document_id
	from tasks indexed by tasks_contact_id_audience
	where organization = $1
		and audience = $2
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and contact_id = $6
) as r
order by updated_at desc
limit $5;

-------- GET /tasks?contactId, by an admin

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
) then 0 else 2 end + case when r.company_id is null or exists (
	select 1
	from companies as x
	where x.organization = $1
		and x.id = r.company_id
		and x.deleted = false
) then 0 else 4 end + case when r.document_id is null or exists (
	select 1
	from documents as x
	where x.organization = $1
		and x.id = r.document_id
		and x.deleted = false
) then 0 else 8 end
from (
	select id, revision, created_at, updated_at, deleted, schema_hash, content, assignee_id, contact_id, company_id, document_id
	from tasks indexed by tasks_contact_id_audience
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and contact_id = $6
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content, assignee_id, contact_id, company_id, document_id
	from tasks indexed by tasks_contact_id_audience
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

-------- GET /tasks?reference, by a member

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when r.contact_id is null or exists (
	select 1
	from contacts as x
	where x.organization = $1
		and x.id = r.contact_id
		and x.deleted = false
		and x.audience in ('', $2)
) then 0 else 2 end + case when r.company_id is null or exists (
	select 1
	from companies as x
	where x.organization = $1
		and x.id = r.company_id
		and x.deleted = false
		and x.audience in ('', $2)
) then 0 else 4 end + case when r.document_id is null or exists (
	select 1
	from documents as x
	where x.organization = $1
		and x.id = r.document_id
		and x.deleted = false
		and x.audience in ('', $2)
) then 0 else 8 end
from (
	select id, revision, created_at, updated_at, deleted, schema_hash, content, assignee_id, contact_id, company_id, document_id
	from tasks indexed by tasks_reference_audience
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and reference = $6
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content, assignee_id, contact_id, company_id, document_id
	from tasks indexed by tasks_reference_audience
	where organization = $1
		and audience = $2
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and reference = $6
) as r
order by updated_at desc
limit $5;

-------- GET /tasks?reference, by an admin

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when r.contact_id is null or exists (
	select 1
	from contacts as x
	where x.organization = $1
		and x.id = r.contact_id
		and x.deleted = false
) then 0 else 2 end + case when r.company_id is null or exists (
	select 1
	from companies as x
	where x.organization = $1
		and x.id = r.company_id
		and x.deleted = false
) then 0 else 4 end + case when r.document_id is null or exists (
	select 1
	from documents as x
	where x.organization = $1
		and x.id = r.document_id
		and x.deleted = false
) then 0 else 8 end
from (
	select id, revision, created_at, updated_at, deleted, schema_hash, content, assignee_id, contact_id, company_id, document_id
	from tasks indexed by tasks_reference_audience
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and reference = $6
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content, assignee_id, contact_id, company_id, document_id
	from tasks indexed by tasks_reference_audience
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

-------- GET /tasks?companyId, by a member

-- as above: select 1 from companies as r where r.organization = $1 and r.id = $2 and r.deleted = false ...

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when r.contact_id is null or exists (
	select 1
	from contacts as x
	where x.organization = $1
		and x.id = r.contact_id
		and x.deleted = false
		and x.audience in ('', $2)
) then 0 else 2 end + case when r.company_id is null or exists (
	select 1
	from companies as x
	where x.organization = $1
		and x.id = r.company_id
		and x.deleted = false
		and x.audience in ('', $2)
) then 0 else 4 end + case when r.document_id is null or exists (
	select 1
	from documents as x
	where x.organization = $1
		and x.id = r.document_id
		and x.deleted = false
		and x.audience in ('', $2)
) then 0 else 8 end
from (
	select id, revision, created_at, updated_at, deleted, schema_hash, content, assignee_id, contact_id, company_id, document_id
	from tasks indexed by tasks_company_id_audience
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and company_id = $6
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content, assignee_id, contact_id, company_id, document_id
	from tasks indexed by tasks_company_id_audience
	where organization = $1
		and audience = $2
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and company_id = $6
) as r
order by updated_at desc
limit $5;

-------- GET /tasks?companyId, by an admin

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
) then 0 else 2 end + case when r.company_id is null or exists (
	select 1
	from companies as x
	where x.organization = $1
		and x.id = r.company_id
		and x.deleted = false
) then 0 else 4 end + case when r.document_id is null or exists (
	select 1
	from documents as x
	where x.organization = $1
		and x.id = r.document_id
		and x.deleted = false
) then 0 else 8 end
from (
	select id, revision, created_at, updated_at, deleted, schema_hash, content, assignee_id, contact_id, company_id, document_id
	from tasks indexed by tasks_company_id_audience
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and company_id = $6
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content, assignee_id, contact_id, company_id, document_id
	from tasks indexed by tasks_company_id_private
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

-------- GET /tasks?assigneeId, by a member

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when r.contact_id is null or exists (
	select 1
	from contacts as x
	where x.organization = $1
		and x.id = r.contact_id
		and x.deleted = false
		and x.audience in ('', $2)
) then 0 else 2 end + case when r.company_id is null or exists (
	select 1
	from companies as x
	where x.organization = $1
		and x.id = r.company_id
		and x.deleted = false
		and x.audience in ('', $2)
) then 0 else 4 end + case when r.document_id is null or exists (
	select 1
	from documents as x
	where x.organization = $1
		and x.id = r.document_id
		and x.deleted = false
		and x.audience in ('', $2)
) then 0 else 8 end
from (
	select id, revision, created_at, updated_at, deleted, schema_hash, content, assignee_id, contact_id, company_id, document_id
	from tasks indexed by tasks_assignee_id_audience
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and assignee_id = $6
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content, assignee_id, contact_id, company_id, document_id
	from tasks indexed by tasks_assignee_id_audience
	where organization = $1
		and audience = $2
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and assignee_id = $6
) as r
order by updated_at desc
limit $5;

-------- GET /tasks?assigneeId, by an admin

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when r.contact_id is null or exists (
	select 1
	from contacts as x
	where x.organization = $1
		and x.id = r.contact_id
		and x.deleted = false
) then 0 else 2 end + case when r.company_id is null or exists (
	select 1
	from companies as x
	where x.organization = $1
		and x.id = r.company_id
		and x.deleted = false
) then 0 else 4 end + case when r.document_id is null or exists (
	select 1
	from documents as x
	where x.organization = $1
		and x.id = r.document_id
		and x.deleted = false
) then 0 else 8 end
from (
	select id, revision, created_at, updated_at, deleted, schema_hash, content, assignee_id, contact_id, company_id, document_id
	from tasks indexed by tasks_assignee_id_audience
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and assignee_id = $6
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content, assignee_id, contact_id, company_id, document_id
	from tasks indexed by tasks_assignee_id_private
	where organization = $1
		and audience <> ''
		and $2 = $2
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and assignee_id = $6
) as r
order by updated_at desc
limit $5;

-------- GET /tasks?status, by a member

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when r.contact_id is null or exists (
	select 1
	from contacts as x
	where x.organization = $1
		and x.id = r.contact_id
		and x.deleted = false
		and x.audience in ('', $2)
) then 0 else 2 end + case when r.company_id is null or exists (
	select 1
	from companies as x
	where x.organization = $1
		and x.id = r.company_id
		and x.deleted = false
		and x.audience in ('', $2)
) then 0 else 4 end + case when r.document_id is null or exists (
	select 1
	from documents as x
	where x.organization = $1
		and x.id = r.document_id
		and x.deleted = false
		and x.audience in ('', $2)
) then 0 else 8 end
from (
	select id, revision, created_at, updated_at, deleted, schema_hash, content, assignee_id, contact_id, company_id, document_id
	from tasks indexed by tasks_status_audience
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and status = $6
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content, assignee_id, contact_id, company_id, document_id
	from tasks indexed by tasks_status_audience
	where organization = $1
		and audience = $2
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and status = $6
) as r
order by updated_at desc
limit $5;

-------- GET /tasks?status, by an admin

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when r.contact_id is null or exists (
	select 1
	from contacts as x
	where x.organization = $1
		and x.id = r.contact_id
		and x.deleted = false
) then 0 else 2 end + case when r.company_id is null or exists (
	select 1
	from companies as x
	where x.organization = $1
		and x.id = r.company_id
		and x.deleted = false
) then 0 else 4 end + case when r.document_id is null or exists (
	select 1
	from documents as x
	where x.organization = $1
		and x.id = r.document_id
		and x.deleted = false
) then 0 else 8 end
from (
	select id, revision, created_at, updated_at, deleted, schema_hash, content, assignee_id, contact_id, company_id, document_id
	from tasks indexed by tasks_status_audience
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and status = $6
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content, assignee_id, contact_id, company_id, document_id
	from tasks indexed by tasks_status_private
	where organization = $1
		and audience <> ''
		and $2 = $2
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and status = $6
) as r
order by updated_at desc
limit $5;

-------- GET /tasks?companyId&status, by a member

-- as above: select 1 from companies as r where r.organization = $1 and r.id = $2 and r.deleted = false ...

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when r.contact_id is null or exists (
	select 1
	from contacts as x
	where x.organization = $1
		and x.id = r.contact_id
		and x.deleted = false
		and x.audience in ('', $2)
) then 0 else 2 end + case when r.company_id is null or exists (
	select 1
	from companies as x
	where x.organization = $1
		and x.id = r.company_id
		and x.deleted = false
		and x.audience in ('', $2)
) then 0 else 4 end + case when r.document_id is null or exists (
	select 1
	from documents as x
	where x.organization = $1
		and x.id = r.document_id
		and x.deleted = false
		and x.audience in ('', $2)
) then 0 else 8 end
from (
	select id, revision, created_at, updated_at, deleted, schema_hash, content, assignee_id, contact_id, company_id, document_id
	from tasks indexed by tasks_company_id_status_audience
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and company_id = $6
		and status = $7
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content, assignee_id, contact_id, company_id, document_id
	from tasks indexed by tasks_company_id_status_audience
	where organization = $1
		and audience = $2
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and company_id = $6
		and status = $7
) as r
order by updated_at desc
limit $5;

-------- GET /tasks?companyId&status, by an admin

-- as above: select 1 from companies as r where r.organization = $1 and r.id = $2 and r.deleted = false ...

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when r.contact_id is null or exists (
	select 1
	from contacts as x
	where x.organization = $1
		and x.id = r.contact_id
		and x.deleted = false
) then 0 else 2 end + case when r.company_id is null or exists (
	select 1
	from companies as x
	where x.organization = $1
		and x.id = r.company_id
		and x.deleted = false
) then 0 else 4 end + case when r.document_id is null or exists (
	select 1
	from documents as x
	where x.organization = $1
		and x.id = r.document_id
		and x.deleted = false
) then 0 else 8 end
from (
	select id, revision, created_at, updated_at, deleted, schema_hash, content, assignee_id, contact_id, company_id, document_id
	from tasks indexed by tasks_company_id_status_audience
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and company_id = $6
		and status = $7
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content, assignee_id, contact_id, company_id, document_id
	from tasks indexed by tasks_company_id_status_private
	where organization = $1
		and audience <> ''
		and $2 = $2
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and company_id = $6
		and status = $7
) as r
order by updated_at desc
limit $5;

-------- GET /tasks?assigneeId&status, by a member

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when r.contact_id is null or exists (
	select 1
	from contacts as x
	where x.organization = $1
		and x.id = r.contact_id
		and x.deleted = false
		and x.audience in ('', $2)
) then 0 else 2 end + case when r.company_id is null or exists (
	select 1
	from companies as x
	where x.organization = $1
		and x.id = r.company_id
		and x.deleted = false
		and x.audience in ('', $2)
) then 0 else 4 end + case when r.document_id is null or exists (
	select 1
	from documents as x
	where x.organization = $1
		and x.id = r.document_id
		and x.deleted = false
		and x.audience in ('', $2)
) then 0 else 8 end
from (
	select id, revision, created_at, updated_at, deleted, schema_hash, content, assignee_id, contact_id, company_id, document_id
	from tasks indexed by tasks_assignee_id_status_audience
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and assignee_id = $6
		and status = $7
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content, assignee_id, contact_id, company_id, document_id
	from tasks indexed by tasks_assignee_id_status_audience
	where organization = $1
		and audience = $2
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and assignee_id = $6
		and status = $7
) as r
order by updated_at desc
limit $5;

-------- GET /tasks?assigneeId&status, by an admin

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when r.contact_id is null or exists (
	select 1
	from contacts as x
	where x.organization = $1
		and x.id = r.contact_id
		and x.deleted = false
) then 0 else 2 end + case when r.company_id is null or exists (
	select 1
	from companies as x
	where x.organization = $1
		and x.id = r.company_id
		and x.deleted = false
) then 0 else 4 end + case when r.document_id is null or exists (
	select 1
	from documents as x
	where x.organization = $1
		and x.id = r.document_id
		and x.deleted = false
) then 0 else 8 end
from (
	select id, revision, created_at, updated_at, deleted, schema_hash, content, assignee_id, contact_id, company_id, document_id
	from tasks indexed by tasks_assignee_id_status_audience
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and assignee_id = $6
		and status = $7
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content, assignee_id, contact_id, company_id, document_id
	from tasks indexed by tasks_assignee_id_status_private
	where organization = $1
		and audience <> ''
		and $2 = $2
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and assignee_id = $6
		and status = $7
) as r
order by updated_at desc
limit $5;

-------- GET /tasks/count, by a member

select count(*)
from (
	select 1
	from tasks
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
	union all
	select 1
	from tasks
	where organization = $1
		and audience = $2
		and deleted = false
		and updated_at > $3
		and updated_at < $4
	limit $5
) as counted;

-------- GET /tasks/count, by an admin

select count(*)
from (
	select 1
	from tasks
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
	union all
	select 1
	from tasks
	where organization = $1
		and audience <> ''
		and $2 = $2
		and deleted = false
		and updated_at > $3
		and updated_at < $4
	limit $5
) as counted;

-------- GET /tasks/count?contactId, by a member

-- as above: select 1 from contacts as r where r.organization = $1 and r.id = $2 and r.deleted = false  ...

select count(*)
from (
	select 1
	from tasks indexed by tasks_contact_id_audience
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and contact_id = $6
	union all
	select 1
	from tasks indexed by tasks_contact_id_audience
	where organization = $1
		and audience = $2
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and contact_id = $6
	limit $5
) as counted;

-------- GET /tasks/count?contactId, by an admin

-- as above: select 1 from contacts as r where r.organization = $1 and r.id = $2 and r.deleted = false  ...

select count(*)
from (
	select 1
	from tasks indexed by tasks_contact_id_audience
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and contact_id = $6
	union all
	select 1
	from tasks indexed by tasks_contact_id_audience
	where organization = $1
		and audience <> ''
		and $2 = $2
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and contact_id = $6
	limit $5
) as counted;

-------- GET /tasks/count?reference, by a member

select count(*)
from (
	select 1
	from tasks indexed by tasks_reference_audience
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and reference = $6
	union all
	select 1
	from tasks indexed by tasks_reference_audience
	where organization = $1
		and audience = $2
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and reference = $6
	limit $5
) as counted;

-------- GET /tasks/count?reference, by an admin

select count(*)
from (
	select 1
	from tasks indexed by tasks_reference_audience
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and reference = $6
	union all
	select 1
	from tasks indexed by tasks_reference_audience
	where organization = $1
		and audience <> ''
		and $2 = $2
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and reference = $6
	limit $5
) as counted;

-------- GET /tasks/count?companyId, by a member

-- as above: select 1 from companies as r where r.organization = $1 and r.id = $2 and r.deleted = false ...

select count(*)
from (
	select 1
	from tasks indexed by tasks_company_id_audience
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and company_id = $6
	union all
	select 1
	from tasks indexed by tasks_company_id_audience
	where organization = $1
		and audience = $2
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and company_id = $6
	limit $5
) as counted;

-------- GET /tasks/count?companyId, by an admin

-- as above: select 1 from companies as r where r.organization = $1 and r.id = $2 and r.deleted = false ...

select count(*)
from (
	select 1
	from tasks indexed by tasks_company_id_audience
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and company_id = $6
	union all
	select 1
	from tasks indexed by tasks_company_id_private
	where organization = $1
		and audience <> ''
		and $2 = $2
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and company_id = $6
	limit $5
) as counted;

-------- GET /tasks/count?assigneeId, by a member

select count(*)
from (
	select 1
	from tasks indexed by tasks_assignee_id_audience
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and assignee_id = $6
	union all
	select 1
	from tasks indexed by tasks_assignee_id_audience
	where organization = $1
		and audience = $2
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and assignee_id = $6
	limit $5
) as counted;

-------- GET /tasks/count?assigneeId, by an admin

select count(*)
from (
	select 1
	from tasks indexed by tasks_assignee_id_audience
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and assignee_id = $6
	union all
	select 1
	from tasks indexed by tasks_assignee_id_private
	where organization = $1
		and audience <> ''
		and $2 = $2
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and assignee_id = $6
	limit $5
) as counted;

-------- GET /tasks/count?status, by a member

select count(*)
from (
	select 1
	from tasks indexed by tasks_status_audience
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and status = $6
	union all
	select 1
	from tasks indexed by tasks_status_audience
	where organization = $1
		and audience = $2
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and status = $6
	limit $5
) as counted;

-------- GET /tasks/count?status, by an admin

select count(*)
from (
	select 1
	from tasks indexed by tasks_status_audience
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and status = $6
	union all
	select 1
	from tasks indexed by tasks_status_private
	where organization = $1
		and audience <> ''
		and $2 = $2
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and status = $6
	limit $5
) as counted;

-------- GET /tasks/count?companyId&status, by a member

-- as above: select 1 from companies as r where r.organization = $1 and r.id = $2 and r.deleted = false ...

select count(*)
from (
	select 1
	from tasks indexed by tasks_company_id_status_audience
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and company_id = $6
		and status = $7
	union all
	select 1
	from tasks indexed by tasks_company_id_status_audience
	where organization = $1
		and audience = $2
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and company_id = $6
		and status = $7
	limit $5
) as counted;

-------- GET /tasks/count?companyId&status, by an admin

-- as above: select 1 from companies as r where r.organization = $1 and r.id = $2 and r.deleted = false ...

select count(*)
from (
	select 1
	from tasks indexed by tasks_company_id_status_audience
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and company_id = $6
		and status = $7
	union all
	select 1
	from tasks indexed by tasks_company_id_status_private
	where organization = $1
		and audience <> ''
		and $2 = $2
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and company_id = $6
		and status = $7
	limit $5
) as counted;

-------- GET /tasks/count?assigneeId&status, by a member

select count(*)
from (
	select 1
	from tasks indexed by tasks_assignee_id_status_audience
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and assignee_id = $6
		and status = $7
	union all
	select 1
	from tasks indexed by tasks_assignee_id_status_audience
	where organization = $1
		and audience = $2
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and assignee_id = $6
		and status = $7
	limit $5
) as counted;

-------- GET /tasks/count?assigneeId&status, by an admin

select count(*)
from (
	select 1
	from tasks indexed by tasks_assignee_id_status_audience
	where organization = $1
		and audience = ''
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and assignee_id = $6
		and status = $7
	union all
	select 1
	from tasks indexed by tasks_assignee_id_status_private
	where organization = $1
		and audience <> ''
		and $2 = $2
		and deleted = false
		and updated_at > $3
		and updated_at < $4
		and assignee_id = $6
		and status = $7
	limit $5
) as counted;

-------- PATCH /tasks/{id} {"title":"Brief"}

-- as above: select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when  ...

-- as above: update clocks set tick = case when $2 > tick then $2 else tick + 1 end where organization  ...

-- as above: update tasks set revision = revision + 1, updated_at = $4, owner_id = $5, audience = $6, e ...

-- as above: insert into record_changes (organization, record_id, revision, changed_at, act, members, p ...

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

-------- PATCH /tasks/{id} {"visibility":"private"}

-- as above: select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when  ...

-- as above: update clocks set tick = case when $2 > tick then $2 else tick + 1 end where organization  ...

-- as above: update tasks set revision = revision + 1, updated_at = $4, owner_id = $5, audience = $6, e ...

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

-------- PATCH /tasks/{id} {"visibility":"organization"}

-- as above: select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when  ...

-- as above: update clocks set tick = case when $2 > tick then $2 else tick + 1 end where organization  ...

-- as above: update tasks set revision = revision + 1, updated_at = $4, owner_id = $5, audience = $6, e ...

-- as above: insert into record_changes (organization, record_id, revision, changed_at, act, members, p ...

delete from visibility_losses
where organization = $1
	and record_id = $2;

-- as above: insert into events (organization, tick, id, type, object, record_id, revision, changed, re ...

-- as above: select audience, id, words from search_documents where organization = $1 and family = $2 a ...

-- as above: update search_documents set audience = $4, words = $5 where organization = $1 and family = ...

-- as above: select segment from search_segments where organization = $1 and family = $2 and after < $3 ...

-------- DELETE /tasks/{id}

-- as above: select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when  ...

delete from reminders
where organization = $1
	and task_id = $2;

-- as above: update clocks set tick = case when $2 > tick then $2 else tick + 1 end where organization  ...

update tasks
set revision = revision + 1, updated_at = $4, deleted = true, external_id = null, content = '{}', created_by = '', created_door = '', created_request = '', created_credential = '', contact_id = null, reference = null, company_id = null, assignee_id = null, status = null, document_id = null, sort_due_at = null, sort_reference = null
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

-------- GET /tasks?sort=dueAt&status=open in a session, by a member

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when r.contact_id is null or exists (
	select 1
	from contacts as x
	where x.organization = $1
		and x.id = r.contact_id
		and x.deleted = false
		and x.audience in ('', $2)
) then 0 else 2 end + case when r.company_id is null or exists (
	select 1
	from companies as x
	where x.organization = $1
		and x.id = r.company_id
		and x.deleted = false
		and x.audience in ('', $2)
) then 0 else 4 end + case when r.document_id is null or exists (
	select 1
	from documents as x
	where x.organization = $1
		and x.id = r.document_id
		and x.deleted = false
		and x.audience in ('', $2)
) then 0 else 8 end, sort_due_at
from (
	select id, revision, created_at, updated_at, deleted, schema_hash, content, assignee_id, contact_id, company_id, document_id, sort_due_at
	from tasks indexed by tasks_sort_due_at_shared
	where organization = $1
		and deleted = false
		and sort_due_at > $3
		and sort_due_at < $4
		and audience = ''
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content, assignee_id, contact_id, company_id, document_id, sort_due_at
	from tasks indexed by tasks_sort_due_at_own
	where organization = $1
		and deleted = false
		and sort_due_at > $3
		and sort_due_at < $4
		and audience = $2
		and audience <> ''
) as r
order by sort_due_at
limit $5;

-------- GET /tasks?sort=dueAt&status=open in a session, by an admin

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when r.contact_id is null or exists (
	select 1
	from contacts as x
	where x.organization = $1
		and x.id = r.contact_id
		and x.deleted = false
) then 0 else 2 end + case when r.company_id is null or exists (
	select 1
	from companies as x
	where x.organization = $1
		and x.id = r.company_id
		and x.deleted = false
) then 0 else 4 end + case when r.document_id is null or exists (
	select 1
	from documents as x
	where x.organization = $1
		and x.id = r.document_id
		and x.deleted = false
) then 0 else 8 end, sort_due_at
from (
	select id, revision, created_at, updated_at, deleted, schema_hash, content, assignee_id, contact_id, company_id, document_id, sort_due_at
	from tasks indexed by tasks_sort_due_at_shared
	where organization = $1
		and deleted = false
		and sort_due_at > $3
		and sort_due_at < $4
		and audience = ''
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content, assignee_id, contact_id, company_id, document_id, sort_due_at
	from tasks indexed by tasks_sort_due_at_private
	where organization = $1
		and deleted = false
		and sort_due_at > $3
		and sort_due_at < $4
		and audience <> ''
		and $2 = $2
) as r
order by sort_due_at
limit $5;

-------- GET /tasks?sort=dueAt&status=open&assigneeId={me} in a session, by a member

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when r.contact_id is null or exists (
	select 1
	from contacts as x
	where x.organization = $1
		and x.id = r.contact_id
		and x.deleted = false
		and x.audience in ('', $2)
) then 0 else 2 end + case when r.company_id is null or exists (
	select 1
	from companies as x
	where x.organization = $1
		and x.id = r.company_id
		and x.deleted = false
		and x.audience in ('', $2)
) then 0 else 4 end + case when r.document_id is null or exists (
	select 1
	from documents as x
	where x.organization = $1
		and x.id = r.document_id
		and x.deleted = false
		and x.audience in ('', $2)
) then 0 else 8 end, sort_due_at
from (
	select id, revision, created_at, updated_at, deleted, schema_hash, content, assignee_id, contact_id, company_id, document_id, sort_due_at
	from tasks indexed by tasks_assignee_id_sort_due_at_shared
	where organization = $1
		and deleted = false
		and sort_due_at > $3
		and sort_due_at < $4
		and audience = ''
		and assignee_id = $6
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content, assignee_id, contact_id, company_id, document_id, sort_due_at
	from tasks indexed by tasks_assignee_id_sort_due_at_own
	where organization = $1
		and deleted = false
		and sort_due_at > $3
		and sort_due_at < $4
		and audience = $2
		and audience <> ''
		and assignee_id = $6
) as r
order by sort_due_at
limit $5;

-------- GET /tasks?sort=dueAt&status=open&assigneeId={me} in a session, by an admin

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when r.contact_id is null or exists (
	select 1
	from contacts as x
	where x.organization = $1
		and x.id = r.contact_id
		and x.deleted = false
) then 0 else 2 end + case when r.company_id is null or exists (
	select 1
	from companies as x
	where x.organization = $1
		and x.id = r.company_id
		and x.deleted = false
) then 0 else 4 end + case when r.document_id is null or exists (
	select 1
	from documents as x
	where x.organization = $1
		and x.id = r.document_id
		and x.deleted = false
) then 0 else 8 end, sort_due_at
from (
	select id, revision, created_at, updated_at, deleted, schema_hash, content, assignee_id, contact_id, company_id, document_id, sort_due_at
	from tasks indexed by tasks_assignee_id_sort_due_at_shared
	where organization = $1
		and deleted = false
		and sort_due_at > $3
		and sort_due_at < $4
		and audience = ''
		and assignee_id = $6
	union all
	select id, revision, created_at, updated_at, deleted, schema_hash, content, assignee_id, contact_id, company_id, document_id, sort_due_at
	from tasks indexed by tasks_assignee_id_sort_due_at_private
	where organization = $1
		and deleted = false
		and sort_due_at > $3
		and sort_due_at < $4
		and audience <> ''
		and $2 = $2
		and assignee_id = $6
) as r
order by sort_due_at
limit $5;

-------- walk of the tasks of a contact, by a member

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when r.contact_id is null or exists (
	select 1
	from contacts as x
	where x.organization = $1
		and x.id = r.contact_id
		and x.deleted = false
		and x.audience in ('', $2)
) then 0 else 2 end + case when r.company_id is null or exists (
	select 1
	from companies as x
	where x.organization = $1
		and x.id = r.company_id
		and x.deleted = false
		and x.audience in ('', $2)
) then 0 else 4 end + case when r.document_id is null or exists (
	select 1
	from documents as x
	where x.organization = $1
		and x.id = r.document_id
		and x.deleted = false
		and x.audience in ('', $2)
) then 0 else 8 end
from tasks as r indexed by tasks_contact_id_audience
where r.organization = $1
	and coalesce(nullif(r.audience, ''), $2) = $2
	and r.deleted = false
	and r.id > $3
	and r.contact_id = $4
	and r.contact_id is not null
	and r.created_at <= $5
order by r.id
limit $6;

-------- walk of the tasks of a contact, by an admin

select id, revision, created_at, updated_at, deleted, schema_hash, content, 0 + case when r.contact_id is null or exists (
	select 1
	from contacts as x
	where x.organization = $1
		and x.id = r.contact_id
		and x.deleted = false
) then 0 else 2 end + case when r.company_id is null or exists (
	select 1
	from companies as x
	where x.organization = $1
		and x.id = r.company_id
		and x.deleted = false
) then 0 else 4 end + case when r.document_id is null or exists (
	select 1
	from documents as x
	where x.organization = $1
		and x.id = r.document_id
		and x.deleted = false
) then 0 else 8 end
from tasks as r indexed by tasks_contact_id_audience
where r.organization = $1
	and $2 = $2
	and r.deleted = false
	and r.id > $3
	and r.contact_id = $4
	and r.contact_id is not null
	and r.created_at <= $5
order by r.id
limit $6;

