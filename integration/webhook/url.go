package webhook

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"kartei/kit/egress"
	"kartei/kit/fault"
	"kartei/kit/i18n"
)

// maxURL is the maximum length of an endpoint's URL in characters.
const maxURL = 2048

// CheckURL returns the form of an endpoint's URL that is stored, shown and requested. This form is
// ASCII. A host name with other letters becomes A-labels (RFC 5890), so that look-alike names
// differ. The path and the query are percent-encoded (RFC 3986). An invalid URL fails with 422
// WEBHOOK_URL_INVALID.
//
// CheckURL refuses a host name that cannot be public. All other names are checked when a connection
// is made. An IP address must be permitted by guard. A nil guard permits public addresses.
func CheckURL(raw string, guard *egress.Guard) (string, error) {
	if utf8.RuneCountInString(raw) > maxURL {
		return "", badURL("at most 2,048 characters")
	}
	u, err := url.Parse(raw)
	switch {
	case err != nil, !utf8.ValidString(raw), strings.ContainsFunc(raw, unsafe), u.Opaque != "":
		return "", badURL("a complete https URL")
	case u.Scheme != "https", !strings.HasPrefix(strings.ToLower(raw), "https://"):
		return "", badURL("an https URL on port 443")
	case u.User != nil:
		return "", badURL("a URL without user name and password")
	case strings.Contains(raw, "#"):
		return "", badURL("a URL without fragment (#)")
	case u.Port() != "" && u.Port() != "443", strings.HasSuffix(u.Host, ":"):
		return "", badURL("an https URL on port 443")
	}
	host, ok := checkHost(u.Hostname(), strings.HasPrefix(u.Host, "["), guard)
	if !ok {
		return "", badURL("a public host name or a public IP address")
	}
	begin := len("https://")
	end := begin + strings.IndexAny(raw[begin:]+"/", "/?")
	authority := raw[begin:end]
	if host != u.Hostname() {
		if authority = host; u.Port() != "" {
			authority += ":" + u.Port()
		}
	}
	if stored := raw[:begin] + authority + encode(raw[end:]); utf8.RuneCountInString(stored) <= maxURL {
		return stored, nil
	}
	return "", badURL("at most 2,048 characters")
}

// encode percent-encodes all bytes outside ASCII, as browsers do.
func encode(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if s[i] < utf8.RuneSelf {
			b.WriteByte(s[i])
		} else {
			fmt.Fprintf(&b, "%%%02X", s[i])
		}
	}
	return b.String()
}

// unsafe reports whether a URL must not contain r (RFC 3986), because clients interpret r in
// different ways. Letters outside ASCII are permitted.
func unsafe(r rune) bool { return r <= ' ' || r == 0x7f || strings.ContainsRune("\\\"<>^`{|}", r) }

// checkHost returns the form of the host that is stored, and whether the host is permitted.
func checkHost(host string, bracketed bool, guard *egress.Guard) (string, bool) {
	if bracketed {
		addr, err := netip.ParseAddr(host)
		return host, err == nil && addr.Is6() && addr.Zone() == "" && guard.Permit(addr) == nil
	}
	ascii := host
	if strings.ContainsFunc(host, func(r rune) bool { return r >= utf8.RuneSelf }) {
		var err error
		if ascii, err = idna.Lookup.ToASCII(host); err != nil {
			return "", false
		}
	}
	if numeric(ascii) {
		addr, err := netip.ParseAddr(ascii)
		return ascii, err == nil && addr.Is4() && guard.Permit(addr) == nil
	}
	return ascii, hostName(ascii) && (guard.Maps(ascii) || !internal(ascii))
}

// internal reports whether a name cannot be resolved by the public DNS. Such a name has only one
// label, or its last label is special. Special labels are localhost (RFC 6761), local (RFC 6762)
// and internal, which ICANN has reserved.
func internal(host string) bool {
	host = strings.ToLower(host)
	last := strings.LastIndexByte(host, '.')
	return last < 0 || slices.Contains([]string{"localhost", "local", "internal"}, host[last+1:])
}

// numeric reports whether a resolver may parse a host as an IPv4 address in some notation. This is
// so if the last label is a number (WHATWG URL, 'ends in a number'). Endpoints may only have four
// decimal numbers as an address.
func numeric(host string) bool {
	host = strings.TrimSuffix(host, ".")
	last := strings.ToLower(host[strings.LastIndexByte(host, '.')+1:])
	digits, hex := strings.CutPrefix(last, "0x")
	if hex {
		return strings.Trim(digits, "0123456789abcdef") == ""
	}
	return last != "" && strings.Trim(last, "0123456789") == ""
}

// hostName reports whether host is a host name (RFC 1123) whose A-labels can be decoded. Each label
// has 1 to 63 letters, digits and hyphens. The name has at most 253 characters.
func hostName(host string) bool {
	if len(host) > 253 {
		return false
	}
	for label := range strings.SplitSeq(host, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' ||
			strings.Trim(strings.ToLower(label), "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
			return false
		}
	}
	_, err := idna.Punycode.ToUnicode(host)
	return err == nil
}

func badURL(wanted i18n.Text) error {
	f := fault.New(fault.WebhookURLInvalid)
	f.Fields = []fault.Field{{Name: "url", Code: fault.InvalidFormat, Limit: wanted}}
	return f
}
