package entry

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"kartei/api/schema/pattern"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/record"
	"kartei/record/search"
	"kartei/transfer/imports/source"
)

// This file sets the additional emails, numbers and addresses of an entry, and its attributes.

// list describes a list of additional values.
type list struct {
	// name is the name of the list in Body. member is the member with the first value, and the part
	// of an entry with its value. An address has several parts, and no such member.
	name, member string
	// full is the message for an entry beyond record.MaxEntries.
	full i18n.Text
	// same reports whether two entries have the same value.
	same func(a, b map[string]any) bool
}

// The lists.
var (
	emailList = list{
		"additionalEmails", "email", "At most 20 additional emails are possible.",
		func(a, b map[string]any) bool { return strings.EqualFold(textIn(a, "email"), textIn(b, "email")) },
	}
	phoneList = list{
		"additionalPhones", "phone", "At most 20 additional telephone numbers are possible.",
		func(a, b map[string]any) bool {
			fax := textIn(a, "label") == "fax"
			return fax == (textIn(b, "label") == "fax") && sameNumber(textIn(a, "phone"), textIn(b, "phone"))
		},
	}
	addressList = list{
		"additionalAddresses", "address", "At most 10 additional addresses are possible.",
		func(a, b map[string]any) bool {
			return !slices.ContainsFunc(addressParts, func(part string) bool {
				return placeEssence(textIn(a, part)) != placeEssence(textIn(b, part))
			})
		},
	}
	lists        = []*list{&emailList, &phoneList, &addressList}
	addressParts = []string{"street", "postalCode", "city", "region", "country"}
)

// textIn returns a text of an object, or an empty string.
func textIn(object map[string]any, name string) string {
	text, _ := object[name].(string)
	return text
}

// entriesIn returns the entries of a list in the members of a record.
func entriesIn(members map[string]any, name string) (entries []map[string]any) {
	all, _ := members[name].([]any)
	for _, one := range all {
		if entry, is := one.(map[string]any); is {
			entries = append(entries, entry)
		}
	}
	return entries
}

// Emails returns the emails of the entry, the first one first.
func (e *Entry) Emails() []string { return e.valuesOf(&emailList) }

// Numbers returns the telephone numbers of the entry without those of a fax, the first ones first.
func (e *Entry) Numbers() []string { return e.valuesOf(&phoneList) }

// valuesOf returns the first values of a list and its entries. It leaves out a fax, which an office
// often shares.
func (e *Entry) valuesOf(l *list) (values []string) {
	for _, one := range slices.Concat(l.firsts(e.Body), entriesIn(e.Body, l.name)) {
		if textIn(one, "label") != "fax" {
			values = append(values, textIn(one, l.member))
		}
	}
	return values
}

// sameNumber reports whether two texts are the same telephone number in two notations. Texts with
// other words are equal only if the words are.
func sameNumber(a, b string) bool {
	if essence(a) == essence(b) {
		return true
	}
	return search.IsNumber(a) && search.IsNumber(b) && search.IsNumberOf(a, search.Numbers(a), b)
}

// essence returns the letters, the digits and the plus sign of a text, in lower case.
func essence(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '+' && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return -1
		}
		return r
	}, strings.ToLower(text))
}

// streets replaces the spellings of a street by one.
var streets = strings.NewReplacer("strasse", "str", "straße", "str")

// betweenDigits matches what is between two numbers of an address. Linzer Straße 1/23 and 12/3 are two
// addresses.
var betweenDigits = regexp.MustCompile(`(\d)[^\pL\d+]+(\d)`)

// placeEssence returns essence for a part of an address. It keeps numbers apart.
func placeEssence(text string) string {
	text = streets.Replace(strings.ToLower(text))
	for range 2 { // the matches in 1/2/3 overlap
		text = betweenDigits.ReplaceAllString(text, "$1+$2")
	}
	return essence(text)
}

