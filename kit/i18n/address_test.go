package i18n

import (
	"slices"
	"strings"
	"testing"
)

func TestAddressLines(t *testing.T) {
	german, english := Words{Language: German}, Words{Language: English}
	for want, a := range map[string]Address{
		"Bahnhofstr. 119|52066 Aachen": {
			"Bahnhofstr. 119", "52066", "Aachen", "Nordrhein-Westfalen", "DE",
		},
		"Lindenstraße 7|Köln":                     {"Lindenstraße 7", "", "Köln", "", ""},
		"Graben 3|1010 Wien|ÖSTERREICH":           {"Graben 3", "1010", "Wien", "Wien", "AT"},
		"3 rue de la Paix|75002 PARIS|FRANKREICH": {"3 rue de la Paix", "75002", "Paris", "", "FR"},
		"Damrak 1|1012 LG  AMSTERDAM|NIEDERLANDE": {
			"Damrak 1", "1012 LG", "Amsterdam", "Noord-Holland", "NL",
		},
		"Via Roma 1|00184 Roma RM|ITALIEN":                         {"Via Roma 1", "00184", "Roma", "RM", "IT"},
		"10 Downing Street|LONDON|SW1A 2AA|VEREINIGTES KÖNIGREICH": {"10 Downing Street", "SW1A 2AA", "London", "", "GB"},
		"1 Main St|Springfield, IL 62701|VEREINIGTE STAATEN":       {"1 Main St", "62701", "Springfield", "IL", "US"},
		"1 Main St|Springfield 62701|VEREINIGTE STAATEN":           {"1 Main St", "62701", "Springfield", "", "US"},
		"BUDAPEST|Fő utca 1|1011|UNGARN":                           {"Fő utca 1", "1011", "Budapest", "", "HU"},
		"Nowhere 1|123 Town|Region|NEUSEELAND":                     {"Nowhere 1", "123", "Town", "Region", "NZ"},
		"":                                                         {Country: "FR"},
	} {
		if got := strings.Join(german.Lines(a), "|"); got != want {
			t.Errorf("%+v: %q, want %q", a, got, want)
		}
	}
	if got := english.Lines(Address{City: "Wien", Country: "AT"}); !slices.Equal(got, []string{"Wien", "AUSTRIA"}) {
		t.Errorf("in English: %q", got)
	}
}

// TestHome checks addresses and the list of countries for an office in Austria.
func TestHome(t *testing.T) {
	vienna := Words{Language: German, Home: "AT"}
	for want, a := range map[string]Address{
		"Graben 3|1010 Wien":                       {"Graben 3", "1010", "Wien", "", "AT"},
		"Graben 4|1010 Wien":                       {"Graben 4", "1010", "Wien", "", ""},
		"Bahnhofstr. 119|52066 Aachen|DEUTSCHLAND": {"Bahnhofstr. 119", "52066", "Aachen", "", "DE"},
	} {
		if got := strings.Join(vienna.Lines(a), "|"); got != want {
			t.Errorf("%+v: %q, want %q", a, got, want)
		}
	}
	if all := vienna.Countries(); all[0].Code != "AT" || all[1].Code != "DE" || all[2].Code != "CH" {
		t.Errorf("the countries begin with %v", all[:3])
	}
}

// TestTelephone checks the tel URI of typed numbers, by the country of the number and the country
// of the office.
func TestTelephone(t *testing.T) {
	for _, c := range []struct{ home, country, typed, want string }{
		{"", "", "0176 04069063", "tel:+4917604069063"}, {"", "", "0221/98 76 oder 0228 4411", "tel:+492219876"},
		{"", "", "Tel.: 0221.98.76", "tel:+492219876"},
		{"", "AT", "0664/1234567", "tel:+436641234567"}, {"AT", "", "0664/1234567", "tel:+436641234567"},
		{"AT", "DE", "0221 98765", "tel:+4922198765"},
		{"", "DE", "0221 98765-12/13", "tel:+492219876512"}, {"", "", "+49 221 123456 ext. 5", "tel:+49221123456;ext=5"},
		{"JP", "", "03 1234 5678", "tel:+81312345678"}, {"AT", "", "0049 221 9876", "tel:+492219876"},
		// Numbers that only work from the place of the office.
		{"", "", "110", "tel:110"}, {"", "DE", "9876", "tel:9876"}, {"IT", "", "112", "tel:112"},
		{"", "", "98765-12/13", "tel:9876512"},
		// Texts without a certain number.
		{"", "AT", "9876", ""}, {"", "", "kein Anschluss", ""}, {"", "", "", ""}, {"", "", "+", ""},
		{"", "", "0800 FLOWERS", ""}, {"", "XX", "0221 98765", ""},
	} {
		if got := (Words{Home: c.home}).Telephone(c.typed, c.country); got != c.want {
			t.Errorf("%s, %s: %q is dialled as %q, want %q", c.home, c.country, c.typed, got, c.want)
		}
	}
}

func TestCountries(t *testing.T) {
	for _, w := range []Words{{Language: German}, {Language: English}} {
		all := w.Countries()
		if len(all) != 249 || all[0].Code != "DE" || all[3].Name != "Afghanistan" {
			t.Errorf("%d countries: %v", len(all), all[:5])
		}
		for _, c := range all {
			if len(c.Code) != 2 || len(c.Name) < 3 || strings.Contains(c.Name, "|") || w.Country(c.Code) != c.Name {
				t.Errorf("%+v", c)
			}
		}
	}
	if got := (Words{}).Country("XX"); got != "XX" {
		t.Errorf("a code without a country: %q", got)
	}
}
