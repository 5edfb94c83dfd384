package api_test

import (
	"fmt"
	"io"
	"maps"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"kartei/access"
	"kartei/integration/limit"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"

	"github.com/dunglas/httpsfv"
)

// remaining returns the points that the caller's key has left. The query itself costs one point.
func remaining(t testing.TB, c *apitest.Client) float64 {
	t.Helper()
	return policy(t, c, "key")["remaining"].(float64)
}

// policy returns the policy with a name from the response of GET /rate_limit.
func policy(t testing.TB, c *apitest.Client, name string) map[string]any {
	t.Helper()
	for _, p := range c.Do("GET", "/rate_limit", nil).Want(200).JSON()["policies"].([]any) {
		if p := p.(map[string]any); p["name"] == name {
			return p
		}
	}
	t.Fatalf("no policy %s", name)
	return nil
}

// left parses the RateLimit header into the policy, the rest (r) and the seconds until the reset
// (t).
func left(t testing.TB, a *apitest.Answer) (name string, r, reset int) {
	t.Helper()
	if _, err := fmt.Sscanf(strings.NewReplacer(`"`, " ", ";", " ").Replace(a.Header.Get("RateLimit")), "%s r=%d t=%d",
		&name, &r, &reset); err != nil {
		t.Fatalf("RateLimit %q: %v", a.Header.Get("RateLimit"), err)
	}
	return name, r, reset
}

// exhaust makes calls until the key has no points left. It returns the refusal.
func exhaust(t testing.TB, c *apitest.Client) *apitest.Answer {
	t.Helper()
	for range 601 {
		if a := c.Do("GET", "/me", nil); a.Status != 200 {
			return a
		}
	}
	t.Fatal("601 calls and no limit")
	return nil
}

func TestUnmetered(t *testing.T) {
	c := office(t).As(access.Member)
	for range 700 { // more calls than a key has points
		a := c.Do("GET", "/me", nil).Want(200)
		if _, _, reset := left(t, a); reset != 0 {
			t.Fatalf("RateLimit %q", a.Header.Get("RateLimit"))
		}
	}
	status := c.Do("GET", "/rate_limit", nil).Want(200).JSON()
	if status["metered"] != false {
		t.Errorf("metered is %v", status["metered"])
	}
	var names []string
	for _, p := range status["policies"].([]any) {
		p := p.(map[string]any)
		names = append(names, p["name"].(string))
		if p["remaining"] != p["quota"] || p["resetSeconds"] != 0.0 {
			t.Errorf("something is counted: %v", p)
		}
	}
	var want []string
	for _, p := range limit.Policies() {
		if p.Level != "session" {
			want = append(want, p.Name)
		}
	}
	if !slices.Equal(names, want) {
		t.Errorf("policies %v, want %v", names, want)
	}
}

// TestWalkCost checks the cost of each operation, in the headers and by GET /rate_limit.
func TestWalkCost(t *testing.T) {
	o := office(t, apitest.Metered())
	for op := range rows() {
		c := o.As(access.Member)
		at, body := path(t, c, op), ready(t, c, op)
		o.Clock.Advance(10 * time.Minute) // enough to refill all points
		a := c.Do(op.Method, at, body, "If-Match", "*").Want(op.Status())
		if got := 600 - remaining(t, c) - 1; got != float64(op.Cost) {
			t.Errorf("%s cost %v, want %d", op.ID, got, op.Cost)
		}
		if name, r, _ := left(t, a); name == "key" && r != 600-int(op.Cost) {
			t.Errorf("%s: RateLimit %q", op.ID, a.Header.Get("RateLimit"))
		}
		// Calls that are refused after the stage limits are charged. Calls that are refused before
		// it are not.
		o.Clock.Advance(10 * time.Minute)
		c.Do(op.Method, at+"?nosuch=1", body, "If-Match", "*").Want(400)
		c.Do(op.Method, at, body, "Svc-Organization", "org_x").Want(403)
		if got := 600 - remaining(t, c) - 1; got != float64(op.Cost) {
			t.Errorf("%s refused cost %v, want %d", op.ID, got, op.Cost)
		}
	}
}

// allLeft returns the rest of each policy from GET /rate_limit, by name. The query itself costs one
// point.
func allLeft(t testing.TB, c *apitest.Client) map[string]int {
	t.Helper()
	all := map[string]int{}
	for _, p := range c.Do("GET", "/rate_limit", nil).Want(200).JSON()["policies"].([]any) {
		p := p.(map[string]any)
		all[p["name"].(string)] = int(p["remaining"].(float64))
	}
	return all
}

