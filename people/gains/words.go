package gains

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"kartei/access"
	"kartei/api/op"
	"kartei/integration/grant"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/id"
	"kartei/people/notify"
	"kartei/store/db"
)

// Forms holds the form of notices about access.
var Forms = map[notify.Kind]notify.Form{AccessGiven: {
	Words: func(ctx context.Context, tx db.Tx, data []byte) (notify.Words, error) {
		var f Facts
		if err := json.Unmarshal(data, &f); err != nil {
			return notify.Words{}, err
		}
		n, err := f.names(ctx, tx)
		return f.words(n), err
	},
	Mail: func(data []byte) (notify.Words, error) {
		var f Facts
		err := json.Unmarshal(data, &f)
		return f.words(names{thing: cmp.Or(f.KidShort, f.ID), organization: f.Organization}), err
	},
	Page: func(recipient string, data []byte) (notify.Page, error) {
		var f Facts
		err := json.Unmarshal(data, &f)
		return f.page(recipient), err
	},
	Farewell: fault.Text{
		DE: "Sie erhalten diese Nachricht von Kartei, weil es um einen Zugang geht, der Ihnen gehört, den Sie eingerichtet haben oder den Sie verwalten. Alles, was für Ihr Konto handelt, steht hier:",
		EN: "Kartei sent this message because it is about access that is yours, that you set up or that you administer. Everything that acts for your account is listed here:",
	},
	FarewellPath: accessPath,
}}

// accessPath is the page with everything that acts for an account.
const accessPath = "/settings/security/access"

// names are what people call the things of a notice. An email has ids in their place.
type names struct{ thing, by, to, organization string }

// names reads the present names.
func (f *Facts) names(ctx context.Context, tx db.Tx) (n names, err error) {
	o, err := access.OrganizationIn(ctx, tx, f.Organization)
	if err != nil {
		return n, err
	}
	n = names{thing: cmp.Or(f.KidShort, f.ID), organization: o.Name}
	if f.By != "" {
		if n.by, err = nameOf(ctx, tx, f.By); err != nil {
			return n, err
		}
	}
	if f.To != "" {
		if n.to, err = nameOf(ctx, tx, f.To); err != nil {
			return n, err
		}
	}
	called := ""
	switch {
	case id.Valid(id.Key, f.ID):
		var label access.Label
		label, err = access.LabelIn(ctx, tx, f.ID)
		called = label.Name
	case id.Valid(id.WebhookEndpoint, f.ID):
		err = tx.QueryRow(ctx, `select name from webhook_endpoints where organization = $1 and id = $2`, o.Number,
			f.ID).Scan(&called)
	case id.Valid(id.Client, f.ID):
		var client grant.Client
		client, err = grant.ClientByID(ctx, tx, f.ID)
		called = client.Name
	case id.Valid(id.User, f.ID), id.Valid(id.ServiceAccount, f.ID):
		called, err = nameOf(ctx, tx, f.ID)
	}
	if errors.Is(err, db.ErrNoRows) || fault.Is(err, fault.NotFound) { // it is gone, and has its id
		err = nil
	}
	n.thing = cmp.Or(called, n.thing)
	return n, err
}

// nameOf returns the name of a principal.
func nameOf(ctx context.Context, tx db.Tx, principal string) (string, error) {
	p, err := access.PrincipalIn(ctx, tx, "", principal)
	return cmp.Or(p.Name, principal), err
}

// sentences are the words of a gain: what it is called, and what happened. In them THING, KEY
// and ORG stand for the names.
type sentences struct{ title, text fault.Text }

