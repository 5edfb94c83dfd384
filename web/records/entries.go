package records

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/a-h/templ"

	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/kit/input"
	"kartei/record"
	"kartei/web/shell"
	"kartei/web/ui"
)

// The fields of lists of objects. Each object is an entry, with the same parts.
var (
	additionalEmails = Field{
		Name: "additionalEmails", Kind: ListField, Label: "Further email addresses",
		entry: entryField{
			first: "Email", another: "Another email address", blank: 3, labels: []string{"work", "home", "other"},
			parts: []Field{{Name: "email", Kind: EmailField, Label: "Email"}, labelPart},
		},
	}
	additionalPhones = Field{
		Name: "additionalPhones", Kind: ListField, Label: "Further numbers",
		entry: entryField{first: "Phone", another: "Another number", blank: 3, labels: record.Labels, parts: []Field{
			{Name: "phone", Kind: PhoneField, Label: "Phone"}, labelPart,
		}},
	}
	additionalAddresses = Field{
		Name: "additionalAddresses", Kind: ListField, Label: "Further addresses",
		entry: entryField{
			first: "Address", another: "Another address", blank: 2, labels: []string{"work", "home", "other"},
			parts: append(addressParts(), labelPart),
		},
	}
	labelPart = Field{Name: "label", Kind: labelField, Label: "Label [of an email, number or address]"}
)

// entryField describes the entries of a list.
type entryField struct {
	// first is the label of the member with the first value, which is not in the list. The entries
	// have the same label, with a number or their own label.
	first i18n.Text
	// another is the label of the button for a further row, and blank the number of such rows.
	another i18n.Text
	blank   int
	// labels are the labels that a form suggests: see record.Labels.
	labels []string
	parts  []Field
}

// addressParts returns the fields of a postal address, with their names within an entry.
func addressParts() (parts []Field) {
	for _, m := range address {
		m.Name, m.part = strings.TrimPrefix(m.Name, "address."), ""
		parts = append(parts, m)
	}
	return parts
}

// Entry is an entry of a list, with the facts that a record's page shows.
type Entry struct {
	shell.Values
	field Field
}

// Entries returns the entries of a list.
func (m Field) Entries(list string) (entries []Entry) {
	for _, e := range shell.Entries(list) {
		entries = append(entries, Entry{e, m})
	}
	return entries
}

// Kind returns the kind of the entry's value: EmailField or PhoneField. For an address it is the kind
// of its first part, a text.
func (e Entry) Kind() fieldKind { return e.field.entry.parts[0].Kind }

// Value returns the email address or the number.
func (e Entry) Value() string { return e.Values[e.field.entry.parts[0].Name] }

// Fax reports whether the entry is a fax number, which nobody calls.
func (e Entry) Fax() bool { return e.Kind() == PhoneField && e.Values["label"] == "fax" }

// AtHome reports whether the entry is an address at home. A letter to it does not name the company.
func (e Entry) AtHome() bool { return e.Values["label"] == "home" }

// Label returns the label of the entry in a list of facts, such as "Email (home)".
func (e Entry) Label(w i18n.Words) string {
	switch label := shell.LabelText(w, e.Values["label"]); {
	case e.Fax():
		return w.Say("Fax")
	case label != "":
		return w.Say("%s (%s) [an email, number or address and its label]", w.Say(e.field.entry.first), label)
	}
	return w.Say(e.field.entry.first)
}

// Address returns the entry as a postal address.
func (e Entry) Address() i18n.Address {
	return i18n.Address{
		Street: e.Values["street"], PostalCode: e.Values["postalCode"], City: e.Values["city"],
		Region: e.Values["region"], Country: e.Values["country"],
	}
}

// Takes reports whether a list takes another entry.
func (m Field) Takes(list string) bool { return len(shell.Entries(list)) < record.MaxEntries[m.Name] }

// text returns the entry as one line, for the choice between two lists.
func (e Entry) text(w i18n.Words) string {
	text := e.Value()
	if e.Kind() == textField {
		text = strings.Join(w.Lines(e.Address()), ", ")
	}
	if label := shell.LabelText(w, e.Values["label"]); label != "" {
		return w.Say("%s (%s) [an email, number or address and its label]", text, label)
	}
	return text
}

// listText returns the entries of a list, one on each line.
func (m Field) listText(w i18n.Words, list string) string {
	var lines []string
	for _, e := range m.Entries(list) {
		lines = append(lines, e.text(w))
	}
	return strings.Join(lines, "\n")
}

// readList returns a typed list in the form that the API accepts. Labels that are words for
// record.Labels become these, unless an entry before had such a word as a label of its own.
func (m Field) readList(typed, before string) string {
	entries := shell.Entries(typed)
	for _, e := range entries {
		own := func(b shell.Values) bool { return b["label"] == e["label"] }
		if !slices.ContainsFunc(shell.Entries(before), own) {
			e["label"] = shell.ReadLabel(e["label"])
		}
	}
	return shell.EntryList(m.Name, entries)
}

