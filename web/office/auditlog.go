package office

import (
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
	"kartei/web/ui"
)

// auditPage is the audit log with its filters.
type auditPage struct {
	lines []audit.Line
	// people are those who can be chosen in the filter, names all that the lines name.
	people []ui.Option
	names  map[string]string
	filter url.Values
	period period
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
var auditFilters = append([]string{"who", "word", "target"}, periodFilters...)

// auditGroups are the choices of the filter by kind of act: the first part of the word.
var auditGroups = []option{
	newOption("", "alle Vorgänge", "all acts"),
	newOption("key", "API-Schlüssel", "API keys"),
	newOption("grant", "Verbundene Anwendungen", "Connected applications"),
	newOption("client", "Anwendungen von Dienstkonten", "Applications of service accounts"),
	newOption("webhook", "Webhooks", "Webhooks"),
	newOption("person", "Personen", "People"),
	newOption("invitation", "Einladungen", "Invitations"),
	newOption("serviceAccount", "Dienstkonten", "Service accounts"),
	newOption("organization", "Organisation", "Organization"),
	newOption("session", "Anmeldungen", "Sign-ins"),
	newOption("access", "Beendete Zugänge", "Ended access"),
	newOption("account", "Kennwörter und zweite Faktoren", "Passwords and second factors"),
	newOption("records", "Importe und Exporte", "Imports and exports"),
	newOption("audit", "Exporte des Protokolls", "Exports of the audit log"),
	newOption("profile", "Profile", "Profiles"),
}

// auditPeriods are the choices of the filter by time.
var auditPeriods = []option{
	newOption("", "400 Tage", "400 days"),
	newOption("24h", "letzte 24 Stunden", "last 24 hours"),
	newOption("168h", "letzte 7 Tage", "last 7 days"),
	newOption("720h", "letzte 30 Tage", "last 30 days"),
}

// readAuditFilter reads the filters of the address, and makes the input of audit.list.
func (p *auditPage) readAuditFilter(v *request) auditlog.Input {
	q := v.URL.Query()
	q.Set("word", offered(auditGroups, q.Get("word")))
	p.period = v.periodIn(q, auditPeriods)
	p.filter = url.Values{}
	for _, name := range auditFilters {
		if value := strings.TrimSpace(q.Get(name)); value != "" {
			p.filter.Set(name, value)
		}
	}
	return auditlog.Input{Who: p.filter.Get("who"), Word: p.filter.Get("word"), Target: p.filter.Get("target"), Since: p.period.since, Until: p.period.until}
}

// showAudit serves the audit log.
func showAudit(v *request) view {
	p := auditPage{names: map[string]string{}}
	in := p.readAuditFilter(v)
	in.Limit = auditShown
	if before := v.URL.Query().Get("before"); id.Valid(id.AuditLine, before) {
		in.Before = before
		p.pages.Newer = ui.Own(p.at(""))
	}
	found, err := ask(v, auditlog.List, in)
	if err != nil {
		return v.failed(err)
	}
	p.lines = found.Data
	if found.HasMore {
		p.pages.Older = ui.Own(p.at(p.lines[len(p.lines)-1].ID))
	}
	if err := together(
		func() error { return v.nameAudited(p.lines, p.names) },
		func() error { return p.offerPeople(v) },
	); err != nil {
		return v.failed(err)
	}
	return v.settings(auditPath, auditTitle(v), auditView(v, p))
}

func auditTitle(v *request) string { return v.words.Say("Protokoll", "Audit log") }

// offerPeople reads the people whose lines can be asked for.
func (p *auditPage) offerPeople(v *request) error {
	p.people = []ui.Option{{Text: v.words.Say("alle", "everybody")}, {Value: audit.OperatorKind, Text: v.words.Say("der Betreiber", "the operator")}}
	options, err := v.principalOptions(everybody)
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
func (v *request) nameAudited(lines []audit.Line, names map[string]string) error {
	var ids []string
	for _, l := range lines {
		for _, one := range append([]string{l.PrincipalID, l.Target}, owners(l)...) {
			if id.Valid(id.User, one) || id.Valid(id.ServiceAccount, one) {
				ids = append(ids, one)
			}
		}
	}
	return v.namesOf(ids, names)
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
		return auditPath
	}
	return auditPath + "?" + q.Encode()
}

// who says who did it.
func (p *auditPage) who(v *request, l *audit.Line) string {
	switch {
	case l.CredentialKind == audit.OperatorKind:
		return v.words.Say("Der Betreiber", "The operator")
	case l.PrincipalID == "":
		return v.words.Say("Unbekannt", "Unknown")
	}
	return first(p.names[l.PrincipalID], l.PrincipalID)
}

// what says what was done.
func (p *auditPage) what(v *request, l *audit.Line) string {
	if text, known := acts[l.Word]; known {
		return text.In(v.words.Language)
	}
	return l.Word
}

// target names what it was done to. It is empty where the act says that already: the
// person's own account, their session, the organization of the log.
func (p *auditPage) target(v *request, l *audit.Line) string {
	kind, _, _ := strings.Cut(l.Target, "_")
	if l.Target == l.PrincipalID || kind == "ses" || kind == "org" {
		return ""
	}
	if name := p.names[l.Target]; name != "" {
		return name
	}
	if word, known := targetKinds[kind]; known {
		return word.In(v.words.Language) + " …" + id.Short(l.Target)
	}
	return l.Target
}

// targetKinds are the words for targets that the log keeps no name of, by the prefix of
// the id. The end of the id stands behind the word.
var targetKinds = map[string]fault.Text{
	"key": text("Schlüssel", "key"), "gra": text("Verbindung", "connection"), "cli": text("Anwendung", "application"), "whe": text("Endpunkt", "endpoint"),
	"inv": text("Einladung", "invitation"), "imp": text("Import", "import"), "blk": text("Änderung", "change"), "con": text("Kontakt", "contact"),
	"usr": text("Person", "person"), "svc": text("Dienstkonto", "service account"), "job": text("Auftrag", "job"),
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
	"key": keysPath + "/", "gra": applicationsPath + "#", "apr": applicationsPath + "#", "cli": applicationsPath + "#", "whe": "/settings/interfaces/webhooks/", "usr": "/settings/people/", "svc": "/settings/service-accounts/",
}

// from says by which door, and from where.
func from(v *request, l *audit.Line) string {
	door := map[string]string{"web": v.words.Say("im Browser", "in the browser"), "admin": v.words.Say("auf dem Server", "on the server"), "rest": "API", "oauth": v.words.Say("durch die Anwendung", "by the application"), "job": v.words.Say("als Auftrag", "as a job")}[l.Door]
	return joined(" · ", first(door, l.Door), l.Address)
}

// acts are the words of the audit log, after the name of who did it.
var acts = map[string]fault.Text{
	"key.create":                 text("hat einen API-Schlüssel angelegt", "created an API key"),
	"key.update":                 text("hat einen API-Schlüssel geändert", "changed an API key"),
	"key.pause":                  text("hat einen API-Schlüssel pausiert", "paused an API key"),
	"key.resume":                 text("hat einen API-Schlüssel fortgesetzt", "resumed an API key"),
	"key.revoke":                 text("hat einen API-Schlüssel widerrufen", "revoked an API key"),
	"key.rotate":                 text("hat das Geheimnis eines API-Schlüssels erneuert", "rotated the secret of an API key"),
	"grant.create":               text("hat eine Anwendung verbunden", "connected an application"),
	"grant.end":                  text("hat eine Anwendung getrennt", "disconnected an application"),
	"grant.renew":                text("hat eine Verbindung mit einer Anwendung verlängert", "renewed a connection with an application"),
	"client.approve":             text("hat eine Anwendung freigegeben", "approved an application"),
	"client.disapprove":          text("hat die Freigabe einer Anwendung zurückgenommen oder verweigert", "took back or refused the approval of an application"),
	"client.create":              text("hat eine Anwendung für ein Dienstkonto angelegt", "created an application for a service account"),
	"client.rotate":              text("hat das Geheimnis einer Anwendung erneuert", "rotated the secret of an application"),
	"client.set":                 text("hat eine Anwendung gesperrt oder freigegeben", "disabled or enabled an application"),
	"webhook.create":             text("hat einen Endpunkt angelegt", "created an endpoint"),
	"webhook.change":             text("hat einen Endpunkt geändert", "changed an endpoint"),
	"webhook.delete":             text("hat einen Endpunkt gelöscht", "deleted an endpoint"),
	"webhook.rotate":             text("hat das Geheimnis eines Endpunkts erneuert", "rotated the secret of an endpoint"),
	"webhook.test":               text("hat ein Testereignis gesendet", "sent a test event"),
	"webhook.enable":             text("hat einen Endpunkt eingeschaltet", "enabled an endpoint"),
	"webhook.resend":             text("hat Ereignisse erneut gesendet", "sent events again"),
	"person.create":              text("hat eine Person angelegt", "created a person"),
	"person.set":                 text("hat eine Person geändert", "changed a person"),
	"person.handOver":            text("hat Einträge übergeben", "handed records over"),
	"person.erase":               text("hat eine Person gelöscht", "erased a person"),
	"person.invite":              text("hat jemanden eingeladen", "invited somebody"),
	"person.unlink":              text("hat eine Verbindung mit Single Sign-on getrennt", "removed a link with single sign-on"),
	"person.resetFactors":        text("hat zweite Faktoren zurückgesetzt", "reset second factors"),
	"person.resetPassword":       text("hat einen Link für ein neues Kennwort erzeugt", "made a link that sets a new password"),
	"invitation.revoke":          text("hat eine Einladung zurückgenommen", "revoked an invitation"),
	"invitation.accept":          text("hat eine Einladung angenommen", "accepted an invitation"),
	"serviceAccount.create":      text("hat ein Dienstkonto angelegt", "created a service account"),
	"serviceAccount.set":         text("hat ein Dienstkonto geändert", "changed a service account"),
	"organization.create":        text("hat die Organisation angelegt", "created the organization"),
	"organization.set":           text("hat die Organisation geändert", "changed the organization"),
	"organization.erase":         text("hat eine Organisation gelöscht", "erased an organization"),
	"session.begin":              text("hat sich angemeldet", "signed in"),
	"session.end":                text("hat eine Sitzung beendet", "ended a session"),
	"access.end":                 text("hat Zugänge beendet", "ended access"),
	"audit.export":               text("hat das Protokoll exportiert", "exported the audit log"),
	"session.switch":             text("hat die Organisation gewechselt", "switched the organization"),
	"session.refresh":            text("hat die Anmeldung bestätigt", "confirmed the sign-in"),
	"account.forgot":             text("hat ein neues Kennwort angefordert", "asked for a new password"),
	"account.reset":              text("hat das Kennwort zurückgesetzt", "reset the password"),
	"account.password":           text("hat das Kennwort geändert", "changed the password"),
	"account.totp":               text("hat die App für Einmalcodes geändert", "changed the authenticator app"),
	"account.recoveryCodes":      text("hat neue Wiederherstellungscodes erzeugt", "renewed the recovery codes"),
	"account.sso":                text("hat eine Verbindung mit Single Sign-on geändert", "changed a link with single sign-on"),
	"account.passkey":            text("hat Passkeys geändert", "changed passkeys"),
	"account.changeEmail":        text("will die E-Mail-Adresse ändern", "asked to change the email address"),
	"account.confirmEmail":       text("hat die E-Mail-Adresse bestätigt", "confirmed the email address"),
	"profile.set":                text("hat das Profil geändert", "changed the profile"),
	"records.export":             text("hat Einträge exportiert", "exported records"),
	"records.bulkStart":          text("hat die Änderung einer ganzen Liste begonnen", "began the change of a whole list"),
	"records.bulkStop":           text("hat die Änderung einer ganzen Liste angehalten", "stopped the change of a whole list"),
	"records.bulkResume":         text("hat die Änderung einer ganzen Liste fortgesetzt", "resumed the change of a whole list"),
	"records.bulkUndo":           text("hat die Änderung einer ganzen Liste zurückgenommen", "undid the change of a whole list"),
	"records.import":             text("hat Kontakte importiert", "imported contacts"),
	"records.importFile":         text("hat eine Datei zum Importieren gesendet", "sent a file to import"),
	"records.exportContact":      text("hat alles über einen Kontakt exportiert", "exported everything about a contact"),
	"records.exportPerson":       text("hat alles über eine Person des Büros exportiert", "exported everything about a person of the office"),
	"records.exportOrganization": text("hat alles exportiert, was dem Büro gehört", "exported everything that the office owns"),
	"records.importUndo":         text("hat einen Import zurückgenommen", "undid an import"),
	// These are not acts of rows: a job has ended, or a sign-in was refused.
	"records.give":         text("hat einen privaten Datensatz von jemand anderem übergeben oder für alle sichtbar gemacht", "handed over a private record of somebody else, or showed it to all"),
	"person.handedOver":    text("hat eine Übergabe abgeschlossen", "finished a hand-over"),
	"records.bulkDone":     text("hat die Änderung einer ganzen Liste abgeschlossen", "finished the change of a whole list"),
	"records.bulkUndone":   text("hat das Zurücknehmen der Änderung einer ganzen Liste abgeschlossen", "finished undoing the change of a whole list"),
	"records.imported":     text("hat einen Import abgeschlossen", "finished an import"),
	"records.importUndone": text("hat das Zurücknehmen eines Imports abgeschlossen", "finished undoing an import"),
	"session.refuse":       text("hat vergeblich versucht, sich anzumelden", "failed to sign in"),
}

// members are the names of the members that acts change.
var members = map[string]fault.Text{
	"country": text("Land", "country"), "disabled": text("gesperrt", "disabled"), "disabledEndpoints": text("abgeschaltete Endpunkte", "disabled endpoints"),
	"email": text("E-Mail", "email"), "newEmail": text("neue E-Mail", "new email"), "endpoints": text("Endpunkte", "endpoints"),
	"environment": text("Umgebung", "environment"), "eventTypes": text("Ereignisse", "events"), "expiresAt": text("gültig bis", "valid until"),
	"factors": text("zweite Faktoren", "second factors"), "family": text("Art", "kind"), "filter": text("Filter", "filter"), "format": text("Format", "format"),
	"language": text("Sprache", "language"), "level": text("Stufe der API", "level of the API"), "lines": text("Zeilen", "lines"),
	"module": text("Modul", "module"), "name": text("Name", "name"), "networks": text("Netze", "networks"), "password": text("Kennwort", "password"),
	"principalId": text("Inhaber", "owner"), "private": text("auch private", "private ones too"), "records": text("Einträge", "records"),
	"rights": text("Rechte", "rights"), "role": text("Rolle", "role"), "scopes": text("Rechte", "rights"), "secrecy": text("Berufsgeheimnis", "secrecy"),
	"secondFactor": text("zweiter Faktor", "second factor"), "size": text("Größe", "size"), "state": text("Zustand", "state"), "status": text("Zustand", "status"), "url": text("Adresse", "address"),
	"versionPin": text("Version", "version"), "duplicates": text("Doppelte", "duplicates"), "passwords": text("Anmeldung mit Kennwort", "sign-in by password"),
	"passwordAdmin": text("Anmeldung mit Kennwort im Notfall", "sign-in by password in an emergency"), "attempts": text("Versuche", "attempts"),
	"contacts": text("Kontakte", "contacts"), "companies": text("Firmen", "companies"), "tasks": text("Aufgaben", "tasks"), "documents": text("Dokumente", "documents"),
	"created": text("angelegt", "created"), "updated": text("geändert", "updated"), "unchanged": text("unverändert", "unchanged"), "skipped": text("übersprungen", "skipped"),
	"kind": text("Änderung", "change"), "changed": text("geändert", "changed"), "ownerId": text("Eigentümer", "owner"), "visibility": text("Sichtbarkeit", "visibility"),
	"refused": text("abgelehnt", "refused"), "erased": text("inzwischen gelöscht", "erased meanwhile"), "deleted": text("wieder gelöscht", "deleted again"),
	"restored": text("zurückgesetzt", "restored"), "kept": text("behalten", "kept"), "gone": text("inzwischen gelöscht", "deleted since"),
	"webhook_endpoints": text("Webhook-Endpunkte", "webhook endpoints"), "clientId": text("Anwendung", "application"), "reason": text("Grund", "reason"),
	"applications": text("Anwendungen", "applications"), "approved": text("freigegeben", "approved"), "endedGrants": text("beendete Verbindungen", "ended connections"),
	"handedOver": text("Link gezeigt", "link shown"), "secret": text("Geheimnis", "secret"), "replaced": text("ersetzt", "replaces"),
	"endedKeys": text("widerrufene Schlüssel", "revoked keys"),
	"sessions":  text("Sitzungen", "sessions"), "passkeys": text("Passkeys", "passkeys"), "sso": text("Single Sign-on", "single sign-on"),
}

// memberParts are the words behind the point of a member.
var memberParts = map[string]fault.Text{
	"owned": text("übergeben", "handed over"), "private": text("(private) übergeben", "(private) handed over"), "assigned": text("neu zugewiesen", "assigned anew"),
	"stayed": text("(private) geblieben", "(private) stayed"),
}

// valueWords are the words for the values of a member that has a few. Those of a form are
// longer: they begin a line, and a hint explains them.
var valueWords = map[string]map[string]fault.Text{
	"role":         {"member": text("Mitarbeit", "member"), "viewer": text("nur lesen", "viewer"), "admin": text("Administration", "admin")},
	"rights":       {"write": text("schreiben", "write"), "read": text("nur lesen", "read only"), "none": text("nichts", "nothing")},
	"reason":       {"reuse": text("ein Token wurde zweimal benutzt", "a token was used twice"), "client": text("die Anwendung hat sich abgemeldet", "the application signed out")},
	"applications": {"off": text("keine", "none"), "known": text("freigegebene", "approved ones"), "all": text("alle", "all")},
	"module":       onOff,
	"passwords":    onOff,
	"level":        {"on": text("lesen und schreiben", "read and write"), "read": text("nur lesen", "read only"), "off": text("nichts", "nothing")},
	"secrecy":      {"declared": text("geklärt", "declared"), "undeclared": text("nicht geklärt", "undeclared")},
	"secondFactor": {"optional": text("optional", "optional"), "required": text("verlangt", "required")},
	"state":        {"open": text("offen", "open"), "closed": text("geschlossen", "closed"), "deleting": text("wird gelöscht", "being deleted")},
	"status": {
		"active": text("aktiv", "active"), "paused": text("pausiert", "paused"), "revoked": text("widerrufen", "revoked"), "expired": text("abgelaufen", "expired"),
		"failing": text("scheitert", "failing"), "disabled": text("abgeschaltet", "disabled"),
	},
	"language":    {"de": text("Deutsch", "German"), "en": text("Englisch", "English")},
	"environment": {"live": text("echte Daten", "live data"), "test": text("Sandbox", "sandbox")},
	"kind":        {"tag": text("Schlagwort ergänzen", "add a tag"), "untag": text("Schlagwort entfernen", "remove a tag"), "owner": text("Eigentümer", "owner"), "visibility": text("Sichtbarkeit", "visibility")},
	"visibility":  {"organization": text("alle im Büro", "everyone in the office"), "private": text("Eigentümer und Administration", "the owner and admins")},
	"duplicates":  {"skip": text("nicht ändern", "leave"), "fill": text("ergänzen", "complete"), "replace": text("überschreiben", "replace")},
}

var onOff = map[string]fault.Text{"on": text("an", "on"), "off": text("aus", "off")}

// changed says what a member was and is. Rechte: contacts:read → contacts:write.
func (p *auditPage) changed(v *request, c audit.Change) string {
	name, _, _ := strings.Cut(c.Member, ".")
	label := p.label(v, c.Member)
	was, is := p.value(v, name, c.From), p.value(v, name, c.To)
	if was == "" {
		return label + ": " + first(is, "–")
	}
	return label + ": " + was + " → " + first(is, "–")
}

// changes say what an act changed, a text each. Members whose values the log does not
// keep are in the last one.
func (p *auditPage) changes(v *request, l *audit.Line) []string {
	var said, hidden []string
	for _, c := range l.Changes {
		if c.From == nil && c.To == nil {
			hidden = append(hidden, p.label(v, c.Member))
		} else {
			said = append(said, p.changed(v, c))
		}
	}
	if len(hidden) > 0 {
		said = append(said, v.words.Say("Ohne Werte protokolliert: ", "Logged without values: ")+v.words.List(hidden))
	}
	return said
}

// label is the name of a member, or of a part of one.
func (p *auditPage) label(v *request, member string) string {
	name, rest, _ := strings.Cut(member, ".")
	text, known := members[name]
	if !known {
		return member
	}
	part, known := memberParts[rest]
	if !known {
		part = members[rest] // a family
	}
	return joined(" ", text.In(v.words.Language), first(part.In(v.words.Language), rest))
}

// value draws a value of a line.
func (p *auditPage) value(v *request, member string, value any) string {
	switch value := value.(type) {
	case nil:
		return ""
	case bool:
		return map[bool]string{true: v.words.Say("ja", "yes"), false: v.words.Say("nein", "no")}[value]
	case float64:
		if member == "size" {
			return v.words.Bytes(int64(value))
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
		if t, ok := timeOf(value); ok && strings.HasSuffix(member, "At") {
			return v.words.Time(t)
		}
		if word, known := valueWords[member][value]; known {
			return word.In(v.words.Language)
		}
		return first(p.names[value], value)
	}
	return fmt.Sprint(value)
}

// exportAudit serves the log with its filters as a table. It is written while the log is
// read. The call that notes it has no idempotency key: the page stays, and its form may be
// sent again.
func exportAudit(v *request) view {
	if a := do(v, exports.BeginAudit, exports.AuditInput{}); a.Fault != nil {
		return v.failed(a.Fault)
	}
	p := auditPage{names: map[string]string{}}
	in := p.readAuditFilter(v)
	in.Limit = auditAsked
	read := func() (lines []audit.Line, more bool, err error) {
		found, err := ask(v, auditlog.List, in)
		if err == nil {
			err = v.nameAudited(found.Data, p.names)
		}
		if len(found.Data) > 0 {
			in.Before = found.Data[len(found.Data)-1].ID
		}
		return found.Data, found.HasMore, err
	}
	lines, more, err := read()
	if err != nil {
		return v.failed(err)
	}
	write := func(w http.ResponseWriter) error {
		control, table := http.NewResponseController(w), spreadsheet.NewWriter(w)
		say := v.words.Say
		if err := table.Row(say("Zeit", "Time"), say("Wer", "Who"), say("Was", "What"), say("Womit", "Target"), say("Änderungen", "Changes"), say("Von wo", "From"), "Request-Id"); err != nil {
			return err
		}
		for n := 0; ; {
			_ = control.SetWriteDeadline(time.Now().Add(exportPatience)) // a connection without deadlines does not need one
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
	name := v.words.Say("Protokoll ", "Audit log ") + v.words.Now.In(v.zone()).Format(time.DateOnly) + ".csv"
	return view{status: http.StatusOK, written: &written{name: name, mediaType: spreadsheet.MediaType, write: write}}
}

// cells are the cells of a line in the table.
func (p *auditPage) cells(v *request, l *audit.Line) []string {
	return []string{
		l.Time.Time().In(v.zone()).Format("2006-01-02 15:04:05"), p.who(v, l), p.what(v, l), joined(" ", p.names[l.Target], l.Target),
		strings.Join(p.changes(v, l), "; "), from(v, l), l.RequestID,
	}
}
