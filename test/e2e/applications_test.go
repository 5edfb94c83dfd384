package e2e

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	neturl "net/url"
	"slices"
	"strings"
	"testing"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
)

// TestApplications connects an application with the OAuth library of Go, knowing only the URL of
// the instance. The application registers, a person gives consent, it calls the API, and the person
// disconnects it. Then an application for a service account gets a token.
func TestApplications(t *testing.T) {
	t.Parallel()
	each := func(t *testing.T, _ string, store ...string) {
		at := freePort(t)
		served, err := launchCommand(command(slices.Concat([]string{
			"serve", "--listen", at, "--operator-listen", "127.0.0.1:0", "--base-url", "http://" + at,
			"--log-format", "json",
		}, store)...))
		if err != nil {
			t.Fatal(err)
		}
		served.endsWith(t)
		office := found(t, store...)
		boss := person{TB: t, server: served}
		boss.accept(append([]string{
			"user", "invite", "--org", office.ID, "--email", "boss@example.com", "--role", "admin",
		}, store...)...)
		a := application{t, served}

		server := a.discover()
		config := a.register(server)
		tokens := a.connect(&boss, config, "contacts:read", "contacts:write")
		if got := a.me(tokens.AccessToken); got.AuthMethod != "oauth" || got.Grant.ClientID != config.ClientID ||
			got.Organization.ID != office.ID || strings.Join(got.Scopes, " ") != "contacts:read contacts:write" {
			t.Errorf("%+v", got)
		}
		// The library refreshes an expired token by itself.
		old := *tokens
		old.Expiry = old.Expiry.AddDate(-1, 0, 0)
		fresh, err := config.TokenSource(t.Context(), &old).Token()
		if err != nil || fresh.AccessToken == tokens.AccessToken || fresh.RefreshToken == tokens.RefreshToken {
			t.Fatalf("%+v %v", fresh, err)
		}
		a.me(fresh.AccessToken)

		// The person disconnects the application on its page. Its next call fails.
		grant := a.me(fresh.AccessToken).Grant.ID
		boss.fill(interfaces+"/applications", interfaces+"/applications/"+grant+"/end")
		a.refused(fresh.AccessToken)
		if _, err := config.TokenSource(t.Context(), &oauth2.Token{
			RefreshToken: fresh.RefreshToken,
		}).Token(); err == nil || !strings.Contains(err.Error(), "invalid_grant") {
			t.Errorf("an ended grant issues tokens: %v", err)
		}
		// The operator ends another grant by the command line.
		again := a.connect(&boss, config, "contacts:read")
		kartei(t, append([]string{"grant", "end", a.me(again.AccessToken).Grant.ID}, store...)...)
		a.refused(again.AccessToken)
		words := []string{}
		for _, l := range read[struct {
			Data []struct{ Word, Door string }
		}](t, append([]string{"audit", "--org", office.ID}, store...)...).Data {
			if strings.HasPrefix(l.Word, "grant.") {
				words = append(words, l.Word+" "+l.Door)
			}
		}
		if got := strings.Join(words, ", "); got != "grant.end admin, grant.create web, grant.end web, grant.create web" {
			t.Errorf("the audit log has %s", got)
		}

		account := read[struct{ ID string }](t,
			append([]string{"service-account", "create", "--org", office.ID, "--name", "Fax"}, store...)...).ID
		made := read[struct{ ID, Secret string }](t,
			append([]string{
				"client", "create", "--org", office.ID, "--name", "Fax", "--service-account", account, "--scopes",
				"contacts:read",
			}, store...)...)
		service := clientcredentials.Config{ClientID: made.ID, ClientSecret: made.Secret, TokenURL: server.TokenEndpoint}
		token, err := service.Token(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got := a.me(token.AccessToken); got.PrincipalID != account || got.Organization.ID != office.SandboxID {
			t.Errorf("%+v", got)
		}
		kartei(t, append([]string{"client", "disable", made.ID}, store...)...)
		a.refused(token.AccessToken)
		if text := served.Log(); strings.Contains(text, "kart_") {
			t.Errorf("the log has a secret:\n%s", tail(text))
		}
	}
	eachEngine(t, each)
}

// application is a third-party application.
type application struct {
	testing.TB
	served *server
}

// authorizationServer has the metadata of an authorization server (RFC 8414).
type authorizationServer struct {
	Issuer                string
	AuthorizationEndpoint string `json:"authorization_endpoint"`
	TokenEndpoint         string `json:"token_endpoint"`
	RegistrationEndpoint  string `json:"registration_endpoint"`
}

// discover finds the authorization server, starting with a call without credentials. The challenge
// of the 401 has the URL of the API's metadata, which names the server.
func (a *application) discover() (server authorizationServer) {
	a.Helper()
	answer, err := http.Get(a.served.URL + "/v1/me")
	if err != nil {
		a.Fatal(err)
	}
	answer.Body.Close()
	_, at, _ := strings.Cut(answer.Header.Get("WWW-Authenticate"), `resource_metadata="`)
	var resource struct {
		Resource string
		Servers  []string `json:"authorization_servers"`
	}
	a.fetch(strings.TrimSuffix(at, `"`), &resource)
	if resource.Resource != a.served.URL+"/v1" || len(resource.Servers) != 1 {
		a.Fatalf("%+v", resource)
	}
	a.fetch(resource.Servers[0]+"/.well-known/oauth-authorization-server", &server)
	if server.Issuer != resource.Servers[0] {
		a.Fatalf("%+v", server)
	}
	return server
}

func (a *application) fetch(at string, into any) {
	a.Helper()
	answer, err := http.Get(at)
	if err != nil {
		a.Fatal(err)
	}
	defer answer.Body.Close()
	if err := json.NewDecoder(answer.Body).Decode(into); err != nil || answer.StatusCode != http.StatusOK ||
		answer.Header.Get("Access-Control-Allow-Origin") != "*" {
		a.Fatalf("%s: %d %v", at, answer.StatusCode, err)
	}
}

// register registers the application at the server (RFC 7591).
func (a *application) register(server authorizationServer) *oauth2.Config {
	a.Helper()
	const about = `{"client_name":"Fristenkalender","redirect_uris":["http://127.0.0.1/callback"],"token_endpoint_auth_method":"none","application_type":"native","logo_uri":"https://evil.example/x.png"}`
	answer, err := http.Post(server.RegistrationEndpoint, "application/json", strings.NewReader(about))
	if err != nil {
		a.Fatal(err)
	}
	defer answer.Body.Close()
	body, _ := io.ReadAll(answer.Body)
	var client struct {
		ID string `json:"client_id"`
	}
	if json.Unmarshal(body, &client) != nil || answer.StatusCode != http.StatusCreated ||
		strings.Contains(string(body), "secret") {
		a.Fatalf("%d %s", answer.StatusCode, body)
	}
	return &oauth2.Config{
		ClientID: client.ID, RedirectURL: "http://127.0.0.1:53076/callback",
		Endpoint: oauth2.Endpoint{
			AuthURL: server.AuthorizationEndpoint, TokenURL: server.TokenEndpoint,
			AuthStyle: oauth2.AuthStyleInParams,
		},
	}
}

// connect lets a person give consent to the application, and exchanges the code for tokens.
func (a *application) connect(p *person, config *oauth2.Config, scopes ...string) *oauth2.Token {
	a.Helper()
	asked := *config
	asked.Scopes = scopes
	verifier := oauth2.GenerateVerifier()
	address := asked.AuthCodeURL("zustand", oauth2.S256ChallengeOption(verifier))
	fields := p.form(strings.TrimPrefix(address, a.served.URL), "/oauth/authorize")
	fields.Set("decision", "allow")
	fields["scopes"] = scopes // An application that no admin has approved has no scopes ticked.
	staying := *p.browser     // No program listens at the redirect URI.
	staying.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	answer, err := staying.PostForm(a.served.URL+"/oauth/authorize", fields)
	if err != nil {
		a.Fatal(err)
	}
	answer.Body.Close()
	back := answer.Header.Get("Location")
	to, err := neturl.Parse(back)
	if err != nil || answer.StatusCode != http.StatusSeeOther || !strings.HasPrefix(back, config.RedirectURL+"?") ||
		to.Query().Get("state") != "zustand" || to.Query().Get("iss") != a.served.URL {
		a.Fatalf("the browser goes to %q", back)
	}
	tokens, err := config.Exchange(context.Background(), to.Query().Get("code"), oauth2.VerifierOption(verifier))
	if err != nil {
		a.Fatal(err)
	}
	return tokens
}

// me is the response of GET /me.
type me struct {
	AuthMethod, PrincipalID string
	Organization            struct{ ID string }
	Grant                   struct{ ID, ClientID, ClientName string }
	Scopes                  []string
}

func (a *application) me(token string) (m me) {
	a.Helper()
	body := client{a.TB, a.served, token}.call("GET", "/me", "", 200, "").Body
	if err := json.Unmarshal(body, &m); err != nil {
		a.Fatal(err)
	}
	return m
}

// refused checks that a call with the token gets a 401 with the challenge for an invalid token.
func (a *application) refused(token string) {
	a.Helper()
	got := client{a.TB, a.served, token}.call("GET", "/me", "", 401, "UNAUTHENTICATED").Header.Get("WWW-Authenticate")
	if !strings.HasPrefix(got, `Bearer error="invalid_token", resource_metadata="`) {
		a.Errorf("the challenge is %q", got)
	}
}
