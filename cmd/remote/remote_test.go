package remote_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"kartei/access"
	"kartei/cmd/remote"
	"kartei/integration/event"
	"kartei/kit/clock"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

var ctx = context.Background()

// client returns a client with a fake clock. The test ends the client's waits by advancing the
// clock.
func client(t testing.TB, url, key string, change ...func(*remote.Options)) (*remote.Client, *clock.Fake) {
	t.Helper()
	c := clock.NewFake(apitest.Begin)
	o := remote.Options{URL: url, Key: key, Clock: c}
	for _, f := range change {
		f(&o)
	}
	made, err := remote.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return made, c
}

var errEnough = errors.New("the test has seen enough")

// follow reads n events after the position p. It returns them with the position after them.
func follow(t testing.TB, c *remote.Client, p remote.Place, n int) (events []remote.Event, behind remote.Place) {
	t.Helper()
	behind = p
	err := c.Follow(ctx, p, func(_ context.Context, e remote.Event) error {
		if len(events) == n {
			return errEnough
		}
		events = append(events, e)
		return nil
	}, func(p remote.Place) error {
		behind = p
		if len(events) == n {
			return errEnough
		}
		return nil
	})
	if !errors.Is(err, errEnough) {
		t.Fatal(err)
	}
	return events, behind
}

// TestFollow checks that Follow passes on each event once and in order, across pages and from any
// position. The bytes are the same as in a webhook.
func TestFollow(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		as := o.As(access.Member)
		c, _ := client(t, o.Listen().URL, as.Key)
		newest, err := c.Newest(ctx)
		if err != nil || newest != (remote.Place{}) {
			t.Fatalf("the place behind nothing is %+v, %v", newest, err)
		}
		var want []string
		make := func(n int) {
			for range n {
				want = append(want, as.Do("POST", "/contacts",
					map[string]any{"lastName": fmt.Sprint(len(want))}).Want(201).Text("id"))
			}
		}
		make(230)
		var got []string
		place := newest
		for _, n := range []int{1, 99, 120, 10} { // ends within pages of 100 events, and at their ends
			var events []remote.Event
			events, place = follow(t, c, place, n)
			for _, e := range events {
				got = append(got, e.Data.ID)
				if single := as.Do("GET", "/events/"+e.ID, nil).Want(200).Body; string(single) != string(e.Body) {
					t.Errorf("the body is %s, that of the event %s", e.Body, single)
				}
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("got %d events, want %d in their order", len(got), len(want))
		}
		if newest, err = c.Newest(ctx); err != nil || newest.Since != place.Since {
			t.Errorf("the place behind everything is %+v, %v; want %s", newest, err, place.Since)
		}
		make(2)
		if events, _ := follow(t, c, newest, 1); events[0].Data.ID != want[230] {
			t.Errorf("behind everything comes %s, want %s", events[0].Data.ID, want[230])
		}
		place.Cursor = "expired"
		if events, _ := follow(t, c, place, 2); events[1].Data.ID != want[231] {
			t.Errorf("with a cursor that works no more the second event is %s, want %s", events[1].Data.ID, want[231])
		}
	})
}

// hastyClock is a clock with short waits.
type hastyClock struct{}

func (hastyClock) Now() time.Time                       { return apitest.Begin }
func (hastyClock) After(time.Duration) <-chan time.Time { return time.After(5 * time.Millisecond) }

// toServer sends requests for the base URL of the office to the server of the test.
type toServer string

func (s toServer) RoundTrip(r *http.Request) (*http.Response, error) {
	r.URL.Scheme, r.URL.Host = "http", string(s)
	return http.DefaultTransport.RoundTrip(r)
}

// TestTrigger checks that Trigger causes each type of event, and returns the event and its record.
func TestTrigger(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		as := o.As(access.Member)
		server := o.Listen()
		c, _ := client(t, server.URL, as.Key, func(o *remote.Options) {
			o.Clock, o.HTTP = hastyClock{}, &http.Client{Transport: toServer(server.Address)}
		})
		for _, eventType := range remote.Types() {
			if eventType == event.Test {
				if _, err := c.Trigger(ctx, eventType); err == nil || !strings.Contains(err.Error(), "POST /v1/webhook_endpoints") {
					t.Errorf("%s without an endpoint: %v", eventType, err)
				}
				as.Do("POST", "/webhook_endpoints", map[string]any{
					"name":       "x",
					"url":        "https://crm.example.com/",
					"eventTypes": []string{"contact.created"},
				}).Want(201)
			}
			made, err := c.Trigger(ctx, eventType)
			if err != nil {
				t.Errorf("%s: %v", eventType, err)
				continue
			}
			e := as.Do("GET", "/events/"+made.EventID, nil).Want(200).JSON()
			data := e["data"].(map[string]any)
			if e["type"] != eventType || made.Type != eventType || data["id"] != made.ID || data["object"] != made.Object {
				t.Errorf("%s: made %+v, the event is %v", eventType, made, e)
			}
		}
		for _, family := range []string{"contacts", "companies", "tasks"} {
			if hits := as.Do("GET", "/"+family+"?q="+remote.Tag, nil).Want(200).Data(); len(hits) < 2 {
				t.Errorf("%d of the %s that stay are found by their tag", len(hits), family)
			}
		}
		before := as.Do("GET", "/events?limit=1", nil).Want(200).Data()[0]["id"]
		for _, wrong := range []string{"contact.renamed", ""} {
			if _, err := c.Trigger(ctx, wrong); err == nil || !strings.Contains(err.Error(), "contact.created") {
				t.Errorf("%q: %v", wrong, err)
			}
		}
		live, _ := client(t, o.Listen().URL, strings.Replace(as.Key, "_test_", "_live_", 1))
		if _, err := live.Trigger(ctx, "contact.created"); !errors.Is(err, remote.ErrLive) {
			t.Errorf("with a live key: %v", err)
		}
		reader, _ := client(t, o.Listen().URL, o.As(access.Viewer).Key)
		if _, err := reader.Trigger(ctx, "contact.created"); err == nil || !strings.Contains(err.Error(), "FORBIDDEN") {
			t.Errorf("with a key that reads: %v", err)
		}
		if now := as.Do("GET", "/events?limit=1", nil).Want(200).Data()[0]["id"]; now != before {
			t.Error("what was refused made an event")
		}
	})
}

