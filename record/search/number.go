package search

import "strings"

// A telephone number is indexed in its national form without the leading zero: '+49 (0)30
// 1234567', '0049 30 1234567' and '030/1234567' all become '301234567'. The country code is left
// out, because people rarely type it.

const (
	maxDigits = 20 // E.164 has 15 digits, and some people write a prefix before them
	// minDigits is the minimum number of digits in a telephone number without spaces. A shorter
	// number may be a postal code, for example.
	minDigits = 7
)

// number returns the national form of the telephone number at the beginning of s, and its length
// in bytes. The length is 0 if there is no number. The form is empty if the number has only a
// country code. A telephone number begins with '+' or '0'. If it begins with '0', it also has two
// groups of digits or at least minDigits digits.
func number(s string) (national string, n int) {
	if s == "" || s[0] != '+' && s[0] != '0' {
		return "", 0
	}
	plus := s[0] == '+'
	if plus {
		s = s[1:]
	}
	digits, groups, n := digitGroups(s, plus || isDotted(s))
	if plus {
		n++
	}
	if groups == 0 || !plus && groups == 1 && len(digits) < minDigits {
		return "", 0
	}
	return nationalForm(digits, plus), n
}

// firstNumber returns the national form of the first telephone number in a text, and its place.
// The form is "" if the text has no digits. The first digits count as a number even after a
// letter or without a leading zero.
func firstNumber(folded string) (national string, at Span) {
	start := strings.IndexAny(folded, "+0123456789")
	if start < 0 {
		return "", at
	}
	national, n := number(folded[start:])
	if n == 0 {
		national, _, n = digitGroups(folded[start:], true)
	}
	return national, Span{start, start + n}
}

// CountryOf returns the country code of the first telephone number in a text. It is "" if the
// number does not begin with a plus sign or two zeros.
func CountryOf(text string) string {
	text = fold(text)
	_, at := firstNumber(text)
	written := text[at[0]:at[1]]
	digits := digitsOf(written)
	switch {
	case strings.HasPrefix(written, "+"):
	case strings.HasPrefix(digits, "00") && len(digits) >= minDigits:
		digits = digits[2:]
	default:
		return ""
	}
	return digits[:min(countryCode(digits), len(digits))]
}

// isDotted reports whether dots separate the groups of a telephone number that begins with '0'.
// '01.02.2024' is a date and '0.5' a fraction, but '01.23.45.67.89' is a telephone number in
// France.
func isDotted(s string) bool {
	rest := strings.TrimLeft(s, "0123456789")
	switch first := s[:len(s)-len(rest)]; {
	case len(first) == 1:
		return false
	case len(first) == 2:
		run := s[:len(s)-len(strings.TrimLeft(s, "0123456789."))]
		return strings.Count(strings.TrimRight(run, "."), ".") >= 3
	}
	return true
}

// digitGroups reads groups of digits with at most three separators between them, up to maxDigits.
// It returns all digits, the number of groups, and the number of bytes read. If dots is true, a
// dot is a separator. A group immediately before a letter does not count.
func digitGroups(s string, dots bool) (digits string, groups, n int) {
	var all strings.Builder
	for i := 0; i < len(s); {
		start := i
		for i < len(s) && isDigit(s[i]) {
			i++
		}
		if i == start || all.Len()+i-start > maxDigits || i < len(s) && !isGap(s[i]) && !isNumberGap(s[i]) && !isStop(s[i]) {
			break
		}
		all.WriteString(s[start:i])
		groups++
		n = i
		for i < len(s) && i < n+3 && (isNumberGap(s[i]) || dots && s[i] == '.') {
			i++
		}
	}
	return all.String(), groups, n
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// isNumberGap reports whether c may separate the groups of a telephone number.
func isNumberGap(c byte) bool {
	return c == ' ' || c == '-' || c == '/' || c == '(' || c == ')'
}

// isStop reports whether c may follow a telephone number at the end of a sentence.
func isStop(c byte) bool { return c == '.' || c == '!' || c == '?' }

// nationalForm returns the digits without the international prefix, the country code and leading
// zeros. plus says that a plus sign precedes the digits.
func nationalForm(digits string, plus bool) string {
	if !plus && len(digits) >= minDigits && strings.HasPrefix(digits, "00") {
		digits, plus = digits[2:], true
	}
	if plus {
		digits = digits[min(countryCode(digits), len(digits)):]
	}
	return strings.TrimLeft(digits, "0")
}

// countryCode returns the length of the country code at the beginning of digits (ITU-T E.164). It
// is one for 1 and 7, two for the codes in the list, and three for all others.
func countryCode(digits string) int {
	const two = "20 27 30 31 32 33 34 36 39 40 41 43 44 45 46 47 48 49 51 52 53 54 55 56 57 58 " +
		"60 61 62 63 64 65 66 81 82 84 86 90 91 92 93 94 95 98"
	switch {
	case digits == "":
		return 0
	case digits[0] == '1' || digits[0] == '7':
		return 1
	case len(digits) < 2 || strings.Contains(two, digits[:2]):
		return 2
	}
	return 3
}

// plainNumber returns a word of digits without leading zeros, and any other word unchanged. So a
// typed area code is a prefix of the indexed number.
func plainNumber(word string) string {
	if word[0] != '0' || !isDigits(word) {
		return word
	}
	if plain := strings.TrimLeft(word, "0"); plain != "" {
		return plain
	}
	return "0"
}

// leastLocal is the minimum number of digits by which the end of a number is found. Fewer digits
// may be a year or a house number.
const leastLocal = 5

// backwards returns a word for the search by the end of a number. Its digits are in reverse
// order, so the end of the number is a prefix of the word. For example, '221778899' has the word
// '#998877122'.
func backwards(national string) string {
	b := make([]byte, 0, len(national)+1)
	b = append(b, '#')
	for i := len(national) - 1; i >= 0; i-- {
		b = append(b, national[i])
	}
	return string(b)
}

func isDigits(word string) bool {
	for i := range len(word) {
		if !isDigit(word[i]) {
			return false
		}
	}
	return true
}
