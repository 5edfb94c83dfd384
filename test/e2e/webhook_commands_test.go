package e2e

import (
	"cmp"
	"fmt"
	"io"
	"mime"
	"mime/quotedprintable"
	"net/http"
	"net/http/httptest"
	"net/mail"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"kartei/test/dbtest"
	"kartei/test/waittest"
)

// TestWebhookCommands checks the commands of an operator after a receiver has responded with 410
// Gone. The operator reads the email, looks at the endpoint, enables it, and resends the missed
// events.
func TestWebhookCommands(t *testing.T) {
	t.Parallel()
	story := func(t *testing.T, dir string, more ...string) {
		c := newWebhookCommands(t, dir, more...)
		first := c.contact()
		c.delivered(first)
		gone := c.goneOnce()
		missed := c.missed()
		c.enabled()
		c.resent(first, gone, missed)
		c.explained(gone)
		c.keyLeaked()
		c.measured()
		c.goneInEnglish()
	}
	t.Run("sqlite", func(t *testing.T) { story(t, t.TempDir()) })
	t.Run("postgres", func(t *testing.T) { story(t, t.TempDir(), "--database-url", dbtest.PostgresURL(t)) })
}

// webhookCommands is an instance with one webhook endpoint, and an operator.
type webhookCommands struct {
	client
	dir      string
	store    []string
	office   office
	receiver *hook
	endpoint struct{ ID, Secret string }
	contacts int
}

func newWebhookCommands(t *testing.T, dir string, more ...string) *webhookCommands {
	t.Helper()
	c := &webhookCommands{
		dir: dir, store: append([]string{"--data-dir", dir}, more...),
		receiver: &hook{TB: t, took: make(chan string, 100), status: 200},
	}
	tls := httptest.NewTLSServer(c.receiver)
	t.Cleanup(tls.Close)
	served := start(t, append(c.on("serve", "--no-metered"), towards(t, tls)...)...)
	c.office = found(t, c.store...)
	key := read[struct{ Key string }](t, c.on("key", "create", "--org", c.office.ID, "--principal", c.office.User,
		"--env", "test", "--ip", "127.0.0.1/32",
		"--scopes", "contacts:read,contacts:write,webhook_endpoints:read,webhook_endpoints:write")...).Key
	c.client = client{t, served, key}
	decode(t, string(c.call("POST", "/webhook_endpoints",
		`{"name":"CRM","url":"https://`+postHost+`/hook","eventTypes":["contact.created"]}`, 201, "",
		"Idempotency-Key", "endpoint").Body), &c.endpoint)
	c.receiver.answers(c.endpoint.Secret, http.StatusOK)
	return c
}

// on returns the arguments of a command on the data of the instance.
func (c *webhookCommands) on(args ...string) []string { return slices.Concat(args, c.store) }

// webhook returns the arguments of a webhook command for the organization of the endpoint.
func (c *webhookCommands) webhook(args ...string) []string {
	return c.on(slices.Concat([]string{"webhook"}, args, []string{"--org", c.office.SandboxID})...)
}

// contact creates a contact and returns the id of its event.
func (c *webhookCommands) contact() (event string) {
	c.Helper()
	c.contacts++
	id := c.call("POST", "/contacts", `{"lastName":"Berg"}`, 201, "", "Idempotency-Key",
		fmt.Sprint("contact-", c.contacts)).Text("id")
	var p page[feedEntry]
	if decode(c.TB, string(c.call("GET", "/events?limit=1", "", 200, "").Body), &p); p.Data[0].Data.ID != id {
		c.Fatalf("the last event is %+v, want that of %s", p.Data[0], id)
	}
	return p.Data[0].ID
}

// shownEndpoint is a webhook endpoint in the output of commands.
type shownEndpoint struct {
	ID, Status, DisabledReason, PrincipalID string
	Failures, Waiting                       int
}

// shownAttempt is a delivery attempt in the output of commands.
type shownAttempt struct {
	ID, EventID, Status, ErrorCode string
	ResponseStatus, Attempt        int
}

// logged waits until the delivery log has this number of attempts. An attempt appears after the
// receiver has responded.
func (c *webhookCommands) logged(want int, more ...string) (list []shownAttempt) {
	c.Helper()
	for watch := waittest.New(); ; {
		list = read[struct{ Data []shownAttempt }](c.TB,
			c.webhook(append([]string{"deliveries", c.endpoint.ID}, more...)...)...).Data
		if len(list) >= want || watch.IsStuck(list) {
			break
		}
	}
	if len(list) != want {
		c.Fatalf("the log with %q has %+v, want %d", more, list, want)
	}
	return list
}

