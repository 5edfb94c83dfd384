package webhook

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
)

// Secret is the key that signs the deliveries of an endpoint.
type Secret []byte

// minSecret and maxSecret are the bounds of a secret in bytes (Standard Webhooks 1.0.0). newSecret
// is the size of a new secret in bytes.
const (
	minSecret, maxSecret = 24, 64
	newSecret            = 32
	secretPrefix         = "whsec_"
)

// ErrSecret is the error for a text that is not a secret.
var ErrSecret = errors.New("not a webhook secret: whsec_ and 24 to 64 bytes in Base64")

// NewSecret returns a secret with bytes from random. It fails if random does.
func NewSecret(random io.Reader) (Secret, error) {
	s := make(Secret, newSecret)
	_, err := io.ReadFull(random, s)
	return s, err
}

// ParseSecret decodes a secret: whsec_ and 24 to 64 bytes in padded Base64. It fails with
// ErrSecret. The libraries of receivers accept shorter secrets, so this function checks the length.
func ParseSecret(text string) (Secret, error) {
	encoded, is := strings.CutPrefix(text, secretPrefix)
	s, err := base64.StdEncoding.Strict().DecodeString(encoded)
	if !is || err != nil || len(s) < minSecret || len(s) > maxSecret || strings.ContainsAny(encoded, "\r\n") {
		return nil, ErrSecret
	}
	return s, nil
}

// Reveal returns the text of the secret, which only its owner may see.
func (s Secret) Reveal() string { return secretPrefix + base64.StdEncoding.EncodeToString(s) }

// hidden is the text that stands for any secret in output.
const hidden = secretPrefix + "..."

// Format writes hidden for every verb of package fmt.
func (Secret) Format(f fmt.State, _ rune) { fmt.Fprint(f, hidden) }

// LogValue returns hidden, so that structured logs do not have the secret.
func (Secret) LogValue() slog.Value { return slog.StringValue(hidden) }

// MarshalText returns hidden, so that JSON does not have the secret.
func (Secret) MarshalText() ([]byte, error) { return []byte(hidden), nil }
