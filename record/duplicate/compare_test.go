package duplicate

import (
	"reflect"
	"slices"
	"testing"

	"kartei/record"
	"kartei/record/company"
	"kartei/record/contact"
)

func TestCologne(t *testing.T) {
	for word, want := range map[string]string{
		"mullerludenscheidt": "65752682", "wikipedia": "3412", "breschnew": "17863", "heinz": "068", "xaver": "4837",
		"meier": "67", "mayr": "67", "schmidt": "862", "schmitt": "862", "philipp": "351", "claudia": "452",
		"celle": "85",
		"":      "", "ахматова": "",
	} {
		if got := cologne(word); got != want {
			t.Errorf("%s: %s, want %s", word, got, want)
		}
	}
}

func TestSoundsAlike(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"meier", "mayr", true}, {"meyer", "maier", true}, {"schmidt", "schmid", true}, {"stefan", "stephan", true},
		{"hoffmann", "hofmann", true}, {"walter", "walther", true}, {"schneider", "scheider", true},
		{"schneider", "schnieder", true},
		{"meier", "mohr", false}, {"berg", "burg", false}, {"jan", "jana", false}, {"michal", "michala", false},
		{"koch", "loch", false}, {"anna", "peter", false},
	} {
		if got := soundsAlike(c.a, c.b); got != c.want || soundsAlike(c.b, c.a) != got {
			t.Errorf("%s and %s: %t", c.a, c.b, got)
		}
	}
}

