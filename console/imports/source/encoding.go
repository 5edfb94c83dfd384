package source

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
)

// decoder makes texts of values. A file may have several encodings: cards of two
// programs, a line that was pasted, one bad byte. So each value is decided by itself:
// what is valid UTF-8 is that, then counts what the value declares, and the rest is the
// code page of Western Europe, which Excel and Outlook write.
type decoder struct {
	// mac says that the file has the line ends of old Macs, whose code page it has then.
	mac bool
	// dos and windows count the values that only fit in one of these code pages.
	dos, windows int
	// unicode and other report which values came.
	unicode, other bool
}

// encoding names what came.
func (d *decoder) encoding(file string) string {
	switch {
	case !d.other:
		return file
	case d.unicode:
		return Mixed
	}
	return Windows
}

// text returns what bytes say, in the encoding that they declare or not.
func (d *decoder) text(value []byte, charset string) string {
	if utf8.Valid(value) && !(bytes.IndexByte(value, 0x1b) >= 0 && strings.HasPrefix(charset, "iso-2022")) {
		if !d.unicode {
			d.unicode = bytes.ContainsFunc(value, func(r rune) bool { return r >= utf8.RuneSelf })
		}
		return string(value)
	}
	d.other = true
	if e, err := htmlindex.Get(charset); charset != "" && err == nil {
		if name, _ := htmlindex.Name(e); name != "utf-8" && name != "replacement" && name != "windows-1252" {
			if text, err := e.NewDecoder().Bytes(value); err == nil {
				return string(text)
			}
		}
	}
	page := d.page(value)
	var b strings.Builder
	for len(value) > 0 { // what is valid between bad bytes stays
		r, size := utf8.DecodeRune(value)
		if r == utf8.RuneError && size == 1 {
			r = page.DecodeByte(value[0])
		}
		if r == utf8.RuneError {
			r = -1
		}
		if r >= 0 {
			b.WriteRune(r)
		}
		value = value[size:]
	}
	return b.String()
}

// page returns the code page of a value with bytes that are no UTF-8.
func (d *decoder) page(value []byte) *charmap.Charmap {
	dos, windows := evidence(value)
	if dos {
		d.dos++
	}
	if windows {
		d.windows++
	}
	switch {
	case d.mac:
		return charmap.Macintosh
	case dos && !windows, !windows && d.dos > d.windows:
		return charmap.CodePage850
	}
	return charmap.Windows1252
}

// evidence reports what only fits in the code page of DOS, whose umlauts are signs in the
// middle of a word in the code page of Windows, and what only fits in the latter.
func evidence(value []byte) (dos, windows bool) {
	letter := func(i int) bool {
		return i >= 0 && i < len(value) && unicode.IsLetter(rune(value[i])) && value[i] < utf8.RuneSelf
	}
	for i, c := range value {
		switch c {
		case 0x81:
			dos = true
		case 0x84, 0x94, 0x99: // ä ö Ö, or signs of Windows
			dos = dos || letter(i-1) && letter(i+1)
		case 0xe4, 0xf6, 0xfc, 0xdf, 0xc4, 0xd6, 0xdc, 0xe9, 0xe8: // umlauts of Windows, or lines and signs of DOS
			windows = windows || letter(i-1) || letter(i+1)
		}
	}
	return dos, windows
}
