package serve

import (
	"strings"

	"golang.org/x/net/http/httpguts"
)

// forwardedFor returns the for parameter of each element of Forwarded (RFC
// 7239), empty if an element has none. If anything is malformed, it returns one
// hop that is no address. A client can open a quoted string that ends within
// the proxy's part, and then nothing separates the two parts.
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

// forwardedParser reads a line of Forwarded from left to right.
type forwardedParser struct{ rest string }

// element parses the pairs up to a comma or the end. there is false for an
// empty element, which a list may have (RFC 9110, section 5.6.1.2).
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
				return "", false, false // IPv6 stands in brackets (section 6)
			}
		}
		p.space()
	}
	return hop, len(seen) > 0, true
}

// pair parses token "=" ( token / quoted-string ).
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

// token parses a token (RFC 9110, section 5.6.2).
func (p *forwardedParser) token() string {
	end := strings.IndexFunc(p.rest, func(r rune) bool { return !httpguts.IsTokenRune(r) })
	if end < 0 {
		end = len(p.rest)
	}
	token := p.rest[:end]
	p.rest = p.rest[end:]
	return token
}

// quoted parses a quoted string after its first quote (RFC 9110, section
// 5.6.4).
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

// take skips c and reports whether it was next.
func (p *forwardedParser) take(c byte) bool {
	if p.rest == "" || p.rest[0] != c {
		return false
	}
	p.rest = p.rest[1:]
	return true
}

// space skips optional white space.
func (p *forwardedParser) space() { p.rest = strings.TrimLeft(p.rest, " \t") }
