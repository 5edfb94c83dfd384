package oauth_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"kartei/access"
	"kartei/api"
	"kartei/api/op"
	door "kartei/door/oauth"
	"kartei/integration/grant"
	"kartei/integration/oauth"
	"kartei/kit/clock"
	"kartei/kit/serve"
	"kartei/people/auditlog"
	"kartei/people/principal"
	"kartei/people/signin"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/test/operator"
)

const (
	callback = "https://app.example/callback"
	verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk" // RFC 7636, appendix B
)

// site is an HTTP handler with two applications: client, which people can connect, and service, the
// application of a service account.
type site struct {
	*testing.T
	*apitest.Office
	handler http.Handler
	client  grant.Client
	service oauth.CreatedClient
	address string
}

func newSite(t *testing.T, d db.DB) *site {
	t.Helper()
	s := &site{
		T:       t,
		Office:  apitest.New(t, d),
		address: "192.0.2.1",
		client:  grant.Client{Kind: grant.Registered, Name: "App", RedirectURIs: []string{callback}, Method: grant.NoSecret},
	}
	s.handler = door.Handler(door.Options{
		API: s.API, Address: func(*http.Request) netip.Addr { return netip.MustParseAddr(s.address) },
		Trace: serve.Trace(nil), BaseURL: apitest.BaseURL, Origins: []string{"https://assistant.example"}, Register: true,
		Assistants: true,
	}, http.NotFoundHandler())
	s.write(func(tx db.Tx) error {
		_, err := s.client.Store(t.Context(), tx, clock.Now(s.Clock))
		return err
	})
	account, err := s.Operator.CreateServiceAccount(t.Context(), principal.New{Organization: s.ID, Name: "Fax"})
	if err == nil {
		s.service, err = operator.Run(t.Context(), s.Operator, oauth.CreateClient, oauth.NewClient{
			Organization: s.ID,
			Name:         "Fax",
			Principal:    account.ID,
			Scopes:       []string{"contacts:read", "contacts:write"},
			Environment:  access.Test,
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *site) write(f func(tx db.Tx) error) {
	s.T.Helper()
	if err := s.DB.Write(s.T.Context(), f); err != nil {
		s.T.Fatal(err)
	}
}

// code creates a grant for a new person and returns its authorization code. more are additional
// scopes.
func (s *site) code(more ...string) (code string) {
	s.T.Helper()
	who, sum := s.User(access.Member), sha256.Sum256([]byte(verifier))
	s.write(func(tx db.Tx) error {
		if err := access.Changed(s.T.Context(), tx); err != nil {
			return err
		}
		o, err := access.OrganizationIn(s.T.Context(), tx, s.SandboxID)
		if err == nil {
			var begun grant.Issuance
			begun, err = grant.Begin(s.T.Context(), tx, clock.Now(s.Clock), grant.NewGrant{
				Client: &s.client, Organization: o.Number, Principal: who,
				Scopes: append([]string{"contacts:read", "contacts:write"}, more...), Audience: access.V1,
				RedirectURI: callback, Challenge: base64.RawURLEncoding.EncodeToString(sum[:]),
				Renewal: grant.RenewalOf(&s.client, false),
			})
			code = begun.Code
		}
		return err
	})
	return code
}

// reply is an HTTP response of the handler. fields are the members of its JSON
// body.
type reply struct {
	status int
	header http.Header
	body   string
	fields map[string]any
}

func (r *reply) text(name string) string {
	text, _ := r.fields[name].(string)
	return text
}

func (s *site) send(method, path, contentType, body string, headers ...string) *reply {
	s.T.Helper()
	r := httptest.NewRequest(method, apitest.BaseURL+path, strings.NewReader(body)).WithContext(s.T.Context())
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	got := &reply{status: w.Code, header: w.Result().Header, body: w.Body.String()}
	_ = json.Unmarshal([]byte(got.body), &got.fields) // responses without JSON have no fields
	return got
}

const formType = "application/x-www-form-urlencoded"

// post sends a form. pairs are names and values in turn.
func (s *site) post(path string, pairs ...string) *reply {
	s.T.Helper()
	form := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		form.Add(pairs[i], pairs[i+1])
	}
	return s.send("POST", path, formType, form.Encode())
}

func (s *site) want(got *reply, status int, code string) {
	s.T.Helper()
	if got.status != status || got.text("error") != code {
		s.T.Errorf("%d %s, want %d %s", got.status, got.body, status, code)
	}
	if cache := got.header.Get("Cache-Control"); cache != "no-store" {
		s.T.Errorf("Cache-Control is %q", cache)
	}
}

func (s *site) exchange(code string, more ...string) *reply {
	return s.post("/oauth/token", append([]string{
		"grant_type", "authorization_code", "client_id", s.client.ClientID, "code", code, "redirect_uri",
		callback, "code_verifier", verifier,
	}, more...)...)
}

// TestTokenEndpoint checks the errors of the token endpoint in RFC 6749, and the tokens that it
// issues.
func TestTokenEndpoint(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		s := newSite(t, d)
		basic := "Basic " + base64.StdEncoding.EncodeToString([]byte(s.service.ID+":"+s.service.ClientSecret))
		form := "grant_type=client_credentials"
		for name, c := range map[string]struct {
			got    *reply
			status int
			code   string
		}{
			"no client": {s.post("/oauth/token", "grant_type", "client_credentials"), 401, "invalid_client"},
			"an unknown client": {
				s.post("/oauth/token", "grant_type", "client_credentials", "client_id", "cli_00000000000000000000000000",
					"client_secret", s.service.ClientSecret),
				401, "invalid_client",
			},
			"a wrong secret": {
				s.post("/oauth/token", "grant_type", "client_credentials", "client_id", s.service.ID, "client_secret",
					s.service.ClientSecret+"x"),
				401, "invalid_client",
			},
			"no secret": {
				s.post("/oauth/token", "grant_type", "client_credentials", "client_id", s.service.ID), 401,
				"invalid_client",
			},
			"a secret of a public": {s.exchange("x", "client_secret", s.service.ClientSecret), 401, "invalid_client"},
			"no grant type":        {s.post("/oauth/token", "client_id", s.client.ClientID), 400, "invalid_request"},
			"another grant type": {
				s.post("/oauth/token", "client_id", s.client.ClientID, "grant_type", "password"), 400,
				"unsupported_grant_type",
			},
			"a public client": {
				s.post("/oauth/token", "client_id", s.client.ClientID, "grant_type", "client_credentials"), 400,
				"unauthorized_client",
			},
			"an unknown scope": {
				s.send("POST", "/oauth/token", formType, form+"&scope=everything", "Authorization", basic), 400,
				"invalid_scope",
			},
			"a scope too many": {
				s.send("POST", "/oauth/token", formType, form+"&scope=tasks:read", "Authorization", basic), 400,
				"invalid_scope",
			},
			"another resource": {
				s.send("POST", "/oauth/token", formType, form+"&resource=https://evil.example/v1", "Authorization", basic),
				400, "invalid_target",
			},
			"a resource and fragment": {
				s.send("POST", "/oauth/token", formType, form+"&resource=https://kartei.example/v1%23x", "Authorization", basic),
				400, "invalid_target",
			},
			"two resources": {
				s.send("POST", "/oauth/token", formType,
					form+"&resource=https://kartei.example/v1&resource=https://kartei.example/mcp", "Authorization", basic),
				400, "invalid_target",
			},
			"a parameter twice": {
				s.send("POST", "/oauth/token", formType, form+"&"+form, "Authorization", basic), 400,
				"invalid_request",
			},
			"two ways": {
				s.send("POST", "/oauth/token", formType, form+"&client_secret=x", "Authorization", basic), 400,
				"invalid_request",
			},
			"another scheme": {
				s.send("POST", "/oauth/token", formType, form, "Authorization", "Bearer x"), 400, "invalid_request",
			},
			"JSON":          {s.send("POST", "/oauth/token", "application/json", `{}`), 400, "invalid_request"},
			"a broken form": {s.send("POST", "/oauth/token", formType, "grant_type=%zz"), 400, "invalid_request"},
			"a large form": {
				s.send("POST", "/oauth/token", formType, "code="+strings.Repeat("x", 70_000)), 400,
				"invalid_request",
			},
			"GET":              {s.send("GET", "/oauth/token?"+form, "", ""), 405, "invalid_request"},
			"an invented code": {s.exchange("kart_code_x"), 400, "invalid_grant"},
			"an invented token": {
				s.post("/oauth/token", "grant_type", "refresh_token", "client_id", s.client.ClientID, "refresh_token", "x"),
				400, "invalid_grant",
			},
		} {
			if c.got.status != c.status || c.got.text("error") != c.code ||
				c.got.header.Get("Cache-Control") != "no-store" || c.got.header.Get("Access-Control-Allow-Origin") != "*" {
				t.Errorf("%s: %d %s, want %d %s", name, c.got.status, c.got.body, c.status, c.code)
			}
			if why := c.got.text("error_description"); why == "" ||
				strings.ContainsFunc(why, func(r rune) bool { return r < ' ' || r > '~' || r == '"' || r == '\\' }) {
				t.Errorf("%s: the description is %q", name, why)
			}
		}
		// An unknown client id and a wrong secret get the same response.
		unknown, wrong := s.post("/oauth/token", "client_id", "cli_x", "client_secret",
			"x"), s.post("/oauth/token", "client_id", s.service.ID, "client_secret", "x")
		if unknown.body != wrong.body || unknown.status != wrong.status {
			t.Errorf("%s\n%s", unknown.body, wrong.body)
		}
		if got := s.send("POST", "/oauth/token", formType, form, "Authorization",
			"Basic "+base64.StdEncoding.EncodeToString([]byte(s.service.ID+
				":x"))); got.header.Get("WWW-Authenticate") != `Basic realm="Kartei"` {
			t.Errorf("%v", got.header)
		}
		// Libraries encode the parts of the header differently (RFC 6749, section 2.3.1).
		for _, pair := range []string{
			s.service.ID + ":" + s.service.ClientSecret,
			strings.ReplaceAll(s.service.ID+":"+s.service.ClientSecret, "_", "%5F"),
		} {
			got := s.send("POST", "/oauth/token", formType, form+"&resource=HTTPS://Kartei.Example/v1/", "Authorization",
				"Basic "+base64.StdEncoding.EncodeToString([]byte(pair)))
			if got.status != 200 || got.text("token_type") != "Bearer" ||
				got.text("scope") != "contacts:read contacts:write" || got.fields["expires_in"] != 3600.0 ||
				got.fields["refresh_token"] != nil {
				t.Errorf("%d %s", got.status, got.body)
			}
		}
		got := s.exchange(s.code())
		if got.status != 200 || got.text("refresh_token") == "" || got.text("scope") != "contacts:read contacts:write" {
			t.Fatalf("%d %s", got.status, got.body)
		}
		c := &apitest.Client{Office: s.Office, Key: got.text("access_token")}
		c.Do("GET", "/contacts", nil).Want(200)
		if refused := c.Do("GET", "/tasks", nil).Want(403,
			"FORBIDDEN").Header.Get("WWW-Authenticate"); !strings.HasPrefix(refused,
			`Bearer error="insufficient_scope", scope="tasks:read", resource_metadata="https://kartei.example/.well-known/`) {
			t.Errorf("the challenge is %q", refused)
		}
		narrow := s.post("/oauth/token", "grant_type", "refresh_token", "client_id", s.client.ClientID, "refresh_token",
			got.text("refresh_token"), "scope", "contacts:read")
		if narrow.text("scope") != "contacts:read" {
			t.Errorf("%s", narrow.body)
		}
		s.want(s.post("/oauth/token", "grant_type", "refresh_token", "client_id", s.client.ClientID, "refresh_token",
			narrow.text("refresh_token"), "scope", "contacts:read tasks:read"), 400, "invalid_scope")
	})
}

