package api_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"kartei/access"
	"kartei/integration/key"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/test/waittest"
)

// replayed fails the test unless the response b is a replay of the response a.
func replayed(t testing.TB, a, b *apitest.Answer) {
	t.Helper()
	if b.Status != a.Status || string(b.Body) != string(a.Body) {
		t.Errorf("replay: %d %s\nfirst: %d %s", b.Status, b.Body, a.Status, a.Body)
	}
	for _, name := range []string{"Etag", "Location", "Content-Type"} {
		if a.Header.Get(name) != b.Header.Get(name) {
			t.Errorf("replay: %s %q, first %q", name, b.Header.Get(name), a.Header.Get(name))
		}
	}
	if a.Header.Get("Idempotent-Replayed") != "" || b.Header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("Idempotent-Replayed %q, then %q", a.Header.Get("Idempotent-Replayed"), b.Header.Get("Idempotent-Replayed"))
	}
	if a.Header.Get("Request-Id") == b.Header.Get("Request-Id") {
		t.Error("the replay has the request id of the first call")
	}
}

// wantContacts fails the test unless the caller sees these numbers of contacts and events.
func wantContacts(t testing.TB, c *apitest.Client, contacts, events int) {
	t.Helper()
	if got := c.Do("GET", "/contacts/count", nil).Want(200).JSON()["count"]; got != float64(contacts) {
		t.Errorf("%v contacts, want %d", got, contacts)
	}
	if got := len(c.Do("GET", "/events?limit=100", nil).Want(200).Data()); got != events {
		t.Errorf("%d events, want %d", got, events)
	}
}

func TestReplay(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		c := o.As(access.Member)
		post := func(body, key string) *apitest.Answer {
			return c.Do("POST", "/contacts", body, "Idempotency-Key", key)
		}
		const body = `{"firstName":"Jürgen","lastName":"Weiß","tags":["a","b"],"address":{"city":"Köln","country":"DE"}}`
		first := post(body, "k-1").Want(201)
		for name, same := range map[string]string{
			"the same bytes": body,
			"other order":    `{"address":{"country":"DE","city":"Köln"},"tags":["a","b"],"lastName":"Weiß","firstName":"Jürgen"}`,
			"white space":    " {\r\n\t\"firstName\" : \"Jürgen\", \"lastName\":\"Weiß\" ,\"tags\":[ \"a\",\"b\" ],\"address\":{\"city\":\"Köln\",\"country\":\"DE\"} }\n",
			"escapes":        `{"firstName":"J\u00fcrgen","lastName":"Wei\u00DF","tags":["\u0061","b"],"address":{"city":"K\u00f6ln","country":"DE"}}`,
		} {
			t.Run(name, func(t *testing.T) { replayed(t, first, post(same, "k-1")) })
		}
		for _, other := range []string{
			`{"firstName":"Jürgen"}`, strings.Replace(body, `"a","b"`, `"b","a"`, 1), strings.Replace(body, "Köln", "Bonn", 1),
			strings.Replace(body, `{"first`, `{"note":null,"first`, 1), strings.Replace(body, "Jürgen", " Jürgen", 1),
		} {
			a := post(other, "k-1").Want(422, "IDEMPOTENCY_PAYLOAD_MISMATCH")
			if a.Header.Get("Idempotent-Replayed") != "" {
				t.Errorf("%s: a refusal says that it is a replay", other)
			}
		}
		replayed(t, first, post(body, `"k-1"`)) // with or without quotes, the key is the same
		quoted := post(body, `"a \"b\" \\c"`).Want(201)
		replayed(t, quoted, post(body, `a "b" \c`))
		post(body, "K-1").Want(201) // keys are case-sensitive
		post(body, "k-2").Want(201)
		wantContacts(t, c, 4, 4)
	})
}

