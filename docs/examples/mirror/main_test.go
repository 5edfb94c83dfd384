package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"kartei/access"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/test/seed"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo="

var lists = []string{"companies", "contacts", "tasks", "documents"}

// copiedOffice is an instance with a copy of its records.
type copiedOffice struct {
	testing.TB
	url       string
	as, admin *apitest.Client
	file      string
	*mirror
}

func each(t *testing.T, f func(h *copiedOffice)) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		h := &copiedOffice{TB: t, url: o.Listen().URL, as: o.As(access.Member), admin: o.As(access.Admin), file: filepath.Join(t.TempDir(), "mirror.db")}
		h.start()
		t.Cleanup(func() { h.db.Close() })
		f(h)
	})
}

// start opens the copy as a new process does.
func (h *copiedOffice) start() {
	h.Helper()
	if h.mirror != nil {
		h.db.Close()
	}
	m, err := open(h.file, h.url, h.as.Key, lists, secret)
	if err != nil {
		h.Fatal(err)
	}
	h.mirror = m
}

func (h *copiedOffice) must(err error) {
	h.Helper()
	if err != nil {
		h.Fatal(err)
	}
}

// equals fails the test if the copy differs from the records that the key can read.
func (h *copiedOffice) equals() {
	h.Helper()
	total := 0
	for _, list := range lists {
		for cursor := ""; ; {
			a := h.as.Do("GET", "/"+list+"?limit=100"+cursor, nil).Want(200)
			var p page[json.RawMessage]
			h.must(json.Unmarshal(a.Body, &p))
			for _, body := range p.Data {
				var r struct{ ID string }
				h.must(json.Unmarshal(body, &r))
				var copied string
				if err := h.db.QueryRow(`select body from records where id = ? and list = ?`, r.ID, list).Scan(&copied); err != nil || copied != string(body) {
					h.Errorf("%s: the copy has %s, the office %s (%v)", list, copied, body, err)
				}
			}
			total += len(p.Data)
			if cursor = "&cursor=" + p.NextCursor; !p.HasMore {
				break
			}
		}
	}
	if n := h.count(); n != total {
		h.Errorf("the copy has %d records, the office %d", n, total)
	}
}

func (h *copiedOffice) count() (n int) {
	h.Helper()
	h.must(h.db.QueryRow(`select count(*) from records`).Scan(&n))
	return n
}

// deliver sends a webhook with a signature of some time ago, and returns the status.
func (h *copiedOffice) deliver(body []byte, with string, ago time.Duration) int {
	h.Helper()
	w, err := standardwebhooks.NewWebhook(with)
	h.must(err)
	var e event
	h.must(json.Unmarshal(body, &e))
	at := time.Now().Add(-ago)
	signature, err := w.Sign(e.ID, at, body)
	h.must(err)
	r := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(body))
	r.Header.Set("webhook-id", e.ID)
	r.Header.Set("webhook-timestamp", fmt.Sprint(at.Unix()))
	r.Header.Set("webhook-signature", signature)
	answer := httptest.NewRecorder()
	h.receive(answer, r)
	return answer.Code
}

// events returns the events of the feed, the latest first.
func (h *copiedOffice) events() (bodies []json.RawMessage) {
	h.Helper()
	var p page[json.RawMessage]
	h.must(json.Unmarshal(h.as.Do("GET", "/events?limit=100", nil).Want(200).Body, &p))
	return p.Data
}

// TestCopy checks that the copy has all records that its key can read. Later reads find changes in
// every list, also after a restart.
func TestCopy(t *testing.T) {
	ctx := context.Background()
	each(t, func(h *copiedOffice) {
		company := h.as.Do("POST", "/companies", map[string]any{"name": "Morgenstern"}).Want(201).Text("id")
		for i := range 130 { // more than one page
			h.as.Do("POST", "/contacts", map[string]any{"lastName": fmt.Sprint("Nr. ", i)}).Want(201)
		}
		task := h.as.Do("POST", "/tasks", map[string]any{"title": "Anrufen"}).Want(201).Text("id")
		h.as.Document("a.txt", "text/plain", []byte("Anlage"))
		h.must(h.copyAll(ctx))
		h.equals()
		h.start()
		h.as.Do("PATCH", "/companies/"+company, map[string]any{"name": "Abendstern"}, "If-Match", "*").Want(200)
		h.as.Do("DELETE", "/tasks/"+task, nil, "If-Match", "*").Want(204)
		h.must(h.copyAll(ctx))
		h.equals()
		// A record that becomes private to another user disappears from the copy. It returns if it
		// becomes visible again.
		for _, visibility := range []string{"private", "organization"} {
			h.admin.Do("PATCH", "/companies/"+company, map[string]any{"ownerId": h.admin.Principal, "visibility": visibility}, "If-Match", "*").Want(200)
			h.must(h.copyAll(ctx))
			h.equals()
		}
	})
}

