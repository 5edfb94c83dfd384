package names

import (
	"strings"
	"testing"
)

// TestDivide checks how Divide divides whole names.
func TestDivide(t *testing.T) {
	for name, want := range map[string]string{
		"Anna von der Leyen":                     "||Anna|von der Leyen",
		"Dr. Hans Müller LL.M.":                  "|Dr.|Hans|Müller suffix=LL.M.",
		"Prof. Dr. Karl Weber, LL.M.":            "|Prof. Dr.|Karl|Weber suffix=LL.M.",
		"Eva Braun, MdB":                         "||Eva|Braun suffix=MdB",
		"Eva Braun, M.A.":                        "||Eva|Braun suffix=M.A.",
		"Eva Braun LL.M. (London)":               "||Eva|Braun suffix=LL.M. (London)",
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
		p := Divide(text, lastFirst)
		got := strings.Join([]string{p.Salutation, p.Title, p.First, p.Last}, "|")
		switch {
		case p.Whole:
			got = "whole " + p.Last
		case p.Firm:
			got = "firm " + p.Last
		case p.Doubtful:
			got = "doubtful" + got[strings.Index(got, "|"):]
		}
		if p.Suffix != "" {
			got += " suffix=" + p.Suffix
		}
		if p.Maiden != "" {
			got += " maiden=" + p.Maiden
		}
		if p.Remark != "" {
			got += " remark=" + p.Remark
		}
		if got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