// TestReplayEndsWithTheRecord checks that a stored response is replayed until its record is
// deleted. Other changes of the record do not matter.
func TestReplayEndsWithTheRecord(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		c := o.As(access.Member)
		first := c.Do("POST", "/contacts", `{"lastName":"Berg"}`, "Idempotency-Key", "k").Want(201)
		again := func() {
			t.Helper()
			replayed(t, first, c.Do("POST", "/contacts", `{"lastName":"Berg"}`, "Idempotency-Key", "k"))
		}
		at := "/contacts/" + first.Text("id")
		c.Do("PATCH", at, `{"lastName":"Thal"}`, "If-Match", `"r1"`).Want(200)
		again()
		c.Do("DELETE", at, nil, "If-Match", `"r2"`).Want(204)
		gone := c.Do("POST", "/contacts", `{"lastName":"Berg"}`, "Idempotency-Key", "k").Want(404, "NOT_FOUND")
		if gone.Header.Get("Idempotent-Replayed") != "true" {
			t.Error("the answer about a deleted record is no replay")
		}
		c.Do("GET", at, nil).Want(404)
		wantContacts(t, c, 0, 3)
	})
}

// TestKeyScope checks that an idempotency key belongs to one principal in one organization. Other
// callers may use the same text.
func TestKeyScope(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		away, _ := o.Organization("Kanzlei Abendroth")
		strangerID := o.User(access.Member, away)
		one, colleague := o.As(access.Member), o.As(access.Member)
		stranger := &apitest.Client{Office: o, Principal: strangerID, Key: o.Key(strangerID)}
		live, err := o.Operator.CreateKey(t.Context(), key.New{
			Organization: o.ID, Principal: one.Principal, Environment: "live", Scopes: apitest.AllScopes,
			Networks: []string{"192.0.2.0/24"},
		})
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for i, c := range []*apitest.Client{one, colleague, stranger, {Office: o, Principal: one.Principal, Key: live.Key}} {
			a := c.Do("POST", "/contacts", fmt.Sprintf(`{"lastName":"Nr %d"}`, i), "Idempotency-Key", "shared").Want(201)
			seen[a.Text("id")] = true
		}
		if len(seen) != 4 {
			t.Errorf("%d records, want 4", len(seen))
		}
		second := &apitest.Client{Office: o, Principal: one.Principal, Key: o.Key(one.Principal)}
		a := second.Do("POST", "/contacts", `{"lastName":"Nr 0"}`, "Idempotency-Key", "shared").Want(201)
		if a.Header.Get("Idempotent-Replayed") != "true" {
			t.Error("two keys of one principal do not share their idempotency keys")
		}
	})
}

// TestRefusedIsNotStored checks that an idempotency key may be used again after a refused call,
// even for another call.
func TestRefusedIsNotStored(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		c := o.As(access.Member)
		c.Do("POST", "/contacts", `{"lastName":"Erste","externalId":"taken"}`).Want(201)
		post := func(body string, headers ...string) *apitest.Answer {
			return c.Do("POST", "/contacts", body, append([]string{"Idempotency-Key", "again"}, headers...)...)
		}
		post(`{`).Want(400)
		post(`{"nosuch":1}`).Want(422)
		post(`{"lastName":"A","externalId":"taken"}`).Want(422, "VALIDATION_FAILED")
		post(`{"lastName":"A"}`, "Svc-Version", old, "Svc-Preview", "").Want(404)
		post(`{"lastName":"A"}`, "Content-Type", "text/plain").Want(415)
		post(`{"lastName":"A"}`, "Authorization", "").Want(401)
		first := post(`{"lastName":"B"}`).Want(201)
		if first.Header.Get("Idempotent-Replayed") != "" {
			t.Error("a refusal was remembered")
		}
		post(`{"lastName":"A","externalId":"taken"}`).Want(422, "IDEMPOTENCY_PAYLOAD_MISMATCH")
		replayed(t, first, post(`{"lastName":"B"}`))
		wantContacts(t, c, 2, 2)
	})
}

