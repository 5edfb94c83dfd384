package keys_test

import (
	"strings"
	"testing"
	"time"

	"kartei/access"
	"kartei/api/release"
	"kartei/integration/key"
	"kartei/people/principal"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/test/pagetest"
	"kartei/web/shell"
)

// TestKeysOnPages checks that a person can create, change, pause, rotate and revoke a key.
func TestKeysOnPages(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b := pagetest.Invited(t, o, "ida@kanzlei.example")
		b.Get(shell.KeysPath).Want(200, `href="`+shell.KeysPath+`/new"`)
		form := b.Get(shell.KeysPath+"/new?env=test&scopes=contacts:read,tasks:read,tasks:write&name=Spiegel&days=90").Want(200, `value="Spiegel"`)
		refused := form.Send(shell.KeysPath+"/new", "here", "").Want(422, "muss an IP-Adressen oder Netze gebunden sein", `value="Spiegel"`, `aria-invalid="true"`)
		made := refused.Send(shell.KeysPath+"/new", "here", "192.0.2.1").Want(200, "nur jetzt", "/v1/me")
		secret := pagetest.Secrets.FindString(made.Body)
		if again := refused.Send(shell.KeysPath+"/new", "here", "192.0.2.1").Want(200); secret == "" || pagetest.Secrets.FindString(again.Body) != secret {
			t.Errorf("the secret is %q, and that of the form sent again another one", secret)
		}
		if shown := b.Get(shell.KeysPath); pagetest.Secrets.MatchString(shown.Body) {
			t.Error("the list shows a secret")
		}
		list := b.Get(shell.KeysPath).Want(200, "Spiegel", "lesen: Kontakte", "lesen und schreiben: Aufgaben", "192.0.2.1/32", "aktiv")
		path := pagetest.KeyPath.FindString(made.Body)
		if !strings.Contains(list.Body, path) {
			t.Errorf("the list has no link to %q", path)
		}
		one := b.Get(path).Want(200, "Noch keine", "Spiegel")
		if strings.Contains(one.Body, secret) {
			t.Error("the page of a key shows its secret")
		}
		one.Send(path, "networks", "nirgends").Want(422, `value="nirgends"`, `aria-invalid="true"`)
		one.Send(path, "name", "Abgleich", "days", "7").Want(303)
		b.Get(path).Want(200, "Abgleich", "192.0.2.1/32")

		// Pausing or restricting a key needs no recent sign-in. Extending its access needs one.
		o.Clock.Advance(access.SignInFresh + time.Minute)
		b.Get(path).Send(path + "/pause").Want(303)
		b.Get(path).Want(200, "pausiert").Send(path+"/rotate").Want(403, "bestätigen")
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
			if got := b.Get(path).Send(path, change.name, change.value); got.Status != change.status {
				t.Errorf("%s %q: %d, want %d", change.name, change.value, got.Status, change.status)
			}
		}
		b.Get(path).Want(200, "pausiert").Send(path+"/resume").Want(403, "bestätigen").Send("/confirm", "password", pagetest.Password).Want(303)
		b.Get(path).Want(200, "aktiv")
		o.Clock.Advance(access.SignInFresh + time.Minute)
		b.Get(path+"/revoke").Want(200, "nicht zurücknehmen").Send(path + "/revoke").Want(303)
		b.Get(path).Want(200, "widerrufen")
		b.Get(shell.KeysPath+"/new").Send(shell.KeysPath+"/new").Want(403, "bestätigen")
	})
}

