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

// CursorLifetime is the time for which a paging cursor is accepted (contract, 'Other constants').
const CursorLifetime = 24 * time.Hour

// ErrCursor is the error for a cursor that is too old, or that was not made by this instance for
// the same list.
var ErrCursor = errors.New("op: cursor does not match")

// Cursors encrypts positions in lists as paging cursors. A client can neither read nor change a
// cursor. It is encrypted because a position may contain words of records. A cursor is valid only
// for its own list.
type Cursors struct{ aead cipher.AEAD }

// NewCursors returns Cursors with a key of 32 bytes. It fails if the key has another length.
func NewCursors(key []byte) (*Cursors, error) {
	aead, err := chacha20poly1305.NewX(key)
	if err != nil {
		return nil, err
	}
	return &Cursors{aead}, nil
}

// cursorContent is the plain text of a cursor. At is the time at which the cursor was made.
type cursorContent struct {
	At       clock.Micros    `json:"t"`
	Position json.RawMessage `json:"p"`
}

// Seal returns a cursor for a position in the list with this scope. scope must name everything to
// which the cursor is bound: organization, principal, resource, filter, sort and version.
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

// Open decodes the position of a cursor into position. It fails with ErrCursor unless Seal returned
// this cursor for the same scope within CursorLifetime.
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
