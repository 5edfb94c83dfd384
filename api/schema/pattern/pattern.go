// Package pattern owns the regular expressions of the OpenAPI documents.
package pattern

import "strings"

// The patterns mean the same to RE2, ECMA 262 and Python, and none backtracks.
// A text is spaces, then a visible character, then any characters except
// control characters.
const (
	// Spaces are the white space characters of Unicode within a line, for a
	// character class.
	Spaces  = " \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
	control = `\x00-\x1f\x7f-\x9f`
	// ControlInText is the control characters except newline (also as CR LF)
	// and tab, for texts of several lines.
	ControlInText = `\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f`

	// Line is one line with at least one visible character. Text may have
	// several lines.
	Line = "^[" + Spaces + "]*[^" + control + Spaces + "][^" + control + "]*$"
	Text = `^[\t\n\r` + Spaces + `]*[^` + control + Spaces + `][^` + ControlInText + `]*$`

	// Parameter excludes the characters that no parameter may contain.
	Parameter = "^[^" + control + "]*$"

	// Target is the part of a URL after its host, without a fragment.
	Target = `^/[^\x00-\x20\x7f#]*$`

	// Web is the start of the patterns of addresses that a browser opens.
	Web = "^https?://"

	// Language is the form of a BCP 47 tag, Version the form of an API version.
	Language = `^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$`
	Version  = `^[0-9]{4}-[0-9]{2}-[0-9]{2}$`

	// Hex is bytes in hexadecimal digits.
	Hex = `^[0-9A-Fa-f]*$`

	// IDShape is the pattern of an id after its prefix, such as con_ or
	// (usr|svc)_.
	IDShape = `_[0-7][0-9a-hjkmnp-tv-z]{25}$`
)

// Prefixes returns the prefixes in a pattern that ID returned, each with its
// underscore. It returns nil for any other pattern.
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
