package api_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"kartei/access"
	"kartei/api"
	"kartei/api/op"
	"kartei/kit/clock"
	"kartei/people/account"
	"kartei/people/signin"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
)

// strangeNetwork returns an address in the n-th network of strangers. Even numbers are IPv4
// addresses in different /24 networks, odd numbers are IPv6 addresses in different /48 networks.
func strangeNetwork(n int) string {
	if n%2 == 0 {
		return fmt.Sprintf("203.%d.113.5", n)
	}
	return fmt.Sprintf("2001:db8:%x:1::5", n)
}

// stranger returns a visitor whose address is in the n-th network of strangers.
func stranger(t *testing.T, o *apitest.Office, n int) *visitor {
	v := visit(t, o)
	v.from = strangeNetwork(n)
	return v
}

// TestStrangersKeepNobodyOut guesses passwords a thousand times from a hundred networks. It checks
// that the person can still sign in: with a known browser elsewhere, and without a cookie in a
// known network. An existing session is also confirmed elsewhere, without a cookie.
func TestStrangersKeepNobodyOut(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		const email = "ida@neu.example"
		ida, _ := join(t, o, o.ID, email, access.Member)
		ida.from = "192.0.2.77" // on the way, in another network
		wrong := account.PasswordInput{Email: email, Password: "falsch falsch falsch"}
		right := account.PasswordInput{Email: email, Password: somePassword}
		checked, refused := 0, 0
		for n := range 1000 {
			switch status := stranger(t, o, n%100).send("signin.password", wrong).Status; status {
			case 401:
				checked++
			case 429:
				refused++
			default:
				t.Fatalf("a guess: %d", status)
			}
			if n%100 != 99 {
				continue
			}
			switch n / 100 % 3 {
			case 0:
				on := visit(t, o)
				on.from, on.device = fmt.Sprintf("192.0.2.%d", 100+n/100), ida.device
				on.signIn(email, somePassword, "signedIn")
			case 1:
				visit(t, o).signIn(email, somePassword, "signedIn")
			case 2:
				var r account.Renewal
				on := *ida
				on.device = ""
				on.ask("session.refresh", map[string]any{"password": somePassword}, &r, 200)
				ida.token = r.Token
			}
		}
		if checked != 50 || refused != 950 {
			t.Errorf("%d guesses were checked, and %d refused", checked, refused)
		}
		if status := stranger(t, o, 200).send("signin.password", right).Status; status != 429 {
			t.Errorf("an unknown device in an unknown network: %d", status)
		}
		o.Clock.Advance(time.Hour)
		stranger(t, o, 200).signIn(email, somePassword, "signedIn")
	})
}

// TestGuessesTellNothing checks that guesses get the same responses whether or not the address has
// an account. It tries networks with different histories, before and after the hourly bound is used
// up.
func TestGuessesTellNothing(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		join(t, o, o.ID, "ida@neu.example", access.Member)
		jan, _ := join(t, o, o.ID, "jan@neu.example", access.Member)
		answers := map[string]string{}
		for _, email := range []string{"ida@neu.example", "niemand@neu.example"} {
			try := func(from, device string) {
				v := visit(t, o)
				v.from, v.device = from, device
				answers[email] += fmt.Sprint(" ", v.send("signin.password", account.PasswordInput{
					Email: email, Password: "falsch falsch falsch",
				}).Status)
			}
			for range 2 {
				for n, from := range []string{"198.51.100.7", "203.0.113.9", "2001:db8:77::1"} {
					try(from, "")
					try(strangeNetwork(10+n), jan.device) // the cookie of another account's browser
				}
				useUp(t, o, signin.Origin{Address: netip.MustParseAddr("203.0.113.1")}.PasswordBounds(email).Hour)
			}
			o.Clock.Advance(2 * time.Hour)
		}
		if a := answers["ida@neu.example"]; a != answers["niemand@neu.example"] || !strings.Contains(a, "401") ||
			!strings.Contains(a, "429") {
			t.Errorf("%v", answers)
		}
	})
}

// useUp makes attempts until a limit refuses one.
func useUp(t *testing.T, o *apitest.Office, limits ...signin.Limit) {
	t.Helper()
	var err error
	for err == nil {
		err = o.Desk().Attempt(t.Context(), clock.Now(o.Clock), limits...)
	}
	if signin.Waits(err) == 0 {
		t.Fatal(err)
	}
}

