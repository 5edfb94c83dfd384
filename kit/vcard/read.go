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

// maxLine bounds the bytes of a line without its folding. Longer ones, which are
// pictures, are left out.
const maxLine = 64 << 10

// maxProperties bounds the properties of a card.
const maxProperties = 500

// ErrCard means that a card is not whole: its end is missing, or it has too many lines.
// What was read of it is returned.
var ErrCard = errors.New("vcard: the card is not whole")

// Property is a line of a card.
type Property struct {
	// Name is in capitals, without the group before it. A line that is no property has none.
	Name string
	// Group is what a point parts from the name: item1.
	Group string
	// Types are its types, in small letters: cell, work.
	Types []string
	// Pref is 1 for the first choice, 100 for the last one, and 0 without a word of it.
	Pref int
	// Typed is what somebody typed in place of the value, as cards of Kartei have it.
	Typed string
	// Head is the property as the file names it, with its parameters.
	Head string
	// Binary says that the value is a picture, a sound or a key, which is left out.
	Binary bool
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

// Lists returns the parts of N. Each of them may be a list: several first names.
func (p *Property) Lists() (lists [][]string) {
	for _, part := range cutAt(p.value, ';') {
		lists = append(lists, unescapedAll(cutAt(part, ',')))
	}
	return lists
}

// split returns the texts of a value between separators.
func (p *Property) split(separator byte) []string { return unescapedAll(cutAt(p.value, separator)) }

// cutAt cuts a value at a separator that is not escaped.
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

// unescapedAll returns the texts of values.
func unescapedAll(values []string) []string {
	for i := range values {
		values[i] = unescaped(values[i])
	}
	return values
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

// Reader reads cards of the versions 2.1, 3.0 and 4.0. Each value is made a text by
// itself: a file may have cards of several programs. Lines are joined before that, since
// some programs fold them within a character.
type Reader struct {
	// Text makes a text of a value, in the encoding that the value names or not.
	Text func(value []byte, charset string) string
	from *bufio.Reader
	// line counts the lines of the file. ahead is a line that was read already.
	line  int
	ahead []byte
	held  bool
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
			depth++ // a card within a card: AGENT of version 2.1
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

// goesOn adds a line that is no property to the note or the address before it: some
// programs write the ends of lines as they are. It reports whether the line belongs to
// the property before it. Other lines stay in the card, without a name.
func goesOn(card []Property, p *Property) bool {
	if len(card) == 0 {
		return false
	}
	switch last := &card[len(card)-1]; {
	case last.Binary: // a picture without the folding
		return true
	case p.value == "", last.Name != "NOTE" && last.Name != "ADR":
		return false
	case len(last.value) < maxLine:
		last.value += `\n` + p.value
	}
	return true
}

// nameAgent gives the property AGENT the name on the card within it.
func nameAgent(card []Property, p *Property) {
	if p.Name != "FN" || len(card) == 0 {
		return
	}
	if last := &card[len(card)-1]; last.Name == "AGENT" && last.value == "" {
		last.value = p.value
	}
}

// property reads a line with its continuations. What is no property has no name.
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
		}
		switch is = strings.ToLower(strings.Trim(is, `"`)); strings.ToUpper(strings.TrimSpace(key)) {
		case "TYPE":
			for kind := range strings.SplitSeq(is, ",") {
				p.Types = append(p.Types, strings.Trim(kind, `" `))
			}
		case "PREF":
			p.Pref, _ = strconv.Atoi(is) // another one is none
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

// typedUnescapes resolves the escapes of parameters (RFC 6868).
var typedUnescapes = strings.NewReplacer("^^", "^", "^n", "\n", "^'", `"`)

// soft joins a value with the lines behind its soft line breaks.
func (r *Reader) soft(value []byte) ([]byte, error) {
	for bytes.HasSuffix(value, []byte("=")) && len(value) < maxLine {
		more, err := r.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if ends.Match(more) { // the soft line break is a mistake
			r.hold(more)
			break
		}
		more = bytes.TrimPrefix(bytes.TrimPrefix(more, []byte(" ")), []byte("\t")) // Samsung folds besides
		value = append(bytes.TrimSuffix(value, []byte("=")), more...)
	}
	return bytes.TrimSuffix(value, []byte("=")), nil
}

// ends matches the last line of a card.
var ends = regexp.MustCompile(`(?i)^\s*(END|BEGIN):VCARD\s*$`)

// text makes a text of bytes.
func (r *Reader) text(value []byte, charset string) string {
	if r.Text != nil {
		return r.Text(value, charset)
	}
	return strings.ToValidUTF8(string(value), "\ufffd")
}

// transferred returns a value without its transfer encoding, and whether it was bytes.
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

// unquoted decodes quoted-printable. A sign that encodes nothing stays.
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

// cutValue cuts a line at the colon before its value. A parameter in quotes may have
// one, too.
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

// unfolded reads a line with the lines that continue it. A very long one is cut.
func (r *Reader) unfolded() ([]byte, error) {
	line, err := r.next()
	for err == nil {
		more, end := r.next()
		if end != nil {
			break // the next call says so
		}
		if len(more) == 0 || more[0] != ' ' && more[0] != '\t' {
			r.hold(more)
			break
		}
		if bytes.HasSuffix(line, []byte("=")) && softly.Match(line) { // Samsung folds besides
			line = line[:len(line)-1]
		}
		if len(line) < maxLine {
			line = append(line, more[1:]...)
		}
	}
	return line, err
}

// softly matches a line in quoted-printable.
var softly = regexp.MustCompile(`(?i)^[^:]*;(ENCODING=)?QUOTED-PRINTABLE[;:]`)

// hold keeps a line for the next call of next.
func (r *Reader) hold(line []byte) {
	r.ahead, r.held = line, true
	r.line--
}

// next reads a line of the file, without its end. A very long one is cut.
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

// printable leaves out what no text has.
func printable(text string) string {
	return strings.Map(func(c rune) rune {
		if c < ' ' && c != '\t' || c == 0x7f || c == '\ufeff' {
			return -1
		}
		return c
	}, text)
}
