package office_test

import (
	"strings"
	"testing"
	"time"

	"kartei/access"
	"kartei/api"
	"kartei/integration/key"
	"kartei/people/settings"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
)

// TestKeysOnPages makes a key, changes it, pauses it, renews its secret and revokes it.
func TestKeysOnPages(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b := invited(t, o, "ida@kanzlei.example")
		b.get(keysPath).want(200, `href="`+keysPath+`/new"`)
		form := b.get(keysPath+"/new?env=test&scopes=contacts:read,tasks:read,tasks:write&name=Spiegel&days=90").want(200, `value="Spiegel"`)
		refused := form.send(keysPath+"/new", "here", "").want(422, "muss an IP-Adressen oder Netze gebunden sein", `value="Spiegel"`, `aria-invalid="true"`)
		made := refused.send(keysPath+"/new", "here", "192.0.2.1").want(200, "nur jetzt", "/v1/me")
		secret := secrets.FindString(made.Body)
		if again := refused.send(keysPath+"/new", "here", "192.0.2.1").want(200); secret == "" || secrets.FindString(again.Body) != secret {
			t.Errorf("the secret is %q, and that of the form sent again another one", secret)
		}
		if shown := b.get(keysPath); secrets.MatchString(shown.Body) {
			t.Error("the list shows a secret")
		}
		list := b.get(keysPath).want(200, "Spiegel", "lesen: Kontakte", "lesen und schreiben: Aufgaben", "192.0.2.1/32", "aktiv")
		path := keyPath.FindString(made.Body)
		if !strings.Contains(list.Body, path) {
			t.Errorf("the list has no link to %q", path)
		}
		one := b.get(path).want(200, "Noch keine", "Spiegel")
		if strings.Contains(one.Body, secret) {
			t.Error("the page of a key shows its secret")
		}
		one.send(path, "networks", "nirgends").want(422, `value="nirgends"`, `aria-invalid="true"`)
		one.send(path, "name", "Abgleich", "days", "7").want(303)
		b.get(path).want(200, "Abgleich", "192.0.2.1/32")

		// Access is taken away without a recent sign-in, and given only with one.
		o.Clock.Advance(access.SignInFresh + time.Minute)
		b.get(path).send(path + "/pause").want(303)
		b.get(path).want(200, "pausiert").send(path+"/rotate").want(403, "bestätigen")
		for _, change := range []struct {
			name, value string
			status      int
		}{
			{"name", "Spiegel 2", 303},
			{"networks", "", 422},
			{"networks", "192.0.2.0/24", 403},
			{"networks", "192.0.2.1, 192.0.2.2", 403},
			{"days", "90", 403},
		} {
			if got := b.get(path).send(path, change.name, change.value); got.Status != change.status {
				t.Errorf("%s %q: %d, want %d", change.name, change.value, got.Status, change.status)
			}
		}
		b.get(path).want(200, "pausiert").send(path+"/resume").want(403, "bestätigen").send("/confirm", "password", password).want(303)
		b.get(path).want(200, "aktiv")
		o.Clock.Advance(access.SignInFresh + time.Minute)
		b.get(path+"/revoke").want(200, "nicht zurücknehmen").send(path + "/revoke").want(303)
		b.get(path).want(200, "widerrufen")
		b.get(keysPath+"/new").send(keysPath+"/new").want(403, "bestätigen")
	})
}

// TestNetworksOfNewKey offers the networks of the browser. They are ticked if a link asks
// for a key that writes. A browser of this machine gets a key that both families may use:
// the call that the page suggests may come by the other one.
func TestNetworksOfNewKey(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b := open(t, o, access.Member)
		from := &place{Handler: b.handler}
		b.handler = from
		for _, c := range []struct{ from, link, networks, key string }{
			{"192.0.2.1", "?may=write", "192.0.2.1", "192.0.2.1/32"},
			{"127.0.0.1", "?env=test&may=write&name=Guide", "127.0.0.0/8, ::1/128", "127.0.0.0/8, ::1/128"},
			{"[::1]", "?env=test&may=write&name=Guide", "127.0.0.0/8, ::1/128", "127.0.0.0/8, ::1/128"},
			{"[::ffff:127.0.0.1]", "?scopes=contacts:write", "127.0.0.0/8, ::1/128", "127.0.0.0/8, ::1/128"},
			{"[::1]", "?may=read", "", "von überall"},
			{"[::1]", "", "", "von überall"},
			{"[::1]", "?may=write&networks=198.51.100.7", "", "198.51.100.7/32"},
		} {
			from.from = c.from
			form := b.get(keysPath + "/new" + c.link).want(200)
			if got := form.fields(keysPath + "/new").Get("here"); got != c.networks {
				t.Errorf("from %s the link %q ticks %q, want %q", c.from, c.link, got, c.networks)
			}
			made := form.send(keysPath + "/new").want(200)
			b.get(keyPath.FindString(made.Body)).want(200, c.key)
		}
	})
}