// TestExpiredGrant checks that a connection without use for more than 30 days ends, and that its
// webhook endpoint is disabled. Another connection remains.
func TestExpiredGrant(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		s := newSite(t, d)
		connect := func(name string) (tokens *reply, endpoint string) {
			tokens = s.exchange(s.code("webhook_endpoints:write"))
			hook := (&apitest.Client{Office: s.Office, Key: tokens.text("access_token")}).Do("POST", "/webhook_endpoints",
				map[string]any{
					"name": name, "url": "https://crm.example.com/" + name, "eventTypes": []string{"contact.created"},
				}, "Idempotency-Key", apitest.Fresh(), "Svc-Preview", "true").Want(201)
			return tokens, hook.Text("id")
		}
		_, resting := connect("resting")
		used, going := connect("used")
		expirer := &oauth.Expirer{
			DB: s.DB, Clock: s.Clock, Notices: s.Notices(),
			Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
		}
		status := func(endpoint string) (status string) {
			t.Helper()
			dbtest.Get(t, s.DB, []any{&status}, `select status from webhook_endpoints where id = $1`, endpoint)
			return status
		}
		look := func(want ...string) {
			t.Helper()
			if err := expirer.Once(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := []string{status(resting), status(going)}; !slices.Equal(got, want) {
				t.Errorf("the endpoints are %v, want %v", got, want)
			}
		}
		s.Clock.Advance(20 * 24 * time.Hour)
		s.want(s.post("/oauth/token", "grant_type", "refresh_token", "client_id", s.client.ClientID, "refresh_token",
			used.text("refresh_token")), 200, "")
		look("active", "active")
		s.Clock.Advance(11 * 24 * time.Hour)
		look("disabled", "active")
		look("disabled", "active")
		var notices int64
		if dbtest.Get(t, s.DB, []any{&notices},
			`select count(*) from notices where kind = 'webhook_disabled'`); notices != 1 {
			t.Errorf("%d notices", notices)
		}
	})
}

