package access

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"hash/crc32"
	"slices"
	"strings"
)

// A secret is one word of fixed length:
//
//	kart_test_<kid, 16><_><secret, 28><checksum, 6>
//
// The word after kart_ is its form; an API key's form is its environment. kid,
// secret and checksum are base62. The kid identifies it and is not secret; with
// 95 bits it cannot be guessed. The secret has 166 bits. The checksum is CRC-32
// (IEEE) of everything before it. A text that was cut or mistyped is recognized
// without a lookup, and scanners for leaked secrets have few false positives.
const (
	brand          = "kart_"
	formLength     = 4
	prefixLength   = len(brand) + formLength + 1
	kidLength      = 16
	secretLength   = 28
	checksumLength = 6
	tokenLength    = prefixLength + kidLength + 1 + secretLength + checksumLength

	kidShortLength = 8
)

// The environments of a key, which are also the forms of its secret.
const (
	Test = "test"
	Live = "live"
)

// The forms of the secrets of OAuth 2.1.
const (
	AccessTokenForm  = "atok"
	RefreshTokenForm = "rtok"
	CodeForm         = "code"
	ClientSecretForm = "csec"
)

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// token holds the parts of a secret.
type token struct {
	form   string
	kid    string
	secret string
}

// parseToken splits an API key or an access token. The reason is empty if this product
// could have issued it. It does not allocate.
func parseToken(s string) (token, Reason) { return parseForm(s, Test, Live, AccessTokenForm) }

// parseForm splits a secret of one of some forms.
func parseForm(s string, forms ...string) (token, Reason) {
	var t token
	if s == "" {
		return t, Missing
	}
	if len(s) != tokenLength || !strings.HasPrefix(s, brand) || s[prefixLength-1] != '_' {
		return t, Malformed
	}
	t.form = s[len(brand) : prefixLength-1]
	if !slices.Contains(forms, t.form) {
		return token{}, Malformed
	}
	rest := s[prefixLength:]
	t.kid, t.secret = rest[:kidLength], rest[kidLength+1:kidLength+1+secretLength]
	if rest[kidLength] != '_' || !isBase62(t.kid) || !isBase62(rest[kidLength+1:]) {
		return token{}, Malformed
	}
	if checksum(s[:tokenLength-checksumLength]) != [checksumLength]byte([]byte(s[tokenLength-checksumLength:])) {
		return token{}, WrongChecksum
	}
	return t, ""
}

// Secret is a new secret with the values that are stored.
type Secret struct {
	// Text is shown once.
	Text string
	// Kid identifies the secret and is not secret. Short is the part that
	// people see.
	Kid, Short string
	// Hash is SHA-256 of the secret part, in hexadecimal digits.
	Hash string
}

// NewSecret generates a secret of a form. An API key's form is its environment.
func NewSecret(form string) Secret { return secretFrom(form, func(b []byte) { rand.Read(b) }) } // never fails (crypto/rand, since Go 1.24)

// DeriveSecret returns the secret of a form that follows from a key and a purpose. The
// same arguments return the same secret, and nobody without the key can tell it.
func DeriveSecret(form string, key []byte, purpose string) Secret {
	stream, count := hmac.New(sha256.New, key), byte(0)
	return secretFrom(form, func(b []byte) { // HMAC in counter mode (NIST SP 800-108, section 4.1)
		for filled := 0; filled < len(b); count++ {
			stream.Reset()
			stream.Write([]byte(purpose))
			stream.Write([]byte{count})
			filled += copy(b[filled:], stream.Sum(nil))
		}
	})
}

// secretFrom makes a secret of random bytes.
func secretFrom(form string, random func([]byte)) Secret {
	t := token{form, base62From(random, kidLength), base62From(random, secretLength)}
	hash := t.hash()
	return Secret{Text: t.text(), Kid: t.kid, Short: t.kid[:kidShortLength], Hash: hex.EncodeToString(hash[:])}
}

// ParseSecret returns the kid and the hash of a secret of a form. It reports false for
// a text that this product cannot have issued. The secret part is Key, for DeriveSecret.
func ParseSecret(form, text string) (s PresentedSecret, ok bool) {
	t, reason := parseForm(text, form)
	if reason != "" {
		return s, false
	}
	hash := t.hash()
	return PresentedSecret{Kid: t.kid, Hash: hex.EncodeToString(hash[:]), Key: []byte(t.secret)}, true
}

// PresentedSecret is a secret that somebody showed.
type PresentedSecret struct {
	Kid, Hash string
	Key       []byte
}

// Is compares the secret with a stored hash, in a time that tells nothing about it.
func (p *PresentedSecret) Is(hash string) bool {
	return subtle.ConstantTimeCompare([]byte(p.Hash), []byte(hash)) == 1
}

// KidShortLength is the number of characters of a kid that people see.
const KidShortLength = kidShortLength

// text returns the whole secret.
func (t token) text() string {
	s := brand + t.form + "_" + t.kid + "_" + t.secret
	sum := checksum(s)
	return s + string(sum[:])
}

func (t token) hash() [sha256.Size]byte { return sha256.Sum256([]byte(t.secret)) }

// base62Table is true for the digits of base62.
var base62Table = func() (t [256]bool) {
	for i := range len(base62) {
		t[base62[i]] = true
	}
	return t
}()

func isBase62(s string) bool {
	for i := range len(s) {
		if !base62Table[s[i]] {
			return false
		}
	}
	return true
}

// checksum returns CRC-32 (IEEE) of s in base62: six digits hold 35 bits.
func checksum(s string) (digits [checksumLength]byte) {
	sum := ^uint32(0) // the library's function makes its argument escape
	for i := range len(s) {
		sum = crc32.IEEETable[byte(sum)^s[i]] ^ sum>>8
	}
	sum = ^sum
	for i := checksumLength - 1; i >= 0; i-- {
		digits[i] = base62[sum%62]
		sum /= 62
	}
	return digits
}

// base62From returns n digits of random bytes, each of the 62 equally likely.
func base62From(random func([]byte), n int) string {
	digits := make([]byte, 0, n)
	var pool [64]byte
	for len(digits) < n {
		random(pool[:])
		for _, b := range pool {
			if b < 4*62 && len(digits) < n { // 248 to 255 would favour the first digits
				digits = append(digits, base62[b%62])
			}
		}
	}
	return string(digits)
}
