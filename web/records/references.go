package records

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/people/principal"
	"kartei/record/lookup"
	"kartei/web/shell"
	"kartei/web/ui"
)

// The fields that travel with the id of a reference: its text, the text as it was
// drawn, and the answer to a text that fits several.
const (
	TextSuffix  = "-text"
	ShownSuffix = "-shown"
	PickSuffix  = "-pick"
)

// maxChoices is the maximum number of choices for a text. MaxSought is the maximum length of the
// text in characters, as in the operations that search.
const (
	maxChoices = 8
	MaxSought  = 200
)

// anything stands for all families that a document can be about.
const anything = "anything"

// SearchResult is the result of a search for a text in a family, or among people.
type SearchResult struct {
	Choices []ui.Choice
	// Exact are the choices whose whole name is the text.
	Exact []ui.Choice
	// loose says that some choices have the text outside their names. Then none is
	// taken without a question.
	loose bool
}

// Only returns the choice that a text can only mean.
func (s SearchResult) Only() (ui.Choice, bool) {
	switch {
	case len(s.Exact) == 1:
		return s.Exact[0], true
	case len(s.Choices) == 1 && !s.loose:
		return s.Choices[0], true
	}
	return ui.Choice{}, false
}

// Seek finds a text in a family, or among people.
func Seek(v *shell.Request, to, text string) (SearchResult, error) {
	switch {
	case utf8.RuneCountInString(text) > MaxSought:
		return SearchResult{}, nil
	case to == "people":
		return SeekPeople(v, text)
	case text == "" || Letters[to] == "" && to != anything:
		return SearchResult{}, nil
	}
	var s SearchResult
	hits, err := shell.Ask(v, lookup.Find, lookup.FindInput{Q: Letters[to] + text, Limit: maxChoices})
	for _, h := range hitsOf(hits) {
		if to == anything && h.Object == Documents.Object { // nothing is about a document
			continue
		}
		c := ui.Choice{Value: h.ID, Text: h.Title, Marks: MarksOf(h.Marks), Icon: IconOf(h.Object)}
		c.Note, c.NoteMarks = NoteOf(v, h)
		s.Choices = append(s.Choices, c)
		s.loose = s.loose || h.InText && !h.Named
		if h.Exact || strings.EqualFold(h.Title, text) {
			s.Exact = append(s.Exact, c)
		}
	}
	return s, err
}

// ownWords are the words for oneself, in both languages.
var ownWords = []string{"ich", "mich", "mir", "me", "myself"}

// SeekPeople finds active people and service accounts by name. Oneself comes first.
func SeekPeople(v *shell.Request, text string) (s SearchResult, err error) {
	me := v.Session.Principal
	self := ui.Choice{Value: me.ID, Text: me.Name, Note: v.Words.Say("me"), Icon: "user"}
	if slices.Contains(ownWords, strings.ToLower(text)) {
		return SearchResult{Choices: []ui.Choice{self}, Exact: []ui.Choice{self}}, nil
	}
	names, err := shell.Ask(v, principal.FindNames, principal.FindNamesInput{Q: text, Limit: maxChoices})
	if text == "" {
		s.Choices = append(s.Choices, self)
	}
	for _, n := range names.Data {
		c := ui.Choice{Value: n.ID, Text: n.Name, Marks: MarksOf(n.Marks), Icon: "user"}
		switch {
		case n.ID == me.ID && text == "":
			continue
		case n.ID == me.ID:
			c.Note = self.Note
		}
		s.Choices = append(s.Choices, c)
		if n.Exact {
			s.Exact = append(s.Exact, c)
		}
	}
	return s, err
}

// refer replaces the typed texts of references by the ids that they mean. A text that
// fits none or several is a fault of its field, and stays as it was typed.
func refer(v *shell.Request, f *Family, typed shell.Values) (map[string]unclear, error) {
	var wrong []fault.Field
	unclears := map[string]unclear{}
	for _, m := range f.Fields {
		if _, sent := v.Sent.Values[m.Name+TextSuffix]; !sent || m.Kind != Reference {
			continue
		}
		id, u, err := Referred(v, m, v.Sent.Values)
		if err != nil {
			return nil, err
		}
		if typed[m.Name] = id; u != nil {
			unclears[m.Name] = *u
			wrong = append(wrong, fault.Field{Name: m.Name, Code: fault.FieldNotFound, Text: u.Why()})
		}
	}
	if wrong == nil {
		return nil, nil
	}
	return unclears, fault.Invalid(wrong...)
}

