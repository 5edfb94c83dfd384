package office

import (
	"slices"
	"strings"

	"kartei/api"
	"kartei/api/op"
	"kartei/integration/event"
	"kartei/integration/key"
	"kartei/integration/oauth"
	"kartei/integration/requestlog"
	"kartei/integration/usage"
	"kartei/integration/webhook"
	"kartei/people/account"
	"kartei/people/auditlog"
	"kartei/people/offboarding"
	"kartei/people/settings"
	"kartei/record"
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
)

// Page is a row of the list of pages.
type Page struct {
	// Method is GET or POST. A page for GET changes nothing.
	Method string
	// Path is its address, with {id} for an identifier.
	Path string
	// Uses are the operations that the page may call. A person who may not call the first
	// one does not see the page. Every page may also call those of everywhere (request.go).
	Uses op.List
	// For says who reaches the page, and where.
	For reach
	// Serve answers a request.
	Serve func(*request) view
}

// reach says who reaches a page, and where.
type reach int

const (
	// inside needs a session, and exists below /sandbox as well.
	inside reach = iota
	// private needs a session, and is about the person, not about an environment.
	private
	// open is for everyone.
	open
	// watching is inside for a stream. The stream itself checks the session, again
	// and again, and keeps no session alive.
	watching
)

// pattern returns the pattern of the page for http.ServeMux.
func (p *Page) pattern(prefix string) string {
	path := p.Path
	if strings.HasSuffix(path, "/") {
		path += "{$}"
	}
	return p.Method + " " + prefix + path
}

// pageAt returns the page at an address, nil if there is none.
func pageAt(path string) *Page {
	for i := range Pages {
		if p := &Pages[i]; p.Path == path && p.Method == "GET" {
			return p
		}
	}
	return nil
}

// hasPage reports whether there is a page at an address.
func hasPage(path string) bool { return pageAt(path) != nil }

// asksFresh reports whether an operation of the page asks for a recent sign-in.
func (p *Page) asksFresh() bool {
	return slices.ContainsFunc(p.Uses, func(o op.Any) bool { return o.About().Fresh })
}

// Open reports whether everyone reaches the page, without a session.
func (p *Page) Open() bool { return p.For == open }

// Inside reports whether the page shows an environment, and so exists below /sandbox
// as well.
func (p *Page) Inside() bool { return p.For == inside }

// enrols reports whether the page is open to a person who lacks the second factor that
// the organization requires: it sets one up, or leaves.
func (p *Page) enrols() bool {
	return strings.HasPrefix(p.Path, securityPath) || strings.HasPrefix(p.Path, confirmPath) || slices.Contains([]string{signOutPath, switchPath, "/signin/choose"}, p.Path)
}

// Scope returns the right that the first operation of the page needs. It is empty for one that
// is not in the contract.
func (p *Page) Scope() string {
	if p.Uses == nil || p.Uses[0].About().Who != 0 {
		return ""
	}
	return p.Uses[0].About().Scope
}

// AdminsOnly reports whether the first operation of the page is for admins.
func (p *Page) AdminsOnly() bool { return p.Uses != nil && p.Uses[0].About().Who.AdminsOnly() }

// takesFiles reports whether a form of the page may have a file.
func (p *Page) takesFiles() bool {
	return p.Uses.Has(upload.Create) || p.Uses.Has(imports.Append)
}

// Pages is the list of all pages of the application. The tests of every page, and the
// table of rights in docs/operating/web.md, follow from it. The menus are lists of
// their own.
var Pages []Page

