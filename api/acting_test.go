package api_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"kartei/access"
	"kartei/api"
	"kartei/integration/grant"
	"kartei/integration/key"
	"kartei/people/account"
	"kartei/people/agent"
	"kartei/people/invitation"
	"kartei/people/organization"
	"kartei/people/signin"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/test/operator"
)

// devicesTold returns the numbers of notices and of emails about a sign-in from an unknown device.
// It also checks the content of each email.
func devicesTold(t *testing.T, o *apitest.Office) (bell, mails int) {
	t.Helper()
	dbtest.Get(t, o.DB, []any{&bell}, `select count(*) from notices where kind = $1 and data like '%"device"%'`,
		string(account.SignInChanged))
	for _, m := range o.Mailed() {
		if m.Title != "Anmeldung mit einem unbekannten Gerät" {
			continue
		}
		if mails++; m.To != "ida@neu.example" ||
			!strings.Contains(m.Text, "https://kartei.example/settings/security/access") ||
			!strings.Contains(m.Text, "203.0.113.9") {
			t.Errorf("%s: %s", m.To, m.Text)
		}
	}
	return bell, mails
}

// TestUnknownDeviceIsTold checks that a sign-in from an unknown browser adds a notice and sends an
// email. A sign-in from a known browser does neither, even after a long absence.
func TestUnknownDeviceIsTold(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		told := func(when string, want int) {
			t.Helper()
			if bell, mails := devicesTold(t, o); bell != want || mails != want {
				t.Errorf("%s: %d in the bell and %d emails, want %d", when, bell, mails, want)
			}
		}
		ida, _ := join(t, o, o.ID, "ida@neu.example", access.Member)
		told("joining", 0)
		ida.signIn("ida@neu.example", somePassword, "signedIn")
		ida.from = "192.0.2.33"
		ida.signIn("ida@neu.example", somePassword, "signedIn")
		told("the same browser, elsewhere too", 0)
		other := visit(t, o)
		other.from = "203.0.113.9"
		other.ask("signin.password", account.PasswordInput{Email: "ida@neu.example", Password: "falsch falsch falsch"},
			nil, 401)
		told("a wrong password", 0)
		other.signIn("ida@neu.example", somePassword, "signedIn")
		told("another browser", 1)
		other.signIn("ida@neu.example", somePassword, "signedIn")
		told("the other browser again", 1)
		o.Clock.Advance(signin.DeviceLifetime + time.Hour)
		dbtest.Run(t, o.DB, `delete from sessions`) // as if they had expired
		late := visit(t, o)
		late.from = "203.0.113.9"
		late.signIn("ida@neu.example", somePassword, "signedIn")
		told("a browser after a long absence", 2)
	})
}

// delegates are the keys, OAuth grants and webhook endpoints with which programs act for an account
// in two organizations. other is another person.
type delegates struct {
	*visitor
	keys, grants, hooks []string
	other               *visitor
}

// newActing returns a person who has a key, an application and a webhook endpoint in each of two
// organizations. The person also has a passkey and a second session. Another person has the same
// things.
func newActing(t *testing.T, o *apitest.Office) *delegates {
	t.Helper()
	live, _ := o.Organization("Zweite Kanzlei")
	v, first := join(t, o, o.ID, "ida@neu.example", access.Member)
	made, err := operator.Run(t.Context(), o.Operator, invitation.Create, invitation.New{
		Organization: live, Email: "ida@neu.example", Role: access.Admin,
	})
	if err != nil {
		t.Fatal(err)
	}
	var second account.AcceptResult
	v.ask("invitations.accept", account.Acceptance{Token: made.Token, Name: "Ida Zwei", Password: somePassword},
		&second, 200)
	a := &delegates{visitor: v, other: visit(t, o)}
	for _, person := range []string{first.ID, second.ID, o.User(access.Member)} {
		office := o.ID
		if person == second.ID {
			office = live
		}
		key, err := o.Operator.CreateKey(t.Context(), key.New{
			Organization: office,
			Principal:    person,
			Environment:  access.Test,
			Networks:     []string{"192.0.2.0/24"},
			Scopes:       []string{"contacts:read", "webhook_endpoints:read", "webhook_endpoints:write"},
		})
		if err != nil {
			t.Fatal(err)
		}
		c := &apitest.Client{Office: o, Principal: person, Key: key.Key}
		hook := c.Do("POST", "/webhook_endpoints", map[string]any{
			"name":       "Hook",
			"url":        "https://example.com/hook",
			"eventTypes": []string{"contact.created"},
		}).Want(201).Text("id")
		if person != second.ID { // the calls below connect the application in the first organization
			client := grant.Client{
				Kind:         grant.Registered,
				Name:         "Kalender " + person,
				RedirectURIs: []string{"https://crm.example/cb"},
				Method:       grant.NoSecret,
			}
			o.Connect(&client, person, access.V1, "contacts:read")
		}
		if person == first.ID || person == second.ID {
			a.keys, a.hooks = append(a.keys, key.ID), append(a.hooks, hook)
		}
	}
	a.grants = dbtest.Texts(t, o.DB, `select id from oauth_grants where principal_id = $1`, first.ID)
	a.addPasskey(device(t))
	a.other.token = o.Session(first.ID)
	return a
}

func (a *delegates) list() (all agent.Overview) {
	a.Helper()
	a.ask("access.list", struct{}{}, &all, 200)
	return all
}

func idsOf(list []agent.Agent) (ids []string) {
	for _, e := range list {
		ids = append(ids, e.ID)
	}
	slices.Sort(ids)
	return ids
}

