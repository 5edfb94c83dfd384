package masterkey

import (
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"errors"

	"golang.org/x/crypto/chacha20poly1305"
)

// Vault encrypts small secrets for the database, by XChaCha20-Poly1305 with random nonces. Each
// encrypted secret is bound to its place, such as a row. The first key encrypts. All keys decrypt,
// so the master key can be replaced. A Vault is safe for use by several goroutines.
type Vault struct{ keys []cipher.AEAD }

// NewVault returns a Vault with keys of 32 bytes. It returns an error if there is no key, or for
// keys of another length.
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

// Vault returns the Vault for one purpose. Its keys are derived from all keys of the ring.
func (r Ring) Vault(purpose string) Vault {
	var keys [][]byte
	for _, k := range r.All() {
		keys = append(keys, k.Derive(purpose))
	}
	v, err := NewVault(keys...)
	if err != nil {
		panic(err) // only for keys with another length than the results of Derive
	}
	return v
}

// Seal encrypts a secret and returns it as Base64. The parameter where identifies the place in
// which the secret is stored, such as the id of a row. Open must be called with the same place.
func (v Vault) Seal(secret []byte, where string) string {
	first := v.keys[0]
	nonce := make([]byte, first.NonceSize(), first.NonceSize()+len(secret)+first.Overhead())
	rand.Read(nonce) // never returns an error (crypto/rand)
	return base64.RawStdEncoding.EncodeToString(first.Seal(nonce, nonce, secret, []byte(where)))
}

// Open decrypts a result of Seal for the same place. first says that the first key had encrypted
// it. If first is false, the caller should encrypt the secret again. Open returns an error if no
// key decrypts sealed.
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
