package duplicate

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"kartei/record/search"
)

// maxSpellings is the maximum number of spellings of a word. Each of them is a look-up in the search index.
const maxSpellings = 16

// leastVaried is the minimum length in letters of a word with other spellings.
const leastVaried = 3

// place says where in a word the letters of a sound are spelled in several ways.
type place int

const (
	anywhere place = iota
	atBeginning
	// inside is after the first letter.
	inside
	atEnd
	// beforeSonorant is inside a word, before l, m, n or r: Kohl and Kool.
	beforeSonorant
	// afterDiphthong is at the end of a word, after ai or ei: Maier and Mair.
	afterDiphthong
)

// soundings are the usual ways to write a sound of German names, in a folded text. cost is the cost of a
// change to another one. A change that adds a letter costs one more. Spellings with low costs come first.
var soundings = []struct {
	place   place
	cost    int
	letters []string
}{
	{anywhere, 1, []string{"ai", "ei", "ay", "ey", "aj", "ej"}},
	{anywhere, 1, []string{"ie", "i", "y"}},
	{atBeginning, 1, []string{"k", "c", "ch"}},
	{atBeginning, 1, []string{"f", "v", "ph"}},
	{afterDiphthong, 1, []string{"er", "r"}},
	{atEnd, 1, []string{"er"}},
	{atEnd, 1, []string{"dt", "tt", "t", "th", "d"}},
	{inside, 1, []string{"tt", "t", "dt", "th", "tth"}},
	{inside, 1, []string{"ck", "k", "kk", "c"}},
	{inside, 1, []string{"ff", "f", "ph"}},
	{inside, 1, []string{"tz", "z"}},
	{inside, 1, []string{"chs", "x", "ks", "cks"}},
	{inside, 1, []string{"ss", "s"}},
	{inside, 1, []string{"ll", "l"}},
	{inside, 1, []string{"mm", "m"}},
	{inside, 1, []string{"nn", "n"}},
	{inside, 1, []string{"rr", "r"}},
	{inside, 1, []string{"pp", "p"}},
	{inside, 1, []string{"bb", "b"}},
	{inside, 1, []string{"gg", "g"}},
	{beforeSonorant, 2, []string{"ah", "a", "aa"}},
	{beforeSonorant, 2, []string{"eh", "e", "ee"}},
	{beforeSonorant, 2, []string{"ih", "i"}},
	{beforeSonorant, 2, []string{"oh", "o", "oo"}},
	{beforeSonorant, 2, []string{"uh", "u"}},
}

// whole are letters that are not divided into sounds.
var whole = []string{"sch", "ch", "st", "sp", "ng"}

// Spellings returns a folded word and the other spellings of the same German name, the most usual first:
// for maier also meier, mayer and mayr. It returns at most 16. A word with digits has only one spelling.
func Spellings(word string) []string {
	list := []variant{{}}
	if utf8.RuneCountInString(word) < leastVaried || strings.Trim(word, "abcdefghijklmnopqrstuvwxyz") != "" {
		return []string{word}
	}
	for at := 0; at < len(word); {
		others, n := soundAt(word, at)
		var next []variant
		for _, s := range list {
			for _, o := range others {
				next = append(next, variant{s.text + o.text, s.cost + o.cost})
			}
		}
		slices.SortStableFunc(next, func(a, b variant) int { return cmp.Compare(a.cost, b.cost) })
		list = next[:min(len(next), maxSpellings)]
		at += n
	}
	words := make([]string, 0, len(list))
	for _, s := range list {
		if !slices.Contains(words, s.text) {
			words = append(words, s.text)
		}
	}
	return words
}

// variant is the beginning of a word in one spelling. cost is the sum of its changes.
type variant struct {
	text string
	cost int
}

// soundAt returns the spellings of the sound at an index of a word, the word's own first, and the length of
// its letters.
func soundAt(word string, at int) (list []variant, n int) {
	rest := word[at:]
	own, best := rest[:1], -1
	for i, s := range soundings {
		for _, letters := range s.letters {
			if strings.HasPrefix(rest, letters) && (len(letters) > len(own) || best < 0 && letters == own) &&
				s.place.holds(word, at, len(letters)) {
				own, best = letters, i
			}
		}
	}
	for _, letters := range whole {
		if len(letters) > len(own) && strings.HasPrefix(rest, letters) {
			own, best = letters, -1
		}
	}
	list = []variant{{own, 0}}
	if best < 0 {
		return list, len(own)
	}
	for _, letters := range soundings[best].letters {
		cost := soundings[best].cost
		if len(letters) > len(own) {
			cost++
		}
		if letters != own && (!isDoubled(letters) || len(own) > 1 || isShort(word, at)) {
			list = append(list, variant{letters, cost})
		}
	}
	return list, len(own)
}

// isDoubled reports whether a text is one consonant twice.
func isDoubled(letters string) bool {
	return len(letters) == 2 && letters[0] == letters[1] && !isVowel(letters[0])
}

func isVowel(c byte) bool { return strings.IndexByte("aeiouy", c) >= 0 }

// isShort reports whether people may double a consonant: after a vowel, and before another one or at the end.
// Before a consonant, only f and l are usual: Hoffmann and Hofmann. After a consonant, s is: Janssen and Jansen.
func isShort(word string, at int) bool {
	if at == 0 || !isVowel(word[at-1]) {
		return at > 0 && word[at] == 's' && isVowelAt(word, at+1)
	}
	return at+1 == len(word) || isVowel(word[at+1]) || word[at] == 'f' || word[at] == 'l'
}

func isVowelAt(word string, at int) bool { return at < len(word) && isVowel(word[at]) }

// holds reports whether the n letters at an index of a word are in the place.
func (p place) holds(word string, at, n int) bool {
	end := at + n
	switch p {
	case atBeginning:
		return at == 0
	case inside:
		return at > 0
	case atEnd:
		return at > 0 && end == len(word)
	case beforeSonorant:
		return at > 0 && end < len(word) && strings.IndexByte("lmnr", word[end]) >= 0
	case afterDiphthong:
		return end == len(word) && at >= 2 && slices.Contains(soundings[0].letters, word[at-2:at])
	}
	return true
}

// Alike reports whether two folded words are spellings of the same name, or differ by one typing error.
func Alike(a, b string) bool { return a == b || soundsAlike(a, b) }

// Names returns the words of a record's name, folded and without titles, particles and legal forms. A company
// has no given name.
func (s *Subject) Names() (given, family []string) {
	if s.words != nil {
		return nil, s.words
	}
	return s.first, significant(s.last)
}

// Significant returns the words of a text that may be the name of a person or company, as the search index has
// them, without titles, particles and legal forms. A title or a particle at the end is a name: Anna Le. Initials are
// left out if two words remain. If no word would remain, Significant returns all words.
func Significant(name string) []string {
	all := search.Words(longForms.Replace(" " + strings.Join(strings.Fields(search.Fold(name)), " ") + " "))
	var words []string
	for i, w := range all {
		last := i == len(all)-1
		if legal[w] == "" && !fillers[w] && (last || !titles[w] && !particles[w]) {
			words = append(words, w)
		}
	}
	if len(words) == 0 {
		return all
	}
	whole := slices.DeleteFunc(slices.Clone(words), func(w string) bool { return len(w) == 1 && isLetter(w[0]) })
	if len(whole) > 1 {
		return whole
	}
	return words
}

// HasForm reports whether a text has a legal form, so that it is the name of a company.
func HasForm(name string) bool {
	_, form := companyName(name)
	return form != ""
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' }
