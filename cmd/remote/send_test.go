package remote_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"kartei/cmd/remote"
	"kartei/test/apitest"
)

// waits is a clock that ends every wait at once and records it.
type waits struct {
	mu  sync.Mutex
	all []time.Duration
}

func (w *waits) Now() time.Time { return apitest.Begin }

func (w *waits) After(d time.Duration) <-chan time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, d)
	c := make(chan time.Time, 1)
	c <- apitest.Begin
	return c
}

// sender returns a client of a server with the handler answer.
func sender(t testing.TB, answer http.HandlerFunc) (*remote.Client, *waits, *httptest.Server) {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	w := &waits{}
	c, err := remote.New(remote.Options{URL: server.URL, Key: "kart_test_secret", Clock: w})
	if err != nil {
		t.Fatal(err)
	}
	return c, w, server
}

func refuse(w http.ResponseWriter, status int, code string, more string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"status":%d,"code":%q,"title":"No"%s}`, status, code, more)
}

// TestSendWaits checks that Send waits as the guide says under 'Backoff and lock'. A call is
// repeated only if that is safe.
func TestSendWaits(t *testing.T) {
	second := time.Second
	for name, c := range map[string]struct {
		request remote.Request
		answer  http.HandlerFunc
		want    []time.Duration // each wait, without jitter
	}{
		"without a time": {remote.Request{Method: "PATCH"},
			func(w http.ResponseWriter, _ *http.Request) { refuse(w, 429, "RATE_LIMITED", "") },
			[]time.Duration{second, 2 * second, 4 * second, 8 * second}},
		"Retry-After": {remote.Request{Method: "GET"}, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "300")
			refuse(w, 429, "RATE_LIMITED", "")
		}, []time.Duration{300 * second, 300 * second, 300 * second, 300 * second}},
		"a date": {remote.Request{Method: "GET"}, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", apitest.Begin.Add(time.Minute).UTC().Format(http.TimeFormat))
			refuse(w, 429, "OVERLOADED", "")
		}, []time.Duration{60 * second, 60 * second, 60 * second, 60 * second}},
		"retryAfterMs": {remote.Request{Method: "GET"}, func(w http.ResponseWriter, _ *http.Request) {
			refuse(w, 429, "RATE_LIMITED", `,"retryAfterMs":2500`)
		}, []time.Duration{
			2500 * time.Millisecond, 2500 * time.Millisecond, 2500 * time.Millisecond, 2500 * time.Millisecond,
		}},
		"1e9 s": {remote.Request{Method: "GET"}, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "1000000000")
			refuse(w, 429, "RATE_LIMITED", "")
		}, nil},
		"more than a number holds": {remote.Request{Method: "GET"}, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", strings.Repeat("9", 40))
			refuse(w, 429, "RATE_LIMITED", `,"retryAfterMs":9223372036854775807`)
		}, nil},
		"a quota": {remote.Request{Method: "GET"}, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "1")
			refuse(w, 429, "QUOTA_EXHAUSTED", "")
		}, nil},
		"a pause": {remote.Request{Method: "DELETE"},
			func(w http.ResponseWriter, _ *http.Request) { refuse(w, 503, "API_PAUSED", "") },
			[]time.Duration{second, 2 * second, 4 * second, 8 * second}},
		"a proxy, a read": {remote.Request{Method: "GET", Repeatable: true},
			func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusBadGateway) },
			[]time.Duration{second, 2 * second, 4 * second, 8 * second}},
		"a proxy, a write": {
			remote.Request{Method: "DELETE"},
			func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusBadGateway) },
			nil,
		},
		"no answer to a read": {remote.Request{Method: "GET", Repeatable: true},
			func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
			[]time.Duration{second, 2 * second, 4 * second, 8 * second}},
		"no answer to a write": {
			remote.Request{Method: "PATCH"},
			func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
			nil,
		},
		"a wrong call": {
			remote.Request{Method: "GET", Repeatable: true},
			func(w http.ResponseWriter, _ *http.Request) { refuse(w, 404, "NOT_FOUND", "") },
			nil,
		},
		"an error inside": {
			remote.Request{Method: "GET", Repeatable: true},
			func(w http.ResponseWriter, _ *http.Request) { refuse(w, 500, "INTERNAL", "") },
			nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			client, w, _ := sender(t, c.answer)
			c.request.Path = "/x"
			if _, err := client.Send(ctx, c.request); err == nil {
				t.Fatal("no error")
			}
			if len(w.all) != len(c.want) {
				t.Fatalf("waited %v, want about %v", w.all, c.want)
			}
			for i, got := range w.all {
				if got < c.want[i] || got > c.want[i]+4*second {
					t.Errorf("wait %d is %s, want %s and a little", i, got, c.want[i])
				}
			}
		})
	}
}

// TestSendToAClosedPort checks that a refused connection is retried even for a write, because
// nothing was sent.
func TestSendToAClosedPort(t *testing.T) {
	client, w, server := sender(t, nil)
	server.Close()
	_, err := client.Send(ctx, remote.Request{Method: "DELETE", Path: "/x"})
	none := new(remote.NoAnswerError)
	if !errors.As(err, &none) || none.Sent || len(w.all) != 4 {
		t.Errorf("got %v after the waits %v, want four waits and nothing sent", err, w.all)
	}
}

// TestSendRepeatsTheSame checks that every try sends the same call with the same Idempotency-Key.
func TestSendRepeatsTheSame(t *testing.T) {
	var seen []string
	client, _, _ := sender(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		seen = append(seen, r.Method+" "+r.URL.String()+" "+r.Header.Get("Idempotency-Key")+" "+
			r.Header.Get("Authorization")+" "+string(body))
		if len(seen) < 3 {
			refuse(w, 409, "IDEMPOTENCY_IN_PROGRESS", "")
			return
		}
		fmt.Fprint(w, "{}")
	})
	response, err := client.Send(ctx, remote.Request{
		Method:     "POST",
		Path:       "/contacts?x=1",
		Header:     http.Header{"Idempotency-Key": {"k"}},
		Body:       []byte("{}"),
		Repeatable: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	want := "POST /v1/contacts?x=1 k Bearer kart_test_secret {}"
	if !slices.Equal(seen, []string{want, want, want}) {
		t.Errorf("sent %q, want three times %q", seen, want)
	}
}

// TestKeyIsSentToOneAddress checks that a redirect does not send the key to another host, port or
// scheme. A redirect of a write is not followed.
func TestKeyIsSentToOneAddress(t *testing.T) {
	var told []string
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		told = append(told, r.Method+r.Header.Get("Authorization"))
	}))
	defer elsewhere.Close()
	client, _, _ := sender(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
	})
	response, err := client.Send(ctx, remote.Request{Method: "GET", Path: "/x"})
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	refused := new(remote.Refusal)
	if _, err := client.Send(ctx, remote.Request{Method: "POST", Path: "/x", Body: []byte("{}")}); !errors.As(err,
		&refused) || refused.Status != 307 {
		t.Errorf("a write that is sent elsewhere: %v", err)
	}
	if err := client.Call(ctx, "GET", "/x", nil, nil); err != nil {
		t.Error(err)
	}
	if !slices.Equal(told, []string{"GET", "GET"}) {
		t.Errorf("elsewhere came %q, want two reads without the key", told)
	}
}

// TestSendWatches checks that a response without new bytes fails, and that a slow response
// succeeds.
func TestSendWatches(t *testing.T) {
	still := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "begin")
		w.(http.Flusher).Flush()
		select {
		case <-still:
		case <-r.Context().Done():
		}
	}))
	defer server.Close()
	defer close(still)
	client, err := remote.New(remote.Options{URL: server.URL, Key: "k", Stall: 200 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Send(ctx, remote.Request{Method: "GET", Path: "/x"})
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if none := new(remote.NoAnswerError); !errors.As(err, &none) ||
		!strings.Contains(err.Error(), "no data arrived") || string(body) != "begin" {
		t.Errorf("read %q, %v; want the received bytes and a stalled answer", body, err)
	}
}

// list returns a handler that sends page(n) for the nth request.
func list(page func(n int) string) http.HandlerFunc {
	n := 0
	return func(w http.ResponseWriter, _ *http.Request) {
		n++
		fmt.Fprint(w, page(n))
	}
}

// TestEachOfABrokenList checks that Each fails for a broken list, after it has passed on earlier
// records. The list repeats a cursor, has only empty pages, has too large a page, or is no list.
func TestEachOfABrokenList(t *testing.T) {
	for name, c := range map[string]struct {
		answer  http.HandlerFunc
		records int
		want    string
	}{
		"a loop": {list(func(n int) string {
			return fmt.Sprintf(`{"data":[{"n":%d}],"hasMore":true,"nextCursor":"c%d"}`, n, n%3)
		}), 4, "already"},
		"no records": {
			list(func(n int) string { return fmt.Sprintf(`{"data":[],"hasMore":true,"nextCursor":"c%d"}`, n) }),
			0, "announces further pages",
		},
		"no list": {list(func(int) string { return `{"object":"contact"}` }), 0, "not a list"},
		"no JSON": {list(func(int) string { return `<html>` }), 0, "not a list"},
		"huge": {func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, `{"data":["`)
			for range 40 {
				fmt.Fprint(w, strings.Repeat("x", 1<<20))
			}
			fmt.Fprint(w, `"]}`)
		}, 0, "32 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			client, _, _ := sender(t, c.answer)
			got := 0
			err := client.Each(ctx, remote.Request{Method: "GET", Path: "/contacts"},
				func(json.RawMessage) error { got++; return nil })
			if broken := new(remote.BrokenListError); !errors.As(err, &broken) || !strings.Contains(err.Error(), c.want) ||
				got != c.records {
				t.Errorf("%d records, then %v; want %d, then %q", got, err, c.records, c.want)
			}
		})
	}
}

