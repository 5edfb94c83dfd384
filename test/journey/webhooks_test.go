package journey

import (
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"kartei/instance/config"
	"kartei/kit/egress"
	"kartei/kit/id"
	"kartei/test/dbtest"
	"kartei/test/waittest"
	"kartei/test/webtest"
)

// receiverHost is the host name in the certificate of httptest.
const receiverHost = "example.com"

// tickTime is the interval of polls. The clock of the office, by which deliveries are due, advances
// by the same time.
const tickTime = 20 * time.Millisecond

// receiver is a webhook receiver behind TLS. It verifies each delivery with an official library.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	secret string
	// gone says that the receiver responds with 410 to all deliveries.
	gone bool
	// seen has the types and records of verified events. broken has the bodies that could not be
	// verified.
	seen, broken []string
}

// newReceiver starts a receiver. The Option lets an instance reach it.
func newReceiver(t *testing.T) (*receiver, Option) {
	r := &receiver{}
	r.Server = httptest.NewTLSServer(r)
	t.Cleanup(r.Close)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: r.Certificate().Raw}),
		0o600); err != nil {
		t.Fatal(err)
	}
	to := netip.MustParseAddrPort(r.Listener.Addr().String())
	return r, Server(func(c *config.Server) {
		c.WebhookDevelopment, c.WebhookCA = true, config.File(ca)
		c.WebhookAllowNets, c.WebhookDial = []config.Network{
			{Prefix: netip.PrefixFrom(to.Addr(), 32)},
		}, []egress.Mapping{{Host: receiverHost, To: to}}
	})
}

// ServeHTTP verifies a delivery. It ignores the time of the signature, because the clock of the
// office is not the real time.
func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.gone {
		w.WriteHeader(http.StatusGone)
		return
	}
	body, err := io.ReadAll(request.Body)
	verifier, wrong := standardwebhooks.NewWebhook(r.secret)
	if err != nil || wrong != nil || verifier.VerifyIgnoringTimestamp(body, request.Header) != nil {
		r.broken = append(r.broken, string(body))
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	var event struct {
		Type string
		Data struct{ ID string }
	}
	if err := json.Unmarshal(body, &event); err != nil {
		r.broken = append(r.broken, string(body))
	}
	r.seen = append(r.seen, event.Type+" "+event.Data.ID)
	w.WriteHeader(http.StatusNoContent)
}

// set sets the secret, and whether the receiver responds with 410.
func (r *receiver) set(secret string, gone bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.secret, r.gone = secret, gone
}

// forget removes the verified events.
func (r *receiver) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen = nil
}

// await waits until the receiver has verified an event.
func (r *receiver) await(o *Office, event string) {
	o.Helper()
	watch := waittest.New()
	for {
		r.mu.Lock()
		seen, broken := strings.Join(r.seen, "\n"), strings.Join(r.broken, "\n")
		r.mu.Unlock()
		if strings.Contains(seen, event) {
			return
		}
		select {
		case <-watch.Stuck(seen, broken):
			o.Fatalf("the receiver has not seen %s, but\n%s\nand refused\n%s", event, seen, broken)
		case <-time.After(tickTime):
			o.Clock.Advance(tickTime)
		}
	}
}

