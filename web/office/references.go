package office

import (
	"crypto/sha256"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"kartei/kit/fault"
	"kartei/people/settings"
	"kartei/record/lookup"
	"kartei/web/ui"
)

// The fields that travel with the id of a reference: its text, the text as it was
// drawn, and the answer to a text that fits several.
const (
	textSuffix  = "-text"
	shownSuffix = "-shown"
	pickSuffix  = "-pick"
)

// mostChoices is the maximum number of choices for a text. maxSought is the maximum length of the
// text in characters, as in the operations that search.
const (
	mostChoices = 8
	maxSought   = 200
)

// anything stands for all families that a document can be about.
const anything = "anything"

// sought is the result of a search for a text in a family, or among people.
type sought struct {
	choices []ui.Choice
	// exact are the choices whose whole name is the text.
	exact []ui.Choice
	// loose says that some choices have the text outside their names. Then none is
	// taken without a question.
	loose bool
}

// only returns the choice that a text can only mean.
func (s sought) only() (ui.Choice, bool) {
	switch {
	case len(s.exact) == 1:
		return s.exact[0], true
	case len(s.choices) == 1 && !s.loose:
		return s.choices[0], true
	}
	return ui.Choice{}, false
}

// seek finds a text in a family, or among people.
func (v *request) seek(to, text string) (sought, error) {
	switch {
	case utf8.RuneCountInString(text) > maxSought:
		return sought{}, nil
	case to == "people":
		return v.seekPeople(text)
	case text == "" || letters[to] == "" && to != anything:
		return sought{}, nil
	}
	var s sought
	hits, err := ask(v, lookup.Find, lookup.FindInput{Q: letters[to] + text, Limit: mostChoices})
	for _, h := range hitsOf(hits) {
		if to == anything && h.Object == documents.object { // nothing is about a document
			continue
		}
		c := ui.Choice{Value: h.ID, Text: h.Title, Marks: marksOf(h.Marks), Icon: iconOf(h.Object)}
		c.Note, c.NoteMarks = v.noteOf(h)
		s.choices = append(s.choices, c)
		s.loose = s.loose || h.InText && !h.Named
		if h.Exact || strings.EqualFold(h.Title, text) {
			s.exact = append(s.exact, c)
		}
	}
	return s, err
}

// ownWords are the words for oneself, in both languages.
var ownWords = []string{"ich", "mich", "mir", "me", "myself"}

// seekPeople finds active people and service accounts by name. Oneself comes first.
func (v *request) seekPeople(text string) (s sought, err error) {
	me := v.session.Principal
	self := ui.Choice{Value: me.ID, Text: me.Name, Note: v.words.Say("ich", "me"), Icon: "user"}
	if slices.Contains(ownWords, strings.ToLower(text)) {
		return sought{choices: []ui.Choice{self}, exact: []ui.Choice{self}}, nil
	}
	names, err := ask(v, settings.FindNames, settings.FindNamesInput{Q: text, Limit: mostChoices})
	if text == "" {
		s.choices = append(s.choices, self)
	}
	for _, n := range names.Data {
		c := ui.Choice{Value: n.ID, Text: n.Name, Marks: marksOf(n.Marks), Icon: "user"}
		switch {
		case n.ID == me.ID && text == "":
			continue
		case n.ID == me.ID:
			c.Note = self.Note
		}
		s.choices = append(s.choices, c)
		if n.Exact {
			s.exact = append(s.exact, c)
		}
	}
	return s, err
}

// refer replaces the typed texts of references by the ids that they mean. A text that
// fits none or several is a fault of its field, and stays as it was typed.
func (v *request) refer(f *family, typed values) (map[string]unclear, error) {
	var wrong []fault.Field
	unclears := map[string]unclear{}
	for _, m := range f.fields {
		if _, sent := v.form.Values[m.name+textSuffix]; !sent || m.kind != reference {
			continue
		}
		id, u, err := v.referred(f, m, v.form.Values)
		if err != nil {
			return nil, err
		}
		if typed[m.name] = id; u != nil {
			unclears[m.name] = *u
			wrong = append(wrong, fault.Field{Name: m.name, Code: fault.FieldNotFound, Text: u.why()})
		}
	}
	if wrong == nil {
		return nil, nil
	}
	return unclears, fault.Invalid(wrong...)
}

