// Package journey owns tests of people with a browser, on an instance with the sample office.
package journey

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"kartei/access"
	"kartei/instance"
	"kartei/instance/config"
	"kartei/instance/sample"
	"kartei/integration/key"
	"kartei/kit/clock"
	"kartei/people/principal"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/test/waittest"
	"kartei/test/webtest"
)

// Begin is the initial time of each test: a Monday morning.
var Begin = time.Date(2026, 11, 23, 8, 0, 0, 0, time.UTC)

// Office is a running instance with the sample office. Its clock stands still unless the test moves
// it.
type Office struct {
	testing.TB
	*instance.Instance
	sample.Office
	Clock *clock.Fake
	// Browser is the browser in which people of the office sign in.
	Browser *webtest.Browser
	// Logged is the log of the instance.
	Logged *dbtest.LogCollector

	key    func() string
	firsts map[string]string
}

// Option changes an office before it starts.
type Option func(*options)

type options struct {
	contacts  int
	documents bool
	server    func(*config.Server)
}

// Contacts sets the number of contacts. The default is 60.
func Contacts(n int) Option { return func(o *options) { o.contacts = n } }

// Documents adds documents to the office, whose texts the search finds.
func Documents() Option { return func(o *options) { o.documents = true } }

// Server changes the settings of the instance.
func Server(f func(*config.Server)) Option { return func(o *options) { o.server = f } }

// Open starts an instance on a database, with the sample office in its live organization and its
// sandbox. It is stopped when the test ends.
func Open(t testing.TB, database string, with ...Option) *Office {
	t.Helper()
	chosen := options{contacts: 60, server: func(*config.Server) {}}
	for _, f := range with {
		f(&chosen)
	}
	o := &Office{TB: t, Clock: clock.NewFake(Begin), Logged: new(dbtest.LogCollector), firsts: map[string]string{}}
	c := instance.Config{
		Store: config.Store{
			DataDir: config.Dir(filepath.Join(t.TempDir(), "data")), DatabaseURL: config.DatabaseURL(database),
		}, Server: settingsOf(),
		Clock: o.Clock, Logger: slog.New(slog.NewTextHandler(o.Logged, &slog.HandlerOptions{Level: slog.LevelWarn})),
	}
	chosen.server(&c.Server)
	shareReader(t, string(c.Store.DataDir))
	var err error
	if o.Instance, err = instance.Start(context.Background(), c); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		if err := o.Close(context.Background()); err != nil {
			t.Errorf("the instance ends with %v", err)
		}
	})
	o.fill(chosen)
	o.key = sync.OnceValue(o.newKey)
	o.Browser = webtest.Start(t)
	return o
}

// shareReader lets an instance use the compiled PDF reader that all tests share. Compiling its own
// would take three seconds of processor time.
func shareReader(t testing.TB, data string) {
	t.Helper()
	shared, err := filepath.Abs("../../.cache/extract")
	for _, dir := range []string{shared, data} {
		err = errors.Join(err, os.MkdirAll(dir, 0o700))
	}
	if err = errors.Join(err, os.Symlink(shared, filepath.Join(data, "cache"))); err != nil {
		t.Fatal(err)
	}
}

// settingsOf returns the settings of a server on a free port of this machine. The URL has a host
// name, because passkeys need one.
func settingsOf() config.Server {
	return config.Server{
		Listen: "localhost:0", Guesses: 30, MaxConnections: 256, MaxConnectionsPerAddress: 256, MaxHeaderBytes: 1 << 18,
		MaxFileSize: 8 << 20, MaxStaged: 1 << 30, MaxTransfers: 32, MaxTransfersEach: 32, MaxCalls: 1024,
		TextSize: 1 << 20, TextTime: config.Duration(time.Minute), TextBudget: config.Duration(time.Hour),
		ShutdownTimeout: config.Duration(time.Minute),
	}
}

// fill creates the people of the office, and its records in both environments.
func (o *Office) fill(chosen options) {
	o.Helper()
	ctx := context.Background()
	var err error
	if o.Office, err = sample.Ensure(ctx, o.Operator()); err != nil {
		o.Fatal(err)
	}
	for _, organization := range []string{o.OrganizationID, o.SandboxID} {
		if chosen.contacts == 0 {
			return
		}
		if err := o.Fill(ctx, o.DB, o.Clock, organization, chosen.contacts); err != nil {
			o.Fatal(err)
		}
		if chosen.documents {
			if err := o.File(ctx, o.DB, o.Clock, o.Files, organization); err != nil {
				o.Fatal(err)
			}
		}
	}
	if chosen.documents {
		o.awaitDocuments()
	}
}

