package office_test

import (
	"encoding/json"
	"html"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"kartei/access"
	"kartei/people/settings"
	"kartei/people/signin"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/test/passkeytest"
)

// TestProfileOnPages changes the profile, and sees it at once.
func TestProfileOnPages(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		b := invited(t, apitest.New(t, d), "ida@kanzlei.example")
		form := b.get("/settings/profile").want(200, "Ida Morgen", "ida@kanzlei.example", `<option value="Europe/Zurich">`, "Zeitzone")
		form.send("/settings/profile", "language", "en", "theme", "dark", "density", "compact", "zone", "America/New_York", "name", " Ida  Abend ").want(303)
		b.get("/settings/profile?done=profile").want(200, `lang="en"`, `data-theme="dark"`, `data-density="compact"`, "Time zone", "Ida  Abend", "Profile saved.")

		// A switch that is off, and a form in another tab that knows nothing of it.
		other := b.get("/settings/profile")
		off := other.fields("/settings/profile")
		off.Del("singleKeys")
		b.do("POST", "/settings/profile", off).want(303)
		other.send("/settings/profile", "theme", "light").want(303)
		if got := b.get("/").want(200, `data-theme="light"`); strings.Contains(got.Body, " data-keys ") {
			t.Error("a form that did not change the switch has changed it back")
		}

		wrong := b.get("/settings/profile").send("/settings/profile", "zone", "Köln", "name", "").want(422, `value="Köln"`, `aria-invalid="true"`)
		if strings.Count(wrong.Body, `aria-invalid="true"`) != 2 {
			t.Errorf("two fields are wrong:\n%s", wrong.main())
		}
	})
}

// TestSecondFactorOnPages sets up a generator of codes, and signs in with it, with a
// recovery code, and with neither twice.
func TestSecondFactorOnPages(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b := invited(t, o, "ida@kanzlei.example")
		secret, codes := b.generate(o)
		b.get(security).want(200, "noch 10 Codes", "Neu einrichten")
		code := func() string { o.Clock.Advance(31 * time.Second); return signin.TOTP(secret, o.Clock.Now()) }
		begin := func() *page {
			b.cookie = ""
			return b.get("/signin").send("/signin", "email", "ida@kanzlei.example", "password", password).want(200, `autocomplete="one-time-code"`, "Wiederherstellungscode", "30 Tage")
		}

		now := code()
		two := begin()
		two.send("/signin/second", "code", now[:3]+" "+now[3:], "trusted", "true").want(303)
		if b.cookie == "" {
			t.Fatal("no cookie after the second step")
		}
		b.get(security).want(200)
		two.send("/signin/second", "code", code()).want(404, "abgelaufen") // the ticket was used
		begin().send("/signin/second", "code", now).want(422, "stimmt nicht, oder er wurde schon verwendet")

		recover := begin()
		form := recover.fields("/signin/second")
		form.Del("code")
		form.Set("recoveryCode", strings.ToUpper(codes[0]))
		b.do("POST", "/signin/second", form).want(303)
		b.get(security).want(200, "noch 9 Codes")
		form = begin().fields("/signin/second")
		form.Set("recoveryCode", codes[0])
		b.do("POST", "/signin/second", form).want(422, "schon verwendet", `name="recoveryCode"`)
		b.cookie = ""

		fresh := begin().send("/signin/second", "code", code()).want(303)
		made := fresh.get(security).send(security + "/codes").want(200)
		if renewed := codeShown.FindAllString(made.Body, -1); len(renewed) != 10 || renewed[0] == codes[0] {
			t.Errorf("new codes: %q", renewed)
		}
		b.get(security).send(security + "/totp/remove").want(303)
		if got := b.get(security).want(200, "Nur Ihr Kennwort").Body; strings.Contains(got, "noch 10 Codes") {
			t.Error("codes without a second factor")
		}
	})
}

// TestSecretsAreShownOnceAndUncompressed looks at how pages with a secret are sent.
func TestSecretsAreShownOnceAndUncompressed(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b := invited(t, o, "ida@kanzlei.example")
		form := b.get(security).fields(security + "/totp")
		shown := b.do("POST", security+"/totp", form, "Accept-Encoding", "gzip").want(200, "<svg")
		if strings.Contains(shown.Body, "otpauth:") {
			t.Error("the page has the secret as an address")
		}
		_, codes := b.generate(o)
		for _, path := range []string{security, "/", "/settings/profile", security + "/password"} {
			for _, code := range codes {
				if strings.Contains(b.get(path).Body, code) {
					t.Errorf("%s shows a recovery code again", path)
				}
			}
		}
	})
}

