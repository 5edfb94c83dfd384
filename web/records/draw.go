package records

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"kartei/kit/clock"
	"kartei/kit/i18n"
	"kartei/kit/website"
	"kartei/web/shell"
	"kartei/web/ui"
)

// CountText returns a number of records, such as 1.284. If the count is capped, a plus sign
// follows, as in 10.000+.
func CountText(w i18n.Words, c CountAnswer) string {
	text := w.Number(c.Count)
	if c.Capped {
		text += "+"
	}
	return text
}

// SortName returns the name of a record by which lists sort, such as "Müller, Brigitte".
func SortName(f *Family, r shell.Values) string {
	if f.sortName != nil {
		return f.sortName(r)
	}
	return f.Heading(r)
}

// Shown returns the members to show in the list of facts: all with a value, and the one that is
// being edited.
func (f *Family) Shown(r shell.Values, editing string) []Field {
	var list []Field
	for _, m := range f.Fields {
		if (r[m.Name] != "" || m.Name == editing) && !m.Hidden {
			list = append(list, m)
		}
	}
	return list
}

// LabelOf returns the label of an option of a select. A value that is no option is its own label.
func (m Field) LabelOf(value string) i18n.Text {
	for _, o := range m.options {
		if o.Value == value {
			return o.Label
		}
	}
	return i18n.Format("%s", value)
}

// day returns a date of the form 2006-01-02 in the format of the person's language.
func day(w i18n.Words, date string) string {
	t, err := time.Parse(time.DateOnly, date)
	if err != nil {
		return date
	}
	w.Zone = time.UTC
	return w.Day(t)
}

// tagged returns the listing of the family's records with a tag.
func (f *Family) tagged(tag string) Listing {
	return Listing{Family: f, Sort: f.Sorts[0].Value, Tag: tag}
}

// Searched returns the address of the search results in a family. If there is no family with this
// name, it is the address of the search in all families.
func Searched(name, q string) string {
	if f := FamilyOf(name); f != nil {
		return Listing{Family: f, Sort: f.Sorts[0].Value, Q: q}.At("/" + name)
	}
	return "/search?" + url.Values{"q": {q}}.Encode()
}

// sizeText returns a file size with its unit. bytes is a decimal number. If it is not, the result
// is empty.
func sizeText(w i18n.Words, bytes string) string {
	n, err := strconv.ParseInt(bytes, 10, 64)
	if err != nil {
		return ""
	}
	return w.Bytes(n)
}

// formTitle returns the title of a form.
func formTitle(v *shell.Request, f Form) string {
	switch {
	case f.id == "":
		return v.Words.Say(f.Family.another)
	case len(f.conflicts) > 0:
		return v.Words.Say("Please decide: %s", f.Family.Heading(f.Was))
	}
	return f.Family.Heading(f.Was)
}

// action returns the path to which the form is submitted.
func (f Form) action() string {
	if f.id == "" {
		return "/" + f.Family.Name + "/new"
	}
	return "/" + f.Family.Name + "/" + f.id
}

// looksForSimilar reports whether the page shows possible duplicates beside the form.
func (f Form) looksForSimilar() bool { return f.id == "" && f.Family.InBook && !f.gone }

// begins reports whether the field of a member has the focus when the page opens.
func (f Form) begins(m Field) bool {
	return len(f.conflicts) == 0 && f.problem == nil && !f.gone && m.Name == f.Family.Begins
}

// subject returns the name of the person who stored the other change, for the beginning of a
// sentence.
func (f Form) subject(v *shell.Request) string {
	if others, is := strings.CutPrefix(f.by, v.Words.Say("you")); is {
		return v.Words.Say("You [at the beginning]") + others
	}
	return f.by
}

// otherChange returns a sentence that says who stored the other of two conflicting changes, and
// when.
func (f Form) otherChange(v *shell.Request) string {
	if f.by == "" || f.at.IsZero() {
		return v.Words.Say("Two changes at the same time")
	}
	if several(v, f.by) {
		return v.Words.Say("%s saved %s (revision r%d) [several]", f.subject(v), v.Words.Ago(f.at), f.revision)
	}
	return v.Words.Say("%s saved %s (revision r%d)", f.subject(v), v.Words.Ago(f.at), f.revision)
}

// tagsField returns the field for tags.
func (f *Family) tagsField(v *shell.Request, m ui.Field) ui.Combo {
	m.Placeholder = v.Words.Say("Tag …")
	return ui.Combo{Field: m, Source: "/choices/tags?family=" + f.Name + "&list=f-" + m.Name + "-list", Offers: true}
}

// conflicting reports whether a member has a conflict that the person must resolve.
func (f Form) conflicting(name string) bool {
	return slices.ContainsFunc(f.conflicts, func(c shell.Conflict) bool { return c.Name == name })
}

// mayShare reports whether the person may change the owner and the visibility.
func (f Form) mayShare(v *shell.Request) bool {
	return f.id == "" || v.Session.Administers || f.Was["ownerId"] == v.Session.Principal.ID
}

