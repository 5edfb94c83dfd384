package say

import "strings"

// plan is how a country writes its telephone numbers.
type plan struct {
	// code is that of the country.
	code string
	// trunk begins a number with an area code, and is left out behind code. A country
	// without one has no short form: each number has all its digits.
	trunk string
}

// plans are those of countries in which offices may be. Elsewhere a number without a
// country code is dialled as it is written.
var plans = map[string]plan{
	"DE": {"49", "0"}, "AT": {"43", "0"}, "CH": {"41", "0"}, "BE": {"32", "0"}, "NL": {"31", "0"}, "FR": {"33", "0"}, "GB": {"44", "0"},
	"IE": {"353", "0"}, "SE": {"46", "0"}, "FI": {"358", "0"}, "HR": {"385", "0"}, "SI": {"386", "0"}, "SK": {"421", "0"}, "AU": {"61", "0"},
	"HU": {"36", "06"}, "US": {"1", "1"}, "CA": {"1", "1"},
	"LI": {"423", ""}, "LU": {"352", ""}, "MC": {"377", ""}, "DK": {"45", ""}, "NO": {"47", ""}, "PL": {"48", ""}, "CZ": {"420", ""}, "PT": {"351", ""},
	"IT": {"39", ""}, "ES": {"34", ""},
}

// wholeNumber is the least number of digits of a number in a country without trunk
// codes. Shorter ones are extensions and emergency calls.
const wholeNumber = 7

// Telephone returns the number that a telephone dials for what somebody typed: in
// the form of E.164 if it has an area code, and as it is if it has none. It is empty
// for a text without digits.
//
// Only the first number of a text counts: "0221 98 76 oder 0228 4411".
func (w Words) Telephone(typed string) string {
	number, international := "", strings.ContainsAny(typed, "+")
	if international || strings.HasPrefix(strings.TrimSpace(typed), "00") {
		typed = strings.Replace(typed, "(0)", "", 1)
	}
	for _, r := range typed {
		switch {
		case r >= '0' && r <= '9':
			number += string(r)
		case r == '+' && number == "":
			number = "+"
		case number != "" && number != "+" && !strings.ContainsRune(" -–/().\u00a0\u2011", r):
			return w.dialled(number)
		}
	}
	return w.dialled(number)
}

// dialled returns the digits of a number with the code of its country.
func (w Words) dialled(digits string) string {
	home, known := plans[w.home()]
	rest, long := strings.CutPrefix(digits, home.trunk)
	switch {
	case digits == "+":
		return ""
	case strings.HasPrefix(digits, "+"):
		return digits
	case strings.HasPrefix(digits, "00"):
		return "+" + digits[2:]
	case !known:
		return digits
	case strings.HasPrefix(home.trunk, "0") && long && rest != "", !strings.HasPrefix(home.trunk, "0") && len(rest) >= wholeNumber:
		return "+" + home.code + rest
	}
	return digits
}
