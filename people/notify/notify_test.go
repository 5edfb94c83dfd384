package notify_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"kartei/access"
	"kartei/api/op"
	keys "kartei/integration/key"
	"kartei/integration/limit"
	"kartei/kit/clock"
	"kartei/kit/masterkey"
	"kartei/people/notify"
	"kartei/people/organization"
	"kartei/people/principal"
	"kartei/store/db"
	"kartei/store/job"
	"kartei/test/dbtest"
	"kartei/test/operator"
	"kartei/test/waittest"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

var (
	ctx   = context.Background()
	begin = time.Date(2026, 11, 2, 9, 15, 0, 0, time.UTC)
)

// office is an organization with the owner of a key, an admin who reads English, and users who must
// not get notices.
type office struct {
	testing.TB
	db                         db.DB
	clock                      *clock.Fake
	directory                  *access.Directory
	operator                   *operator.Operator
	id                         string
	sandbox, live              int64
	owner, admin, service, key string
	kid                        string // the short form of the kid
	vault                      masterkey.Vault
	logged                     *buffer
	ended                      chan struct{} // receives when a job has ended
}

// buffer is a log that may be read while it is written.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func open(t testing.TB, d db.DB) *office {
	t.Helper()
	o := &office{TB: t, db: d, clock: clock.NewFake(begin), logged: new(buffer), ended: make(chan struct{}, 1)}
	o.directory = access.NewDirectory(d, o.clock, access.Options{})
	o.operator = operator.New(d, o.clock, o.directory)
	var err error
	o.vault, err = masterkey.NewVault(make([]byte, 32))
	must(t, err)
	info, err := o.operator.CreateOrganization(ctx, organization.New{
		Name: "Kanzlei Morgenstern", Module: "on", Secrecy: "declared", Level: access.On,
	})
	must(t, err)
	o.id = info.ID
	user := func(organization, name, email, language string, role access.Role) string {
		p, err := o.operator.CreateUser(ctx, principal.New{
			Organization: organization, Name: name, Email: email, Language: language, Role: role,
		})
		must(t, err)
		return p.ID
	}
	o.owner = user(o.id, "Anna Berg", "anna.berg@example.com", "", access.Member)
	o.admin = user(o.id, "John Müller", "john@example.com", "en", access.Admin)
	user(o.id, "Unbeteiligt", "other@example.com", "", access.Member)
	gone := user(o.id, "Gesperrt", "gone@example.com", "", access.Admin)
	yes := true
	_, err = o.operator.SetUser(ctx, principal.Change{ID: gone, Disabled: &yes})
	must(t, err)
	foreign, err := o.operator.CreateOrganization(ctx, organization.New{
		Name: "Andere", Module: "on", Secrecy: "declared", Level: access.On,
	})
	must(t, err)
	user(foreign.ID, "Fremd", "foreign@example.com", "", access.Admin)
	service, err := o.operator.CreateServiceAccount(ctx, principal.New{Organization: o.id, Name: "Abgleich"})
	must(t, err)
	o.service = service.ID
	key, err := o.operator.CreateKey(ctx, keys.New{
		Organization: o.id,
		Principal:    o.owner,
		Environment:  "test",
		Name:         "Abgleich Köln",
		Scopes:       []string{"contacts:read"},
	})
	must(t, err)
	o.key, o.kid = key.ID, key.KidShort
	must(t, d.Read(ctx, func(tx db.Tx) error {
		return tx.QueryRow(ctx, `select o.number, o.sandbox_of from organizations o join api_keys k on k.organization = o.number where k.id = $1`, o.key).Scan(&o.sandbox, &o.live)
	}))
	return o
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// center returns a Center with the sender s.
func (o *office) center(s notify.Sender) *notify.Center {
	return notify.New(notify.Options{
		DB: o.db, Clock: o.clock, Logger: slog.New(slog.NewTextHandler(o.logged, nil)), Sender: s,
		From: "kartei@example.com", Host: "kartei.example", BaseURL: "https://kartei.example", PauseExhausted: true,
		Vault: o.vault,
	})
}

// run runs the jobs of a Center until stop is called or the test ends. It returns once no job is
// due.
func (o *office) run(c *notify.Center) (stop func()) {
	o.Helper()
	stop = o.start(o.db, c)
	o.rest()
	return stop
}

