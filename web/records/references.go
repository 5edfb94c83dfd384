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

// These are the suffixes of the fields beside the id of a reference. TextSuffix is for the text,
// ShownSuffix for the text when the page was rendered, and PickSuffix for the choice among several
// matches.
const (
	TextSuffix  = "-text"
	ShownSuffix = "-shown"
	PickSuffix  = "-pick"
)

// maxChoices is the maximum number of choices for a text. MaxSought is the maximum length of the
// text in characters. The search operations have the same limit.
const (
	maxChoices = 8
	MaxSought  = 200
)

// anything stands for all families to which a document can refer.
const anything = "anything"

// SearchResult is the result of a search in a family or among people.
type SearchResult struct {
	Choices []ui.Choice
	// Exact has the choices whose whole name is the text.
	Exact []ui.Choice
	// loose says that some choices contain the text outside their names. Then even a single choice
	// is not taken unless it is exact.
	loose bool
}

// Only returns the choice that the text must mean: the only exact choice, or else the only choice.
// It returns false if there is no such choice.
func (s SearchResult) Only() (ui.Choice, bool) {
	switch {
	case len(s.Exact) == 1:
		return s.Exact[0], true
	case len(s.Choices) == 1 && !s.loose:
		return s.Choices[0], true
	}
	return ui.Choice{}, false
}

// Seek searches a family or people for a text. to is the family or "people".
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
		if to == anything && h.Object == Documents.Object { // no record refers to a document here
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

// SeekPeople searches active people and service accounts by name. For an empty text, the caller
// comes first.
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

// refer replaces the typed texts of references in typed by ids. If a text does not match exactly
// one record, it returns a fault for the field, and the text.
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

// Referred returns the id that the fields of a reference mean, or the unclear text. The sent id
// counts only if the text is the one that was rendered or that a script has set.
func Referred(v *shell.Request, m Field, sent url.Values) (string, *unclear, error) {
	get := func(suffix string) string { return shell.Normal(sent.Get(m.Name + suffix)) }
	text := get(TextSuffix)
	switch same := text == get(ShownSuffix); {
	case same && text != "" && cmp.Or(get(PickSuffix), get("")) == anew && mayMake(v, m):
		id, err := makeCompany(v, m, text)
		return id, nil, err
	case same && get(PickSuffix) == anew, same && get("") == anew: // the person has lost the right meanwhile
	case same && get(PickSuffix) != "":
		return get(PickSuffix), nil, nil
	case same && get("") != "": // a record that the person may not see has no text
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

// anew is the value of a reference to a new record, whose name is the text. The scripts use the
// same value.
const anew = "+"

// mayMake reports whether the form may create the record to which a reference refers. Only the
// company of a contact can be created, by people who may write companies.
func mayMake(v *shell.Request, m Field) bool {
	return m.creates && v.Session.May(Companies.Write)
}

// makeCompany creates a company with a name, and returns its id. If the form is sent twice, the
// company is created once. Another name makes another company. The company of a private contact is
// private.
func makeCompany(v *shell.Request, m Field, name string) (string, error) {
	once := fmt.Sprintf("%s%s%x", v.Sent.Token, anew, sha256.Sum256([]byte(name)))
	body := map[string]any{"name": name}
	if isPrivate(v) { // the name shows for whom a private contact works
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

// isPrivate reports whether the contact of a form is private. A form of a single member does not
// contain the visibility, so isPrivate reads the contact. If that fails, the contact counts as
// private.
func isPrivate(v *shell.Request) bool {
	id := v.PathValue("id")
	if v.Sent.Has("visibility") || id == "" {
		return v.Sent.Text("visibility") == "private"
	}
	contact, err := Get(v, &Contacts, id)
	return err != nil || contact["visibility"] == "private"
}

// unclear is the text of a reference that does not match exactly one record.
type unclear struct {
	Text    string
	Choices []ui.Choice
	// Anew is the label of the choice that creates a record with the text as its name. It may be
	// empty.
	Anew string
}

// offers returns the choices below the field: the matching records, and the new record.
func (u unclear) offers() []ui.Choice {
	if u.Anew == "" {
		return u.Choices
	}
	return append(u.Choices[:len(u.Choices):len(u.Choices)], ui.Choice{Value: anew, Text: u.Anew, Icon: "plus"})
}

// Why returns an error message that says why the text does not name a single record. It names up to
// three of the matching records.
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

// CountReferrers returns texts such as "2 tasks" for the records that refer to a record, one for each
// family. Families that the person may not read are left out.
func (f *Family) CountReferrers(v *shell.Request, id string) ([]string, error) {
	list := make([]string, len(f.Referrers))
	var counts []func() error
	for i, by := range f.Referrers {
		if !v.Session.May(by.Read) {
			continue
		}
		counts = append(counts, func() error {
			n, err := shell.Fetch[CountAnswer](v, by.Acts.Count, shell.Arguments{Query: url.Values{f.Object + "Id": {id}}})
			if n.Count > 0 {
				list[i] = by.Quantity(v.Words, n.Count)
			}
			return err
		})
	}
	err := shell.Together(counts...)
	return shell.Present(list...), err
}
