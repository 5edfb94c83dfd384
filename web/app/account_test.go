package app_test

import (
	"encoding/json"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"kartei/access"
	"kartei/people/principal"
	"kartei/people/signin"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/test/pagetest"
	"kartei/test/passkeytest"
	"kartei/web/shell"
)

// TestProfileOnPages checks that a change of the profile appears on the next page. A wrong form
// shows its errors.
func TestProfileOnPages(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		b := pagetest.Invited(t, apitest.New(t, d), "ida@kanzlei.example")
		form := b.Get("/settings/profile").Want(200, "Ida Morgen", "ida@kanzlei.example", `<option value="Europe/Zurich">`, "Zeitzone")
		form.Send("/settings/profile", "language", "en", "theme", "dark", "density", "compact", "zone", "America/New_York", "name", " Ida  Abend ").Want(303)
		b.Get("/settings/profile?done=profile").Want(200, `lang="en"`, `data-theme="dark"`, `data-density="compact"`, "Time zone", "Ida  Abend", "Profile saved.")

		// A form turns a switch off. A second form, loaded before that change, does not turn it on
		// again.
		other := b.Get("/settings/profile")
		off := other.Fields("/settings/profile")
		off.Del("singleKeys")
		b.Do("POST", "/settings/profile", off).Want(303)
		other.Send("/settings/profile", "theme", "light").Want(303)
		if got := b.Get("/").Want(200, `data-theme="light"`); strings.Contains(got.Body, " data-keys ") {
			t.Error("a form that did not change the switch has changed it back")
		}

		wrong := b.Get("/settings/profile").Send("/settings/profile", "zone", "Köln", "name", "").Want(422, `value="Köln"`, `aria-invalid="true"`)
		if strings.Count(wrong.Body, `aria-invalid="true"`) != 2 {
			t.Errorf("two fields are wrong:\n%s", wrong.Main())
		}
	})
}

// sessionLasts checks the lifetime of the session cookie in a response. It must not depend on the
// clock of the browser.
func sessionLasts(t *testing.T, p *pagetest.Page, want time.Duration) {
	t.Helper()
	for _, c := range (&http.Response{Header: p.Header}).Cookies() {
		if c.Name == "__Host-kartei" && c.MaxAge == int(want.Seconds()) && c.Expires.IsZero() {
			return
		}
	}
	t.Errorf("no session cookie for %s: %q", want, p.Header["Set-Cookie"])
}

// TestSecondFactorOnPages sets up TOTP codes. It checks that a person signs in with a TOTP code or
// a recovery code, and that each code works only once.
func TestSecondFactorOnPages(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b := pagetest.Invited(t, o, "ida@kanzlei.example")
		secret, codes := b.Generate(o)
		b.Get(pagetest.Security).Want(200, "noch 10 Codes", "Neu einrichten")
		code := func() string { o.Clock.Advance(31 * time.Second); return signin.TOTP(secret, o.Clock.Now()) }
		begin := func() *pagetest.Page {
			b.Cookie = ""
			return b.Get("/signin").Send("/signin", "email", "ida@kanzlei.example", "password", pagetest.Password).Want(200, `autocomplete="one-time-code"`, "Wiederherstellungscode", "30 Tage")
		}

		now := code()
		two := begin()
		trusted := two.Send("/signin/second", "code", now[:3]+" "+now[3:], "trusted", "true").Want(303)
		if b.Cookie == "" {
			t.Fatal("no cookie after the second step")
		}
		sessionLasts(t, trusted, access.TrustedLifetime)
		b.Get(pagetest.Security).Want(200)
		two.Send("/signin/second", "code", code()).Want(404, "abgelaufen") // the ticket was already used
		begin().Send("/signin/second", "code", now).Want(422, "stimmt nicht, oder er wurde schon verwendet")

		recover := begin()
		form := recover.Fields("/signin/second")
		form.Del("code")
		form.Set("recoveryCode", strings.ToUpper(codes[0]))
		b.Do("POST", "/signin/second", form).Want(303)
		b.Get(pagetest.Security).Want(200, "noch 9 Codes")
		form = begin().Fields("/signin/second")
		form.Set("recoveryCode", codes[0])
		b.Do("POST", "/signin/second", form).Want(422, "schon verwendet", `name="recoveryCode"`)
		b.Cookie = ""

		fresh := begin().Send("/signin/second", "code", code()).Want(303)
		sessionLasts(t, fresh, access.SessionLifetime)
		made := fresh.Get(pagetest.Security).Send(pagetest.Security + "/codes").Want(200)
		if renewed := pagetest.CodeShown.FindAllString(made.Body, -1); len(renewed) != 10 || renewed[0] == codes[0] {
			t.Errorf("new codes: %q", renewed)
		}
		b.Get(pagetest.Security).Send(pagetest.Security + "/totp/remove").Want(303)
		if got := b.Get(pagetest.Security).Want(200, "Nur Ihr Kennwort").Body; strings.Contains(got, "noch 10 Codes") {
			t.Error("codes without a second factor")
		}
	})
}

