package api_test

import (
	"encoding/json"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"

	"kartei/access"
	"kartei/api"
	"kartei/api/op"
	keys "kartei/integration/key"
	"kartei/integration/limit"
	"kartei/integration/requestlog"
	"kartei/kit/fault"
	"kartei/kit/id"
	"kartei/people/organization"
	"kartei/store/db"
	"kartei/test/apitest"
)

// browser is a person who uses the web application, with a session in the sandbox.
type browser struct {
	*testing.T
	office     *apitest.Office
	credential api.Credential
	Principal  string
}

// signedIn returns a browser with a new session of a principal.
func signedIn(t *testing.T, o *apitest.Office, principal string) *browser {
	t.Helper()
	return &browser{t, o, api.Cookie(o.Session(principal), true), principal}
}

// do calls an operation of the contract. headers alternates names and values.
func (b *browser) do(method, path string, body any, headers ...string) *api.Response {
	b.Helper()
	path, query, _ := strings.Cut(path, "?")
	return b.send(&api.Request{Method: method, Path: path, Query: query}, body, headers)
}

// ask calls an unpublished operation, which is not in the contract.
func (b *browser) ask(row string, in any, headers ...string) *api.Response {
	b.Helper()
	return b.send(&api.Request{Operation: api.ByID(row)}, in, headers)
}

func (b *browser) send(r *api.Request, body any, headers []string) *api.Response {
	b.Helper()
	r.Door, r.Credential, r.Address, r.Header = api.Web, b.credential, netip.MustParseAddr("192.0.2.1"), map[string][]string{}
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			b.Fatal(err)
		}
		r.HasBody, r.Body = true, func() ([]byte, error) { return encoded, nil }
		r.Header["Content-Type"] = []string{"application/json"}
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header[headers[i]] = []string{headers[i+1]}
	}
	return b.office.API.Do(b.Context(), r, nil)
}

// want fails the test unless the response has the status.
func (b *browser) want(got *api.Response, status int) *api.Response {
	b.Helper()
	if got.Status != status {
		b.Fatalf("%d %s, want %d", got.Status, got.Body, status)
	}
	return got
}

// member returns a text member of a response's body, or "" if there is none.
func member(t *testing.T, got *api.Response, name string) string {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal(got.Body, &v); err != nil {
		t.Fatalf("%v: %s", err, got.Body)
	}
	s, _ := v[name].(string)
	return s
}

// TestSessionMe checks the response of GET /me in a session.
func TestSessionMe(t *testing.T) {
	o := office(t)
	c := o.As(access.Member)
	b := signedIn(t, o, c.Principal)
	got := b.want(b.do("GET", "/me", nil), 200)
	var me map[string]any
	if err := json.Unmarshal(got.Body, &me); err != nil || me["authMethod"] != "session" || me["key"] != nil ||
		me["principalId"] != c.Principal {
		t.Errorf("%s %v", got.Body, err)
	}
}

// TestSessionLimits checks that the calls of a session and of its person's keys do not share
// limits. It also checks which limits a session sees.
func TestSessionLimits(t *testing.T) {
	o := office(t, apitest.Metered(limit.Override{Name: "key", Quota: 5, Capacity: 5},
		limit.Override{Name: "session-writes", Quota: 2, Capacity: 2},
		limit.Override{Name: "session-outflow", Quota: 2, Capacity: 2}))
	c := o.As(access.Admin)
	b := signedIn(t, o, c.Principal)
	for range 20 {
		b.want(b.do("GET", "/contacts", nil), 200)
	}
	c.Do("GET", "/me", nil).Want(200)
	made := b.want(b.do("POST", "/contacts", map[string]any{"lastName": "Berg"}), 201)
	b.want(b.ask("bell.read", struct{}{}), 200)
	refused := b.want(b.do("POST", "/contacts", map[string]any{"lastName": "Berg"}), 429)
	if want := "2 Änderungen in der Minute"; !strings.Contains(member(t, refused, "detail"), want) {
		t.Errorf("the detail lacks %q: %s", want, refused.Body)
	}
	b.want(b.ask("keys.list", struct{}{}), 200)
	b.want(b.do("GET", "/contacts/"+member(t, made, "id"), nil), 200)
	b.want(b.do("GET", "/contacts/"+member(t, made, "id"), nil), 200)
	if got := b.want(b.do("GET", "/contacts", nil), 429); got.Fault.Code != fault.QuotaExhausted {
		t.Errorf("%s", got.Body)
	}
	var rest struct{ Policies []struct{ Name string } }
	if err := json.Unmarshal(b.want(b.do("GET", "/rate_limit", nil), 200).Body, &rest); err != nil {
		t.Fatal(err)
	}
	for _, p := range rest.Policies {
		if !strings.HasPrefix(p.Name, "session-") {
			t.Errorf("a session is shown %s", p.Name)
		}
	}
	for range 60 {
		b.do("POST", "/contacts", map[string]any{"lastName": "Berg"})
	}
	b.want(b.ask("keys.list", struct{}{}), 200) // the session is not locked
	c.Do("GET", "/me", nil).Want(200)
	if got := signedIn(t, o, c.Principal).do("POST", "/contacts", map[string]any{"lastName": "Berg"}); got.Status != 429 {
		t.Errorf("a new session of the same person has a new quota: %d", got.Status)
	}
}

