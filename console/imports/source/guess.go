package source

import (
	"regexp"
	"strings"
)

// guess sets the columns of a table: by its headings, and by its values where these are
// silent. A column without a heading and without a value does not count.
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
		case c.Member == "title" && Fold(c.Heading) == "title" && !taken["jobTitle"] && most(values[at], job):
			c.Member = "jobTitle"
		case c.Member == "":
			if c.Member = meant(values[at], len(headings) == 0); c.Member != Other {
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

// shapes are what values of some members look like.
var shapes = []struct {
	member string
	shape  *regexp.Regexp
	// bare says that it counts only in a table without headings.
	bare bool
}{
	{"email", regexp.MustCompile(`^(mailto:)?[^\s@]+@[^\s@]+\.[^\s@]+$`), false},
	{"mobile", regexp.MustCompile(`^(\+|00)?(49 ?\(?0?\)?|0) ?\(?1[5-7]\d[\d /().-]{5,}$`), false},
	{"phone", regexp.MustCompile(`^(\+|00?)[1-9( ][\d /().-]{5,25}$`), false},
	{"website", regexp.MustCompile(`^(https?://|www\.)\S+$`), false},
	{"address.place", regexp.MustCompile(`^([A-Z]{1,2}-)?\d{4,5} \p{L}.*$`), false},
	{"address.street", regexp.MustCompile(`^\p{Lu}[\p{L} .-]+ \d{1,4} ?[a-z]?$`), false},
	{"salutation", regexp.MustCompile(`(?i)^(herrn?|frau|mr|mrs|ms|divers)\.?$`), false},
	{"address.postalCode", regexp.MustCompile(`^\d{5}$`), true},
	{"birthday", regexp.MustCompile(`^(\d{1,2}\.\d{1,2}\.(19|20)\d\d|(19|20)\d\d-\d\d-\d\d)$`), true},
	{"company", regexp.MustCompile(`\b(GmbH|AG|KG|OHG|UG|e\.V\.|mbB|Ltd|Inc|LLC)\b`), true},
	{"name", regexp.MustCompile(`^\p{Lu}\p{Ll}+ (von |van |de )?\p{Lu}[\p{L}-]+$|^\p{Lu}[\p{L}-]+, \p{Lu}[\p{L} -]+$`), true},
}

// job matches what is no title before a name.
var job = regexp.MustCompile(`^(.{12,}|[A-Z]{2,4}|\p{Lu}\p{Ll}{4,})$`)

// most reports whether most values have a shape.
func most(values []string, shape *regexp.Regexp) bool {
	n := 0
	for _, v := range values {
		if shape.MatchString(strings.TrimSpace(v)) {
			n++
		}
	}
	return len(values) > 0 && n*10 >= len(values)*8
}

// meant returns what values are: a line of the note, if nothing else is plain.
func meant(values []string, bare bool) string {
	for _, s := range shapes {
		if (bare || !s.bare) && most(values, s.shape) {
			return s.member
		}
	}
	return Other
}
