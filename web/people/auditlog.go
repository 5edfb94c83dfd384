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

	"kartei/kit/i18n"
	"kartei/kit/id"
	spreadsheet "kartei/kit/sheet"
	"kartei/people/audit"
	"kartei/people/auditlog"
	"kartei/transfer/exports"
	"kartei/web/shell"
	"kartei/web/ui"
)

// auditPage has the data of the audit log with its filters.
type auditPage struct {
	lines []audit.Line
	// people are the options of the filter. names has the names of all people in the lines, by id.
	people []ui.Option
	names  map[string]string
	filter url.Values
	period shell.Period
	pages  ui.Pages
}

const (
	auditShown = 50
	// auditAsked is the number of lines that one call reads for an export. auditExported is the
	// maximum number of lines in the file.
	auditAsked    = 1000
	auditExported = 50_000
)

// auditFilters are the names of the query parameters that filter the log.
var auditFilters = append([]string{"who", "word", "target"}, shell.PeriodFilters...)

// auditGroups are the options of the filter by kind of act, which is the first part of the audit
// word.
var auditGroups = []shell.Option{
	shell.NewOption("", "all acts"),
	shell.NewOption("key", "API keys"),
	shell.NewOption("grant", "Connected applications"),
	shell.NewOption("client", "Applications of service accounts"),
	shell.NewOption("webhook", "Webhooks"),
	shell.NewOption("person", "People"),
	shell.NewOption("invitation", "Invitations"),
	shell.NewOption("serviceAccount", "Service accounts"),
	shell.NewOption("organization", "Organization"),
	shell.NewOption("session", "Sign-ins"),
	shell.NewOption("access", "Ended access"),
	shell.NewOption("account", "Passwords and second factors"),
	shell.NewOption("records", "Imports and exports"),
	shell.NewOption("audit", "Exports of the audit log"),
	shell.NewOption("profile", "Profiles"),
}

// auditPeriods are the options of the filter by time.
var auditPeriods = []shell.Option{
	shell.NewOption("", "400 days"),
	shell.NewOption("24h", "last 24 hours"),
	shell.NewOption("168h", "last 7 days"),
	shell.NewOption("720h", "last 30 days"),
}

// readAuditFilter reads the filters from the query. It returns them as the input of auditlog.List.
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

func auditTitle(v *shell.Request) string { return v.Words.Say("Audit log") }

// offerPeople reads the options of the filter by person.
func (p *auditPage) offerPeople(v *shell.Request) error {
	p.people = []ui.Option{{Text: v.Words.Say("everybody")}, {Value: audit.OperatorKind, Text: v.Words.Say("the operator [subject]")}}
	options, err := PrincipalOptions(v, Everybody)
	if err != nil {
		return err
	}
	p.people = append(p.people, options...)
	if who := p.filter.Get("who"); !slices.ContainsFunc(p.people, func(o ui.Option) bool { return o.Value == who }) {
		p.people = append(p.people, ui.Option{Value: who, Text: who}) // not in the first page, or erased
	}
	return nil
}

// nameAudited adds the names of all people in the lines to names.
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

// owners returns the ids of people and service accounts in the changes of a line.
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

// at returns the address of the log with its filters. If before is set, the page has only lines
// before the line with this id.
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

// who returns the name of the person who acted.
func (p *auditPage) who(v *shell.Request, l *audit.Line) string {
	switch {
	case l.CredentialKind == audit.OperatorKind:
		return v.Words.Say("The operator")
	case l.PrincipalID == "":
		return v.Words.Say("Unknown")
	}
	return cmp.Or(p.names[l.PrincipalID], l.PrincipalID)
}

// what returns the text of the act.
func (p *auditPage) what(v *shell.Request, l *audit.Line) string {
	if text, known := acts[l.Word]; known {
		return v.Words.Say(text)
	}
	return l.Word
}

