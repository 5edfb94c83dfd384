package telemetry

import (
	"fmt"
	"io"
	"log/slog"
	"regexp"
	"strings"
)

// NewLogger returns a structured logger that writes to w. format is json or text. It returns an
// error for any other format.
//
// A log may contain opaque ids, the field kidShort, statuses, problem codes, numbers, durations and
// versions. It may also contain addresses of listeners, names of files that the operator
// configured, and errors. It must not contain names of people, email addresses, paths and queries
// of requests, bodies, secrets or addresses of clients. Only the request log has the addresses of
// clients.
//
// Authors of log calls must follow these rules, and the logger is the second line of defence. It
// removes the values of attributes with a forbidden name. It also removes every part of a text that
// has the form of a secret or an email address.
func NewLogger(w io.Writer, format string, level slog.Leveler) (*slog.Logger, error) {
	options := &slog.HandlerOptions{Level: level, ReplaceAttr: redact}
	switch format {
	case "json":
		return slog.New(slog.NewJSONHandler(w, options)), nil
	case "text":
		return slog.New(slog.NewTextHandler(w, options)), nil
	}
	return nil, fmt.Errorf("telemetry: the log format is json or text, not %q", format)
}

// removed replaces the values that must not be logged.
const removed = "[removed]"

// forbidden has the names of attributes whose values are removed, in lower case and without '_' and
// '-'.
var forbidden = map[string]bool{
	"name": true, "firstname": true, "lastname": true, "displayname": true, "principalname": true,
	"email": true, "phone": true, "mobile": true, "birthday": true, "note": true, "salutation": true, "title": true,
	"jobtitle": true, "namesuffix": true, "department": true, "reference": true,
	"street": true, "postalcode": true, "city": true, "description": true, "website": true, "legalform": true,
	"vatid": true, "registernumber": true, "tags": true, "sha256": true, "attributes": true,
	"additionalemails": true, "additionalphones": true, "additionaladdresses": true, "label": true,
	"ip": true, "remoteaddr": true, "remoteaddress": true, "clientaddress": true, "clientip": true,
	"xforwardedfor": true, "forwarded": true,
	"path": true, "url": true, "uri": true, "query": true, "rawquery": true, "body": true, "header": true,
	"headers": true, "q": true,
	"secret": true, "password": true, "token": true, "apikey": true, "authorization": true, "cookie": true,
	"setcookie": true,
	"cursor":    true, "idempotencykey": true, "masterkey": true, "dsn": true, "databaseurl": true,
}

// suspicious matches Kartei's own keys and secrets, other credentials in HTTP headers, the
// credentials in a URL, and email addresses.
var suspicious = regexp.MustCompile(`(?i)\bkart_(?:test|live)_[0-9a-z_]+|\bwhsec_[0-9a-z+/=]+|\bbearer\s+\S+|\bbasic\s+[0-9a-z+/=]{8,}|://[^\s/@]+@|[^\s"'<>(),;:=]+@[^\s"'<>(),;:=]+`)

// hints has substrings for a quick check. A text that contains none of them cannot match
// suspicious.
var hints = []string{"@", "kart_", "whsec_", "bearer", "basic"}

func redact(_ []string, a slog.Attr) slog.Attr {
	if forbidden[strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(a.Key))] {
		return slog.String(a.Key, removed)
	}
	switch a.Value.Kind() {
	case slog.KindString:
		if s := a.Value.String(); suspect(s) {
			return slog.String(a.Key, Clean(s))
		}
	case slog.KindDuration: // JSON would have a number of nanoseconds
		return slog.String(a.Key, a.Value.Duration().String())
	case slog.KindAny:
		switch v := a.Value.Any().(type) {
		case *slog.Source:
		case error:
			return slog.String(a.Key, Clean(v.Error()))
		case fmt.Stringer:
			return slog.String(a.Key, Clean(v.String()))
		default:
			return slog.String(a.Key, Clean(fmt.Sprint(v)))
		}
	}
	return a
}

func suspect(s string) bool {
	lower := strings.ToLower(s)
	for _, h := range hints {
		if strings.Contains(lower, h) {
			return true
		}
	}
	return false
}

// Clean returns the text without the parts that have the form of a secret or an email address.
func Clean(s string) string {
	if !suspect(s) {
		return s
	}
	return suspicious.ReplaceAllStringFunc(s, func(m string) string {
		if strings.HasPrefix(m, "://") {
			return "://" + removed + "@"
		}
		return removed
	})
}
