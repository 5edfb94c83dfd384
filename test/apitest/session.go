package apitest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"kartei/access"
	"kartei/api"
	"kartei/kit/fault"
	"kartei/store/db"
)

// With KARTEI_TEST_DOOR=session, the calls of clients travel by a session of the
// same principal, as the web application makes them. A test expects of the session
// what it expects of the key. A read travels both ways, and the answers must be
// equal, byte for byte. So any test may run this way.
//
// Only the calls of Stages go by the key.

// Stage is a stage of the path that treats a session and a key differently.
type Stage struct {
	// Name is that of the stage, Reason says why the two differ.
	Name, Reason string
	// differs reports whether the stage treats a request of a key differently. It is
	// nil for a stage that no answer shows.
	differs func(*keyCall) bool
}

// Stages is the whole list. A difference that has no stage here is a defect.
var Stages = []Stage{
	{"door", "ranges, chunks and the size of headers are HTTP's; the web door reads forms", (*keyCall).ofHTTP},
	{"authenticate", "the test is about a key: it is malformed, unknown, refused, or a service account's", (*keyCall).keyAlone},
	{"gate", "the switches of the organization are for programs", (*keyCall).gated},
	{"version", "a session has the version of its pages; a key pins one and sends Svc-Version; a cursor belongs to its version", (*keyCall).versioned},
	{"channel", "the preview channel is a promise to programs: a session sends no Svc-Preview", (*keyCall).unasked},
	{"authorize", "a key may have fewer scopes than its person has rights", (*keyCall).narrow},
	{"limits", "a session has limits of its own (package limit tests them)", (*keyCall).metered},
	{"idempotency", "a session needs no Idempotency-Key for a creation, and may send one with any change", (*keyCall).keyed},
	{"answer", "/me and /rate_limit are about the credential itself", (*keyCall).aboutKey},
	{"request log", "of a session it has changes and refusals; the door stands in it and in the history", nil},
	{"batch", "the rules of its parts are those above", func(k *keyCall) bool { return k.path == "/batch" }},
}

// ByKey skips a test, or the rest of it, if calls travel by a session. stage is one
// of Stages, and reason says what of it the test is about.
func ByKey(t testing.TB, stage, reason string) {
	t.Helper()
	if !slices.ContainsFunc(Stages, func(s Stage) bool { return s.Name == stage }) {
		t.Fatalf("there is no stage %q", stage)
	}
	if bySession() {
		t.Skipf("%s: %s", stage, reason)
	}
}

// Through sets the door by which the calls of a test come: batch, or nothing for their own.
// If the calls of all tests come by a session the test is skipped, since it would be the
// same once more.
func Through(t *testing.T, door string) {
	t.Helper()
	if bySession() {
		t.Skip("its calls have a door of their own")
	}
	t.Setenv("KARTEI_TEST_DOOR", door)
}

// Door returns the door by which the calls of clients come.
func Door() string {
	if bySession() {
		return string(api.Web)
	}
	return string(api.REST)
}

func bySession() bool { return os.Getenv("KARTEI_TEST_DOOR") == "session" }

// SentBySession returns the number of calls of this process that traveled by a
// session because of KARTEI_TEST_DOOR, and how many went by the key, by stage.
func SentBySession() (sent int, byKey map[string]int) {
	traveled.Lock()
	defer traveled.Unlock()
	byKey = map[string]int{}
	for name, n := range traveled.byStage {
		byKey[name] = n
	}
	return byKey[""], byKey
}

var traveled struct {
	sync.Mutex
	byStage map[string]int
}

func note(stage string) {
	traveled.Lock()
	defer traveled.Unlock()
	if traveled.byStage == nil {
		traveled.byStage = map[string]int{}
	}
	traveled.byStage[stage]++
}

// keyCall is a request with a key, and what the stages ask about it.
type keyCall struct {
	client *Client
	*http.Request
	path  string
	actor *access.Actor // nil if the key is refused
	all   []string      // the scopes that the principal may have
}

// throughSession sends a request by a session. It returns nil if a stage treats the
// two differently: then the test sends the request with the key.
func (c *Client) throughSession(r *http.Request) *Answer {
	c.Helper()
	k, stage := c.stageOf(r)
	if note(stage); stage != "" {
		return nil
	}
	if r.Method != "GET" && r.Method != "HEAD" {
		return c.bySession(k)
	}
	if its, known := cursors.Load(r.URL.Query().Get("cursor")); known && its == "" {
		note("version")
		got := c.bySession(k)
		pair(nil, got)
		return got
	}
	before := c.send(withCursor(again(r)))
	k.Request = again(r)
	got, after := c.bySession(k), c.send(withCursor(again(r)))
	pair(before, got)
	if same(before, after) && !same(before, got) {
		c.Errorf("%s %s: by the key %d %s\nby a session %d %s", r.Method, r.URL, before.Status, before.Body, got.Status, got.Body)
	}
	return got
}

