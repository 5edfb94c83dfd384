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

// Wide decodes UTF-16 with a byte order mark to UTF-8. It returns other text unchanged.
func Wide(head []byte) []byte {
	if !IsUTF16(head) {
		return head
	}
	decoded, _ := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewDecoder().Bytes(head)
	return decoded
}

// IsUTF16 reports whether a text begins with a byte order mark of UTF-16.
func IsUTF16(head []byte) bool {
	return bytes.HasPrefix(head, []byte("\xff\xfe")) || bytes.HasPrefix(head, []byte("\xfe\xff"))
}

// Decoded returns a reader that decodes text in an unknown encoding to UTF-8. The first 64 KiB
// decide: text with a byte order mark of UTF-16 is UTF-16, and valid UTF-8 is UTF-8. Other text is
// decoded as Windows-1252.
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

// DecodedPage returns a reader that decodes an HTML page to UTF-8. Valid UTF-8 is not decoded.
// Other pages are decoded with the encoding that the page declares in its first 1024 bytes, as in
// browsers. A page with escape characters may be ISO-2022-JP, which is valid UTF-8 too.
func DecodedPage(r io.Reader) io.Reader {
	buffered := bufio.NewReaderSize(r, 64<<10)
	head, err := buffered.Peek(64 << 10)
	if IsUTF16(head) || IsUTF8(head, err == nil) && bytes.IndexByte(head, 0x1b) < 0 {
		return Decoded(buffered)
	}
	_, label, _ := charset.DetermineEncoding(head, "text/html")
	page, _ := Named(label, buffered) // Named guesses the encoding instead of returning an error
	return page
}

// Narrow returns a reader that decodes UTF-16 with a byte order mark to UTF-8. It does not change
// other text.
func Narrow(r io.Reader) io.Reader {
	buffered := bufio.NewReader(r)
	if head, _ := buffered.Peek(2); IsUTF16(head) {
		return transform.NewReader(buffered, unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewDecoder())
	}
	return buffered
}

// IsUTF8 reports whether a text is valid UTF-8. If goesOn is set, more text follows, and the last
// character may be incomplete.
func IsUTF8(text []byte, goesOn bool) bool {
	_, n, err := transform.Bytes(encoding.UTF8Validator, text)
	return err == nil || goesOn && len(text)-n < 4
}

// guess is a Transformer that keeps valid UTF-8 and decodes each other byte as Windows-1252.
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

// Guessed decodes a short text in an unknown encoding. If it is not valid UTF-8, it is decoded as
// Windows-1252.
func Guessed(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	b, _ = charmap.Windows1252.NewDecoder().Bytes(b)
	return string(b)
}

// Named returns a reader that decodes text in the encoding label to UTF-8. label is a name of the
// WHATWG. Many programs declare UTF-8 or ASCII for text in other encodings. So for these, and for
// unknown names, the encoding is guessed. The error is always nil; a CharsetReader of encoding/xml
// has this signature.
func Named(label string, r io.Reader) (io.Reader, error) {
	label = strings.ToLower(strings.Trim(strings.TrimSpace(label), `"'`))
	e, _ := htmlindex.Get(label)
	switch {
	case e == nil, e == unicode.UTF8, label == "us-ascii", label == "ascii":
		return Decoded(r), nil
	}
	return transform.NewReader(r, e.NewDecoder()), nil
}

// CopyText writes UTF-8 from a reader to a sink. It returns ErrFull if the sink is full, and
// ErrBroken if reading fails.
func CopyText(r io.Reader, out *Sink) error {
	buffer := make([]byte, 32<<10)
	kept := 0 // bytes of an incomplete character
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

// wholeRunes returns the length of b without a last character that may be incomplete.
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

// OneLine returns the text of a header field as one line. Text that is not valid UTF-8 is decoded
// as Windows-1252.
func OneLine(s string) string {
	return strings.ReplaceAll(Guessed([]byte(s)), "\n", " ")
}
