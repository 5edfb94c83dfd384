package journey

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"kartei/access"
	"kartei/instance/sample"
	"kartei/integration/key"
	"kartei/kit/id"
	"kartei/test/dbtest"
	"kartei/test/webtest"
)

// paste inserts a text at the cursor. It counts as one key, as Control and V do.
func paste(tab *webtest.Tab, text string) {
	before := tab.Effort
	tab.Type(text)
	before.Keys++
	tab.Effort = before
}

// keyOf creates an API key of a person for the live organization.
func (o *Office) keyOf(principal string, networks []string, scopes ...string) key.WithSecret {
	o.Helper()
	made, err := o.Operator().CreateKey(o.Context(), key.New{
		Organization: o.OrganizationID, Principal: principal, Environment: access.Live, Name: "Spiegel", Scopes: scopes,
		Networks: networks,
	})
	if err != nil {
		o.Fatal(err)
	}
	return made
}

// program calls the API as a program does, and waits until the request log has the call. It returns
// the request id and the body of the response.
func (o *Office) program(
	t *testing.T, key, method, path, body string, status int, headers ...string,
) (request, answer string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, o.BaseURL+"/v1"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{
		"Authorization": {"Bearer " + key},
		"Content-Type":  {"application/json"},
		"Svc-Preview":   {"true"},
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	a, err := visiting.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	said, err := io.ReadAll(a.Body)
	if err != nil || a.StatusCode != status {
		t.Fatalf("%s %s: %d %v %s", method, path, a.StatusCode, err, said)
	}
	request = a.Header.Get("Request-Id")
	o.awaitCount(t, `select count(*) from request_log where request_id = $1`, request)
	// The id has the real time and the log has the time of the office's clock. The search by id
	// expects both to be close.
	dbtest.Run(t, o.DB, `update request_log set at = $1 where request_id = $2`, id.Time(request).UnixMicro(), request)
	return request, string(said)
}

// openRequest pastes a request id into the search field and opens the page of the request.
func openRequest(tab *webtest.Tab, request string) {
	if tab.View.Touch {
		tab.Click("#find")
	} else {
		tab.Press("/")
	}
	paste(tab, request)
	tab.Until(optionsShown + ` && ` + activeOption + `?.includes("Aufruf der Schnittstelle")`)
	tab.Press(webtest.Enter)
	tab.At("/settings/interfaces/requests/" + request)
}

// TestWhyRefused checks that a developer can find out why a call got a 401. The request id leads to
// the reason and to a remedy. The remedy adds the caller's address to the key, after a question.
func TestWhyRefused(t *testing.T) {
	each(t, func(t *testing.T, url string) {
		o := Open(t, url, Contacts(5))
		for _, h := range hands(url) {
			key := o.keyOf(o.Jonas(), []string{"198.51.100.7"}, "contacts:read")
			refused, said := o.program(t, key.Key, "GET", "/contacts", "", 401)
			if strings.Contains(said, "127.0.0.1") || strings.Contains(strings.ToLower(said), "network") {
				t.Errorf("the caller learns the reason: %s", said)
			}
			tab := o.SignedIn(o.Jonas(), h.View)
			tab.Open(o.BaseURL + "/contacts")
			openRequest(tab, refused)
			tab.Says("Die Adresse gehört zu keinem Netz des Schlüssels.")
			tab.Says("Dem Aufrufer wurde nur 401 gesagt.")
			tab.Says("Diese Adresse erlauben")
			cost(t, tab, "the reason of a refusal", 3)

			press(t, tab, h.keyboard, `main a.button[href*="?allow="]`)
			tab.At("/settings/interfaces/keys/" + key.ID)
			if got := webtest.Eval[string](tab, `document.querySelector('main [name="networks"]').value`); got != "198.51.100.7/32, 127.0.0.1" {
				t.Errorf("%s: the form has the networks %q", h.View, got)
			}
			press(t, tab, h.keyboard, `main form[action="/settings/interfaces/keys/`+key.ID+`"] button`)
			tab.Says("127.0.0.1/32, 198.51.100.7/32") // the facts of the key show it
			cost(t, tab, "the cure", 2)
			o.program(t, key.Key, "GET", "/contacts", "", 200)
		}
	})
}

// TestWhyRefusedOtherwise checks the page of a refused request for other reasons: a key that has
// expired, and an organization that has turned the API off. The page shows the reason and a remedy.
func TestWhyRefusedOtherwise(t *testing.T) {
	each(t, func(t *testing.T, database string) {
		o := Open(t, database, Contacts(5))
		module := func(state string) {
			admin := o.SignedIn(o.Helene(), hands(database)[0].View)
			admin.Open(o.BaseURL + "/settings/organization")
			admin.Click(`main [name="module"][value="` + state + `"]`)
			admin.Click(`main form[action^="/settings/organization"] button.primary`)
			admin.Says("Organisation gespeichert.")
		}
		key := o.keyOf(o.Jonas(), sample.Loopback, "contacts:read")
		for _, c := range []struct {
			harm, mend  func()
			status      int
			reason, how string
		}{
			{
				func() { module("off") }, func() { module("on") }, 403,
				"Das Modul ist für die Organisation ausgeschaltet.", "Das kann die Administration ändern.",
			},
			{func() { o.Clock.Advance(31 * 24 * time.Hour) }, nil, 401, "Der Schlüssel ist abgelaufen.", "Länger gelten lassen"},
		} {
			c.harm()
			refused, _ := o.program(t, key.Key, "GET", "/contacts", "", c.status)
			tab := o.SignedIn(o.Jonas(), hands(database)[0].View)
			tab.Open(o.BaseURL + "/contacts")
			openRequest(tab, refused)
			tab.Says(c.reason)
			tab.Says(c.how)
			cost(t, tab, c.reason, 3)
			if c.mend != nil {
				c.mend()
			} else {
				tab.Click(`main a.button[href$="#change"]`)
				tab.At("/settings/interfaces/keys/" + key.ID)
				webtest.Eval[string](tab, `document.querySelector('main [name="days"]').value = "30"`)
				tab.Click(`main form[action="/settings/interfaces/keys/` + key.ID + `"] button`)
				tab.Says("Schlüssel gespeichert.")
			}
			o.program(t, key.Key, "GET", "/contacts", "", 200)
		}
	})
}

// TestDidTheWebhookGoOut checks that a developer can find out whether a webhook was sent. The
// request id leads to a page with the request, the change, the event and its deliveries. The page
// can send the event again.
func TestDidTheWebhookGoOut(t *testing.T) {
	each(t, func(t *testing.T, database string) {
		r, reached := newReceiver(t)
		o := Open(t, database, Contacts(5), reached)
		key := o.keyOf(o.Jonas(), sample.Loopback, access.AllScopes()...).Key
		_, made := o.program(t, key, "POST", "/webhook_endpoints",
			`{"name": "CRM", "url": "https://`+receiverHost+`/hook", "eventTypes": ["contact.updated"]}`, 201,
			"Idempotency-Key", access.NewToken())
		var endpoint struct{ ID, Secret string }
		if err := json.Unmarshal([]byte(made), &endpoint); err != nil {
			t.Fatal(err)
		}
		r.set(endpoint.Secret, false)
		for _, h := range hands(database) {
			contact := o.newContact(map[string]any{"lastName": "Zwirner"})
			changed, _ := o.program(t, key, "PATCH", "/contacts/"+contact, `{"jobTitle": "Richterin"}`, 200, "If-Match", "*")
			r.await(o, "contact.updated "+contact)
			o.awaitCount(t, `select count(*) from webhook_attempts where endpoint = $1 and status = 'succeeded' and event_id in (select id from events where record_id = $2)`, endpoint.ID, contact)
			tab := o.SignedIn(o.Jonas(), h.View)
			tab.Open(o.BaseURL + "/contacts")
			openRequest(tab, changed)
			for _, part := range []string{
				"contacts.update", "Zwirner", "geändert: Funktion", "Stand r2", "contact.updated", "CRM", "204 in ",
			} {
				tab.Says(part)
			}
			cost(t, tab, "from a call to its deliveries", 3)

			r.forget()
			press(t, tab, h.keyboard, `main form[action$="/resend"] button`)
			tab.Says("Das Ereignis wird noch einmal gesendet.")
			tab.At("/settings/interfaces/requests/" + changed)
			cost(t, tab, "sending once more", 1)
			r.await(o, "contact.updated "+contact)
		}
	})
}
