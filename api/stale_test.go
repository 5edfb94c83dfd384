package api_test

import (
	"encoding/json"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"kartei/access"
	"kartei/api"
	"kartei/api/op"
	"kartei/kit/id"
	"kartei/people/account"
	"kartei/people/principal"
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

// TestCachedCallerIsConfirmed checks callers that this replica has cached and another replica has
// changed. Every operation, even one that refuses before any query, must use the state at the
// beginning of the call. A change of another key must not affect the call.
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
	for row := range rows() {
		t.Run(row.ID, func(t *testing.T) {
			c := o.As(access.Member)
			key := keyID(c)
			path, body := row.Path, ready(t, c, row)
			if row.Named() {
				maker, name := creator(row.Family), id.New("evt_")
				if maker != nil {
					name = makeRecord(t, c, maker, "organization")
				}
				path = strings.Replace(path, "{id}", name, 1)
			}
			call := func(headers ...string) *apitest.Answer {
				t.Helper()
				return c.Do(row.Method, path, body, headers...)
			}
			right := []string{"If-Match", "*", "Idempotency-Key", apitest.Fresh()}
			wrong := []string{"If-Match", "nonsense", "If-None-Match", "nonsense", "Idempotency-Key", apitest.Fresh()}
			if row.Scope == "" {
				right, wrong = nil, []string{"Accept", "text/plain"}
			}
			c.Do("GET", "/me", nil).Want(200)
			// Another key was paused. The call runs once, with its body.
			do(elsewhere.PauseKey(t.Context(), op.ByID{ID: bystanders}))
			if a := call(right...); a.Status >= 400 && a.Status != 404 {
				t.Errorf("after an act about another key: %d %s", a.Status, a.Body)
			} else if maker := creator(row.Family); row.Creates() && maker != nil && a.Status == 201 && row.Family != "uploads" {
				// the response does not repeat the input
				sent := body.(map[string]any)
				for _, name := range slices.Sorted(maps.Keys(sent)) {
					if text, is := sent[name].(string); is && !strings.HasSuffix(name, "At") && a.JSON()[name] != text {
						t.Errorf("%s is %v, sent was %q", name, a.JSON()[name], text)
					}
				}
			}
			do(elsewhere.ResumeKey(t.Context(), op.ByID{ID: bystanders}))
			if a := call(wrong...); a.Status == 401 {
				t.Errorf("after an act about another key, refused: %s", a.Body)
			}
			// This key was paused.
			for _, headers := range [][]string{right, wrong} {
				c.Do("GET", "/me", nil).Want(200)
				do(elsewhere.PauseKey(t.Context(), op.ByID{ID: key}))
				call(headers...).Want(401, "UNAUTHENTICATED")
				do(elsewhere.ResumeKey(t.Context(), op.ByID{ID: key}))
			}
		})
	}
}

// TestCachedSessionIsConfirmed checks sessions that this replica has cached. Another replica ends a
// session, moves it, renews its token, or changes its person or organization. The next call must
// notice this, whether it reads, changes or is refused early. Other sessions must still work.
func TestCachedSessionIsConfirmed(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d, apitest.Replicas(1))
		elsewhere := o
		if d.Dialect().Name != "sqlite" { // SQLite has one process
			elsewhere = o.Replica(dbtest.Again(t, d))
		}
		boss := o.Session(o.User(access.Admin))
		bystander := o.Session(o.User(access.Member))
		for act, do := range sessionActs {
			for _, way := range sessionWays {
				for _, sandbox := range []bool{false, true} {
					person := o.User(access.Member)
					a := sessionAct{t, elsewhere, boss, person, o.Session(person), o.Session(person)}
					for range 2 { // first from the database, then from the cache
						if got := way.call(t, o, api.Cookie(a.token, sandbox)); got != way.works {
							t.Fatalf("%s, before: %d", way.name, got)
						}
					}
					do(a)
					if got := way.call(t, o, api.Cookie(a.token, sandbox)); got != 401 {
						t.Errorf("%s, %s, sandbox %t: %d, want 401", act, way.name, sandbox, got)
					}
					if got := way.call(t, o, api.Cookie(bystander, sandbox)); got != way.works {
						t.Errorf("%s, %s, sandbox %t: a session that it does not concern gets %d", act, way.name, sandbox, got)
					}
				}
			}
		}
		// A permission is taken away, but the session does not end.
		sessionAct{
			T: t, elsewhere: elsewhere,
		}.ask(boss, "people.set", principal.Change{
			ID:     person(t, o, bystander),
			Rights: access.Rights{"contacts": access.ReadRight},
		})
		if got := createsContact(t, o, api.Cookie(bystander, false)); got != 403 {
			t.Errorf("a right that was taken away: %d", got)
		}
	})
}

