// Package api owns the contract: the table of operations, and the one path that every call takes.
package api

import (
	"kartei/integration/event"
	"kartei/integration/webhook"
	"kartei/kit/fault"
	"kartei/record/company"
	"kartei/record/contact"
	"kartei/record/document"
	"kartei/record/operation"
	"kartei/record/task"
	"kartei/record/upload"
)

// Operations is the table: one row for each operation of the contract, in its
// order, without logic. Routing, scopes, costs, the OpenAPI document, the tools
// and the tests of every row are derived from it.
var Operations = []Operation{
	{"GET", "/me", "me.get", "meta", read, stable, "", 1, inBatch, "", do(meGet)},
	{"GET", "/rate_limit", "rateLimit.get", "meta", read, stable, "", 1, inBatch, "", do(rateLimitGet)},
	{"GET", "/openapi.json", "openapi.get", "meta", read, stable, "", 1, notBatch, "", do(openapiGet, fault.NotFound)},

	{"GET", "/contacts", "contacts.list", "contacts", read, stable, "contacts:read", 2, inBatch, "", do(contact.List)},
	{"POST", "/contacts", "contacts.create", "contacts", create, stableFrom2027, "contacts:write", 5, inBatch, "contact.created", do(contact.Create)},
	{"GET", "/contacts/count", "contacts.count", "contacts", read, stable, "contacts:read", 2, inBatch, "", do(contact.Count)},
	{"GET", "/contacts/{id}", "contacts.get", "contacts", get, stable, "contacts:read", 1, inBatch, "", do(contact.Contacts.Get)},
	{"PATCH", "/contacts/{id}", "contacts.update", "contacts", update, stableFrom2027, "contacts:write", 5, inBatch, "contact.updated", do(contact.Contacts.Update).giving("records.give")},
	{"DELETE", "/contacts/{id}", "contacts.delete", "contacts", remove, stableFrom2027, "contacts:write", 10, inBatch, "contact.deleted", do(contact.Contacts.Delete)},

	{"GET", "/companies", "companies.list", "companies", read, stable, "companies:read", 2, inBatch, "", do(company.List)},
	{"POST", "/companies", "companies.create", "companies", create, stableFrom2027, "companies:write", 5, inBatch, "company.created", do(company.Create)},
	{"GET", "/companies/count", "companies.count", "companies", read, stable, "companies:read", 2, inBatch, "", do(company.Count)},
	{"GET", "/companies/{id}", "companies.get", "companies", get, stable, "companies:read", 1, inBatch, "", do(company.Companies.Get)},
	{"PATCH", "/companies/{id}", "companies.update", "companies", update, stableFrom2027, "companies:write", 5, inBatch, "company.updated", do(company.Companies.Update).giving("records.give")},
	{"DELETE", "/companies/{id}", "companies.delete", "companies", remove, stableFrom2027, "companies:write", 10, inBatch, "company.deleted", do(company.Companies.Delete)},

	{"GET", "/tasks", "tasks.list", "tasks", read, stable, "tasks:read", 2, inBatch, "", do(task.List)},
	{"POST", "/tasks", "tasks.create", "tasks", create, stableFrom2027, "tasks:write", 5, inBatch, "task.created", do(task.Create)},
	{"GET", "/tasks/count", "tasks.count", "tasks", read, stable, "tasks:read", 2, inBatch, "", do(task.Count)},
	{"GET", "/tasks/{id}", "tasks.get", "tasks", get, stable, "tasks:read", 1, inBatch, "", do(task.Tasks.Get)},
	{"PATCH", "/tasks/{id}", "tasks.update", "tasks", update, stableFrom2027, "tasks:write", 5, inBatch, "task.updated", do(task.Tasks.Update).giving("records.give")},
	{"DELETE", "/tasks/{id}", "tasks.delete", "tasks", remove, stableFrom2027, "tasks:write", 10, inBatch, "task.deleted", do(task.Tasks.Delete)},
	{"POST", "/tasks/{id}/complete", "tasks.complete", "tasks", act, stableFrom2027, "tasks:write", 5, inBatch, "task.completed", do(task.Complete)},

	{"GET", "/documents", "documents.list", "documents", read, stable, "documents:read", 2, inBatch, "", do(document.List)},
	{"POST", "/documents", "documents.create", "documents", create, preview, "documents:write", 10, inBatch, "document.created operation.completed", prefetching(document.Prefetch, document.Create, fault.UploadIncomplete, fault.UploadChecksumMismatch, fault.Upstream)},
	{"GET", "/documents/count", "documents.count", "documents", read, stable, "documents:read", 2, inBatch, "", do(document.Count)},
	{"GET", "/documents/{id}", "documents.get", "documents", get, stable, "documents:read", 1, inBatch, "", do(document.Documents.Get)},
	{"PATCH", "/documents/{id}", "documents.update", "documents", update, preview, "documents:write", 5, inBatch, "", do(document.Documents.Update).giving("records.give")},
	{"DELETE", "/documents/{id}", "documents.delete", "documents", remove, preview, "documents:write", 10, inBatch, "document.deleted", do(document.Documents.Delete)},
	{"GET", "/documents/{id}/content", "documents.content", "documents", get, stable, "documents:read", 1, notBatch, "", do(document.Download, fault.RangeNotSatisfiable, fault.Upstream)},
	{"POST", "/uploads", "uploads.create", "uploads", create, preview, "documents:write", 5, notBatch, "", prefetching(upload.Prefetch, upload.Create, fault.Upstream, fault.QuotaExhausted)},

	{"POST", "/batch", "batch.run", "batch", bundle, preview, "", 0, notBatch, "", doOutsideTx(runBatch, fault.BatchTooLarge, fault.BatchFamilyNotAllowed)},
	{"GET", "/operations/{id}", "operations.get", "operations", get, stable, "", 1, inBatch, "", do(operation.Get)},

	{"GET", "/webhook_endpoints", "webhookEndpoints.list", "webhook_endpoints", read, stable, "webhook_endpoints:read", 2, notBatch, "", do(webhook.List)},
	{"POST", "/webhook_endpoints", "webhookEndpoints.create", "webhook_endpoints", create, preview, "webhook_endpoints:write", 5, notBatch, "", do(webhook.Create, fault.WebhookURLInvalid, fault.WebhookEndpointLimit).giving("webhook.create")},
	{"GET", "/webhook_endpoints/{id}", "webhookEndpoints.get", "webhook_endpoints", get, stable, "webhook_endpoints:read", 1, notBatch, "", do(webhook.Get)},
	{"PATCH", "/webhook_endpoints/{id}", "webhookEndpoints.update", "webhook_endpoints", update, preview, "webhook_endpoints:write", 5, notBatch, "", do(webhook.Update, fault.WebhookURLInvalid).giving("webhook.change")},
	{"DELETE", "/webhook_endpoints/{id}", "webhookEndpoints.delete", "webhook_endpoints", remove, preview, "webhook_endpoints:write", 10, notBatch, "", do(webhook.Delete)},
	{"POST", "/webhook_endpoints/{id}/test", "webhookEndpoints.test", "webhook_endpoints", act, preview, "webhook_endpoints:write", 5, notBatch, "webhook.test", do(webhook.SendTest)},
	{"POST", "/webhook_endpoints/{id}/rotate_secret", "webhookEndpoints.rotateSecret", "webhook_endpoints", act, preview, "webhook_endpoints:write", 5, notBatch, "", do(webhook.RotateSecret).giving("webhook.rotate")},
	{"GET", "/webhook_endpoints/{id}/deliveries", "webhookEndpoints.deliveries", "webhook_endpoints", get, stable, "webhook_endpoints:read", 2, notBatch, "", do(webhook.Deliveries)},

	{"GET", "/events", "events.list", "events", read, stable, "", 1, inBatch, "", do(event.List)},
	{"GET", "/events/{id}", "events.get", "events", get, stable, "", 1, inBatch, "", do(event.Get)},
}
