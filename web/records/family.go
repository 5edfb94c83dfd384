package records

import (
	"cmp"
	"slices"

	"kartei/api/op"
	"kartei/kit/i18n"
	"kartei/kit/id"
	"kartei/record/company"
	"kartei/record/contact"
	"kartei/record/document"
	"kartei/record/task"
	"kartei/web/shell"
)

// Family describes a family of records to the pages.
type Family struct {
	// Name is the plural, as in paths: contacts.
	Name string
	Acts familyActs
	// Object is the singular, as in the member object of API responses: contact.
	Object string
	// prefix is the prefix of the ids of records.
	prefix string
	// Read and Write are the scopes of the family.
	Read, Write string
	One, Many   i18n.Text
	// another is the title of the form for a new record.
	another i18n.Text
	// create is the label of the button that opens this form.
	create i18n.Text
	Icon   string
	Fields []Field
	// Sorts are the sort orders of its lists. The first is the default.
	Sorts []shell.Option
	// ByOwner says that lists have a filter for the owner of records.
	ByOwner bool
	// InBook says that records are entries of the address book.
	InBook bool
	// Organizations says that entries are organizations and not people.
	Organizations bool
	// Files says that records are files, which people upload. A file has a media type and a size.
	Files bool
	// completable says that people complete records. Lists then have tabs for all open records, the
	// person's own open records, and the completed records.
	completable bool
	// about says that lists have a filter for the contact, company or task of a record.
	about bool
	// Begins is the member whose field has the focus in a new form. It is empty for files.
	Begins string
	// offer is the label of the choice that creates a record with a given name (%s). It is empty
	// for files.
	offer i18n.Text
	// Referrers are the families whose records refer to records of this family. The referring
	// member is Object with the suffix Id. The page of a record lists the records that refer to it.
	Referrers []*Family
	// related is the heading of the records of this family on the page of the record to which they
	// refer.
	related i18n.Text
	// quantity is the text for a number of records: for one, and for more (%d).
	quantity [2]i18n.Text
	// sortName returns the name of a record by which lists sort. If it is nil, they sort by
	// Heading.
	sortName func(shell.Values) string
	// Heading returns the name of a record.
	Heading func(shell.Values) string
	// beneath returns the parts of the line below the name.
	beneath func(shell.Values) []string
}

// familyActs has the operations of a family.
type familyActs struct{ list, Count, get, create, update, remove op.Any }

// fieldKind says how a member is shown and edited.
type fieldKind string

// These are the kinds of fields.
const (
	textField  fieldKind = "text"
	longField  fieldKind = "long"
	EmailField fieldKind = "email"
	PhoneField fieldKind = "tel"
	linkField  fieldKind = "url"
	dayField   fieldKind = "date"
	// momentField is a date with a time in the person's time zone. People type it in words: see
	// i18n.ReadDue.
	momentField fieldKind = "moment"
	Choice      fieldKind = "choice"
	// CountryField is a country code.
	CountryField fieldKind = "country"
	// languageField is a language tag such as de or en-GB. People may also type the language's
	// name.
	languageField fieldKind = "language"
	TagsField     fieldKind = "tags"
	// ListField is a list of objects, which people edit in rows: see entryField.
	ListField fieldKind = "list"
	// labelField is the label of an object in such a list.
	labelField fieldKind = "label"
	// AttributesField is an object of texts for programs. Pages show it, and people do not edit it.
	AttributesField fieldKind = "attributes"
	// Reference is the id of another record or of a person.
	Reference fieldKind = "reference"
)

// Field describes a member of a record, for forms and for the list of facts.
type Field struct {
	Name  string
	Kind  fieldKind
	Label i18n.Text
	hint  i18n.Text
	// options are the values of a field of the kind Choice, without the empty value.
	options []shell.Option
	// To is the family to which a reference refers, or "people".
	To string
	// required says that the value cannot be removed.
	required bool
	// restricted says that only the owner and admins may change the member.
	restricted bool
	// creates says that the form creates a company if the text of a reference is a new name.
	creates bool
	// Hidden leaves the member out of the list of facts, and out of the members that can be added
	// to that list.
	Hidden bool
	// Unasked also leaves the member out of forms. Only other operations change it.
	Unasked bool
	// part is the heading above this field and the fields after it.
	part i18n.Text
	// entry describes the entries of a field of the kind ListField.
	entry entryField
}

// sharing has the members that all families have in common.
var sharing = []Field{
	{Name: "tags", part: "Management", Kind: TagsField, Label: "Tags"},
	{Name: "externalId", Kind: textField, Label: "External ID"},
	{Name: "ownerId", Kind: Reference, To: "people", Label: "Owner", required: true, restricted: true},
	{Name: "visibility", Kind: Choice, Label: "Visible to", required: true, restricted: true, options: []shell.Option{
		shell.NewOption("organization", "everyone in the office"),
		shell.NewOption("private", "the owner and admins only"),
	}},
	{Name: "attributes", Kind: AttributesField, Label: "Attributes for programs", Hidden: true, Unasked: true},
}

