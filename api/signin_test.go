package api_test

import (
	"cmp"
	"encoding/base32"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"kartei/access"
	"kartei/api"
	"kartei/api/op"
	"kartei/people/account"
	"kartei/people/audit"
	"kartei/people/auditlog"
	"kartei/people/identity"
	"kartei/people/invitation"
	"kartei/people/notify"
	"kartei/people/passkey"
	"kartei/people/principal"
	"kartei/people/profile"
	"kartei/people/signin"
	"kartei/store/db"
	"kartei/store/schema"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/test/operator"
	"kartei/test/passkeytest"
	"kartei/test/ssotest"
)

const somePassword = "vier Woerter aus dem Sack"

// visitor is a person with a browser. The person may be signed in.
type visitor struct {
	*testing.T
	o     *apitest.Office
	token string
	from  string
	agent string
	// device is the content of the cookie by which accounts know the browser.
	device string
}

func visit(t *testing.T, o *apitest.Office) *visitor {
	return &visitor{T: t, o: o, from: "198.51.100.7", agent: "Probebrowser/1.0"}
}

// send calls an unpublished operation.
func (v *visitor) send(row string, in any) *api.Response {
	v.Helper()
	body, err := json.Marshal(in)
	if err != nil {
		v.Fatal(err)
	}
	return v.o.API.Do(v.Context(), &api.Request{
		Operation: api.ByID(row), Door: api.Web, Credential: api.Cookie(v.token, false),
		Address: netip.MustParseAddr(v.from), Device: v.device,
		Header: map[string][]string{"User-Agent": {v.agent}}, HasBody: true,
		Body: func() ([]byte, error) { return body, nil },
	}, nil)
}

// ask calls an unpublished operation and decodes the response into out. It fails the test unless
// the status is want.
func (v *visitor) ask(row string, in, out any, want int) *api.Response {
	v.Helper()
	got := v.send(row, in)
	if got.Status != want {
		v.Fatalf("%s: %d %s, want %d", row, got.Status, got.Body, want)
	}
	if out != nil && len(got.Body) > 0 {
		if err := json.Unmarshal(got.Body, out); err != nil {
			v.Fatal(err)
		}
	}
	return got
}

// signIn signs in by password. It fails the test unless the result has the status: signedIn, or the
// next step.
func (v *visitor) signIn(email, password, status string) (s account.SignedIn) {
	v.Helper()
	v.ask("signin.password", account.PasswordInput{Email: email, Password: password}, &s, 200)
	if s.Status != status || (s.Token != "") != (status == "signedIn") || (s.Ticket == "") != (status == "signedIn") {
		v.Fatalf("%+v, want %s", s, status)
	}
	v.token, v.device = s.Token, cmp.Or(s.Device, v.device)
	return s
}

func (v *visitor) works() bool {
	v.Helper()
	return ask(v.T, v.o, api.Web, api.Cookie(v.token, false), "session.get", struct{}{}).Status == 200
}

// join invites an address to an organization, accepts the invitation in a new browser, and returns
// the visitor.
func join(
	t *testing.T, o *apitest.Office, organization, email string, role access.Role,
) (*visitor, account.AcceptResult) {
	t.Helper()
	made, err := operator.Run(t.Context(), o.Operator, invitation.Create,
		invitation.New{Organization: organization, Email: email, Role: role})
	if err != nil {
		t.Fatal(err)
	}
	v := visit(t, o)
	var a account.AcceptResult
	v.ask("invitations.accept", account.Acceptance{Token: made.Token, Name: "Ida Berg", Password: somePassword}, &a, 200)
	v.token, v.device = a.Token, a.Device
	return v, a
}

// joined creates a person with an account, and returns the person's id.
func joined(t *testing.T, o *apitest.Office) string {
	_, a := join(t, o, o.ID, apitest.Fresh()+"@example.com", access.Member)
	return a.ID
}

// generate sets up TOTP, and returns its secret and the recovery codes.
func (v *visitor) generate() (secret []byte, codes []string) {
	v.Helper()
	var g account.Generator
	v.ask("factors.totpBegin", struct{}{}, &g, 200)
	secret, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(g.SecretText)
	if err != nil || !strings.Contains(g.Address, g.SecretText) {
		v.Fatalf("%v %q", err, g.Address)
	}
	v.ask("factors.totpConfirm", account.Confirmation{Ticket: g.Ticket, Code: "000000"}, nil, 422)
	var r account.RecoveryCodes
	v.ask("factors.totpConfirm", account.Confirmation{Ticket: g.Ticket, Code: v.code(secret)}, &r, 200)
	return secret, r.Codes
}

// code returns the current TOTP code.
func (v *visitor) code(secret []byte) string { return signin.TOTP(secret, v.o.Clock.Now()) }

// addPasskey adds a passkey of a device to the visitor's account.
func (v *visitor) addPasskey(d *passkeytest.Device) (p account.AddedPasskey) {
	v.Helper()
	var q passkey.Question
	v.ask("factors.passkeyOptions", struct{}{}, &q, 200)
	v.ask("factors.passkeyAdd", passkey.New{Ticket: q.Ticket, Name: "Telefon", Response: d.Create(q.Options)},
		&p, 200)
	return p
}

// usePasskey returns the input of a sign-in with the passkey of a device.
func (v *visitor) usePasskey(d *passkeytest.Device) account.PasskeyInput {
	v.Helper()
	var q passkey.Question
	v.ask("signin.passkeyOptions", struct{}{}, &q, 200)
	return account.PasskeyInput{Ticket: q.Ticket, Response: d.Get(q.Options)}
}

func device(t *testing.T) *passkeytest.Device {
	return passkeytest.New(t, "https://kartei.example", "kartei.example")
}

// signInInputs returns the inputs of operations about the caller. ssoInputs and factorInputs have
// the inputs about single sign-on and second factors.
func signInInputs(t *testing.T, o *apitest.Office, owner string) map[string]any {
	type input = map[string]any
	return map[string]any{
		"session.get": struct{}{}, "sessions.list": struct{}{}, "signins.list": struct{}{}, "profile.get": struct{}{},
		"signin.out":            struct{}{},
		"signin.passkeyOptions": struct{}{},
		"signin.password": func() any {
			email := freshEmail()
			join(t, o, o.ID, email, access.Member)
			return input{"email": email, "password": somePassword}
		},
		"signin.second": func() any {
			email := freshEmail()
			v, _ := join(t, o, o.ID, email, access.Member)
			_, codes := v.generate()
			return input{"ticket": v.signIn(email, somePassword, "second").Ticket, "recoveryCode": codes[0]}
		},
		"signin.passkey": func() any {
			v, _ := join(t, o, o.ID, freshEmail(), access.Member)
			d := device(t)
			v.addPasskey(d)
			return v.usePasskey(d)
		},
		"signin.choose": func() any {
			email := freshEmail()
			other, _ := o.Organization("Geheim & Partner")
			_, a := join(t, o, o.ID, email, access.Member)
			v, _ := join(t, o, other, email, access.Member)
			return account.Choice{Ticket: v.signIn(email, somePassword, "choose").Ticket, Principal: a.ID}
		},
		"signin.forgot": input{"email": "geheim.niemand@example.com"},
		"signin.reset": func() any {
			email := freshEmail()
			v, _ := join(t, o, o.ID, email, access.Member)
			v.ask("signin.forgot", account.ForgotInput{Email: email}, nil, 204)
			return account.NewByLink{Token: o.Linked(email), Password: "ein ganz anderes Kennwort"}
		},
		"session.switch": func() any { return account.SwitchInput{Principal: owner} },
		"session.refresh": func() any {
			visitorOf(t, o, owner).ask("factors.password",
				account.NewPassword{Password: somePassword, Current: somePassword}, nil, 204)
			return input{"password": somePassword}
		},
		"sessions.end":        input{"others": true},
		"access.list":         struct{}{},
		"account.changeEmail": account.NewAddress{Email: "geheim.umzug@example.com"},
		"account.confirmEmail": func() any {
			email := freshEmail()
			v, _ := join(t, o, o.ID, email, access.Member)
			v.ask("account.changeEmail", account.NewAddress{Email: "neu." + email}, nil, 204)
			v.ask("account.confirmEmail", account.Link{Token: o.Linked(email)}, nil, 200)
			return account.Link{Token: o.Linked("neu." + email)}
		},
		"profile.set": input{"name": "Geheim", "theme": "dark"},
	}
}