func TestKeysExpire(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		c := o.As(access.Member)
		post := func() *apitest.Answer {
			return c.Do("POST", "/contacts", `{"lastName":"Berg"}`, "Idempotency-Key", "daily").Want(201)
		}
		first := post()
		o.Clock.Advance(24*time.Hour - time.Microsecond)
		replayed(t, first, post()) // a replay does not extend the life of the idempotency key
		o.Clock.Advance(time.Microsecond)
		second := post()
		if second.Header.Get("Idempotent-Replayed") != "" || second.Text("id") == first.Text("id") {
			t.Errorf("after 24 hours: %s", second.Body)
		}
		replayed(t, second, post())
		o.Clock.Advance(24 * time.Hour)
		c.Do("POST", "/contacts", `{"lastName":"Another"}`, "Idempotency-Key", "daily").Want(201)
		wantContacts(t, c, 3, 3)
	})
}

// hookedDB is a database with which a test can delay or fail a write transaction. Before each
// commit, it calls the hook in the context, if there is one. If the hook returns an error, the
// transaction fails.
type hookedDB struct{ db.DB }

type hookKey struct{}

func (d hookedDB) WriteIn(ctx context.Context, organization int64, f func(db.Tx) error) error {
	return d.DB.WriteIn(ctx, organization, func(tx db.Tx) error {
		if err := f(tx); err != nil {
			return err
		}
		if hook, is := ctx.Value(hookKey{}).(func() error); is {
			// Queued statements are sent first.
			if err := tx.QueryRow(ctx, "select 1").Scan(new(int)); err != nil {
				return err
			}
			return hook()
		}
		return nil
	})
}

// hooked creates a contact. hook runs before the commit.
func hooked(c *apitest.Client, hook func() error, body, key string) *apitest.Answer {
	r := c.Request("POST", "/contacts", body, "Idempotency-Key", key)
	return c.Send(r.WithContext(context.WithValue(r.Context(), hookKey{}, hook)))
}

// TestInProgress checks a second call with an idempotency key that arrives while the first call is
// in its transaction.
func TestInProgress(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, hookedDB{d})
		c, other := o.As(access.Member), o.As(access.Member)
		entered, leave := make(chan struct{}), make(chan struct{})
		entering := sync.OnceFunc(func() { close(entered) })
		wait := func() error {
			entering()
			<-leave
			return nil
		}
		release := sync.OnceFunc(func() { close(leave) })
		t.Cleanup(release) // also if the test ends early
		first := make(chan *apitest.Answer, 1)
		go func() { first <- hooked(c, wait, `{"lastName":"Berg"}`, "k") }()
		<-entered
		for _, body := range []string{`{"lastName":"Berg"}`, `{"lastName":"Other"}`} {
			busy := c.Do("POST", "/contacts", body, "Idempotency-Key", "k").Want(409, "IDEMPOTENCY_IN_PROGRESS")
			if busy.Header.Get("Retry-After") != "1" || busy.JSON()["retryAfterMs"] != 1000.0 {
				t.Errorf("Retry-After %q: %s", busy.Header.Get("Retry-After"), busy.Body)
			}
		}
		c.Do("POST", "/contacts", `{`, "Idempotency-Key", "k").Want(400) // an invalid body is refused before the key is looked up
		release()
		made := (<-first).Want(201)
		replayed(t, made, c.Do("POST", "/contacts", `{"lastName":"Berg"}`, "Idempotency-Key", "k"))
		other.Do("POST", "/contacts", `{"lastName":"Thal"}`, "Idempotency-Key", "k").Want(201)
		wantContacts(t, c, 2, 2)
	})
}

