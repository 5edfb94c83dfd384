package codesample

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// node is a JSON value that keeps the order of its members. A sample computes
// some of its values at run time.
type node struct {
	kind    jsontext.Kind
	members []member
	items   []node
	text    string // the text of a string, or the literal
	made    valueKind
}

type member struct {
	name  string
	value node
}

// valueKind is the way in which a sample gets a value.
type valueKind int

const (
	given     valueKind = iota
	fileSize            // the length of the file in bytes
	fileHash            // its SHA-256 in hex
	randomKey           // an Idempotency-Key
)

// These are the limits of a body in a sample.
const (
	longestBody = 5  // members
	longestLine = 60 // characters of a value on one line
)

// body sets the body of the sample to the example of the operation. It keeps at most longestBody
// members. It drops externalId, which must be unique, so that the sample works more than once. It
// also drops visibility.
func (c *call) body(op *operation) error {
	for _, example := range op.RequestBody.Content["application/json"].Examples {
		n, err := read(jsontext.NewDecoder(bytes.NewReader(example.Value)))
		if err != nil {
			return err
		}
		n.members = slices.DeleteFunc(n.members,
			func(m member) bool { return m.name == "externalId" || m.name == "visibility" })
		n.members = n.members[:min(len(n.members), longestBody)]
		n.mark(op.ID == "uploads.create")
		c.Body = &n
		return nil
	}
	return nil
}

// mark sets the kind of the values that the sample computes at run time.
func (n *node) mark(upload bool) {
	for i := range n.members {
		switch m := &n.members[i]; {
		case m.name == idempotencyKey:
			m.value.made = randomKey
		case upload && m.name == "size":
			m.value.made = fileSize
		case upload && m.name == "sha256":
			m.value.made = fileHash
		case upload && m.name == "fileName":
			m.value.text = sampleFile
		default:
			m.value.mark(upload)
		}
	}
	for i := range n.items {
		n.items[i].mark(upload)
	}
}

func read(d *jsontext.Decoder) (n node, err error) {
	token, err := d.ReadToken()
	if err != nil {
		return n, err
	}
	n.kind = token.Kind()
	switch n.kind {
	case '{':
		for d.PeekKind() != '}' {
			name, err := d.ReadToken()
			if err != nil {
				return n, err
			}
			m := member{name: name.String()}
			if m.value, err = read(d); err != nil {
				return n, err
			}
			n.members = append(n.members, m)
		}
	case '[':
		for d.PeekKind() != ']' {
			item, err := read(d)
			if err != nil {
				return n, err
			}
			n.items = append(n.items, item)
		}
	default:
		n.text = token.String()
		return n, nil
	}
	_, err = d.ReadToken()
	return n, err
}

// syntax describes how a language writes JSON values.
type syntax struct {
	indent string
	// name writes the name of a member, and text writes a string.
	name, text func(string) string
	// literals are the words for null, true and false, if they differ from
	// JSON.
	literals map[string]string
	// values are the expressions for computed values.
	values map[valueKind]string
	// trailing adds a comma after the last of several lines.
	trailing bool
	// spaced adds spaces inside the braces of an object on one line.
	spaced bool
}

// write returns n in the syntax. Lines after the first begin with indent.
func (s *syntax) write(n node, indent string) string {
	switch n.kind {
	case '{':
		parts := make([]string, len(n.members))
		for i, m := range n.members {
			parts[i] = s.name(m.name) + ": " + s.write(m.value, indent+s.indent)
		}
		return s.wrap("{", parts, "}", indent)
	case '[':
		parts := make([]string, len(n.items))
		for i, item := range n.items {
			parts[i] = s.write(item, indent+s.indent)
		}
		return s.wrap("[", parts, "]", indent)
	}
	if n.made != given {
		return s.values[n.made]
	}
	if n.kind == '"' {
		return s.text(n.text)
	}
	if word, differs := s.literals[n.text]; differs {
		return word
	}
	return n.text
}

// wrap joins parts on one line if they are short, and else puts each on its own line. The body
// itself always has several lines.
func (s *syntax) wrap(open string, parts []string, end, indent string) string {
	line := strings.Join(parts, ", ")
	if indent != s.top() && len(line) <= longestLine && !strings.Contains(line, "\n") {
		if s.spaced && open == "{" && line != "" {
			line = " " + line + " "
		}
		return open + line + end
	}
	last := ""
	if s.trailing {
		last = ","
	}
	inner := "\n" + indent + s.indent
	return open + inner + strings.Join(parts, ","+inner) + last + "\n" + indent + end
}

// top is the indentation of the body itself.
func (s *syntax) top() string { return s.indent }

// quoted returns s in double quotes, with characters outside ASCII unescaped. JSON, Python and
// JavaScript all accept this form.
func quoted(s string) string {
	b, err := jsontext.AppendQuote(nil, s)
	if err != nil { // a string that was read from JSON is always valid
		return strconv.Quote(s)
	}
	return string(b)
}