// ssoInputs returns the inputs of operations about single sign-on.
func ssoInputs(t *testing.T, o *apitest.Office, owner string) map[string]any {
	mine := func() *visitor { return visitorOf(t, o, owner) }
	return map[string]any{
		"signin.ssoBegin": func() any {
			o.SignInBy(ssotest.Forge(t).Client(t, o.Clock))
			return identity.To{Next: "/contacts"}
		},
		"signin.sso": func() any {
			f := ssotest.Forge(t)
			v, _ := bySSO(t, o, f, apitest.Fresh())
			return v.back(f, v.begin("signin.ssoBegin", identity.To{}))
		},
		"signin.ssoInvited": func() any { return identity.Invitation{Token: invite(t, o, freshEmail())} },
		"signin.ssoAccept": func() any {
			f, email := ssotest.Forge(t), freshEmail()
			f.Claims = claims("sub-"+email, email, true)
			o.SignInBy(f.Client(t, o.Clock))
			v := visit(t, o)
			return v.back(f, v.begin("signin.ssoInvited", identity.Invitation{Token: invite(t, o, email)}))
		},
		"factors.ssoBegin": func() any {
			mine().unlinkAll()
			return struct{}{}
		},
		"factors.ssoLink": func() any {
			f := ssotest.Forge(t)
			f.Claims = claims("geheim", freshEmail(), true)
			o.SignInBy(f.Client(t, o.Clock))
			mine().unlinkAll()
			return mine().back(f, mine().begin("factors.ssoBegin", struct{}{}))
		},
		"factors.ssoUnlink": func() any {
			v, f := mine(), ssotest.Forge(t)
			v.link(f, apitest.Fresh())
			return op.ByID{ID: v.identities()[0].ID}
		},
		"session.ssoBegin": func() any {
			mine().link(ssotest.Forge(t), apitest.Fresh())
			return identity.To{}
		},
		"session.ssoRefresh": func() any {
			f, v := ssotest.Forge(t), mine()
			v.link(f, apitest.Fresh())
			return v.back(f, v.begin("session.ssoBegin", identity.To{}))
		},
	}
}

// factorInputs returns the inputs of operations about the caller's passwords, passkeys and second
// factors.
func factorInputs(t *testing.T, o *apitest.Office, owner string) map[string]any {
	mine := func() *visitor { return visitorOf(t, o, owner) }
	return map[string]any{
		"factors.get": struct{}{}, "factors.totpBegin": struct{}{}, "factors.passkeyOptions": struct{}{},
		"factors.password": account.NewPassword{Password: somePassword, Current: somePassword},
		"factors.totpConfirm": func() any {
			v := mine()
			var g account.Generator
			v.ask("factors.totpBegin", struct{}{}, &g, 200)
			secret, _ := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(g.SecretText)
			return account.Confirmation{Ticket: g.Ticket, Code: v.code(secret)}
		},
		"factors.totpRemove": func() any {
			v := mine()
			var f account.Factors
			if v.ask("factors.get", struct{}{}, &f, 200); !f.TOTP {
				v.generate()
			}
			return struct{}{}
		},
		"factors.recoveryCodes": func() any { mine().generate(); return struct{}{} },
		"factors.passkeyAdd": func() any {
			var q passkey.Question
			mine().ask("factors.passkeyOptions", struct{}{}, &q, 200)
			return passkey.New{Ticket: q.Ticket, Name: "Geheim", Response: device(t).Create(q.Options)}
		},
		"factors.passkeyRemove": func() any { return op.ByID{ID: mine().addPasskey(device(t)).ID} },
	}
}

// visitorOf returns a visitor with a new session of a person.
func visitorOf(t *testing.T, o *apitest.Office, person string) *visitor {
	return &visitor{T: t, o: o, token: o.Session(person), from: "198.51.100.7"}
}

func freshEmail() string { return apitest.Fresh() + "@example.com" }

// TestSignIn checks the steps of a person from the invitation to the end of their sessions.
func TestSignIn(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		v, a := join(t, o, o.ID, "Ida@Neu.example", access.Admin)
		if a.Status != "signedIn" || a.Role != access.Admin || !v.works() ||
			a.EndsAt != a.CreatedAt.Add(access.SessionLifetime) {
			t.Fatalf("%+v", a)
		}
		w := visit(t, o)
		w.signIn("ida@neu.EXAMPLE", somePassword, "signedIn")
		var list op.Entries[account.Browser]
		w.ask("sessions.list", struct{}{}, &list, 200)
		if len(list.Data) != 2 || !list.Data[0].Current || list.Data[1].Current ||
			list.Data[0].Agent != "Probebrowser/1.0" || list.Data[0].Address != "198.51.100.7" {
			t.Errorf("%+v", list)
		}
		w.ask("sessions.end", account.EndInput{ID: list.Data[1].ID}, nil, 204)
		if v.works() || !w.works() {
			t.Error("another session than the named one ended")
		}
		w.ask("sessions.end", account.EndInput{ID: list.Data[1].ID}, nil, 404)
		v.signIn("ida@neu.example", somePassword, "signedIn")
		w.ask("factors.password", account.NewPassword{Password: "ein ganz anderes Kennwort", Current: somePassword}, nil, 204)
		if v.works() || !w.works() {
			t.Error("a new password must end the other sessions only")
		}
		v.ask("signin.password", account.PasswordInput{Email: "ida@neu.example", Password: somePassword}, nil, 401)
		w.ask("signin.out", struct{}{}, nil, 204)
		if w.works() {
			t.Error("the session goes on after signing out")
		}
		v.signIn("ida@neu.example", "ein ganz anderes Kennwort", "signedIn") // the cookie of an ended session does not prevent a sign-in
		for password, code := range map[string]string{
			"": "REQUIRED", "kurz": "TOO_SHORT", "aaaaaaaaaaaaaaaa": "INVALID_FORMAT",
			"Passwort123456789": "INVALID_FORMAT", "ida@neu.example1": "INVALID_FORMAT",
		} {
			if got := v.ask("factors.password", account.NewPassword{Password: password}, nil,
				422); !strings.Contains(string(got.Body), code) {
				t.Errorf("%q: %s", password, got.Body)
			}
		}
	})
}

