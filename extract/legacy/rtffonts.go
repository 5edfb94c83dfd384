package legacy

import (
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"

	"kartei/extract/textio"
)

// noFont is the number that means the default font.
const noFont = -1

// westernPage is the code page of an RTF document that does not have one.
const westernPage = 1252

// rtfFonts are the code pages of an RTF document and of its fonts. A byte beyond ASCII is decoded
// with the code page of its font.
type rtfFonts struct {
	page     int
	standard int         // the number of the default font
	pages    map[int]int // by the number of the font
	now      int         // the font that the font table is defining
	decoders map[int]*encoding.Decoder
}

func newRTFFonts() rtfFonts {
	return rtfFonts{
		page:     westernPage,
		standard: noFont,
		pages:    map[int]int{},
		now:      noFont,
		decoders: map[int]*encoding.Decoder{},
	}
}

// maxFonts is the maximum number of fonts whose code pages are kept.
const maxFonts = 10_000

// rtfCharsets maps character sets of Windows to code pages. The sets 0 (western), 1 (default) and 2
// (symbols) are missing. pageOf handles fonts with such sets.
var rtfCharsets = map[int]int{77: 10000, 78: 932, 79: 949, 80: 936, 81: 950, 83: 1255, 84: 1256, 85: 1253, 86: 1254,
	87: 874, 88: 1250, 89: 1251,
	128: 932, 129: 949, 130: 949, 134: 936, 136: 950, 161: 1253, 162: 1254, 163: 1258, 177: 1255, 178: 1256, 186: 1257,
	204: 1251, 222: 874,
	238: 1250, 254: 437, 255: 850}

// set handles a control word about code pages and fonts.
func (f *rtfFonts) set(word string, number int) {
	switch word {
	case "ansicpg":
		if number > 0 {
			f.page = number
		}
	case "mac":
		f.page = 10000
	case "pc":
		f.page = 437
	case "pca":
		f.page = 850
	case "deff":
		f.standard = number
	case "fcharset":
		if page := rtfCharsets[number]; page > 0 {
			f.define(page)
		}
	case "cpg":
		if number > 0 {
			f.define(number)
		}
	}
}

// defining sets the font to which a following character set belongs.
func (f *rtfFonts) defining(font int) { f.now = font }

func (f *rtfFonts) define(page int) {
	if f.now != noFont && len(f.pages) < maxFonts {
		f.pages[f.now] = page
	}
}

// pageOf returns the code page of a font. Programs outside western Europe use the character set 0
// for all fonts, and set the code page of the document. Word has a separate font for this code
// page, and uses 0 for western text.
func (f *rtfFonts) pageOf(font int) int {
	if font == noFont {
		font = f.standard
	}
	if page := f.pages[font]; page > 0 {
		return page
	}
	if font != noFont && f.page != westernPage && !doubleByte(f.page) {
		for _, page := range f.pages {
			if page == f.page {
				return westernPage
			}
		}
	}
	return f.page
}

// doubleByte reports whether some characters of a code page have two bytes.
func doubleByte(page int) bool { return page == 932 || page == 936 || page == 949 || page == 950 }

// startsPair reports whether b is the first byte of a character of two bytes.
func startsPair(page int, b byte) bool {
	return b >= 0x81 && b <= 0xfe && !(page == 932 && (b >= 0xa0 && b <= 0xdf || b > 0xfc))
}

// decode returns the character that the bytes b encode. The result false means that the character
// has further bytes.
func (f *rtfFonts) decode(font int, b []byte) (string, bool) {
	page := f.pageOf(font)
	switch {
	case page == 65001 && !utf8.FullRune(b), doubleByte(page) && len(b) == 1 && startsPair(page, b[0]):
		return "", false
	case page == 65001:
		return textio.Guessed(b), true
	}
	d := f.decoders[page]
	if d == nil {
		d = decoderOf(page)
		f.decoders[page] = d
	}
	text, err := d.Bytes(b)
	if err != nil {
		return "", true
	}
	return string(text), true
}

// decoderOf returns the decoder of a code page. For an unknown code page it returns the decoder of
// Windows-1252.
func decoderOf(page int) *encoding.Decoder {
	if e := codepage(uint64(page)); e != nil {
		return e.NewDecoder()
	}
	e, _ := htmlindex.Get("windows-1252") // this name is always known
	return e.NewDecoder()
}
