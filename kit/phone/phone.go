// Package phone owns telephone numbers: which of them a text names, and how they are dialled from everywhere.
//
// People type numbers for the eye: "0221 98765-12/13", "0171 1234567 oder 0221 4711",
// "+49 (0)221 123456 App. 5". Read cuts such a text into its numbers. The rules of the
// countries come from libphonenumber. A number that is not sure is left out, because a
// wrong one rings at somebody else.
package phone

import (
	"slices"
	"strings"
	"unicode"

	"github.com/nyaruka/phonenumbers"

	"kartei/kit/invisible"
)

// Number is a telephone number that can be dialled from everywhere.
type Number struct {
	// E164 is the number with a plus sign and the code of its country.
	E164 string
	// Extension has the digits that a caller dials once the number answers.
	Extension string
}

// URI returns the number as an address (RFC 3966).
func (n Number) URI() string {
	if n.Extension == "" {
		return "tel:" + n.E164
	}
	return "tel:" + n.E164 + ";ext=" + n.Extension
}

// longest is how many bytes of a text are read. The members of records have fewer.
const longest = 250

// Read returns the numbers in a typed text, in their order. country is the code of the
// country in which a number without a country code is (ISO 3166-1).
func Read(typed, country string) (list []Number) {
	known := false // the piece before is the last number of the list
	for _, p := range pieces(Caller(typed)) {
		if known && isExtension(p.before) && isShort(p.text) {
			list[len(list)-1].Extension = digits(p.text)
			known = false
			continue
		}
		var n Number
		if n, known = parse(p.text, country); known && !slices.Contains(list, n) {
			list = append(list, n)
		}
	}
	return list
}

// URI returns the address of the first number in a typed text, or an empty text if none
// is sure.
func URI(typed, country string) string {
	list := Read(typed, country)
	if len(list) == 0 {
		return ""
	}
	return list[0].URI()
}

// Local returns the digits of a text that is one number without an area code: an
// extension, an emergency call, a number of the same place. Other texts give none.
func Local(typed string) string {
	list := pieces(Caller(typed))
	if len(list) == 0 {
		return ""
	}
	number := digits(list[0].text)
	if strings.Contains(list[0].text, "+") || strings.HasPrefix(number, "0") || len(number) > longestLocal {
		return ""
	}
	return number
}

// IsLocal reports whether the digits of a text are what is dialled for a number within its
// own place: all of the number behind its area code.
func IsLocal(text, typed, country string) bool {
	for _, run := range pieces(Caller(typed)) {
		n, err := phonenumbers.Parse(run.text, country)
		if err != nil {
			continue
		}
		national := phonenumbers.GetNationalSignificantNumber(n)
		if area := phonenumbers.GetLengthOfGeographicalAreaCode(n); area > 0 && national[area:] == digits(text) {
			return true
		}
	}
	return false
}

// Where returns the code of the country that a number is from, and whether it is the
// number of a mobile telephone. The code is empty for a number of several countries.
func (n Number) Where() (country string, mobile bool) {
	parsed, err := phonenumbers.Parse(n.E164, "")
	if err != nil {
		return "", false
	}
	country = phonenumbers.GetRegionCodeForNumber(parsed)
	if len(country) != 2 || country == phonenumbers.UNKNOWN_REGION {
		country = ""
	}
	return country, phonenumbers.GetNumberType(parsed) == phonenumbers.MOBILE
}

// Readable returns the number as people write it for others: +49 221 778899.
func (n Number) Readable() string {
	parsed, err := phonenumbers.Parse(n.E164, "")
	if err != nil {
		return n.E164
	}
	return phonenumbers.Format(parsed, phonenumbers.INTERNATIONAL)
}

// longestLocal is how many digits a number without an area code has at most.
const longestLocal = 9

// Caller returns the number in what a telephone system sends: 'sip:+49221778899@pbx.example',
// 'tel:778899;phone-context=+49221', '"Ring" <sip:0221778899@fritz.box>'. Any other text is
// returned without invisible characters.
func Caller(sent string) string {
	text := strings.TrimSpace(invisible.Remove(sent))
	address := text
	if open := strings.LastIndexByte(text, '<'); open >= 0 && strings.HasSuffix(text, ">") {
		address = text[open+1 : len(text)-1]
	}
	scheme, rest, _ := strings.Cut(address, ":")
	switch strings.ToLower(strings.TrimSpace(scheme)) {
	case "sip", "sips":
		rest, _, _ = strings.Cut(rest, "@")
		rest, _, _ = strings.Cut(rest, ":") // a password
	case "tel", "callto":
	default:
		return text
	}
	rest, parameters, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(rest), "//"), ";")
	return inContext(unescape(rest), parameters)
}

// inContext returns a number with the parameters of its address (RFC 3966) that belong to
// it: the area in which it is dialled, and its extension.
func inContext(number, parameters string) string {
	for p := range strings.SplitSeq(parameters, ";") {
		name, value, _ := strings.Cut(p, "=")
		switch strings.ToLower(name) {
		case "phone-context":
			if strings.HasPrefix(value, "+") && !strings.HasPrefix(number, "+") {
				number = value + " " + number
			}
		case "ext":
			number += ";ext=" + value
		}
	}
	return number
}

// unescape resolves the escapes of an address that stand for a plus sign or a blank.
func unescape(s string) string {
	return strings.NewReplacer("%2B", "+", "%2b", "+", "%20", " ", "%23", "#").Replace(s)
}

// piece is a run of digits with what separates their groups, and the text before it.
type piece struct{ before, text string }

