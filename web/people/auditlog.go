package people

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"kartei/kit/fault"
	"kartei/kit/id"
	spreadsheet "kartei/kit/sheet"
	"kartei/people/audit"
	"kartei/people/auditlog"
	"kartei/transfer/exports"
	"kartei/web/shell"
	"kartei/web/ui"
)

// auditPage is the audit log with its filters.
type auditPage struct {
	lines []audit.Line
	// people are those who can be chosen in the filter, names all that the lines name.
	people []ui.Option
	names  map[string]string
	filter url.Values
	period shell.Period
	pages  ui.Pages
}

const (
	auditShown = 50
	// auditAsked is the number of lines that are read at once for a file, and
	// auditExported bounds the file.
	auditAsked    = 1000
	auditExported = 50_000
)

// auditFilters are the parameters of the address that narrow the log.
var auditFilters = append([]string{"who", "word", "target"}, shell.PeriodFilters...)

// auditGroups are the choices of the filter by kind of act: the first part of the word.
var auditGroups = []shell.Option{
	shell.NewOption("", "alle Vorgänge", "all acts"),
	shell.NewOption("key", "API-Schlüssel", "API keys"),
	shell.NewOption("grant", "Verbundene Anwendungen", "Connected applications"),
	shell.NewOption("client", "Anwendungen von Dienstkonten", "Applications of service accounts"),
	shell.NewOption("webhook", "Webhooks", "Webhooks"),
	shell.NewOption("person", "Personen", "People"),
	shell.NewOption("invitation", "Einladungen", "Invitations"),
	shell.NewOption("serviceAccount", "Dienstkonten", "Service accounts"),
	shell.NewOption("organization", "Organisation", "Organization"),
	shell.NewOption("session", "Anmeldungen", "Sign-ins"),
	shell.NewOption("access", "Beendete Zugänge", "Ended access"),
	shell.NewOption("account", "Kennwörter und zweite Faktoren", "Passwords and second factors"),
	shell.NewOption("records", "Importe und Exporte", "Imports and exports"),
	shell.NewOption("audit", "Exporte des Protokolls", "Exports of the audit log"),
	shell.NewOption("profile", "Profile", "Profiles"),
}

// auditPeriods are the choices of the filter by time.
var auditPeriods = []shell.Option{
	shell.NewOption("", "400 Tage", "400 days"),
	shell.NewOption("24h", "letzte 24 Stunden", "last 24 hours"),
	shell.NewOption("168h", "letzte 7 Tage", "last 7 days"),
	shell.NewOption("720h", "letzte 30 Tage", "last 30 days"),
}

// readAuditFilter reads the filters of the address, and makes the input of audit.list.
func (p *auditPage) readAuditFilter(v *shell.Request) auditlog.Input {
	q := v.URL.Query()
	q.Set("word", shell.Offered(auditGroups, q.Get("word")))
	p.period = v.PeriodIn(q, auditPeriods)
	p.filter = url.Values{}
	for _, name := range auditFilters {
		if value := strings.TrimSpace(q.Get(name)); value != "" {
			p.filter.Set(name, value)
		}
	}
	return auditlog.Input{Who: p.filter.Get("who"), Word: p.filter.Get("word"), Target: p.filter.Get("target"), Since: p.period.Since, Until: p.period.Until}
}

// showAudit serves the audit log.
func showAudit(v *shell.Request) shell.View {
	p := auditPage{names: map[string]string{}}
	in := p.readAuditFilter(v)
	in.Limit = auditShown
	if before := v.URL.Query().Get("before"); id.Valid(id.AuditLine, before) {
		in.Before = before
		p.pages.Newer = ui.Own(p.at(""))
	}
	found, err := shell.Ask(v, auditlog.List, in)
	if err != nil {
		return v.Failed(err)
	}
	p.lines = found.Data
	if found.HasMore {
		p.pages.Older = ui.Own(p.at(p.lines[len(p.lines)-1].ID))
	}
	if err := shell.Together(
		func() error { return nameAudited(v, p.lines, p.names) },
		func() error { return p.offerPeople(v) },
	); err != nil {
		return v.Failed(err)
	}
	return v.Settings(shell.AuditPath, auditTitle(v), auditView(v, p))
}