// address has the members of a postal address.
var address = []Field{
	{Name: "address.street", part: "Address", Kind: textField, Label: "Street"},
	{Name: "address.postalCode", Kind: textField, Label: "Postal code [short]"},
	{Name: "address.city", Kind: textField, Label: "City"},
	{Name: "address.region", Kind: textField, Label: "Region"},
	{Name: "address.country", Kind: CountryField, Label: "Country"},
}

var Contacts = Family{
	Acts: familyActs{contact.List, contact.Count, contact.Get, contact.Create, contact.Update, contact.Delete},
	Name: "contacts", Object: "contact", prefix: id.Contact, Read: "contacts:read", Write: "contacts:write",
	One: "Contact", another: "New contact", create: "Create a contact", Many: "Contacts", Icon: "users", Sorts: byName, ByOwner: true,
	InBook: true, Begins: "lastName", offer: "Create the contact “%s”",
	Referrers: []*Family{&Tasks, &Documents}, related: "People",
	quantity: [2]i18n.Text{"one contact", "%d contacts"},
	Fields: slices.Concat([]Field{
		{Name: "lastName", part: "Person", Hidden: true, Kind: textField, Label: "Last name"},
		{Name: "firstName", Hidden: true, Kind: textField, Label: "First name"},
		{Name: "title", Hidden: true, Kind: textField, Label: "Title"},
		{Name: "nameSuffix", Hidden: true, Kind: textField, Label: "Suffix"},
		{Name: "salutation", Hidden: true, Kind: Choice, Label: "Salutation", options: []shell.Option{
			shell.NewOption("ms", "Ms"), shell.NewOption("mr", "Mr"), shell.NewOption("mx", "Mx [no salutation]"),
		}},
		{Name: "mobile", part: "Contact details", Kind: PhoneField, Label: "Mobile"},
		{Name: "phone", Kind: PhoneField, Label: "Phone"},
		additionalPhones,
		{Name: "email", Kind: EmailField, Label: "Email"},
		additionalEmails,
		{Name: "website", Kind: linkField, Label: "Website"},
		{Name: "companyId", part: "Work", Kind: Reference, To: "companies", creates: true, Label: "Company"},
		{Name: "jobTitle", Kind: textField, Label: "Job title"},
		{Name: "department", Kind: textField, Label: "Department"},
	}, address, []Field{
		additionalAddresses,
		{Name: "birthday", part: "More [to read]", Kind: dayField, Label: "Birthday"},
		{Name: "language", Kind: languageField, Label: "Language", hint: "For example German or en-GB"},
		{Name: "note", Kind: longField, Label: "Note"},
	}, sharing),
	sortName: func(v shell.Values) string {
		if v["lastName"] == "" || v["firstName"] == "" {
			return contactHeading(v)
		}
		return v["lastName"] + ", " + shell.Joined(" ", v["title"], v["firstName"], v["nameSuffix"])
	},
	Heading: contactHeading,
	beneath: func(v shell.Values) []string { return shell.Present(v["jobTitle"], v["department"]) },
}

func contactHeading(v shell.Values) string {
	return shell.Joined(" ", v["title"], cmp.Or(v["displayName"], v["email"]), v["nameSuffix"])
}

var Companies = Family{
	Acts: familyActs{company.List, company.Count, company.Get, company.Create, company.Update, company.Delete},
	Name: "companies", Object: "company", prefix: id.Company, Read: "companies:read", Write: "companies:write",
	One: "Company", another: "New company", create: "Create a company", Many: "Companies", Icon: "building-2", Sorts: byName, ByOwner: true,
	InBook: true, Organizations: true, Begins: "name", offer: "Create the company “%s”",
	Referrers: []*Family{&Contacts, &Tasks, &Documents},
	Fields: slices.Concat([]Field{
		{Name: "name", part: "Company", Hidden: true, Kind: textField, Label: "Name", required: true},
		{Name: "legalForm", Kind: textField, Label: "Legal form"},
		{Name: "phone", part: "Contact details", Kind: PhoneField, Label: "Phone"},
		additionalPhones,
		{Name: "email", Kind: EmailField, Label: "Email"},
		additionalEmails,
		{Name: "website", Kind: linkField, Label: "Website"},
	}, address, []Field{
		additionalAddresses,
		{Name: "vatId", part: "More [to read]", Kind: textField, Label: "VAT ID"},
		{Name: "registerNumber", Kind: textField, Label: "Register number"},
		{Name: "note", Kind: longField, Label: "Note"},
	}, sharing),
	Heading: func(v shell.Values) string { return v["name"] },
	beneath: func(v shell.Values) []string { return shell.Present(v["legalForm"], v["address.city"]) },
}

