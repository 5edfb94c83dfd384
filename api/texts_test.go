package api_test

import (
	"net/url"
	"strings"
	"testing"

	"kartei/access"
	"kartei/test/apitest"
)

// TestDeceptiveTexts checks that a single-line text must not change the direction of writing or
// consist of invisible characters. This holds for created and patched records of all families.
// Multi-line texts and other scripts are not restricted.
func TestDeceptiveTexts(t *testing.T) {
	c := office(t).As(access.Member)
	contact := c.Do("POST", "/contacts", `{"lastName":"Berg"}`).Want(201).Text("id")
	document := c.Document("a.txt", "text/plain", []byte("Text"))
	for _, test := range []struct{ method, path, body, field string }{
		{"POST", "/contacts", `{"lastName":"§"}`, "lastName"},
		{"POST", "/contacts", `{"lastName":"Berg","firstName":"§"}`, "firstName"},
		{"POST", "/contacts", `{"lastName":"Berg","address":{"city":"§"}}`, "address.city"},
		{"POST", "/contacts", `{"lastName":"Berg","tags":["a","§"]}`, "tags[1]"},
		{"POST", "/contacts", `{"lastName":"Berg","title":"§"}`, "title"},
		{"PATCH", "/contacts/" + contact, `{"jobTitle":"§"}`, "jobTitle"},
		{"POST", "/companies", `{"name":"§"}`, "name"},
		{"POST", "/companies", `{"name":"Brauhaus","legalForm":"§"}`, "legalForm"},
		{"POST", "/tasks", `{"title":"§"}`, "title"},
		{"PATCH", "/documents/" + document, `{"name":"§"}`, "name"},
		{"POST", "/uploads", `{"fileName":"§","contentType":"text/plain","size":1}`, "fileName"},
		{"POST", "/webhook_endpoints", `{"name":"§","url":"https://hook.example/","eventTypes":["contact.created"]}`, "name"},
	} {
		for name, text := range map[string]string{
			"override": "Anna\u202egreB", "isolate": "\u2067Berg\u2069", "mark": "Berg\u200f",
			"zero width": "\u200b", "joiners": "\u200d\u2060\ufeff", "filler": "\u3164", "soft hyphen": "\u00ad \u00ad",
			"Braille": "\u2800", "selector": "\ufe0f", "lines": "Anna\u2028Berg", "private": "\ue000", "accent alone": "\u0301",
		} {
			a := c.Do(test.method, test.path, strings.Replace(test.body, "§", text, 1), "If-Match", "*", "Accept-Language", "en")
			a.Want(422, "VALIDATION_FAILED")
			wantFields(t, a, test.field+" INVALID_FORMAT")
			if t.Failed() {
				t.Fatalf("%s %s, %s: %s", test.method, test.path, name, a.Body)
			}
		}
	}
	// Escaped characters are refused too.
	wantFields(t, c.Do("POST", "/contacts", `{"lastName":"\u202Eabc"}`).Want(422, "VALIDATION_FAILED"),
		"lastName INVALID_FORMAT")
	// One response has all errors, also the errors of the schema.
	wantFields(t, c.Do("POST", "/contacts", `{"firstName":"\u200b","lastName":"\u202Eabc","email":"no"}`).Want(422),
		"firstName INVALID_FORMAT", "lastName INVALID_FORMAT", "email INVALID_FORMAT")
	for _, body := range []string{
		`{"lastName":"נועה כהן"}`, `{"lastName":"山田 太郎"}`, `{"lastName":"می\u200cخواهم"}`, `{"lastName":"👩\u200d💻"}`,
		`{"lastName":"Müller-Lüdenscheidt"}`,
		`{"lastName":"Berg","note":"\u2067שלום\u2069"}`,
	} {
		c.Do("POST", "/contacts", body).Want(201)
	}
}

