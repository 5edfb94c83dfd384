// Package apitest owns an office for tests: a real API on a database, and clients that call it as a principal.
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
	"kartei/transfer/merge"

	"github.com/go-json-experiment/json"

	"kartei/kit/serve"
)

// Begin is the initial time of the clock of each test office: the day after the release date of the
// API's current version.
var Begin = time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC)

// Keys has the master key of all test offices.
var Keys = masterkey.Ring{Current: masterkey.New()}

// Current returns the name of the current version of the API.
func Current() string { return release.Names(release.VersionsIn("production"))[0] }

// AllScopes are all read and write scopes.
var AllScopes = strings.Fields("companies:read companies:write contacts:read contacts:write documents:read documents:write " +
	"tasks:read tasks:write webhook_endpoints:read webhook_endpoints:write")

// Office is an organization with its sandbox on a running API. The API keys that it makes are test
// keys, which are bound to the sandbox.
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
	// Logged is the operator's log of all replicas.
	Logged *dbtest.LogCollector

	// Store holds the office's files.
	Store *blob.Local
	// Folder is the folder of Store.
	Folder string

	worked   *signal // reports each end of a job
	stopWork func()
	versions []release.Version
	// Limits has the counts of calls of this replica.
	Limits *limit.Ledger

	options options
	desk    *signin.Desk
}

// Option changes the options of an office before it starts.
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
	way                      *Way // nil for REST
	stored                   func(blob.Store) blob.Store
	texts                    extract.Options
	documents                *grant.Documents
	working                  func(*Workshop)
}

// Replicas sets how many replicas of an office on PostgreSQL respond to the calls in turn. The
// default is the value of KARTEI_TEST_REPLICAS, or one. Tests that use the internals of an API need
// Replicas(1).
func Replicas(n int) Option { return func(o *options) { o.replicas = n } }

// Silent makes an office without a mail server.
func Silent() Option { return func(o *options) { o.silent = true } }

// Costly makes the hashes of passwords as costly as in production.
func Costly() Option { return func(o *options) { o.costly = true } }

// Metered turns the limits on. The overrides replace the numbers of some limits. It sets one
// replica, because several replicas use the time of the database, which a test cannot set.
func Metered(overrides ...limit.Override) Option {
	return func(o *options) {
		policies, err := limit.With(overrides...)
		if err != nil {
			panic(err)
		}
		o.limits, o.replicas = limit.Config{Metered: true, Policies: policies}, 1
	}
}

// MaxCalls sets the maximum number of concurrent calls of one replica.
func MaxCalls(n int) Option { return func(o *options) { o.maxCalls = n } }

// Transfers sets the maximum number of concurrent file transfers of one replica. bound is the
// maximum for all organizations, each the maximum for one.
func Transfers(bound, each int) Option {
	return func(o *options) { o.transfers, o.transfersEach = bound, each }
}

// Documents sets the reader of client metadata documents.
func Documents(d *grant.Documents) Option { return func(o *options) { o.documents = d } }

// Versions sets the served versions of the API. The default are the versions of production.
func Versions(v ...release.Version) Option { return func(o *options) { o.versions = v } }

// New opens an office on d, which must have the current schema. It is closed when the test ends.
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

// inTurn adds n-1 replicas, and lets all replicas respond to the calls in turn. It does nothing if
// the database cannot be opened more than once.
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

// open makes the API of the office and its HTTP handler.
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
			imports.Secrets.Is(Keys.Vault(imports.SecretsPurpose)),
			merge.Secrets.Is(Keys.Vault(merge.SecretsPurpose)), signin.Service.Is(o.desk),
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

// doors returns the HTTP handler for REST, uploads and MCP.
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

// Desk returns the sign-in service of the office.
func (o *Office) Desk() *signin.Desk { return o.desk }

// SignInBy sets the OpenID provider of the office. nil removes it.
func (o *Office) SignInBy(p *sso.Provider) { o.desk.Provider = p }

// count makes the limiter of the office. On PostgreSQL, all replicas of the office share their
// counts.
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

// Replica returns a second replica of the office, as another process would run it. The replica
// reaches the same database through d. It has its own API and directory, and its own clock if one
// is given.
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

// Organization makes a further organization. It returns the id of the organization and the id of
// its sandbox.
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