// start runs the jobs of a Center on a database until stop is called or the test ends.
func (o *office) start(d db.DB, c *notify.Center) (stop func()) {
	o.Helper()
	running, cancel := context.WithCancel(ctx)
	r := job.NewRunner(d, o.clock, c.Handlers(),
		job.Options{Logger: slog.New(slog.NewTextHandler(o.logged, nil)), Observe: func(string, string, time.Duration) {
			select {
			case o.ended <- struct{}{}:
			default:
			}
		}})
	var ground sync.WaitGroup
	ground.Go(func() { r.Run(running) })
	stop = sync.OnceFunc(func() { cancel(); ground.Wait() })
	o.Cleanup(stop)
	return stop
}

// rest waits until no email is due or being sent.
func (o *office) rest() {
	o.Helper()
	for watch := waittest.New(); ; {
		open := o.count("jobs", "state = 'running' or state = 'waiting' and due_at <= "+fmt.Sprint(int64(clock.Now(o.clock))))
		if open == 0 {
			return
		}
		select {
		case <-o.ended:
		case <-time.After(20 * time.Millisecond): // the process of a job may have stopped
		case <-watch.Stuck(open):
			o.Fatalf("%d emails are not sent: %s", open, o.logged)
		}
	}
}

// pass advances the clock and waits until no email is due.
func (o *office) pass(d time.Duration) {
	o.Helper()
	o.clock.Advance(d)
	o.rest()
}

// count counts rows of the organization.
func (o *office) count(table, where string) (n int) {
	o.Helper()
	must(o, o.db.Read(ctx, func(tx db.Tx) error {
		return tx.QueryRow(ctx, `select count(*) from `+table+` where organization = $1 and (`+where+`)`, o.live).Scan(&n)
	}))
	return n
}

func (o *office) alert(c *notify.Center, a limit.Alert) {
	o.Helper()
	must(o, o.db.Write(ctx, func(tx db.Tx) error { return c.Alert(ctx, tx, a) }))
}

func (o *office) low() limit.Alert {
	return limit.Alert{
		Organization: o.sandbox, Principal: o.owner, Key: o.key, Policy: "deletes-day", Used: 240, Quota: 300,
		At: begin.UnixMicro(),
	}
}

// read returns entries of the bells, written by a Center.
func (o *office) read(c *notify.Center, in notify.BellInput) (op.Entries[notify.Entry], error) {
	return operator.Run(ctx, o.operator.With(*op.Services{}.With(notify.Service.Is(c))), notify.ListBell, in)
}

func (o *office) bell(c *notify.Center) []notify.Entry {
	o.Helper()
	page, err := o.read(c, notify.BellInput{Organization: o.id})
	must(o, err)
	return page.Data
}

// server is an SMTP server on a loopback address.
type server struct {
	mu       sync.Mutex
	refuse   int // the number of deliveries that the server will refuse
	with     *smtp.SMTPError
	received []receivedMail
	address  string
}

type receivedMail struct {
	from, to, user string
	message        *mail.Message
	body           string
}

func listen(t testing.TB) *server {
	t.Helper()
	s := &server{}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	s.address = l.Addr().String()
	backend := smtp.NewServer(smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) { return &session{server: s}, nil }))
	backend.AllowInsecureAuth = true
	backend.Domain = "localhost"
	backend.ErrorLog = silent{}
	go backend.Serve(l)
	t.Cleanup(func() { backend.Close() })
	return s
}

type silent struct{}

func (silent) Printf(string, ...any) {}
func (silent) Println(...any)        {}

type session struct {
	server         *server
	from, to, user string
}

func (s *session) AuthMechanisms() []string { return []string{sasl.Plain} }
func (s *session) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		if password != "geheim" {
			return errors.New("wrong password")
		}
		s.user = user
		return nil
	}), nil
}
func (s *session) Mail(from string, _ *smtp.MailOptions) error { s.from = from; return nil }
func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	if s.server.refuse > 0 {
		s.server.refuse--
		return s.server.with
	}
	s.to = to
	return nil
}
func (s *session) Reset()        {}
func (s *session) Logout() error { return nil }
func (s *session) Data(r io.Reader) error {
	m, err := mail.ReadMessage(r)
	if err != nil {
		return err
	}
	body, err := readBody(m)
	if err != nil {
		return err
	}
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	s.server.received = append(s.server.received, receivedMail{s.from, s.to, s.user, m, body})
	return nil
}

func readBody(m *mail.Message) (string, error) {
	b, err := io.ReadAll(quotedprintable.NewReader(m.Body))
	return strings.ReplaceAll(string(b), "\r\n", "\n"), err
}

func subject(t testing.TB, m *mail.Message) string {
	t.Helper()
	s, err := new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject"))
	must(t, err)
	return s
}

func (s *server) sender(t testing.TB, user string) notify.Sender {
	t.Helper()
	sender, err := notify.NewSMTP("smtp://" + user + s.address)
	must(t, err)
	return sender
}

