package api_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"kartei/access"
	"kartei/api"
	"kartei/api/op"
	"kartei/kit/clock"
	"kartei/kit/i18n"
	"kartei/people/account"
	"kartei/people/identity"
	"kartei/people/invitation"
	"kartei/people/offboarding"
	"kartei/people/organization"
	"kartei/people/principal"
	"kartei/people/sso"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/test/operator"
	"kartei/test/ssotest"
)

// invite invites an address to the office, and returns the token of the invitation.
func invite(t *testing.T, o *apitest.Office, email string) string {
	t.Helper()
	made, err := operator.Run(t.Context(), o.Operator, invitation.Create, invitation.New{Organization: o.ID, Email: email})
	if err != nil {
		t.Fatal(err)
	}
	return made.Token
}

// claims returns a function that sets the claims of an ID token about a person.
func claims(sub, email string, verified bool) func(map[string]any) {
	return func(c map[string]any) { c["sub"], c["email"], c["email_verified"] = sub, email, verified }
}

// begin calls an operation that begins a sign-in at the provider.
func (v *visitor) begin(row string, in any) (l identity.Redirect) {
	v.Helper()
	v.ask(row, in, &l, 200)
	return l
}

// back returns what the browser brings back from the provider: the ticket, the state and the code.
func (v *visitor) back(f *ssotest.Forger, l identity.Redirect) identity.Return {
	v.Helper()
	at, err := url.Parse(l.Address)
	if err != nil || at.Query().Get("nonce") == "" {
		v.Fatalf("%q %v", l.Address, err)
	}
	f.Nonce = at.Query().Get("nonce")
	return identity.Return{Ticket: l.Ticket, Answer: sso.Answer{State: at.Query().Get("state"), Code: "c"}}
}

// bySSO returns a visitor who accepted an invitation by single sign-on. f becomes the provider of
// the office.
func bySSO(t *testing.T, o *apitest.Office, f *ssotest.Forger, name string) (*visitor, account.AcceptResult) {
	t.Helper()
	o.SignInBy(f.Client(t, o.Clock))
	email := name + "@example.com"
	f.Claims = claims("sub-"+name, email, true)
	v := visit(t, o)
	var a account.AcceptResult
	v.ask("signin.ssoAccept", v.back(f, v.begin("signin.ssoInvited", identity.Invitation{
		Token: invite(t, o, email), Name: "Ida Berg",
	})), &a, 200)
	v.token = a.Token
	return v, a
}

// link links the visitor's account with an identity at the provider f, which becomes the provider
// of the office.
func (v *visitor) link(f *ssotest.Forger, name string) {
	v.Helper()
	v.o.SignInBy(f.Client(v.T, v.o.Clock))
	f.Claims = claims("sub-"+name, name+"@example.com", true)
	v.unlinkAll()
	v.ask("factors.ssoLink", v.back(f, v.begin("factors.ssoBegin", struct{}{})), nil, 204)
}

func (v *visitor) unlinkAll() {
	v.Helper()
	for _, i := range v.identities() {
		v.ask("factors.ssoUnlink", op.ByID{ID: i.ID}, nil, 204)
	}
}

// inWords returns the text of a refusal as people read it. The body of a 401 does not have the
// text.
func inWords(r *api.Response) string {
	if r.Fault == nil || r.Fault.Detail == "" {
		return string(r.Body)
	}
	return r.Fault.Detail.In(i18n.German)
}

func (v *visitor) identities() []identity.Identity {
	v.Helper()
	var f account.Factors
	v.ask("factors.get", struct{}{}, &f, 200)
	return f.Identities
}

// signInBySSO signs in by single sign-on. It fails the test unless the call has the status want.
func (v *visitor) signInBySSO(f *ssotest.Forger, want int) (s account.SignedIn, body string) {
	v.Helper()
	got := v.ask("signin.sso", v.back(f, v.begin("signin.ssoBegin", identity.To{Next: "/contacts"})), nil, want)
	if want == 200 && json.Unmarshal(got.Body, &s) != nil {
		v.Fatalf("%s", got.Body)
	}
	v.token = s.Token
	return s, inWords(got) + string(got.Body)
}

