package book_test

import (
	"strings"
	"testing"

	"kartei/web/book"
)

// TestCardHasAdditionalValues checks the lines of vCards for additional values and attributes.
func TestCardHasAdditionalValues(t *testing.T) {
	const record = `{"object":"contact","id":"con_1","lastName":"Berg","email":"a@b.example",
		"phone":"+49 221 1234567","mobile":null,
		"address":{"street":"Weg 1","postalCode":"50667","city":"Köln","region":null,"country":"DE"},
		"additionalEmails":[{"email":"h@b.example","label":"home"},{"email":"o@b.example","label":"other"},
			{"email":"n@b.example","label":null}],
		"additionalPhones":[{"phone":"+492217654321","label":"fax"},{"phone":"0171 1234567","label":"mobile"},
			{"phone":"0221 1234568","label":"Büro \"Süd\""}],
		"additionalAddresses":[{"street":null,"postalCode":null,"city":"Bonn","region":null,"country":"AT",
			"label":"home"}],
		"attributes":{"crmStage":"won; a\nb"}}`
	for old, want := range map[bool]string{
		false: `TEL;TYPE=work;PREF=1;VALUE=uri;X-KARTEI-TYPED="+49 221 1234567":tel:+492211234567
TEL;TYPE=fax;X-KARTEI-LABEL="fax";VALUE=uri:tel:+492217654321
TEL;TYPE=cell;X-KARTEI-LABEL="mobile";VALUE=uri;X-KARTEI-TYPED="0171 1234567":tel:+491711234567
item1.X-ABLabel:Büro "Süd"
item1.TEL;X-KARTEI-LABEL="Büro ^'Süd^'";VALUE=uri;X-KARTEI-TYPED="0221 1234568":tel:+492211234568
EMAIL;PREF=1:a@b.example
EMAIL;TYPE=home;X-KARTEI-LABEL="home":h@b.example
item2.X-ABLabel:_$!<Other>!$_
item2.EMAIL;X-KARTEI-LABEL="other":o@b.example
EMAIL;X-KARTEI-LABEL="":n@b.example
ADR;TYPE=work;PREF=1:;;Weg 1;Köln;;50667;Germany
ADR;TYPE=home;X-KARTEI-LABEL="home":;;;Bonn;;;Austria
UID:con_1
X-KARTEI-ATTRIBUTE:{"crmStage":"won; a\\nb"}
`,
		true: `TEL;TYPE=work,pref;X-KARTEI-TYPED="+49 221 1234567":+492211234567
TEL;TYPE=fax;X-KARTEI-LABEL="fax":+492217654321
TEL;TYPE=cell;X-KARTEI-LABEL="mobile";X-KARTEI-TYPED="0171 1234567":+491711234567
item1.X-ABLabel:Büro "Süd"
item1.TEL;X-KARTEI-LABEL="Büro ^'Süd^'";X-KARTEI-TYPED="0221 1234568":+492211234568
EMAIL;TYPE=pref:a@b.example
`,
	} {
		card, err := book.Card([]byte(record), "", old)
		if err != nil {
			t.Fatal(err)
		}
		if card = strings.NewReplacer("\r\n ", "", "\r\n", "\n").Replace(card); !strings.Contains(card, want) {
			t.Errorf("%s\nwant\n%s", card, want)
		}
	}
}
