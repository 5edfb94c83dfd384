package shell

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"time"
)

// formTokens mints and checks the tokens of forms. A token belongs to one form and one person. It
// is also the idempotency key of the change. So a form that is sent twice makes one change.
//
// A token is bound to the person and not to the session. After a new sign-in, the same form can be
// sent again and still makes one change. Nobody else can forge a token, because it is signed with
// the secret key of the instance.
type formTokens struct {
	key []byte
	now func() time.Time
}

const (
	// tokenLifetime is shorter than 24 hours, for which the API remembers the response to an
	// idempotency key.
	tokenLifetime = 20 * time.Hour

	tokenRandom = 16
	tokenTime   = 4 // minutes since 1970
	tokenMAC    = 16
)

// Mint returns a new token for a person, given by id. The id is empty for callers who are not
// signed in.
func (t formTokens) Mint(person string) string {
	b := make([]byte, tokenRandom, tokenRandom+tokenTime+tokenMAC)
	rand.Read(b)
	b = binary.BigEndian.AppendUint32(b, uint32(t.now().Unix()/60))
	return base64.RawURLEncoding.EncodeToString(append(b, t.mac(b, person)...))
}

// Valid reports whether a token was minted for a person, and is not older than tokenLifetime.
func (t formTokens) Valid(token, person string) bool {
	return t.MadeFor(token, person) && t.now().Before(TokenTimeOf(token).Add(tokenLifetime))
}

// MadeFor reports whether a token was minted for a person, at any time.
func (t formTokens) MadeFor(token, person string) bool {
	b, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || len(b) != tokenRandom+tokenTime+tokenMAC {
		return false
	}
	signed, mac := b[:tokenRandom+tokenTime], b[tokenRandom+tokenTime:]
	return hmac.Equal(mac, t.mac(signed, person))
}

// TokenTimeOf returns the time at which a token was minted, to the minute. It is zero for text that
// is no token. It does not check the signature.
func TokenTimeOf(token string) time.Time {
	b, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || len(b) < tokenRandom+tokenTime {
		return time.Time{}
	}
	return time.Unix(int64(binary.BigEndian.Uint32(b[tokenRandom:]))*60, 0)
}

func (t formTokens) mac(signed []byte, person string) []byte {
	h := hmac.New(sha256.New, t.key)
	h.Write(signed)
	h.Write([]byte(person))
	return h.Sum(nil)[:tokenMAC]
}
