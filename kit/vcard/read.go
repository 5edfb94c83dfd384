package vcard

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxLine is the maximum length in bytes of an unfolded line. Longer lines, which are mostly
// pictures, are cut.
const maxLine = 64 << 10

// maxProperties is the maximum number of properties of a card.
const maxProperties = 500

// ErrCard means that the end of a card is missing, or that it has too many properties. Read then
// also returns the properties that it has read.
var ErrCard = errors.New("vcard: the card is not whole")

// Property is one property of a card.
type Property struct {
	// Name is in capitals and without the group. It is empty for a line that is no property.
	Name string
	// Group is the text before the point in the name, such as item1. It is empty without a point.
	Group string
	// Types are the values of the parameter TYPE in lower case, such as cell and work. Labels are the
	// same values as in the card, because some programs write the label of a value there.
	Types, Labels []string
	// Pref is the preference, from 1 (the first choice) to 100. It is 0 if the card has none.
	Pref int
	// Typed is the text as a person typed it, from the parameter X-KARTEI-TYPED in cards of Kartei.
	// Repeats says that this parameter is empty. The text is that of a property before then.
	Typed   string
	Repeats bool
	// Additional says that the value is in a list of additional values, in cards of Kartei. Label is its
	// label in the list, from the parameter X-KARTEI-LABEL, or empty.
	Additional bool
	Label      string
	// Head is the name and the parameters as in the file.
	Head string
	// Binary says that the value is in Base64, such as a picture, a sound or a key. A value that is
	// not text is dropped.
	Binary bool
	// value is the value with its escapes, but without its transfer encoding.
	value string
}

// Is reports whether the property has this type.
func (p *Property) Is(kind string) bool { return slices.Contains(p.Types, kind) }

// Parameter returns the value of another parameter, or an empty string.
func (p *Property) Parameter(name string) string {
	for _, parameter := range splitHead(p.Head)[1:] {
		if key, value, _ := strings.Cut(parameter, "="); strings.EqualFold(key, name) {
			return strings.Trim(value, `"`)
		}
	}
	return ""
}

// begins reports whether the property is the BEGIN of a card.
func (p *Property) begins() bool { return p.Name == "BEGIN" && strings.EqualFold(p.Text(), "VCARD") }

// Text returns the value as one text, without escapes.
func (p *Property) Text() string { return unescaped(p.value) }

// Parts returns the parts of a structured value, such as N or ADR.
func (p *Property) Parts() []string { return p.split(';') }

// List returns the texts of a value that is a list, such as CATEGORIES.
func (p *Property) List() []string { return p.split(',') }

// Lists returns the parts of a structured value, each of which may be a list. For example, N may
// have several first names.
func (p *Property) Lists() (lists [][]string) {
	for _, part := range cutAt(p.value, ';') {
		lists = append(lists, unescapedAll(cutAt(part, ',')))
	}
	return lists
}

// split returns the texts between the separators of a value.
func (p *Property) split(separator byte) []string { return unescapedAll(cutAt(p.value, separator)) }

// cutAt splits a value at the separators that are not escaped.
func cutAt(value string, separator byte) (parts []string) {
	begin := 0
	for i := 0; i < len(value); i++ {
		switch value[i] {
		case '\\':
			i++
		case separator:
			parts, begin = append(parts, value[begin:i]), i+1
		}
	}
	return append(parts, value[begin:])
}

// unescapedAll replaces each value by its text, and returns the values.
func unescapedAll(values []string) []string {
	for i := range values {
		values[i] = unescaped(values[i])
	}
	return values
}

// unescaped returns the text of a value: without escapes and control characters, and trimmed.
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

// Reader reads the cards of a file, in the versions 2.1, 3.0 and 4.0. Each value is decoded by
// itself, because a file may have cards of several programs. Folded lines are joined before,
// because some programs fold within a character.
type Reader struct {
	// Text decodes a value. charset is the charset that the card states, or empty. If Text is nil,
	// values are UTF-8.
	Text func(value []byte, charset string) string
	from *bufio.Reader
	// line is the number of lines that were read. ahead is a line to read again, if held is set.
	line  int
	ahead []byte
	held  bool
	// begun says that the BEGIN of the next card was read already.
	begun bool
}

// NewReader returns a Reader of the cards in r.
func NewReader(r io.Reader) *Reader { return &Reader{from: bufio.NewReader(r)} }

