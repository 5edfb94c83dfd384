package webhook

import (
	"fmt"
	"strconv"

	"kartei/clock"
	"kartei/masterkey"
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

// secrets returns those that sign at a moment, the one in force first: one, or
// two in the overlap after a change.
func (r *row) secrets(v masterkey.Vault, now clock.Micros) (list []Secret, err error) {
	sealed := []string{r.secret}
	if r.previous != "" && now < r.previousUntil {
		sealed = append(sealed, r.previous)
	}
	for _, s := range sealed {
		secret, _, err := v.Open(s, sealingPlace(r.organization, r.ID))
		if err != nil {
			return nil, fmt.Errorf("webhook: the secret of %s: %w", r.ID, err)
		}
		list = append(list, secret)
	}
	return list, nil
}