// TestSecretsAreShownOnceAndUncompressed checks that pages with a secret are sent uncompressed. No
// later page may show a recovery code again.
func TestSecretsAreShownOnceAndUncompressed(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b := pagetest.Invited(t, o, "ida@kanzlei.example")
		form := b.Get(pagetest.Security).Fields(pagetest.Security + "/totp")
		shown := b.Do("POST", pagetest.Security+"/totp", form, "Accept-Encoding", "gzip").Want(200, "<svg")
		if strings.Contains(shown.Body, "otpauth:") {
			t.Error("the page has the secret as an address")
		}
		_, codes := b.Generate(o)
		for _, path := range []string{pagetest.Security, "/", "/settings/profile", pagetest.Security + "/password"} {
			for _, code := range codes {
				if strings.Contains(b.Get(path).Body, code) {
					t.Errorf("%s shows a recovery code again", path)
				}
			}
		}
	})
}

// TestSecretsOfInterfaces checks that the secret of a key, a webhook or an application is on one
// page only. That page is uncompressed, and the log has no secret.
func TestSecretsOfInterfaces(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b := pagetest.Open(t, o, access.Admin)
		service, err := o.Operator.CreateServiceAccount(t.Context(), principal.New{Organization: o.ID, Name: "Abgleich", Role: access.Member})
		if err != nil {
			t.Fatal(err)
		}
		const applications = "/settings/interfaces/applications"
		var shown []string
		secret := func(page, action string, of *regexp.Regexp, set ...string) *pagetest.Page {
			t.Helper()
			form := b.Get(page).Fields(action)
			for i := 0; i < len(set); i += 2 {
				form.Set(set[i], set[i+1])
			}
			made := b.Do("POST", action, form, "Accept-Encoding", "gzip").Want(200)
			if text := of.FindString(made.Body); text == "" || made.Header.Get("Content-Encoding") != "" {
				t.Errorf("%s: no secret, or a compressed page", action)
			} else {
				shown = append(shown, text)
			}
			return made
		}
		key := pagetest.KeyPath.FindString(secret(shell.KeysPath+"/new?env=test", shell.KeysPath+"/new", pagetest.Secrets).Body)
		secret(key, key+"/rotate", pagetest.Secrets)
		endpoint := pagetest.WebhookPath.FindString(secret(shell.WebhooksPath+"/new?env=test&name=CRM&types=*&url=https://crm.example.com/hook", shell.WebhooksPath+"/new", pagetest.HookSecrets).Body)
		secret(endpoint, endpoint+"/rotate", pagetest.HookSecrets)
		client := regexp.MustCompile(`kart_[a-z]+_[A-Za-z0-9]{16}_[A-Za-z0-9]{20,}`)
		secret(applications+"/new", applications+"/new", client, "name", "Fax", "principalId", service.ID, "environment", "test", "scopes", "contacts:read")
		var id string
		dbtest.Get(t, d, []any{&id}, `select id from oauth_clients where name = 'Fax'`)
		secret(applications, applications+"/"+id+"/rotate", client)
		if len(shown) != 6 {
			t.Fatalf("%d secrets", len(shown))
		}
		o.Log.Flush(t.Context())
		pages := o.Logged.String()
		for _, path := range []string{shell.KeysPath, key, shell.WebhooksPath, endpoint, applications, "/settings/audit", "/settings/interfaces/requests", "/bell"} {
			pages += b.Get(path).Want(200).Body
		}
		for _, mail := range o.Mailed() {
			pages += mail.Text
		}
		for _, text := range shown {
			if strings.Contains(pages, text) {
				t.Errorf("a secret is shown again: %.14s…", text)
			}
		}
	})
}