// Read returns the properties of the next card, and the number of its first line in the file. It
// returns io.EOF at the end of the file. The error is ErrCard if the card is incomplete.
func (r *Reader) Read() (card []Property, line int, err error) {
	for !r.begun {
		p, err := r.property()
		if err != nil {
			return nil, 0, err
		}
		r.begun = p.begins()
	}
	r.begun, line = false, r.line
	whole := true
	for depth, agent := 0, false; ; {
		p, err := r.property()
		switch {
		case errors.Is(err, io.EOF):
			return card, line, ErrCard
		case err != nil:
			return nil, 0, err
		case depth == 0 && p.begins() && !agent: // the END of this card is missing
			r.begun = true
			return card, line, ErrCard
		case p.Name == "BEGIN":
			depth++ // a card within a card, as in AGENT of version 2.1
		case p.Name == "END" && depth > 0:
			depth--
		case p.Name == "END" && !whole:
			return card, line, ErrCard
		case p.Name == "END":
			return card, line, nil
		case depth > 0:
			nameAgent(card, &p)
		case p.Name == "" && goesOn(card, &p):
		case p.Name == "" && p.value == "":
		case len(card) < maxProperties:
			card = append(card, p)
		default:
			whole = false
		}
		agent = p.Name == "AGENT" || agent && p.Name == ""
	}
}

// goesOn appends a line that is no property to the note or address before it. Some programs write
// line breaks in such values without escapes. goesOn reports whether the line belongs to the
// property before it.
func goesOn(card []Property, p *Property) bool {
	if len(card) == 0 {
		return false
	}
	switch last := &card[len(card)-1]; {
	case last.Binary: // a picture whose lines are not folded
		return true
	case p.value == "", last.Name != "NOTE" && last.Name != "ADR":
		return false
	case len(last.value) < maxLine:
		last.value += `\n` + p.value
	}
	return true
}

// nameAgent sets the value of the property AGENT to the name on the card within it.
func nameAgent(card []Property, p *Property) {
	if p.Name != "FN" || len(card) == 0 {
		return
	}
	if last := &card[len(card)-1]; last.Name == "AGENT" && last.value == "" {
		last.value = p.value
	}
}

// property reads the next line with the lines that continue it. If the line is no property, the
// result has no Name.
func (r *Reader) property() (p Property, err error) {
	line, err := r.unfolded()
	if err != nil {
		return p, err
	}
	head, value, found := cutValue(line)
	if !found {
		return Property{value: r.text(line, "")}, nil
	}
	p.Head = printable(r.text([]byte(head), ""))
	parameters := splitHead(p.Head)
	name := parameters[0]
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		p.Group, name = strings.ToLower(name[:i]), name[i+1:]
	}
	p.Name = strings.ToUpper(strings.TrimSpace(name))
	encoding, charset := "", ""
	for _, parameter := range parameters[1:] {
		key, is, named := strings.Cut(parameter, "=")
		if !named { // version 2.1: TEL;WORK;VOICE
			key, is = "TYPE", key
		}
		if strings.EqualFold(key, TypedParameter) {
			p.Typed = typedUnescapes.Replace(strings.Trim(is, `"`))
			p.Repeats = p.Typed == ""
		}
		if strings.EqualFold(key, LabelParameter) {
			p.Additional, p.Label = true, typedUnescapes.Replace(strings.Trim(is, `"`))
		}
		written := strings.Trim(is, `"`)
		switch is = strings.ToLower(written); strings.ToUpper(strings.TrimSpace(key)) {
		case "TYPE":
			for kind := range strings.SplitSeq(written, ",") {
				kind = strings.Trim(kind, `" `)
				p.Types, p.Labels = append(p.Types, strings.ToLower(kind)), append(p.Labels, kind)
			}
		case "PREF":
			p.Pref, _ = strconv.Atoi(is) // other values have no meaning
			p.Pref = max(0, min(p.Pref, 100))
		case "ENCODING":
			encoding = is
		case "CHARSET":
			charset = is
		}
	}
	switch {
	case p.Is("quoted-printable"):
		encoding = "quoted-printable"
	case p.Is("base64"):
		encoding = "base64"
	}
	if encoding == "quoted-printable" {
		if value, err = r.soft(value); err != nil {
			return p, err
		}
	}
	value, p.Binary = transferred(value, encoding)
	if p.value = r.text(value, charset); p.Binary && charset == "" && !utf8.Valid(value) {
		p.value = ""
	}
	return p, nil
}

