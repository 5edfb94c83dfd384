package api_test

import (
	"strings"
	"testing"
	"time"

	"kartei/access"
	"kartei/api"
	"kartei/app"
	"kartei/settings"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
)

// TestSecondFactorRequired switches the second factor on: for a week nothing changes.
// Then a person without one reaches only what sets one up, until there is one. Keys go
// on, and so does everything that takes access away.
func TestSecondFactorRequired(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		person := o.As(access.Admin)
		other := o.User(access.Member)
		signIn := func(id string) api.Credential { return api.Cookie(o.Session(id), false) }
		as := signIn(person.Principal)
		read := func(as api.Credential) int { return ask(t, o, api.Web, as, "audit.list", struct{}{}).Status }
		required, optional := "required", "optional"
		set := func(value *string) access.OrganizationInfo {
			t.Helper()
			out, err := o.Operator.SetOrganization(t.Context(), settings.OrganizationChange{ID: o.ID, SecondFactor: value})
			if err != nil {
				t.Fatal(err)
			}
			return out
		}
		if got := set(&required); got.SecondFactor != required || got.SecondFactorFrom.Time() != o.Clock.Now().Add(7*24*time.Hour).Truncate(time.Microsecond) {
			t.Errorf("%+v", got)
		}
		if got := ask(t, o, api.Admin, api.Local(), "organizations.set", settings.OrganizationChange{ID: o.SandboxID, SecondFactor: &optional}); got.Status != 422 {
			t.Errorf("the sandbox has a rule of its own: %d", got.Status)
		}
		if got := ask(t, o, api.Admin, api.Local(), "organizations.get", access.ByID{ID: o.SandboxID}); !strings.Contains(string(got.Body), `"secondFactor":"required"`) {
			t.Errorf("the sandbox: %s", got.Body)
		}
		if got := read(as); got != 200 {
			t.Errorf("within the week: %d", got)
		}
		o.Clock.Advance(7*24*time.Hour - time.Minute)
		as = signIn(person.Principal)
		if got := read(as); got != 200 {
			t.Errorf("within the week: %d", got)
		}
		o.Clock.Advance(2 * time.Minute)
		if got := ask(t, o, api.Web, as, "audit.list", struct{}{}); got.Status != 403 || !strings.Contains(string(got.Body), "zweiten Faktor") {
			t.Errorf("after the week: %d %s", got.Status, got.Body)
		}
		if got := o.API.Do(t.Context(), &api.Request{Method: "GET", Path: "/contacts", Door: api.Web, Credential: as}, nil).Status; got != 403 {
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
		person.Do("GET", "/me", nil).Want(200) // a key is no sign-in

		// A passkey counts, and so does a generator of codes.
		for id, statement := range map[string]string{
			person.Principal: `update accounts set totp_secret = 'sealed' where id = (select account_id from principals where id = $1)`,
			other:            `insert into passkeys (id, account_id, credential_id, credential, name, created_at, last_used_at) select 'psk_1', account_id, 'c', '{}', 'Telefon', 1, 0 from principals where id = $1`,
		} {
			as := signIn(id)
			if got := ask(t, o, api.Web, as, "names.find", app.None{}); got.Status != 403 {
				t.Errorf("%s without a factor: %d", id, got.Status)
			}
			if err := o.DB.Write(t.Context(), func(tx db.Tx) error {
				_, err := tx.Exec(t.Context(), statement, id)
				return err
			}); err != nil {
				t.Fatal(err)
			}
			if got := ask(t, o, api.Web, signIn(id), "names.find", app.None{}); got.Status != 200 {
				t.Errorf("%s with a factor: %d %s", id, got.Status, got.Body)
			}
		}
		third := signIn(o.User(access.Admin))
		if got := read(third); got != 403 {
			t.Errorf("another person: %d", got)
		}
		// The OpenID provider answers for the factors of its sign-ins.
		fourth := o.User(access.Admin)
		linked := signIn(fourth)
		dbtest.Run(t, o.DB, `update sessions set method = 'sso' where principal_id = $1`, fourth)
		if got := read(linked); got != 200 {
			t.Errorf("by single sign-on: %d", got)
		}
		set(&optional)
		if got := read(third); got != 200 {
			t.Errorf("after it was switched off: %d", got)
		}
	})
}
