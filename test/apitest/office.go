// Package apitest owns the helpers with which tests act as somebody through the doors, on a real API and database.
package apitest

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"kartei/access"
	"kartei/api"
	"kartei/api/op"
	"kartei/api/release"
	"kartei/door/mcp"
	"kartei/door/rest"
	"kartei/extract"
	"kartei/integration/grant"
	"kartei/integration/key"
	"kartei/integration/limit"
	"kartei/integration/oauth"
	"kartei/integration/requestlog"
	"kartei/integration/webhook"
	"kartei/kit/clock"
	"kartei/kit/masterkey"
	"kartei/people/account"
	"kartei/people/notify"
	"kartei/people/organization"
	"kartei/people/principal"
	"kartei/people/signin"
	"kartei/people/sso"
	"kartei/record/document"
	"kartei/record/upload"
	"kartei/store/blob"
	"kartei/store/db"
	"kartei/store/replay"
	"kartei/test/dbtest"
	"kartei/test/operator"
	"kartei/transfer/imports"

	"github.com/go-json-experiment/json"

	"kartei/kit/serve"
)

// Begin is the initial time of every test office's clock: the day after the
// release of the current version.
var Begin = time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC)

// Keys are the master keys of every test office.
var Keys = masterkey.Ring{Current: masterkey.New()}

// Current returns the name of the current version of the API.
func Current() string { return release.Names(release.VersionsIn("production"))[0] }

// AllScopes are the scopes of every family.
var AllScopes = strings.Fields("companies:read companies:write contacts:read contacts:write documents:read documents:write " +
	"tasks:read tasks:write webhook_endpoints:read webhook_endpoints:write")

// Office is an organization with its sandbox on a running API. Keys made for
// it are test keys, bound to the sandbox.
type Office struct {
	testing.TB
	DB        db.DB
	Clock     *clock.Fake
	Directory *access.Directory
	// Operator administers the office.
	Operator *operator.Operator
	API      *api.API
	Log      *requestlog.Log
	Handler  http.Handler
	// ID is the id of the live organization, SandboxID the id of its sandbox.
	ID, SandboxID string
	// Logged has the operator's log of all replicas.
	Logged *dbtest.LogCollector

	// Store holds the office's files.
	Store *blob.Local
	// Folder is the folder of Store.
	Folder string

	worked   *signal // signaled when a job has ended
	stopWork func()
	versions []release.Version
	// Limits counts the calls of this replica.
	Limits *limit.Ledger

	options options
	desk    *signin.Desk
}

// Option changes an office before it starts.
type Option func(*options)

type options struct {
	limits   limit.Config
	replicas int
	versions []release.Version
	maxCalls int

	transfers, transfersEach int
	batched                  bool
	silent                   bool
	costly                   bool
	way                      *Way // nil for none
	stored                   func(blob.Store) blob.Store
	texts                    extract.Options
	documents                *grant.Documents
	working                  func(*Workshop)
}

// Replicas sets how many replicas answer the calls of an office on PostgreSQL
// in turn. The default is the value of KARTEI_TEST_REPLICAS, or one. Tests that
// use the internals of an API need Replicas(1).
func Replicas(n int) Option { return func(o *options) { o.replicas = n } }

// Silent takes the mail server away.
func Silent() Option { return func(o *options) { o.silent = true } }

// Costly makes passwords as costly as in the product.
func Costly() Option { return func(o *options) { o.costly = true } }

// Metered makes the limits count, with other numbers for some of them. It uses
// one replica, because several use the time of the database, which a test
// cannot move (package limit tests them).
func Metered(overrides ...limit.Override) Option {
	return func(o *options) {
		policies, err := limit.With(overrides...)
		if err != nil {
			panic(err)
		}
		o.limits, o.replicas = limit.Config{Metered: true, Policies: policies}, 1
	}
}

// MaxCalls sets how many calls one replica answers at the same time.
func MaxCalls(n int) Option { return func(o *options) { o.maxCalls = n } }