// TestWalkLevels checks what each operation is charged in each policy. Every call costs points of
// the key, the principal and the organization. It may also count as a write, as a delete, and for
// the records that it returns.
func TestWalkLevels(t *testing.T) {
	o := office(t, apitest.Metered())
	for op := range rows() {
		c := o.As(access.Member)
		at, body := path(t, c, op), ready(t, c, op)
		o.Clock.Advance(2 * time.Minute)
		before := allLeft(t, c)
		a := c.Do(op.Method, at, body, "If-Match", "*").Want(op.Status())
		after := allLeft(t, c)
		changes := op.Writes() && op.Cost > 0 // the call itself writes, and not only the parts of a batch
		want := map[string]int{"key": int(op.Cost) + 1, "principal": int(op.Cost) + 1, "organization": int(op.Cost) + 1}
		if changes {
			want["writes"] = 1
		}
		if op.Method == "DELETE" {
			want["deletes"], want["deletes-day"] = 1, 1
		}
		switch op.ID {
		case "contacts.list", "companies.list", "tasks.list", "documents.list":
			want["outflow"] = len(a.Data())
		case "contacts.get", "companies.get", "tasks.get", "documents.get", "documents.content",
			"contacts.update", "companies.update", "tasks.update", "documents.update", "tasks.complete":
			want["outflow"] = 1
		}
		for name, n := range before {
			if took := n - after[name]; took != want[name] {
				t.Errorf("%s took %d of %s, want %d", op.ID, took, name, want[name])
			}
		}
		names := "key concurrency principal organization"
		if changes {
			names += " writes"
		}
		if op.Method == "DELETE" {
			names += " deletes deletes-day"
		}
		if _, discloses := want["outflow"]; discloses {
			names += " outflow"
		}
		list, err := httpsfv.UnmarshalList(a.Header["Ratelimit-Policy"])
		if err != nil {
			t.Fatal(err)
		}
		var declared []string
		for _, m := range list {
			declared = append(declared, m.(httpsfv.Item).Value.(string))
		}
		wanted := strings.Fields(names)
		slices.Sort(declared)
		slices.Sort(wanted)
		if !slices.Equal(declared, wanted) {
			t.Errorf("%s declares %v, want %v", op.ID, declared, wanted)
		}
	}
}

// TestNotModifiedReturnsNothing checks that a response 304 counts no record in the policy outflow.
func TestNotModifiedReturnsNothing(t *testing.T) {
	c := office(t, apitest.Metered()).As(access.Member)
	at := "/contacts/" + c.Do("POST", "/contacts", `{"lastName":"Berg"}`).Want(201).Text("id")
	c.Do("GET", at, nil, "If-None-Match", `"r1"`).Want(304)
	if n := allLeft(t, c)["outflow"]; n != 10_000 {
		t.Errorf("%d left", n)
	}
	c.Do("GET", at, nil).Want(200)
	if n := allLeft(t, c)["outflow"]; n != 9_999 {
		t.Errorf("%d left", n)
	}
}

// hang starts a POST whose body does not arrive, and returns a function that ends the call.
func hang(t testing.TB, c *apitest.Client) (end func()) {
	t.Helper()
	body, sender := io.Pipe()
	reading := make(chan struct{})
	r := c.Request("POST", "/contacts", "")
	r.Body, r.ContentLength = &slow{body, sync.OnceFunc(func() { close(reading) })}, -1
	r.Header.Set("Content-Type", "application/json")
	ended := make(chan int, 1)
	go func() {
		w := httptest.NewRecorder()
		c.Handler.ServeHTTP(w, r)
		ended <- w.Code
	}()
	select {
	case <-reading:
	case status := <-ended:
		t.Fatalf("the call ended with %d before it hung", status)
	}
	return func() {
		t.Helper()
		io.WriteString(sender, `{"lastName":"Berg"}`)
		sender.Close()
		if status := <-ended; status != 201 {
			t.Errorf("the call that hung ended with %d", status)
		}
	}
}

type slow struct {
	*io.PipeReader
	reading func()
}

func (s *slow) Read(b []byte) (int, error) {
	s.reading()
	return s.PipeReader.Read(b)
}