// target returns the name of the object of the act. It is empty if the text of the act is clear
// without it: for a session, an organization or the person's own account.
func (p *auditPage) target(v *shell.Request, l *audit.Line) string {
	kind, _, _ := strings.Cut(l.Target, "_")
	if l.Target == l.PrincipalID || kind == "ses" || kind == "org" {
		return ""
	}
	if name := p.names[l.Target]; name != "" {
		return name
	}
	if word, known := targetKinds[kind]; known {
		return v.Words.Say(word) + " …" + id.Short(l.Target)
	}
	return l.Target
}

// targetKinds are the texts for targets without a name in the log, by the prefix of the id. The
// last characters of the id follow the text.
var targetKinds = map[string]i18n.Text{
	"key": "key", "gra": "connection", "cli": "application", "whe": "endpoint",
	"inv": "invitation", "imp": "import", "blk": "change [noun]", "con": "contact",
	"usr": "person", "svc": "service account", "job": "job",
}

// href returns the address of the target's page. It is empty if there is no such page.
func (p *auditPage) href(l *audit.Line) templ.SafeURL {
	kind, _, _ := strings.Cut(l.Target, "_")
	if place, known := targetPages[kind]; known {
		return ui.Own(place + l.Target)
	}
	return ""
}

// targetPages are the beginnings of the addresses of targets, by the prefix of the id.
var targetPages = map[string]string{
	"key": shell.KeysPath + "/", "gra": shell.ApplicationsPath + "#", "apr": shell.ApplicationsPath + "#", "cli": shell.ApplicationsPath + "#", "whe": "/settings/interfaces/webhooks/", "usr": "/settings/people/", "svc": "/settings/service-accounts/",
}

// from returns the interface and the IP address of the call.
func from(v *shell.Request, l *audit.Line) string {
	door := map[string]string{"web": v.Words.Say("in the browser"), "admin": v.Words.Say("on the server"), "rest": "API", "oauth": v.Words.Say("by the application"), "job": v.Words.Say("as a job")}[l.Door]
	return shell.Joined(" · ", cmp.Or(door, l.Door), l.Address)
}

// acts are the texts of audit words. Each text follows the name of the person who acted.
var acts = map[string]i18n.Text{
	"key.create":                 "created an API key",
	"key.update":                 "changed an API key",
	"key.pause":                  "paused an API key",
	"key.resume":                 "resumed an API key",
	"key.revoke":                 "revoked an API key",
	"key.rotate":                 "rotated the secret of an API key",
	"grant.create":               "connected an application",
	"grant.end":                  "disconnected an application",
	"grant.renew":                "renewed a connection with an application",
	"client.approve":             "approved an application",
	"client.disapprove":          "took back or refused the approval of an application",
	"client.create":              "created an application for a service account",
	"client.rotate":              "rotated the secret of an application",
	"client.set":                 "disabled or enabled an application",
	"webhook.create":             "created an endpoint",
	"webhook.change":             "changed an endpoint",
	"webhook.delete":             "deleted an endpoint",
	"webhook.rotate":             "rotated the secret of an endpoint",
	"webhook.test":               "sent a test event",
	"webhook.enable":             "enabled an endpoint",
	"webhook.resend":             "sent events again",
	"person.create":              "created a person",
	"person.set":                 "changed a person",
	"person.handOver":            "handed records over",
	"person.erase":               "erased a person",
	"person.invite":              "invited somebody",
	"person.unlink":              "removed a link with single sign-on",
	"person.resetFactors":        "reset second factors",
	"person.resetPassword":       "made a link that sets a new password",
	"invitation.revoke":          "revoked an invitation",
	"invitation.accept":          "accepted an invitation",
	"serviceAccount.create":      "created a service account",
	"serviceAccount.set":         "changed a service account",
	"organization.create":        "created the organization",
	"organization.set":           "changed the organization",
	"organization.erase":         "erased an organization",
	"session.begin":              "signed in",
	"session.end":                "ended a session",
	"access.end":                 "ended access",
	"audit.export":               "exported the audit log",
	"session.switch":             "switched the organization",
	"session.refresh":            "confirmed the sign-in",
	"account.forgot":             "asked for a new password",
	"account.reset":              "reset the password",
	"account.password":           "changed the password",
	"account.totp":               "changed the authenticator app",
	"account.recoveryCodes":      "renewed the recovery codes",
	"account.sso":                "changed a link with single sign-on",
	"account.passkey":            "changed passkeys",
	"account.changeEmail":        "asked to change the email address",
	"account.confirmEmail":       "confirmed the email address",
	"profile.set":                "changed the profile",
	"records.export":             "exported records",
	"records.checkConflicts":     "checked names for conflicts of interest",
	"records.bulkStart":          "began the change of a whole list",
	"records.bulkStop":           "stopped the change of a whole list",
	"records.bulkResume":         "resumed the change of a whole list",
	"records.bulkUndo":           "undid the change of a whole list",
	"records.undoMerge":          "undid a merge",
	"records.dismissPair":        "said whether two records are the same",
	"records.import":             "imported contacts",
	"records.importFile":         "sent a file to import",
	"records.exportContact":      "exported everything about a contact",
	"records.exportPerson":       "exported everything about a person of the office",
	"records.exportOrganization": "exported everything that the office owns",
	"records.importUndo":         "undid an import",
	// No operation writes these words: a job has ended, or a sign-in was refused.
	"records.give":         "handed over a private record of somebody else, or showed it to all",
	"person.handedOver":    "finished a hand-over",
	"records.bulkDone":     "finished the change of a whole list",
	"records.bulkUndone":   "finished undoing the change of a whole list",
	"records.imported":     "finished an import",
	"records.importUndone": "finished undoing an import",
	"session.refuse":       "failed to sign in",
}

