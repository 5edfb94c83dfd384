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
	// Target is the member that it becomes, empty for none.
	Target string `json:"target"`
	// Slot says what kind of value it has, or which columns belong together: home, 2.
	Slot string `json:"slot,omitempty"`
	// At is its number in the file, from 0.
	At int `json:"at"`
	// Dates is the order of day and month that its values prove.
	Dates days.Order `json:"dates,omitempty"`
}

// maxSamples is how many values show what a column is, sampleLength how many characters of each.
const (
	maxSamples   = 3
	sampleLength = 60
	// headingLength is how many characters of a heading are kept.
	headingLength = 200
)

// ColumnOf returns a column of a file with the member that was guessed.
func ColumnOf(c source.Column) Column {
	return Column{Heading: source.Cut(c.Heading, headingLength), Target: c.Member, Slot: c.Slot, At: c.At}
}

// Sample keeps the first values of a column. It also learns whether dates have the day or the month
// first.
func (c *Column) Sample(text string) {
	c.Dates = c.Dates.Learn(text)
	if len(c.Samples) < maxSamples {
		if short := source.Cut(text, sampleLength); !slices.Contains(c.Samples, short) {
			c.Samples = append(c.Samples, short)
		}
	}
}

// Duplicates says what becomes of an entry whose contact is there already.
type Duplicates string

// The ways.
const (
	// Skip leaves the contact as it is.
	Skip Duplicates = "skip"
	// Fill sets members that the contact has not.
	Fill Duplicates = "fill"
	// Replace sets every member that the file has.
	Replace Duplicates = "replace"
)

// Options are what somebody chooses besides the columns.
type Options struct {
	Duplicates Duplicates `json:"duplicates"`
	// MonthFirst reads 5/4/1984 as a day in May, unless the column proves the contrary.
	MonthFirst bool `json:"monthFirst"`
	// Companies makes companies of the rows of a table. Cards say themselves what they are.
	Companies bool `json:"companies,omitempty"`
	// Tags are added to every contact.
	Tags []string `json:"tags"`
}

// Plan says how the values of a file are read.
type Plan struct {
	// Format is source.CSV, source.XLSX or source.VCard.
	Format  string   `json:"format"`
	Columns []Column `json:"columns"`
	Options Options  `json:"options"`
	// Groups are the names of groups of cards, by the members.
	Groups map[string][]string `json:"groups,omitempty"`
	// Language is the language of labels in notes.
	Language i18n.Language `json:"language"`
	// columns are the columns by their numbers in the file.
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

// OfCards reports whether the file has cards, whose values need no columns.
func (p *Plan) OfCards() bool { return p.Format == source.VCard }

// american are the programs that write the month first in English.
var american = []string{"Outlook", "Outlook.com", "Yahoo", "Salesforce", "HubSpot"}

// HasMonthFirst reports whether the days of a table have the month first: its values prove
// it, or its program writes them so and they do not prove the contrary.
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

// The members that a column can become, and that no contact has.
const (
	Name      = "name"
	Company   = "company"
	ID        = "id"
	CompanyID = "companyId"
)

// Targets returns the names of all members that a column can become.
func Targets() (names []string) {
	for _, m := range source.Members {
		if m.Name != source.Dropped && m.Name != source.Kind {
			names = append(names, m.Name)
		}
	}
	return names
}

// Check returns what is wrong with a mapping of columns to targets, for a person who may what may
// says of a scope.
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
			add(field, fault.NotInEnum, "There is no such member.")
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

// twice reports whether a column before has the same member in the same slot.
func twice(before []string, name string, slot func(int) string, own string) bool {
	for i, other := range before {
		if other == name && slot(i) == own {
			return true
		}
	}
	return false
}
