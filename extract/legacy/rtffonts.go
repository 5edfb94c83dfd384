package legacy

import (
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"

	"kartei/extract/textio"
)

// noFont stands for the default font.
const noFont = -1

// westernPage is the code page of RTF that names none.
const westernPage = 1252

// rtfFonts are the code pages of an RTF document and of its fonts. A byte beyond
// ASCII is read in the code page of its font.
type rtfFonts struct {
	page     int
	standard int         // the number of the default font
	pages    map[int]int // by the number of the font
	now      int         // the font that the table defines
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

// maxFonts bounds the fonts that are known.
const maxFonts = 10_000

// rtfCharsets are the code pages of the character sets of Windows. 0 is western
// text, and 1 the standard one: see pageOf. 2 is the set of symbols.
var rtfCharsets = map[int]int{77: 10000, 78: 932, 79: 949, 80: 936, 81: 950, 83: 1255, 84: 1256, 85: 1253, 86: 1254,
	87: 874, 88: 1250, 89: 1251,
	128: 932, 129: 949, 130: 949, 134: 936, 136: 950, 161: 1253, 162: 1254, 163: 1258, 177: 1255, 178: 1256, 186: 1257,
	204: 1251, 222: 874,
	238: 1250, 254: 437, 255: 850}

// set acts on a control word about code pages and fonts.
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

// defining remembers the font whose character set may follow.
func (f *rtfFonts) defining(font int) { f.now = font }

func (f *rtfFonts) define(page int) {
	if f.now != noFont && len(f.pages) < maxFonts {
		f.pages[f.now] = page
	}
}

// pageOf returns the code page of a font. Programs outside western Europe write
// the character set 0 for all fonts and name the code page of the document; Word
// names a font of its own for that code page, and means western text by 0.
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

// doubleByte reports whether a code page has characters of two bytes.
func doubleByte(page int) bool { return page == 932 || page == 936 || page == 949 || page == 950 }

// startsPair reports whether a byte is the first of two.
func startsPair(page int, b byte) bool {
	return b >= 0x81 && b <= 0xfe && !(page == 932 && (b >= 0xa0 && b <= 0xdf || b > 0xfc))
}

// decode returns the character of some bytes, and false if another byte belongs
// to it.
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

// decoderOf returns the decoder of a code page. An unknown code page is read as
// Windows-1252.
func decoderOf(page int) *encoding.Decoder {
	if e := codepage(uint64(page)); e != nil {
		return e.NewDecoder()
	}
	e, _ := htmlindex.Get("windows-1252") // always there
	return e.NewDecoder()
}
