package entry

import "testing"

// Two spellings of an address are the same, and two numbers of houses are not.
func TestPlaceEssence(t *testing.T) {
	for _, x := range []struct {
		a, b string
		same bool
	}{
		{"Hauptstr. 1", "Hauptstraße 1", true}, {"Haupt-Str. 1 a", "Hauptstrasse 1a", true}, {"Weg 1/2/3", "Weg 1-2-3", true},
		{"Linzer Straße 1/23", "Linzer Straße 12/3", false}, {"Hauptstr. 1-3", "Hauptstr. 13", false}, {"Weg 1/2/3", "Weg 1/23", false},
	} {
		if got := placeEssence(x.a) == placeEssence(x.b); got != x.same {
			t.Errorf("%s and %s: %t", x.a, x.b, got)
		}
	}
}