// TestTypes checks that Trigger supports every type of event.
func TestTypes(t *testing.T) {
	var catalogue []string
	for _, known := range event.Types {
		catalogue = append(catalogue, known.Name)
	}
	if got := remote.Types(); !slices.Equal(got, catalogue) {
		t.Errorf("the types are %v, the catalogue has %v", got, catalogue)
	}
}

// scripted returns a server that gives the responses in order and repeats the last one.
func scripted(t testing.TB, answers ...func(http.ResponseWriter, *http.Request)) (url string, calls *atomic.Int64) {
	t.Helper()
	calls = new(atomic.Int64)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := min(int(calls.Add(1)), len(answers))
		answers[n-1](w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL, calls
}

func problem(status int, code string, headers ...string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"code":%q,"title":"Nein.","requestId":"req_1"}`, code)
	}
}

func me(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"principalId":"usr_1"}`) }

func cut(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// TestWaiting checks that a temporary refusal is retried after the time in the response. A
// permanent refusal fails at once with an explanation.
func TestWaiting(t *testing.T) {
	for _, c := range []struct {
		name  string
		first func(http.ResponseWriter, *http.Request)
		least time.Duration // before the second call
	}{
		{"a limit", problem(429, "RATE_LIMITED", "Retry-After", "7"), 7 * time.Second},
		{"a quota", problem(429, "QUOTA_EXHAUSTED", "Retry-After", "1800"), 30 * time.Minute},
		{"a pause", problem(503, "API_PAUSED", "Retry-After", "5"), 5 * time.Second},
		{"a proxy without an instance", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(502) }, time.Second},
		{"a connection that is cut", cut, time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			url, calls := scripted(t, c.first, me)
			told := make(chan time.Duration, 9)
			client, moved := client(t, url, "kart_test_x",
				func(o *remote.Options) { o.Waiting = func(_ error, d time.Duration) { told <- d } })
			done := make(chan error)
			go func() {
				_, err := client.Me(ctx)
				done <- err
			}()
			moved.Await(1)
			if wait := <-told; wait < c.least || wait > c.least+time.Second {
				t.Errorf("waits for %s, want %s and a little", wait, c.least)
			}
			moved.Advance(c.least - time.Millisecond)
			if n := calls.Load(); n != 1 {
				t.Errorf("%d calls before the time", n)
			}
			moved.Advance(time.Second)
			if err := <-done; err != nil || calls.Load() != 2 {
				t.Errorf("after the time: %v, %d calls", err, calls.Load())
			}
		})
	}
}

func TestRefusedInWords(t *testing.T) {
	for _, c := range []struct {
		answer func(http.ResponseWriter, *http.Request)
		want   []string
	}{
		{problem(401, "UNAUTHENTICATED"), []string{"expired", "paused", "kartei log req_1", "/settings/interfaces/requests"}},
		{problem(403, "API_MODULE_DISABLED"), []string{"API_MODULE_DISABLED: Nein (req_1)"}},
		{problem(410, "VERSION_SUNSET"), []string{"VERSION_SUNSET"}},
		{func(w http.ResponseWriter, _ *http.Request) { http.NotFound(w, nil) }, []string{"404", "not an instance"}},
		{func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") }, []string{"cannot be decoded"}},
	} {
		url, calls := scripted(t, c.answer)
		client, _ := client(t, url+"/v1/", "kart_test_x")
		_, err := client.Me(ctx)
		if err == nil || calls.Load() != 1 {
			t.Errorf("%v after %d calls", err, calls.Load())
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%q does not say %q", err, want)
			}
		}
	}
	for _, url := range []string{"", "kartei.example.com", "ftp://x", "http://u:p@x", "http://x?y"} {
		if _, err := remote.New(remote.Options{URL: url, Key: "k"}); err == nil {
			t.Errorf("%q is taken for an address", url)
		}
	}
}

