package signin

import (
	"kartei/kit/masterkey"
	"kartei/people/sso"
	"kartei/store/db"
)

// SecretsPurpose derives the keys of the vault that seals the secrets of generators
// of codes (masterkey.Ring.Vault).
const SecretsPurpose = "second factors"

// Desk is what the operations of the sign-in need.
type Desk struct {
	// DB counts attempts outside the transaction of a call: a refused call is
	// rolled back, and its attempt must stay.
	DB     db.DB
	Hasher *Hasher
	// Secrets seals the secrets of generators of codes.
	Secrets masterkey.Vault
	// Passkeys is nil if the address of the instance allows none.
	Passkeys *Passkeys
	// Provider is the OpenID provider, nil if there is none.
	Provider *sso.Provider
}

// NewDesk returns the desk of an instance. base is its address for people.
func NewDesk(d db.DB, secrets masterkey.Vault, base string) *Desk {
	return &Desk{DB: d, Hasher: NewHasher(), Secrets: secrets, Passkeys: NewPasskeys(base)}
}