var Tasks = Family{
	Acts: familyActs{task.List, task.Count, task.Get, task.Create, task.Update, task.Delete},
	Name: "tasks", Object: "task", prefix: id.Task, Read: "tasks:read", Write: "tasks:write",
	One: "Task", another: "New task", create: "Create a task", Many: "Tasks", Icon: "square-check-big", Sorts: ofTasks,
	completable: true, about: true, Begins: "title", offer: "Create the task “%s”",
	Referrers: []*Family{&Documents}, related: "Open tasks",
	quantity: [2]i18n.Text{"one task", "%d tasks"},
	Fields: slices.Concat([]Field{
		{Name: "title", Hidden: true, Kind: textField, Label: "Task", required: true},
		{Name: "status", Hidden: true, Unasked: true, Kind: Choice, Label: "Status", required: true, options: []shell.Option{
			shell.NewOption("open", "open"), shell.NewOption("completed", "done"),
		}},
		{Name: "reference", Kind: textField, Label: "File number"},
		{Name: "dueAt", Kind: momentField, Label: "Due"},
		{Name: "assigneeId", Kind: Reference, To: "people", Label: "Assignee"},
		{Name: "priority", Kind: Choice, Label: "Priority", required: true, options: []shell.Option{
			shell.NewOption("normal", "normal"), shell.NewOption("high", "high"), shell.NewOption("low", "low"),
		}},
		{Name: "contactId", Kind: Reference, To: "contacts", Label: "Contact"},
		{Name: "companyId", Kind: Reference, To: "companies", Label: "Company"},
		{Name: "documentId", Kind: Reference, To: "documents", Label: "Document"},
		{Name: "description", Kind: longField, Label: "Description"},
	}, sharing),
	Heading: func(v shell.Values) string { return v["title"] },
	beneath: func(shell.Values) []string { return nil },
}

var Documents = Family{
	Acts: familyActs{document.List, document.Count, document.Get, document.Create, document.Update, document.Delete},
	Name: "documents", Object: "document", prefix: id.Document, Read: "documents:read", Write: "documents:write",
	One: "Document", another: "New document", create: "Create a document", Many: "Documents", Icon: "file-text", Sorts: ofFiles, ByOwner: true,
	Files: true, about: true, related: "Documents",
	quantity: [2]i18n.Text{"one document", "%d documents"},
	Fields: slices.Concat([]Field{
		{Name: "name", Kind: textField, Label: "Name", required: true},
		{Name: "reference", Kind: textField, Label: "File number"},
		{Name: "contactId", Kind: Reference, To: "contacts", Label: "Contact"},
		{Name: "companyId", Kind: Reference, To: "companies", Label: "Company"},
		{Name: "taskId", Kind: Reference, To: "tasks", Label: "Task"},
	}, sharing),
	Heading: func(v shell.Values) string { return v["name"] },
	beneath: func(shell.Values) []string { return nil },
}

// Group is a group of members that are shown and edited together.
type Group struct {
	Name    string
	Label   i18n.Text
	members []string
}

// groups are the groups of members in contacts and companies.
var groups = []Group{
	{"naming", "Name", []string{"salutation", "title", "firstName", "lastName", "nameSuffix", "name"}},
	{"address", "Address", []string{"address.street", "address.postalCode", "address.city", "address.region", "address.country"}},
}

// Group returns the members of a group that the family has. It returns nil for an unknown group.
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

// United reports whether a merge of two records unites their values of the member. Of the values of
// other members, it keeps one.
func (m Field) United() bool {
	switch m.Kind {
	case TagsField, ListField, AttributesField, longField:
		return true
	}
	return false
}

// MayChange reports whether the person may change the member in records of an owner. It is about people
// who may change records of the family. owner is an id.
func (m Field) MayChange(v *shell.Request, owner string) bool {
	return !m.restricted || v.Session.Administers || owner == v.Session.Principal.ID
}

// Restricted reports whether only the owner and admins may change the member.
func (m Field) Restricted() bool { return m.restricted }

// takesDocuments reports whether documents can refer to a record of the family.
func (f *Family) takesDocuments() bool { return !f.Files }

// Offer returns the label of the choice that creates a record with this name.
func (f *Family) Offer(w i18n.Words, name string) string {
	return w.Say(f.offer, name)
}

// Quantity returns the number of records of the family in words.
func (f *Family) Quantity(w i18n.Words, n int) string {
	one, many := f.quantity[0], f.quantity[1]
	return w.Plural(n, one, many)
}