// TestRenewal checks a connection of an unapproved application. The connection ends after 90 days
// unless the person renews it. The person gets a notice a week before the end, and another at the
// end.
func TestRenewal(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		s := newSite(t, d)
		tokens := s.exchange(s.code())
		expirer := &oauth.Expirer{
			DB: s.DB, Clock: s.Clock, Notices: s.Notices(),
			Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
		}
		told := func() string {
			t.Helper()
			if err := expirer.Once(t.Context()); err != nil {
				t.Fatal(err)
			}
			return strings.Join(dbtest.Texts(t, s.DB,
				`select kind from notices where kind like 'application_%' order by id`), " ")
		}
		// pass lets days pass, while the application refreshes its token.
		pass := func(days int) {
			t.Helper()
			for ; days > 0; days -= 20 {
				s.Clock.Advance(time.Duration(min(days, 20)) * 24 * time.Hour)
				tokens = s.post("/oauth/token", "grant_type", "refresh_token", "client_id", s.client.ClientID, "refresh_token",
					tokens.text("refresh_token"))
			}
		}
		var grant, principal string
		dbtest.Get(t, s.DB, []any{&grant, &principal}, `select id, principal_id from oauth_grants`)
		pass(82)
		if got := told(); got != "" {
			t.Errorf("after 82 days the person is told %s", got)
		}
		pass(2)
		for range 2 {
			if got := told(); got != "application_ends" {
				t.Errorf("after 84 days the person is told %q", got)
			}
		}
		renew := func(by string) int {
			t.Helper()
			r, err := api.Send(t.Context(), s.API,
				api.Caller{
					Door: api.Web, Credential: api.Cookie(s.Session(by), false),
					Address: netip.MustParseAddr("192.0.2.1"),
				}, oauth.RenewGrant, api.Arguments{Body: op.ByID{ID: grant}})
			if err != nil {
				t.Fatal(err)
			}
			return r.Status
		}
		if got := renew(s.User(access.Admin)); got != 404 {
			t.Errorf("an admin who renews for somebody else is answered %d", got)
		}
		if got := renew(principal); got != 200 {
			t.Fatalf("the renewal is answered %d", got)
		}
		pass(82) // the other refresh token remains valid too
		if got := told(); got != "application_ends application_connected application_connected" {
			t.Errorf("after the renewal people are told %s", got)
		}
		pass(7)
		if got := told(); !strings.HasSuffix(got, " application_ends") {
			t.Errorf("the person is told %s", got)
		}
		c := &apitest.Client{Office: s.Office, Key: tokens.text("access_token")}
		c.Do("GET", "/contacts", nil).Want(200)
		s.Clock.Advance(24 * time.Hour)
		if got := told(); !strings.HasSuffix(got, " application_ended") {
			t.Errorf("at the end the person is told %s", got)
		}
		c.Do("GET", "/contacts", nil).Want(401)
		s.want(s.post("/oauth/token", "grant_type", "refresh_token", "client_id", s.client.ClientID, "refresh_token",
			tokens.text("refresh_token")), 400, "invalid_grant")
		if got := renew(principal); got != 404 {
			t.Errorf("the renewal of a connection that has ended is answered %d", got)
		}
	})
}