// TestSitesAreCounted uses up the common attempts of two networks in one /48, and of two addresses
// in one /24. It checks that a third network there must wait a minute. People with a known browser
// or network need not wait.
func TestSitesAreCounted(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		ida, _ := join(t, o, o.ID, "ida@neu.example", access.Member)
		for _, at := range []struct{ first, second, third, elsewhere string }{
			{"2001:db8:5:1::1", "2001:db8:5:2::1", "2001:db8:5:3::1", "2001:db8:6:3::1"},
			{"203.0.113.1", "203.0.113.2", "203.0.113.3", "203.0.112.3"},
		} {
			for _, from := range []string{at.first, at.second} {
				useUp(t, o, signin.Origin{Address: netip.MustParseAddr(from)}.NetworkLimits()...)
			}
			right := account.PasswordInput{Email: "ida@neu.example", Password: somePassword}
			by := func(from, device string) int {
				v := visit(t, o)
				v.from, v.device = from, device
				return v.send("signin.password", right).Status
			}
			if status := by(at.third, ""); status != 429 {
				t.Errorf("%s: %d", at.third, status)
			}
			if status := by(at.elsewhere, ""); status != 200 {
				t.Errorf("%s: %d", at.elsewhere, status)
			}
			if status := by(at.third, ida.device); status != 200 { // this makes the network known
				t.Errorf("a known device at %s: %d", at.third, status)
			}
			if status := by(at.third, ""); status != 200 {
				t.Errorf("a known network at %s: %d", at.third, status)
			}
		}
	})
}

// TestRefusedAttemptsWriteNothing checks that a refused sign-in begins no write transaction.
// Sign-ins are refused by each bound, and if too many password hashes are being computed.
func TestRefusedAttemptsWriteNothing(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		ida, _ := join(t, o, o.ID, "ida@neu.example", access.Member)
		_, codes := ida.generate()
		second := account.SecondInput{Ticket: ida.signIn("ida@neu.example", somePassword, "second").Ticket}
		second.RecoveryCode = codes[0]
		d := device(t)
		passkey := stranger(t, o, 1).usePasskey(d)
		from := func(n int) signin.Origin { return signin.Origin{Address: netip.MustParseAddr(strangeNetwork(n))} }
		counted := &writesDB{DB: o.DB}
		o.Desk().DB = counted
		sign := func(email string) any { return account.PasswordInput{Email: email, Password: somePassword} }
		full := func() {
			for n := 100; ; n++ {
				turn, err := o.Desk().Hasher.Reserve(from(n))
				if errors.Is(err, signin.ErrBusy) {
					return
				}
				t.Cleanup(turn.End)
			}
		}
		for _, c := range []struct {
			name, row string
			in        any
			before    func()
			want      int
		}{
			{
				"the hour of an account", "signin.password", sign("ida@neu.example"),
				func() { useUp(t, o, from(1).PasswordBounds("ida@neu.example").Hour) }, 429,
			},
			{
				"the hour of nobody", "signin.password", sign("nie@neu.example"),
				func() { useUp(t, o, from(1).PasswordBounds("nie@neu.example").Hour) }, 429,
			},
			{
				"codes", "signin.second", second,
				func() { useUp(t, o, from(1).CodeBounds(accountOf(t, o, "ida@neu.example")).Hour) }, 429,
			},
			{
				"mails",
				"signin.forgot",
				account.ForgotInput{Email: "ida@neu.example"},
				func() { useUp(t, o, from(1).ResetLimits("ida@neu.example")[0]) },
				204,
			},
			{"places", "signin.password", sign("jan@neu.example"), full, 429},
			{"the network", "signin.password", sign("max@neu.example"), func() { useUp(t, o, from(1).NetworkLimits()[0]) }, 429},
			{"the network, a passkey", "signin.passkey", passkey, func() {}, 429},
		} {
			c.before()
			counted.writes.Store(0)
			before := attempts(t, o)
			if status := stranger(t, o, 1).send(c.row, c.in).Status; status != c.want {
				t.Errorf("%s: %d", c.name, status)
			}
			if n := counted.writes.Load(); n != 0 || !slices.Equal(attempts(t, o), before) {
				t.Errorf("%s: %d transactions, %v became %v", c.name, n, before, attempts(t, o))
			}
		}
	})
}

// writesDB counts the write transactions that begin.
type writesDB struct {
	db.DB
	writes atomic.Int64
}

func (d *writesDB) Write(ctx context.Context, f func(db.Tx) error) error {
	d.writes.Add(1)
	return d.DB.Write(ctx, f)
}

