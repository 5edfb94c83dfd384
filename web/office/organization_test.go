package office_test

import (
	"strings"
	"testing"
	"time"

	"kartei/access"
	"kartei/people/settings"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
)

// TestOrganizationOnPages changes the organization and its sandbox, each by itself.
func TestOrganizationOnPages(t *testing.T) {
	const path = "/settings/organization"
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		admin := open(t, o, access.Admin)
		if _, err := o.Operator.SetOrganization(t.Context(), settings.OrganizationChange{ID: o.ID, Secrecy: new("undeclared")}); err != nil {
			t.Fatal(err)
		}
		admin.get(path).want(200, "Zurückgezogen am", "Betreiber").send(path, "secrecy", "declared").want(303)
		admin.get(path).want(200, "Erklärt am")
		admin.get(keysPath+"/new").send(keysPath+"/new", "environment", "live", "may", "write", "networks", "192.0.2.1").want(200)
		admin.get(keysPath+"/new").send(keysPath+"/new", "environment", "live").want(200)
		admin.get(keysPath + "/new").send(keysPath + "/new").want(200)

		page := admin.get(path).want(200, "Nur lesen", "Was schreibt, wird abgelehnt: betrifft einen Schlüssel.", "Jeder Aufruf wird abgelehnt: betrifft 2 Schlüssel.",
			"Bis dahin wird jeder Aufruf abgelehnt: betrifft 2 Schlüssel.", "Jeder Aufruf wird abgelehnt: betrifft 2 Schlüssel. Was sich")
		page.send(path, "name", "").want(422, `aria-invalid="true"`)
		page.send(path, "level", "everything").want(422)
		saved := page.send(path, "name", "Kanzlei Neu", "level", "read").want(303)
		admin.get(saved.Location).want(200, "Organisation gespeichert.", `value="Kanzlei Neu"`)
		if is := organization(t, o, o.ID); is.Name != "Kanzlei Neu" || is.Level != access.Read || is.Module != "on" {
			t.Errorf("%+v", is)
		}
		sandbox := path + "?of=sandbox"
		admin.get(sandbox).want(200, "Jeder Aufruf wird abgelehnt: betrifft 2 Schlüssel.").send(sandbox, "module", "off").want(303)
		if is, live := organization(t, o, o.SandboxID), organization(t, o, o.ID); is.Module != "off" || live.Module != "on" {
			t.Errorf("sandbox %+v, live %+v", is, live)
		}
		admin.get(auditPath+"?word=organization").want(200, "Stufe der API: lesen und schreiben → nur lesen", "Modul: an → aus")

		o.Clock.Advance(access.SignInFresh + time.Minute)
		admin.get(path).send(path, "level", "on").want(403, "bestätigen")
	})
}

// organization reads an organization as the operator.
func organization(t *testing.T, o *apitest.Office, id string) access.OrganizationInfo {
	t.Helper()
	is, err := o.Operator.GetOrganization(t.Context(), access.ByID{ID: id})
	if err != nil {
		t.Fatal(err)
	}
	return is
}

// TestSecondFactorOfOrganization requires a second factor: a banner says so for a week.
// Then each page leads to where one is set up, and after that everything goes on.
func TestSecondFactorOfOrganization(t *testing.T) {
	const path = "/settings/organization"
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b, admin := open(t, o, access.Member), o.User(access.Admin)
		b.cookie = o.Session(admin)
		b.get(path).send(path, "secondFactor", "required").want(303)
		b.get("/contacts").want(200, "verlangt ab", "Jetzt einrichten")
		b.get(path + "?of=sandbox").want(200).without(`name="secondFactor"`)
		o.Clock.Advance(8 * 24 * time.Hour)
		b.cookie = o.Session(admin)
		for _, at := range []string{"/", "/contacts", path, "/settings/profile", "/settings"} {
			if got := b.get(at).want(303); got.Location != security {
				t.Errorf("%s leads to %s", at, got.Location)
			}
		}
		b.get(security).want(200, "Ihr Büro verlangt einen zweiten Faktor")
		b.generate(o)
		b.get("/contacts").want(200).without("verlangt")
		b.get(security).send(security + "/totp/remove").want(303)
		b.get("/contacts").want(303)
	})
}

// TestErasureIsAnnounced gives the organization a date of its erasure: every page tells it to
// whoever reads and to those who do not any more. Only admins still sign in.
func TestErasureIsAnnounced(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		admin, member := invited(t, o, "ida@kanzlei.example"), invited(t, o, "jan@kanzlei.example")
		dbtest.Run(t, d, `update principals set role = 'admin' where email = $1`, "ida@kanzlei.example")
		o.Directory.Forget()
		set := func(state access.State) {
			t.Helper()
			if _, err := o.Operator.SetOrganization(t.Context(), settings.OrganizationChange{ID: o.ID, State: &state}); err != nil {
				t.Fatal(err)
			}
		}
		signIn := func(email string) *page {
			t.Helper()
			b := &browser{t: t, handler: admin.handler}
			return b.get("/signin").send("/signin", "email", email, "password", password)
		}
		const banner, date = "Diese Organisation wird gelöscht, am ", "02.12.2026." // 30 days later
		pages := []string{"/", "/contacts", "/sandbox/", "/settings/profile", "/settings/data", "/settings/organization", "/settings/organization?of=sandbox"}
		set(access.Deleting)
		for _, path := range pages {
			got := admin.get(path).want(200, banner+date, "Bis dahin lesen Sie alles und können es exportieren.")
			if strings.Count(got.Body, banner) != 1 {
				t.Errorf("%s says it %d times", path, strings.Count(got.Body, banner))
			}
			if got := member.get(path); !strings.Contains(got.Body, banner+date) || !strings.Contains(got.Body, "Nur die Administration liest noch") {
				t.Errorf("%s does not tell a member: %d %s", path, got.Status, got.main())
			}
		}
		for _, what := range []string{"organization", "person"} {
			if got := admin.get("/settings/data").send("/settings/data/" + what); got.Status >= 400 {
				t.Errorf("the export of the %s is refused: %d %s", what, got.Status, got.main())
			}
		}
		signIn("ida@kanzlei.example").want(303).get("/").want(200, banner+date)
		signIn("jan@kanzlei.example").want(403)
		for _, state := range []access.State{access.Closed, access.Open} {
			set(state)
			for _, path := range pages {
				admin.get(path).want(200).without(banner)
			}
			signIn("jan@kanzlei.example").want(303).get("/").want(200).without(banner)
		}
	})
}