var words = map[op.GainWord]sentences{
	op.KeyCreated: {
		fault.Text{DE: "Neuer API-Schlüssel KEY", EN: "New API key KEY"},
		fault.Text{DE: "wurde der API-Schlüssel „THING“ für ORG erstellt.", EN: "the API key “THING” was created for ORG."},
	},
	op.KeyRotated: {
		fault.Text{DE: "API-Schlüssel KEY hat ein neues Geheimnis", EN: "API key KEY has a new secret"},
		fault.Text{
			DE: "bekam der API-Schlüssel „THING“ von ORG ein neues Geheimnis. Das alte gilt nicht mehr.",
			EN: "the API key “THING” of ORG got a new secret. The old one is no longer valid.",
		},
	},
	op.KeyWidened: {
		fault.Text{
			DE: "API-Schlüssel KEY gilt länger oder von mehr Adressen",
			EN: "API key KEY works for longer or from more addresses",
		},
		fault.Text{
			DE: "wurde der API-Schlüssel „THING“ von ORG geändert. Er gilt nun länger oder von mehr Adressen aus.",
			EN: "the API key “THING” of ORG was changed. It now works for longer, or from more addresses.",
		},
	},
	op.KeyResumed: {
		fault.Text{DE: "API-Schlüssel KEY ist wieder freigegeben", EN: "API key KEY is resumed"},
		fault.Text{
			DE: "wurde der angehaltene API-Schlüssel „THING“ von ORG wieder freigegeben.",
			EN: "the paused API key “THING” of ORG was resumed.",
		},
	},
	op.ClientMade: {
		fault.Text{DE: "Neue Anwendung eines Dienstkontos", EN: "New application of a service account"},
		fault.Text{
			DE: "wurde in ORG die Anwendung „THING“ für ein Dienstkonto angelegt.",
			EN: "the application “THING” of a service account was created in ORG.",
		},
	},
	op.NewSecret: {
		fault.Text{DE: "Eine Anwendung hat ein neues Geheimnis", EN: "An application has a new secret"},
		fault.Text{
			DE: "bekam die Anwendung „THING“ von ORG ein neues Geheimnis. Das alte gilt nicht mehr.",
			EN: "the application “THING” of ORG got a new secret. The old one is no longer valid.",
		},
	},
	op.ClientKnown: {
		fault.Text{DE: "Eine Anwendung ist freigegeben", EN: "An application is approved"},
		fault.Text{
			DE: "wurde die Anwendung „THING“ für ORG freigegeben. Personen können sie nun verbinden.",
			EN: "the application “THING” was approved for ORG. People can connect it now.",
		},
	},
	op.ClientOn: {
		fault.Text{DE: "Eine Anwendung ist wieder eingeschaltet", EN: "An application is enabled again"},
		fault.Text{
			DE: "wurde die Anwendung „THING“ von ORG eingeschaltet.",
			EN: "the application “THING” of ORG was enabled.",
		},
	},
	op.HookCreated: {
		fault.Text{DE: "Neuer Webhook-Endpunkt", EN: "New webhook endpoint"},
		fault.Text{
			DE: "wurde der Webhook-Endpunkt „THING“ von ORG angelegt. Ereignisse gehen nun an seine Adresse.",
			EN: "the webhook endpoint “THING” of ORG was created. Events now go to its address.",
		},
	},
	op.HookChanged: {
		fault.Text{DE: "Ein Webhook-Endpunkt wurde geändert", EN: "A webhook endpoint was changed"},
		fault.Text{
			DE: "wurde der Webhook-Endpunkt „THING“ von ORG geändert. Ereignisse gehen nun an eine andere Adresse, oder es sind mehr.",
			EN: "the webhook endpoint “THING” of ORG was changed. Events now go to another address, or more of them.",
		},
	},
	op.HookRotated: {
		fault.Text{DE: "Ein Webhook-Endpunkt hat ein neues Geheimnis", EN: "A webhook endpoint has a new secret"},
		fault.Text{
			DE: "bekam der Webhook-Endpunkt „THING“ von ORG ein neues Geheimnis.",
			EN: "the webhook endpoint “THING” of ORG got a new secret.",
		},
	},
	op.HookEnabled: {
		fault.Text{DE: "Ein Webhook-Endpunkt ist wieder eingeschaltet", EN: "A webhook endpoint is enabled again"},
		fault.Text{
			DE: "wurde der Webhook-Endpunkt „THING“ von ORG wieder eingeschaltet.",
			EN: "the webhook endpoint “THING” of ORG was enabled again.",
		},
	},
	op.HookResent: {
		fault.Text{DE: "Ereignisse wurden noch einmal gesendet", EN: "Events were sent again"},
		fault.Text{
			DE: "wurden dem Webhook-Endpunkt „THING“ von ORG Ereignisse noch einmal gesendet.",
			EN: "events were sent to the webhook endpoint “THING” of ORG again.",
		},
	},
	op.PersonCreated: {
		fault.Text{DE: "Neue Person", EN: "New person"},
		fault.Text{DE: "wurde „THING“ in ORG angelegt.", EN: "“THING” was created in ORG."},
	},
	op.PasswordLink: {
		fault.Text{DE: "Link für ein neues Kennwort ausgegeben", EN: "A link for a new password was handed out"},
		fault.Text{
			DE: "wurde ein Link ausgegeben, mit dem sich das Kennwort von „THING“ neu setzen lässt.",
			EN: "a link that sets a new password of “THING” was handed out.",
		},
	},
	op.PersonInvited: {
		fault.Text{DE: "Jemand wurde eingeladen", EN: "Somebody was invited"},
		fault.Text{
			DE: "wurde jemand zu ORG eingeladen. Die Einladung steht unter Personen.",
			EN: "somebody was invited to ORG. The invitation is listed under people.",
		},
	},
	op.PersonWidened: {
		fault.Text{DE: "Eine Person darf mehr als bisher", EN: "A person may do more than before"},
		fault.Text{
			DE: "bekam „THING“ in ORG mehr Rechte oder eine andere Rolle, oder die Sperre wurde aufgehoben.",
			EN: "“THING” got more rights or another role in ORG, or was enabled.",
		},
	},
	op.AccountCreated: {
		fault.Text{DE: "Neues Dienstkonto", EN: "New service account"},
		fault.Text{
			DE: "wurde in ORG das Dienstkonto „THING“ angelegt.",
			EN: "the service account “THING” was created in ORG.",
		},
	},
	op.AccountWidened: {
		fault.Text{DE: "Ein Dienstkonto darf mehr als bisher", EN: "A service account may do more than before"},
		fault.Text{
			DE: "bekam das Dienstkonto „THING“ in ORG mehr Rechte oder eine andere Rolle, oder die Sperre wurde aufgehoben.",
			EN: "the service account “THING” got more rights or another role in ORG, or was enabled.",
		},
	},
	op.Opened: {
		fault.Text{DE: "Ihre Organisation wurde weiter geöffnet", EN: "Your organization was opened further"},
		fault.Text{
			DE: "wurden Einstellungen von ORG geändert, die mehr zulassen: die API, das Modul, die Anwendungen, der zweite Faktor, die Anmeldung mit Kennwort oder der Zustand.",
			EN: "settings of ORG were changed that let in more: the API, the module, the applications, the second factor, the sign-in by password, or the state.",
		},
	},
	op.HandedOver: {
		fault.Text{DE: "Datensätze wurden übergeben", EN: "Records were handed over"},
		fault.Text{
			DE: "wurden die Datensätze von „THING“ in ORG an jemand anderen übergeben.",
			EN: "the records of “THING” in ORG were handed over to somebody else.",
		},
	},
	op.RecordsGiven: {
		fault.Text{
			DE: "Datensätze haben einen anderen Eigentümer oder sind für alle sichtbar",
			EN: "Records have another owner or are visible to all",
		},
		fault.Text{
			DE: "wurde in ORG der Eigentümer oder die Sichtbarkeit von Datensätzen geändert.",
			EN: "the owner or the visibility of records of ORG was changed.",
		},
	},
	op.ListGiven: {
		fault.Text{DE: "Eine ganze Liste wird übergeben", EN: "A whole list is being handed over"},
		fault.Text{
			DE: "begann jemand, alle Einträge einer Liste von ORG zu übergeben oder für alle sichtbar zu machen, auch private von anderen.",
			EN: "somebody began to hand over all entries of a list of ORG, or to show them to all, also private ones of others.",
		},
	},
	op.AddressChanged: {
		fault.Text{DE: "Eine E-Mail-Adresse wurde geändert", EN: "An email address was changed"},
		fault.Text{
			DE: "wurde die Adresse geändert, an die „THING“ E-Mails von ORG bekommt.",
			EN: "the address was changed to which “THING” gets emails of ORG.",
		},
	},
	op.ListExported: {
		fault.Text{DE: "Viele Einträge wurden exportiert", EN: "Many entries were exported"},
		fault.Text{
			DE: "wurden Einträge von ORG als Datei exportiert. An diesem Tag waren es mehr als 200.",
			EN: "entries of ORG were exported as a file. There were more than 200 on that day.",
		},
	},
	op.PersonExported: {
		fault.Text{DE: "Auskunft über eine Person", EN: "Personal data was exported"},
		fault.Text{
			DE: "wurde exportiert, was in ORG über „THING“ gespeichert ist.",
			EN: "what is stored in ORG about “THING” was exported.",
		},
	},
	op.AllExported: {
		fault.Text{DE: "Die ganze Organisation wurde exportiert", EN: "The whole organization was exported"},
		fault.Text{
			DE: "wurde alles exportiert, was zu ORG gespeichert ist.",
			EN: "everything that is stored of ORG was exported.",
		},
	},
	op.AuditExported: {
		fault.Text{DE: "Das Protokoll wurde exportiert", EN: "The audit log was exported"},
		fault.Text{
			DE: "wurde das Protokoll von ORG als Datei exportiert.",
			EN: "the audit log of ORG was exported as a file.",
		},
	},
}