func (s *server) all() []receivedMail {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := slices.Clone(s.received)
	slices.SortFunc(all, func(a, b receivedMail) int { return strings.Compare(a.to, b.to) })
	return all
}

// TestOwnerAndAdminsAreTold checks that the owner and each admin get one entry and one email, in
// their language.
func TestOwnerAndAdminsAreTold(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o, s := open(t, d), listen(t)
		c := o.center(s.sender(t, "kartei:geheim@"))
		o.alert(c, o.low())
		o.run(c)
		all := s.all()
		if len(all) != 2 || all[0].to != "anna.berg@example.com" || all[1].to != "john@example.com" {
			t.Fatalf("received %+v: %s", all, o.logged)
		}
		for i, want := range []struct{ subject, to, language, text string }{
			{"80 % verbraucht", "anna.berg@example.com", "de", "Guten Tag,\n\nDer API-Schlüssel " + o.kid},
			{"80% of the daily quota of deletions used", "john@example.com", "en", "Hello,\n\nThe API key " + o.kid},
		} {
			m := all[i].message
			to, err := m.Header.AddressList("To")
			if err != nil || len(to) != 1 || to[0].Name != "" || to[0].Address != want.to {
				t.Errorf("to %s: To: %v, %v", want.to, to, err)
			}
			if got := subject(t, m); !strings.Contains(got, want.subject) || !strings.HasPrefix(got, "Kartei: ") {
				t.Errorf("to %s: subject %q", want.to, got)
			}
			if !strings.HasPrefix(all[i].body, want.text) || !strings.Contains(all[i].body, "240") ||
				!strings.HasSuffix(all[i].body, "\nhttps://kartei.example\n") ||
				!strings.Contains(all[i].body, "2026-11-02 09:15") {
				t.Errorf("to %s: body %q", want.to, all[i].body)
			}
			if m.Header.Get("Content-Language") != want.language || m.Header.Get("Auto-Submitted") != "auto-generated" ||
				!strings.HasPrefix(m.Header.Get("Message-Id"), "<ntc_") ||
				!strings.HasSuffix(m.Header.Get("Message-Id"), "@kartei.example>") {
				t.Errorf("to %s: header %v", want.to, m.Header)
			}
			if date, err := m.Header.Date(); err != nil || !date.Equal(begin) {
				t.Errorf("to %s: Date %v, %v", want.to, date, err)
			}
			if all[i].user != "kartei" || all[i].from != "kartei@example.com" {
				t.Errorf("from %s as %q", all[i].from, all[i].user)
			}
		}
		bell := o.bell(c)
		if len(bell) != 2 {
			t.Fatalf("%d entries", len(bell))
		}
		for _, e := range bell {
			if of := map[bool]string{
				false: "(„Abgleich Köln“) von ", true: "(“Abgleich Köln”) of ",
			}[e.PrincipalID == o.admin]; !strings.Contains(e.Text, of+"Kanzlei Morgenstern (Sandbox) ") {
				t.Errorf("the bell says %s", e.Text)
			}
			english := e.PrincipalID == o.admin
			if !english && e.PrincipalID != o.owner {
				t.Errorf("told %s", e.PrincipalID)
			}
			if e.Kind != notify.QuotaLow || e.MailedAt == 0 || e.ReadAt != 0 ||
				!strings.Contains(string(e.Facts), `"used":240`) || strings.Contains(e.Title, "used") != english {
				t.Errorf("%+v", e)
			}
		}
		if log := o.logged.String(); strings.Count(log, "email sent") != 2 || strings.Contains(log, "example.com") ||
			strings.Contains(log, "geheim") || strings.Contains(log, "Anna") {
			t.Errorf("log %s", log)
		}
	})
}

// TestSessionQuota checks a notice about a quota of the web application. It goes to the person and
// the admins. It does not contain a key, and the email does not contain names.
func TestSessionQuota(t *testing.T) {
	o, s := open(t, dbtest.SQLite(t)), listen(t)
	c := o.center(s.sender(t, ""))
	o.alert(c, limit.Alert{
		Organization: o.sandbox, Principal: o.owner, Key: limit.Sessions(o.owner), Session: true,
		Policy: "session-outflow", Used: 24_000, Quota: 30_000, At: begin.UnixMicro(),
	})
	o.run(c)
	all, bell := s.all(), o.bell(c)
	if len(all) != 2 || len(bell) != 2 {
		t.Fatalf("%d emails, %d entries: %s", len(all), len(bell), o.logged)
	}
	var texts []string
	for i, m := range all {
		texts = append(texts, subject(t, m.message)+m.body, bell[i].Title+bell[i].Text)
		if strings.Contains(m.body, "Anna") || !strings.Contains(m.body, o.owner) {
			t.Errorf("the email says %s", m.body)
		}
		if bell[i].Kind != notify.SessionQuotaLow || !strings.Contains(bell[i].Text, "Anna") {
			t.Errorf("the bell says %+v", bell[i])
		}
	}
	for _, text := range texts {
		if !strings.Contains(text, "80") || !strings.Contains(text, "24000") || strings.Contains(text, "kartei key") ||
			strings.Contains(text, "QUOTA_EXHAUSTED") ||
			strings.Contains(text, "session-") || strings.Contains(text, "session:") {
			t.Errorf("the text is %s", text)
		}
	}
}