// delivered checks the log of the first delivery.
func (c *webhookCommands) delivered(first string) {
	c.Helper()
	c.receiver.takes(first)
	if a := c.logged(1)[0]; a.EventID != first || a.Status != "succeeded" || a.ResponseStatus != 200 || a.Attempt != 1 {
		c.Errorf("the log says %+v", a)
	}
	page := read[struct{ Data []shownEndpoint }](c.TB, c.webhook("list")...)
	if len(page.Data) != 1 || page.Data[0].ID != c.endpoint.ID || page.Data[0].Status != "active" ||
		page.Data[0].PrincipalID != c.office.User {
		c.Errorf("the list says %+v", page)
	}
}

// goneOnce lets the receiver respond with 410 Gone. The endpoint must be disabled at once, and an
// email must report this.
func (c *webhookCommands) goneOnce() (gone string) {
	c.Helper()
	id, sandbox := c.endpoint.ID, c.office.SandboxID
	c.receiver.answers(c.endpoint.Secret, http.StatusGone)
	gone = c.contact()
	c.receiver.takes(gone)
	c.logged(1, "--status", "failed")
	if e := read[shownEndpoint](c.TB, c.webhook("show", id)...); e.Status != "disabled" || e.DisabledReason != "gone" {
		c.Errorf("after 410 the endpoint is %+v", e)
	}
	c.mailed(1, "Kartei: Webhook-Endpunkt "+id+" von "+sandbox+" wurde abgeschaltet: der Empfänger antwortet 410 Gone",
		"Der Empfänger des Webhook-Endpunkts "+id+" von "+sandbox+" hat am 20",
		"mit 410 Gone geantwortet: Er will keine Zustellungen mehr. Der Endpunkt wurde deshalb sofort abgeschaltet.",
		"kartei webhook enable "+id+" --org "+sandbox+" --missed\n", "weil Ihnen der Webhook-Endpunkt gehört")
	return gone
}

// missed creates a contact while the endpoint is disabled. The event is not sent, and the command
// resend fails.
func (c *webhookCommands) missed() (event string) {
	c.Helper()
	c.receiver.answers(c.endpoint.Secret, http.StatusOK)
	event = c.contact()
	_, errs, status := try(c.TB, c.webhook("resend", c.endpoint.ID, "--event", event)...)
	if status != 1 || !strings.Contains(errs, "Enable it first") {
		c.Errorf("resend to a disabled endpoint: %d %s", status, errs)
	}
	return event
}

// enabled enables the endpoint, and checks that it gets new events.
func (c *webhookCommands) enabled() {
	c.Helper()
	e := read[shownEndpoint](c.TB, c.webhook("enable", c.endpoint.ID)...)
	if e.Status != "active" || e.DisabledReason != "" || e.Failures != 0 {
		c.Errorf("enabled: %+v", e)
	}
	c.receiver.takes(c.contact())
}

// resent resends earlier events: one event, the failed events, and all events of a period.
func (c *webhookCommands) resent(first, gone, missed string) {
	c.Helper()
	resend := func(more ...string) {
		kartei(c.TB, c.webhook(append([]string{"resend", c.endpoint.ID}, more...)...)...)
	}
	resend("--event", missed)
	c.receiver.takes(missed)
	resend("--failed")
	c.receiver.takes(gone)
	resend("--since", "1h")
	all := map[string]bool{}
	for range 4 {
		select {
		case id := <-c.receiver.took:
			all[id] = true
		case <-time.After(waittest.Bound):
			c.Fatalf("of a range only %v were sent", all)
		}
	}
	if len(all) != 4 || !all[first] || !all[gone] || !all[missed] {
		c.Errorf("of a range %v were sent", all)
	}
	if list := c.logged(3, "--event", gone); list[0].Status != "succeeded" || list[2].ResponseStatus != 410 {
		c.Errorf("the log of one event says %+v", list)
	}
}

// explained runs wrong commands. It checks the error messages and the exit status.
func (c *webhookCommands) explained(event string) {
	c.Helper()
	for _, wrong := range []struct {
		args   []string
		status int
		want   string
	}{
		{[]string{"resend", c.endpoint.ID}, 2, "exactly one of"},
		{[]string{"resend", c.endpoint.ID, "--failed", "--event", event}, 2, "exactly one of"},
		{[]string{"resend", c.endpoint.ID, "--until", "1h"}, 2, "exactly one of"},
		{[]string{"resend", c.endpoint.ID, "--event", "evt_unknown"}, 1, "no such event"},
		{[]string{"deliveries", c.endpoint.ID, "--status", "lost"}, 2, "--status"},
		{[]string{"show", "whe_unknown"}, 1, "no webhook endpoint"},
	} {
		_, errs, status := try(c.TB, c.webhook(wrong.args...)...)
		if status != wrong.status || !strings.Contains(errs, wrong.want) {
			c.Errorf("%v: %d %q, want %d %q", wrong.args, status, errs, wrong.status, wrong.want)
		}
	}
	if out := kartei(c.TB, c.webhook("list")...); !strings.Contains(out, c.endpoint.ID) ||
		strings.Contains(out, c.endpoint.Secret) {
		c.Errorf("the list for people says %s", out)
	}
}

