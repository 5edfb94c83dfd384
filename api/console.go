package api

import (
	"context"
	"reflect"
	"strings"

	"kartei/access"
	"kartei/api/op"
	"kartei/integration/event"
	"kartei/integration/oauth"
	"kartei/integration/webhook"
	"kartei/kit/fault"
	"kartei/people/account"
	"kartei/people/offboarding"
	"kartei/people/settings"
	"kartei/record"
	"kartei/record/document"
	"kartei/record/lookup"
	"kartei/record/upload"
	"kartei/transfer/bulk"
	"kartei/transfer/exports"
	"kartei/transfer/imports"
)

// Console is the second table: operations for people and operators. Programs may call
// only the rows for assistants, tools.list and tools.text. A row is called by its id and
// never by a path, so it has no address below /v1. Everything else is as in Operations:
// the same path, the same transaction, the same check of rights.
//
// Acts about the process or its machine are in no table: pause, resume, backup,
// files, the master key (see instance/acts.go). Such an act takes hours, needs
// a folder, or must work on a database of another release. No other door will
// ever offer it.
var Console = []ConsoleRow{
	row("signin.password", administer, byAnyone, atWeb|unstored, "session.begin", asking(account.CheckPassword, account.SignInByPassword)),
	row("signin.second", administer, byAnyone, atWeb|unstored, "session.begin", asking(account.CheckSecond, account.SignInBySecond)),
	row("signin.passkeyOptions", read, byAnyone, atWeb, "", ask(account.AskPasskey)),
	row("signin.passkey", administer, byAnyone, atWeb|unstored, "session.begin", asking(account.CheckPasskey, account.SignInByPasskey)),
	row("signin.ssoBegin", read, byAnyone, atWeb, "", asking(account.AskProvider[account.SSOTo], account.BeginSSO)),
	row("signin.sso", administer, byAnyone, atWeb|unstored, "session.begin", asking(account.ProveSignIn, account.SignInBySSO)),
	row("signin.ssoInvited", read, byAnyone, atWeb, "", asking(account.AskProvider[account.SSOInvitation], account.BeginSSOInvited)),
	row("signin.ssoAccept", administer, byAnyone, atWeb|unstored, "invitation.accept", asking(account.ProveInvited, account.AcceptBySSO)),
	row("signin.choose", administer, byAnyone, atWeb|unstored, "session.begin", asking(account.CheckChoice, account.Choose)),
	row("signin.out", administer, byMember, atWeb|always, "session.end", ask(account.SignOut)),
	row("signin.forgot", administer, byAnyone, atWeb|unstored, "account.forgot", asking(account.LimitForgot, account.Forgot)),
	row("signin.reset", administer, byAnyone, atWeb|unstored|gives, "account.reset", asking(account.CheckReset, account.Reset)),

	row("session.get", read, byMember, atWeb|always, "", ask(account.GetSession)),
	row("session.switch", administer, byMember, atWeb|always|unstored, "session.switch", ask(account.Switch)),
	row("session.refresh", administer, byMember, atWeb|always|unstored, "session.refresh", asking(account.CheckFresh, account.Refresh)),
	row("session.ssoBegin", read, byMember, atWeb|always, "", asking(account.AskProviderFresh[account.SSOTo], account.BeginSSOFresh)),
	row("session.ssoRefresh", administer, byMember, atWeb|always|unstored, "session.refresh", asking(account.ProveFresh, account.RefreshBySSO)),
	row("sessions.list", read, byMember, atWeb|always, "", ask(account.ListSessions)),
	row("signins.list", read, byMember, atWeb|always, "", ask(account.ListSignIns)),
	row("sessions.end", administer, byMember, atWeb|always, "session.end", ask(account.EndSessions)),

	row("access.list", read, byMember, atWeb|always|setup, "", ask(account.ListActing)),
	// account.EndActing also ends passkeys if the sign-in is recent.
	row("access.end", administer, byMember, atWeb|always|setup, "access.end", ask(account.EndActing)),

	row("factors.get", read, byMember, atWeb|always|setup, "", ask(account.GetFactors)),
	row("factors.password", administer, byMember, atWeb|always|fresh|setup|gives, "account.password", asking(account.HashPassword, account.SetPassword)),
	row("factors.totpBegin", administer, byMember, atWeb|always|fresh|setup, "account.totp", ask(account.BeginTOTP)),
	row("factors.totpConfirm", administer, byMember, atWeb|always|fresh|setup|gives, "account.totp", asking(account.LimitCodes, account.ConfirmTOTP)),
	row("factors.totpRemove", administer, byMember, atWeb|fresh|setup|gives, "account.totp", ask(account.RemoveTOTP)),
	row("factors.recoveryCodes", administer, byMember, atWeb|always|fresh|setup|gives, "account.recoveryCodes", ask(account.RenewRecoveryCodes)),
	row("factors.passkeyOptions", administer, byMember, atWeb|always|fresh|setup, "account.passkey", ask(account.BeginPasskey)),
	row("factors.passkeyAdd", administer, byMember, atWeb|always|fresh|setup|gives, "account.passkey", ask(account.AddPasskey)),
	row("factors.passkeyRemove", administer, byMember, atWeb|fresh|setup|gives, "account.passkey", ask(account.RemovePasskey)),
	row("factors.ssoBegin", administer, byMember, atWeb|fresh|setup, "account.sso", asking(account.AskProvider[op.None], account.BeginSSOLink)),
	row("factors.ssoLink", administer, byMember, atWeb|fresh|setup|gives, "account.sso", asking(account.ProveLink, account.LinkSSO)),
	row("factors.ssoUnlink", administer, byMember, atWeb|fresh|setup|gives, "account.sso", ask(account.UnlinkSSO)),
	row("account.changeEmail", administer, byMember, atWeb|fresh|gives, "account.changeEmail", ask(account.ChangeEmail)),
	row("account.confirmEmail", administer, byAnyone, atWeb|gives, "account.confirmEmail", asking(account.CheckLink, account.ConfirmEmail)),
	row("profile.get", read, byMember, atWeb|always, "", ask(account.GetProfile)),
	row("profile.set", administer, byMember, atWeb, "profile.set", ask(account.SetProfile)),

	row("organizations.list", read, byOperator, atSocket, "", ask(settings.ListOrganizations)),
	row("organizations.create", administer, byOperator, atSocket, "organization.create", ask(settings.CreateOrganization)),
	row("organizations.get", read, byAdmin|byOperator, atPeople, "", ask(settings.GetOrganization)),
	// oauth.SetOrganization is settings.SetOrganization, and also disables webhook endpoints.
	row("organizations.set", administer, byAdmin|byOperator, atPeople|fresh|gives, "organization.set", ask(oauth.SetOrganization)),
	row("organizations.erase", administer, byOperator, atSocket, "organization.erase", ask(settings.EraseOrganization)),

	row("people.list", read, byAdmin|byOperator, atPeople, "", ask(settings.ListUsers)),
	row("people.get", read, byAdmin|byOperator, atPeople, "", ask(settings.GetUser)),
	row("people.holdings", read, byAdmin|byOperator, atPeople, "", ask(offboarding.Holds)),
	row("people.create", administer, byAdmin|byOperator, atPeople|fresh|gives, "person.create", ask(settings.CreateUser)),
	row("people.set", administer, byAdmin|byOperator, atPeople|fresh|gives, "person.set", ask(settings.SetUser)),
	row("people.handOver", administer, byAdmin|byOperator, atPeople|fresh|gives, "person.handOver", ask(offboarding.HandOver)),
	row("people.handOverStatus", read, byAdmin|byOperator, atPeople, "", ask(offboarding.Status)),
	row("people.erase", administer, byAdmin|byOperator, atPeople|fresh, "person.erase", asking(offboarding.Count, offboarding.Erase)),
	row("people.invite", administer, byAdmin|byOperator, atPeople|fresh|gives, "person.invite", ask(settings.Invite)),
	row("people.resetFactors", administer, byAdmin|byOperator, atPeople|fresh|gives, "person.resetFactors", ask(account.ResetFactors)),
	row("people.resetPassword", administer, byOperator, atSocket|gives, "person.resetPassword", ask(account.ResetPassword)),
	row("people.unlink", administer, byOperator, atSocket|gives, "person.unlink", ask(account.Unlink)),
	row("invitations.list", read, byAdmin|byOperator, atPeople, "", ask(settings.ListInvitations)),
	row("invitations.revoke", administer, byAdmin|byOperator, atPeople|always, "invitation.revoke", ask(settings.RevokeInvitation)),
	row("invitations.accept", administer, byAnyone, atPeople|unstored, "invitation.accept", asking(account.CheckAcceptance, account.Accept)),

	row("serviceAccounts.list", read, byAdmin|byOperator, atPeople, "", ask(settings.ListServiceAccounts)),
	row("serviceAccounts.get", read, byAdmin|byOperator, atPeople, "", ask(settings.GetServiceAccount)),
	row("serviceAccounts.create", administer, byAdmin|byOperator, atPeople|fresh|gives, "serviceAccount.create", ask(settings.CreateServiceAccount)),
	row("serviceAccounts.set", administer, byAdmin|byOperator, atPeople|fresh|gives, "serviceAccount.set", ask(settings.SetServiceAccount)),
	row("records.history", read, byMember, atWeb, "", ask(record.History)),
	row("records.changes", read, byMember, atWeb, "", ask(record.Changes)),
	row("documents.page", read, byMember, atWeb, "", asking(document.DrawPage, document.GetPage)),
	row("documents.underway", read, byMember, atWeb, "", ask(document.ListUnderway)),
	row("documents.text", read, byMember, atWeb, "", asking(document.ReadText, document.GetText)),
	row("uploads.terms", read, byMember, atWeb, "", ask(upload.GetTerms)),
	row("uploads.open", read, byMember, atWeb, "", ask(upload.GetTicket)),
	row("names.resolve", read, byMember|byOperator, atPeople, "", ask(settings.ResolveNames)),
	row("names.find", read, byMember|byOperator, atPeople, "", ask(settings.FindNames)),

	row("keys.list", read, bySelf|byOperator, atPeople, "", ask(settings.ListKeys)),
	row("keys.get", read, bySelf|byOperator, atPeople, "", ask(settings.GetKey)),
	row("keys.terms", read, bySelf, atWeb, "", ask(settings.GetKeyTerms)),
	row("keys.create", administer, bySelf|byOperator, atPeople|fresh|gives, "key.create", ask(settings.CreateKey)),
	row("keys.update", administer, bySelf|byOperator, atPeople|gives, "key.update", ask(settings.UpdateKey)),
	row("keys.pause", administer, bySelf|byOperator, atPeople|always, "key.pause", ask(settings.PauseKey)),
	row("keys.resume", administer, bySelf|byOperator, atPeople|gives|fresh, "key.resume", ask(settings.ResumeKey)),
	// webhook.RevokeKey is settings.RevokeKey, and also disables webhook endpoints.
	row("keys.revoke", administer, bySelf|byOperator, atPeople|always, "key.revoke", ask(webhook.RevokeKey)),
	row("keys.rotate", administer, bySelf|byOperator, atPeople|fresh|gives, "key.rotate", ask(settings.RotateKey)),

	row("oauth.ask", note, byMember, atWeb, "", asking(oauth.FindClient, oauth.Ask)),
	// oauth.Answer asks for a recent sign-in if the person lets the application act.
	row("oauth.answer", administer, byMember, atWeb|unstored|gives, "grant.create", ask(oauth.Answer)),
	// Tokens are issued as often as programs like, so only the end of a grant is in the
	// audit log, and only that empties the cache of callers.
	row("oauth.token", administer, byAnyone, atClients|unstored, "grant.end", asking(oauth.CheckClient, oauth.Token)),
	row("oauth.revoke", administer, byAnyone, atClients, "grant.end", asking(oauth.CheckAsker, oauth.Revoke)),
	row("oauth.introspect", read, byAnyone, atClients, "", asking(oauth.CheckConfidential, oauth.Introspect)),
	row("oauth.register", note, byAnyone, atClients|unstored, "", asking(oauth.CheckRegistration, oauth.Register)),
	row("grants.list", read, bySelf|byOperator, atPeople, "", ask(oauth.ListGrants)),
	row("grants.end", administer, bySelf|byOperator, atPeople|always, "grant.end", ask(oauth.EndGrant)),
	row("grants.renew", administer, bySelf, atWeb|fresh|gives, "grant.renew", ask(oauth.RenewGrant)),
	row("clients.approvals", read, byMember|byOperator, atPeople, "", ask(oauth.ListApprovals)),
	row("clients.approve", administer, byAdmin|byOperator, atPeople|fresh|gives, "client.approve", asking(oauth.FindApplication, oauth.Approve)),
	row("clients.disapprove", administer, byAdmin|byOperator, atPeople|always, "client.disapprove", ask(oauth.Disapprove)),
	row("clients.list", read, byAdmin|byOperator, atPeople, "", ask(oauth.ListClients)),
	row("clients.create", administer, byAdmin|byOperator, atPeople|fresh|gives, "client.create", ask(oauth.CreateClient)),
	row("clients.rotate", administer, byAdmin|byOperator, atPeople|fresh|gives, "client.rotate", ask(oauth.RotateClient)),
	row("clients.set", administer, byAdmin|byOperator, atPeople|gives, "client.set", ask(oauth.SetClient)),

	row("tools.list", read, byProgram, atTools, "", ask(toolsList)).costs(1),
	row("tools.text", read, byProgram, atTools, "", asking(document.ReadText, document.GetText)).costs(1).needs("documents:read"),

	row("requests.list", read, bySelf|byOperator, atPeople, "", asking(settings.FlushRequests, settings.ListRequests)),
	row("requests.caused", read, bySelf, atWeb, "", asking(settings.FlushRequests, lookup.ListCaused)),
	row("requests.versions", read, byAdmin|byOperator, atPeople, "", asking(settings.FlushRequests, settings.ListVersions)),
	row("usage.get", read, bySelf|byOperator, atPeople, "", asking(settings.ReadUsage, settings.GetUsage)),
	row("audit.list", read, byAdmin|byOperator, atPeople, "", ask(settings.ListAudit)),

	row("bell.list", read, bySelf|byOperator, atPeople, "", ask(settings.ListBell)),
	row("bell.read", administer, bySelf|byOperator, atPeople, "", ask(settings.ReadBell)),

	row("webhooks.list", read, bySelf|byOperator, atPeople, "", ask(webhook.ListInfos)),
	row("webhooks.get", read, bySelf|byOperator, atPeople, "", ask(webhook.GetInfo)),
	row("webhooks.deliveries", read, bySelf|byOperator, atPeople, "", ask(webhook.ListAttempts)),
	row("webhooks.create", administer, bySelf|byOperator, atPeople|fresh|gives, "webhook.create", ask(webhook.CreateByPerson)),
	row("webhooks.change", administer, bySelf|byOperator, atPeople|gives, "webhook.change", ask(webhook.ChangeByPerson)),
	row("webhooks.rotate", administer, bySelf|byOperator, atPeople|fresh|gives, "webhook.rotate", ask(webhook.RotateByPerson)),
	row("webhooks.delete", administer, bySelf|byOperator, atPeople, "webhook.delete", ask(webhook.DeleteByPerson)),
	// People test by the operation of the API.
	row("webhooks.test", administer, byOperator, atSocket, "webhook.test", ask(webhook.TestByOperator)),
	row("webhooks.enable", administer, bySelf|byOperator, atPeople|gives|fresh, "webhook.enable", ask(webhook.Enable)),
	row("webhooks.resend", administer, bySelf|byOperator, atPeople|gives|fresh, "webhook.resend", ask(webhook.Resend)),
	row("events.feed", read, byMember, atWeb, "", ask(event.Read)),
	row("events.deliveries", read, bySelf|byOperator, atPeople, "", ask(webhook.DeliveriesOf)),
	row("events.outcomes", read, bySelf, atWeb, "", ask(webhook.OutcomesOf)),

	row("lookup.find", read, byMember, atWeb, "", asking(lookup.Prepare, lookup.Find)),
	row("lookup.similar", read, byMember, atWeb, "", ask(lookup.FindSimilar)),
	row("lookup.titles", read, byMember, atWeb, "", ask(lookup.Titles)),
	row("lookup.tags", read, byMember, atWeb, "", ask(lookup.Tags)),
	row("exports.begin", administer, byMember, atWeb|reading|gives, "records.export", ask(lookup.BeginExport)),
	row("exports.contact", administer, byMember|byOperator, atPeople|reading|gives, "records.exportContact", ask(exports.BeginContact)),
	row("exports.person", administer, bySelf|byOperator, atPeople|fresh|reading|gives, "records.exportPerson", ask(exports.BeginPrincipal)),
	row("exports.organization", administer, byAdmin|byOperator, atPeople|fresh|reading|gives, "records.exportOrganization", ask(exports.BeginOrganization)),
	row("exports.audit", administer, byAdmin, atWeb|fresh|gives|reading, "audit.export", ask(exports.BeginAudit)),
	row("exports.parts", read, byMember|byOperator, atPeople, "", asking(exports.ReadParts, exports.GetParts)),

	row("imports.list", read, byMember|byOperator, atPeople, "", ask(imports.List)),
	row("imports.get", read, byMember|byOperator, atPeople, "", ask(imports.Get)),
	row("imports.lines", read, byMember|byOperator, atPeople, "", ask(imports.GetLines)),
	row("imports.create", administer, byMember|byOperator, atPeople, "records.importFile", ask(imports.Create)),
	row("imports.append", note, byMember|byOperator, atPeople, "", ask(imports.Append)),
	row("imports.complete", note, byMember|byOperator, atPeople, "", ask(imports.Complete)),
	row("imports.map", note, byMember|byOperator, atPeople, "", ask(imports.Map)),
	row("imports.run", administer, byMember|byOperator, atPeople, "records.import", ask(imports.Run)),
	row("imports.undo", administer, byMember|byOperator, atPeople, "records.importUndo", ask(imports.Undo)),
	row("imports.discard", note, byMember|byOperator, atPeople, "", ask(imports.Discard)),

	row("bulk.list", read, byMember, atWeb, "", ask(bulk.List)),
	row("bulk.get", read, byMember, atWeb, "", ask(bulk.Get)),
	row("bulk.report", read, byMember, atWeb, "", ask(bulk.GetReport)),
	row("bulk.start", administer, byMember, atWeb|gives, "records.bulkStart", ask(bulk.Start)),
	row("bulk.stop", administer, byMember, atWeb, "records.bulkStop", ask(bulk.Stop)),
	row("bulk.resume", administer, byMember, atWeb|gives, "records.bulkResume", ask(bulk.Resume)),
	row("bulk.undo", administer, byMember, atWeb|gives, "records.bulkUndo", ask(bulk.Undo)),

	row("lookup.recent", read, byMember, atWeb, "", ask(lookup.Recent)),
	row("lookup.opened", note, byMember, atWeb, "", ask(lookup.Opened)),

	row("jobs.list", read, byOperator, atSocket, "", ask(settings.ListJobs)),
	row("jobs.retry", administer, byOperator, atSocket, "job.retry", ask(settings.RetryJob)),
}

