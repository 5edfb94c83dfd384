package source

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
)

func TestDialects(t *testing.T) {
	n := 0
	for _, d := range dialects {
		if d.program == "" || len(d.headings) == 0 {
			t.Errorf("%+v has no headings", d)
		}
		for heading, m := range d.headings {
			n++
			if m.member != LeaveOut && MemberOf(m.member) == nil {
				t.Errorf("%s: %s means %s, which is no member", d.program, heading, m.member)
			}
		}
	}
	t.Log(n, "headings of", len(dialects), "programs")
}

// entries reads a whole file. It returns texts of the form column=text or member=text, with the
// values of an entry in the order of the file.
func entries(t *testing.T, file string) (list []string, f *File) {
	t.Helper()
	f, err := Open(strings.NewReader(file))
	if err != nil {
		t.Fatalf("%q: %v", file, err)
	}
	names := map[int]string{}
	for _, c := range f.Columns {
		names[c.At] = c.Member
	}
	for {
		e, err := f.Read()
		if errors.Is(err, io.EOF) {
			return list, f
		}
		var parts []string
		for _, v := range e.Values {
			parts = append(parts, names[v.Column]+"="+v.Text)
		}
		list = append(list, strings.Join(parts, "|"))
	}
}

// TestEncodings checks one name in the encodings and with the line ends of several programs.
func TestEncodings(t *testing.T) {
	encoded := func(e encoding.Encoding, text string) string {
		t.Helper()
		out, err := e.NewEncoder().String(text)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	table := "Nachname;Ort\nMüller;Köln\nGroß;Übersee\n"
	little := encoded(unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM), table)
	for name, file := range map[string]struct{ text, encoding string }{
		"UTF-8":                   {table, UTF8},
		"UTF-8 with a mark":       {"\ufeff" + table, UTF8},
		"UTF-8 with two marks":    {"\ufeff\ufeff" + table, UTF8},
		"carriage returns":        {strings.ReplaceAll(table, "\n", "\r"), UTF8},
		"NULs":                    {strings.ReplaceAll(table, ";", ";\x00"), UTF8},
		"Windows":                 {encoded(charmap.Windows1252, strings.ReplaceAll(table, "\n", "\r\n")), Windows},
		"old Mac":                 {encoded(charmap.Macintosh, strings.ReplaceAll(table, "\n", "\r")), Windows},
		"Mac":                     {encoded(charmap.Macintosh, strings.ReplaceAll(table, "\n", "\r\n")), Windows},
		"DOS":                     {encoded(charmap.CodePage850, strings.ReplaceAll(table, "\n", "\r\n")), Windows},
		"UTF-16":                  {"\xff\xfe" + little, UTF16},
		"UTF-16 without a mark":   {little, UTF16},
		"UTF-16, the other order": {encoded(unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM), table), UTF16},
		"several":                 {"Nachname;Ort\nM\xfcller;Köln\nGroß;\xdcbersee\n", Mixed},
	} {
		got, f := entries(t, file.text)
		if want := []string{
			"lastName=Müller|address.city=Köln", "lastName=Groß|address.city=Übersee",
		}; !slices.Equal(got, want) || f.Encoding() != file.encoding {
			t.Errorf("%s: %q in %s, want %q in %s", name, got, f.Encoding(), want, file.encoding)
		}
	}
	for name, file := range map[string]struct{ text, want string }{
		"DOS whose first row has only ß": {
			encoded(charmap.CodePage850, "Nachname;Ort\nWeiß;Gießen\nMüller;Köln\n"),
			"lastName=Weiß|address.city=Gießen lastName=Müller|address.city=Köln",
		},
		"Central Europe": {
			encoded(charmap.Windows1250, "Nachname;Ort\nŁukasz Święty;Łódź\nMüller;Köln\n"),
			"lastName=Łukasz Święty|address.city=Łódź lastName=Müller|address.city=Köln",
		},
		"Spain in DOS": {
			encoded(charmap.CodePage850, "Nachname;Ort\nJesús;Müllheim\n"),
			"lastName=Jesús|address.city=Müllheim",
		},
		"squares in Windows": {
			encoded(charmap.Windows1252, "Nachname;Ort\nCœur²;§ 5, 12 m³, £5, Köln\n"),
			"lastName=Cœur²|address.city=§ 5, 12 m³, £5, Köln",
		},
	} {
		if got, _ := entries(t, file.text); strings.Join(got, " ") != file.want {
			t.Errorf("%s: %q, want %q", name, got, file.want)
		}
	}
	for _, value := range []struct{ bytes, charset, want string }{
		{"M\xfcller", "", "Müller"}, {"M\xfcller Köln", "", "Müller Köln"}, {"Köln\xff", "", "Kölnÿ"},
		{"\xcf\xf0\xe8\xe2\xe5\xf2", "windows-1251", "Привет"},
		{"Müller", "iso-8859-1", "Müller"}, {"\x8f", "", ""}, {"Stra\xdfe", "utf-8", "Straße"},
	} {
		if got := new(decoder).text([]byte(value.bytes), value.charset); got != value.want {
			t.Errorf("%q in %q became %q, want %q", value.bytes, value.charset, got, value.want)
		}
	}
	for _, file := range []string{"PK\x03\x04x", "\x89PNG\r\n", "%PDF-1.7", "\x01\x02\x03\x04"} {
		if _, err := Open(strings.NewReader(file)); !errors.Is(err, ErrNoTable) {
			t.Errorf("%q: %v", file, err)
		}
	}
}

