package fault

import (
	"time"

	"kartei/kit/i18n"
)

// Entry is the catalogue's entry of a code: its status and the texts of its problem documents and
// of its page.
type Entry struct {
	Code   Code
	Status int
	// Title is the title of all problems of the code (RFC 9457 section 3.1.3).
	Title i18n.Text
	// Detail is the sentence for a fault without its own Detail. It is empty for UNAUTHENTICATED.
	Detail i18n.Text
	// What says what happened, Why lists the reasons, and Do says what a client can do.
	What, Why, Do i18n.Text
	Example       Example
}

// Example is a request whose response has the code. AppendProblem makes the response from Fault, as
// for a real request.
type Example struct {
	// Request has the request line, the relevant headers and the body.
	Request string
	// Instance is the path of the request.
	Instance string
	// InOperation says that the problem is the error of a failed long-running operation. The
	// example then reads this operation, and the response has the status 200.
	InOperation bool
	Fault       Fault
}

// The ids, paths and headers in the examples.
const (
	exampleContact   = "con_01m7q5p4xkeq58z2c7n4r6t9bd"
	exampleUpload    = "upl_01m7q5p4xmf3s9a4d8p5v7w2ce"
	exampleOperation = "/v1/operations/opr_01m7q5p4xnepht3v8k5s1d9wzq"
	exampleEndpoint  = "/v1/webhook_endpoints"
	exampleKey       = "Authorization: Bearer <API_KEY>"
	exampleCreate    = exampleKey + "\nSvc-Preview: true\nIdempotency-Key: 5f0c7a52-3e0b-4a53-9d0e-8d5c1f6f2b11\nContent-Type: application/json\n\n"
)

// IsPreview is the detail of a fault for an operation that is a preview, if the request lacks the
// header Svc-Preview.
var IsPreview = i18n.Text("This operation is a preview in this version. Send the header Svc-Preview: true.")