func auditTitle(v *shell.Request) string { return v.Words.Say("Protokoll", "Audit log") }

// offerPeople reads the people whose lines can be asked for.
func (p *auditPage) offerPeople(v *shell.Request) error {
	p.people = []ui.Option{{Text: v.Words.Say("alle", "everybody")}, {Value: audit.OperatorKind, Text: v.Words.Say("der Betreiber", "the operator")}}
	options, err := PrincipalOptions(v, Everybody)
	if err != nil {
		return err
	}
	p.people = append(p.people, options...)
	if who := p.filter.Get("who"); !slices.ContainsFunc(p.people, func(o ui.Option) bool { return o.Value == who }) {
		p.people = append(p.people, ui.Option{Value: who, Text: who}) // beyond the first, or erased
	}
	return nil
}

// nameAudited adds the names of the people that lines are by or about.
func nameAudited(v *shell.Request, lines []audit.Line, names map[string]string) error {
	var ids []string
	for _, l := range lines {
		for _, one := range append([]string{l.PrincipalID, l.Target}, owners(l)...) {
			if id.Valid(id.User, one) || id.Valid(id.ServiceAccount, one) {
				ids = append(ids, one)
			}
		}
	}
	return v.NamesOf(ids, names)
}

// owners are the principals among the values of a line.
func owners(l audit.Line) (ids []string) {
	for _, c := range l.Changes {
		for _, value := range []any{c.From, c.To} {
			if text, is := value.(string); is && c.Member == "principalId" {
				ids = append(ids, text)
			}
		}
	}
	return ids
}

// at is the address of the log with its filters, before a line.
func (p *auditPage) at(before string) string {
	q := maps.Clone(p.filter)
	if before != "" {
		q.Set("before", before)
	}
	if len(q) == 0 {
		return shell.AuditPath
	}
	return shell.AuditPath + "?" + q.Encode()
}

// who says who did it.
func (p *auditPage) who(v *shell.Request, l *audit.Line) string {
	switch {
	case l.CredentialKind == audit.OperatorKind:
		return v.Words.Say("Der Betreiber", "The operator")
	case l.PrincipalID == "":
		return v.Words.Say("Unbekannt", "Unknown")
	}
	return cmp.Or(p.names[l.PrincipalID], l.PrincipalID)
}

// what says what was done.
func (p *auditPage) what(v *shell.Request, l *audit.Line) string {
	if text, known := acts[l.Word]; known {
		return text.In(v.Words.Language)
	}
	return l.Word
}

// target names what it was done to. It is empty where the act says that already: the
// person's own account, their session, the organization of the log.
func (p *auditPage) target(v *shell.Request, l *audit.Line) string {
	kind, _, _ := strings.Cut(l.Target, "_")
	if l.Target == l.PrincipalID || kind == "ses" || kind == "org" {
		return ""
	}
	if name := p.names[l.Target]; name != "" {
		return name
	}
	if word, known := targetKinds[kind]; known {
		return word.In(v.Words.Language) + " …" + id.Short(l.Target)
	}
	return l.Target
}

// targetKinds are the words for targets that the log keeps no name of, by the prefix of
// the id. The end of the id stands behind the word.
var targetKinds = map[string]fault.Text{
	"key": shell.Text("Schlüssel", "key"), "gra": shell.Text("Verbindung", "connection"), "cli": shell.Text("Anwendung", "application"), "whe": shell.Text("Endpunkt", "endpoint"),
	"inv": shell.Text("Einladung", "invitation"), "imp": shell.Text("Import", "import"), "blk": shell.Text("Änderung", "change"), "con": shell.Text("Kontakt", "contact"),
	"usr": shell.Text("Person", "person"), "svc": shell.Text("Dienstkonto", "service account"), "job": shell.Text("Auftrag", "job"),
}

// href is the address of what it was done to, empty if there is no page.
func (p *auditPage) href(l *audit.Line) templ.SafeURL {
	kind, _, _ := strings.Cut(l.Target, "_")
	if place, known := targetPages[kind]; known {
		return ui.Own(place + l.Target)
	}
	return ""
}

