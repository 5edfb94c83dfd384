package duplicate

import (
	"encoding/binary"
	"hash/fnv"
	"slices"
	"strings"
	"unicode/utf8"
)

// Version is the version of the rules: of Compare, and of the keys. A Finder that meets the progress of
// another version begins anew. It must be incremented with each change of the rules.
const Version = 1

// keyBits is the number of bits of a key. Of a hundred million keys, few have the same bits by
// chance, and these cost a comparison.
const keyBits = 48

// weak are the kinds of keys that only a part of a name has. Many records have such a key by chance, so
// it makes fewer pairs. The last bit of a key says that it is weak.
var weak = map[string]bool{
	"last, letter": true, "first, beginning": true, "first, end": true, "word": true, "beginning, city": true,
	"end, city": true,
}

// isWeak reports whether a key is of a kind in weak.
func isWeak(key int64) bool { return key&1 == 1 }

// keyOf returns the key for a value of a kind.
func keyOf(family, kind, value string) int64 {
	h := fnv.New64a()
	h.Write([]byte(family + "\n" + kind + "\n" + value))
	var b [8]byte
	sum := h.Sum(b[:0])
	mixed := binary.BigEndian.Uint64(sum)
	mixed ^= mixed >> 32
	key := int64(mixed&(1<<keyBits-1)) &^ 1
	if weak[kind] {
		key |= 1
	}
	return key
}

// Keys returns the keys of a record in ascending order. Records that are the same have at least one
// key in common:
//
//   - each email, each number, each external id and registration
//   - the sound of the whole name, alone and with each city
//   - the sound of the first name with the birthday, and the sound of the last name with it
//   - the sound of the first name with the beginning and with the end of the last name, and the sound
//     of the last name with the first letter of the first name: one typing error leaves one of them
//   - for a company the sound of its two longest words, and its beginning and its end with the city
func (s *Subject) Keys() []int64 {
	var list []int64
	add := func(kind string, parts ...string) {
		if !slices.Contains(parts, "") {
			list = append(list, keyOf(s.Family, kind, strings.Join(parts, "\n")))
		}
	}
	for _, e := range s.emails {
		add("email", e)
	}
	for _, n := range s.numbers {
		add("number", n.national)
	}
	for _, x := range s.external {
		add("external", x)
	}
	for _, r := range s.registered {
		add("registered", r)
	}
	if s.words == nil {
		s.addPersonKeys(add)
	} else {
		s.addCompanyKeys(add)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// maxCities is the maximum number of cities for which a record has keys.
const maxCities = 3

// addPersonKeys adds the keys for the name of a person. A last name of several words has the keys of
// its first and of its last word.
func (s *Subject) addPersonKeys(add func(kind string, parts ...string)) {
	first := soundOfFirst(s.first)
	lasts := significant(s.last)
	if len(lasts) > 2 {
		lasts = []string{lasts[0], lasts[len(lasts)-1]}
	}
	if s.birthday != "" {
		add("first, birthday", first, s.birthday)
	}
	for _, last := range lasts {
		code := sound(last)
		name := []string{first, code} // the order does not matter: some people exchange the two
		slices.Sort(name)
		add("name", name...)
		for _, city := range s.cities[:min(len(s.cities), maxCities)] {
			add("name, city", name[0], name[1], city)
		}
		if s.birthday != "" {
			add("last, birthday", code, s.birthday)
		}
		if len(s.first) > 0 {
			add("last, letter", code, beginning(s.first[0], 1))
		}
		add("first, beginning", first, beginning(last, 3))
		add("first, end", first, ending(last, 3))
	}
}

// addCompanyKeys adds the keys for the name of a company.
func (s *Subject) addCompanyKeys(add func(kind string, parts ...string)) {
	whole := strings.Join(s.words, "")
	add("name", sound(whole))
	longest := slices.Clone(s.words)
	slices.SortStableFunc(longest, func(a, b string) int { return len(b) - len(a) })
	for _, w := range longest[:min(len(longest), 2)] {
		add("word", sound(w))
	}
	for _, city := range s.cities[:min(len(s.cities), maxCities)] {
		add("beginning, city", beginning(whole, 4), city)
		add("end, city", ending(whole, 4), city)
	}
}

// soundOfFirst returns the sound of the first word of a first name.
func soundOfFirst(words []string) string {
	if len(words) == 0 {
		return ""
	}
	return sound(words[0])
}

// sound returns the code of a word, or the word itself if it has no Latin letters.
func sound(word string) string {
	if code := cologne(word); code != "" {
		return code
	}
	return word
}

// significant returns the words of a last name without its particles.
func significant(words []string) []string {
	list := slices.DeleteFunc(slices.Clone(words), func(w string) bool { return particles[w] })
	if len(list) == 0 {
		return words
	}
	return list
}

// beginning returns the first n characters of a word.
func beginning(word string, n int) string {
	for i := range word {
		if n == 0 {
			return word[:i]
		}
		n--
	}
	return word
}

// ending returns the last n characters of a word.
func ending(word string, n int) string {
	skip := utf8.RuneCountInString(word) - n
	for i := range word {
		if skip <= 0 {
			return word[i:]
		}
		skip--
	}
	return word
}
