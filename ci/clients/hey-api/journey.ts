// The journey of ../README.md with the client that openapi-ts of Hey API generates.
import { createHash, randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import * as kartei from "./kartei";
import { client } from "./kartei/client.gen";

function check(holds: unknown, what: string): asserts holds {
  if (!holds) {
    console.error(`journey: ${what}`);
    process.exit(1);
  }
}

type Answer<T> = { data?: T; error?: unknown; response?: Response };

/** Returns the body of a response. The client throws no error for an error status, so this function does. */
async function ok<T>(call: Promise<Answer<T>>): Promise<T> {
  const { data, error } = await call;
  check(error === undefined, JSON.stringify(error));
  return data as T;
}

/** Returns the problem of a call that must fail with this status. */
async function refused(status: number, call: Promise<Answer<unknown> & { error?: kartei.Problem }>): Promise<kartei.Problem> {
  const { error, response } = await call;
  check(response?.status === status && error, `${status} expected, got ${response?.status}`);
  return error;
}

/** Calls an operation that creates something. It retries with the same idempotency key where clients should. */
async function create<T>(
  call: (headers: { "Svc-Preview": "true"; "Idempotency-Key": string }) => Promise<Answer<T>>,
): Promise<T> {
  const headers = { "Svc-Preview": "true", "Idempotency-Key": randomUUID() } as const;
  for (let attempt = 0; ; attempt++) {
    const answer = await call(headers);
    const again = !answer.response || [429, 503].includes(answer.response.status);
    if (!again || attempt === 4) return ok(Promise.resolve(answer));
    await sleep(Number(answer.response?.headers.get("Retry-After") ?? 2 ** attempt) * 1000);
  }
}

async function journey() {
  // Without baseUrl, the client calls the instance from which the document was downloaded.
  client.setConfig({ auth: process.env.KARTEI_KEY, headers: { "Accept-Language": "en" } });

  const me = await ok(kartei.meGet());
  check(me.key?.environment === "test", `the key is of ${me.key?.environment}`);

  // All pages.
  const expected = (await ok(kartei.contactsCount())).count;
  const seen = new Set<string>();
  for (let cursor: string | undefined; ; ) {
    const page = await ok(kartei.contactsList({ query: { limit: 100, cursor } }));
    for (const item of page.data) seen.add(item.id);
    if (!page.hasMore) break;
    cursor = page.nextCursor ?? undefined;
  }
  check(seen.size === expected, `${seen.size} contacts on all pages, ${expected} by the count`);

  // Create and read.
  const email = `${randomUUID()}@example.com`;
  const body = { firstName: "Jana", lastName: "Sommer", email, jobTitle: "Notarin" };
  const created = await create((headers) => kartei.contactsCreate({ headers, body }));
  const path = { id: created.id };
  const read = await kartei.contactsGet({ path });
  check(
    read.data?.firstName === "Jana" && read.data.lastName === "Sommer" && read.data.email === email,
    `stored is ${JSON.stringify(read.data)}`,
  );

  let problem = await refused(
    422,
    kartei.contactsCreate({
      headers: { "Svc-Preview": "true", "Idempotency-Key": randomUUID() },
      body: { firstName: "Jana", email: "nobody" },
    }),
  );
  check(problem.code === "VALIDATION_FAILED", `a wrong email is ${problem.code}`);
  const fields = problem.errors?.map(({ field, code }) => `${field} ${code}`);
  check(String(fields) === "email INVALID_FORMAT", `a wrong email is told as ${fields}`);

  // Change the contact with If-Match. null clears a member, and a missing member does not change.
  const headers = { "Svc-Preview": "true", "If-Match": read.response?.headers.get("ETag") ?? "" } as const;
  const answer = await kartei.contactsUpdate({ path, headers, body: { lastName: "Winter", jobTitle: null } });
  const changed = answer.data;
  check(changed?.lastName === "Winter", `the last name is ${changed?.lastName}`);
  check(changed.firstName === "Jana", `the first name is ${changed.firstName}`);
  check(changed.jobTitle === null, `the job title is ${changed.jobTitle}`);
  problem = await refused(412, kartei.contactsUpdate({ path, headers, body: { lastName: "Herbst" } }));
  check(problem.code === "PRECONDITION_FAILED", `a stale entity tag is ${problem.code}`);
  check(problem.currentRevision === 2, `the current revision is ${problem.currentRevision}`);

  // Delete.
  const tag = answer.response?.headers.get("ETag") ?? "";
  await ok(kartei.contactsDelete({ path, headers: { "Svc-Preview": "true", "If-Match": tag } }));
  problem = await refused(404, kartei.contactsGet({ path }));
  check(problem.code === "NOT_FOUND", `a deleted contact is ${problem.code}`);

  // Read the changes since a time, with deletions, until there are no more. The times stay texts.
  const before = new Date(Date.parse(created.createdAt) - 60_000).toISOString();
  const markers = new Set<string>();
  let changes = 0;
  for (let updatedSince = before; ; ) {
    const page = await ok(
      kartei.contactsList({ query: { updatedSince, includeDeleted: true, sort: "updatedAt", limit: 100 } }),
    );
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
  const story: string[] = [];
  let cursor: string | undefined;
  for (let more = true; more; ) {
    const feed = await ok(kartei.eventsList({ query: { createdSince: before, sort: "createdAt", limit: 100, cursor } }));
    story.push(...feed.data.filter((event) => event.data.id === created.id).map((event) => event.type));
    cursor = feed.nextCursor ?? undefined;
    more = feed.hasMore;
  }
  check(String(story) === "contact.created,contact.updated,contact.deleted", `the feed has ${story}`);
  check(cursor, "the feed has no cursor to go on with");

  // Open an upload session, send the file, and create a document with it.
  const file = Buffer.from("Klage wegen Mietminderung: Die Heizung ist ausgefallen.\n");
  const announced = {
    fileName: "Klage.txt",
    contentType: "text/plain",
    size: file.length,
    sha256: createHash("sha256").update(file).digest("hex"),
  };
  const upload = await create((headers) => kartei.uploadsCreate({ headers, body: announced }));
  const sent = await fetch(upload.url, { method: upload.method, headers: upload.headers, body: file });
  check(sent.ok, `the upload is ${sent.status}: ${await sent.text()}`);
  let operation = await create((headers) => kartei.documentsCreate({ headers, body: { uploadId: upload.id } }));
  while (operation.status === "queued" || operation.status === "running") {
    const poll = await kartei.operationsGet({ path: { id: operation.id } });
    operation = await ok(Promise.resolve(poll));
    await sleep(Number(poll.response?.headers.get("Retry-After")) * 1000);
  }
  check(operation.status === "succeeded" && operation.result, `the operation is ${JSON.stringify(operation)}`);
  const document = { path: { id: operation.result.id } };
  const content = await ok(kartei.documentsContent({ ...document, parseAs: "blob" }));
  check((await (content as Blob).text()) === file.toString(), "the document holds something else");
  const { response } = await kartei.documentsGet(document);
  await ok(
    kartei.documentsDelete({
      ...document,
      headers: { "Svc-Preview": "true", "If-Match": response?.headers.get("ETag") ?? "" },
    }),
  );
}

journey();