// targetPages are the places of the pages about targets, by the prefix of the id.
var targetPages = map[string]string{
	"key": shell.KeysPath + "/", "gra": shell.ApplicationsPath + "#", "apr": shell.ApplicationsPath + "#", "cli": shell.ApplicationsPath + "#", "whe": "/settings/interfaces/webhooks/", "usr": "/settings/people/", "svc": "/settings/service-accounts/",
}

// from says by which door, and from where.
func from(v *shell.Request, l *audit.Line) string {
	door := map[string]string{"web": v.Words.Say("im Browser", "in the browser"), "admin": v.Words.Say("auf dem Server", "on the server"), "rest": "API", "oauth": v.Words.Say("durch die Anwendung", "by the application"), "job": v.Words.Say("als Auftrag", "as a job")}[l.Door]
	return shell.Joined(" · ", cmp.Or(door, l.Door), l.Address)
}

// acts are the words of the audit log, after the name of who did it.
var acts = map[string]fault.Text{
	"key.create":                 shell.Text("hat einen API-Schlüssel angelegt", "created an API key"),
	"key.update":                 shell.Text("hat einen API-Schlüssel geändert", "changed an API key"),
	"key.pause":                  shell.Text("hat einen API-Schlüssel pausiert", "paused an API key"),
	"key.resume":                 shell.Text("hat einen API-Schlüssel fortgesetzt", "resumed an API key"),
	"key.revoke":                 shell.Text("hat einen API-Schlüssel widerrufen", "revoked an API key"),
	"key.rotate":                 shell.Text("hat das Geheimnis eines API-Schlüssels erneuert", "rotated the secret of an API key"),
	"grant.create":               shell.Text("hat eine Anwendung verbunden", "connected an application"),
	"grant.end":                  shell.Text("hat eine Anwendung getrennt", "disconnected an application"),
	"grant.renew":                shell.Text("hat eine Verbindung mit einer Anwendung verlängert", "renewed a connection with an application"),
	"client.approve":             shell.Text("hat eine Anwendung freigegeben", "approved an application"),
	"client.disapprove":          shell.Text("hat die Freigabe einer Anwendung zurückgenommen oder verweigert", "took back or refused the approval of an application"),
	"client.create":              shell.Text("hat eine Anwendung für ein Dienstkonto angelegt", "created an application for a service account"),
	"client.rotate":              shell.Text("hat das Geheimnis einer Anwendung erneuert", "rotated the secret of an application"),
	"client.set":                 shell.Text("hat eine Anwendung gesperrt oder freigegeben", "disabled or enabled an application"),
	"webhook.create":             shell.Text("hat einen Endpunkt angelegt", "created an endpoint"),
	"webhook.change":             shell.Text("hat einen Endpunkt geändert", "changed an endpoint"),
	"webhook.delete":             shell.Text("hat einen Endpunkt gelöscht", "deleted an endpoint"),
	"webhook.rotate":             shell.Text("hat das Geheimnis eines Endpunkts erneuert", "rotated the secret of an endpoint"),
	"webhook.test":               shell.Text("hat ein Testereignis gesendet", "sent a test event"),
	"webhook.enable":             shell.Text("hat einen Endpunkt eingeschaltet", "enabled an endpoint"),
	"webhook.resend":             shell.Text("hat Ereignisse erneut gesendet", "sent events again"),
	"person.create":              shell.Text("hat eine Person angelegt", "created a person"),
	"person.set":                 shell.Text("hat eine Person geändert", "changed a person"),
	"person.handOver":            shell.Text("hat Einträge übergeben", "handed records over"),
	"person.erase":               shell.Text("hat eine Person gelöscht", "erased a person"),
	"person.invite":              shell.Text("hat jemanden eingeladen", "invited somebody"),
	"person.unlink":              shell.Text("hat eine Verbindung mit Single Sign-on getrennt", "removed a link with single sign-on"),
	"person.resetFactors":        shell.Text("hat zweite Faktoren zurückgesetzt", "reset second factors"),
	"person.resetPassword":       shell.Text("hat einen Link für ein neues Kennwort erzeugt", "made a link that sets a new password"),
	"invitation.revoke":          shell.Text("hat eine Einladung zurückgenommen", "revoked an invitation"),
	"invitation.accept":          shell.Text("hat eine Einladung angenommen", "accepted an invitation"),
	"serviceAccount.create":      shell.Text("hat ein Dienstkonto angelegt", "created a service account"),
	"serviceAccount.set":         shell.Text("hat ein Dienstkonto geändert", "changed a service account"),
	"organization.create":        shell.Text("hat die Organisation angelegt", "created the organization"),
	"organization.set":           shell.Text("hat die Organisation geändert", "changed the organization"),
	"organization.erase":         shell.Text("hat eine Organisation gelöscht", "erased an organization"),
	"session.begin":              shell.Text("hat sich angemeldet", "signed in"),
	"session.end":                shell.Text("hat eine Sitzung beendet", "ended a session"),
	"access.end":                 shell.Text("hat Zugänge beendet", "ended access"),
	"audit.export":               shell.Text("hat das Protokoll exportiert", "exported the audit log"),
	"session.switch":             shell.Text("hat die Organisation gewechselt", "switched the organization"),
	"session.refresh":            shell.Text("hat die Anmeldung bestätigt", "confirmed the sign-in"),
	"account.forgot":             shell.Text("hat ein neues Kennwort angefordert", "asked for a new password"),
	"account.reset":              shell.Text("hat das Kennwort zurückgesetzt", "reset the password"),
	"account.password":           shell.Text("hat das Kennwort geändert", "changed the password"),
	"account.totp":               shell.Text("hat die App für Einmalcodes geändert", "changed the authenticator app"),
	"account.recoveryCodes":      shell.Text("hat neue Wiederherstellungscodes erzeugt", "renewed the recovery codes"),
	"account.sso":                shell.Text("hat eine Verbindung mit Single Sign-on geändert", "changed a link with single sign-on"),
	"account.passkey":            shell.Text("hat Passkeys geändert", "changed passkeys"),
	"account.changeEmail":        shell.Text("will die E-Mail-Adresse ändern", "asked to change the email address"),
	"account.confirmEmail":       shell.Text("hat die E-Mail-Adresse bestätigt", "confirmed the email address"),
	"profile.set":                shell.Text("hat das Profil geändert", "changed the profile"),
	"records.export":             shell.Text("hat Einträge exportiert", "exported records"),
	"records.bulkStart":          shell.Text("hat die Änderung einer ganzen Liste begonnen", "began the change of a whole list"),
	"records.bulkStop":           shell.Text("hat die Änderung einer ganzen Liste angehalten", "stopped the change of a whole list"),
	"records.bulkResume":         shell.Text("hat die Änderung einer ganzen Liste fortgesetzt", "resumed the change of a whole list"),
	"records.bulkUndo":           shell.Text("hat die Änderung einer ganzen Liste zurückgenommen", "undid the change of a whole list"),
	"records.import":             shell.Text("hat Kontakte importiert", "imported contacts"),
	"records.importFile":         shell.Text("hat eine Datei zum Importieren gesendet", "sent a file to import"),
	"records.exportContact":      shell.Text("hat alles über einen Kontakt exportiert", "exported everything about a contact"),
	"records.exportPerson":       shell.Text("hat alles über eine Person des Büros exportiert", "exported everything about a person of the office"),
	"records.exportOrganization": shell.Text("hat alles exportiert, was dem Büro gehört", "exported everything that the office owns"),
	"records.importUndo":         shell.Text("hat einen Import zurückgenommen", "undid an import"),
	// These are not acts of rows: a job has ended, or a sign-in was refused.
	"records.give":         shell.Text("hat einen privaten Datensatz von jemand anderem übergeben oder für alle sichtbar gemacht", "handed over a private record of somebody else, or showed it to all"),
	"person.handedOver":    shell.Text("hat eine Übergabe abgeschlossen", "finished a hand-over"),
	"records.bulkDone":     shell.Text("hat die Änderung einer ganzen Liste abgeschlossen", "finished the change of a whole list"),
	"records.bulkUndone":   shell.Text("hat das Zurücknehmen der Änderung einer ganzen Liste abgeschlossen", "finished undoing the change of a whole list"),
	"records.imported":     shell.Text("hat einen Import abgeschlossen", "finished an import"),
	"records.importUndone": shell.Text("hat das Zurücknehmen eines Imports abgeschlossen", "finished undoing an import"),
	"session.refuse":       shell.Text("hat vergeblich versucht, sich anzumelden", "failed to sign in"),
}

