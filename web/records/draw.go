package records

import (
	"cmp"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"kartei/kit/clock"
	"kartei/kit/i18n"
	"kartei/web/shell"
	"kartei/web/ui"
)

// CountText returns the number of records: 1.284, or 10.000+ where counting stops.
func CountText(w i18n.Words, c CountAnswer) string {
	text := w.Number(c.Count)
	if c.Capped {
		text += "+"
	}
	return text
}

// SortName returns the name of a record as lists sort it: Müller, Brigitte.
func SortName(f *Family, r shell.Values) string {
	if f.sortName != nil {
		return f.sortName(r)
	}
	return f.Heading(r)
}

// Shown returns the members of a record that the list of facts shows: those that
// have a value, and the one that is being edited.
func (f *Family) Shown(r shell.Values, editing string) []Field {
	var list []Field
	for _, m := range f.Fields {
		if (r[m.Name] != "" || m.Name == editing) && !m.Hidden {
			list = append(list, m)
		}
	}
	return list
}

// LabelOf returns the label of a value of a choice.
func (m Field) LabelOf(value string) i18n.Text {
	for _, o := range m.options {
		if o.Value == value {
			return o.Label
		}
	}
	return i18n.Format("%s", value)
}

// mail returns the mailto URI of an address (RFC 6068). Special characters before the last @ are
// escaped, so that they cannot add a recipient or a header.
func mail(address string) templ.SafeURL {
	at := strings.LastIndexByte(address, '@')
	if at < 0 {
		at = len(address)
	}
	return templ.SafeURL("mailto:" + mailSigns.Replace(url.PathEscape(address[:at])) + address[at:])
}

// mailSigns escapes the signs of a list of headers, which may stand in a path.
var mailSigns = strings.NewReplacer("&", "%26", "=", "%3D")

// webAddress returns a web address, or # for a text with another scheme than http
// and https.
func webAddress(text string) templ.SafeURL {
	if u, err := url.Parse(text); err == nil && (u.Scheme == "http" || u.Scheme == "https") {
		return templ.SafeURL(u.String())
	}
	return "#"
}

// bareAddress is a web address as people write it, without a scheme: its first part is
// a name with a dot.
var bareAddress = regexp.MustCompile(`^[^\s:/?#@]+\.[^\s:/?#@.]+(:[0-9]+)?([/?#]\S*)?$`)

// completed returns a typed web address with https:// if it has no scheme.
func completed(address string) string {
	if bareAddress.MatchString(address) {
		return "https://" + address
	}
	return address
}

// day returns a date of the form 2006-01-02 in words.
func day(w i18n.Words, date string) string {
	t, err := time.Parse(time.DateOnly, date)
	if err != nil {
		return date
	}
	w.Zone = time.UTC
	return w.Day(t)
}

// tagged returns the listing of the records with a tag.
func (f *Family) tagged(tag string) Listing {
	return Listing{Family: f, Sort: f.Sorts[0].Value, Tag: tag}
}

// Searched returns the address of the list of a family that a search narrows.
func Searched(name, q string) string {
	if f := FamilyOf(name); f != nil {
		return Listing{Family: f, Sort: f.Sorts[0].Value, Q: q}.At("/" + name)
	}
	return "/search?" + url.Values{"q": {q}}.Encode()
}

// sizeText returns the size of a file.
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

// action returns the address to which the form is sent.
func (f Form) action() string {
	if f.id == "" {
		return "/" + f.Family.Name + "/new"
	}
	return "/" + f.Family.Name + "/" + f.id
}

// looksForSimilar reports whether records that may be the same are shown beside the
// form.
func (f Form) looksForSimilar() bool { return f.id == "" && f.Family.InBook && !f.gone }

// begins reports whether typing begins in a member: in the name.
func (f Form) begins(m Field) bool {
	return len(f.conflicts) == 0 && f.problem == nil && !f.gone && m.Name == f.Family.Begins
}

// subject is who stored the other change, at the beginning of a sentence.
func (f Form) subject(v *shell.Request) string {
	if others, is := strings.CutPrefix(f.by, v.Words.Say("you")); is {
		return v.Words.Say("You [at the beginning]") + others
	}
	return f.by
}

// otherChange says who stored the other one of two changes.
func (f Form) otherChange(v *shell.Request) string {
	if f.by == "" || f.at.IsZero() {
		return v.Words.Say("Two changes at the same time")
	}
	if several(v, f.by) {
		return v.Words.Say("%s saved %s (revision r%d) [several]", f.subject(v), v.Words.Ago(f.at), f.revision)
	}
	return v.Words.Say("%s saved %s (revision r%d)", f.subject(v), v.Words.Ago(f.at), f.revision)
}

// tagsField returns the field in which tags are typed.
func (f *Family) tagsField(v *shell.Request, m ui.Field) ui.Combo {
	m.Placeholder = v.Words.Say("Tag …")
	return ui.Combo{Field: m, Source: "/choices/tags?family=" + f.Name + "&list=f-" + m.Name + "-list", Offers: true}
}

