package signin

import (
	"encoding/base32"
	"strings"

	"kartei/access"
)

const (
	// RecoveryCodes is the number of recovery codes in a set.
	RecoveryCodes = 10
	// recoverySize is the size of a code in bytes. 80 bits are enough for a hash without a salt.
	recoverySize = 10
)

// recoveryAlphabet is the base32 of Crockford, without i, l, o and u.
var recoveryAlphabet = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// NewRecoveryCodes returns a set of codes. Each code is four groups of four characters with
// hyphens.
func NewRecoveryCodes() []string {
	codes := make([]string, RecoveryCodes)
	for i := range codes {
		s := recoveryAlphabet.EncodeToString(random(recoverySize))
		codes[i] = s[:4] + "-" + s[4:8] + "-" + s[8:12] + "-" + s[12:]
	}
	return codes
}

// likeness replaces characters that people misread or mistype.
var likeness = strings.NewReplacer("-", "", " ", "", "o", "0", "i", "1", "l", "1")

// HashRecoveryCode returns the hash of a code, as the database stores it. It ignores spaces,
// hyphens and case, and accepts letters that look like digits.
func HashRecoveryCode(code string) string {
	return access.HashToken(likeness.Replace(strings.ToLower(strings.TrimSpace(code))))
}