// Transfers sets how many files one replica transfers at the same time, and how
// many of one organization.
func Transfers(bound, each int) Option {
	return func(o *options) { o.transfers, o.transfersEach = bound, each }
}

// Documents sets what reads the documents of applications.
func Documents(d *grant.Documents) Option { return func(o *options) { o.documents = d } }

// Versions sets the versions that are served instead of production's versions.
func Versions(v ...release.Version) Option { return func(o *options) { o.versions = v } }

// New opens an office on d, which must be migrated. It is closed with the test.
func New(t testing.TB, d db.DB, with ...Option) *Office {
	t.Helper()
	o := options{replicas: 1, versions: release.VersionsIn("production")}
	if n, err := strconv.Atoi(os.Getenv("KARTEI_TEST_REPLICAS")); err == nil {
		o.replicas = n
	}
	o.batched, o.way = os.Getenv("KARTEI_TEST_DOOR") == "batch", chosen()
	several := o.replicas > 1
	for _, f := range with {
		f(&o)
	}
	if several && o.replicas == 1 {
		t.Skip("about one replica, and so the same without KARTEI_TEST_REPLICAS")
	}
	c := clock.NewFake(Begin)
	office := &Office{TB: t, DB: d, Clock: c, Logged: new(dbtest.LogCollector), versions: o.versions}
	office.Directory = office.directory()
	office.Operator = operator.New(d, c, office.Directory, release.Names(o.versions)...)
	office.Log = requestlog.New(d, c)
	t.Cleanup(func() {
		ending, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := office.Log.Close(ending); err != nil {
			t.Errorf("the request log does not end: %v", err)
		}
	})
	office.options = o
	office.files()
	office.open()
	office.inTurn(o.replicas)
	office.ID, office.SandboxID = office.Organization("Kanzlei Morgenstern")
	return office
}

// inTurn lets further replicas answer every second, third ... call, if the
// database can be opened more than once.
func (o *Office) inTurn(n int) {
	o.Helper()
	handlers := []http.Handler{o.Handler}
	for len(handlers) < n {
		d := dbtest.Again(o.TB, o.DB)
		if d == nil {
			return
		}
		r := o.Replica(d)
		handlers = append(handlers, r.Handler)
	}
	var turn atomic.Int64
	o.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handlers[turn.Add(1)%int64(n)].ServeHTTP(w, r)
	})
}

func (o *Office) directory() *access.Directory {
	return access.NewDirectory(o.DB, o.Clock, access.Options{Failures: 1_000_000})
}

// open makes the API of the office and its door.
func (o *Office) open() {
	o.Helper()
	o.count()
	o.desk = signin.NewDesk(o.DB, Keys.Vault(signin.SecretsPurpose), BaseURL)
	if !o.options.costly {
		o.desk.Hasher = signin.NewTestHasher()
	}
	a, err := api.New(api.Options{
		DB: o.DB, Access: o.Directory, Log: o.Log, Clock: o.Clock,
		Limiter: o.Limits, MaxCalls: o.options.maxCalls,
		MaxTransfers: o.options.transfers, MaxTransfersEach: o.options.transfersEach,
		Logger:    slog.New(slog.NewTextHandler(o.Logged, nil)),
		Versions:  o.versions,
		CursorKey: bytes.Repeat([]byte{7}, 32),
		Answers:   Keys.Vault(replay.Purpose),
		DocsBase:  BaseURL,
		BaseURL:   BaseURL,
		Services: []op.ServiceValue{
			upload.Service.Is(o.fileOptions()), document.Viewer.Is(o.viewer()),
			webhook.Service.Is(webhook.Options{Secrets: Keys.Vault(webhook.SecretsPurpose)}),
			imports.Secrets.Is(Keys.Vault(imports.SecretsPurpose)), signin.Service.Is(o.desk),
			oauth.Service.Is(oauth.Options{Register: true, Documents: o.options.documents, Assistants: true}),
			organization.Retention.Is(0), notify.Service.Is(o.Notices()), notify.Mails.Is(!o.options.silent),
		},
	})
	if err != nil {
		o.Fatal(err)
	}
	o.API = a
	o.Handler = o.doors()
	o.work()
}