// sessionAct is a change on another replica that ends a session of a person. other is another
// session of the person.
type sessionAct struct {
	*testing.T
	elsewhere                  *apitest.Office
	boss, person, token, other string
}

var sessionActs = map[string]func(a sessionAct){
	"signed out":       func(a sessionAct) { a.ask(a.token, "signin.out", struct{}{}) },
	"ended by another": func(a sessionAct) { a.ask(a.other, "sessions.end", account.EndInput{Others: true}) },
	"moved":            func(a sessionAct) { a.ask(a.token, "session.switch", account.SwitchInput{Principal: a.person}) },
	"disabled": func(a sessionAct) {
		a.ask(a.boss, "people.set", principal.Change{ID: a.person, Disabled: new(true)})
	},
	"another role": func(a sessionAct) {
		a.ask(a.boss, "people.set", principal.Change{ID: a.person, Role: new(access.Viewer)})
	},
	"the factors' reset": func(a sessionAct) {
		if got := ask(a.T, a.elsewhere, api.Admin, api.Local(), "people.resetFactors",
			op.ByID{ID: a.person}); got.Fault != nil {
			a.Fatalf("%d %s", got.Status, got.Body)
		}
	},
	"a new token": func(a sessionAct) {
		defer a.elsewhere.Directory.Forget()
		s := heldSession(a.T, a.elsewhere, a.token)
		if err := a.elsewhere.DB.Write(a.Context(), func(tx db.Tx) error {
			_, err := access.RenewSession(a.Context(), tx, s.ID, 0)
			return err
		}); err != nil {
			a.Fatal(err)
		}
	},
}

// ask calls an unpublished operation in a session.
func (a sessionAct) ask(as, row string, in any) {
	a.Helper()
	if got := ask(a.T, a.elsewhere, api.Web, api.Cookie(as, false), row, in); got.Fault != nil {
		a.Fatalf("%s: %d %s", row, got.Status, got.Body)
	}
}

// sessionWays are calls in a session. works is the status while the session is valid.
var sessionWays = []struct {
	name  string
	works int
	call  func(t *testing.T, o *apitest.Office, as api.Credential) (status int)
}{
	{
		"read", 200,
		func(t *testing.T, o *apitest.Office, as api.Credential) int { return get(t, o, as, "/contacts").Status },
	},
	{"create", 201, createsContact},
	{"refused early", 400, func(t *testing.T, o *apitest.Office, as api.Credential) int {
		return o.API.Do(t.Context(), &api.Request{
			Method: "GET", Path: "/contacts", Query: "limit=many", Door: api.Web, Credential: as,
		}, nil).Status
	}},
	{"session.get", 200, func(t *testing.T, o *apitest.Office, as api.Credential) int {
		return ask(t, o, api.Web, as, "session.get", struct{}{}).Status
	}},
	{"sessions.list", 200, func(t *testing.T, o *apitest.Office, as api.Credential) int {
		return ask(t, o, api.Web, as, "sessions.list", struct{}{}).Status
	}},
}

func createsContact(t *testing.T, o *apitest.Office, as api.Credential) (status int) {
	t.Helper()
	body := []byte(`{"lastName":"Berg"}`)
	return o.API.Do(t.Context(), &api.Request{Method: "POST", Path: "/contacts", Door: api.Web, Credential: as,
		Header:  map[string][]string{"Idempotency-Key": {apitest.Fresh()}, "Content-Type": {"application/json"}},
		HasBody: true, Body: func() ([]byte, error) { return body, nil }}, nil).Status
}

// person returns the id of the person of a session.
func person(t *testing.T, o *apitest.Office, token string) string {
	t.Helper()
	return heldSession(t, o, token).Principal.ID
}

func heldSession(t *testing.T, o *apitest.Office, token string) (s account.Session) {
	t.Helper()
	if err := json.Unmarshal(ask(t, o, api.Web, api.Cookie(token, false), "session.get", struct{}{}).Body,
		&s); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestLostRightStoresNothing checks that a key that lost its permission on another replica changes
// nothing. This also holds if its transaction is committed together with other writes.
func TestLostRightStoresNothing(t *testing.T) {
	d := dbtest.Postgres(t)
	o := apitest.New(t, d, apitest.Replicas(1))
	again := dbtest.Again(t, d)
	elsewhere := operator.New(again, o.Clock, access.NewDirectory(again, o.Clock, access.Options{}))
	c, other := o.As(access.Member), o.As(access.Member)
	for _, client := range []*apitest.Client{c, other} {
		client.Do("POST", "/contacts", `{"lastName":"Berg"}`).Want(201)
	}
	if _, err := elsewhere.SetUser(t.Context(), principal.Change{ID: c.Principal, Role: new(access.Viewer)}); err != nil {
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
