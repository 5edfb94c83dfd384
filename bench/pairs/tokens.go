package pairs

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"

	"kartei/access"
	"kartei/bench/measure"
	"kartei/bench/report"
	"kartei/bench/webhooks"
	"kartei/integration/grant"
	"kartei/kit/clock"
	"kartei/store/db"
	"kartei/store/db/open"
)

const (
	// maxKeyRatio is the maximum ratio of the cost of a call with an access token and with a key.
	// maxCreateRatio is the maximum ratio of the cost of a call to an OAuth endpoint, such as a
	// refresh, and of the creation of a contact.
	maxKeyRatio, maxCreateRatio = 1.05, 5.0
	tokenCallback               = "https://app.example/callback"
)

// MeasureTokens measures the cost of access tokens. It compares calls with an access token and with
// a key, and calls to the OAuth endpoints with the creation of a contact. Calls of a series follow
// each other on one connection.
func MeasureTokens(ctx context.Context, b *measure.Bench) error {
	places, r, end, err := newOffices(ctx, b, b.Program)
	defer end()
	if err != nil {
		return err
	}
	keyed := places[0]
	a, err := connect(ctx, b, keyed, r)
	if err != nil {
		return err
	}
	// This is the same server with another credential.
	tokened, office := *keyed, *keyed.Office
	tokened.Office = &office
	if err := a.exchange(ctx); err != nil {
		return err
	}
	office.Key = a.access

	type series struct {
		compare, with string
		calls         int
		limit         float64
		base, other   func(context.Context) error
	}
	read := func(p *measure.Place) func(context.Context) error {
		n := 0
		return func(context.Context) error {
			n++
			var contact struct{ ID string }
			return p.Call("GET", "/contacts/"+p.IDs[n%len(p.IDs)], nil, &contact)
		}
	}
	create := func(context.Context) error {
		var made struct{ ID string }
		return keyed.Call("POST", "/contacts", map[string]any{"lastName": rand.Text()}, &made)
	}
	var list []report.Figure
	for _, s := range []series{
		{"a read with an access token", "with a key", 4000, maxKeyRatio, read(keyed), read(&tokened)},
		{"a refresh", "creating a contact", 400, maxCreateRatio, create, a.refresh},
		{"a token for a service account", "creating a contact", 400, maxCreateRatio, create, a.forService},
		{"an introspection", "creating a contact", 400, maxCreateRatio, create, a.introspect},
	} {
		if !strings.HasPrefix(s.compare, b.Only) {
			continue
		}
		c := comparison{name: s.compare}
		half := func(p *measure.Place) (cost, error) {
			do := s.base
			if p != keyed {
				do = s.other
			}
			return perCall(ctx, p, func() (int, error) {
				for range s.calls {
					if err := do(ctx); err != nil {
						return 0, err
					}
				}
				return s.calls, nil
			})
		}
		for _, p := range []*measure.Place{keyed, &tokened} { // fills caches
			if _, err := half(p); err != nil {
				return fmt.Errorf("%s: %w", s.compare, err)
			}
		}
		for n := range againstPairs * b.Runs {
			if err := c.pair(ctx, n, keyed, &tokened, half); err != nil {
				return fmt.Errorf("%s: %w", s.compare, err)
			}
		}
		goal := fmt.Sprintf("≤ %.0f %%", 100*s.limit)
		list = append(list, c.cpu.figure(s.compare+": processor time", s.with, "µs", goal, s.limit),
			c.allocations.figure(s.compare+": allocations", s.with, "", goal, s.limit))
		if b.Postgres {
			list = append(list, c.database.figure(s.compare+": processor time of PostgreSQL", s.with, "µs", "", 0))
		}
	}
	if len(list) == 0 {
		return errors.New("--only: the series begin with: a read, a refresh, a token, an introspection")
	}
	return b.Write(os.Stdout, list)
}

// application is an OAuth application. It has a client that acts for a member of the office, and a
// client of a service account.
type application struct {
	*measure.Place
	client, secret          string // of the service account
	public                  string // client that acts for the member
	code, verifier          string
	access, refreshed, last string
}