// ConsoleRow is an operation of the second table.
type ConsoleRow struct {
	Operation
	// Who is the set of allowed callers.
	Who Who
	// Doors are the doors at which it exists.
	Doors []Door
	// Fresh requires that a person has signed in recently, whatever the input is.
	Fresh bool
	// Unstored answers are never stored for an Idempotency-Key, because they issue the
	// token of a session, of which the database has only a hash.
	Unstored bool
	// Always opens the row to people whose organization is closed or being deleted. Rows for
	// anyone have it: a browser may still have a session there.
	Always bool
	// Reads says that the act changes nothing but the audit log.
	Reads bool
	// Setup opens the row to people who lack a second factor that their organization
	// requires. Always does, too.
	Setup bool
	// Audit is the word of the act in the audit log, empty if the log omits the
	// operation.
	Audit string
}

// Who is a set of callers.
type Who uint8

const (
	// byAnyone includes callers who did not sign in.
	byAnyone Who = 1 << iota
	// bySelf is each person and service account, for what belongs to it, and each
	// admin, for what belongs to anybody of the organization. The function compares
	// the owner with the caller: no column knows whose it is.
	bySelf
	// byMember is each person and service account of the organization.
	byMember
	// byAdmin is each admin of the organization.
	byAdmin
	// byOperator is the operator of the instance.
	byOperator
	// byProgram is each API key and each access token.
	byProgram
)