// Referred returns the id that the fields of a reference mean, or what is unclear
// about their text. An id counts as long as its text is the one that was drawn, or
// that a script has chosen.
func Referred(v *shell.Request, m Field, sent url.Values) (string, *unclear, error) {
	get := func(suffix string) string { return shell.Normal(sent.Get(m.Name + suffix)) }
	text := get(TextSuffix)
	switch same := text == get(ShownSuffix); {
	case same && text != "" && cmp.Or(get(PickSuffix), get("")) == anew && mayMake(v, m):
		id, err := makeCompany(v, m, text)
		return id, nil, err
	case same && get(PickSuffix) == anew, same && get("") == anew: // the right was lost meanwhile
	case same && get(PickSuffix) != "":
		return get(PickSuffix), nil, nil
	case same && get("") != "": // a record that the person does not see has no text
		return get(""), nil, nil
	case text == "":
		return "", nil, nil
	}
	s, err := Seek(v, m.To, text)
	if err != nil {
		return "", nil, err
	}
	if only, clear := s.Only(); clear {
		return only.Value, nil, nil
	}
	u := &unclear{Text: text, Choices: s.Choices}
	if mayMake(v, m) && len(s.Exact) == 0 {
		u.Anew = Companies.Offer(v.Words, text)
	}
	return "", u, nil
}

// anew is the value of a reference to a record that the form creates, with the text as its
// name. Scripts know it, too.
const anew = "+"

// mayMake reports whether a form creates the record that a reference names: the company of
// a contact, if the person may write companies.
func mayMake(v *shell.Request, m Field) bool {
	return m.creates && v.Session.May(Companies.Write)
}

// makeCompany creates a company with a name, and returns its id. A form that is sent twice
// creates it once, and another name is another company. For a private contact it is private.
func makeCompany(v *shell.Request, m Field, name string) (string, error) {
	once := fmt.Sprintf("%s%s%x", v.Sent.Token, anew, sha256.Sum256([]byte(name)))
	body := map[string]any{"name": name}
	if isPrivate(v) { // the name says whom a private contact works for
		body["visibility"] = "private"
	}
	a := v.Send(Companies.Acts.create, shell.Arguments{Body: body, Once: once})
	if a.Is(fault.ValidationFailed) {
		wrong := a.Fault.Fields[0]
		wrong.Name = m.Name
		return "", fault.Invalid(wrong)
	}
	if a.Fault != nil {
		return "", a.Fault
	}
	record, err := shell.Flatten(a.Body)
	return record["id"], err
}

// isPrivate reports whether the contact of a form is private. A form of a single member does
// not say it; a contact that cannot be read counts as private.
func isPrivate(v *shell.Request) bool {
	id := v.PathValue("id")
	if v.Sent.Has("visibility") || id == "" {
		return v.Sent.Text("visibility") == "private"
	}
	contact, err := Get(v, &Contacts, id)
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

// Why says why a text names no single record, with some of the records that it fits.
func (u unclear) Why() i18n.Text {
	switch {
	case len(u.Choices) > 0:
		var names []string
		for _, c := range u.Choices[:min(3, len(u.Choices))] {
			names = append(names, c.Text)
		}
		list := strings.Join(names, ", ")
		if len(u.Choices) > len(names) {
			list += " …"
		}
		return i18n.Format("“%s” is ambiguous: %s. Choose below, or type more of the name.", u.Text, list)
	case u.Anew != "":
		return i18n.Format("There is no “%s” yet. Create the company below, type a part of another name, or empty the field.", u.Text)
	}
	return i18n.Format("“%s” was not found. Type a part of the name, or empty the field.", u.Text)
}
