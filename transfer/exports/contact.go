package exports

import (
	"context"
	"encoding/json"

	"kartei/api/op"
	"kartei/kit/clock"
	"kartei/kit/i18n"
	"kartei/people/audit"
	"kartei/record"
	"kartei/record/company"
	"kartei/record/contact"
	"kartei/record/document"
	"kartei/record/task"
	"kartei/store/db"
)

var tasks = family{task.Tasks.Family, task.Tasks.Walk}

// contactStages are the stages of an export about a contact.
var contactStages = []stage{
	readMe, aboutContact, contactHistory, tasks.records("tasks.jsonl"), tasks.histories("tasks-history.jsonl"),
	documents.records("documents.jsonl"), documents.histories("documents-history.jsonl"), contactImports, contactAudit,
	files,
}

// aboutContact writes the contact, both as the API returns it and as a page for people. The page
// also has the tasks and documents of the contact, up to 100 of each.
func aboutContact(ctx context.Context, r *partsReader) ([]document.File, error) {
	f, _, err := contact.Contacts.Members(ctx, r.of, r.ID)
	if err != nil {
		return nil, err
	}
	whole, err := contact.Contacts.Get(ctx, r.of, op.ByID{ID: r.ID})
	if err != nil {
		return nil, err
	}
	r.Parts.records++
	s := &summary{export: r.export, contact: f, json: whole.AppendJSON(nil)}
	if err := s.read(ctx, r); err != nil {
		return nil, err
	}
	r.add("contact.json", append(indented(s.json), '\n'))
	r.add(r.say("summary.html"), s.page())
	return nil, nil
}

// read reads the names, histories, tasks and documents for the summary.
func (s *summary) read(ctx context.Context, r *partsReader) (err error) {
	people := []string{s.contact.OwnerID}
	if s.contact.CompanyID != nil && r.may(&r.Call, company.Companies.Family) {
		seen, err := company.Companies.Look(ctx, r.of, []string{*s.contact.CompanyID})
		if err != nil {
			return err
		}
		for _, c := range seen {
			s.company = c.Members.Name
		}
	}
	all, err := r.historiesOf(ctx, contact.Contacts.Family, []string{s.ID})
	if err != nil {
		return err
	}
	s.history = all[s.ID]
	for _, c := range s.history {
		people = append(people, c.Principal)
	}
	if s.tasks, err = membersOf[task.Fields](ctx, r, tasks); err != nil {
		return err
	}
	if s.documents, err = membersOf[document.Fields](ctx, r, documents); err != nil {
		return err
	}
	s.names, err = r.names(ctx, people)
	return err
}

// membersOf returns the first records of a family that belong to the contact.
func membersOf[F any](ctx context.Context, r *partsReader, f family) (list []F, err error) {
	if !r.may(&r.Call, f.Family) {
		return nil, nil
	}
	found, err := f.walk(ctx, r.of, record.Walk{Reference: "contactId", To: r.ID, Until: r.Last, Limit: page})
	for _, w := range found {
		one := new(F)
		if err := json.Unmarshal(w.JSON, one); err != nil {
			return nil, err
		}
		list = append(list, *one)
	}
	return list, err
}

// contactHistory writes the history of the contact: which member was changed by whom and when.
func contactHistory(ctx context.Context, r *partsReader) ([]document.File, error) {
	return nil, r.addHistories(ctx, "contact-history.jsonl", contact.Contacts.Family, []string{r.ID})
}

// origin is an import that created or changed the contact. It says where the data of the contact
// comes from.
type origin struct {
	ImportID   string       `json:"importId"`
	ImportedAt clock.Micros `json:"importedAt"`
	// Line is the line in the imported file. Outcome is the outcome of that line.
	Line    int64  `json:"line"`
	Outcome string `json:"outcome"`
}

const selectOrigins = `select l.import_id, i.created_at, l.line, l.state from import_lines l
	join imports i on i.organization = l.organization and i.id = l.import_id
	where l.organization = $1 and l.record_id = $2 and l.record_id is not null and i.created_at <= $3 and ($4 = '' or i.principal = $4)
	order by l.import_id, l.number limit 1000`

// contactImports writes the imports that created or changed the contact. An import belongs to the
// person who began it. So a member gets only their own imports, and an admin gets all of them.
func contactImports(ctx context.Context, r *partsReader) ([]document.File, error) {
	principal := ""
	if !r.Administers() {
		principal = r.Actor.PrincipalID()
	}
	list, err := db.List(ctx, r.Tx, func(row db.Row) (o origin, err error) {
		return o, row.Scan(&o.ImportID, &o.ImportedAt, &o.Line, &o.Outcome)
	}, selectOrigins, r.Organization, r.ID, r.Begun, principal)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return nil, addLines(r, "imports.jsonl", list)
}

// contactAudit writes the lines of the audit log about the contact, if the caller may read the
// log.
func contactAudit(ctx context.Context, r *partsReader) ([]document.File, error) {
	if !r.Administers() {
		return nil, nil
	}
	return nil, r.addAudit(ctx, "audit.jsonl", audit.Filter{Target: r.ID})
}

// addAudit adds lines of the audit log, the newest first.
func (r *partsReader) addAudit(ctx context.Context, name string, f audit.Filter) error {
	organizations, err := r.organizations(ctx)
	if err != nil {
		return err
	}
	f.Until, f.Before, f.Limit = r.Begun+1, r.After, logPage // so that the line about the export itself is included
	list, err := audit.Query(ctx, r.Tx, organizations, f)
	if err != nil {
		return err
	}
	if len(list) == logPage {
		r.more, r.After = true, list[logPage-1].ID
	}
	if !r.Administers() {
		r.withoutOthers(list)
	}
	return addLines(r, name, list)
}

// withoutOthers removes the credentials and addresses of other people. It is used for a member's
// export about themselves.
func (r *partsReader) withoutOthers(list []audit.Line) {
	for i := range list {
		if l := &list[i]; l.PrincipalID != r.ID {
			l.Address, l.CredentialID = "", ""
		}
	}
}

// readMe writes a file that describes the files of the archive, in both languages.
func readMe(_ context.Context, r *partsReader) ([]document.File, error) {
	texts := map[subject]i18n.Text{
		aContact: contactReadMe, aPrincipal: principalReadMe, anOrganization: organizationReadMe,
	}
	t := texts[r.Subject]
	at := r.Begun.Time().UTC().Format("2006-01-02 15:04 UTC")
	r.add("README.txt", []byte("Kartei, "+at+"\n\n"+t.In(i18n.German)+"\n\n----\n\n"+t.In(i18n.English)+"\n"))
	return nil, nil
}
