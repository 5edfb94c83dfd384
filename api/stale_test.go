package api_test

import (
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"kartei/access"
	"kartei/kit/id"
	"kartei/settings"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/test/operator"
)

// keyID returns the id of a client's key.
func keyID(c *apitest.Client) string {
	actor, err := c.Directory.Authenticate(c.Context(), c.Key, netip.MustParseAddr("192.0.2.1"))
	if err != nil {
		c.Fatal(err)
	}
	return actor.Credential().ID
}

// TestCachedCallerIsConfirmed checks callers that another replica has changed
// after this one cached them. Every row, even if it refuses before any query,
// answers by the state at the beginning of the call. If the change concerns
// something else, the answer is not affected.
func TestCachedCallerIsConfirmed(t *testing.T) {
	d := dbtest.Postgres(t)
	o := apitest.New(t, d, apitest.Replicas(1))
	again := dbtest.Again(t, d)
	elsewhere := operator.New(again, o.Clock, access.NewDirectory(again, o.Clock, access.Options{}))
	do := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	bystander := o.As(access.Member)
	bystanders := keyID(bystander)
	for op := range rows() {
		t.Run(op.ID, func(t *testing.T) {
			c := o.As(access.Member)
			key := keyID(c)
			path, body := op.Path, ready(t, c, op)
			if op.Named() {
				maker, name := creator(op.Family), id.New("evt_")
				if maker != nil {
					name = makeRecord(t, c, maker, "organization")
				}
				path = strings.Replace(path, "{id}", name, 1)
			}
			call := func(headers ...string) *apitest.Answer {
				t.Helper()
				return c.Do(op.Method, path, body, headers...)
			}
			right := []string{"If-Match", "*", "Idempotency-Key", apitest.Fresh()}
			wrong := []string{"If-Match", "nonsense", "If-None-Match", "nonsense", "Idempotency-Key", apitest.Fresh()}
			if op.Scope == "" {
				right, wrong = nil, []string{"Accept", "text/plain"}
			}
			c.Do("GET", "/me", nil).Want(200)
			// An act about another key: the call runs once, with its body.
			do(elsewhere.PauseKey(t.Context(), access.ByID{ID: bystanders}))
			if a := call(right...); a.Status >= 400 && a.Status != 404 {
				t.Errorf("after an act about another key: %d %s", a.Status, a.Body)
			} else if maker := creator(op.Family); op.Creates() && maker != nil && a.Status == 201 && op.Family != "uploads" { // its answer does not repeat the input
				sent := body.(map[string]any)
				for _, name := range slices.Sorted(maps.Keys(sent)) {
					if text, is := sent[name].(string); is && !strings.HasSuffix(name, "At") && a.JSON()[name] != text {
						t.Errorf("%s is %v, sent was %q", name, a.JSON()[name], text)
					}
				}
			}
			do(elsewhere.ResumeKey(t.Context(), access.ByID{ID: bystanders}))
			if a := call(wrong...); a.Status == 401 {
				t.Errorf("after an act about another key, refused: %s", a.Body)
			}
			// An act about this key.
			for _, headers := range [][]string{right, wrong} {
				c.Do("GET", "/me", nil).Want(200)
				do(elsewhere.PauseKey(t.Context(), access.ByID{ID: key}))
				call(headers...).Want(401, "UNAUTHENTICATED")
				do(elsewhere.ResumeKey(t.Context(), access.ByID{ID: key}))
			}
		})
	}
}

// TestLostRightStoresNothing checks that a key that lost its right on another
// replica changes nothing. That holds even if its transaction has other writes
// too.
func TestLostRightStoresNothing(t *testing.T) {
	d := dbtest.Postgres(t)
	o := apitest.New(t, d, apitest.Replicas(1))
	again := dbtest.Again(t, d)
	elsewhere := operator.New(again, o.Clock, access.NewDirectory(again, o.Clock, access.Options{}))
	c, other := o.As(access.Member), o.As(access.Member)
	for _, client := range []*apitest.Client{c, other} {
		client.Do("POST", "/contacts", `{"lastName":"Berg"}`).Want(201)
	}
	if _, err := elsewhere.SetUser(t.Context(), settings.PrincipalChange{ID: c.Principal, Role: new(access.Viewer)}); err != nil {
		t.Fatal(err)
	}
	answers := make(chan *apitest.Answer, 40)
	for i := range cap(answers) {
		go func() {
			client := c
			if i%2 == 0 {
				client = other
			}
			answers <- client.Do("POST", "/contacts", `{"lastName":"Tal"}`)
		}()
	}
	stored := 0
	for range cap(answers) {
		switch a := <-answers; a.Status {
		case 201:
			stored++
		case 403:
		default:
			t.Errorf("%d %s", a.Status, a.Body)
		}
	}
	if got := len(other.Do("GET", "/contacts?limit=100", nil).Want(200).Data()); stored != 20 || got != 2+20 {
		t.Errorf("%d were stored, %d are there, want 20 and 22", stored, got)
	}
}
