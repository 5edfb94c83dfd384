// Package oauth owns the HTTP handler of OAuth 2.1 for applications: the token endpoints and the metadata.
package oauth

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"kartei/api"
	"kartei/api/op"
	"kartei/integration/oauth"
	"kartei/kit/fault"
	"kartei/kit/i18n"
)

// These are the paths of the endpoints and of the metadata.
const (
	authorizePath  = "/oauth/authorize" // a page of the web application
	tokenPath      = "/oauth/token"
	revokePath     = "/oauth/revoke"
	introspectPath = "/oauth/introspect"
	registerPath   = "/oauth/register"
	serverPath     = "/.well-known/oauth-authorization-server"
	resourcePath   = "/.well-known/oauth-protected-resource"
)

// maxBody is the maximum size of a request body in bytes.
const maxBody = 64 << 10

// Options are the dependencies and settings of Handler.
type Options struct {
	API *api.API
	// Address returns the IP address of the client.
	Address func(*http.Request) netip.Addr
	// Trace returns the traceparent header of a request if its sender is trusted, and "" otherwise.
	Trace func(*http.Request) string
	// BaseURL is the base URL of the instance. It is also the issuer.
	BaseURL string
	// Origins are the web origins whose pages may register applications, besides the origin of
	// BaseURL.
	Origins []string
	// Register says that applications may register themselves. Documents says that a client id may
	// be the URL of a metadata document.
	Register, Documents bool
	// Assistants says that the endpoint of the Model Context Protocol is enabled.
	Assistants bool
}

type door struct {
	Options
	documents map[string][]byte
}

// Handler returns the handler of the endpoints and the metadata of OAuth. It passes all requests
// for other paths to next.
func Handler(o Options, next http.Handler) http.Handler {
	d := &door{Options: o, documents: metadata(&o)}
	endpoints := map[string]http.HandlerFunc{tokenPath: d.token, revokePath: d.revoke, introspectPath: d.introspect}
	if o.Register {
		endpoints[registerPath] = d.register
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if document := d.documents[r.URL.Path]; document != nil {
			d.show(w, r, document)
			return
		}
		endpoint := endpoints[r.URL.Path]
		if endpoint == nil {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Cache-Control", "no-store")
		if r.URL.Path == registerPath {
			d.allowKnown(w.Header(), r)
		} else {
			allowAll(w.Header())
		}
		switch r.Method {
		case http.MethodPost:
			endpoint(w, r)
		case http.MethodOptions:
			w.WriteHeader(http.StatusNoContent)
		default:
			w.Header().Set("Allow", "POST, OPTIONS")
			refuse(w, http.StatusMethodNotAllowed, "invalid_request", "This endpoint takes POST.")
		}
	})
}

// allowAll sets the CORS headers for scripts of all origins. This is safe because no endpoint uses
// cookies.
func allowAll(h http.Header) { allow(h, "*") }

// allowKnown sets the CORS headers for scripts of the origins in Origins. A page of another origin
// could use up the limit of registrations for the network of its reader.
func (d *door) allowKnown(h http.Header, r *http.Request) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Add("Vary", "Origin")
	if origin := r.Header.Get("Origin"); slices.Contains(d.Origins, origin) {
		allow(h, origin)
	}
}

// foreignPage reports whether a page of an unknown origin sends the request. Known are BaseURL and
// Origins. Browsers send Origin or Sec-Fetch-Site even with requests that need no preflight (Fetch,
// sections 3.1 and 5.1).
func (d *door) foreignPage(r *http.Request) bool {
	if origins := r.Header["Origin"]; len(origins) > 0 {
		return len(origins) > 1 || origins[0] != d.BaseURL && !slices.Contains(d.Origins, origins[0])
	}
	site := r.Header.Get("Sec-Fetch-Site")
	return site == "cross-site" || site == "same-site"
}

func allow(h http.Header, origin string) {
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Allow-Methods", "GET, POST, OPTIONS")
	h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, MCP-Protocol-Version")
	h.Set("Access-Control-Expose-Headers", "WWW-Authenticate, Request-Id, Retry-After")
	h.Set("Access-Control-Max-Age", "7200")
	h.Set("X-Content-Type-Options", "nosniff")
}

// show serves a metadata document.
func (d *door) show(w http.ResponseWriter, r *http.Request, document []byte) {
	allowAll(w.Header())
	switch r.Method {
	case http.MethodGet, http.MethodHead:
	case http.MethodOptions:
		w.WriteHeader(http.StatusNoContent)
		return
	default:
		w.Header().Set("Allow", "GET, HEAD, OPTIONS")
		refuse(w, http.StatusMethodNotAllowed, "invalid_request", "This document is for GET.")
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "public, max-age=300")
	w.Header().Set("Content-Length", strconv.Itoa(len(document)))
	if r.Method == http.MethodGet {
		_, _ = w.Write(document) // ignored: the client has disconnected
	}
}