// TestReuse checks that a second use of a refresh token ends the grant. The audit log records this,
// and the person gets a notice.
func TestReuse(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		s := newSite(t, d)
		first := s.exchange(s.code("webhook_endpoints:write"))
		again := func(token string) *reply {
			return s.post("/oauth/token", "grant_type", "refresh_token", "client_id", s.client.ClientID, "refresh_token", token)
		}
		second := again(first.text("refresh_token"))
		third := again(second.text("refresh_token"))
		hook := (&apitest.Client{Office: s.Office, Key: third.text("access_token")}).Do("POST", "/webhook_endpoints",
			map[string]any{
				"name": "CRM", "url": "https://crm.example.com/hook", "eventTypes": []string{"contact.created"},
			}, "Idempotency-Key", apitest.Fresh(), "Svc-Preview", "true").Want(201)
		s.want(again(first.text("refresh_token")), 400, "invalid_grant")
		for _, r := range []*reply{first, second, third} {
			(&apitest.Client{Office: s.Office, Key: r.text("access_token")}).Do("GET", "/me", nil).Want(401, "UNAUTHENTICATED")
		}
		s.want(again(third.text("refresh_token")), 400, "invalid_grant")
		page, err := operator.Run(t.Context(), s.Operator, auditlog.List, auditlog.Input{Limit: 10})
		if err != nil || page.Data[0].Word != "grant.end" || page.Data[0].Door != "oauth" ||
			page.Data[0].CredentialKind != "anonymous" {
			t.Errorf("%v %+v", err, page.Data[0])
		}
		var status string
		if err := s.DB.Read(t.Context(), func(tx db.Tx) error {
			return tx.QueryRow(t.Context(), `select status from webhook_endpoints where id = $1`, hook.Text("id")).Scan(&status)
		}); err != nil || status != "disabled" {
			t.Errorf("an endpoint of the application is %s, %v", status, err)
		}
		var notices int64
		err = s.DB.Read(t.Context(), func(tx db.Tx) error {
			return tx.QueryRow(t.Context(), `select count(*) from notices where kind = $1`,
				string(oauth.TokenReused)).Scan(&notices)
		})
		if err != nil || notices == 0 {
			t.Errorf("%d notices, %v", notices, err)
		}
	})
}

