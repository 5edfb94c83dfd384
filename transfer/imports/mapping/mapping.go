// Package mapping owns which member of a record each column of a file becomes.
package mapping

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/transfer/imports/days"
	"kartei/transfer/imports/source"
)

// Column is a column of the file.
type Column struct {
	Heading string `json:"heading"`
	// Samples are the first values that are not empty.
	Samples []string `json:"samples"`
	// Target is the member that gets the values of the column. It is empty if the column is left
	// out.
	Target string `json:"target"`
	// Slot is the kind of value, or a common name of columns that belong together: home, 2.
	Slot string `json:"slot,omitempty"`
	// At is the number of the column in the file, from 0.
	At int `json:"at"`
	// Dates is the order of day and month that the column's values prove.
	Dates days.Order `json:"dates,omitempty"`
}

// maxSamples is the number of samples of a column. sampleLength is the maximum length of a sample,
// in characters.
const (
	maxSamples   = 3
	sampleLength = 60
	// headingLength is the maximum length of a heading, in characters.
	headingLength = 200
)

// ColumnOf returns a column of a file with the guessed target.
func ColumnOf(c source.Column) Column {
	return Column{Heading: source.Cut(c.Heading, headingLength), Target: c.Member, Slot: c.Slot, At: c.At}
}

// Sample adds a value to the samples, if there is room. It also learns the order of day and month
// from the value.
func (c *Column) Sample(text string) {
	c.Dates = c.Dates.Learn(text)
	if len(c.Samples) < maxSamples {
		if short := source.Cut(text, sampleLength); !slices.Contains(c.Samples, short) {
			c.Samples = append(c.Samples, short)
		}
	}
}

// Duplicates says what to do with an entry about an existing contact.
type Duplicates string

// The ways.
const (
	// Skip does not change the contact.
	Skip Duplicates = "skip"
	// Fill sets the empty members of the contact. Other emails, numbers and addresses of the entry
	// become additional ones.
	Fill Duplicates = "fill"
	// Replace sets all members that the entry has. It adds to lists, and removes nothing from them.
	Replace Duplicates = "replace"
)

// Options are the options of an import besides the columns.
type Options struct {
	Duplicates Duplicates `json:"duplicates"`
	// MonthFirst reads 5/4/1984 as a day in May, unless the column proves that the day comes first.
	MonthFirst bool `json:"monthFirst"`
	// Companies makes each row of a table a company. It has no effect for cards.
	Companies bool `json:"companies,omitempty"`
	// Tags are added to all contacts.
	Tags []string `json:"tags"`
}

// Plan says how to read the values of a file.
type Plan struct {
	// Format is source.CSV, source.XLSX or source.VCard.
	Format  string   `json:"format"`
	Columns []Column `json:"columns"`
	Options Options  `json:"options"`
	// Groups maps the ids of cards to the names of their groups.
	Groups map[string][]string `json:"groups,omitempty"`
	// Language is the language of labels in notes.
	Language i18n.Language `json:"language"`
	// columns maps the numbers of columns in the file to Columns.
	columns map[int]*Column
}

// ByNumber returns the columns by their numbers in the file.
func (p *Plan) ByNumber() map[int]*Column {
	if p.columns == nil || len(p.columns) != len(p.Columns) {
		p.columns = map[int]*Column{}
		for i := range p.Columns {
			p.columns[p.Columns[i].At] = &p.Columns[i]
		}
	}
	return p.columns
}

// OfCards reports whether the file contains cards. Their values need no mapping of columns.
func (p *Plan) OfCards() bool { return p.Format == source.VCard }

// american are programs whose English version writes the month first.
var american = []string{"Outlook", "Outlook.com", "Yahoo", "Salesforce", "HubSpot"}

// HasMonthFirst reports whether the days of a table have the month first. That is so if a value
// proves it, or if the program writes days in that order and no value proves the other order.
func HasMonthFirst(program string, columns []Column) bool {
	first := slices.Contains(american, program)
	for _, c := range columns {
		switch {
		case c.Target != "birthday":
		case c.Dates == days.MonthFirst:
			return true
		case c.Dates == days.DayFirst:
			first = false
		}
	}
	return first
}

// Targets of columns that are no members of a contact.
const (
	Name      = "name"
	Company   = "company"
	ID        = "id"
	CompanyID = "companyId"
)

// Targets returns the names of all possible targets of a column.
func Targets() (names []string) {
	for _, m := range source.Members {
		if m.Name != source.Dropped && m.Name != source.Kind {
			names = append(names, m.Name)
		}
	}
	return names
}

// Check returns the errors of a mapping of columns to targets. may reports whether the person of
// the import has a scope.
func Check(columns []Column, targets []string, o Options, may func(scope string) bool) (wrong []fault.Field) {
	add := func(name string, code fault.FieldCode, said i18n.Text) {
		wrong = append(wrong, fault.Field{Name: name, Code: code, Text: said})
	}
	if len(targets) != len(columns) {
		add("targets", fault.ForbiddenCombination, i18n.Format("The file has %d columns.", len(columns)))
	}
	slot := func(i int) string {
		if i < len(columns) {
			return columns[i].Slot
		}
		return ""
	}
	named := false
	for i, name := range targets {
		t := source.MemberOf(name)
		field := fmt.Sprintf("targets[%d]", i)
		switch {
		case name == "":
			continue
		case t == nil:
			add(field, fault.NotInEnum, unknownTarget(name))
			continue
		case !t.Several && twice(targets[:i], name, slot, slot(i)):
			add(field, fault.Duplicate, "Another column is this member already.")
		case name == Company && !may("companies:read"):
			add(field, fault.ForbiddenCombination, "You lack the right to read companies.")
		}
		named = named || t.Names
	}
	if !named {
		add("targets", fault.Required,
			"At least one column must have the name, the company, the email address or a telephone number.")
	}
	if o.Companies && !may("companies:write") {
		add("companies", fault.ForbiddenCombination, "You lack the right to create companies.")
	}
	if !slices.Contains([]Duplicates{Skip, Fill, Replace}, o.Duplicates) {
		wrong = append(wrong, fault.Field{
			Name:  "duplicates",
			Code:  fault.NotInEnum,
			Limit: []string{string(Skip), string(Fill), string(Replace)},
		})
	}
	if len(o.Tags) > 5 || slices.ContainsFunc(o.Tags,
		func(tag string) bool { return tag == "" || utf8.RuneCountInString(tag) > 50 }) {
		add("tags", fault.TooLong, "At most 5 tags, of at most 50 characters each.")
	}
	return wrong
}

// twice reports whether an earlier column has the same member and the same slot.
func twice(before []string, name string, slot func(int) string, own string) bool {
	for i, other := range before {
		if other == name && slot(i) == own {
			return true
		}
	}
	return false
}

// unknownTarget returns the message for a target that is no member, with the member that is meant.
func unknownTarget(name string) i18n.Text {
	if near := fault.Nearest(name, Targets()); near != "" {
		return fault.DidYouMean(near)
	}
	return "There is no such member."
}
