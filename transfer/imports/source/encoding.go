package source

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
)

// decoder converts the bytes of values to text. A file can have several encodings, for example if
// it has cards of two programs, a pasted line, or one bad byte. So the encoding is decided for each
// value. Valid UTF-8 is taken as such. Otherwise the declared encoding of the value counts, and
// else a code page, usually the one of Western Europe.
type decoder struct {
	// mac says that the file has the code page of the Macintosh, for example because it has the
	// line ends of old Macs. Excel for Mac writes this code page with other line ends.
	mac bool
	// seen counts the evidence for each code page so far.
	seen pages
	// unicode and other say whether values in UTF-8 and in other encodings have occurred.
	unicode, other bool
}

// encoding returns the encoding of the values so far. file is the encoding of the whole file.
func (d *decoder) encoding(file string) string {
	switch {
	case !d.other:
		return file
	case d.unicode:
		return Mixed
	}
	return Windows
}

// text returns the text of a value. charset is its declared encoding, or empty.
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
	for len(value) > 0 { // keeps the valid parts between bad bytes
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

// page returns the code page of a value that is not UTF-8. If the value itself gives no evidence,
// the evidence in the rest of the file decides.
func (d *decoder) page(value []byte) *charmap.Charmap {
	e := evidence(value)
	d.seen.add(e)
	switch {
	case d.mac:
		return charmap.Macintosh
	case e.dos > 0 && e.windows == 0, e.windows == 0 && d.seen.dos > d.seen.windows:
		return charmap.CodePage850
	case d.seen.central > d.seen.dos:
		return charmap.Windows1250
	}
	return charmap.Windows1252
}

// look collects evidence from the beginning of a file, before the first value is decoded.
func (d *decoder) look(begin []byte) {
	for line := range bytes.Lines(begin) {
		if !utf8.Valid(line) {
			d.seen.add(evidence(line))
		}
	}
	d.mac = d.mac || d.seen.mac > d.seen.dos && d.seen.mac > d.seen.windows
}

// pages counts the bytes that are plausible in only one code page.
type pages struct{ dos, mac, central, windows int }

func (p *pages) add(more pages) {
	p.dos, p.mac, p.central, p.windows = p.dos+more.dos, p.mac+more.mac, p.central+more.central, p.windows+more.windows
}

// evidence counts the evidence for each code page in a value. Umlauts of DOS and the Macintosh
// would be symbols within words in the code page of Windows. The same holds for letters of Central
// Europe in the code page of Western Europe.
func evidence(value []byte) (p pages) {
	is := func(i int, kind func(rune) bool) bool {
		return i >= 0 && i < len(value) && value[i] < utf8.RuneSelf && kind(rune(value[i]))
	}
	for i, c := range value {
		before, after := is(i-1, unicode.IsLetter), is(i+1, unicode.IsLetter)
		switch c {
		case 0x81: // ü in DOS
			p.dos++
		case 0x84, 0x94, 0x99: // ä ö Ö in DOS
			if before && after {
				p.dos++
			}
		case 0x8a, 0x9f: // ä ü on the Macintosh
			if is(i-1, unicode.IsLower) || before && after {
				p.mac++
			}
		case 0xa7: // ß on the Macintosh
			if before {
				p.mac++
			}
		case 0xa3: // Ł in Central Europe
			if !before && is(i+1, unicode.IsLower) {
				p.central++
			}
		case 0xb3, 0xb9, 0xbf: // ł ą ż in Central Europe
			if before && after {
				p.central++
			}
		case 0xe4, 0xf6, 0xfc, 0xdf, 0xc4, 0xd6, 0xdc, 0xe9, 0xe8: // umlauts in Windows, or line-drawing characters in DOS
			if before || after {
				p.windows++
			}
		}
	}
	return p
}