var unexpected = fault.Text{
	DE: "Haben Sie das nicht erwartet, dann nehmen Sie es zurück. Unter Einstellungen, Sicherheit, „Zugänge“ steht, was alles für Ihr Konto handelt.",
	EN: "If you do not expect this, take it back. Settings, security, “Access” shows all that acts for your account.",
}

// words returns the text of a notice.
func (f *Facts) words(n names) notify.Words {
	s, who := words[f.Word], f.who(n)
	fill, records := strings.NewReplacer("THING", n.thing, "KEY", f.KidShort, "ORG", n.organization), f.records(n)
	at := minute(f.At)
	return notify.Words{
		Title: fault.Text{DE: fill.Replace(s.title.DE), EN: fill.Replace(s.title.EN)},
		Text: fault.Text{
			DE: "Am " + at + " (UTC) " + fill.Replace(s.text.DE) + records.DE + " " + who.DE + "\n\n" + unexpected.DE,
			EN: "At " + at + " (UTC) " + fill.Replace(s.text.EN) + records.EN + " " + who.EN + "\n\n" + unexpected.EN,
		},
	}
}

// records says how many records were given, and to whom. An act on a list begins before they are
// counted.
func (f *Facts) records(n names) (said fault.Text) {
	if f.Count > 0 {
		count := strconv.FormatInt(f.Count, 10)
		said = fault.Text{DE: " Anzahl: " + count + ".", EN: " Number: " + count + "."}
	}
	if n.to != "" {
		said.DE += " Neuer Eigentümer: " + n.to + "."
		said.EN += " New owner: " + n.to + "."
	}
	return said
}

