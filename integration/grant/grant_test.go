package grant_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"kartei/access"
	"kartei/integration/grant"
	"kartei/people/organization"
	"kartei/people/principal"
	"kartei/store/db"
	"kartei/test/dbtest"
)

// TestToken checks what an access token permits. Its scopes shrink with the grant, the rights of
// the person and the level of the organization. It ends with the grant.
func TestToken(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := newOffice(t, d)
		tokens := o.connected(read, write)
		o.works(tokens.Access, read, write)
		a, err := o.dir.Authenticate(o.ctx, tokens.Access, access.V1, loopback)
		o.must(err)
		c := a.Credential()
		if c.ID != tokens.Grant.ID || c.Kind != access.Token || c.Environment != access.Live || c.Grant == nil ||
			c.Grant.ClientID != o.client.ClientID || c.Grant.ClientName != "Fristenkalender" {
			t.Errorf("%+v %+v", c, c.Grant)
		}
		if want := (access.Duties{
			Gate: true, Version: true, Preview: true, IdempotencyKey: true, Precondition: true, Limits: true,
			RequestLog: true,
		}); c.Duties != want {
			t.Errorf("an application owes other things than a key: %+v", c.Duties)
		}
		if _, reason := o.scopes(tokens.Access, access.MCP); reason != access.WrongAudience {
			t.Errorf("a token of the API at another resource: %q", reason)
		}

		narrow, err := o.refresh(tokens.Refresh, read)
		o.must(err)
		o.works(narrow.Access, read)
		o.works(tokens.Access, read, write)
		level := func(l access.Level) {
			_, err := o.op.SetOrganization(o.ctx, organization.Change{ID: o.org.ID, Level: &l})
			o.must(err)
		}
		level(access.Read)
		o.works(tokens.Access, read)
		level(access.Off)
		o.fails(tokens.Access, access.APIOff)
		if _, err := o.refresh(narrow.Refresh); err != nil {
			t.Errorf("while the API is off, an application is logged out: %v", err)
		}
		level(access.On)
		disabled := true
		_, err = o.op.SetUser(o.ctx, principal.Change{ID: o.member.ID, Disabled: &disabled})
		o.must(err)
		o.fails(tokens.Access, access.PrincipalDisabled)
		disabled = false
		_, err = o.op.SetUser(o.ctx, principal.Change{ID: o.member.ID, Disabled: &disabled})
		o.must(err)
		o.works(tokens.Access, read, write)

		o.change(func(tx db.Tx) error { return access.PauseIn(o.ctx, tx, tokens.Grant.ID) })
		o.fails(tokens.Access, access.Paused)
		o.change(func(tx db.Tx) error { _, err := grant.End(o.ctx, tx, o.now(), tokens.Grant.ID); return err })
		o.fails(tokens.Access, access.Revoked)
		o.clock.Advance(grant.AccessLifetime)
		other := o.connected(read)
		o.clock.Advance(grant.AccessLifetime - time.Microsecond)
		o.works(other.Access, read)
		o.clock.Advance(time.Microsecond)
		o.fails(other.Access, access.Expired)
	})
}

// change runs f in a transaction that begins with access.Changed.
func (o *office) change(f func(tx db.Tx) error) {
	o.Helper()
	o.must(o.db.Write(o.ctx, func(tx db.Tx) error {
		if err := access.Changed(o.ctx, tx); err != nil {
			return err
		}
		return f(tx)
	}))
	o.dir.Forget()
}