// keyLeaked rotates and revokes a key of the endpoint's owner. The endpoint stays active, and the
// output of the command says so.
func (c *webhookCommands) keyLeaked() {
	c.Helper()
	o := c.office
	leaked := read[struct{ ID string }](c.TB,
		c.on("key", "create", "--org", o.ID, "--principal", o.User, "--env", "test", "--name", "Abgleich", "--scopes",
			"contacts:read", "--expires-in", "1d", "--json")...)
	for _, act := range []string{"rotate", "revoke"} {
		_, told, _ := try(c.TB, c.on("key", act, leaked.ID)...)
		if want := "Webhook endpoints of " + o.User + " that still get events: 1. List them: kartei webhook list --org " +
			o.SandboxID + " --principal " + o.User; !strings.Contains(told, want) {
			c.Errorf("key %s says %q, want %q", act, told, want)
		}
	}
}

// measured checks that the metrics in docs/operating/webhooks.md exist.
func (c *webhookCommands) measured() {
	c.Helper()
	get(c.TB, c.Operator+"/metrics", 200,
		"\nkartei_webhook_attempts_total{result=\"succeeded\"} ",
		"\nkartei_webhook_attempts_total{result=\"HTTP_STATUS\"} 1\n", "\nkartei_webhook_first_attempt_seconds_count ",
		"\nkartei_webhook_deliveries_waiting ", "\nkartei_webhook_deliveries_oldest_seconds ",
		"\nkartei_webhook_endpoints_behind ", "\nkartei_webhook_behind_seconds ",
		"\nkartei_webhook_endpoints{status=\"active\"} 1\n")
}

// goneInEnglish does the same as goneOnce for a user whose language is English.
func (c *webhookCommands) goneInEnglish() {
	c.Helper()
	id, sandbox := c.endpoint.ID, c.office.SandboxID
	kartei(c.TB, c.on("user", "set", c.office.User, "--language", "en")...)
	c.receiver.answers(c.endpoint.Secret, http.StatusGone)
	c.receiver.takes(c.contact())
	c.mailed(2, "Kartei: Webhook endpoint "+id+" of "+sandbox+" was disabled: the receiver answers 410 Gone",
		"The receiver of the webhook endpoint "+id+" of "+sandbox+" answered 410 Gone at 20",
		"it wants no more deliveries. The endpoint was therefore disabled at once.",
		"kartei webhook enable "+id+" --org "+sandbox+" --missed\n", "because the webhook endpoint is yours")
}

// mailed waits for the email with this number, and checks its subject and its text.
func (c *webhookCommands) mailed(number int, subject string, words ...string) {
	c.Helper()
	heading, body := mailed(c.TB, c.dir, number, c.on("bell", "--org", c.office.ID, "--json"))
	if heading != subject {
		c.Errorf("email %d is about %q, want %q", number, heading, subject)
	}
	for _, want := range words {
		if !strings.Contains(body, want) {
			c.Errorf("%q is not in email %d:\n%s", want, number, body)
		}
	}
}

// mailed waits until the bell shows this number of sent emails. It returns the subject and the text
// of the last email.
func mailed(t testing.TB, dir string, want int, bell []string) (heading, text string) {
	t.Helper()
	sent := func() []bellEntry {
		return slices.DeleteFunc(ofKind(t, "webhook_disabled", bell...), func(e bellEntry) bool { return e.MailedAt == nil })
	}
	for watch := waittest.New(); len(sent()) < want; {
		if watch.IsStuck(len(sent())) {
			t.Fatalf("there are not %d emails", want)
		}
	}
	names := emails(t, dir, sent())
	if len(names) != want {
		t.Fatalf("emails %v, want %d", names, want)
	}
	age := func(name string) int64 {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		return info.ModTime().UnixNano()
	}
	f, err := os.Open(slices.MaxFunc(names, func(a, b string) int { return cmp.Compare(age(a), age(b)) }))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	m, err := mail.ReadMessage(f)
	if err != nil {
		t.Fatal(err)
	}
	if to := m.Header.Get("To"); !strings.Contains(to, "anna.berg@example.com") {
		t.Errorf("the email goes to %s", to)
	}
	heading, err = new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject"))
	body, wrong := io.ReadAll(quotedprintable.NewReader(m.Body))
	if err != nil || wrong != nil {
		t.Fatal(err, wrong)
	}
	return heading, strings.ReplaceAll(string(body), "\r\n", "\n")
}