// catalog has one entry for each code, in the order of the contract's table.
var catalog = []Entry{
	{
		Code: InvalidRequest, Status: 400,
		Title:  "Invalid request",
		Detail: "The request could not be processed as sent: its structure, a parameter or a header is not valid.",
		What:   "The server could not read the request and changed nothing.",
		Why:    "The body is not valid JSON, holds a member twice or is not an object at its top level. Or a parameter or header is missing, is given more than once, has the wrong form or does not go together with another.",
		Do:     "Look under `errors` for the parameter or header that is meant and compare it with the API reference. If `errors` is missing, check the body with a JSON tool. Sending the same request again does not help.",
		Example: Example{
			Request: "GET /v1/contacts?q=Morgenstern&sort=updatedAt\n" + exampleKey, Instance: "/v1/contacts",
			Fault: Fault{Fields: []Field{{Name: "sort", Code: ForbiddenCombination, Limit: "q"}}},
		},
	},
	{
		Code: ValidationFailed, Status: 422,
		Title:  "Validation failed",
		Detail: "At least one field is not valid. See errors for which and why.",
		What:   "The server understood the request, but at least one value in it is not allowed. Nothing was changed.",
		Why:    "A required field is missing, or a value has the wrong type, is too long, does not have the required form or refers to a record that does not exist. Unknown fields are refused too, so that typos are noticed.",
		Do:     "Go through the entries of `errors`; all mistakes are reported at once; whether a reference names a record and an `externalId` is free is checked once every value has the required form. `field` names the place (`address.country` or `tags[3]`, for example), `code` the reason. Correct the values and send the request again.",
		Example: Example{
			Request: "POST /v1/contacts\n" + exampleCreate +
				"{\n  \"firstName\": \"Karla\",\n  \"email\": \"karla.morgenstern\",\n  \"nickname\": \"Kay\"\n}",
			Instance: "/v1/contacts",
			Fault: Fault{Fields: []Field{
				{Name: "email", Code: InvalidFormat, Limit: i18n.Text("an email address")},
				{Name: "nickname", Code: UnknownField},
			}},
		},
	},
	{
		Code: Unauthenticated, Status: 401,
		Title: "Authentication required",
		What:  "The request did not carry valid credentials. It was not carried out.",
		Why:   "The `Authorization` header is missing, or the key or access token is unknown, expired, revoked or paused, may not be used from this IP address, or the organization has switched the API off. The answer deliberately does not name the reason and is the same in every case, so that strangers learn nothing about keys.",
		Do:    "Check the header: `Authorization: Bearer kart_test_...` or `kart_live_...`, exactly once, the key complete, without spaces and without quotes. An application with an access token (`kart_atok_...`) refreshes it; if 401 comes again at once, it waits until somebody has looked. The request log has the exact reason under the `requestId`: for the owner of the key in the browser at `/settings/interfaces/requests`, for the operator with `kartei log REQUEST-ID`. Do not repeat the request unchanged: frequent failures are slowed down.",
		Example: Example{
			Request: "GET /v1/me", Instance: "/v1/me",
			Fault: Fault{Header: map[string]string{
				"WWW-Authenticate": `Bearer resource_metadata="https://kartei.example/.well-known/oauth-protected-resource/v1"`,
			}},
		},
	},
	{
		Code: Forbidden, Status: 403,
		Title:  "Forbidden",
		Detail: "A permission for this call is missing, or the organization does not accept calls of this kind.",
		What:   "The key or access token is valid but may not carry out this operation.",
		Why:    "The required scope is missing, the person or service account lacks the right, the organization allows only reading through the API, or it is closed or scheduled for deletion.",
		Do:     "Compare the operation's scope in the API reference with `scopes` from `GET /v1/me`, which lists the scopes actually in effect. If one is missing, create a suitable key, have the application ask the person again (`WWW-Authenticate` names the scope) or ask an administrator of your organization.",
		Example: Example{
			Request:  "DELETE /v1/contacts/" + exampleContact + "\n" + exampleKey + "\nSvc-Preview: true\nIf-Match: \"r4\"",
			Instance: "/v1/contacts/" + exampleContact,
			Fault: Fault{
				Detail: "This call lacks the scope contacts:write.",
			},
		},
	},
	{
		Code: OrganizationMismatch, Status: 403,
		Title:  "Organization mismatch",
		Detail: "The header Svc-Organization names another organization than the key's.",
		What:   "The request names an organization that the key does not belong to.",
		Why:    "A key is valid for exactly one organization. When the header `Svc-Organization` names another, nothing is carried out, so that data does not end up in the wrong organization by mistake. Test keys belong to the sandbox, which is an organization of its own.",
		Do:     "Read from `GET /v1/me`, under `organization`, which organization the key belongs to. Leave the header out, or use the key of the organization you mean.",
		Example: Example{
			Request:  "GET /v1/contacts\n" + exampleKey + "\nSvc-Organization: org_01m7q5p4xneg7t5b9f3q8r4w6v",
			Instance: "/v1/contacts",
		},
	},
	{
		Code: APIModuleDisabled, Status: 403,
		Title:  "API module disabled",
		Detail: "The module publicApi is not enabled for this organization.",
		What:   "The key's organization has not enabled the public API.",
		Why:    "The module `publicApi` is switched off, or the organization has not yet declared whether it is bound by professional secrecy. Keys, webhooks and tokens are kept and rest for that time.",
		Do:     "Ask an administrator of the organization to make the declaration and to switch the module on. Events of the time between are not delivered later; catch up on changes with `updatedSince` afterwards.",
		Example: Example{
			Request: "GET /v1/contacts\n" + exampleKey, Instance: "/v1/contacts",
		},
	},
	{
		Code: RiskFamilyBlocked, Status: 403,
		Title:  "Family blocked",
		Detail: "This family is never available through the API.",
		What:   "The request is aimed at a family that the API does not offer.",
		Why:    "Invoices, secrets, user accounts and API keys are blocked in the API, because a mistake or a stolen key can do particular harm there. No scope and no role lifts this.",
		Do:     "Do this task in the application itself or through the operator's command line. Repeating the call does not help.",
		Example: Example{
			Request: "GET /v1/invoices\n" + exampleKey, Instance: "/v1/invoices",
		},
	},
	{
		Code: NotFound, Status: 404,
		Title:  "Not found",
		Detail: "There is nothing at this address, or it is not visible to you.",
		What:   "The requested record or path does not exist.",
		Why:    "The record was deleted, belongs to another organization or is private, or there is a mistake in the id or the path, such as the id of a record of another kind. All these cases are answered alike, so that nobody learns what exists elsewhere.",
		Do:     "Check the id and the path. Whether a record was deleted can be seen from the list with `updatedSince` and `includeDeleted=true`. Check also that the key belongs to the right organization: test keys see only the sandbox.",
		Example: Example{
			Request: "GET /v1/contacts/" + exampleContact + "\n" + exampleKey, Instance: "/v1/contacts/" + exampleContact,
		},
	},
	{
		Code: OperationNotInVersion, Status: 404,
		Title:  "Operation not in this version",
		Detail: "The selected version does not have this operation, or the operation is a preview and needs the header Svc-Preview: true.",
		What:   "The operation is not available in the version that applies to this request.",
		Why:    "Either it is a preview in this version and the header `Svc-Preview: true` is missing, or it belongs to another version.",
		Do:     "Send `Svc-Preview: true` if the API reference lists the operation as a preview. Keep in mind that previews may change and are no basis for production. Otherwise select, with `Svc-Version`, a version that has the operation.",
		Example: Example{
			Request: "POST /v1/contacts\n" + exampleKey +
				"\nIdempotency-Key: 5f0c7a52-3e0b-4a53-9d0e-8d5c1f6f2b11\nContent-Type: application/json\n\n{\"firstName\": \"Karla\"}", Instance: "/v1/contacts",
		},
	},
	{
		Code: IdempotencyInProgress, Status: 409,
		Title:  "First call still in progress",
		Detail: "A call with the same Idempotency-Key is still running. Wait a moment and repeat the request unchanged.",
		What:   "The request carries the same `Idempotency-Key` as one that is being carried out.",
		Why:    "Usually a client repeated too early after a timeout, or two processes took the same task. So that nothing is created twice, only one call per key runs at a time.",
		Do:     "Wait as long as `Retry-After` says and send the same request with the same `Idempotency-Key` again. You then receive the answer of the first call, marked by the header `Idempotent-Replayed`.",
		Example: Example{
			Request: "POST /v1/contacts\n" + exampleCreate + "{\"firstName\": \"Karla\"}", Instance: "/v1/contacts",
			Fault: Fault{RetryAfter: time.Second},
		},
	},
	{
		Code: IdempotencyPayloadMismatch, Status: 422,
		Title:  "Idempotency-Key used for another request",
		Detail: "This Idempotency-Key was already used for another request. Use a new one for every new request.",
		What:   "There is already an answer for this `Idempotency-Key`, but to a request with other content.",
		Why:    "Method, path, version and body must be the same in a repetition. The order of members and white space in the JSON do not matter. An `Idempotency-Key` is kept for 24 hours.",
		Do:     "Create a new `Idempotency-Key` for every new task, preferably a random UUID, and keep it only for repetitions of that task.",
		Example: Example{
			Request: "POST /v1/contacts\n" + exampleCreate + "{\"firstName\": \"Jonas\"}", Instance: "/v1/contacts",
		},
	},
	{
		Code: VersionSunset, Status: 410,
		Title:  "Version switched off",
		Detail: "This version of the API is switched off. Select a current one with Svc-Version.",
		What:   "The version that applies to this request is no longer offered.",
		Why:    "The header `Svc-Version`, or the version pinned on the key, names a version whose end has come. It was announced by the headers `Deprecation` and `Sunset`.",
		Do:     "Move your application to a current version; `GET /v1/openapi.json` returns its description. Then change the header, or the version pinned on the key.",
		Example: Example{
			Request: "GET /v1/contacts\n" + exampleKey + "\nSvc-Version: 2025-06-01", Instance: "/v1/contacts",
		},
	},
	{
		Code: PreconditionFailed, Status: 412,
		Title:  "Record changed in the meantime",
		Detail: "The record has another revision than the one named in If-Match. Read it again and repeat the change.",
		What:   "The change was not carried out, because the record is no longer the one that you read.",
		Why:    "Somebody else has changed the record since you last read it. This way nobody overwrites the work of others unnoticed.",
		Do:     "Read the record again, check whether your change still fits, and send it once more with the new `ETag` in `If-Match`. `currentRevision` names the current revision.",
		Example: Example{
			Request: "PATCH /v1/contacts/" + exampleContact + "\n" + exampleKey +
				"\nSvc-Preview: true\nIf-Match: \"r4\"\nContent-Type: application/json\n\n{\"jobTitle\": \"Notarin\"}",
			Instance: "/v1/contacts/" + exampleContact,
			Fault:    Fault{Extra: map[string]any{"currentRevision": int64(5)}},
		},
	},
	{
		Code: PreconditionRequired, Status: 428,
		Title:  "If-Match required",
		Detail: "This operation needs the header If-Match with the ETag of the revision that was read.",
		What:   "The request changes or deletes a record but does not name the revision it is based on.",
		Why:    "Without `If-Match` it could overwrite, unnoticed, a change made in the meantime.",
		Do:     "Read the record and send its `ETag` in `If-Match`, for example `If-Match: \"r4\"` including the quotation marks. With `If-Match: *` the change applies to any revision.",
		Example: Example{
			Request:  "DELETE /v1/contacts/" + exampleContact + "\n" + exampleKey + "\nSvc-Preview: true",
			Instance: "/v1/contacts/" + exampleContact,
		},
	},
	{
		Code: CursorMismatch, Status: 400,
		Title:  "Cursor does not match",
		Detail: "The cursor has expired, is damaged or belongs to another query. Start again at the first page.",
		What:   "The list cannot be continued with this cursor.",
		Why:    "A cursor is valid for 24 hours and only for the query it came from: same resource, same filters, same sort, same principal, same version.",
		Do:     "Pass `nextCursor` unchanged and keep all other parameters the same. If the cursor has expired, start over without `cursor`. For continuous synchronization `updatedSince` suits better, since it has no time limit.",
		Example: Example{
			Request: "GET /v1/contacts?sort=updatedAt&cursor=...\n" + exampleKey, Instance: "/v1/contacts",
		},
	},
	{
		Code: UnknownParameter, Status: 400,
		Title:  "Unknown parameter",
		Detail: "The request has a parameter that this operation does not know.",
		What:   "The address has a parameter that the operation does not know. It was not carried out.",
		Why:    "Usually it is a typo or a filter that does not exist. If the parameter were ignored, the list would be another than you asked for. Keys never belong in the address.",
		Do:     "Compare the names with the API reference; upper and lower case matter. `errors` says which parameter is meant.",
		Example: Example{
			Request: "GET /v1/contacts?updated_since=2026-11-01T00:00:00Z\n" + exampleKey, Instance: "/v1/contacts",
			Fault: Fault{Fields: []Field{{Name: "updated_since", Code: UnknownField}}},
		},
	},
	{
		Code: UploadIncomplete, Status: 409,
		Title:  "Upload incomplete",
		Detail: "Data is still missing for this upload. Upload the whole file and repeat the request.",
		What:   "No document can be created from the upload yet, because the file is missing or has not arrived completely.",
		Why:    "The file has not been sent to the address of the upload session yet, the transfer broke off, or the size that was announced (`size`) is larger than the file.",
		Do:     "Send the file with the method, address and headers from the answer to `POST /v1/uploads`, then call `POST /v1/documents` again. A session lives for 24 hours; sending may be repeated.",
		Example: Example{
			Request:  "POST /v1/documents\n" + exampleCreate + "{\"uploadId\": \"" + exampleUpload + "\"}",
			Instance: "/v1/documents",
		},
	},
	{
		Code: UploadChecksumMismatch, Status: 422,
		Title:  "Checksum does not match",
		Detail: "Size or SHA-256 of the uploaded file differs from what the upload session states.",
		What:   "The file that arrived is not the one that was announced.",
		Why:    "The file was damaged on its way or changed after its checksum was computed, or `size` or `sha256` was stated wrongly.",
		Do:     "Compute size and SHA-256 (hexadecimal) from the file again. If the session's values are right, send the file again; otherwise create a new session.",
		Example: Example{
			Request:  "POST /v1/documents\n" + exampleCreate + "{\"uploadId\": \"" + exampleUpload + "\"}",
			Instance: "/v1/documents",
		},
	},
	{
		Code: UploadRejected, Status: 422,
		Title:  "File rejected",
		Detail: "This file is not accepted: its type is not allowed, its content does not match the type, or malware was found.",
		What:   "The file did not pass the checks. No document was created, and the file was deleted.",
		Why:    "The file type is not among the allowed ones, the content is not what `contentType` states, or malware was found. That shows only when the operation looks at the file; so the problem stands in its `error`, and asking for it answers 200.",
		Do:     "`detail` says why. Begin a new upload with the matching `contentType`; the old one is used up. Where malware is suspected, examine where the file came from before you try again.",
		Example: Example{
			Request: "GET " + exampleOperation + "\n" + exampleKey, Instance: exampleOperation, InOperation: true,
			Fault: Fault{Detail: "The content of the file is not of the type application/pdf but looks like text/plain. Begin a new upload with the type that fits."},
		},
	},
	{
		Code: BatchTooLarge, Status: 400,
		Title:  "Batch too large",
		Detail: "A batch may hold at most 20 calls.",
		What:   "The batch holds more calls than allowed. None of them was carried out.",
		Why:    "A batch takes at most 20 calls that do not depend on one another.",
		Do:     "Divide the calls among several batches. Larger batches would not save points anyway: each part costs what it costs alone.",
		Example: Example{
			Request: "POST /v1/batch\n" + exampleKey +
				"\nSvc-Preview: true\nContent-Type: application/json\n\n{\"calls\": [ ... 21 ... ]}", Instance: "/v1/batch",
		},
	},
	{
		Code: BatchFamilyNotAllowed, Status: 422,
		Title:  "Not allowed in a batch",
		Detail: "At least one call in the batch belongs to a family that is not allowed there.",
		What:   "The whole batch was refused before any part of it ran.",
		Why:    "A part calls an operation that a batch does not offer: another batch, uploads, webhook endpoints, the content of documents, `openapi.json` or a blocked family.",
		Do:     "Take the calls named under `errors` out of the batch and send them one by one.",
		Example: Example{
			Request: "POST /v1/batch\n" + exampleKey +
				"\nSvc-Preview: true\nContent-Type: application/json\n\n{\n  \"calls\": [\n    {\"method\": \"GET\", \"path\": \"/contacts?limit=5\"},\n    {\"method\": \"GET\", \"path\": \"/webhook_endpoints\"}\n  ]\n}", Instance: "/v1/batch",
			Fault: Fault{Fields: []Field{
				{
					Name: "calls[1].path", Code: NotInEnum,
					Text: "This operation is not allowed in a batch.",
				},
			}},
		},
	},
	{
		Code: WebhookURLInvalid, Status: 422,
		Title:  "Webhook URL not valid",
		Detail: "The URL must begin with https, use port 443 and be publicly reachable.",
		What:   "The given URL cannot be a target of webhooks.",
		Why:    "Only https URLs on port 443 with a public host name or a public IP address are allowed, without user name, password or fragment. Addresses of internal networks are refused, and so are names without a dot and those in .localhost, .local or .internal.",
		Do:     "Give a public https URL with a valid certificate.",
		Example: Example{
			Request: "POST " + exampleEndpoint + "\n" + exampleCreate +
				"{\n  \"name\": \"CRM\",\n  \"url\": \"http://crm.example:8080/hook\",\n  \"eventTypes\": [\"contact.updated\"]\n}", Instance: exampleEndpoint,
			Fault: Fault{Fields: []Field{
				{Name: "url", Code: InvalidFormat, Limit: i18n.Text("an https URL on port 443")},
			}},
		},
	},
	{
		Code: WebhookEndpointLimit, Status: 409,
		Title:  "Webhook endpoint limit reached",
		Detail: "At most 16 webhook endpoints are possible per person or service account. Delete one that is no longer needed.",
		What:   "No further webhook endpoint was created.",
		Why:    "The person or service account behind the key already has 16 endpoints.",
		Do:     "Delete endpoints that are no longer needed, or add event types to an existing one.",
		Example: Example{
			Request: "POST " + exampleEndpoint + "\n" + exampleCreate +
				"{\n  \"name\": \"CRM\",\n  \"url\": \"https://crm.example/hook\",\n  \"eventTypes\": [\"contact.updated\"]\n}",
			Instance: exampleEndpoint,
		},
	},
	{
		Code: RateLimited, Status: 429,
		Title:  "Too many requests",
		Detail: "A limit has been reached. Wait for the stated time and repeat the request.",
		What:   "The request was not carried out, because a limit per minute, the number of concurrent calls or that of files on their way is used up.",
		Why:    "The key, its owner or the whole organization has used too many points in a short time. `violated-policies` names the limits; `transfers` means that as many files of the organization are on their way as the instance allows at the same time. That is over as soon as one of them has been transferred, and does not count for the lock. A key that is refused more than 50 times within 60 seconds is locked for five minutes; `detail` then says until when. When too many invalid keys come from one address, further ones are refused in this way too.",
		Do:     "Wait as long as `Retry-After` or `retryAfterMs` says, plus a small random time. Watch the header `RateLimit`, so that you do not reach the limit in the first place.",
		Example: Example{
			Request: "GET /v1/contacts?q=Morgenstern\n" + exampleKey, Instance: "/v1/contacts",
			Fault: Fault{RetryAfter: 1400 * time.Millisecond, Extra: map[string]any{"violated-policies": []string{"key"}}},
		},
	},
	{
		Code: Overloaded, Status: 429,
		Title:  "Server busy",
		Detail: "The server is busy at the moment. Repeat the request after the stated time.",
		What:   "The server refused the request at once instead of letting it wait for long. Nothing was carried out.",
		Why:    "More requests arrive than the instance can handle. It has nothing to do with your own limits.",
		Do:     "Wait for the time in `Retry-After` and repeat the request, with growing intervals and at most five times. If it persists, contact the operator.",
		Example: Example{
			Request: "GET /v1/contacts\n" + exampleKey, Instance: "/v1/contacts",
			Fault: Fault{RetryAfter: 2 * time.Second},
		},
	},
	{
		Code: QuotaExhausted, Status: 429,
		Title:  "Quota used up",
		Detail: "A quota is used up. Calls of this kind are not possible until it renews.",
		What:   "A quota per hour or per day is used up, or the room for files of which no document was made yet.",
		Why:    "With `uploads` in `violated-policies`, the open uploads of the organization have announced as many bytes as the instance keeps for them, or there are too many of them. Otherwise the key has reached the number of deletions allowed per day or of records read per hour. These bounds keep the damage small when a key gets into the wrong hands or a program goes astray.",
		Do:     "Repeat the request only after the time in `Retry-After`; no earlier attempt will help, except for uploads: each document that you create from an open upload frees its room at once. When synchronizing, read only changes (`updatedSince`) instead of everything every time. If the usage is unexpected, check who uses the key.",
		Example: Example{
			Request: "GET /v1/contacts?limit=100\n" + exampleKey, Instance: "/v1/contacts",
			Fault: Fault{RetryAfter: 23 * time.Minute, Extra: map[string]any{"violated-policies": []string{"outflow"}}},
		},
	},
	{
		Code: APIPaused, Status: 503,
		Title:  "API paused",
		Detail: "The operator has paused the API for a while. Please try again later.",
		What:   "The operator of the instance has paused the API. Calls are not carried out.",
		Why:    "Usually there is maintenance, or a fault is being repaired.",
		Do:     "Repeat the request after the time in `Retry-After`, with growing intervals. No data is lost; catch up with `updatedSince` or `GET /v1/events` afterwards.",
		Example: Example{
			Request: "GET /v1/contacts\n" + exampleKey, Instance: "/v1/contacts",
			Fault: Fault{RetryAfter: time.Minute},
		},
	},
	{
		Code: Upstream, Status: 502,
		Title:  "Upstream failure",
		Detail: "A service that this operation depends on did not answer properly. Please try again later.",
		What:   "The request was fine, but a service behind the API failed.",
		Why:    "For example, the file storage or the malware scanner cannot be reached at the moment.",
		Do:     "Repeat the request after some seconds, writes with the same `Idempotency-Key`. If the failure persists, tell the operator the `requestId`.",
		Example: Example{
			Request:  "GET /v1/documents/doc_01m7q5p4xpf9v3c6g2r5s8x4yz/content\n" + exampleKey,
			Instance: "/v1/documents/doc_01m7q5p4xpf9v3c6g2r5s8x4yz/content",
		},
	},
	{
		Code: InstancePending, Status: 503,
		Title:  "Instance not ready",
		Detail: "The instance is not ready at the moment: it is starting, or its database does not answer. Please try again in a moment.",
		What:   "The server is running but cannot answer calls at the moment.",
		Why:    "It has just started, is bringing the database up to date, or the database cannot be reached, is full or is read-only. In rare cases it is open whether a change was still stored.",
		Do:     "Repeat the request after the time in `Retry-After`, a change with the same `Idempotency-Key` or `If-Match`. If it takes longer than some minutes, contact the operator.",
		Example: Example{
			Request: "GET /v1/me\n" + exampleKey, Instance: "/v1/me",
			Fault: Fault{RetryAfter: 5 * time.Second},
		},
	},
	{
		Code: Internal, Status: 500,
		Title:  "Internal error",
		Detail: "An unexpected error occurred while processing the request. If it recurs, tell the operator the requestId.",
		What:   "Something went wrong on the server that nobody expected. A change that had begun was undone completely.",
		Why:    "The fault is the server's and not in your request. The details are in the operator's log.",
		Do:     "Repeat the request once after a short time, writes with the same `Idempotency-Key`. If it stays that way, report the `requestId` to the operator, who finds the call with `kartei log REQUEST-ID`.",
		Example: Example{
			Request: "GET /v1/contacts\n" + exampleKey, Instance: "/v1/contacts",
		},
	},
	{
		Code: MethodNotAllowed, Status: 405,
		Title:  "Method not allowed",
		Detail: "The path exists, but not with this method. The header Allow names the possible ones.",
		What:   "The path is known, but the HTTP method is not provided for it.",
		Why:    "Often `PUT` is used instead of `PATCH`, or the record's id is missing from the path.",
		Do:     "Use one of the methods in the header `Allow`. The API reference says which operation does what.",
		Example: Example{
			Request: "PUT /v1/contacts/" + exampleContact + "\n" + exampleKey, Instance: "/v1/contacts/" + exampleContact,
			Fault: Fault{Header: map[string]string{"Allow": "DELETE, GET, HEAD, PATCH"}},
		},
	},
	{
		Code: NotAcceptable, Status: 406,
		Title:  "Not acceptable",
		Detail: "The answer is not available in any format that the header Accept allows. The API answers with application/json.",
		What:   "The request asks for a response format that the API does not offer.",
		Why:    "The header `Accept` excludes `application/json`, for example because it lists only `text/html` or `application/xml`.",
		Do:     "Send `Accept: application/json`, or leave the header out.",
		Example: Example{
			Request: "GET /v1/contacts\n" + exampleKey + "\nAccept: application/xml", Instance: "/v1/contacts",
		},
	},
	{
		Code: PayloadTooLarge, Status: 413,
		Title:  "Payload too large",
		Detail: "The body of the request is too large. JSON may have at most 1 MiB.",
		What:   "The server did not read the request, because its body is too large.",
		Why:    "A JSON body may have at most 1 MiB (1,048,576 bytes). Often it carries a file as Base64.",
		Do:     "Divide large amounts among several requests. Upload files through `POST /v1/uploads`, which has a larger limit of its own.",
		Example: Example{
			Request: "POST /v1/contacts\n" + exampleCreate + "{ ... 3 MiB ... }", Instance: "/v1/contacts",
		},
	},
	{
		Code: UnsupportedMediaType, Status: 415,
		Title:  "Unsupported media type",
		Detail: "The body of the request must be JSON: Content-Type: application/json.",
		What:   "The server does not accept the body in this format.",
		Why:    "The header `Content-Type` is missing, or names another format or character set than JSON in UTF-8, such as an HTML form. Or a file came to the address of its upload with another type than was announced when the upload was begun.",
		Do:     "Send `Content-Type: application/json`, or with `PATCH` also `application/merge-patch+json`, and the body as JSON in UTF-8. Send a file with exactly the headers from the answer to `POST /v1/uploads`.",
		Example: Example{
			Request: "POST /v1/contacts\n" + exampleKey +
				"\nSvc-Preview: true\nIdempotency-Key: 5f0c7a52-3e0b-4a53-9d0e-8d5c1f6f2b11\nContent-Type: application/x-www-form-urlencoded\n\nfirstName=Karla", Instance: "/v1/contacts",
		},
	},
	{
		Code: RangeNotSatisfiable, Status: 416,
		Title:  "Range not satisfiable",
		Detail: "The file has no such range. The header Content-Range tells its size.",
		What:   "The header `Range` names a part of the file that does not exist.",
		Why:    "The range begins after the end of the file, or it is malformed.",
		Do:     "Ask for the size (`size` of the document, or `Content-Range` of this answer) and demand a range within it, for example `Range: bytes=0-1023`.",
		Example: Example{
			Request:  "GET /v1/documents/doc_01m7q5p4xmf3s9a4d8p5v7w2ce/content\n" + exampleKey + "\nRange: bytes=900000-",
			Instance: "/v1/documents/doc_01m7q5p4xmf3s9a4d8p5v7w2ce/content",
			Fault:    Fault{Header: map[string]string{"Content-Range": "bytes */48213"}},
		},
	},
}

