package duplicate

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"kartei/record/search"
)

// wordsOf returns the words of a folded text.
func wordsOf(folded string) []string {
	return strings.FieldsFunc(folded, func(r rune) bool { return !unicode.In(r, unicode.L, unicode.N, unicode.M) })
}

// titles are words before a name that do not distinguish people.
var titles = map[string]bool{
	"dr": true, "prof": true, "dipl": true, "ing": true, "mag": true, "herr": true, "frau": true, "med": true,
	"jur": true, "ra": true, "rain": true, "stb": true,
}

// generations are the words that distinguish parents and children, with the word for each.
var generations = map[string]string{
	"jun": "jun", "jr": "jun", "junior": "jun", "sen": "sen", "sr": "sen", "senior": "sen", "ii": "ii", "iii": "iii",
}

// particles are words at the beginning of a last name.
var particles = map[string]bool{
	"von": true, "van": true, "vom": true, "zu": true, "zur": true, "zum": true, "de": true, "del": true, "della": true,
	"di": true, "da": true, "der": true, "den": true, "dem": true, "la": true, "le": true, "ten": true, "ter": true,
	"al": true, "el": true, "ben": true, "st": true, "und": true,
}

// personName returns the words of a name without titles, and the generation of the person.
func personName(name string) (words []string, generation string) {
	for _, w := range wordsOf(search.Fold(name)) {
		switch {
		case generations[w] != "":
			generation = generations[w]
		case !titles[w]:
			words = append(words, w)
		}
	}
	return words, generation
}

// divide returns the first and the last name of a person whose whole name is in one field, as in
// "Berg, Anna" and "Anna von Berg". A name of one word stays a last name.
func divide(name string) (first, last string) {
	if before, after, found := strings.Cut(name, ","); found {
		if words, _ := personName(after); len(words) > 0 {
			return strings.TrimSpace(after), before
		}
		return "", before
	}
	words := strings.Fields(name)
	for i, w := range words {
		if folded := search.Fold(strings.Trim(w, ".")); i > 0 && (particles[folded] || i == len(words)-1) &&
			generations[folded] == "" {
			return strings.Join(words[:i], " "), strings.Join(words[i:], " ")
		}
		if particles[search.Fold(w)] {
			break
		}
	}
	return "", name
}

// affinity says how alike two names or two parts of a name are.
type affinity int

const (
	// unknown means that one of the names is missing.
	unknown affinity = iota
	// unlike means that the names differ.
	unlike
	// partial means that the words of one name are among the words of the other, or begin them: Haas
	// and Haas-Neu, A. and Anna.
	partial
	// alike means that the names sound alike, or differ by one typing error.
	alike
	// equal means that the names have the same letters.
	equal
)

// near reports whether the names may be the same.
func (a affinity) near() bool { return a == partial || a == alike || a == equal }

// affinityOf compares the words of two names.
func affinityOf(a, b []string) affinity {
	if len(a) == 0 || len(b) == 0 {
		return unknown
	}
	x, y := strings.Join(a, ""), strings.Join(b, "")
	switch {
	case x == y:
		return equal
	case soundsAlike(x, y):
		return alike
	case isWithin(a, b) || isWithin(b, a):
		return partial
	}
	return unlike
}

// isWithin reports whether each word of part equals a word of whole, or is its first letter.
// Particles do not count.
func isWithin(part, whole []string) bool {
	counted := 0
	for _, w := range part {
		if particles[w] {
			continue
		}
		counted++
		if !slices.ContainsFunc(whole, func(v string) bool {
			return v == w || len(w) == 1 && strings.HasPrefix(v, w)
		}) {
			return false
		}
	}
	return counted > 0
}

// leastEdited is the minimum length of names in letters in which one typing error counts. Berg and
// Burg are two names.
const leastEdited = 5

// soundsAlike reports whether two names are spellings of the same name, or differ by one typing
// error. A vowel at the end does not count as an error, because it distinguishes Jan from Jana.
func soundsAlike(a, b string) bool {
	if isGenderPair(a, b) || isGenderPair(b, a) {
		return false
	}
	if min(utf8.RuneCountInString(a), utf8.RuneCountInString(b)) >= leastEdited && edits(a, b, 1) <= 1 {
		return true
	}
	code := cologne(a)
	if code == "" || code != cologne(b) {
		return false
	}
	most := 0
	if n := min(len(a), len(b)); n > 7 {
		most = 2
	} else if n >= leastEdited {
		most = 1
	}
	return edits(spelling(a), spelling(b), most) <= most
}

// isGenderPair reports whether b is a with a vowel at its end: Jan and Jana, Gabriel and Gabriele.
func isGenderPair(a, b string) bool {
	rest, found := strings.CutPrefix(b, a)
	return found && (rest == "a" || rest == "e")
}

// spellings replaces usual German spellings of the same sound by one of them.
var spellings = strings.NewReplacer(
	"sch", "s", "tsch", "s", "ph", "f", "th", "t", "dt", "t", "ck", "k", "tz", "z", "ei", "ai", "ey", "ai", "ay", "ai",
	"eu", "oi", "ie", "i", "y", "i", "j", "i", "v", "f", "w", "f", "c", "k", "x", "ks", "ah", "a", "eh", "e", "ih", "i",
	"oh", "o", "uh", "u",
)

// spelling returns a name with one spelling for each sound, and without doubled letters. It is the same
// for Meier, Mayer and Mayr.
func spelling(name string) string {
	var b strings.Builder
	var last rune
	for _, r := range spellings.Replace(name) {
		if r != last {
			b.WriteRune(r)
		}
		last = r
	}
	if rest, found := strings.CutSuffix(b.String(), "er"); found {
		return rest + "r"
	}
	return b.String()
}

// edits returns the number of typing errors between two texts: characters that were left out, added,
// replaced, or exchanged with the next one (Damerau). It returns most + 1 if there are more than most.
func edits(a, b string, most int) int {
	x, y := []rune(a), []rune(b)
	if len(x)-len(y) > most || len(y)-len(x) > most {
		return most + 1
	}
	before, row, next := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(x); i++ {
		next[0] = i
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			next[j] = min(row[j]+1, next[j-1]+1, row[j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				next[j] = min(next[j], before[j-2]+1)
			}
		}
		before, row, next = row, next, before
	}
	return min(row[len(y)], most+1)
}
