package webhook

import (
	"strconv"

	"kartei/kit/clock"
	"kartei/kit/masterkey"
)

// Overlap is how long the previous secret signs too after a change of secrets
// (contract, 'Other constants').
const Overlap = 24 * clock.Hour

// SecretsPurpose is what the keys of the vault are derived for that seals
// secrets (masterkey.Ring.Vault).
const SecretsPurpose = "webhook secrets"

// sealingPlace is where an endpoint's secrets are kept: sealed for one, they
// are opened nowhere else.
func sealingPlace(organization int64, endpoint string) string {
	return strconv.FormatInt(organization, 10) + "|" + endpoint
}

// Seal makes a secret the one in force, as it is kept: sealed for this endpoint.
func (r *Row) Seal(v masterkey.Vault, secret Secret) {
	r.secret = v.Seal(secret, sealingPlace(r.Organization, r.ID))
}

// Secrets returns those that sign at a moment, the one in force first: one, or
// two in the overlap after a change.
func (r *Row) Secrets(v masterkey.Vault, now clock.Micros) (list []Secret, err error) {
	sealed := []string{r.secret}
	if r.previous != "" && now < r.previousUntil {
		sealed = append(sealed, r.previous)
	}
	for _, s := range sealed {
		secret, _, err := v.Open(s, sealingPlace(r.Organization, r.ID))
		if err != nil {
			return nil, &UnreadableSecret{r.ID, err}
		}
		list = append(list, secret)
	}
	return list, nil
}

// UnreadableSecret is that of a secret which no known master key opens: nothing
// can be signed for its endpoint until its owner rotates the secret.
type UnreadableSecret struct {
	Endpoint string
	err      error
}

func (e *UnreadableSecret) Error() string {
	return "webhook: the secret of " + e.Endpoint + " was sealed under a master key that is not known, rotate_secret makes a new one: " + e.err.Error()
}

func (e *UnreadableSecret) Unwrap() error { return e.err }