// members are the names of the members that acts change.
var members = map[string]fault.Text{
	"country": shell.Text("Land", "country"), "disabled": shell.Text("gesperrt", "disabled"), "disabledEndpoints": shell.Text("abgeschaltete Endpunkte", "disabled endpoints"),
	"email": shell.Text("E-Mail", "email"), "newEmail": shell.Text("neue E-Mail", "new email"), "endpoints": shell.Text("Endpunkte", "endpoints"),
	"environment": shell.Text("Umgebung", "environment"), "eventTypes": shell.Text("Ereignisse", "events"), "expiresAt": shell.Text("gültig bis", "valid until"),
	"factors": shell.Text("zweite Faktoren", "second factors"), "family": shell.Text("Art", "kind"), "filter": shell.Text("Filter", "filter"), "format": shell.Text("Format", "format"),
	"language": shell.Text("Sprache", "language"), "level": shell.Text("Stufe der API", "level of the API"), "lines": shell.Text("Zeilen", "lines"),
	"module": shell.Text("Modul", "module"), "name": shell.Text("Name", "name"), "networks": shell.Text("Netze", "networks"), "password": shell.Text("Kennwort", "password"),
	"principalId": shell.Text("Inhaber", "owner"), "private": shell.Text("auch private", "private ones too"), "records": shell.Text("Einträge", "records"),
	"rights": shell.Text("Rechte", "rights"), "role": shell.Text("Rolle", "role"), "scopes": shell.Text("Rechte", "rights"), "secrecy": shell.Text("Berufsgeheimnis", "secrecy"),
	"secondFactor": shell.Text("zweiter Faktor", "second factor"), "size": shell.Text("Größe", "size"), "state": shell.Text("Zustand", "state"), "status": shell.Text("Zustand", "status"), "url": shell.Text("Adresse", "address"),
	"versionPin": shell.Text("Version", "version"), "duplicates": shell.Text("Doppelte", "duplicates"), "passwords": shell.Text("Anmeldung mit Kennwort", "sign-in by password"),
	"passwordAdmin": shell.Text("Anmeldung mit Kennwort im Notfall", "sign-in by password in an emergency"), "attempts": shell.Text("Versuche", "attempts"),
	"contacts": shell.Text("Kontakte", "contacts"), "companies": shell.Text("Firmen", "companies"), "tasks": shell.Text("Aufgaben", "tasks"), "documents": shell.Text("Dokumente", "documents"),
	"created": shell.Text("angelegt", "created"), "updated": shell.Text("geändert", "updated"), "unchanged": shell.Text("unverändert", "unchanged"), "skipped": shell.Text("übersprungen", "skipped"),
	"kind": shell.Text("Änderung", "change"), "changed": shell.Text("geändert", "changed"), "ownerId": shell.Text("Eigentümer", "owner"), "visibility": shell.Text("Sichtbarkeit", "visibility"),
	"refused": shell.Text("abgelehnt", "refused"), "erased": shell.Text("inzwischen gelöscht", "erased meanwhile"), "deleted": shell.Text("wieder gelöscht", "deleted again"),
	"restored": shell.Text("zurückgesetzt", "restored"), "kept": shell.Text("behalten", "kept"), "gone": shell.Text("inzwischen gelöscht", "deleted since"),
	"webhook_endpoints": shell.Text("Webhook-Endpunkte", "webhook endpoints"), "clientId": shell.Text("Anwendung", "application"), "reason": shell.Text("Grund", "reason"),
	"applications": shell.Text("Anwendungen", "applications"), "approved": shell.Text("freigegeben", "approved"), "endedGrants": shell.Text("beendete Verbindungen", "ended connections"),
	"handedOver": shell.Text("Link gezeigt", "link shown"), "secret": shell.Text("Geheimnis", "secret"), "replaced": shell.Text("ersetzt", "replaces"),
	"endedKeys": shell.Text("widerrufene Schlüssel", "revoked keys"),
	"sessions":  shell.Text("Sitzungen", "sessions"), "passkeys": shell.Text("Passkeys", "passkeys"), "sso": shell.Text("Single Sign-on", "single sign-on"),
}