// TestPasswordOnPages checks that a change of the password requires the old password. The change
// ends all other sessions.
func TestPasswordOnPages(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b := pagetest.Invited(t, o, "ida@kanzlei.example")
		elsewhere := &pagetest.Browser{T: t, Handler: b.Handler}
		elsewhere.Get("/signin").Send("/signin", "email", "ida@kanzlei.example", "password", pagetest.Password).Want(303)
		elsewhere.Get("/contacts").Want(200)
		const next = "fünf Wörter aus einem Sack"
		path := pagetest.Security + "/password"
		form := b.Get(path).Want(200, "alle anderen Sitzungen")
		form.Send(path, "current", pagetest.Password, "password", next, "repeat", next+"!").Want(422, "stimmen nicht überein")
		form.Send(path, "current", "falsch geraten", "password", next, "repeat", next).Want(422, "stimmt nicht")
		form.Send(path, "password", next, "repeat", next).Want(422)
		short := b.Get(path).Send(path, "current", pagetest.Password, "password", "kurz", "repeat", "kurz").Want(422, "12")
		for _, typed := range []string{pagetest.Password, "kurz", next} {
			if strings.Contains(short.Body, html.EscapeString(typed)+`"`) {
				t.Errorf("the page sends %q back", typed)
			}
		}
		elsewhere.Get("/contacts").Want(200)
		changed := b.Get(path).Send(path, "current", pagetest.Password, "password", next, "repeat", next).Want(303)
		b.Get(changed.Location).Want(200, "Alle anderen Sitzungen sind beendet")
		elsewhere.Get("/contacts").Want(303)
		elsewhere.Get("/signin").Send("/signin", "email", "ida@kanzlei.example", "password", pagetest.Password).Want(401)
	})
}

// TestSessionsOnPages checks that the security page lists sessions and sign-ins, and that a person
// can end other sessions.
func TestSessionsOnPages(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b := pagetest.Invited(t, o, "ida@kanzlei.example")
		signIn := func() *pagetest.Browser {
			other := &pagetest.Browser{T: t, Handler: b.Handler}
			form := other.Get("/signin").Fields("/signin")
			form.Set("email", "ida@kanzlei.example")
			form.Set("password", pagetest.Password)
			other.Do("POST", "/signin", form, "User-Agent", "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Safari/604.1").Want(303)
			return other
		}
		phone, tablet := signIn(), signIn()
		b.Get("/signin").Want(303)
		stranger := &pagetest.Browser{T: t, Handler: b.Handler}
		stranger.Get("/signin").Send("/signin", "email", "ida@kanzlei.example", "password", "falsch").Want(401)

		list := b.Get(pagetest.Security).Want(200, "Safari auf dem iPhone", "192.0.2.1", "diese Sitzung", "Abgelehnt")
		end := regexp.MustCompile(`action="(`+pagetest.Security+`/sessions/ses_[^"]+/end)"`).FindAllStringSubmatch(list.Body, -1)
		if len(end) != 2 {
			t.Fatalf("%d sessions can be ended\n%s", len(end), list.Main())
		}
		list.Send(end[0][1]).Want(303)
		working := 0
		for _, other := range []*pagetest.Browser{phone, tablet} {
			if other.Get("/contacts").Status == 200 {
				working++
			}
		}
		if working != 1 {
			t.Errorf("after one was ended, %d of two sessions work", working)
		}
		list.Send(end[0][1]).Want(303) // the second request changes nothing
		b.Get(pagetest.Security).Send(pagetest.Security + "/sessions/end").Want(303)
		phone.Get("/contacts").Want(303)
		tablet.Get("/contacts").Want(303)
		b.Get("/contacts").Want(200)

		// A person cannot end a session of another person, and does not see that person's sign-ins.
		jan := pagetest.Invited(t, o, "jan@kanzlei.example")
		foreign := jan.Get(pagetest.Security).Want(200)
		if strings.Contains(foreign.Main(), "iPhone") || strings.Contains(foreign.Main(), "Abgelehnt") {
			t.Error("somebody sees the sessions of somebody else")
		}
	})
}

// TestActingOnPages checks that the page lists all sessions and webhooks of an account. A person
// can end them separately or all together.
func TestActingOnPages(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b := pagetest.Open(t, o, access.Admin)
		pagetest.Hook(b, "env=live&name=CRM&types=*&url=https://crm.example.com/hook")
		pagetest.Hook(b, "env=test&name=Fibu&types=*&url=https://fibu.example.com/hook")

		list := b.Get(pagetest.Security+"/access").Want(200, "diese Sitzung", "CRM", "https://crm.example.com/hook", "Fibu", "Sandbox · https://fibu.example.com/hook", "angelegt ")
		end := regexp.MustCompile(`action="(` + pagetest.Security + `/access/whe_[^"]+/end)"`).FindStringSubmatch(list.Body)
		if end == nil {
			t.Fatalf("no endpoint can be ended\n%s", list.Main())
		}
		if got := list.Send(end[1]).Want(303); got.Location != pagetest.Security+"/access?done=ended" {
			t.Error(got.Location)
		}
		list.Send(end[1]).Want(303) // the second request changes nothing
		list = b.Get(pagetest.Security+"/access").Want(200, "Fibu")
		if strings.Contains(list.Main(), "CRM") {
			t.Errorf("what was ended is still there\n%s", list.Main())
		}
		if got := list.Send(pagetest.Security + "/access/end").Want(303); got.Location != pagetest.Security+"/access?done=endedAll" {
			t.Error(got.Location)
		}
		if got := b.Get(pagetest.Security+"/access?done=endedAll").Want(200, "Alles beendet."); strings.Contains(got.Main(), "Fibu") {
			t.Errorf("what was ended is still there\n%s", got.Main())
		}
	})
}