// Has reports whether one of the callers is in the set.
func (w Who) Has(other Who) bool { return w&other != 0 }

// AdminsOnly reports whether a person of an organization has to be an admin to call.
func (w Who) AdminsOnly() bool { return !w.Has(byAnyone | bySelf | byMember) }

// String names the set, for the guide and for tests.
func (w Who) String() string {
	var words []string
	for i, word := range []string{"anyone", "self", "member", "admin", "operator", "program"} {
		if w&(1<<i) != 0 {
			words = append(words, word)
		}
	}
	return strings.Join(words, " ")
}

// allows reports whether a caller is in the set.
func (w Who) allows(a *access.Actor) bool {
	switch {
	case w.Has(byAnyone):
		return true
	case !a.Credential().Duties.Console:
		return w.Has(byProgram)
	case a.Credential().Kind == access.Operator:
		return w.Has(byOperator)
	case a.PrincipalID() == "":
		return false
	case a.SeesAll():
		return w.Has(byAdmin | byMember | bySelf)
	}
	return w.Has(byMember | bySelf)
}

// places is the set of doors of a row, and what else the row asks of a call through
// them.
type places uint16

const (
	// atSocket is the administration socket and the command line.
	atSocket places = 1 << iota
	// atWeb is the web application.
	atWeb
	// fresh requires a fresh sign-in of each person who calls. What always gives access, or
	// erases, has it. What only takes access away has not: that must never wait.
	fresh
	// always opens a row to people whose organization is not open: to leave it, to
	// choose another one, to take access away, and to set up what a sign-in there needs.
	always
	// setup opens a row to people who lack a second factor that their organization
	// requires: it belongs to setting one up.
	setup
	// unstored is for rows that issue the token of a session.
	unstored
	// atClients is the door of the endpoints of OAuth 2.1.
	atClients
	// atTools is the door of assistants.
	atTools
	// reading is for acts that only read: whoever may read in an organization that is
	// closed or being deleted may call them.
	reading
	// gives is for acts that make, widen, restore or hand out access, always or with some
	// inputs. With such an input its function says so by op.Call.Gives, which asks for a
	// fresh sign-in and tells those whom it concerns.
	gives
	// atPeople stands for the doors of people.
	atPeople = atSocket | atWeb
)

