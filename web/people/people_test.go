package people_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"kartei/access"
	"kartei/api/op"
	"kartei/people/invitation"
	"kartei/people/principal"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/test/operator"
	"kartei/test/pagetest"
	"kartei/test/waittest"
	"kartei/web/shell"
)

const ()

// TestPeopleOnPages checks that an admin can change the role and the rights of a person, and can
// disable and enable the person.
func TestPeopleOnPages(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b, member := pagetest.Open(t, o, access.Admin), pagetest.Open(t, o, access.Member)
		ida, err := o.Operator.CreateUser(t.Context(), principal.New{Organization: o.ID, Name: "Ida Abend", Email: "ida@kanzlei.example"})
		if err != nil {
			t.Fatal(err)
		}
		path := shell.PeoplePath + "/" + ida.ID
		b.Get(shell.PeoplePath).Want(200, "Ida Abend", "ida@kanzlei.example", "Mitarbeit", "noch nicht angemeldet", "ohne zweiten Faktor", `href="`+path+`"`)
		b.Get("/go/" + ida.ID).Want(303)
		former := b.Get(path)
		one := b.Get(path).Want(200, "Zweiter Faktor", `value="Ida Abend"`)
		one.Send(path, "name", "", "email", "ida").Want(422, `aria-invalid="true"`)
		one.Send(path, "name", "Ida Morgen", "role", "viewer", "right.contacts", "none").Want(303)
		b.Get(path).Want(200, "Ida Morgen", `value="viewer" checked`, `value="none" selected`)
		b.Get(shell.PeoplePath).Want(200, "Nur lesen", "nichts: Kontakte")
		// A form that was loaded earlier changes only the fields that the admin edited.
		former.Send(path, "right.tasks", "read").Want(303)
		b.Get(shell.PeoplePath).Want(200, "Ida Morgen", "nichts: Kontakte", "nur lesen: Aufgaben")
		b.Get(path).Send(path).Want(303)

		b.Get(path+"/leave").Want(200, "nur sperren").Send(path + "/leave").Want(303)
		b.Get(path).Want(200, "gesperrt").Send(path + "/enable").Want(303)
		b.Get(path).Want(200, "noch nicht angemeldet")

		o.Clock.Advance(access.SignInFresh + time.Minute)
		b.Get(path).Send(path, "name", "Ida Nacht").Want(403, "bestätigen")

		for _, at := range []string{shell.PeoplePath + "/invite", path, path + "/leave", path + "/erase", shell.AccountsPath, shell.AccountsPath + "/new"} {
			if got := member.Get(at); got.Status != 403 && got.Status != 404 {
				t.Errorf("a member opens %s: %d", at, got.Status)
			}
		}
		if got := member.Get("/go/" + ida.ID); strings.HasPrefix(got.Header.Get("Location"), shell.PeoplePath) {
			t.Error("a member is led to a page of admins")
		}
	})
}

// TestColleagues checks that members see the names of active people and service accounts, and no
// other data.
func TestColleagues(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		member := pagetest.Open(t, o, access.Member)
		for _, name := range []string{"Ida Abend", "Uwe Zander"} {
			first, _, _ := strings.Cut(name, " ")
			u, err := o.Operator.CreateUser(t.Context(), principal.New{Organization: o.ID, Name: name, Email: first + "@kanzlei.example"})
			if err == nil && first == "Uwe" {
				_, err = o.Operator.SetUser(t.Context(), principal.Change{ID: u.ID, Disabled: new(true)})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if _, err := o.Operator.CreateServiceAccount(t.Context(), principal.New{Organization: o.ID, Name: "Telefonanlage"}); err != nil {
			t.Fatal(err)
		}
		member.Get("/settings").Want(200, `href="`+shell.PeoplePath+`"`, "Wer zum Büro gehört")
		got := member.Get(shell.PeoplePath).Want(200, "Ida Abend", "Das sind Sie.", "Telefonanlage", "Dienstkonto")
		for _, hidden := range []string{"@kanzlei.example", "Uwe Zander", "usr_", "svc_", "/invite"} {
			if strings.Contains(got.Main(), hidden) {
				t.Errorf("a member sees %q", hidden)
			}
		}
		if got := member.Get(shell.PeoplePath+"?q=aben").Want(200, "<mark>Aben</mark>d"); strings.Contains(got.Body, "Telefonanlage") {
			t.Error("a search for a name finds others")
		}
		member.Get(shell.PeoplePath+"?q=niemand").Want(200, "Niemand heißt so")
		member.Get(shell.PeoplePath + "?q=" + strings.Repeat("x", 201)).Want(422)
	})
}

