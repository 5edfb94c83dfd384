package source

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// guess sets the columns of a table by their headings, or by their values if the headings have no
// meaning. A column without a heading and without values is omitted.
func (f *File) guess(headings []string, rows []row) {
	var list []meaning
	list, f.Program = meanings(headings)
	values := map[int][]string{}
	width := len(headings)
	for _, r := range rows {
		for i, cell := range r.cells {
			if cell != "" {
				values[i], width = append(values[i], cell), max(width, i+1)
			}
		}
	}
	taken := map[string]bool{}
	for _, m := range list {
		taken[m.member] = true
	}
	for at := range width {
		c := Column{At: at}
		if at < len(headings) {
			c.Heading, c.Member, c.Slot = headings[at], list[at].member, list[at].slot
		}
		if c.Heading == "" && len(values[at]) == 0 {
			continue
		}
		switch {
		case c.Member == "title" && Fold(c.Heading) == "title" && !taken["jobTitle"] && majorityMatches(values[at], job):
			c.Member = "jobTitle"
		case slices.Contains(bareNumbers, Fold(c.Heading)) && c.Member == "":
			if c.Member = Other; running(values[at]) {
				c.Member = ""
			}
		case c.Member == "":
			switch c.Member = meant(values[at], c.Heading, len(headings) == 0); {
			case !taken[c.Member] || silent(c.Heading):
			case c.Member == "email": // the heading becomes the label
				c.Member, c.Slot = "additionalEmail", c.Heading
			default:
				c.Member = Other // the heading becomes the label of the line in the note
			}
			if c.Member != Other {
				if m := MemberOf(c.Member); taken[c.Member] && !m.Several {
					c.Member = Other
				}
				taken[c.Member] = true
			}
		case c.Member == LeaveOut:
			c.Member = ""
		}
		f.Columns = append(f.Columns, c)
	}
}

// running reports whether the values number the rows.
func running(values []string) bool {
	for i, v := range values {
		if i > 0 {
			before, _ := strconv.Atoi(values[i-1]) // 0 for other texts
			if n, err := strconv.Atoi(strings.TrimSuffix(v, ".")); err != nil || before != 0 && n != before+1 {
				return false
			}
		} else if v = strings.TrimSuffix(v, "."); v != "0" && v != "1" {
			return false
		}
	}
	return true
}

// shapes are patterns of values for some members.
var shapes = []struct {
	member string
	shape  *regexp.Regexp
	// bare says that the pattern counts only in a table without headings.
	bare bool
}{
	{"email", regexp.MustCompile(`^(mailto:)?[^\s@]+@[^\s@]+\.[^\s@]+$`), false},
	{"birthday", regexp.MustCompile(`^(\d{1,2}\.\d{1,2}\.(19|20)\d\d|(19|20)\d\d-\d\d-\d\d)$`), true},
	{"mobile", regexp.MustCompile(`^(\+|00)?(49 ?\(?0?\)?|0) ?\(?1[5-7]\d[\d /().-]{5,}$`), false},
	{"phone", regexp.MustCompile(`^(\+|00?)[1-9( ][\d /().-]{5,25}$`), false},
	{"website", regexp.MustCompile(`^(https?://|www\.)\S+$`), false},
	{"address.place", regexp.MustCompile(`^([A-Z]{1,2}-)?\d{4,5} \p{L}.*$`), false},
	{"address.street", regexp.MustCompile(`^\p{Lu}[\p{L} .-]+ \d{1,4} ?[a-z]?$`), false},
	{"salutation", regexp.MustCompile(`(?i)^(herrn?|frau|mr|mrs|ms|divers)\.?$`), false},
	{"address.postalCode", regexp.MustCompile(`^\d{5}$`), true},
	{"company", regexp.MustCompile(`\b(GmbH|AG|KG|OHG|UG|e\.V\.|mbB|Ltd|Inc|LLC)\b`), true},
	{
		"name",
		regexp.MustCompile(`^\p{Lu}\p{Ll}+ (von |van |de )?\p{Lu}[\p{L}-]+$|^\p{Lu}[\p{L}-]+, \p{Lu}[\p{L} -]+$`),
		true,
	},
}

// job matches a text that is not a title before a name.
var job = regexp.MustCompile(`^(.{12,}|[A-Z]{2,4}|\p{Lu}\p{Ll}{4,})$`)

// noNumber matches texts with the characters of a telephone number that are none: a day, or a file
// number with its year.
var noNumber = regexp.MustCompile(`^(\d{1,2}([./-])\d{1,2}[./-]\d{2,4}|\d{4}-\d\d-\d\d|\d{1,5}/\d\d(-.*)?)$`)

// majorityMatches reports whether at least 80 % of the values match a pattern.
func majorityMatches(values []string, shape *regexp.Regexp) bool {
	n := 0
	for _, v := range values {
		if shape.MatchString(strings.TrimSpace(v)) {
			n++
		}
	}
	return len(values) > 0 && n*10 >= len(values)*8
}

// meant returns the member for values by their patterns, or Other if none is clear. If the heading
// has a meaning, only email and website count as clear.
func meant(values []string, heading string, bare bool) string {
	quiet := silent(heading)
	if !quiet && belongsToOthers(heading) {
		return Other
	}
	for _, s := range shapes {
		switch {
		case s.bare && !bare, !quiet && s.member != "email" && s.member != "website":
		case (s.member == "phone" || s.member == "mobile") && majorityMatches(values, noNumber):
		case majorityMatches(values, s.shape):
			return s.member
		}
	}
	return Other
}
