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

// The errors of Verify.
var (
	// ErrToken means that this instance did not issue the token.
	ErrToken = errors.New("blob: not a token of this instance")
	// ErrExpired means that the token has expired.
	ErrExpired = errors.New("blob: the token has expired")
)

// tokenClaims is the content of an upload token. A token is the HMAC-SHA256 of the content,
// followed by the content, in base64url. A client with a token may send the described file until
// the token expires, without a look-up in the database.
type tokenClaims struct {
	Name        string `json:"n"`
	Size        int64  `json:"s"`
	ContentType string `json:"t"`
	SHA256      string `json:"h,omitempty"`
	Expires     int64  `json:"e"` // Unix seconds
}

// maxToken is the maximum length of a token in bytes. It is enough for a name of 128 bytes and a
// content type of 255.
const maxToken = 1024

// Target implements Store. It returns a request to this instance, whose URL contains a signed
// token.
func (l *Local) Target(_ context.Context, u Upload) (Target, error) {
	if err := checkName(u.Name); err != nil {
		return Target{}, err
	}
	text, err := json.Marshal(tokenClaims{u.Name, u.Size, u.ContentType, u.SHA256, u.Expires.Unix()})
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

// Verify returns the upload that a token permits at the time now. It returns ErrToken for a forged
// or changed token, and ErrExpired for an expired token.
func (l *Local) Verify(token string, now time.Time) (Upload, error) {
	if len(token) > maxToken || strings.ContainsAny(token, "\r\n") { // the decoder would skip line breaks
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
	var g tokenClaims
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