// administer changes settings or sign-ins, or begins an export, an import or a change of a whole
// list. It changes no record itself.
const administer Act = "administer"

// note changes what is for its caller alone, and nothing about rights. So no line of
// the audit log tells of it, and the cache of callers stays.
const note Act = "note"

// The doors of the second table.
const (
	// Admin is the administration socket, and the command line without a server.
	Admin Door = "admin"
	// Web is the web application.
	Web Door = "web"
	// OAuth are the endpoints that applications call to get tokens.
	OAuth Door = "oauth"
)

// row returns a row.
func row(id string, act Act, who Who, where places, audit string, run handler) ConsoleRow {
	family, _, _ := strings.Cut(id, ".")
	r := ConsoleRow{Operation: Operation{ID: id, Family: family, Act: act, Batch: notBatch, Run: run}, Who: who, Fresh: where&fresh != 0, Always: where&always != 0 || who.Has(byAnyone), Reads: where&reading != 0, Setup: where&setup != 0, Unstored: where&unstored != 0, Audit: audit}
	r.prepare()
	r.Run.facts.discloses, r.Run.gives = run.counted, where&gives != 0
	if where&atSocket != 0 {
		r.Doors = append(r.Doors, Admin)
	}
	if where&atWeb != 0 {
		r.Doors = append(r.Doors, Web)
	}
	if where&atClients != 0 {
		r.Doors = append(r.Doors, OAuth)
	}
	if where&atTools != 0 {
		r.Doors = append(r.Doors, MCP)
	}
	return r
}

