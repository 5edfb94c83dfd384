package office

import (
	"cmp"
	"kartei/record/lookup"
	"kartei/record/search"
	"net/url"
	"slices"
	"strings"

	"github.com/a-h/templ"
)

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

// pathsByPrefix are the pages of the kinds of id.
var pathsByPrefix = map[string]string{
	"con": "/contacts/", "cmp": "/companies/", "tsk": "/tasks/", "doc": "/documents/", "opr": "/operations/", "key": keysPath + "/", "whe": webhooksPath + "/",
	"evt": eventsPath + "/", "req": requestsPath + "/", "usr": peoplePath + "/", "svc": accountsPath + "/", "imp": dataPath + "/",
}

// pathOf returns the path of the page of an id, or an empty text if there is none.
func pathOf(id string) string {
	prefix, _, _ := strings.Cut(id, "_")
	path := pathsByPrefix[prefix]
	if path == "" {
		return ""
	}
	return path + url.PathEscape(id)
}

// leads returns the address of the page of an id, or an empty text.
func (v *request) leads(id string) (address templ.SafeURL) {
	if path := v.mayLead(id); path != "" {
		return v.look().To(path)
	}
	return ""
}

// mayLead is pathOf, without pages that are for admins alone if the person is none.
func (v *request) mayLead(id string) string {
	prefix, _, _ := strings.Cut(id, "_")
	if page := v.office.pageAt(pathsByPrefix[prefix] + "{id}"); page == nil || page.AdminsOnly() && !v.session.Administers {
		return ""
	}
	return pathOf(id)
}

// iconOf returns the icon of a kind of record.
func iconOf(object string) string {
	icons := map[string]string{"contact": "user", "company": "building-2", "task": "square-check-big", "document": "file-text"}
	return first(icons[object], "search")
}

// noteFacts is the number of facts in a line below the field.
const noteFacts = 3

// noteOf returns the text beside the title of a hit in a line, with marks. Matches come
// first, because a narrow line is cut at its end. The facts that a person on the telephone
// asks for follow.
func (v *request) noteOf(h lookup.Hit) (text string, marks [][2]int) {
	facts := v.factsOf(h)
	slices.SortStableFunc(facts, func(a, b lookup.Fact) int { return cmp.Compare(min(1, len(b.Marks)), min(1, len(a.Marks))) })
	for i, f := range facts {
		if i >= noteFacts && len(f.Marks) == 0 {
			break
		}
		if text != "" {
			text += " · "
		}
		for _, m := range f.Marks {
			marks = append(marks, [2]int{m[0] + len(text), m[1] + len(text)})
		}
		text += f.Text
	}
	return text, marks
}

// factsOf returns the facts of a hit in words. Facts that every hit of a kind has are
// left out.
func (v *request) factsOf(h lookup.Hit) []lookup.Fact {
	var list []lookup.Fact
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

// isMobile reports whether a number is one of a mobile telephone in Germany: 015, 016
// or 017. Numbers of services such as 0180 are none.
func isMobile(number string) bool {
	digits := strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r == '+' {
			return r
		}
		return -1
	}, strings.Replace(number, "(0)", "", 1))
	for _, prefix := range []string{"+49", "0049", "0"} {
		if rest, cut := strings.CutPrefix(digits, prefix); cut {
			return len(rest) > 8 && rest[0] == '1' && rest[1] >= '5' && rest[1] <= '7'
		}
	}
	return false
}

// opened marks the part of a page that shows a record, so that a script notes that
// the person opened it. It marks nothing if the person does not want that.
func (v *request) opened(id string) templ.OrderedAttributes {
	if !v.session.remembers() {
		return nil
	}
	return templ.OrderedAttributes{{Key: "data-opened", Value: id}, {Key: "data-token", Value: v.mint()}}
}

// hitsOf returns the hits of all groups.
func hitsOf(f lookup.Found) []lookup.Hit {
	var all []lookup.Hit
	for _, g := range f.Groups {
		all = append(all, g.Hits...)
	}
	return all
}

// marksOf returns the marks of a text as the drawings take them.
func marksOf(marks []search.Span) [][2]int {
	list := make([][2]int, len(marks))
	for i, m := range marks {
		list[i] = m
	}
	return list
}

// letters narrow a search to a family.
var letters = map[string]string{"contacts": "k:", "companies": "f:", "tasks": "a:", "documents": "d:"}