// doors returns the doors for programs.
func (o *Office) doors() http.Handler {
	o.Helper()
	address := func(r *http.Request) netip.Addr { return netip.MustParseAddrPort(r.RemoteAddr).Addr() }
	calls, uploads := rest.Handler(o.API, address, serve.Trace(nil)), rest.UploadHandler(o.Uploads())
	tools, err := mcp.Handler(mcp.Options{
		API: o.API, Address: address, Trace: serve.Trace(nil), BaseURL: BaseURL,
		Logger: slog.New(slog.NewTextHandler(o.Logged, nil)),
	})
	if err != nil {
		o.Fatal(err)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasPrefix(r.URL.Path, rest.UploadPrefix):
			uploads.ServeHTTP(w, r)
		case r.URL.Path == mcp.Path:
			tools.ServeHTTP(w, r)
		default:
			calls.ServeHTTP(w, r)
		}
	})
}

// Desk returns what the sign-in of the office needs.
func (o *Office) Desk() *signin.Desk { return o.desk }

// SignInBy gives the office an OpenID provider, nil for none.
func (o *Office) SignInBy(p *sso.Provider) { o.desk.Provider = p }

// count makes the limiter. On PostgreSQL it shares its counts with the other
// replicas of the office.
func (o *Office) count() {
	o.Helper()
	o.Limits = limit.Open(o.options.limits, o.Clock, limit.Options{
		DB: o.DB, Replica: fmt.Sprintf("replica%d", replicas.Add(1)), Logger: slog.New(slog.DiscardHandler),
	})
	if err := o.Limits.Start(context.Background()); err != nil {
		o.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		o.Limits.Run(ctx)
	}()
	o.Cleanup(func() {
		stop()
		<-ended
	})
}

var replicas atomic.Int64

// Replica returns the same office as another process would serve it, on the
// same database reached through d. It has an API and a directory of its own,
// and a clock of its own if one is given.
func (o *Office) Replica(d db.DB, clocks ...*clock.Fake) *Office {
	o.Helper()
	r := *o
	if len(clocks) > 0 {
		r.Clock = clocks[0]
	}
	r.DB = d
	r.Directory = r.directory()
	r.Operator = operator.New(d, r.Clock, r.Directory, release.Names(o.versions)...)
	r.open()
	return &r
}

// Organization makes a further organization. It returns its id and its sandbox's
// id.
func (o *Office) Organization(name string) (live, sandbox string) {
	o.Helper()
	info, err := o.Operator.CreateOrganization(context.Background(), organization.New{
		Name: name, Module: "on", Secrecy: "declared", Level: access.On,
	})
	if err != nil {
		o.Fatal(err)
	}
	return info.ID, info.SandboxID
}

// Requests reads the request log.
func (o *Office) Requests(in requestlog.QueryInput) (requestlog.QueryOutput, error) {
	return readLog(o, requestlog.List, in)
}

// VersionsInUse returns which keys use which version.
func (o *Office) VersionsInUse(in requestlog.VersionsInput) (requestlog.VersionsOutput, error) {
	return readLog(o, requestlog.ListVersions, in)
}

func readLog[I, O any](o *Office, of op.Operation[I, O], in I) (O, error) {
	if err := o.Log.Flush(o.Context()); err != nil {
		return *new(O), err
	}
	return operator.Run(o.Context(), o.Operator, of, in)
}

// Ask runs an operation by its id, with arguments as a client sends them.
func Ask[Out any](ctx context.Context, a *api.API, by api.Caller, id string, args api.Arguments) (out Out, err error) {
	r, err := api.Send(ctx, a, by, api.ByID(id), args)
	if err != nil {
		return out, err
	}
	return api.Value[Out](r)
}

// User makes a user of the office, or of another organization, and returns its id.
func (o *Office) User(role access.Role, organization ...string) string {
	o.Helper()
	in := principal.New{
		Organization: o.ID, Name: "Petra Morgenstern", Email: fmt.Sprintf("user%d@example.com", users.Add(1)),
		Role: role,
	}
	if len(organization) > 0 {
		in.Organization = organization[0]
	}
	info, err := o.Operator.CreateUser(context.Background(), in)
	if err != nil {
		o.Fatal(err)
	}
	return info.ID
}