// field returns the input field of a member. focus gives it the focus.
func (m Field) field(v *shell.Request, f Form, focus bool) ui.Field {
	l := v.Words.Language
	out := ui.Field{
		Name: m.Name, Label: m.Label.In(l), Hint: m.hint.In(l), Value: m.typed(v, f.Typed[m.Name]), Required: m.required, Focus: focus,
		Type: m.inputType(), Autocomplete: "off", Rows: 3,
	}
	if wrong := f.Wrong[m.Name]; wrong != "" {
		out.Errors = []string{wrong}
	}
	switch _, err := time.Parse(time.DateOnly, out.Value); {
	case m.Kind == longField:
		out.Rows = 6
	case m.Kind == dayField && out.Value != "" && err != nil:
		out.Type = "" // a browser shows an invalid date as an empty date field
	}
	if m.Kind == momentField {
		out.Hint, out.Calendar, out.Live = MomentHint(v, out.Value), true, true
		if len(out.Errors) > 0 {
			out.Hint = MomentHint(v, "")
		}
		out.More = v.Look().Get("/tasks/due").On("input changed delay:150ms").Target("#f-" + m.Name + "-hint").MorphInside().Newest()
	}
	if (m.Kind == Choice || m.Kind == CountryField) && !m.required {
		out.Options = append(out.Options, ui.Option{Text: "–"})
	}
	for _, o := range m.options {
		out.Options = append(out.Options, ui.Option{Value: o.Value, Text: o.Label.In(l)})
	}
	if m.Kind == CountryField {
		for _, c := range v.Words.Countries() {
			out.Options = append(out.Options, ui.Option{Value: c.Code, Text: c.Name})
		}
	}
	if m.Kind == EmailField || m.Kind == linkField {
		out.More = templ.OrderedAttributes{{Key: "inputmode", Value: string(m.Kind)}}
	}
	return out
}

// combo returns the combobox of a reference, in which people find a record by typing.
func (m Field) combo(v *shell.Request, f Form, focus bool) ui.Combo {
	c := ui.Combo{Field: m.field(v, f, focus), Text: f.Names[f.Typed[m.Name]], Source: "/choices/" + m.To + "?list=f-" + m.Name + "-list", Offers: m.To == "people"}
	if mayMake(v, m) {
		c.Source += "&anew=" + m.To
	}
	if u, unclear := f.unclear[m.Name]; unclear {
		c.Text, c.Choices = u.Text, u.offers()
	}
	return c
}

// named returns the value of a member as people read it.
func (f Form) named(v *shell.Request, name, value string) string {
	return f.Family.Field(name).Text(v, f.Names, value)
}

// Text returns a value of the member as people read it. names maps the ids of records and people to
// their names.
func (m Field) Text(v *shell.Request, names map[string]string, value string) string {
	switch m.Kind {
	case Reference:
		return cmp.Or(names[value], value)
	case Choice:
		return v.Words.Say(m.LabelOf(value))
	case dayField:
		return day(v.Words, value)
	case momentField, languageField:
		return m.typed(v, value)
	case CountryField:
		return v.Words.Country(value)
	case ListField:
		return m.listText(v.Words, value)
	}
	return value
}

// justSaved reports whether the previous change was a change of a member, or of a member of a
// group.
func justSaved(v *shell.Request, name string) bool {
	note, _ := v.Context().Value(shell.NoteKey{}).(*shell.Toast)
	return note != nil && slices.ContainsFunc(note.Members, func(m string) bool { return m == name || strings.HasPrefix(m, name+".") })
}

// inputType returns the type attribute of an input, which selects the keyboard on phones. It is
// empty for web and email addresses. The browser's own checks for these types show messages in the
// language of the browser and not in the person's.
func (m Field) inputType() string {
	switch m.Kind {
	case PhoneField:
		return "tel"
	case dayField:
		return string(m.Kind)
	}
	return ""
}

// localForm is the format in which a browser sends a date with a time.
const localForm = "2006-01-02T15:04"

// MomentHint returns the hint below a date field. The hint shows how the typed date is understood,
// or how to type a date.
func MomentHint(v *shell.Request, typed string) string {
	due, clock, ok := v.Words.ReadDue(typed)
	switch {
	case typed == "":
		return v.Words.Say("For example: tomorrow 10, next Friday, 2026-12-15")
	case !ok:
		return v.Words.Say(unreadMoment)
	case clock:
		return v.Words.Weekday(due) + ", " + v.Words.Time(due)
	}
	return v.Words.Weekday(due) + ", " + v.Words.Day(due)
}

var unreadMoment = i18n.Text("No date recognized. For example: tomorrow 10, next Friday, 2026-12-15")

var unreadDay = i18n.Text("There is no such day. Please write it for example like this: 1984-12-31.")

var unreadLanguage = i18n.Text("This language is not known. Please write its name or its code.")

