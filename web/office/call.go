package office

import (
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"kartei/record/lookup"
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

// mostCallers is how many records a call shows.
const mostCallers = 20

// showCall is the page that a telephone system opens with the number of the caller: as
// digits, or as an address with tel: or sip:. One record with the number is opened, and
// several are listed. Records that only mention the number, or an office with the number
// as an extension, count only if no record has it. A record whose number only ends with
// the digits may be somebody else's, so it is listed and never opened.
func showCall(v *request) view {
	p := callPage{number: numberOf(v.URL.Query().Get("number")), q: strings.TrimSpace(v.URL.Query().Get("q"))}
	if p.number == "" {
		return v.ok(v.words.Say("Anruf", "Call"), "", noNumberView(v))
	}
	var err error
	if p.people, err = v.inBook(p.number); err != nil {
		return v.failed(err)
	}
	if slices.ContainsFunc(p.people, func(h lookup.Hit) bool { return h.Exact }) {
		p.people = slices.DeleteFunc(p.people, func(h lookup.Hit) bool { return !h.Exact })
	}
	if len(p.people) == 1 && !p.people[0].AtEnd && p.q == "" {
		return v.lead(pathOf(p.people[0].ID))
	}
	if p.q != "" {
		if p.matches, err = v.inBook(p.q); err != nil {
			return v.failed(err)
		}
		p.matches = slices.DeleteFunc(p.matches, func(h lookup.Hit) bool { return !v.session.may(familyOf(h.Object).write) })
	}
	return v.ok(v.words.Say("Anruf: ", "Call: ")+p.number, "", callView(v, p))
}

// inBook finds a text among the contacts and companies.
func (v *request) inBook(q string) (list []lookup.Hit, err error) {
	if utf8.RuneCountInString(q) > maxSought {
		return nil, nil
	}
	f, err := ask(v, lookup.Find, lookup.FindInput{Q: q, Limit: mostCallers})
	for _, g := range f.Groups {
		if family := familyOf(g.Family); family == &contacts || family == &companies {
			list = append(list, g.Hits...)
		}
	}
	return list, err
}

// heading returns the number as people read it.
func (p callPage) heading(v *request) string {
	if list := v.words.Numbers(p.number, ""); len(list) == 1 {
		return list[0].Readable()
	}
	return p.number
}

// facts says what the number itself tells about the call.
func (p callPage) facts(v *request) string {
	list := v.words.Numbers(p.number, "")
	if len(list) != 1 {
		return v.words.Say("ohne Vorwahl, wie innerhalb eines Ortes oder einer Telefonanlage", "without an area code, as within a place or a telephone system")
	}
	country, mobile := list[0].Where()
	var facts []string
	if country != "" {
		facts = append(facts, v.words.Country(country))
	}
	if mobile {
		facts = append(facts, v.words.Say("Mobiltelefon", "mobile telephone"))
	}
	return strings.Join(facts, ", ")
}

// unknownCaller says what a person can do about a call from an unknown number.
func unknownCaller(v *request) string {
	if !v.session.may(contacts.write) {
		return v.words.Say("Sie dürfen lesen, aber keine Kontakte anlegen.", "You may read, but not create contacts.")
	}
	return v.words.Say("Gesucht wurde mit und ohne Landesvorwahl, auch nach der Zentrale einer Durchwahl.", "The number was searched with and without its country code, and as an extension of an office.")
}

// addingNumber returns the form of a record with the number of a caller in a member that
// is empty.
func addingNumber(h lookup.Hit, number string) string {
	return pathOf(h.ID) + "/edit?" + url.Values{callerField: {number}}.Encode()
}
