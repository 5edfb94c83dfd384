package webhook

import (
	"strconv"

	"kartei/kit/clock"
	"kartei/kit/masterkey"
)

// Overlap is the time for which the previous secret also signs after a rotation (contract, 'Other
// constants').
const Overlap = 24 * clock.Hour

// SecretsPurpose is the purpose from which the key ring derives the vault for webhook secrets
// (masterkey.Ring.Vault).
const SecretsPurpose = "webhook secrets"

// sealingPlace returns the context to which an encrypted secret is bound. A secret that was
// encrypted for one endpoint cannot be decrypted for another.
func sealingPlace(organization int64, endpoint string) string {
	return strconv.FormatInt(organization, 10) + "|" + endpoint
}

// Seal encrypts a secret for this endpoint and sets it as the current secret.
func (r *Row) Seal(v masterkey.Vault, secret Secret) {
	r.secret = v.Seal(secret, sealingPlace(r.Organization, r.ID))
}

// Secrets returns the decrypted secrets that sign at the time now, the current one first. In the
// overlap after a rotation there are two. Secrets fails with *UnreadableSecret if a secret cannot
// be decrypted.
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

// UnreadableSecret is the error for a secret that no known master key decrypts. No delivery of its
// endpoint can be signed until the owner rotates the secret.
type UnreadableSecret struct {
	Endpoint string
	err      error
}

func (e *UnreadableSecret) Error() string {
	return "webhook: the secret of " + e.Endpoint +
		" was sealed under an unknown master key; rotate_secret makes a new secret: " + e.err.Error()
}

func (e *UnreadableSecret) Unwrap() error { return e.err }
