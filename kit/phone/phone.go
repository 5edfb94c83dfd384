// Package phone owns the parsing of telephone numbers in typed texts, and their international form.
//
// People type numbers for other people: "0221 98765-12/13", "0171 1234567 oder 0221 4711", "+49
// (0)221 123456 App. 5". Read finds the numbers in such a text, by the rules of libphonenumber for
// each country. It leaves out a number that is not certain, because a call to a wrong number reaches
// somebody else.
package phone

import (
	"slices"
	"strings"
	"unicode"

	"github.com/nyaruka/phonenumbers"

	"kartei/kit/invisible"
)

// Number is a telephone number in international form.
type Number struct {
	// E164 is the number with a plus sign and the country code.
	E164 string
	// Extension has the digits of an extension, which a caller dials after the call is answered. It
	// is empty without an extension.
	Extension string
}

// URI returns the number as a tel URI (RFC 3966).
func (n Number) URI() string {
	if n.Extension == "" {
		return "tel:" + n.E164
	}
	return "tel:" + n.E164 + ";ext=" + n.Extension
}

// longest is the maximum length of a text in bytes. Longer texts have no numbers. Fields for
// telephone numbers are shorter.
const longest = 250

// Read returns the numbers in a typed text, in their order and without duplicates. country is the
// ISO 3166-1 code of the country for numbers without a country code.
func Read(typed, country string) (list []Number) {
	known := false // says that the piece before is the last number of the list
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

// URI returns the tel URI of the first certain number in a typed text. It is empty if there is
// none.
func URI(typed, country string) string {
	list := Read(typed, country)
	if len(list) == 0 {
		return ""
	}
	return list[0].URI()
}

// Local returns the digits of a text that begins with a number without an area code: an extension,
// an emergency call or a local number. It is empty for other texts.
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

// IsLocal reports whether a number in typed has an area code and the digits of text after it. So
// text is how people dial this number from the same place.
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

// Where returns the ISO 3166-1 code of the number's country, and whether the number belongs to a
// mobile telephone. The code is empty for numbers that are not for one country.
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

// Readable returns the number in the usual form for people, such as +49 221 778899.
func (n Number) Readable() string {
	parsed, err := phonenumbers.Parse(n.E164, "")
	if err != nil {
		return n.E164
	}
	return phonenumbers.Format(parsed, phonenumbers.INTERNATIONAL)
}

// longestLocal is the maximum number of digits of a number without an area code.
const longestLocal = 9

// Caller returns the number in the caller address of a telephone system:
// 'sip:+49221778899@pbx.example', 'tel:778899;phone-context=+49221', or '"Ring"
// <sip:0221778899@fritz.box>'. For any other text it returns the text without invisible characters.
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
		rest, _, _ = strings.Cut(rest, ":") // drops a password
	case "tel", "callto":
	default:
		return text
	}
	rest, parameters, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(rest), "//"), ";")
	return inContext(unescape(rest), parameters)
}

// inContext returns a number with the parameters of its tel URI (RFC 3966) that complete it: the
// prefix of phone-context, and the extension.
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

// unescape decodes the percent-encoded characters that occur in telephone numbers: plus sign, space
// and number sign.
func unescape(s string) string {
	return strings.NewReplacer("%2B", "+", "%2b", "+", "%20", " ", "%23", "#").Replace(s)
}

// piece is a run of digits and separators that may be a number. before is the text between the run
// and the run before.
type piece struct{ before, text string }

