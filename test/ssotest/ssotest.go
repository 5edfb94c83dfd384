// Package ssotest owns a real OpenID provider in the process of a test, built with the module zitadel/oidc.
package ssotest

import (
	"context"
	"fmt"
	"html"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/zitadel/oidc/v3/example/server/storage"
	"github.com/zitadel/oidc/v3/pkg/op"

	"kartei/kit/clock"
	"kartei/kit/egress"
	"kartei/people/sso"
)

// ClientID and Secret are the credentials of the instance at the provider.
const (
	ClientID = "kartei"
	Secret   = "geheim-beim-anbieter"
	// Password is the password of all people at the provider.
	Password = "beim Anbieter"
)

// Provider is a running OpenID provider with a sign-in page.
type Provider struct {
	testing.TB
	// Issuer is the base URL of the provider.
	Issuer string

	mu     sync.Mutex
	people map[string]*storage.User
	server *http.Server
}

// Start starts a provider, which is stopped when the test ends. callback is the redirect URI of its
// clients.
func Start(t testing.TB, callback string) *Provider {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Provider{TB: t, Issuer: "http://" + l.Addr().String(), people: map[string]*storage.User{}}
	clients := map[string]*storage.Client{
		ClientID: storage.WebClient(ClientID, Secret, callback),
		"other":  storage.WebClient("other", Secret, callback),
	}
	p.server = &http.Server{Handler: p.handler(storage.NewStorageWithClients(p, clients))}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = p.server.Serve(l) // Serve returns after Stop.
	}()
	t.Cleanup(func() { p.Stop(); <-ended })
	return p
}

// handler returns the handler of the provider and of its sign-in page.
func (p *Provider) handler(in *storage.Storage) http.Handler {
	p.Helper()
	provider, err := op.NewProvider(&op.Config{CryptoKey: [32]byte{7}, CodeMethodS256: true}, in,
		op.StaticIssuer(p.Issuer), op.WithAllowInsecure(), op.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		p.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /login/username", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, page, html.EscapeString(r.URL.Query().Get("authRequestID")))
	})
	checked := op.NewIssuerInterceptor(provider.IssuerFromRequest).HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.PostFormValue("id")
		if err := in.CheckUsernamePassword(r.PostFormValue("username"), r.PostFormValue("password"), id); err != nil {
			http.Error(w, err.Error(), http.StatusForbidden)
			return
		}
		http.Redirect(w, r, op.AuthCallbackURL(provider)(r.Context(), id), http.StatusFound)
	})
	mux.HandleFunc("POST /login/username", checked)
	mux.Handle("/", provider)
	return mux
}

const page = `<!DOCTYPE html>
<html lang="de"><title>Firmenlogin</title>
<form method="post" action="/login/username"><input type="hidden" name="id" value="%s">
<label>Adresse <input name="username" autocomplete="username" autofocus></label> <label>Kennwort <input name="password" type="password" autocomplete="current-password"></label>
<button>Anmelden</button></form></html>`

// Stop stops the provider before the test ends.
func (p *Provider) Stop() { _ = p.server.Shutdown(context.Background()) }

// Add adds a person with an email address and returns the subject.
func (p *Provider) Add(email string, verified bool) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	id := "sub-" + email
	p.people[id] = &storage.User{
		ID: id, Username: email, Password: Password, FirstName: "Ida", LastName: "Anbieter", Email: email,
		EmailVerified: verified,
	}
	return id
}

// GetUserByID implements storage.UserStore.
func (p *Provider) GetUserByID(id string) *storage.User {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.people[id]
}

// GetUserByUsername implements storage.UserStore.
func (p *Provider) GetUserByUsername(name string) *storage.User {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, u := range p.people {
		if u.Username == name {
			return u
		}
	}
	return nil
}

// ExampleClientID implements storage.UserStore.
func (p *Provider) ExampleClientID() string { return "service" }

// Client returns a client of the provider, as an instance would configure it.
func (p *Provider) Client(callback string, change ...func(*sso.Options)) *sso.Provider {
	p.Helper()
	issuer, err := url.Parse(p.Issuer)
	if err != nil {
		p.Fatal(err)
	}
	o := sso.Options{
		Issuer: p.Issuer, ClientID: ClientID, ClientSecret: Secret, Name: "Firmenlogin", Callback: callback,
		Egress: egress.Options{Trusted: issuer}, Clock: clock.System,
	}
	for _, f := range change {
		f(&o)
	}
	client := sso.New(o)
	p.Cleanup(client.Close)
	return client
}

var (
	authRequest = regexp.MustCompile(`name="id" value="([^"]+)"`)
	formAction  = regexp.MustCompile(`<form[^>]* action="([^"]+)"`)
)

// SignIn signs a person in at the provider, as a browser does. address is the authorization
// request. SignIn returns the URL of the redirect back to the client.
func (p *Provider) SignIn(address, email string) *url.URL {
	p.Helper()
	jar, _ := cookiejar.New(nil)
	browser := &http.Client{Jar: jar, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		if !strings.HasPrefix(r.URL.String(), p.Issuer) {
			return http.ErrUseLastResponse
		}
		return nil
	}}
	defer browser.CloseIdleConnections()
	shown, err := browser.Get(address)
	if err != nil {
		p.Fatal(err)
	}
	text, _ := io.ReadAll(shown.Body)
	shown.Body.Close()
	id, action := authRequest.FindSubmatch(text), formAction.FindSubmatch(text)
	if id == nil || action == nil {
		p.Fatalf("the provider shows no form: %d %s", shown.StatusCode, text)
	}
	at, err := shown.Request.URL.Parse(string(action[1]))
	if err != nil {
		p.Fatal(err)
	}
	back, err := browser.PostForm(at.String(), url.Values{
		"id":       {string(id[1])},
		"username": {email},
		"password": {Password},
	})
	if err != nil {
		p.Fatal(err)
	}
	back.Body.Close()
	to, err := back.Location()
	if err != nil || strings.HasPrefix(to.String(), p.Issuer) {
		p.Fatalf("the provider does not send %s back: %d %v", email, back.StatusCode, err)
	}
	return to
}

// Answer returns the authorization response in the query of at.
func Answer(at *url.URL) sso.Answer {
	q := at.Query()
	return sso.Answer{State: q.Get("state"), Code: q.Get("code"), Issuer: q.Get("iss"), Error: q.Get("error")}
}