// memberParts are the words behind the point of a member.
var memberParts = map[string]fault.Text{
	"owned": shell.Text("übergeben", "handed over"), "private": shell.Text("(private) übergeben", "(private) handed over"), "assigned": shell.Text("neu zugewiesen", "assigned anew"),
	"stayed": shell.Text("(private) geblieben", "(private) stayed"),
}

// valueWords are the words for the values of a member that has a few. Those of a form are
// longer: they begin a line, and a hint explains them.
var valueWords = map[string]map[string]fault.Text{
	"role":         {"member": shell.Text("Mitarbeit", "member"), "viewer": shell.Text("nur lesen", "viewer"), "admin": shell.Text("Administration", "admin")},
	"rights":       {"write": shell.Text("schreiben", "write"), "read": shell.Text("nur lesen", "read only"), "none": shell.Text("nichts", "nothing")},
	"reason":       {"reuse": shell.Text("ein Token wurde zweimal benutzt", "a token was used twice"), "client": shell.Text("die Anwendung hat sich abgemeldet", "the application signed out")},
	"applications": {"off": shell.Text("keine", "none"), "known": shell.Text("freigegebene", "approved ones"), "all": shell.Text("alle", "all")},
	"module":       onOff,
	"passwords":    onOff,
	"level":        {"on": shell.Text("lesen und schreiben", "read and write"), "read": shell.Text("nur lesen", "read only"), "off": shell.Text("nichts", "nothing")},
	"secrecy":      {"declared": shell.Text("geklärt", "declared"), "undeclared": shell.Text("nicht geklärt", "undeclared")},
	"secondFactor": {"optional": shell.Text("optional", "optional"), "required": shell.Text("verlangt", "required")},
	"state":        {"open": shell.Text("offen", "open"), "closed": shell.Text("geschlossen", "closed"), "deleting": shell.Text("wird gelöscht", "being deleted")},
	"status": {
		"active": shell.Text("aktiv", "active"), "paused": shell.Text("pausiert", "paused"), "revoked": shell.Text("widerrufen", "revoked"), "expired": shell.Text("abgelaufen", "expired"),
		"failing": shell.Text("scheitert", "failing"), "disabled": shell.Text("abgeschaltet", "disabled"),
	},
	"language":    {"de": shell.Text("Deutsch", "German"), "en": shell.Text("Englisch", "English")},
	"environment": {"live": shell.Text("echte Daten", "live data"), "test": shell.Text("Sandbox", "sandbox")},
	"kind":        {"tag": shell.Text("Schlagwort ergänzen", "add a tag"), "untag": shell.Text("Schlagwort entfernen", "remove a tag"), "owner": shell.Text("Eigentümer", "owner"), "visibility": shell.Text("Sichtbarkeit", "visibility")},
	"visibility":  {"organization": shell.Text("alle im Büro", "everyone in the office"), "private": shell.Text("Eigentümer und Administration", "the owner and admins")},
	"duplicates":  {"skip": shell.Text("nicht ändern", "leave"), "fill": shell.Text("ergänzen", "complete"), "replace": shell.Text("überschreiben", "replace")},
}

