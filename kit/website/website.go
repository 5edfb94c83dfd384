// Package website owns the web addresses that people type.
package website

import (
	"fmt"
	"net/url"
	"strings"

	"golang.org/x/net/idna"
)

// Complete returns a typed web address in the form of RFC 3986: with a scheme, the host in ASCII
// letters (RFC 5891), and percent-encoding for what a URI cannot contain. It reports whether the
// text is a web address without credentials. Without a scheme, the host must contain a dot.
func Complete(text string) (address string, is bool) {
	text = strings.TrimSpace(text)
	bare := !strings.Contains(text, "://")
	if bare {
		text = "https://" + text
	}
	u, err := url.Parse(text)
	if err != nil || u.User != nil || u.Scheme != "http" && u.Scheme != "https" || strings.ContainsAny(text, " \t\n") {
		return "", false
	}
	host, err := idna.Lookup.ToASCII(u.Hostname())
	if err != nil || host == "" || bare && !strings.Contains(host, ".") {
		return "", false
	}
	address = u.Scheme + "://" + host
	if port := u.Port(); port != "" {
		address += ":" + port
	}
	address += u.EscapedPath()
	if u.RawQuery != "" {
		address += "?" + u.RawQuery
	}
	if u.Fragment != "" {
		address += "#" + u.EscapedFragment()
	}
	return encoded(address), true
}

// encoded encodes the bytes that a URI cannot contain.
func encoded(address string) string {
	var b strings.Builder
	for i := range len(address) {
		if c := address[i]; c <= ' ' || c >= 0x7f || strings.IndexByte("\"<>\\^`{|}", c) >= 0 {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}
