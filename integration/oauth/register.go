package oauth

import (
	"context"
	"slices"
	"strings"
	"time"

	"kartei/access"
	"kartei/api/op"
	"kartei/integration/grant"
	"kartei/kit/fault"
	"kartei/people/signin"
)

// Registration is the metadata that a client sends about itself (RFC 7591, section 2). Other
// members are ignored.
type Registration struct {
	RedirectURIs  []string `json:"redirect_uris"`
	Method        string   `json:"token_endpoint_auth_method,omitempty"`
	GrantTypes    []string `json:"grant_types,omitempty"`
	ResponseTypes []string `json:"response_types,omitempty"`
	Name          string   `json:"client_name,omitempty"`
	Scope         string   `json:"scope,omitempty"`
}

// RegisterResult is the response for a client that has registered itself (RFC 7591, section 3.2.1).
type RegisterResult struct {
	ClientID string `json:"client_id"`
	// ClientSecret is the secret, which no other response reveals.
	ClientSecret string `json:"client_secret,omitempty"`
	// IssuedAt is in seconds since 1970. SecretExpiresAt is zero, because a secret does not expire.
	// It is nil for a client without a secret.
	IssuedAt        int64  `json:"client_id_issued_at"`
	SecretExpiresAt *int64 `json:"client_secret_expires_at,omitempty"`
	Registration
}

// Secret implements op.Secret.
func (RegisterResult) Secret() {}

// The error codes of RFC 7591, section 3.2.2.
const (
	invalidRedirect = "invalid_redirect_uri"
	invalidMetadata = "invalid_client_metadata"
)

// registrationsOfHour is the maximum number of clients that register from one network in an hour.
// registrationsOfSite is the maximum number from the wider network around it (access.Site).
const (
	registrationsOfHour = 10
	registrationsOfSite = 4 * registrationsOfHour
)

// checkRegistration counts a registration. It fails with RATE_LIMITED if there are too many, and
// with NOT_FOUND if registration is switched off.
func checkRegistration(ctx context.Context, c *op.Call, _ Registration) (checked struct{}, err error) {
	if !Service.In(c).Register {
		return checked, fault.New(fault.NotFound)
	}
	host := signin.Limit{
		Subject: "register|" + access.Network(c.Address).String(), Window: time.Hour,
		Most: registrationsOfHour, Keeps: true,
	}
	site := signin.Limit{
		Subject: "register|site|" + access.Site(c.Address).String(), Window: time.Hour,
		Most: registrationsOfSite, Keeps: true,
	}
	return checked, throttled(signin.Service.In(c).Attempt(ctx, c.Now, host, site))
}

// Register is the operation that stores a client which registers itself. No admin has checked the
// client, and the consent page says so. The client cannot do anything until a person consents.
var Register = op.NewPrefetched("oauth.register", op.Note, checkRegistration, register, op.By(op.Client), op.Unstored)

func register(ctx context.Context, c *op.Call, in Registration, _ struct{}) (RegisterResult, error) {
	if in.Method == "" && slices.ContainsFunc(in.RedirectURIs, func(a string) bool { return grant.Scheme(a) != "" }) {
		in.Method = grant.NoSecret // a program on a person's computer cannot keep a secret (RFC 8252, section 8.4)
	}
	if in.Method == "" {
		in.Method = grant.SecretHeader // the default of RFC 7591, section 2
	}
	if in.GrantTypes == nil {
		in.GrantTypes = []string{byCode, byRefresh}
	}
	if in.ResponseTypes == nil {
		in.ResponseTypes = []string{"code"}
	}
	if err := in.check(); err != nil {
		return RegisterResult{}, err
	}
	in.Name = grant.CleanName(in.Name)
	client := grant.Client{Kind: grant.Registered, Name: in.Name, RedirectURIs: in.RedirectURIs, Method: in.Method}
	secret, err := client.Store(ctx, c.Tx, c.Now)
	out := RegisterResult{ClientID: client.ClientID, ClientSecret: secret, IssuedAt: seconds(c.Now), Registration: in}
	if secret != "" {
		out.SecretExpiresAt = new(int64)
	}
	return out, err
}

func (r *Registration) check() error {
	switch {
	case len(r.RedirectURIs) == 0 || len(r.RedirectURIs) > grant.MaxRedirects:
		return refused(invalidRedirect, "One to ten redirect_uris are needed.")
	case slices.ContainsFunc(r.RedirectURIs,
		func(a string) bool { return !grant.ValidRedirect(a, r.Method == grant.NoSecret) }):
		return refused(invalidRedirect, "A redirect_uri has https, or http on this computer, or, for a client without a secret, a scheme of the program. It has no fragment.")
	case grant.Impersonates(r.Name):
		return refused(invalidMetadata, "The client_name is that of this product, or looks like it.")
	case !slices.Contains([]string{grant.NoSecret, grant.SecretHeader, grant.SecretForm}, r.Method):
		return refused(invalidMetadata, "The token_endpoint_auth_method is not supported.")
	case beyond(r.GrantTypes, byCode, byRefresh):
		return refused(invalidMetadata, "A client that registers itself has the grant types authorization_code and refresh_token at most.")
	case beyond(r.ResponseTypes, "code"):
		return refused(invalidMetadata, "The only response type is code.")
	}
	return nil
}

func beyond(list []string, allowed ...string) bool {
	return slices.ContainsFunc(list, func(s string) bool { return !slices.Contains(allowed, s) })
}

// known returns the scopes in a list that exist. Clients also request scopes of other servers.
func known(scope string) []string {
	return slices.DeleteFunc(strings.Fields(scope), func(s string) bool { return !access.ValidScope(s) })
}