// TestSSO checks the steps of a person with a real provider: invitation, sign-in, confirmation, and
// the end of the link.
func TestSSO(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		const callback = "https://kartei.example" + identity.ReturnPath
		p := ssotest.Start(t, callback)
		o.SignInBy(p.Client(callback))
		p.Add("ida@firma.example", true)
		v := visit(t, o)
		way := func(row string, in any) identity.Return {
			l := v.begin(row, in)
			return identity.Return{Ticket: l.Ticket, Answer: ssotest.Answer(p.SignIn(l.Address, "ida@firma.example"))}
		}
		var a account.AcceptResult
		v.ask("signin.ssoAccept", way("signin.ssoInvited",
			identity.Invitation{Token: invite(t, o, "Ida@Firma.example")}), &a, 200)
		v.token = a.Token
		if a.Status != "signedIn" || a.Name != "Ida Anbieter" || a.Email != "Ida@Firma.example" || !v.works() {
			t.Fatalf("%+v", a)
		}
		list := v.identities()
		if len(list) != 1 || list[0].Label != "ida@firma.example" || list[0].LinkedAt == 0 || list[0].LastUsedAt == 0 ||
			list[0].Former {
			t.Errorf("%+v", list)
		}
		v.ask("signin.out", struct{}{}, nil, 204)
		o.Clock.Advance(time.Hour)
		var s account.SignedIn
		v.ask("signin.sso", way("signin.ssoBegin", identity.To{Next: "/contacts?q=a"}), &s, 200)
		if v.token = s.Token; s.Next != "/contacts?q=a" || s.Status != "signedIn" || !v.works() {
			t.Errorf("%+v", s)
		}
		if again := v.identities()[0]; again.LastUsedAt <= list[0].LastUsedAt {
			t.Errorf("%+v after %+v", again, list[0])
		}
		var log op.Entries[account.Entry]
		if v.ask("signins.list", struct{}{}, &log, 200); len(log.Data) != 1 || log.Data[0].Agent != "Probebrowser/1.0" {
			// the sign-in of the invitation has its own entry
			t.Errorf("%+v", log)
		}

		// A confirmation asks the provider again, and the session gets a new token.
		o.Clock.Advance(access.SignInFresh)
		v.ask("factors.ssoBegin", struct{}{}, nil, 403)
		var r account.RefreshedSSO
		v.ask("session.ssoRefresh", way("session.ssoBegin", identity.To{Next: "/settings"}), &r, 200)
		if old := v.token; r.Token == "" || r.Token == old || r.Next != "/settings" || v.works() {
			t.Errorf("%+v", r)
		}
		v.token = r.Token

		// The only way to sign in cannot be removed.
		v.ask("factors.ssoUnlink", op.ByID{ID: list[0].ID}, nil, 403)
		v.ask("factors.password", account.NewPassword{Password: somePassword}, nil, 204)
		v.ask("factors.ssoUnlink", op.ByID{ID: list[0].ID}, nil, 204)
		v.ask("factors.ssoUnlink", op.ByID{ID: list[0].ID}, nil, 404)
		v.ask("signin.sso", way("signin.ssoBegin", identity.To{}), nil, 401)
		v.signIn("ida@firma.example", somePassword, "signedIn")
		p.Stop()
		v.ask("signin.sso", identity.Return{}, nil, 404)
		v.signIn("ida@firma.example", somePassword, "signedIn")
	})
}

var requestIDs = regexp.MustCompile(`req_[0-9a-z]+`)

// TestSSONeverByAddress signs in at the provider with the address of an account that has no link.
// It checks that the response equals the response for an unknown address.
func TestSSONeverByAddress(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		f := ssotest.Forge(t)
		o.SignInBy(f.Client(t, o.Clock))
		join(t, o, o.ID, "ida@example.com", access.Admin)
		id := func(s string) string { return requestIDs.ReplaceAllString(s, "") }
		f.Claims = claims("fremd", "ida@example.com", true)
		_, known := visit(t, o).signInBySSO(f, 401)
		f.Claims = claims("fremd", "niemand@example.com", true)
		_, unknown := visit(t, o).signInBySSO(f, 401)
		if id(known) != id(unknown) || !strings.Contains(known, "verbunden") {
			t.Errorf("%s\n%s", known, unknown)
		}
		if n := rowsOf(t, o, "identities"); n != 0 {
			t.Errorf("%d links", n)
		}
	})
}

func rowsOf(t *testing.T, o *apitest.Office, table string) (n int) {
	t.Helper()
	dbtest.Get(t, o.DB, []any{&n}, `select count(*) from `+table)
	return n
}

