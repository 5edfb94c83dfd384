package office_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"kartei/access"
	"kartei/people/settings"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/test/operator"
	"kartei/test/waittest"
)

const ()

// TestPeopleOnPages changes the role and rights of a person, and takes access away and
// gives it back.
func TestPeopleOnPages(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b, member := open(t, o, access.Admin), open(t, o, access.Member)
		ida, err := o.Operator.CreateUser(t.Context(), settings.NewPrincipal{Organization: o.ID, Name: "Ida Abend", Email: "ida@kanzlei.example"})
		if err != nil {
			t.Fatal(err)
		}
		path := peoplePath + "/" + ida.ID
		b.get(peoplePath).want(200, "Ida Abend", "ida@kanzlei.example", "Mitarbeit", "noch nicht angemeldet", "ohne zweiten Faktor", `href="`+path+`"`)
		b.get("/go/" + ida.ID).want(303)
		former := b.get(path)
		one := b.get(path).want(200, "Zweiter Faktor", `value="Ida Abend"`)
		one.send(path, "name", "", "email", "ida").want(422, `aria-invalid="true"`)
		one.send(path, "name", "Ida Morgen", "role", "viewer", "right.contacts", "none").want(303)
		b.get(path).want(200, "Ida Morgen", `value="viewer" checked`, `value="none" selected`)
		b.get(peoplePath).want(200, "Nur lesen", "nichts: Kontakte")
		// A form of before changes what was changed in it, and nothing else.
		former.send(path, "right.tasks", "read").want(303)
		b.get(peoplePath).want(200, "Ida Morgen", "nichts: Kontakte", "nur lesen: Aufgaben")
		b.get(path).send(path).want(303)

		b.get(path+"/leave").want(200, "nur sperren").send(path + "/leave").want(303)
		b.get(path).want(200, "gesperrt").send(path + "/enable").want(303)
		b.get(path).want(200, "noch nicht angemeldet")

		o.Clock.Advance(access.SignInFresh + time.Minute)
		b.get(path).send(path, "name", "Ida Nacht").want(403, "bestätigen")

		for _, at := range []string{peoplePath + "/invite", path, path + "/leave", path + "/erase", accountsPath, accountsPath + "/new"} {
			if got := member.get(at); got.Status != 403 && got.Status != 404 {
				t.Errorf("a member opens %s: %d", at, got.Status)
			}
		}
		if got := member.get("/go/" + ida.ID); strings.HasPrefix(got.Header.Get("Location"), peoplePath) {
			t.Error("a member is led to a page of admins")
		}
	})
}

// Members see who belongs to the office: the names, and nothing else.
func TestColleagues(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		member := open(t, o, access.Member)
		for _, name := range []string{"Ida Abend", "Uwe Zander"} {
			first, _, _ := strings.Cut(name, " ")
			u, err := o.Operator.CreateUser(t.Context(), settings.NewPrincipal{Organization: o.ID, Name: name, Email: first + "@kanzlei.example"})
			if err == nil && first == "Uwe" {
				_, err = o.Operator.SetUser(t.Context(), settings.PrincipalChange{ID: u.ID, Disabled: new(true)})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if _, err := o.Operator.CreateServiceAccount(t.Context(), settings.NewPrincipal{Organization: o.ID, Name: "Telefonanlage"}); err != nil {
			t.Fatal(err)
		}
		member.get("/settings").want(200, `href="`+peoplePath+`"`, "Wer zum Büro gehört")
		got := member.get(peoplePath).want(200, "Ida Abend", "Das sind Sie.", "Telefonanlage", "Dienstkonto")
		for _, hidden := range []string{"@kanzlei.example", "Uwe Zander", "usr_", "svc_", "/invite"} {
			if strings.Contains(got.main(), hidden) {
				t.Errorf("a member sees %q", hidden)
			}
		}
		if got := member.get(peoplePath+"?q=aben").want(200, "<mark>Aben</mark>d"); strings.Contains(got.Body, "Telefonanlage") {
			t.Error("a search for a name finds others")
		}
		member.get(peoplePath+"?q=niemand").want(200, "Niemand heißt so")
		member.get(peoplePath + "?q=" + strings.Repeat("x", 201)).want(422)
	})
}