// label returns the label of an additional value. It is empty for a value without a kind. A fax and
// a mobile number have no other label, because a record has one label for each value.
func (e *Entry) label(i item) string {
	switch {
	case e.Exact && i.additional:
		return i.kind
	case i.member == "fax", i.member == "mobile" && (isNumeral(i.kind) || slices.Contains(generalKinds, i.kind)):
		return i.member
	case isNumeral(i.kind), slices.Contains(record.Labels, i.kind):
		return strings.Trim(i.kind, "0123456789")
	}
	return e.oneLine(e.say(i.kind))
}

// isNumeral reports whether a kind is only the number of a column, or empty.
func isNumeral(kind string) bool { return strings.Trim(kind, "0123456789") == "" }

// firsts returns the first values of a list in the members of a record, in the form of entries.
func (l *list) firsts(members map[string]any) (entries []map[string]any) {
	if l == &addressList {
		if first, is := members["address"].(map[string]any); is {
			entries = append(entries, first)
		}
		return entries
	}
	names := []string{l.member}
	if l == &phoneList {
		names = append(names, "mobile")
	}
	for _, name := range names {
		if text := textIn(members, name); text != "" {
			entries = append(entries, map[string]any{l.member: text})
		}
	}
	return entries
}

// has reports whether a record with some members has the value of an entry already.
func (l *list) has(members map[string]any, one map[string]any) bool {
	return slices.ContainsFunc(slices.Concat(l.firsts(members), entriesIn(members, l.name)),
		func(other map[string]any) bool { return l.same(one, other) })
}

// addTo adds an entry to a list of Body, unless the record has its value. A value beyond the limit
// and a value with a long label go into the note.
func (e *Entry) addTo(l *list, i item, one map[string]any) {
	label := e.label(i)
	if label != "" {
		one["label"] = label
	}
	line := i
	line.text = textIn(one, l.member)
	if l == &addressList {
		line.text = addressLine(one)
	}
	all, _ := e.Body[l.name].([]any)
	switch {
	case !e.Exact && l.has(e.Body, one):
	case len(all) == record.MaxEntries[l.name]:
		e.move(i.member, e.labelled(i.member, i.kind), line, fault.TooLong, l.full)
	case len([]rune(label)) > record.MaxLabel:
		e.move(i.member, e.labelled(i.member, i.kind), line, fault.TooLong, "A label has at most 50 characters.")
	default:
		e.Body[l.name] = append(all, one)
		for part, value := range one {
			from := i
			from.text = value.(string)
			e.items["="+l.name+"."+part+"="+from.text] = []item{from}
		}
	}
}

// listed matches the path of a part of an entry in a list.
var listed = regexp.MustCompile(`^(additional[A-Za-z]+)\[(\d+)\]\.(\w+)$`)

// giveUpListed does what giveUp does for a part of an entry in a list. The entry stays, without the
// part, until tidyLists.
func (e *Entry) giveUpListed(path string, f fault.Field) bool {
	m := listed.FindStringSubmatch(path)
	if m == nil {
		return false
	}
	all := entriesIn(e.Body, m[1])
	at, err := strconv.Atoi(m[2])
	if err != nil || at >= len(all) {
		return false
	}
	value, is := all[at][m[3]].(string)
	if !is {
		return false
	}
	delete(all[at], m[3])
	i, word, p := item{text: value}, m[3], problemOf(f)
	if list := e.items["="+m[1]+"."+m[3]+"="+value]; len(list) > 0 {
		i = list[0]
	}
	if i.text = value; word == "email" || word == "phone" {
		word = e.labelled(word, i.kind)
	} else {
		word = e.say(word)
	}
	member := m[1]
	for _, l := range lists {
		if l.name == m[1] {
			member = l.member
		}
	}
	e.move(member, word, i, f.Code, i18n.InEach(p.In))
	return true
}

