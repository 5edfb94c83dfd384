package api

import (
	"strings"

	"kartei/masterkey"
)

// answers encrypts stored answers that hold a secret (open points,
// 'Preconditions and idempotency').
type answers struct{ masterkey.Vault }

// sealedMark begins an answer that is kept encrypted; JSON never does.
const sealedMark = "sealed:"

// seal encrypts an answer; where names the row that it is kept in.
func (v answers) seal(body []byte, where string) string { return sealedMark + v.Seal(body, where) }

// open returns an answer as it was, whether it is encrypted or not.
func (v answers) open(stored []byte, where string) (body []byte, err error) {
	sealed, is := strings.CutPrefix(string(stored), sealedMark)
	if !is {
		return stored, nil
	}
	body, _, err = v.Open(sealed, where)
	return body, err
}
