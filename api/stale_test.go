package api_test

import (
	"encoding/json"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"kartei/access"
	"kartei/account"
	"kartei/api"
	"kartei/kit/id"
	"kartei/settings"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/test/operator"
)

// keyID returns the id of a client's key.
func keyID(c *apitest.Client) string {
	actor, err := c.Directory.Authenticate(c.Context(), c.Key, access.V1, netip.MustParseAddr("192.0.2.1"))
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

// TestCachedSessionIsConfirmed checks sessions that this replica has cached, and that
// another one ends, moves or gives a new token, or whose person or organization it
// changes: the next call holds to it, whether it reads, changes or is refused early.
// A session that the act does not concern goes on.
func TestCachedSessionIsConfirmed(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d, apitest.Replicas(1))
		elsewhere := o
		if d.Dialect().Name != "sqlite" { // SQLite has one process
			elsewhere = o.Replica(dbtest.Again(t, d))
		}
		boss := o.Session(o.User(access.Admin))
		bystander := o.Session(o.User(access.Member))
		asked := func(as string, row string, in any) {
			t.Helper()
			if got := ask(t, elsewhere, api.Web, api.Cookie(as, false), row, in); got.Fault != nil {
				t.Fatalf("%s: %d %s", row, got.Status, got.Body)
			}
		}
		status := func(o *apitest.Office, token string, sandbox bool, way string) int {
			as := api.Cookie(token, sandbox)
			switch way {
			case "read":
				return get(t, o, as, "/contacts").Status
			case "create":
				body := []byte(`{"lastName":"Berg"}`)
				return o.API.Do(t.Context(), &api.Request{Method: "POST", Path: "/contacts", Door: api.Web, Credential: as,
					Header: map[string][]string{"Idempotency-Key": {apitest.Fresh()}, "Content-Type": {"application/json"}}, HasBody: true, Body: func() ([]byte, error) { return body, nil }}, nil).Status
			case "refused early":
				return o.API.Do(t.Context(), &api.Request{Method: "GET", Path: "/contacts", Query: "limit=many", Door: api.Web, Credential: as}, nil).Status
			}
			return ask(t, o, api.Web, as, way, struct{}{}).Status
		}
		ways := map[string]int{"read": 200, "create": 201, "refused early": 400, "session.get": 200, "sessions.list": 200}
		disabled, role := true, access.Viewer
		for act, do := range map[string]func(person, token, other string){
			"signed out":       func(_, token, _ string) { asked(token, "signin.out", struct{}{}) },
			"ended by another": func(_, _, other string) { asked(other, "sessions.end", account.Ending{Others: true}) },
			"moved":            func(person, token, _ string) { asked(token, "session.switch", account.Switched{Principal: person}) },
			"disabled": func(person, _, _ string) {
				asked(boss, "people.set", settings.PrincipalChange{ID: person, Disabled: &disabled})
			},
			"another role": func(person, _, _ string) {
				asked(boss, "people.set", settings.PrincipalChange{ID: person, Role: &role})
			},
			"the factors' reset": func(person, _, _ string) {
				if got := ask(t, elsewhere, api.Admin, api.Local(), "people.resetFactors", access.ByID{ID: person}); got.Fault != nil {
					t.Fatalf("%d %s", got.Status, got.Body)
				}
			},
			"a new token": func(_, token, _ string) {
				var s account.Session
				got := ask(t, elsewhere, api.Web, api.Cookie(token, false), "session.get", struct{}{})
				if err := json.Unmarshal(got.Body, &s); err != nil {
					t.Fatal(err)
				}
				defer elsewhere.Directory.Forget()
				if err := elsewhere.DB.Write(t.Context(), func(tx db.Tx) error {
					_, err := access.RenewSession(t.Context(), tx, s.ID, 0)
					return err
				}); err != nil {
					t.Fatal(err)
				}
			},
		} {
			for way, works := range ways {
				for _, sandbox := range []bool{false, true} {
					person := o.User(access.Member)
					token, other := o.Session(person), o.Session(person)
					for range 2 { // from the database, then from the cache
						if got := status(o, token, sandbox, way); got != works {
							t.Fatalf("%s, before: %d", way, got)
						}
					}
					do(person, token, other)
					if got := status(o, token, sandbox, way); got != 401 {
						t.Errorf("%s, %s, sandbox %t: %d, want 401", act, way, sandbox, got)
					}
					if got := status(o, bystander, sandbox, way); got != works {
						t.Errorf("%s, %s, sandbox %t: a session that it does not concern gets %d", act, way, sandbox, got)
					}
				}
			}
		}
		// A right that is taken away without an end of the session.
		asked(boss, "people.set", settings.PrincipalChange{ID: person(t, o, bystander), Rights: access.Rights{"contacts": access.ReadRight}})
		if got := status(o, bystander, false, "create"); got != 403 {
			t.Errorf("a right that was taken away: %d", got)
		}
	})
}

// person returns the person of a session.
func person(t *testing.T, o *apitest.Office, token string) string {
	t.Helper()
	var s account.Session
	if err := json.Unmarshal(ask(t, o, api.Web, api.Cookie(token, false), "session.get", struct{}{}).Body, &s); err != nil {
		t.Fatal(err)
	}
	return s.Principal.ID
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
