package duplicate

import (
	"slices"
	"strings"

	"kartei/kit/phone"
	"kartei/record/search"
)

// number is a telephone number.
type number struct {
	// country is the country code, or empty if it is not known.
	country string
	// national has the digits after the country code, without leading zeros.
	national string
}

// same reports whether two numbers may be the same.
func (n number) same(o number) bool {
	return n.national == o.national && (n.country == "" || o.country == "" || n.country == o.country)
}

// mobiles are the first digits of mobile numbers by country code. A number without a code counts as a
// German one.
var mobiles = map[string][]string{
	"": {"15", "16", "17"}, "49": {"15", "16", "17"}, "43": {"65", "66", "67", "68", "69"},
	"41": {"75", "76", "77", "78", "79"}, "31": {"6"}, "32": {"4"}, "33": {"6", "7"}, "34": {"6", "7"}, "39": {"3"},
	"44": {"7"}, "48": {"5", "6", "7", "8"}, "352": {"6"},
}

// isMobile reports whether the number belongs to one person, as most mobile numbers do.
func (n number) isMobile() bool {
	return slices.ContainsFunc(mobiles[n.country], func(first string) bool {
		return strings.HasPrefix(n.national, first)
	})
}

// codes are the country codes of the countries whose numbers people write with a zero before them.
var codes = map[string]string{"DE": "49", "AT": "43", "CH": "41"}

// addNumber adds the numbers in a typed text. country is for numbers without a country code. Most
// texts are one plain number, and the rules of libphonenumber would take most of the time of a
// comparison.
func (s *Subject) addNumber(typed, country string) {
	if isPlain(typed) {
		code := search.CountryOf(typed)
		if code == "" && strings.HasPrefix(strings.TrimLeft(typed, " ("), "0") {
			code = codes[country]
		}
		s.appendNumber(number{code, search.NumberKey(typed)})
		return
	}
	read := phone.Read(typed, country)
	for _, n := range read {
		s.appendNumber(number{search.CountryOf(n.E164), search.NumberKey(n.E164)})
	}
	if len(read) == 0 {
		s.appendNumber(number{search.CountryOf(typed), search.NumberKey(typed)})
	}
}

// isPlain reports whether a text is one number. A slash behind an area code belongs to the number, and
// another slash may begin a second one.
func isPlain(typed string) bool {
	if strings.Trim(typed, "0123456789 +-()/") != "" || digitsIn(typed) > longest {
		return false
	}
	before, rest, found := strings.Cut(typed, "/")
	return !found || !strings.Contains(rest, "/") && digitsIn(before) <= longestArea
}

const (
	// longest is the maximum number of digits of a telephone number, with the digits before the country
	// code and a zero after it.
	longest = 18
	// longestArea is the maximum number of digits of an area code with its country code: +49 (0)221.
	longestArea = 6
)

// digitsIn returns the number of digits in a text.
func digitsIn(text string) (n int) {
	for i := range len(text) {
		if text[i] >= '0' && text[i] <= '9' {
			n++
		}
	}
	return n
}

// leastNumber is the minimum number of digits of a telephone number that identifies. Fewer are an
// extension or the beginning of a number.
const leastNumber = 6

func (s *Subject) appendNumber(n number) {
	if len(n.national) >= leastNumber && !slices.ContainsFunc(s.numbers, n.same) {
		s.numbers = append(s.numbers, n)
	}
}