// TestCode checks that a stolen code is useless. Only its own client can exchange it, once and in
// time. The redirect URI and the verifier must be the right ones.
func TestCode(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := newOffice(t, d)
		other := o.newClient("Anderer")
		_, code := o.begin(read)
		for name, try := range map[string]func() (grant.Tokens, error){
			"another client":  func() (grant.Tokens, error) { return o.exchangeAs(&other, code, callback, verifier) },
			"another address": func() (grant.Tokens, error) { return o.exchangeAs(&o.client, code, callback+"/", verifier) },
			"another verifier": func() (grant.Tokens, error) {
				return o.exchangeAs(&o.client, code, callback, verifier[1:]+"x")
			},
			"no verifier":       func() (grant.Tokens, error) { return o.exchangeAs(&o.client, code, callback, "") },
			"an unknown code":   func() (grant.Tokens, error) { return o.exchange(access.NewSecret(access.CodeForm).Text) },
			"no code":           func() (grant.Tokens, error) { return o.exchange("") },
			"a code as a token": func() (grant.Tokens, error) { return o.refresh(code) },
			"another secret": func() (grant.Tokens, error) {
				return o.exchange(access.NewSecret(access.CodeForm).Text[:27] + code[27:])
			},
			"for another target": func() (grant.Tokens, error) {
				return o.issued(func(tx db.Tx) (grant.Tokens, error) {
					return grant.Exchange(o.ctx, tx, o.now(), &o.client, code, callback, verifier, access.MCP)
				})
			},
		} {
			if _, err := try(); err == nil {
				t.Errorf("%s is accepted", name)
			}
		}
		tokens, err := o.exchange(code)
		o.must(err)
		o.works(tokens.Access, read)
		if _, err := o.exchangeAs(&other, code, callback, verifier); err == nil {
			t.Error("another client exchanges a used code")
		}
		o.works(tokens.Access, read) // the failed attempts of a stranger have ended nothing
		_, err = o.exchange(code)
		o.refused(err, grant.InvalidGrant)
		o.fails(tokens.Access, access.Revoked)

		_, late := o.begin(read)
		o.clock.Advance(grant.CodeLifetime)
		_, err = o.exchange(late)
		o.refused(err, grant.InvalidGrant)

		_, guessed := o.begin(read)
		for range 5 {
			_, err := o.exchangeAs(&o.client, guessed, callback, "wrong")
			o.refused(err, grant.InvalidGrant)
		}
		_, err = o.exchange(guessed)
		o.refused(err, grant.InvalidGrant)
	})
}

// TestMaxGrants checks that one more grant than MaxGrants ends the oldest grant.
func TestMaxGrants(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := newOffice(t, d)
		var all []grant.Tokens
		for range grant.MaxGrants {
			all = append(all, o.connected(read))
			o.clock.Advance(time.Second)
		}
		o.works(all[0].Access, read)
		all = append(all, o.connected(read))
		o.fails(all[0].Access, access.Revoked)
		for _, tokens := range all[1:] {
			o.works(tokens.Access, read)
		}
	})
}

// TestForService checks that all tokens of an admin's client share one grant.
func TestForService(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := newOffice(t, d)
		service, err := o.op.CreateServiceAccount(o.ctx, principal.New{
			Organization: o.org.ID, Name: "Fax", Role: access.Member,
		})
		o.must(err)
		c := grant.Client{
			Kind:         grant.ByAdmin,
			Name:         "Fax",
			Method:       grant.SecretHeader,
			Organization: o.org.Number,
			Principal:    service.ID,
			Scopes:       []string{read, write},
		}
		var secret string
		o.must(d.Write(o.ctx, func(tx db.Tx) (err error) {
			secret, err = c.Store(o.ctx, tx, o.now())
			return err
		}))
		ask := func(c *grant.Client, audience string, scopes ...string) (grant.Tokens, error) {
			return o.issued(func(tx db.Tx) (grant.Tokens, error) {
				return grant.ForService(o.ctx, tx, o.now(), c, scopes, audience)
			})
		}
		first, err := ask(&c, access.V1)
		o.must(err)
		second, err := ask(&c, access.V1, read)
		o.must(err)
		if first.Grant.ID != second.Grant.ID || first.Refresh != "" || !c.Proves(secret) ||
			c.Proves(secret[:len(secret)-1]) || (&grant.Client{}).Proves("") {
			t.Errorf("%+v %+v", first, second)
		}
		o.works(first.Access, read, write)
		o.works(second.Access, read)
		if other, err := ask(&c, access.MCP); err != nil || other.Grant.ID == first.Grant.ID {
			t.Errorf("%+v %v", other, err)
		}
		some, err := ask(&c, access.V1, "tasks:read", read, "webhook_endpoints:write")
		o.must(err)
		o.works(some.Access, read)
		_, err = ask(&c, access.V1, "tasks:read")
		o.refused(err, grant.InvalidScope)
		_, err = ask(&o.client, access.V1)
		o.refused(err, grant.UnauthorizedClient)
		o.change(func(tx db.Tx) error { return c.SetDisabled(o.ctx, tx, true) })
		o.fails(first.Access, access.Paused)
		_, err = ask(&c, access.V1)
		o.refused(err, grant.InvalidGrant)
	})
}

