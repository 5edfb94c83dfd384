package office

import (
	"kartei/api/op"
	"kartei/kit/fault"
	"kartei/record/company"
	"kartei/record/contact"
	"kartei/record/document"
	"kartei/record/task"
	"slices"
)

// family describes a kind of record to the pages.
type family struct {
	// name is the plural in addresses: contacts.
	name string
	acts familyActs
	// object is the kind in answers: contact.
	object string
	// read and write are the scopes of the family.
	read, write string
	one, many   fault.Text
	// another is the title of the form of a new record.
	another fault.Text
	icon    string
	fields  []field
	// sorts are the orders of its lists.
	sorts []option
	// mine is the filter whose value is the caller's own id.
	mine string
	// heading returns the name of a record.
	heading func(values) string
	// beneath returns the line below the name.
	beneath func(values) []string
}

// familyActs are the operations of a family.
type familyActs struct{ list, count, get, create, update, remove op.Any }

// fieldKind says how a member is shown and typed.
type fieldKind string

// The kinds of field.
const (
	textField  fieldKind = "text"
	longField  fieldKind = "long"
	emailField fieldKind = "email"
	phoneField fieldKind = "tel"
	linkField  fieldKind = "url"
	dayField   fieldKind = "date"
	// momentField is a day with the time of the day, in the person's time zone. It is
	// typed in words: see i18n.ReadDue.
	momentField fieldKind = "moment"
	choice      fieldKind = "choice"
	// countryField is a country by its code.
	countryField fieldKind = "country"
	// languageField is a language by its tag, as de or en-GB. It is typed by its name too.
	languageField fieldKind = "language"
	tagsField     fieldKind = "tags"
	// reference is a member that names another record, or a person.
	reference fieldKind = "reference"
)

// field describes a member of a record to forms and to the list of facts.
type field struct {
	name  string
	kind  fieldKind
	label fault.Text
	hint  fault.Text
	// options are the values of a choice. The empty value is not among them.
	options []option
	// to is the family that a reference names, or people.
	to string
	// required says that the value cannot be removed.
	required bool
	// restricted says that only the owner and admins change the member.
	restricted bool
	// hidden leaves the member out of the list of facts, and of what can be added to it.
	hidden bool
	// unasked leaves it out of forms too: only acts change it.
	unasked bool
	// part is the heading in forms above this member and the members after it.
	part fault.Text
}

// sharing are the members that all families have in common.
var sharing = []field{
	{name: "tags", part: text("Verwaltung", "Management"), kind: tagsField, label: text("Schlagworte", "Tags")},
	{name: "externalId", kind: textField, label: text("Externe Kennung", "External ID")},
	{name: "ownerId", kind: reference, to: "people", label: text("Eigentümer", "Owner"), required: true, restricted: true},
	{name: "visibility", kind: choice, label: text("Sichtbar für", "Visible to"), required: true, restricted: true, options: []option{
		newOption("organization", "alle im Büro", "everyone in the office"),
		newOption("private", "nur Eigentümer und Administration", "the owner and admins only"),
	}},
}

// address are the members of a postal address.
var address = []field{
	{name: "address.street", part: text("Anschrift", "Address"), kind: textField, label: text("Straße", "Street")},
	{name: "address.postalCode", kind: textField, label: text("PLZ", "Postal code")},
	{name: "address.city", kind: textField, label: text("Ort", "City")},
	{name: "address.region", kind: textField, label: text("Region", "Region")},
	{name: "address.country", kind: countryField, label: text("Land", "Country")},
}

var contacts = family{
	acts: familyActs{contact.List, contact.Count, contact.Get, contact.Create, contact.Update, contact.Delete},
	name: "contacts", object: "contact", read: "contacts:read", write: "contacts:write",
	one: text("Kontakt", "Contact"), another: text("Neuer Kontakt", "New contact"), many: text("Kontakte", "Contacts"), icon: "users", sorts: byName, mine: "ownerId",
	fields: concat([]field{
		{name: "lastName", part: text("Person", "Person"), hidden: true, kind: textField, label: text("Nachname", "Last name")},
		{name: "firstName", hidden: true, kind: textField, label: text("Vorname", "First name")},
		{name: "title", hidden: true, kind: textField, label: text("Titel", "Title")},
		{name: "salutation", hidden: true, kind: choice, label: text("Anrede", "Salutation"), options: []option{
			newOption("ms", "Frau", "Ms"), newOption("mr", "Herr", "Mr"), newOption("mx", "ohne Anrede", "Mx"),
		}},
		{name: "mobile", part: text("Erreichbarkeit", "Contact details"), kind: phoneField, label: text("Mobil", "Mobile")},
		{name: "phone", kind: phoneField, label: text("Telefon", "Phone")},
		{name: "email", kind: emailField, label: text("E-Mail", "Email")},
		{name: "companyId", part: text("Beruf", "Work"), kind: reference, to: "companies", label: text("Firma", "Company")},
		{name: "jobTitle", kind: textField, label: text("Funktion", "Job title")},
	}, address, []field{
		{name: "birthday", part: text("Weiteres", "More"), kind: dayField, label: text("Geburtstag", "Birthday")},
		{name: "language", kind: languageField, label: text("Sprache", "Language"), hint: text("Zum Beispiel Deutsch oder en-GB", "For example German or en-GB")},
		{name: "note", kind: longField, label: text("Notiz", "Note")},
	}, sharing),
	heading: func(v values) string { return joined(" ", v["title"], first(v["displayName"], v["email"])) },
	beneath: func(v values) []string { return present(v["jobTitle"]) },
}