// TestNetworksOfNewKey checks that the form proposes the networks of the browser, and selects them
// if a link asks for a key that writes. For a browser on the same machine, it proposes the loopback
// networks of IPv4 and IPv6. The suggested call may use the other one.
func TestNetworksOfNewKey(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b := pagetest.Open(t, o, access.Member)
		from := &pagetest.Place{Handler: b.Handler}
		b.Handler = from
		for _, c := range []struct{ from, link, networks, key string }{
			{"192.0.2.1", "?may=write", "192.0.2.1", "192.0.2.1/32"},
			{"127.0.0.1", "?env=test&may=write&name=Guide", "127.0.0.0/8, ::1/128", "127.0.0.0/8, ::1/128"},
			{"[::1]", "?env=test&may=write&name=Guide", "127.0.0.0/8, ::1/128", "127.0.0.0/8, ::1/128"},
			{"[::ffff:127.0.0.1]", "?scopes=contacts:write", "127.0.0.0/8, ::1/128", "127.0.0.0/8, ::1/128"},
			{"[::1]", "?may=read", "", "von überall"},
			{"[::1]", "", "", "von überall"},
			{"[::1]", "?may=write&networks=198.51.100.7", "", "198.51.100.7/32"},
		} {
			from.From = c.from
			form := b.Get(shell.KeysPath + "/new" + c.link).Want(200)
			if got := form.Fields(shell.KeysPath + "/new").Get("here"); got != c.networks {
				t.Errorf("from %s the link %q ticks %q, want %q", c.from, c.link, got, c.networks)
			}
			made := form.Send(shell.KeysPath + "/new").Want(200)
			b.Get(pagetest.KeyPath.FindString(made.Body)).Want(200, c.key)
		}
	})
}

// TestOtherPeoplesKeys checks that other people cannot reach the key of a member. An admin sees the
// key, but cannot change it.
func TestOtherPeoplesKeys(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b, admin, other := pagetest.Open(t, o, access.Member), pagetest.Open(t, o, access.Admin), pagetest.Open(t, o, access.Viewer)
		made := b.Get(shell.KeysPath + "/new?name=Meiner").Send(shell.KeysPath + "/new").Want(200)
		path := pagetest.KeyPath.FindString(made.Body)
		admin.Get(shell.KeysPath).Want(200, "Meiner")
		admin.Get(path).Want(200, "Gehört")
		if got := other.Get(shell.KeysPath).Want(200); strings.Contains(got.Body, "Meiner") {
			t.Error("a key is in the list of somebody else")
		}
		for _, of := range []string{"", "/revoke", "/first?since=2026-01-01T00:00:00Z"} {
			other.Get(path + of).Want(404)
		}
		token := other.Get(shell.KeysPath + "/new").Fields(shell.KeysPath + "/new")
		for _, act := range []string{"", "/pause", "/resume", "/rotate", "/revoke"} {
			token.Set("name", "Deiner")
			other.Do("POST", path+act, token).Want(404)
		}
		b.Get(path).Want(200, "Meiner", "aktiv")
		// A viewer can create keys that read, and no keys that write.
		other.Get(shell.KeysPath + "/new?may=write").Send(shell.KeysPath + "/new").Want(200)
		if got := other.Get(shell.KeysPath).Want(200); strings.Contains(got.Body, "schreiben:") {
			t.Error("a viewer has made a key that writes")
		}
	})
}

// TestRefusedCalls checks that the page of a key shows why calls were refused, with a link to the
// change that helps.
func TestRefusedCalls(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b := pagetest.Open(t, o, access.Member)
		made := b.Get(shell.KeysPath + "/new?networks=198.51.100.7").Send(shell.KeysPath + "/new").Want(200)
		path := pagetest.KeyPath.FindString(made.Body)
		(&apitest.Client{Office: o, Key: pagetest.Secrets.FindString(made.Body)}).Do("GET", "/me", nil).Want(401)
		b.Get(path).Want(200, "401", "gehört zu keinem Netz", path+"?allow=192.0.2.1#change")
		b.Get(path+"?allow=192.0.2.1").Want(200, `value="198.51.100.7/32, 192.0.2.1"`).Send(path).Want(303)
		b.Get(path).Want(200, "192.0.2.1/32")
	})
}

