package access

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"hash/crc32"
	"strings"
)

// A key is one word of fixed length:
//
//	kart_test_<kid, 16><_><secret, 28><checksum, 6>
//
// kid, secret and checksum are base62. The kid identifies the key and is not
// secret; with 95 bits it cannot be guessed. The secret has 166 bits. The
// checksum is CRC-32 (IEEE) of everything before it. A key that was cut or
// mistyped is recognized without a lookup, and scanners for leaked secrets have
// few false positives.
const (
	testPrefix     = "kart_test_"
	livePrefix     = "kart_live_"
	kidLength      = 16
	secretLength   = 28
	checksumLength = 6
	tokenLength    = len(testPrefix) + kidLength + 1 + secretLength + checksumLength

	kidShortLength = 8
)

// The environments of a key.
const (
	Test = "test"
	Live = "live"
)

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// token holds the parts of a key.
type token struct {
	environment string
	kid         string
	secret      string
}

// parseToken splits a key. The reason is empty if this product could have
// issued the key. It does not allocate.
func parseToken(s string) (token, Reason) {
	var t token
	if s == "" {
		return t, Missing
	}
	if len(s) != tokenLength {
		return t, Malformed
	}
	switch {
	case strings.HasPrefix(s, testPrefix):
		t.environment = Test
	case strings.HasPrefix(s, livePrefix):
		t.environment = Live
	default:
		return t, Malformed
	}
	rest := s[len(testPrefix):]
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

// NewSecret generates the secret of an API key of an environment.
func NewSecret(environment string) Secret {
	text, t := newToken(environment)
	hash := t.hash()
	return Secret{Text: text, Kid: t.kid, Short: t.kid[:kidShortLength], Hash: hex.EncodeToString(hash[:])}
}

// KidShortLength is the number of characters of a kid that people see.
const KidShortLength = kidShortLength

// newToken returns a random key and its parts.
func newToken(environment string) (string, token) {
	t := token{environment, randomBase62(kidLength), randomBase62(secretLength)}
	s := "kart_" + environment + "_" + t.kid + "_" + t.secret
	sum := checksum(s)
	return s + string(sum[:]), t
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

// randomBase62 returns n random digits, each of the 62 equally likely.
func randomBase62(n int) string {
	digits := make([]byte, 0, n)
	var pool [64]byte
	for len(digits) < n {
		rand.Read(pool[:]) // never fails (crypto/rand, since Go 1.24)
		for _, b := range pool {
			if b < 4*62 && len(digits) < n { // 248 to 255 would favour the first digits
				digits = append(digits, base62[b%62])
			}
		}
	}
	return string(digits)
}
