package vcard

import (
	"bufio"
	"encoding/base64"
	"errors"
	"io"
	"mime/quotedprintable"
	"slices"
	"strings"

	"golang.org/x/text/encoding/htmlindex"
)

// maxLine bounds the bytes of a line without its folding. Longer ones, which are
// pictures, are left out.
const maxLine = 64 << 10

// maxProperties bounds the properties of a card.
const maxProperties = 500

// ErrCard means that a card cannot be read. The cards behind it can.
var ErrCard = errors.New("vcard: the card cannot be read")

// Property is a line of a card.
type Property struct {
	// Name is in capitals, without the group before it.
	Name string
	// Types are its types, in small letters: cell, work.
	Types []string
	// value is as the card has it, but for its transfer encoding.
	value string
}

// Is reports whether the property has a type.
func (p *Property) Is(kind string) bool { return slices.Contains(p.Types, kind) }

// begins reports whether the property begins a card.
func (p *Property) begins() bool { return p.Name == "BEGIN" && strings.EqualFold(p.Text(), "VCARD") }

// Text returns a value that is one text.
func (p *Property) Text() string { return unescaped(p.value) }

// Parts returns the parts of a value such as N or ADR.
func (p *Property) Parts() []string { return p.split(';') }

// List returns the texts of a value such as CATEGORIES.
func (p *Property) List() []string { return p.split(',') }

// split cuts a value at a separator that is not escaped.
func (p *Property) split(separator byte) (parts []string) {
	begin := 0
	for i := 0; i < len(p.value); i++ {
		switch p.value[i] {
		case '\\':
			i++
		case separator:
			parts, begin = append(parts, unescaped(p.value[begin:i])), i+1
		}
	}
	return append(parts, unescaped(p.value[begin:]))
}

// unescaped returns the text of a value.
func unescaped(value string) string {
	var b strings.Builder
	for i := 0; i < len(value); i++ {
		c := value[i]
		if c == '\\' && i+1 < len(value) {
			if i++; value[i] == 'n' || value[i] == 'N' {
				b.WriteByte('\n')
				continue
			}
			c = value[i]
		}
		if c >= ' ' && c != 0x7f || c == '\n' || c == '\t' {
			b.WriteByte(c)
		}
	}
	return strings.TrimSpace(b.String())
}

// Reader reads cards of the versions 2.1, 3.0 and 4.0, as UTF-8.
type Reader struct {
	from *bufio.Reader
	// line counts the lines of the file. ahead is a line that was read already.
	line  int
	ahead *string
	// begun says that the BEGIN of the next card was read already.
	begun bool
}

// NewReader returns a reader of a file of cards.
func NewReader(r io.Reader) *Reader { return &Reader{from: bufio.NewReader(r)} }

// Read returns the properties of the next card, and the line of the file on which it
// begins. At the end of the file the error is io.EOF.
func (r *Reader) Read() (card []Property, line int, err error) {
	for !r.begun {
		p, err := r.property()
		if err != nil {
			return nil, 0, err
		}
		r.begun = p.begins()
	}
	r.begun, line = false, r.line
	for depth, agent := 0, false; ; {
		p, err := r.property()
		switch {
		case errors.Is(err, io.EOF):
			return nil, line, ErrCard
		case err != nil:
			return nil, 0, err
		case depth == 0 && p.begins() && !agent: // the END of this card is missing
			r.begun = true
			return nil, line, ErrCard
		case p.Name == "BEGIN":
			depth++ // a card within a card: AGENT of version 2.1
		case p.Name == "END" && depth > 0:
			depth--
		case p.Name == "END" && len(card) > maxProperties:
			return nil, line, ErrCard
		case p.Name == "END":
			return card, line, nil
		case depth == 0 && p.Name != "" && len(card) <= maxProperties:
			card = append(card, p)
		}
		agent = p.Name == "AGENT" || agent && p.Name == ""
	}
}

