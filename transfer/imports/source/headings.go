package source

import (
	_ "embed"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Headings are read by their words where no dialect has the whole of them: Tel. gesch.,
// Mandant (Nachname). A heading with a word that is not here says something else, so that
// no member takes its values.

// headingWord is what a word of a heading means: a member, what kind of value it is, or
// nothing of its own.
type headingWord struct{ member, slot string }

// headingTable has the words of headings with their meanings.
//
//go:embed headings.txt
var headingTable string

// headingWords are the words with a meaning, and others those whose values belong to somebody
// else, or to the program.
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

// reachable are the members that have several kinds of values.
var reachable = []string{"phone", "mobile", "fax", "email", "website"}

// mail matches how people write email.
var mail = regexp.MustCompile(`(?i)\be[- ]?mails?`)

// wordsOf returns the words and numbers of a heading, in small letters without umlauts.
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

// byWords returns what a heading means by its words.
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

// The slots of names.
const (
	// LastFirst is a whole name whose last name comes first.
	LastFirst = "last first"
	// Name1 is Name 1: a last name, or the whole name of a person or a company, and
	// Name2 is Name 2: what belongs to it.
	Name1 = "name 1"
	Name2 = "name 2"
	// Nobility and Prefix stand before a last name.
	Nobility = "nobility"
	Prefix   = "prefix"
	// CountryCode is the country of a VAT id in a column of its own.
	CountryCode = "country"
)

// oneOf returns the member that several words of a heading mean together.
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
		// the name, the place
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

// silent reports whether a heading says nothing of its values: it is empty, a letter, or
// what a program writes where there was none.
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

// belongsToOthers reports whether a heading names somebody else.
func belongsToOthers(heading string) bool {
	return slices.ContainsFunc(wordsOf(heading), func(w string) bool { return slices.Contains(others, w) })
}
