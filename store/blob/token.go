package blob

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"
)

// Errors of tokens.
var (
	// ErrToken is returned for a token that this instance has not made.
	ErrToken = errors.New("blob: not a token of this instance")
	// ErrExpired is returned for a token whose time is over.
	ErrExpired = errors.New("blob: the token has expired")
)

// granted is what a token says: HMAC-SHA256 over it, then it itself, in
// base64url. It is all that there is of a session on this side of the database:
// whoever has it may send these bytes until then.
type granted struct {
	Name        string `json:"n"`
	Size        int64  `json:"s"`
	ContentType string `json:"t"`
	SHA256      string `json:"h,omitempty"`
	Expires     int64  `json:"e"` // Unix seconds
}

// maxToken bounds what is looked at: names have at most 128 bytes, types 255.
const maxToken = 1024

// Target is a signed address of this instance.
func (l *Local) Target(_ context.Context, u Upload) (Target, error) {
	if err := checkName(u.Name); err != nil {
		return Target{}, err
	}
	text, err := json.Marshal(granted{u.Name, u.Size, u.ContentType, u.SHA256, u.Expires.Unix()})
	if err != nil {
		return Target{}, err
	}
	token := base64.RawURLEncoding.EncodeToString(append(sign(l.tokens[0], text), text...))
	if len(token) > maxToken {
		return Target{}, errors.New("blob: the token is too long")
	}
	headers := map[string]string{"Content-Type": u.ContentType}
	return Target{http.MethodPut, l.baseURL + "/uploads/" + token, headers}, nil
}

// Verify returns what a token grants at the time now: ErrToken where it was
// changed or made up, ErrExpired where its time is over.
func (l *Local) Verify(token string, now time.Time) (Upload, error) {
	if len(token) > maxToken || strings.ContainsAny(token, "\r\n") { // base64 would pass over line ends
		return Upload{}, ErrToken
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(b) < sha256.Size {
		return Upload{}, ErrToken
	}
	mac, text := b[:sha256.Size], b[sha256.Size:]
	known := false
	for _, key := range l.tokens {
		known = hmac.Equal(mac, sign(key, text)) || known
	}
	var g granted
	if !known || json.Unmarshal(text, &g) != nil {
		return Upload{}, ErrToken
	}
	u := Upload{g.Name, g.Size, g.ContentType, g.SHA256, time.Unix(g.Expires, 0).UTC()}
	if !now.Before(u.Expires) {
		return Upload{}, ErrExpired
	}
	return u, nil
}

func sign(key, text []byte) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write(text)
	return mac.Sum(nil)
}