// StageOf returns the first stage that treats a request of the key differently, empty
// if none does.
func (c *Client) StageOf(r *http.Request) string {
	_, stage := c.stageOf(r)
	return stage
}

func (c *Client) stageOf(r *http.Request) (k *keyCall, stage string) {
	k = &keyCall{client: c, Request: r, path: strings.TrimPrefix(r.URL.EscapedPath(), "/v1")}
	c.identify(k)
	for _, s := range Stages {
		if s.differs != nil && s.differs(k) {
			return k, s.Name
		}
	}
	return k, ""
}

// cursors holds the cursors of keys by those of sessions. A cursor belongs to its
// version. That of a session has a twin only if both read the same page: others
// may write between the two reads. Without a twin it is in the map with an empty
// text, and the page behind it is not compared.
var cursors sync.Map

var nextCursor = regexp.MustCompile(`"nextCursor":"([^"]+)"`)

// pair notes which cursor of a key is at the place of a session's cursor. byKey is
// nil if the key read nothing.
func pair(byKey, bySession *Answer) {
	mine := nextCursor.FindSubmatch(bySession.Body)
	if mine == nil {
		return
	}
	twin := ""
	if byKey != nil && same(byKey, bySession) {
		if its := nextCursor.FindSubmatch(byKey.Body); its != nil {
			twin = string(its[1])
		}
	}
	cursors.Store(string(mine[1]), twin)
}

// withCursor replaces the cursor of a session by that of the key.
func withCursor(r *http.Request) *http.Request {
	if its, known := cursors.Load(r.URL.Query().Get("cursor")); known {
		r.URL.RawQuery = strings.Replace(r.URL.RawQuery, r.URL.Query().Get("cursor"), its.(string), 1)
	}
	return r
}

// again returns a copy of a request whose body can be read once more.
func again(r *http.Request) *http.Request {
	next := r.Clone(r.Context())
	if r.Body != nil && r.Body != http.NoBody {
		body, _ := io.ReadAll(r.Body)
		r.Body, next.Body = io.NopCloser(bytes.NewReader(body)), io.NopCloser(bytes.NewReader(body))
	}
	return next
}

// differing is what differs between equal answers. The message of a wrong parameter
// names those that the version takes.
var differing = regexp.MustCompile(`"(requestId|nextCursor|message)":"[^"]*"`)

func same(a, b *Answer) bool {
	return a.Status == b.Status && a.Header.Get("ETag") == b.Header.Get("ETag") && a.Header.Get("Content-Type") == b.Header.Get("Content-Type") &&
		bytes.Equal(differing.ReplaceAll(a.Body, nil), differing.ReplaceAll(b.Body, nil))
}

// BySession sends a request of Request by a session of the key's principal, whatever
// the stages say.
func (c *Client) BySession(r *http.Request) *Answer {
	c.Helper()
	k := &keyCall{client: c, Request: r, path: strings.TrimPrefix(r.URL.EscapedPath(), "/v1")}
	if c.identify(k); k.actor == nil {
		c.Fatal("the key is refused, so nobody can sign in")
	}
	return c.bySession(k)
}

// identify resolves the key of a request.
func (c *Client) identify(k *keyCall) {
	if values := k.Header["Authorization"]; len(values) != 1 || values[0] != "Bearer "+c.Key {
		return
	}
	ctx := context.Background()
	actor, err := c.Directory.Authenticate(ctx, c.Key, access.V1, k.from())
	if err != nil || actor.PrincipalType() != access.UserPrincipal {
		return
	}
	err = c.DB.Read(ctx, func(tx db.Tx) error {
		may, err := access.ActorFor(ctx, tx, actor.Org(), actor.PrincipalID())
		if err == nil {
			k.all = may.Scopes()
		}
		return err
	})
	if err == nil {
		k.actor = actor
	}
}

func (k *keyCall) from() netip.Addr { return netip.MustParseAddrPort(k.RemoteAddr).Addr() }

func (k *keyCall) ofHTTP() bool {
	size := 0
	for name, values := range k.Header {
		for _, v := range values {
			size += len(name) + len(v) + 4
		}
	}
	return k.Header["Range"] != nil || k.ContentLength < 0 || size > 60<<10 || len(k.Header) > 200 || !strings.HasPrefix(k.URL.EscapedPath(), "/v1")
}

