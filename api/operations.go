// Package api owns the contract: the table of operations, and the one path that every call takes.
package api

import (
	"kartei/api/op"
	"kartei/instance/jobs"
	"kartei/integration/batch"
	"kartei/integration/event"
	"kartei/integration/key"
	"kartei/integration/oauth"
	"kartei/integration/requestlog"
	"kartei/integration/usage"
	"kartei/integration/webhook"
	"kartei/kit/fault"
	"kartei/people/account"
	"kartei/people/agent"
	"kartei/people/auditlog"
	"kartei/people/identity"
	"kartei/people/invitation"
	"kartei/people/notify"
	"kartei/people/offboarding"
	"kartei/people/organization"
	"kartei/people/principal"
	"kartei/people/profile"
	"kartei/record/company"
	"kartei/record/contact"
	"kartei/record/document"
	"kartei/record/lookup"
	"kartei/record/operation"
	"kartei/record/task"
	"kartei/record/upload"
	"kartei/transfer/bulk"
	"kartei/transfer/exports"
	"kartei/transfer/imports"
	"kartei/transfer/merge"
)

// Table has all operations: first the contract in its order, with routes, and then the others. Each
// package declares its own operations. Routes, scopes, costs, the OpenAPI document, the tools of
// assistants and many tests follow from this table. testdata/operations.txt shows the table with
// all of its columns.
var Table = []Operation{
	at("GET", "/me", stable, me),
	at("GET", "/rate_limit", stable, rateLimit),
	at("GET", "/openapi.json", stable, openAPI),

	at("GET", "/contacts", stable, contact.List),
	at("POST", "/contacts", stableFrom2027, contact.Create),
	at("GET", "/contacts/count", stable, contact.Count),
	at("GET", "/contacts/{id}", stable, contact.Get),
	at("PATCH", "/contacts/{id}", stableFrom2027, contact.Update),
	at("DELETE", "/contacts/{id}", stableFrom2027, contact.Delete),
	at("POST", "/contacts/{id}/merge", preview, merge.Contacts).since("2027-02-01"),

	at("GET", "/companies", stable, company.List),
	at("POST", "/companies", stableFrom2027, company.Create),
	at("GET", "/companies/count", stable, company.Count),
	at("GET", "/companies/{id}", stable, company.Get),
	at("PATCH", "/companies/{id}", stableFrom2027, company.Update),
	at("DELETE", "/companies/{id}", stableFrom2027, company.Delete),
	at("POST", "/companies/{id}/merge", preview, merge.Companies).since("2027-02-01"),

	at("GET", "/tasks", stable, task.List),
	at("POST", "/tasks", stableFrom2027, task.Create),
	at("GET", "/tasks/count", stable, task.Count),
	at("GET", "/tasks/{id}", stable, task.Get),
	at("PATCH", "/tasks/{id}", stableFrom2027, task.Update),
	at("DELETE", "/tasks/{id}", stableFrom2027, task.Delete),
	at("POST", "/tasks/{id}/complete", stableFrom2027, task.Complete),

	at("GET", "/documents", stable, document.List),
	at("POST", "/documents", preview, document.Create),
	at("GET", "/documents/count", stable, document.Count),
	at("GET", "/documents/{id}", stable, document.Get),
	at("PATCH", "/documents/{id}", preview, document.Update),
	at("DELETE", "/documents/{id}", preview, document.Delete),
	at("GET", "/documents/{id}/content", stable, document.Content),
	at("POST", "/uploads", preview, upload.Create),

	at("POST", "/batch", preview, RunBatch).doOutsideTx(outside(runBatch)),
	at("GET", "/operations/{id}", stable, operation.Get),

	at("GET", "/webhook_endpoints", stable, webhook.List),
	at("POST", "/webhook_endpoints", preview, webhook.Create),
	at("GET", "/webhook_endpoints/{id}", stable, webhook.Get),
	at("PATCH", "/webhook_endpoints/{id}", preview, webhook.Update),
	at("DELETE", "/webhook_endpoints/{id}", preview, webhook.Delete),
	at("POST", "/webhook_endpoints/{id}/test", preview, webhook.SendTest),
	at("POST", "/webhook_endpoints/{id}/rotate_secret", preview, webhook.RotateSecret),
	at("GET", "/webhook_endpoints/{id}/deliveries", stable, webhook.Deliveries),

	at("GET", "/events", stable, event.List),
	at("GET", "/events/{id}", stable, event.Get),
}

