package people_test

import (
	"strings"
	"testing"
	"time"

	"kartei/access"
	"kartei/api/op"
	"kartei/people/organization"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/test/pagetest"
	"kartei/web/shell"
)

// TestOrganizationOnPages checks that an admin can change the organization and its sandbox
// independently.
func TestOrganizationOnPages(t *testing.T) {
	const path = "/settings/organization"
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		admin := pagetest.Open(t, o, access.Admin)
		if _, err := o.Operator.SetOrganization(t.Context(), organization.Change{ID: o.ID, Secrecy: new("undeclared")}); err != nil {
			t.Fatal(err)
		}
		admin.Get(path).Want(200, "Zurückgezogen am", "Betreiber").Send(path, "secrecy", "declared").Want(303)
		admin.Get(path).Want(200, "Erklärt am")
		admin.Get(shell.KeysPath+"/new").Send(shell.KeysPath+"/new", "environment", "live", "may", "write", "networks", "192.0.2.1").Want(200)
		admin.Get(shell.KeysPath+"/new").Send(shell.KeysPath+"/new", "environment", "live").Want(200)
		admin.Get(shell.KeysPath + "/new").Send(shell.KeysPath + "/new").Want(200)

		page := admin.Get(path).Want(200, "Nur lesen", "Was schreibt, wird abgelehnt: betrifft einen Schlüssel.", "Jeder Aufruf wird abgelehnt: betrifft 2 Schlüssel.",
			"Bis dahin wird jeder Aufruf abgelehnt: betrifft 2 Schlüssel.", "Jeder Aufruf wird abgelehnt: betrifft 2 Schlüssel. Was sich")
		page.Send(path, "name", "").Want(422, `aria-invalid="true"`)
		page.Send(path, "level", "everything").Want(422)
		saved := page.Send(path, "name", "Kanzlei Neu", "level", "read").Want(303)
		admin.Get(saved.Location).Want(200, "Organisation gespeichert.", `value="Kanzlei Neu"`)
		if is := organizationOf(t, o, o.ID); is.Name != "Kanzlei Neu" || is.Level != access.Read || is.Module != "on" {
			t.Errorf("%+v", is)
		}
		sandbox := path + "?of=sandbox"
		admin.Get(sandbox).Want(200, "Jeder Aufruf wird abgelehnt: betrifft 2 Schlüssel.").Send(sandbox, "module", "off").Want(303)
		if is, live := organizationOf(t, o, o.SandboxID), organizationOf(t, o, o.ID); is.Module != "off" || live.Module != "on" {
			t.Errorf("sandbox %+v, live %+v", is, live)
		}
		admin.Get(auditPath+"?word=organization").Want(200, "Stufe der API: lesen und schreiben → nur lesen", "Modul: an → aus")

		o.Clock.Advance(access.SignInFresh + time.Minute)
		admin.Get(path).Send(path, "level", "on").Want(403, "bestätigen")
	})
}

// organizationOf returns the data of an organization, read as the operator.
func organizationOf(t *testing.T, o *apitest.Office, id string) access.OrganizationInfo {
	t.Helper()
	is, err := o.Operator.GetOrganization(t.Context(), op.ByID{ID: id})
	if err != nil {
		t.Fatal(err)
	}
	return is
}

// TestSecondFactorOfOrganization checks an organization that begins to require a second factor. For
// a week, a banner says so. After that, each page redirects to the security page until the person
// has set one up.
func TestSecondFactorOfOrganization(t *testing.T) {
	const path = "/settings/organization"
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b, admin := pagetest.Open(t, o, access.Member), o.User(access.Admin)
		b.Cookie = o.Session(admin)
		b.Get(path).Send(path, "secondFactor", "required").Want(303)
		b.Get("/contacts").Want(200, "verlangt ab", "Jetzt einrichten")
		b.Get(path + "?of=sandbox").Want(200).Without(`name="secondFactor"`)
		o.Clock.Advance(8 * 24 * time.Hour)
		b.Cookie = o.Session(admin)
		for _, at := range []string{"/", "/contacts", path, "/settings/profile", "/settings"} {
			if got := b.Get(at).Want(303); got.Location != pagetest.Security {
				t.Errorf("%s leads to %s", at, got.Location)
			}
		}
		b.Get(pagetest.Security).Want(200, "Ihr Büro verlangt einen zweiten Faktor")
		b.Generate(o)
		b.Get("/contacts").Want(200).Without("verlangt")
		b.Get(pagetest.Security).Send(pagetest.Security + "/totp/remove").Want(303)
		b.Get("/contacts").Want(303)
	})
}

// TestErasureIsAnnounced checks that all pages show the date of the erasure of an organization, to
// admins and to members. A member can no longer read records or sign in.
func TestErasureIsAnnounced(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		admin, member := pagetest.Invited(t, o, "ida@kanzlei.example"), pagetest.Invited(t, o, "jan@kanzlei.example")
		dbtest.Run(t, d, `update principals set role = 'admin' where email = $1`, "ida@kanzlei.example")
		o.Directory.Forget()
		set := func(state access.State) {
			t.Helper()
			if _, err := o.Operator.SetOrganization(t.Context(), organization.Change{ID: o.ID, State: &state}); err != nil {
				t.Fatal(err)
			}
		}
		signIn := func(email string) *pagetest.Page {
			t.Helper()
			b := &pagetest.Browser{T: t, Handler: admin.Handler}
			return b.Get("/signin").Send("/signin", "email", email, "password", pagetest.Password)
		}
		const banner, date = "Diese Organisation wird gelöscht, am ", "02.12.2026." // 30 days later
		pages := []string{"/", "/contacts", "/sandbox/", "/settings/profile", "/settings/data", "/settings/organization", "/settings/organization?of=sandbox"}
		set(access.Deleting)
		for _, path := range pages {
			got := admin.Get(path).Want(200, banner+date, "Bis dahin lesen Sie alles und können es exportieren.")
			if strings.Count(got.Body, banner) != 1 {
				t.Errorf("%s says it %d times", path, strings.Count(got.Body, banner))
			}
			if got := member.Get(path); !strings.Contains(got.Body, banner+date) || !strings.Contains(got.Body, "Nur die Administration liest noch") {
				t.Errorf("%s does not tell a member: %d %s", path, got.Status, got.Main())
			}
		}
		for _, what := range []string{"organization", "person"} {
			if got := admin.Get("/settings/data").Send("/settings/data/" + what); got.Status >= 400 {
				t.Errorf("the export of the %s is refused: %d %s", what, got.Status, got.Main())
			}
		}
		signIn("ida@kanzlei.example").Want(303).Get("/").Want(200, banner+date)
		signIn("jan@kanzlei.example").Want(403)
		for _, state := range []access.State{access.Closed, access.Open} {
			set(state)
			for _, path := range pages {
				admin.Get(path).Want(200).Without(banner)
			}
			signIn("jan@kanzlei.example").Want(303).Get("/").Want(200).Without(banner)
		}
	})
}