// TestRevoke checks that a client can revoke its own tokens, and no tokens of other clients.
func TestRevoke(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := newOffice(t, d)
		tokens, other := o.connected(read), o.newClient("Anderer")
		revoke := func(c *grant.Client, text string) (g *grant.Grant) {
			o.must(d.Write(o.ctx, func(tx db.Tx) (err error) {
				g, err = grant.Revoke(o.ctx, tx, o.now(), c, text)
				return err
			}))
			o.dir.Forget()
			return g
		}
		inspect := func(c *grant.Client, text string) (s grant.State, ok bool) {
			o.must(d.Read(o.ctx, func(tx db.Tx) (err error) {
				s, ok, err = grant.Inspect(o.ctx, tx, o.now(), c, text)
				return err
			}))
			return s, ok
		}
		for _, text := range []string{tokens.Access, tokens.Refresh, "", "x", access.NewSecret(access.AccessTokenForm).Text} {
			if revoke(&other, text) != nil {
				t.Errorf("a stranger revokes %q", text)
			}
			if _, ok := inspect(&other, text); ok {
				t.Errorf("a stranger inspects %q", text)
			}
		}
		o.works(tokens.Access, read)
		for _, text := range []string{tokens.Access, tokens.Refresh} {
			if s, ok := inspect(&o.client, text); !ok || s.Grant.ID != tokens.Grant.ID ||
				!slices.Equal(s.Scopes, []string{read}) || s.Refresh != (text == tokens.Refresh) {
				t.Errorf("%+v %t", s, ok)
			}
		}
		if revoke(&o.client, tokens.Access) == nil {
			t.Error("an access token is not revoked")
		}
		o.fails(tokens.Access, access.Expired)
		again, err := o.refresh(tokens.Refresh)
		o.must(err)
		o.works(again.Access, read)
		if revoke(&o.client, again.Refresh) == nil {
			t.Error("a refresh token is not revoked")
		}
		o.fails(again.Access, access.Revoked)
		if _, ok := inspect(&o.client, again.Access); ok {
			t.Error("a token of an ended grant is active")
		}
		_, err = o.refresh(again.Refresh)
		o.refused(err, grant.InvalidGrant)
	})
}

// TestRedirects checks that redirect URIs are compared byte for byte, except for the port of a
// loopback address.
func TestRedirects(t *testing.T) {
	c := grant.Client{RedirectURIs: []string{
		callback, "http://127.0.0.1/cb", "http://localhost/callback", "http://[::1]:7000/cb",
		"com.example.app:/x",
	}}
	for _, address := range []string{
		callback, "http://127.0.0.1:53076/cb", "http://127.0.0.1/cb", "http://localhost:53076/callback",
		"http://[::1]:53076/cb", "com.example.app:/x",
	} {
		if !c.Redirects(address) {
			t.Errorf("%s is refused", address)
		}
	}
	for _, address := range []string{
		"", callback + "/", callback + "?x=1", callback + "#x", "https://app.example/callback/../other",
		"https://app.example:443/callback",
		"https://APP.example/callback", "https://evil.example/callback", "https://app.example.evil.example/callback",
		"https://app.example@evil.example/callback",
		"http://127.0.0.1@evil.example/cb", "http://127.0.0.1:1@evil.example/cb",
		"http://localhost.evil.example/callback", "http://127.0.0.2/cb",
		"http://127.0.0.1:53076/other", "http://127.0.0.1:53076/cb#x", "https://127.0.0.1/cb",
		"http://localhost:53076/cb", "http://127.1/cb", "http://2130706433/cb",
		"javascript:alert(1)", "com.example.app:/y", "http://127.0.0.1:x/cb", "http://[::ffff:127.0.0.1]/cb",
	} {
		if c.Redirects(address) {
			t.Errorf("%s is accepted", address)
		}
	}
	for address, want := range map[string]bool{
		callback: true, "http://127.0.0.1/cb": true, "http://localhost:7000/cb": true, "http://[::1]/cb": true,
		"http://app.example/cb": false, "https:///cb": false, "https://*.example/cb": false,
		"https://a.example/cb#x": false, "https://u@a.example/cb": false, "https://a.example/a/../b": false,
		"https://a.example/%2e%2e/b": false, "https://a.example/\\b": false,
		"https://a.example/ b": false, "": false, "/cb": false, "//a.example/cb": false,
	} {
		for _, public := range []bool{true, false} {
			if got := grant.ValidRedirect(address, public); got != want {
				t.Errorf("%s: %t", address, got)
			}
		}
	}
}