// partName returns the name of a part of an entry in errors of the API, such as
// additionalEmails[3].email.
func (m Field) partName(i int, part string) string { return input.Indexed(m.Name, i) + "." + part }

// number returns the name of an entry among all values of its kind, such as "Email 2". The first value
// is not in the list.
func (m Field) number(w i18n.Words, i int) string {
	return w.Say(m.entry.first) + " " + strconv.Itoa(i+2)
}

// rows returns the field of a list: a row for each entry, and blank rows for further ones. In place of
// the facts, the first blank row is open.
func (m Field) rows(v *shell.Request, f Form, focus bool) ui.Rows {
	l := v.Words.Language
	entries := shell.Entries(f.Typed[m.Name])
	out := ui.Rows{
		Field: ui.Field{Name: m.Name, Label: m.Label.In(l)}, Another: m.entry.another.In(l), Titled: len(m.entry.parts) > 2,
		Bare: f.inPlace, Open: f.inPlace && (len(entries) == 0 || len(m.entry.parts) == 2), // no blank address beside one
	}
	for _, label := range m.entry.labels {
		out.Suggestions = append(out.Suggestions, shell.LabelText(v.Words, label))
	}
	if wrong := f.Wrong[m.Name]; wrong != "" {
		out.Errors = []string{wrong}
	}
	for i, e := range entries {
		out.Rows = append(out.Rows, m.row(v, f, i, e, focus && i == 0))
	}
	if f.inPlace && len(entries) > 0 {
		out.Hint = v.Words.Say("Empty rows are dropped.")
	}
	for i := range min(m.entry.blank, record.MaxEntries[m.Name]-len(entries)) {
		out.Blank = append(out.Blank, m.row(v, f, len(entries)+i, nil, focus && i == 0 && len(entries) == 0))
	}
	return out
}

// otherList returns the rows for another list than those in conflict. They begin with the typed ones.
func (f Form) otherList(v *shell.Request, c shell.Conflict) ui.Rows {
	rows := f.Family.Field(c.Name).rows(v, Form{Family: f.Family, Typed: shell.Values{c.Name: c.Mine}}, false)
	rows.Bare = true
	return rows
}

// row returns the fields of an entry. focus gives the first one the focus.
func (m Field) row(v *shell.Request, f Form, i int, e shell.Values, focus bool) ui.Row {
	row := ui.Row{Label: m.number(v.Words, i)}
	short := len(m.entry.parts) == 2 // of a value and its label, which need no labels on the screen
	for j, part := range m.entry.parts {
		field := part.field(v, Form{Family: f.Family, Typed: e}, focus && j == 0)
		field.Name, field.ID = m.Name+"."+part.Name, "f-"+m.Name+"-"+strconv.Itoa(i)+"-"+part.Name
		if part.Kind == labelField {
			field.Value = shell.LabelText(v.Words, e["label"])
			field.More = templ.OrderedAttributes{{Key: "list", Value: "f-" + m.Name + "-labels"}}
		}
		if short {
			field.Label, field.Unseen = row.Label, true
			if part.Kind == labelField {
				field.Placeholder = v.Words.Say(part.Label)
				field.Label = v.Words.Say("%s: label", row.Label)
			}
		}
		wrong := f.Wrong[m.partName(i, part.Name)]
		if j == 0 {
			wrong = cmp.Or(wrong, f.Wrong[input.Indexed(m.Name, i)])
		}
		if wrong != "" {
			field.Errors = []string{wrong}
		}
		row.Fields = append(row.Fields, field)
	}
	return row
}

// wrongEntries replaces the message of a list in texts by the messages of its entries, by names such
// as additionalEmails[3].email.
func (f *Family) wrongEntries(texts map[string]string, wrong []fault.Field, l i18n.Language) {
	for _, w := range wrong {
		name, _, within := strings.Cut(w.Name, "[")
		if f.Field(name).Kind != ListField {
			continue
		}
		if !within {
			texts[name] = w.Message(l)
			continue
		}
		if texts[w.Name] == "" {
			texts[w.Name] = w.Message(l)
		}
		if !slices.ContainsFunc(wrong, func(w fault.Field) bool { return w.Name == name }) {
			delete(texts, name)
		}
	}
}

// wrongRows returns the entries of the summary of errors for a list.
func (m Field) wrongRows(v *shell.Request, f Form) (list []ui.Wrong) {
	rows := m.rows(v, f, false)
	for _, row := range rows.Rows {
		for _, w := range ui.Wrongs(row.Fields...) {
			if rows.Titled {
				w.Label = row.Label + ": " + w.Label
			}
			list = append(list, w)
		}
	}
	return append(list, ui.Wrongs(rows.Field)...)
}
