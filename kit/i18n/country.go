package i18n

import (
	"cmp"
	"slices"
	"strings"
)

// Country is the ISO 3166-1 code of a country, and the country's name in the reader's language.
type Country struct{ Code, Name string }

// Country returns the name of a country in the reader's language, or the code if it is unknown.
func (w Words) Country(code string) string {
	return cmp.Or(w.Say(CountryNames[code]), code)
}

// neighbours are the countries to which offices send most letters. Lists of countries begin with
// them.
var neighbours = []string{"DE", "AT", "CH"}

// Countries returns all countries. The country of the office is first, and neighbours follow. All
// others are sorted by name.
func (w Words) Countries() []Country {
	list := make([]Country, 0, len(CountryNames))
	for code, name := range CountryNames {
		list = append(list, Country{code, w.Say(name)})
	}
	slices.SortFunc(list, func(a, b Country) int {
		return cmp.Or(cmp.Compare(w.place(a.Code), w.place(b.Code)), cmp.Compare(alphabetical(a.Name), alphabetical(b.Name)))
	})
	return list
}

// place returns the rank of a country in lists: -1 for the country of the office, the index in
// neighbours, or a higher rank for all others.
func (w Words) place(code string) int {
	if code == w.home() {
		return -1
	}
	if i := slices.Index(neighbours, code); i >= 0 {
		return i
	}
	return len(neighbours)
}

// alphabetical returns the key of a name for sorting. Umlauts and accents are removed, so
// Österreich and Osttimor are neighbours.
var alphabetical = strings.NewReplacer("Ä", "A", "Å", "A", "Ö", "O", "Ü", "U", "ä", "a", "ã", "a", "ö", "o", "ü",
	"u", "é", "e", "ô", "o", "ç", "c").Replace