// TestSignInTellsNothing checks that an unknown address, a wrong password and an account without a
// password get equal responses.
func TestSignInTellsNothing(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		join(t, o, o.ID, "ida@neu.example", access.Member)
		o.Session(o.User(access.Member)) // creates an account without a password
		var without string
		if err := o.DB.Read(t.Context(), func(tx db.Tx) error {
			return tx.QueryRow(t.Context(), `select email from accounts where password = ''`).Scan(&without)
		}); err != nil {
			t.Fatal(err)
		}
		told := func(row string, in any, want int) string {
			body := string(visit(t, o).ask(row, in, nil, want).Body)
			if i := strings.Index(body, "req_"); i >= 0 {
				body = body[:i] + body[i+30:]
			}
			return body
		}
		for _, row := range []string{"signin.password", "signin.forgot"} {
			var answers []string
			for _, email := range []string{"ida@neu.example", without, "niemand@neu.example"} {
				var before, after int
				before = len(o.Mailed())
				if row == "signin.password" {
					answers = append(answers, told(row, account.PasswordInput{Email: email, Password: "falsch falsch falsch"}, 401))
				} else {
					answers = append(answers, told(row, account.ForgotInput{Email: email}, 204))
					after = 1
				}
				if n := len(o.Mailed()) - before; n != after {
					t.Errorf("%s of %s enqueues %d emails", row, email, n)
				}
			}
			if slices.Sort(answers); answers[0] != answers[2] {
				t.Errorf("%s: %q", row, answers)
			}
		}
		if m := o.Mailed()[2]; m.Until != 1 {
			t.Errorf("an address without an account gets an email: %+v", m)
		}
		// The limit of emails does not change the response.
		n := len(o.Mailed())
		for range 5 {
			told("signin.forgot", account.ForgotInput{Email: "ida@neu.example"}, 204)
		}
		if more := len(o.Mailed()) - n; more != 2 {
			t.Errorf("%d emails within an hour", 1+more)
		}
	})
}

// TestLinksGoToTheAccount checks that a password link goes to the account's own address, and not to
// an address that only looks like it. Different capital letters can have the same small letter, but
// belong to different mailboxes.
func TestLinksGoToTheAccount(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		join(t, o, o.ID, "Kim@neu.example", access.Member)
		for _, typed := range []string{"KIM@NEU.EXAMPLE", "\u212aim@neu.example", "K\u0130M@neu.example", "kim@neu.example"} {
			visit(t, o).ask("signin.forgot", account.ForgotInput{Email: typed}, nil, 204)
		}
		sent := map[string]int{}
		for _, m := range o.Mailed() {
			if m.Until != 1 && m.Title == "Neues Kennwort" {
				sent[m.To]++
			}
		}
		if fmt.Sprint(sent) != "map[Kim@neu.example:2]" {
			t.Errorf("links were mailed to %v", sent)
		}
		// The response about an invitation to such an address does not reveal that the account
		// exists.
		_, a := join(t, o, o.ID, "K\u0130M@neu.example", access.Member)
		if a.Status != "signedIn" {
			t.Errorf("%+v", a)
		}
	})
}

// TestAnyBrowserSignsIn checks sign-ins with User-Agent headers that are not valid text.
func TestAnyBrowserSignsIn(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		join(t, o, o.ID, "ida@neu.example", access.Member)
		for _, agent := range []string{"\xff\xfe", strings.Repeat("x", 299) + "ü", strings.Repeat("ü", 400), "a\x00b", ""} {
			v := visit(t, o)
			v.agent = agent
			v.signIn("ida@neu.example", somePassword, "signedIn")
			var list op.Entries[account.Browser]
			v.ask("sessions.list", struct{}{}, &list, 200)
		}
	})
}

// TestSignInTakesAsLong checks that the time of a response does not distinguish an unknown address
// from a wrong password.
func TestSignInTakesAsLong(t *testing.T) {
	o := apitest.New(t, dbtest.SQLite(t), apitest.Replicas(1), apitest.Costly())
	n := 0
	for i := range 30 {
		join(t, o, o.ID, fmt.Sprintf("p%d@neu.example", i), access.Member)
	}
	attempt := func(email string) func() {
		return func() {
			n++
			v := visit(t, o)
			v.from = fmt.Sprintf("198.51.%d.%d", n/250, n%250)
			v.ask("signin.password", account.PasswordInput{
				Email: fmt.Sprintf(email, n%30), Password: "falsch falsch falsch",
			}, nil, 401)
		}
	}
	// Other programs use the machine too, so a disturbed round is repeated. A real difference
	// appears in every round.
	for round := 1; ; round++ {
		took := apitest.Measure(30, []apitest.Attempt{
			{Name: "known", Do: attempt("p%d@neu.example")},
			{Name: "unknown", Do: attempt("q%d@neu.example")},
		})
		known, unknown := apitest.Median(took["known"]), apitest.Median(took["unknown"])
		a := apitest.Advantage(took["known"], took["unknown"])
		if a >= 0.2 && a <= 0.8 || max(known, unknown)-min(known, unknown) <= known/5 {
			return
		}
		if round == 5 {
			t.Fatalf("advantage %.2f: known %s, unknown %s", a, known, unknown)
		}
		o.Clock.Advance(24 * time.Hour) // no address is limited because of earlier attempts
	}
}

// TestGuessesAreThrottled checks the pauses for an address and a network, and the hourly limit.
// Other people and networks are not slowed down.
func TestGuessesAreThrottled(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		ida, _ := join(t, o, o.ID, "ida@neu.example", access.Member)
		d := device(t)
		ida.addPasskey(d)
		v := visit(t, o)
		wrong := account.PasswordInput{Email: "ida@neu.example", Password: "falsch falsch falsch"}
		for range 5 {
			v.ask("signin.password", wrong, nil, 401)
		}
		right := account.PasswordInput{Email: "ida@neu.example", Password: somePassword}
		for pause := time.Second; pause <= 32*time.Second; pause *= 2 {
			if got := v.ask("signin.password", right, nil,
				429); !slices.Equal(got.Header["Retry-After"], []string{fmt.Sprint(int(pause.Seconds()))}) {
				t.Fatalf("%v after a pause of %s", got.Header["Retry-After"], pause)
			}
			o.Clock.Advance(pause)
			v.ask("signin.password", wrong, nil, 401)
		}
		elsewhere := visit(t, o)
		elsewhere.from = "203.0.113.5"
		elsewhere.signIn("ida@neu.example", somePassword, "second")
		// Guesses from many networks have an hourly limit. A sign-in with a passkey still works.
		before := len(o.Mailed())
		for n := range 60 {
			w := visit(t, o)
			w.from = fmt.Sprintf("203.0.113.%d", 10+n)
			if n < 50 {
				w.ask("signin.password", wrong, nil, 401)
			} else {
				w.ask("signin.password", right, nil, 429)
			}
		}
		if mails := o.Mailed()[before:]; len(mails) != 1 || mails[0].To != "ida@neu.example" ||
			mails[0].Title != "Neues Kennwort" {
			t.Errorf("%+v", mails)
		}
		var s account.SignedIn
		v.ask("signin.passkey", v.usePasskey(d), &s, 200)
		if s.Status != "signedIn" {
			t.Errorf("%+v", s)
		}
		o.Clock.Advance(time.Hour)
		elsewhere.signIn("ida@neu.example", somePassword, "second")
		refused := 0
		for _, l := range lines(t, o) {
			if l.Word == "session.refuse" {
				refused++
			}
		}
		if refused == 0 || refused > 55 {
			t.Errorf("%d lines about refusals", refused)
		}
	})
}