// metadata returns the metadata documents by path (RFC 8414, section 2, and RFC 9728, section 2).
// The path without a resource has the document of the API.
func metadata(o *Options) map[string][]byte {
	issuer := o.BaseURL
	resources := []string{issuer + "/v1"}
	if o.Assistants {
		resources = append(resources, issuer+"/mcp")
	}
	server := map[string]any{
		"issuer":                   issuer,
		"authorization_endpoint":   issuer + authorizePath,
		"token_endpoint":           issuer + tokenPath,
		"revocation_endpoint":      issuer + revokePath,
		"introspection_endpoint":   issuer + introspectPath,
		"response_types_supported": []string{"code"},
		"response_modes_supported": []string{"query"},
		"grant_types_supported": []string{
			"authorization_code", "refresh_token", "client_credentials",
		},
		"token_endpoint_auth_methods_supported":          []string{"none", "client_secret_basic", "client_secret_post"},
		"revocation_endpoint_auth_methods_supported":     []string{"none", "client_secret_basic", "client_secret_post"},
		"introspection_endpoint_auth_methods_supported":  []string{"client_secret_basic", "client_secret_post"},
		"code_challenge_methods_supported":               []string{"S256"},
		"scopes_supported":                               api.Scopes(),
		"authorization_response_iss_parameter_supported": true,
		"protected_resources":                            resources,
		"service_documentation":                          issuer + "/guide#applications",
	}
	if o.Register {
		server["registration_endpoint"] = issuer + registerPath
	}
	if o.Documents {
		server["client_id_metadata_document_supported"] = true
	}
	resource := func(path, name, page string) []byte {
		return encode(map[string]any{
			"resource": issuer + path, "authorization_servers": []string{issuer}, "bearer_methods_supported": []string{"header"},
			"scopes_supported": api.Scopes(), "resource_name": name, "resource_documentation": issuer + page,
		})
	}
	rest := resource("/v1", "Kartei", "/guide#applications")
	documents := map[string][]byte{serverPath: encode(server), resourcePath: rest, resourcePath + "/v1": rest}
	if o.Assistants {
		assistants := resource("/mcp", "Kartei MCP", "/guide#assistants")
		// People may paste the URL with a slash at its end.
		documents[resourcePath+"/mcp"], documents[resourcePath+"/mcp/"] = assistants, assistants
	}
	return documents
}

func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic("oauth: " + err.Error()) // strings and lists can always be encoded
	}
	return b
}

// token serves the token endpoint.
func (d *door) token(w http.ResponseWriter, r *http.Request) {
	form, client, ok := d.form(w, r)
	if !ok {
		return
	}
	input := client.input()
	for name, member := range map[string]string{
		"grant_type": "grantType", "code": "code", "redirect_uri": "redirectUri", "code_verifier": "codeVerifier",
		"refresh_token": "refreshToken", "scope": "scope",
	} {
		input[member] = form.Get(name)
	}
	if resources := form["resource"]; len(resources) > 0 {
		input["resources"] = resources
	}
	d.answer(w, r, client, http.StatusOK, oauth.Token, input)
}

// revoke serves the revocation endpoint.
func (d *door) revoke(w http.ResponseWriter, r *http.Request) { d.about(w, r, oauth.Revoke) }

// introspect serves the introspection endpoint.
func (d *door) introspect(w http.ResponseWriter, r *http.Request) { d.about(w, r, oauth.Introspect) }

// about serves an endpoint that needs a client and a token.
func (d *door) about(w http.ResponseWriter, r *http.Request, o op.Any) {
	form, client, ok := d.form(w, r)
	if !ok {
		return
	}
	if form.Get("token") == "" {
		refuse(w, http.StatusBadRequest, "invalid_request", "The request has no token.")
		return
	}
	input := client.input()
	input["token"] = form.Get("token")
	d.answer(w, r, client, http.StatusOK, o, input)
}

// register serves the registration endpoint. It ignores unknown members, as RFC 7591 requires.
func (d *door) register(w http.ResponseWriter, r *http.Request) {
	var input struct {
		RedirectURIs  []string `json:"redirect_uris"`
		Method        string   `json:"token_endpoint_auth_method,omitempty"`
		GrantTypes    []string `json:"grant_types,omitempty"`
		ResponseTypes []string `json:"response_types,omitempty"`
		Name          string   `json:"client_name,omitempty"`
		Scope         string   `json:"scope,omitempty"`
	}
	if d.foreignPage(r) {
		refuse(w, http.StatusForbidden, "invalid_request", "Pages of this origin may not register applications.")
		return
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		refuse(w, http.StatusBadRequest, "invalid_client_metadata", "The request is sent as application/json.")
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil || json.Unmarshal(body, &input) != nil {
		refuse(w, http.StatusBadRequest, "invalid_client_metadata",
			"The request is no JSON object of at most 64 KiB, or a member has another type.")
		return
	}
	d.answer(w, r, clientAuth{}, http.StatusCreated, oauth.Register, input)
}

// clientAuth has the credentials of a client in a request.
type clientAuth struct {
	id, secret string
	// basic says that the credentials are in the Authorization header.
	basic bool
}

func (c *clientAuth) input() map[string]any {
	return map[string]any{"clientId": c.id, "clientSecret": c.secret}
}

// form reads the form of a request and the credentials of the client. If the request is malformed,
// form sends the error, and ok is false. A repeated parameter is an error (RFC 6749, section 3.2).
// The operation itself checks a repeated resource.
func (d *door) form(w http.ResponseWriter, r *http.Request) (form url.Values, client clientAuth, ok bool) {
	why := ""
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil ||
		kind != "application/x-www-form-urlencoded" {
		why = "The request is sent as application/x-www-form-urlencoded."
	} else if body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody)); err != nil {
		why = "The request has more than 64 KiB, or did not arrive."
	} else if form, err = url.ParseQuery(string(body)); err != nil {
		why = "The form is malformed."
	}
	for name, list := range form {
		if len(list) > 1 && name != "resource" {
			why = "A parameter was sent twice."
		}
	}
	if why == "" {
		client, why = clientOf(r, form)
	}
	if why != "" {
		refuse(w, http.StatusBadRequest, "invalid_request", why)
		return nil, client, false
	}
	return form, client, true
}

