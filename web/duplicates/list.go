package duplicates

import (
	"net/url"
	"slices"

	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/record/duplicate"
	"kartei/record/lookup"
	"kartei/web/records"
	"kartei/web/shell"
	"kartei/web/ui"
)

// The query parameters of the list of possible duplicates, besides after.
const (
	ofParameter        = "of"
	idParameter        = "id"
	dismissedParameter = "dismissed"
)

// pairsShown is the number of pairs on a page.
const pairsShown = 20

// listPage is the data of the list of possible duplicates.
type listPage struct {
	*family
	blocks []block
	// dismissed says that the list has the dismissed pairs.
	dismissed bool
	// id is the id of the record that the list is about, or empty. name is the title of the record.
	id, name string
	// waiting is the number of changed records that are not compared yet.
	waiting int
	pages   ui.Pages
}

// at returns the address of the list.
func (p *listPage) at(dismissed bool, after string) string {
	q := url.Values{ofParameter: {p.Name}}
	for name, value := range map[string]string{idParameter: p.id, "after": after} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if dismissed {
		q.Set(dismissedParameter, "1")
	}
	return shell.DuplicatesPath + "?" + q.Encode()
}

// showDuplicates serves the list of possible duplicates. Records that were just changed are compared
// soon. Until then, the page refreshes itself.
func showDuplicates(v *shell.Request) shell.View {
	q := v.URL.Query()
	p := listPage{family: chosenFamily(v), id: q.Get(idParameter), dismissed: q.Get(dismissedParameter) != ""}
	after := q.Get("after")
	found, err := shell.Ask(v, lookup.Duplicates, lookup.DuplicatesInput{
		Family: p.Name, ID: p.id, After: after, Limit: pairsShown, Dismissed: p.dismissed,
	})
	switch {
	case fault.Is(err, fault.CursorMismatch): // the position has expired
		return v.SeeOther(p.at(p.dismissed, ""))
	case err != nil:
		return v.Failed(err)
	}
	p.blocks, p.waiting = blocksOf(found.Data), int(found.Waiting)
	if after != "" {
		p.pages.Newer = v.Look().To(p.at(p.dismissed, ""))
	}
	if found.HasMore {
		p.pages.Older = v.Look().To(p.at(p.dismissed, found.After))
	}
	if p.id != "" {
		names := map[string]string{}
		if err := v.TitlesOf([]string{p.id}, names); err != nil {
			return v.Failed(err)
		}
		p.name = names[p.id]
	}
	return v.OK(p.heading(v), p.Name, listView(v, &p))
}

// chosenFamily returns the family in the address. Without one, it is the first one that the person may
// read.
func chosenFamily(v *shell.Request) *family {
	of := v.URL.Query().Get(ofParameter)
	if of == companies.Name || of != contacts.Name && !v.Session.May(contacts.Read) && v.Session.May(companies.Read) {
		return &companies
	}
	return &contacts
}

// block is a part of the list: a group of more than two records with its pairs, or pairs of two records
// each.
type block struct {
	pairs []lookup.DuplicatePair
	// entries is the number of records of a group. It is 2 for pairs of two records each.
	entries int
}

// blocksOf returns the blocks of the list, in the order of their first pairs.
func blocksOf(pairs []lookup.DuplicatePair) (blocks []block) {
	seen := map[string]bool{}
	for _, p := range pairs {
		if seen[p.Group] {
			continue
		}
		seen[p.Group] = true
		group := slices.DeleteFunc(slices.Clone(pairs), func(other lookup.DuplicatePair) bool {
			return other.Group != p.Group
		})
		n := entries(group)
		if last := len(blocks) - 1; n == 2 && last >= 0 && blocks[last].entries == 2 {
			blocks[last].pairs = append(blocks[last].pairs, group...)
		} else {
			blocks = append(blocks, block{group, n})
		}
	}
	return blocks
}

// heading returns the title of the page.
func (p *listPage) heading(v *shell.Request) string {
	switch {
	case p.dismissed:
		return v.Words.Say("Dismissed duplicates")
	case p.name != "":
		return v.Words.Say("Possible duplicates of “%s”", p.name)
	}
	return v.Words.Say("Possible duplicates")
}

