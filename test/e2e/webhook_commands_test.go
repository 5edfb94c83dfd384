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
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"kartei/test/dbtest"
	"kartei/test/patience"
)

// TestWebhookCommands follows an operator after a receiver answered 410 Gone:
// read the email, look at the endpoint, enable it, and resend the missed
// events.
func TestWebhookCommands(t *testing.T) {
	t.Parallel()
	each := func(t *testing.T, dir string, more ...string) {
		store := append([]string{"--data-dir", dir}, more...)
		on := func(args ...string) []string { return append(args, store...) }
		receiver := &hook{TB: t, took: make(chan string, 100), status: 200}
		tls := httptest.NewTLSServer(receiver)
		t.Cleanup(tls.Close)
		served := start(t, append(on("serve", "--no-metered"), towards(t, tls)...)...)
		o := found(t, store...)
		key := read[struct{ Key string }](t, on("key", "create", "--org", o.ID, "--principal", o.User, "--env", "test", "--ip", "127.0.0.1/32",
			"--scopes", "contacts:read,contacts:write,webhook_endpoints:read,webhook_endpoints:write")...).Key
		s := client{t, served, key}
		n := 0
		contact := func() (event string) {
			t.Helper()
			n++
			id := s.call("POST", "/contacts", `{"lastName":"Berg"}`, 201, "", "Idempotency-Key", fmt.Sprint("contact-", n)).Text("id")
			var p page[feedEntry]
			if decode(t, string(s.call("GET", "/events?limit=1", "", 200, "").Body), &p); p.Data[0].Data.ID != id {
				t.Fatalf("the last event is %+v, want that of %s", p.Data[0], id)
			}
			return p.Data[0].ID
		}
		var made struct{ ID, Secret string }
		decode(t, string(s.call("POST", "/webhook_endpoints", `{"name":"CRM","url":"https://`+postHost+`/hook","eventTypes":["contact.created"]}`, 201, "",
			"Idempotency-Key", "endpoint").Body), &made)
		receiver.answers(made.Secret, http.StatusOK)

		type endpoint struct {
			ID, Status, DisabledReason, PrincipalID string
			Failures, Waiting                       int
		}
		org := []string{"--org", o.SandboxID}
		show := func() endpoint {
			t.Helper()
			return read[endpoint](t, on(append([]string{"webhook", "show", made.ID}, org...)...)...)
		}
		type attempt struct {
			ID, EventID, Status, ErrorCode string
			ResponseStatus, Attempt        int
		}
		deliveries := func(more ...string) []attempt {
			t.Helper()
			return read[struct{ Data []attempt }](t, on(append(append([]string{"webhook", "deliveries", made.ID}, org...), more...)...)...).Data
		}
		// logged waits until the log has a number of attempts. An attempt is
		// recorded after the receiver has answered.
		logged := func(want int, more ...string) (list []attempt) {
			t.Helper()
			for end := time.Now().Add(patience.Bound); time.Now().Before(end); {
				if list = deliveries(more...); len(list) >= want {
					break
				}
			}
			if len(list) != want {
				t.Fatalf("the log has %+v, want %d", list, want)
			}
			return list
		}

		first := contact()
		receiver.takes(first)
		if a := logged(1)[0]; a.EventID != first || a.Status != "succeeded" || a.ResponseStatus != 200 || a.Attempt != 1 {
			t.Errorf("the log says %+v", a)
		}
		page := read[struct{ Data []endpoint }](t, on(append([]string{"webhook", "list"}, org...)...)...)
		if len(page.Data) != 1 || page.Data[0].ID != made.ID || page.Data[0].Status != "active" || page.Data[0].PrincipalID != o.User {
			t.Errorf("the list says %+v", page)
		}

		// After Gone the endpoint is disabled at once, and nothing more is
		// sent.
		receiver.answers(made.Secret, http.StatusGone)
		gone := contact()
		receiver.takes(gone)
		logged(1, "--status", "failed")
		if e := show(); e.Status != "disabled" || e.DisabledReason != "gone" {
			t.Errorf("after 410 the endpoint is %+v", e)
		}
		heading, body := mailed(t, dir, 1, on("bell", "--org", o.ID, "--json"))
		if want := "Kartei: Webhook-Endpunkt " + made.ID + " von " + o.SandboxID + " wurde abgeschaltet: der Empfänger antwortet 410 Gone"; heading != want {
			t.Errorf("the email is about %q, want %q", heading, want)
		}
		for _, want := range []string{
			"Der Empfänger des Webhook-Endpunkts " + made.ID + " von " + o.SandboxID + " hat am 20", "mit 410 Gone geantwortet: Er will keine Zustellungen mehr. Der Endpunkt wurde deshalb sofort abgeschaltet.",
			"kartei webhook enable " + made.ID + " --org " + o.SandboxID + "\n", "weil Ihnen der Webhook-Endpunkt gehört",
		} {
			if !strings.Contains(body, want) {
				t.Errorf("%q is not in the email:\n%s", want, body)
			}
		}
		receiver.answers(made.Secret, http.StatusOK)
		missed := contact()
		_, errs, status := try(t, on(append([]string{"webhook", "resend", made.ID, "--event", missed}, org...)...)...)
		if status != 1 || !strings.Contains(errs, "Enable it first") {
			t.Errorf("resend to a disabled endpoint: %d %s", status, errs)
		}

		// After Enable it receives new events, and earlier ones on request.
		enabled := read[endpoint](t, on(append([]string{"webhook", "enable", made.ID}, org...)...)...)
		if enabled.Status != "active" || enabled.DisabledReason != "" || enabled.Failures != 0 {
			t.Errorf("enabled: %+v", enabled)
		}
		receiver.takes(contact())
		resend := func(more ...string) {
			t.Helper()
			kartei(t, on(append(append([]string{"webhook", "resend", made.ID}, org...), more...)...)...)
		}
		resend("--event", missed)
		receiver.takes(missed)
		resend("--failed")
		receiver.takes(gone)
		resend("--since", "1h")
		all := map[string]bool{}
		for range 4 {
			select {
			case id := <-receiver.took:
				all[id] = true
			case <-time.After(patience.Bound):
				t.Fatalf("of a range only %v were sent", all)
			}
		}
		if len(all) != 4 || !all[first] || !all[gone] || !all[missed] {
			t.Errorf("of a range %v were sent", all)
		}
		if list := logged(3, "--event", gone); list[0].Status != "succeeded" || list[2].ResponseStatus != 410 {
			t.Errorf("the log of one event says %+v", list)
		}

		// Errors are explained in words and by the exit status.
		for _, c := range []struct {
			args   []string
			status int
			want   string
		}{
			{[]string{"webhook", "resend", made.ID}, 2, "exactly one of"},
			{[]string{"webhook", "resend", made.ID, "--failed", "--event", gone}, 2, "exactly one of"},
			{[]string{"webhook", "resend", made.ID, "--until", "1h"}, 2, "exactly one of"},
			{[]string{"webhook", "resend", made.ID, "--event", "evt_unknown"}, 1, "no such event"},
			{[]string{"webhook", "deliveries", made.ID, "--status", "lost"}, 2, "--status"},
			{[]string{"webhook", "show", "whe_unknown"}, 1, "no webhook endpoint"},
		} {
			_, errs, status := try(t, on(append(c.args, org...)...)...)
			if status != c.status || !strings.Contains(errs, c.want) {
				t.Errorf("%v: %d %q, want %d %q", c.args, status, errs, c.status, c.want)
			}
		}
		if out := kartei(t, on(append([]string{"webhook", "list"}, org...)...)...); !strings.Contains(out, made.ID) || strings.Contains(out, made.Secret) {
			t.Errorf("the list for people says %s", out)
		}

		// A key is revoked, the endpoint of its owner goes on, and the command
		// says so.
		leaked := read[struct{ ID string }](t, on("key", "create", "--org", o.ID, "--principal", o.User, "--env", "test", "--name", "Abgleich", "--scopes", "contacts:read", "--expires-in", "1d", "--json")...)
		for _, act := range []string{"rotate", "revoke"} {
			_, told, _ := try(t, on("key", act, leaked.ID)...)
			if want := "Webhook endpoints of " + o.User + " that still get events: 1. List them: kartei webhook list --org " + o.SandboxID + " --principal " + o.User; !strings.Contains(told, want) {
				t.Errorf("key %s says %q, want %q", act, told, want)
			}
		}

		// The metrics that docs/operating/webhooks.md names.
		get(t, served.Operator+"/metrics", 200,
			"\nkartei_webhook_attempts_total{result=\"succeeded\"} ", "\nkartei_webhook_attempts_total{result=\"HTTP_STATUS\"} 1\n",
			"\nkartei_webhook_first_attempt_seconds_count ",
			"\nkartei_webhook_deliveries_waiting ", "\nkartei_webhook_deliveries_oldest_seconds ",
			"\nkartei_webhook_endpoints_behind ", "\nkartei_webhook_behind_seconds ",
			"\nkartei_webhook_endpoints{status=\"active\"} 1\n")

		// Gone again, with a notice to a user who reads English.
		kartei(t, on("user", "set", o.User, "--language", "en")...)
		receiver.answers(made.Secret, http.StatusGone)
		receiver.takes(contact())
		heading, body = mailed(t, dir, 2, on("bell", "--org", o.ID, "--json"))
		if want := "Kartei: Webhook endpoint " + made.ID + " of " + o.SandboxID + " was disabled: the receiver answers 410 Gone"; heading != want {
			t.Errorf("the email is about %q, want %q", heading, want)
		}
		for _, want := range []string{
			"The receiver of the webhook endpoint " + made.ID + " of " + o.SandboxID + " answered 410 Gone at 20", "it wants no more deliveries. The endpoint was therefore disabled at once.",
			"kartei webhook resend " + made.ID + " --org " + o.SandboxID + " --failed\n", "because the webhook endpoint is yours",
		} {
			if !strings.Contains(body, want) {
				t.Errorf("%q is not in the email:\n%s", want, body)
			}
		}
	}
	t.Run("sqlite", func(t *testing.T) { each(t, t.TempDir()) })
	t.Run("postgres", func(t *testing.T) { each(t, t.TempDir(), "--database-url", dbtest.PostgresURL(t)) })
}

// mailed waits until the bell reports a number of sent emails. It returns
// subject and text of the last one in the data folder.
func mailed(t *testing.T, dir string, want int, bell []string) (heading, text string) {
	t.Helper()
	sent := func() (n int) {
		var entries struct{ Data []bellEntry }
		decode(t, kartei(t, bell...), &entries)
		for _, e := range entries.Data {
			if e.Kind == "webhook_disabled" && e.MailedAt != nil {
				n++
			}
		}
		return n
	}
	for end := time.Now().Add(patience.Bound); sent() < want; {
		if time.Now().After(end) {
			t.Fatalf("there are not %d emails", want)
		}
	}
	names, err := filepath.Glob(filepath.Join(dir, "mail", "ntc_*.eml"))
	if err != nil || len(names) != want {
		t.Fatalf("emails %v, %v, want %d", names, err, want)
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