// TestGuess checks the guessed targets of tables from several programs.
func TestGuess(t *testing.T) {
	for file, want := range map[string]string{
		"Vorname;Nachname;Telefon1;Telefon2;PLZ/Ort;Straße;Hausnummer":          "firstName lastName phone/1 phone/2 address.place address.street address.houseNumber",
		"First Name,Last Name,Title,Account Name,Email,Mailing City":            "firstName lastName jobTitle company email address.city/work",
		"Title,First Name,Last Name,Business Street,Home Street,E-mail Address": "title firstName lastName address.street/work address.street/home email",
		"Name;Vorname;Ort":                       "lastName firstName address.city",
		"Name;Ort":                               "name address.city",
		"Kunde;Irgendwas;Lfd. Nr.":               "name other -",
		"Vorname;Nachname;Anschrift;PLZ":         "firstName lastName address.street address.postalCode",
		"Vorname;Nachname;Anschrift":             "firstName lastName address.whole",
		"Prénom;Nom;Téléphone;Code postal;Ville": "firstName lastName phone address.postalCode address.city",
		"Nachname;A;B;C\nBerg;a@b.example;0171 1234567;https://a.example\n":                         "lastName email mobile website",
		"Anna Berg;anna@example.com;0221 987654;50667 Köln\nOtto Haas;o@example.com;;\n":            "name email phone address.place",
		"Nachname;geb. am\nBerg;01.02.1950\n":                                                       "lastName birthday",
		"Nachname;Fax gesch.;Konto-Nr.;Unser Zeichen;Az.\nA;0221 12;0123456789;0123/24-5;0815/25\n": "lastName fax/work other other other",
		"Name, Vorname;Tel. gesch.;Tel. priv.;Tel. mobil;Telefon d.;Geb.-Dat.":                      "name/last first phone/work phone/home mobile phone/work birthday",
		"Mandant (Nachname);Vorname;Kd.-Nr.;Länderkennz.;E-Mail (priv.);FaxPrivat":                  "lastName firstName externalId address.country email/home fax/home",
		"Nachname/Firma;Vorname;Firma/Telefon;Tel./Fax;Geb.-Ort;Straße priv.;PLZ priv.":             "lastName/name 1 firstName phone/company phone other address.street/home address.postalCode/home",
		"KUNNR;ANRED;NAME1;NAME2;STRAS;PSTLZ;ORT01;LAND1;TELF1;TELFX;SMTP_ADDR":                     "externalId salutation lastName/name 1 nameSuffix/name 2 address.street address.postalCode address.city address.country phone/1 fax email",
		"Nachname;Straße;Nr.;PLZ;Ort\nBerg;Ring;7;50667;Köln\n":                                     "lastName address.street address.houseNumber address.postalCode address.city",
		"Nr.;Nachname;Straße\n1;Berg;Ring 7\n2;Haas;Ring 8\n":                                       "- lastName address.street",
		"Nr.;Nachname\n4711;Berg\n4713;Haas\n":                                                      "other lastName",
		"Nachname;Betreuer;Rückrufnummer\nBerg;a@b.example;0221 987654\n":                           "lastName other other",
		"Nachname;Feld;X\nBerg;0221 987654;01.02.1950\n":                                            "lastName phone other",
		"Anna Berg;01.02.1950;0221 987654\nOtto Haas;03.04.1960;0221 987655\n":                      "name birthday phone",
		"Liste\nvon gestern 1\n\nVorname;Nachname;E-Mail\nA;B;c@d.example\n":                        "firstName lastName email",
	} {
		_, f := entries(t, file)
		var got []string
		for _, c := range f.Columns {
			text := c.Member
			if text == "" {
				text = "-"
			}
			if c.Slot != "" {
				text += "/" + c.Slot
			}
			got = append(got, text)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%.60q: %s, want %s", file, strings.Join(got, " "), want)
		}
	}
}
