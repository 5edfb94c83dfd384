package office

import (
	"net/http"
	"slices"
	"strings"
)

// Pages is the list of all pages of the application. The tests of every page, and the
// table of rights in docs/operating/web.md, follow from it.
var Pages = slices.Concat(todayPages, Own, recordsPages, signinPages, applicationsPages, keysPages, peoplePages, dataPages, webhooksPages, searchPages, bookPages, tasksPages, documentsPages)

// Handler serves the web application, and passes all other paths on.
func Handler(o Options) http.Handler {
	return Serve(o, Rooms{Pages: Pages, Menu: settingsMenu, SignIn: askToSignIn, Confirm: askToConfirm, Live: liveOf, Note: NoteOf})
}

// liveOf returns the families whose changes a page follows: a list its own, other pages all. The
// request log counts as one while it is followed, and so does an import.
func liveOf(v *request, here string) string {
	f := familyOf(here)
	switch {
	case v.follows():
		return "requests"
	case v.page.Path == importPath && v.Method == http.MethodGet:
		return "imports"
	case v.Method != http.MethodGet || here != "today" && f == nil || strings.HasSuffix(v.page.Path, "/new"):
		return ""
	case f != nil && !strings.Contains(v.page.Path, "{"):
		return f.name
	}
	var all []string
	for _, f := range families {
		if v.session.may(f.read) {
			all = append(all, f.name)
		}
	}
	return strings.Join(all, " ")
}

// settingsMenu has the pages of the settings that a menu leads to. Pages below them
// belong to the line of their list.
var settingsMenu = []settingsGroup{
	{text("Persönlich", "Personal"), []settingsPage{
		{path: profilePath, icon: "user", name: text("Profil", "Profile"), hint: text("Name, Sprache, Zeitzone, Darstellung", "Name, language, time zone, appearance")},
		{path: securityPath, icon: "shield-check", name: text("Sicherheit", "Security"), hint: text("Kennwort, zweiter Faktor, Passkeys, Sitzungen", "Password, second factor, passkeys, sessions")},
	}},
	{text("Schnittstellen", "Interfaces"), []settingsPage{
		{path: keysPath, icon: "key-round", name: text("API-Schlüssel", "API keys"), hint: text("Womit Programme Kartei aufrufen", "What programs call Kartei with")},
		{path: requestsPath, icon: "list", name: text("Aufrufe", "Calls"), hint: text("Was Programme aufgerufen haben, und warum etwas abgelehnt wurde", "What programs have called, and why something was refused")},
		{path: eventsPath, icon: "history", name: text("Ereignisse", "Events"), hint: text("Was sich geändert hat, und wohin es gemeldet wurde", "What has changed, and where that was told")},
		{path: usagePath, icon: "gauge", name: text("Nutzung", "Usage"), hint: text("Wie viel Programme aufrufen, wie schnell, und was von den Limits frei ist", "How much programs call, how fast, and what is left of the limits")},
		{path: applicationsPath, icon: "plug", name: text("Anwendungen", "Applications"), hint: text("Welche Anwendungen in Ihrem Namen handeln, und was sie dürfen", "Which applications act in your name, and what they may do")},
		{path: webhooksPath, icon: "webhook", name: text("Webhooks", "Webhooks"), hint: text("Wohin Kartei meldet, dass sich etwas geändert hat", "Where Kartei reports changes")},
	}},
	{text("Büro", "Office"), []settingsPage{
		{path: peoplePath, icon: "users", name: text("Personen", "People"), hint: text("Einladen, Rollen und Rechte, sperren und übergeben", "Invite, roles and rights, disable and hand over"),
			others: text("Wer zum Büro gehört", "Who belongs to the office")},
		{path: accountsPath, icon: "command", name: text("Dienstkonten", "Service accounts"), hint: text("Konten für Programme, die niemandem gehören", "Accounts for programs that belong to nobody")},
		{path: dataPath, icon: "file-spreadsheet", name: text("Daten", "Data"), hint: text("Kontakte importieren, Auskunft, alles exportieren", "Import contacts, personal data, export everything")},
		{path: organizationPath, icon: "building-2", name: text("Organisation", "Organization"), hint: text("Name, API, Berufsgeheimnis, Sandbox", "Name, API, professional secrecy, sandbox")},
		{path: auditPath, icon: "history", name: text("Protokoll", "Audit log"), hint: text("Wer Rechte, Schlüssel und Einstellungen geändert hat", "Who changed rights, keys and settings")},
	}},
}