// TestRefusedConfirmation checks the audit lines about a wrong password at a confirmation. The
// organization in which the person works gets a line with the person and the session as the caller.
// The line in the person's other organization has an anonymous caller.
func TestRefusedConfirmation(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		elsewhere, _ := o.Organization("Kanzlei Zweitens")
		v, here := join(t, o, o.ID, "ida@neu.example", access.Member)
		_, there := join(t, o, elsewhere, "ida@neu.example", access.Member)
		v.ask("session.refresh", map[string]any{"password": "falsch falsch falsch"}, nil, 422)
		by := map[string]audit.Line{}
		for _, l := range lines(t, o) {
			if l.Word == "session.refuse" {
				by[l.Target] = l
			}
		}
		if l := by[here.ID]; l.PrincipalID != here.ID || l.CredentialKind != string(access.Session) ||
			l.CredentialID == "" || l.OrganizationID != o.ID {
			t.Errorf("%+v", l)
		}
		if l := by[there.ID]; l.PrincipalID != "" || l.CredentialKind != string(access.Anonymous) ||
			l.CredentialID != "" || l.OrganizationID != elsewhere {
			t.Errorf("%+v", l)
		}
	})
}

// TestThrottleKnowsWhoGuesses checks that different spellings of an address count as one address.
// Several IP addresses of one network count as one network.
func TestThrottleKnowsWhoGuesses(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		join(t, o, o.ID, "ida@neu.example", access.Member)
		join(t, o, o.ID, "jan@neu.example", access.Member)
		for n, guess := range []struct{ email, from string }{
			{"ida@neu.example", "198.51.100.7"}, {"IDA@neu.example", "198.51.100.7"},
			{"ida@NEU.example", "::ffff:198.51.100.7"}, {"Ida@neu.Example", "198.51.100.7"}, {"iDa@neu.example", "198.51.100.7"},
			{"jan@neu.example", "2001:db8:1:2::1"}, {"jan@neu.example", "2001:db8:1:2:ffff::1"},
			{"jan@neu.example", "2001:db8:1:2::3%eth0"}, {"jan@neu.example", "2001:db8:1:2::4"},
			{"jan@neu.example", "2001:db8:1:2:1:2:3:4"},
		} {
			v := visit(t, o)
			v.from = guess.from
			v.ask("signin.password", account.PasswordInput{Email: guess.email, Password: "falsch falsch falsch"}, nil, 401)
			if n%5 == 4 {
				v.ask("signin.password", account.PasswordInput{Email: guess.email, Password: somePassword}, nil, 429)
			}
		}
		v := visit(t, o)
		v.from = "2001:db8:1:3::1"
		v.signIn("jan@neu.example", somePassword, "signedIn")
	})
}

// TestFactorsOfOthers checks that the passkeys, sessions and tickets of another account get the
// status 404.
func TestFactorsOfOthers(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		jan, _ := join(t, o, o.ID, "jan@neu.example", access.Member)
		ida, _ := join(t, o, o.ID, "ida@neu.example", access.Admin)
		d := device(t)
		passkey := jan.addPasskey(d)
		var s account.Session
		var g account.Generator
		jan.ask("session.get", struct{}{}, &s, 200)
		jan.ask("factors.totpBegin", struct{}{}, &g, 200)
		secret, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(g.SecretText)
		if err != nil {
			t.Fatal(err)
		}
		ida.ask("sessions.end", account.EndInput{ID: s.ID}, nil, 404)
		ida.ask("sessions.end", account.EndInput{Others: true}, nil, 204)
		ida.ask("factors.passkeyRemove", op.ByID{ID: passkey.ID}, nil, 404)
		ida.ask("factors.totpBegin", account.GeneratorFor{Ticket: g.Ticket}, nil, 404)
		ida.ask("factors.totpConfirm", account.Confirmation{Ticket: g.Ticket, Code: ida.code(secret)}, nil, 404)
		ida.ask("session.switch", account.SwitchInput{Principal: s.Principal.ID}, nil, 422)
		var list op.Entries[account.Browser]
		if ida.ask("sessions.list", struct{}{}, &list, 200); len(list.Data) != 1 || list.Data[0].ID == s.ID {
			t.Errorf("%+v", list.Data)
		}
		if !jan.works() {
			t.Error("somebody else ended a session")
		}
		jan.token = ""
		var in account.SignedIn
		if jan.ask("signin.passkey", jan.usePasskey(d), &in, 200); in.Status != "signedIn" {
			t.Errorf("%+v", in)
		}
	})
}

// TestSecondFactor checks sign-ins with TOTP and recovery codes. Each code works once.
func TestSecondFactor(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		v, _ := join(t, o, o.ID, "ida@neu.example", access.Member)
		secret, codes := v.generate()
		if len(codes) != signin.RecoveryCodes ||
			len(slices.Compact(slices.Sorted(slices.Values(codes)))) != signin.RecoveryCodes {
			t.Fatalf("%q", codes)
		}
		type in = map[string]any
		w := visit(t, o)
		second := func(with in, want int) (s account.SignedIn) {
			t.Helper()
			begun := w.signIn("ida@neu.example", somePassword, "second")
			if fmt.Sprint(begun.Methods) != "[totp recoveryCode]" {
				t.Errorf("%v", begun.Methods)
			}
			with["ticket"] = begun.Ticket
			if want != 200 {
				w.ask("signin.second", with, nil, want)
				return s
			}
			w.ask("signin.second", with, &s, 200)
			w.ask("signin.second", with, nil, 404) // the ticket is used
			return s
		}
		second(in{"code": v.code(secret)}, 422) // this code was used to set up TOTP
		o.Clock.Advance(30 * time.Second)
		code := v.code(secret)
		w.token = second(in{"code": code[:3] + " " + code[3:]}, 200).Token
		if !w.works() {
			t.Error("the session does not work")
		}
		second(in{"code": code}, 422)
		o.Clock.Advance(2 * time.Minute)
		second(in{"code": code}, 422)
		if second(in{"recoveryCode": strings.ToUpper(strings.ReplaceAll(codes[3], "-", " "))}, 200).Token == "" {
			t.Error("no session")
		}
		second(in{"recoveryCode": codes[3]}, 422)
		if mails := o.Mailed(); !slices.ContainsFunc(mails,
			func(m notify.Message) bool { return m.Title == "Ein Wiederherstellungscode wurde verwendet" }) {
			t.Errorf("%+v", mails)
		}
		begun := w.signIn("ida@neu.example", somePassword, "second")
		o.Clock.Advance(signin.PageLifetime)
		w.ask("signin.second", in{"ticket": begun.Ticket, "code": v.code(secret)}, nil, 404)
		// Guesses of codes are limited, even from different networks.
		limited := false
		for n := 0; n < 7 && !limited; n++ {
			w.from = fmt.Sprintf("203.0.113.%d", n)
			begun := w.signIn("ida@neu.example", somePassword, "second")
			got := w.o.API.Do(t.Context(), &api.Request{Operation: api.ByID("signin.second"), Door: api.Web,
				Address: netip.MustParseAddr(w.from), HasBody: true,
				Body: func() ([]byte, error) { return json.Marshal(in{"ticket": begun.Ticket, "code": "000000"}) }}, nil)
			limited = got.Status == 429
		}
		if !limited {
			t.Error("codes can be guessed quickly")
		}
		var f account.Factors
		u := &visitor{T: t, o: o, token: o.Session(joinedPrincipal(t, o, "ida@neu.example")), from: "198.51.100.9"}
		u.ask("factors.get", struct{}{}, &f, 200)
		if !f.TOTP || !f.HasPassword || f.RecoveryCodes != 9 {
			t.Errorf("%+v", f)
		}
		u.ask("factors.totpRemove", struct{}{}, nil, 204)
		u.ask("factors.get", struct{}{}, &f, 200)
		if f.TOTP || f.RecoveryCodes != 0 {
			t.Errorf("%+v", f)
		}
		w.signIn("ida@neu.example", somePassword, "signedIn")
	})
}

