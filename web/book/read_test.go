package book_test

import (
	"slices"
	"strings"
	"testing"

	govcard "github.com/emersion/go-vcard"

	"kartei/web/book"
)

// TestOthersReadCards checks that go-vcard reads all names, emails, numbers and addresses of a card, with their
// labels. ci/addressbooks.sh does so with khard.
func TestOthersReadCards(t *testing.T) {
	record := `{"object":"contact","id":"con_1","lastName":"Groß-Berg","firstName":"Änne Maria","title":"Dr.",
		"nameSuffix":"LL.M.","jobTitle":"Syndika","department":"Recht, Verträge","birthday":"1984-05-17",
		"email":"a@b.example","phone":"+49 221 700001","mobile":"0171 7000002","website":"https://b.example/a?b=c,d",
		"note":"Ablage: C:\\Akten, Schrank 3\n\n` + strings.TrimSpace(strings.Repeat("wünscht einen Rückruf ", 20)) + `",
		"address":{"street":"Königsallee 1, 2. OG","postalCode":"40212","city":"Düsseldorf","region":null,"country":"DE"},
		"additionalEmails":[{"email":"h@b.example","label":"home"},{"email":"k@b.example","label":"Kanzlei"},
			{"email":"n@b.example","label":null}],
		"additionalPhones":[{"phone":"0221 700005","label":"fax"},{"phone":"0160 7000006","label":"mobile"},
			{"phone":"0228 700007","label":"home"},{"phone":"0221 700008","label":"Sekretariat"}],
		"additionalAddresses":[{"street":"Rue de l'Église 3","postalCode":"1458","city":"Luxembourg","region":null,
			"country":"LU","label":"Ferienhaus"}]}`
	for version, phones := range map[string][]string{
		"3.0": {
			"cell,pref +491717000002", "work,pref +49221700001", "fax +49221700005", "cell +491607000006", "home +49228700007",
			"Sekretariat +49221700008",
		},
		"4.0": {
			"cell tel:+491717000002", "work tel:+49221700001", "fax tel:+49221700005", "cell tel:+491607000006", "home tel:+49228700007",
			"Sekretariat tel:+49221700008",
		},
	} {
		file, err := book.Card([]byte(record), "Berg & Söhne GmbH", version == "3.0")
		if err != nil {
			t.Fatal(err)
		}
		card, err := govcard.NewDecoder(strings.NewReader(file)).Decode()
		if err != nil {
			t.Fatal(err)
		}
		n := card.Name()
		a := card.Addresses()
		got := []string{
			card.Value("VERSION"), n.FamilyName, n.GivenName, n.HonorificPrefix, n.HonorificSuffix, card.Value("ORG"),
			card.Value("TITLE"), strings.ReplaceAll(card.Value("BDAY"), "-", ""), card.Value("URL"),
			a[0].StreetAddress, a[0].PostalCode, a[0].Locality, a[1].StreetAddress, a[1].Locality, label(card, a[1].Field),
		}
		want := []string{
			version, "Groß-Berg", "Änne Maria", "Dr.", "LL.M.", "Berg & Söhne GmbH;Recht, Verträge",
			"Syndika", "19840517", "https://b.example/a?b=c%2Cd",
			"Königsallee 1, 2. OG", "40212", "Düsseldorf", "Rue de l'Église 3", "Luxembourg", "Ferienhaus",
		}
		if !slices.Equal(got, want) {
			t.Errorf("version %s: %q, want %q", version, got, want)
		}
		emails := []string{" a@b.example", "home h@b.example", "Kanzlei k@b.example", " n@b.example"}
		if version == "3.0" {
			emails[0] = "pref a@b.example"
		}
		if got := labelled(card, "EMAIL"); !slices.Equal(got, emails) {
			t.Errorf("version %s: %q, want %q", version, got, emails)
		}
		if got := labelled(card, "TEL"); !slices.Equal(got, phones) {
			t.Errorf("version %s: %q, want %q", version, got, phones)
		}
		if note := card.Value("NOTE"); len(note) < 300 || !strings.HasPrefix(note, "Ablage: C:\\Akten, Schrank 3\n\nwünscht") {
			t.Errorf("version %s: the note is %q", version, note)
		}
	}
}

// label returns the label of a value: its types, or the X-ABLabel of its group.
func label(card govcard.Card, f *govcard.Field) string {
	for _, l := range card["X-ABLABEL"] {
		if f.Group != "" && l.Group == f.Group {
			return l.Value
		}
	}
	return strings.Join(f.Params.Types(), ",")
}

func labelled(card govcard.Card, name string) (values []string) {
	for _, f := range card[name] {
		values = append(values, label(card, f)+" "+f.Value)
	}
	return values
}
