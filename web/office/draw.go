package office

import (
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/web/i18n"
	"kartei/web/ui"
)

// countText returns the number of records: 1.284, or 10.000+ where counting stops.
func countText(w i18n.Words, c counted) string {
	text := w.Number(c.Count)
	if c.Capped {
		text += "+"
	}
	return text
}

// sortName returns the name of a record as lists sort it: Müller, Brigitte.
func sortName(f *family, r values) string {
	if f == &contacts && r["lastName"] != "" && r["firstName"] != "" {
		return r["lastName"] + ", " + joined(" ", r["title"], r["firstName"])
	}
	return f.heading(r)
}

// shown returns the members of a record that the list of facts shows: those that
// have a value, and the one that is being edited.
func (f *family) shown(r values, editing string) []field {
	var list []field
	for _, m := range f.fields {
		if (r[m.name] != "" || m.name == editing) && !m.hidden {
			list = append(list, m)
		}
	}
	return list
}

// labelOf returns the label of a value of a choice.
func (m field) labelOf(value string) fault.Text {
	for _, o := range m.options {
		if o.value == value {
			return o.label
		}
	}
	return text(value, value)
}

// telephone returns the address that dials a number of an entry, in the country of the
// entry. It is empty for a text that is no number.
func telephone(w i18n.Words, r values, number string) templ.SafeURL {
	return templ.SafeURL(w.Telephone(number, r["address.country"]))
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
func (f *family) tagged(tag string) listing {
	return listing{family: f, Sort: f.sorts[0].value, Tag: tag}
}

// searched returns the address of the list of a family that a search narrows.
func searched(name, q string) string {
	if f := familyOf(name); f != nil {
		return listing{family: f, Sort: f.sorts[0].value, Q: q}.at("/" + name)
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
func formTitle(v *request, f recordForm) string {
	switch {
	case f.id == "":
		return f.family.another.In(v.words.Language)
	case len(f.conflicts) > 0:
		return v.words.Say("Bitte entscheiden: ", "Please decide: ") + f.family.heading(f.was)
	}
	return f.family.heading(f.was)
}

// action returns the address to which the form is sent.
func (f recordForm) action() string {
	if f.id == "" {
		return "/" + f.family.name + "/new"
	}
	return "/" + f.family.name + "/" + f.id
}

// looksForSimilar reports whether records that may be the same are shown beside the
// form.
func (f recordForm) looksForSimilar() bool { return f.id == "" && f.family.inBook() && !f.gone }

// begins reports whether typing begins in a member: in the name.
func (f recordForm) begins(m field) bool {
	return len(f.conflicts) == 0 && f.problem == nil && !f.gone && m.name == map[*family]string{&contacts: "lastName", &companies: "name", &tasks: "title"}[f.family]
}

// otherChange says who stored the other one of two changes.
func (f recordForm) otherChange(v *request) string {
	if f.by == "" || f.at.IsZero() {
		return v.words.Say("Zwei Änderungen gleichzeitig", "Two changes at the same time")
	}
	return v.words.Say(have(f.by)+v.words.Ago(f.at)+" gespeichert (Stand r"+strconv.FormatInt(f.revision, 10)+")", capital(f.by)+" saved "+v.words.Ago(f.at)+" (revision r"+strconv.FormatInt(f.revision, 10)+")")
}

// tagsField returns the field in which tags are typed.
func (f *family) tagsField(v *request, m ui.Field) ui.Combo {
	m.Placeholder = v.words.Say("Schlagwort …", "Tag …")
	return ui.Combo{Field: m, Source: "/choices/tags?family=" + f.name + "&list=f-" + m.Name + "-list", Offers: true}
}

// conflicting reports whether a member waits for a decision.
func (f recordForm) conflicting(name string) bool {
	return slices.ContainsFunc(f.conflicts, func(c conflict) bool { return c.Name == name })
}

// mayShare reports whether the person may change the owner and the visibility.
func (f recordForm) mayShare(v *request) bool {
	return f.id == "" || v.session.Administers || f.was["ownerId"] == v.session.Principal.ID
}

// field returns the field in which a member is typed.
func (m field) field(v *request, f recordForm, focus bool) ui.Field {
	l := v.words.Language
	out := ui.Field{
		Name: m.name, Label: m.label.In(l), Hint: m.hint.In(l), Value: m.typed(v, f.typed[m.name]), Required: m.required, Focus: focus,
		Type: m.inputType(), Autocomplete: "off", Rows: 3,
	}
	if wrong := f.wrong[m.name]; wrong != "" {
		out.Errors = []string{wrong}
	}
	switch _, err := time.Parse(time.DateOnly, out.Value); {
	case m.kind == longField:
		out.Rows = 6
	case m.kind == dayField && out.Value != "" && err != nil:
		out.Type = "" // a browser leaves a field of a date empty if its value is none
	}
	if m.kind == momentField {
		out.Hint, out.Calendar, out.Live = v.momentHint(out.Value), true, true
		if len(out.Errors) > 0 {
			out.Hint = v.momentHint("")
		}
		out.More = v.look().Get("/tasks/due").On("input changed delay:150ms").Target("#f-" + m.name + "-hint").MorphInside().Newest()
	}
	if (m.kind == choice || m.kind == countryField) && !m.required {
		out.Options = append(out.Options, ui.Option{Text: "–"})
	}
	for _, o := range m.options {
		out.Options = append(out.Options, ui.Option{Value: o.value, Text: o.label.In(l)})
	}
	if m.kind == countryField {
		for _, c := range v.words.Countries() {
			out.Options = append(out.Options, ui.Option{Value: c.Code, Text: c.Name})
		}
	}
	if m.kind == emailField || m.kind == linkField {
		out.More = templ.OrderedAttributes{{Key: "inputmode", Value: string(m.kind)}}
	}
	return out
}

// combo returns the field in which a reference is found by typing.
func (m field) combo(v *request, f recordForm, focus bool) ui.Combo {
	c := ui.Combo{Field: m.field(v, f, focus), Text: f.names[f.typed[m.name]], Source: "/choices/" + m.to + "?list=f-" + m.name + "-list", Offers: m.to == "people"}
	if f.family == &contacts && v.mayMake(m) {
		c.Source += "&anew=" + m.to
	}
	if u, unclear := f.unclear[m.name]; unclear {
		c.Text, c.Choices = u.Text, u.offers()
	}
	return c
}

// named returns a value of a member as a person reads it.
func (f recordForm) named(v *request, name, value string) string {
	m := f.family.field(name)
	switch m.kind {
	case reference:
		return first(f.names[value], value)
	case choice:
		return m.labelOf(value).In(v.words.Language)
	case dayField:
		return day(v.words, value)
	case momentField, languageField:
		return m.typed(v, value)
	case countryField:
		return v.words.Country(value)
	}
	return value
}

// justSaved reports whether the change before this page was of a member, or of one of its
// group.
func (v *request) justSaved(name string) bool {
	note, _ := v.Context().Value(noteKey{}).(*toast)
	return note != nil && slices.ContainsFunc(note.Members, func(m string) bool { return m == name || strings.HasPrefix(m, name+".") })
}

// inputType returns the type of an input, which chooses the keyboard of telephones.
// A web address and an email are typed as text, because the browser's own checks
// speak the language of the browser and not the person's.
func (m field) inputType() string {
	switch m.kind {
	case phoneField:
		return "tel"
	case dayField:
		return string(m.kind)
	}
	return ""
}

// localForm is how a browser writes a day with the time of the day.
const localForm = "2006-01-02T15:04"

// momentHint says how a moment is understood, or how one is typed.
func (v *request) momentHint(typed string) string {
	due, clock, ok := v.words.ReadDue(typed)
	switch {
	case typed == "":
		return v.words.Say("Zum Beispiel: morgen 10, nächsten Freitag, 15.12.", "For example: tomorrow 10, next Friday, 2026-12-15")
	case !ok:
		return unreadMoment.In(v.words.Language)
	case clock:
		return v.words.Weekday(due) + ", " + v.words.Time(due)
	}
	return v.words.Weekday(due) + ", " + v.words.Day(due)
}

var unreadMoment = text("Kein Datum erkannt. Zum Beispiel: morgen 10, nächsten Freitag, 15.12.", "No date recognized. For example: tomorrow 10, next Friday, 2026-12-15")

var unreadDay = text("Diesen Tag gibt es nicht. Bitte schreiben Sie ihn zum Beispiel so: 31.12.1984.", "There is no such day. Please write it for example like this: 1984-12-31.")

var unreadLanguage = text("Diese Sprache ist nicht bekannt. Bitte schreiben Sie ihren Namen oder ihr Kürzel.", "This language is not known. Please write its name or its code.")

// typed returns a value of a record as a field shows it.
func (m field) typed(v *request, value string) string {
	if t, ok := timeOf(value); m.kind == momentField && ok {
		return v.words.DueText(t)
	}
	if m.kind == languageField {
		return v.words.Tongue(value)
	}
	return value
}

// stored returns a typed value as the API takes it. A web address is completed. A
// language may be typed by its name, and a day like 31.12.1984. A moment that still
// reads like before is returned as before, so its seconds are kept.
func (m field) stored(v *request, typed, before string) string {
	switch {
	case m.kind == linkField:
		return completed(typed)
	case m.kind == languageField:
		return i18n.ReadTongue(typed)
	case m.kind == dayField:
		if t, err := time.Parse("2.1.2006", typed); err == nil {
			return t.Format(time.DateOnly)
		}
		return typed
	case m.kind != momentField || typed == "":
		return typed
	case typed == m.typed(v, before):
		return before
	}
	if t, err := time.ParseInLocation(localForm, typed, v.zone()); err == nil {
		return clock.FromTime(t).String()
	}
	if t, _, ok := v.words.ReadDue(typed); ok {
		return clock.FromTime(t).String()
	}
	return typed
}

// wrongs are the lines above a form that was refused.
func (f recordForm) wrongs(v *request) []ui.Wrong {
	var list []ui.Wrong
	for _, m := range f.family.fields {
		if text := f.wrong[m.name]; text != "" {
			list = append(list, ui.Wrong{ID: "f-" + m.name, Label: m.label.In(v.words.Language), Text: text})
		}
	}
	return list
}

// columns are the heads of the table of tasks or documents.
func (l recordList) columns(v *request) []ui.Column {
	say := v.words.Say
	about := ui.Column{Name: aboutLabel(v), Class: "wide"}
	if l.family == &tasks {
		return []ui.Column{{Name: say("Aufgabe", "Task"), Class: "main"}, about, {Name: say("Zuständig", "Assignee"), Class: "wide"}, {Name: say("Fällig", "Due"), Class: "when"}}
	}
	return []ui.Column{{Name: "Name", Class: "main"}, about, {Name: say("Größe", "Size"), Class: "num"}, {Name: say("Geändert", "Changed"), Class: "when"}}
}

// pages are the neighbouring pages of a list.
func (l recordList) pages(v *request) (p ui.Pages) {
	if at, more := l.newer(); more {
		p.Newer = v.look().To(at.at("/" + l.family.name))
	}
	if at, more := l.older(); more {
		p.Older = v.look().To(at.at("/" + l.family.name))
	}
	return p
}

// mayEdit reports whether the person may change a member of the record.
func (p recordPage) mayEdit(v *request, m field) bool {
	return p.mayWrite && (!m.restricted || v.session.Administers || p.record["ownerId"] == v.session.Principal.ID)
}

// beneath is the line beside the name of a record.
func (p recordPage) beneath() string {
	return joined(" · ", append([]string{p.names[p.record["companyId"]]}, p.family.beneath(p.record)...)...)
}

// moments are the changes of a record, for the timeline.
func (p recordPage) moments(v *request) []ui.Moment {
	var list []ui.Moment
	for _, c := range p.history {
		m := ui.Moment{At: c.ChangedAt.Time(), Who: p.names[c.Principal], Icon: "pencil", Text: v.labels(p.family, c.Members) + v.words.Say(" geändert", " changed")}
		switch c.Act {
		case "created":
			m.Icon, m.Text = "plus", v.words.Say("angelegt", "created")
		case "completed":
			m.Icon, m.Text = "check", v.words.Say("erledigt", "completed")
		}
		m.Note = joined(", ", door(v.words, c), credentialOf(v, c, p.names))
		list = append(list, m)
	}
	return list
}

// lower returns the English name of a record within a sentence.
func (f *family) lower() string { return strings.ToLower(f.one.EN) }

// labels names members: "Mobil und Schlagworte", or their number.
func (v *request) labels(f *family, names []string) string {
	if len(names) > 3 {
		return strconv.Itoa(len(names)) + v.words.Say(" Felder", " fields")
	}
	labels := make([]string, len(names))
	for i, name := range names {
		labels[i] = f.field(name).label.In(v.words.Language)
	}
	return v.words.List(labels)
}