// TestActingShowsWhatRests checks that access.list shows an application as paused if the
// organization no longer allows it.
func TestActingShowsWhatRests(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		a := newActing(t, o)
		for _, c := range []struct {
			allowed string
			paused  bool
		}{{string(access.KnownApplications), false}, {"off", true}, {"all", false}} {
			dbtest.Run(t, o.DB, `update organizations set applications = $1`, c.allowed)
			grants := a.list().Grants
			if len(grants) == 0 {
				t.Fatal("no application acts")
			}
			for _, g := range grants {
				if g.Paused != c.paused {
					t.Errorf("applications %s: %s is shown as paused: %v, want %v", c.allowed, g.Name, g.Paused, c.paused)
				}
			}
		}
	})
}

// TestActing checks that access.list returns all keys, grants, endpoints, passkeys and sessions of
// the caller's account in all its organizations. It returns none of another account. access.end
// ends a single item.
func TestActing(t *testing.T) {
	apitest.Through(t, "")
	each(t, func(t *testing.T, o *apitest.Office) {
		a := newActing(t, o)
		all := a.list()
		for what, pair := range map[string][2][]string{
			"keys":      {idsOf(all.Keys), a.keys},
			"endpoints": {idsOf(all.Endpoints), a.hooks},
			"grants":    {idsOf(all.Grants), a.grants},
		} {
			slices.Sort(pair[1])
			if !slices.Equal(pair[0], pair[1]) {
				t.Errorf("%s: %q, want %q", what, pair[0], pair[1])
			}
		}
		places := map[string]bool{}
		for _, k := range all.Keys {
			places[k.OrganizationName] = true
		}
		if len(places) != 2 || len(all.Passkeys) != 1 || len(all.Sessions) < 2 {
			t.Errorf("%+v", all)
		}
		// access.end ends exactly the named item.
		a.ask("access.end", agent.EndInput{ID: a.keys[1]}, nil, 200)
		a.ask("access.end", agent.EndInput{ID: a.hooks[0]}, nil, 200)
		a.ask("access.end", agent.EndInput{ID: a.grants[0]}, nil, 200)
		if left := a.list(); !slices.Equal(idsOf(left.Keys), a.keys[:1]) ||
			!slices.Equal(idsOf(left.Endpoints), a.hooks[1:]) || len(left.Grants) != 0 || len(left.Passkeys) != 1 {
			t.Errorf("%+v", left)
		}
		if !a.other.works() {
			t.Error("another session ended")
		}
		strange := dbtest.Texts(t, o.DB, `select id from api_keys where principal_id not in (select id from principals where account_id is not null)`)
		for _, name := range append(strange, "key_x", "") {
			a.ask("access.end", agent.EndInput{ID: name}, nil, 404)
		}
	})
}

// TestEndOfAllThatActs checks that access.end with All ends everything of an account in all
// organizations, and nothing of other accounts. Passkeys stay unless the sign-in is recent.
// Otherwise a stranger in an old session could lock the person out.
func TestEndOfAllThatActs(t *testing.T) {
	apitest.Through(t, "")
	each(t, func(t *testing.T, o *apitest.Office) {
		a := newActing(t, o)
		var ended agent.EndResult
		freshUntil(t, o, 1)
		a.ask("access.end", agent.EndInput{All: true}, &ended, 200)
		left := a.list()
		if len(left.Keys)+len(left.Grants)+len(left.Endpoints) != 0 || len(left.Passkeys) != 1 ||
			len(left.Sessions) != 1 || !ended.Kept {
			t.Errorf("%+v, %+v", ended, left)
		}
		if a.other.works() {
			t.Error("another session goes on")
		}
		freshUntil(t, o, o.Clock.Now().Add(time.Hour).UnixMicro())
		a.ask("access.end", agent.EndInput{All: true}, &ended, 200)
		if left := a.list(); len(left.Passkeys) != 0 || ended.Kept {
			t.Errorf("%+v, %+v", ended, left)
		}
		var keys, hooks, grants int
		dbtest.Get(t, o.DB, []any{&keys}, `select count(*) from api_keys where revoked_at = 0`)
		dbtest.Get(t, o.DB, []any{&hooks}, `select count(*) from webhook_endpoints where status <> 'disabled'`)
		dbtest.Get(t, o.DB, []any{&grants}, `select count(*) from oauth_grants where ended_at = 0`)
		if keys != 1 || hooks != 1 || grants != 1 {
			t.Errorf("of somebody else are left: %d keys, %d endpoints, %d grants", keys, hooks, grants)
		}
		// The audit log of each of the two organizations has a line.
		if n := len(dbtest.Texts(t, o.DB, `select distinct cast(organization as text) from audit_lines where word = 'access.end'`)); n != 2 {
			t.Errorf("%d organizations have a line", n)
		}
	})
}

// TestApplicationsOpenedAreTold changes which applications people may connect. It checks that a
// notice is posted only if a change allows more applications.
func TestApplicationsOpenedAreTold(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		admin := o.User(access.Admin)
		as := api.Cookie(o.Session(admin), false)
		for i, c := range []struct {
			to    access.Applications
			tells int
		}{
			{access.NoApplications, 0},
			{access.KnownApplications, 1},
			{access.AllApplications, 1},
			{access.AllApplications, 0},
			{access.KnownApplications, 0},
		} {
			before := len(dbtest.Texts(t, o.DB, `select id from notices`))
			in, err := json.Marshal(organization.Change{ID: o.ID, Applications: &c.to})
			if err != nil {
				t.Fatal(err)
			}
			if got := ask(t, o, api.Web, as, "organizations.set", json.RawMessage(in)); got.Fault != nil {
				t.Fatalf("%s", got.Body)
			}
			if n := len(dbtest.Texts(t, o.DB, `select id from notices`)) - before; (n > 0) != (c.tells > 0) {
				t.Errorf("%d: %s tells %d times", i, c.to, n)
			}
		}
	})
}
