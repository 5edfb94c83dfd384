package book_test

import (
	"net/url"
	"testing"

	"kartei/access"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/test/pagetest"
)

// TestCall checks the page of a call for the formats in which telephones send numbers.
func TestCall(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d, apitest.Replicas(1))
		b, c := pagetest.Open(t, o, access.Member), o.As(access.Member)
		create := func(family string, members map[string]any) string {
			t.Helper()
			return "/sandbox/" + family + "/" + c.Do("POST", "/"+family, members).Want(201).Text("id")
		}
		berg := create("contacts", map[string]any{"lastName": "Berg", "mobile": "0176 04069063"})
		create("contacts", map[string]any{"lastName": "Kollegin", "note": "Vertretung: 0176 04069063"})
		office := create("companies", map[string]any{"name": "Rheinbau", "phone": "0221 98765-0"})
		bonn := create("contacts", map[string]any{"lastName": "Bonn", "phone": "0228 7654321"})
		two := "0221 5566778"
		create("contacts", map[string]any{"lastName": "Zwilling-Eins", "phone": two})
		create("contacts", map[string]any{"lastName": "Zwilling-Zwei", "phone": two})
		for number, want := range map[string]string{
			"+4917604069063": berg, "4917604069063": berg, "017604069063": berg, // a plus sign in a query means a space
			"+492219876512": office, "022198765-0": office,
			// Numbers as tel: and sip: addresses, and a number without an area code.
			"sip:+4917604069063@pbx.example": berg, "tel:+49-176-04069063": berg, `"Ring Ruf" <sip:017604069063@fritz.box>`: berg, "sip:17604069063@pbx.example": berg,
			"tel:04069063;phone-context=+49176": berg, "sip:%2B4917604069063@pbx.example;user=phone": berg, "\u202a+4917604069063\u202c": berg, "7654321": bonn,
		} {
			b.Get("/sandbox/call?number="+url.QueryEscape(number)).Want(200, `data-address="`+want+`"`)
		}
		b.Get("/sandbox/call?number=+4917604069063").Want(200, `data-address="`+berg+`"`) // an unescaped plus sign
		b.Get("/sandbox/call?number=sip:+4917604069063@pbx.example").Want(200, `data-address="`+berg+`"`)
		b.Get("/sandbox/call?number="+url.QueryEscape(two)).Want(200, "Zwilling-Eins", "Zwilling-Zwei")
		b.Get("/sandbox/call?number=5566778").Want(200, "Zwilling-Eins", "Zwilling-Zwei")
		// A number that ends with these digits may belong to another person.
		b.Get("/sandbox/call?number=654321").Want(200, "Bonn").Without(`data-address="` + bonn + `"`)
		b.Get("/sandbox/call?number=sip:anonymous@anonymous.invalid").Want(200, "Keine Nummer")

		// For an unknown number, the page shows the country, and offers to create or complete a
		// contact.
		unknown := url.QueryEscape("+43 1 5556667")
		b.Get("/sandbox/call?number="+unknown).Want(200, "+43 1 5556667", "Österreich", "Kontakt anlegen", `/sandbox/contacts/new?phone=`, "Zu einem vorhandenen Kontakt hinzufügen")
		b.Get("/sandbox/call?number="+unknown+"&q=Zwilling-Eins").Want(200, "Zwilling-Eins", "/edit?caller=").Without("Zwilling-Zwei")
		b.Get(berg+"/edit?caller="+unknown).Want(200, `value="+43 1 5556667"`, `value="0176 04069063"`)
		b.Get(bonn+"/edit?caller="+unknown).Want(200, `value="+43 1 5556667"`, `value="0228 7654321"`)
	})
}
