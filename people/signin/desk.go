package signin

import (
	"kartei/kit/masterkey"
	"kartei/people/sso"
	"kartei/store/db"
)

// SecretsPurpose is the purpose from which the key ring derives the vault for TOTP secrets
// (masterkey.Ring.Vault).
const SecretsPurpose = "second factors"

// Desk has the dependencies of the operations for signing in.
type Desk struct {
	// DB is used to count attempts outside of the transaction of a call. The transaction of a
	// refused call is rolled back, but its attempt must stay counted.
	DB     db.DB
	Hasher *Hasher
	// Secrets encrypts TOTP secrets and tickets.
	Secrets masterkey.Vault
	// Passkeys is nil if passkeys cannot be used with the address of the instance.
	Passkeys *Passkeys
	// Provider is the OpenID provider. It is nil if there is none.
	Provider *sso.Provider
}

// NewDesk returns the Desk of an instance. base is the address of the instance for browsers.
func NewDesk(d db.DB, secrets masterkey.Vault, base string) *Desk {
	return &Desk{DB: d, Hasher: NewHasher(), Secrets: secrets, Passkeys: NewPasskeys(base)}
}