// TestInProgressElsewhere is TestInProgress with two replicas, which share only the database.
// SQLite has a single process, so the test needs PostgreSQL.
func TestInProgressElsewhere(t *testing.T) {
	d := dbtest.Postgres(t)
	o := apitest.New(t, hookedDB{d})
	c := o.As(access.Member)
	there := *c
	there.Office = o.Replica(dbtest.Again(t, d))
	entered, leave := make(chan struct{}), make(chan struct{})
	entering := sync.OnceFunc(func() { close(entered) })
	wait := func() error {
		entering()
		<-leave
		return nil
	}
	release := sync.OnceFunc(func() { close(leave) })
	t.Cleanup(release) // also if the test ends early
	first := make(chan *apitest.Answer, 1)
	go func() { first <- hooked(c, wait, `{"lastName":"Berg"}`, "k") }()
	<-entered
	// A call that waited for the first call would otherwise block the test forever.
	ctx, cancel := context.WithTimeout(t.Context(), waittest.Bound)
	defer cancel()
	second := there.Request("POST", "/contacts", `{"lastName":"Berg"}`, "Idempotency-Key", "k").WithContext(ctx)
	busy := there.Send(second).Want(409, "IDEMPOTENCY_IN_PROGRESS")
	if busy.Header.Get("Retry-After") != "1" {
		t.Errorf("Retry-After %q", busy.Header.Get("Retry-After"))
	}
	release()
	replayed(t, (<-first).Want(201), there.Do("POST", "/contacts", `{"lastName":"Berg"}`, "Idempotency-Key", "k"))
	wantContacts(t, &there, 1, 1)
}

// TestCrashStoresNothing fails a transaction right before its commit. It checks that nothing is
// stored.
func TestCrashStoresNothing(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, hookedDB{d})
		c := o.As(access.Member)
		before := contents(t, d)
		crash := func() error { return errors.New("the process dies here") }
		failed := hooked(c, crash, `{"lastName":"Berg","externalId":"x"}`, "k").Want(500, "INTERNAL")
		if strings.Contains(string(failed.Body), "dies") {
			t.Errorf("the client sees the cause: %s", failed.Body)
		}
		if after := contents(t, d); after != before {
			t.Errorf("left behind:\n%s", after)
		}
		post := func() *apitest.Answer {
			return c.Do("POST", "/contacts", `{"lastName":"Berg","externalId":"x"}`, "Idempotency-Key", "k")
		}
		first := post().Want(201)
		if first.Header.Get("Idempotent-Replayed") != "" {
			t.Error("a call that failed was remembered")
		}
		replayed(t, first, post())
		wantContacts(t, c, 1, 1)
	})
}

// TestRetriedTransaction checks that a transaction is repeated after a conflict, with the same
// input. It stores one record, one event and one response.
func TestRetriedTransaction(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, hookedDB{d})
		c := o.As(access.Member)
		runs := 0
		conflict := func() error {
			if runs++; runs < 3 {
				return db.ErrConflict
			}
			return nil
		}
		first := hooked(c, conflict, `{"lastName":" Berg ","tags":["a","a"]}`, "k").Want(201)
		if runs != 3 {
			t.Errorf("%d runs, want 3", runs)
		}
		replayed(t, first, c.Do("POST", "/contacts", `{"lastName":" Berg ","tags":["a","a"]}`, "Idempotency-Key", "k"))
		wantContacts(t, c, 1, 1)
	})
}

// TestReplayCosts checks that a replay costs as much as the first call.
func TestReplayCosts(t *testing.T) {
	o := office(t, apitest.Metered())
	c := o.As(access.Member)
	for _, want := range []float64{594, 588} { // 5 for the create, 1 for the query of the points
		c.Do("POST", "/contacts", `{"lastName":"Berg"}`, "Idempotency-Key", "k").Want(201)
		if got := remaining(t, c); got != want {
			t.Errorf("%v points left, want %v", got, want)
		}
	}
}

// TestCreateInParallel sends many calls with one idempotency key at the same time. It checks that
// one record is created. Every response has this record or asks the client to wait.
func TestCreateInParallel(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		c := o.As(access.Member)
		answers := make(chan *apitest.Answer)
		const calls = 24
		for range calls {
			go func() { answers <- c.Do("POST", "/contacts", `{"lastName":"Berg"}`, "Idempotency-Key", "k") }()
		}
		made := map[string]int{}
		for range calls {
			switch a := <-answers; a.Status {
			case 201:
				made[string(a.Body)]++
			case 409:
				a.Want(409, "IDEMPOTENCY_IN_PROGRESS")
			default:
				t.Errorf("%d %s", a.Status, a.Body)
			}
		}
		if len(made) != 1 {
			t.Errorf("%d different answers: %v", len(made), made)
		}
		wantContacts(t, c, 1, 1)
	})
}