// TestRevokedEndpoints revokes keys that created webhook endpoints. It checks that the endpoints
// stay active, or are disabled if the person chooses that.
func TestRevokedEndpoints(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b := pagetest.Open(t, o, access.Member)
		for set, want := range map[string]string{"": "active", "true": "disabled"} {
			made := b.Get(shell.KeysPath + "/new?may=write&networks=192.0.2.1").Send(shell.KeysPath + "/new").Want(200)
			path := pagetest.KeyPath.FindString(made.Body)
			program := &apitest.Client{Office: o, Key: pagetest.Secrets.FindString(made.Body)}
			endpoint := program.Do("POST", "/webhook_endpoints", map[string]any{"name": "Buchhaltung", "url": "https://example.com/hook", "eventTypes": []string{"contact.created"}}).Want(201).Text("id")
			b.Get(path+"/revoke").Want(200, "Buchhaltung", "Auch die Endpunkte abschalten").Send(path+"/revoke", "disable", set).Want(303)
			program.Do("GET", "/me", nil).Want(401)
			var status string
			if dbtest.Get(t, d, []any{&status}, `select status from webhook_endpoints where id = $1`, endpoint); status != want {
				t.Errorf("disable=%q leaves the endpoint %s, want %s", set, status, want)
			}
		}
		alone := pagetest.KeyPath.FindString(b.Get(shell.KeysPath + "/new").Send(shell.KeysPath + "/new").Want(200).Body)
		if got := b.Get(alone + "/revoke").Want(200); strings.Contains(got.Body, `name="disable"`) {
			t.Error("a key without endpoints asks about them")
		}
	})
}

// TestKeyForm checks that the form refuses single rights that it would otherwise ignore. It also
// checks the summary of the new key, and the notice about values of a link that the form does not
// offer.
func TestKeyForm(t *testing.T) {
	o := apitest.New(t, dbtest.SQLite(t), apitest.Metered())
	b := pagetest.Open(t, o, access.Member)
	b.Get("/sandbox/contacts/new").Send("/sandbox/contacts/new", "lastName", "Probe").Want(303)
	form := b.Get(shell.KeysPath+"/new").Want(200, "Punkte je Minute: 300", "Schreibende Aufrufe je Minute: 60", "Sandbox (1 Kontakt)")
	if strings.Contains(form.Body, "Weggelassen") {
		t.Error("the form leaves something out of no link")
	}
	// If a link has values that the form does not offer, the form ignores them and says so.
	linked := b.Get(shell.KeysPath+"/new?env=staging&days=-5&version=1999-01-01&may=all&scopes=contacts:admin").
		Want(200, "Weggelassen: Umgebung: staging · Wie lange: -5 · Version: 1999-01-01 · contacts:admin")
	odd := linked.Fields(shell.KeysPath + "/new")
	if strings.Contains(linked.Body, "höchstens, was sein Inhaber darf") {
		t.Error("an odd link is said to name rights that the person lacks")
	}
	pagetest.Open(t, o, access.Viewer).Get(shell.KeysPath+"/new?scopes=contacts:read,contacts:write,tasks:write").
		Want(200, "Weggelassen: schreiben: Kontakte, Aufgaben", "höchstens, was sein Inhaber darf")
	if got := odd.Get("environment") + " " + odd.Get("days") + " " + odd.Get("may.contacts"); got != "test 30 " {
		t.Errorf("an odd link chooses %q", got)
	}
	form.Send(shell.KeysPath+"/new", "may.tasks", "read").Want(422, "Darunter sind einzelne Rechte ausgewählt")
	form.Send(shell.KeysPath+"/new", "may", "own", "may.tasks", "read").Want(200, "nur jetzt")
	form.Send(shell.KeysPath+"/new", "may", "own").Want(422)
	form.Send(shell.KeysPath+"/new", "environment", "staging").Want(422)
	form.Send(shell.KeysPath+"/new", "days", "9999").Want(422)
	form.Send(shell.KeysPath+"/new", "version", "1999-01-01").Want(422)
}