// conflicting reports whether a member waits for a decision.
func (f Form) conflicting(name string) bool {
	return slices.ContainsFunc(f.conflicts, func(c conflict) bool { return c.Name == name })
}

// mayShare reports whether the person may change the owner and the visibility.
func (f Form) mayShare(v *shell.Request) bool {
	return f.id == "" || v.Session.Administers || f.Was["ownerId"] == v.Session.Principal.ID
}

// field returns the field in which a member is typed.
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
		out.Type = "" // a browser leaves a field of a date empty if its value is none
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

// combo returns the field in which a reference is found by typing.
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

// named returns a value of a member as a person reads it.
func (f Form) named(v *shell.Request, name, value string) string {
	m := f.Family.Field(name)
	switch m.Kind {
	case Reference:
		return cmp.Or(f.Names[value], value)
	case Choice:
		return v.Words.Say(m.LabelOf(value))
	case dayField:
		return day(v.Words, value)
	case momentField, languageField:
		return m.typed(v, value)
	case CountryField:
		return v.Words.Country(value)
	}
	return value
}

// justSaved reports whether the change before this page was of a member, or of one of its
// group.
func justSaved(v *shell.Request, name string) bool {
	note, _ := v.Context().Value(shell.NoteKey{}).(*shell.Toast)
	return note != nil && slices.ContainsFunc(note.Members, func(m string) bool { return m == name || strings.HasPrefix(m, name+".") })
}

// inputType returns the type of an input, which chooses the keyboard of telephones.
// A web address and an email are typed as text, because the browser's own checks
// speak the language of the browser and not the person's.
func (m Field) inputType() string {
	switch m.Kind {
	case PhoneField:
		return "tel"
	case dayField:
		return string(m.Kind)
	}
	return ""
}

// localForm is how a browser writes a day with the time of the day.
const localForm = "2006-01-02T15:04"

// MomentHint says how a moment is understood, or how one is typed.
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

// typed returns a value of a record as a field shows it.
func (m Field) typed(v *shell.Request, value string) string {
	if t, ok := shell.TimeOf(value); m.Kind == momentField && ok {
		return v.Words.DueText(t)
	}
	if m.Kind == languageField {
		return v.Words.Tongue(value)
	}
	return value
}

// stored returns a typed value as the API takes it. A web address is completed. A
// language may be typed by its name, and a day like 31.12.1984. A moment that still
// reads like before is returned as before, so its seconds are kept.
func (m Field) stored(v *shell.Request, typed, before string) string {
	switch {
	case m.Kind == linkField:
		return completed(typed)
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

// wrongs are the lines above a form that was refused.
func (f Form) wrongs(v *shell.Request) []ui.Wrong {
	var list []ui.Wrong
	for _, m := range f.Family.Fields {
		if text := f.Wrong[m.Name]; text != "" {
			list = append(list, ui.Wrong{ID: "f-" + m.Name, Label: v.Words.Say(m.Label), Text: text})
		}
	}
	return list
}

// columns are the heads of the table of tasks or documents.
func (l List) columns(v *shell.Request) []ui.Column {
	say := v.Words.Say
	about := ui.Column{Name: aboutLabel(v), Class: "wide"}
	if l.Family.Files {
		return []ui.Column{{Name: say("Name"), Class: "main"}, about, {Name: say("Size"), Class: "num"}, {Name: say("Changed"), Class: "when"}}
	}
	return []ui.Column{{Name: say("Task"), Class: "main"}, about, {Name: say("Assignee"), Class: "wide"}, {Name: say("Due"), Class: "when"}}
}

// Pages are the neighbouring pages of a list.
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
	return p.MayWrite && (!m.restricted || v.Session.Administers || p.Record["ownerId"] == v.Session.Principal.ID)
}

// Beneath is the line beside the name of a record.
func (p Page) Beneath() string {
	return shell.Joined(" · ", append([]string{p.Names[p.Record["companyId"]]}, p.Family.beneath(p.Record)...)...)
}

// Moments are the changes of a record, for the timeline.
func (p Page) Moments(v *shell.Request) []ui.Moment {
	var list []ui.Moment
	for _, c := range p.History {
		m := ui.Moment{At: c.ChangedAt.Time(), Who: p.Names[c.Principal], Icon: "pencil", Text: v.Words.Say("%s changed", Labels(v, p.Family, c.Members))}
		switch c.Act {
		case "created":
			m.Icon, m.Text = "plus", v.Words.Say("created")
		case "completed":
			m.Icon, m.Text = "check", v.Words.Say("completed")
		}
		m.Note = shell.Joined(", ", door(v.Words, c), credentialOf(v, c, p.Names))
		list = append(list, m)
	}
	return list
}

// Labels names members: "Mobil und Schlagworte", or their number.
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

// several reports whether a verb that follows is not in the third person singular: the
// reader, or more than one person.
func several(v *shell.Request, who string) bool {
	return who == v.Words.Say("you") || strings.Contains(who, v.Words.Say(" and "))
}