// TestRevokeAndIntrospect checks the endpoints for introspection and revocation.
func TestRevokeAndIntrospect(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		s := newSite(t, d)
		mine := s.post("/oauth/token", "grant_type", "client_credentials", "client_id", s.service.ID, "client_secret",
			s.service.ClientSecret)
		theirs := s.exchange(s.code())
		inspect := func(token string) *reply {
			return s.post("/oauth/introspect", "client_id", s.service.ID, "client_secret", s.service.ClientSecret, "token",
				token)
		}
		if got := inspect(mine.text("access_token")); got.fields["active"] != true ||
			got.text("client_id") != s.service.ID || got.text("aud") != "https://kartei.example/v1" ||
			got.text("iss") != "https://kartei.example" || got.text("scope") != "contacts:read contacts:write" {
			t.Errorf("%s", got.body)
		}
		for _, token := range []string{
			theirs.text("access_token"), theirs.text("refresh_token"), "x", s.As(access.Member).Key,
		} {
			if got := inspect(token); got.body != `{"active":false}` {
				t.Errorf("of another token: %s", got.body)
			}
		}
		s.want(s.post("/oauth/introspect", "client_id", s.client.ClientID, "token", theirs.text("access_token")), 401,
			"invalid_client")
		s.want(s.post("/oauth/introspect", "client_id", s.service.ID, "client_secret", s.service.ClientSecret), 400,
			"invalid_request")
		s.want(s.post("/oauth/revoke", "client_id", s.service.ID, "token", "x"), 401, "invalid_client")
		for _, token := range []string{mine.text("access_token"), "x", ""} {
			if got := s.post("/oauth/revoke", "client_id", s.client.ClientID, "token", token+"x"); got.status != 200 ||
				got.body != "" {
				t.Errorf("%d %s", got.status, got.body)
			}
		}
		works := func(r *reply, status int) {
			t.Helper()
			(&apitest.Client{Office: s.Office, Key: r.text("access_token")}).Do("GET", "/me", nil).Want(status)
		}
		works(theirs, 200)
		s.post("/oauth/revoke", "client_id", s.client.ClientID, "token", theirs.text("refresh_token"), "token_type_hint",
			"refresh_token")
		works(theirs, 401)
		works(mine, 200)
		s.post("/oauth/revoke", "client_id", s.service.ID, "client_secret", s.service.ClientSecret, "token",
			mine.text("access_token"))
		works(mine, 401)
	})
}