// attempts returns the counted attempts, and the numbers of rows in other tables that a sign-in may
// change.
func attempts(t *testing.T, o *apitest.Office) []int64 {
	t.Helper()
	var rows, sum, latest int64
	dbtest.Get(t, o.DB, []any{&rows, &sum, &latest},
		`select count(*), cast(coalesce(sum(count), 0) as bigint), coalesce(max(expires_at), 0) from sign_in_attempts`)
	found := []int64{rows, sum, latest}
	for _, table := range []string{"sign_in_tickets", "devices", "sessions", "audit_lines"} {
		found = append(found, int64(rowsOf(t, o, table)))
	}
	return found
}

func accountOf(t *testing.T, o *apitest.Office, email string) (id string) {
	t.Helper()
	dbtest.Get(t, o.DB, []any{&id}, `select id from accounts where email_folded = $1`, email)
	return id
}

// TestStrangersUseUpNoPlaces uses all places for password hashes that strangers can have. It checks
// that known browsers and networks still get a place.
func TestStrangersUseUpNoPlaces(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		ida, _ := join(t, o, o.ID, "ida@neu.example", access.Member)
		var busy error
		for n := 0; busy == nil; n++ {
			var turn *signin.Turn
			if turn, busy = o.Desk().Hasher.Reserve(signin.Origin{
				Address: netip.MustParseAddr(strangeNetwork(n % 200)),
			}); busy == nil {
				defer turn.End()
			}
		}
		if status := stranger(t, o, 250).send("signin.password", account.PasswordInput{
			Email: "ida@neu.example", Password: somePassword,
		}).Status; status != 429 {
			t.Errorf("an unknown device: %d", status)
		}
		visit(t, o).signIn("ida@neu.example", somePassword, "signedIn")
		ida.from = "192.0.2.7"
		ida.ask("session.refresh", map[string]any{"password": somePassword}, nil, 200)
		ida.token = ""
		ida.signIn("ida@neu.example", somePassword, "signedIn")
	})
}

// TestStrangersKnowThePassword uses up the codes that strangers may try with the right password. It
// checks that the person's own browser and network can still sign in.
func TestStrangersKnowThePassword(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		ida, _ := join(t, o, o.ID, "ida@neu.example", access.Member)
		_, codes := ida.generate()
		enters := func(v *visitor, code string) int {
			s := v.signIn("ida@neu.example", somePassword, "second")
			in := account.SecondInput{Ticket: s.Ticket}
			in.RecoveryCode = code
			return v.send("signin.second", in).Status
		}
		for n := range 5 {
			if status := enters(stranger(t, o, n), "0000-0000-0000-0000"); status != 422 {
				t.Fatalf("%d", status)
			}
		}
		known := visit(t, o)
		moved := visit(t, o)
		moved.from, moved.device = "192.0.2.9", ida.device
		for name, c := range map[string]struct {
			by   *visitor
			code string
			want int
		}{
			"a stranger":  {stranger(t, o, 9), codes[0], 429},
			"the network": {known, codes[1], 200},
			"the device":  {moved, codes[2], 200},
		} {
			if status := enters(c.by, c.code); status != c.want {
				t.Errorf("%s: %d", name, status)
			}
		}
		ida.from = "192.0.2.9"
		ida.ask("session.refresh", map[string]any{"password": somePassword, "recoveryCode": codes[3]}, nil, 200)
	})
}

// TestStrangersUseUpMails asks for password links until strangers get no more emails. It checks
// that a known browser and a known network still get a link. The link in the mailbox keeps working
// meanwhile.
func TestStrangersUseUpMails(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		ida, _ := join(t, o, o.ID, "ida@neu.example", access.Member)
		mails := func(v *visitor) int {
			before := len(o.Mailed())
			v.ask("signin.forgot", account.ForgotInput{Email: "ida@neu.example"}, nil, 204)
			return len(o.Mailed()) - before
		}
		sent := 0
		for n := range 10 {
			sent += mails(stranger(t, o, n))
		}
		if sent != 3 {
			t.Errorf("%d mails because of strangers", sent)
		}
		theirs := o.Linked("ida@neu.example")
		o.Clock.Advance(signin.ResetLifetime - time.Minute)
		ida.token, ida.from = "", "192.0.2.9"
		if n := mails(stranger(t, o, 20)) + mails(visit(t, o)) + mails(ida); n != 2 {
			t.Errorf("%d mails, want those of the network and of the device", n)
		}
		// The link in the first email still works. Guesses continue, and the person can sign in.
		useUp(t, o, signin.Origin{Address: netip.MustParseAddr(strangeNetwork(1))}.PasswordBounds("ida@neu.example").Hour)
		back := stranger(t, o, 20)
		back.ask("signin.reset", account.NewByLink{Token: theirs, Password: "ein ganz anderes Kennwort"}, nil, 204)
		back.signIn("ida@neu.example", "ein ganz anderes Kennwort", "signedIn")
		o.Clock.Advance(time.Minute)
		if mails(stranger(t, o, 21)) != 1 {
			t.Error("no link within a lifetime")
		}
	})
}

