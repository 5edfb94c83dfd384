"""The journey of ../README.md with the client that openapi-python-client generates."""

import hashlib
import os
import sys
import time
import uuid
from datetime import timedelta

import httpx
from kartei import AuthenticatedClient
from kartei.api.contacts import (
    contacts_count,
    contacts_create,
    contacts_delete,
    contacts_get,
    contacts_list,
    contacts_update,
)
from kartei.api.documents import documents_content, documents_create, documents_delete, documents_get
from kartei.api.events import events_list
from kartei.api.meta import me_get
from kartei.api.operations import operations_get
from kartei.api.uploads import uploads_create
from kartei.models import (
    ContactCreate,
    ContactPatch,
    ContactsListSort,
    DocumentCreate,
    EventsListSort,
    Problem,
    UploadCreate,
)
from kartei.types import UNSET


def check(holds, what):
    if not holds:
        sys.exit(f"journey: {what}")


def ok(answer):
    """Returns the body of a response. The client raises no error for an error status, so this function does."""
    check(answer.status_code < 300, f"{answer.status_code}: {answer.content!r}")
    return answer.parsed


def refused(status, answer):
    """Returns the problem of a call that must fail with this status."""
    check(answer.status_code == status, f"{status} expected, got {answer.status_code}: {answer.content!r}")
    check(isinstance(answer.parsed, Problem), f"{status} is no problem that the client knows: {answer.content!r}")
    return answer.parsed


def create(operation, body):
    """Calls an operation that creates something. It retries with the same idempotency key where clients should."""
    key = str(uuid.uuid4())
    for attempt in range(5):
        try:
            answer = operation.sync_detailed(client=client, body=body, svc_preview="true", idempotency_key=key)
            if answer.status_code not in (429, 503):
                break
            time.sleep(int(answer.headers.get("Retry-After", 2**attempt)))
        except (httpx.TransportError, ValueError):  # no answer, or that of a proxy, which is no JSON
            time.sleep(2**attempt)
    return ok(answer)


# The generated client has no default for the URL of the instance.
client = AuthenticatedClient(os.environ["KARTEI_URL"] + "/v1", os.environ["KARTEI_KEY"], headers={"Accept-Language": "en"})

me = ok(me_get.sync_detailed(client=client))
check(me.key.environment == "test", f"the key is of {me.key.environment}")

# All pages.
expected = ok(contacts_count.sync_detailed(client=client)).count
seen, cursor = set(), UNSET
while True:
    page = ok(contacts_list.sync_detailed(client=client, limit=100, cursor=cursor))
    seen.update(item.id for item in page.data)
    if not page.has_more:
        break
    cursor = page.next_cursor
check(len(seen) == expected, f"{len(seen)} contacts on all pages, {expected} by the count")

# Create and read.
email = f"{uuid.uuid4()}@example.com"
created = create(
    contacts_create,
    ContactCreate(first_name="Jana", last_name="Sommer", email=email, job_title="Notarin"),
)
read = contacts_get.sync_detailed(created.id, client=client)
stored = (ok(read).first_name, ok(read).last_name, ok(read).email)
check(stored == ("Jana", "Sommer", email), f"stored is {stored}")

problem = refused(
    422,
    contacts_create.sync_detailed(
        client=client,
        body=ContactCreate(first_name="Jana", email="nobody"),
        svc_preview="true",
        idempotency_key=str(uuid.uuid4()),
    ),
)
check(problem.code == "VALIDATION_FAILED", f"a wrong email is {problem.code}")
fields = [(field.field, field.code) for field in problem.errors]
check(fields == [("email", "INVALID_FORMAT")], f"a wrong email is told as {fields}")

# Change the contact with If-Match. None clears a member, and a missing member does not change.
tag = read.headers["ETag"]
answer = contacts_update.sync_detailed(
    created.id, client=client, body=ContactPatch(last_name="Winter", job_title=None), svc_preview="true", if_match=tag
)
changed = ok(answer)
check(changed.last_name == "Winter", f"the last name is {changed.last_name}")
check(changed.first_name == "Jana", f"the first name is {changed.first_name}")
check(changed.job_title is None, f"the job title is {changed.job_title}")
problem = refused(
    412,
    contacts_update.sync_detailed(
        created.id, client=client, body=ContactPatch(last_name="Herbst"), svc_preview="true", if_match=tag
    ),
)
check(problem.code == "PRECONDITION_FAILED", f"a stale entity tag is {problem.code}")
check(problem.current_revision == 2, f"the current revision is {problem.current_revision}")

# Delete.
ok(contacts_delete.sync_detailed(created.id, client=client, svc_preview="true", if_match=answer.headers["ETag"]))
problem = refused(404, contacts_get.sync_detailed(created.id, client=client))
check(problem.code == "NOT_FOUND", f"a deleted contact is {problem.code}")

# Read the changes since a time, with deletions, until there are no more.
markers, changes, since = set(), 0, created.created_at - timedelta(minutes=1)
while True:
    page = ok(
        contacts_list.sync_detailed(
            client=client, updated_since=since, include_deleted=True, sort=ContactsListSort.UPDATEDAT, limit=100
        )
    )
    if not page.data:
        break
    for item in page.data:
        if item.deleted:
            since = item.deleted_at
            markers.add(item.id)
        else:
            since = item.updated_at
            changes += 1
    check(len(markers) + changes <= 2 * expected, "the same change comes again and again")
check(created.id in markers, "no marker stands for the deleted contact")

# The event feed reports the same changes. Its last page has a cursor too.
story, cursor = [], UNSET
while True:
    feed = ok(
        events_list.sync_detailed(
            client=client,
            created_since=created.created_at - timedelta(minutes=1),
            sort=EventsListSort.CREATEDAT,
            limit=100,
            cursor=cursor,
        )
    )
    story += [event.type_ for event in feed.data if event.data.id == created.id]
    cursor = feed.next_cursor
    if not feed.has_more:
        break
check(story == ["contact.created", "contact.updated", "contact.deleted"], f"the feed has {story}")
check(cursor, "the feed has no cursor to go on with")

# Open an upload session, send the file, and create a document with it.
file = b"Klage wegen Mietminderung: Die Heizung ist ausgefallen.\n"
upload = create(
    uploads_create,
    UploadCreate(
        file_name="Klage.txt", content_type="text/plain", size=len(file), sha256=hashlib.sha256(file).hexdigest()
    ),
)
sent = httpx.request(upload.method, upload.url, content=file, headers=upload.headers.to_dict())
check(sent.is_success, f"the upload is {sent.status_code}: {sent.text}")
operation = create(documents_create, DocumentCreate(upload_id=upload.id))
while operation.status in ("queued", "running"):
    answer = operations_get.sync_detailed(operation.id, client=client)
    operation = ok(answer)
    time.sleep(int(answer.headers.get("Retry-After", 0)))
check(operation.status == "succeeded", f"the operation is {operation.status}: {operation.error}")
document = operation.result.id
content = documents_content.sync_detailed(document, client=client)
check(content.content == file, f"the document holds {content.content!r}")
tag = documents_get.sync_detailed(document, client=client).headers["ETag"]
ok(documents_delete.sync_detailed(document, client=client, svc_preview="true", if_match=tag))
