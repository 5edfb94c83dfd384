package imports

import (
	"fmt"
	"strings"
	"testing"
)

// TestDivide divides whole names.
func TestDivide(t *testing.T) {
	for name, want := range map[string]string{
		"Anna von der Leyen":                     "||Anna|von der Leyen",
		"Dr. Hans Müller LL.M.":                  "|Dr., LL.M.|Hans|Müller",
		"Prof. Dr. Karl Weber, LL.M.":            "|Prof. Dr., LL.M.|Karl|Weber",
		"Eva Braun, M.A.":                        "|M.A.|Eva|Braun",
		"Eva Braun LL.M. (London)":               "|LL.M. (London)|Eva|Braun",
		"Müller, Hans, Dr.":                      "|Dr.|Hans|Müller",
		"Müller, Dr. Hans-Peter":                 "|Dr.|Hans-Peter|Müller",
		"Berg, Dr.":                              "|Dr.||Berg",
		"Berg, Anna von":                         "||Anna|von Berg",
		"Stein, Freiherr von, Karl":              "||Karl|Freiherr von Stein",
		"Stein, Karl Freiherr von":               "||Karl|Freiherr von Stein",
		"Hans Müller jun.":                       "||Hans|Müller jun.",
		"Müller, Hans, jun.":                     "||Hans jun.|Müller",
		"Anna Meier geb. Schulze":                "||Anna|Meier maiden=Schulze",
		"Meier geb. Schulze, Anna":               "||Anna|Meier maiden=Schulze",
		"Anna Meier (geb. Schulze)":              "||Anna|Meier maiden=Schulze",
		"Anna Meier, geborene von Schulze":       "||Anna|Meier maiden=von Schulze",
		"Anna Meier (Mutter)":                    "||Anna|Meier remark=Mutter",
		"Karl Freiherr von Stein":                "||Karl|Freiherr von Stein",
		"Otto Graf Lambsdorff":                   "||Otto|Graf Lambsdorff",
		"Steffi Graf":                            "||Steffi|Graf",
		"Dipl.-Ing. (FH) Karl Kraus":             "|Dipl.-Ing. (FH)|Karl|Kraus",
		"Karl Kraus Dipl.-Ing.":                  "|Dipl.-Ing.|Karl|Kraus",
		"Dr.med.dent. Karl Kraus":                "|Dr.med.dent.|Karl|Kraus",
		"Dr. H. Müller":                          "|Dr.|H.|Müller",
		"Dr. h. c. Karl Kraus":                   "|Dr. h.c.|Karl|Kraus",
		"M. Müller":                              "||M.|Müller",
		"Phil Collins":                           "||Phil|Collins",
		"Notar a.D. Uwe Kurz":                    "|Notar a.D.|Uwe|Kurz",
		"Rechtsanwalt und Notar Uwe Kurz":        "|Rechtsanwalt und Notar|Uwe|Kurz",
		"Herr Dr. von und zu Guttenberg":         "mr|Dr.||von und zu Guttenberg",
		"Frau Dr. Eva Haas":                      "ms|Dr.|Eva|Haas",
		"Peter und Petra Schmitz":                "whole Peter und Petra Schmitz",
		"Schmitz, Peter u. Petra":                "whole Schmitz, Peter u. Petra",
		"Herr und Frau Becker":                   "whole Herr und Frau Becker",
		"Dr. Meier und Dr. Schulz":               "whole Dr. Meier und Dr. Schulz",
		"Müller ./. Schulz":                      "whole Müller ./. Schulz",
		"Erben nach Otto Groß":                   "whole Erben nach Otto Groß",
		"Familie Schmitz":                        "whole Familie Schmitz",
		"Meier Hausverwaltung":                   "whole Meier Hausverwaltung",
		"Meier u. Partner":                       "firm Meier u. Partner",
		"Fa. Rohrbruch Meier":                    "firm Rohrbruch Meier",
		"Bäcker KG":                              "firm Bäcker KG",
		"Kanzlei Berg & Partner mbB":             "firm Kanzlei Berg & Partner mbB",
		"Hans Müller, Köln":                      "doubtful||Köln|Hans Müller",
		"last first: Müller Hans Peter":          "||Hans Peter|Müller",
		"last first: von Berg Anna":              "||Anna|von Berg",
		"last first: Müller, Hans":               "||Hans|Müller",
		"Ludwig van Beethoven":                   "||Ludwig|van Beethoven",
		"Wohnungseigentümergemeinschaft Ring 12": "whole Wohnungseigentümergemeinschaft Ring 12",
	} {
		text, lastFirst := strings.CutPrefix(name, "last first: ")
		p := divide(text, lastFirst)
		got := strings.Join([]string{p.salutation, p.title, p.first, p.last}, "|")
		switch {
		case p.whole:
			got = "whole " + p.last
		case p.firm:
			got = "firm " + p.last
		case p.doubtful:
			got = "doubtful" + got[strings.Index(got, "|"):]
		}
		if p.maiden != "" {
			got += " maiden=" + p.maiden
		}
		if p.remark != "" {
			got += " remark=" + p.remark
		}
		if got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// TestDayOf reads days.
func TestDayOf(t *testing.T) {
	for text, want := range map[string]string{
		"17. Mai 1984": "1984-05-17", "May 17, 1984": "1984-05-17", "Thursday, May 17, 1984": "1984-05-17",
		"Do 17.05.1984": "1984-05-17", "Do., 17.05.1984": "1984-05-17",
		"17.05.1984 00:00:00": "1984-05-17", "1984-05-17T00:00:00Z": "1984-05-17", "17.05.1984 00.00 Uhr": "1984-05-17",
		"5/17/1984 12:00 AM": "1984-05-17", "17. 05. 1984": "1984-05-17",
		"17-May-1984": "1984-05-17", "1er mars 1984": "1984-03-01", "1. Jänner 84": "1984-01-01",
		"19840517T120000Z": "1984-05-17", "Mai 1984": "", "0.0.00": "", "17. Unsinn 1984": "",
	} {
		if day, _, _ := dayOf(text, "", false, 2026); day != want {
			t.Errorf("%s: %s, want %s", text, day, want)
		}
	}
}

// TestAddresses reads addresses in one cell, countries and postal codes.
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
		var a address
		a.whole(text)
		a.tidy()
		code, _, _ := countryAndRegion(a.country)
		if got := fmt.Sprintf("%s|%s|%s|%s", a.streetLine(), a.postalCode, a.city, code); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	for text, want := range map[string]string{
		"Deutschland/Bayern": "DE Bayern", "Germany, Bavaria": "DE Bavaria", "Frankreich (F)": "FR ",
		"Schweiz (Kt. ZH)": "CH Kt. ZH", "Ö": "AT ", "Bayern, Deutschland": "DE Bayern",
		"Korea, Democratic People's Republic of": " ", "Kosovo": " ", "Texas, US": "US Texas", "Germany (DE)": "DE ",
	} {
		code, region, _ := countryAndRegion(text)
		if got := code + " " + region; got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	for code, want := range map[string]string{
		"A-1010": "1010 AT", "CH-3000": "3000 CH", "L-1234": "1234 LU", "D-50667": "50667 DE",
		"D 50667": "50667 DE", "LV-1050": "LV-1050 ", "50667": "50667 ",
	} {
		a := address{postalCode: code}
		a.tidy()
		if got := a.postalCode + " " + a.country; got != want {
			t.Errorf("%s: %q, want %q", code, got, want)
		}
	}
	for text, want := range map[string]string{
		"1067 Dresden DE": "01067", "1067 Dresden ": "01067", "1067 Irgendwo DE": "01067",
		"1067 Dorf ": "1067", "1010 Wien AT": "1010", "4109 Leipzig ": "04109", "50667 Köln DE": "50667",
	} {
		parts := strings.Split(text, " ")
		a := address{postalCode: parts[0], city: parts[1], country: parts[2]}
		if a.lostZero(); a.postalCode != want {
			t.Errorf("%s: %s, want %s", text, a.postalCode, want)
		}
	}
}
