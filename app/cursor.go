package app

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

// CursorLifetime is how long a paging cursor is taken (contract, 'Other constants').
const CursorLifetime = 24 * time.Hour

// ErrCursor is returned for a cursor that was not made by this instance for
// this very list, or is too old.
var ErrCursor = errors.New("app: cursor does not match")

// Cursors seals where a list stands into an opaque text that a client can
// neither read nor change. It is sealed because a position can hold words of
// records; it is bound to the list, so a cursor fits only where it came from.
type Cursors struct{ aead cipher.AEAD }

// NewCursors makes cursors under a key of 32 bytes.
func NewCursors(key []byte) (*Cursors, error) {
	aead, err := chacha20poly1305.NewX(key)
	if err != nil {
		return nil, err
	}
	return &Cursors{aead}, nil
}

type sealed struct {
	At       clock.Micros    `json:"t"`
	Position json.RawMessage `json:"p"`
}

// Seal packs a position for the list named by scope. Everything that the
// cursor is bound to (organization, principal, resource, filter, sort,
// version) belongs into scope.
func (c *Cursors) Seal(scope string, now clock.Micros, position any) (string, error) {
	p, err := json.Marshal(position)
	if err != nil {
		return "", err
	}
	plain, err := json.Marshal(sealed{now, p})
	if err != nil {
		return "", err
	}
	nonce := make([]byte, c.aead.NonceSize(), c.aead.NonceSize()+len(plain)+c.aead.Overhead())
	if _, err := rand.Read(nonce); err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(c.aead.Seal(nonce, nonce, plain, []byte(scope))), nil
}

// Open unpacks a cursor into position. Anything that Seal did not return for
// the same scope within CursorLifetime is ErrCursor.
func (c *Cursors) Open(scope, cursor string, now clock.Micros, position any) error {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || len(raw) < c.aead.NonceSize() || strings.ContainsAny(cursor, "\r\n") { // the decoder passes over line ends
		return ErrCursor
	}
	nonce, box := raw[:c.aead.NonceSize()], raw[c.aead.NonceSize():]
	plain, err := c.aead.Open(nil, nonce, box, []byte(scope))
	if err != nil {
		return ErrCursor
	}
	var s sealed
	if json.Unmarshal(plain, &s) != nil || s.At.Add(CursorLifetime) < now {
		return ErrCursor
	}
	if json.Unmarshal(s.Position, position) != nil {
		return ErrCursor
	}
	return nil
}