func TestEdits(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"berg", "berg", 0}, {"berg", "brg", 1}, {"berg", "bregg", 2}, {"berg", "breg", 1}, {"berg", "", 3}, {"ab",
		"ba", 1}, {"日本", "日木", 1}} {
		if got := edits(c.a, c.b, 2); got != c.want || edits(c.b, c.a, 2) != got {
			t.Errorf("%s and %s: %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

func TestCompanyName(t *testing.T) {
	for name, want := range map[string][]string{
		"Müller Bau GmbH": {"muller bau", "gmbh"},
		"Müller Bau Gesellschaft mit beschränkter Haftung":      {"muller bau", "gmbh"},
		"Mueller Bau G.m.b.H.":                                  {"muller bau", "gmbh"},
		"Müller Bau GmbH & Co. KG":                              {"muller bau", "gmbh kg"},
		"Müller Bau UG (haftungsbeschränkt)":                    {"muller bau", "ug"},
		"Turnverein Köln e. V.":                                 {"turnverein koln", "ev"},
		"Sparkasse":                                             {"sparkasse", ""},
		"GmbH":                                                  {"gmbh", "gmbh"},
		"Berg und Tal Partnerschaftsgesellschaft":               {"berg tal", "partg"},
		"Rechtsanwälte Berg Partnerschaftsgesellschaft mbB":     {"rechtsanwalte berg", "partg"},
		"Tal offene Handelsgesellschaft":                        {"tal", "ohg"},
		"Unternehmergesellschaft (haftungsbeschränkt) Berg":     {"berg", "ug"},
		"Ferien Gesellschaft des bürgerlichen Rechts Sonnblick": {"ferien sonnblick", "gbr"},
	} {
		words, form := companyName(name)
		if got := []string{join(words), form}; !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func join(words []string) string {
	text := ""
	for i, w := range words {
		if i > 0 {
			text += " "
		}
		text += w
	}
	return text
}

func TestDivide(t *testing.T) {
	for name, want := range map[string][2]string{
		"Anna Berg": {"Anna", "Berg"}, "Berg, Anna": {"Anna", "Berg"}, "Anna Maria von der Berg": {"Anna Maria",
			"von der Berg"},
		"Berg": {"", "Berg"}, "von Berg": {"", "von Berg"}, "": {"", ""}, "Berg, Dr.": {"", "Berg"},
	} {
		if first, last := divide(name); [2]string{first, last} != want {
			t.Errorf("%q: %q, %q", name, first, last)
		}
	}
}

func TestNumbers(t *testing.T) {
	for typed, want := range map[string][]number{
		"0221 9876543":              {{"49", "2219876543"}},
		"+49 (0)221/98765-43":       {{"49", "2219876543"}},
		"0049 221 9876543":          {{"49", "2219876543"}},
		"0221 4711 / 0171 1234567":  {{"49", "2214711"}, {"49", "1711234567"}},
		"0221 47110 / 0171 1234567": {{"49", "22147110"}, {"49", "1711234567"}},
		"+43 1 5321234":             {{"43", "15321234"}},
		"221 9876543":               {{"", "2219876543"}},
		"110":                       nil,
		"nach 18 Uhr":               nil,
	} {
		s := &Subject{}
		s.addNumber(typed, "DE")
		if !slices.Equal(s.numbers, want) {
			t.Errorf("%s: %v, want %v", typed, s.numbers, want)
		}
	}
	if (number{"43", "2219876543"}).same(number{"49", "2219876543"}) || !(number{"", "2219876543"}).same(number{"49",
		"2219876543"}) {
		t.Error("numbers of two countries")
	}
}

// person returns a contact of pairs of a letter and a value: f and l for the names, s for the suffix, e
// and m and p for email and numbers, b for the birthday, c for the city, z for the postal code, x for
// the external id.
func person(pairs ...string) *Subject {
	f := &contact.Fields{}
	for i := 0; i < len(pairs); i += 2 {
		value := &pairs[i+1]
		switch pairs[i] {
		case "f":
			f.FirstName = value
		case "l":
			f.LastName = value
		case "s":
			f.NameSuffix = value
		case "e":
			f.Email = value
		case "m":
			f.Mobile = value
		case "p":
			f.Phone = value
		case "b":
			f.Birthday = value
		case "x":
			f.ExternalID = value
		case "merged":
			f.Attributes = record.Attributes{"mergedExternalId": *value}
		case "c", "z":
			if f.Address == nil {
				f.Address = &record.Address{}
			}
			if pairs[i] == "c" {
				f.Address.City = value
			} else {
				f.Address.PostalCode = value
			}
		}
	}
	return OfContact(f)
}

func TestComparePeople(t *testing.T) {
	twin := []string{"l", "Berg", "b", "1984-05-17", "c", "Köln", "z", "50667", "p", "0221 987654", "e",
		"familie.berg@mail.example"}
	with := func(list []string, more ...string) *Subject { return person(slices.Concat(list, more)...) }
	for _, c := range []struct {
		name string
		a, b *Subject
		want Match
	}{
		{"the same email", person("f", "Anna", "l", "Berg", "e", "Anna.Berg@mail.example"), person("f", "anna", "l",
			"BERG", "e", "anna.berg@mail.example"),
			Match{Sure, []Reason{Email, Name}}},
		{"an email and no name", person("f", "Anna", "l", "Berg", "e", "anna@mail.example"), person("e",
			"anna@mail.example"), Match{Likely, []Reason{Email}}},
		{"a mailbox and other names", person("f", "Anna", "l", "Berg", "e", "info@kanzlei.example"), person("f",
			"Karl", "l", "Tal", "e", "info@kanzlei.example"), Match{}},
		{"a mailbox and one name", person("f", "Anna", "l", "Berg", "e", "info@kanzlei.example"), person("f", "Anna",
			"l", "Berg", "e", "info@kanzlei.example"),
			Match{Likely, []Reason{Email, Name}}},
		{"twins", with(twin, "f", "Anna"), with(twin, "f", "Karla"), Match{}},
		{"twins with similar names", with(twin, "f", "Hannah"), with(twin, "f", "Hanna"), Match{Likely,
			[]Reason{Email, Number, NearName, Birthday, City}}},
		{"father and son", person("f", "Hans", "l", "Berg", "p", "0221 987654", "c", "Köln", "b", "1950-01-02"),
			person("f", "Hans", "l", "Berg", "p", "0221 987654", "c", "Köln", "b", "1980-03-04"), Match{Possible,
				[]Reason{Number, Name, City}}},
		{"father and son with one email", person("f", "Hans", "l", "Berg", "e", "hans@berg.example", "b", "1950-01-02"),
			person("f", "Hans", "l", "Berg", "e", "hans@berg.example", "b", "1980-03-04"), Match{Likely,
				[]Reason{Email, Name}}},
		{"senior and junior", person("f", "Hans", "l", "Berg sen.", "e", "hans@berg.example"), person("f", "Hans",
			"l", "Berg", "s", "jun.", "e", "hans@berg.example"),
			Match{Likely, []Reason{Email, Name}}},
		{"married", person("f", "Anna", "l", "Berg", "b", "1984-05-17", "c", "Köln"), person("f", "Anna", "l", "Tal",
			"b", "1984-05-17", "c", "Köln"),
			Match{Likely, []Reason{MaidenName, Birthday, City}}},
		{"one birthday", person("f", "Anna", "l", "Berg", "b", "1984-05-17"), person("f", "Anna", "l", "Tal", "b",
			"1984-05-17"),
			Match{Possible, []Reason{MaidenName, Birthday}}},
		{"namesakes", person("f", "Anna", "l", "Berg", "c", "Köln"), person("f", "Anna", "l", "Berg", "c", "Bonn"),
			Match{}},
		{"only a name", person("f", "Anna", "l", "Berg", "c", "Köln"), person("f", "Anna", "l", "Berg"),
			Match{Possible, []Reason{Name}}},
		{"one city", person("f", "Anna", "l", "Berg", "c", "Frankfurt am Main"), person("l", "Berg, Anna", "c",
			"Frankfurt"), Match{Likely, []Reason{Name, City}}},
		{"two systems", person("f", "Anna", "l", "Berg", "x", "A-1", "e", "anna@mail.example"), person("f", "Anna",
			"l", "Berg", "x", "77", "e", "anna@mail.example"),
			Match{Sure, []Reason{Email, Name}}},
		{"a merged id", person("f", "Anna", "l", "Berg", "x", "A-1"), person("f", "Anna", "l", "Berg", "x", "77",
			"merged", "a-1"), Match{Sure, []Reason{ExternalID, Name}}},
		{"a spelling and a mobile number", person("f", "Anna", "l", "Meier", "m", "0171 1234567"), person("f", "Anna",
			"l", "Mayr", "m", "+49 171 1234567"),
			Match{Likely, []Reason{Number, NearName}}},
		{"exchanged", person("f", "Berg", "l", "Anna", "m", "0171 1234567"), person("f", "Anna", "l", "Berg", "m",
			"0171 1234567"), Match{Sure, []Reason{Number, Name}}},
		{"a number of an office", person("f", "Anna", "l", "Berg", "p", "0221 987654"), person("f", "Karl", "l",
			"Tal", "p", "0221 987654"), Match{}},
		{"a spelling alone", person("f", "Anna", "l", "Meier"), person("f", "Anna", "l", "Mayr"), Match{}},
		{"nothing", person("f", "Anna"), person("l", "Tal"), Match{}},
	} {
		got, match := Compare(c.a, c.b)
		if !reflect.DeepEqual(got, c.want) || match != (c.want.Strength != "") {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
		if back, _ := Compare(c.b, c.a); !reflect.DeepEqual(back, got) {
			t.Errorf("%s: the other way round %v", c.name, back)
		}
		if match && !slices.ContainsFunc(c.a.Keys(), func(k int64) bool { return slices.Contains(c.b.Keys(), k) }) {
			t.Errorf("%s: no common key", c.name)
		}
	}
}

func TestCompareCompanies(t *testing.T) {
	firm := func(name string, more func(*company.Fields)) *Subject {
		f := &company.Fields{Name: name}
		if more != nil {
			more(f)
		}
		return OfCompany(f)
	}
	number := func(f *company.Fields) { f.Phone = new("0221 987654") }
	for _, c := range []struct {
		name string
		a, b *Subject
		want Match
	}{
		{"two notations", firm("Rheinbau GmbH", number), firm("Rhein-Bau Gesellschaft mit beschränkter Haftung",
			number), Match{Sure, []Reason{Number, Name}}},
		{"two legal forms", firm("Rheinbau GmbH", number), firm("Rheinbau GmbH & Co. KG", number), Match{Likely,
			[]Reason{Number, Name}}},
		{"a form in its own member", firm("Rheinbau", func(f *company.Fields) { number(f); f.LegalForm = new("AG") }),
			firm("Rheinbau GmbH", number),
			Match{Likely, []Reason{Number, Name}}},
		{"a group", firm("Berg Holding GmbH", number), firm("Berg Transporte GmbH", number), Match{}},
		{"one VAT id", firm("Rheinbau", func(f *company.Fields) { f.VatID = new("DE 123456789") }),
			firm("Rheinbau AG", func(f *company.Fields) { f.VatID = new("de123456789") }),
			Match{Sure, []Reason{Registration, Name}}},
		{"another name", firm("Rheinbau", nil), firm("Moselbau", nil), Match{}},
		{"a typing error and a number", firm("Brauhaus Morgenstern", number), firm("Brauhaus Morgenstren", number),
			Match{Likely, []Reason{Number, NearName}}},
	} {
		if got, _ := Compare(c.a, c.b); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	if _, match := Compare(firm("Berg", number), person("l", "Berg", "p", "0221 987654")); match {
		t.Error("a company and a person match")
	}
}

// TestFaxRecognizesNobody checks that the number of a fax is no common number.
func TestFaxRecognizesNobody(t *testing.T) {
	fax := contact.Fields{LastName: new("Berg"), FirstName: new("Anna"), Additional: record.Additional{
		AdditionalPhones: []record.AdditionalPhone{{Phone: "0221 987654", Label: new("fax")}, {Phone: "0221 111111"}},
		AdditionalEmails: []record.AdditionalEmail{{Email: "anna@zuhause.example"}},
	}}
	s := OfContact(&fax)
	if len(s.numbers) != 1 || s.numbers[0].national != "221111111" || len(s.emails) != 1 {
		t.Errorf("%+v", s)
	}
}