// TestConcurrencyLimit checks that six calls of a key may run at the same time. A seventh call is
// refused until one of the six ends.
func TestConcurrencyLimit(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d, apitest.Metered())
		c, other := o.As(access.Member), o.As(access.Member)
		var ends []func()
		for range 6 {
			ends = append(ends, hang(t, c))
		}
		a := c.Do("GET", "/contacts", nil).Want(429, "RATE_LIMITED")
		if got := fmt.Sprint(a.JSON()["violated-policies"]); got != "[concurrency]" ||
			a.Header.Get("Retry-After") != "1" || a.Header.Get("RateLimit") != `"concurrency";r=0;t=1` {
			t.Errorf("%s, Retry-After %q, RateLimit %q", got, a.Header.Get("Retry-After"), a.Header.Get("RateLimit"))
		}
		other.Do("GET", "/contacts", nil).Want(200)
		ends[2]()
		c.Do("GET", "/contacts", nil).Want(200)
		if n := allLeft(t, c)["concurrency"]; n != 1 {
			t.Errorf("%d left while five run", n)
		}
		for _, end := range slices.Delete(ends, 2, 3) {
			end()
		}
		if n := allLeft(t, c)["concurrency"]; n != 6 {
			t.Errorf("%d left", n)
		}
	})
}

// TestOverloaded checks that an instance with the maximum number of calls refuses every further
// call at once. It accepts calls again as soon as one ends.
func TestOverloaded(t *testing.T) {
	apitest.Alone(t)
	o := office(t, apitest.Metered(), apitest.MaxCalls(3), apitest.Replicas(1))
	c := o.As(access.Member)
	ends := []func(){hang(t, c), hang(t, c), hang(t, c)}
	for _, call := range []struct{ method, path string }{{"GET", "/me"}, {"POST", "/contacts"}, {"GET", "/nowhere"}} {
		a := c.Do(call.method, call.path, nil).Want(429, "OVERLOADED")
		checkProblem(t, a, call.path, false)
		checkHeaders(t, call.path, a)
		if a.Header.Get("Retry-After") != "1" || a.JSON()["retryAfterMs"] != 1000.0 {
			t.Errorf("Retry-After %q, retryAfterMs %v", a.Header.Get("Retry-After"), a.JSON()["retryAfterMs"])
		}
		if names, has := a.JSON()["violated-policies"]; has { // no policy is violated
			t.Errorf("violated-policies %v", names)
		}
	}
	before := o.Clock.Now()
	ends[0]()
	left := allLeft(t, c)
	if left["key"] != 600-3*5-1 || !o.Clock.Now().Equal(before) {
		t.Errorf("what was shed took points: %v", left)
	}
	ends[1]()
	ends[2]()
}

// TestLockOfAKey checks that the 51st refusal within a minute locks the key.
func TestLockOfAKey(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d, apitest.Metered(limit.Override{Name: "writes", Quota: 1, Capacity: 1}))
		c := o.As(access.Member)
		c.Do("POST", "/contacts", `{"lastName":"Berg"}`).Want(201)
		for range 50 {
			c.Do("POST", "/contacts", `{"lastName":"Berg"}`).Want(429, "RATE_LIMITED")
		}
		c.Do("GET", "/me", nil).Want(200)
		c.Do("POST", "/contacts", `{"lastName":"Berg"}`).Want(429, "RATE_LIMITED")
		o.Clock.Advance(299 * time.Second)
		a := c.Do("GET", "/me", nil).Want(429, "RATE_LIMITED")
		if a.Header.Get("Retry-After") != "1" || a.Header.Get("RateLimit") != `"key";r=0;t=1` ||
			fmt.Sprint(a.JSON()["violated-policies"]) != "[key]" {
			t.Errorf("Retry-After %q, RateLimit %q: %s", a.Header.Get("Retry-After"), a.Header.Get("RateLimit"), a.Body)
		}
		o.As(access.Member).Do("GET", "/me", nil).Want(200)
		o.Clock.Advance(time.Second)
		c.Do("GET", "/me", nil).Want(200)
	})
}