// clientOf returns the credentials of a client from the Authorization header or from the form. In
// the header, both parts are encoded as in a form (RFC 6749, section 2.3.1). why is the error, or
// empty.
func clientOf(r *http.Request, form url.Values) (c clientAuth, why string) {
	header := r.Header.Get("Authorization")
	if header == "" {
		return clientAuth{id: form.Get("client_id"), secret: form.Get("client_secret")}, ""
	}
	const malformed = "The header Authorization is not that of a client."
	scheme, text, _ := strings.Cut(header, " ")
	raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	if err != nil || !strings.EqualFold(scheme, "Basic") {
		return c, malformed
	}
	id, secret, found := strings.Cut(string(raw), ":")
	if c.id, err = url.QueryUnescape(id); err != nil || !found {
		return c, malformed
	}
	if c.secret, err = url.QueryUnescape(secret); err != nil {
		return c, malformed
	}
	if form.Has("client_secret") || form.Has("client_id") && form.Get("client_id") != c.id {
		return c, "The client proves itself in two ways."
	}
	c.basic = true
	return c, ""
}

// answer runs the operation o and sends its result or its error.
func (d *door) answer(w http.ResponseWriter, r *http.Request, client clientAuth, status int, o op.Any, input any) {
	by := api.Caller{
		Door:    api.OAuth,
		Address: d.Address(r),
		Trace:   d.Trace(r),
		Header:  map[string][]string{"User-Agent": {r.UserAgent()}},
	}
	response, err := api.Send(r.Context(), d.API, by, o, api.Arguments{Body: input})
	if err != nil {
		response = &api.Response{Status: http.StatusInternalServerError, Fault: fault.From(err)}
	}
	w.Header()["Request-Id"] = response.Header["Request-Id"]
	f := response.Fault
	if f == nil {
		w.Header().Set("Content-Type", "application/json")
		if len(response.Body) == 0 { // a revocation has no body
			w.WriteHeader(http.StatusOK)
			return
		}
		w.WriteHeader(status)
		_, _ = w.Write(response.Body) // ignored: the client has disconnected
		return
	}
	if wait := f.Wait(); wait > 0 {
		w.Header().Set("Retry-After", strconv.FormatInt(int64((wait+time.Second-1)/time.Second), 10))
	}
	code, known := errorOf(f)
	if known && f.Code == fault.Unauthenticated && client.basic {
		w.Header().Set("WWW-Authenticate", `Basic realm="Kartei"`) // RFC 6749, section 5.2
	}
	why := f.DetailIn(i18n.English)
	if f.Detail != "" {
		why = f.Detail.In(i18n.English)
	}
	refuse(w, response.Status, code, why)
}

// errorOf returns the OAuth error code of a fault. If the operation has chosen the code, known is
// true and the code is the reason of the fault. Otherwise the code is for a failure of the server,
// a limit or a malformed request.
func errorOf(f *fault.Fault) (code string, known bool) {
	switch {
	case f.Reason != "" && (f.Code == fault.InvalidRequest || f.Code == fault.Unauthenticated):
		return f.Reason, true
	case f.Code.Status() >= http.StatusInternalServerError &&
		f.Code != fault.Internal, f.Code == fault.RateLimited, f.Code == fault.Overloaded:
		return "temporarily_unavailable", false
	case f.Code.Status() < http.StatusInternalServerError:
		return "invalid_request", false
	}
	return "server_error", false
}

// refuse sends an error response (RFC 6749, section 5.2). It removes characters from why that the
// RFC does not allow.
func refuse(w http.ResponseWriter, status int, code, why string) {
	why = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || r == '"' || r == '\\' {
			return -1
		}
		return r
	}, why)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// The error is ignored: the client has disconnected.
	_, _ = w.Write(encode(map[string]string{"error": code, "error_description": why}))
}