// TestSessionRequestLog checks that the request log has the changes and the refused calls of a
// session, but not its reads.
func TestSessionRequestLog(t *testing.T) {
	apitest.Alone(t)
	each(t, func(t *testing.T, o *apitest.Office) {
		c := o.As(access.Member)
		b := signedIn(t, o, c.Principal)
		nobody := *b
		nobody.credential = api.Cookie("", true)
		b.want(b.do("GET", "/contacts", nil), 200)
		b.want(b.ask("session.get", struct{}{}), 200)
		nobody.want(nobody.ask("session.get", struct{}{}), 401)
		nobody.credential = api.Cookie("guessed", true)
		nobody.want(nobody.ask("session.get", struct{}{}), 401)
		made := b.want(b.do("POST", "/contacts", map[string]any{"lastName": "Berg"}), 201)
		b.want(b.do("GET", "/contacts/"+member(t, made, "id"), nil), 200)
		b.want(b.do("GET", "/contacts/"+id.New(id.Contact), nil), 404)
		b.want(b.ask("people.list", struct{}{}), 403)
		b.want(b.ask("bell.read", struct{}{}), 200)
		c.Do("GET", "/contacts", nil).Want(200)

		all, err := o.Requests(requestlog.QueryInput{Limit: 100})
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		for _, l := range slices.Backward(all.Data) {
			if l.Door == "web" && l.Version != "" {
				t.Errorf("a session uses a version: %+v", l)
			}
			if l.KeyID != "" || l.Door == "web" {
				lines = append(lines, strings.TrimSpace(l.Door+" "+l.Method+" "+l.Operation+" "+l.Code))
			}
		}
		want := []string{
			"web  session.get UNAUTHENTICATED", "web POST contacts.create", "web GET contacts.get NOT_FOUND",
			"web  people.list FORBIDDEN", "web  bell.read", "rest GET contacts.list",
		}
		slices.Sort(lines)
		slices.Sort(want)
		if !slices.Equal(lines, want) {
			t.Errorf("logged\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
		}
		var session op.Entries[struct{ ID string }]
		for _, key := range []string{c.Principal, sessionOf(t, b)} {
			mine, err := o.Requests(requestlog.QueryInput{Organization: o.SandboxID, Key: key})
			if err != nil || len(mine.Data) != 4 {
				t.Errorf("%d lines of %s, want 4 (%v) %v", len(mine.Data), key, err, session)
			}
		}
	})
}

// sessionOf returns the id of a browser's session.
func sessionOf(t *testing.T, b *browser) string {
	t.Helper()
	return member(t, b.want(b.ask("session.get", struct{}{}), 200), "id")
}

// TestChallenge checks that only a refused key gets a WWW-Authenticate header. A browser would open
// its own dialog because of this header.
func TestChallenge(t *testing.T) {
	o := office(t)
	b := signedIn(t, o, o.User(access.Member))
	b.credential.Text = "guessed"
	if got := b.want(b.do("GET", "/me", nil), 401); got.Header["WWW-Authenticate"] != nil {
		t.Errorf("a browser gets %v", got.Header["WWW-Authenticate"])
	}
	c := &apitest.Client{Office: o, Key: "guessed"}
	if got := c.Do("GET", "/me", nil).Want(401).Header["Www-Authenticate"]; !slices.Equal(got, []string{
		`Bearer error="invalid_token", resource_metadata="` + apitest.BaseURL + `/.well-known/oauth-protected-resource/v1"`,
	}) {
		t.Errorf("a program gets %v", got)
	}
}

// TestSessionRepeats sends each kind of change twice with the same Idempotency-Key. It checks that
// both responses are equal, and that the change happens once.
func TestSessionRepeats(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		c := o.As(access.Admin)
		b := signedIn(t, o, c.Principal)
		twice := func(name string, status int, call func(headers ...string) *api.Response) *api.Response {
			t.Helper()
			key := apitest.Fresh()
			first := call("Idempotency-Key", key)
			again := call("Idempotency-Key", key)
			if first.Status != status || again.Status != status || string(first.Body) != string(again.Body) ||
				again.Header["Idempotent-Replayed"] == nil {
				t.Fatalf("%s: %d %s, then %d %s %v", name, first.Status, first.Body, again.Status, again.Body, again.Header)
			}
			return first
		}
		task := twice("create", 201, func(h ...string) *api.Response {
			return b.do("POST", "/tasks", map[string]any{"title": "Klage prüfen"}, h...)
		})
		path := "/tasks/" + member(t, task, "id")
		twice("update", 200, func(h ...string) *api.Response {
			return b.do("PATCH", path, map[string]any{"title": "Klage lesen"}, append(h, "If-Match", `"r1"`)...)
		})
		twice("act", 200, func(h ...string) *api.Response { return b.do("POST", path+"/complete", nil, h...) })
		twice("delete", 204, func(h ...string) *api.Response {
			return b.do("DELETE", path, nil, append(h, "If-Match", "*")...)
		})
		secret := twice("console", 200, func(h ...string) *api.Response {
			return b.ask("keys.create", keys.New{
				Principal:   c.Principal,
				Environment: "test",
				Name:        "Geheimname",
				Scopes:      []string{"contacts:read"},
				Networks:    []string{"192.0.2.0/24"},
			}, h...)
		})
		if n := len(actsOn(t, o, "key.create", member(t, secret, "id"))); n != 1 {
			t.Errorf("%d lines of the audit log", n)
		}
		key := apitest.Fresh()
		b.want(b.ask("bell.read", map[string]any{}, "Idempotency-Key", key), 200)
		for _, other := range []*api.Response{
			b.ask("bell.read", map[string]any{"id": "ntc_x"}, "Idempotency-Key", key),
			b.do("POST", "/tasks", map[string]any{"title": "Klage"}, "Idempotency-Key", key),
		} {
			if b.want(other, 422); other.Fault.Code != fault.IdempotencyPayloadMismatch {
				t.Errorf("another content: %s", other.Body)
			}
		}
		if got := b.want(b.ask("bell.read", map[string]any{}, "Idempotency-Key", strings.Repeat("x", 300)),
			400); got.Fault.Fields[0].Name != "Idempotency-Key" {
			t.Errorf("%s", got.Body)
		}
		stored(t, o, "Geheimname", member(t, secret, "key"))
	})
}

