package op

import (
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"kartei/kit/clock"

	"golang.org/x/crypto/chacha20poly1305"
)

// CursorLifetime is how long a paging cursor is accepted (contract, 'Other
// constants').
const CursorLifetime = 24 * time.Hour

// ErrCursor is returned for a cursor that this instance did not make for the
// same list, or that is too old.
var ErrCursor = errors.New("op: cursor does not match")

// Cursors seals positions in lists. A client can neither read nor change a
// sealed position. It is sealed because it may hold words of records, and bound
// to its list, so that it fits no other.
type Cursors struct{ aead cipher.AEAD }

// NewCursors returns Cursors with a key of 32 bytes.
func NewCursors(key []byte) (*Cursors, error) {
	aead, err := chacha20poly1305.NewX(key)
	if err != nil {
		return nil, err
	}
	return &Cursors{aead}, nil
}

// cursorContent is what a cursor seals. At is the time of the seal.
type cursorContent struct {
	At       clock.Micros    `json:"t"`
	Position json.RawMessage `json:"p"`
}

// Seal packs a position of the list that scope names. scope must name
// everything that the cursor is bound to: organization, principal, resource,
// filter, sort, version.
func (c *Cursors) Seal(scope string, now clock.Micros, position any) (string, error) {
	p, err := json.Marshal(position)
	if err != nil {
		return "", err
	}
	plain, err := json.Marshal(cursorContent{now, p})
	if err != nil {
		return "", err
	}
	nonce := make([]byte, c.aead.NonceSize(), c.aead.NonceSize()+len(plain)+c.aead.Overhead())
	if _, err := rand.Read(nonce); err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(c.aead.Seal(nonce, nonce, plain, []byte(scope))), nil
}

// Open unpacks a cursor into position. It fails with ErrCursor unless Seal
// returned the cursor for the same scope within CursorLifetime.
func (c *Cursors) Open(scope, cursor string, now clock.Micros, position any) error {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || len(raw) < c.aead.NonceSize() || strings.ContainsAny(cursor, "\r\n") { // the decoder skips line ends
		return ErrCursor
	}
	nonce, box := raw[:c.aead.NonceSize()], raw[c.aead.NonceSize():]
	plain, err := c.aead.Open(nil, nonce, box, []byte(scope))
	if err != nil {
		return ErrCursor
	}
	var s cursorContent
	if json.Unmarshal(plain, &s) != nil || s.At.Add(CursorLifetime) < now {
		return ErrCursor
	}
	if json.Unmarshal(s.Position, position) != nil {
		return ErrCursor
	}
	return nil
}
