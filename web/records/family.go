package records

import (
	"cmp"
	"fmt"
	"slices"

	"kartei/api/op"
	"kartei/kit/fault"
	"kartei/record/company"
	"kartei/record/contact"
	"kartei/record/document"
	"kartei/record/task"
	"kartei/web/i18n"
	"kartei/web/shell"
)

// Family describes a kind of record to the pages.
type Family struct {
	// Name is the plural in addresses: contacts.
	Name string
	Acts familyActs
	// Object is the kind in answers: contact.
	Object string
	// Read and write are the scopes of the family.
	Read, Write string
	One, Many   fault.Text
	// another is the title of the form of a new record.
	another fault.Text
	Icon    string
	Fields  []Field
	// Sorts are the orders of its lists.
	Sorts []shell.Option
	// ByOwner says that lists are narrowed by the owner of records.
	ByOwner bool
	// InBook says that records are entries of the address book.
	InBook bool
	// Organizations says that entries are organizations, and not people.
	Organizations bool
	// Files says that records are files: people upload them, and each has a kind and a size.
	Files bool
	// completable says that a record is open until a person completes it. Lists have tabs for
	// the open records, the caller's own and the completed ones.
	completable bool
	// about says that lists are narrowed by what records are about.
	about bool
	// Begins is the member in which typing begins. It is empty for files.
	Begins string
	// offer offers to create a record with a name (%s). It is empty for files.
	offer fault.Text
	// Referrers are the families that refer to the records of this one. The member is the
	// object of this family with Id. The page of a record lists what refers to it.
	Referrers []*Family
	// related is the heading of the records where they refer to another one.
	related fault.Text
	// quantity says how many records there are: one, or %d.
	quantity [2]fault.Text
	// sortName returns the name of a record as lists sort it. It is nil if that is its heading.
	sortName func(shell.Values) string
	// Heading returns the name of a record.
	Heading func(shell.Values) string
	// beneath returns the line below the name.
	beneath func(shell.Values) []string
}

// familyActs are the operations of a family.
type familyActs struct{ list, Count, get, create, update, remove op.Any }

// fieldKind says how a member is shown and typed.
type fieldKind string

// The kinds of field.
const (
	textField  fieldKind = "text"
	longField  fieldKind = "long"
	EmailField fieldKind = "email"
	PhoneField fieldKind = "tel"
	linkField  fieldKind = "url"
	dayField   fieldKind = "date"
	// momentField is a day with the time of the day, in the person's time zone. It is
	// typed in words: see i18n.ReadDue.
	momentField fieldKind = "moment"
	Choice      fieldKind = "choice"
	// CountryField is a country by its code.
	CountryField fieldKind = "country"
	// languageField is a language by its tag, as de or en-GB. It is typed by its name too.
	languageField fieldKind = "language"
	TagsField     fieldKind = "tags"
	// Reference is a member that names another record, or a person.
	Reference fieldKind = "reference"
)

// Field describes a member of a record to forms and to the list of facts.
type Field struct {
	Name  string
	Kind  fieldKind
	Label fault.Text
	hint  fault.Text
	// options are the values of a choice. The empty value is not among them.
	options []shell.Option
	// To is the family that a reference names, or people.
	To string
	// required says that the value cannot be removed.
	required bool
	// restricted says that only the owner and admins change the member.
	restricted bool
	// creates says that a form creates the company that the text of a reference names.
	creates bool
	// Hidden leaves the member out of the list of facts, and of what can be added to it.
	Hidden bool
	// Unasked leaves it out of forms too: only acts change it.
	Unasked bool
	// part is the heading in forms above this member and the members after it.
	part fault.Text
}

// sharing are the members that all families have in common.
var sharing = []Field{
	{Name: "tags", part: shell.Text("Verwaltung", "Management"), Kind: TagsField, Label: shell.Text("Schlagworte", "Tags")},
	{Name: "externalId", Kind: textField, Label: shell.Text("Externe Kennung", "External ID")},
	{Name: "ownerId", Kind: Reference, To: "people", Label: shell.Text("Eigentümer", "Owner"), required: true, restricted: true},
	{Name: "visibility", Kind: Choice, Label: shell.Text("Sichtbar für", "Visible to"), required: true, restricted: true, options: []shell.Option{
		shell.NewOption("organization", "alle im Büro", "everyone in the office"),
		shell.NewOption("private", "nur Eigentümer und Administration", "the owner and admins only"),
	}},
}

// address are the members of a postal address.
var address = []Field{
	{Name: "address.street", part: shell.Text("Anschrift", "Address"), Kind: textField, Label: shell.Text("Straße", "Street")},
	{Name: "address.postalCode", Kind: textField, Label: shell.Text("PLZ", "Postal code")},
	{Name: "address.city", Kind: textField, Label: shell.Text("Ort", "City")},
	{Name: "address.region", Kind: textField, Label: shell.Text("Region", "Region")},
	{Name: "address.country", Kind: CountryField, Label: shell.Text("Land", "Country")},
}

