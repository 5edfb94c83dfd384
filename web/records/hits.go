package records

import (
	"cmp"
	"slices"
	"strings"

	"github.com/a-h/templ"

	"kartei/kit/id"
	"kartei/record/lookup"
	"kartei/record/search"
	"kartei/web/shell"
)

// Families are the families of records, in the order of answers.
var Families = []*Family{&Contacts, &Companies, &Tasks, &Documents}

// FamilyOf returns a family by its plural or by the kind of its records.
func FamilyOf(name string) *Family {
	for _, f := range Families {
		if f.Name == name || f.Object == name {
			return f
		}
	}
	return nil
}

// FamilyOfID returns the family whose records have ids like this one, or nil. The record may be
// deleted.
func FamilyOfID(name string) *Family {
	for _, f := range Families {
		if id.Valid(f.prefix, name) {
			return f
		}
	}
	return nil
}

// IconOf returns the icon of a kind of record.
func IconOf(object string) string {
	icons := map[string]string{"contact": "user", "company": "building-2", "task": "square-check-big", "document": "file-text"}
	return cmp.Or(icons[object], "search")
}

// noteFacts is the number of facts in a line below the field.
const noteFacts = 3

// NoteOf returns the text beside the title of a hit in a line, with marks. Matches come
// first, because a narrow line is cut at its end. The facts that a person on the telephone
// asks for follow.
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

// FactsOf returns the facts of a hit in words. Facts that every hit of a kind has are
// left out.
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

// IsMobile reports whether a number is one of a mobile telephone in Germany: 015, 016
// or 017. Numbers of services such as 0180 are none.
func IsMobile(number string) bool {
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

// Opened marks the part of a page that shows a record, so that a script notes that
// the person opened it. It marks nothing if the person does not want that.
func Opened(v *shell.Request, id string) templ.OrderedAttributes {
	if !v.Session.Remembers() {
		return nil
	}
	return templ.OrderedAttributes{{Key: "data-opened", Value: id}, {Key: "data-token", Value: v.Mint()}}
}

// hitsOf returns the hits of all groups.
func hitsOf(f lookup.FindOutput) []lookup.Hit {
	var all []lookup.Hit
	for _, g := range f.Groups {
		all = append(all, g.Hits...)
	}
	return all
}

// MarksOf returns the marks of a text as the drawings take them.
func MarksOf(marks []search.Span) [][2]int {
	list := make([][2]int, len(marks))
	for i, m := range marks {
		list[i] = m
	}
	return list
}

// Letters narrow a search to a family.
var Letters = map[string]string{"contacts": "k:", "companies": "f:", "tasks": "a:", "documents": "d:"}