// TestWebhooks checks that a developer can create a webhook endpoint and see a test event arrive.
// When the receiver responds with 410, the endpoint is disabled. One click enables it and sends the
// missed events.
func TestWebhooks(t *testing.T) {
	each(t, func(t *testing.T, database string) {
		r, reached := newReceiver(t)
		o := Open(t, database, Contacts(5), reached)
		for _, v := range ways {
			t.Log(v)
			r.set("", false)
			tab := o.SignedIn(o.Jonas(), v)
			tab.Open(o.BaseURL + "/settings/interfaces/webhooks/new?env=live&name=CRM&types=contact.*&url=https://" +
				receiverHost + "/hook")
			submit(tab)
			tab.Says("Dieses Geheimnis sehen Sie nur jetzt.")
			secret := webtest.Eval[string](tab, `document.querySelector("main .copyable code").textContent`)
			page := webtest.Eval[string](tab, `document.querySelector("main .acts a.primary").getAttribute("href")`)
			r.set(secret, false)
			tab.Click(`form[action$="/test"] button`)
			endpoint := page[strings.LastIndex(page, "/")+1:]
			r.await(o, "webhook.test "+endpoint)
			if v.NoScript {
				o.awaitAttempt(t, endpoint, "succeeded")
				tab.Open(o.BaseURL + page)
				tab.Says("Test des Endpunkts")
			} else {
				tab.Says("Der Test ist angekommen")
				if !webtest.Eval[bool](tab, `document.body.textContent.includes("nur jetzt")`) {
					t.Error("the test has replaced the page with the secret")
				}
			}

			// The receiver responds with 410, so the endpoint is disabled and misses a change.
			r.set(secret, true)
			contact := o.First("contacts")
			o.Call("PATCH", "/contacts/"+contact, map[string]any{"jobTitle": "Richterin " + endpoint}, nil)
			o.awaitAttempt(t, endpoint, "failed")
			o.awaitDisabled(t, endpoint)
			var made struct{ ID string }
			o.Call("POST", "/contacts", map[string]any{"lastName": "Verpasst"}, &made)
			r.set(secret, false)
			tab.Open(o.BaseURL + page)
			tab.Says("410 Gone")
			tab.Says("Nicht zugestellt: 2 Ereignisse")
			tab.Click(`button[name="missed"]`)
			tab.Says("2 Ereignisse werden nachgesendet")
			r.await(o, "contact.created "+made.ID)
			r.await(o, "contact.updated "+contact)
			tab.Open(o.BaseURL + page + "/delete")
			tab.Click(`form[action$="/delete"] button`)
			tab.Says("Endpunkt gelöscht.")
			if len(r.broken) > 0 {
				t.Errorf("refused: %v", r.broken)
			}
		}
	})
}

// awaitAttempt waits until the delivery log of an endpoint has an attempt with this status.
func (o *Office) awaitAttempt(t *testing.T, endpoint, status string) {
	t.Helper()
	o.awaitCount(t, `select count(*) from webhook_attempts where endpoint = $1 and status = $2`, endpoint, status)
}

// awaitDisabled waits until an endpoint is disabled.
func (o *Office) awaitDisabled(t *testing.T, endpoint string) {
	t.Helper()
	o.awaitCount(t, `select count(*) from webhook_endpoints where id = $1 and status = 'disabled'`, endpoint)
}

// awaitCount waits until a query with count returns more than zero. It advances the clock
// meanwhile.
func (o *Office) awaitCount(t *testing.T, query string, args ...any) {
	t.Helper()
	watch := waittest.New()
	for {
		var n, all int
		dbtest.Get(o.TB, o.DB, []any{&n}, query, args...)
		dbtest.Get(o.TB, o.DB, []any{&all}, `select count(*) from webhook_attempts`)
		if n > 0 {
			return
		}
		select {
		case <-watch.Stuck(all):
			t.Fatalf("%s %v: nothing", query, args)
		case <-time.After(tickTime):
			o.Clock.Advance(tickTime)
		}
	}
}

// Disabled creates a disabled webhook endpoint of Helene with a delivery log, and returns its id.
// If the endpoint exists, Disabled only returns the id.
func (o *Office) Disabled() string {
	o.Helper()
	if ids := dbtest.Texts(o.TB, o.DB, `select id from webhook_endpoints where name = 'Archiv'`); len(ids) > 0 {
		return ids[0]
	}
	var made struct{ ID string }
	o.Call("POST", "/webhook_endpoints", map[string]any{
		"name":       "Archiv",
		"url":        "https://archiv.example.com/kartei",
		"eventTypes": []string{"contact.created", "contact.updated", "document.created"},
	}, &made)
	for n := range 40 {
		status, code, response := "succeeded", "", 204
		if n > 33 {
			status, code, response = "failed", "HTTP_STATUS", 410
		}
		at := o.Clock.Now().Add(time.Duration(n-41) * 30 * time.Minute)
		dbtest.Run(o.TB, o.DB, `insert into webhook_attempts (organization, id, endpoint, event_id, event_type, attempt, status, response_status, response_ms, error_code, attempted_at, next_attempt_at)
			select organization, $1, id, $2, 'contact.updated', 1, $3, $4, 87, $5, $6, 0 from webhook_endpoints where id = $7`,
			id.At(id.Delivery, at), id.New(id.Event), status, int64(response), code, at.UnixMicro(), made.ID)
	}
	dbtest.Run(o.TB, o.DB, `update webhook_endpoints set status = 'disabled', disabled_reason = 'gone', missed_since = cursor - 3600000000 where id = $1`, made.ID)
	return made.ID
}