// TestServiceAccount checks that notices about a service account go to the admins.
func TestServiceAccount(t *testing.T) {
	o := open(t, dbtest.SQLite(t))
	c := o.center(nil)
	a := o.low()
	a.Principal, a.Organization = o.service, o.live
	o.alert(c, a)
	if bell := o.bell(c); len(bell) != 1 || bell[0].PrincipalID != o.admin {
		t.Errorf("%+v", bell)
	}
}

// TestEveryKindInBothLanguages checks that each text exists in both languages, and that the
// languages differ.
func TestEveryKindInBothLanguages(t *testing.T) {
	o := open(t, dbtest.SQLite(t))
	c := o.center(nil)
	for _, policy := range []string{"deletes-day", "outflow"} {
		for _, exhausted := range []bool{false, true} {
			a := o.low()
			a.Policy, a.Exhausted = policy, exhausted
			o.alert(c, a)
		}
	}
	titles := map[string]bool{}
	for _, e := range o.bell(c) {
		titles[e.Title+e.Text] = true
		if strings.Contains(e.Title+e.Text, "%!") || e.Title == "" ||
			strings.Contains(e.Text, " has ") && e.PrincipalID == o.owner {
			t.Errorf("%+v", e)
		}
	}
	if len(titles) != 8 {
		t.Errorf("%d different texts, want 8", len(titles))
	}
}

// TestRetried checks that the pauses between attempts grow while a server is unreachable or refuses
// an email. The log never contains the recipient.
func TestRetried(t *testing.T) {
	o, s := open(t, dbtest.SQLite(t)), listen(t)
	s.refuse, s.with = 4, &smtp.SMTPError{
		Code:         451,
		EnhancedCode: smtp.EnhancedCode{4, 3, 0},
		Message:      "anna.berg@example.com: later",
	}
	c := o.center(s.sender(t, ""))
	o.alert(c, o.low())
	o.run(c) // the first attempt of each email is refused
	for _, step := range []struct {
		wait time.Duration
		left int // the number of refusals that the server has left
	}{{50 * time.Second, 2}, {10 * time.Second, 0}, {110 * time.Second, 0}} {
		o.pass(step.wait)
		if n := len(s.all()); n != 0 || s.refuse != step.left {
			t.Fatalf("after %v: %d received, %d refusals left, want %d", step.wait, n, s.refuse, step.left)
		}
	}
	o.pass(10 * time.Second)
	if n := len(s.all()); n != 2 {
		t.Fatalf("%d received", n)
	}
	o.pass(100 * time.Hour)
	if n := len(s.all()); n != 2 {
		t.Errorf("sent again: %d received", n)
	}
	if log := o.logged.String(); !strings.Contains(log, "451 4.3.0") || strings.Contains(log, "example.com") {
		t.Errorf("log %s", log)
	}
}

// TestGivenUp checks that an email is given up if its address is refused for days. The bell keeps
// its entry.
func TestGivenUp(t *testing.T) {
	o, s := open(t, dbtest.SQLite(t)), listen(t)
	s.refuse, s.with = 1<<30, &smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 1, 1}, Message: "unknown"}
	c := o.center(s.sender(t, ""))
	a := o.low()
	a.Principal = o.service
	o.alert(c, a) // this sends one email, to the admin
	o.run(c)
	for range 20 {
		o.pass(24 * time.Hour)
	}
	if tries := 1<<30 - s.refuse; tries != 13 || strings.Count(o.logged.String(), "email given up") != 1 {
		t.Errorf("%d tries: %s", tries, o.logged)
	}
	if bell := o.bell(c); len(bell) != 1 || bell[0].MailedAt != 0 {
		t.Errorf("%+v", bell)
	}
}