// TestKeyOfServiceAccount checks that an admin, and nobody else, can create a key for a service
// account. The key has at most the rights of the account.
func TestKeyOfServiceAccount(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		admin, member := pagetest.Open(t, o, access.Admin), pagetest.Open(t, o, access.Member)
		account, err := o.Operator.CreateServiceAccount(t.Context(), principal.New{Organization: o.ID, Name: "Abgleich", Role: access.Member, Rights: access.Rights{"contacts": access.ReadRight, "tasks": access.NoRight}})
		if err != nil {
			t.Fatal(err)
		}
		form := shell.KeysPath + "/new?owner=" + account.ID
		admin.Get(shell.KeysPath+"/new").Want(200, "Der Schlüssel gehört Ihnen", `href="`+form+`"`)
		shown := admin.Get(form).Want(200, "Abgleich", "lieber mir")
		made := shown.Send(shell.KeysPath+"/new", "owner", account.ID, "name", "Nachts").Want(200, "nur jetzt")
		admin.Get(pagetest.KeyPath.FindString(made.Body)).Want(200, "Abgleich", "Nachts")
		program := &apitest.Client{Office: o, Key: pagetest.Secrets.FindString(made.Body)}
		program.Do("GET", "/contacts", nil).Want(200)
		program.Do("GET", "/tasks", nil).Want(403)

		// No person, not even an admin, gets the secret of another person's key.
		clerk := o.User(access.Member)
		if got := admin.Get(shell.KeysPath + "/new?owner=" + clerk); got.Status != 404 {
			t.Errorf("an admin opens the form of a person's key: %d", got.Status)
		}
		if got := shown.Send(shell.KeysPath+"/new", "owner", clerk); got.Status != 404 {
			t.Errorf("an admin creates the key of a person: %d", got.Status)
		}
		theirs, err := o.Operator.CreateKey(t.Context(), key.New{Organization: o.ID, Principal: clerk, Environment: access.Test, Scopes: []string{"contacts:read"}})
		if err != nil {
			t.Fatal(err)
		}
		page := admin.Get(shell.KeysPath+"/"+theirs.ID).Want(200, "vom Betreiber der Instanz", "Pausieren", "Widerrufen")
		if strings.Contains(page.Body, theirs.ID+"/rotate") {
			t.Error("an admin is offered a new secret of a person's key")
		}
		page.Send(shell.KeysPath + "/" + theirs.ID + "/pause").Want(303)

		if got := member.Get(form); got.Status != 404 {
			t.Errorf("a member opens the form of a service account: %d", got.Status)
		}
		if page := member.Get(shell.KeysPath + "/new").Want(200); strings.Contains(page.Body, "Abgleich") {
			t.Error("a member is told of service accounts")
		} else if got := page.Send(shell.KeysPath+"/new", "owner", account.ID); got.Status != 404 {
			t.Errorf("a member creates the key of a service account: %d", got.Status)
		}
	})
}

// TestVersionByHeader checks that the page of a key shows the API versions that calls requested by
// header.
func TestVersionByHeader(t *testing.T) {
	o := apitest.New(t, dbtest.SQLite(t), apitest.Versions(release.VersionsIn("rc")...))
	b := pagetest.Open(t, o, access.Member)
	made := b.Get(shell.KeysPath + "/new").Send(shell.KeysPath + "/new").Want(200)
	program := &apitest.Client{Office: o, Key: pagetest.Secrets.FindString(made.Body)}
	page := pagetest.KeyPath.FindString(made.Body)
	program.Do("GET", "/me", nil).Want(200)
	if shown := b.Get(page).Want(200); strings.Contains(shown.Body, "auch mit Svc-Version") {
		t.Error("the page tells of a version that no call asked for")
	}
	program.Do("GET", "/me", nil, "Svc-Version", "2027-02-01").Want(200)
	b.Get(page).Want(200, "Zuletzt auch mit Svc-Version: 2027-02-01")
}
