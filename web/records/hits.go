package records

import (
	"cmp"
	"slices"

	"github.com/a-h/templ"

	"kartei/kit/id"
	"kartei/record/lookup"
	"kartei/record/search"
	"kartei/web/shell"
)

// Families has all families of records, in the order of search results.
var Families = []*Family{&Contacts, &Companies, &Tasks, &Documents}

// FamilyOf returns a family by its plural or by its singular. It returns nil if there is none.
func FamilyOf(name string) *Family {
	for _, f := range Families {
		if f.Name == name || f.Object == name {
			return f
		}
	}
	return nil
}

// FamilyOfID returns the family whose ids have the same prefix as this id, or nil. The record need
// not exist.
func FamilyOfID(name string) *Family {
	for _, f := range Families {
		if id.Valid(f.prefix, name) {
			return f
		}
	}
	return nil
}

// IconOf returns the name of the icon for a record with this singular.
func IconOf(object string) string {
	icons := map[string]string{"contact": "user", "company": "building-2", "task": "square-check-big", "document": "file-text"}
	return cmp.Or(icons[object], "search")
}

// noteFacts is the number of facts in the line below a search result.
const noteFacts = 3

// NoteOf returns the text beside the title of a search result, and the marked ranges of the text.
// Matching facts come first, because a narrow line is cut off at its end. Other facts follow, such
// as telephone numbers.
func NoteOf(v *shell.Request, h lookup.Hit) (text string, marks [][2]int) {
	facts := FactsOf(v, h)
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

// FactsOf returns the facts of a search result in words. It leaves out facts that are the same in
// most results.
func FactsOf(v *shell.Request, h lookup.Hit) []lookup.Fact {
	var list []lookup.Fact
	f := FamilyOf(h.Object)
	for _, x := range h.Facts {
		switch t, isTime := shell.TimeOf(x.Text); {
		case x.Name == "contentType" || x.Name == "priority" && x.Text == "normal" || x.Name == "status" && x.Text == "open":
			continue
		case x.Name == "status":
			x.Text, x.Marks = v.Words.Say("done"), nil
		case x.Name == "dueAt" && isTime:
			x.Text, x.Marks = v.Words.Due(t, false), nil
		case x.Name == "size":
			x.Text = sizeText(v.Words, x.Text)
		case f != nil && f.Field(x.Name).Kind == Choice:
			x.Text, x.Marks = v.Words.Say(f.Field(x.Name).LabelOf(x.Text)), nil
		}
		list = append(list, x)
	}
	return list
}

// Opened returns the attributes of the element that shows a record. They make a script store that
// the person opened the record. It returns nil if the person has switched this off.
func Opened(v *shell.Request, id string) templ.OrderedAttributes {
	if !v.Session.Remembers() {
		return nil
	}
	return templ.OrderedAttributes{{Key: "data-opened", Value: id}, {Key: "data-token", Value: v.Mint()}}
}

// hitsOf returns the search results of all groups.
func hitsOf(f lookup.FindOutput) []lookup.Hit {
	var all []lookup.Hit
	for _, g := range f.Groups {
		all = append(all, g.Hits...)
	}
	return all
}

// MarksOf converts the marked ranges of a text for the templates.
func MarksOf(marks []search.Span) [][2]int {
	list := make([][2]int, len(marks))
	for i, m := range marks {
		list[i] = m
	}
	return list
}

// Letters maps a family to the prefix that restricts a search to the family.
var Letters = map[string]string{"contacts": "k:", "companies": "f:", "tasks": "a:", "documents": "d:"}