var users atomic.Int64

// Key makes a test key for a principal; no scopes means all.
func (o *Office) Key(principal string, scopes ...string) string {
	o.Helper()
	if len(scopes) == 0 {
		scopes = AllScopes
	}
	info, err := o.Operator.GetPrincipal(context.Background(), access.ByID{ID: principal})
	if err != nil {
		o.Fatal(err)
	}
	key, err := o.Operator.CreateKey(context.Background(), key.New{
		Organization: info.OrganizationID, Principal: principal, Environment: "test",
		Scopes: scopes, Networks: []string{"192.0.2.0/24", "127.0.0.0/8"},
	})
	if err != nil {
		o.Fatal(err)
	}
	return key.Key
}

// Session signs a principal in, and returns the token of the session. The office's
// other sessions of the principal go on.
func (o *Office) Session(principal string) (token string) {
	o.Helper()
	return Session(o.TB, o.DB, o.Clock, principal)
}

// Session signs a principal of a database in, and returns the token of the session.
// A principal without an account gets one.
func Session(t testing.TB, d db.DB, c clock.Clock, id string) (token string) {
	t.Helper()
	joining.Lock() // only one caller makes the account of a principal
	defer joining.Unlock()
	now := clock.Now(c)
	err := d.Write(context.Background(), func(tx db.Tx) error {
		p, err := access.PrincipalIn(context.Background(), tx, "", id)
		if err != nil {
			return err
		}
		var name string
		err = tx.QueryRow(context.Background(), `select coalesce(account_id, '') from principals where id = $1`,
			id).Scan(&name)
		if err != nil {
			return err
		}
		if name == "" {
			name, err = account.Create(context.Background(), tx, now, cmp.Or(p.Email, id+"@example.com"))
			if err != nil {
				return err
			}
			if err = principal.Join(context.Background(), tx, id, name); err != nil {
				return err
			}
		}
		token, _, err = access.BeginSession(context.Background(), tx, now, access.NewSession{
			ProvenAt: now,
			Account:  name, Organization: p.Home, Principal: id, Address: "192.0.2.1",
			Agent: "Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Gecko/20100101 Firefox/130.0",
		})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return token
}

var joining sync.Mutex

// InSession reads as the web application does: by a session of the sandbox, with
// the parameters of the internal version. target is a path below /v1 with its query.
func (o *Office) InSession(token, target string) *Answer {
	o.Helper()
	path, query, _ := strings.Cut(target, "?")
	got := o.API.Do(context.Background(), &api.Request{
		Method: "GET", Path: path, Query: query, Header: map[string][]string{}, Door: api.Web,
		Credential: api.Cookie(token, true), Address: netip.MustParseAddr("192.0.2.1"),
	}, nil)
	return &Answer{TB: o.TB, Status: got.Status, Header: got.Header, Body: got.Body}
}

// As returns a client that acts with a fresh key of a fresh user.
func (o *Office) As(role access.Role, scopes ...string) *Client {
	o.Helper()
	user := o.User(role)
	if role == access.Viewer && len(scopes) == 0 {
		scopes = readOnly(AllScopes)
	}
	return &Client{Office: o, Principal: user, Key: o.Key(user, scopes...)}
}

func readOnly(scopes []string) (read []string) {
	for _, s := range scopes {
		if strings.HasSuffix(s, ":read") {
			read = append(read, s)
		}
	}
	return read
}

// Client sends requests with one key.
type Client struct {
	*Office
	Principal, Key string
}

// Answer is the answer to a request.
type Answer struct {
	testing.TB
	Status int
	Header http.Header
	Body   []byte
	log    *dbtest.LogCollector
}

// Do sends a request to /v1. headers are alternating names and values. A body
// that is not []byte or string is sent as JSON. Unless headers say otherwise, a
// write gets Svc-Preview and a POST gets a fresh Idempotency-Key. An empty
// value removes a header.
func (c *Client) Do(method, path string, body any, headers ...string) *Answer {
	c.Helper()
	return c.Send(c.Request(method, path, body, headers...))
}

// Send sends a request that Request returned, and that the test may have
// changed.
func (c *Client) Send(r *http.Request) *Answer {
	c.Helper()
	if c.options.batched {
		if answer := c.throughBatch(r); answer != nil {
			return answer
		}
	}
	if w := c.options.way; w != nil {
		if answer := w.through(c, r); answer != nil {
			return answer
		}
	}
	return c.send(r)
}

// Request returns the request that Do sends.
func (c *Client) Request(method, path string, body any, headers ...string) *http.Request {
	c.Helper()
	h := http.Header{"Authorization": {"Bearer " + c.Key}}
	var content io.Reader
	switch b := body.(type) {
	case nil:
	case []byte:
		content = bytes.NewReader(b)
	case string:
		content = strings.NewReader(b)
	default:
		encoded, err := json.Marshal(b)
		if err != nil {
			c.Fatal(err)
		}
		content = bytes.NewReader(encoded)
	}
	if body != nil {
		h.Set("Content-Type", "application/json")
	}
	if method != "GET" && method != "HEAD" {
		h.Set("Svc-Preview", "true")
	}
	if method == "POST" {
		h.Set("Idempotency-Key", fmt.Sprintf("test-%d", keys.Add(1)))
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i+1] == "" {
			h.Del(headers[i])
		} else {
			h.Set(headers[i], headers[i+1])
		}
	}
	r := httptest.NewRequest(method, "/v1"+path, content)
	r.Header = h
	return r
}

var keys atomic.Int64

// Fresh returns a text that is unique in the process.
func Fresh() string { return fmt.Sprintf("fresh-%d", keys.Add(1)) }

// Want fails the test unless the answer has the status and, for a problem, the code.
func (a *Answer) Want(status int, code ...string) *Answer {
	a.Helper()
	if a.Status != status {
		a.Fatalf("status %d, want %d: %s%s", a.Status, status, a.Body, a.cause())
	}
	if len(code) > 0 && a.Text("code") != code[0] {
		a.Fatalf("code %q, want %q: %s", a.Text("code"), code[0], a.Body)
	}
	return a
}

// cause returns the line of the operator's log that says why a call failed with
// an internal error.
func (a *Answer) cause() string {
	request := a.Header.Get("Request-Id")
	if a.log == nil || a.Status != http.StatusInternalServerError || request == "" {
		return ""
	}
	for line := range strings.Lines(a.log.String()) {
		if strings.Contains(line, request) {
			return "\n" + line
		}
	}
	return ""
}

// JSON returns the answer's body as decoded JSON.
func (a *Answer) JSON() map[string]any {
	a.Helper()
	var v map[string]any
	if err := json.Unmarshal(a.Body, &v); err != nil {
		a.Fatalf("%v: %s", err, a.Body)
	}
	return v
}

// Text returns a text member. It is empty if the member is missing or null.
func (a *Answer) Text(name string) string {
	a.Helper()
	v := a.JSON()[name]
	s, is := v.(string)
	if v != nil && !is {
		a.Fatalf("%s is no text: %v", name, v)
	}
	return s
}

// Data returns the entries of a list.
func (a *Answer) Data() []map[string]any {
	a.Helper()
	list, ok := a.JSON()["data"].([]any)
	if !ok {
		a.Fatalf("no list: %s", a.Body)
	}
	data := make([]map[string]any, len(list))
	for i := range list {
		data[i] = list[i].(map[string]any)
	}
	return data
}

// Fields returns the errors of a problem as names and codes, in their order.
func (a *Answer) Fields() []string {
	a.Helper()
	var fields []string
	list, _ := a.JSON()["errors"].([]any)
	for _, e := range list {
		m := e.(map[string]any)
		fields = append(fields, fmt.Sprintf("%v %v", m["field"], m["code"]))
	}
	return fields
}
