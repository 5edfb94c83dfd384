package api

import (
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"strings"

	"golang.org/x/crypto/chacha20poly1305"
)

// vault encrypts stored answers that hold a secret (open points,
// 'Preconditions and idempotency').
// The first key seals; all open, so that the master key can be replaced.
type vault []cipher.AEAD

// sealedMark begins an answer that is kept encrypted; JSON never does.
const sealedMark = "sealed:"

func newVault(keys [][]byte) (v vault, err error) {
	if len(keys) == 0 {
		return nil, errors.New("api: no key for stored answers")
	}
	for _, key := range keys {
		aead, err := chacha20poly1305.NewX(key)
		if err != nil {
			return nil, err
		}
		v = append(v, aead)
	}
	return v, nil
}

// seal encrypts an answer; where names the row that it is kept in.
func (v vault) seal(body []byte, where string) string {
	aead := v[0]
	nonce := make([]byte, aead.NonceSize(), aead.NonceSize()+len(body)+aead.Overhead())
	rand.Read(nonce) // never fails (crypto/rand)
	return sealedMark + base64.RawStdEncoding.EncodeToString(aead.Seal(nonce, nonce, body, []byte(where)))
}

// open returns an answer as it was, whether it is encrypted or not.
func (v vault) open(stored []byte, where string) (body []byte, err error) {
	text, is := strings.CutPrefix(string(stored), sealedMark)
	if !is {
		return stored, nil
	}
	box, err := base64.RawStdEncoding.DecodeString(text)
	if err != nil {
		return nil, err
	}
	if len(box) < chacha20poly1305.NonceSizeX {
		return nil, errors.New("api: a stored answer is cut short")
	}
	nonce, box := box[:chacha20poly1305.NonceSizeX], box[chacha20poly1305.NonceSizeX:]
	for _, aead := range v {
		if body, err = aead.Open(nil, nonce, box, []byte(where)); err == nil {
			break
		}
	}
	return body, err
}
