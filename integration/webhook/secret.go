package webhook

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
)

// Secret is the key that signs an endpoint's deliveries.
type Secret []byte

// The sizes of a secret in bytes (Standard Webhooks 1.0.0). New secrets have
// newSecret.
const (
	minSecret, maxSecret = 24, 64
	newSecret            = 32
	secretPrefix         = "whsec_"
)

// ErrSecret is returned for a text that is not a secret.
var ErrSecret = errors.New("not a webhook secret: whsec_ and 24 to 64 bytes in Base64")

// NewSecret draws a secret from random.
func NewSecret(random io.Reader) (Secret, error) {
	s := make(Secret, newSecret)
	_, err := io.ReadFull(random, s)
	return s, err
}

// ParseSecret reads whsec_ and 24 to 64 bytes in padded Base64. The libraries
// of receivers accept shorter secrets, so this function enforces the bound.
func ParseSecret(text string) (Secret, error) {
	encoded, is := strings.CutPrefix(text, secretPrefix)
	s, err := base64.StdEncoding.Strict().DecodeString(encoded)
	if !is || err != nil || len(s) < minSecret || len(s) > maxSecret || strings.ContainsAny(encoded, "\r\n") {
		return nil, ErrSecret
	}
	return s, nil
}

// Reveal returns the text that the endpoint's owner receives once.
func (s Secret) Reveal() string { return secretPrefix + base64.StdEncoding.EncodeToString(s) }

// hidden is the result of every other way to print a secret.
const hidden = secretPrefix + "..."

// Format hides the secret from package fmt for every verb.
func (Secret) Format(f fmt.State, _ rune) { fmt.Fprint(f, hidden) }

// LogValue hides the secret from structured logs.
func (Secret) LogValue() slog.Value { return slog.StringValue(hidden) }

// MarshalText hides the secret from JSON.
func (Secret) MarshalText() ([]byte, error) { return []byte(hidden), nil }