// TestSchemes checks that only a client without a secret may have a redirect URI with a private
// scheme. Schemes that browsers and operating systems handle are refused.
func TestSchemes(t *testing.T) {
	for _, address := range []string{
		"cursor://anysphere.cursor-mcp/oauth/callback", "com.example.app:/x", "myapp:/x",
		"vscode://vscode.github-authentication/did-authenticate", "raycast://oauth?package_name=Kartei",
		"claude:///callback", "Cursor://anysphere.cursor-mcp/oauth/callback", "x-windsurf://cb",
	} {
		if !grant.ValidRedirect(address, true) || grant.ValidRedirect(address, false) {
			t.Errorf("%s: %t for a client without a secret, %t for another one", address, grant.ValidRedirect(address, true),
				grant.ValidRedirect(address, false))
		}
	}
	for _, scheme := range []string{
		"javascript", "JavaScript", "data", "file", "FILE", "vbscript", "blob", "about", "filesystem", "view-source",
		"ws", "wss", "ftp", "mailto", "tel", "sms", "intent", "content",
		"ms-msdt", "ms-settings", "search-ms", "ms-officecmd", "chrome", "chrome-extension", "moz-extension", "edge",
		"resource", "jar", "ssh", "telnet", "smb", "ldap", "urn", "web+kartei",
		"itms-services", "x-apple.systempreferences", "shell", "c", "http", "livescript", "mhtml", "ext+x",
	} {
		for _, rest := range []string{":alert(1)", "://evil.example/cb", ":///cb", ":/cb", ":"} {
			if address := scheme + rest; grant.ValidRedirect(address, true) {
				t.Errorf("%s is accepted", address)
			}
		}
	}
	for address, want := range map[string]string{
		"cursor://a/b": "cursor", "com.example.app:/x": "com.example.app", "https://a.example/cb": "",
		"http://localhost/cb": "", "": "",
	} {
		if got := grant.Scheme(address); got != want {
			t.Errorf("%s has the scheme %q", address, got)
		}
	}
	for _, address := range []string{
		"cursor:", "cursor://", "cursor://u@a/b", "cursor://a/b#c", "cursor://a/../b", "cursor://a/b c",
		"cursor:a", "1cursor://a", "cur\tsor://a/b", "cursor://a/\u202eb",
	} {
		if grant.ValidRedirect(address, true) {
			t.Errorf("%s is accepted", address)
		}
	}
}

