package source

import (
	_ "embed"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// If no dialect contains a heading, its words decide: Tel. gesch., Mandant (Nachname). If one of
// the words is unknown, no member gets the values of the column.

// headingWord is the meaning of a word in a heading: a member, a kind of value, or neither.
type headingWord struct{ member, slot string }

// headingTable is the list of words with their meanings.
//
//go:embed headings.txt
var headingTable string

// headingWords maps words to their meanings. others are words in headings of values that belong to
// another person or to the program.
var headingWords, others = func() (all map[string]headingWord, others []string) {
	all = map[string]headingWord{}
	for line := range strings.Lines(headingTable) {
		of, words, _ := strings.Cut(line, ":")
		kind, isKind := strings.CutPrefix(of, "=")
		for word := range strings.FieldsSeq(words) {
			switch {
			case strings.HasPrefix(line, "#"):
			case of == "!":
				others = append(others, word)
			case of == "-":
				all[word] = headingWord{}
			case isKind:
				all[word] = headingWord{slot: kind}
			default:
				all[word] = headingWord{member: of}
			}
		}
	}
	return all, others
}()

// reachable are the members that can have several kinds of values.
var reachable = []string{"phone", "mobile", "fax", "email", "website"}

// mail matches spellings of email.
var mail = regexp.MustCompile(`(?i)\be[- ]?mails?`)

// wordsOf returns the words and numbers of a heading, in lower case and without umlauts.
func wordsOf(heading string) []string {
	heading = mail.ReplaceAllString(heading, "email")
	var b strings.Builder
	var before rune
	for _, r := range norm.NFC.String(heading) {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			b.WriteRune(' ')
		case unicode.IsUpper(r) && unicode.IsLower(before), unicode.IsLetter(before) &&
			unicode.IsDigit(r), unicode.IsDigit(before) && unicode.IsLetter(r):
			b.WriteRune(' ')
			b.WriteRune(r)
		default:
			b.WriteRune(r)
		}
		before = r
	}
	return strings.Fields(umlauts.Replace(strings.ToLower(b.String())))
}

// byWords returns the meaning of a heading by its words. known is false if a word is unknown.
func byWords(heading string) (m meaning, known bool) {
	var members, kinds []string
	words, number := wordsOf(heading), ""
	for _, word := range words {
		w, known := headingWords[word]
		switch {
		case known && w.member != "":
			members = append(members, w.member)
		case known && w.slot != "":
			kinds = append(kinds, w.slot)
		case known:
		case len(word) <= 2 && strings.Trim(word, "0123456789") == "":
			number = word
		case len(members) > 0 && slices.Contains(reachable, members[0]) && (word == "d" || word == "g"): // Telefon d.
			kinds = append(kinds, "work")
		case len(members) > 0 && slices.Contains(reachable, members[0]) && word == "p":
			kinds = append(kinds, "home")
		default:
			return m, false
		}
	}
	m.member = oneOf(members)
	switch {
	case m.member == "phone" && slices.Contains(kinds, "direct"), m.member == "" &&
		slices.Equal(kinds, []string{"direct"}):
		return meaning{"phone", "direct"}, true
	case m.member == "":
		return m, false
	case m.member == "lastName" && slices.Contains(members, "company"): // Nachname/Firma
		m.slot = Name1
	case len(kinds) > 0 && (slices.Contains(reachable, m.member) || strings.HasPrefix(m.member, "address.")):
		m.slot = kinds[0]
	case m.member == "phone" && slices.Contains(members, "company"):
		m.slot = "company"
	case slices.Contains(reachable, m.member):
		m.slot = number
	}
	if m.member == "name" && len(members) > 1 && members[0] != "firstName" && members[0] != "company" &&
		slices.Contains(members, "firstName") {
		m.slot = LastFirst
	}
	return m, true
}

// Slots of names.
const (
	// LastFirst is the slot of a whole name that begins with the last name.
	LastFirst = "last first"
	// Name1 is the slot of a column Name 1: a last name, or the whole name of a person or a
	// company. Name2 is the slot of a column Name 2, with the rest of the name.
	Name1 = "name 1"
	Name2 = "name 2"
	// Nobility and Prefix are slots of words before a last name.
	Nobility = "nobility"
	Prefix   = "prefix"
	// CountryCode is the slot of a separate column with the country code of a VAT id.
	CountryCode = "country"
)

// oneOf returns the single member that several words of a heading mean together, or an empty
// string.
func oneOf(members []string) string {
	has := func(names ...string) bool {
		return !slices.ContainsFunc(names, func(n string) bool { return !slices.Contains(members, n) })
	}
	distinct := slices.Compact(slices.Sorted(slices.Values(members)))
	if len(distinct) > 1 { // E-Mail-Adresse
		distinct = slices.DeleteFunc(distinct, func(m string) bool { return m == "address.whole" })
	}
	switch {
	case len(distinct) == 1:
		return distinct[0]
	case len(distinct) > 3:
		return ""
	case has("birthday", "name"), has("birthday", "address.city"), has("birthday", "address.country"):
		// name or place of birth
		return Other
	case has("fax") && len(distinct) == 2 && (has("phone") || has("mobile")): // Telefon/Fax
		return members[0]
	case has("phone", "mobile") && len(distinct) == 2: // Tel. mobil
		return "mobile"
	case has("address.street", "address.houseNumber") && len(distinct) == 2:
		return "address.street"
	case has("address.postalCode", "address.city") && len(distinct) == 2:
		return "address.place"
	case has("lastName", "name") && len(distinct) == 2, has("lastName", "company") && len(distinct) == 2:
		return "lastName"
	case has("firstName") && (has("lastName") || has("name")):
		return "name"
	case has("name", "company") && len(distinct) == 2:
		return "name"
	case has("company", "phone") && len(distinct) == 2, has("company", "email") &&
		len(distinct) == 2, has("company", "fax") && len(distinct) == 2:
		return distinct[1]
	}
	return ""
}

// silent reports whether a heading has no meaning: it is empty, a letter, or a placeholder of a
// program.
func silent(heading string) bool {
	words := wordsOf(heading)
	if len(words) == 1 && len([]rune(words[0])) < 2 {
		return true
	}
	return !slices.ContainsFunc(words, func(w string) bool {
		return strings.Trim(w, "0123456789") != "" &&
			!slices.Contains(strings.Fields("spalte column feld field f col c unnamed unbenannt wert value x"), w)
	})
}

// belongsToOthers reports whether a heading is about another person.
func belongsToOthers(heading string) bool {
	return slices.ContainsFunc(wordsOf(heading), func(w string) bool { return slices.Contains(others, w) })
}