// members are the labels of the members that acts change.
var members = map[string]i18n.Text{
	"country": "country", "disabled": "disabled", "disabledEndpoints": "disabled endpoints",
	"email": "email", "newEmail": "new email", "endpoints": "endpoints",
	"environment": "environment", "eventTypes": "events", "expiresAt": "valid until",
	"factors": "second factors", "family": "kind", "filter": "filter", "format": "format",
	"language": "language", "level": "level of the API", "lines": "lines",
	"module": "module", "name": "name", "networks": "networks", "password": "password",
	"principalId": "owner", "private": "private ones too", "records": "records",
	"rights": "rights", "role": "role", "scopes": "rights", "secrecy": "secrecy",
	"secondFactor": "second factor", "size": "size", "state": "state", "status": "status", "url": "address",
	"versionPin": "version", "duplicates": "duplicates", "passwords": "sign-in by password",
	"passwordAdmin": "sign-in by password in an emergency", "attempts": "attempts",
	"contacts": "contacts", "companies": "companies", "tasks": "tasks", "documents": "documents",
	"created": "created", "updated": "updated", "unchanged": "unchanged", "skipped": "skipped",
	"kind": "change [noun]", "changed": "changed", "ownerId": "owner [of a record]", "visibility": "visibility",
	"refused": "refused", "erased": "erased meanwhile", "deleted": "deleted again",
	"restored": "restored", "kept": "kept", "gone": "deleted since",
	"webhook_endpoints": "webhook endpoints", "clientId": "application", "reason": "reason",
	"applications": "applications", "approved": "approved", "endedGrants": "ended connections",
	"handedOver": "link shown", "secret": "secret", "replaced": "replaces",
	"endedKeys": "revoked keys",
	"hits":      "hits", "hidden": "hits the person may not see",
	"sessions": "sessions", "passkeys": "passkeys", "sso": "single sign-on",
}

// memberParts are the labels of the last part of a member's name.
var memberParts = map[string]i18n.Text{
	"owned": "handed over", "private": "(private) handed over", "assigned": "assigned anew",
	"stayed": "(private) stayed",
}

