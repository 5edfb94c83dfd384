// Package pattern owns the regular expressions of the OpenAPI documents.
package pattern

import "strings"

// These patterns mean the same to RE2, ECMA 262 and Python, and they need no backtracking. A text
// begins with any number of spaces. A visible character and any characters except control
// characters follow.
const (
	// Spaces are the white space characters of Unicode within a line. It is a part of a character
	// class.
	Spaces  = " \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
	control = `\x00-\x1f\x7f-\x9f`
	// ControlInText are the control characters that are not allowed in texts of several lines.
	// Newline, carriage return and tab are allowed. It is a part of a character class.
	ControlInText = `\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f`

	// Line is for one line with at least one visible character. Text is for one or more lines.
	Line = "^[" + Spaces + "]*[^" + control + Spaces + "][^" + control + "]*$"
	Text = `^[\t\n\r` + Spaces + `]*[^` + control + Spaces + `][^` + ControlInText + `]*$`

	// Parameter is for query parameters. It excludes control characters.
	Parameter = "^[^" + control + "]*$"

	// Target is for the part of a URL after its host, without a fragment.
	Target = `^/[^\x00-\x20\x7f#]*$`

	// Web is the beginning of the patterns for addresses that a browser opens.
	Web = "^https?://"

	// Website is for web addresses without credentials, with the characters of RFC 3986.
	Website = Web + `[0-9A-Za-z]([0-9A-Za-z.-]{0,252}[0-9A-Za-z])?(:[0-9]{1,5})?([/?#](%[0-9A-Fa-f]{2}|[!#$&-;=?-Z\[\]_a-z~])*)?$`

	// Language is for BCP 47 tags. Version is for versions of the API.
	Language = `^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$`
	Version  = `^[0-9]{4}-[0-9]{2}-[0-9]{2}$`

	// Attribute is for the names of attributes.
	Attribute = `^[A-Za-z][A-Za-z0-9_-]{0,39}$`

	// Hex is for bytes in hexadecimal digits.
	Hex = `^[0-9A-Fa-f]*$`

	// IDShape is the end of the pattern for an id. A prefix such as con or (usr|svc) comes before
	// it.
	IDShape = `_[0-7][0-9a-hjkmnp-tv-z]{25}$`
)

// Prefixes returns the prefixes in a pattern that ID made, each with its underscore. For any other
// pattern it returns nil.
func Prefixes(idPattern string) []string {
	names, is := strings.CutSuffix(idPattern, IDShape)
	if !is {
		return nil
	}
	prefixes := strings.Split(strings.Trim(names, "^()"), "|")
	for i := range prefixes {
		prefixes[i] += "_"
	}
	return prefixes
}

// ID returns the pattern for an id with one of the prefixes. Each prefix ends with an underscore.
func ID(prefixes ...string) string {
	names := make([]string, len(prefixes))
	for i, p := range prefixes {
		names[i] = strings.TrimSuffix(p, "_")
	}
	if len(names) == 1 {
		return "^" + names[0] + IDShape
	}
	return "^(" + strings.Join(names, "|") + ")" + IDShape
}