// pieces cuts a text into runs of digits.
func pieces(text string) (list []piece) {
	if len(text) > longest {
		return nil
	}
	start, end := -1, 0 // the run under way, and the end of the one before
	flush := func(at int) {
		if start < 0 {
			return
		}
		before := text[end:start]
		for _, run := range alternatives(text[start:at]) {
			list = append(list, piece{before, run})
			before = "/"
		}
		start, end = -1, at
	}
	for i, r := range text {
		switch {
		case r == '+' || r == '＋':
			flush(i)
			start = i
		case unicode.IsDigit(r) || r == '(' && start < 0 && digitFollows(text[i:]):
			if start < 0 {
				start = i
			}
		case start >= 0 && !isSeparator(r):
			flush(i)
		}
	}
	flush(len(text))
	return list
}

// digitFollows reports whether a bracket opens an area code: "(0221) 98765".
func digitFollows(s string) bool {
	rest := strings.TrimLeft(s, "( ")
	return rest != "" && rest[0] >= '0' && rest[0] <= '9'
}

// isSeparator reports whether r may stand between the groups of one number.
func isSeparator(r rune) bool {
	return unicode.IsSpace(r) && r != '\n' || strings.ContainsRune("-‐‑‒–—−－/().·~∕／", r)
}

// alternatives cuts a run of digits that stands for several numbers: "0221 98765-12/13",
// "0221 4711 / 0171 1234567", "0221 98765-12 -13". The first one is whole. The rest is a
// number only if it is one by itself.
func alternatives(run string) []string {
	if digits(run) == "" {
		return nil
	}
	for i := range run {
		if len(digits(run[:i])) >= leastWhole && dividesAt(run, i) {
			return append([]string{strings.TrimRight(run[:i], " -/(")}, alternatives(strings.TrimLeft(run[i:], "/ -("))...)
		}
	}
	return []string{run}
}

// leastWhole is how many digits stand before a sign that divides two numbers. Before
// them it follows an area code.
const leastWhole = 6

// dividesAt reports whether the character run[i] separates two numbers.
func dividesAt(run string, i int) bool {
	switch run[i] {
	case '/':
		return !grouped(run)
	case '-':
		return i > 0 && run[i-1] == ' ' && i+1 < len(run) && run[i+1] != ' ' && strings.Contains(run[:i-1], "-")
	case '(':
		return true
	case ' ':
		return strings.HasPrefix(run[i:], " 00")
	}
	return false
}

// grouped reports whether slashes separate the pairs of digits of one number, as some
// write it in Belgium and France: "0475/12/34/56".
func grouped(run string) bool {
	groups := strings.Split(run, "/")
	return len(groups) > 3 && !slices.ContainsFunc(groups[1:], func(g string) bool { return len(g) != 2 })
}

// parse returns the number that a run of digits is. It is sure if the run says where its
// area code begins, by a country code or the digit before area codes, or if the country
// has numbers without one.
func parse(run, country string) (Number, bool) {
	n, err := phonenumbers.ParseAndKeepRawInput(run, country)
	if err != nil || lacksArea(n, run, country) || !phonenumbers.IsValidNumber(n) && !mayBe(n, run, country) {
		return Number{}, false
	}
	return Number{E164: phonenumbers.Format(n, phonenumbers.E164)}, true
}

// mayBe reports whether a number that the rules of its country do not know may be one: it
// says where its area code begins, and has as many digits as others. A zero behind the
// country code is one that the caller of another country leaves out, or a slip.
func mayBe(n *phonenumbers.PhoneNumber, run, country string) bool {
	return explicit(n, run, country) && !n.GetItalianLeadingZero() &&
		len(phonenumbers.GetNationalSignificantNumber(n)) >= leastNational &&
		phonenumbers.IsPossibleNumberWithReason(n) == phonenumbers.IS_POSSIBLE
}

// leastNational is how many digits a number that the rules do not know has at least behind
// its country code.
const leastNational = 5

// explicit reports whether a number has a country code or the digit before area codes.
func explicit(n *phonenumbers.PhoneNumber, run, country string) bool {
	if n.GetCountryCodeSource() != phonenumbers.PhoneNumber_FROM_DEFAULT_COUNTRY {
		return true
	}
	trunk := phonenumbers.GetNddPrefixForRegion(country, true)
	return trunk != "" && strings.HasPrefix(digits(run), trunk)
}

// lacksArea reports whether a number may be one of the same place: where area codes begin
// with a zero, one without it has none, although it may look like another number.
func lacksArea(n *phonenumbers.PhoneNumber, run, country string) bool {
	trunk := phonenumbers.GetNddPrefixForRegion(country, true)
	return n.GetCountryCodeSource() == phonenumbers.PhoneNumber_FROM_DEFAULT_COUNTRY &&
		strings.HasPrefix(trunk, "0") && !strings.HasPrefix(digits(run), trunk) &&
		!wholeOnly[country]
}

// wholeOnly are countries whose numbers always have all their digits, although the rules
// name a zero that may stand before them.
var wholeOnly = map[string]bool{"LI": true}

// extensions are the words before an extension, in the languages of the offices that we
// know: German, English, French, Italian, Dutch.
var extensions = strings.Fields("ext extn extension x # dw durchwahl durchw app apparat kl klappe nst nbst nebenstelle intern poste interno int toestel tst")

// isExtension reports whether the text before some digits says that they are an extension.
func isExtension(text string) bool {
	word := strings.ToLower(strings.Trim(text, " .:;=,-/()\u00a0"))
	return slices.Contains(extensions, word)
}

// isShort reports whether run may be an extension. RFC 3966 sets no bound. Extensions of
// telephone systems have up to seven digits.
func isShort(run string) bool { return len(digits(run)) <= 7 && !strings.Contains(run, "+") }

func digits(s string) string { return phonenumbers.NormalizeDigitsOnly(s) }