// TestOwnAccountOnPages keeps admins from locking themselves out.
func TestOwnAccountOnPages(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		admin := o.As(access.Admin)
		b := openAt(t, o, "https://kartei.example")
		b.cookie = o.Session(admin.Principal)
		path := peoplePath + "/" + admin.Principal
		own := b.get(path).want(200)
		for _, act := range []string{"/leave", "/erase", "/factors"} {
			if strings.Contains(own.Body, path+act) {
				t.Errorf("the own page has %s", act)
			}
		}
		b.get(path+"/leave").want(403, "Ihr eigenes Konto")
		b.get(path+"/erase").want(403, "Ihr eigenes Konto")
		form := own.fields(path)
		form.Set("to", "")
		b.do("POST", path+"/leave", form).want(403, "Ihr eigenes Konto")
		form.Set("name", "x")
		b.do("POST", path+"/erase", form).want(403, "Ihr eigenes Konto")
		if o.User(access.Admin); b.get(peoplePath).Status != 200 {
			t.Error("the admin is locked out")
		}
	})
}

// TestLastAdminOnPages keeps the role of the last admin, and says why.
func TestLastAdminOnPages(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b := open(t, o, access.Admin)
		page, err := o.Operator.ListUsers(t.Context(), access.Page{Organization: o.ID})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range page.Data {
			if p.Role != access.Admin {
				continue
			}
			path := peoplePath + "/" + p.ID
			if got := b.get(path).send(path, "role", "member"); got.Status == 403 {
				got.want(403, "Nicht geändert", `value="admin"`)
				return
			}
		}
		t.Error("the last admin lost the role")
	})
}

// TestLeaveOnPages disables a person and hands over in one act, and then erases.
func TestLeaveOnPages(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b, leaver, heir := open(t, o, access.Admin), o.As(access.Member), o.As(access.Member)
		path := peoplePath + "/" + leaver.Principal
		leaver.Do("POST", "/contacts", map[string]any{"lastName": "Geheim", "visibility": "private"}).Want(201)
		leaver.Do("POST", "/webhook_endpoints", map[string]any{"name": "Spiegel", "url": "https://example.com/hook", "eventTypes": []string{"contact.created"}}).Want(201)
		form := b.get(path+"/leave").want(200, "API-Schlüssel", `value="`+heir.Principal+`"`, `name="private"`, "Spiegel", "Ein privater Eintrag", "Nirgends angemeldet")
		if strings.Contains(form.Body, `<option value="`+leaver.Principal) {
			t.Error("who leaves can take over")
		}
		form.send(path+"/leave", "to", leaver.Principal).want(422, `aria-invalid="true"`)
		leaver.Do("GET", "/me", nil).Want(200) // refused as a whole
		form = b.get(path + "/leave")
		form.send(path+"/leave", "to", heir.Principal, "private", "true").want(303)
		b.get(path).want(200, "gesperrt", "Übergaben")
		leaver.Do("GET", "/me", nil).Want(401)
		erase := b.get(path+"/erase").want(200, "nicht zurücknehmen")
		erase.send(path+"/erase", "name", "falsch").want(422, "Bitte geben Sie den Namen ein")
		info, err := o.Operator.GetPrincipal(t.Context(), access.ByID{ID: leaver.Principal})
		if err != nil {
			t.Fatal(err)
		}
		for w := waittest.New(); !strings.Contains(b.get(path).Body, "fertig"); {
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
		b.get(path).want(200, "läuft", "Neu laden")
		erase.send(path+"/erase", "name", info.Name).want(403, "Nicht gelöscht", "läuft noch")
		finished(1)
		b.get(path+"/erase").send(path+"/erase", "name", info.Name).want(303)
		b.get(path).want(200, "Gelöschte Person")
	})
}

// TestManyKeysOnPages shows all keys of a person, beyond a page of the row.
func TestManyKeysOnPages(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b, owner := open(t, o, access.Admin), o.As(access.Member)
		if err := dbtest.Exec(d, `with recursive n (i) as (select 1 union all select i + 1 from n where i < 1000)
			insert into api_keys (kid, id, organization, principal_id, name, environment, secret_hash, scopes, networks, version_pin, expires_at, created_at, paused, revoked_at, last_used_at)
			select k.kid || cast(n.i as text), k.id || cast(n.i as text), k.organization, k.principal_id, k.name, k.environment, k.secret_hash, k.scopes, k.networks, k.version_pin,
				k.expires_at, k.created_at, k.paused, k.revoked_at, k.last_used_at from api_keys k, n where k.principal_id = $1`, owner.Principal); err != nil {
			t.Fatal(err)
		}
		page := b.get(peoplePath + "/" + owner.Principal).want(200)
		if n := strings.Count(page.Body, `href="`+keysPath+`/`); n != 1001 {
			t.Errorf("the page shows %d keys", n)
		}
	})
}