// TestSSOInvitation accepts invitations with missing or different claims from the provider.
func TestSSOInvitation(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		f := ssotest.Forge(t)
		o.SignInBy(f.Client(t, o.Clock))
		join(t, o, o.ID, "alt@example.com", access.Member)
		other, _ := o.Organization("Zweites Büro")
		f.Answer["userinfo"] = func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"sub":"a"}`))
		}
		for name, c := range map[string]struct {
			invited string
			claims  func(map[string]any)
			want    int
			says    string
		}{
			"an address that is not verified": {"a@example.com", claims("a", "a@example.com", false), 403, "bestätigt nicht"},
			"no address":                      {"a@example.com", claims("a", "", true), 403, "bestätigt nicht"},
			"another address": {
				"a@example.com", claims("a", "b@example.com", true), 403, "einer anderen Adresse",
			},
			"an address that looks the same": {
				"k@example.com", claims("a", "\u212a@example.com", true), 403, "einer anderen Adresse",
			},
			"an address with an account":     {"alt@example.com", claims("a", "alt@example.com", true), 403, "Kennwort an"},
			"the address, written otherwise": {"Neu@Example.com", claims("neu", "NEU@example.COM", true), 200, "signedIn"},
		} {
			organization := o.ID
			if c.invited == "alt@example.com" {
				organization = other
			}
			made, err := operator.Run(t.Context(), o.Operator, invitation.Create,
				invitation.New{Organization: organization, Email: c.invited})
			if err != nil {
				t.Fatal(err)
			}
			f.Claims = c.claims
			v := visit(t, o)
			got := v.ask("signin.ssoAccept", v.back(f,
				v.begin("signin.ssoInvited", identity.Invitation{Token: made.Token, Name: "Ida"})), nil, c.want)
			if !strings.Contains(inWords(got), c.says) {
				t.Errorf("%s: %s", name, got.Body)
			}
			if c.want == 200 {
				v.ask("signin.ssoInvited", identity.Invitation{Token: made.Token}, nil, 404)
			} else { // the invitation is still open
				v.begin("signin.ssoInvited", identity.Invitation{Token: made.Token})
			}
		}
		v := visit(t, o)
		v.ask("signin.ssoInvited", identity.Invitation{Token: "x"}, nil, 404)
		v.ask("signin.ssoInvited", identity.Invitation{Token: invite(t, o, "c@example.com"), Name: "a\x00b"}, nil, 422)

		// A link that an admin handed over does not prove the address. It links no account.
		f.Claims = claims("gegeben", "gegeben@example.com", true)
		handed := invite(t, o, "gegeben@example.com")
		dbtest.Run(t, o.DB, `update invitations set handed_over = true where email = 'gegeben@example.com'`)
		if got := v.ask("signin.ssoAccept", v.back(f,
			v.begin("signin.ssoInvited", identity.Invitation{Token: handed, Name: "Ida"})), nil,
			403); !strings.Contains(inWords(got), "kam nicht per E-Mail") {
			t.Errorf("%s", got.Body)
		}

		// A person with a linked account joins a second organization.
		f.Claims = claims("neu", "neu@example.com", true)
		made, err := operator.Run(t.Context(), o.Operator, invitation.Create,
			invitation.New{Organization: other, Email: "neu@example.com"})
		if err != nil {
			t.Fatal(err)
		}
		var a account.AcceptResult
		v.ask("signin.ssoAccept", v.back(f, v.begin("signin.ssoInvited",
			identity.Invitation{Token: made.Token, Name: "Ida"})), &a, 200)
		if v.token = a.Token; a.Person == nil || a.Person.OrganizationID != other || !v.works() {
			t.Errorf("%+v", a)
		}
		if s, _ := v.signInBySSO(f, 200); s.Status != "choose" || len(s.Persons) != 2 {
			t.Errorf("%+v", s)
		} else {
			v.ask("signin.choose", account.Choice{Ticket: s.Ticket, Principal: a.ID}, &s, 200)
			if v.token = s.Token; !v.works() {
				t.Error("no session after the choice")
			}
		}
	})
}

// changed returns a ticket with another character in its middle. All bits of that character are
// part of the encoded data.
func changed(ticket string) string {
	b := []byte(ticket)
	at := len(b) / 2
	if b[at] != 'A' {
		b[at] = 'A'
	} else {
		b[at] = 'B'
	}
	return string(b)
}

// TestSSOWays tries invalid returns from the provider: with a changed ticket, with the state or
// kind of another sign-in, used, or expired.
func TestSSOWays(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		f := ssotest.Forge(t)
		v, _ := bySSO(t, o, f, "ida")
		mine := v.back(f, v.begin("signin.ssoBegin", identity.To{}))
		other := v.back(f, v.begin("signin.ssoBegin", identity.To{}))
		confirm := v.back(f, v.begin("session.ssoBegin", identity.To{}))
		asked := f.Asked("token")
		for name, in := range map[string]identity.Return{
			"nothing":                   {},
			"no ticket":                 {Answer: mine.Answer},
			"another state":             {Ticket: mine.Ticket, Answer: other.Answer},
			"no state":                  {Ticket: mine.Ticket, Answer: sso.Answer{Code: "c"}},
			"a changed ticket":          {Ticket: changed(mine.Ticket), Answer: mine.Answer},
			"a ticket of another kind":  confirm,
			"a ticket with a line end":  {Ticket: mine.Ticket + "\n", Answer: sso.Answer{State: "x", Code: "c"}},
			"a refusal for another one": {Ticket: mine.Ticket, Answer: sso.Answer{State: other.State, Error: "access_denied"}},
		} {
			if got := v.ask("signin.sso", in, nil, 404); !strings.Contains(string(got.Body), "abgelaufen") {
				t.Errorf("%s: %s", name, got.Body)
			}
		}
		if n := f.Asked("token") - asked; n != 0 {
			t.Errorf("the provider was asked %d times", n)
		}
		f.Nonce = nonceOf(v, f)
		v.ask("signin.sso", mine, nil, 401) // the ID token has the nonce of another sign-in
		v.ask("signin.sso", mine, nil, 404) // a ticket works once, even if the sign-in fails
		mine.Ticket += "\n"                 // another text of the same ticket
		v.ask("signin.sso", mine, nil, 404)

		denied := v.back(f, v.begin("signin.ssoBegin", identity.To{}))
		denied.Code, denied.Error = "", "access_denied"
		if got := v.ask("signin.sso", denied, nil, 401); !strings.Contains(inWords(got), "abgebrochen") {
			t.Errorf("%s", got.Body)
		}
		foreign := v.back(f, v.begin("signin.ssoBegin", identity.To{}))
		foreign.Issuer = "https://evil.example"
		v.ask("signin.sso", foreign, nil, 401)

		late := v.back(f, v.begin("signin.ssoBegin", identity.To{}))
		o.Clock.Advance(10 * time.Minute)
		v.ask("signin.sso", late, nil, 404)
		if s, _ := v.signInBySSO(f, 200); s.Status != "signedIn" {
			t.Errorf("%+v", s)
		}
	})
}

// nonceOf begins another sign-in, and returns its nonce.
func nonceOf(v *visitor, f *ssotest.Forger) string {
	v.Helper()
	v.back(f, v.begin("signin.ssoBegin", identity.To{}))
	return f.Nonce
}

// TestSSOLink links accounts with identities at the provider. An account has at most one identity,
// and an identity at most one account. A sign-in at the provider that another session began links
// nothing.
func TestSSOLink(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		f := ssotest.Forge(t)
		o.SignInBy(f.Client(t, o.Clock))
		ida, _ := join(t, o, o.ID, "ida@example.com", access.Member)
		jan, _ := join(t, o, o.ID, "jan@example.com", access.Member)
		begin := func(v *visitor) identity.Return { return v.back(f, v.begin("factors.ssoBegin", struct{}{})) }

		f.Claims = claims("boese", "boese@evil.example", true)
		attack := begin(jan)
		ida.ask("factors.ssoLink", attack, nil, 404) // the ticket of an attacker, in the browser of another person
		if len(ida.identities()) != 0 {
			t.Fatal("an identity of somebody else is linked")
		}
		phone := visit(t, o)
		phone.signIn("ida@example.com", somePassword, "signedIn")

		f.Claims = claims("ida", "andere@example.com", false) // the address need not match, because the person is signed in
		two := []identity.Return{begin(ida), begin(ida)}
		f.Nonce = ""
		ida.ask("factors.ssoLink", two[0], nil, 403)
		ida.link(f, "ida")
		if phone.works() {
			t.Error("other sessions go on after a link")
		}
		if got := ida.ask("factors.ssoBegin", struct{}{}, nil, 403); !strings.Contains(string(got.Body), "schon verbunden") {
			t.Errorf("%s", got.Body)
		}
		f.Claims = claims("sub-ida", "jan@example.com", true)
		if got := jan.ask("factors.ssoLink", begin(jan), nil,
			403); !strings.Contains(string(got.Body), "anderen Konto verbunden") || len(jan.identities()) != 0 {
			t.Errorf("%s", got.Body)
		}
		id := ida.identities()[0].ID
		jan.ask("factors.ssoUnlink", op.ByID{ID: id}, nil, 404)

		linked := func() (names []string) {
			var people op.Entries[access.PrincipalInfo]
			if got := ask(t, o, api.Admin, api.Local(), "people.list",
				op.Page{Organization: o.ID}); json.Unmarshal(got.Body, &people) != nil {
				t.Fatalf("%s", got.Body)
			}
			for _, p := range people.Data {
				if p.SignIn == nil || p.SignIn.SSO && p.SignIn.LastSeenAt == 0 {
					t.Errorf("%+v", p.SignIn)
				} else if p.SignIn.SSO {
					names = append(names, p.Email)
				}
			}
			return names
		}
		if got := linked(); !slices.Equal(got, []string{"ida@example.com"}) {
			t.Errorf("linked: %v", got)
		}

		// With another provider, the link to the former provider is still shown, and can be
		// removed.
		g := ssotest.Forge(t)
		o.SignInBy(g.Client(t, o.Clock))
		if got := linked(); len(got) > 0 {
			t.Errorf("linked with the former provider: %v", got)
		}
		if list := ida.identities(); len(list) != 1 || !list[0].Former {
			t.Errorf("%+v", list)
		}
		g.Claims = claims("sub-ida", "ida@example.com", true)
		visit(t, o).signInBySSO(g, 401) // the same subject at another issuer
		ida.ask("factors.ssoLink", ida.back(g, ida.begin("factors.ssoBegin", struct{}{})), nil, 204)
		if len(ida.identities()) != 2 {
			t.Errorf("%+v", ida.identities())
		}
		ida.ask("factors.ssoUnlink", op.ByID{ID: id}, nil, 204)
		o.SignInBy(nil)
		ida.ask("factors.ssoBegin", struct{}{}, nil, 404)
		visit(t, o).ask("signin.ssoBegin", identity.To{}, nil, 404)
	})
}

// TestSSOConfirm confirms sessions by single sign-on. It checks that this works only in the session
// that began it, for the same person, and if the provider authenticated the person again.
func TestSSOConfirm(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		f := ssotest.Forge(t)
		v, _ := bySSO(t, o, f, "ida")
		ok := f.Claims
		begin := func() identity.Return { return v.back(f, v.begin("session.ssoBegin", identity.To{})) }
		o.Clock.Advance(access.SignInFresh)
		for name, c := range map[string]struct {
			claims func(map[string]any)
			says   string
		}{
			"somebody else": {claims("jan", "ida@example.com", true), "jemand anders"},
			"an old sign-in": {
				func(c map[string]any) { ok(c); c["auth_time"] = o.Clock.Now().Add(-time.Hour).Unix() },
				"nicht noch einmal",
			},
			"an unknown time": {func(c map[string]any) { ok(c); delete(c, "auth_time") }, "Kennwort vergessen"},
			"the future": {
				func(c map[string]any) { ok(c); c["auth_time"] = o.Clock.Now().Add(time.Hour).Unix() },
				"Kennwort vergessen",
			},
			"absurd":           {func(c map[string]any) { ok(c); c["auth_time"] = 1e300 }, "Kennwort vergessen"},
			"another nonce":    {func(c map[string]any) { ok(c); c["nonce"] = "x" }, "ungültig"},
			"another audience": {func(c map[string]any) { ok(c); c["aud"] = "x" }, "ungültig"},
		} {
			in := begin()
			f.Claims = c.claims
			if got := v.ask("session.ssoRefresh", in, nil, 403); !strings.Contains(string(got.Body), c.says) {
				t.Errorf("%s: %s", name, got.Body)
			}
		}
		f.Claims = ok
		in := begin()
		late := o.Clock.Now().Add(-30 * time.Second).Unix()
		o.Clock.Advance(access.SignInFresh - 30*time.Second)
		f.Claims = func(c map[string]any) { ok(c); c["auth_time"] = late }
		if got := v.ask("session.ssoRefresh", in, nil, 403); !strings.Contains(string(got.Body), "nicht noch einmal") {
			t.Errorf("a late return: %s", got.Body)
		}
		f.Claims = ok
		in = begin()
		jan, _ := join(t, o, o.ID, "jan@example.com", access.Member)
		jan.ask("session.ssoRefresh", in, nil, 404) // in the browser of another person
		f.Answer["token"] = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }
		if got := v.ask("session.ssoRefresh", begin(), nil, 502); !strings.Contains(string(got.Body), "antwortet nicht") {
			t.Errorf("%s", got.Body)
		}
		delete(f.Answer, "token")
		var r account.RefreshedSSO
		v.ask("session.ssoRefresh", begin(), &r, 200)
		v.token = r.Token
		v.ask("factors.password", account.NewPassword{Password: somePassword}, nil, 204)
		jan.ask("session.ssoBegin", identity.To{}, nil, 403)
	})
}

// TestSSOIsAsRecentAsItsProof checks the claim auth_time, the time at which the provider
// authenticated the person. The sign-in counts as recent for a while from this time on, and not at
// all if the claim is missing. Without the claim, a confirmation needs a password.
func TestSSOIsAsRecentAsItsProof(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		f := ssotest.Forge(t)
		v, _ := bySSO(t, o, f, "ida")
		ok, now := f.Claims, o.Clock.Now()
		at := func(value any) func(map[string]any) {
			return func(c map[string]any) { ok(c); c["auth_time"] = value }
		}
		missing := func(c map[string]any) { ok(c); delete(c, "auth_time") }
		for name, c := range map[string]struct {
			claims func(map[string]any)
			left   time.Duration
		}{
			"now":               {at(now.Unix()), access.SignInFresh},
			"nine minutes ago":  {at(now.Add(-9 * time.Minute).Unix()), time.Minute},
			"a day ago":         {at(now.Add(-24 * time.Hour).Unix()), 0},
			"unknown":           {missing, 0},
			"in an hour":        {at(now.Add(time.Hour).Unix()), 0},
			"a clock ahead":     {at(now.Add(30 * time.Second).Unix()), access.SignInFresh},
			"in milliseconds":   {at(now.UnixMilli()), 0},
			"no number":         {at("gestern"), 0},
			"beyond any number": {at(1e300), 0},
			"before all":        {at(-1e300), 0},
		} {
			f.Claims = c.claims
			if v.signInBySSO(f, 200); v.token == "" {
				t.Fatal(name)
			}
			var s account.Session
			v.ask("session.get", struct{}{}, &s, 200)
			if left := max(s.FreshUntil.Sub(clock.FromTime(now)), 0); left != c.left {
				t.Errorf("%s: recent for %s, want %s", name, left, c.left)
			}
			want := 200
			if c.left == 0 {
				want = 403
			}
			v.ask("factors.passkeyOptions", struct{}{}, nil, want)
		}

		f.Claims = missing
		v.signInBySSO(f, 200)
		l := v.begin("session.ssoBegin", identity.To{})
		if !strings.Contains(l.Address, "max_age=0") || !strings.Contains(l.Address, "prompt=login") {
			t.Errorf("the provider need not ask again: %s", l.Address)
		}
		if got := v.ask("session.ssoRefresh", v.back(f, l), nil,
			403); !strings.Contains(string(got.Body), "Kennwort vergessen") ||
			strings.Contains(string(got.Body), "melden Sie sich ab") {
			t.Errorf("%s", got.Body)
		}
		v.ask("signin.forgot", account.ForgotInput{Email: "ida@example.com"}, nil, 204)
		v.ask("signin.reset", account.NewByLink{Token: o.Linked("ida@example.com"), Password: somePassword}, nil, 204)
		v.signInBySSO(f, 200)
		v.ask("factors.passkeyOptions", struct{}{}, nil, 403)
		var r account.Renewal
		v.ask("session.refresh", map[string]any{"password": somePassword}, &r, 200)
		v.token = r.Token
		v.ask("factors.passkeyOptions", struct{}{}, nil, 200)

		// The choice of an organization makes a sign-in no more recent.
		other, _ := o.Organization("Zweites Büro")
		join(t, o, other, "ida@example.com", access.Member)
		f.Claims = at(now.Add(-24 * time.Hour).Unix())
		s, _ := v.signInBySSO(f, 200)
		v.ask("signin.choose", account.Choice{Ticket: s.Ticket, Principal: s.Persons[0].ID}, &s, 200)
		v.token = s.Token
		v.ask("factors.passkeyOptions", struct{}{}, nil, 403)
	})
}

// TestSSOOfADayAgo signs in at a real provider that authenticated the person a day ago.
func TestSSOOfADayAgo(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		const callback = "https://kartei.example" + identity.ReturnPath
		p := ssotest.Start(t, callback)
		o.SignInBy(p.Client(callback))
		p.Add("ida@firma.example", true)
		o.Clock.Advance(max(time.Since(o.Clock.Now()), 0) + 24*time.Hour)
		v := visit(t, o)
		way := func(row string, in any) identity.Return {
			l := v.begin(row, in)
			return identity.Return{Ticket: l.Ticket, Answer: ssotest.Answer(p.SignIn(l.Address, "ida@firma.example"))}
		}
		var a account.AcceptResult
		v.ask("signin.ssoAccept", way("signin.ssoInvited",
			identity.Invitation{Token: invite(t, o, "Ida@Firma.example")}), &a, 200)
		v.token = a.Token
		v.ask("factors.passkeyOptions", struct{}{}, nil, 403)
		v.ask("session.ssoRefresh", way("session.ssoBegin", identity.To{}), nil, 403)
		v.token = ""
		var s account.SignedIn
		v.ask("signin.sso", way("signin.ssoBegin", identity.To{}), &s, 200)
		v.token = s.Token
		v.ask("factors.passkeyOptions", struct{}{}, nil, 403)
	})
}

// TestSSOEnds disables, unlinks and erases a person. It checks that single sign-on is refused after
// each of these. It works again after the person is enabled or linked again.
func TestSSOEnds(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		f := ssotest.Forge(t)
		v, a := bySSO(t, o, f, "ida")
		yes, no := true, false
		set := func(disabled *bool) {
			t.Helper()
			if _, err := o.Operator.SetUser(t.Context(), principal.Change{ID: a.ID, Disabled: disabled}); err != nil {
				t.Fatal(err)
			}
		}
		set(&yes)
		v.signInBySSO(f, 403)
		set(&no)
		v.signInBySSO(f, 200)

		var l account.FactorReset
		got := ask(t, o, api.Admin, api.Local(), "people.unlink", op.ByID{ID: a.ID})
		if got.Status != 200 || json.Unmarshal(got.Body, &l) != nil || l.Token == "" || v.works() {
			t.Fatalf("%d %s", got.Status, got.Body)
		}
		if got := ask(t, o, api.Admin, api.Local(), "people.unlink", op.ByID{ID: a.ID}); got.Status != 403 {
			t.Errorf("%d %s", got.Status, got.Body)
		}
		v.signInBySSO(f, 401)
		v.ask("signin.reset", account.NewByLink{Token: l.Token, Password: somePassword}, nil, 204)
		v.signIn("ida@example.com", somePassword, "signedIn")
		v.link(f, "ida")
		v.signInBySSO(f, 200)
		if got := ask(t, o, api.Admin, api.Local(), "people.erase", op.ByID{ID: a.ID}); got.Fault != nil {
			t.Fatalf("%s", got.Body)
		}
		if n := rowsOf(t, o, "identities"); n != 0 {
			t.Errorf("%d links of an erased person", n)
		}
		v.signInBySSO(f, 401)
	})
}

// TestSSOAway checks that a sign-in fails with 502 if the provider is not reachable. The reason is
// logged without secrets.
func TestSSOAway(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		f := ssotest.Forge(t)
		o.SignInBy(f.Client(t, o.Clock))
		f.Close()
		v := visit(t, o)
		if got := v.ask("signin.ssoBegin", identity.To{}, nil,
			502); !strings.Contains(string(got.Body), "Kennwort oder Passkey") {
			t.Errorf("%s", got.Body)
		}
		log := o.Logged.String()
		if !strings.Contains(log, "single sign-on failed") || strings.Contains(log, ssotest.Secret) {
			t.Errorf("%s", log)
		}
	})
}

// TestPasswordsOff switches passwords off for one of two organizations. It checks that a single
// admin, for emergencies, may still sign in with a password.
func TestPasswordsOff(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		f := ssotest.Forge(t)
		boss, chief := join(t, o, o.ID, "boss@example.com", access.Admin)
		ida, a := join(t, o, o.ID, "ida@example.com", access.Member)
		other, _ := o.Organization("Zweites Büro")
		_, second := join(t, o, other, "ida@example.com", access.Member)
		on, off, nobody := "on", "off", ""
		set := func(v *visitor, passwords, admin *string, want int) {
			t.Helper()
			v.ask("organizations.set", organization.Change{Passwords: passwords, PasswordAdmin: admin}, nil, want)
		}
		set(boss, &off, nil, 422) // there is no provider
		o.SignInBy(f.Client(t, o.Clock))
		set(boss, &off, nil, 422)   // there is no way left to sign in
		set(boss, &off, &a.ID, 422) // the person is no admin
		set(ida, &off, &chief.ID, 403)
		set(boss, &off, &chief.ID, 200)
		if ida.works() || !boss.works() {
			t.Error("sessions that began by a password: those of others end, that of the caller stays")
		}

		s := ida.signIn("ida@example.com", somePassword, "choose")
		if got := ida.ask("signin.choose", account.Choice{Ticket: s.Ticket, Principal: a.ID}, nil,
			403); !strings.Contains(string(got.Body), "ausgeschaltet") {
			t.Errorf("%s", got.Body)
		}
		ida.ask("signin.choose", account.Choice{Ticket: s.Ticket, Principal: second.ID}, &s, 200)
		ida.token = s.Token
		ida.ask("session.switch", account.SwitchInput{Principal: a.ID}, nil, 403)
		ida.link(f, "ida")
		s, _ = ida.signInBySSO(f, 200)
		ida.ask("signin.choose", account.Choice{Ticket: s.Ticket, Principal: second.ID}, &s, 200)
		ida.token = s.Token
		var moved account.SignedIn
		ida.ask("session.switch", account.SwitchInput{Principal: a.ID}, &moved, 200)
		visit(t, o).signIn("boss@example.com", somePassword, "signedIn")

		// People who are invited now need the provider or a passkey. A refused call leaves the
		// invitation open.
		token := invite(t, o, "neu@example.com")
		visit(t, o).ask("invitations.accept", account.Acceptance{Token: token, Name: "Neu", Password: somePassword}, nil, 403)
		visit(t, o).begin("signin.ssoInvited", identity.Invitation{Token: token})

		// If an admin is linked, no admin for emergencies is needed. Without a provider, passwords
		// still work.
		set(boss, nil, &nobody, 422)
		boss.link(f, "boss")
		set(boss, nil, &nobody, 200)
		visit(t, o).ask("signin.password", account.PasswordInput{Email: "boss@example.com", Password: somePassword}, nil, 403)
		o.SignInBy(nil)
		visit(t, o).signIn("boss@example.com", somePassword, "signedIn")
		o.SignInBy(f.Client(t, o.Clock))
		set(boss, &on, nil, 200)
		visit(t, o).signIn("boss@example.com", somePassword, "signedIn")
	})
}

// TestPasswordAdminLeaves demotes, disables and erases the admin for emergencies. It checks that
// only the operator may do this if no other admin is linked.
func TestPasswordAdminLeaves(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		f := ssotest.Forge(t)
		o.SignInBy(f.Client(t, o.Clock))
		boss, _ := join(t, o, o.ID, "boss@example.com", access.Admin)
		heir := joined(t, o)
		off, member, viewer, yes := "off", access.Member, access.Viewer, true
		admin := func() string {
			t.Helper()
			var is access.OrganizationInfo
			boss.ask("organizations.get", struct{}{}, &is, 200)
			return is.PasswordAdmin
		}
		name := func(email string) string {
			t.Helper()
			_, chief := join(t, o, o.ID, email, access.Admin)
			boss.ask("organizations.set", organization.Change{Passwords: &off, PasswordAdmin: &chief.ID}, nil, 200)
			return chief.ID
		}
		on := func() {
			t.Helper()
			on := "on"
			boss.ask("organizations.set", organization.Change{Passwords: &on}, nil, 200)
		}
		leaves := func(chief string, want int) map[string]func() {
			ask := func(row string, in any) func() { return func() { boss.ask(row, in, nil, want) } }
			return map[string]func(){
				"demoted":     ask("people.set", principal.Change{ID: chief, Role: &member}),
				"disabled":    ask("people.set", principal.Change{ID: chief, Disabled: &yes}),
				"handed over": ask("people.handOver", offboarding.HandOverInput{ID: chief, To: heir, Disable: true}),
				"erased":      ask("people.erase", op.ByID{ID: chief}),
			}
		}
		chief := name("chief@example.com")
		for how, leave := range leaves(chief, 403) {
			if leave(); admin() != chief {
				t.Errorf("%s: another admin for emergencies: %q", how, admin())
			}
		}
		if _, err := o.Operator.SetUser(t.Context(), principal.Change{ID: chief, Role: &viewer}); err != nil ||
			admin() != "" {
			t.Errorf("the operator: %v %q", err, admin())
		}
		on()

		// The exception for emergencies needs the role admin, even if the organization still names
		// the person. Passwords can be switched on again without this admin.
		chief = name("chief2@example.com")
		visit(t, o).signIn("chief2@example.com", somePassword, "signedIn")
		err := o.DB.Write(t.Context(), func(tx db.Tx) error {
			_, err := tx.Exec(t.Context(), `update principals set role = 'member' where id = $1`, chief)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		visit(t, o).ask("signin.password", account.PasswordInput{Email: "chief2@example.com", Password: somePassword},
			nil, 403)
		if on(); admin() != "" {
			t.Errorf("an admin for emergencies while passwords are on: %q", admin())
		}

		boss.link(f, "boss")
		for how := range leaves("", 200) {
			chief := name(how[:2] + "@example.com")
			if leaves(chief, 200)[how](); admin() != "" {
				t.Errorf("%s: still the admin for emergencies", how)
			}
			on()
		}
	})
}

// TestLastWayWithoutPasswords checks that a password does not count as the last way to sign in
// where passwords are off.
func TestLastWayWithoutPasswords(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		f := ssotest.Forge(t)
		o.SignInBy(f.Client(t, o.Clock))
		boss, chief := join(t, o, o.ID, "boss@example.com", access.Admin)
		ida, _ := join(t, o, o.ID, "ida@example.com", access.Member)
		ida.link(f, "ida")
		ida.signInBySSO(f, 200)
		off := "off"
		boss.ask("organizations.set", organization.Change{Passwords: &off, PasswordAdmin: &chief.ID}, nil, 200)
		link := op.ByID{ID: ida.identities()[0].ID}
		ida.ask("factors.ssoUnlink", link, nil, 403)
		phone := device(t)
		p := ida.addPasskey(phone)
		ida.ask("factors.ssoUnlink", link, nil, 204)
		if ida.works() {
			t.Error("a session that began by a link that is gone opens an organization without passwords")
		}
		var s account.SignedIn
		ida.ask("signin.passkey", ida.usePasskey(phone), &s, 200)
		ida.token = s.Token
		ida.ask("factors.passkeyRemove", account.ByID{ID: p.ID}, nil, 403)
	})
}

// TestUnlinkedSession checks that single sign-on replaces the second factor only while the account
// is linked.
func TestUnlinkedSession(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		f := ssotest.Forge(t)
		ida, _ := bySSO(t, o, f, "ida")
		required := "required"
		if _, err := o.Operator.SetOrganization(t.Context(), organization.Change{
			ID: o.ID, SecondFactor: &required,
		}); err != nil {
			t.Fatal(err)
		}
		o.Clock.Advance(8 * 24 * time.Hour)
		ida.signInBySSO(f, 200)
		ida.ask("factors.password", account.NewPassword{Password: somePassword}, nil, 204)
		ida.ask("names.find", struct{}{}, nil, 200)
		ida.ask("factors.ssoUnlink", op.ByID{ID: ida.identities()[0].ID}, nil, 204)
		ida.ask("names.find", struct{}{}, nil, 403)
		if !ida.works() {
			t.Error("the session ended, and the person can set up no factor")
		}
	})
}