// connect creates both clients, and the consent of the member for the first. It stops the server
// meanwhile, since only one process at a time can use an SQLite database.
func connect(ctx context.Context, b *measure.Bench, p *measure.Place, r *webhooks.Receiver) (*application, error) {
	a := &application{Place: p, verifier: rand.Text() + rand.Text()}
	var me struct {
		PrincipalID  string
		Organization struct{ ID string }
	}
	if err := p.Call("GET", "/me", nil, &me); err != nil {
		return nil, err
	}
	if err := b.Close(p); err != nil {
		return nil, err
	}
	if err := a.admit(ctx, me.Organization.ID, me.PrincipalID); err != nil {
		return nil, err
	}
	return a, again(ctx, b, p, r)
}

// admit stores both clients and the consent of the member.
func (a *application) admit(ctx context.Context, organization, principal string) error {
	d, err := open.Database(ctx, a.URL, db.Options{})
	if err != nil {
		return err
	}
	defer d.Close()
	now := clock.Now(clock.System)
	sum := sha256.Sum256([]byte(a.verifier))
	return d.Write(ctx, func(tx db.Tx) error {
		o, err := access.OrganizationIn(ctx, tx, organization)
		if err != nil {
			return err
		}
		scopes := []string{
			"companies:read", "companies:write", "contacts:read", "contacts:write", "webhook_endpoints:read",
			"webhook_endpoints:write",
		}
		public := grant.Client{
			Kind:         grant.Registered,
			Name:         "bench",
			RedirectURIs: []string{tokenCallback},
			Method:       grant.NoSecret,
		}
		service := grant.Client{
			Kind: grant.ByAdmin, Name: "bench", Method: grant.SecretForm, Organization: o.Number,
			Principal: principal, Scopes: scopes,
		}
		if _, err := public.Store(ctx, tx, now); err != nil {
			return err
		}
		if a.secret, err = service.Store(ctx, tx, now); err != nil {
			return err
		}
		if err := access.Changed(ctx, tx); err != nil {
			return err
		}
		begun, err := grant.Begin(ctx, tx, now, grant.NewGrant{
			Client: &public, Organization: o.Number, Principal: principal, Scopes: scopes, Audience: access.V1,
			RedirectURI: tokenCallback,
			Challenge:   base64.RawURLEncoding.EncodeToString(sum[:]),
		})
		a.code, a.public, a.client = begun.Code, public.ClientID, service.ClientID
		return err
	})
}

// post sends a form to an OAuth endpoint.
func (a *application) post(ctx context.Context, endpoint string, form url.Values) (answer struct {
	AccessToken  string `json:"access_token"`
	RefreshToken string `json:"refresh_token"`
	Active       bool
}, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+a.Address+"/oauth/"+endpoint,
		bytes.NewReader([]byte(form.Encode())))
	if err != nil {
		return answer, err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		return answer, err
	}
	defer got.Body.Close()
	body, err := io.ReadAll(got.Body)
	if err != nil {
		return answer, err
	}
	if got.StatusCode != http.StatusOK {
		return answer, fmt.Errorf("%s: %s: %s", endpoint, got.Status, body)
	}
	return answer, json.Unmarshal(body, &answer)
}

func (a *application) exchange(ctx context.Context) error {
	t, err := a.post(ctx, "token", url.Values{
		"grant_type": {"authorization_code"}, "client_id": {a.public}, "code": {a.code}, "code_verifier": {a.verifier},
		"redirect_uri": {tokenCallback},
	})
	a.access, a.refreshed = t.AccessToken, t.RefreshToken
	return err
}

func (a *application) refresh(ctx context.Context) error {
	t, err := a.post(ctx, "token", url.Values{
		"grant_type":    {"refresh_token"},
		"client_id":     {a.public},
		"refresh_token": {a.refreshed},
	})
	a.refreshed = t.RefreshToken
	return err
}

func (a *application) forService(ctx context.Context) error {
	t, err := a.post(ctx, "token", url.Values{
		"grant_type":    {"client_credentials"},
		"client_id":     {a.client},
		"client_secret": {a.secret},
	})
	a.last = t.AccessToken
	return err
}

// introspect sends an introspection of a token of the service account.
func (a *application) introspect(ctx context.Context) error {
	if a.last == "" {
		if err := a.forService(ctx); err != nil {
			return err
		}
	}
	t, err := a.post(ctx, "introspect", url.Values{
		"token":         {a.last},
		"client_id":     {a.client},
		"client_secret": {a.secret},
	})
	if err != nil {
		return err
	}
	if !t.Active {
		return errors.New("a token that was just issued is not active")
	}
	return nil
}
