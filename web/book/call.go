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

// callPage is the page of a call.
type callPage struct {
	// number is the number of the caller, as it was sent.
	number string
	// people are the records with the number, or those whose number ends so.
	people []lookup.Hit
	// q is the name to which the number is added, and matches are its records.
	q       string
	matches []lookup.Hit
}

// maxCallers is how many records a call shows.
const maxCallers = 20

// showCall is the page that a telephone system opens with the number of the caller: as
// digits, or as an address with tel: or sip:. One record with the number is opened, and
// several are listed. Records that only mention the number, or an office with the number
// as an extension, count only if no record has it. A record whose number only ends with
// the digits may be somebody else's, so it is listed and never opened.
func showCall(v *shell.Request) shell.View {
	p := callPage{number: records.NumberOf(v.URL.Query().Get("number")), q: strings.TrimSpace(v.URL.Query().Get("q"))}
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

// inBook finds a text among the contacts and companies.
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

// heading returns the number as people read it.
func (p callPage) heading(v *shell.Request) string {
	if list := v.Words.Numbers(p.number, ""); len(list) == 1 {
		return list[0].Readable()
	}
	return p.number
}

// facts says what the number itself tells about the call.
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

// unknownCaller says what a person can do about a call from an unknown number.
func unknownCaller(v *shell.Request) string {
	if !v.Session.May(records.Contacts.Write) {
		return v.Words.Say("You may read, but not create contacts.")
	}
	return v.Words.Say("The number was searched with and without its country code, and as an extension of an office.")
}

// addingNumber returns the form of a record with the number of a caller in a member that
// is empty.
func addingNumber(h lookup.Hit, number string) string {
	return shell.PathOf(h.ID) + "/edit?" + url.Values{records.CallerField: {number}}.Encode()
}
