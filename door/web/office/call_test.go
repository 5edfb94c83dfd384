package office_test

import (
	"net/url"
	"testing"

	"kartei/access"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
)

// TestCall opens the page of a caller, with the number as telephones send it.
func TestCall(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d, apitest.Replicas(1))
		b, c := open(t, o, access.Member), o.As(access.Member)
		create := func(family string, members map[string]any) string {
			t.Helper()
			return "/sandbox/" + family + "/" + c.Do("POST", "/"+family, members).Want(201).Text("id")
		}
		berg := create("contacts", map[string]any{"lastName": "Berg", "mobile": "0176 04069063"})
		create("contacts", map[string]any{"lastName": "Kollegin", "note": "Vertretung: 0176 04069063"})
		office := create("companies", map[string]any{"name": "Rheinbau", "phone": "0221 98765-0"})
		two := "0221 5566778"
		create("contacts", map[string]any{"lastName": "Zwilling-Eins", "phone": two})
		create("contacts", map[string]any{"lastName": "Zwilling-Zwei", "phone": two})
		for number, want := range map[string]string{
			"+4917604069063": berg, "4917604069063": berg, "017604069063": berg, // a plus sign in an address is a space
			"+492219876512": office, "022198765-0": office,
			"+49301234567": "/sandbox/contacts/new?phone=" + url.QueryEscape("+49301234567"),
		} {
			b.get("/sandbox/call?number="+url.QueryEscape(number)).want(200, `data-address="`+want+`"`)
		}
		b.get("/sandbox/call?number=+4917604069063").want(200, `data-address="`+berg+`"`) // a plus sign that is not escaped
		b.get("/sandbox/call?number="+url.QueryEscape(two)).want(200, "Zwilling-Eins", "Zwilling-Zwei")
	})
}