// tidyLists removes the entries of lists that have only a label.
func (e *Entry) tidyLists() {
	for _, l := range lists {
		all, some := e.Body[l.name].([]any)
		if !some {
			continue
		}
		all = slices.DeleteFunc(all, func(one any) bool {
			entry := one.(map[string]any)
			_, labelled := entry["label"]
			return len(entry) == 0 || labelled && len(entry) == 1
		})
		if e.Body[l.name] = all; len(all) == 0 {
			delete(e.Body, l.name)
		}
	}
}

// putAdditional adds the items of a value for a list of additional values. Tables of Kartei have such
// columns, and cards of Kartei such properties. label is the label of the value.
func (e *Entry) putAdditional(i item, label string) {
	if strings.HasSuffix(i.member, "s") {
		e.putRest(i)
		return
	}
	e.turns++
	i.additional, i.turn, i.rank, i.kind = true, e.turns, lastRank, kindOf(label)
	if e.Exact {
		i.kind = strings.TrimSpace(label)
	}
	i.slot = "additional " + i.slot
	i.member = ofAdditional(i.member)
	e.put(i)
}

// lastRank is the rank of additional values. They come after all others, in the order of the file.
const lastRank = -10_000

// ofAdditional returns the member of the first value for the member of an additional one.
func ofAdditional(member string) string {
	member = strings.TrimPrefix(member, "additional")
	return strings.ToLower(member[:1]) + member[1:]
}

// putRest adds the items of a cell with the JSON of a list. A table of Kartei has the rest of a list
// in such a cell. Another text becomes a line of the note.
func (e *Entry) putRest(i item) {
	at := slices.IndexFunc(lists, func(l *list) bool { return l.name == i.member })
	var all []map[string]*string
	if at < 0 || json.Unmarshal([]byte(i.text), &all) != nil {
		i.member = source.Other
		e.put(i)
		return
	}
	l := lists[at]
	for n, one := range all {
		label := ""
		if one["label"] != nil {
			label = *one["label"]
		}
		for _, part := range slices.Sorted(maps.Keys(one)) {
			value := i
			if value.card = true; one[part] == nil || part == "label" {
				continue
			}
			value.text, value.slot = *one[part], fmt.Sprint("rest ", n)
			value.member = strings.TrimSuffix(l.name, "s") // additionalEmail
			if l == &addressList {
				value.member = "additionalAddress." + part
				if !slices.Contains(addressParts, part) {
					value.member = source.Other
				}
			} else if part != l.member {
				value.member = source.Other
			}
			if value.member == source.Other {
				e.put(value)
				continue
			}
			e.putAdditional(value, label)
		}
	}
}

// attributes sets the attributes from JSON objects of texts. Values that fit no attribute go into the
// note.
func (e *Entry) attributes() {
	all := map[string]any{}
	for _, i := range e.has("attributes") {
		var found map[string]string
		if json.Unmarshal([]byte(i.text), &found) != nil {
			e.move("attributes", e.say("attributes"), i, fault.InvalidFormat,
				"These are no attributes. Possible is for example {\"crmStage\":\"won\"}.")
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(found)) {
			line := i
			line.text = found[name]
			switch _, twice := all[name]; {
			case twice && all[name] == found[name]:
			case !attributeName.MatchString(name):
				e.move("attributes", name, line, fault.InvalidFormat, "The format is not valid.")
			case twice:
				e.move("attributes", name, line, noPlace, onlyOne)
			case len([]rune(found[name])) > record.MaxAttribute:
				e.move("attributes", name, line, fault.TooLong, "An attribute has at most 500 characters.")
			case len(all) == record.MaxAttributes:
				e.move("attributes", name, line, fault.TooLong, manyAttributes)
			default:
				all[name] = found[name]
			}
		}
	}
	if len(all) > 0 {
		e.Body["attributes"] = all
	}
}

var (
	// attributeName matches the name of an attribute.
	attributeName  = regexp.MustCompile(pattern.Attribute)
	manyAttributes = i18n.Text("At most 20 attributes are possible.")
)
