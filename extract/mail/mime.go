package mail

import (
	"bufio"
	"bytes"
	"io"
	"mime"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"kartei/extract/textio"
)

// mimeReader reads the lines of a message (RFC 2045, RFC 2046). Many programs break the rules, but
// their messages can be opened. So a mimeReader refuses no line: each line belongs to some part.
type mimeReader struct {
	r          *bufio.Reader
	boundaries []string // of the open multiparts
	begins     bool     // the next bytes are the beginning of a line
	single     bool     // the message is inside another message
	mailbox    bool     // the file has several messages, one after another
	blank      bool     // the line before was empty
	// stopped is set at the end of a part. level is the index of the multipart whose boundary was
	// found, or -1 at the end of the message. last says that this multipart ends. more says that
	// another message follows.
	stopped    bool
	level      int
	last, more bool
	// oversized says that a header was longer than maxHeader.
	oversized bool
}

func newMIME(r io.Reader) *mimeReader {
	return &mimeReader{r: bufio.NewReaderSize(r, 64<<10), begins: true}
}

// next returns the next line with its line end, or a piece of a long line. The line is valid until
// the next call. next returns false at the end of the part.
func (m *mimeReader) next() ([]byte, bool) {
	if m.stopped {
		return nil, false
	}
	line, err := m.r.ReadSlice('\n')
	if len(line) == 0 && err != nil {
		m.stopped, m.level, m.more = true, -1, false
		return nil, false
	}
	if m.begins && m.ends(line) {
		m.stopped = true
		return nil, false
	}
	m.blank = m.begins && len(bytes.TrimRight(line, "\r\n")) == 0
	m.begins = line[len(line)-1] == '\n'
	return line, true
}

// ends reports whether a line ends the current part.
func (m *mimeReader) ends(line []byte) bool {
	if m.mailbox && m.blank && isFromLine(line) && bytes.Contains(line, []byte(":")) {
		m.level, m.more = -1, true
		return true
	}
	mark, is := bytes.CutPrefix(bytes.TrimRight(line, " \t\r\n"), []byte("--"))
	if !is {
		return false
	}
	for i := len(m.boundaries) - 1; i >= 0; i-- {
		if rest, is := bytes.CutPrefix(mark, []byte(m.boundaries[i])); is && (len(rest) == 0 || string(rest) == "--") {
			m.level, m.last = i, len(rest) > 0
			return true
		}
	}
	return false
}

// resume begins the next part.
func (m *mimeReader) resume() { m.stopped, m.begins, m.blank = false, true, false }

// skip skips the rest of the current part.
func (m *mimeReader) skip() {
	for {
		if _, goesOn := m.next(); !goesOn {
			return
		}
	}
}

// isFromLine reports whether a line is a separator before a message of a mailbox.
func isFromLine(line []byte) bool {
	return bytes.HasPrefix(bytes.TrimPrefix(line, []byte(">")), []byte("From "))
}

// fieldName returns the name of a header field, or an empty string if the line is not a field.
func fieldName(line []byte) string {
	name, _, is := bytes.Cut(line, []byte(":"))
	name = bytes.TrimRight(name, " \t")
	if !is || len(name) == 0 || bytes.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return ""
	}
	return string(name)
}

// mimeHeader maps the names of header fields, in lower case, to their values.
type mimeHeader map[string]string

// maxHeader is the maximum size of a header in bytes.
const maxHeader = 1 << 20

// byteOrderMark is the byte order mark in UTF-8.
const byteOrderMark = "\xef\xbb\xbf"

// header reads a header and the empty line after it. It skips lines without a colon if a field
// follows. Other lines without a colon are the beginning of the content, and header returns them.
// If leading is set, empty lines may come before the header.
func (m *mimeReader) header(leading bool) (h mimeHeader, content []byte) {
	h = mimeHeader{}
	field, size := "", 0
	for {
		line, goesOn := m.next()
		if !goesOn {
			return h, content
		}
		size += len(line)
		text := bytes.TrimRight(line, "\r\n")
		if leading {
			text = bytes.TrimPrefix(text, []byte(byteOrderMark))
			if len(bytes.TrimSpace(text)) == 0 || isFromLine(text) {
				m.mailbox = m.mailbox || !m.single && bytes.HasPrefix(text, []byte("From "))
				continue
			}
			leading = false
		}
		if len(text) == 0 {
			return h, content
		}
		name := strings.ToLower(fieldName(text))
		switch {
		case (text[0] == ' ' || text[0] == '\t') && field != "":
			h[field] += " " + string(bytes.TrimSpace(text))
		case name != "":
			content, field = nil, name
			if _, twice := h[name]; twice {
				field = name + " again"
			}
			h[field] = string(bytes.TrimSpace(text[bytes.IndexByte(text, ':')+1:]))
		default:
			content, field = append(content, line...), ""
		}
		if size > maxHeader {
			m.oversized = true
			return h, content
		}
	}
}