// joinedPrincipal returns the id of the person with an account of this address.
func joinedPrincipal(t *testing.T, o *apitest.Office, email string) (principal string) {
	t.Helper()
	err := o.DB.Read(t.Context(), func(tx db.Tx) error {
		return tx.QueryRow(t.Context(), `select p.id from principals p join accounts a on a.id = p.account_id where a.email_folded = $1`, email).Scan(&principal)
	})
	if err != nil {
		t.Fatal(err)
	}
	return principal
}

// TestPasskey checks a sign-in with a passkey, the confirmation of a session with it, and an
// invitation that is accepted with a passkey.
func TestPasskey(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		v, _ := join(t, o, o.ID, "ida@neu.example", access.Member)
		d := device(t)
		d.Countless = true
		if p := v.addPasskey(d); len(p.Codes) != signin.RecoveryCodes || p.Name != "Telefon" {
			t.Errorf("%+v", p)
		}
		w := visit(t, o)
		in := w.usePasskey(d)
		var s account.SignedIn
		w.ask("signin.passkey", in, &s, 200)
		w.token = s.Token
		if s.Status != "signedIn" || !w.works() {
			t.Errorf("%+v", s)
		}
		w.ask("signin.passkey", in, nil, 404) // the ticket was used
		other := device(t)
		other.Create(json.RawMessage(`{"challenge":"x","user":{"id":""}}`))
		forged := *d
		forged.Origin = "https://kartei.example.org"
		unverified := *d
		unverified.Unverified = true
		for name, device := range map[string]*passkeytest.Device{
			"unknown": other, "of another page": &forged, "without a gesture": &unverified,
		} {
			w.token = ""
			if got := w.ask("signin.passkey", w.usePasskey(device), nil, 401); got.Fault == nil {
				t.Error(name)
			}
		}
		if second := w.signIn("ida@neu.example", somePassword,
			"second"); fmt.Sprint(second.Methods) != "[passkey recoveryCode]" {
			t.Errorf("%+v", second)
		}
		// The session is confirmed with the passkey.
		w.token = s.Token
		o.Clock.Advance(access.SignInFresh)
		w.ask("factors.passkeyOptions", struct{}{}, nil, 403)
		var r account.Renewal
		w.ask("session.refresh", map[string]any{"password": somePassword}, nil, 422)
		stepUp := w.usePasskey(d)
		w.ask("session.refresh", map[string]any{"ticket": stepUp.Ticket, "response": stepUp.Response}, &r, 200)
		if w.works() {
			t.Error("the old token works after a step-up")
		}
		w.token = r.Token
		w.ask("factors.passkeyOptions", struct{}{}, nil, 200)
		// An invitation is accepted with a passkey and no password.
		made, err := operator.Run(t.Context(), o.Operator, invitation.Create,
			invitation.New{Organization: o.ID, Email: "jan@neu.example"})
		if err != nil {
			t.Fatal(err)
		}
		jan, phone := visit(t, o), device(t)
		var q passkey.Question
		jan.ask("signin.passkeyOptions", account.PasskeyFor{Invitation: "x"}, nil, 404)
		jan.ask("signin.passkeyOptions", account.PasskeyFor{Invitation: made.Token}, &q, 200)
		var own passkey.Question
		w.ask("factors.passkeyOptions", struct{}{}, &own, 200)
		// the ticket is for a passkey of an existing account
		jan.ask("invitations.accept", account.Acceptance{
			Token: made.Token, Name: "Jan", Ticket: own.Ticket, Response: phone.Create(own.Options),
		}, nil, 404)
		var a account.AcceptResult
		jan.ask("invitations.accept", account.Acceptance{
			Token: made.Token, Name: "Jan", Ticket: q.Ticket, Response: phone.Create(q.Options),
		}, &a, 200)
		jan.token = a.Token
		if !jan.works() {
			t.Errorf("%+v", a)
		}
		var f account.Factors
		jan.ask("factors.get", struct{}{}, &f, 200)
		if f.HasPassword || len(f.Passkeys) != 1 {
			t.Fatalf("%+v", f)
		}
		jan.ask("factors.passkeyRemove", op.ByID{ID: f.Passkeys[0].ID}, nil, 403) // the only way to sign in stays
		jan.token = ""
		jan.ask("signin.passkey", jan.usePasskey(phone), &s, 200)
		foreign := v.usePasskey(phone)
		v.ask("session.refresh", map[string]any{"ticket": foreign.Ticket, "response": foreign.Response}, nil, 403)
	})
}

