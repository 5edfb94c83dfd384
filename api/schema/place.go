package schema

import (
	"bytes"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// place is a value in a body that a problem names, or that contains such a
// value.
type place struct {
	named  bool   // false for a value that only contains a named one
	as     string // the name in the problem
	within map[string]*place
}

// at returns the place with a path below p, and creates it if necessary.
func (p *place) at(path []string) *place {
	for _, token := range path {
		next := p.within[token]
		if next == nil {
			next = new(place)
			if p.within == nil {
				p.within = map[string]*place{}
			}
			p.within[token] = next
		}
		p = next
	}
	return p
}

func (p *place) name(as string) { p.named, p.as = true, as }

// touches reports whether the value with a path below p is named, contains a
// named one, or is inside one.
func (p *place) touches(path []string) bool {
	for _, token := range path {
		if p = p.within[token]; p == nil {
			return false
		}
		if p.named {
			return true
		}
	}
	return true
}

// without returns the body, which must be valid JSON, without the named values.
// In arrays null replaces them, so that the other elements keep their
// positions.
func without(raw []byte, body *place) []byte {
	var out bytes.Buffer
	d, e := jsontext.NewDecoder(bytes.NewBuffer(raw)), jsontext.NewEncoder(&out)
	var walk func(*place)
	walk = func(p *place) {
		kind := d.PeekKind()
		if p == nil || p.within == nil || kind != '{' && kind != '[' {
			value, _ := d.ReadValue()
			_ = e.WriteValue(value)
			return
		}
		token, _ := d.ReadToken()
		_ = e.WriteToken(token)
		for i := 0; ; i++ {
			name := strconv.Itoa(i)
			switch next := d.PeekKind(); {
			case next == 0:
				return
			case next == '}' || next == ']':
				token, _ := d.ReadToken()
				_ = e.WriteToken(token)
				return
			case kind == '{':
				token, _ := d.ReadToken()
				name = token.String()
			}
			p := p.within[name]
			switch {
			case p == nil || !p.named:
				if kind == '{' {
					_ = e.WriteToken(jsontext.String(name))
				}
				walk(p)
			case kind == '[':
				_ = e.WriteToken(jsontext.Null)
				fallthrough
			default:
				_ = d.SkipValue()
			}
		}
	}
	walk(body)
	return out.Bytes()
}

// positions returns the named places of a body, which must be valid JSON, with
// numbers in their order. It reads each byte once, and parses only values that
// contain a named one.
func positions(raw []byte, body *place) map[string]int {
	at := map[string]int{}
	d := jsontext.NewDecoder(bytes.NewBuffer(raw))
	var walk func(*place)
	walk = func(p *place) {
		if p != nil && p.named {
			at[p.as] = len(at)
		}
		kind := d.PeekKind()
		if p == nil || p.within == nil || kind != '{' && kind != '[' {
			_ = d.SkipValue()
			return
		}
		_, _ = d.ReadToken()
		for i := 0; ; i++ {
			switch next := d.PeekKind(); {
			case next == 0:
				return
			case next == '}' || next == ']':
				_, _ = d.ReadToken()
				return
			case kind == '{':
				name, _ := d.ReadToken()
				walk(p.within[name.String()])
			default:
				walk(p.within[strconv.Itoa(i)])
			}
		}
	}
	walk(body)
	return at
}