// costs sets the points that a call of the row costs. Most cost none.
func (r ConsoleRow) costs(points int64) ConsoleRow {
	r.Cost = points
	return r
}

// needs sets the scope that a program must have for the row.
func (r ConsoleRow) needs(scope string) ConsoleRow {
	r.Scope = scope
	return r
}

// ask turns a typed function into the handler of a row. The input is JSON;
// unknown members are refused.
func ask[I, O any](f func(context.Context, *op.Call, I) (O, error), faults ...fault.Code) handler {
	in, out := reflect.TypeFor[I](), reflect.TypeFor[O]()
	return handler{
		Input: in, Output: out, faults: faults, status: statusOf(out), counted: out.Implements(reflect.TypeFor[op.Counted]()), bind: &binding{input: in, path: -1, body: -1, whole: true},
		call: func(ctx context.Context, c *op.Call, v any) (any, error) { return f(ctx, c, *v.(*I)) },
	}
}

// asking is ask for a function that needs a step outside the database before
// its transaction; see prefetching.
func asking[I, L, O any](prefetch func(context.Context, *op.Call, I) (L, error), f func(context.Context, *op.Call, I, L) (O, error)) handler {
	h := ask(func(ctx context.Context, c *op.Call, in I) (O, error) { return f(ctx, c, in, c.Prefetched.(L)) })
	h.prefetch = func(ctx context.Context, c *op.Call, in any) (any, error) { return prefetch(ctx, c, *in.(*I)) }
	return h
}