// TestQuotaExhausted checks that policies with a window of an hour or a day refuse with
// QUOTA_EXHAUSTED. They refuse only the calls that they count.
func TestQuotaExhausted(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d, apitest.Metered(limit.Override{Name: "deletes-day", Quota: 1, Capacity: 1},
			limit.Override{Name: "outflow", Quota: 2, Capacity: 2}))
		c := o.As(access.Member)
		made := make([]string, 3)
		for i := range made {
			made[i] = "/contacts/" + c.Do("POST", "/contacts", `{"lastName":"Berg"}`).Want(201).Text("id")
		}
		c.Do("DELETE", made[0], nil, "If-Match", "*").Want(204)
		a := c.Do("DELETE", made[1], nil, "If-Match", "*").Want(429, "QUOTA_EXHAUSTED")
		if a.Header.Get("Retry-After") != "86400" || a.Header.Get("RateLimit") != `"deletes-day";r=0;t=86400` {
			t.Errorf("Retry-After %q, RateLimit %q", a.Header.Get("Retry-After"), a.Header.Get("RateLimit"))
		}
		if b := c.Do("GET", "/contacts", nil).Want(200); b.Header.Get("RateLimit") != `"outflow";r=0;t=3600` {
			t.Errorf("RateLimit %q after two of two records", b.Header.Get("RateLimit"))
		}
		a = c.Do("GET", made[1], nil).Want(429, "QUOTA_EXHAUSTED")
		if a.Header.Get("Retry-After") != "3600" || fmt.Sprint(a.JSON()["violated-policies"]) != "[outflow]" {
			t.Errorf("Retry-After %q: %s", a.Header.Get("Retry-After"), a.Body)
		}
		// Even an empty patch is refused, because its response has the record.
		c.Do("PATCH", made[1], `{}`, "If-Match", "*").Want(429, "QUOTA_EXHAUSTED")
		c.Do("GET", "/contacts/count", nil).Want(200)
		c.Do("GET", "/webhook_endpoints", nil).Want(200)
		c.Do("POST", "/contacts", `{"lastName":"Tal"}`).Want(201)
		o.Clock.Advance(time.Hour)
		c.Do("GET", made[1], nil).Want(200)
		c.Do("DELETE", made[1], nil, "If-Match", "*").Want(429, "QUOTA_EXHAUSTED")
		o.Clock.Advance(23 * time.Hour)
		c.Do("DELETE", made[1], nil, "If-Match", "*").Want(204)
	})
}

func TestSearchCost(t *testing.T) {
	o := office(t, apitest.Metered())
	c := o.As(access.Member)
	for query, want := range map[string]float64{
		"/contacts?q=berg": 7, "/contacts?limit=5&q=berg": 7, "/contacts?%71=berg": 7, "/contacts/count?q=berg": 7,
		"/contacts": 2, "/contacts?sort=updatedAt": 2, "/contacts/count": 2,
	} {
		o.Clock.Advance(10 * time.Minute)
		c.Do("GET", query, nil).Want(200)
		if got := 600 - remaining(t, c) - 1; got != want {
			t.Errorf("%s cost %v, want %v", query, got, want)
		}
	}
}

func TestRateLimited(t *testing.T) {
	for _, accept := range []string{"de", "en"} {
		o := office(t, apitest.Metered())
		c := o.As(access.Member)
		made := c.Do("POST", "/contacts", `{"lastName":"Berg"}`).Want(201).Text("id")
		exhaust(t, c)
		before := contents(t, o.DB)
		for _, call := range []struct{ method, path, body string }{
			{"GET", "/me", ""}, {"GET", "/contacts?q=x", ""}, {"POST", "/contacts", `{"lastName":"A"}`},
			{"PATCH", "/contacts/" + made, `{"lastName":"A"}`}, {"DELETE", "/contacts/" + made, ""},
		} {
			var body any
			if call.body != "" {
				body = call.body
			}
			a := c.Do(call.method, call.path, body, "If-Match", "*", "Accept-Language", accept).Want(429, "RATE_LIMITED")
			at, _, _ := strings.Cut(call.path, "?")
			checkProblem(t, a, at, accept == "en")
			checkHeaders(t, call.path, a)
			p := a.JSON()
			if got := fmt.Sprint(p["violated-policies"]); got != "[key]" {
				t.Errorf("%s %s: violated-policies %s", call.method, call.path, got)
			}
			retry, err := strconv.Atoi(a.Header.Get("Retry-After"))
			name, r, reset := left(t, a)
			ms := int(p["retryAfterMs"].(float64))
			if err != nil || retry < 1 || retry < reset || ms < 1 || ms > retry*1000 || ms <= (retry-1)*1000 {
				t.Errorf("%s %s: Retry-After %q, t=%d, retryAfterMs %d", call.method, call.path, a.Header.Get("Retry-After"),
					reset, ms)
			}
			if name != "key" || r != 0 {
				t.Errorf("%s %s: RateLimit %q", call.method, call.path, a.Header.Get("RateLimit"))
			}
		}
		if after := contents(t, o.DB); after != before {
			t.Error("a refused call changed something")
		}
		// Other keys are not locked, not even other keys of the same principal.
		o.As(access.Member).Do("GET", "/me", nil).Want(200)
		(&apitest.Client{Office: o, Principal: c.Principal, Key: o.Key(c.Principal)}).Do("GET", "/me", nil).Want(200)
		// A caller without a valid key does not learn that the key is locked.
		c.Do("GET", "/me", nil, "Authorization", "Bearer x").Want(401)
	}
}