// tabs returns the tabs of the families that the person may read.
func (p *listPage) tabs(v *shell.Request) (tabs []ui.Tab) {
	for _, f := range []*family{&contacts, &companies} {
		if v.Session.May(f.Read) {
			of := listPage{family: f}
			tabs = append(tabs, ui.Tab{
				Name: v.Words.Say(f.Many), Href: v.Look().To(of.at(p.dismissed, "")), Here: f == p.family,
			})
		}
	}
	return tabs
}

// entries returns the number of records in a group.
func entries(group []lookup.DuplicatePair) int {
	var ids []string
	for _, p := range group {
		ids = append(ids, p.First.ID, p.Second.ID)
	}
	return len(shell.Unique(ids))
}

// strength returns how sure it is that two records are the same, as a badge.
func strength(v *shell.Request, s duplicate.Strength) (ui.Kind, string) {
	switch s {
	case duplicate.Sure:
		return ui.OK, v.Words.Say("sure")
	case duplicate.Likely:
		return ui.Info, v.Words.Say("likely")
	}
	return ui.Plain, v.Words.Say("possible")
}

// reasonTexts are the texts for the reasons why two records are probably the same.
var reasonTexts = map[duplicate.Reason]i18n.Text{
	duplicate.Email:        "same email address",
	duplicate.Number:       "same number",
	duplicate.ExternalID:   "same external ID",
	duplicate.Registration: "same VAT ID or register number",
	duplicate.Name:         "same name",
	duplicate.NearName:     "similar name",
	duplicate.MaidenName:   "same first name and birthday",
	duplicate.Birthday:     "same birthday",
	duplicate.City:         "same city",
}

// reasons returns a text with the reasons why two records are probably the same.
func reasons(v *shell.Request, p lookup.DuplicatePair) string {
	var list []string
	named := slices.Contains(p.Reasons, duplicate.MaidenName) // this reason says the birthday already
	for _, r := range p.Reasons {
		if text := reasonTexts[r]; text != "" && (r != duplicate.Birthday || !named) {
			list = append(list, v.Words.Say(text))
		}
	}
	return v.Words.List(list)
}

// twoOf returns the label of the button that dismisses a pair.
func (f *family) twoOf(v *shell.Request) string {
	if f.Organizations {
		return v.Words.Say("Two companies")
	}
	return v.Words.Say("Two people")
}

// These are the fields of the form that dismisses a pair.
const (
	familyField = "family"
	firstField  = "first"
	secondField = "second"
)

// dismiss stores that two records are not the same, or takes that back.
func dismiss(v *shell.Request) shell.View {
	f := &contacts
	if v.Sent.Get(familyField) == companies.Name {
		f = &companies
	}
	in := lookup.DismissInput{
		Family: f.Name, First: v.Sent.Get(firstField), Second: v.Sent.Get(secondField), Undo: v.Undoing(),
	}
	back := records.Back(v, shell.DuplicatesOf(f.Name, ""))
	switch a := shell.Do(v, lookup.Dismiss, in); {
	case a.Is(fault.NotFound) && v.Scripted():
		text := v.Words.Say("One of the two entries does not exist any more.")
		return v.Done(back, &shell.Toast{Bad: true, Text: text, Log: text})
	case a.Fault != nil:
		return v.Failed(a.Fault)
	}
	if in.Undo {
		text := v.Words.Say("The pair is in the list again.")
		return v.Done(back, &shell.Toast{Text: text, Log: text})
	}
	text := v.Words.Say("Dismissed. The pair is no longer in the list.")
	return v.Done(back, &shell.Toast{Text: text, Undo: &shell.Undo{
		Action: dismissPath, Token: v.Mint(), Back: back, Fields: pairFields(f, in.First, in.Second),
	}})
}

const dismissPath = shell.DuplicatesPath + "/dismiss"

// pairFields returns the hidden fields with a pair.
func pairFields(f *family, first, second string) []ui.HiddenField {
	return []ui.HiddenField{
		{Name: familyField, Value: f.Name}, {Name: firstField, Value: first}, {Name: secondField, Value: second},
	}
}
