package signin

import (
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // RFC 6238: the apps of people know no other hash
	"crypto/subtle"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"net/url"
	"strings"
	"time"

	"kartei/kit/clock"
)

const (
	totpStep   = 30 * time.Second
	totpDigits = 1_000_000
	// totpSecret is the size of a secret in bytes. It equals the size of the hash (RFC 4226,
	// section 4).
	totpSecret = 20
)

// NewTOTP returns a new random TOTP secret.
func NewTOTP() []byte { return random(totpSecret) }

// totp returns the code of a time step (RFC 6238, RFC 4226).
func totp(secret []byte, step int64) string {
	mac := hmac.New(sha1.New, secret)
	mac.Write(binary.BigEndian.AppendUint64(nil, uint64(step))) //nolint:gosec // a step is positive
	sum := mac.Sum(nil)
	at := sum[len(sum)-1] & 15
	return fmt.Sprintf("%06d", binary.BigEndian.Uint32(sum[at:])&0x7fffffff%totpDigits)
}

// TOTP returns the code at a time.
func TOTP(secret []byte, at time.Time) string {
	return totp(secret, at.Unix()/int64(totpStep/time.Second))
}

// CheckTOTP checks a code against the current time step, the previous one and the next one, and
// returns the matching step. It refuses codes of the last used step and of earlier steps. So an
// observed code cannot be used again.
func CheckTOTP(secret []byte, code string, now clock.Micros, last int64) (step int64, ok bool) {
	code = strings.Join(strings.Fields(code), "")
	at := now.Time().Unix() / int64(totpStep/time.Second)
	for s := at - 1; s <= at+1; s++ {
		if subtle.ConstantTimeCompare([]byte(totp(secret, s)), []byte(code)) == 1 && s > last && !ok {
			step, ok = s, true
		}
	}
	return step, ok
}

// Base32 returns a secret in the form that people type into an app.
func Base32(secret []byte) string {
	return base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(secret)
}

// TOTPAddress returns the otpauth URL that an app reads from a QR code.
func TOTPAddress(secret []byte, issuer, account string) string {
	q := url.Values{"secret": {Base32(secret)}, "issuer": {issuer}}
	return "otpauth://totp/" + url.PathEscape(issuer+":"+account) + "?" + strings.ReplaceAll(q.Encode(), "+", "%20")
}