// typedUnescapes decodes the escapes of parameters (RFC 6868).
var typedUnescapes = strings.NewReplacer("^^", "^", "^n", "\n", "^'", `"`)

// soft appends the following lines to a value in quoted-printable as long as the value ends with a
// soft line break.
func (r *Reader) soft(value []byte) ([]byte, error) {
	for bytes.HasSuffix(value, []byte("=")) && len(value) < maxLine {
		more, err := r.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if ends.Match(more) { // the last soft line break is a mistake
			r.hold(more)
			break
		}
		more = bytes.TrimPrefix(bytes.TrimPrefix(more, []byte(" ")), []byte("\t")) // Samsung also folds such lines
		value = append(bytes.TrimSuffix(value, []byte("=")), more...)
	}
	return bytes.TrimSuffix(value, []byte("=")), nil
}

// ends matches a line that begins or ends a card.
var ends = regexp.MustCompile(`(?i)^\s*(END|BEGIN):VCARD\s*$`)

// text decodes a value.
func (r *Reader) text(value []byte, charset string) string {
	if r.Text != nil {
		return r.Text(value, charset)
	}
	return strings.ToValidUTF8(string(value), "\ufffd")
}

// transferred returns a value without its transfer encoding. binary says that the encoding was
// Base64.
func transferred(value []byte, encoding string) (raw []byte, binary bool) {
	switch encoding {
	case "quoted-printable":
		return unquoted(value), false
	case "b", "base64":
		raw, err := base64.StdEncoding.DecodeString(string(bytes.Join(bytes.Fields(value), nil)))
		if err != nil {
			return nil, true
		}
		return raw, true
	}
	return value, false
}

// unquoted decodes quoted-printable. It keeps an equals sign without two hexadecimal digits.
func unquoted(value []byte) []byte {
	out := make([]byte, 0, len(value))
	for i := 0; i < len(value); i++ {
		if value[i] == '=' && i+2 < len(value) {
			if b, err := strconv.ParseUint(string(value[i+1:i+3]), 16, 8); err == nil {
				out, i = append(out, byte(b)), i+2
				continue
			}
		}
		out = append(out, value[i])
	}
	return out
}

// cutValue splits a line at the colon before its value. It ignores a colon in a quoted parameter.
// found is false without a colon.
func cutValue(text []byte) (head string, value []byte, found bool) {
	quoted := false
	for i, c := range text {
		switch {
		case c == '"':
			quoted = !quoted
		case c == ':' && !quoted:
			return string(text[:i]), text[i+1:], true
		}
	}
	if i := bytes.IndexByte(text, ':'); quoted && i >= 0 { // the quote is a mistake
		return string(text[:i]), text[i+1:], true
	}
	return "", nil, false
}

// splitHead splits the part before a value into the name and the parameters.
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

// unfolded returns the next line, joined with the lines that continue it. It cuts a line of more
// than maxLine bytes.
func (r *Reader) unfolded() ([]byte, error) {
	line, err := r.next()
	for err == nil {
		more, end := r.next()
		if end != nil {
			break // the next call returns the error
		}
		if len(more) == 0 || more[0] != ' ' && more[0] != '\t' {
			r.hold(more)
			break
		}
		if bytes.HasSuffix(line, []byte("=")) && softly.Match(line) { // Samsung also folds such lines
			line = line[:len(line)-1]
		}
		if len(line) < maxLine {
			line = append(line, more[1:]...)
		}
	}
	return line, err
}

// softly matches a line whose value is in quoted-printable.
var softly = regexp.MustCompile(`(?i)^[^:]*;(ENCODING=)?QUOTED-PRINTABLE[;:]`)

// hold makes next return this line again.
func (r *Reader) hold(line []byte) {
	r.ahead, r.held = line, true
	r.line--
}

// next returns the next line of the file without its line end. It cuts a very long line.
func (r *Reader) next() ([]byte, error) {
	if r.held {
		r.held = false
		r.line++
		return r.ahead, nil
	}
	var line []byte
	for {
		part, err := r.from.ReadSlice('\n')
		if len(line) < maxLine {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && len(line) == 0:
			return nil, err
		}
		break
	}
	r.line++
	return bytes.TrimRight(bytes.TrimPrefix(line, []byte("\ufeff")), "\r\n"), nil
}

// printable removes control characters and byte order marks from a text.
func printable(text string) string {
	return strings.Map(func(c rune) rune {
		if c < ' ' && c != '\t' || c == 0x7f || c == '\ufeff' {
			return -1
		}
		return c
	}, text)
}