// TestRegistration checks the registration endpoint, its errors and its limit.
func TestRegistration(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		s := newSite(t, d)
		register := func(body string) *reply { return s.send("POST", "/oauth/register", "application/json", body) }
		got := register(`{"redirect_uris":["https://a.example/cb"],"client_name":"Fri\u202esten","jwks_uri":"https://evil.example","contacts":["x@example.com"]}`)
		if got.status != 201 || got.text("client_name") != "Fristen" ||
			got.text("token_endpoint_auth_method") != "client_secret_basic" ||
			!strings.HasPrefix(got.text("client_secret"), "kart_csec_") || got.fields["client_secret_expires_at"] != 0.0 {
			t.Errorf("%d %s", got.status, got.body)
		}
		for body, code := range map[string]string{
			`{}`: "invalid_redirect_uri",
			`{"redirect_uris":["javascript:alert(1)"]}`:                                                 "invalid_redirect_uri",
			`{"redirect_uris":["http://a.example/cb"]}`:                                                 "invalid_redirect_uri",
			`{"redirect_uris":["https://a.example/cb"],"grant_types":["client_credentials"]}`:           "invalid_client_metadata",
			`{"redirect_uris":["https://a.example/cb"],"response_types":["token"]}`:                     "invalid_client_metadata",
			`{"redirect_uris":["https://a.example/cb"],"token_endpoint_auth_method":"private_key_jwt"}`: "invalid_client_metadata",
			`{"redirect_uris":["https://a.example/cb"],"client_name":"k\u200bARTEI \u3164"}`:            "invalid_client_metadata",
			`{"redirect_uris":["https://a.example/cb"],"client_name":"Kаrtei."}`:                        "invalid_client_metadata",
			`{"redirect_uris":["cursor://a/cb"],"token_endpoint_auth_method":"client_secret_post"}`:     "invalid_redirect_uri",
			`{"redirect_uris":["cursor://a/cb","file:///cb"],"token_endpoint_auth_method":"none"}`:      "invalid_redirect_uri",
			`{"redirect_uris":["https://%D0%B0pple.com/cb"]}`:                                           "invalid_redirect_uri",
			`{"redirect_uris":["https://a.example\"b.example/cb"]}`:                                     "invalid_redirect_uri",
			`{"redirect_uris":"https://a.example/cb"}`:                                                  "invalid_client_metadata",
			`[`: "invalid_client_metadata",
		} {
			s.address = "192.0.2.2"
			if code == "invalid_redirect_uri" {
				s.address = "192.0.2.3"
			}
			s.want(register(body), 400, code)
		}
		s.address = "198.51.100.7"
		for range 10 {
			register(`{"redirect_uris":["https://a.example/cb"]}`)
		}
		blocked := register(`{"redirect_uris":["https://a.example/cb"]}`)
		s.want(blocked, 429, "temporarily_unavailable")
		if blocked.header.Get("Retry-After") == "" {
			t.Error("a stranger is not told how long to wait")
		}
		s.address = "203.0.113.7"
		s.Clock.Advance(31 * 24 * time.Hour)
		if got := register(`{"redirect_uris":["https://a.example/cb"],"token_endpoint_auth_method":"none"}`); got.status != 201 || got.fields["client_secret"] != nil || got.fields["client_secret_expires_at"] != nil {
			t.Errorf("%d %s", got.status, got.body)
		}
		var left int64
		if err := d.Read(t.Context(), func(tx db.Tx) error {
			return tx.QueryRow(t.Context(), `select count(*) from oauth_clients where kind = 'registered'`).Scan(&left)
		}); err != nil || left != 1 {
			t.Errorf("%d clients are kept that nobody used, %v", left-1, err)
		}
	})
}

// TestPrograms checks the registration of programs on a person's computer. One request is like
// Cursor's, and one has no authentication method.
func TestPrograms(t *testing.T) {
	s := newSite(t, dbtest.SQLite(t))
	for body, addresses := range map[string][]any{
		`{"redirect_uris":["cursor://anysphere.cursor-mcp/oauth/callback","https://www.cursor.com/agents/mcp/oauth/callback","http://localhost:8787/callback"],"client_name":"Cursor","token_endpoint_auth_method":"none","grant_types":["authorization_code","refresh_token"],"response_types":["code"]}`: {
			"cursor://anysphere.cursor-mcp/oauth/callback", "https://www.cursor.com/agents/mcp/oauth/callback",
			"http://localhost:8787/callback",
		},
		`{"redirect_uris":["com.example.app:/cb"]}`: {"com.example.app:/cb"},
	} {
		got := s.send("POST", "/oauth/register", "application/json", body)
		if got.status != 201 || got.text("token_endpoint_auth_method") != "none" || got.fields["client_secret"] != nil ||
			!slices.Equal(got.fields["redirect_uris"].([]any), addresses) {
			t.Errorf("%d %s", got.status, got.body)
		}
	}
}

