package webhook

import (
	"strconv"

	"kartei/kit/clock"
	"kartei/kit/masterkey"
)

// Overlap is how long the previous secret also signs after a rotation
// (contract, 'Other constants').
const Overlap = 24 * clock.Hour

// SecretsPurpose derives the keys of the vault that seals secrets
// (masterkey.Ring.Vault).
const SecretsPurpose = "webhook secrets"

// sealingPlace names the endpoint to which sealed secrets are bound. A secret
// sealed for one endpoint does not open for another.
func sealingPlace(organization int64, endpoint string) string {
	return strconv.FormatInt(organization, 10) + "|" + endpoint
}

// Seal sets the current secret, sealed for this endpoint.
func (r *Row) Seal(v masterkey.Vault, secret Secret) {
	r.secret = v.Seal(secret, sealingPlace(r.Organization, r.ID))
}

// Secrets returns the secrets that sign at a moment, the current one first.
// There are two in the overlap after a rotation.
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

// UnreadableSecret is returned for a secret that no known master key opens. No
// delivery of its endpoint can be signed until the owner rotates the secret.
type UnreadableSecret struct {
	Endpoint string
	err      error
}

func (e *UnreadableSecret) Error() string {
	return "webhook: the secret of " + e.Endpoint +
		" was sealed under an unknown master key; rotate_secret makes a new secret: " + e.err.Error()
}

func (e *UnreadableSecret) Unwrap() error { return e.err }
