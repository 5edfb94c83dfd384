package api_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"testing"

	"kartei/access"
	"kartei/api"
	"kartei/integration/grant"
	"kartei/integration/oauth"
	"kartei/kit/clock"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/operator"
)

// verifier is the PKCE code verifier in the example of RFC 7636, appendix B.
const verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"

func challenge() string {
	sum := sha256.Sum256([]byte(verifier))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// applications are two OAuth clients in an office: client is an application that people may
// connect, and service is an application of a service account.
type applications struct {
	*testing.T
	o         *apitest.Office
	principal string
	client    grant.Client
	service   oauth.ClientAuth
}

func newApplications(t *testing.T, o *apitest.Office, principal, service string) *applications {
	t.Helper()
	a := &applications{
		T:         t,
		o:         o,
		principal: principal,
		client: grant.Client{
			Kind:         grant.Registered,
			Name:         "Geheim",
			RedirectURIs: []string{"https://app.example/cb"},
			Method:       grant.NoSecret,
		},
	}
	a.write(func(tx db.Tx) error {
		_, err := a.client.Store(t.Context(), tx, clock.Now(o.Clock))
		return err
	})
	made, err := operator.Run(t.Context(), o.Operator, oauth.CreateClient, oauth.NewClient{
		Organization: o.ID,
		Name:         "Geheim",
		Principal:    service,
		Scopes:       []string{"contacts:read"},
		Environment:  access.Test,
	})
	if err != nil {
		t.Fatal(err)
	}
	a.service = oauth.ClientAuth{ClientID: made.ID, Secret: made.ClientSecret}
	a.write(func(tx db.Tx) error {
		o, err := access.OrganizationIn(t.Context(), tx, o.ID)
		if err == nil {
			_, err = grant.ApproveClient(t.Context(), tx, clock.Now(a.o.Clock), o.Live, &a.client, principal, "")
		}
		return err
	})
	a.grant()
	return a
}

func (a *applications) write(f func(tx db.Tx) error) {
	a.Helper()
	if err := a.o.DB.Write(a.Context(), f); err != nil {
		a.Fatal(err)
	}
}

// begin stores a grant of the principal for the client in the sandbox. It returns the grant and its
// authorization code.
func (a *applications) begin() (g grant.Grant, code string) {
	a.Helper()
	a.write(func(tx db.Tx) (err error) {
		if err = access.Changed(a.Context(), tx); err != nil {
			return err
		}
		sandbox, err := access.OrganizationIn(a.Context(), tx, a.o.SandboxID)
		if err == nil {
			var begun grant.Issuance
			begun, err = grant.Begin(a.Context(), tx, clock.Now(a.o.Clock), grant.NewGrant{
				Client: &a.client, Organization: sandbox.Number, Principal: a.principal,
				Scopes: []string{"contacts:read", "contacts:write"}, Audience: access.V1,
				RedirectURI: a.client.RedirectURIs[0], Challenge: challenge(), Renewal: grant.RenewalOf(&a.client, false),
			})
			g, code = begun.Grant, begun.Code
		}
		return err
	})
	return g, code
}

// grant returns a new grant whose code was exchanged for tokens.
func (a *applications) grant() grant.Grant { return a.tokens().Grant }

// tokens returns the tokens of a new grant.
func (a *applications) tokens() (tokens grant.Tokens) {
	a.Helper()
	_, code := a.begin()
	a.write(func(tx db.Tx) (err error) {
		tokens, err = grant.Exchange(a.Context(), tx, clock.Now(a.o.Clock), &a.client, code, a.client.RedirectURIs[0],
			verifier, "")
		return err
	})
	return tokens
}

func (a *applications) exchange() oauth.TokenInput {
	_, code := a.begin()
	return oauth.TokenInput{
		ClientAuth:   oauth.ClientAuth{ClientID: a.client.ClientID},
		GrantType:    "authorization_code",
		Code:         code,
		RedirectURI:  a.client.RedirectURIs[0],
		CodeVerifier: verifier,
	}
}

func (a *applications) revoke() oauth.TokenQuestion {
	return oauth.TokenQuestion{ClientAuth: oauth.ClientAuth{ClientID: a.client.ClientID}, Token: a.tokens().Refresh}
}

// asked creates another application that waits for the approval of an admin, and returns its name.
func (a *applications) asked() (name string) {
	a.Helper()
	other := grant.Client{
		Kind:         grant.Registered,
		Name:         "Geheim",
		RedirectURIs: []string{"https://app.example/cb"},
		Method:       grant.NoSecret,
	}
	a.write(func(tx db.Tx) error {
		o, err := access.OrganizationIn(a.Context(), tx, a.o.ID)
		if err == nil {
			_, err = other.Store(a.Context(), tx, clock.Now(a.o.Clock))
		}
		if err != nil {
			return err
		}
		asked, _, err := grant.AskFor(a.Context(), tx, clock.Now(a.o.Clock), o.Live, &other, a.principal)
		name = asked.ID
		return err
	})
	return name
}

func (a *applications) asks() oauth.AskInput {
	return oauth.AskInput{
		ResponseType: "code", ClientID: a.client.ClientID, RedirectURI: a.client.RedirectURIs[0],
		Challenge: challenge(), ChallengeMethod: "S256", State: "x",
	}
}

// answer calls oauth.ask in a session. It returns an input of oauth.answer that lets the
// application act for the person.
func (a *applications) answer(door api.Door, as api.Credential) any {
	a.Helper()
	got := ask(a.T, a.o, door, as, "oauth.ask", a.asks())
	var asked oauth.Prompt
	if err := json.Unmarshal(got.Body, &asked); err != nil || got.Fault != nil {
		a.Fatalf("%v %s", err, got.Body)
	}
	return oauth.AnswerInput{Ticket: asked.Ticket, Allow: true, Scopes: asked.Scopes}
}
