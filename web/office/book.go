package office

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/a-h/templ"

	"kartei/kit/fault"
	"kartei/record"
	"kartei/web/i18n"
	"kartei/web/ui"
)

// inBook reports whether records of a family are entries of the address book.
func (f *family) inBook() bool { return f == &contacts || f == &companies }

// group is a part of an entry whose members are shown and edited together.
type group struct {
	name    string
	label   fault.Text
	members []string
}

// groups are the groups of the families of the address book.
var groups = []group{
	{"naming", text("Name", "Name"), []string{"salutation", "title", "firstName", "lastName", "name"}},
	{"address", text("Anschrift", "Address"), []string{"address.street", "address.postalCode", "address.city", "address.region", "address.country"}},
}

// group returns the members of a group that the family has. An unknown group has
// none.
func (f *family) group(name string) []field {
	var list []field
	for _, g := range groups {
		if g.name == name {
			for _, m := range f.fields {
				if slices.Contains(g.members, m.name) {
					list = append(list, m)
				}
			}
		}
	}
	return list
}

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

// at returns the address of a page of the record, with the list that it was opened
// from.
func (p recordPage) at(page string) string {
	return p.list.listing.at("/" + p.family.name + "/" + p.record["id"] + page)
}

// door says by which door a change came, unless it came by a page. Kartei itself hands
// over the entries of who leaves, and makes the sample office.
func door(w i18n.Words, c record.Change) string {
	switch c.Door {
	case "web":
		return ""
	case "rest":
		return w.Say("über die API", "through the API")
	case "mcp":
		return w.Say("über einen Assistenten", "through an assistant")
	case "job":
		if c.Act == "updated" {
			return w.Say("von Kartei, bei der Übergabe von Einträgen", "by Kartei, as entries were handed over")
		}
		return w.Say("von Kartei, als Beispiel", "by Kartei, as an example")
	}
	return w.Say("vom Betreiber", "by the operator")
}

// credentialOf names the key or the application of a change. Who made a key, and so has seen
// its secret, is said unless that is who the change is by.
func credentialOf(v *request, c record.Change, names map[string]string) string {
	switch {
	case c.Key != nil:
		title, made := keyTitle(c.Key.Name, c.Key.Environment, c.Key.KidShort), keyMadeBy(v, c.Key.MadeBy, names)
		if c.Key.MadeBy == c.Principal {
			return v.words.Say("mit dem Schlüssel ", "with the key ") + title
		}
		return v.words.Say("mit dem Schlüssel "+title+", erstellt "+made, "with the key "+title+", created "+made)
	case names[c.Credential] != "":
		return v.words.Say("durch die Anwendung ", "by the application ") + names[c.Credential]
	}
	return ""
}

// swapTo returns the attributes of a link that shows another page of the same place
// without loading everything anew.
func (v *request) swapTo(path string) ui.Hx { return v.look().Get(path).With(intoMainPushed) }

// dialogOf returns the attributes of a link to a page that a script shows as a
// dialog over this one.
func (v *request) dialogOf(path string) ui.Hx {
	between := "?"
	if strings.Contains(path, "?") {
		between = "&"
	}
	return v.look().Get(path + between + "part=dialog").Target("body").Append()
}

// inDialog answers with a dialog over the page that is there, or with a page of its
// own.
func (v *request) inDialog(title, here string, content component) view {
	if v.part("dialog") {
		return view{status: http.StatusOK, body: dialogView(v, title, content)}
	}
	return v.ok(title, here, dialogPage(title, content))
}

// path returns the address of a page of the record.
func (p recordPage) path(v *request, page string) templ.SafeURL {
	return v.look().To("/" + p.family.name + "/" + p.record["id"] + page)
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
