package textio

import (
	"bufio"
	"bytes"
	"io"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// Wide returns UTF-16 that begins with a byte order mark as UTF-8, and all else
// unchanged.
func Wide(head []byte) []byte {
	if !IsUTF16(head) {
		return head
	}
	decoded, _ := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewDecoder().Bytes(head)
	return decoded
}

// IsUTF16 reports whether text begins with a byte order mark of UTF-16.
func IsUTF16(head []byte) bool {
	return bytes.HasPrefix(head, []byte("\xff\xfe")) || bytes.HasPrefix(head, []byte("\xfe\xff"))
}

// Decoded returns text of an unknown encoding as UTF-8. It looks at the first
// 64 KiB: a byte order mark makes it UTF-16, valid UTF-8 is UTF-8, and all else is
// read as Windows-1252.
func Decoded(r io.Reader) io.Reader {
	head := make([]byte, 64<<10)
	n, err := io.ReadFull(r, head)
	head = head[:n]
	all := io.MultiReader(bytes.NewReader(head), r)
	switch {
	case IsUTF16(head):
		return transform.NewReader(all, unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewDecoder())
	case IsUTF8(head, err == nil):
		return transform.NewReader(all, guess{})
	}
	return transform.NewReader(all, charmap.Windows1252.NewDecoder())
}

// DecodedPage returns an HTML page as UTF-8. What is valid UTF-8 is that, else counts
// the encoding that the page names in its first 1024 bytes, as in browsers. ISO-2022-JP
// has escapes and is valid UTF-8, too.
func DecodedPage(r io.Reader) io.Reader {
	buffered := bufio.NewReaderSize(r, 64<<10)
	head, err := buffered.Peek(64 << 10)
	if IsUTF16(head) || IsUTF8(head, err == nil) && bytes.IndexByte(head, 0x1b) < 0 {
		return Decoded(buffered)
	}
	_, label, _ := charset.DetermineEncoding(head, "text/html")
	page, _ := Named(label, buffered) // never an error
	return page
}

// Narrow returns UTF-16 that begins with a byte order mark as UTF-8, and all else
// unchanged.
func Narrow(r io.Reader) io.Reader {
	buffered := bufio.NewReader(r)
	if head, _ := buffered.Peek(2); IsUTF16(head) {
		return transform.NewReader(buffered, unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewDecoder())
	}
	return buffered
}

// IsUTF8 reports whether text is valid UTF-8. If it goes on, its last character
// may be cut.
func IsUTF8(text []byte, goesOn bool) bool {
	_, n, err := transform.Bytes(encoding.UTF8Validator, text)
	return err == nil || goesOn && len(text)-n < 4
}

// guess keeps valid UTF-8, and reads each other byte as Windows-1252.
type guess struct{ transform.NopResetter }

func (guess) Transform(dst, src []byte, atEOF bool) (nDst, nSrc int, err error) {
	for nSrc < len(src) {
		r, n := utf8.DecodeRune(src[nSrc:])
		if r == utf8.RuneError && n == 1 {
			if !atEOF && !utf8.FullRune(src[nSrc:]) {
				return nDst, nSrc, transform.ErrShortSrc
			}
			r = charmap.Windows1252.DecodeByte(src[nSrc])
		}
		if nDst+utf8.RuneLen(r) > len(dst) {
			return nDst, nSrc, transform.ErrShortDst
		}
		nDst += utf8.EncodeRune(dst[nDst:], r)
		nSrc += n
	}
	return nDst, nSrc, nil
}

// Guessed returns a short text of an unknown encoding: valid UTF-8, or else
// Windows-1252.
func Guessed(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	b, _ = charmap.Windows1252.NewDecoder().Bytes(b)
	return string(b)
}

// Named returns text of an encoding with a name of the WHATWG as UTF-8. Programs
// say UTF-8 and ASCII of texts in other encodings, so these are guessed, as the
// text of an unknown encoding is. The error is always nil: the signature is the
// one that encoding/xml asks for.
func Named(label string, r io.Reader) (io.Reader, error) {
	label = strings.ToLower(strings.Trim(strings.TrimSpace(label), `"'`))
	e, _ := htmlindex.Get(label)
	switch {
	case e == nil, e == unicode.UTF8, label == "us-ascii", label == "ascii":
		return Decoded(r), nil
	}
	return transform.NewReader(r, e.NewDecoder()), nil
}

// CopyText writes a stream of UTF-8 to a sink.
func CopyText(r io.Reader, out *Sink) error {
	buffer := make([]byte, 32<<10)
	kept := 0 // bytes of a character that is not complete yet
	for {
		n, err := r.Read(buffer[kept:])
		n += kept
		end := n
		if err == nil {
			end = wholeRunes(buffer[:n])
		}
		if out.Text(string(buffer[:end])) != nil {
			return ErrFull
		}
		kept = copy(buffer, buffer[end:n])
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return ErrBroken
		}
	}
}

// wholeRunes returns the length of b without a last character that may be cut.
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

// OneLine returns the text of a header field as one line. A field that is not
// valid UTF-8 is read as Windows-1252.
func OneLine(s string) string {
	return strings.ReplaceAll(Guessed([]byte(s)), "\n", " ")
}
