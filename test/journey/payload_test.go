package journey

import (
	"strings"
	"testing"

	"kartei/test/dbtest"
	"kartei/test/webtest"
)

// payloads are what an attacker stores in fields, hoping that a page takes it for
// markup. Each would call stolen, or send a request to /stolen.
var payloads = []string{
	`"><img src=x onerror=stolen()>`,
	`<script>stolen()</script>`,
	`'><svg onload=stolen()>`,
	`<a hx-get=/stolen hx-trigger=load>`,
	`<b hx-on:load=stolen()>`,
	`</title><script>stolen()</script>`,
	`{{stolen()}}${stolen()}`,
	"javascript:stolen()",
}

// poisoned returns a change of each family that puts a payload into every member
// that takes any text.
func poisoned(payload string) map[string]map[string]any {
	short := payload[:min(len(payload), 50)] // numbers of telephones are shorter
	address := map[string]any{"street": payload, "postalCode": "50667", "city": payload, "region": payload, "country": "DE"}
	return map[string]map[string]any{
		"contacts": {
			"title": payload, "firstName": payload, "lastName": payload, "phone": short, "mobile": short, "jobTitle": payload,
			"note": payload + "\n" + payload, "address": address, "tags": []string{short}, "externalId": payload,
		},
		"companies": {
			"name": payload, "legalForm": payload, "phone": short, "vatId": payload, "registerNumber": payload, "note": payload, "address": address,
			"tags": []string{short}, "externalId": payload,
		},
		"tasks":     {"title": payload, "description": payload, "tags": []string{short}},
		"documents": {"name": noPath.Replace(payload) + ".pdf", "tags": []string{short}},
	}
}

// noPath removes what the name of a file must not contain.
var noPath = strings.NewReplacer("/", "", `\`, "")

// Whatever a field holds, no page runs it, and no page sends a request for it. The
// payloads are in every field of a record of each family, in the name of the person
// and in that of the office.
func TestStoredPayloads(t *testing.T) {
	whole(t)
	o := Open(t, dbtest.SQLiteURL(t), Documents())
	tab := o.SignedIn(o.Helene(), webtest.View{Width: 1280})
	pages := o.sheets(t, o.visitor(o.Helene()))
	ids := map[string]string{}
	for family := range poisoned("") {
		ids[family] = o.First(family)
	}
	for _, payload := range payloads {
		o.poison(ids, payload)
		for _, p := range pages {
			address := p.address
			tab.Open(o.BaseURL + address)
			if said := tab.Console(); len(said) > 0 {
				t.Errorf("%s with %q: the console says %q", address, payload, said)
			}
			for _, file := range tab.Transfers() {
				if strings.Contains(file.Name, "stolen") && !strings.Contains(file.Name, "q=") {
					t.Errorf("%s with %q: it loads %s", address, payload, file.Name)
				}
			}
			if n := webtest.Eval[int](tab, `document.querySelectorAll("main [onerror], main [onload], main script, main [hx-get='/stolen'], main [href^='javascript']").length`); n > 0 {
				t.Errorf("%s with %q: %d elements of the payload are in the page", address, payload, n)
			}
		}
	}
}

// poison puts a payload into the records, and into the names.
func (o *Office) poison(ids map[string]string, payload string) {
	o.Helper()
	for family, change := range poisoned(payload) {
		o.Call("PATCH", "/"+family+"/"+ids[family], change, nil)
	}
	dbtest.Run(o.TB, o.DB, `update principals set name = $1 where id = $2`, payload, o.Helene())
	dbtest.Run(o.TB, o.DB, `update organizations set name = $1 where id = $2`, payload, o.OrganizationID)
	o.Directory.Forget()
}
