package extract

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/net/html"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// reader writes a file's text. It runs in the child, under its limits. Its
// error says what is wrong with the file.
type reader func(in *input, out *sink) error

// What a reader may find wrong.
var (
	errEncrypted = errors.New("extract: the file is encrypted")
	errBroken    = errors.New("extract: the file is broken")
	errInflated  = errors.New("extract: the file is larger than it looks")
)

// input is the file of which text is read: as a stream, or at once where a
// format wants to be read from its end.
type input struct {
	io.Reader
	limits Limits
	cache  string // folder of compiled WebAssembly; "" for none
}

// chunkSize is in what pieces a file is held, so that one of 100 MiB takes
// 100 MiB and not what doubling a slice takes.
const chunkSize = 1 << 20

// chunks is a file in memory.
type chunks struct {
	parts [][]byte
	size  int64
}

// hold reads the whole file.
func (in *input) hold() (*chunks, error) {
	c := &chunks{}
	for {
		part := make([]byte, chunkSize)
		n, err := io.ReadFull(in, part)
		c.parts = append(c.parts, part[:n])
		c.size += int64(n)
		if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
			return c, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// ReadAt is part of io.ReaderAt.
func (c *chunks) ReadAt(p []byte, off int64) (n int, err error) {
	if off < 0 {
		return 0, errBroken
	}
	for n < len(p) {
		if off >= c.size {
			return n, io.EOF
		}
		m := copy(p[n:], c.parts[off/chunkSize][off%chunkSize:])
		n += m
		off += int64(m)
	}
	return n, nil
}

// wide returns UTF-16 that says that it is as UTF-8, and all else as it is.
func wide(head []byte) []byte {
	if !isUTF16(head) {
		return head
	}
	decoded, _ := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewDecoder().Bytes(head)
	return decoded
}

func isUTF16(head []byte) bool {
	return bytes.HasPrefix(head, []byte("\xff\xfe")) || bytes.HasPrefix(head, []byte("\xfe\xff"))
}

// decoded returns text of an unnamed encoding as UTF-8: UTF-16 where it says
// so, UTF-8 where it is, else Windows-1252. It looks at the first 64 KiB.
func decoded(r io.Reader) io.Reader {
	head := make([]byte, 64<<10)
	n, err := io.ReadFull(r, head)
	head = head[:n]
	all := io.MultiReader(bytes.NewReader(head), r)
	switch {
	case isUTF16(head):
		return transform.NewReader(all, unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewDecoder())
	case isUTF8(head, err == nil):
		return all
	}
	return transform.NewReader(all, charmap.Windows1252.NewDecoder())
}

// isUTF8 reports whether text is valid, where it goes on perhaps but for its
// last character.
func isUTF8(text []byte, goesOn bool) bool {
	_, n, err := transform.Bytes(encoding.UTF8Validator, text)
	return err == nil || goesOn && len(text)-n < 4
}

// named returns text of a named encoding as UTF-8, and that of an unknown one
// as it is.
func named(label string, r io.Reader) (io.Reader, error) {
	e, _ := htmlindex.Get(strings.TrimSpace(label))
	if e == nil {
		return r, nil
	}
	return transform.NewReader(r, e.NewDecoder()), nil
}

// copyText writes all of a stream that is UTF-8.
func copyText(r io.Reader, out *sink) error {
	buffer := make([]byte, 32<<10)
	kept := 0 // bytes of a character whose rest comes
	for {
		n, err := r.Read(buffer[kept:])
		n += kept
		end := n
		if err == nil {
			end = wholeRunes(buffer[:n])
		}
		if out.text(string(buffer[:end])) != nil {
			return errFull
		}
		kept = copy(buffer, buffer[end:n])
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return errBroken
		}
	}
}

// wholeRunes returns where the last character begins that may be cut.
func wholeRunes(b []byte) int {
	for i := len(b) - 1; i >= max(0, len(b)-3); i-- {
		if b[i] >= 0xc0 {
			return i
		}
		if b[i] < 0x80 {
			break
		}
	}
	return len(b)
}

// readPlain reads text, and tables of which each line is one.
func readPlain(in *input, out *sink) error { return copyText(decoded(in), out) }

// readJSON reads the values of JSON.
func readJSON(in *input, out *sink) error {
	d := jsontext.NewDecoder(decoded(in), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	for !out.full() {
		token, err := d.ReadToken()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return errBroken
		}
		switch parent, n := d.StackIndex(d.StackDepth()); {
		case token.Kind() == '"' && parent == '{' && n%2 == 1: // a member's name
		case token.Kind() == '"' || token.Kind() == '0':
			out.line()
			out.text(token.String())
		}
	}
	return errFull
}

// readHTML reads a page.
func readHTML(in *input, out *sink) error { return copyPage(decoded(in), out) }

// hidden are the elements whose content nobody sees.
var hidden = map[string]bool{"script": true, "style": true, "template": true, "noscript": true, "svg": true, "math": true, "head": false}

// inline are the elements that do not begin a line.
var inline = map[string]bool{"a": true, "abbr": true, "b": true, "bdi": true, "bdo": true, "cite": true, "code": true, "data": true, "dfn": true,
	"em": true, "font": true, "i": true, "kbd": true, "mark": true, "o:p": true, "q": true, "s": true, "samp": true, "small": true, "span": true,
	"strong": true, "sub": true, "sup": true, "time": true, "tt": true, "u": true, "var": true, "wbr": true, "img": true}

// copyPage writes the text of a page that is UTF-8. It keeps no tree, so depth
// costs nothing.
func copyPage(r io.Reader, out *sink) error {
	z := html.NewTokenizer(r)
	z.SetMaxBuf(8 << 20) // of one tag or text
	within := ""         // the hidden element that is open
	for !out.full() {
		switch kind := z.Next(); kind {
		case html.ErrorToken:
			if z.Err() == io.EOF {
				return nil
			}
			return errBroken
		case html.TextToken:
			if within == "" {
				out.text(strings.ReplaceAll(string(z.Text()), "\n", " "))
			}
		case html.StartTagToken, html.EndTagToken, html.SelfClosingTagToken:
			b, _ := z.TagName()
			name := string(b)
			switch {
			case within != "":
				if kind == html.EndTagToken && name == within {
					within = ""
				}
			case hidden[name] && kind == html.StartTagToken:
				within = name
			case name == "td" || name == "th":
				out.text("\t")
			case !inline[name]:
				out.line()
			}
		}
	}
	return errFull
}
