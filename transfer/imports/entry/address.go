package entry

import (
	"cmp"
	"slices"
	"strings"

	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/kit/invisible"
	"kartei/record"
	"kartei/transfer/imports/names"
	"kartei/transfer/imports/places"
	"kartei/transfer/imports/source"
)

// This file turns the addresses of an entry into members.

// addresses sets the member address to the preferred address. Other addresses become additional ones.
func (e *Entry) addresses() {
	type group struct {
		places.Address
		rank  int
		turn  int
		kind  string
		first item
	}
	groups := map[string]*group{}
	var order []string
	at := func(i item) *group {
		g := groups[i.slot]
		if g == nil {
			g = &group{rank: i.rank, turn: i.turn, kind: i.kind, first: i}
			groups[i.slot], order = g, append(order, i.slot)
		}
		g.turn = min(g.turn, i.turn)
		return g
	}
	for _, part := range []string{
		"street", "houseNumber", "more", "postalCode", "place", "city", "region", "country", "whole",
	} {
		for _, i := range e.meaning("address." + part) {
			if part == "postalCode" && e.isLost(i) {
				continue
			}
			g, text, line := at(i), record.Clean(i.text), record.Clean
			if !e.Exact {
				text, line = invisible.Tidy(text), source.JoinLines
			}
			set := func(into *string, text string) {
				if *into == "" {
					*into = text
				} else if *into != text {
					e.move("address."+part, e.say("address"), i, noPlace, onlyOne)
				}
			}
			switch part {
			case "street":
				set(&g.Street, e.withoutName(text))
			case "houseNumber":
				g.Number = strings.TrimSpace(g.Number + text)
			case "more":
				g.More = append(g.More, boxed(i, text))
			case "postalCode":
				set(&g.PostalCode, line(text))
			case "city":
				set(&g.City, line(text))
			case "place":
				g.SetPlace(text)
			case "region":
				set(&g.Region, line(text))
			case "country":
				set(&g.Country, line(text))
			case "whole":
				if g.Street != "" { // the entry has the parts, too
					if !names.Covers(g.Line(), text) {
						e.move("address.whole", e.say("address"), i, noPlace, onlyOne)
					}
					continue
				}
				if g.SetWhole(e.withoutName(text)); g.PostalCode == "" {
					e.tell(Altered, "address.street", i, fault.InvalidFormat,
						"This address has no postal code with a city that can be read. It stands as the street.")
				}
			}
		}
	}
	for _, i := range e.has("address.formatted") { // the parts contain the same text
		if g := at(i); g.Address.IsEmpty() {
			g.SetWhole(i.text)
		}
	}
	slices.SortStableFunc(order, func(a, b string) int {
		x, y := groups[a], groups[b]
		return cmp.Or(y.rank-x.rank, x.turn-y.turn)
	})
	for n, slot := range order {
		g := groups[slot]
		switch {
		case g.Address.IsEmpty():
		case (n == 0 || e.Body["address"] == nil) && !(g.first.additional && e.Exact):
			if address := e.addressOf(&g.Address, g.first); len(address) > 0 {
				e.Body["address"] = address
				for part, value := range address {
					i := g.first
					i.text = value.(string)
					e.items["=address."+part] = []item{i}
				}
			}
		default:
			if address := e.addressOf(&g.Address, g.first); len(address) > 0 {
				i := g.first
				i.member, i.kind = "address", g.kind
				e.addTo(&addressList, i, address)
			}
		}
	}
}

// addressOf returns an address in the form of the API. It repairs the parts of the address.
func (e *Entry) addressOf(a *places.Address, i item) map[string]any {
	into := map[string]any{}
	set := func(name, text string) {
		if text != "" {
			into[name] = text
		}
	}
	if e.Exact {
		set("street", a.Street)
	} else {
		a.Tidy()
		if before := a.PostalCode; a.RestoreZero() {
			of := i
			of.text = before
			for _, p := range slices.Concat(e.has("address.postalCode"), e.has("address.place")) {
				if strings.HasPrefix(p.text, before) {
					of = p
				}
			}
			e.tell(Altered, "address.postalCode", of, fault.InvalidFormat,
				i18n.Format("The zero at the beginning of this postal code was missing. Taken was %s.", a.PostalCode))
		}
		set("street", a.StreetLine())
	}
	set("postalCode", a.PostalCode)
	set("city", a.City)
	if a.Country != "" {
		code, region, known := places.Country(a.Country)
		of := i
		of.text = a.Country
		for _, c := range e.has("address.country") {
			if source.JoinLines(c.text) == a.Country {
				of = c
			}
		}
		switch {
		case known:
			set("country", code)
			if a.Region == "" {
				a.Region = region
			} else if region != "" && !names.Covers(a.Region, region) {
				e.move("address.country", e.say("country"), of, noPlace, onlyOne)
			}
		case a.Region == "":
			a.Region = a.Country
			e.tell(Altered, "address.country", of, fault.NotInEnum,
				"This country is not known. It stands as the region.")
		default:
			e.move("address.country", e.say("country"), of, fault.NotInEnum,
				"This country is not known. Possible are codes such as DE and names such as Germany.")
		}
	}
	set("region", a.Region)
	return into
}

// withoutName removes lines with the entry's own name from the beginning of an address.
func (e *Entry) withoutName(text string) string {
	if e.Exact || !strings.Contains(text, "\n") {
		return text
	}
	own := strings.Join([]string{
		e.Text("title"), e.Text("firstName"), e.Text("lastName"), e.Text("name"), e.Company,
	}, " ")
	lines := strings.Split(text, "\n")
	n, salutation, named := 0, "", false
	for n < len(lines)-1 {
		line := strings.Join(strings.Fields(record.Clean(lines[n])), " ")
		if known := names.SpokenSalutation(line); known != "" {
			salutation = known
		}
		if !names.Covers(own, line) && !names.IsTitle(line) && !names.IsFirmSalutation(line) {
			break
		}
		named = named || strings.Contains(line, " ") || line != "" && !names.IsSalutation(line)
		n++
	}
	if !named {
		return text
	}
	if salutation != "" && !e.Firm && e.Body["salutation"] == nil {
		e.Body["salutation"] = salutation
	}
	return strings.Join(lines[n:], "\n")
}

// boxed adds Postfach or PO Box before a bare number, if the heading contains that word. It returns
// other texts unchanged.
func boxed(i item, text string) string {
	heading := source.Fold(i.heading)
	if strings.Trim(text, "0123456789 ") != "" {
		return text
	}
	switch {
	case strings.Contains(heading, "postfach"), heading == "pfach":
		return "Postfach " + text
	case strings.Contains(heading, "pobox"):
		return "PO Box " + text
	}
	return text
}