// TestImpersonates checks names that look like the name of the product or of an office.
func TestImpersonates(t *testing.T) {
	const office = "Kanzlei Morgenstern & Partner mbB"
	for _, name := range []string{
		"Kartei", "KARTEI", "Kartei.", "Kartei!", "Ｋａｒｔｅｉ", "Каrtei", "Kаrtеi", "ΚΑRΤΕΙ", "K\u200bartei \u3164",
		"Kar\u00adtei", "Karte1", "Kartel", "K a r t e i", "Kar-tei", "Kartei™", "»Kartei«",
		"Kartei Support", "Kartei (offiziell)", "kartei.de", "https://www.kartei.app", "KarteiApp", "Kartei 2", "𝐊𝐚𝐫𝐭𝐞𝐢",
		"Kärtei", "🅺🅰🆁🆃🅴🅸",
		"Kartei Konto", "Kartei IT", "Kartei Cloud", "Kartei Server", "Kartei Update", "Kartei Administration",
		"Kartei Konto bestätigen", "kartei.com/login", "K@rtei", "K4rtei", "K4rt3i Login",
		"Kanzlei Morgenstern IT", "Kanzlei Morgenstern EDV", "Kanzlei Morgenstern Intern", "IT der Kanzlei Morgenstern",
		office, "Kanzlei Morgenstern", "KANZLEI MORGENSTERN", "Kanzlei  Morgenstern.", "Kаnzlei Mоrgenstern",
		"Kanzlei-Morgenstern", "Kanzlei Morgenstern mbB", "Kanzlei Morgenstem & Partner mbB",
		"Kanzlei Morgenstern Support", "Kartei (Kanzlei Morgenstern & Partner)", "kanzlei morgenstern & partner mbb",
		"Ｋanzlei\u2060 Morgenstern",
	} {
		if !grant.Impersonates(name, office) {
			t.Errorf("%q is accepted", name)
		}
	}
	for _, name := range []string{
		"", "Cursor", "Claude", "Outlook Kalender", "Karteikarten", "Kartei-Abgleich für Outlook", "Kalender für Kartei",
		"Kanzlei", "Morgenstern", "Kanzlei Abendstern", "Kantine", "MCP Inspector", "…", "Support",
		"Fristenkalender für die Kanzlei Morgenstern",
	} {
		if grant.Impersonates(name, office, "") {
			t.Errorf("%q is refused", name)
		}
	}
	if !grant.Impersonates("gmbh", "GmbH") || grant.Impersonates("Kartoffel", "") ||
		!grant.Impersonates("MÜLLER GMBH", "Müller") || !grant.Impersonates("名前", "名前") {
		t.Error("an office with an odd name")
	}
}

// TestCleanName checks that CleanName removes characters that make a name look like another one.
func TestCleanName(t *testing.T) {
	for name, want := range map[string]string{
		"Fristenkalender": "Fristenkalender", "  A \n B\t": "A B", "Kar\u202etei": "Kartei", "K\u200bartei": "Kartei",
		"\u2066x\u2069": "x", "\x00": "",
		"ü" + fmt.Sprintf("%0120d", 0): "ü" + fmt.Sprintf("%099d", 0),
	} {
		if got := grant.CleanName(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

// TestUnknownClient checks that an unknown client and a wrong secret cost the same work, so that
// the response time does not reveal which clients exist. It counts allocations, which do not depend
// on the machine.
func TestUnknownClient(t *testing.T) {
	o := newOffice(t, dbtest.SQLite(t))
	known := grant.Client{Kind: grant.ByAdmin, Name: "Fax", Method: grant.SecretForm}
	o.must(o.db.Write(o.ctx, func(tx db.Tx) error {
		_, err := known.Store(o.ctx, tx, o.now())
		return err
	}))
	shown := access.NewSecret(access.ClientSecretForm).Text
	work := func(c grant.Client) float64 {
		return testing.AllocsPerRun(50, func() {
			if c.Proves(shown) {
				t.Error("another secret proves it")
			}
		})
	}
	if unknown, wrong := work(grant.Client{}), work(known); unknown != wrong {
		t.Errorf("an unknown client takes %v allocations, a wrong secret %v", unknown, wrong)
	}
}

// TestRevokedStaysDead revokes an access token and repeats the refresh that issued it, within
// Grace. It checks that the response is the same and that the token is still revoked.
func TestRevokedStaysDead(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := newOffice(t, d)
		first := o.connected(read)
		second, err := o.refresh(first.Refresh)
		o.must(err)
		o.works(second.Access, read)
		o.must(d.Write(o.ctx, func(tx db.Tx) error {
			_, err := grant.Revoke(o.ctx, tx, o.now(), &o.client, second.Access)
			return err
		}))
		o.dir.Forget()
		o.fails(second.Access, access.Expired)
		again, err := o.refresh(first.Refresh)
		o.must(err)
		if again.Access != second.Access || again.ExpiresIn != 0 {
			t.Errorf("%+v", again)
		}
		o.fails(second.Access, access.Expired)
		third, err := o.refresh(second.Refresh)
		o.must(err)
		o.works(third.Access, read)
	})
}