// TestOwnAccountOnPages checks that admins cannot disable or erase themselves.
func TestOwnAccountOnPages(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		admin := o.As(access.Admin)
		b := pagetest.OpenAt(t, o, "https://kartei.example")
		b.Cookie = o.Session(admin.Principal)
		path := shell.PeoplePath + "/" + admin.Principal
		own := b.Get(path).Want(200)
		for _, act := range []string{"/leave", "/erase", "/factors"} {
			if strings.Contains(own.Body, path+act) {
				t.Errorf("the own page has %s", act)
			}
		}
		b.Get(path+"/leave").Want(403, "Ihr eigenes Konto")
		b.Get(path+"/erase").Want(403, "Ihr eigenes Konto")
		form := own.Fields(path)
		form.Set("to", "")
		b.Do("POST", path+"/leave", form).Want(403, "Ihr eigenes Konto")
		form.Set("name", "x")
		b.Do("POST", path+"/erase", form).Want(403, "Ihr eigenes Konto")
		if o.User(access.Admin); b.Get(shell.PeoplePath).Status != 200 {
			t.Error("the admin is locked out")
		}
	})
}

// TestLastAdminOnPages checks that the last admin keeps the role, and that the page gives the
// reason.
func TestLastAdminOnPages(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b := pagetest.Open(t, o, access.Admin)
		page, err := o.Operator.ListUsers(t.Context(), op.Page{Organization: o.ID})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range page.Data {
			if p.Role != access.Admin {
				continue
			}
			path := shell.PeoplePath + "/" + p.ID
			if got := b.Get(path).Send(path, "role", "member"); got.Status == 403 {
				got.Want(403, "Nicht geändert", `value="admin"`)
				return
			}
		}
		t.Error("the last admin lost the role")
	})
}

// TestLeaveOnPages checks that an admin can disable a person and hand over the records in one step,
// and can then erase the person.
func TestLeaveOnPages(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b, leaver, heir := pagetest.Open(t, o, access.Admin), o.As(access.Member), o.As(access.Member)
		path := shell.PeoplePath + "/" + leaver.Principal
		leaver.Do("POST", "/contacts", map[string]any{"lastName": "Geheim", "visibility": "private"}).Want(201)
		leaver.Do("POST", "/webhook_endpoints", map[string]any{"name": "Spiegel", "url": "https://example.com/hook", "eventTypes": []string{"contact.created"}}).Want(201)
		form := b.Get(path+"/leave").Want(200, "API-Schlüssel", `value="`+heir.Principal+`"`, `name="private"`, "Spiegel", "Ein privater Eintrag", "Nirgends angemeldet")
		if strings.Contains(form.Body, `<option value="`+leaver.Principal) {
			t.Error("who leaves can take over")
		}
		form.Send(path+"/leave", "to", leaver.Principal).Want(422, `aria-invalid="true"`)
		leaver.Do("GET", "/me", nil).Want(200) // nothing was changed
		form = b.Get(path + "/leave")
		form.Send(path+"/leave", "to", heir.Principal, "private", "true").Want(303)
		b.Get(path).Want(200, "gesperrt", "Übergaben")
		leaver.Do("GET", "/me", nil).Want(401)
		erase := b.Get(path+"/erase").Want(200, "nicht zurücknehmen")
		erase.Send(path+"/erase", "name", "falsch").Want(422, "Bitte geben Sie den Namen ein")
		info, err := o.Operator.GetPrincipal(t.Context(), op.ByID{ID: leaver.Principal})
		if err != nil {
			t.Fatal(err)
		}
		for w := waittest.New(); !strings.Contains(b.Get(path).Body, "fertig"); {
			if w.IsStuck() {
				t.Fatal("the hand-over does not end")
			}
		}
		var number int64
		dbtest.Get(t, d, []any{&number}, `select number from organizations where id = $1`, o.ID)
		finished := func(at int64) {
			if err := dbtest.Exec(d, `update handovers set finished_at = $1 where organization = $2 and from_principal = $3`, at, number, leaver.Principal); err != nil {
				t.Fatal(err)
			}
		}
		finished(0)
		b.Get(path).Want(200, "läuft", "Neu laden")
		erase.Send(path+"/erase", "name", info.Name).Want(403, "Nicht gelöscht", "läuft noch")
		finished(1)
		b.Get(path+"/erase").Send(path+"/erase", "name", info.Name).Want(303)
		b.Get(path).Want(200, "Gelöschte Person")
	})
}

// TestManyKeysOnPages checks that the page of a person lists all keys, even if one call does not
// return all.
func TestManyKeysOnPages(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b, owner := pagetest.Open(t, o, access.Admin), o.As(access.Member)
		if err := dbtest.Exec(d, `with recursive n (i) as (select 1 union all select i + 1 from n where i < 1000)
			insert into api_keys (kid, id, organization, principal_id, name, environment, secret_hash, scopes, networks, version_pin, expires_at, created_at, paused, revoked_at, last_used_at)
			select k.kid || cast(n.i as text), k.id || cast(n.i as text), k.organization, k.principal_id, k.name, k.environment, k.secret_hash, k.scopes, k.networks, k.version_pin,
				k.expires_at, k.created_at, k.paused, k.revoked_at, k.last_used_at from api_keys k, n where k.principal_id = $1`, owner.Principal); err != nil {
			t.Fatal(err)
		}
		page := b.Get(shell.PeoplePath + "/" + owner.Principal).Want(200)
		if n := strings.Count(page.Body, `href="`+shell.KeysPath+`/`); n != 1001 {
			t.Errorf("the page shows %d keys", n)
		}
	})
}

