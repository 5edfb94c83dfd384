package apitest

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"kartei/access"
	"kartei/api"
	"kartei/api/op"
	"kartei/api/release"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/store/db"
)

// BySession is the Way for KARTEI_TEST_DOOR=session. It sends the calls of clients in a session of
// the same principal, as the web application does.
var BySession = &Way{
	Door: api.Web, name: "session", send: (*Client).bySession, ownCursors: true,
	// The message about an unknown parameter lists the parameters that the version has.
	differing: regexp.MustCompile(`"(requestId|nextCursor|message)":"[^"]*"`),
	Stages: []Stage{
		{"door", "ranges, chunks and the size of headers are HTTP's; the web door reads forms", (*keyCall).ofHTTP},
		{
			"authenticate", "the test is about a key: it is malformed, unknown, refused, or a service account's",
			(*keyCall).keyAlone,
		},
		{"gate", "the switches of the organization are for programs", (*keyCall).gated},
		{
			"version",
			"a session has the version of its pages; a key pins one and sends Svc-Version; a cursor belongs to its version",
			(*keyCall).versioned,
		},
		{"channel", "the preview channel is a promise to programs: a session sends no Svc-Preview", (*keyCall).unasked},
		{"authorize", "a key may have fewer scopes than its person has rights", (*keyCall).narrow},
		{"limits", "a session has limits of its own (package limit tests them)", (*keyCall).metered},
		{
			"idempotency", "a session needs no Idempotency-Key for a creation, and may send one with any change",
			(*keyCall).keyed,
		},
		{"answer", "/me and /rate_limit are about the credential itself", (*keyCall).aboutKey},
		{"request log", "of a session it has changes and refusals; the door stands in it and in the history", nil},
		{"batch", "the rules of its parts are those above", func(k *keyCall) bool { return k.path == "/batch" }},
	},
}

// cursors maps a cursor from a session to the cursor of the key at the same place. A cursor is
// valid in one version only. The two cursors match only if both pages were equal, because other
// clients may write between the two reads. If they were not equal, the map has an empty text, and
// the next page is not compared.
var cursors sync.Map

var nextCursor = regexp.MustCompile(`"nextCursor":"([^"]+)"`)

// pair stores the cursor of a key at the same place as the session's cursor. byKey is nil if the
// key did not read the page.
func (w *Way) pair(byKey, bySession *Answer) {
	if !w.ownCursors {
		return
	}
	mine := nextCursor.FindSubmatch(bySession.Body)
	if mine == nil {
		return
	}
	twin := ""
	if byKey != nil && w.same(byKey, bySession) {
		if its := nextCursor.FindSubmatch(byKey.Body); its != nil {
			twin = string(its[1])
		}
	}
	cursors.Store(string(mine[1]), twin)
}

// withCursor replaces a session's cursor in the query by the key's cursor.
func withCursor(r *http.Request) *http.Request {
	if its, known := cursors.Load(r.URL.Query().Get("cursor")); known {
		r.URL.RawQuery = strings.Replace(r.URL.RawQuery, r.URL.Query().Get("cursor"), its.(string), 1)
	}
	return r
}

// BySession sends a request from Request in a session of the key's principal. It ignores the
// stages.
func (c *Client) BySession(r *http.Request) *Answer {
	c.Helper()
	k := c.newCall(r)
	if k.identify(); k.actor == nil {
		c.Fatal("the key is refused, so nobody can sign in")
	}
	return c.bySession(k)
}

// identify finds the actor of the request's API key, and the scopes that the principal may have.
func (k *keyCall) identify() {
	c := k.client
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
		if err != nil {
			return err
		}
		k.all = may.Scopes()
		return nil
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
	return k.Header["Range"] != nil || k.ContentLength < 0 || size > 60<<10 || len(k.Header) > 200 ||
		!strings.HasPrefix(k.URL.EscapedPath(), "/v1")
}

func (k *keyCall) keyAlone() bool {
	k.identify()
	return k.actor == nil
}

func (k *keyCall) gated() bool {
	o := k.actor.Organization()
	return !o.ModuleOn || !o.SecrecyDeclared || o.Level != access.On || o.State != access.Open
}

func (k *keyCall) versioned() bool {
	current := release.Names(k.client.versions)[0]
	if k.Header["Svc-Version"] != nil || k.actor.Credential().VersionPin != current {
		return true
	}
	family, _, _ := strings.Cut(strings.TrimPrefix(k.path, "/"), "/")
	row := &api.Operation{Row: &op.Row{Family: family}}
	query, _ := url.ParseQuery(k.URL.RawQuery)
	for name := range query {
		if !release.Takes(row.Family, current, name) {
			return true
		}
	}
	return slices.ContainsFunc(query["sort"], func(by string) bool {
		return slices.Contains(release.Internal.Orders[family], strings.TrimPrefix(by, "-"))
	})
}

func (k *keyCall) unasked() bool {
	asked := k.Header["Svc-Preview"]
	return !slices.Equal(asked, []string{"true"}) && (!k.reads() || asked != nil)
}

func (k *keyCall) narrow() bool { return !slices.Equal(k.actor.Scopes(), k.all) }

func (k *keyCall) metered() bool { return k.client.options.limits.Metered }

func (k *keyCall) keyed() bool {
	key := k.Header["Idempotency-Key"]
	return key == nil && k.Method == "POST" || key != nil && k.Method != "POST"
}

func (k *keyCall) aboutKey() bool { return k.path == "/me" || k.path == "/rate_limit" }

// bySession calls the API as the web application does.
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
	// A session uses the internal version, which clients must not see. Its responses equal those of
	// the current version.
	current := release.Names(c.versions)[0]
	a.Header.Set("Svc-Version", current)
	a.Header.Set("Link", "<"+BaseURL+"/docs/openapi.json?version="+current+
		`>; rel="service-desc"; type="application/json"`)
	if k.aboutKey() { // the response names the internal version
		return a
	}
	Conform(c.TB, current, k.Method, strings.TrimPrefix(k.URL.RequestURI(), "/v1"), a.Status, a.Header, a.Body)
	return a
}

// signIn returns the token of a valid session of the principal. It reuses a session of the same
// hour.
func (c *Client) signIn(principal string) string {
	c.Helper()
	name := fmt.Sprintf("%p %s %s", c.Clock, principal, c.Clock.Now().Truncate(time.Hour))
	if token, known := signedIn.Load(name); known {
		_, _, err := c.Directory.Resolve(context.Background(), api.Cookie(token.(string), false),
			netip.MustParseAddr("192.0.2.1"), false)
		if err == nil { // A change of the role ends the session.
			return token.(string)
		}
	}
	token := c.Session(principal)
	// The session stays fresh until it expires, because calls with a key need no fresh sign-in.
	err := c.DB.Write(context.Background(), func(tx db.Tx) error {
		tx.Queue(`update sessions set fresh_until = expires_at where principal_id = $1 and created_at = $2`, principal,
			int64(clock.Now(c.Clock)))
		return nil
	})
	if err != nil {
		c.Fatal(err)
	}
	signedIn.Store(name, token)
	return token
}

var signedIn sync.Map
