package office_test

import (
	"strings"
	"testing"
	"time"

	"kartei/access"
	"kartei/people/account"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/test/operator"
)

// TestForgottenPassword asks for a link, and sets a password by it, once.
func TestForgottenPassword(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b := invited(t, o, "ida@kanzlei.example")
		signedIn := b.cookie
		b.cookie = ""
		known := b.get("/signin/forgot").want(200).send("/signin/forgot", "email", "ida@kanzlei.example").want(200, "Sehen Sie in Ihr Postfach")
		unknown := b.get("/signin/forgot").send("/signin/forgot", "email", "nobody@kanzlei.example").want(200)
		if known.text() != unknown.text() {
			t.Errorf("an unknown address is answered differently:\n%s\n%s", known.text(), unknown.text())
		}
		b.get("/signin/forgot").send("/signin/forgot", "email", "").want(422, `aria-invalid="true"`)

		const next = "fünf Wörter aus einem Sack"
		token := o.Linked("ida@kanzlei.example")
		page := b.get("/reset").want(200, "data-fragment", `autocomplete="new-password"`)
		page.send("/reset", "token", token, "password", "kurz").want(422, "12", token)
		if got := page.send("/reset", "token", "https://kartei.example/reset#"+token, "password", next).want(303); got.Location != "/signin?done=password&next=%2Fsettings%2Fsecurity%2Faccess" {
			t.Errorf("afterwards: %s", got.Location)
		}
		b.get("/signin?done=password").want(200, "Ihr Kennwort ist gesetzt")
		page.send("/reset", "token", token, "password", next).want(404, "gilt nicht mehr", `href="/signin/forgot"`)
		b.cookie = signedIn
		b.get("/contacts").want(303)
		b.cookie = ""
		b.get("/signin").send("/signin", "email", "ida@kanzlei.example", "password", password).want(401)
		b.get("/signin").send("/signin", "email", "ida@kanzlei.example", "password", next).want(303)

		// An expired link, and one for something else, say the same.
		b.get("/signin/forgot").send("/signin/forgot", "email", "ida@kanzlei.example").want(200)
		old := o.Linked("ida@kanzlei.example")
		o.Clock.Advance(31 * time.Minute)
		page = b.get("/reset")
		expired := page.send("/reset", "token", old, "password", password).want(404)
		for _, foreign := range []string{"", "x", strings.Repeat("A", 43), "https://evil.example/"} {
			if got := page.send("/reset", "token", foreign, "password", password).want(404); got.text() != expired.text() {
				t.Errorf("the token %q is answered differently", foreign)
			}
		}
	})
}

// TestLostFactors follows the link that an admin causes.
func TestLostFactors(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b := invited(t, o, "ida@kanzlei.example")
		b.generate(o)
		admin := o.As(access.Admin)
		var ida string
		dbtest.Get(t, d, []any{&ida}, `select id from principals where email = 'ida@kanzlei.example'`)
		token := o.Session(admin.Principal)
		do[account.Lifted](t, o, token, "people.resetFactors", access.ByID{ID: ida})
		link := o.Linked("ida@kanzlei.example")
		if mails := o.Mailed(); !strings.Contains(mails[len(mails)-1].Text, "https://kartei.example/factors#"+link) {
			t.Errorf("the mail does not lead to /factors: %s", mails[len(mails)-1].Text)
		}
		page := b.get("/factors").want(200, `autocomplete="current-password"`)
		page.send("/factors", "token", link, "password", "falsch geraten").want(422, "stimmt nicht")
		page.send("/factors", "token", link, "password", password).want(303)
		b.cookie = ""
		b.get("/signin").send("/signin", "email", "ida@kanzlei.example", "password", password).want(303)
		b.get(security).want(200, "Nur Ihr Kennwort")
	})
}

// TestNewAddress changes the sign-in address by the links to both.
func TestNewAddress(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b := invited(t, o, "ida@kanzlei.example")
		path := security + "/address"
		b.get(path).send(path, "email", "keine").want(422, `value="keine"`, `aria-invalid="true"`)
		started := b.get(path).send(path, "email", "ida@morgen.example").want(303)
		b.get(started.Location).want(200, "An beide Adressen")
		first, second := o.Linked("ida@kanzlei.example"), o.Linked("ida@morgen.example")
		b.get("/address").send("/address", "token", first).want(200, "Jetzt fehlt noch")
		b.get(security).want(200, "ida@kanzlei.example")
		b.get("/address").send("/address", "token", first).want(404, "gilt nicht mehr")
		b.get("/address").send("/address", "token", second).want(200, "Die neue Adresse gilt")
		b.cookie = ""
		b.get("/signin").send("/signin", "email", "ida@kanzlei.example", "password", password).want(401)
		b.get("/signin").send("/signin", "email", "ida@morgen.example", "password", password).want(303)
	})
}

// TestSwitchOrganization goes on as another person of the same account.
func TestSwitchOrganization(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b := invited(t, o, "ida@kanzlei.example")
		if strings.Contains(b.get("/").Body, `action="/switch"`) {
			t.Error("with one organization there is nothing to switch to")
		}
		other, _ := o.Organization("Notariat Abendrot")
		made, err := operator.Run(t.Context(), o.Operator, inviteTo, invitation(other, "ida@kanzlei.example"))
		if err != nil {
			t.Fatal(err)
		}
		joined := b.get("/invitation").send("/invitation", "token", made.Token, "name", "Ida Abend").want(303)
		if joined.Location != "/signin/choose" {
			t.Errorf("a person who is signed in and accepts comes to %s", joined.Location)
		}
		before := b.cookie
		list := b.get("/signin/choose").want(200, "Notariat Abendrot", "Kanzlei Morgenstern", "gerade hier")
		list.send("/switch").want(303)
		if b.cookie == before {
			t.Error("the session has the same token as another person")
		}
		b.get("/").want(200, "Ida Abend", "Notariat Abendrot", `action="/switch"`)
		form := list.fields("/switch")
		form.Set("principalId", o.As(access.Admin).Principal) // somebody else's
		b.do("POST", "/switch", form).want(422)
		b.get("/").want(200, "Ida Abend")
	})
}
