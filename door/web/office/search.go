package office

import (
	"net/url"
	"slices"
	"strings"

	"kartei/door/web/look"
)

// found is the answer of lookup.find.
type found struct {
	Q      string `json:"q"`
	Family string `json:"family"`
	// Best is the id of the hit to open.
	Best   string       `json:"best"`
	Groups []foundGroup `json:"groups"`
	// Thing is what an id in the text names, if that is no record.
	Thing *thing `json:"thing"`
}

// foundGroup has the hits of one family.
type foundGroup struct {
	Family string   `json:"family"`
	Hits   []hit    `json:"hits"`
	More   bool     `json:"more"`
	Count  *counted `json:"count"`
}

// hit is a record in a line, with what it was found by.
type hit struct {
	Object string   `json:"object"`
	ID     string   `json:"id"`
	Title  string   `json:"title"`
	Marks  [][2]int `json:"marks"`
	Facts  []fact   `json:"facts"`
	InText bool     `json:"inText"`
	// Exact says that a number, an address or an id is the whole text.
	Exact bool `json:"exact"`
}

// fact is a member of a hit.
type fact struct {
	Name  string   `json:"name"`
	ID    string   `json:"id"`
	Text  string   `json:"text"`
	Marks [][2]int `json:"marks"`
}

// thing is something with an id that is no record.
type thing struct {
	Object string `json:"object"`
	ID     string `json:"id"`
	Title  string `json:"title"`
	Of     string `json:"of"`
}

// families are the families of records, in the order of answers.
var families = []*family{&contacts, &companies, &tasks, &documents}

// familyOf returns a family by its plural or by the kind of its records.
func familyOf(name string) *family {
	for _, f := range families {
		if f.name == name || f.object == name {
			return f
		}
	}
	return nil
}

// showSearch serves the hits of all families. An empty field shows what the person
// opened lately.
func showSearch(v *request) view {
	q := strings.TrimSpace(v.URL.Query().Get("q"))
	limit := 20
	if v.part("hits") {
		limit = 5
	}
	var f found
	var err error
	if q == "" {
		f, err = v.recent()
	} else {
		f, err = ask[found](v, "lookup.find", arguments{body: map[string]any{"q": q, "limit": limit, "counts": !v.part("hits")}})
	}
	switch {
	case err != nil:
		return v.failed(err)
	case v.part("hits"):
		return view{status: 200, body: suggestions(v, q, f)}
	case v.URL.Query().Get("open") != "" && f.Best != "":
		return v.goTo(f.Best)
	}
	return v.ok(v.words.Say("Suche", "Search"), "", searchView(v, q, f))
}

// choicesOf are the lines below the search field. Enter opens the best one.
func choicesOf(v *request, f found) []look.Choice {
	var all []look.Choice
	for _, h := range hitsOf(f) {
		c := look.Choice{Text: h.Title, Marks: h.Marks, Icon: iconOf(h.Object), Href: string(v.look().To("/go/" + h.ID)), Best: h.ID == f.Best}
		c.Note, c.NoteMarks = h.note()
		all = append(all, c)
	}
	if f.Thing != nil {
		all = append(all, look.Choice{Text: f.Thing.Title, Icon: "link", Href: string(v.look().To("/go/" + first(f.Thing.Of, f.Thing.ID))), Best: true})
	}
	return all
}

// note returns what a line says beside its title: what the hit was found by, else
// its first fact.
func (h hit) note() (string, [][2]int) {
	for _, fact := range h.Facts {
		if len(fact.Marks) > 0 {
			return fact.Text, fact.Marks
		}
	}
	if len(h.Facts) > 0 {
		return h.Facts[0].Text, nil
	}
	return "", nil
}

// recent returns what the person opened lately, as hits without a search.
func (v *request) recent() (found, error) {
	r, err := ask[struct {
		Data []hit `json:"data"`
	}](v, "lookup.recent", arguments{body: map[string]any{"limit": 8}})
	if err != nil || len(r.Data) == 0 {
		return found{}, err
	}
	return found{Groups: []foundGroup{{Hits: r.Data}}}, nil
}

// part reports whether a script asks for a part of the page only.
func (v *request) part(name string) bool { return v.URL.Query().Get("part") == name }

// showCall is the page that a telephone system opens with the number of the caller.
// One record with the number is opened, several are listed, and none leads to a new
// contact. Records that only mention the number, or an office with the number as an
// extension, count if no record has it.
func showCall(v *request) view {
	number := strings.TrimSpace(v.URL.Query().Get("number"))
	f, err := ask[found](v, "lookup.find", arguments{body: map[string]any{"q": number, "limit": 20}})
	if err != nil {
		return v.failed(err)
	}
	var people []hit
	for _, g := range f.Groups {
		if g.Family == contacts.name || g.Family == companies.name {
			people = append(people, g.Hits...)
		}
	}
	if slices.ContainsFunc(people, func(h hit) bool { return h.Exact }) {
		people = slices.DeleteFunc(people, func(h hit) bool { return !h.Exact })
	}
	switch len(people) {
	case 0:
		if v.session.may(contacts.write) {
			return v.seeOther("/contacts/new?" + url.Values{"phone": {number}}.Encode())
		}
	case 1:
		return v.goTo(people[0].ID)
	}
	return v.ok(v.words.Say("Anruf", "Call"), "", searchView(v, number, found{Q: number, Groups: []foundGroup{{Hits: people}}}))
}

// showAny leads from any id to its page.
func showAny(v *request) view { return v.goTo(v.PathValue("id")) }

// goTo redirects to the page of an id.
func (v *request) goTo(id string) view {
	prefix, _, _ := strings.Cut(id, "_")
	if path := pathsByPrefix[prefix]; path != "" {
		return v.seeOther(path + url.PathEscape(id))
	}
	return v.seeOther("/search?" + url.Values{"q": {id}}.Encode())
}

// pathsByPrefix are the pages of the kinds of id.
var pathsByPrefix = map[string]string{"con": "/contacts/", "cmp": "/companies/", "tsk": "/tasks/", "doc": "/documents/", "opr": "/operations/"}

// shown returns the facts of a hit in words. Facts that every hit of a kind has are
// left out.
func (h hit) shown(v *request) []fact {
	var list []fact
	f := familyOf(h.Object)
	for _, x := range h.Facts {
		switch t, isTime := timeOf(x.Text); {
		case x.Name == "contentType" || x.Name == "priority" && x.Text == "normal" || x.Name == "status" && x.Text == "open":
			continue
		case x.Name == "status":
			x.Text, x.Marks = v.words.Say("erledigt", "done"), nil
		case x.Name == "dueAt" && isTime:
			x.Text, x.Marks = v.words.Due(t, false), nil
		case x.Name == "size":
			x.Text = sizeText(v.words, x.Text)
		case f != nil && f.field(x.Name).kind == choice:
			x.Text, x.Marks = f.field(x.Name).labelOf(x.Text).In(v.words.Language), nil
		}
		list = append(list, x)
	}
	return list
}