// The secrets of keys, endpoints and applications are on one page, uncompressed, and
// neither on another one nor in the log.
func TestSecretsOfInterfaces(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b := open(t, o, access.Admin)
		service, err := o.Operator.CreateServiceAccount(t.Context(), settings.NewPrincipal{Organization: o.ID, Name: "Abgleich", Role: access.Member})
		if err != nil {
			t.Fatal(err)
		}
		const applications = "/settings/interfaces/applications"
		var shown []string
		secret := func(page, action string, of *regexp.Regexp, set ...string) *page {
			t.Helper()
			form := b.get(page).fields(action)
			for i := 0; i < len(set); i += 2 {
				form.Set(set[i], set[i+1])
			}
			made := b.do("POST", action, form, "Accept-Encoding", "gzip").want(200)
			if text := of.FindString(made.Body); text == "" || made.Header.Get("Content-Encoding") != "" {
				t.Errorf("%s: no secret, or a compressed page", action)
			} else {
				shown = append(shown, text)
			}
			return made
		}
		key := keyPath.FindString(secret(keysPath+"/new?env=test", keysPath+"/new", secrets).Body)
		secret(key, key+"/rotate", secrets)
		endpoint := webhookPath.FindString(secret(webhooksPath+"/new?env=test&name=CRM&types=*&url=https://crm.example.com/hook", webhooksPath+"/new", hookSecrets).Body)
		secret(endpoint, endpoint+"/rotate", hookSecrets)
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
		for _, path := range []string{keysPath, key, webhooksPath, endpoint, applications, "/settings/audit", "/settings/interfaces/requests", "/bell"} {
			pages += b.get(path).want(200).Body
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

// TestPasswordOnPages changes the password: the old one is asked for, and the other
// sessions end.
func TestPasswordOnPages(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b := invited(t, o, "ida@kanzlei.example")
		elsewhere := &browser{t: t, handler: b.handler}
		elsewhere.get("/signin").send("/signin", "email", "ida@kanzlei.example", "password", password).want(303)
		elsewhere.get("/contacts").want(200)
		const next = "fünf Wörter aus einem Sack"
		path := security + "/password"
		form := b.get(path).want(200, "alle anderen Sitzungen")
		form.send(path, "current", password, "password", next, "repeat", next+"!").want(422, "stimmen nicht überein")
		form.send(path, "current", "falsch geraten", "password", next, "repeat", next).want(422, "stimmt nicht")
		form.send(path, "password", next, "repeat", next).want(422)
		short := b.get(path).send(path, "current", password, "password", "kurz", "repeat", "kurz").want(422, "12")
		for _, typed := range []string{password, "kurz", next} {
			if strings.Contains(short.Body, html.EscapeString(typed)+`"`) {
				t.Errorf("the page sends %q back", typed)
			}
		}
		elsewhere.get("/contacts").want(200)
		changed := b.get(path).send(path, "current", password, "password", next, "repeat", next).want(303)
		b.get(changed.Location).want(200, "Alle anderen Sitzungen sind beendet")
		elsewhere.get("/contacts").want(303)
		elsewhere.get("/signin").send("/signin", "email", "ida@kanzlei.example", "password", password).want(401)
	})
}

// TestSessionsOnPages lists the sessions and the sign-ins, and ends some.
func TestSessionsOnPages(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b := invited(t, o, "ida@kanzlei.example")
		signIn := func() *browser {
			other := &browser{t: t, handler: b.handler}
			form := other.get("/signin").fields("/signin")
			form.Set("email", "ida@kanzlei.example")
			form.Set("password", password)
			other.do("POST", "/signin", form, "User-Agent", "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Safari/604.1").want(303)
			return other
		}
		phone, tablet := signIn(), signIn()
		b.get("/signin").want(303)
		stranger := &browser{t: t, handler: b.handler}
		stranger.get("/signin").send("/signin", "email", "ida@kanzlei.example", "password", "falsch").want(401)

		list := b.get(security).want(200, "Safari auf dem iPhone", "192.0.2.1", "diese Sitzung", "Abgelehnt")
		end := regexp.MustCompile(`action="(`+security+`/sessions/ses_[^"]+/end)"`).FindAllStringSubmatch(list.Body, -1)
		if len(end) != 2 {
			t.Fatalf("%d sessions can be ended\n%s", len(end), list.main())
		}
		list.send(end[0][1]).want(303)
		working := 0
		for _, other := range []*browser{phone, tablet} {
			if other.get("/contacts").Status == 200 {
				working++
			}
		}
		if working != 1 {
			t.Errorf("after one was ended, %d of two sessions work", working)
		}
		list.send(end[0][1]).want(303) // the same form counts once
		b.get(security).send(security + "/sessions/end").want(303)
		phone.get("/contacts").want(303)
		tablet.get("/contacts").want(303)
		b.get("/contacts").want(200)

		// Nobody ends the session of somebody else, and nobody sees their sign-ins.
		jan := invited(t, o, "jan@kanzlei.example")
		foreign := jan.get(security).want(200)
		if strings.Contains(foreign.main(), "iPhone") || strings.Contains(foreign.main(), "Abgelehnt") {
			t.Error("somebody sees the sessions of somebody else")
		}
	})
}