// TestOtherPeoplesKeys opens the key of a member as another one, and as an admin.
func TestOtherPeoplesKeys(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b, admin, other := open(t, o, access.Member), open(t, o, access.Admin), open(t, o, access.Viewer)
		made := b.get(keysPath + "/new?name=Meiner").send(keysPath + "/new").want(200)
		path := keyPath.FindString(made.Body)
		admin.get(keysPath).want(200, "Meiner")
		admin.get(path).want(200, "Gehört")
		if got := other.get(keysPath).want(200); strings.Contains(got.Body, "Meiner") {
			t.Error("a key is in the list of somebody else")
		}
		for _, of := range []string{"", "/revoke", "/first?since=2026-01-01T00:00:00Z"} {
			other.get(path + of).want(404)
		}
		token := other.get(keysPath + "/new").fields(keysPath + "/new")
		for _, act := range []string{"", "/pause", "/resume", "/rotate", "/revoke"} {
			token.Set("name", "Deiner")
			other.do("POST", path+act, token).want(404)
		}
		b.get(path).want(200, "Meiner", "aktiv")
		// A viewer has keys that read, and no others.
		other.get(keysPath + "/new?may=write").send(keysPath + "/new").want(200)
		if got := other.get(keysPath).want(200); strings.Contains(got.Body, "schreiben:") {
			t.Error("a viewer has made a key that writes")
		}
	})
}

// TestRefusedCalls shows a developer why calls with the own key were refused, and leads
// to the cure.
func TestRefusedCalls(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b := open(t, o, access.Member)
		made := b.get(keysPath + "/new?networks=198.51.100.7").send(keysPath + "/new").want(200)
		path := keyPath.FindString(made.Body)
		(&apitest.Client{Office: o, Key: secrets.FindString(made.Body)}).Do("GET", "/me", nil).Want(401)
		b.get(path).want(200, "401", "gehört zu keinem Netz", path+"?allow=192.0.2.1#change")
		b.get(path+"?allow=192.0.2.1").want(200, `value="198.51.100.7/32, 192.0.2.1"`).send(path).want(303)
		b.get(path).want(200, "192.0.2.1/32")
	})
}

// TestRevokedEndpoints revokes keys that created webhook endpoints: those stay, or are
// disabled with the key, as the person says.
func TestRevokedEndpoints(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b := open(t, o, access.Member)
		for set, want := range map[string]string{"": "active", "true": "disabled"} {
			made := b.get(keysPath + "/new?may=write&networks=192.0.2.1").send(keysPath + "/new").want(200)
			path := keyPath.FindString(made.Body)
			program := &apitest.Client{Office: o, Key: secrets.FindString(made.Body)}
			endpoint := program.Do("POST", "/webhook_endpoints", map[string]any{"name": "Buchhaltung", "url": "https://example.com/hook", "eventTypes": []string{"contact.created"}}).Want(201).Text("id")
			b.get(path+"/revoke").want(200, "Buchhaltung", "Auch die Endpunkte abschalten").send(path+"/revoke", "disable", set).want(303)
			program.Do("GET", "/me", nil).Want(401)
			var status string
			if dbtest.Get(t, d, []any{&status}, `select status from webhook_endpoints where id = $1`, endpoint); status != want {
				t.Errorf("disable=%q leaves the endpoint %s, want %s", set, status, want)
			}
		}
		alone := keyPath.FindString(b.get(keysPath + "/new").send(keysPath + "/new").want(200).Body)
		if got := b.get(alone + "/revoke").want(200); strings.Contains(got.Body, `name="disable"`) {
			t.Error("a key without endpoints asks about them")
		}
	})
}

