package schema

import (
	"bytes"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// place is a position in the tree of a JSON body. A problem document names the value there, or a
// value inside it.
type place struct {
	named  bool   // false if only a value inside it is named
	as     string // the name of the value in the problem document
	within map[string]*place
}

// at returns the place at a path below p, and creates missing places.
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

// touches reports whether the value at a path below p is named, contains a named value, or is
// inside a named value.
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

// without returns the body without the named values. The body must be valid JSON. In arrays, null
// replaces a named value, so that the other elements keep their positions.
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

// positions numbers the named values of a body in their order, by their names. The body must be
// valid JSON. positions reads each byte once, and parses only values that contain a named value.
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