// unpublished are the operations that are not in the contract. They are for people, for the
// operator, for the OAuth 2.1 endpoints and for assistants. Apart from their routes they are like
// the others: they use the same path, the same transaction and the same check of rights.
//
// The operator's acts on the process or its machine are no operations: pause, resume, backup, files
// and the master key (see instance/acts.go). Such an act takes hours, needs a folder, or must work
// on a database of another release. No other door will ever offer it.
var unpublished = op.List{
	account.SignInByPassword, account.SignInBySecond, account.AskPasskey, account.SignInByPasskey,
	identity.Begin, account.SignInBySSO, identity.BeginInvited, account.AcceptBySSO,
	account.Choose, account.SignOut, account.Forgot, account.Reset,
	account.GetSession, account.Switch, account.Refresh, account.BeginSSOFresh, account.RefreshBySSO,
	account.ListSessions, account.ListSignIns, account.EndSessions, agent.List, agent.End,
	account.GetFactors, account.SetPassword, account.BeginTOTP, account.ConfirmTOTP, account.RemoveTOTP,
	account.RenewRecoveryCodes,
	account.BeginPasskey, account.AddPasskey, account.RemovePasskey, account.BeginSSOLink, account.LinkSSO,
	account.UnlinkSSO,
	account.ChangeEmail, account.ConfirmEmail, profile.Get, profile.Set,

	organization.List, organization.Create, organization.Get, oauth.SetOrganization, organization.Erase,
	principal.ListUsers, principal.GetUser, offboarding.Holds, principal.CreateUser, principal.SetUser,
	offboarding.HandOver, offboarding.Status, offboarding.Erase,
	invitation.Create, account.ResetFactors, account.ResetPassword, account.Unlink,
	invitation.List, invitation.Revoke, account.Accept,
	principal.ListServiceAccounts, principal.GetServiceAccount, principal.CreateServiceAccount,
	principal.SetServiceAccount,
	principal.ResolveNames, principal.FindNames,

	lookup.History, lookup.Changes, document.GetPage, document.ListUnderway, document.GetText, upload.GetTerms,
	upload.GetTicket,
	lookup.Find, lookup.FindSimilar, lookup.Duplicates, lookup.Dismiss, lookup.Conflicts, lookup.Titles, lookup.Tags, lookup.Recent, lookup.Opened,

	key.List, key.Get, key.GetTerms, key.Create, key.Update,
	key.Pause, key.Resume, webhook.RevokeKey, key.Rotate,
	oauth.Ask, oauth.Answer, oauth.Token, oauth.Revoke, oauth.Introspect, oauth.Register,
	oauth.ListGrants, oauth.EndGrant, oauth.RenewGrant, oauth.ListApprovals, oauth.Approve, oauth.Disapprove,
	oauth.ListClients, oauth.CreateClient, oauth.RotateClient, oauth.SetClient,
	ListTools, document.GetTextForTool,
	requestlog.List, lookup.ListCaused, requestlog.ListVersions, usage.Get, auditlog.List, notify.ListBell,
	notify.ReadBell,
	webhook.ListInfos, webhook.GetInfo, webhook.ListAttempts, webhook.CreateByPerson, webhook.ChangeByPerson,
	webhook.RotateByPerson, webhook.DeleteByPerson, webhook.TestByOperator, webhook.Enable, webhook.Resend,
	event.Read, webhook.DeliveriesOf, webhook.OutcomesOf,

	exports.BeginList, exports.BeginContact, exports.BeginPrincipal, exports.BeginOrganization, exports.BeginAudit,
	exports.GetParts,
	imports.List, imports.Get, imports.GetLines, imports.Create, imports.Append, imports.Complete,
	imports.Map, imports.Run, imports.Undo, imports.Discard,
	bulk.List, bulk.Get, bulk.GetReport, bulk.Start, bulk.Stop, bulk.Resume, bulk.Undo,
	merge.List, merge.Get, merge.Find, merge.Undo,

	jobs.List, jobs.Retry,
}

// These operations are implemented in package api itself.
var (
	me        = op.New("me.get", op.Read, meGet, op.Of("meta"), op.Costs(1), op.InBatch)
	rateLimit = op.New("rateLimit.get", op.Read, rateLimitGet, op.Of("meta"), op.Costs(1), op.InBatch)
	openAPI   = op.New("openapi.get", op.Read, openapiGet, op.Of("meta"), op.Costs(1), op.Fails(fault.NotFound))
	// RunBatch runs several calls in one request.
	RunBatch = op.Declare[batch.Input, batch.Results]("batch.run", op.Bundle,
		op.Fails(fault.BatchTooLarge, fault.BatchFamilyNotAllowed))
	// ListTools is the operation for every request of an assistant that calls no tool. So the same
	// stages decide who may send it, and the request log has it.
	ListTools = op.New("tools.list", op.Read, toolsList, op.By(op.Program), op.Costs(1))
)

var (
	// Operations are the rows of Table that are in the contract.
	Operations []Operation
	// Unpublished are the other rows of Table.
	Unpublished []Operation
)

func init() {
	published := len(Table)
	for _, o := range unpublished {
		Table = append(Table, Operation{Row: o.About()})
	}
	for i := range Table {
		Table[i].prepare()
		byID[Table[i].ID] = &Table[i]
	}
	Operations, Unpublished = Table[:published:published], Table[published:]
}

// at returns a row of the contract.
func at(method, path string, channel Channel, o op.Any) Operation {
	return Operation{Method: method, Path: path, Channel: channel, Row: o.About()}
}