// TestActingOnPages lists what acts for an account, and ends it: one by one, and all.
func TestActingOnPages(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b := open(t, o, access.Admin)
		hook(b, "env=live&name=CRM&types=*&url=https://crm.example.com/hook")
		hook(b, "env=test&name=Fibu&types=*&url=https://fibu.example.com/hook")

		list := b.get(security+"/access").want(200, "diese Sitzung", "CRM", "https://crm.example.com/hook", "Fibu", "Sandbox · https://fibu.example.com/hook", "angelegt ")
		end := regexp.MustCompile(`action="(` + security + `/access/whe_[^"]+/end)"`).FindStringSubmatch(list.Body)
		if end == nil {
			t.Fatalf("no endpoint can be ended\n%s", list.main())
		}
		if got := list.send(end[1]).want(303); got.Location != security+"/access?done=ended" {
			t.Error(got.Location)
		}
		list.send(end[1]).want(303) // the same form counts once
		list = b.get(security+"/access").want(200, "Fibu")
		if strings.Contains(list.main(), "CRM") {
			t.Errorf("what was ended is still there\n%s", list.main())
		}
		if got := list.send(security + "/access/end").want(303); got.Location != security+"/access?done=endedAll" {
			t.Error(got.Location)
		}
		if got := b.get(security+"/access?done=endedAll").want(200, "Alles beendet."); strings.Contains(got.main(), "Fibu") {
			t.Errorf("what was ended is still there\n%s", got.main())
		}
	})
}

// TestConfirmFirst lets the sign-in grow old, and changes something that needs a
// recent one: the same form is sent after the password, with what was typed.
func TestConfirmFirst(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b := invited(t, o, "ida@kanzlei.example")
		before := b.cookie
		path := security + "/address"
		form := b.get(path).want(200)
		o.Clock.Advance(11 * time.Minute)
		asked := form.send(path, "email", "neu@kanzlei.example").want(403, "Anmeldung bestätigen", `type="password"`)
		if strings.Contains(asked.Body, `name="code"`) {
			t.Error("a code is asked for, but the account has no second factor")
		}
		wrong := asked.send("/confirm", "password", "falsch geraten").want(422, "stimmt nicht", "neu@kanzlei.example")
		done := wrong.send("/confirm", "password", password).want(303)
		if done.Location != security+"?done=address" {
			t.Errorf("after confirming: %s", done.Location)
		}
		if b.cookie == before {
			t.Error("the session has the same token after a step-up")
		}
		o.Linked("neu@kanzlei.example")
		old := &browser{t: t, handler: b.handler, cookie: before}
		old.get("/contacts").want(303)

		// Once fresh, no page asks.
		secret, _ := b.generate(o)
		o.Clock.Advance(11 * time.Minute)
		asked = b.get(security).send(security+"/codes").want(403, `name="code"`)
		asked.send("/confirm", "password", password).want(422)
		code := signin.TOTP(secret, o.Clock.Now())
		asked.send("/confirm", "password", password, "code", code).want(200, "nur jetzt")
		o.Clock.Advance(11 * time.Minute)
		b.get(security).send(security+"/codes").want(403).send("/confirm", "password", password, "code", code).want(422)

		// A script keeps the form, and asks in a dialog over the page.
		over := []string{"HX-Request", "true", "Kartei-Over", "1"}
		dialog := b.do("POST", security+"/codes", b.get(security).fields(security+"/codes"), script...).want(403, `id="over-title"`, `name="code"`)
		if dialog.Header.Get("Kartei-Dialog") == "" || strings.Contains(dialog.Body, "resume-") {
			t.Errorf("a script is asked with %v\n%s", dialog.Header, dialog.Body)
		}
		answers := dialog.fields("/confirm")
		answers.Set("password", "falsch")
		answers.Set("code", "123456")
		b.do("POST", "/confirm", answers, over...).want(422, "stimmt nicht", `id="over-title"`)
		o.Clock.Advance(time.Minute)
		answers.Set("password", password)
		answers.Set("code", signin.TOTP(secret, o.Clock.Now()))
		if got := b.do("POST", "/confirm", answers, over...).want(204); got.Header.Get("Kartei-Signed-In") == "" {
			t.Errorf("a script that confirmed gets %v", got.Header)
		}
		// The form that waits leads to a page of this site, and not to the confirmation itself.
		o.Clock.Advance(time.Minute)
		for _, action := range []string{"https://evil.example/", "//evil.example", "/confirm"} {
			form := b.get("/confirm").fields("/confirm")
			form.Set("resume-action", action)
			form.Set("password", password)
			o.Clock.Advance(31 * time.Second)
			form.Set("code", signin.TOTP(secret, o.Clock.Now()))
			if got := b.do("POST", "/confirm", form).want(303); got.Location != "/" {
				t.Errorf("%s leads to %s", action, got.Location)
			}
		}
	})
}