// TestSignInsAtOnce signs a person in four times at the same moment. By password, each sign-in gets
// its own session, and one of the sessions can end the others. A code or a ticket works for one of
// the four only.
func TestSignInsAtOnce(t *testing.T) {
	const email = "ida@neu.example"
	each(t, func(t *testing.T, o *apitest.Office) {
		v, _ := join(t, o, o.ID, email, access.Member)
		four := func(row string, in func(i int) any) (browsers []*visitor) {
			t.Helper()
			answers := make([]*api.Response, 4)
			var all sync.WaitGroup
			for i := range answers {
				input := in(i)
				all.Go(func() { answers[i] = ask(t, o, api.Web, api.Credential{}, row, input) })
			}
			all.Wait()
			tokens := map[string]bool{}
			for _, got := range answers {
				if got.Status == 422 || got.Status == 404 {
					continue
				}
				var s account.SignedIn
				if err := json.Unmarshal(got.Body, &s); err != nil || got.Status != 200 || s.Status != "signedIn" {
					t.Fatalf("%s: %d %s", row, got.Status, got.Body)
				}
				w := visit(t, o)
				w.token = s.Token
				browsers, tokens[s.Token] = append(browsers, w), true
			}
			for _, w := range browsers {
				if !w.works() {
					t.Errorf("%s: a session does not go on", row)
				}
			}
			if len(tokens) != len(browsers) {
				t.Errorf("%s: %d tokens of %d sessions", row, len(tokens), len(browsers))
			}
			return browsers
		}
		sessions := func(w *visitor) int {
			t.Helper()
			var list op.Entries[account.Browser]
			w.ask("sessions.list", struct{}{}, &list, 200)
			return len(list.Data)
		}
		browsers := four("signin.password", func(int) any {
			return account.PasswordInput{Email: email, Password: somePassword}
		})
		if len(browsers) != 4 || sessions(v) != 5 {
			t.Fatalf("%d of 4 are signed in, and the account has %d sessions", len(browsers), sessions(v))
		}
		browsers[2].ask("sessions.end", account.EndInput{Others: true}, nil, 204)
		for i, w := range browsers {
			if w.works() != (i == 2) {
				t.Errorf("the session %d works: %t", i, w.works())
			}
		}
		v = browsers[2]

		secret, codes := v.generate()
		tickets := func() (list [4]string) {
			for i := range list {
				list[i] = visit(t, o).signIn(email, somePassword, "second").Ticket
			}
			return list
		}
		begun := sessions(v)
		for what, in := range map[string]func(tickets [4]string, i int) any{
			"one ticket": func(list [4]string, i int) any {
				return map[string]string{"ticket": list[0], "recoveryCode": codes[i]}
			},
			"one code": func(list [4]string, i int) any {
				return map[string]string{"ticket": list[i], "code": v.code(secret)}
			},
			"one recovery code": func(list [4]string, i int) any {
				return map[string]string{"ticket": list[i], "recoveryCode": codes[9]}
			},
		} {
			o.Clock.Advance(2 * time.Hour) // for a new code, and so that the attempts are not limited
			list := tickets()
			if got := four("signin.second", func(i int) any { return in(list, i) }); len(got) != 1 {
				t.Errorf("%s serves %d", what, len(got))
			}
			begun++
			if n := sessions(v); n != begun {
				t.Errorf("after %s, the account has %d sessions, want %d", what, n, begun)
			}
		}
	})
}

// TestSignInsWhilePasswordChanges signs in with a password while the person changes it. It checks
// that no session from the old password remains.
func TestSignInsWhilePasswordChanges(t *testing.T) {
	const email = "ida@neu.example"
	each(t, func(t *testing.T, o *apitest.Office) {
		join(t, o, o.ID, email, access.Member)
		for round, began := 0, 0; round < 6; round++ {
			o.Clock.Advance(2 * time.Hour) // so that the attempts are not limited
			old, v := somePassword+strings.Repeat("!", round), visit(t, o)
			v.signIn(email, old, "signedIn")
			var all sync.WaitGroup
			answers := make([]*api.Response, 3)
			for i := range answers {
				all.Go(func() {
					answers[i] = ask(t, o, api.Web, api.Credential{}, "signin.password",
						account.PasswordInput{Email: email, Password: old})
				})
			}
			all.Go(func() {
				if got := ask(t, o, api.Web, api.Cookie(v.token, false), "factors.password",
					account.NewPassword{Password: old + "!", Current: old}); got.Status != 204 {
					t.Errorf("the password is not changed: %d %s", got.Status, got.Body)
				}
			})
			all.Wait()
			for _, got := range answers {
				switch got.Status {
				case 200:
					began++
					var s account.SignedIn
					if err := json.Unmarshal(got.Body, &s); err != nil {
						t.Fatal(err)
					}
					if w := (&visitor{T: t, o: o, token: s.Token}); w.works() {
						t.Error("a session goes on that the former password began")
					}
				case 401:
				default:
					t.Errorf("%d %s", got.Status, got.Body)
				}
			}
			t.Logf("%d sessions began before the password was changed", began)
		}
	})
}

// TestTwoInvitationsAtOnce accepts two invitations of one new address at the same time. It checks
// that one call creates the account, and that the other is refused because the account exists.
func TestTwoInvitationsAtOnce(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		other, _ := o.Organization("Andere")
		var statuses [2]int
		var both sync.WaitGroup
		for i, organization := range []string{o.ID, other} {
			made, err := operator.Run(t.Context(), o.Operator, invitation.Create,
				invitation.New{Organization: organization, Email: "ida@neu.example"})
			if err != nil {
				t.Fatal(err)
			}
			both.Go(func() {
				body := account.Acceptance{Token: made.Token, Name: "Ida", Password: fmt.Sprintf("%s %d", somePassword, i)}
				statuses[i] = ask(t, o, api.Web, api.Credential{}, "invitations.accept", body).Status
			})
		}
		both.Wait()
		slices.Sort(statuses[:])
		if statuses != [2]int{200, 422} {
			t.Errorf("the answers are %v, want one 200 and one 422", statuses)
		}
	})
}

// TestAccountOfSeveralOrganizations uses one address in two organizations. It checks that the
// admins learn nothing about the other organization.
func TestAccountOfSeveralOrganizations(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		other, _ := o.Organization("Andere")
		_, first := join(t, o, o.ID, "ida@neu.example", access.Admin)
		made, err := operator.Run(t.Context(), o.Operator, invitation.Create,
			invitation.New{Organization: other, Email: "ida@neu.example"})
		if err != nil {
			t.Fatal(err)
		}
		v := visit(t, o)
		var second account.AcceptResult
		v.ask("invitations.accept", account.Acceptance{
			Token: made.Token, Name: "Ida", Password: "ein ganz anderes Kennwort",
		}, nil, 422)
		v.ask("invitations.accept", account.Acceptance{Token: made.Token, Name: "Ida Zwei", Password: somePassword},
			&second, 200)
		v.token = second.Token
		if second.ID == first.ID || second.Person.OrganizationID != other {
			t.Fatalf("%+v", second)
		}
		var s account.Session
		v.ask("session.get", struct{}{}, &s, 200)
		if len(s.Persons) != 2 || s.Principal.ID != second.ID || s.Administers {
			t.Errorf("%+v", s)
		}
		var chosen account.SignedIn
		w := visit(t, o)
		begun := w.signIn("ida@neu.example", somePassword, "choose")
		w.ask("signin.choose", account.Choice{Ticket: begun.Ticket, Principal: o.User(access.Admin)}, nil, 422)
		w.ask("signin.choose", account.Choice{Ticket: begun.Ticket, Principal: first.ID}, &chosen, 200)
		w.ask("signin.choose", account.Choice{Ticket: begun.Ticket, Principal: first.ID}, nil, 404)
		w.token = chosen.Token
		w.ask("session.get", struct{}{}, &s, 200)
		if !s.Administers || s.Organization.ID != o.ID {
			t.Errorf("%+v", s)
		}
		old := *w
		w.ask("session.switch", account.SwitchInput{Principal: o.User(access.Admin)}, nil, 422)
		w.ask("session.switch", account.SwitchInput{Principal: second.ID}, &chosen, 200)
		w.token = chosen.Token
		w.ask("session.get", struct{}{}, &s, 200)
		if s.Organization.ID != other || old.works() {
			t.Errorf("%+v", s)
		}
		// An admin of the other organization can create and invite people with this address, as
		// with any other address.
		boss, _ := join(t, o, other, "chefin@neu.example", access.Admin)
		for _, email := range []string{"johanna@neu.example", "fern@neu.example"} {
			if email == "fern@neu.example" {
				join(t, o, o.ID, email, access.Member)
			}
			boss.ask("people.invite", invitation.New{Email: email}, nil, 200)
			boss.ask("people.create", principal.New{Name: "Jemand", Email: email}, nil, 200)
		}
		// A caller with a session accepts an invitation without a password.
		made, err = operator.Run(t.Context(), o.Operator, invitation.Create,
			invitation.New{Organization: o.ID, Email: "chefin.zwei@neu.example"})
		if err != nil {
			t.Fatal(err)
		}
		var joined account.AcceptResult
		boss.ask("invitations.accept", account.Acceptance{Token: made.Token, Name: "Chefin"}, &joined, 200)
		if joined.Status != "joined" || joined.Token != "" {
			t.Errorf("%+v", joined)
		}
		boss.ask("session.switch", account.SwitchInput{Principal: joined.ID}, nil, 200)
	})
}