// TestSeesRecords checks for which scopes SeesRecords is true.
func TestSeesRecords(t *testing.T) {
	for scopes, want := range map[string]bool{
		"": false, "webhook_endpoints:read webhook_endpoints:write": false, "contacts:write": false,
		"documents:read": true, "webhook_endpoints:read contacts:read": true,
	} {
		if got := (remote.Me{Scopes: strings.Fields(scopes)}).SeesRecords(); got != want {
			t.Errorf("%q: %t", scopes, got)
		}
	}
}

// TestPatience checks that a call fails at once if it would have to wait longer than Patience.
func TestPatience(t *testing.T) {
	url, calls := scripted(t, problem(429, "QUOTA_EXHAUSTED", "Retry-After", "1800"))
	c, _ := client(t, url, "kart_test_x", func(o *remote.Options) { o.Patience = time.Minute })
	if _, err := c.Me(ctx); err == nil || !strings.Contains(err.Error(), "QUOTA_EXHAUSTED") || calls.Load() != 1 {
		t.Errorf("%v after %d calls", err, calls.Load())
	}
}

// TestPace checks that an idle feed is read every second, or less often if that would use up the
// rate limit.
func TestPace(t *testing.T) {
	for _, c := range []struct {
		limits string
		want   time.Duration
	}{
		{"", remote.Idle},
		{`"key";r=589;t=3`, remote.Idle},
		{`"key";r=20;t=100`, 5 * time.Second},
		{`"principal";r=0;t=60`, time.Minute},
		{`"key";r=500;t=100, "outflow";r=10;t=600`, time.Minute},
		{`not a list;;`, remote.Idle},
	} {
		url, calls := scripted(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("RateLimit", c.limits)
			fmt.Fprint(w, `{"data":[],"hasMore":false,"nextCursor":"c"}`)
		})
		client, moved := client(t, url, "kart_test_x")
		following, stop := context.WithCancel(ctx)
		done := make(chan error)
		go func() {
			done <- client.Follow(following, remote.Place{}, nil, func(remote.Place) error { return nil })
		}()
		moved.Await(1)
		moved.Advance(c.want - time.Millisecond)
		if n := calls.Load(); n != 1 {
			t.Errorf("%s: %d calls before the time", c.limits, n)
		}
		moved.Advance(time.Millisecond)
		moved.Await(1)
		if n := calls.Load(); n != 2 {
			t.Errorf("%s: %d calls when it is time", c.limits, n)
		}
		stop()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
}

// TestPatienceWithAnOperation checks that an operation is polled at the times in the responses, and
// not longer than Patience.
func TestPatienceWithAnOperation(t *testing.T) {
	var url string
	running := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "7")
		fmt.Fprint(w, `{"id":"op_1","status":"running"}`)
	}
	url, calls := scripted(t, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"id":"upl_1","method":"PUT","url":%q}`, url)
	}, func(http.ResponseWriter, *http.Request) {}, running)
	c, moved := client(t, url, "kart_test_x", func(o *remote.Options) { o.Patience = 10 * time.Second })
	done := make(chan error)
	go func() {
		_, err := c.Trigger(ctx, "document.created")
		done <- err
	}()
	moved.Await(1)
	moved.Advance(6 * time.Second)
	if n := calls.Load(); n != 3 {
		t.Errorf("%d calls before the time", n)
	}
	moved.Advance(time.Second)
	if err := <-done; err == nil || !strings.Contains(err.Error(), "op_1") || calls.Load() != 4 {
		t.Errorf("after %d calls: %v", calls.Load(), err)
	}
}

// TestNothingForTheTerminal checks that texts from an instance contain no control characters when
// they are printed.
func TestNothingForTheTerminal(t *testing.T) {
	var e remote.Event
	if err := json.Unmarshal([]byte(`{"id":"evt_\u001b[2J","type":"a\u0007\u009b","data":{"object":"\u007f","id":"con_\u202e\r\n"}}`), &e); err != nil {
		t.Fatal(err)
	}
	url, _ := scripted(t, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"principalId":"usr_\u001b","principalName":"A\u001b]0;b\u0007","organization":{"id":"\u0000","name":"Kanzlei\n\u2066"},"key":{"environment":"\u001b"}}`)
	}, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(422)
		fmt.Fprint(w, `{"code":"A\u001b[31m","title":"\u0007","detail":"\u202e","requestId":"\u001b"}`)
	})
	c, _ := client(t, url, "k")
	m, err := c.Me(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, refused := c.Me(t.Context())
	said := fmt.Sprint(e.ID, e.Type, e.Data, m, refused)
	if strings.ContainsFunc(said, func(r rune) bool {
		return r < ' ' || r >= 0x7f && r < 0xa0 || r == 0x202e || r == 0x2066
	}) || !strings.Contains(said, "evt_\uFFFD[2J") || !strings.Contains(said, "A\uFFFD[31m") {
		t.Errorf("the terminal gets %q", said)
	}
}
