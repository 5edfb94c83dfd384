package source

import (
	_ "embed"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

//go:embed dialects.tsv
var dialectFile string

// meaning is the meaning of a heading.
type meaning struct {
	// member is the member of the record that gets the values of the column.
	// LeaveOut drops the values.
	member string
	// slot is the kind of value or a common name of columns that belong together: home, work, 2.
	slot string
}

// LeaveOut is the member of columns with internal data of a program.
const LeaveOut = "-"

// dialect has the headings of one program's tables, in folded form.
type dialect struct {
	program  string
	headings map[string]meaning
}

// dialects are all dialects. The first one has headings that offices write.
var dialects = func() (list []*dialect) {
	for line := range strings.Lines(dialectFile) {
		cells := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		switch {
		case strings.HasPrefix(line, "#"):
			continue
		case strings.HasPrefix(line, "> "):
			list = append(list, &dialect{strings.TrimPrefix(cells[0], "> "), map[string]meaning{}})
			continue
		}
		m := meaning{member: cells[1]}
		if len(cells) > 2 {
			m.slot = cells[2]
		}
		if d := list[len(list)-1]; d.headings[Fold(cells[0])] == (meaning{}) {
			d.headings[Fold(cells[0])] = m
		}
	}
	return list
}()

// umlauts replaces umlauts by two letters.
var umlauts = strings.NewReplacer("ä", "ae", "ö", "oe", "ü", "ue", "ß", "ss")

// Fold returns a heading in the form in which headings are compared. It contains lower-case letters
// without accents, and digits. The file of dialects also has # for a number.
func Fold(text string) string {
	text = norm.NFD.String(umlauts.Replace(strings.ToLower(norm.NFC.String(text))))
	return strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '#' {
			return -1
		}
		return r
	}, text)
}

// of returns the meaning of a folded heading in a dialect. A number in the heading becomes the
// slot.
func (d *dialect) of(folded string) (m meaning, known bool) {
	if m, known = d.headings[folded]; known || folded == "" {
		return m, known
	}
	begin := strings.IndexFunc(folded, unicode.IsDigit)
	if begin < 0 {
		return m, false
	}
	end := begin
	for end < len(folded) && folded[end] >= '0' && folded[end] <= '9' {
		end++
	}
	n, err := strconv.Atoi(folded[begin:end])
	if err != nil || n > 99 {
		return m, false
	}
	m, known = d.headings[folded[:begin]+"#"+folded[end:]]
	m.slot = strings.ReplaceAll(m.slot, "#", strconv.Itoa(n))
	return m, known
}

// choose returns the dialect that contains most headings of a table. If several contain as many, it
// returns the first one, which is more common.
func choose(folded []string) *dialect {
	best, limit := dialects[0], 0
	for _, d := range dialects[1:] {
		n := 0
		for _, f := range folded {
			if _, known := d.of(f); known {
				n++
			}
		}
		if n > limit {
			best, limit = d, n
		}
	}
	return best
}

// meanings returns the meanings of headings, and the program that wrote them. Each heading is
// looked up in the program's dialect, then in all others. If no dialect contains the heading, its
// words decide.
func meanings(headings []string) (list []meaning, program string) {
	folded := make([]string, len(headings))
	for i, h := range headings {
		folded[i] = Fold(h)
	}
	best := choose(folded)
	list = make([]meaning, len(headings))
	for i, f := range folded {
		for _, d := range slices.Concat([]*dialect{best}, dialects) {
			if m, known := d.of(f); known {
				list[i] = m
				break
			}
		}
		if list[i].member == "" {
			list[i], _ = byWords(headings[i])
		}
	}
	settle(list, folded)
	return list, best.program
}

// settle decides meanings that depend on other columns. It decides whether Name is a last name,
// whether an address is undivided, and which of two equal columns counts.
func settle(list []meaning, folded []string) {
	has := func(members ...string) bool {
		return slices.ContainsFunc(list, func(m meaning) bool { return slices.Contains(members, m.member) })
	}
	first, parted := has("firstName"), has("address.postalCode", "address.city", "address.place")
	taken := map[meaning]bool{}
	for i := range list {
		m := &list[i]
		switch {
		case folded[i] == "name" && m.member == "lastName" && !first:
			m.member = "name"
		case folded[i] == "name" && m.member == "name" && first && !has("lastName"):
			m.member = "lastName"
		case m.member == "address.whole" && parted:
			m.member = "address.street"
		case slices.Contains(bareNumbers, folded[i]):
			m.member = ""
			if i > 0 && list[i-1].member == "address.street" { // house number
				*m = meaning{"address.houseNumber", list[i-1].slot}
			}
		}
		if member := MemberOf(m.member); member != nil && !member.Several {
			if taken[*m] {
				m.member = Other
			}
			taken[*m] = true
		}
	}
}

// bareNumbers are headings such as Nr., whose meaning depends on the column before.
var bareNumbers = strings.Fields("nr no nummer number")

// known returns the number of cells that are known headings.
func known(cells []string) (n int) {
	for _, cell := range cells {
		if len(cell) > 80 {
			continue
		}
		folded := Fold(cell)
		_, words := byWords(cell)
		if words || slices.ContainsFunc(dialects, func(d *dialect) bool { _, known := d.of(folded); return known }) {
			n++
		}
	}
	return n
}
