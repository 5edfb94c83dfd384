package fault

import (
	"strings"
	"unicode"

	"kartei/kit/i18n"
)

// Deceptive returns an error text if s, a single line such as a name, can look like another text.
// It returns an empty text if s is acceptable.
func Deceptive(s string) i18n.Text {
	switch visible := strings.ContainsFunc(s, visible); {
	case strings.ContainsAny(s, "\u2028\u2029"):
		return twoLines
	case strings.ContainsFunc(s, disguises):
		return disguised
	case !visible && strings.TrimSpace(s) != "": // another check refuses blank texts
		return invisible
	}
	return ""
}

var (
	disguised = i18n.Text("The text contains a character that changes the direction of writing. The text could look like another one.")
	twoLines  = i18n.Text("The text contains a line break. Only one line is allowed here.")
	invisible = i18n.Text("The text consists of invisible characters only.")
)

// disguises reports whether r changes the direction of the following text. For example,
// "Rechnung\u202Efdp.exe" is shown as "Rechnungexe.pdf" (Unicode Technical Report 36, section 2.8).
func disguises(r rune) bool {
	return r >= 0x202A && r <= 0x202E || r >= 0x2066 && r <= 0x2069 || r == 0x200E || r == 0x200F || r == 0x061C
}

// visible reports whether r is a visible character. Characters with the property
// Default_Ignorable_Code_Point (Unicode Standard Annex 44) are invisible. So is the Braille blank,
// which Unicode does not count as a space. Private characters do not count as visible, because
// their look is unknown. Nor do combining characters, because a name needs a base character.
func visible(r rune) bool {
	return !unicode.IsSpace(r) && r != 0x2800 &&
		!unicode.In(r, unicode.Cf, unicode.Co, unicode.Mn, unicode.Variation_Selector,
			unicode.Other_Default_Ignorable_Code_Point, unicode.Zs, unicode.Zl, unicode.Zp)
}
