package office

import (
	"slices"
	"strings"

	"kartei/api"
)

// Page is a row of the list of pages.
type Page struct {
	// Method is GET or POST. A page for GET changes nothing.
	Method string
	// Path is its address, with {id} for an identifier.
	Path string
	// Rows are the ids of the rows of both tables that the page may call, with spaces
	// between them. A person who may not call the first one does not see the page. Every
	// page may also call the rows of everywhere (request.go).
	Rows string
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

// asksFresh reports whether a row of the page asks for a recent sign-in.
func (p *Page) asksFresh() bool {
	return slices.ContainsFunc(strings.Fields(p.Rows), func(row string) bool { return api.ByID(row).Fresh })
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

// first is the id of the first row of the page.
func (p *Page) first() string {
	row, _, _ := strings.Cut(p.Rows, " ")
	return row
}

// Scope returns the right that the first row of the page needs, empty for a row of the
// second table.
func (p *Page) Scope() string {
	if o := api.ByID(p.first()); o != nil {
		return o.Scope
	}
	return ""
}

// AdminsOnly reports whether the first row of the page is one of the second table for
// admins.
func (p *Page) AdminsOnly() bool {
	o := api.ByID(p.first())
	return o != nil && o.Who.AdminsOnly()
}

// takesFiles reports whether a form of the page may have a file.
func (p *Page) takesFiles() bool {
	return strings.Contains(p.Rows, "uploads.create") || strings.Contains(p.Rows, "imports.append")
}

// Pages is the list of all pages of the application. The tests of every page, and the
// table of rights in docs/operating/web.md, follow from it. The menus are lists of
// their own.
var Pages []Page

func init() {
	const (
		listing = "names.resolve lookup.titles"
		details = listing + " records.history tasks.list documents.list"
		// A form looks up the texts of references.
		naming = listing + " lookup.find names.find"
	)
	Pages = []Page{
		{"GET", "/", "session.get tasks.list tasks.get records.changes bell.list lookup.recent contacts.count " + listing, inside, showToday},
		{"GET", "/live", "", watching, showLive},
		{"GET", "/news/{id}", "records.history names.resolve", inside, showNews},
		{"GET", "/bell", "bell.list lookup.titles", inside, showBell},
		{"POST", "/bell", "bell.read", inside, readBell},

		{"GET", "/signin", "", open, showSignIn},
		{"POST", "/signin", "signin.password signin.out", open, signIn},
		{"POST", "/signin/second", "signin.second signin.out", open, second},
		{"POST", "/signin/choose", "signin.choose signin.out", open, choose},
		{"POST", "/signin/passkey", "signin.passkey signin.out", open, signInByPasskey},
		{"POST", "/signin/passkey/options", "signin.passkeyOptions", open, showPasskeyOptions},
		{"POST", "/signin/sso", "signin.ssoBegin", open, leaveToSignIn},
		{"GET", "/signin/sso/callback", "signin.sso signin.ssoAccept factors.ssoLink session.ssoRefresh signin.out", open, comeBack},
		{"GET", besidePath, "session.get", private, showBeside},
		{"POST", besidePath, "", open, goOn},
		{"POST", "/invitation/sso", "signin.ssoInvited", open, leaveToAccept},
		{"POST", "/confirm/sso", "session.ssoBegin", private, leaveToConfirm},
		{"POST", "/settings/security/sso", "factors.ssoBegin", private, leaveToLink},
		{"POST", "/settings/security/sso/{id}/remove", "factors.ssoUnlink", private, unlink},
		{"GET", "/signin/forgot", "", open, showForgot},
		{"POST", "/signin/forgot", "signin.forgot", open, forgot},
		{"GET", "/reset", "", open, showLink(&resetLink)},
		{"POST", "/reset", "signin.reset", open, followLink(&resetLink)},
		{"GET", "/factors", "", open, showLink(&liftLink)},
		{"POST", "/factors", "signin.reset", open, followLink(&liftLink)},
		{"GET", "/address", "", open, showLink(&addressLink)},
		{"POST", "/address", "account.confirmEmail", open, followLink(&addressLink)},
		{"GET", "/invitation", "", open, showInvitation},
		{"POST", "/invitation", "invitations.accept signin.out", open, acceptInvitation},
		{"POST", signOutPath, "signin.out", private, signOut},

		{"GET", "/signin/choose", "session.get", private, showChoose},
		{"POST", switchPath, "session.switch", private, switchTo},
		{"GET", "/confirm", "factors.get", private, showConfirm},
		{"POST", "/confirm", "session.refresh", private, confirm},
		{"POST", "/confirm/passkey", "signin.passkeyOptions", private, showPasskeyOptions},

		{"GET", settingsPath, "session.get", private, showSettings},
		{"GET", "/settings/profile", "profile.get", private, showProfile},
		{"POST", "/settings/profile", "profile.set", private, saveProfile},
		{"GET", "/settings/security", "factors.get sessions.list signins.list", private, showSecurity},
		{"GET", actingPath, "access.list", private, showActing},
		{"POST", actingPath + "/end", "access.end", private, endAllActing},
		{"POST", actingPath + "/{id}/end", "access.end factors.passkeyRemove factors.ssoUnlink", private, endActing},
		{"GET", "/settings/security/password", "factors.get", private, showPassword},
		{"POST", "/settings/security/password", "factors.password", private, savePassword},
		{"POST", "/settings/security/totp", "factors.totpBegin", private, beginTOTP},
		{"POST", "/settings/security/totp/confirm", "factors.totpConfirm factors.totpBegin", private, confirmTOTP},
		{"POST", "/settings/security/totp/remove", "factors.totpRemove", private, removeTOTP},
		{"POST", "/settings/security/codes", "factors.recoveryCodes", private, renewCodes},
		{"POST", "/settings/security/passkeys/options", "factors.passkeyOptions", private, showNewPasskey},
		{"POST", "/settings/security/passkeys", "factors.passkeyAdd", private, addPasskey},
		{"POST", "/settings/security/passkeys/{id}/remove", "factors.passkeyRemove", private, removePasskey},
		{"POST", "/settings/security/sessions/{id}/end", "sessions.end", private, endSession},
		{"POST", "/settings/security/sessions/end", "sessions.end", private, endSessions},
		{"GET", "/settings/security/address", "factors.get", private, showAddress},
		{"POST", "/settings/security/address", "account.changeEmail", private, changeAddress},

		{"GET", "/settings/interfaces/keys", "keys.list names.resolve", private, showKeys},
		{"GET", "/settings/interfaces/keys/new", "keys.terms serviceAccounts.list contacts.count", private, showNewKey},
		{"POST", "/settings/interfaces/keys/new", "keys.create keys.terms serviceAccounts.list contacts.count", private, createKey},
		{"GET", "/settings/interfaces/keys/{id}", "keys.get keys.terms requests.list names.resolve", private, showKey},
		{"POST", "/settings/interfaces/keys/{id}", "keys.update keys.get keys.terms requests.list names.resolve", private, saveKey},
		{"GET", "/settings/interfaces/keys/{id}/first", "requests.list keys.get", private, showFirstCall},
		{"POST", "/settings/interfaces/keys/{id}/pause", "keys.pause", private, actOnKey("keys.pause", "keyPaused")},
		{"POST", "/settings/interfaces/keys/{id}/resume", "keys.resume", private, actOnKey("keys.resume", "keyResumed")},
		{"POST", "/settings/interfaces/keys/{id}/rotate", "keys.rotate", private, rotateKey},
		{"GET", "/settings/interfaces/keys/{id}/revoke", "keys.get webhooks.list", private, askToRevoke},
		{"POST", "/settings/interfaces/keys/{id}/revoke", "keys.revoke", private, revokeKey},
		{"GET", "/settings/interfaces/requests", "requests.list keys.list names.resolve", private, showRequests},
		{"GET", "/settings/interfaces/requests/{id}", "requests.list requests.caused keys.get names.resolve lookup.titles events.deliveries", private, showRequest},
		{"POST", "/settings/interfaces/requests/{id}/resend", "webhooks.resend", private, resend},

		{"GET", consentPath, "oauth.ask", private, showConsent},
		{"POST", consentPath, "oauth.answer oauth.ask", private, answerConsent},
		{"GET", applicationsPath, "grants.list clients.list clients.approvals names.resolve", private, showApplications},
		{"POST", applicationsPath + "/{id}/end", "grants.end", private, endGrant},
		{"POST", applicationsPath + "/{id}/renew", "grants.renew", private, renewGrant},
		{"GET", approvalsPath + "/{id}", "clients.approvals names.resolve", private, showApproval},
		{"POST", approvalsPath + "/{id}/approve", "clients.approve", private, approve},
		{"POST", approvalsPath + "/{id}/revoke", "clients.disapprove", private, disapprove},
		{"GET", applicationsPath + "/new", "clients.create serviceAccounts.list", private, showNewClient},
		{"POST", applicationsPath + "/new", "clients.create serviceAccounts.list", private, createClient},
		{"POST", applicationsPath + "/{id}/rotate", "clients.rotate", private, rotateClient},
		{"POST", applicationsPath + "/{id}/disable", "clients.set", private, switchClient(true)},
		{"POST", applicationsPath + "/{id}/enable", "clients.set", private, switchClient(false)},

		{"GET", "/settings/interfaces/usage", "usage.get keys.list names.resolve", private, showUsage},
		{"GET", "/settings/people", "names.find people.list invitations.list", private, showPeople},
		{"GET", "/settings/people/invite", "people.list", private, showInvite},
		{"POST", "/settings/people/invite", "people.invite", private, invite},
		{"POST", "/settings/people/invitations/{id}/revoke", "invitations.revoke", private, revokeInvitation},
		{"GET", "/settings/people/{id}", "people.get people.handOverStatus keys.list people.holdings names.resolve", private, showPrincipal(&persons)},
		{"POST", "/settings/people/{id}", "people.set people.get people.handOverStatus keys.list people.holdings names.resolve", private, savePrincipal(&persons)},
		{"POST", "/settings/people/{id}/enable", "people.set people.get people.handOverStatus keys.list people.holdings names.resolve", private, enablePrincipal(&persons)},
		{"GET", "/settings/people/{id}/leave", "people.get people.list serviceAccounts.list keys.list people.holdings contacts.count companies.count documents.count", private, showLeave(&persons)},
		{"POST", "/settings/people/{id}/leave", "people.set people.handOver people.get people.list serviceAccounts.list keys.list people.holdings contacts.count companies.count documents.count", private, leave(&persons)},
		{"POST", "/settings/people/{id}/factors", "people.resetFactors people.get people.handOverStatus keys.list people.holdings names.resolve", private, resetFactors},
		{"GET", "/settings/people/{id}/erase", "people.get", private, showErase},
		{"POST", "/settings/people/{id}/erase", "people.erase people.get", private, erase},
		{"GET", "/settings/service-accounts", "serviceAccounts.list", private, showPrincipals(&accounts)},
		{"GET", "/settings/service-accounts/new", "serviceAccounts.list", private, showNewAccount},
		{"POST", "/settings/service-accounts/new", "serviceAccounts.create", private, createAccount},
		{"GET", "/settings/service-accounts/{id}", "serviceAccounts.get people.handOverStatus keys.list people.holdings names.resolve", private, showPrincipal(&accounts)},
		{"POST", "/settings/service-accounts/{id}", "serviceAccounts.set serviceAccounts.get people.handOverStatus keys.list people.holdings names.resolve", private, savePrincipal(&accounts)},
		{"POST", "/settings/service-accounts/{id}/enable", "serviceAccounts.set serviceAccounts.get people.handOverStatus keys.list people.holdings names.resolve", private, enablePrincipal(&accounts)},
		{"GET", "/settings/service-accounts/{id}/leave", "serviceAccounts.get people.list serviceAccounts.list keys.list people.holdings contacts.count companies.count documents.count", private, showLeave(&accounts)},
		{"POST", "/settings/service-accounts/{id}/leave", "serviceAccounts.set people.handOver serviceAccounts.get people.list serviceAccounts.list keys.list people.holdings contacts.count companies.count documents.count", private, leave(&accounts)},

		// Contacts are imported with the right to create them. Everybody may have what is
		// kept about themselves.
		{"GET", "/settings/data", "session.get imports.list names.resolve people.list serviceAccounts.list", private, showData},
		{"POST", "/settings/data/person", "exports.person exports.parts", private, takeOutPerson},
		{"POST", "/settings/data/organization", "exports.organization exports.parts", private, takeOutOrganization},
		{"GET", "/settings/data/new", "contacts.create", private, showNewImport},
		{"POST", "/settings/data/new", "contacts.create imports.create imports.append imports.complete imports.get", private, createImport},
		{"GET", "/settings/data/{id}", "contacts.create imports.get imports.lines names.resolve lookup.titles", private, showImport},
		{"POST", "/settings/data/{id}/columns", "contacts.create imports.map imports.get imports.lines names.resolve lookup.titles", private, mapImport},
		{"POST", "/settings/data/{id}/run", "contacts.create imports.run", private, actOnImport("imports.run")},
		{"GET", "/settings/data/{id}/undo", "contacts.create imports.get", private, askToUndo},
		{"POST", "/settings/data/{id}/undo", "contacts.create imports.undo", private, actOnImport("imports.undo")},
		{"POST", "/settings/data/{id}/discard", "contacts.create imports.discard", private, discardImport},
		{"GET", "/settings/data/{id}/report", "contacts.create imports.get imports.lines", private, showReport},
		{"GET", "/settings/data/{id}/refused", "contacts.create imports.get imports.lines", private, showRefused},

		{"GET", "/settings/interfaces/events", "events.feed events.outcomes lookup.titles names.resolve", private, showEvents},
		{"GET", "/settings/interfaces/events/{id}", "events.feed events.deliveries lookup.titles names.resolve", private, showEvent},
		{"GET", "/settings/interfaces/webhooks", "webhooks.list names.resolve", private, showWebhooks},
		{"GET", "/settings/interfaces/webhooks/new", "webhooks.list", private, showNewWebhook},
		{"POST", "/settings/interfaces/webhooks/new", "webhooks.create", private, createWebhook},
		{"GET", "/settings/interfaces/webhooks/{id}", "webhooks.get webhooks.deliveries names.resolve", private, showWebhook},
		{"POST", "/settings/interfaces/webhooks/{id}", "webhooks.change webhooks.get webhooks.deliveries names.resolve", private, saveWebhook},
		{"POST", "/settings/interfaces/webhooks/{id}/test", "webhookEndpoints.test webhooks.get", private, testWebhook},
		{"GET", "/settings/interfaces/webhooks/{id}/tests/{event}", "webhooks.get webhooks.deliveries", private, showTest},
		{"POST", "/settings/interfaces/webhooks/{id}/enable", "webhooks.enable webhooks.get", private, enableWebhook},
		{"POST", "/settings/interfaces/webhooks/{id}/resend", "webhooks.resend webhooks.get webhooks.deliveries names.resolve", private, resendTo},
		{"POST", "/settings/interfaces/webhooks/{id}/rotate", "webhooks.rotate webhooks.get", private, rotateWebhook},
		{"GET", "/settings/interfaces/webhooks/{id}/delete", "webhooks.get", private, askToDeleteWebhook},
		{"POST", "/settings/interfaces/webhooks/{id}/delete", "webhooks.delete webhooks.get", private, deleteWebhook},

		{"GET", "/settings/organization", "organizations.get people.list names.resolve", private, showOrganization},
		{"POST", "/settings/organization", "organizations.set organizations.get people.list names.resolve", private, saveOrganization},
		{"GET", "/settings/audit", "audit.list people.list serviceAccounts.list names.resolve", private, showAudit},
		{"POST", "/settings/audit/export", "exports.audit audit.list names.resolve", private, exportAudit},

		{"GET", "/search", "lookup.find lookup.recent", inside, showSearch},
		{"GET", "/search/text/{id}", "documents.text", inside, showWords},
		{"GET", "/help", "", inside, showHelp},
		{"POST", "/help", "profile.set", inside, switchKeys},
		{"POST", "/theme", "profile.set", inside, switchTheme},
		{"POST", "/opened", "lookup.opened", inside, noteOpened},
		{"GET", "/call", "lookup.find", inside, showCall},
		{"GET", "/go/{id}", "lookup.find", inside, showAny},
		{"GET", "/choices/tags", "lookup.tags", inside, showTags},
		{"GET", "/choices/{of}", "lookup.find names.find", inside, showChoices},

		{"GET", "/contacts", "contacts.list contacts.count lookup.find names.find " + listing, inside, showBook(&contacts)},
		{"GET", "/contacts/new", "contacts.create " + listing, inside, showForm(&contacts)},
		{"POST", "/contacts/new", "contacts.create companies.create lookup.similar " + naming, inside, createRecord(&contacts)},
		{"POST", "/contacts/similar", "contacts.create lookup.similar", inside, showSimilar(&contacts)},
		{"GET", "/contacts/{id}", "contacts.get contacts.list contacts.count " + details, inside, showRecord(&contacts)},
		{"GET", "/contacts/{id}/edit", "contacts.update contacts.get " + listing, inside, showForm(&contacts)},
		{"POST", "/contacts/labels", "contacts.list exports.begin batch.run " + listing, inside, showLabels(&contacts)},
		{"POST", "/contacts/export", "contacts.list exports.begin batch.run " + listing, inside, exportList(&contacts)},
		{"POST", "/bulk/contacts/{act}", "contacts.update batch.run bulk.start names.find " + listing, inside, bulk(&contacts)},
		{"POST", "/contacts/{id}", "contacts.update companies.create contacts.get records.history " + naming, inside, saveRecord(&contacts)},
		{"GET", "/contacts/{id}/vcard", "contacts.get lookup.titles", inside, showCard(&contacts)},
		{"GET", "/contacts/{id}/qr", "contacts.get lookup.titles", inside, showQR(&contacts)},
		{"GET", "/contacts/{id}/access", "contacts.get", inside, askToTakeOut},
		{"POST", "/contacts/{id}/access", "exports.contact exports.parts contacts.get", inside, takeOutContact},
		{"GET", "/contacts/{id}/delete", "contacts.delete contacts.get tasks.count documents.count", inside, askToDelete(&contacts)},
		{"POST", "/contacts/{id}/delete", "contacts.delete", inside, deleteRecord(&contacts)},

		{"GET", "/companies", "companies.list companies.count lookup.find names.find " + listing, inside, showBook(&companies)},
		{"GET", "/companies/new", "companies.create " + listing, inside, showForm(&companies)},
		{"POST", "/companies/new", "companies.create lookup.similar " + naming, inside, createRecord(&companies)},
		{"POST", "/companies/similar", "companies.create lookup.similar", inside, showSimilar(&companies)},
		{"GET", "/companies/{id}", "companies.get companies.list companies.count contacts.list " + details, inside, showRecord(&companies)},
		{"GET", "/companies/{id}/edit", "companies.update companies.get " + listing, inside, showForm(&companies)},
		{"POST", "/companies/labels", "companies.list exports.begin batch.run " + listing, inside, showLabels(&companies)},
		{"POST", "/companies/export", "companies.list exports.begin batch.run " + listing, inside, exportList(&companies)},
		{"POST", "/bulk/companies/{act}", "companies.update batch.run bulk.start names.find " + listing, inside, bulk(&companies)},
		{"POST", "/companies/{id}", "companies.update companies.get records.history " + naming, inside, saveRecord(&companies)},
		{"GET", "/companies/{id}/vcard", "companies.get lookup.titles", inside, showCard(&companies)},
		{"GET", "/companies/{id}/qr", "companies.get lookup.titles", inside, showQR(&companies)},
		{"GET", "/companies/{id}/delete", "companies.delete companies.get contacts.count tasks.count documents.count", inside, askToDelete(&companies)},
		{"POST", "/companies/{id}/delete", "companies.delete", inside, deleteRecord(&companies)},

		{"GET", changesPath, "bulk.list names.resolve", inside, showChanges},
		{"GET", changesPath + "/{id}", "bulk.get bulk.report " + listing, inside, showChange},
		{"POST", changesPath + "/{id}/stop", "bulk.stop", inside, actOnChange("bulk.stop")},
		{"POST", changesPath + "/{id}/resume", "bulk.resume", inside, actOnChange("bulk.resume")},
		{"POST", changesPath + "/{id}/undo", "bulk.undo", inside, actOnChange("bulk.undo")},

		{"GET", "/tasks", "tasks.list tasks.count tasks.get names.find " + listing, inside, showTasks},
		{"GET", "/tasks/line", "tasks.create lookup.find", inside, showLine},
		{"GET", "/tasks/due", "", inside, showDue},
		{"POST", "/tasks/line", "tasks.create tasks.list tasks.count names.resolve lookup.titles lookup.find", inside, createByLine},
		{"GET", "/tasks/new", "tasks.create " + listing, inside, showForm(&tasks)},
		{"POST", "/tasks/new", "tasks.create " + naming, inside, createRecord(&tasks)},
		{"GET", "/tasks/{id}", "tasks.get tasks.count " + details, inside, showRecord(&tasks)},
		{"GET", "/tasks/{id}/edit", "tasks.update tasks.get " + listing, inside, showForm(&tasks)},
		{"POST", "/tasks/{id}", "tasks.update tasks.get records.history " + naming, inside, saveRecord(&tasks)},
		{"POST", "/tasks/{id}/complete", "tasks.complete lookup.titles", inside, completeTask},
		{"POST", "/tasks/{id}/reopen", "tasks.update tasks.get lookup.titles", inside, reopenTask},
		{"POST", "/tasks/{id}/delete", "tasks.delete", inside, deleteRecord(&tasks)},

		{"GET", "/documents", "documents.list documents.count documents.underway uploads.terms lookup.find names.find " + listing, inside, showBook(&documents)},
		{"GET", "/documents/new", "documents.create uploads.terms " + listing, inside, showUpload},
		{"POST", "/documents/new", "documents.create uploads.create uploads.terms " + listing, inside, createDocument},
		{"POST", "/documents/upload", "uploads.create uploads.terms", inside, beginUpload},
		{"PUT", "/documents/upload/{upload}", "uploads.create uploads.terms", inside, receiveUpload},
		{"GET", "/operations/{id}", "operations.get documents.get " + listing, inside, showOperation},
		{"GET", "/documents/{id}/content", "documents.content", inside, download},
		{"GET", "/documents/{id}/sheets/{page}", "documents.get documents.page", inside, showSheet},
		{"GET", "/documents/{id}/pictures/{page}", "documents.get documents.page", inside, showPicture},
		{"GET", "/documents/{id}", "documents.get documents.count documents.page documents.text " + details, inside, showRecord(&documents)},
		{"GET", "/documents/{id}/edit", "documents.update documents.get " + listing, inside, showForm(&documents)},
		{"POST", "/documents/{id}", "documents.update documents.get records.history " + naming, inside, saveRecord(&documents)},
		{"POST", "/documents/{id}/delete", "documents.delete", inside, deleteRecord(&documents)},
	}
}
