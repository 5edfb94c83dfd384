package places

import (
	"fmt"
	"strings"
	"testing"
)

// TestAddresses checks addresses in one cell, countries and postal codes.
func TestAddresses(t *testing.T) {
	for text, want := range map[string]string{
		"Hauptstr. 5 50667 Köln":                     "Hauptstr. 5|50667|Köln|",
		"Hauptstr. 5, 50667 Köln":                    "Hauptstr. 5|50667|Köln|",
		"Hauptstr. 5, D-50667 Köln, Deutschland":     "Hauptstr. 5|50667|Köln|DE",
		"50667 Köln, Hauptstr. 5":                    "Hauptstr. 5|50667|Köln|",
		"Am Markt 50667 Köln":                        "Am Markt|50667|Köln|",
		"Ring 7, Hinterhaus\n50667 Köln":             "Ring 7, Hinterhaus|50667|Köln|",
		"Stephansplatz 1 A-1010 Wien":                "Stephansplatz 1|1010|Wien|AT",
		"Hauptstr. 5":                                "Hauptstr. 5|||",
		"Hans\n12 Elm Street\nSpringfield, IL 62701": "Hans, 12 Elm Street, Springfield, IL 62701|||",
	} {
		var a Address
		a.SetWhole(text)
		a.Tidy()
		code, _, _ := Country(a.Country)
		if got := fmt.Sprintf("%s|%s|%s|%s", a.StreetLine(), a.PostalCode, a.City, code); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	for text, want := range map[string]string{
		"Deutschland/Bayern": "DE Bayern", "Germany, Bavaria": "DE Bavaria", "Frankreich (F)": "FR ",
		"Schweiz (Kt. ZH)": "CH Kt. ZH", "Ö": "AT ", "Bayern, Deutschland": "DE Bayern",
		"Korea, Democratic People's Republic of": " ", "Kosovo": " ", "Texas, US": "US Texas", "Germany (DE)": "DE ",
	} {
		code, region, _ := Country(text)
		if got := code + " " + region; got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	for code, want := range map[string]string{
		"A-1010": "1010 AT", "CH-3000": "3000 CH", "L-1234": "1234 LU", "D-50667": "50667 DE",
		"D 50667": "50667 DE", "LV-1050": "LV-1050 ", "50667": "50667 ",
	} {
		a := Address{PostalCode: code}
		a.Tidy()
		if got := a.PostalCode + " " + a.Country; got != want {
			t.Errorf("%s: %q, want %q", code, got, want)
		}
	}
	for text, want := range map[string]string{
		"1067 Dresden DE": "01067", "1067 Dresden ": "01067", "1067 Irgendwo DE": "01067",
		"1067 Dorf ": "1067", "1010 Wien AT": "1010", "4109 Leipzig ": "04109", "50667 Köln DE": "50667",
	} {
		parts := strings.Split(text, " ")
		a := Address{PostalCode: parts[0], City: parts[1], Country: parts[2]}
		if a.RestoreZero(); a.PostalCode != want {
			t.Errorf("%s: %s, want %s", text, a.PostalCode, want)
		}
	}
}
