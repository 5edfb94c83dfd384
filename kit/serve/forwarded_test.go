package serve

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"
)

// FuzzForwarded checks that a client cannot change its address by its Forwarded and Host headers.
// The proxy appends its own element as in RFC 7239. The result must be the address that the proxy
// saw, or no address.
func FuzzForwarded(f *testing.F) {
	for _, s := range []string{
		"", `for=203.0.113.7`, `for=203.0.113.7;host="a`, `a,for=203.0.113.7`, `a",for=203.0.113.7;x="`,
		`for="203.0.113.7\`, "for=10.0.0.1,", `;;=,"`,
	} {
		f.Add(s)
	}
	const seen = "198.51.100.1"
	address := ClientAddress([]netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")})
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	f.Fuzz(func(t *testing.T, stranger string) {
		for name, lines := range map[string][]string{
			"behind it":               {stranger + ", for=" + seen},
			"behind it, with quotes":  {stranger + `, for="` + seen + `:80";host="a"`},
			"in IPv6":                 {stranger + `, for="[::ffff:` + seen + `]"`},
			"on a line of its own":    {stranger, "for=" + seen},
			"with the Host":           {`for=` + seen + `;host="` + escape.Replace(stranger) + `"`},
			"with the Host before it": {`host="` + escape.Replace(stranger) + `";for=` + seen},
		} {
			r := &http.Request{RemoteAddr: "10.0.0.9:1234", Header: http.Header{"Forwarded": lines}}
			if got := address(r); got.IsValid() && got != netip.MustParseAddr(seen) {
				t.Errorf("%s: %q makes the client %s", name, lines, got)
			}
		}
	})
}
