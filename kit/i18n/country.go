package i18n

import (
	"cmp"
	"slices"
	"strings"
)

// Country is a country with its name in the reader's language.
type Country struct{ Code, Name string }

// Country returns the name of a country, or the code if there is none.
func (w Words) Country(code string) string {
	return cmp.Or(w.Say(CountryNames[code]), code)
}

// neighbours are the countries that most letters of an office go to. They stand
// first in a list.
var neighbours = []string{"DE", "AT", "CH"}

// Countries returns all countries: the office's country, then its neighbours, then the
// others in the order of their names.
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

// place returns the rank of a country: the office's own first, then its neighbours,
// then all others.
func (w Words) place(code string) int {
	if code == w.home() {
		return -1
	}
	if i := slices.Index(neighbours, code); i >= 0 {
		return i
	}
	return len(neighbours)
}

// alphabetical returns a name as it is ordered: Österreich is beside Osttimor.
var alphabetical = strings.NewReplacer("Ä", "A", "Å", "A", "Ö", "O", "Ü", "U", "ä", "a", "ã", "a", "ö", "o", "ü",
	"u", "é", "e", "ô", "o", "ç", "c").Replace
