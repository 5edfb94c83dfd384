package exports

import (
	"context"

	"kartei/access"
	"kartei/kit/fault"
	"kartei/people/audit"
	"kartei/record/company"
	"kartei/record/document"
	"kartei/store/db"
)

var companies = family{company.Companies.Family, company.Companies.Walk}

// organizationStages are the stages of an export of an organization. The files of the
// documents, which are most of it, come last.
var organizationStages = []stage{
	readMe, aboutOrganization, people, keys, endpoints,
	contacts.records("contacts.jsonl"), companies.records("companies.jsonl"), tasks.records("tasks.jsonl"),
	documents.records("documents.jsonl"),
	contacts.histories("contacts-history.jsonl"), companies.histories("companies-history.jsonl"),
	tasks.histories("tasks-history.jsonl"), documents.histories("documents-history.jsonl"),
	organizationAudit, organizationCalls, files,
}

func aboutOrganization(ctx context.Context, r *partsReader) ([]document.File, error) {
	name, err := access.OrganizationID(ctx, r.Tx, r.Organization)
	if err != nil {
		return nil, err
	}
	o, err := r.FindOrganization(ctx, name)
	if err != nil {
		return nil, err
	}
	return nil, r.addJSON("organization.json", o)
}

const selectPeople = access.PrincipalColumns + ` where p.organization = $1 and p.id > $2 order by p.id limit $3`

// people writes the people and the service accounts. For a sandbox they are the live
// organization's.
func people(ctx context.Context, r *partsReader) ([]document.File, error) {
	list, err := db.List(ctx, r.Tx, access.ScanPrincipal, selectPeople, r.Live, r.After, logPage)
	if err != nil {
		return nil, err
	}
	return nil, addPage(r, "people.jsonl", list, func(p access.PrincipalInfo) string { return p.ID })
}

func organizationAudit(ctx context.Context, r *partsReader) ([]document.File, error) {
	return nil, r.addAudit(ctx, "audit.jsonl", audit.Filter{})
}

func organizationCalls(ctx context.Context, r *partsReader) ([]document.File, error) {
	return nil, r.addCalls(ctx, "calls.jsonl")
}

var contactReadMe = fault.Text{
	DE: `Alles über einen Kontakt: Auskunft nach Artikel 15 DSGVO

auskunft.html             für Menschen: alles auf einer Seite, zum Drucken
contact.json              der Kontakt, wie die API ihn liefert
contact-history.jsonl     wer wann welche Angaben geändert hat (die letzten 200 Änderungen)
tasks.jsonl               Aufgaben, die zu dem Kontakt gehören, und ihr Verlauf
documents.jsonl           Dokumente, die zu ihm gehören, und ihr Verlauf
files/                    die Dateien dieser Dokumente
imports.jsonl             Importe, aus denen die Angaben stammen (sieben Tage lang; nur Ihre eigenen,
                          für die Administration alle)
audit.jsonl               Zeilen des Protokolls über den Kontakt (nur für die Administration)

Eine Datei .jsonl hat eine Zeile je Eintrag, in JSON und UTF-8. Was Sie selbst nicht sehen dürfen, fehlt,
und auch, was nach Beginn des Exports angelegt wurde.
Prüfen Sie vor der Herausgabe, ob Rechte anderer oder Ihre Verschwiegenheit dem entgegenstehen: Notizen,
Aufgaben und Dokumente können auch andere betreffen.`,
	EN: `Everything about a contact: right of access by article 15 GDPR

summary.html              for people: all of it on one page, to print (auskunft.html in German)
contact.json              the contact, as the API returns it
contact-history.jsonl     who changed which members when (the last 200 changes)
tasks.jsonl               tasks that belong to the contact, and their histories
documents.jsonl           documents that belong to it, and their histories
files/                    the files of these documents
imports.jsonl             imports that the data comes from (for seven days; your own, for admins all)
audit.jsonl               lines of the audit log about the contact (for admins alone)

A file .jsonl has a line for each entry, in JSON and UTF-8. What you may not see yourself is left out,
and so is what was created after the export began.
Before you hand it over, check whether rights of others or your professional secrecy forbid it: notes,
tasks and documents may be about others too.`,
}