// TestDevices checks how long an account knows a browser, and what ends this.
func TestDevices(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		ida, person := join(t, o, o.ID, "ida@neu.example", access.Member)
		knows := func(device string) bool {
			t.Helper()
			found := ""
			if err := o.DB.Read(t.Context(), func(tx db.Tx) (err error) {
				found, err = signin.FindDevice(t.Context(), tx, clock.Now(o.Clock), accountOf(t, o, "ida@neu.example"), device)
				return err
			}); err != nil {
				t.Fatal(err)
			}
			return found != ""
		}
		first := ida.device
		if !knows(first) || knows("") || knows(access.NewToken()) || knows(strings.Repeat("x.", 200)+first) ||
			!knows("x."+first) {
			t.Error("the first sign-in")
		}
		// Another account in the same browser gets its own token. A token that somebody else put
		// into the cookie is not accepted.
		jan, _ := join(t, o, o.ID, "jan@neu.example", access.Member)
		jan.device = first + ".kein-Token." + access.NewToken()
		jan.signIn("jan@neu.example", somePassword, "signedIn")
		if theirs := strings.Split(jan.device, "."); len(theirs) != 3 || knows(theirs[0]) || !knows(jan.device) {
			t.Errorf("%q", jan.device)
		}
		ida.signIn("ida@neu.example", somePassword, "signedIn")
		if ida.device != first {
			t.Error("a known browser gets another token")
		}
		phone := visit(t, o)
		phone.signIn("ida@neu.example", somePassword, "signedIn")
		var list op.Entries[account.Browser]
		ida.ask("sessions.list", struct{}{}, &list, 200)
		ida.ask("sessions.end", account.EndInput{ID: list.Data[0].ID}, nil, 204)
		if knows(phone.device) || !knows(first) {
			t.Error("the end of a session on another device")
		}
		for name, end := range map[string]func(){
			"the end of others": func() { ida.ask("sessions.end", account.EndInput{Others: true}, nil, 204) },
			"a new password": func() {
				ida.ask("factors.password", account.NewPassword{Password: somePassword, Current: somePassword}, nil, 204)
			},
		} {
			phone = visit(t, o)
			phone.signIn("ida@neu.example", somePassword, "signedIn")
			var f account.Factors
			if ida.ask("factors.get", struct{}{}, &f, 200); f.KnownElsewhere != 1 {
				t.Errorf("%d other browsers are known", f.KnownElsewhere)
			}
			if end(); knows(phone.device) || !knows(first) {
				t.Error(name)
			}
			if ida.ask("factors.get", struct{}{}, &f, 200); f.KnownElsewhere != 0 {
				t.Errorf("%s: %d other browsers are known", name, f.KnownElsewhere)
			}
		}
		o.Clock.Advance(signin.DeviceLifetime - time.Hour)
		if !knows(first) {
			t.Error("a device is forgotten too early")
		}
		o.Clock.Advance(time.Hour)
		if knows(first) {
			t.Error("a device is known too long")
		}
		ida.token = ""
		ida.signIn("ida@neu.example", somePassword, "signedIn")
		ida.ask("signin.forgot", account.ForgotInput{Email: "ida@neu.example"}, nil, 204)
		ida.ask("signin.reset", account.NewByLink{
			Token: o.Linked("ida@neu.example"), Password: "ein ganz anderes Kennwort",
		}, nil, 204)
		if knows(ida.device) {
			t.Error("a reset")
		}
		// Sign-ins from many networks do not make the table large.
		for n := range 25 {
			o.Clock.Advance(time.Minute)
			v := stranger(t, o, n)
			v.device = ida.device
			v.signIn("ida@neu.example", "ein ganz anderes Kennwort", "signedIn")
		}
		var n int
		id := accountOf(t, o, "ida@neu.example")
		if dbtest.Get(t, o.DB, []any{&n}, `select count(*) from devices where account_id = $1`, id); n != 20 {
			t.Errorf("%d rows", n)
		}
		if got := ask(t, o, api.Admin, api.Local(), "people.erase", op.ByID{ID: person.ID}); got.Fault != nil {
			t.Fatalf("%s", got.Body)
		}
		if dbtest.Get(t, o.DB, []any{&n}, `select count(*) from devices where account_id = $1`, id); n != 0 {
			t.Errorf("%d rows of an account that is erased", n)
		}
	})
}