// TestBundled checks that a user gets at most three emails of a kind in ten minutes. This holds for
// any number of replicas, which may stop at any time. The next email is about all waiting notices,
// and the bell always has all of them.
func TestBundled(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o, s := open(t, d), listen(t)
		first := o.center(s.sender(t, ""))
		a := o.low()
		a.Principal = o.service // one email for each notice, to the admin
		stop := o.run(first)
		o.run(o.center(s.sender(t, "")))
		moment := func(d time.Duration) {
			t.Helper()
			o.rest()
			o.pass(d)
		}
		for range 8 { // at intervals of 15 seconds
			o.alert(first, a)
			moment(15 * time.Second)
		}
		all := s.all()
		if len(all) != 3 {
			t.Fatalf("%d received at first: %s", len(all), o.logged)
		}
		for _, m := range all {
			if strings.Contains(m.body, "weitere") || strings.Contains(m.body, "Further") {
				t.Errorf("of one: %s", m.body)
			}
		}
		stop()
		o.run(o.center(s.sender(t, ""))) // a new process knows the earlier emails from the database
		other := a
		other.Policy, other.Exhausted = "deletes-day", true // a notice of another kind
		o.alert(first, other)
		for range 17 { // more notices than an email lists
			o.alert(first, a)
		}
		moment(7 * time.Minute)
		if n := len(s.all()); n != 4 {
			t.Fatalf("%d received, want one of the other kind more", n)
		}
		moment(time.Minute) // 10 minutes after the first email
		moment(time.Minute)
		all = s.all()
		if len(all) != 5 {
			t.Fatalf("%d received after ten minutes: %s", len(all), o.logged)
		}
		i := slices.IndexFunc(all, func(m receivedMail) bool { return strings.Contains(m.body, "Further notices") })
		if i < 0 {
			t.Fatal("none of them is of several")
		}
		// The email is about 22 notices: 5 of the first 8, and 17 new ones.
		last := all[i]
		if got := subject(t, last.message); !strings.HasSuffix(got, "used (and 21 more)") {
			t.Errorf("subject %q", got)
		}
		if !strings.Contains(last.body, "since then: 21. All of them are also under Notifications: https://kartei.example/bell\n\n- API key "+o.kid) || strings.Count(last.body, "\n- ") != 11 ||
			!strings.Contains(last.body, "\n- and 11 more that are not listed here\n") {
			t.Errorf("body %s", last.body)
		}
		page, err := o.read(first, notify.BellInput{Organization: o.id, Limit: 1000})
		if err != nil || len(page.Data) != 26 ||
			slices.ContainsFunc(page.Data, func(e notify.Entry) bool { return e.MailedAt == 0 }) {
			t.Errorf("the bell has %d entries, %v", len(page.Data), err)
		}
		moment(time.Hour)
		if n := len(s.all()); n != 5 {
			t.Errorf("sent again: %d received", n)
		}
		ids := map[string]bool{}
		for _, m := range all {
			ids[m.message.Header.Get("Message-Id")] = true
		}
		if len(ids) != 5 {
			t.Errorf("the emails have the ids %v", ids)
		}
	})
}

// TestBundleSurvives checks that no notice is lost if a process dies or the server refuses an
// email. Later notices are not lost either.
func TestBundleSurvives(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o, s := open(t, d), listen(t)
		a := o.low()
		a.Principal = o.service
		o.alert(o.center(nil), a)
		o.alert(o.center(nil), a)
		o.dies()
		s.refuse, s.with = 1, &smtp.SMTPError{Code: 451, EnhancedCode: smtp.EnhancedCode{4, 3, 0}, Message: "later"}
		c := o.center(s.sender(t, ""))
		o.start(d, c)
		o.alert(c, a)
		o.clock.Advance(10 * time.Second)
		if n := len(s.all()); n != 0 {
			t.Fatalf("%d received while the first may be at it", n)
		}
		o.pass(2 * time.Minute) // the attempt is refused
		if n := len(s.all()); n != 0 || s.refuse != 0 {
			t.Fatalf("%d received, %d refusals left", n, s.refuse)
		}
		o.alert(c, a) // this notice is in the same email
		o.pass(2 * time.Minute)
		all := s.all()
		if len(all) != 1 || !strings.Contains(all[0].body, "since then: 3.") {
			t.Errorf("received %+v, want one email about four notices: %s", all, o.logged)
		}
		if bell := o.bell(c); len(bell) != 4 ||
			slices.ContainsFunc(bell, func(e notify.Entry) bool { return e.MailedAt == 0 }) {
			t.Errorf("%+v", bell)
		}
		if n := o.count("jobs", "true"); n != 0 {
			t.Errorf("%d jobs are left", n)
		}
	})
}