// TestKeyForm refuses a choice for single parts that the form would ignore, and says what
// a key will be, and what of a link it leaves out.
func TestKeyForm(t *testing.T) {
	o := apitest.New(t, dbtest.SQLite(t), apitest.Metered())
	b := open(t, o, access.Member)
	b.get("/sandbox/contacts/new").send("/sandbox/contacts/new", "lastName", "Probe").want(303)
	form := b.get(keysPath+"/new").want(200, "Punkte je Minute: 300", "Schreibende Aufrufe je Minute: 60", "Sandbox (1 Kontakt)")
	if strings.Contains(form.Body, "Weggelassen") {
		t.Error("the form leaves something out of no link")
	}
	// A link with what the form does not offer leads to the form as it is without one,
	// and says what of the link it leaves out.
	linked := b.get(keysPath+"/new?env=staging&days=-5&version=1999-01-01&may=all&scopes=contacts:admin").
		want(200, "Weggelassen: Umgebung: staging · Wie lange: -5 · Version: 1999-01-01 · contacts:admin")
	odd := linked.fields(keysPath + "/new")
	if strings.Contains(linked.Body, "höchstens, was sein Inhaber darf") {
		t.Error("an odd link is said to name rights that the person lacks")
	}
	open(t, o, access.Viewer).get(keysPath+"/new?scopes=contacts:read,contacts:write,tasks:write").
		want(200, "Weggelassen: schreiben: Kontakte, Aufgaben", "höchstens, was sein Inhaber darf")
	if got := odd.Get("environment") + " " + odd.Get("days") + " " + odd.Get("may.contacts"); got != "test 30 " {
		t.Errorf("an odd link chooses %q", got)
	}
	form.send(keysPath+"/new", "may.tasks", "read").want(422, "Darunter sind einzelne Rechte ausgewählt")
	form.send(keysPath+"/new", "may", "own", "may.tasks", "read").want(200, "nur jetzt")
	form.send(keysPath+"/new", "may", "own").want(422)
	form.send(keysPath+"/new", "environment", "staging").want(422)
	form.send(keysPath+"/new", "days", "9999").want(422)
	form.send(keysPath+"/new", "version", "1999-01-01").want(422)
}

// TestKeyOfServiceAccount creates the key of a service account: an admin by a link or the
// form, within the rights of the account, and nobody else.
func TestKeyOfServiceAccount(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		admin, member := open(t, o, access.Admin), open(t, o, access.Member)
		account, err := o.Operator.CreateServiceAccount(t.Context(), settings.NewPrincipal{Organization: o.ID, Name: "Abgleich", Role: access.Member, Rights: access.Rights{"contacts": access.ReadRight, "tasks": access.NoRight}})
		if err != nil {
			t.Fatal(err)
		}
		form := keysPath + "/new?owner=" + account.ID
		admin.get(keysPath+"/new").want(200, "Der Schlüssel gehört Ihnen", `href="`+form+`"`)
		shown := admin.get(form).want(200, "Abgleich", "lieber mir")
		made := shown.send(keysPath+"/new", "owner", account.ID, "name", "Nachts").want(200, "nur jetzt")
		admin.get(keyPath.FindString(made.Body)).want(200, "Abgleich", "Nachts")
		program := &apitest.Client{Office: o, Key: secrets.FindString(made.Body)}
		program.Do("GET", "/contacts", nil).Want(200)
		program.Do("GET", "/tasks", nil).Want(403)

		// Nobody gets the secret of another person's key, an admin neither.
		clerk := o.User(access.Member)
		if got := admin.get(keysPath + "/new?owner=" + clerk); got.Status != 404 {
			t.Errorf("an admin opens the form of a person's key: %d", got.Status)
		}
		if got := shown.send(keysPath+"/new", "owner", clerk); got.Status != 404 {
			t.Errorf("an admin creates the key of a person: %d", got.Status)
		}
		theirs, err := o.Operator.CreateKey(t.Context(), key.New{Organization: o.ID, Principal: clerk, Environment: access.Test, Scopes: []string{"contacts:read"}})
		if err != nil {
			t.Fatal(err)
		}
		page := admin.get(keysPath+"/"+theirs.ID).want(200, "vom Betreiber der Instanz", "Pausieren", "Widerrufen")
		if strings.Contains(page.Body, theirs.ID+"/rotate") {
			t.Error("an admin is offered a new secret of a person's key")
		}
		page.send(keysPath + "/" + theirs.ID + "/pause").want(303)

		if got := member.get(form); got.Status != 404 {
			t.Errorf("a member opens the form of a service account: %d", got.Status)
		}
		if page := member.get(keysPath + "/new").want(200); strings.Contains(page.Body, "Abgleich") {
			t.Error("a member is told of service accounts")
		} else if got := page.send(keysPath+"/new", "owner", account.ID); got.Status != 404 {
			t.Errorf("a member creates the key of a service account: %d", got.Status)
		}
	})
}

// TestVersionByHeader shows a version that calls ask for beside the key's version, and when
// it ends.
func TestVersionByHeader(t *testing.T) {
	o := apitest.New(t, dbtest.SQLite(t), apitest.Versions(api.VersionsIn("rc")...))
	b := open(t, o, access.Member)
	made := b.get(keysPath + "/new").send(keysPath + "/new").want(200)
	program := &apitest.Client{Office: o, Key: secrets.FindString(made.Body)}
	page := keyPath.FindString(made.Body)
	program.Do("GET", "/me", nil).Want(200)
	if shown := b.get(page).want(200); strings.Contains(shown.Body, "auch mit Svc-Version") {
		t.Error("the page tells of a version that no call asked for")
	}
	program.Do("GET", "/me", nil, "Svc-Version", "2027-02-01").Want(200)
	b.get(page).want(200, "Zuletzt auch mit Svc-Version: 2027-02-01")
}
