package book

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json"

	"kartei/kit/i18n"
	"kartei/kit/vcard"
	"kartei/web/shell"
)

// This file writes additional emails, numbers and addresses, and attributes, into vCards and tables.

// additional writes the lists of additional values into a vCard.
type additional struct {
	c                         *vcard.Card
	emails, phones, addresses []shell.Values
}

// first returns the name of a property for the first value, with a type. If the vCard has additional
// values, it says that the first one is preferred.
func (a *additional) first(property, kind string, list []shell.Values) string {
	var kinds []string
	if kind != "" {
		kinds = append(kinds, kind)
	}
	if len(list) > 0 && a.c.Old() {
		kinds = append(kinds, "pref")
	}
	if len(kinds) > 0 {
		property += ";TYPE=" + strings.Join(kinds, ",")
	}
	if len(list) > 0 && !a.c.Old() {
		property += ";PREF=1"
	}
	return property
}

// types are the types of labels in vCards. Only telephone numbers have the types cell and fax.
var types = map[string]string{"work": "work", "home": "home", "mobile": "cell", "fax": "fax"}

// name returns the name of a property for an additional value. It has the label as a type, or is in a
// group with an X-ABLabel. Apple and Google read such groups. Kartei reads its own parameter.
func (a *additional) name(property, label string) string {
	kind := types[label]
	exact := vcard.Label(label)
	switch {
	case kind == "work", kind == "home", kind != "" && property == "TEL":
		return property + ";TYPE=" + kind + exact
	case label == "":
		return property + exact
	}
	item := a.c.Item()
	if label == "other" {
		label = "_$!<Other>!$_"
	}
	a.c.Add(item+"X-ABLabel", label)
	return item + property + exact
}

func (a *additional) addPhones(w i18n.Words, country string) {
	for _, p := range a.phones {
		addNumbers(a.c, w, a.name("TEL", p["label"]), p["phone"], country, true)
	}
}

func (a *additional) addEmails() {
	for _, e := range a.emails {
		a.c.Add(a.name("EMAIL", e["label"]), e["email"])
	}
}

func (a *additional) addAddresses() {
	for _, at := range a.addresses {
		a.c.Parts(a.name("ADR", at["label"]), "", "", at["street"], at["city"], at["region"], at["postalCode"],
			countryOf(at["country"]))
	}
}

// countryOf returns the name of a country in vCards, which is English.
func countryOf(code string) string {
	if code == "" {
		return ""
	}
	return i18n.Words{Language: i18n.English}.Country(code)
}

// attributesJSON returns attributes as a JSON object. It escapes the characters that a file may lose.
func attributesJSON(list ...shell.Attribute) string {
	all := map[string]string{}
	for _, a := range list {
		all[a.Name] = a.Value
	}
	raw, err := json.Marshal(all, json.Deterministic(true))
	if err != nil {
		panic("book: " + err.Error()) // texts can always be encoded
	}
	var b strings.Builder
	for _, r := range string(raw) {
		switch {
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r > 0xffff:
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// A table has columns for the first few additional values, and a column for the rest of each list. The
// rest is the JSON of the API, so that a table of any width loses nothing and an import can read it.
const (
	emailColumns   = 3
	phoneColumns   = 4
	addressColumns = 2
)

// additionalColumns are the columns of a list in a table.
type additionalColumns struct {
	member string
	// columns is the number of entries with columns of their own. parts are the columns of an entry.
	columns int
	parts   []additionalPart
	// rest is the heading of the column with the rest.
	rest i18n.Text
}

// additionalPart is a part of an entry. Its heading has the number of the entry.
type additionalPart struct {
	name    string
	heading i18n.Text
}

var additionalLists = []additionalColumns{
	{"additionalEmails", emailColumns, []additionalPart{
		{"email", "Additional email %d"}, {"label", "Additional email %d label"},
	}, "Other additional emails"},
	{"additionalPhones", phoneColumns, []additionalPart{
		{"phone", "Additional number %d"}, {"label", "Additional number %d label"},
	}, "Other additional numbers"},
	{"additionalAddresses", addressColumns, []additionalPart{
		{"street", "Additional address %d street"}, {"postalCode", "Additional address %d postal code"},
		{"city", "Additional address %d city"}, {"region", "Additional address %d region"},
		{"country", "Additional address %d country"}, {"label", "Additional address %d label"},
	}, "Other additional addresses"},
}

// headings returns the headings of the columns.
func (l *additionalColumns) headings(w i18n.Words) (heads []string) {
	for n := range l.columns {
		for _, part := range l.parts {
			heads = append(heads, w.Say(part.heading, n+1))
		}
	}
	return append(heads, w.Say(l.rest))
}

// cells returns the cells of the columns. list is the list as shell.Values has it. Countries have their
// names, as the country of a record does. Labels stay the words of the API, because an import could not
// tell their translations from labels of the office.
func (l *additionalColumns) cells(w i18n.Words, list string) (cells []string) {
	entries := shell.Entries(list)
	for n := range l.columns {
		entry := shell.Values{}
		if n < len(entries) {
			entry = entries[n]
		}
		for _, part := range l.parts {
			text := entry[part.name]
			if part.name == "country" && text != "" {
				text = w.Country(text)
			}
			cells = append(cells, text)
		}
	}
	return append(cells, shell.EntryList(l.member, slices.Clone(entries[min(l.columns, len(entries)):])))
}