var byCode = func() map[Code]*Entry {
	m := make(map[Code]*Entry, len(catalog))
	for i := range catalog {
		e := &catalog[i]
		e.Example.Fault.Code = e.Code
		m[e.Code] = e
	}
	return m
}()

// Codes returns all codes in the order of the contract's table. Codes that were added later follow.
func Codes() []Code {
	codes := make([]Code, len(catalog))
	for i := range catalog {
		codes[i] = catalog[i].Code
	}
	return codes
}

// entry returns the catalogue's entry of c. For an unknown code it returns the entry of INTERNAL,
// so a client never sees a code that is not in the contract.
func (c Code) entry() *Entry {
	if e := byCode[c]; e != nil {
		return e
	}
	return byCode[Internal]
}

// Entry returns the catalogue's entry of c.
func (c Code) Entry() Entry { return *c.entry() }

// Status returns the HTTP status of c, 400 to 599.
func (c Code) Status() int { return c.entry().Status }

// Known reports whether c is a code of the catalogue.
func (c Code) Known() bool { return byCode[c] != nil }

// Title returns the title of f's code in language l.
func (f *Fault) Title(l i18n.Language) string { return f.Code.entry().Title.In(l) }

// DetailIn returns the sentence about this fault in language l. It is always empty for
// UNAUTHENTICATED, so that the response does not reveal why a credential was refused.
func (f *Fault) DetailIn(l i18n.Language) string {
	switch {
	case f.Code == Unauthenticated:
		return ""
	case f.Detail != "":
		return f.Detail.In(l)
	}
	return f.Code.entry().Detail.In(l)
}
