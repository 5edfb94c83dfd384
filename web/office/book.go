package office

import (
	"net/url"
	"slices"
	"strings"

	"kartei/web/i18n"
)

// partOf returns the part of the page of an entry on which a member is shown: with
// the facts, below them, or with the members about record keeping. Members of the
// address are shown as a whole.
func partOf(m field) string {
	switch {
	case strings.HasPrefix(m.name, "address."):
		return "address"
	case m.name == "note" || m.name == "tags":
		return "below"
	case m.name == "externalId" || m.name == "ownerId" || m.name == "visibility":
		return "kept"
	}
	return "facts"
}

// facts returns the members of a part that have a value or are edited.
func (p recordPage) facts(part string) []field {
	return slices.DeleteFunc(p.family.shown(p.record, p.editing), func(m field) bool { return partOf(m) != part })
}

// missing returns the members of an entry without a value, which can be added.
func (p recordPage) missing(v *request) []group {
	var list []group
	for _, m := range p.family.fields {
		if p.record[m.name] == "" && !m.hidden && !m.unasked && partOf(m) != "address" && p.mayEdit(v, m) {
			list = append(list, group{name: m.name, label: m.label})
		}
	}
	if len(p.addressLines(v)) == 0 {
		list = append(list, group{name: "address", label: text("Anschrift", "Address")})
	}
	return list
}

// addressOf returns the postal address of an entry.
func addressOf(r values) i18n.Address {
	return i18n.Address{
		Street: r["address.street"], PostalCode: r["address.postalCode"], City: r["address.city"], Region: r["address.region"], Country: r["address.country"],
	}
}

// addressLines are the lines of the address as a letter has them.
func (p recordPage) addressLines(v *request) []string { return v.words.Lines(addressOf(p.record)) }

// addressBlock is the whole address of a letter (DIN 5008): the company, the person,
// the address.
func (p recordPage) addressBlock(v *request) string {
	return strings.Join(v.letterTo(p.record, p.names), "\n")
}

// letterTo returns the lines of the address of a letter. names has the name of the
// company.
func (v *request) letterTo(r values, names map[string]string) []string {
	salutations := map[string]string{"ms": v.words.Say("Frau", "Ms"), "mr": v.words.Say("Herrn", "Mr")}
	person := joined(" ", salutations[r["salutation"]], r["title"], r["firstName"], r["lastName"])
	head := present(names[r["companyId"]], first(person, r["name"]))
	return append(head, v.words.Lines(addressOf(r))...)
}

// referrers counts the records that refer to a record: open and done tasks,
// documents, people of a company. Those that the person may not read are not counted.
func (v *request) referrers(f *family, id string) ([]string, error) {
	var list [3]string
	count := func(i int, to *family, one, many, oneEN, manyEN string) func() error {
		return func() error {
			if !v.session.may(to.read) {
				return nil
			}
			n, err := fetch[counted](v, to.acts.count, arguments{query: url.Values{f.object + "Id": {id}}})
			if n.Count > 0 {
				list[i] = v.words.Plural(n.Count, one, many, oneEN, manyEN)
			}
			return err
		}
	}
	counts := []func() error{
		count(1, &tasks, "eine Aufgabe", "%d Aufgaben", "one task", "%d tasks"),
		count(2, &documents, "ein Dokument", "%d Dokumente", "one document", "%d documents"),
	}
	if f == &companies {
		counts = append(counts, count(0, &contacts, "ein Kontakt", "%d Kontakte", "one contact", "%d contacts"))
	}
	err := together(counts...)
	return present(list[:]...), err
}

// deletionPage asks before an entry is erased.
type deletionPage struct {
	family    *family
	record    values
	referrers []string
	back      string
}

// askToDelete serves the question before an entry is erased. It counts the records
// that refer to the entry.
func askToDelete(f *family) func(*request) view {
	return func(v *request) view {
		id := v.PathValue("id")
		p := deletionPage{family: f, back: f.listingOf(v.URL.Query()).at("/" + f.name + "/" + id)}
		err := together(
			func() (err error) { p.record, err = v.get(f, id); return err },
			func() (err error) { p.referrers, err = v.referrers(f, id); return err },
		)
		if err != nil {
			return v.failed(err)
		}
		name := f.heading(p.record)
		return v.inDialog(v.words.Say("„"+name+"“ löschen?", "Delete “"+name+"”?"), f.name, deletionQuestion(v, p))
	}
}
