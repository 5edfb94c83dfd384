package api_test

import (
	"strings"
	"testing"
	"time"

	"kartei/access"
	"kartei/api"
	"kartei/api/op"
	"kartei/people/organization"
	"kartei/test/apitest"
	"kartei/test/dbtest"
)

// TestSecondFactorRequired checks the rule that people need a second factor. Nothing changes for a
// week after the rule is set. Then a person without a second factor can only set one up. Keys still
// work, and people can still take away access.
func TestSecondFactorRequired(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		person, other := o.As(access.Admin), o.User(access.Member)
		got := requireFactor(t, o, "required")
		if got.SecondFactor != "required" || got.SecondFactorFrom.Time() != o.Clock.Now().Add(7*24*time.Hour).Truncate(time.Microsecond) {
			t.Errorf("%+v", got)
		}
		sandboxHasTheSameRule(t, o)
		readsLog(t, o, "on the first day", cookieOf(o, person.Principal), 200)
		o.Clock.Advance(7*24*time.Hour - time.Minute)
		as := cookieOf(o, person.Principal)
		readsLog(t, o, "within the week", as, 200)

		o.Clock.Advance(2 * time.Minute)
		reachesOnlySetup(t, o, as)
		person.Do("GET", "/me", nil).Want(200) // a key is not a sign-in
		for id, statement := range map[string]string{
			person.Principal: `update accounts set totp_secret = 'sealed' where id = (select account_id from principals where id = $1)`,
			other:            `insert into passkeys (id, account_id, credential_id, credential, name, created_at, last_used_at) select 'psk_1', account_id, 'c', '{}', 'Telefon', 1, 0 from principals where id = $1`,
		} {
			factorCounts(t, o, id, statement)
		}
		another := cookieOf(o, o.User(access.Admin))
		readsLog(t, o, "another person", another, 403)

		// Single sign-on needs no factor here, because the OpenID provider is responsible for the
		// factors of its sign-ins.
		linked := o.User(access.Admin)
		byProvider := cookieOf(o, linked)
		dbtest.Run(t, o.DB, `update sessions set method = 'sso' where principal_id = $1`, linked)
		readsLog(t, o, "by single sign-on", byProvider, 200)
		requireFactor(t, o, "optional")
		readsLog(t, o, "after it was switched off", another, 200)
	})
}

func cookieOf(o *apitest.Office, person string) api.Credential {
	return api.Cookie(o.Session(person), false)
}

// requireFactor sets the rule for second factors of the organization.
func requireFactor(t *testing.T, o *apitest.Office, rule string) access.OrganizationInfo {
	t.Helper()
	out, err := o.Operator.SetOrganization(t.Context(), organization.Change{ID: o.ID, SecondFactor: &rule})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// sandboxHasTheSameRule fails the test unless the sandbox has the rule of its organization and
// refuses another rule.
func sandboxHasTheSameRule(t *testing.T, o *apitest.Office) {
	t.Helper()
	if got := ask(t, o, api.Admin, api.Local(), "organizations.set",
		organization.Change{ID: o.SandboxID, SecondFactor: new("optional")}); got.Status != 422 {
		t.Errorf("the sandbox has a rule of its own: %d", got.Status)
	}
	if got := ask(t, o, api.Admin, api.Local(), "organizations.get",
		op.ByID{ID: o.SandboxID}); !strings.Contains(string(got.Body), `"secondFactor":"required"`) {
		t.Errorf("the sandbox: %s", got.Body)
	}
}

// readsLog fails the test unless a call that reads the audit log has the status want. Only admins
// may read the audit log.
func readsLog(t *testing.T, o *apitest.Office, when string, as api.Credential, want int) {
	t.Helper()
	if got := ask(t, o, api.Web, as, "audit.list", struct{}{}); got.Status != want {
		t.Errorf("%s: %d %s", when, got.Status, got.Body)
	}
}

// reachesOnlySetup fails the test unless a session can call only the operations for setting up a
// second factor. The refusals of other operations must mention the second factor.
func reachesOnlySetup(t *testing.T, o *apitest.Office, as api.Credential) {
	t.Helper()
	if got := ask(t, o, api.Web, as, "audit.list", struct{}{}); got.Status != 403 ||
		!strings.Contains(string(got.Body), "zweiten Faktor") {
		t.Errorf("after the week: %d %s", got.Status, got.Body)
	}
	if got := o.API.Do(t.Context(), &api.Request{Method: "GET", Path: "/contacts", Door: api.Web, Credential: as},
		nil).Status; got != 403 {
		t.Errorf("a record after the week: %d", got)
	}
	for _, row := range []string{"session.get", "factors.get", "sessions.list", "profile.get"} {
		if got := ask(t, o, api.Web, as, row, struct{}{}); got.Status != 200 {
			t.Errorf("%s after the week: %d %s", row, got.Status, got.Body)
		}
	}
	if got := ask(t, o, api.Web, as, "factors.totpBegin", struct{}{}); got.Status != 200 {
		t.Errorf("setting a factor up: %d %s", got.Status, got.Body)
	}
}

// factorCounts fails the test unless a person is refused before statement and accepted after it.
// The statement stores a second factor of the person.
func factorCounts(t *testing.T, o *apitest.Office, person, statement string) {
	t.Helper()
	if got := ask(t, o, api.Web, cookieOf(o, person), "names.find", op.None{}); got.Status != 403 {
		t.Errorf("%s without a factor: %d", person, got.Status)
	}
	dbtest.Run(t, o.DB, statement, person)
	if got := ask(t, o, api.Web, cookieOf(o, person), "names.find", op.None{}); got.Status != 200 {
		t.Errorf("%s with a factor: %d %s", person, got.Status, got.Body)
	}
}