// pieces splits a text into runs of digits and separators. It returns none for a text of more than
// longest bytes.
func pieces(text string) (list []piece) {
	if len(text) > longest {
		return nil
	}
	start, end := -1, 0 // start of the current run, or -1; end of the run before
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

// digitFollows reports whether the bracket at the start of s opens an area code, as in "(0221)
// 98765".
func digitFollows(s string) bool {
	rest := strings.TrimLeft(s, "( ")
	return rest != "" && rest[0] >= '0' && rest[0] <= '9'
}

// isSeparator reports whether r may separate the groups of digits in one number.
func isSeparator(r rune) bool {
	return unicode.IsSpace(r) && r != '\n' || strings.ContainsRune("-‐‑‒–—−－/().·~∕／", r)
}

// alternatives splits a run that has several numbers: "0221 98765-12/13", "0221 4711 / 0171
// 1234567", "0221 98765-12 -13". The first result is a complete number. The others may be
// incomplete, such as the 13, and parse decides.
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

// leastWhole is the minimum number of digits before a character that separates two numbers. With
// fewer digits, the character follows an area code.
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

// grouped reports whether slashes separate pairs of digits within one number. Some people in
// Belgium and France write numbers so: "0475/12/34/56".
func grouped(run string) bool {
	groups := strings.Split(run, "/")
	return len(groups) > 3 && !slices.ContainsFunc(groups[1:], func(g string) bool { return len(g) != 2 })
}

// parse returns the number of a run. It returns false unless the number is certain. For this, the
// run must begin with a country code or the trunk prefix before area codes, or its country must
// have numbers without area codes.
func parse(run, country string) (Number, bool) {
	n, err := phonenumbers.ParseAndKeepRawInput(run, country)
	if err != nil || lacksArea(n, run, country) || !phonenumbers.IsValidNumber(n) && !mayBe(n, run, country) {
		return Number{}, false
	}
	return Number{E164: phonenumbers.Format(n, phonenumbers.E164)}, true
}

// mayBe reports whether a number outside the rules of its country may exist. The run must show
// where its area code begins, and the number must have a possible length. A zero after the country
// code makes the number uncertain: it is either the trunk prefix or a typing error.
func mayBe(n *phonenumbers.PhoneNumber, run, country string) bool {
	return explicit(n, run, country) && !n.GetItalianLeadingZero() &&
		len(phonenumbers.GetNationalSignificantNumber(n)) >= leastNational &&
		phonenumbers.IsPossibleNumberWithReason(n) == phonenumbers.IS_POSSIBLE
}

// leastNational is the minimum number of digits after the country code, for a number outside the
// rules of its country.
const leastNational = 5

// explicit reports whether a number has a country code or begins with the trunk prefix.
func explicit(n *phonenumbers.PhoneNumber, run, country string) bool {
	if n.GetCountryCodeSource() != phonenumbers.PhoneNumber_FROM_DEFAULT_COUNTRY {
		return true
	}
	trunk := phonenumbers.GetNddPrefixForRegion(country, true)
	return trunk != "" && strings.HasPrefix(digits(run), trunk)
}

// lacksArea reports whether a number may be a local number without an area code. In countries whose
// area codes begin with a zero, a number without the zero has no area code. It may still look like
// another complete number.
func lacksArea(n *phonenumbers.PhoneNumber, run, country string) bool {
	trunk := phonenumbers.GetNddPrefixForRegion(country, true)
	return n.GetCountryCodeSource() == phonenumbers.PhoneNumber_FROM_DEFAULT_COUNTRY &&
		strings.HasPrefix(trunk, "0") && !strings.HasPrefix(digits(run), trunk) &&
		!wholeOnly[country]
}

// wholeOnly has the countries without area codes, although the rules of libphonenumber have a zero
// as their trunk prefix.
var wholeOnly = map[string]bool{"LI": true}

// extensions are the words before an extension, in German, English, French, Italian and Dutch.
var extensions = strings.Fields("ext extn extension x # dw durchwahl durchw app apparat kl klappe nst nbst nebenstelle intern poste interno int toestel tst")

// isExtension reports whether text, which stands before some digits, marks them as an extension.
func isExtension(text string) bool {
	word := strings.ToLower(strings.Trim(text, " .:;=,-/()\u00a0"))
	return slices.Contains(extensions, word)
}

// isShort reports whether run may be an extension. RFC 3966 sets no limit, but extensions of
// telephone systems have up to seven digits.
func isShort(run string) bool { return len(digits(run)) <= 7 && !strings.Contains(run, "+") }

func digits(s string) string { return phonenumbers.NormalizeDigitsOnly(s) }
