package serve

import (
	"strings"

	"golang.org/x/net/http/httpguts"
)

// forwardedFor returns the parameter for of each element of Forwarded headers (RFC 7239). It is
// empty for an element without this parameter.
//
// If a header is malformed, the result is one empty string, which is no address. The reason is that
// a client can open a quoted string that ends within the element of the proxy. It is then unknown
// which part is from the proxy.
func forwardedFor(lines []string) []string {
	var hops []string
	for _, line := range lines {
		p := forwardedParser{rest: line}
		for first := true; first || p.take(','); first = false {
			hop, there, ok := p.element()
			if !ok {
				return []string{""}
			}
			if there {
				hops = append(hops, hop)
			}
		}
		if p.rest != "" {
			return []string{""}
		}
	}
	return hops
}

// forwardedParser parses a Forwarded header from left to right. rest is the part that is left.
type forwardedParser struct{ rest string }

// element parses the pairs up to a comma or the end, and returns the parameter for. there is false
// for an empty element, which a list may have (RFC 9110, section 5.6.1.2). ok is false if the
// element is malformed.
func (p *forwardedParser) element() (hop string, there, ok bool) {
	seen := map[string]bool{}
	for first := true; first || p.take(';'); first = false {
		p.space()
		if p.rest == "" || p.rest[0] == ',' || p.rest[0] == ';' {
			continue
		}
		name, value, ok := p.pair()
		if name = strings.ToLower(name); !ok || seen[name] {
			return "", false, false
		}
		seen[name] = true
		if name == "for" {
			hop = value
			if strings.Contains(hop, ":") && strings.Count(hop, ":") > 1 && hop[0] != '[' {
				return "", false, false // IPv6 must be in brackets (section 6)
			}
		}
		p.space()
	}
	return hop, len(seen) > 0, true
}

// pair parses token "=" ( token / quoted-string ). ok is false if it is malformed.
func (p *forwardedParser) pair() (name, value string, ok bool) {
	name = p.token()
	if name == "" || !p.take('=') {
		return "", "", false
	}
	if p.take('"') {
		value, ok = p.quoted()
		return name, value, ok
	}
	value = p.token()
	return name, value, value != ""
}

// token parses a token (RFC 9110, section 5.6.2). It returns "" if there is none.
func (p *forwardedParser) token() string {
	end := strings.IndexFunc(p.rest, func(r rune) bool { return !httpguts.IsTokenRune(r) })
	if end < 0 {
		end = len(p.rest)
	}
	token := p.rest[:end]
	p.rest = p.rest[end:]
	return token
}

// quoted parses the rest of a quoted string after its first quote (RFC 9110, section 5.6.4). It
// returns false if the string is malformed.
func (p *forwardedParser) quoted() (string, bool) {
	var text strings.Builder
	for i := 0; i < len(p.rest); i++ {
		c := p.rest[i]
		switch {
		case c == '"':
			p.rest = p.rest[i+1:]
			return text.String(), true
		case c == '\\':
			if i++; i == len(p.rest) {
				return "", false
			}
			c = p.rest[i]
		}
		if c < ' ' && c != '\t' || c == 0x7f {
			return "", false
		}
		text.WriteByte(c)
	}
	return "", false
}

// take skips the byte c if it is next. It reports whether it was.
func (p *forwardedParser) take(c byte) bool {
	if p.rest == "" || p.rest[0] != c {
		return false
	}
	p.rest = p.rest[1:]
	return true
}

// space skips optional white space.
func (p *forwardedParser) space() { p.rest = strings.TrimLeft(p.rest, " \t") }