// Requests queries the request log.
func (o *Office) Requests(in requestlog.QueryInput) (requestlog.QueryOutput, error) {
	return readLog(o, requestlog.List, in)
}

// VersionsInUse returns the use of the API versions, by key.
func (o *Office) VersionsInUse(in requestlog.VersionsInput) (requestlog.VersionsOutput, error) {
	return readLog(o, requestlog.ListVersions, in)
}

func readLog[I, O any](o *Office, of op.Operation[I, O], in I) (O, error) {
	if err := o.Log.Flush(o.Context()); err != nil {
		return *new(O), err
	}
	return operator.Run(o.Context(), o.Operator, of, in)
}

// Ask calls an operation by its id. args are the arguments as a client sends them.
func Ask[Out any](ctx context.Context, a *api.API, by api.Caller, id string, args api.Arguments) (out Out, err error) {
	r, err := api.Send(ctx, a, by, api.ByID(id), args)
	if err != nil {
		return out, err
	}
	return api.Value[Out](r)
}

// User creates a user and returns the id. The user belongs to the office, unless the id of another
// organization is given.
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

// Key creates a test API key for a principal and returns its secret. Without scopes, the key has
// AllScopes.
func (o *Office) Key(principal string, scopes ...string) string {
	o.Helper()
	if len(scopes) == 0 {
		scopes = AllScopes
	}
	info, err := o.Operator.GetPrincipal(context.Background(), op.ByID{ID: principal})
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

// Session signs a principal in and returns the token of the session. Other sessions of the
// principal stay valid.
func (o *Office) Session(principal string) (token string) {
	o.Helper()
	return Session(o.TB, o.DB, o.Clock, principal)
}

// Session signs in a principal of the database d and returns the token of the session. If the
// principal has no account, Session creates one.
func Session(t testing.TB, d db.DB, c clock.Clock, id string) (token string) {
	t.Helper()
	joining.Lock() // Two callers must not create an account for the same principal.
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

// InSession sends a GET request in a session of the sandbox, as the web application does. target is
// a path below /v1 with its query, and has the parameters of the internal version.
func (o *Office) InSession(token, target string) *Answer {
	o.Helper()
	path, query, _ := strings.Cut(target, "?")
	got := o.API.Do(context.Background(), &api.Request{
		Method: "GET", Path: path, Query: query, Header: map[string][]string{}, Door: api.Web,
		Credential: api.Cookie(token, true), Address: netip.MustParseAddr("192.0.2.1"),
	}, nil)
	return &Answer{TB: o.TB, Status: got.Status, Header: got.Header, Body: got.Body}
}

// As creates a user and an API key for the user. It returns a client with this key. A viewer gets
// the read scopes only.
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

// Client sends requests with one API key.
type Client struct {
	*Office
	Principal, Key string
}

// Answer is the response to a request.
type Answer struct {
	testing.TB
	Status int
	Header http.Header
	Body   []byte
	log    *dbtest.LogCollector
}

// Do sends a request for a path below /v1 and returns the response. headers are names and values in
// turn. A body that is not []byte or string is encoded as JSON. By default, a write gets
// Svc-Preview, and a POST gets a new Idempotency-Key. A header with an empty value is removed.
func (c *Client) Do(method, path string, body any, headers ...string) *Answer {
	c.Helper()
	return c.Send(c.Request(method, path, body, headers...))
}

// Send sends a request from Request, which the test may have changed.
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

// Fresh returns a text that is unique in this process.
func Fresh() string { return fmt.Sprintf("fresh-%d", keys.Add(1)) }

// Want fails the test unless the response has the status and, if a code is given, this problem
// code.
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

// cause returns the line of the operator's log with the reason for an internal error. It is empty
// for other responses.
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

// JSON returns the body as a decoded JSON object.
func (a *Answer) JSON() map[string]any {
	a.Helper()
	var v map[string]any
	if err := json.Unmarshal(a.Body, &v); err != nil {
		a.Fatalf("%v: %s", err, a.Body)
	}
	return v
}

// Text returns a string member of the body. It is empty if the member is missing or null.
func (a *Answer) Text(name string) string {
	a.Helper()
	v := a.JSON()[name]
	s, is := v.(string)
	if v != nil && !is {
		a.Fatalf("%s is no text: %v", name, v)
	}
	return s
}

// Data returns the items of a list response.
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

// Fields returns the errors of a problem, each as the name of the field and the error code.
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
