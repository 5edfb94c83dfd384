package legacy

import (
	"fmt"
	"io"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"

	"kartei/extract/textio"
)

// codepage returns the encoding of a Windows code page. It returns nil for an unknown code page.
func codepage(page uint64) encoding.Encoding {
	name := codepageNames[page]
	switch {
	case page == 437:
		return charmap.CodePage437
	case page == 850:
		return charmap.CodePage850
	case page == 852:
		return charmap.CodePage852
	case page >= 1250 && page <= 1258:
		name = fmt.Sprintf("windows-%d", page)
	case page >= 28591 && page <= 28606:
		name = fmt.Sprintf("iso-8859-%d", page-28590)
	}
	e, _ := htmlindex.Get(name)
	return e
}

// inCodepage returns a reader that decodes text in a Windows code page to UTF-8. For an unknown
// code page, the encoding is guessed from the text.
func inCodepage(page uint64, r io.Reader) (io.Reader, error) {
	if e := codepage(page); e != nil {
		return transform.NewReader(r, e.NewDecoder()), nil
	}
	return textio.Decoded(r), nil
}

// codepageNames maps code pages to names of encodings if the name does not contain the number.
// 65001, UTF-8, is missing: its encoding is guessed, since such texts are sometimes in another
// encoding.
var codepageNames = map[uint64]string{866: "ibm866", 874: "windows-874", 932: "shift_jis", 936: "gbk",
	949: "euc-kr", 950: "big5", 10000: "macintosh",
	10007: "x-mac-cyrillic", 20866: "koi8-r", 20932: "euc-jp", 21866: "koi8-u", 50220: "iso-2022-jp", 51932: "euc-jp",
	51949: "euc-kr", 54936: "gb18030"}

// utf8Page is the code page of UTF-8.
const utf8Page = 65001

// codepageOf returns the code page of a Windows locale (MS-LCID). The lower ten bits of a locale
// are its language.
func codepageOf(locale uint64) uint64 {
	switch locale & 0xffff {
	case 0x081a, 0x241a, 0x141a, 0x181a, 0x2c1a: // Serbian and Bosnian in Latin letters
		return 1250
	case 0x0c1a, 0x1c1a, 0x201a, 0x281a, 0x301a: // Serbian and Bosnian in Cyrillic letters
		return 1251
	case 0x082c, 0x0843: // Azerbaijani and Uzbek in Cyrillic letters
		return 1251
	case 0x0004, 0x0804, 0x1004: // Chinese in simplified characters
		return 936
	}
	if page := languagePages[locale&0x3ff]; page > 0 {
		return page
	}
	return westernPage
}

// languagePages maps languages to code pages. Languages that are missing use Windows-1252.
var languagePages = map[uint64]uint64{0x05: 1250, 0x0e: 1250, 0x15: 1250, 0x18: 1250, 0x1a: 1250, 0x1b: 1250,
	0x1c: 1250, 0x24: 1250,
	0x02: 1251, 0x19: 1251, 0x22: 1251, 0x23: 1251, 0x28: 1251, 0x2f: 1251, 0x3f: 1251, 0x40: 1251, 0x44: 1251, 0x50: 1251,
	0x08: 1253, 0x1f: 1254, 0x2c: 1254, 0x43: 1254, 0x0d: 1255, 0x01: 1256, 0x20: 1256, 0x29: 1256, 0x25: 1257,
	0x26: 1257, 0x27: 1257,
	0x2a: 1258, 0x1e: 874, 0x11: 932, 0x12: 949, 0x04: 950}

// utf16le returns a reader that decodes UTF-16 (little endian, without byte order mark) to UTF-8.
func utf16le(r io.Reader) io.Reader {
	return transform.NewReader(r, unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM).NewDecoder())
}
