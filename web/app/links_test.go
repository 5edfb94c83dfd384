package app_test

import (
	"strings"
	"testing"
	"time"

	"kartei/access"
	"kartei/api/op"
	"kartei/people/account"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/test/operator"
	"kartei/test/pagetest"
)

// TestForgottenPassword checks that a person can set a new password by a link, once. Unknown
// addresses get the same response.
func TestForgottenPassword(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b := pagetest.Invited(t, o, "ida@kanzlei.example")
		signedIn := b.Cookie
		b.Cookie = ""
		known := b.Get("/signin/forgot").Want(200).Send("/signin/forgot", "email", "ida@kanzlei.example").Want(200, "Sehen Sie in Ihr Postfach")
		unknown := b.Get("/signin/forgot").Send("/signin/forgot", "email", "nobody@kanzlei.example").Want(200)
		if known.Text() != unknown.Text() {
			t.Errorf("an unknown address is answered differently:\n%s\n%s", known.Text(), unknown.Text())
		}
		b.Get("/signin/forgot").Send("/signin/forgot", "email", "").Want(422, `aria-invalid="true"`)

		const next = "fünf Wörter aus einem Sack"
		token := o.Linked("ida@kanzlei.example")
		page := b.Get("/reset").Want(200, "data-fragment", `autocomplete="new-password"`)
		page.Send("/reset", "token", token, "password", "kurz").Want(422, "12", token)
		if got := page.Send("/reset", "token", "https://kartei.example/reset#"+token, "password", next).Want(303); got.Location != "/signin?done=password&next=%2Fsettings%2Fsecurity%2Faccess" {
			t.Errorf("afterwards: %s", got.Location)
		}
		b.Get("/signin?done=password").Want(200, "Ihr Kennwort ist gesetzt")
		page.Send("/reset", "token", token, "password", next).Want(404, "gilt nicht mehr", `href="/signin/forgot"`)
		b.Cookie = signedIn
		b.Get("/contacts").Want(303)
		b.Cookie = ""
		b.Get("/signin").Send("/signin", "email", "ida@kanzlei.example", "password", pagetest.Password).Want(401)
		b.Get("/signin").Send("/signin", "email", "ida@kanzlei.example", "password", next).Want(303)

		// An expired link and an invalid token get the same response.
		b.Get("/signin/forgot").Send("/signin/forgot", "email", "ida@kanzlei.example").Want(200)
		old := o.Linked("ida@kanzlei.example")
		o.Clock.Advance(31 * time.Minute)
		page = b.Get("/reset")
		expired := page.Send("/reset", "token", old, "password", pagetest.Password).Want(404)
		for _, foreign := range []string{"", "x", strings.Repeat("A", 43), "https://evil.example/"} {
			if got := page.Send("/reset", "token", foreign, "password", pagetest.Password).Want(404); got.Text() != expired.Text() {
				t.Errorf("the token %q is answered differently", foreign)
			}
		}
	})
}

// TestLostFactors checks that a link removes the second factor after an admin has reset it.
func TestLostFactors(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b := pagetest.Invited(t, o, "ida@kanzlei.example")
		b.Generate(o)
		admin := o.As(access.Admin)
		var ida string
		dbtest.Get(t, d, []any{&ida}, `select id from principals where email = 'ida@kanzlei.example'`)
		token := o.Session(admin.Principal)
		pagetest.Do[account.FactorReset](t, o, token, "people.resetFactors", op.ByID{ID: ida})
		link := o.Linked("ida@kanzlei.example")
		if mails := o.Mailed(); !strings.Contains(mails[len(mails)-1].Text, "https://kartei.example/factors#"+link) {
			t.Errorf("the mail does not lead to /factors: %s", mails[len(mails)-1].Text)
		}
		page := b.Get("/factors").Want(200, `autocomplete="current-password"`)
		page.Send("/factors", "token", link, "password", "falsch geraten").Want(422, "stimmt nicht")
		page.Send("/factors", "token", link, "password", pagetest.Password).Want(303)
		b.Cookie = ""
		b.Get("/signin").Send("/signin", "email", "ida@kanzlei.example", "password", pagetest.Password).Want(303)
		b.Get(pagetest.Security).Want(200, "Nur Ihr Kennwort")
	})
}

// TestNewAddress checks that a new sign-in address takes effect only after the links to both
// addresses were used.
func TestNewAddress(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b := pagetest.Invited(t, o, "ida@kanzlei.example")
		path := pagetest.Security + "/address"
		b.Get(path).Send(path, "email", "keine").Want(422, `value="keine"`, `aria-invalid="true"`)
		started := b.Get(path).Send(path, "email", "ida@morgen.example").Want(303)
		b.Get(started.Location).Want(200, "An beide Adressen")
		first, second := o.Linked("ida@kanzlei.example"), o.Linked("ida@morgen.example")
		b.Get("/address").Send("/address", "token", first).Want(200, "Jetzt fehlt noch")
		b.Get(pagetest.Security).Want(200, "ida@kanzlei.example")
		b.Get("/address").Send("/address", "token", first).Want(404, "gilt nicht mehr")
		b.Get("/address").Send("/address", "token", second).Want(200, "Die neue Adresse gilt")
		b.Cookie = ""
		b.Get("/signin").Send("/signin", "email", "ida@kanzlei.example", "password", pagetest.Password).Want(401)
		b.Get("/signin").Send("/signin", "email", "ida@morgen.example", "password", pagetest.Password).Want(303)
	})
}

// TestSwitchOrganization checks that a person can switch the session to another organization of the
// account, and to no other.
func TestSwitchOrganization(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b := pagetest.Invited(t, o, "ida@kanzlei.example")
		if strings.Contains(b.Get("/").Body, `action="/switch"`) {
			t.Error("with one organization there is nothing to switch to")
		}
		other, _ := o.Organization("Notariat Abendrot")
		made, err := operator.Run(t.Context(), o.Operator, pagetest.InviteTo, pagetest.Invitation(other, "ida@kanzlei.example"))
		if err != nil {
			t.Fatal(err)
		}
		joined := b.Get("/invitation").Send("/invitation", "token", made.Token, "name", "Ida Abend").Want(303)
		if joined.Location != "/signin/choose" {
			t.Errorf("a person who is signed in and accepts comes to %s", joined.Location)
		}
		before := b.Cookie
		list := b.Get("/signin/choose").Want(200, "Notariat Abendrot", "Kanzlei Morgenstern", "gerade hier")
		list.Send("/switch").Want(303)
		if b.Cookie == before {
			t.Error("the session has the same token as another person")
		}
		b.Get("/").Want(200, "Ida Abend", "Notariat Abendrot", `action="/switch"`)
		form := list.Fields("/switch")
		form.Set("principalId", o.As(access.Admin).Principal) // another person's id
		b.Do("POST", "/switch", form).Want(422)
		b.Get("/").Want(200, "Ida Abend")
	})
}
