// Package app owns the list of all pages, and the menu of the settings.
package app

import (
	"net/http"
	"slices"
	"strings"

	"kartei/web/applications"
	"kartei/web/book"
	"kartei/web/conflicts"
	"kartei/web/data"
	"kartei/web/documents"
	"kartei/web/duplicates"
	"kartei/web/keys"
	"kartei/web/people"
	"kartei/web/records"
	"kartei/web/search"
	"kartei/web/shell"
	"kartei/web/signin"
	"kartei/web/tasks"
	"kartei/web/today"
	"kartei/web/webhooks"
)

// Pages is the list of all pages of the application. Tests run over all of these pages, and the
// table of rights in docs/operating/web.md is made from them.
var Pages = slices.Concat(today.Pages, shell.Pages, records.Pages, signin.Pages, applications.Pages, keys.Pages, people.Pages, data.Pages, webhooks.Pages, search.Pages, book.Pages, duplicates.Pages, conflicts.Pages, tasks.Pages, documents.Pages)

// Handler returns the handler of the web application. It passes requests for other paths to the
// public handler in o.
func Handler(o shell.Options) http.Handler {
	return shell.Serve(o, shell.Application{Pages: Pages, Menu: settingsMenu, SignIn: signin.AskToSignIn, Confirm: signin.AskToConfirm, Live: liveOf, Note: noteOf})
}

// noteOf returns the note about a change that was made without scripts. It returns nil if there is none.
func noteOf(v *shell.Request) *shell.Toast {
	if t := tasks.NoteOf(v); t != nil {
		return t
	}
	return duplicates.NoteOf(v)
}

// liveOf returns the names of the record families whose changes make a script reload the page,
// separated by spaces. A list depends on its own family, and other pages depend on all families.
// The names requests and imports stand for the request log and for an import. The result is empty
// if the page is not reloaded.
func liveOf(v *shell.Request, here string) string {
	f := records.FamilyOf(here)
	switch {
	case keys.Follows(v):
		return "requests"
	case v.Page.Path == data.ImportPath && v.Method == http.MethodGet:
		return "imports"
	case v.Method != http.MethodGet || here != "today" && f == nil || strings.HasSuffix(v.Page.Path, "/new"):
		return ""
	case f != nil && !strings.Contains(v.Page.Path, "{"):
		return f.Name
	}
	var all []string
	for _, f := range records.Families {
		if v.Session.May(f.Read) {
			all = append(all, f.Name)
		}
	}
	return strings.Join(all, " ")
}

// settingsMenu has the settings pages in the menu. For a page that is not in the menu, the menu
// marks the list above it.
var settingsMenu = []shell.SettingsGroup{
	{Name: "Personal", Pages: []shell.SettingsPage{
		{Path: shell.ProfilePath, Icon: "user", Name: "Profile", Hint: "Name, language, time zone, appearance"},
		{Path: shell.SecurityPath, Icon: "shield-check", Name: "Security", Hint: "Password, second factor, passkeys, sessions"},
	}},
	{Name: "Interfaces", Pages: []shell.SettingsPage{
		{Path: shell.KeysPath, Icon: "key-round", Name: "API keys", Hint: "What programs call Kartei with"},
		{Path: shell.RequestsPath, Icon: "list", Name: "Calls", Hint: "What programs have called, and why something was refused"},
		{Path: shell.EventsPath, Icon: "history", Name: "Events", Hint: "What has changed, and where that was told"},
		{Path: shell.UsagePath, Icon: "gauge", Name: "Usage", Hint: "How much programs call, how fast, and what is left of the limits"},
		{Path: shell.ApplicationsPath, Icon: "plug", Name: "Applications", Hint: "Which applications act in your name, and what they may do"},
		{Path: shell.WebhooksPath, Icon: "webhook", Name: "Webhooks", Hint: "Where Kartei reports changes"},
	}},
	{Name: "Office", Pages: []shell.SettingsPage{
		{Path: shell.PeoplePath, Icon: "users", Name: "People", Hint: "Invite, roles and rights, disable and hand over",
			Others: "Who belongs to the office"},
		{Path: shell.AccountsPath, Icon: "command", Name: "Service accounts", Hint: "Accounts for programs that belong to nobody"},
		{Path: shell.DataPath, Icon: "file-spreadsheet", Name: "Data", Hint: "Import contacts, personal data, export everything"},
		{Path: shell.OrganizationPath, Icon: "building-2", Name: "Organization", Hint: "Name, API, professional secrecy, sandbox"},
		{Path: shell.AuditPath, Icon: "history", Name: "Audit log", Hint: "Who changed rights, keys and settings"},
	}},
}
