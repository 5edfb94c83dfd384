package book

import (
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"kartei/record/lookup"
	"kartei/web/records"
	"kartei/web/shell"
)

// callPage is the data of the page about an incoming telephone call.
type callPage struct {
	// number is the number of the caller as it was sent.
	number string
	// people are the contacts and companies with this number, or with a number that ends with it.
	people []lookup.Hit
	// q is the name of the entry to which the person wants to add the number. matches are the
	// entries with this name.
	q       string
	matches []lookup.Hit
}

// maxCallers is the maximum number of entries on the page of a call.
const maxCallers = 20

// showCall serves the page that a telephone system opens for an incoming call. The query has the
// number of the caller as digits, or as a tel: or sip: address.
//
// If one entry has the number, showCall serves the page of that entry. Several entries are listed.
// Entries that only mention the number, and offices with the number as an extension, count only if
// no entry has the number itself. A number that only ends with the digits may belong to another
// person. Such an entry is listed, and its page is never served.
func showCall(v *shell.Request) shell.View {
	p := callPage{number: shell.NumberOf(v.URL.Query().Get("number")), q: strings.TrimSpace(v.URL.Query().Get("q"))}
	if p.number == "" {
		return v.OK(v.Words.Say("Call"), "", noNumberView(v))
	}
	var err error
	if p.people, err = inBook(v, p.number); err != nil {
		return v.Failed(err)
	}
	if slices.ContainsFunc(p.people, func(h lookup.Hit) bool { return h.Exact }) {
		p.people = slices.DeleteFunc(p.people, func(h lookup.Hit) bool { return !h.Exact })
	}
	if len(p.people) == 1 && !p.people[0].AtEnd && p.q == "" {
		return v.Lead(shell.PathOf(p.people[0].ID))
	}
	if p.q != "" {
		if p.matches, err = inBook(v, p.q); err != nil {
			return v.Failed(err)
		}
		p.matches = slices.DeleteFunc(p.matches, func(h lookup.Hit) bool { return !v.Session.May(records.FamilyOf(h.Object).Write) })
	}
	return v.OK(v.Words.Say("Call: %s", p.number), "", callView(v, p))
}

// inBook searches the contacts and companies for a text.
func inBook(v *shell.Request, q string) (list []lookup.Hit, err error) {
	if utf8.RuneCountInString(q) > records.MaxSought {
		return nil, nil
	}
	f, err := shell.Ask(v, lookup.Find, lookup.FindInput{Q: q, Limit: maxCallers})
	for _, g := range f.Groups {
		if family := records.FamilyOf(g.Family); family != nil && family.InBook {
			list = append(list, g.Hits...)
		}
	}
	return list, err
}

// heading returns the number in a readable format.
func (p callPage) heading(v *shell.Request) string {
	if list := v.Words.Numbers(p.number, ""); len(list) == 1 {
		return list[0].Readable()
	}
	return p.number
}

// facts returns what the number shows about the caller: the country, and whether it is a mobile
// number.
func (p callPage) facts(v *shell.Request) string {
	list := v.Words.Numbers(p.number, "")
	if len(list) != 1 {
		return v.Words.Say("without an area code, as within a place or a telephone system")
	}
	country, mobile := list[0].Where()
	var facts []string
	if country != "" {
		facts = append(facts, v.Words.Country(country))
	}
	if mobile {
		facts = append(facts, v.Words.Say("mobile telephone"))
	}
	return strings.Join(facts, ", ")
}

// unknownCaller returns a text for a call from an unknown number.
func unknownCaller(v *shell.Request) string {
	if !v.Session.May(records.Contacts.Write) {
		return v.Words.Say("You may read, but not create contacts.")
	}
	return v.Words.Say("The number was searched with and without its country code, and as an extension of an office.")
}

// addingNumber returns the address of an entry's form that adds the number of the caller to it.
func addingNumber(h lookup.Hit, number string) string {
	return shell.PathOf(h.ID) + "/edit?" + url.Values{records.CallerField: {number}}.Encode()
}