// TestRefill checks that a key gets 300 new points a minute, point by point, and has at most 600
// points.
func TestRefill(t *testing.T) {
	o := office(t, apitest.Metered())
	c := o.As(access.Member)
	exhaust(t, c)
	o.Clock.Advance(200*time.Millisecond - time.Microsecond)
	c.Do("GET", "/me", nil).Want(429)
	o.Clock.Advance(time.Microsecond)
	c.Do("GET", "/me", nil).Want(200)
	c.Do("GET", "/me", nil).Want(429)
	o.Clock.Advance(time.Second) // five points
	c.Do("POST", "/contacts", `{"lastName":"Berg"}`).Want(201)
	c.Do("GET", "/me", nil).Want(429)
	o.Clock.Advance(time.Minute)
	if got := remaining(t, c); got != 299 {
		t.Errorf("%v points after a minute, want 299", got)
	}
	o.Clock.Advance(time.Hour)
	if got := remaining(t, c); got != 599 {
		t.Errorf("%v points after an hour, want 599", got)
	}
	// A client that waits for the time in Retry-After succeeds.
	a := exhaust(t, c)
	wait, _ := strconv.Atoi(a.Header.Get("Retry-After"))
	o.Clock.Advance(time.Duration(wait) * time.Second)
	c.Do("GET", "/me", nil).Want(200)
}

// TestRateLimitAgreesWithHeaders checks that GET /rate_limit and the headers agree, and that their
// numbers are right.
func TestRateLimitAgreesWithHeaders(t *testing.T) {
	o := office(t, apitest.Metered())
	c := o.As(access.Member)
	for range 7 {
		c.Do("GET", "/contacts", nil).Want(200)
	}
	p := policy(t, c, "key")
	want := map[string]any{
		"name": "key", "level": "key", "unit": "points", "quota": 300.0, "capacity": 600.0,
		"windowSeconds": 60.0, "remaining": 585.0, "resetSeconds": 3.0,
	}
	if !maps.Equal(p, want) {
		t.Errorf("the key's policy is %v, want %v", p, want)
	}
	a := c.Do("GET", "/rate_limit", nil).Want(200)
	if a.JSON()["metered"] != true || a.Header.Get("RateLimit") != `"key";r=584;t=4` {
		t.Errorf("metered %v, RateLimit %q", a.JSON()["metered"], a.Header.Get("RateLimit"))
	}
	for path, want := range map[string]string{
		"GET /me":        `"key";q=300;w=60`,
		"POST /contacts": `"writes";q=60;w=60`,
		"GET /contacts":  `"outflow";q=10000;w=3600`,
	} {
		method, at, _ := strings.Cut(path, " ")
		var body any
		if method == "POST" {
			body = `{"lastName":"Berg"}`
		}
		if got := c.Do(method, at, body).Header.Get("RateLimit-Policy"); !strings.Contains(got, want) {
			t.Errorf("%s: RateLimit-Policy %q lacks %s", path, got, want)
		}
	}
}

// TestUnchargedCallsAreLoggedLess checks that the request log omits some calls that are refused
// before they are charged. It has all charged calls.
func TestUnchargedCallsAreLoggedLess(t *testing.T) {
	apitest.Alone(t)
	o := apitest.New(t, dbtest.SQLite(t))
	stranger := &apitest.Client{Office: o}
	for range 700 {
		stranger.Do("GET", "/contacts", nil).Want(401)
	}
	if got := o.Log.Thinned(); got != 100 {
		t.Errorf("%d of 700 calls without a key are left out, want 100", got)
	}
	c := o.As(access.Member)
	for range 700 {
		c.Do("GET", "/contacts/con_"+strings.Repeat("0", 26), nil).Want(404)
	}
	if got := o.Log.Thinned(); got != 100 {
		t.Errorf("%d paid calls are left out", got-100)
	}
}
