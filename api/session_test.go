package api_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"kartei/access"
	"kartei/api"
	"kartei/api/op"
	"kartei/people/account"
	"kartei/people/principal"
	"kartei/record/lookup"
	"kartei/test/apitest"
)

// get calls GET on a path in a session.
func get(t *testing.T, o *apitest.Office, as api.Credential, path string) *api.Response {
	t.Helper()
	return o.API.Do(t.Context(), &api.Request{Method: "GET", Path: path, Door: api.Web, Credential: as}, nil)
}

// TestSession checks calls with a session in the live organization and in its sandbox.
func TestSession(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		admin := o.User(access.Admin)
		token := o.Session(admin)
		for sandbox, organization := range map[bool]string{false: o.ID, true: o.SandboxID} {
			as := api.Cookie(token, sandbox)
			var s account.Session
			if got := ask(t, o, api.Web, as, "session.get", struct{}{}); got.Fault != nil ||
				json.Unmarshal(got.Body, &s) != nil {
				t.Fatalf("%d %s", got.Status, got.Body)
			}
			if s.Organization.ID != organization || s.Principal.ID != admin || s.Principal.OrganizationID != o.ID ||
				len(s.Persons) != 1 || !s.Administers || len(s.Scopes) != 10 {
				t.Errorf("%+v", s)
			}
			if got := get(t, o, as, "/contacts"); got.Status != 200 {
				t.Errorf("%d %s", got.Status, got.Body)
			}
			if got := ask(t, o, api.Web, as, "people.create",
				principal.New{Name: "Ida", Email: organization + "@example.com"}); got.Status != 200 {
				t.Errorf("a recent sign-in: %d %s", got.Status, got.Body)
			}
		}
		o.Clock.Advance(access.SignInFresh)
		if got := ask(t, o, api.Web, api.Cookie(token, false), "people.create",
			principal.New{Name: "Ida", Email: "spaet@example.com"}); got.Status != 403 {
			t.Errorf("a sign-in that is not recent: %d %s", got.Status, got.Body)
		}
		for name, as := range map[string]api.Credential{
			"another token": api.Cookie(token+"x", false), "an API key": api.Cookie(o.Key(admin), false),
			"no token": api.Cookie("", true), "a token as an API key": api.Bearer(token),
		} {
			if got := ask(t, o, api.Web, as, "session.get", struct{}{}); got.Status != 401 {
				t.Errorf("%s: %d", name, got.Status)
			}
		}
	})
}

// TestSessionEnds checks that a session ends without calls, after its maximum lifetime, and when
// its person is disabled, gets another role or is erased.
func TestSessionEnds(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		works := func(token string) bool {
			return ask(t, o, api.Web, api.Cookie(token, false), "session.get", struct{}{}).Status == 200
		}
		used := func() {
			if err := o.Directory.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		admin := o.User(access.Admin)
		idle, busy := o.Session(admin), o.Session(admin)
		for n := time.Duration(0); n < access.SessionLifetime; n += access.SessionIdle / 2 {
			if !works(busy) {
				t.Fatalf("the session ends after %s with calls", n)
			}
			used()
			o.Clock.Advance(access.SessionIdle / 2)
			if n == access.SessionIdle && works(idle) {
				t.Errorf("the session goes on without calls")
			}
		}
		if works(busy) {
			t.Error("the session goes on without an end")
		}
		yes, no, member, role := true, false, access.Member, access.Admin
		for _, change := range [][]principal.Change{{{Disabled: &yes}, {Disabled: &no}}, {{Role: &member}, {Role: &role}}} {
			token := o.Session(admin)
			if _, err := o.Operator.SetUser(t.Context(), principal.Change{ID: admin, Language: new("en")}); err != nil ||
				!works(token) {
				t.Errorf("another language: %v", err)
			}
			for _, in := range change {
				in.ID = admin
				if _, err := o.Operator.SetUser(t.Context(), in); err != nil {
					t.Fatal(err)
				}
				if works(token) {
					t.Errorf("%+v", in)
				}
			}
		}
		token := o.Session(admin)
		if got := ask(t, o, api.Admin, api.Local(), "people.erase", op.ByID{ID: admin}); got.Fault == nil {
			t.Error("the last admin was erased")
		}
		o.User(access.Admin)
		if got := ask(t, o, api.Admin, api.Local(), "people.erase", op.ByID{ID: admin}); got.Fault != nil {
			t.Errorf("%s", got.Body)
		}
		if works(token) {
			t.Error("the session of an erased person works")
		}
	})
}

// TestChangesOfTheSeen checks that records.changes returns recent changes only of records that the
// caller sees, in families that the caller may read.
func TestChangesOfTheSeen(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		ida, jan, boss := o.As(access.Member), o.As(access.Member), o.As(access.Admin)
		create := func(path, body string) string { return ida.Do("POST", path, body).Want(201).Text("id") }
		shown, hidden, task := create("/contacts",
			`{"lastName":"Offen"}`), create("/contacts",
			`{"lastName":"Geheim","visibility":"private"}`), create("/tasks", `{"title":"Anrufen"}`)
		if _, err := o.Operator.SetUser(t.Context(), principal.Change{
			ID:     jan.Principal,
			Rights: access.Rights{"tasks": access.NoRight},
		}); err != nil {
			t.Fatal(err)
		}
		for who, want := range map[*apitest.Client]string{
			ida: shown + hidden + task, boss: shown + hidden + task, jan: shown,
		} {
			got := ask(t, o, api.Web, api.Cookie(o.Session(who.Principal), true), "records.changes", lookup.ChangesInput{})
			for _, id := range []string{shown, hidden, task} {
				if told := strings.Contains(string(got.Body), id); got.Status != 200 || told != strings.Contains(want, id) {
					t.Errorf("%s is told of %s: %t (%d)", who.Principal, id, told, got.Status)
				}
			}
		}
	})
}
