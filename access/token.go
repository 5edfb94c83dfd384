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

// A secret is a text of fixed length:
//
//	kart_test_<kid, 16><_><secret, 28><checksum, 6>
//
// The word after kart_ is the form of the secret. The form of an API key is its environment. kid,
// secret and checksum are base62. The kid identifies the secret and is public. It has 95 bits, so
// it cannot be guessed. The secret part has 166 bits. The checksum is CRC-32 (IEEE) of all
// characters before it. So an incomplete or mistyped text is recognized without a lookup, and
// scanners for leaked secrets have few false positives.
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

// Test and Live are the environments of an API key. They are also the forms of its secret.
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

// token has the parts of a secret.
type token struct {
	form   string
	kid    string
	secret string
}

// parseToken splits an API key or an access token. It returns the reason for a refusal, or "" if
// the text has a valid form and checksum. It does not allocate.
func parseToken(s string) (token, Reason) { return parseForm(s, Test, Live, AccessTokenForm) }

// parseForm splits a secret that has one of the forms. It returns the reason for a refusal, or
// "".
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

// Secret is a new secret with the values to store.
type Secret struct {
	// Text is the whole secret. It is shown only once.
	Text string
	// Kid identifies the secret and is public. Short is the part of the kid that people see.
	Kid, Short string
	// Hash is SHA-256 of the secret part, in hexadecimal digits.
	Hash string
}

// NewSecret returns a random secret of a form. The form of an API key is its environment.
// crypto/rand does not fail (since Go 1.24), so NewSecret returns no error.
func NewSecret(form string) Secret { return secretFrom(form, func(b []byte) { rand.Read(b) }) }

// DeriveSecret returns a secret of a form that is computed from a key and a purpose. The same
// arguments give the same secret. The secret cannot be computed without the key.
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

// secretFrom returns a secret whose kid and secret part come from random.
func secretFrom(form string, random func([]byte)) Secret {
	t := token{form, base62From(random, kidLength), base62From(random, secretLength)}
	hash := t.hash()
	return Secret{Text: t.text(), Kid: t.kid, Short: t.kid[:kidShortLength], Hash: hex.EncodeToString(hash[:])}
}

// ParseSecret returns the parts of a secret of a form. ok is false for a text with another form
// or a wrong checksum.
func ParseSecret(form, text string) (s PresentedSecret, ok bool) {
	t, reason := parseForm(text, form)
	if reason != "" {
		return s, false
	}
	hash := t.hash()
	return PresentedSecret{Kid: t.kid, Hash: hex.EncodeToString(hash[:]), Key: []byte(t.secret)}, true
}

// PresentedSecret has the parts of a secret that a caller presented. Key is the secret part, as a
// key for DeriveSecret.
type PresentedSecret struct {
	Kid, Hash string
	Key       []byte
}

// Is reports whether the secret has a stored hash. It takes constant time.
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

// checksum returns CRC-32 (IEEE) of s in base62. Six digits can hold 35 bits.
func checksum(s string) (digits [checksumLength]byte) {
	sum := ^uint32(0) // crc32.ChecksumIEEE would make its argument escape
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

// base62From returns n random digits, with equal probabilities for all 62.
func base62From(random func([]byte), n int) string {
	digits := make([]byte, 0, n)
	var pool [64]byte
	for len(digits) < n {
		random(pool[:])
		for _, b := range pool {
			if b < 4*62 && len(digits) < n { // the bytes from 248 to 255 would make the first digits more likely
				digits = append(digits, base62[b%62])
			}
		}
	}
	return string(digits)
}