// TestInvitationWithoutMails checks invitations on an instance that sends no emails. The form says
// so, and the link is shown once. No page says that an email was sent.
func TestInvitationWithoutMails(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d, apitest.Silent())
		b := pagetest.Open(t, o, access.Admin)
		form := b.Get(shell.PeoplePath+"/invite").Want(200, "Diese Instanz verschickt keine E-Mails", "Einladen und Link zeigen").Without("erhält einen Link")
		made := form.Send(shell.PeoplePath+"/invite", "email", "neu@kanzlei.example").Want(200, "nur jetzt zu sehen und wurde nicht versandt", "neu@kanzlei.example").Without("unterwegs")
		link := regexp.MustCompile(`data-copy="(https://kartei\.example/invitation#[^"]+)"`).FindStringSubmatch(made.Body)
		if link == nil {
			t.Fatalf("the page has no link\n%s", made.Main())
		}
		_, token, _ := strings.Cut(link[1], "#")
		list := b.Get(shell.PeoplePath).Want(200, "neu@kanzlei.example", "Neuer Link").Without(token).Without("Noch einmal senden")
		again := list.Send(shell.PeoplePath+"/invite").Want(200, "nur jetzt zu sehen").Without(token)
		b.Get("/settings/audit").Want(200, "hat jemanden eingeladen", "Link gezeigt").Without(token)
		guest := &pagetest.Browser{T: t, Handler: b.Handler}
		guest.Get("/invitation").Send("/invitation", "token", token, "name", "Neu", "password", pagetest.Password).Want(404)
		_, token, _ = strings.Cut(regexp.MustCompile(`data-copy="([^"]+)"`).FindStringSubmatch(again.Body)[1], "#")
		guest.Get("/invitation").Send("/invitation", "token", token, "name", "Neu", "password", pagetest.Password).Want(303)
		guest.Get("/").Want(200, "Neu")
		var unconfirmed bool
		if dbtest.Get(t, d, []any{&unconfirmed}, `select unconfirmed from accounts where email = 'neu@kanzlei.example'`); !unconfirmed {
			t.Error("the address counts as the person's")
		}
	})
}

// TestInvitationsOnPages checks that the list of people shows open invitations, and that an admin
// can revoke them.
func TestInvitationsOnPages(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b := pagetest.Open(t, o, access.Admin)
		form := b.Get(shell.PeoplePath+"/invite").Want(200, "Nur sie sieht ihn").Without("keine E-Mails")
		form.Send(shell.PeoplePath+"/invite", "email", "keine", "right.contacts", "read").Want(422, `value="keine"`, `value="read" selected`)
		if _, err := operator.Run(t.Context(), o.Operator, invitation.Create, invitation.New{Organization: o.ID, Email: "neu@kanzlei.example", Role: access.Viewer}); err != nil {
			t.Fatal(err)
		}
		list := b.Get(shell.PeoplePath).Want(200, "neu@kanzlei.example", "Noch einmal senden", "Zurückziehen")
		path := strings.Split(strings.Split(list.Body, `action="`+shell.PeoplePath+`/invitations/`)[1], `"`)[0]
		list.Send(shell.PeoplePath + "/invitations/" + path).Want(303)
		if got := b.Get(shell.PeoplePath+"?done=uninvited").Want(200, "Einladung zurückgezogen"); strings.Contains(got.Body, "neu@kanzlei.example") {
			t.Error("the invitation is still there")
		}
	})
}

// TestServiceAccountsOnPages checks that an admin can create, change and disable a service account.
func TestServiceAccountsOnPages(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b := pagetest.Open(t, o, access.Admin)
		form := b.Get(shell.AccountsPath+"/new").Want(200, "wie die Rolle")
		form.Send(shell.AccountsPath+"/new", "name", "").Want(422, `aria-invalid="true"`)
		made := form.Send(shell.AccountsPath+"/new", "name", "Abgleich", "role", "viewer", "right.tasks", "none").Want(303)
		path, _, _ := strings.Cut(made.Header.Get("Location"), "?")
		id := strings.TrimPrefix(path, shell.AccountsPath+"/")
		b.Get(shell.AccountsPath).Want(200, "Abgleich", "nichts: Aufgaben")
		one := b.Get(path).Want(200, `value="viewer" checked`, "/settings/interfaces/keys/new?owner="+id)
		if strings.Contains(one.Body, `name="email"`) || strings.Contains(one.Body, path+"/erase") {
			t.Error("a service account has an address, or can be erased")
		}
		one.Send(path, "name", "Nachts").Want(303)
		b.Get(path+"/leave").Want(200, "Nachts").Send(path + "/leave").Want(303)
		b.Get(path).Want(200, "Nachts", "gesperrt").Send(path + "/enable").Want(303)
		b.Get(path).Want(200, "aktiv")
		b.Get("/go/" + id).Want(303)
	})
}
