package masterkey

import (
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"errors"

	"golang.org/x/crypto/chacha20poly1305"
)

// Vault encrypts small secrets that are kept in the database. It uses
// XChaCha20-Poly1305 with random nonces, and binds each secret to its place.
// The first key encrypts; all keys decrypt, so that the master key can be
// replaced. A Vault is safe for use by several goroutines.
type Vault struct{ keys []cipher.AEAD }

// NewVault returns a vault with keys of 32 bytes.
func NewVault(keys ...[]byte) (v Vault, err error) {
	if len(keys) == 0 {
		return v, errors.New("masterkey: a vault needs a key")
	}
	for _, key := range keys {
		aead, err := chacha20poly1305.NewX(key)
		if err != nil {
			return v, err
		}
		v.keys = append(v.keys, aead)
	}
	return v, nil
}

// Vault returns the vault for one purpose, with keys derived for it.
func (r Ring) Vault(purpose string) Vault {
	var keys [][]byte
	for _, k := range r.All() {
		keys = append(keys, k.Derive(purpose))
	}
	v, err := NewVault(keys...)
	if err != nil {
		panic(err) // only for keys of a length that Derive does not return
	}
	return v
}

// Seal encrypts a secret as text. where names its place, and Open needs the
// same place.
func (v Vault) Seal(secret []byte, where string) string {
	first := v.keys[0]
	nonce := make([]byte, first.NonceSize(), first.NonceSize()+len(secret)+first.Overhead())
	rand.Read(nonce) // never fails (crypto/rand)
	return base64.RawStdEncoding.EncodeToString(first.Seal(nonce, nonce, secret, []byte(where)))
}

// Open decrypts a secret that was sealed for the same place. It reports whether
// the first key had encrypted it.
func (v Vault) Open(sealed, where string) (secret []byte, first bool, err error) {
	box, err := base64.RawStdEncoding.DecodeString(sealed)
	if err != nil {
		return nil, false, err
	}
	if len(box) < chacha20poly1305.NonceSizeX {
		return nil, false, errors.New("masterkey: a sealed secret is cut short")
	}
	nonce, box := box[:chacha20poly1305.NonceSizeX], box[chacha20poly1305.NonceSizeX:]
	for i, key := range v.keys {
		if secret, err = key.Open(nil, nonce, box, []byte(where)); err == nil {
			return secret, i == 0, nil
		}
	}
	return nil, false, err
}