var principalReadMe = fault.Text{
	DE: `Was über eine Person des Büros oder ein Dienstkonto gespeichert ist

person.json               Name, Adresse, Rolle, Rechte, Einstellungen
keys.jsonl                Schlüssel der API, ohne ihre Geheimnisse
webhook-endpoints.jsonl   Webhook-Endpunkte, ohne Adresse und Geheimnisse
sessions.jsonl            Anmeldungen mit dem Browser, und womit sie sich angemeldet hat
account.json              das Konto der Anmeldung mit Identitäten (Single Sign-on) und bekannten Browsern
                          (nur für die Person selbst und den Betreiber)
bell.jsonl                Einträge der Glocke (nur für die Person selbst und den Betreiber)
recents.jsonl             zuletzt geöffnete Einträge (nur für die Person selbst und den Betreiber)
imports.jsonl             begonnene Importe
audit-acts.jsonl          was sie verwaltet hat, nach dem Protokoll (400 Tage)
audit-about.jsonl         was andere über sie verwaltet haben, nach dem Protokoll (400 Tage)
calls-sessions.jsonl      Aufrufe ihrer Sitzungen (30 Tage)
calls-keys.jsonl          Aufrufe ihrer Schlüssel (30 Tage)

Kontakte, Firmen, Aufgaben und Dokumente gehören dem Büro und sind nicht enthalten. Eine Datei .jsonl hat
eine Zeile je Eintrag, in JSON und UTF-8.`,
	EN: `What is kept about a person of the office or a service account

person.json               name, address, role, rights, preferences
keys.jsonl                keys of the API, without their secrets
webhook-endpoints.jsonl   webhook endpoints, without address and secrets
sessions.jsonl            sign-ins with a browser, and how the person signed in
account.json              the account of the sign-in with identities (single sign-on) and known browsers
                          (for the person and the operator alone)
bell.jsonl                entries of the bell (for the person and the operator alone)
recents.jsonl             records that were opened lately (for the person and the operator alone)
imports.jsonl             imports that were begun
audit-acts.jsonl          what they administered, by the audit log (400 days)
audit-about.jsonl         what others administered about them, by the audit log (400 days)
calls-sessions.jsonl      calls of their sessions (30 days)
calls-keys.jsonl          calls of their keys (30 days)

Contacts, companies, tasks and documents belong to the office and are not part of it. A file .jsonl has a
line for each entry, in JSON and UTF-8.`,
}

var organizationReadMe = fault.Text{
	DE: `Alles einer Organisation

organization.json         die Organisation und ihre Schalter
people.jsonl              Personen und Dienstkonten
keys.jsonl                Schlüssel der API, ohne ihre Geheimnisse
webhook-endpoints.jsonl   Webhook-Endpunkte, ohne Adresse und Geheimnisse
contacts.jsonl            Kontakte, wie die API sie liefert; ebenso companies, tasks und documents
contacts-history.jsonl    wer wann welche Angaben eines Kontakts geändert hat; ebenso die anderen
audit.jsonl               das Protokoll (400 Tage)
calls.jsonl               Aufrufe der API und der Weboberfläche (30 Tage)
files/                    die Dateien der Dokumente, unter der Kennung des Dokuments

Eine Datei .jsonl hat eine Zeile je Eintrag, in JSON und UTF-8. Der Export liest, während andere arbeiten:
Jeder Eintrag, den es während des ganzen Exports gab, ist genau einmal enthalten. Was währenddessen angelegt
oder gelöscht wurde, kann enthalten sein oder fehlen. Nicht enthalten sind gelöschte Einträge, Kennwörter und
Geheimnisse, der Index der Suche, die Ereignisse und Zustellungen der letzten 30 Tage und die Sandbox. Die
Sandbox lässt sich für sich exportieren.`,
	EN: `Everything of an organization

organization.json         the organization and its switches
people.jsonl              people and service accounts
keys.jsonl                keys of the API, without their secrets
webhook-endpoints.jsonl   webhook endpoints, without address and secrets
contacts.jsonl            contacts, as the API returns them; and so companies, tasks and documents
contacts-history.jsonl    who changed which members of a contact when; and so the others
audit.jsonl               the audit log (400 days)
calls.jsonl               calls of the API and of the web application (30 days)
files/                    the files of documents, below the id of the document

A file .jsonl has a line for each entry, in JSON and UTF-8. The export reads while others work: each entry
that existed during the whole export is in it exactly once. Entries that were created or deleted meanwhile may
or may not be in it. Left out are deleted entries, passwords and secrets, the index of the search, the events
and deliveries of the last 30 days, and the sandbox. The sandbox can be exported by itself.`,
}