// typed returns the value of a member as a field shows it.
func (m Field) typed(v *shell.Request, value string) string {
	if t, ok := shell.TimeOf(value); m.Kind == momentField && ok {
		return v.Words.DueText(t)
	}
	if m.Kind == languageField {
		return v.Words.Tongue(value)
	}
	return value
}

// stored returns a typed value in the form that the API accepts. A web address is
// completed. A language may be typed by its name, and a date as 31.12.1984. If a time was not
// edited, stored returns the value before, which has seconds.
func (m Field) stored(v *shell.Request, typed, before string) string {
	switch {
	case m.Kind == ListField:
		if v.Sent.Has(m.Name) { // the whole list, and not its rows
			return typed
		}
		return m.readList(typed, before)
	case m.Kind == linkField:
		if address, is := website.Complete(typed); is {
			return address
		}
		return typed
	case m.Kind == languageField:
		return i18n.ReadTongue(typed)
	case m.Kind == dayField:
		if t, err := time.Parse("2.1.2006", typed); err == nil {
			return t.Format(time.DateOnly)
		}
		return typed
	case m.Kind != momentField || typed == "":
		return typed
	case typed == m.typed(v, before):
		return before
	}
	if t, err := time.ParseInLocation(localForm, typed, v.Zone()); err == nil {
		return clock.FromTime(t).String()
	}
	if t, _, ok := v.Words.ReadDue(typed); ok {
		return clock.FromTime(t).String()
	}
	return typed
}

// wrongs returns the error messages in the summary above a refused form.
func (f Form) wrongs(v *shell.Request) []ui.Wrong {
	var list []ui.Wrong
	for _, m := range f.Family.Fields {
		if m.Kind == ListField {
			list = append(list, m.wrongRows(v, f)...)
		} else if text := f.Wrong[m.Name]; text != "" {
			list = append(list, ui.Wrong{ID: "f-" + m.Name, Label: v.Words.Say(m.Label), Text: text})
		}
	}
	return list
}

// columns returns the header cells of the table of tasks or documents.
func (l List) columns(v *shell.Request) []ui.Column {
	say := v.Words.Say
	about := ui.Column{Name: aboutLabel(v), Class: "wide"}
	if l.Family.Files {
		return []ui.Column{{Name: say("Name"), Class: "main"}, about, {Name: say("Size"), Class: "num"}, {Name: say("Changed"), Class: "when"}}
	}
	return []ui.Column{{Name: say("Task"), Class: "main"}, about, {Name: say("Assignee"), Class: "wide"}, {Name: say("Due"), Class: "when"}}
}

// Pages returns the addresses of the previous and the next page of a list.
func (l List) Pages(v *shell.Request) (p ui.Pages) {
	if at, more := l.Newer(); more {
		p.Newer = v.Look().To(at.At("/" + l.Family.Name))
	}
	if at, more := l.Older(); more {
		p.Older = v.Look().To(at.At("/" + l.Family.Name))
	}
	return p
}

// MayEdit reports whether the person may change a member of the record.
func (p Page) MayEdit(v *shell.Request, m Field) bool {
	return p.MayWrite && m.MayChange(v, p.Record["ownerId"])
}

// Beneath returns the line below the name of a record.
func (p Page) Beneath() string {
	return shell.Joined(" · ", append([]string{p.Names[p.Record["companyId"]]}, p.Family.beneath(p.Record)...)...)
}

// Moments returns the entries of the timeline: the changes of a record.
func (p Page) Moments(v *shell.Request) []ui.Moment {
	var list []ui.Moment
	for _, c := range p.History {
		m := ui.Moment{At: c.ChangedAt.Time(), Who: p.Names[c.Principal], Icon: "pencil", Text: v.Words.Say("%s changed", Labels(v, p.Family, c.Members))}
		switch c.Act {
		case "created":
			m.Icon, m.Text = "plus", v.Words.Say("created")
		case "completed":
			m.Icon, m.Text = "check", v.Words.Say("completed")
		case "merged":
			m.Icon, m.Text = "merge", v.Words.Say("merged with another entry")
		}
		m.Note = shell.Joined(", ", door(v.Words, c), credentialOf(v, c, p.Names))
		list = append(list, m)
	}
	return list
}

// Labels returns the labels of members, such as "Mobile and Tags". For more than three members it
// returns their number.
func Labels(v *shell.Request, f *Family, names []string) string {
	if len(names) > 3 {
		return v.Words.Say("%s fields", strconv.Itoa(len(names)))
	}
	labels := make([]string, len(names))
	for i, name := range names {
		labels[i] = v.Words.Say(f.Field(name).Label)
	}
	return v.Words.List(labels)
}

// several reports whether a verb after who is not in the third person singular. This is the case
// for "you" and for more than one person.
func several(v *shell.Request, who string) bool {
	return who == v.Words.Say("you") || strings.Contains(who, v.Words.Say(" and "))
}