// content returns a reader of the decoded content of a part.
func (m *mimeReader) content(h mimeHeader, before []byte) io.Reader {
	r := io.MultiReader(bytes.NewReader(before), &mimeLines{m: m})
	switch strings.ToLower(strings.TrimSpace(h["content-transfer-encoding"])) {
	case "base64":
		return &base64Reader{r: bufio.NewReader(r)}
	case "quoted-printable":
		return &quotedReader{r: bufio.NewReader(r)}
	}
	return r
}

// mimeLines is a reader of the lines of a part.
type mimeLines struct {
	m    *mimeReader
	rest []byte
}

func (l *mimeLines) Read(p []byte) (int, error) {
	for len(l.rest) == 0 {
		line, goesOn := l.m.next()
		if !goesOn {
			return 0, io.EOF
		}
		l.rest = line
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// base64Reader decodes base64. It skips characters that are not base64.
type base64Reader struct {
	r    *bufio.Reader
	bits uint32
	n    int // number of bits
}

const base64Digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

func (d *base64Reader) Read(p []byte) (n int, err error) {
	for n < len(p) {
		b, err := d.r.ReadByte()
		if err != nil {
			return n, err
		}
		digit := strings.IndexByte(base64Digits, b)
		if b == '=' {
			d.bits, d.n = 0, 0
		}
		if digit < 0 {
			continue
		}
		d.bits, d.n = d.bits<<6|uint32(digit), d.n+6
		if d.n >= 8 {
			d.n -= 8
			p[n] = byte(d.bits >> d.n)
			n++
		}
	}
	return n, nil
}

// quotedReader decodes quoted-printable. It does not change invalid codes.
type quotedReader struct{ r *bufio.Reader }

func (d *quotedReader) Read(p []byte) (n int, err error) {
	for n < len(p) {
		b, err := d.r.ReadByte()
		if err != nil {
			return n, err
		}
		if b == '=' {
			next, _ := d.r.Peek(2)
			if code, err := strconv.ParseUint(string(next), 16, 8); len(next) == 2 && err == nil && next[0] != '+' {
				b = byte(code)
				_, _ = d.r.Discard(2)
			} else if d.soft() {
				continue
			}
		}
		p[n] = b
		n++
	}
	return n, nil
}

// soft reports whether the line ends here. If so, it skips the line end.
func (d *quotedReader) soft() bool {
	ahead, _ := d.r.Peek(80)
	blanks := len(ahead) - len(bytes.TrimLeft(ahead, " \t\r"))
	if blanks == len(ahead) || ahead[blanks] != '\n' {
		return false
	}
	_, _ = d.r.Discard(blanks + 1)
	return true
}

// parameters splits a field such as Content-Type into its value and its parameters (RFC 2045, RFC
// 2231). The value is in lower case.
func parameters(field string) (value string, params map[string]string) {
	pieces := cutAtSemicolons(field)
	params = map[string]string{}
	joined, coded := map[string]string{}, map[string]bool{}
	for _, piece := range pieces[1:] {
		name, text, is := strings.Cut(piece, "=")
		name, text = strings.ToLower(strings.TrimSpace(name)), strings.TrimSpace(text)
		if !is {
			continue
		}
		if strings.HasPrefix(text, `"`) {
			text = strings.NewReplacer(`\\`, `\`, `\"`, `"`).Replace(strings.TrimSuffix(text[1:], `"`))
		}
		base, number, continued := strings.Cut(name, "*")
		if !continued {
			params[name] = text
			continue
		}
		coded[base] = coded[base] || strings.HasSuffix(number, "*") || number == ""
		joined[base] += text // programs write the pieces in order
	}
	for name, text := range joined {
		if coded[name] {
			text = percentDecoded(text)
		}
		params[name] = text
	}
	return strings.ToLower(strings.TrimSpace(pieces[0])), params
}

// cutAtSemicolons splits a field at semicolons outside of quotes.
func cutAtSemicolons(field string) []string {
	var pieces []string
	quoted, start := false, 0
	for i := 0; i < len(field); i++ {
		switch {
		case field[i] == '\\' && quoted:
			i++
		case field[i] == '"':
			quoted = !quoted
		case field[i] == ';' && !quoted:
			pieces, start = append(pieces, field[start:i]), i+1
		}
	}
	return append(pieces, field[min(start, len(field)):])
}

// percentDecoded decodes an extended parameter value (RFC 2231), such as
// utf-8'de'M%C3%BCller. Text without charset and language is decoded too.
func percentDecoded(text string) string {
	charset, rest, is := strings.Cut(text, "'")
	_, rest, is2 := strings.Cut(rest, "'")
	if !is || !is2 {
		charset, rest = "", text
	}
	decoded, err := url.PathUnescape(rest)
	if err != nil {
		decoded = rest
	}
	return inCharset(charset, []byte(decoded))
}

// inCharset decodes a short text in a charset to UTF-8.
func inCharset(charset string, b []byte) string {
	r, _ := textio.Named(charset, bytes.NewReader(b)) // Named guesses the encoding instead of returning an error
	text, err := io.ReadAll(r)
	if err != nil {
		return textio.Guessed(b)
	}
	return string(text)
}

// encodedWords matches encoded words of a header field (RFC 2047) and the blanks between them.
var encodedWords = regexp.MustCompile(`=\?[^?\s]+\?[BbQq]\?[^?]*\?=(?:\s+=\?[^?\s]+\?[BbQq]\?[^?]*\?=)*`)

// decodedWords decodes the encoded words of a header field. Some programs split a character between
// two words. So decodedWords joins the bytes of neighbouring words with the same charset before it
// decodes them.
func decodedWords(field string) string {
	return encodedWords.ReplaceAllStringFunc(field, func(words string) string {
		var text strings.Builder
		var b []byte
		charset := ""
		for word := range strings.FieldsSeq(strings.ReplaceAll(words, "?==?", "?= =?")) {
			parts := strings.Split(word, "?")
			if len(parts) != 5 {
				return words // a blank inside of a word
			}
			name, _, _ := strings.Cut(strings.ToLower(parts[1]), "*")
			if name != charset {
				text.WriteString(inCharset(charset, b))
				charset, b = name, nil
			}
			var r io.Reader = &base64Reader{r: bufio.NewReader(strings.NewReader(parts[3]))}
			if strings.EqualFold(parts[2], "q") {
				r = &quotedReader{r: bufio.NewReader(strings.NewReader(strings.ReplaceAll(parts[3], "_", " ")))}
			}
			decoded, _ := io.ReadAll(r) // no error is possible, since the source is a string
			b = append(b, decoded...)
		}
		text.WriteString(inCharset(charset, b))
		return text.String()
	})
}

// wordDecoder decodes encoded words in the names of addresses.
var wordDecoder = &mime.WordDecoder{CharsetReader: textio.Named}

// Starts reports whether the text begins with the header of a message (RFC 5322). At least one
// field must be a common field such as From. Programs that store messages may write a byte order
// mark, an empty line or a line that begins with From before the header. They may also write lines
// without a colon inside of it.
func Starts(text []byte) bool {
	text = bytes.TrimLeft(bytes.TrimPrefix(text, []byte(byteOrderMark)), " \t\r\n")
	known, fields, others := false, 0, 0
	for n := 0; ; n++ {
		line, rest, whole := bytes.Cut(text, []byte("\n"))
		line = bytes.TrimRight(line, "\r")
		if len(line) == 0 || !whole {
			return known && fields >= others
		}
		text = rest
		if n > 0 && (line[0] == ' ' || line[0] == '\t') || isFromLine(line) {
			continue
		}
		name := fieldName(line)
		if name == "" {
			others++
			continue
		}
		fields++
		switch strings.ToLower(name) {
		case "from", "to", "date", "subject", "received", "return-path", "message-id", "mime-version", "delivered-to":
			known = true
		}
	}
}