// stored fails the test if a stored response contains one of the secrets in plain text. A stored
// call of an unpublished operation must not have a hash of its input either.
func stored(t *testing.T, o *apitest.Office, secrets ...string) {
	t.Helper()
	err := o.DB.Read(t.Context(), func(tx db.Tx) error {
		rows, err := db.Values[string](t.Context(), tx,
			`select body || fingerprint from idempotency where record like 'key_%' or record = ''`)
		for _, row := range rows {
			if len(row) > 64 && !strings.HasPrefix(row, "sealed:") {
				t.Errorf("an answer is not sealed: %s", row)
			}
			for _, s := range secrets {
				if strings.Contains(row, s) {
					t.Errorf("in clear: %s", row)
				}
			}
		}
		if len(rows) == 0 {
			t.Error("no answer of an operation outside of the contract is stored")
		}
		hashed, err2 := db.Values[string](t.Context(), tx,
			`select fingerprint from idempotency where record like 'key_%' and fingerprint <> ''`)
		if len(hashed) > 0 || err2 != nil {
			t.Errorf("the hash of an input is stored: %v %v", hashed, err2)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// actsOn returns the ids of the lines in the audit log with this word and target.
func actsOn(t *testing.T, o *apitest.Office, word, target string) (found []string) {
	t.Helper()
	err := o.DB.Read(t.Context(), func(tx db.Tx) (err error) {
		found, err = db.Values[string](t.Context(), tx, `select id from audit_lines where word = $1 and target = $2`,
			word, target)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestSessionRepeatsAtOnce sends one form many times at the same moment. It checks that the change
// happens once, and that all responses are equal.
func TestSessionRepeatsAtOnce(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		c := o.As(access.Admin)
		b := signedIn(t, o, c.Principal)
		key := apitest.Fresh()
		in := keys.New{
			Principal:   c.Principal,
			Environment: "test",
			Name:        "Mirror",
			Scopes:      []string{"contacts:read"},
			Networks:    []string{"192.0.2.0/24"},
		}
		answers := make([]*api.Response, 8)
		var all sync.WaitGroup
		for i := range answers {
			all.Go(func() { answers[i] = b.ask("keys.create", in, "Idempotency-Key", key) })
		}
		all.Wait()
		made := ""
		for _, got := range answers {
			switch {
			case got.Status == 409 && got.Fault.Code == fault.IdempotencyInProgress, got.Status == 429 &&
				got.Fault.Code == fault.Overloaded:
			case got.Status != 200, made != "" && made != string(got.Body):
				t.Errorf("%d %s", got.Status, got.Body)
			default:
				made = string(got.Body)
			}
		}
		if got := b.want(b.ask("keys.create", in, "Idempotency-Key", key), 200); made != "" && string(got.Body) != made {
			t.Errorf("%s, want %s", got.Body, made)
		}
		var keys struct{ Data []struct{ Name string } }
		if err := json.Unmarshal(b.want(b.ask("keys.list", struct{}{}), 200).Body, &keys); err != nil {
			t.Fatal(err)
		}
		if n := len(slices.DeleteFunc(keys.Data, func(k struct{ Name string }) bool { return k.Name != "Mirror" })); n != 1 {
			t.Errorf("%d keys were made", n)
		}
	})
}

// TestSessionGate checks what people may do while the switches of their organization are off, and
// while it is closed or being deleted.
func TestSessionGate(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		c := o.As(access.Member)
		m, a := signedIn(t, o, c.Principal), signedIn(t, o, o.User(access.Admin))
		set := func(change organization.Change) {
			t.Helper()
			if change.ID = o.SandboxID; change.State != nil {
				change.ID = o.ID
			}
			if _, err := o.Operator.SetOrganization(t.Context(), change); err != nil {
				t.Fatal(err)
			}
		}
		record := member(t, m.want(m.do("POST", "/contacts", map[string]any{"lastName": "Berg"}), 201), "id")
		off, level := "off", access.Off
		set(organization.Change{Module: &off, Level: &level})
		c.Do("GET", "/contacts", nil).Want(403)
		m.want(m.do("PATCH", "/contacts/"+record, map[string]any{"lastName": "Tal"}, "If-Match", "*"), 200)

		states := []struct {
			state             access.State
			member, admin     int // the statuses of a read
			memberSet, always int // the statuses of a change, and of an operation with the property Always
		}{
			{access.Closed, 200, 200, 403, 200},
			{access.Deleting, 403, 200, 403, 200},
		}
		for _, s := range states {
			set(organization.Change{State: &s.state})
			m.want(m.do("GET", "/contacts/"+record, nil), s.member)
			a.want(a.do("GET", "/contacts/"+record, nil), s.admin)
			for _, b := range []*browser{m, a} {
				got := b.want(b.do("PATCH", "/contacts/"+record, map[string]any{"lastName": "See"}, "If-Match", "*"), s.memberSet)
				if got.Fault.Reason != string(access.OrganizationClosed) {
					t.Errorf("%s: refused by %q", s.state, got.Fault.Reason)
				}
				b.want(b.do("GET", "/me", nil), map[*browser]int{m: s.member, a: s.admin}[b])
				b.want(b.ask("bell.read", struct{}{}), 403)
				b.want(b.ask("session.get", struct{}{}), s.always)
			}
			var session struct{ Scopes []string }
			if err := json.Unmarshal(a.ask("session.get", struct{}{}).Body, &session); err != nil ||
				slices.ContainsFunc(session.Scopes, access.Writes) {
				t.Errorf("%s: scopes %v %v", s.state, session.Scopes, err)
			}
			c.Do("GET", "/me", nil).Want(403)
		}
	})
}