func init() {
	listing := op.List{settings.ResolveNames, lookup.Titles}
	// What belongs to a person or a service account, and who may take it over.
	belongings := op.List{offboarding.Status, key.List, offboarding.Holds, settings.ResolveNames}
	succession := op.List{settings.ListUsers, settings.ListServiceAccounts, key.List, offboarding.Holds, contact.Count, company.Count, document.Count}
	details := listing.And(op.List{record.History, task.List, document.List})
	// A form looks up the texts of references.
	naming := listing.And(op.List{lookup.Find, settings.FindNames})
	Pages = []Page{
		{"GET", "/", op.List{account.GetSession, task.List, task.Get, record.Changes, settings.ListBell, lookup.Recent, contact.Count}.And(listing), inside, showToday},
		{"GET", "/live", nil, watching, showLive},
		{"GET", "/news/{id}", op.List{record.History, settings.ResolveNames}, inside, showNews},
		{"GET", "/bell", op.List{settings.ListBell, lookup.Titles}, inside, showBell},
		{"POST", "/bell", op.List{settings.ReadBell}, inside, readBell},

		{"GET", "/signin", nil, open, showSignIn},
		{"POST", "/signin", op.List{account.SignInByPassword, account.SignOut}, open, signIn},
		{"POST", "/signin/second", op.List{account.SignInBySecond, account.SignOut}, open, second},
		{"POST", "/signin/choose", op.List{account.Choose, account.SignOut}, open, choose},
		{"POST", "/signin/passkey", op.List{account.SignInByPasskey, account.SignOut}, open, signInByPasskey},
		{"POST", "/signin/passkey/options", op.List{account.AskPasskey}, open, showPasskeyOptions},
		{"POST", "/signin/sso", op.List{account.BeginSSO}, open, leaveToSignIn},
		{"GET", "/signin/sso/callback", op.List{account.SignInBySSO, account.AcceptBySSO, account.LinkSSO, account.RefreshBySSO, account.SignOut}, open, comeBack},
		{"GET", besidePath, op.List{account.GetSession}, private, showBeside},
		{"POST", besidePath, nil, open, goOn},
		{"POST", "/invitation/sso", op.List{account.BeginSSOInvited}, open, leaveToAccept},
		{"POST", "/confirm/sso", op.List{account.BeginSSOFresh}, private, leaveToConfirm},
		{"POST", "/settings/security/sso", op.List{account.BeginSSOLink}, private, leaveToLink},
		{"POST", "/settings/security/sso/{id}/remove", op.List{account.UnlinkSSO}, private, unlink},
		{"GET", "/signin/forgot", nil, open, showForgot},
		{"POST", "/signin/forgot", op.List{account.Forgot}, open, forgot},
		{"GET", "/reset", nil, open, showLink(&resetLink)},
		{"POST", "/reset", op.List{account.Reset}, open, followLink(&resetLink)},
		{"GET", "/factors", nil, open, showLink(&liftLink)},
		{"POST", "/factors", op.List{account.Reset}, open, followLink(&liftLink)},
		{"GET", "/address", nil, open, showLink(&addressLink)},
		{"POST", "/address", op.List{account.ConfirmEmail}, open, followLink(&addressLink)},
		{"GET", "/invitation", nil, open, showInvitation},
		{"POST", "/invitation", op.List{account.Accept, account.SignOut}, open, acceptInvitation},
		{"POST", signOutPath, op.List{account.SignOut}, private, signOut},

		{"GET", "/signin/choose", op.List{account.GetSession}, private, showChoose},
		{"POST", switchPath, op.List{account.Switch}, private, switchTo},
		{"GET", "/confirm", op.List{account.GetFactors}, private, showConfirm},
		{"POST", "/confirm", op.List{account.Refresh}, private, confirm},
		{"POST", "/confirm/passkey", op.List{account.AskPasskey}, private, showPasskeyOptions},

		{"GET", settingsPath, op.List{account.GetSession}, private, showSettings},
		{"GET", "/settings/profile", op.List{account.GetProfile}, private, showProfile},
		{"POST", "/settings/profile", op.List{account.SetProfile}, private, saveProfile},
		{"GET", "/settings/security", op.List{account.GetFactors, account.ListSessions, account.ListSignIns}, private, showSecurity},
		{"GET", actingPath, op.List{account.ListActing}, private, showActing},
		{"POST", actingPath + "/end", op.List{account.EndActing}, private, endAllActing},
		{"POST", actingPath + "/{id}/end", op.List{account.EndActing, account.RemovePasskey, account.UnlinkSSO}, private, endActing},
		{"GET", "/settings/security/password", op.List{account.GetFactors}, private, showPassword},
		{"POST", "/settings/security/password", op.List{account.SetPassword}, private, savePassword},
		{"POST", "/settings/security/totp", op.List{account.BeginTOTP}, private, beginTOTP},
		{"POST", "/settings/security/totp/confirm", op.List{account.ConfirmTOTP, account.BeginTOTP}, private, confirmTOTP},
		{"POST", "/settings/security/totp/remove", op.List{account.RemoveTOTP}, private, removeTOTP},
		{"POST", "/settings/security/codes", op.List{account.RenewRecoveryCodes}, private, renewCodes},
		{"POST", "/settings/security/passkeys/options", op.List{account.BeginPasskey}, private, showNewPasskey},
		{"POST", "/settings/security/passkeys", op.List{account.AddPasskey}, private, addPasskey},
		{"POST", "/settings/security/passkeys/{id}/remove", op.List{account.RemovePasskey}, private, removePasskey},
		{"POST", "/settings/security/sessions/{id}/end", op.List{account.EndSessions}, private, endSession},
		{"POST", "/settings/security/sessions/end", op.List{account.EndSessions}, private, endSessions},
		{"GET", "/settings/security/address", op.List{account.GetFactors}, private, showAddress},
		{"POST", "/settings/security/address", op.List{account.ChangeEmail}, private, changeAddress},

		{"GET", "/settings/interfaces/keys", op.List{key.List, settings.ResolveNames}, private, showKeys},
		{"GET", "/settings/interfaces/keys/new", op.List{key.GetTerms, settings.ListServiceAccounts, contact.Count}, private, showNewKey},
		{"POST", "/settings/interfaces/keys/new", op.List{key.Create, key.GetTerms, settings.ListServiceAccounts, contact.Count}, private, createKey},
		{"GET", "/settings/interfaces/keys/{id}", op.List{key.Get, key.GetTerms, requestlog.List, settings.ResolveNames}, private, showKey},
		{"POST", "/settings/interfaces/keys/{id}", op.List{key.Update, key.Get, key.GetTerms, requestlog.List, settings.ResolveNames}, private, saveKey},
		{"GET", "/settings/interfaces/keys/{id}/first", op.List{requestlog.List, key.Get}, private, showFirstCall},
		{"POST", "/settings/interfaces/keys/{id}/pause", op.List{key.Pause}, private, actOnKey(key.Pause, "keyPaused")},
		{"POST", "/settings/interfaces/keys/{id}/resume", op.List{key.Resume}, private, actOnKey(key.Resume, "keyResumed")},
		{"POST", "/settings/interfaces/keys/{id}/rotate", op.List{key.Rotate}, private, rotateKey},
		{"GET", "/settings/interfaces/keys/{id}/revoke", op.List{key.Get, webhook.ListInfos}, private, askToRevoke},
		{"POST", "/settings/interfaces/keys/{id}/revoke", op.List{webhook.RevokeKey}, private, revokeKey},
		{"GET", "/settings/interfaces/requests", op.List{requestlog.List, key.List, settings.ResolveNames}, private, showRequests},
		{"GET", "/settings/interfaces/requests/{id}", op.List{requestlog.List, lookup.ListCaused, key.Get, settings.ResolveNames, lookup.Titles, webhook.DeliveriesOf}, private, showRequest},
		{"POST", "/settings/interfaces/requests/{id}/resend", op.List{webhook.Resend}, private, resend},

		{"GET", consentPath, op.List{oauth.Ask}, private, showConsent},
		{"POST", consentPath, op.List{oauth.Answer, oauth.Ask}, private, answerConsent},
		{"GET", applicationsPath, op.List{oauth.ListGrants, oauth.ListClients, oauth.ListApprovals, settings.ResolveNames}, private, showApplications},
		{"POST", applicationsPath + "/{id}/end", op.List{oauth.EndGrant}, private, endGrant},
		{"POST", applicationsPath + "/{id}/renew", op.List{oauth.RenewGrant}, private, renewGrant},
		{"GET", approvalsPath + "/{id}", op.List{oauth.ListApprovals, settings.ResolveNames}, private, showApproval},
		{"POST", approvalsPath + "/{id}/approve", op.List{oauth.Approve}, private, approve},
		{"POST", approvalsPath + "/{id}/revoke", op.List{oauth.Disapprove}, private, disapprove},
		{"GET", applicationsPath + "/new", op.List{oauth.CreateClient, settings.ListServiceAccounts}, private, showNewClient},
		{"POST", applicationsPath + "/new", op.List{oauth.CreateClient, settings.ListServiceAccounts}, private, createClient},
		{"POST", applicationsPath + "/{id}/rotate", op.List{oauth.RotateClient}, private, rotateClient},
		{"POST", applicationsPath + "/{id}/disable", op.List{oauth.SetClient}, private, switchClient(true)},
		{"POST", applicationsPath + "/{id}/enable", op.List{oauth.SetClient}, private, switchClient(false)},

		{"GET", "/settings/interfaces/usage", op.List{usage.Get, key.List, settings.ResolveNames}, private, showUsage},
		{"GET", "/settings/people", op.List{settings.FindNames, settings.ListUsers, settings.ListInvitations}, private, showPeople},
		{"GET", "/settings/people/invite", op.List{settings.ListUsers}, private, showInvite},
		{"POST", "/settings/people/invite", op.List{settings.Invite}, private, invite},
		{"POST", "/settings/people/invitations/{id}/revoke", op.List{settings.RevokeInvitation}, private, revokeInvitation},
		{"GET", "/settings/people/{id}", op.List{settings.GetUser}.And(belongings), private, showPrincipal(&persons)},
		{"POST", "/settings/people/{id}", op.List{settings.SetUser, settings.GetUser}.And(belongings), private, savePrincipal(&persons)},
		{"POST", "/settings/people/{id}/enable", op.List{settings.SetUser, settings.GetUser}.And(belongings), private, enablePrincipal(&persons)},
		{"GET", "/settings/people/{id}/leave", op.List{settings.GetUser}.And(succession), private, showLeave(&persons)},
		{"POST", "/settings/people/{id}/leave", op.List{settings.SetUser, offboarding.HandOver, settings.GetUser}.And(succession), private, leave(&persons)},
		{"POST", "/settings/people/{id}/factors", op.List{account.ResetFactors, settings.GetUser}.And(belongings), private, resetFactors},
		{"GET", "/settings/people/{id}/erase", op.List{settings.GetUser}, private, showErase},
		{"POST", "/settings/people/{id}/erase", op.List{offboarding.Erase, settings.GetUser}, private, erase},
		{"GET", "/settings/service-accounts", op.List{settings.ListServiceAccounts}, private, showPrincipals(&accounts)},
		{"GET", "/settings/service-accounts/new", op.List{settings.ListServiceAccounts}, private, showNewAccount},
		{"POST", "/settings/service-accounts/new", op.List{settings.CreateServiceAccount}, private, createAccount},
		{"GET", "/settings/service-accounts/{id}", op.List{settings.GetServiceAccount}.And(belongings), private, showPrincipal(&accounts)},
		{"POST", "/settings/service-accounts/{id}", op.List{settings.SetServiceAccount, settings.GetServiceAccount}.And(belongings), private, savePrincipal(&accounts)},
		{"POST", "/settings/service-accounts/{id}/enable", op.List{settings.SetServiceAccount, settings.GetServiceAccount}.And(belongings), private, enablePrincipal(&accounts)},
		{"GET", "/settings/service-accounts/{id}/leave", op.List{settings.GetServiceAccount}.And(succession), private, showLeave(&accounts)},
		{"POST", "/settings/service-accounts/{id}/leave", op.List{settings.SetServiceAccount, offboarding.HandOver, settings.GetServiceAccount}.And(succession), private, leave(&accounts)},

		// Contacts are imported with the right to create them. Everybody may have what is
		// kept about themselves.
		{"GET", "/settings/data", op.List{account.GetSession, imports.List, settings.ResolveNames, settings.ListUsers, settings.ListServiceAccounts}, private, showData},
		{"POST", "/settings/data/person", op.List{exports.BeginPrincipal, exports.GetParts}, private, takeOutPerson},
		{"POST", "/settings/data/organization", op.List{exports.BeginOrganization, exports.GetParts}, private, takeOutOrganization},
		{"GET", "/settings/data/new", op.List{contact.Create}, private, showNewImport},
		{"POST", "/settings/data/new", op.List{contact.Create, imports.Create, imports.Append, imports.Complete, imports.Get}, private, createImport},
		{"GET", "/settings/data/{id}", op.List{contact.Create, imports.Get, imports.GetLines, settings.ResolveNames, lookup.Titles}, private, showImport},
		{"POST", "/settings/data/{id}/columns", op.List{contact.Create, imports.Map, imports.Get, imports.GetLines, settings.ResolveNames, lookup.Titles}, private, mapImport},
		{"POST", "/settings/data/{id}/run", op.List{contact.Create, imports.Run}, private, actOnImport(imports.Run)},
		{"GET", "/settings/data/{id}/undo", op.List{contact.Create, imports.Get}, private, askToUndo},
		{"POST", "/settings/data/{id}/undo", op.List{contact.Create, imports.Undo}, private, actOnImport(imports.Undo)},
		{"POST", "/settings/data/{id}/discard", op.List{contact.Create, imports.Discard}, private, discardImport},
		{"GET", "/settings/data/{id}/report", op.List{contact.Create, imports.Get, imports.GetLines}, private, showReport},
		{"GET", "/settings/data/{id}/refused", op.List{contact.Create, imports.Get, imports.GetLines}, private, showRefused},

		{"GET", "/settings/interfaces/events", op.List{event.Read, webhook.OutcomesOf, lookup.Titles, settings.ResolveNames}, private, showEvents},
		{"GET", "/settings/interfaces/events/{id}", op.List{event.Read, webhook.DeliveriesOf, lookup.Titles, settings.ResolveNames}, private, showEvent},
		{"GET", "/settings/interfaces/webhooks", op.List{webhook.ListInfos, settings.ResolveNames}, private, showWebhooks},
		{"GET", "/settings/interfaces/webhooks/new", op.List{webhook.ListInfos}, private, showNewWebhook},
		{"POST", "/settings/interfaces/webhooks/new", op.List{webhook.CreateByPerson}, private, createWebhook},
		{"GET", "/settings/interfaces/webhooks/{id}", op.List{webhook.GetInfo, webhook.ListAttempts, settings.ResolveNames}, private, showWebhook},
		{"POST", "/settings/interfaces/webhooks/{id}", op.List{webhook.ChangeByPerson, webhook.GetInfo, webhook.ListAttempts, settings.ResolveNames}, private, saveWebhook},
		{"POST", "/settings/interfaces/webhooks/{id}/test", op.List{webhook.SendTest, webhook.GetInfo}, private, testWebhook},
		{"GET", "/settings/interfaces/webhooks/{id}/tests/{event}", op.List{webhook.GetInfo, webhook.ListAttempts}, private, showTest},
		{"POST", "/settings/interfaces/webhooks/{id}/enable", op.List{webhook.Enable, webhook.GetInfo}, private, enableWebhook},
		{"POST", "/settings/interfaces/webhooks/{id}/resend", op.List{webhook.Resend, webhook.GetInfo, webhook.ListAttempts, settings.ResolveNames}, private, resendTo},
		{"POST", "/settings/interfaces/webhooks/{id}/rotate", op.List{webhook.RotateByPerson, webhook.GetInfo}, private, rotateWebhook},
		{"GET", "/settings/interfaces/webhooks/{id}/delete", op.List{webhook.GetInfo}, private, askToDeleteWebhook},
		{"POST", "/settings/interfaces/webhooks/{id}/delete", op.List{webhook.DeleteByPerson, webhook.GetInfo}, private, deleteWebhook},

		{"GET", "/settings/organization", op.List{settings.GetOrganization, settings.ListUsers, settings.ResolveNames}, private, showOrganization},
		{"POST", "/settings/organization", op.List{oauth.SetOrganization, settings.GetOrganization, settings.ListUsers, settings.ResolveNames}, private, saveOrganization},
		{"GET", "/settings/audit", op.List{auditlog.List, settings.ListUsers, settings.ListServiceAccounts, settings.ResolveNames}, private, showAudit},
		{"POST", "/settings/audit/export", op.List{exports.BeginAudit, auditlog.List, settings.ResolveNames}, private, exportAudit},

		{"GET", "/search", op.List{lookup.Find, lookup.Recent}, inside, showSearch},
		{"GET", "/search/text/{id}", op.List{document.GetText}, inside, showWords},
		{"GET", "/help", nil, inside, showHelp},
		{"POST", "/help", op.List{account.SetProfile}, inside, switchKeys},
		{"POST", "/theme", op.List{account.SetProfile}, inside, switchTheme},
		{"POST", "/opened", op.List{lookup.Opened}, inside, noteOpened},
		{"GET", "/call", op.List{lookup.Find}, inside, showCall},
		{"GET", "/go/{id}", op.List{lookup.Find}, inside, showAny},
		{"GET", "/choices/tags", op.List{lookup.Tags}, inside, showTags},
		{"GET", "/choices/{of}", op.List{lookup.Find, settings.FindNames}, inside, showChoices},

		{"GET", "/contacts", op.List{contact.List, contact.Count, lookup.Find, settings.FindNames}.And(listing), inside, showBook(&contacts)},
		{"GET", "/contacts/new", op.List{contact.Create}.And(listing), inside, showForm(&contacts)},
		{"POST", "/contacts/new", op.List{contact.Create, company.Create, lookup.FindSimilar}.And(naming), inside, createRecord(&contacts)},
		{"POST", "/contacts/similar", op.List{contact.Create, lookup.FindSimilar}, inside, showSimilar(&contacts)},
		{"GET", "/contacts/{id}", op.List{contact.Get, contact.List, contact.Count}.And(details), inside, showRecord(&contacts)},
		{"GET", "/contacts/{id}/edit", op.List{contact.Update, contact.Get}.And(listing), inside, showForm(&contacts)},
		{"POST", "/contacts/labels", op.List{contact.List, lookup.BeginExport, api.RunBatch}.And(listing), inside, showLabels(&contacts)},
		{"POST", "/contacts/export", op.List{contact.List, lookup.BeginExport, api.RunBatch}.And(listing), inside, exportList(&contacts)},
		{"POST", "/bulk/contacts/{act}", op.List{contact.Update, api.RunBatch, bulk.Start, settings.FindNames}.And(listing), inside, beginBulk(&contacts)},
		{"POST", "/contacts/{id}", op.List{contact.Update, company.Create, contact.Get, record.History}.And(naming), inside, saveRecord(&contacts)},
		{"GET", "/contacts/{id}/vcard", op.List{contact.Get, lookup.Titles}, inside, showCard(&contacts)},
		{"GET", "/contacts/{id}/qr", op.List{contact.Get, lookup.Titles}, inside, showQR(&contacts)},
		{"GET", "/contacts/{id}/access", op.List{contact.Get}, inside, askToTakeOut},
		{"POST", "/contacts/{id}/access", op.List{exports.BeginContact, exports.GetParts, contact.Get}, inside, takeOutContact},
		{"GET", "/contacts/{id}/delete", op.List{contact.Delete, contact.Get, task.Count, document.Count}, inside, askToDelete(&contacts)},
		{"POST", "/contacts/{id}/delete", op.List{contact.Delete}, inside, deleteRecord(&contacts)},

		{"GET", "/companies", op.List{company.List, company.Count, lookup.Find, settings.FindNames}.And(listing), inside, showBook(&companies)},
		{"GET", "/companies/new", op.List{company.Create}.And(listing), inside, showForm(&companies)},
		{"POST", "/companies/new", op.List{company.Create, lookup.FindSimilar}.And(naming), inside, createRecord(&companies)},
		{"POST", "/companies/similar", op.List{company.Create, lookup.FindSimilar}, inside, showSimilar(&companies)},
		{"GET", "/companies/{id}", op.List{company.Get, company.List, company.Count, contact.List}.And(details), inside, showRecord(&companies)},
		{"GET", "/companies/{id}/edit", op.List{company.Update, company.Get}.And(listing), inside, showForm(&companies)},
		{"POST", "/companies/labels", op.List{company.List, lookup.BeginExport, api.RunBatch}.And(listing), inside, showLabels(&companies)},
		{"POST", "/companies/export", op.List{company.List, lookup.BeginExport, api.RunBatch}.And(listing), inside, exportList(&companies)},
		{"POST", "/bulk/companies/{act}", op.List{company.Update, api.RunBatch, bulk.Start, settings.FindNames}.And(listing), inside, beginBulk(&companies)},
		{"POST", "/companies/{id}", op.List{company.Update, company.Get, record.History}.And(naming), inside, saveRecord(&companies)},
		{"GET", "/companies/{id}/vcard", op.List{company.Get, lookup.Titles}, inside, showCard(&companies)},
		{"GET", "/companies/{id}/qr", op.List{company.Get, lookup.Titles}, inside, showQR(&companies)},
		{"GET", "/companies/{id}/delete", op.List{company.Delete, company.Get, contact.Count, task.Count, document.Count}, inside, askToDelete(&companies)},
		{"POST", "/companies/{id}/delete", op.List{company.Delete}, inside, deleteRecord(&companies)},

		{"GET", changesPath, op.List{bulk.List, settings.ResolveNames}, inside, showChanges},
		{"GET", changesPath + "/{id}", op.List{bulk.Get, bulk.GetReport}.And(listing), inside, showChange},
		{"POST", changesPath + "/{id}/stop", op.List{bulk.Stop}, inside, actOnChange(bulk.Stop)},
		{"POST", changesPath + "/{id}/resume", op.List{bulk.Resume}, inside, actOnChange(bulk.Resume)},
		{"POST", changesPath + "/{id}/undo", op.List{bulk.Undo}, inside, actOnChange(bulk.Undo)},

		{"GET", "/tasks", op.List{task.List, task.Count, task.Get, settings.FindNames}.And(listing), inside, showTasks},
		{"GET", "/tasks/line", op.List{task.Create, lookup.Find}, inside, showLine},
		{"GET", "/tasks/due", nil, inside, showDue},
		{"POST", "/tasks/line", op.List{task.Create, task.List, task.Count, settings.ResolveNames, lookup.Titles, lookup.Find}, inside, createByLine},
		{"GET", "/tasks/new", op.List{task.Create}.And(listing), inside, showForm(&tasks)},
		{"POST", "/tasks/new", op.List{task.Create}.And(naming), inside, createRecord(&tasks)},
		{"GET", "/tasks/{id}", op.List{task.Get, task.Count}.And(details), inside, showRecord(&tasks)},
		{"GET", "/tasks/{id}/edit", op.List{task.Update, task.Get}.And(listing), inside, showForm(&tasks)},
		{"POST", "/tasks/{id}", op.List{task.Update, task.Get, record.History}.And(naming), inside, saveRecord(&tasks)},
		{"POST", "/tasks/{id}/complete", op.List{task.Complete, lookup.Titles}, inside, completeTask},
		{"POST", "/tasks/{id}/reopen", op.List{task.Update, task.Get, lookup.Titles}, inside, reopenTask},
		{"POST", "/tasks/{id}/delete", op.List{task.Delete}, inside, deleteRecord(&tasks)},

		{"GET", "/documents", op.List{document.List, document.Count, document.ListUnderway, upload.GetTerms, lookup.Find, settings.FindNames}.And(listing), inside, showBook(&documents)},
		{"GET", "/documents/new", op.List{document.Create, upload.GetTerms}.And(listing), inside, showUpload},
		{"POST", "/documents/new", op.List{document.Create, upload.Create, upload.GetTerms}.And(listing), inside, createDocument},
		{"POST", "/documents/upload", op.List{upload.Create, upload.GetTerms}, inside, beginUpload},
		{"PUT", "/documents/upload/{upload}", op.List{upload.Create, upload.GetTerms}, inside, receiveUpload},
		{"GET", "/operations/{id}", op.List{operation.Get, document.Get}.And(listing), inside, showOperation},
		{"GET", "/documents/{id}/content", op.List{document.Content}, inside, download},
		{"GET", "/documents/{id}/sheets/{page}", op.List{document.Get, document.GetPage}, inside, showSheet},
		{"GET", "/documents/{id}/pictures/{page}", op.List{document.Get, document.GetPage}, inside, showPicture},
		{"GET", "/documents/{id}", op.List{document.Get, document.Count, document.GetPage, document.GetText}.And(details), inside, showRecord(&documents)},
		{"GET", "/documents/{id}/edit", op.List{document.Update, document.Get}.And(listing), inside, showForm(&documents)},
		{"POST", "/documents/{id}", op.List{document.Update, document.Get, record.History}.And(naming), inside, saveRecord(&documents)},
		{"POST", "/documents/{id}/delete", op.List{document.Delete}, inside, deleteRecord(&documents)},
	}
}
