package book

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"kartei/web/records"
	"kartei/web/shell"
)

// partOf returns the part of an entry's page that shows a member: "facts" at the top, "below" after
// these, or "kept" for record keeping. All members of the postal address are in the part "address",
// and "addresses" has the further ones.
func partOf(m records.Field) string {
	switch {
	case strings.HasPrefix(m.Name, "address."):
		return "address"
	case m.Name == "additionalAddresses":
		return "addresses"
	case m.Name == "note" || m.Name == "tags":
		return "below"
	case m.Name == "externalId" || m.Name == "ownerId" || m.Name == "visibility":
		return "kept"
	}
	return "facts"
}

// single reports whether a form has a single field. The rows of a list are several.
func single(members []records.Field) bool {
	return len(members) == 1 && members[0].Kind != records.ListField
}

// factID returns the element id of the fact of an entry. The first one has the id of the field that
// replaces it, to which the focus returns.
func factID(list string, i int) string {
	if i == 0 {
		return "fact-" + list
	}
	return "fact-" + list + "-" + strconv.Itoa(i)
}

// facts returns the members of a part that have a value or are being edited.
func facts(p records.Page, part string) []records.Field {
	return slices.DeleteFunc(p.Family.Shown(p.Record, p.Editing), func(m records.Field) bool { return partOf(m) != part })
}

// missing returns the members that the person can add to an entry: those without a value, and
// further values of those that have one.
func missing(p records.Page, v *shell.Request) []records.Group {
	var list []records.Group
	for _, m := range p.Family.Fields {
		if !m.Hidden && !m.Unasked && partOf(m) != "address" && p.MayEdit(v, m) && addable(p, v, m) {
			list = append(list, records.Group{Name: m.Name, Label: m.Label})
		}
	}
	if len(addressLines(p, v)) == 0 {
		list = append(list, records.Group{Name: "address", Label: "Address"})
	}
	return list
}

// addable reports whether a member has no value, or is a list that takes another one. A list is for
// what the entry has already.
func addable(p records.Page, v *shell.Request, m records.Field) bool {
	if m.Kind != records.ListField {
		return p.Record[m.Name] == ""
	}
	first := p.Record[m.Name] + p.Record["email"]
	switch m.Name {
	case "additionalPhones":
		first = p.Record[m.Name] + p.Record["phone"] + p.Record["mobile"]
	case "additionalAddresses":
		first = p.Record[m.Name] + strings.Join(addressLines(p, v), "")
	}
	return first != "" && m.Takes(p.Record[m.Name])
}

// addressLines returns the lines of the postal address, as on a letter.
func addressLines(p records.Page, v *shell.Request) []string {
	return v.Words.Lines(shell.AddressOf(p.Record))
}

// addressBlock returns the lines of a letter's address field (DIN 5008): company, person and
// address.
func addressBlock(p records.Page, v *shell.Request) string {
	return strings.Join(letterTo(v, p.Record, p.Names), "\n")
}

// furtherBlock returns the lines of a letter's address field with one of the further addresses. An
// address at home has no company above it.
func furtherBlock(p records.Page, v *shell.Request, e records.Entry) string {
	names := p.Names
	if e.AtHome() {
		names = nil
	}
	return strings.Join(append(addressee(v, p.Record, names), v.Words.Lines(e.Address())...), "\n")
}

// letterTo returns the lines of a letter's address field for r.
func letterTo(v *shell.Request, r shell.Values, names map[string]string) []string {
	return append(addressee(v, r, names), v.Words.Lines(shell.AddressOf(r))...)
}

// addressee returns the lines of a letter's address field above the address. names maps the id of the
// company to its name. The department is a line only below the name of the company.
func addressee(v *shell.Request, r shell.Values, names map[string]string) []string {
	salutations := map[string]string{"ms": v.Words.Say("Ms"), "mr": v.Words.Say("Mr [in an address]")}
	person := shell.Joined(" ", salutations[r["salutation"]], r["title"], r["firstName"], r["lastName"], r["nameSuffix"])
	head := shell.Present(names[r["companyId"]])
	if len(head) > 0 {
		head = append(head, shell.Present(r["department"])...)
	}
	return append(head, shell.Present(cmp.Or(person, r["name"]))...)
}

// deletionPage is the data of the page that asks before an entry is erased.
type deletionPage struct {
	family    *records.Family
	record    shell.Values
	referrers []string
	back      string
}

// askToDelete returns the handler of the page that asks before an entry is erased. The page counts
// the records that refer to the entry.
func askToDelete(f *records.Family) func(*shell.Request) shell.View {
	return func(v *shell.Request) shell.View {
		id := v.PathValue("id")
		p := deletionPage{family: f, back: f.ListingOf(v.URL.Query()).At("/" + f.Name + "/" + id)}
		err := shell.Together(
			func() (err error) { p.record, err = records.Get(v, f, id); return err },
			func() (err error) { p.referrers, err = f.CountReferrers(v, id); return err },
		)
		if err != nil {
			return records.Missing(v, err)
		}
		name := f.Heading(p.record)
		return v.InDialog(v.Words.Say("Delete “%s”?", name), f.Name, deletionQuestion(v, p))
	}
}