// TestConfirmFirst checks changes that need a recent sign-in. If the sign-in is too old, the page
// asks for the password. Then it sends the same form with the entered values.
func TestConfirmFirst(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b := pagetest.Invited(t, o, "ida@kanzlei.example")
		before := b.Cookie
		path := pagetest.Security + "/address"
		form := b.Get(path).Want(200)
		o.Clock.Advance(11 * time.Minute)
		asked := form.Send(path, "email", "neu@kanzlei.example").Want(403, "Anmeldung bestätigen", `type="password"`)
		if strings.Contains(asked.Body, `name="code"`) {
			t.Error("a code is asked for, but the account has no second factor")
		}
		wrong := asked.Send("/confirm", "password", "falsch geraten").Want(422, "stimmt nicht", "neu@kanzlei.example")
		done := wrong.Send("/confirm", "password", pagetest.Password).Want(303)
		if done.Location != pagetest.Security+"?done=address" {
			t.Errorf("after confirming: %s", done.Location)
		}
		if b.Cookie == before {
			t.Error("the session has the same token after a step-up")
		}
		o.Linked("neu@kanzlei.example")
		old := &pagetest.Browser{T: t, Handler: b.Handler, Cookie: before}
		old.Get("/contacts").Want(303)

		// A recent confirmation is enough for further changes. With a second factor, the page also
		// asks for a code.
		secret, _ := b.Generate(o)
		o.Clock.Advance(11 * time.Minute)
		asked = b.Get(pagetest.Security).Send(pagetest.Security+"/codes").Want(403, `name="code"`)
		asked.Send("/confirm", "password", pagetest.Password).Want(422)
		code := signin.TOTP(secret, o.Clock.Now())
		asked.Send("/confirm", "password", pagetest.Password, "code", code).Want(200, "nur jetzt")
		o.Clock.Advance(11 * time.Minute)
		b.Get(pagetest.Security).Send(pagetest.Security+"/codes").Want(403).Send("/confirm", "password", pagetest.Password, "code", code).Want(422)

		// For a request of a script, the page asks in a dialog and leaves the form in place.
		over := []string{"HX-Request", "true", "Kartei-Over", "1"}
		dialog := b.Do("POST", pagetest.Security+"/codes", b.Get(pagetest.Security).Fields(pagetest.Security+"/codes"), pagetest.Script...).Want(403, `id="over-title"`, `name="code"`)
		if dialog.Header.Get("Kartei-Dialog") == "" || strings.Contains(dialog.Body, "resume-") {
			t.Errorf("a script is asked with %v\n%s", dialog.Header, dialog.Body)
		}
		answers := dialog.Fields("/confirm")
		answers.Set("password", "falsch")
		answers.Set("code", "123456")
		b.Do("POST", "/confirm", answers, over...).Want(422, "stimmt nicht", `id="over-title"`)
		o.Clock.Advance(time.Minute)
		answers.Set("password", pagetest.Password)
		answers.Set("code", signin.TOTP(secret, o.Clock.Now()))
		if got := b.Do("POST", "/confirm", answers, over...).Want(204); got.Header.Get("Kartei-Signed-In") == "" {
			t.Errorf("a script that confirmed gets %v", got.Header)
		}
		// An action at another site, or at the confirmation itself, is not followed.
		o.Clock.Advance(time.Minute)
		for _, action := range []string{"https://evil.example/", "//evil.example", "/confirm"} {
			form := b.Get("/confirm").Fields("/confirm")
			form.Set("resume-action", action)
			form.Set("password", pagetest.Password)
			o.Clock.Advance(31 * time.Second)
			form.Set("code", signin.TOTP(secret, o.Clock.Now()))
			if got := b.Do("POST", "/confirm", form).Want(303); got.Location != "/" {
				t.Errorf("%s leads to %s", action, got.Location)
			}
		}
	})
}

