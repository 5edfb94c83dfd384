package office_test

import (
	"testing"
	"time"

	"kartei/access"
	"kartei/settings"
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
		admin.get(auditPath+"?word=organization").want(200, "Stufe der API lesen und schreiben → nur lesen", "Modul an → aus")

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