// TestRegistrationByPages checks that only pages of known origins can register applications.
// Refused requests do not count for the limit.
func TestRegistrationByPages(t *testing.T) {
	s := newSite(t, dbtest.SQLite(t))
	const body = `{"redirect_uris":["https://a.example/cb"],"token_endpoint_auth_method":"none"}`
	for range 20 {
		for what, headers := range map[string][]string{
			"another origin":         {"Origin", "https://evil.example"},
			"a page without one":     {"Origin", "null"},
			"a subdomain":            {"Origin", "https://x.kartei.example", "Sec-Fetch-Site", "same-site"},
			"several":                {"Origin", apitest.BaseURL, "Origin", "https://evil.example"},
			"the own one and more":   {"Origin", apitest.BaseURL + ".evil.example"},
			"without saying it":      {"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors"},
			"without it, near":       {"Sec-Fetch-Site", "same-site"},
			"an origin with a path":  {"Origin", "https://assistant.example/"},
			"an origin with a port":  {"Origin", "https://assistant.example:8443"},
			"the origin without TLS": {"Origin", "http://assistant.example"},
		} {
			got := s.send("POST", "/oauth/register", "application/json", body, headers...)
			if s.want(got, 403, "invalid_request"); got.header.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("%s: its script reads the answer", what)
			}
		}
		for _, kind := range []string{
			"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "",
			"text/plain; x=application/json",
		} {
			s.want(s.send("POST", "/oauth/register", kind, body), 400, "invalid_client_metadata")
		}
	}
	for _, origin := range []string{"https://evil.example", "null"} {
		if got := s.send("OPTIONS", "/oauth/register", "", "", "Origin", origin, "Access-Control-Request-Method",
			"POST"); got.header.Get("Access-Control-Allow-Origin") != "" ||
			got.header.Get("Access-Control-Allow-Headers") != "" {
			t.Errorf("%s may ask: %v", origin, got.header)
		}
	}
	// Browsers cache responses by URL, so each response says that it varies by origin.
	asked := s.send("OPTIONS", "/oauth/register", "", "", "Origin", "https://assistant.example")
	made := s.send("POST", "/oauth/register", "application/json", body, "Origin", "https://assistant.example",
		"Sec-Fetch-Site", "cross-site")
	for _, got := range []*reply{asked, made} {
		if got.header.Get("Access-Control-Allow-Origin") != "https://assistant.example" ||
			got.header.Get("Vary") != "Origin" {
			t.Errorf("%d %v", got.status, got.header)
		}
	}
	if made.status != 201 {
		t.Errorf("a known origin: %d %s", made.status, made.body)
	}
	for what, headers := range map[string][]string{
		"a program":    nil,
		"its own page": {"Origin", apitest.BaseURL, "Sec-Fetch-Site", "same-origin"},
		"by hand":      {"Sec-Fetch-Site", "none"},
	} {
		if got := s.send("POST", "/oauth/register", "application/json", body, headers...); got.status != 201 ||
			got.header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: %d %s", what, got.status, got.body)
		}
	}
}

// TestFlood registers 10,000 applications from 1,000 networks. It checks that each network can
// register ten an hour, and that existing tokens still work. Later registrations delete the unused
// applications.
func TestFlood(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		s := newSite(t, d)
		tokens := s.exchange(s.code())
		const networks, each = 1000, 10
		count := func() (n int) {
			t.Helper()
			if err := d.Read(t.Context(), func(tx db.Tx) error {
				return tx.QueryRow(t.Context(), `select count(*) from oauth_clients where kind = 'registered'`).Scan(&n)
			}); err != nil {
				t.Fatal(err)
			}
			return n
		}
		known := count()
		register := func() int {
			return s.send("POST", "/oauth/register", "application/json",
				`{"redirect_uris":["https://a.example/cb"],"token_endpoint_auth_method":"none"}`).status
		}
		for i := range networks {
			s.address = fmt.Sprintf("198.%d.%d.7", 18+i/250, i%250)
			for range each {
				if got := register(); got != 201 {
					t.Fatalf("network %d: %d", i, got)
				}
			}
			if got := register(); got != 429 {
				t.Fatalf("network %d: %d", i, got)
			}
		}
		if n := count() - known; n != networks*each {
			t.Errorf("%d are stored", n)
		}
		s.address = "192.0.2.1"
		if got := s.post("/oauth/token", "grant_type", "refresh_token", "client_id", s.client.ClientID, "refresh_token",
			tokens.text("refresh_token")); got.status != 200 {
			t.Errorf("%d %s", got.status, got.body)
		}
		s.Clock.Advance(31 * 24 * time.Hour)
		later := networks * each / 100
		for i := range later {
			s.address = fmt.Sprintf("203.0.%d.7", i)
			if got := register(); got != 201 {
				t.Fatal(got)
			}
		}
		if n := count(); n != known+later {
			t.Errorf("%d are left, want %d", n, known+later)
		}
	})
}