// passkey answers what a page asks a browser for.
func (p *page) options(path string, more ...string) (ticket string, options json.RawMessage) {
	p.t.Helper()
	form := url.Values{"form-token": {tokenOf.FindStringSubmatch(p.Body)[1]}}
	for i := 0; i < len(more); i += 2 {
		form.Set(more[i], more[i+1])
	}
	got := p.do("POST", path, form, "Accept", "application/json").want(200)
	var q struct {
		Ticket  string
		Options json.RawMessage
	}
	if err := json.Unmarshal([]byte(got.Body), &q); err != nil {
		p.t.Fatal(err)
	}
	return q.Ticket, q.Options
}

var tokenOf = regexp.MustCompile(`(?s)<main.*?name="form-token" value="([^"]+)"`)

// TestPasskeyOnPages adds a passkey, confirms with it, and signs in with it. A ticket
// serves once.
func TestPasskeyOnPages(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b := invited(t, o, "ida@kanzlei.example")
		device := passkeytest.New(t, "https://kartei.example", "kartei.example")
		device.Countless = true
		list := b.get(security).want(200)
		ticket, options := list.options(security + "/passkeys/options")
		made := list.send(security+"/passkeys", "name", "Telefon <b>", "passkey-ticket", ticket, "passkey-response", string(device.Create(options))).want(200, "nur jetzt")
		if len(codeShown.FindAllString(made.Body, -1)) != 10 {
			t.Error("the first second factor brings no recovery codes")
		}
		b.get(security).want(200, "Telefon &lt;b&gt;", "noch nicht verwendet")

		o.Clock.Advance(11 * time.Minute)
		stale := b.do("POST", security+"/passkeys/options", url.Values{"form-token": {tokenOf.FindStringSubmatch(b.get(security).Body)[1]}}, "Accept", "application/json")
		stale.want(403, `"confirm":true`)
		asked := b.get(security).send(security+"/codes").want(403, "Mit Passkey bestätigen")
		ticket, options = asked.options("/confirm/passkey")
		asked.send("/confirm", "passkey-ticket", ticket, "passkey-response", string(device.Get(options))).want(200, "nur jetzt")

		b.cookie = ""
		before := rows(t, d, "sign_in_tickets")
		door := b.get("/signin").want(200, `autocomplete="username webauthn"`)
		for range 3 {
			door.options("/signin/passkey/options")
		}
		if now := rows(t, d, "sign_in_tickets"); now != before {
			t.Errorf("asking for a passkey stores %d rows", now-before)
		}
		ticket, options = door.options("/signin/passkey/options")
		answer := string(device.Get(options))
		door.send("/signin/passkey", "passkey-ticket", ticket, "passkey-response", "{").want(401)
		door.send("/signin/passkey", "passkey-ticket", ticket+"A", "passkey-response", answer).want(404)
		door.send("/signin/passkey", "passkey-ticket", ticket, "passkey-response", answer).want(303)
		b.get(security).want(200, "zuletzt verwendet")
		b.cookie = ""
		door.send("/signin/passkey", "passkey-ticket", ticket, "passkey-response", answer).want(404)
		door.send("/signin/passkey", "passkey-ticket", ticket+"\n", "passkey-response", answer).want(404)

		ticket, options = door.options("/signin/passkey/options")
		answer = string(device.Get(options))
		o.Clock.Advance(11 * time.Minute)
		door.send("/signin/passkey", "passkey-ticket", ticket, "passkey-response", answer).want(404, "abgelaufen")
		ticket, options = door.options("/signin/passkey/options")
		door.send("/signin/passkey", "passkey-ticket", ticket, "passkey-response", string(device.Get(options))).want(303)
		remove := regexp.MustCompile(`action="([^"]+/passkeys/[^"]+/remove)"`).FindStringSubmatch(b.get(security).Body)
		b.get(security).send(remove[1]).want(303)
		b.get(security).want(200, "Nur Ihr Kennwort")
	})
}

func rows(t *testing.T, d db.DB, table string) (n int) {
	t.Helper()
	dbtest.Get(t, d, []any{&n}, `select count(*) from `+table)
	return n
}
