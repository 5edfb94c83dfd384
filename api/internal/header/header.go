// Package header owns the headers with a grammar: accepted types, entity tags, keys, names of files.
package header

import (
	"net/url"
	"strconv"
	"strings"

	"kartei/api/op"

	"github.com/dunglas/httpsfv"
)

// AcceptsJSON reports whether an Accept header allows JSON (RFC 9110, section
// 12.5.1).
func AcceptsJSON(values []string) bool {
	if len(values) == 0 {
		return true
	}
	for _, value := range values {
		for part := range strings.SplitSeq(value, ",") {
			media, parameters, _ := strings.Cut(part, ";")
			switch strings.ToLower(strings.TrimSpace(media)) {
			case "*/*", "application/*", "application/json", "application/problem+json", "":
				if !refused(parameters) {
					return true
				}
			}
		}
	}
	return false
}

// refused reports whether the parameters of a media type have the weight zero.
func refused(parameters string) bool {
	for p := range strings.SplitSeq(parameters, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(p), "=")
		if strings.EqualFold(strings.TrimSpace(name), "q") {
			weight, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			return err != nil || weight == 0
		}
	}
	return false
}

// Precondition parses the values of If-Match: * or a list of entity tags (RFC 9110, section
// 13.1.1). Several headers form one list. It returns false if the syntax is wrong.
func Precondition(values []string) (op.Precondition, bool) {
	if len(values) == 0 {
		return op.Precondition{}, true
	}
	if IsAny(values) {
		return op.Precondition{Sent: true, Any: true}, true
	}
	tags, ok := EntityTags(values)
	p := op.Precondition{Sent: true}
	for _, t := range tags {
		if !strings.HasPrefix(t, "W/") {
			p.Tags = append(p.Tags, t)
		}
	}
	return p, ok
}

// IsAny reports whether a header is *, and not a list of entity tags. The
// quoted "*" is an ordinary entity tag.
func IsAny(values []string) bool {
	return len(values) == 1 && strings.Trim(values[0], " \t") == "*"
}

// EntityTags parses a list of one or more entity tags, and returns false if the syntax is wrong.
// The tags have no quotes, and a weak tag begins with W/. Empty entries are skipped (RFC 9110,
// section 5.6.1.2).
func EntityTags(values []string) (tags []string, ok bool) {
	for _, rest := range values {
		for rest = strings.TrimLeft(rest, " \t,"); rest != ""; rest = strings.TrimLeft(rest, " \t,") {
			tag, after, ok := entityTag(rest)
			if !ok {
				return nil, false
			}
			tags = append(tags, tag)
			if rest = strings.TrimLeft(after, " \t"); rest != "" && rest[0] != ',' {
				return nil, false
			}
		}
	}
	return tags, len(tags) > 0
}

// entityTag parses the first tag of s, and returns the text after it as rest. A tag has visible
// characters in double quotes, with W/ before a weak tag.
func entityTag(s string) (tag, rest string, ok bool) {
	weak := ""
	if after, found := strings.CutPrefix(s, "W/"); found {
		weak, s = "W/", after
	}
	if !strings.HasPrefix(s, `"`) {
		return "", "", false
	}
	end := strings.IndexByte(s[1:], '"')
	if end < 0 {
		return "", "", false
	}
	opaque := s[1 : 1+end]
	for i := range len(opaque) {
		if opaque[i] < 0x21 || opaque[i] == 0x7f {
			return "", "", false
		}
	}
	return weak + opaque, s[end+2:], true
}

// IdempotencyKey parses the values of Idempotency-Key: 1 to 255 printable ASCII characters, bare or
// as a structured field string (RFC 9651). Both forms mean the same key. Without a header the key
// is empty. It returns false if the syntax is wrong.
func IdempotencyKey(values []string) (key string, ok bool) {
	if len(values) == 0 {
		return "", true
	}
	if len(values) > 1 {
		return "", false
	}
	key = values[0]
	if strings.HasPrefix(key, `"`) {
		item, err := httpsfv.UnmarshalItem(values)
		if err != nil {
			return "", false
		}
		if key, ok = item.Value.(string); !ok {
			return "", false
		}
	}
	if len(key) < 1 || len(key) > 255 {
		return "", false
	}
	for i := range len(key) {
		if key[i] < 0x20 || key[i] > 0x7e {
			return "", false
		}
	}
	return key, true
}

// Disposition returns the value of Content-Disposition for a download with this file name. It has
// the name in ASCII for very old clients, and in full (RFC 6266, section 4.3, and RFC 8187).
func Disposition(name string) string {
	plain := strings.Map(func(c rune) rune {
		if c < ' ' || c > '~' || c == '"' || c == '\\' || c == '%' {
			return '_'
		}
		return c
	}, name)
	if device(name) { // Windows would open the device and not a file
		plain, name = "_"+plain, "_"+name
	}
	return `attachment; filename="` + plain + `"; filename*=UTF-8''` + extended(name)
}

// extended percent-encodes all characters outside RFC 8187's attr-char,
// including those that url.PathEscape leaves.
func extended(name string) string {
	return strings.NewReplacer("'", "%27", "(", "%28", ")", "%29", "*", "%2A", ":", "%3A", "@", "%40", "=", "%3D", ",",
		"%2C", ";", "%3B").Replace(url.PathEscape(name))
}

// device reports whether a file name is the name of a Windows device, with any suffix.
func device(name string) bool {
	base, _, _ := strings.Cut(strings.ToUpper(name), ".")
	switch base = strings.TrimRight(base, " "); base {
	case "CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$":
		return true
	}
	number, port := strings.CutPrefix(base, "COM")
	if !port {
		number, port = strings.CutPrefix(base, "LPT")
	}
	return port && number != "" && strings.Contains("0 1 2 3 4 5 6 7 8 9 ¹ ² ³", number) && !strings.Contains(number, " ")
}
