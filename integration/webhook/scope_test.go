package webhook_test

import (
	"strings"
	"testing"

	"kartei/access"
	"kartei/api"
	"kartei/integration/event"
	"kartei/integration/key"
	"kartei/test/apitest"
)

// TestEventTypesTakeTheirScopes checks that a key cannot have events sent to an endpoint if it
// could not read their records. A create needs the read scope of each event type. Each change needs
// them too, even a change of the URL only.
func TestEventTypesTakeTheirScopes(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		full := o.As(access.Member)
		with := func(scopes ...string) *apitest.Client {
			return &apitest.Client{
				Office: o, Principal: full.Principal,
				Key: o.Key(full.Principal, append(scopes, "webhook_endpoints:read", "webhook_endpoints:write")...),
			}
		}
		bare, contacts := with(), with("contacts:read")
		refused := func(c *apitest.Client, method, path string, body any, de, en string) {
			t.Helper()
			for language, want := range map[string]string{"de": de, "en": en} {
				a := c.Do(method, path, body, "If-Match", "*", "Accept-Language", language).Want(403, "FORBIDDEN")
				if got := a.Text("detail"); got != want {
					t.Errorf("%s %s %v: %q, want %q", method, path, body, got, want)
				}
			}
		}
		for _, name := range event.Subscribable() {
			in := body(map[string]any{"eventTypes": []string{name}})
			family, _, _ := strings.Cut(name, ".")
			if family == "operation" { // events about the principal's own operations need no scope
				bare.Do("POST", endpoints, in).Want(201)
				continue
			}
			scope := map[string]string{
				"contact": "contacts", "company": "companies", "task": "tasks", "document": "documents",
			}[family] + ":read"
			if got := event.ReadScope(name, api.Families); got != scope {
				t.Errorf("%s takes the scope %q", name, got)
			}
			refused(bare, "POST", endpoints, in, "Diesem Aufruf fehlt der Scope "+scope+".",
				"This call lacks the scope "+scope+".")
		}
		several := []string{"task.created", "contact.created", "task.deleted", "company.updated", "operation.completed"}
		refused(contacts, "POST", endpoints, body(map[string]any{"eventTypes": several}),
			"Diesem Aufruf fehlen die Scopes tasks:read, companies:read.",
			"This call lacks the scopes tasks:read, companies:read.")
		if n := len(full.Do("GET", endpoints, nil).Want(200).Data()); n != 1 {
			t.Errorf("%d endpoints were made", n)
		}

		at, _ := create(full, map[string]any{"eventTypes": []string{"contact.created", "task.created"}})
		before := full.Do("GET", at, nil).Want(200)
		for _, patch := range []string{
			`{"url":"https://thief.example.com/"}`, `{"name":"Neu"}`, `{}`, `{"eventTypes":["task.created"]}`,
			`{"eventTypes":["contact.created","task.deleted"]}`,
		} {
			refused(contacts, "PATCH", at, patch, "Diesem Aufruf fehlt der Scope tasks:read.",
				"This call lacks the scope tasks:read.")
		}
		if after := full.Do("GET", at, nil).Want(200); string(after.Body) != string(before.Body) {
			t.Errorf("a refused call changed %s", after.Body)
		}
		// Only the event types after the change matter.
		contacts.Do("PATCH", at, `{"eventTypes":["contact.created"],"url":"https://new.example.com/"}`, "If-Match",
			"*").Want(200)
		contacts.Do("PATCH", at, `{"name":"Neu"}`, "If-Match", "*").Want(200)
		contacts.Do("DELETE", at, nil, "If-Match", "*").Want(204)
	})
}

// TestMadeByKey checks that an endpoint records the key that created it or last changed its URL.
// Other changes do not change the recorded key.
func TestMadeByKey(t *testing.T) {
	apitest.BySession.Except(t, "authenticate", "an endpoint that a session makes belongs to no key")
	each(t, func(t *testing.T, o *apitest.Office) {
		c := o.As(access.Member)
		at, _ := create(c, nil)
		other := &apitest.Client{Office: o, Principal: c.Principal, Key: o.Key(c.Principal)}
		other.Do("PATCH", at, `{"name":"Neu"}`, "If-Match", "*").Want(200)
		madeBy(t, o, c, at)
		// The key that sets a new URL becomes responsible for the endpoint.
		other.Do("PATCH", at, `{"url":"https://elsewhere.example/hook"}`, "If-Match", "*").Want(200)
		madeBy(t, o, other, at)
	})
}

// madeBy checks that an endpoint records the key of the client.
func madeBy(t *testing.T, o *apitest.Office, c *apitest.Client, at string) {
	t.Helper()
	keys, err := o.Operator.ListKeys(o.Context(), key.FindInput{})
	if err != nil {
		t.Fatal(err)
	}
	var made string
	row(o, at, "key_id", &made)
	for _, k := range keys.Data {
		if k.PrincipalID == c.Principal && strings.Contains(c.Key, "_"+k.KidShort) != (k.ID == made) {
			t.Errorf("it was made by %q; %+v", made, k)
		}
	}
	if made == "" {
		t.Error("it was made by no key")
	}
}