// TestLastPageWithCursor checks that Each ends at the last page even if that has a cursor.
// Interrupted pages are read again.
func TestLastPageWithCursor(t *testing.T) {
	var asked []string
	client, w, _ := sender(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.RawQuery)
		switch len(asked) {
		case 1:
			fmt.Fprint(w, `{"data":[1,2],"hasMore":true,"nextCursor":"b c"}`)
		case 2:
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, `{"data":[`)
		case 3:
			refuse(w, 429, "RATE_LIMITED", "")
		default:
			fmt.Fprint(w, `{"data":[3],"hasMore":false,"nextCursor":"later"}`)
		}
	})
	var got []string
	err := client.Each(ctx, remote.Request{Method: "GET", Path: "/events?sort=createdAt", Repeatable: true},
		func(r json.RawMessage) error {
			got = append(got, string(r))
			return nil
		})
	if err != nil || !slices.Equal(got, []string{"1", "2", "3"}) {
		t.Errorf("got %v, %v", got, err)
	}
	next := "cursor=b+c&sort=createdAt"
	if !slices.Equal(asked, []string{"sort=createdAt", next, next, next}) || len(w.all) != 2 {
		t.Errorf("asked %q with the waits %v", asked, w.all)
	}
}

// TestPlain checks that Plain keeps newlines and replaces characters that control a terminal.
func TestPlain(t *testing.T) {
	if got := remote.Plain("a\x1b[2J\nb\u202ec\u009b\n"); got != "a\ufffd[2J\nb\ufffdc\ufffd\n" {
		t.Errorf("got %q", got)
	}
}