// referred returns the id that the fields of a reference mean, or what is unclear
// about their text. An id counts as long as its text is the one that was drawn, or
// that a script has chosen.
func (v *request) referred(f *family, m field, sent url.Values) (string, *unclear, error) {
	get := func(suffix string) string { return normal(sent.Get(m.name + suffix)) }
	text := get(textSuffix)
	switch same := text == get(shownSuffix); {
	case same && text != "" && first(get(pickSuffix), get("")) == anew && f == &contacts && v.mayMake(m):
		id, err := v.makeCompany(m, text)
		return id, nil, err
	case same && get(pickSuffix) == anew, same && get("") == anew: // the right was lost meanwhile
	case same && get(pickSuffix) != "":
		return get(pickSuffix), nil, nil
	case same && get("") != "": // a record that the person does not see has no text
		return get(""), nil, nil
	case text == "":
		return "", nil, nil
	}
	s, err := v.seek(m.to, text)
	if err != nil {
		return "", nil, err
	}
	if only, clear := s.only(); clear {
		return only.Value, nil, nil
	}
	u := &unclear{Text: text, Choices: s.choices}
	if f == &contacts && v.mayMake(m) && len(s.exact) == 0 {
		u.Anew = v.newCompany(text)
	}
	return "", u, nil
}

// anew is the value of a reference to a record that the form creates, with the text as its
// name. Scripts know it, too.
const anew = "+"

// mayMake reports whether a form creates the record that a reference names: the company of
// a contact, if the person may write companies.
func (v *request) mayMake(m field) bool {
	return m.to == companies.name && v.session.may(companies.write)
}

// newCompany is the offer to create a company with a name.
func (v *request) newCompany(name string) string {
	return v.words.Say("Firma „"+name+"“ anlegen", "Create the company “"+name+"”")
}

// makeCompany creates a company with a name, and returns its id. A form that is sent twice
// creates it once, and another name is another company. For a private contact it is private.
func (v *request) makeCompany(m field, name string) (string, error) {
	once := fmt.Sprintf("%s%s%x", v.form.token, anew, sha256.Sum256([]byte(name)))
	body := map[string]any{"name": name}
	if v.isPrivate() { // the name says whom a private contact works for
		body["visibility"] = "private"
	}
	a := v.send(companies.acts.create, arguments{body: body, once: once})
	if a.is(fault.ValidationFailed) {
		wrong := a.Fault.Fields[0]
		wrong.Name = m.name
		return "", fault.Invalid(wrong)
	}
	if a.Fault != nil {
		return "", a.Fault
	}
	record, err := flatten(a.Body)
	return record["id"], err
}

// isPrivate reports whether the contact of a form is private. A form of a single member does
// not say it; a contact that cannot be read counts as private.
func (v *request) isPrivate() bool {
	id := v.PathValue("id")
	if v.form.Has("visibility") || id == "" {
		return v.form.text("visibility") == "private"
	}
	contact, err := v.get(&contacts, id)
	return err != nil || contact["visibility"] == "private"
}

// unclear is the text of a reference that fits none or several.
type unclear struct {
	Text    string
	Choices []ui.Choice
	// Anew offers to create a record with the text as its name.
	Anew string
}

// offers are the choices below the field: the records that the text fits, and a new one.
func (u unclear) offers() []ui.Choice {
	if u.Anew == "" {
		return u.Choices
	}
	return append(u.Choices[:len(u.Choices):len(u.Choices)], ui.Choice{Value: anew, Text: u.Anew, Icon: "plus"})
}

// why says why a text names no single record, with some of the records that it fits.
func (u unclear) why() *fault.Text {
	t := text("„"+u.Text+"“ wurde nicht gefunden. Tippen Sie einen Teil des Namens, oder leeren Sie das Feld.",
		"“"+u.Text+"” was not found. Type a part of the name, or empty the field.")
	if u.Anew != "" && len(u.Choices) == 0 {
		t = text("„"+u.Text+"“ gibt es noch nicht. Legen Sie die Firma unten an, tippen Sie einen Teil eines anderen Namens, oder leeren Sie das Feld.",
			"There is no “"+u.Text+"” yet. Create the company below, type a part of another name, or empty the field.")
	}
	if len(u.Choices) > 0 {
		var names []string
		for _, c := range u.Choices[:min(3, len(u.Choices))] {
			names = append(names, c.Text)
		}
		list, more := strings.Join(names, ", "), ""
		if len(u.Choices) > len(names) {
			more = " …"
		}
		t = text("„"+u.Text+"“ ist nicht eindeutig: "+list+more+". Wählen Sie unten aus, oder schreiben Sie mehr vom Namen.",
			"“"+u.Text+"” is ambiguous: "+list+more+". Choose below, or type more of the name.")
	}
	return &t
}