// TestMeanwhile checks that a notice posted during the sending of an email is in the next email,
// even if the first email fails.
func TestMeanwhile(t *testing.T) {
	for _, taken := range []bool{true, false} {
		dbtest.Each(t, func(t *testing.T, d db.DB) {
			o := open(t, d)
			a := o.low()
			a.Principal = o.service
			s := &waitingSender{asked: make(chan struct{}), answer: make(chan error)}
			c := o.center(s)
			o.start(d, c)
			o.alert(c, a)
			<-s.asked
			o.alert(c, a)
			cause := errors.New("broken")
			if taken {
				cause = nil
			}
			s.answer <- cause
			if !taken {
				o.rest()
				o.clock.Advance(time.Minute) // the first pause
			}
			<-s.asked
			s.answer <- nil
			o.rest()
			want := []string{"1", "1"}
			if !taken {
				want = []string{"1", "2"}
			}
			if !slices.Equal(s.counts, want) || o.count("notices", "mailed_at = 0") != 0 || o.count("jobs", "true") != 0 {
				t.Errorf("taken %v: emails about %v notices: %s", taken, s.counts, o.logged)
			}
		})
	}
}

// TestNoticeBetweenFailureAndPutBack checks a notice that is posted after a failed attempt but
// before its job is put back. It does not wait for the whole backoff.
func TestNoticeBetweenFailureAndPutBack(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := open(t, d)
		a := o.low()
		a.Principal = o.service
		s := &brokenSender{}
		c := o.center(s)
		o.start(&interposedDB{DB: d, sender: s, at: 8, do: func() { o.alert(c, a) }}, c)
		o.alert(c, a)
		o.rest()
		for _, minutes := range []int{1, 2, 5, 15, 30, 60, 120} {
			o.pass(time.Duration(minutes) * time.Minute)
		}
		if n := s.attempts.Load(); n != 8 || o.count("notices", "true") != 2 {
			t.Fatalf("%d attempts, %d notices: %s", n, o.count("notices", "true"), o.logged)
		}
		s.mended.Store(true)
		o.pass(9 * time.Minute)
		if n := s.attempts.Load(); n != 8 {
			t.Errorf("%d attempts within the window", n)
		}
		o.pass(time.Minute) // the next pause of the backoff is four hours
		if n := o.count("notices", "mailed_at = 0"); n != 0 || s.attempts.Load() != 9 {
			t.Errorf("%d notices wait after %d attempts: %s", n, s.attempts.Load(), o.logged)
		}
	})
}

// TestDeadServer checks that many notices do not cause many attempts while a mail server is down.
// No email is given up because of them.
func TestDeadServer(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := open(t, d)
		a := o.low()
		a.Principal = o.service
		s := &brokenSender{}
		c := o.center(s)
		o.start(d, c)
		for range 120 {
			o.alert(c, a)
			o.rest()
			o.pass(time.Minute)
		}
		// The attempts were after 0, 1, 3, 10, 20, ... 120 minutes.
		if n := s.attempts.Load(); n != 15 || strings.Contains(o.logged.String(), "given up") {
			t.Errorf("%d attempts in two hours, want 15", n)
		}
		s.mended.Store(true)
		o.alert(c, a)
		o.pass(10 * time.Minute)
		if n := o.count("notices", "mailed_at = 0"); n != 0 || s.attempts.Load() != 16 {
			t.Errorf("%d notices wait, %d attempts", n, s.attempts.Load())
		}
	})
}

// brokenSender is a Sender that counts attempts. It fails until mended is set.
type brokenSender struct {
	attempts atomic.Int64
	mended   atomic.Bool
}

func (s *brokenSender) Send(context.Context, string, notifyMessage) error {
	s.attempts.Add(1)
	if s.mended.Load() {
		return nil
	}
	return errors.New("broken")
}

// interposedDB is a database that calls do before it stores the end of attempt number at.
type interposedDB struct {
	db.DB
	sender *brokenSender
	at     int64
	do     func()
}

func (b *interposedDB) WriteIn(ctx context.Context, organization int64, f func(db.Tx) error) error {
	if b.sender.attempts.Load() == b.at && b.do != nil {
		b.do()
		b.do = nil
	}
	return b.DB.WriteIn(ctx, organization, f)
}

// waitingSender is a Sender that waits for the test before it returns.
type waitingSender struct {
	asked  chan struct{}
	answer chan error
	counts []string // the number of notices in each email
}

func (s *waitingSender) Send(_ context.Context, id string, _ notifyMessage) error {
	_, n, several := strings.Cut(id, ".")
	if !several {
		n = "1"
	}
	s.counts = append(s.counts, n)
	s.asked <- struct{}{}
	return <-s.answer
}