var companies = family{
	acts: familyActs{company.List, company.Count, company.Get, company.Create, company.Update, company.Delete},
	name: "companies", object: "company", read: "companies:read", write: "companies:write",
	one: text("Firma", "Company"), another: text("Neue Firma", "New company"), many: text("Firmen", "Companies"), icon: "building-2", sorts: byName, mine: "ownerId",
	fields: concat([]field{
		{name: "name", part: text("Firma", "Company"), hidden: true, kind: textField, label: text("Name", "Name"), required: true},
		{name: "legalForm", kind: textField, label: text("Rechtsform", "Legal form")},
		{name: "phone", part: text("Erreichbarkeit", "Contact details"), kind: phoneField, label: text("Telefon", "Phone")},
		{name: "email", kind: emailField, label: text("E-Mail", "Email")},
		{name: "website", kind: linkField, label: text("Website", "Website")},
	}, address, []field{
		{name: "vatId", part: text("Weiteres", "More"), kind: textField, label: text("USt-IdNr.", "VAT ID")},
		{name: "registerNumber", kind: textField, label: text("Registernummer", "Register number")},
		{name: "note", kind: longField, label: text("Notiz", "Note")},
	}, sharing),
	heading: func(v values) string { return v["name"] },
	beneath: func(v values) []string { return present(v["legalForm"], v["address.city"]) },
}

var tasks = family{
	acts: familyActs{task.List, task.Count, task.Get, task.Create, task.Update, task.Delete},
	name: "tasks", object: "task", read: "tasks:read", write: "tasks:write",
	one: text("Aufgabe", "Task"), another: text("Neue Aufgabe", "New task"), many: text("Aufgaben", "Tasks"), icon: "square-check-big", sorts: byDue, mine: "assigneeId",
	fields: concat([]field{
		{name: "title", hidden: true, kind: textField, label: text("Aufgabe", "Task"), required: true},
		{name: "status", hidden: true, unasked: true, kind: choice, label: text("Stand", "Status"), required: true, options: []option{
			newOption("open", "offen", "open"), newOption("completed", "erledigt", "done"),
		}},
		{name: "dueAt", kind: momentField, label: text("Fällig", "Due")},
		{name: "assigneeId", kind: reference, to: "people", label: text("Zuständig", "Assignee")},
		{name: "priority", kind: choice, label: text("Dringlichkeit", "Priority"), required: true, options: []option{
			newOption("normal", "normal", "normal"), newOption("high", "dringend", "high"), newOption("low", "niedrig", "low"),
		}},
		{name: "contactId", kind: reference, to: "contacts", label: text("Kontakt", "Contact")},
		{name: "companyId", kind: reference, to: "companies", label: text("Firma", "Company")},
		{name: "documentId", kind: reference, to: "documents", label: text("Dokument", "Document")},
		{name: "description", kind: longField, label: text("Beschreibung", "Description")},
	}, sharing),
	heading: func(v values) string { return v["title"] },
	beneath: func(values) []string { return nil },
}

var documents = family{
	acts: familyActs{document.List, document.Count, document.Get, document.Create, document.Update, document.Delete},
	name: "documents", object: "document", read: "documents:read", write: "documents:write",
	one: text("Dokument", "Document"), another: text("Neues Dokument", "New document"), many: text("Dokumente", "Documents"), icon: "file-text", sorts: byName, mine: "ownerId",
	fields: concat([]field{
		{name: "name", kind: textField, label: text("Name", "Name"), required: true},
		{name: "contactId", kind: reference, to: "contacts", label: text("Kontakt", "Contact")},
		{name: "companyId", kind: reference, to: "companies", label: text("Firma", "Company")},
		{name: "taskId", kind: reference, to: "tasks", label: text("Aufgabe", "Task")},
	}, sharing),
	heading: func(v values) string { return v["name"] },
	beneath: func(values) []string { return nil },
}

// group is a part of an entry whose members are shown and edited together.
type group struct {
	name    string
	label   fault.Text
	members []string
}

// groups are the groups of the families of the address book.
var groups = []group{
	{"naming", text("Name", "Name"), []string{"salutation", "title", "firstName", "lastName", "name"}},
	{"address", text("Anschrift", "Address"), []string{"address.street", "address.postalCode", "address.city", "address.region", "address.country"}},
}

// group returns the members of a group that the family has. An unknown group has
// none.
func (f *family) group(name string) []field {
	var list []field
	for _, g := range groups {
		if g.name == name {
			for _, m := range f.fields {
				if slices.Contains(g.members, m.name) {
					list = append(list, m)
				}
			}
		}
	}
	return list
}

// takesDocuments reports whether documents can be about a record of the family.
func (f *family) takesDocuments() bool { return f != &documents }
