package api_test

import (
	"strings"
	"testing"

	"kartei/access"
)

// TestDeceptiveTexts checks that no single-line text changes the
// direction of writing or consists of invisible characters. That holds in any
// family, for created and patched records. Multi-line texts and other scripts
// are not restricted.
func TestDeceptiveTexts(t *testing.T) {
	c := office(t).As(access.Member)
	contact := c.Do("POST", "/contacts", `{"lastName":"Berg"}`).Want(201).Text("id")
	document := c.Document("a.txt", "text/plain", []byte("Text"))
	for _, test := range []struct{ method, path, body, field string }{
		{"POST", "/contacts", `{"lastName":"§"}`, "lastName"},
		{"POST", "/contacts", `{"lastName":"Berg","firstName":"§"}`, "firstName"},
		{"POST", "/contacts", `{"lastName":"Berg","address":{"city":"§"}}`, "address.city"},
		{"POST", "/contacts", `{"lastName":"Berg","tags":["a","§"]}`, "tags[1]"},
		{"POST", "/contacts", `{"lastName":"Berg","phone":"§"}`, "phone"},
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
			"zero width": "\u200b", "joiners": "\u200d\u2060\ufeff", "filler": "\u3164", "soft hyphen": "\u00ad \u00ad", "Braille": "\u2800", "selector": "\ufe0f", "lines": "Anna\u2028Berg", "private": "\ue000", "accent alone": "\u0301",
		} {
			a := c.Do(test.method, test.path, strings.Replace(test.body, "§", text, 1), "If-Match", "*", "Accept-Language", "en")
			a.Want(422, "VALIDATION_FAILED")
			wantFields(t, a, test.field+" INVALID_FORMAT")
			if t.Failed() {
				t.Fatalf("%s %s, %s: %s", test.method, test.path, name, a.Body)
			}
		}
	}
	// Escaped characters count the same.
	wantFields(t, c.Do("POST", "/contacts", `{"lastName":"\u202Eabc"}`).Want(422, "VALIDATION_FAILED"), "lastName INVALID_FORMAT")
	// All errors come in one answer, together with those of the schema.
	wantFields(t, c.Do("POST", "/contacts", `{"firstName":"\u200b","lastName":"\u202Eabc","email":"no"}`).Want(422),
		"firstName INVALID_FORMAT", "lastName INVALID_FORMAT", "email INVALID_FORMAT")
	for _, body := range []string{
		`{"lastName":"נועה כהן"}`, `{"lastName":"山田 太郎"}`, `{"lastName":"می\u200cخواهم"}`, `{"lastName":"👩\u200d💻"}`, `{"lastName":"Müller-Lüdenscheidt"}`,
		`{"lastName":"Berg","note":"\u2067שלום\u2069"}`,
	} {
		c.Do("POST", "/contacts", body).Want(201)
	}
}

// TestWebsites checks that a web address has only characters of URIs (RFC
// 3986), so that no page can show markup in it.
func TestWebsites(t *testing.T) {
	c := office(t).As(access.Member)
	for _, end := range []string{`"><script>`, "<", ">", "`", "{", "}", "|", "^", `\\`, "ä", "%zz"} {
		a := c.Do("POST", "/companies", map[string]any{"name": "Brauhaus", "website": "https://x.example/" + end}).Want(422, "VALIDATION_FAILED")
		wantFields(t, a, "website INVALID_FORMAT")
	}
	c.Do("POST", "/companies", `{"name":"Brauhaus","website":"https://x.example:8443/a%20b/-._~!$&'()*+,;=:@?q=[1]#/f"}`).Want(201)
}