// property reads a line with its continuations. What is no property has no name.
func (r *Reader) property() (p Property, err error) {
	text, err := r.unfolded()
	if err != nil {
		return p, err
	}
	head, value, found := cutValue(text)
	if !found {
		return p, nil
	}
	parameters := splitHead(head)
	name := parameters[0]
	if i := strings.LastIndexByte(name, '.'); i >= 0 { // a group
		name = name[i+1:]
	}
	p = Property{Name: strings.ToUpper(strings.TrimSpace(name)), value: value}
	encoding, charset := "", ""
	for _, parameter := range parameters[1:] {
		key, is, named := strings.Cut(parameter, "=")
		if !named { // version 2.1: TEL;WORK;VOICE
			key, is = "TYPE", key
		}
		switch is = strings.ToLower(strings.Trim(is, `"`)); strings.ToUpper(key) {
		case "TYPE":
			for kind := range strings.SplitSeq(is, ",") {
				p.Types = append(p.Types, strings.Trim(kind, `" `))
			}
		case "ENCODING":
			encoding = is
		case "CHARSET":
			charset = is
		}
	}
	if p.Is("quoted-printable") {
		encoding = "quoted-printable"
	}
	if encoding == "quoted-printable" {
		for strings.HasSuffix(p.value, "=") && len(p.value) < maxLine { // a soft line break
			more, err := r.next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return p, err
			}
			p.value = strings.TrimSuffix(p.value, "=") + more
		}
	}
	p.value = decoded(p.value, encoding, charset)
	return p, nil
}

// decoded returns a value without its transfer encoding, as UTF-8.
func decoded(value, encoding, charset string) string {
	switch encoding {
	case "quoted-printable":
		b, err := io.ReadAll(quotedprintable.NewReader(strings.NewReader(value)))
		if err != nil {
			return value
		}
		value = string(b)
		if e, err := htmlindex.Get(charset); err == nil && charset != "utf-8" {
			if text, err := e.NewDecoder().String(value); err == nil {
				value = text
			}
		}
	case "b", "base64":
		b, err := base64.StdEncoding.DecodeString(value)
		if err != nil {
			return ""
		}
		value = string(b)
	}
	return strings.ToValidUTF8(value, "\ufffd")
}

// cutValue cuts a line at the colon before its value. A parameter in quotes may have
// one, too.
func cutValue(text string) (head, value string, found bool) {
	quoted := false
	for i := range len(text) {
		switch {
		case text[i] == '"':
			quoted = !quoted
		case text[i] == ':' && !quoted:
			return text[:i], text[i+1:], true
		}
	}
	return "", "", false
}

// splitHead cuts what is before a value into the name and the parameters.
func splitHead(head string) []string {
	quoted := false
	parts := strings.FieldsFunc(head, func(c rune) bool {
		quoted = quoted != (c == '"')
		return c == ';' && !quoted
	})
	if len(parts) == 0 {
		return []string{""}
	}
	return parts
}

// unfolded reads a line with the lines that continue it.
func (r *Reader) unfolded() (string, error) {
	text, err := r.next()
	for err == nil {
		more, end := r.next()
		if end != nil {
			break // the next call says so
		}
		if more == "" || more[0] != ' ' && more[0] != '\t' {
			r.ahead = &more
			r.line--
			break
		}
		if len(text) < maxLine {
			text += more[1:]
		}
	}
	if len(text) >= maxLine {
		text = ""
	}
	return text, err
}

// next reads a line of the file, without its end. A very long one is cut.
func (r *Reader) next() (string, error) {
	if ahead := r.ahead; ahead != nil {
		r.ahead = nil
		r.line++
		return *ahead, nil
	}
	var text []byte
	for {
		part, err := r.from.ReadSlice('\n')
		if len(text) < maxLine {
			text = append(text, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && len(text) == 0:
			return "", err
		}
		break
	}
	r.line++
	return strings.Map(func(c rune) rune {
		if c < ' ' && c != '\t' || c == 0x7f || c == '\ufeff' {
			return -1
		}
		return c
	}, string(text)), nil
}