// who says who gave the access.
func (f *Facts) who(n names) fault.Text {
	switch {
	case f.Kind == string(access.Operator):
		return fault.Text{DE: "Das hat der Betreiber der Instanz getan.", EN: "The operator of the instance did that."}
	case f.Kind == string(access.Key):
		return fault.Text{
			DE: "Das hat ein Programm mit dem API-Schlüssel " + f.Short + " getan.",
			EN: "A program with the API key " + f.Short + " did that.",
		}
	case f.Kind == string(access.Token):
		return fault.Text{DE: "Das hat eine verbundene Anwendung getan.", EN: "A connected application did that."}
	case f.Own:
		return fault.Text{DE: "Das geschah in einer Ihrer Sitzungen.", EN: "That was done in a session of yours."}
	case n.by != "":
		return fault.Text{DE: "Das hat " + n.by + " getan.", EN: n.by + " did that."}
	}
	return fault.Text{
		DE: "Das hat jemand anders aus Ihrer Organisation getan. Wer, steht unter „Mitteilungen“.",
		EN: "Somebody else of your organization did that. The notifications say who.",
	}
}

// givenPages are the places of the pages of what is given away, by the beginning of its id.
var givenPages = []struct {
	prefix, path string
	name         fault.Text
}{
	{id.BulkAct, "/changes/", fault.Text{DE: "Änderung ansehen", EN: "View the change"}},
	{id.Contact, "/contacts/", fault.Text{DE: "Datensatz ansehen", EN: "View the record"}},
	{id.Company, "/companies/", fault.Text{DE: "Datensatz ansehen", EN: "View the record"}},
	{id.Task, "/tasks/", fault.Text{DE: "Datensatz ansehen", EN: "View the record"}},
	{id.Document, "/documents/", fault.Text{DE: "Datensatz ansehen", EN: "View the record"}},
}

// page is the page where the recipient takes the access back, or looks at it.
func (f *Facts) page(recipient string) notify.Page {
	at := func(path, de, en string) notify.Page {
		return notify.Page{Path: path, Name: fault.Text{DE: de, EN: en}}
	}
	kind, _, _ := strings.Cut(string(f.Word), ".")
	switch {
	case kind == "key":
		return at("/settings/interfaces/keys/"+f.ID, "Schlüssel ansehen", "View the key")
	case kind == "client":
		return at("/settings/interfaces/applications", "Verbundene Anwendungen ansehen", "View the connected applications")
	case kind == "webhook":
		return at("/settings/interfaces/webhooks/"+f.ID, "Endpunkt ansehen", "View the endpoint")
	case kind == "serviceAccount":
		return at("/settings/service-accounts/"+f.ID, "Dienstkonto ansehen", "View the service account")
	case f.Word == op.PersonInvited:
		return at("/settings/people", "Einladungen ansehen", "View the invitations")
	case f.Word == op.RecordsGiven, f.Word == op.ListGiven:
		if f.Word == op.RecordsGiven && recipient == f.Principal {
			return at("/bell", "Mitteilungen ansehen", "View the notifications")
		}
		for _, p := range givenPages {
			if strings.HasPrefix(f.ID, p.prefix) {
				return notify.Page{Path: p.path + f.ID, Name: p.name}
			}
		}
		return at("/settings/audit", "Protokoll ansehen", "View the audit log")
	case f.Word == op.Opened:
		return at("/settings/organization", "Organisation ansehen", "View the organization")
	case f.Word == op.AllExported, f.Word == op.AuditExported:
		return at("/settings/audit", "Protokoll ansehen", "View the audit log")
	case kind == "person" && recipient != f.ID, kind == "records" && recipient != f.Principal:
		return at("/settings/people/"+f.ID, "Person ansehen", "View the person")
	}
	return at(accessPath, "Zugänge ansehen", "View all access")
}

// minute formats a time for people, to the minute.
func minute(at clock.Micros) string { return strings.Replace(at.String(), "T", " ", 1)[:16] }