var onOff = map[string]fault.Text{"on": shell.Text("an", "on"), "off": shell.Text("aus", "off")}

// changed says what a member was and is. Rechte: contacts:read → contacts:write.
func (p *auditPage) changed(v *shell.Request, c audit.Change) string {
	name, _, _ := strings.Cut(c.Member, ".")
	label := p.label(v, c.Member)
	was, is := p.value(v, name, c.From), p.value(v, name, c.To)
	if was == "" {
		return label + ": " + cmp.Or(is, "–")
	}
	return label + ": " + was + " → " + cmp.Or(is, "–")
}

// changes say what an act changed, a text each. Members whose values the log does not
// keep are in the last one.
func (p *auditPage) changes(v *shell.Request, l *audit.Line) []string {
	var said, hidden []string
	for _, c := range l.Changes {
		if c.From == nil && c.To == nil {
			hidden = append(hidden, p.label(v, c.Member))
		} else {
			said = append(said, p.changed(v, c))
		}
	}
	if len(hidden) > 0 {
		said = append(said, v.Words.Say("Ohne Werte protokolliert: ", "Logged without values: ")+v.Words.List(hidden))
	}
	return said
}

// label is the name of a member, or of a part of one.
func (p *auditPage) label(v *shell.Request, member string) string {
	name, rest, _ := strings.Cut(member, ".")
	text, known := members[name]
	if !known {
		return member
	}
	part, known := memberParts[rest]
	if !known {
		part = members[rest] // a family
	}
	return shell.Joined(" ", text.In(v.Words.Language), cmp.Or(part.In(v.Words.Language), rest))
}

