"""The journey of ../README.md with the client that openapi-generator generates for python."""

import hashlib
import os
import sys
import time
import urllib.request
import uuid
from datetime import timedelta

import kartei
import urllib3
from kartei.exceptions import ApiException


def check(holds, what):
    if not holds:
        sys.exit(f"journey: {what}")


def refused(status, call, *args, **kwargs):
    """Returns the problem of a call that must fail with this status."""
    try:
        call(*args, **kwargs)
    except ApiException as error:
        check(error.status == status, f"{status} expected, got {error}")
        check(isinstance(error.data, kartei.Problem), f"{status} is no problem that the client knows: {error.data!r}")
        return error.data
    sys.exit(f"journey: {call.__name__} was not refused")


def create(call, body):
    """Calls an operation that creates something. It retries with the same idempotency key if there is no response."""
    key = str(uuid.uuid4())
    for attempt in range(5):
        try:
            return call("true", key, body)
        except urllib3.exceptions.HTTPError:
            time.sleep(2**attempt)
        except ApiException as error:
            if error.status not in (429, 503):
                raise
            time.sleep(int(error.headers.get("Retry-After", 2**attempt)))
    sys.exit("journey: five attempts brought no answer")


# Without host, the client calls the instance from which the document was downloaded.
configuration = kartei.Configuration(
    access_token=os.environ["KARTEI_KEY"],
    datetime_format="%Y-%m-%dT%H:%M:%S.%fZ",  # the ticks are UTC; the default writes +0000, which RFC 3339 does not know
)
api = kartei.ApiClient(configuration)
api.default_headers["Accept-Language"] = "en"
contacts = kartei.ContactsApi(api)

me = kartei.MetaApi(api).me_get()
check(me.key.environment == "test", f"the key is of {me.key.environment}")

# All pages.
expected = contacts.contacts_count().count
seen, cursor = set(), None
while True:
    page = contacts.contacts_list(limit=100, cursor=cursor)
    seen.update(item.id for item in page.data)
    cursor = page.next_cursor
    if not page.has_more:
        break
check(len(seen) == expected, f"{len(seen)} contacts on all pages, {expected} by the count")

# Create and read.
email = f"{uuid.uuid4()}@example.com"
created = create(
    contacts.contacts_create,
    kartei.ContactCreate(first_name="Jana", last_name="Sommer", email=email, job_title="Notarin"),
)
read = contacts.contacts_get(created.id)
stored = (read.first_name, read.last_name, read.email)
check(stored == ("Jana", "Sommer", email), f"stored is {stored}")

problem = refused(
    422,
    contacts.contacts_create,
    "true",
    str(uuid.uuid4()),
    kartei.ContactCreate(first_name="Jana", email="nobody"),
)
check(problem.code == "VALIDATION_FAILED", f"a wrong email is {problem.code}")
fields = [(field.var_field, field.code) for field in problem.errors]
check(fields == [("email", "INVALID_FORMAT")], f"a wrong email is told as {fields}")

# Change the contact with If-Match: r and the revision, in quotes. None clears a member.
tag = f'"r{read.revision}"'
changed = contacts.contacts_update(created.id, "true", tag, kartei.ContactPatch(last_name="Winter", job_title=None))
check(changed.last_name == "Winter", f"the last name is {changed.last_name}")
check(changed.first_name == "Jana", f"the first name is {changed.first_name}")
check(changed.job_title is None, f"the job title is {changed.job_title}")
problem = refused(412, contacts.contacts_update, created.id, "true", tag, kartei.ContactPatch(last_name="Herbst"))
check(problem.code == "PRECONDITION_FAILED", f"a stale entity tag is {problem.code}")
check(problem.current_revision == 2, f"the current revision is {problem.current_revision}")

# Delete.
contacts.contacts_delete(created.id, "true", f'"r{changed.revision}"')
problem = refused(404, contacts.contacts_get, created.id)
check(problem.code == "NOT_FOUND", f"a deleted contact is {problem.code}")

# Read the changes since a time, with deletions, until there are no more.
markers, changes, since = set(), 0, created.created_at - timedelta(minutes=1)
while True:
    page = contacts.contacts_list(updated_since=since, include_deleted=True, sort="updatedAt", limit=100)
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
story, cursor = [], None
while True:
    feed = kartei.EventsApi(api).events_list(
        created_since=created.created_at - timedelta(minutes=1), sort="createdAt", limit=100, cursor=cursor
    )
    story += [event.type for event in feed.data if event.data.id == created.id]
    cursor = feed.next_cursor
    if not feed.has_more:
        break
check(story == ["contact.created", "contact.updated", "contact.deleted"], f"the feed has {story}")
check(cursor, "the feed has no cursor to go on with")

# Open an upload session, send the file, and create a document with it.
file = b"Klage wegen Mietminderung: Die Heizung ist ausgefallen.\n"
upload = create(
    kartei.UploadsApi(api).uploads_create,
    kartei.UploadCreate(
        file_name="Klage.txt", content_type="text/plain", size=len(file), sha256=hashlib.sha256(file).hexdigest()
    ),
)
urllib.request.urlopen(urllib.request.Request(upload.url, file, upload.headers, method=upload.method)).close()
documents = kartei.DocumentsApi(api)
operation = create(documents.documents_create, kartei.DocumentCreate(upload_id=upload.id))
while operation.status in ("queued", "running"):
    answer = kartei.OperationsApi(api).operations_get_with_http_info(operation.id)
    operation = answer.data
    time.sleep(int(answer.headers.get("Retry-After", 0)))
check(operation.status == "succeeded", f"the operation is {operation.status}: {operation.error}")
content = documents.documents_content(operation.result.id)
check(content == file, f"the document holds {content!r}")
document = documents.documents_get(operation.result.id)
documents.documents_delete(document.id, "true", f'"r{document.revision}"')
