package dispatch

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"kartei/integration/webhook"
)

// Signature returns the value of the header webhook-signature (Standard Webhooks 1.0.0). The value
// has one v1 entry for each secret. Single spaces separate the entries. Each entry has one comma,
// because some receivers can parse no other form. id must not contain a full stop.
func Signature(id string, at time.Time, body []byte, secrets ...webhook.Secret) string {
	var b strings.Builder
	for _, s := range secrets {
		h := hmac.New(sha256.New, s)
		fmt.Fprintf(h, "%s.%d.", id, at.Unix())
		h.Write(body)
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString("v1,")
		b.WriteString(base64.StdEncoding.EncodeToString(h.Sum(nil)))
	}
	return b.String()
}

// Sign sets the three headers of a delivery. at is the time of sending.
func Sign(h http.Header, id string, at time.Time, body []byte, secrets ...webhook.Secret) {
	h.Set("webhook-id", id)
	h.Set("webhook-timestamp", strconv.FormatInt(at.Unix(), 10))
	h.Set("webhook-signature", Signature(id, at, body, secrets...))
}
