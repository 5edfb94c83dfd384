// The journey of ../README.md with the client that openapi-generator generates for typescript-fetch.
import { createHash, randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import * as kartei from "./kartei";

function check(holds: unknown, what: string): asserts holds {
  if (!holds) {
    console.error(`journey: ${what}`);
    process.exit(1);
  }
}

/** Returns the problem of a call that must fail with this status. */
async function refused(status: number, call: Promise<unknown>): Promise<kartei.Problem> {
  try {
    await call;
  } catch (error) {
    if (!(error instanceof kartei.ResponseError)) throw error;
    check(error.response.status === status, `${status} expected, got ${error.response.status}`);
    return kartei.ProblemFromJSON(await error.response.json());
  }
  check(false, `${status} expected, and the call was carried out`);
}

/** Calls an operation that creates something. It retries with the same idempotency key where clients should. */
async function create<T>(call: (headers: { svcPreview: "true"; idempotencyKey: string }) => Promise<T>): Promise<T> {
  const headers = { svcPreview: "true", idempotencyKey: randomUUID() } as const;
  for (let attempt = 0; ; attempt++) {
    try {
      return await call(headers);
    } catch (error) {
      const again = error instanceof kartei.FetchError || (error instanceof kartei.ResponseError && [429, 503].includes(error.response.status));
      if (!again || attempt === 4) throw error;
      const wait = error instanceof kartei.ResponseError ? error.response.headers.get("Retry-After") : null;
      await sleep(Number(wait ?? 2 ** attempt) * 1000);
    }
  }
}

async function journey() {
  // Without basePath, the client calls the instance from which the document was downloaded.
  const configuration = new kartei.Configuration({ accessToken: process.env.KARTEI_KEY, headers: { "Accept-Language": "en" } });
  const contacts = new kartei.ContactsApi(configuration);

  const me = await new kartei.MetaApi(configuration).meGet();
  check(me.key?.environment === "test", `the key is of ${me.key?.environment}`);

  // All pages.
  const expected = (await contacts.contactsCount()).count;
  const seen = new Set<string>();
  for (let cursor: string | undefined; ; ) {
    const page = await contacts.contactsList({ limit: 100, cursor });
    for (const item of page.data) seen.add(item.id);
    if (!page.hasMore) break;
    cursor = page.nextCursor ?? undefined;
  }
  check(seen.size === expected, `${seen.size} contacts on all pages, ${expected} by the count`);

  // Create and read.
  const email = `${randomUUID()}@example.com`;
  const contactCreate = { firstName: "Jana", lastName: "Sommer", email, jobTitle: "Notarin" };
  const created = await create((headers) => contacts.contactsCreate({ ...headers, contactCreate }));
  const read = await contacts.contactsGetRaw({ id: created.id });
  const stored = await read.value();
  check(
    stored.firstName === "Jana" && stored.lastName === "Sommer" && stored.email === email,
    `stored is ${JSON.stringify(stored)}`,
  );

  let problem = await refused(
    422,
    contacts.contactsCreate({
      svcPreview: "true",
      idempotencyKey: randomUUID(),
      contactCreate: { firstName: "Jana", email: "nobody" },
    }),
  );
  check(problem.code === "VALIDATION_FAILED", `a wrong email is ${problem.code}`);
  const fields = problem.errors?.map(({ field, code }) => `${field} ${code}`);
  check(String(fields) === "email INVALID_FORMAT", `a wrong email is told as ${fields}`);

  // Change the contact with If-Match. null clears a member, and a missing member does not change.
  const ifMatch = read.raw.headers.get("ETag") ?? "";
  const answer = await contacts.contactsUpdateRaw({
    id: created.id,
    svcPreview: "true",
    ifMatch,
    contactPatch: { lastName: "Winter", jobTitle: null },
  });
  const changed = await answer.value();
  check(changed.lastName === "Winter", `the last name is ${changed.lastName}`);
  check(changed.firstName === "Jana", `the first name is ${changed.firstName}`);
  check(changed.jobTitle === null, `the job title is ${changed.jobTitle}`);
  problem = await refused(
    412,
    contacts.contactsUpdate({ id: created.id, svcPreview: "true", ifMatch, contactPatch: { lastName: "Herbst" } }),
  );
  check(problem.code === "PRECONDITION_FAILED", `a stale entity tag is ${problem.code}`);
  check(problem.currentRevision === 2, `the current revision is ${problem.currentRevision}`);

  // Delete.
  await contacts.contactsDelete({
    id: created.id,
    svcPreview: "true",
    ifMatch: answer.raw.headers.get("ETag") ?? "",
  });
  problem = await refused(404, contacts.contactsGet({ id: created.id }));
  check(problem.code === "NOT_FOUND", `a deleted contact is ${problem.code}`);

  // Read the changes since a time, with deletions, until there are no more. The times
  // stay texts, because a Date has milliseconds and these times have microseconds.
  const before = new Date(Date.parse(created.createdAt) - 60_000).toISOString();
  const markers = new Set<string>();
  let changes = 0;
  for (let updatedSince = before; ; ) {
    const page = await contacts.contactsList({
      updatedSince,
      includeDeleted: true,
      sort: "updatedAt",
      limit: 100,
    });
    if (page.data.length === 0) break;
    for (const item of page.data) {
      updatedSince = item.deletedAt ?? item.updatedAt ?? updatedSince;
      if (item.deleted) markers.add(item.id);
      else changes++;
    }
    check(markers.size + changes <= 2 * expected, "the same change comes again and again");
  }
  check(markers.has(created.id), "no marker stands for the deleted contact");

  // The event feed reports the same changes. Its last page has a cursor too.
  const events = new kartei.EventsApi(configuration);
  const story: string[] = [];
  let cursor: string | undefined;
  for (let more = true; more; ) {
    const feed = await events.eventsList({ createdSince: before, sort: "createdAt", limit: 100, cursor });
    story.push(...feed.data.filter((event) => event.data.id === created.id).map((event) => event.type));
    cursor = feed.nextCursor ?? undefined;
    more = feed.hasMore;
  }
  check(String(story) === "contact.created,contact.updated,contact.deleted", `the feed has ${story}`);
  check(cursor, "the feed has no cursor to go on with");

  // Open an upload session, send the file, and create a document with it.
  const file = Buffer.from("Klage wegen Mietminderung: Die Heizung ist ausgefallen.\n");
  const uploadCreate = {
    fileName: "Klage.txt",
    contentType: "text/plain",
    size: file.length,
    sha256: createHash("sha256").update(file).digest("hex"),
  };
  const upload = await create((headers) => new kartei.UploadsApi(configuration).uploadsCreate({ ...headers, uploadCreate }));
  const sent = await fetch(upload.url, { method: upload.method, headers: upload.headers, body: file });
  check(sent.ok, `the upload is ${sent.status}: ${await sent.text()}`);
  const documents = new kartei.DocumentsApi(configuration);
  let operation = await create((headers) =>
    documents.documentsCreate({ ...headers, documentCreate: { uploadId: upload.id } }),
  );
  while (operation.status === "queued" || operation.status === "running") {
    const poll = await new kartei.OperationsApi(configuration).operationsGetRaw({ id: operation.id });
    operation = await poll.value();
    await sleep(Number(poll.raw.headers.get("Retry-After")) * 1000);
  }
  check(operation.status === "succeeded" && operation.result, `the operation is ${JSON.stringify(operation)}`);
  const id = operation.result.id;
  const content = await (await documents.documentsContent({ id })).text();
  check(content === file.toString(), `the document holds ${content}`);
  const document = await documents.documentsGetRaw({ id });
  await documents.documentsDelete({ id, svcPreview: "true", ifMatch: document.raw.headers.get("ETag") ?? "" });
}

journey();