func (k *keyCall) keyAlone() bool { return k.actor == nil }

func (k *keyCall) gated() bool {
	o := k.actor.Organization()
	return !o.ModuleOn || !o.SecrecyDeclared || o.Level != access.On || o.State != access.Open
}

func (k *keyCall) versioned() bool {
	current := api.Names(k.client.versions)[0]
	if k.Header["Svc-Version"] != nil || k.actor.Credential().VersionPin != current {
		return true
	}
	family, _, _ := strings.Cut(strings.TrimPrefix(k.path, "/"), "/")
	op := &api.Operation{Family: family}
	query, _ := url.ParseQuery(k.URL.RawQuery)
	for name := range query {
		if !op.TakesIn(current, name) {
			return true
		}
	}
	return slices.ContainsFunc(query["sort"], func(by string) bool {
		return slices.Contains(api.Internal.Orders[family], strings.TrimPrefix(by, "-"))
	})
}

func (k *keyCall) unasked() bool {
	asked := k.Header["Svc-Preview"]
	return !slices.Equal(asked, []string{"true"}) && (k.Method != "GET" && k.Method != "HEAD" || asked != nil)
}

func (k *keyCall) narrow() bool { return !slices.Equal(k.actor.Scopes(), k.all) }

func (k *keyCall) metered() bool { return k.client.options.limits.Metered }

func (k *keyCall) keyed() bool {
	key := k.Header["Idempotency-Key"]
	return key == nil && k.Method == "POST" || key != nil && k.Method != "POST"
}

func (k *keyCall) aboutKey() bool { return k.path == "/me" || k.path == "/rate_limit" }

// bySession calls the API as the door of the web does.
func (c *Client) bySession(k *keyCall) *Answer {
	c.Helper()
	header := k.Header.Clone()
	header.Del("Authorization")
	request := &api.Request{
		Method: k.Method, Path: k.path, Query: k.URL.RawQuery, Header: header, Door: api.Web, Address: k.from(),
		Credential: api.Cookie(c.signIn(k.actor.PrincipalID()), k.actor.Organization().Sandbox),
		HasBody:    k.Body != nil && k.Body != http.NoBody && k.ContentLength != 0,
	}
	if request.HasBody {
		request.Body = func() ([]byte, error) {
			body, err := io.ReadAll(io.LimitReader(k.Body, api.MaxBody+1))
			switch {
			case len(body) > api.MaxBody:
				return nil, fault.New(fault.PayloadTooLarge)
			case err != nil:
				return nil, fault.New(fault.InvalidRequest)
			}
			return body, nil
		}
	}
	if k.Method == http.MethodHead {
		request.Method = http.MethodGet
	}
	response := c.API.Do(k.Context(), request, nil)
	a := &Answer{c.TB, response.Status, Received(response.Header), response.Body, c.Logged}
	if f := response.File; f != nil {
		size, err := f.Size(), error(nil)
		if k.Method != http.MethodHead {
			a.Body, err = io.ReadAll(f)
		}
		a.Header.Set("Content-Length", strconv.FormatInt(size, 10))
		a.Header.Set("Last-Modified", f.Created.UTC().Format(http.TimeFormat))
		a.Header.Set("Accept-Ranges", "bytes")
		f.Sent(a.Status, err == nil)
	} else if a.Body != nil {
		a.Header.Set("Content-Length", strconv.Itoa(len(a.Body)))
	}
	if k.Method == http.MethodHead {
		a.Body = nil
	}
	// A session has the internal version, of which no client may know anything. Its
	// answers are those of the current one.
	current := api.Names(c.versions)[0]
	a.Header.Set("Svc-Version", current)
	a.Header.Set("Link", "<"+BaseURL+"/docs/openapi.json?version="+current+`>; rel="service-desc"; type="application/json"`)
	if k.aboutKey() { // it names the internal version
		return a
	}
	Conform(c.TB, current, k.Method, strings.TrimPrefix(k.URL.RequestURI(), "/v1"), a.Status, a.Header, a.Body)
	return a
}

// signIn returns the token of a session of a principal that is not idle.
func (c *Client) signIn(principal string) string {
	c.Helper()
	name := fmt.Sprintf("%p %s %s", c.Clock, principal, c.Clock.Now().Truncate(time.Hour))
	if token, known := signedIn.Load(name); known {
		_, _, err := c.Directory.Resolve(context.Background(), api.Cookie(token.(string), false), netip.MustParseAddr("192.0.2.1"), false)
		if err == nil { // it ends when the role changes
			return token.(string)
		}
	}
	token := c.Session(principal)
	signedIn.Store(name, token)
	return token
}

var signedIn sync.Map
