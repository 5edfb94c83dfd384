// Package app owns the list of all pages, and the menu of the settings.
package app

import (
	"net/http"
	"slices"
	"strings"

	"kartei/web/applications"
	"kartei/web/book"
	"kartei/web/data"
	"kartei/web/documents"
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

// Pages is the list of all pages of the application. The tests of every page, and the
// table of rights in docs/operating/web.md, follow from it.
var Pages = slices.Concat(today.Pages, shell.Pages, records.Pages, signin.Pages, applications.Pages, keys.Pages, people.Pages, data.Pages, webhooks.Pages, search.Pages, book.Pages, tasks.Pages, documents.Pages)

// Handler serves the web application, and passes all other paths on.
func Handler(o shell.Options) http.Handler {
	return shell.Serve(o, shell.Application{Pages: Pages, Menu: settingsMenu, SignIn: signin.AskToSignIn, Confirm: signin.AskToConfirm, Live: liveOf, Note: tasks.NoteOf})
}

// liveOf returns the families whose changes a page follows: a list its own, other pages all. The
// request log counts as one while it is followed, and so does an import.
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

// settingsMenu has the pages of the settings that a menu leads to. Pages below them
// belong to the line of their list.
var settingsMenu = []shell.SettingsGroup{
	{Name: shell.Text("Persönlich", "Personal"), Pages: []shell.SettingsPage{
		{Path: shell.ProfilePath, Icon: "user", Name: shell.Text("Profil", "Profile"), Hint: shell.Text("Name, Sprache, Zeitzone, Darstellung", "Name, language, time zone, appearance")},
		{Path: shell.SecurityPath, Icon: "shield-check", Name: shell.Text("Sicherheit", "Security"), Hint: shell.Text("Kennwort, zweiter Faktor, Passkeys, Sitzungen", "Password, second factor, passkeys, sessions")},
	}},
	{Name: shell.Text("Schnittstellen", "Interfaces"), Pages: []shell.SettingsPage{
		{Path: shell.KeysPath, Icon: "key-round", Name: shell.Text("API-Schlüssel", "API keys"), Hint: shell.Text("Womit Programme Kartei aufrufen", "What programs call Kartei with")},
		{Path: shell.RequestsPath, Icon: "list", Name: shell.Text("Aufrufe", "Calls"), Hint: shell.Text("Was Programme aufgerufen haben, und warum etwas abgelehnt wurde", "What programs have called, and why something was refused")},
		{Path: shell.EventsPath, Icon: "history", Name: shell.Text("Ereignisse", "Events"), Hint: shell.Text("Was sich geändert hat, und wohin es gemeldet wurde", "What has changed, and where that was told")},
		{Path: shell.UsagePath, Icon: "gauge", Name: shell.Text("Nutzung", "Usage"), Hint: shell.Text("Wie viel Programme aufrufen, wie schnell, und was von den Limits frei ist", "How much programs call, how fast, and what is left of the limits")},
		{Path: shell.ApplicationsPath, Icon: "plug", Name: shell.Text("Anwendungen", "Applications"), Hint: shell.Text("Welche Anwendungen in Ihrem Namen handeln, und was sie dürfen", "Which applications act in your name, and what they may do")},
		{Path: shell.WebhooksPath, Icon: "webhook", Name: shell.Text("Webhooks", "Webhooks"), Hint: shell.Text("Wohin Kartei meldet, dass sich etwas geändert hat", "Where Kartei reports changes")},
	}},
	{Name: shell.Text("Büro", "Office"), Pages: []shell.SettingsPage{
		{Path: shell.PeoplePath, Icon: "users", Name: shell.Text("Personen", "People"), Hint: shell.Text("Einladen, Rollen und Rechte, sperren und übergeben", "Invite, roles and rights, disable and hand over"),
			Others: shell.Text("Wer zum Büro gehört", "Who belongs to the office")},
		{Path: shell.AccountsPath, Icon: "command", Name: shell.Text("Dienstkonten", "Service accounts"), Hint: shell.Text("Konten für Programme, die niemandem gehören", "Accounts for programs that belong to nobody")},
		{Path: shell.DataPath, Icon: "file-spreadsheet", Name: shell.Text("Daten", "Data"), Hint: shell.Text("Kontakte importieren, Auskunft, alles exportieren", "Import contacts, personal data, export everything")},
		{Path: shell.OrganizationPath, Icon: "building-2", Name: shell.Text("Organisation", "Organization"), Hint: shell.Text("Name, API, Berufsgeheimnis, Sandbox", "Name, API, professional secrecy, sandbox")},
		{Path: shell.AuditPath, Icon: "history", Name: shell.Text("Protokoll", "Audit log"), Hint: shell.Text("Wer Rechte, Schlüssel und Einstellungen geändert hat", "Who changed rights, keys and settings")},
	}},
}
