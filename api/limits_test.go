package api_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"kartei/access"
	"kartei/apitest"
	"kartei/limit"
)

// remaining asks how many points the caller's key has left; that costs one.
func remaining(t testing.TB, c *apitest.Client) float64 {
	t.Helper()
	return policy(t, c, "key")["remaining"].(float64)
}

// policy returns what GET /rate_limit says of one policy.
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

// left reads the RateLimit header.
func left(t testing.TB, a *apitest.Answer) (name string, r, reset int) {
	t.Helper()
	if _, err := fmt.Sscanf(strings.NewReplacer(`"`, " ", ";", " ").Replace(a.Header.Get("RateLimit")), "%s r=%d t=%d", &name, &r, &reset); err != nil {
		t.Fatalf("RateLimit %q: %v", a.Header.Get("RateLimit"), err)
	}
	return name, r, reset
}

// exhaust calls until the key's points are used up and returns the refusal.
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
	for range 700 { // more than a key has points
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
		want = append(want, p.Name)
	}
	if !slices.Equal(names, want) {
		t.Errorf("policies %v, want %v", names, want)
	}
}

// TestWalkCost checks what each row costs, on the way out and by asking.
func TestWalkCost(t *testing.T) {
	o := office(t, apitest.Metered())
	for op := range built() {
		c := o.As(access.Member)
		at, body := path(t, c, op), example(t, op)
		o.Clock.Advance(10 * time.Minute) // all points are back
		a := c.Do(op.Method, at, body, "If-Match", "*").Want(op.Run.Status())
		if got := 600 - remaining(t, c) - 1; got != float64(op.Cost) {
			t.Errorf("%s cost %v, want %d", op.ID, got, op.Cost)
		}
		if name, r, _ := left(t, a); name == "key" && r != 600-int(op.Cost) {
			t.Errorf("%s: RateLimit %q", op.ID, a.Header.Get("RateLimit"))
		}
		// What is refused later has been charged; what is refused earlier has not.
		o.Clock.Advance(10 * time.Minute)
		c.Do(op.Method, at+"?nosuch=1", body, "If-Match", "*").Want(400)
		c.Do(op.Method, at, body, "Svc-Organization", "org_x").Want(403)
		if got := 600 - remaining(t, c) - 1; got != float64(op.Cost) {
			t.Errorf("%s refused cost %v, want %d", op.ID, got, op.Cost)
		}
	}
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
			{"GET", "/me", ""}, {"GET", "/contacts?q=x", ""}, {"POST", "/contacts", `{"lastName":"A"}`}, {"PATCH", "/contacts/" + made, `{"lastName":"A"}`}, {"DELETE", "/contacts/" + made, ""},
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
				t.Errorf("violated-policies %s", got)
			}
			retry, err := strconv.Atoi(a.Header.Get("Retry-After"))
			name, r, reset := left(t, a)
			ms := int(p["retryAfterMs"].(float64))
			if err != nil || retry < 1 || retry < reset || ms < 1 || ms > retry*1000 || ms <= (retry-1)*1000 {
				t.Errorf("Retry-After %q, t=%d, retryAfterMs %d", a.Header.Get("Retry-After"), reset, ms)
			}
			if name != "key" || r != 0 {
				t.Errorf("RateLimit %q", a.Header.Get("RateLimit"))
			}
		}
		if after := contents(t, o.DB); after != before {
			t.Error("a refused call changed something")
		}
		// Other keys are not concerned, not even of the same principal.
		o.As(access.Member).Do("GET", "/me", nil).Want(200)
		(&apitest.Client{Office: o, Principal: c.Principal, Key: o.Key(c.Principal)}).Do("GET", "/me", nil).Want(200)
		// Who has no credentials learns nothing of the key's state.
		c.Do("GET", "/me", nil, "Authorization", "Bearer x").Want(401)
	}
}

// TestRefill: 300 points a minute come back one by one, up to 600.
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
	// Whoever waits as long as was asked for is served.
	a := exhaust(t, c)
	wait, _ := strconv.Atoi(a.Header.Get("Retry-After"))
	o.Clock.Advance(time.Duration(wait) * time.Second)
	c.Do("GET", "/me", nil).Want(200)
}

// TestRateLimitTells: GET /rate_limit and the headers tell the same, and the truth.
func TestRateLimitTells(t *testing.T) {
	o := office(t, apitest.Metered())
	c := o.As(access.Member)
	for range 7 {
		c.Do("GET", "/contacts", nil).Want(200)
	}
	p := policy(t, c, "key")
	want := map[string]any{"name": "key", "level": "key", "unit": "points", "quota": 300.0, "capacity": 600.0, "windowSeconds": 60.0, "remaining": 585.0, "resetSeconds": 3.0}
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