// passkeyOptions requests the WebAuthn options at path. It returns them with the ticket that the
// response needs.
func passkeyOptions(p *pagetest.Page, path string, more ...string) (ticket string, options json.RawMessage) {
	p.T.Helper()
	form := url.Values{"form-token": {tokenOf.FindStringSubmatch(p.Body)[1]}}
	for i := 0; i < len(more); i += 2 {
		form.Set(more[i], more[i+1])
	}
	got := p.Do("POST", path, form, "Accept", "application/json").Want(200)
	var q struct {
		Ticket  string
		Options json.RawMessage
	}
	if err := json.Unmarshal([]byte(got.Body), &q); err != nil {
		p.T.Fatal(err)
	}
	return q.Ticket, q.Options
}

var tokenOf = regexp.MustCompile(`(?s)<main.*?name="form-token" value="([^"]+)"`)

// TestPasskeyOnPages adds a passkey, confirms a sign-in with it and signs in with it. It checks
// that a ticket works only once.
func TestPasskeyOnPages(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b := pagetest.Invited(t, o, "ida@kanzlei.example")
		device := passkeytest.New(t, "https://kartei.example", "kartei.example")
		device.Countless = true
		list := b.Get(pagetest.Security).Want(200)
		ticket, options := passkeyOptions(list, pagetest.Security+"/passkeys/options")
		made := list.Send(pagetest.Security+"/passkeys", "name", "Telefon <b>", "passkey-ticket", ticket, "passkey-response", string(device.Create(options))).Want(200, "nur jetzt")
		if len(pagetest.CodeShown.FindAllString(made.Body, -1)) != 10 {
			t.Error("the first second factor brings no recovery codes")
		}
		b.Get(pagetest.Security).Want(200, "Telefon &lt;b&gt;", "noch nicht verwendet")

		o.Clock.Advance(11 * time.Minute)
		stale := b.Do("POST", pagetest.Security+"/passkeys/options", url.Values{"form-token": {tokenOf.FindStringSubmatch(b.Get(pagetest.Security).Body)[1]}}, "Accept", "application/json")
		stale.Want(403, `"confirm":true`)
		asked := b.Get(pagetest.Security).Send(pagetest.Security+"/codes").Want(403, "Mit Passkey bestätigen")
		ticket, options = passkeyOptions(asked, "/confirm/passkey")
		asked.Send("/confirm", "passkey-ticket", ticket, "passkey-response", string(device.Get(options))).Want(200, "nur jetzt")

		b.Cookie = ""
		before := rows(t, d, "sign_in_tickets")
		door := b.Get("/signin").Want(200, `autocomplete="username webauthn"`)
		for range 3 {
			passkeyOptions(door, "/signin/passkey/options")
		}
		if now := rows(t, d, "sign_in_tickets"); now != before {
			t.Errorf("asking for a passkey stores %d rows", now-before)
		}
		ticket, options = passkeyOptions(door, "/signin/passkey/options")
		answer := string(device.Get(options))
		door.Send("/signin/passkey", "passkey-ticket", ticket, "passkey-response", "{").Want(401)
		door.Send("/signin/passkey", "passkey-ticket", ticket+"A", "passkey-response", answer).Want(404)
		door.Send("/signin/passkey", "passkey-ticket", ticket, "passkey-response", answer).Want(303)
		b.Get(pagetest.Security).Want(200, "zuletzt verwendet")
		b.Cookie = ""
		door.Send("/signin/passkey", "passkey-ticket", ticket, "passkey-response", answer).Want(404)
		door.Send("/signin/passkey", "passkey-ticket", ticket+"\n", "passkey-response", answer).Want(404)

		ticket, options = passkeyOptions(door, "/signin/passkey/options")
		answer = string(device.Get(options))
		o.Clock.Advance(11 * time.Minute)
		door.Send("/signin/passkey", "passkey-ticket", ticket, "passkey-response", answer).Want(404, "abgelaufen")
		ticket, options = passkeyOptions(door, "/signin/passkey/options")
		door.Send("/signin/passkey", "passkey-ticket", ticket, "passkey-response", string(device.Get(options))).Want(303)
		remove := regexp.MustCompile(`action="([^"]+/passkeys/[^"]+/remove)"`).FindStringSubmatch(b.Get(pagetest.Security).Body)
		b.Get(pagetest.Security).Send(remove[1]).Want(303)
		b.Get(pagetest.Security).Want(200, "Nur Ihr Kennwort")
	})
}

func rows(t *testing.T, d db.DB, table string) (n int) {
	t.Helper()
	dbtest.Get(t, d, []any{&n}, `select count(*) from `+table)
	return n
}