// TestInvisibleCharacters sends numbers and addresses with invisible characters, as copied from
// address books and web pages. It checks that these characters are not stored, and that a search
// for such a text finds the record.
func TestInvisibleCharacters(t *testing.T) {
	c := rc(t).As(access.Member)
	sent := `{"lastName":"Paste","phone":"\u202a+49 221 123456\u202c","mobile":"\u200e0171 1234567\u00ad","email":"eva@b16.example\u200b",
		"birthday":"\u200e1984-05-17","address":{"postalCode":"50\u2060667\ufeff"}}`
	created := c.Do("POST", "/contacts", sent).Want(201)
	for member, want := range map[string]string{
		"phone": "+49 221 123456", "mobile": "0171 1234567", "email": "eva@b16.example",
		"birthday": "1984-05-17",
	} {
		if got := created.Text(member); got != want {
			t.Errorf("%s is %q, want %q", member, got, want)
		}
	}
	code := func(a *apitest.Answer) any { return a.JSON()["address"].(map[string]any)["postalCode"] }
	if got := code(created); got != "50667" {
		t.Errorf("the postal code is %q", got)
	}
	path := "/contacts/" + created.Text("id")
	changed := c.Do("PATCH", path, `{"phone":"\u202d0221 778899\u202c","address":{"postalCode":"\u200b50668"}}`,
		"If-Match", "*").Want(200)
	if phone := changed.Text("phone"); phone != "0221 778899" || code(changed) != "50668" {
		t.Errorf("changed to %q and %q", phone, code(changed))
	}
	if n := len(c.Do("GET", "/contacts?email="+url.QueryEscape("\u2066eva@b16.example\u2069"), nil, "Svc-Version",
		"2027-02-01").Want(200).Data()); n != 1 {
		t.Errorf("the address with such characters filters %d contacts, want 1", n)
	}
	firm := c.Do("POST", "/companies", `{"name":"Rheinbau","website":"https://rheinbau.example/\u200b","vatId":"DE\u00ad123456789"}`).Want(201)
	if website, vat := firm.Text("website"), firm.Text("vatId"); website != "https://rheinbau.example/" ||
		vat != "DE123456789" {
		t.Errorf("the company has %q and %q", website, vat)
	}
	// A telephone number that consists only of invisible characters is refused.
	wantFields(t, c.Do("POST", "/contacts", `{"lastName":"Leer","phone":"\u202a\u202c"}`).Want(422), "phone TOO_SHORT")
}

// TestSearchAsTyped searches for names as people type them, and for numbers as telephones send
// them.
func TestSearchAsTyped(t *testing.T) {
	c := office(t).As(access.Member)
	for _, body := range []string{
		`{"lastName":"Schr\u00adöder","phone":"0221 778899"}`,
		`{"firstName":"Karl-Heinz","lastName":"O’Brien","mobile":"+49 228 778899"}`,
		`{"lastName":"김민수","phone":"0043 664 1234567"}`,
	} {
		c.Do("POST", "/contacts", body).Want(201)
	}
	for q, want := range map[string]int{
		"Schröder": 1, "Schr\u2060öder": 1, "karlheinz obrien": 1, "민수": 1,
		"778899": 2, "77 88 99": 2, "49221778899": 1, "+49221778899": 1, "0221778899": 1, "221778899": 1,
		"436641234567": 1, "878899": 0, "50667": 0,
	} {
		sent := "?q=" + url.QueryEscape(q)
		if n := len(c.Do("GET", "/contacts"+sent, nil).Want(200).Data()); n != want {
			t.Errorf("%q finds %d contacts, want %d", q, n, want)
		}
		if n := c.Do("GET", "/contacts/count"+sent, nil).Want(200).JSON()["count"]; n != float64(want) {
			t.Errorf("%q counts %v contacts, want %d", q, n, want)
		}
	}
}

// TestWebsites checks that a web address may have only the characters of URIs (RFC 3986). So it
// cannot contain HTML.
func TestWebsites(t *testing.T) {
	c := office(t).As(access.Member)
	for _, end := range []string{`"><script>`, "<", ">", "`", "{", "}", "|", "^", `\\`, "ä", "%zz"} {
		a := c.Do("POST", "/companies", map[string]any{
			"name": "Brauhaus", "website": "https://x.example/" + end,
		}).Want(422, "VALIDATION_FAILED")
		wantFields(t, a, "website INVALID_FORMAT")
	}
	c.Do("POST", "/companies", `{"name":"Brauhaus","website":"https://x.example:8443/a%20b/-._~!$&'()*+,;=:@?q=[1]#/f"}`).Want(201)
}
