package apitest

import (
	"crypto/sha256"
	"encoding/base64"
	"strings"

	"kartei/access"
	"kartei/integration/grant"
	"kartei/kit/clock"
	"kartei/store/db"
)

// Connect stores a grant and an access token for a principal in the sandbox, as the consent page
// and the token endpoint do. If c has no id yet, Connect stores the client first.
func (o *Office) Connect(c *grant.Client, principal, audience string, scopes ...string) (tokens grant.Tokens) {
	o.Helper()
	verifier := strings.Repeat("v", 43) // the shortest verifier that RFC 7636 permits
	sum := sha256.Sum256([]byte(verifier))
	ctx, now := o.Context(), clock.Now(o.Clock)
	stored := c.ID != ""
	if err := o.DB.Write(ctx, func(tx db.Tx) error { // The function may run more than once.
		if !stored {
			if _, err := c.Store(ctx, tx, now); err != nil {
				return err
			}
		}
		in, err := access.OrganizationIn(ctx, tx, o.SandboxID)
		if err != nil {
			return err
		}
		begun, err := grant.Begin(ctx, tx, now, grant.NewGrant{
			Client: c, Organization: in.Number, Principal: principal, Scopes: scopes, Audience: audience,
			RedirectURI: c.RedirectURIs[0],
			Challenge:   base64.RawURLEncoding.EncodeToString(sum[:]), Renewal: grant.RenewalOf(c, false),
		})
		if err != nil {
			return err
		}
		tokens, err = grant.Exchange(ctx, tx, now, c, begun.Code, c.RedirectURIs[0], verifier, "")
		return err
	}); err != nil {
		o.Fatal(err)
	}
	return tokens
}