// TestOpen checks that the mirror refuses weak secrets, and that only its user can read the copy.
func TestOpen(t *testing.T) {
	file := filepath.Join(t.TempDir(), "mirror.db")
	for _, wrong := range []string{"whsec_", "whsec_c2hvcnQ=", "whsec_!", secret + ",whsec_"} {
		if m, err := open(file, "http://127.0.0.1:1", "key", lists, wrong); err == nil {
			m.db.Close()
			t.Errorf("the secret %q is taken", wrong)
		}
	}
	if m, err := open(file, "http://127.0.0.1:1", "", lists, secret); err == nil {
		m.db.Close()
		t.Error("no key is taken")
	}
	m, err := open(file, "http://127.0.0.1:1", "key", lists, secret)
	if err != nil {
		t.Fatal(err)
	}
	defer m.db.Close()
	files, err := filepath.Glob(file + "*")
	if err != nil || len(files) < 2 {
		t.Fatalf("the copy is %v (%v)", files, err)
	}
	for _, name := range files {
		info, err := os.Stat(name)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
}

// TestPagesMayComeAgain checks that repeated and late pages change nothing.
func TestPagesMayComeAgain(t *testing.T) {
	ctx := context.Background()
	each(t, func(h *copiedOffice) {
		made := h.as.Do("POST", "/contacts", map[string]any{"lastName": "alt"}).Want(201)
		changed := h.as.Do("PATCH", "/contacts/"+made.Text("id"), map[string]any{"lastName": "neu"}, "If-Match", "*").Want(200)
		h.must(h.apply(ctx, "contacts", []json.RawMessage{changed.Body}))
		h.must(h.apply(ctx, "contacts", []json.RawMessage{made.Body}))
		h.equals()
		h.must(h.apply(ctx, "contacts", []json.RawMessage{changed.Body}))
		h.equals()
		if since, err := h.position("contacts"); err != nil || since != changed.Text("updatedAt") {
			t.Errorf("the list stands at %s, %v; want %s", since, err, changed.Text("updatedAt"))
		}
	})
}

// TestWebhooks checks that each webhook makes its list due once, in any order. Unsigned requests
// and other events have no effect.
func TestWebhooks(t *testing.T) {
	ctx := context.Background()
	each(t, func(h *copiedOffice) {
		h.must(h.copyAll(ctx))
		for i := range 10 {
			id := h.as.Do("POST", "/contacts", map[string]any{"lastName": fmt.Sprint("Nr. ", i)}).Want(201).Text("id")
			if i%2 == 0 {
				h.as.Do("DELETE", "/contacts/"+id, nil, "If-Match", "*").Want(204)
			}
		}
		h.as.Do("POST", "/tasks", map[string]any{"title": "Anrufen"}).Want(201)
		events := h.events()
		other := "whsec_" + "b3RoZXIgc2VjcmV0IHRoYXQgaXMgbm90IG91cnMhIQ=="
		if got := h.deliver(events[0], other, 0); got != 401 {
			t.Errorf("signed with another secret: %d", got)
		}
		if got := h.deliver(events[0], secret, 6*time.Minute); got != 401 {
			t.Errorf("signed 6 minutes ago: %d", got)
		}
		if len(h.due) != 0 {
			t.Fatalf("due after refused webhooks: %v", h.due)
		}
		seed.Rand(t).Shuffle(len(events), func(i, j int) { events[i], events[j] = events[j], events[i] })
		for i, e := range append(events, events...) {
			if got := h.deliver(e, secret, 0); got != 204 {
				t.Errorf("webhook %d: %d", i, got)
			}
			if i%5 == 0 {
				h.must(h.copyDue(ctx))
			}
		}
		h.must(h.copyDue(ctx))
		h.equals()
		for _, e := range events { // for the third time, and in the feed too
			h.deliver(e, secret, 0)
		}
		h.must(h.readFeed(ctx))
		if len(h.due) != 0 {
			t.Errorf("events that were heard of make %v due again", h.due)
		}
		if got := h.deliver([]byte(`{"id":"evt_1","data":{"object":"invoice","id":"inv_1"}}`), secret, 0); got != 204 || len(h.due) != 0 {
			t.Errorf("an event of a kind that is not known: %d, due %v", got, h.due)
		}
	})
}

// TestFeed checks that the feed has the events of missed webhooks, even after a restart and with an
// expired cursor. Changes without an event are found by reading every list.
func TestFeed(t *testing.T) {
	ctx := context.Background()
	each(t, func(h *copiedOffice) {
		h.as.Do("POST", "/contacts", map[string]any{"lastName": "davor"}).Want(201)
		h.must(h.copyAll(ctx))
		contact := func(name string) {
			h.Helper()
			h.as.Do("POST", "/contacts", map[string]any{"lastName": name}).Want(201)
			h.must(h.readFeed(ctx))
			if fmt.Sprint(h.due) != "map[contacts:true]" {
				t.Errorf("%s: due are %v", name, h.due)
			}
			h.must(h.copyDue(ctx))
			h.equals()
		}
		contact("verloren")
		h.start()
		contact("nach dem Start")
		since := h.feed.Get("createdSince")
		contact("mit dem Cursor")
		if got := h.feed.Get("createdSince"); got != since {
			t.Errorf("the cursor was not used: the feed was asked anew, behind %s and not %s", got, since)
		}
		h.feed.Set("cursor", "too-old")
		contact("nach einem Tag")
		document := h.as.Document("a.txt", "text/plain", []byte("Anlage"))
		h.must(h.copyAll(ctx))
		h.must(h.readFeed(ctx))
		h.must(h.copyDue(ctx))
		h.as.Do("PATCH", "/documents/"+document, map[string]any{"name": "b.txt"}, "If-Match", "*").Want(200)
		h.must(h.readFeed(ctx))
		if len(h.due) != 0 {
			t.Errorf("a renamed document makes %v due: say so in the guide", h.due)
		}
		h.must(h.copyAll(ctx))
		h.equals()
	})
}

// transport responds to requests without a network.
type transport func(*http.Request) *http.Response

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r), nil }

