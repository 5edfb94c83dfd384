// Package id owns identifiers: a type prefix and a UUIDv7 in base32, in the TypeID form.
package id

import (
	"crypto/rand"
	"encoding/binary"
	"strings"
	"time"

	"github.com/gofrs/uuid/v5"
)

// The prefixes of identifiers, one for each type of object.
const (
	Contact         = "con_"
	Company         = "cmp_"
	Task            = "tsk_"
	Document        = "doc_"
	Upload          = "upl_"
	Operation       = "opr_"
	WebhookEndpoint = "whe_"
	Delivery        = "dlv_"
	Event           = "evt_"
	Request         = "req_"
	User            = "usr_"
	ServiceAccount  = "svc_"
	Organization    = "org_"
	Key             = "key_"
	Client          = "cli_"
	Grant           = "gra_"
	Approval        = "apr_"
	Notice          = "ntc_"
	Job             = "job_"
	AuditLine       = "aud_"
	Invitation      = "inv_"
	Handover        = "hov_"
	Import          = "imp_"
	BulkAct         = "blk_"
	Merge           = "mrg_"
	Account         = "acc_"
	Session         = "ses_"
	Passkey         = "psk_"
	Identity        = "idn_"
)

// alphabet is Crockford's base32 in lower case, which has no i, l, o and u.
const alphabet = "0123456789abcdefghjkmnpqrstvwxyz"

// suffixLength is the number of base32 digits for 128 bits. The first digit has three bits, and all
// others have five.
const suffixLength = 26

// generator makes UUIDs of version 7 (RFC 9562, section 5.7) from the clock of the system and
// secure random numbers.
var generator = uuid.NewGen()

// New returns a new identifier with the given prefix, at the current time. Identifiers of one
// process sort in the order of their creation.
func New(prefix string) string {
	u, err := generator.NewV7()
	if err != nil {
		panic("id: the system returns no random numbers: " + err.Error())
	}
	return Encode(prefix, u)
}

// At returns a new identifier with the given prefix, for which Time returns t. Up to 4,096
// identifiers of one millisecond sort in the order of their creation.
func At(prefix string, t time.Time) string {
	u, err := atTimes.NewV7AtTime(t)
	if err != nil {
		panic("id: the system returns no random numbers: " + err.Error())
	}
	return Encode(prefix, u)
}

// Least returns the smallest identifier that New and At can return for the time t. Queries use it
// as the bound of a range of identifiers.
func Least(prefix string, t time.Time) string {
	var u [16]byte
	binary.BigEndian.PutUint64(u[:8], uint64(t.UnixMilli())<<16)
	return Encode(prefix, u)
}

// atTimes is the generator of At. It is separate, because the times that callers pass may be behind
// the clock of generator.
var atTimes = uuid.NewGen()

// Exact returns a new identifier from which ExactTime reads t to the microsecond. It is a UUID of
// version 7. Its field rand_a has the microseconds within the millisecond (RFC 9562, section 6.2,
// method 3). Identifiers of Exact sort by their times.
func Exact(prefix string, t time.Time) string {
	var u [16]byte
	rand.Read(u[8:])
	micros := uint64(t.UnixMicro())
	binary.BigEndian.PutUint64(u[:8], micros/1000<<16|7<<12|micros%1000)
	u[8] = u[8]&0x3f | 0x80 // the variant of the UUID
	return Encode(prefix, u)
}

// ExactTime returns the time that Exact has stored in an identifier. s must be a valid identifier
// that Exact returned. For all others the result has no meaning.
func ExactTime(s string) time.Time {
	var hi uint64
	for _, c := range []byte(s[len(s)-suffixLength:][:13]) { // the first 63 bits
		hi = hi<<5 | uint64(strings.IndexByte(alphabet, c))
	}
	hi = hi<<1 | uint64(strings.IndexByte(alphabet, s[len(s)-suffixLength+13]))>>4
	return time.UnixMicro(int64(hi>>16*1000 + hi&0xfff))
}

// Encode returns the identifier with a prefix and 128 bits, as 26 digits in base32.
func Encode(prefix string, u [16]byte) string {
	hi, lo := binary.BigEndian.Uint64(u[:8]), binary.BigEndian.Uint64(u[8:])
	b := make([]byte, len(prefix)+suffixLength)
	copy(b, prefix)
	for i := len(b) - 1; i >= len(prefix); i-- {
		b[i] = alphabet[lo&31]
		lo = lo>>5 | hi<<59
		hi >>= 5
	}
	return string(b)
}

// Short returns the last 8 characters of an identifier. They have 40 random bits, so people can
// distinguish a few identifiers by them.
func Short(s string) string { return s[max(0, len(s)-8):] }

// Time returns the time at which New, At or Exact created an identifier, to the millisecond. s must
// be valid. For an identifier made otherwise the result has no meaning.
func Time(s string) time.Time {
	var ms int64
	for _, c := range []byte(s[len(s)-suffixLength:][:10]) { // 3 bits and 9 times 5 bits are the 48 bits of the time
		ms = ms<<5 | int64(strings.IndexByte(alphabet, c))
	}
	return time.UnixMilli(ms)
}

// Valid reports whether s has the prefix and the form of an identifier. It does not check that an
// object with this identifier exists.
func Valid(prefix, s string) bool {
	if len(s) != len(prefix)+suffixLength || !strings.HasPrefix(s, prefix) {
		return false
	}
	suffix := s[len(prefix):]
	if suffix[0] > '7' { // 26 digits of five bits are 130 bits, so the first digit has only three
		return false
	}
	for i := range len(suffix) {
		if strings.IndexByte(alphabet, suffix[i]) < 0 {
			return false
		}
	}
	return true
}