// dies simulates a process that dies while it sends an email.
func (o *office) dies() {
	o.Helper()
	dead := dyingSender{make(chan struct{})}
	gone := &crashingDB{DB: o.db}
	stop := o.start(gone, o.center(dead))
	<-dead.asked
	gone.crashed.Store(true)
	stop()
}

// crashingDB is the database of a process that dies: its writes fail once crashed is set.
type crashingDB struct {
	db.DB
	crashed atomic.Bool
}

func (c *crashingDB) Write(ctx context.Context, f func(db.Tx) error) error {
	if c.crashed.Load() {
		return db.ErrUnavailable
	}
	return c.DB.Write(ctx, f)
}

func (c *crashingDB) WriteIn(ctx context.Context, organization int64, f func(db.Tx) error) error {
	if c.crashed.Load() {
		return db.ErrUnavailable
	}
	return c.DB.WriteIn(ctx, organization, f)
}

// dyingSender is a Sender whose process dies during Send.
type dyingSender struct{ asked chan struct{} }

func (s dyingSender) Send(ctx context.Context, _ string, _ notifyMessage) error {
	close(s.asked)
	<-ctx.Done()
	return ctx.Err()
}

// TestCrash checks that one of two other processes sends an email after the lease, if the process
// that was sending it has died.
func TestCrash(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o, s := open(t, d), listen(t)
		a := o.low()
		a.Principal = o.service
		o.alert(o.center(nil), a)
		o.dies()
		o.start(d, o.center(s.sender(t, "")))
		o.start(d, o.center(s.sender(t, "")))
		if n := len(s.all()); n != 0 {
			t.Fatalf("%d received while the first may be at it", n)
		}
		o.pass(2*time.Minute + time.Second)
		if n := len(s.all()); n != 1 {
			t.Errorf("%d received", n)
		}
	})
}

// TestRetriedByTheOperator checks that an email which was given up is sent if the operator retries
// its job. Until then the job is listed as failed.
func TestRetriedByTheOperator(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o, s := open(t, d), listen(t)
		s.refuse, s.with = 13, &smtp.SMTPError{
			Code:         550,
			EnhancedCode: smtp.EnhancedCode{5, 1, 1},
			Message:      "anna.berg@example.com unknown",
		}
		c := o.center(s.sender(t, ""))
		a := o.low()
		a.Principal = o.service
		o.alert(c, a)
		o.run(c)
		for range 12 {
			o.pass(24 * time.Hour)
		}
		var failed []job.FailedJob
		must(t, d.Read(ctx, func(tx db.Tx) (err error) {
			failed, err = job.FailedJobs(ctx, tx, 10)
			return err
		}))
		if len(failed) != 1 || failed[0].Kind != notify.MailKind || !strings.Contains(failed[0].Error, "550 5.1.1") ||
			strings.Contains(failed[0].Error, "example.com") {
			t.Fatalf("%+v", failed)
		}
		must(t, d.Write(ctx, func(tx db.Tx) error {
			_, err := job.Retry(ctx, tx, clock.Now(o.clock), failed[0].ID)
			return err
		}))
		o.rest()
		if n := len(s.all()); n != 1 || o.bell(c)[0].MailedAt == 0 {
			t.Errorf("%d received: %s", n, o.logged)
		}
	})
}

// TestMessage checks that an email with a secret link is encrypted while it waits, and is sent
// once. After that, or if it is given up, the database has no trace of the link.
func TestMessage(t *testing.T) {
	const link = "https://kartei.example/invitations/geheimes-kennzeichen"
	for name, test := range map[string]struct {
		refuse, want int
		until        time.Duration
	}{
		"taken":               {0, 1, 0},
		"taken later":         {3, 1, 0},
		"given up":            {1 << 30, 0, 0},
		"its link ends first": {3, 0, 2 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			dbtest.Each(t, func(t *testing.T, d db.DB) {
				o, s := open(t, d), listen(t)
				s.refuse, s.with = test.refuse, &smtp.SMTPError{
					Code:         451,
					EnhancedCode: smtp.EnhancedCode{4, 3, 0},
					Message:      "later",
				}
				c := o.center(s.sender(t, ""))
				m := notify.Message{
					To: "neu@example.com", Language: "de", Title: "Einladung", Text: "Hier geht es weiter:\n" + link,
				}
				if test.until > 0 {
					m.Until = clock.Now(o.clock).Add(test.until)
				}
				must(t, d.Write(ctx, func(tx db.Tx) error { return c.Send(ctx, tx, o.live, m) }))
				if n := o.count("jobs", "payload like '%geheim%' or payload like '%neu@%'"); n != 0 {
					t.Error("the link or the address can be read in the database")
				}
				o.run(c)
				for range 20 {
					o.pass(24 * time.Hour)
				}
				all := s.all()
				if len(all) != test.want {
					t.Fatalf("%d received: %s", len(all), o.logged)
				}
				for _, r := range all {
					if r.to != "neu@example.com" || !strings.Contains(r.body, link) ||
						!strings.HasPrefix(r.message.Header.Get("Message-Id"), "<job_") || subject(t, r.message) != "Kartei: Einladung" {
						t.Errorf("%+v", r)
					}
				}
				if n := o.count("jobs", "payload <> '{}' or state <> 'failed'"); n != 0 {
					t.Errorf("%d jobs still have the link", n)
				}
				if log := o.logged.String(); strings.Contains(log, "geheim") || strings.Contains(log, "neu@") {
					t.Errorf("the log says %s", log)
				}
			})
		})
	}
}

