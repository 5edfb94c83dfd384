package signin

import (
	"encoding/base32"
	"strings"

	"kartei/access"
)

const (
	// RecoveryCodes is the number of codes of a set.
	RecoveryCodes = 10
	// recoverySize is the size of a code: 80 bits, so a plain hash protects it.
	recoverySize = 10
)

// recoveryAlphabet is Crockford's base32: no i, l, o, u.
var recoveryAlphabet = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// NewRecoveryCodes returns a set of codes as they are shown: four groups of four.
func NewRecoveryCodes() []string {
	codes := make([]string, RecoveryCodes)
	for i := range codes {
		s := recoveryAlphabet.EncodeToString(random(recoverySize))
		codes[i] = s[:4] + "-" + s[4:8] + "-" + s[8:12] + "-" + s[12:]
	}
	return codes
}

// likeness maps what people read or type wrongly.
var likeness = strings.NewReplacer("-", "", " ", "", "o", "0", "i", "1", "l", "1")

// HashRecoveryCode returns what is stored of a code. Spaces, hyphens and case do
// not count, nor do letters that look like digits.
func HashRecoveryCode(code string) string {
	return access.HashToken(likeness.Replace(strings.ToLower(strings.TrimSpace(code))))
}