// TestAuditOfSeveralOrganizations accepts an invitation in a session of another organization, and
// switches to the new organization. It checks that the audit logs name no people of the other
// organization.
func TestAuditOfSeveralOrganizations(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		other, _ := o.Organization("Andere")
		v, first := join(t, o, o.ID, "ida@neu.example", access.Member)
		made, err := operator.Run(t.Context(), o.Operator, invitation.Create,
			invitation.New{Organization: other, Email: "ida@neu.example"})
		if err != nil {
			t.Fatal(err)
		}
		var second account.AcceptResult
		v.ask("invitations.accept", account.Acceptance{Token: made.Token, Name: "Ida"}, &second, 200)
		v.ask("session.switch", account.SwitchInput{Principal: second.ID}, nil, 200)
		got := ask(t, o, api.Admin, api.Local(), "audit.list", auditlog.Input{Organization: other})
		var lines op.Entries[audit.Line]
		if err := json.Unmarshal(got.Body, &lines); err != nil {
			t.Fatal(err)
		}
		who := map[string]string{}
		for _, l := range lines.Data {
			who[l.Word] = l.PrincipalID
		}
		if who["invitation.accept"] != second.ID || who["session.switch"] != second.ID ||
			strings.Contains(string(got.Body), first.ID) {
			t.Errorf("%s and %s: %s", first.ID, second.ID, got.Body)
		}
	})
}

// TestReset checks that a mailed link sets a password: once, within half an hour, and without
// removing the second factor.
func TestReset(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		v, a := join(t, o, o.ID, "ida@neu.example", access.Member)
		secret, _ := v.generate()
		w := visit(t, o)
		w.ask("signin.forgot", account.ForgotInput{Email: "IDA@neu.example"}, nil, 204)
		token := o.Linked("ida@neu.example") // the email goes to the address of the account, not to the address in the input
		w.ask("signin.reset", account.NewByLink{Token: token + "x", Password: "ein ganz anderes Kennwort"}, nil, 404)
		w.ask("signin.reset", account.NewByLink{Token: token, Password: "kurz"}, nil, 422)
		w.ask("signin.reset", account.NewByLink{Token: token, Password: "ein ganz anderes Kennwort"}, nil, 204)
		w.ask("signin.reset", account.NewByLink{Token: token, Password: "ein ganz anderes Kennwort"}, nil, 404)
		if v.works() {
			t.Error("a session goes on")
		}
		if mails := o.Mailed(); !strings.Contains(mails[len(mails)-1].Text, "nicht selbst eingerichtet") ||
			!strings.Contains(mails[len(mails)-1].Text, "example"+account.AccessPath) {
			t.Errorf("what an attacker may have set up: %q", mails[len(mails)-1].Text)
		}
		w.signIn("ida@neu.example", "ein ganz anderes Kennwort", "second")
		w.ask("signin.forgot", account.ForgotInput{Email: "ida@neu.example"}, nil, 204)
		o.Clock.Advance(signin.ResetLifetime)
		w.ask("signin.reset", account.NewByLink{
			Token: o.Linked("ida@neu.example"), Password: "noch ein anderes Kennwort",
		}, nil, 404)
		// An admin has a link mailed. This link removes the second factors when the password is
		// set.
		boss, me := join(t, o, o.ID, "chefin@neu.example", access.Admin)
		boss.ask("people.resetFactors", op.ByID{ID: me.ID}, nil, 403)
		var lifted account.FactorReset
		boss.ask("people.resetFactors", op.ByID{ID: a.ID}, &lifted, 200)
		if !lifted.Mailed || lifted.Token != "" || lifted.Link != "" {
			t.Errorf("%+v", lifted)
		}
		link := o.Linked("ida@neu.example")
		w.ask("signin.reset", account.NewByLink{Token: link, Password: somePassword}, nil, 422)
		w.signIn("ida@neu.example", "ein ganz anderes Kennwort", "second")
		w.ask("signin.reset", account.NewByLink{Token: link, Password: "ein ganz anderes Kennwort"}, nil, 204)
		w.signIn("ida@neu.example", "ein ganz anderes Kennwort", "signedIn")
		// The operator removes the second factors at once.
		w.generate()
		if got := ask(t, o, api.Admin, api.Local(), "people.resetFactors",
			op.ByID{ID: a.ID}); json.Unmarshal(got.Body, &lifted) != nil || lifted.Token == "" ||
			lifted.Link != "https://kartei.example/reset#"+lifted.Token {
			t.Errorf("%s", got.Body)
		}
		if w.works() {
			t.Error("a session goes on")
		}
		w.ask("signin.reset", account.NewByLink{Token: lifted.Token, Password: somePassword}, nil, 204)
		w.signIn("ida@neu.example", somePassword, "signedIn")
		_ = secret
		// The operator gets a link for the person. The link sets a password, and the second factors
		// stay.
		w.generate()
		for _, refused := range []string{me.ID + "x", o.User(access.Member)} { // an unknown id, and a person without an account
			if got := ask(t, o, api.Admin, api.Local(), "people.resetPassword", op.ByID{ID: refused}); got.Fault == nil {
				t.Errorf("%s: %s", refused, got.Body)
			}
		}
		var handed account.FactorReset
		if got := ask(t, o, api.Admin, api.Local(), "people.resetPassword",
			op.ByID{ID: a.ID}); json.Unmarshal(got.Body, &handed) != nil || handed.Mailed ||
			handed.Link != "https://kartei.example/reset#"+handed.Token {
			t.Errorf("%s", got.Body)
		}
		if !w.works() {
			t.Error("the link ends sessions before it is used")
		}
		w.ask("signin.reset", account.NewByLink{Token: handed.Token, Password: "wieder ein anderes Kennwort"}, nil, 204)
		w.ask("signin.reset", account.NewByLink{Token: handed.Token, Password: "wieder ein anderes Kennwort"}, nil, 404)
		w.signIn("ida@neu.example", "wieder ein anderes Kennwort", "second")
	})
}