// TestFiles checks that emails become files for a mail program if there is no server.
func TestFiles(t *testing.T) {
	o := open(t, dbtest.SQLite(t))
	dir := filepath.Join(t.TempDir(), "mail")
	c := o.center(notify.Files(dir))
	o.alert(c, o.low())
	o.run(c)
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) != 2 {
		t.Fatal(files, err)
	}
	if log := o.logged.String(); strings.Contains(log, "email sent") {
		t.Errorf("an email in a file counts as sent: %s", log)
	}
	for _, name := range files {
		if log := o.logged.String(); strings.Count(log, "email written to a file") != 2 || !strings.Contains(log, name) {
			t.Errorf("the log does not name %s: %s", name, log)
		}
		f, err := os.Open(name)
		must(t, err)
		m, err := mail.ReadMessage(f)
		must(t, err)
		body, err := readBody(m)
		if id := strings.TrimSuffix(filepath.Base(name), ".eml"); err != nil ||
			m.Header.Get("Message-Id") != "<"+id+"@kartei.example>" || !strings.Contains(body, o.kid) ||
			strings.Contains(body, "Kanzlei") {
			t.Errorf("%s: %v: %s", name, m.Header, body)
		}
		f.Close()
	}
}

// TestPausedWhenExhausted checks that PauseExhausted pauses the key in the transaction of the
// notice.
func TestPausedWhenExhausted(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := open(t, d)
		c := o.center(nil)
		a := o.low()
		a.Exhausted, a.Used = true, 300
		o.alert(c, a)
		key, err := o.operator.GetKey(ctx, op.ByID{ID: o.key})
		if err != nil || key.Status != keys.Paused {
			t.Errorf("%+v, %v", key, err)
		}
		bell := o.bell(c)
		if len(bell) != 2 || bell[0].Kind != notify.KeyPaused ||
			!strings.Contains(bell[0].Title+bell[1].Title, "angehalten") {
			t.Errorf("%+v", bell)
		}
	})
}

// TestDisabledMeanwhile checks that a disabled user gets no email.
func TestDisabledMeanwhile(t *testing.T) {
	o, s := open(t, dbtest.SQLite(t)), listen(t)
	c := o.center(s.sender(t, ""))
	o.alert(c, o.low())
	yes := true
	_, err := o.operator.SetUser(ctx, principal.Change{ID: o.owner, Disabled: &yes})
	must(t, err)
	o.run(c)
	if all := s.all(); len(all) != 1 || all[0].to != "john@example.com" {
		t.Errorf("received %+v", all)
	}
}

func TestAddresses(t *testing.T) {
	for _, bad := range []string{"", "smtp://", "http://u:geheim@h", "smtp://u:geheim@h:port"} {
		if _, err := notify.NewSMTP(bad); err == nil || strings.Contains(fmt.Sprint(err), "geheim") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// TestWithoutEncryption checks that a remote server without encryption does not get the password.
func TestWithoutEncryption(t *testing.T) {
	o, s := open(t, dbtest.SQLite(t)), listen(t)
	_, port, _ := net.SplitHostPort(s.address)
	host, err := os.Hostname()
	must(t, err)
	if addresses, err := net.LookupHost(host); err != nil || len(addresses) == 0 ||
		!strings.HasPrefix(addresses[0], "127.") {
		t.Skip("the machine's name does not lead to loopback")
	}
	sender, err := notify.NewSMTP("smtp://kartei:geheim@" + host + ":" + port)
	must(t, err)
	c := o.center(sender)
	o.alert(c, o.low())
	o.run(c)
	if all := s.all(); len(all) != 0 {
		t.Errorf("received %+v", all)
	}
}