var Contacts = Family{
	Acts: familyActs{contact.List, contact.Count, contact.Get, contact.Create, contact.Update, contact.Delete},
	Name: "contacts", Object: "contact", Read: "contacts:read", Write: "contacts:write",
	One: shell.Text("Kontakt", "Contact"), another: shell.Text("Neuer Kontakt", "New contact"), Many: shell.Text("Kontakte", "Contacts"), Icon: "users", Sorts: byName, ByOwner: true,
	InBook: true, Begins: "lastName", offer: shell.Text("Kontakt „%s“ anlegen", "Create the contact “%s”"),
	Referrers: []*Family{&Tasks, &Documents}, related: shell.Text("Personen", "People"),
	quantity: [2]fault.Text{shell.Text("ein Kontakt", "one contact"), shell.Text("%d Kontakte", "%d contacts")},
	Fields: slices.Concat([]Field{
		{Name: "lastName", part: shell.Text("Person", "Person"), Hidden: true, Kind: textField, Label: shell.Text("Nachname", "Last name")},
		{Name: "firstName", Hidden: true, Kind: textField, Label: shell.Text("Vorname", "First name")},
		{Name: "title", Hidden: true, Kind: textField, Label: shell.Text("Titel", "Title")},
		{Name: "salutation", Hidden: true, Kind: Choice, Label: shell.Text("Anrede", "Salutation"), options: []shell.Option{
			shell.NewOption("ms", "Frau", "Ms"), shell.NewOption("mr", "Herr", "Mr"), shell.NewOption("mx", "ohne Anrede", "Mx"),
		}},
		{Name: "mobile", part: shell.Text("Erreichbarkeit", "Contact details"), Kind: PhoneField, Label: shell.Text("Mobil", "Mobile")},
		{Name: "phone", Kind: PhoneField, Label: shell.Text("Telefon", "Phone")},
		{Name: "email", Kind: EmailField, Label: shell.Text("E-Mail", "Email")},
		{Name: "companyId", part: shell.Text("Beruf", "Work"), Kind: Reference, To: "companies", creates: true, Label: shell.Text("Firma", "Company")},
		{Name: "jobTitle", Kind: textField, Label: shell.Text("Funktion", "Job title")},
	}, address, []Field{
		{Name: "birthday", part: shell.Text("Weiteres", "More"), Kind: dayField, Label: shell.Text("Geburtstag", "Birthday")},
		{Name: "language", Kind: languageField, Label: shell.Text("Sprache", "Language"), hint: shell.Text("Zum Beispiel Deutsch oder en-GB", "For example German or en-GB")},
		{Name: "note", Kind: longField, Label: shell.Text("Notiz", "Note")},
	}, sharing),
	sortName: func(v shell.Values) string {
		if v["lastName"] == "" || v["firstName"] == "" {
			return contactHeading(v)
		}
		return v["lastName"] + ", " + shell.Joined(" ", v["title"], v["firstName"])
	},
	Heading: contactHeading,
	beneath: func(v shell.Values) []string { return shell.Present(v["jobTitle"]) },
}

func contactHeading(v shell.Values) string {
	return shell.Joined(" ", v["title"], cmp.Or(v["displayName"], v["email"]))
}

var Companies = Family{
	Acts: familyActs{company.List, company.Count, company.Get, company.Create, company.Update, company.Delete},
	Name: "companies", Object: "company", Read: "companies:read", Write: "companies:write",
	One: shell.Text("Firma", "Company"), another: shell.Text("Neue Firma", "New company"), Many: shell.Text("Firmen", "Companies"), Icon: "building-2", Sorts: byName, ByOwner: true,
	InBook: true, Organizations: true, Begins: "name", offer: shell.Text("Firma „%s“ anlegen", "Create the company “%s”"),
	Referrers: []*Family{&Contacts, &Tasks, &Documents},
	Fields: slices.Concat([]Field{
		{Name: "name", part: shell.Text("Firma", "Company"), Hidden: true, Kind: textField, Label: shell.Text("Name", "Name"), required: true},
		{Name: "legalForm", Kind: textField, Label: shell.Text("Rechtsform", "Legal form")},
		{Name: "phone", part: shell.Text("Erreichbarkeit", "Contact details"), Kind: PhoneField, Label: shell.Text("Telefon", "Phone")},
		{Name: "email", Kind: EmailField, Label: shell.Text("E-Mail", "Email")},
		{Name: "website", Kind: linkField, Label: shell.Text("Website", "Website")},
	}, address, []Field{
		{Name: "vatId", part: shell.Text("Weiteres", "More"), Kind: textField, Label: shell.Text("USt-IdNr.", "VAT ID")},
		{Name: "registerNumber", Kind: textField, Label: shell.Text("Registernummer", "Register number")},
		{Name: "note", Kind: longField, Label: shell.Text("Notiz", "Note")},
	}, sharing),
	Heading: func(v shell.Values) string { return v["name"] },
	beneath: func(v shell.Values) []string { return shell.Present(v["legalForm"], v["address.city"]) },
}