// awaitDocuments waits until all documents are created.
func (o *Office) awaitDocuments() {
	o.Helper()
	watch := waittest.New()
	for {
		o.Clock.Advance(time.Second) // a document that found no free reader is retried later
		var open, progress int
		dbtest.Get(o.TB, o.DB, []any{&open, &progress},
			`select coalesce(sum(case when status in ('succeeded', 'failed') then 0 else 1 end), 0), coalesce(sum(progress), 0) from operations`)
		if open == 0 {
			return
		}
		select {
		case <-watch.Stuck(open, progress):
			o.Fatalf("%d documents are not made: %s", open, o.Logged)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// Helene returns the id of the admin of the office.
func (o *Office) Helene() string { return o.Users[0] }

// Jonas returns the id of a member of the office.
func (o *Office) Jonas() string { return o.Users[1] }

// NewPerson adds a person with a role to the office and returns the id. rights replace the rights
// that the role gives.
func (o *Office) NewPerson(name string, role access.Role, rights ...access.Rights) string {
	o.Helper()
	in := principal.New{
		Organization: o.OrganizationID, Name: name,
		Email: strings.ToLower(strings.ReplaceAll(name, " ", ".")) + "@kanzlei-morgenstern.example", Role: role,
	}
	for _, r := range rights {
		in.Rights = r
	}
	made, err := o.Operator().CreateUser(context.Background(), in)
	if err != nil {
		o.Fatal(err)
	}
	return made.ID
}

// SignedIn opens a tab for a person who is signed in.
func (o *Office) SignedIn(principal string, v webtest.View) *webtest.Tab {
	o.Helper()
	tab := o.Browser.Tab(v)
	tab.SetCookie(o.BaseURL, o.Cookie(principal))
	return tab
}

// Cookie returns the session cookie of a new session of a person.
func (o *Office) Cookie(principal string) *http.Cookie {
	o.Helper()
	base, err := url.Parse(o.BaseURL)
	if err != nil {
		o.Fatal(err)
	}
	return &http.Cookie{Name: "kartei-" + base.Port(), Value: apitest.Session(o.TB, o.DB, o.Clock, principal)}
}

// Speaks sets the language of a person, such as de.
func (o *Office) Speaks(principal, language string) {
	o.Helper()
	dbtest.Run(o.TB, o.DB, `update principals set language = $1 where id = $2`, language, principal)
	o.Directory.Forget()
}

// First returns the id of a record that all people of the office can see. Each call with the same
// family returns the same id.
func (o *Office) First(family string) string {
	o.Helper()
	if id := o.firsts[family]; id != "" {
		return id
	}
	var page struct {
		Data []struct{ ID, Visibility string }
	}
	o.Call(http.MethodGet, "/"+family+"?limit=50", nil, &page)
	for _, r := range page.Data {
		if r.Visibility == "organization" {
			o.firsts[family] = r.ID
			return r.ID
		}
	}
	o.Fatalf("the office has no %s", family)
	return ""
}

// newKey creates an API key with which the test checks the results of what people did.
func (o *Office) newKey() string {
	o.Helper()
	key, err := o.Operator().CreateKey(context.Background(), key.New{
		Organization: o.OrganizationID, Principal: o.Helene(), Environment: access.Live, Name: "story",
		Scopes:   access.AllScopes(),
		Networks: sample.Loopback, ExpiresIn: 24 * time.Hour,
	})
	if err != nil {
		o.Fatal(err)
	}
	return key.Key
}

// Call calls the API of the live organization with an API key, and decodes the response into the
// value that into points to. It fails the test unless the call succeeds. Changes that need If-Match
// get *.
func (o *Office) Call(method, path string, body, into any) {
	o.Helper()
	var sent io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			o.Fatal(err)
		}
		sent = bytes.NewReader(b)
	}
	r, err := http.NewRequest(method, o.BaseURL+"/v1"+path, sent)
	if err != nil {
		o.Fatal(err)
	}
	r.Header = http.Header{
		"Authorization": {"Bearer " + o.key()},
		"Svc-Preview":   {"true"},
		"Content-Type":  {"application/json"},
	}
	switch method {
	case http.MethodPost:
		r.Header.Set("Idempotency-Key", access.NewToken())
	case http.MethodPatch, http.MethodDelete:
		r.Header.Set("If-Match", "*")
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		o.Fatal(err)
	}
	defer answer.Body.Close()
	got, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode >= 300 {
		o.Fatalf("%s %s: %d %v %s", method, path, answer.StatusCode, err, got)
	}
	if into == nil {
		return
	}
	if err := json.Unmarshal(got, into); err != nil {
		o.Fatalf("%s %s: %v %s", method, path, err, got)
	}
}
