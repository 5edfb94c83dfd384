// Package pattern owns the regular expressions of the OpenAPI documents.
package pattern

import "strings"

// The patterns mean the same to RE2, ECMA 262 and Python, and none backtracks:
// spaces, then something visible, then anything but control characters.
const (
	// Spaces are the white space of Unicode within a line, for a character class.
	Spaces  = " \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
	control = `\x00-\x1f\x7f-\x9f`
	// ControlInText leaves newline (also as CR LF) and tab out of the control
	// characters, for texts of several lines.
	ControlInText = `\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f`

	// Line is one line with something visible in it, Text is several.
	Line = "^[" + Spaces + "]*[^" + control + Spaces + "][^" + control + "]*$"
	Text = `^[\t\n\r` + Spaces + `]*[^` + control + Spaces + `][^` + ControlInText + `]*$`

	// Parameter only says what no parameter may hold.
	Parameter = "^[^" + control + "]*$"

	// Target is what a URL may have behind its host, but for a fragment.
	Target = `^/[^\x00-\x20\x7f#]*$`

	// Web begins the patterns of addresses that a browser opens.
	Web = "^https?://"

	// Language is the form of a BCP 47 tag, Version that of an API version.
	Language = `^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$`
	Version  = `^[0-9]{4}-[0-9]{2}-[0-9]{2}$`

	// Hex is bytes in hexadecimal digits.
	Hex = `^[0-9A-Fa-f]*$`

	// IDShape follows a prefix such as con_ or (usr|svc)_.
	IDShape = `_[0-7][0-9a-hjkmnp-tv-z]{25}$`
)

// Prefixes returns those of a pattern that ID returned, each with its
// underscore, or nil for any other pattern.
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

// ID returns the pattern of an id with one of the prefixes, each with its
// underscore.
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