// value draws a value of a line.
func (p *auditPage) value(v *shell.Request, member string, value any) string {
	switch value := value.(type) {
	case nil:
		return ""
	case bool:
		return map[bool]string{true: v.Words.Say("ja", "yes"), false: v.Words.Say("nein", "no")}[value]
	case float64:
		if member == "size" {
			return v.Words.Bytes(int64(value))
		}
		return strconv.FormatFloat(value, 'f', -1, 64)
	case []any:
		list := make([]string, len(value))
		for i, one := range value {
			list[i] = p.value(v, member, one)
		}
		return strings.Join(list, ", ")
	case map[string]any:
		var list []string
		for _, name := range slices.Sorted(maps.Keys(value)) {
			list = append(list, name+": "+p.value(v, member, value[name]))
		}
		return strings.Join(list, ", ")
	case string:
		if t, ok := shell.TimeOf(value); ok && strings.HasSuffix(member, "At") {
			return v.Words.Time(t)
		}
		if word, known := valueWords[member][value]; known {
			return word.In(v.Words.Language)
		}
		return cmp.Or(p.names[value], value)
	}
	return fmt.Sprint(value)
}

// exportAudit serves the log with its filters as a table. It is written while the log is
// read. The call that notes it has no idempotency key: the page stays, and its form may be
// sent again.
func exportAudit(v *shell.Request) shell.View {
	if a := shell.Do(v, exports.BeginAudit, exports.AuditInput{}); a.Fault != nil {
		return v.Failed(a.Fault)
	}
	p := auditPage{names: map[string]string{}}
	in := p.readAuditFilter(v)
	in.Limit = auditAsked
	read := func() (lines []audit.Line, more bool, err error) {
		found, err := shell.Ask(v, auditlog.List, in)
		if err == nil {
			err = nameAudited(v, found.Data, p.names)
		}
		if len(found.Data) > 0 {
			in.Before = found.Data[len(found.Data)-1].ID
		}
		return found.Data, found.HasMore, err
	}
	lines, more, err := read()
	if err != nil {
		return v.Failed(err)
	}
	write := func(w http.ResponseWriter) error {
		control, table := http.NewResponseController(w), spreadsheet.NewWriter(w)
		say := v.Words.Say
		if err := table.Row(say("Zeit", "Time"), say("Wer", "Who"), say("Was", "What"), say("Womit", "Target"), say("Änderungen", "Changes"), say("Von wo", "From"), "Request-Id"); err != nil {
			return err
		}
		for n := 0; ; {
			_ = control.SetWriteDeadline(time.Now().Add(shell.ExportPatience)) // a connection without deadlines does not need one
			for i := range lines {
				if err := table.Row(p.cells(v, &lines[i])...); err != nil {
					return err
				}
			}
			n += len(lines)
			if more && n >= auditExported {
				if err := table.Row(say("Die Datei endet hier. Ältere Zeilen erhalten Sie mit einem anderen Filter.", "The file ends here. Use another filter to get older lines.")); err != nil {
					return err
				}
			}
			if err := table.Flush(); err != nil || !more || n >= auditExported {
				return err
			}
			var err error
			if lines, more, err = read(); err != nil {
				return err
			}
		}
	}
	name := v.Words.Say("Protokoll ", "Audit log ") + v.Words.Now.In(v.Zone()).Format(time.DateOnly) + ".csv"
	return shell.Download{Name: name, MediaType: spreadsheet.MediaType, Write: write}
}

// cells are the cells of a line in the table.
func (p *auditPage) cells(v *shell.Request, l *audit.Line) []string {
	return []string{
		l.Time.Time().In(v.Zone()).Format("2006-01-02 15:04:05"), p.who(v, l), p.what(v, l), shell.Joined(" ", p.names[l.Target], l.Target),
		strings.Join(p.changes(v, l), "; "), from(v, l), l.RequestID,
	}
}
