package exports

import (
	"context"

	"kartei/access"
	"kartei/kit/i18n"
	"kartei/people/audit"
	"kartei/record/company"
	"kartei/record/document"
	"kartei/store/db"
)

var companies = family{company.Companies.Family, company.Companies.Walk}

// organizationStages are the stages of an export of an organization. The files of documents come
// last, because they are the largest part.
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

// people writes the people and the service accounts. For a sandbox, these are the people and
// service accounts of its live organization.
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

var contactReadMe = i18n.Text(`Everything about a contact: right of access by article 15 GDPR

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
tasks and documents may be about others too.`)

var principalReadMe = i18n.Text(`What is kept about a person of the office or a service account

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
line for each entry, in JSON and UTF-8.`)

var organizationReadMe = i18n.Text(`Everything of an organization

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
and deliveries of the last 30 days, and the sandbox. The sandbox can be exported by itself.`)
