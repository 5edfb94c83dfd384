package fault

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"kartei/kit/i18n"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Problem has the members of a problem document that do not come from the fault.
type Problem struct {
	// TypeBase is the URL below which the pages /problems/{CODE} are, without a slash at the end.
	TypeBase string
	// Instance is the path of the request without its query. It may be escaped or not.
	Instance  string
	RequestID string
	Language  i18n.Language
}

// minWait is the wait in a response with the status 429 if the fault has no RetryAfter. So each
// such response has a wait in its header and its body.
const minWait = time.Second

// Wait returns the time that the client should wait: RetryAfter, or minWait for a status 429
// without it. If it is zero, the response has no Retry-After.
func (f *Fault) Wait() time.Duration {
	if f.RetryAfter <= 0 && f.Code.Status() == http.StatusTooManyRequests {
		return minWait
	}
	return max(f.RetryAfter, 0)
}

// TypeURI returns the type of problems with code c: the URL of the code's page. base is as in
// Problem.TypeBase.
func (c Code) TypeURI(base string) string { return base + "/problems/" + string(c) }

// AppendProblem appends the problem document (RFC 9457) of f to b. The members are in the order of
// the contract, and members of f.Extra follow, sorted by name. An extra member is left out if the
// contract has a member with its name, or if it cannot be encoded as JSON.
func (f *Fault) AppendProblem(b []byte, p Problem) []byte {
	e := f.Code.entry()
	b = append(b, `{"type":`...)
	b = appendString(b, e.Code.TypeURI(p.TypeBase))
	b = append(b, `,"title":`...)
	b = appendString(b, e.Title.In(p.Language))
	b = append(b, `,"status":`...)
	b = strconv.AppendInt(b, int64(e.Status), 10)
	if detail := f.DetailIn(p.Language); detail != "" {
		b = append(b, `,"detail":`...)
		b = appendString(b, detail)
	}
	b = append(b, `,"instance":"`...)
	b = appendPath(b, p.Instance)
	b = append(b, `","code":`...)
	b = appendString(b, string(e.Code))
	b = append(b, `,"requestId":`...)
	b = appendString(b, p.RequestID)
	if len(f.Fields) > 0 {
		b = appendFields(b, f.Fields, p.Language)
	}
	if wait := f.Wait(); wait > 0 {
		b = append(b, `,"retryAfterMs":`...)
		b = strconv.AppendInt(b, int64((wait+time.Millisecond-1)/time.Millisecond), 10)
	}
	return append(appendExtra(b, f.Extra), '}')
}

func appendFields(b []byte, fields []Field, l i18n.Language) []byte {
	b = append(b, `,"errors":[`...)
	for i, field := range fields {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"field":`...)
		b = appendString(b, field.Name)
		b = append(b, `,"code":`...)
		b = appendString(b, string(field.Code))
		b = append(b, `,"message":`...)
		b = appendString(b, field.Message(l))
		b = append(b, '}')
	}
	return append(b, ']')
}

func appendExtra(b []byte, extra map[string]any) []byte {
	if len(extra) == 0 {
		return b
	}
	for _, name := range slices.Sorted(maps.Keys(extra)) {
		if reserved(name) {
			continue
		}
		value, err := json.Marshal(extra[name], json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
		if err != nil {
			continue
		}
		b = append(b, ',')
		b = appendString(b, name)
		b = append(b, ':')
		b = append(b, value...)
	}
	return b
}

// reserved reports whether the contract has a member with this name.
func reserved(name string) bool {
	switch name {
	case "type", "title", "status", "detail", "instance", "code", "requestId", "errors", "retryAfterMs":
		return true
	}
	return false
}

// appendString appends s as a JSON string. Invalid UTF-8 becomes U+FFFD.
func appendString(b []byte, s string) []byte {
	quoted, err := jsontext.AppendQuote(b, s)
	if err != nil {
		quoted, _ = jsontext.AppendQuote(b, strings.ToValidUTF8(s, "\uFFFD"))
	}
	return quoted
}

// appendPath appends path as a URI reference (RFC 3986 section 3.3). It percent-encodes bytes that
// are not allowed in a path, and keeps percent-encoded bytes. The result needs no escapes in JSON.
func appendPath(b []byte, path string) []byte {
	for i := 0; i < len(path); i++ {
		c := path[i]
		switch {
		case pathByte(c), c == '%' && i+2 < len(path) && hexDigit(path[i+1]) && hexDigit(path[i+2]):
			b = append(b, c)
		default:
			b = append(b, '%', "0123456789ABCDEF"[c>>4], "0123456789ABCDEF"[c&15])
		}
	}
	return b
}

func pathByte(c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return true
	}
	return strings.IndexByte("-._~!$&'()*+,;=:@/", c) >= 0
}

func hexDigit(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}