var Tasks = Family{
	Acts: familyActs{task.List, task.Count, task.Get, task.Create, task.Update, task.Delete},
	Name: "tasks", Object: "task", Read: "tasks:read", Write: "tasks:write",
	One: shell.Text("Aufgabe", "Task"), another: shell.Text("Neue Aufgabe", "New task"), Many: shell.Text("Aufgaben", "Tasks"), Icon: "square-check-big", Sorts: byDue,
	completable: true, about: true, Begins: "title", offer: shell.Text("Aufgabe „%s“ anlegen", "Create the task “%s”"),
	Referrers: []*Family{&Documents}, related: shell.Text("Offene Aufgaben", "Open tasks"),
	quantity: [2]fault.Text{shell.Text("eine Aufgabe", "one task"), shell.Text("%d Aufgaben", "%d tasks")},
	Fields: slices.Concat([]Field{
		{Name: "title", Hidden: true, Kind: textField, Label: shell.Text("Aufgabe", "Task"), required: true},
		{Name: "status", Hidden: true, Unasked: true, Kind: Choice, Label: shell.Text("Stand", "Status"), required: true, options: []shell.Option{
			shell.NewOption("open", "offen", "open"), shell.NewOption("completed", "erledigt", "done"),
		}},
		{Name: "dueAt", Kind: momentField, Label: shell.Text("Fällig", "Due")},
		{Name: "assigneeId", Kind: Reference, To: "people", Label: shell.Text("Zuständig", "Assignee")},
		{Name: "priority", Kind: Choice, Label: shell.Text("Dringlichkeit", "Priority"), required: true, options: []shell.Option{
			shell.NewOption("normal", "normal", "normal"), shell.NewOption("high", "dringend", "high"), shell.NewOption("low", "niedrig", "low"),
		}},
		{Name: "contactId", Kind: Reference, To: "contacts", Label: shell.Text("Kontakt", "Contact")},
		{Name: "companyId", Kind: Reference, To: "companies", Label: shell.Text("Firma", "Company")},
		{Name: "documentId", Kind: Reference, To: "documents", Label: shell.Text("Dokument", "Document")},
		{Name: "description", Kind: longField, Label: shell.Text("Beschreibung", "Description")},
	}, sharing),
	Heading: func(v shell.Values) string { return v["title"] },
	beneath: func(shell.Values) []string { return nil },
}

var Documents = Family{
	Acts: familyActs{document.List, document.Count, document.Get, document.Create, document.Update, document.Delete},
	Name: "documents", Object: "document", Read: "documents:read", Write: "documents:write",
	One: shell.Text("Dokument", "Document"), another: shell.Text("Neues Dokument", "New document"), Many: shell.Text("Dokumente", "Documents"), Icon: "file-text", Sorts: byName, ByOwner: true,
	Files: true, about: true, related: shell.Text("Dokumente", "Documents"),
	quantity: [2]fault.Text{shell.Text("ein Dokument", "one document"), shell.Text("%d Dokumente", "%d documents")},
	Fields: slices.Concat([]Field{
		{Name: "name", Kind: textField, Label: shell.Text("Name", "Name"), required: true},
		{Name: "contactId", Kind: Reference, To: "contacts", Label: shell.Text("Kontakt", "Contact")},
		{Name: "companyId", Kind: Reference, To: "companies", Label: shell.Text("Firma", "Company")},
		{Name: "taskId", Kind: Reference, To: "tasks", Label: shell.Text("Aufgabe", "Task")},
	}, sharing),
	Heading: func(v shell.Values) string { return v["name"] },
	beneath: func(shell.Values) []string { return nil },
}

// Group is a part of an entry whose members are shown and edited together.
type Group struct {
	Name    string
	Label   fault.Text
	members []string
}

// groups are the groups of the families of the address book.
var groups = []Group{
	{"naming", shell.Text("Name", "Name"), []string{"salutation", "title", "firstName", "lastName", "name"}},
	{"address", shell.Text("Anschrift", "Address"), []string{"address.street", "address.postalCode", "address.city", "address.region", "address.country"}},
}

// Group returns the members of a group that the family has. An unknown group has
// none.
func (f *Family) Group(name string) []Field {
	var list []Field
	for _, g := range groups {
		if g.Name == name {
			for _, m := range f.Fields {
				if slices.Contains(g.members, m.Name) {
					list = append(list, m)
				}
			}
		}
	}
	return list
}

// takesDocuments reports whether documents can be about a record of the family.
func (f *Family) takesDocuments() bool { return !f.Files }

// Offer offers to create a record with a name.
func (f *Family) Offer(w i18n.Words, name string) string {
	return fmt.Sprintf(f.offer.In(w.Language), name)
}

// Quantity says how many records of the family there are.
func (f *Family) Quantity(w i18n.Words, n int) string {
	one, many := f.quantity[0], f.quantity[1]
	return w.Plural(n, one.DE, many.DE, one.EN, many.EN)
}