// valueWords are the texts for the values of members with few values. Forms have other texts for
// these values.
var valueWords = map[string]map[string]i18n.Text{
	"role":         {"member": "member", "viewer": "viewer", "admin": "admin"},
	"rights":       {"write": "write", "read": "read only", "none": "nothing"},
	"reason":       {"reuse": "a token was used twice", "client": "the application signed out"},
	"applications": {"off": "none", "known": "approved ones", "all": "all"},
	"module":       onOff,
	"passwords":    onOff,
	"level":        {"on": "read and write", "read": "read only", "off": "nothing"},
	"secrecy":      {"declared": "declared", "undeclared": "undeclared"},
	"secondFactor": {"optional": "optional", "required": "required"},
	"state":        {"open": "open", "closed": "closed", "deleting": "being deleted"},
	"status": {
		"active": "active", "paused": "paused [a key]", "revoked": "revoked", "expired": "expired",
		"failing": "failing", "disabled": "disabled [endpoint]",
	},
	"language":    {"de": "German", "en": "English"},
	"environment": {"live": "live data", "test": "sandbox"},
	"kind":        {"tag": "add a tag", "untag": "remove a tag", "owner": "owner [of a record]", "visibility": "visibility"},
	"visibility":  {"organization": "everyone in the office", "private": "the owner and admins"},
	"duplicates":  {"skip": "leave", "fill": "complete", "replace": "replace"},
}

var onOff = map[string]i18n.Text{"on": "on", "off": "off"}

// changed returns the old and the new value of a member: “Rechte: contacts:read → contacts:write”.
func (p *auditPage) changed(v *shell.Request, c audit.Change) string {
	name, _, _ := strings.Cut(c.Member, ".")
	label := p.label(v, c.Member)
	was, is := p.value(v, name, c.From), p.value(v, name, c.To)
	if was == "" {
		return label + ": " + cmp.Or(is, "–")
	}
	return label + ": " + was + " → " + cmp.Or(is, "–")
}

// changes returns the changes of an act as texts. The last text lists the members whose values are
// not in the log.
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
		said = append(said, v.Words.Say("Logged without values: %s", v.Words.List(hidden)))
	}
	return said
}

// label returns the label of a member, or of a part of a member.
func (p *auditPage) label(v *shell.Request, member string) string {
	name, rest, _ := strings.Cut(member, ".")
	text, known := members[name]
	if !known {
		return member
	}
	part, known := memberParts[rest]
	if !known {
		part = members[rest] // a record family
	}
	return shell.Joined(" ", v.Words.Say(text), cmp.Or(v.Words.Say(part), rest))
}

// value returns a value of a line as a text.
func (p *auditPage) value(v *shell.Request, member string, value any) string {
	switch value := value.(type) {
	case nil:
		return ""
	case bool:
		return map[bool]string{true: v.Words.Say("yes"), false: v.Words.Say("no")}[value]
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
			return v.Words.Say(word)
		}
		return cmp.Or(p.names[value], value)
	}
	return fmt.Sprint(value)
}

// exportAudit serves the filtered log as a CSV table. The table is written while the log is read.
// The call that records the export has no Idempotency-Key, because the page stays open and its form
// may be sent again.
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
		if err := table.Row(say("Time"), say("Who"), say("What"), say("Target"), say("Changes"), say("From"), "Request-Id"); err != nil {
			return err
		}
		for n := 0; ; {
			_ = control.SetWriteDeadline(time.Now().Add(shell.ExportPatience)) // an error means no deadlines
			for i := range lines {
				if err := table.Row(p.cells(v, &lines[i])...); err != nil {
					return err
				}
			}
			n += len(lines)
			if more && n >= auditExported {
				if err := table.Row(say("The file ends here. Use another filter to get older lines.")); err != nil {
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
	name := v.Words.Say("Audit log %s.csv", v.Words.Now.In(v.Zone()).Format(time.DateOnly))
	return shell.Download{Name: name, MediaType: spreadsheet.MediaType, Write: write}
}

// cells returns the cells of a line in the table.
func (p *auditPage) cells(v *shell.Request, l *audit.Line) []string {
	return []string{
		l.Time.Time().In(v.Zone()).Format("2006-01-02 15:04:05"), p.who(v, l), p.what(v, l), shell.Joined(" ", p.names[l.Target], l.Target),
		strings.Join(p.changes(v, l), "; "), from(v, l), l.RequestID,
	}
}