// TestInvitationWithoutMails invites on an instance that sends no emails. The page says so
// before, shows the link once, and never that it was sent.
func TestInvitationWithoutMails(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d, apitest.Silent())
		b := open(t, o, access.Admin)
		form := b.get(peoplePath+"/invite").want(200, "Diese Instanz verschickt keine E-Mails", "Einladen und Link zeigen").without("erhält einen Link")
		made := form.send(peoplePath+"/invite", "email", "neu@kanzlei.example").want(200, "nur jetzt zu sehen und wurde nicht versandt", "neu@kanzlei.example").without("unterwegs")
		link := regexp.MustCompile(`data-copy="(https://kartei\.example/invitation#[^"]+)"`).FindStringSubmatch(made.Body)
		if link == nil {
			t.Fatalf("the page has no link\n%s", made.main())
		}
		_, token, _ := strings.Cut(link[1], "#")
		list := b.get(peoplePath).want(200, "neu@kanzlei.example", "Neuer Link").without(token).without("Noch einmal senden")
		again := list.send(peoplePath+"/invite").want(200, "nur jetzt zu sehen").without(token)
		b.get("/settings/audit").want(200, "hat jemanden eingeladen", "Link gezeigt").without(token)
		guest := &browser{t: t, handler: b.handler}
		guest.get("/invitation").send("/invitation", "token", token, "name", "Neu", "password", password).want(404)
		_, token, _ = strings.Cut(regexp.MustCompile(`data-copy="([^"]+)"`).FindStringSubmatch(again.Body)[1], "#")
		guest.get("/invitation").send("/invitation", "token", token, "name", "Neu", "password", password).want(303)
		guest.get("/").want(200, "Neu")
		var unconfirmed bool
		if dbtest.Get(t, d, []any{&unconfirmed}, `select unconfirmed from accounts where email = 'neu@kanzlei.example'`); !unconfirmed {
			t.Error("the address counts as the person's")
		}
	})
}

// TestInvitationsOnPages shows and revokes open invitations.
func TestInvitationsOnPages(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b := open(t, o, access.Admin)
		form := b.get(peoplePath+"/invite").want(200, "Nur sie sieht ihn").without("keine E-Mails")
		form.send(peoplePath+"/invite", "email", "keine", "right.contacts", "read").want(422, `value="keine"`, `value="read" selected`)
		if _, err := operator.Run(t.Context(), o.Operator, settings.Invite, settings.NewInvitation{Organization: o.ID, Email: "neu@kanzlei.example", Role: access.Viewer}); err != nil {
			t.Fatal(err)
		}
		list := b.get(peoplePath).want(200, "neu@kanzlei.example", "Noch einmal senden", "Zurückziehen")
		path := strings.Split(strings.Split(list.Body, `action="`+peoplePath+`/invitations/`)[1], `"`)[0]
		list.send(peoplePath + "/invitations/" + path).want(303)
		if got := b.get(peoplePath+"?done=uninvited").want(200, "Einladung zurückgezogen"); strings.Contains(got.Body, "neu@kanzlei.example") {
			t.Error("the invitation is still there")
		}
	})
}

// TestServiceAccountsOnPages creates a service account, changes and disables it.
func TestServiceAccountsOnPages(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b := open(t, o, access.Admin)
		form := b.get(accountsPath+"/new").want(200, "wie die Rolle")
		form.send(accountsPath+"/new", "name", "").want(422, `aria-invalid="true"`)
		made := form.send(accountsPath+"/new", "name", "Abgleich", "role", "viewer", "right.tasks", "none").want(303)
		path, _, _ := strings.Cut(made.Header.Get("Location"), "?")
		id := strings.TrimPrefix(path, accountsPath+"/")
		b.get(accountsPath).want(200, "Abgleich", "nichts: Aufgaben")
		one := b.get(path).want(200, `value="viewer" checked`, "/settings/interfaces/keys/new?owner="+id)
		if strings.Contains(one.Body, `name="email"`) || strings.Contains(one.Body, path+"/erase") {
			t.Error("a service account has an address, or can be erased")
		}
		one.send(path, "name", "Nachts").want(303)
		b.get(path+"/leave").want(200, "Nachts").send(path + "/leave").want(303)
		b.get(path).want(200, "Nachts", "gesperrt").send(path + "/enable").want(303)
		b.get(path).want(200, "aktiv")
		b.get("/go/" + id).want(303)
	})
}