// TestResetOfUnconfirmed resets the password of an account whose invitation an admin handed over. A
// mailed link proves that the person has the mailbox. It therefore removes second factors that
// somebody else may have set up. A link of the operator proves nothing, and removes nothing.
func TestResetOfUnconfirmed(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		v, a := join(t, o, o.ID, "ida@neu.example", access.Member)
		v.generate()
		dbtest.Run(t, o.DB, `update accounts set unconfirmed = true`)
		w := visit(t, o)
		var handed account.FactorReset
		if got := ask(t, o, api.Admin, api.Local(), "people.resetPassword",
			op.ByID{ID: a.ID}); json.Unmarshal(got.Body, &handed) != nil {
			t.Fatalf("%s", got.Body)
		}
		w.ask("signin.reset", account.NewByLink{Token: handed.Token, Password: "ein ganz anderes Kennwort"}, nil, 204)
		w.signIn("ida@neu.example", "ein ganz anderes Kennwort", "second")
		w.ask("signin.forgot", account.ForgotInput{Email: "ida@neu.example"}, nil, 204)
		w.ask("signin.reset", account.NewByLink{
			Token: o.Linked("ida@neu.example"), Password: "noch ein anderes Kennwort",
		}, nil, 204)
		w.signIn("ida@neu.example", "noch ein anderes Kennwort", "signedIn")
		var unconfirmed bool
		if dbtest.Get(t, o.DB, []any{&unconfirmed},
			`select unconfirmed from accounts where email = 'ida@neu.example'`); unconfirmed {
			t.Error("the address is still in doubt")
		}
	})
}

// TestChangeOfAddress checks that both the old and the new address must confirm a change of
// address.
func TestChangeOfAddress(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		v, _ := join(t, o, o.ID, "ida@neu.example", access.Member)
		join(t, o, o.ID, "jan@neu.example", access.Member)
		v.ask("account.changeEmail", account.NewAddress{Email: "ida"}, nil, 422)
		v.ask("account.changeEmail", account.NewAddress{Email: "ida@anders.example"}, nil, 204)
		var c account.ConfirmResult
		w := visit(t, o)
		w.ask("account.confirmEmail", account.Link{Token: o.Linked("ida@anders.example")}, &c, 200)
		if c.Status != "waiting" {
			t.Errorf("%+v", c)
		}
		w.ask("account.confirmEmail", account.Link{Token: o.Linked("ida@anders.example")}, nil, 404)
		w.signIn("ida@neu.example", somePassword, "signedIn")
		w.ask("account.confirmEmail", account.Link{Token: o.Linked("ida@neu.example")}, &c, 200)
		if c.Status != "changed" {
			t.Errorf("%+v", c)
		}
		w.ask("signin.password", account.PasswordInput{Email: "ida@neu.example", Password: somePassword}, nil, 401)
		w.signIn("ida@anders.example", somePassword, "signedIn")
		var p profile.Profile
		w.ask("profile.get", struct{}{}, &p, 200)
		if info, err := o.Operator.GetPrincipal(t.Context(), op.ByID{
			ID: joinedPrincipal(t, o, "ida@anders.example"),
		}); err != nil || info.Email != "ida@anders.example" || p.Email != info.Email {
			t.Errorf("%+v %+v %v", p, info, err)
		}
		// A change to an address that has an account gets the same responses. The caller's address
		// stays unchanged.
		w.ask("account.changeEmail", account.NewAddress{Email: "jan@neu.example"}, nil, 204)
		w.ask("account.confirmEmail", account.Link{Token: o.Linked("jan@neu.example")}, nil, 200)
		w.ask("account.confirmEmail", account.Link{Token: o.Linked("ida@anders.example")}, nil, 404)
		w.signIn("ida@anders.example", somePassword, "signedIn")
	})
}

// TestProfile checks the defaults, the changes and the refusals of the profile.
func TestProfile(t *testing.T) {
	o := office(t)
	v, _ := join(t, o, o.ID, "ida@neu.example", access.Viewer)
	var p profile.Profile
	v.ask("profile.get", struct{}{}, &p, 200)
	if p.Zone != "Europe/Berlin" || p.Theme != "system" || !*p.SingleKeys || p.Language != "de" {
		t.Errorf("%+v", p)
	}
	type in = map[string]any
	v.ask("profile.set", in{
		"name": " Ida Berg-Neu ", "language": "en", "zone": "America/New_York", "theme": "dark",
		"density": "compact", "singleKeys": false,
	}, &p, 200)
	v.ask("profile.set", in{"recent": false}, &p, 200)
	var s account.Session
	v.ask("session.get", struct{}{}, &s, 200)
	if p.Name != "Ida Berg-Neu" || s.Principal.Name != p.Name || s.Principal.Language != "en" ||
		s.Preferences.Theme != "dark" || *s.Preferences.SingleKeys || *s.Preferences.Recent {
		t.Errorf("%+v %+v", p, s)
	}
	for field, value := range map[string]any{
		"name": "", "language": "fr", "zone": "Europe/Köln", "theme": "blue", "density": "tiny",
	} {
		if got := v.ask("profile.set", in{field: value}, nil, 422); !strings.Contains(string(got.Body), `"`+field+`"`) {
			t.Errorf("%s", got.Body)
		}
	}
	for name, code := range map[string]string{
		" \u200b ": "REQUIRED", "Ida\u0007Berg": "INVALID_FORMAT", "Ida\u2028Berg": "INVALID_FORMAT",
		strings.Repeat("ä", 201): "TOO_LONG",
	} {
		if got := v.ask("profile.set", in{"name": name}, nil, 422); !strings.Contains(string(got.Body), code) {
			t.Errorf("%q: %s", name, got.Body)
		}
	}
}

// TestNoSecretIsStored searches all tables and the operator's log for the secrets of a sign-in.
func TestNoSecretIsStored(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		v, _ := join(t, o, o.ID, "ida@neu.example", access.Member)
		secret, codes := v.generate()
		o.Clock.Advance(time.Minute)
		begun := v.signIn("ida@neu.example", somePassword, "second")
		v.ask("signin.forgot", account.ForgotInput{Email: "ida@neu.example"}, nil, 204)
		token := v.o.Session(joinedPrincipal(t, o, "ida@neu.example"))
		v.token = token
		v.ask("account.changeEmail", account.NewAddress{Email: "ida@anders.example"}, nil, 204)
		var all strings.Builder
		tables, err := schema.Tables(t.Context(), o.DB)
		if err != nil {
			t.Fatal(err)
		}
		for _, table := range tables {
			var names []string
			for _, c := range table.Columns {
				names = append(names, "coalesce(cast("+c.Name+" as text), '')")
			}
			err := o.DB.Read(t.Context(), func(tx db.Tx) error {
				rows, err := db.Values[string](t.Context(), tx, "select "+strings.Join(names, " || ' ' || ")+" from "+table.Name)
				all.WriteString(strings.Join(rows, "\n"))
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		all.WriteString(o.Logged.String())
		secrets := append([]string{
			somePassword, begun.Ticket, token, v.device, signin.Base32(secret), string(secret),
			v.code(secret) + "\"", o.Linked("ida@neu.example"), o.Linked("ida@anders.example"),
		}, codes...)
		for i, s := range secrets {
			if strings.Contains(all.String(), s) {
				t.Errorf("secret %d is stored or logged", i)
			}
		}
		if !strings.Contains(all.String(), "$argon2id$v=19$m=") {
			t.Error("no password was looked at")
		}
	})
}