// TestPauses checks that the mirror waits before it calls an unavailable instance again, and
// continues when the instance is back.
func TestPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var calls atomic.Int32
		var back atomic.Bool
		asked := make(chan string, 1000)
		instance := transport(func(r *http.Request) *http.Response {
			answer := httptest.NewRecorder()
			if back.Load() {
				asked <- r.URL.Path
				answer.WriteString(`{"data":[]}`)
				return answer.Result()
			}
			if calls.Add(1) == 100 {
				cancel() // or this test would never end
			}
			answer.WriteHeader(http.StatusInternalServerError)
			return answer.Result()
		})
		m, err := open(filepath.Join(t.TempDir(), "mirror.db"), "http://kartei.test", "key", lists, "")
		if err != nil {
			t.Fatal(err)
		}
		defer m.db.Close()
		m.client.Transport = instance
		done := make(chan struct{})
		go func() {
			defer close(done)
			m.follow(ctx, time.Hour, time.Hour)
		}()
		time.Sleep(4 * time.Second)
		if n := calls.Load(); n > 2 { // one call for the feed, and one for the first list
			t.Fatalf("%d calls before the first pause", n)
		}
		time.Sleep(56 * time.Second)
		if n := calls.Load() - 2; n < 9 || n > 11 {
			t.Errorf("%d calls in the rest of a minute", n)
		}
		back.Store(true)
		time.Sleep(7 * time.Second)
		var got []string
		for len(asked) > 0 {
			got = append(got, <-asked)
		}
		if want := []string{"/v1/companies", "/v1/contacts", "/v1/tasks", "/v1/documents"}; !slices.Equal(got, want) {
			t.Errorf("when the instance is back, asked are %v, want %v", got, want)
		}
		cancel()
		<-done
	})
}