// TestGuesses checks that wrong codes and secrets block the requests of a network without valid
// client credentials. Other networks and the sign-in page are not blocked.
func TestGuesses(t *testing.T) {
	s := newSite(t, dbtest.SQLite(t))
	for range 200 {
		if got := s.exchange("kart_code_x"); got.status == 429 {
			s.want(s.post("/oauth/token", "client_id", s.service.ID, "client_secret", "x", "grant_type",
				"client_credentials"), 429, "temporarily_unavailable")
			if got := s.post("/oauth/token", "client_id", s.service.ID, "client_secret", s.service.ClientSecret,
				"grant_type", "client_credentials"); got.status != 200 {
				t.Errorf("others of the network wait: %d %s", got.status, got.body)
			}
			if err := s.DB.Read(t.Context(), func(tx db.Tx) error {
				left, err := signin.Blocked(t.Context(), tx, clock.Now(s.Clock),
					signin.Origin{Address: netip.MustParseAddr(s.address)}.NetworkLimits()...)
				if left > 0 {
					t.Errorf("nobody of the network can sign in for %s", left)
				}
				return err
			}); err != nil {
				t.Fatal(err)
			}
			s.address = "198.51.100.7"
			if got := s.post("/oauth/token", "client_id", s.service.ID, "client_secret", s.service.ClientSecret,
				"grant_type", "client_credentials"); got.status != 200 {
				t.Errorf("%d %s", got.status, got.body)
			}
			return
		}
	}
	t.Error("nobody is blocked")
}

// TestMetadata checks the metadata documents and their headers.
func TestMetadata(t *testing.T) {
	s := newSite(t, dbtest.SQLite(t))
	for path, member := range map[string]string{
		"/.well-known/oauth-authorization-server": "issuer", "/.well-known/oauth-protected-resource": "resource",
		"/.well-known/oauth-protected-resource/v1": "resource", "/.well-known/oauth-protected-resource/mcp": "resource",
	} {
		got := s.send("GET", path, "", "")
		if got.status != 200 || !strings.HasPrefix(got.text(member), apitest.BaseURL) ||
			got.header.Get("Access-Control-Allow-Origin") != "*" || got.header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
		if head := s.send("HEAD", path, "", ""); head.status != 200 || head.body != "" ||
			head.header.Get("Content-Length") == "" {
			t.Errorf("%s: %+v", path, head)
		}
		if other := s.send("POST", path, "", ""); other.status != 405 || other.header.Get("Allow") == "" {
			t.Errorf("%s: %+v", path, other)
		}
		if options := s.send("OPTIONS", path, "", ""); options.status != 204 ||
			options.header.Get("Access-Control-Allow-Headers") == "" {
			t.Errorf("%s: %+v", path, options)
		}
	}
	server := s.send("GET", "/.well-known/oauth-authorization-server", "", "").fields
	for name, value := range server {
		if at, is := value.(string); is && strings.HasSuffix(name, "_endpoint") && name != "authorization_endpoint" {
			if got := s.send("OPTIONS", strings.TrimPrefix(at, apitest.BaseURL), "", ""); got.status != 204 {
				t.Errorf("%s leads to %d", name, got.status)
			}
		}
	}
	if got := s.send("GET", "/.well-known/oauth-protected-resource/mcp", "",
		""); got.text("resource") != apitest.BaseURL+"/mcp" {
		t.Errorf("%d %s", got.status, got.body)
	}
	if got := s.send("GET", "/.well-known/oauth-protected-resource/x", "", ""); got.status != 404 {
		t.Errorf("%d %s", got.status, got.body)
	}
	closed := door.Handler(door.Options{API: s.API, BaseURL: apitest.BaseURL}, http.NotFoundHandler())
	w := httptest.NewRecorder()
	closed.ServeHTTP(w, httptest.NewRequest("POST", "/oauth/register", http.NoBody))
	if body, _ := io.ReadAll(w.Body); w.Code != 404 {
		t.Errorf("registration is switched off: %d %s", w.Code, body)
	}
	w = httptest.NewRecorder()
	closed.ServeHTTP(w, httptest.NewRequest("GET", "/.well-known/oauth-protected-resource/mcp", http.NoBody))
	if w.Code != 404 {
		t.Errorf("assistants are switched off: %d %s", w.Code, w.Body)
	}
}
