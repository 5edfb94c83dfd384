package legacy

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"kartei/extract/textio"
	"kartei/test/readtest"
)

// outlookItem returns the streams of a message in a folder. The names of the properties are
// appended to the prefix of the streams' names.
func outlookItem(folder string, head int, fixed map[uint32]uint64, properties ...entry) []entry {
	item := []entry{{folder + propertyStream, outlookProperties(head, fixed)}}
	for _, p := range properties {
		item = append(item, entry{folder + "__substg1.0_" + p.name, p.content})
	}
	return item
}

// literal returns compressed RTF that stores each byte as a literal.
func literal(rtf string) string {
	b := append(make([]byte, 8), "LZFu\x00\x00\x00\x00"...)
	for len(rtf) >= 8 {
		b = append(append(b, 0), rtf[:8]...)
		rtf = rtf[8:]
	}
	return string(append(append(b, 0), rtf...))
}

// rtfExample is the first example of MS-OXRTFCP, section 3.1.
const rtfExample = "\x2d\x00\x00\x00\x2b\x00\x00\x00LZFu\xf1\xc5\xc7\xa7\x03\x00\x0a\x00rcpg125\x42\x32\x0a\xf3\x20hel\x09\x00\x20bw\x05\xb0ld}\x0a\x80\x0f\xa0"

func TestOutlook(t *testing.T) {
	const page = `{\rtf1\ansi\ansicpg1252\fromhtml1 {\fonttbl{\f0 Arial;}}{\*\htmltag19 <html>}{\*\htmltag64 <p>}\htmlrtf \par\htmlrtf0 ` +
		`Sch{\*\htmltag84 &ouml;}\htmlrtf \'f6\htmlrtf0 ne{\*\htmltag84 <br>}\htmlrtf \line \htmlrtf0 Gr\'fc\'dfe{\*\mhtmltag4 weg} {\htmlrtf nur hier}\u8364?{\*\htmltag72 </p>}}`
	recipient := func(n int, kind uint64, name, address string) []entry {
		fixed := map[uint32]uint64{}
		if kind > 0 {
			fixed[propRecipientKind<<16|typeNumber] = kind
		}
		return outlookItem(fmt.Sprintf("__recip_version1.0_#%08X/", n), 8, fixed, entry{"3001001F", wide16(name)},
			entry{"3003001F", wide16(address)})
	}
	whole := outlookItem("", 32, map[uint32]uint64{
		propSubmitted<<16 | typeTime: uint64(time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC).Unix()+11_644_473_600) * 10_000_000,
	},
		entry{"0037001F", wide16("Kündigung\r\nMietvertrag")}, entry{"0042001F", wide16("Anna Berg")},
		entry{"0065001F", wide16("/O=EXCHANGE/CN=ANNA")},
		entry{"5D01001F", wide16("anna@example.com")}, entry{"1000001F", wide16("Договор 😀\r\n")},
		entry{"10130102", "<p>&#x414;оговор 😀"})
	whole = append(whole, recipient(0, 2, "Kanzlei", "kanzlei@example.com")...)
	whole = append(whole, recipient(1, 1, "Jürgen Weiß", "weiss@example.com")...)
	whole = append(whole, recipient(2, 3, "Niemand", "bcc@example.com")...)
	whole = append(whole, recipient(3, 0, "b@example.com", "b@example.com")...)
	whole = append(whole, outlookItem("__attach_version1.0_#00000000/", 8, nil,
		entry{"3704001F", wide16("BESCHE~1.PDF")}, entry{"3707001F", wide16("Bescheid.pdf")})...)
	inner := "__attach_version1.0_#00000001/__substg1.0_3701000D/"
	whole = append(whole, outlookItem("__attach_version1.0_#00000001/", 8, nil, entry{"3001001F", wide16("Anlage")})...)
	whole = append(whole, outlookItem(inner, 24, nil, entry{"0037001F", wide16("Anlage")},
		entry{"10130102", "<b>inne</b>rhalb"})...)
	whole = append(whole, outlookItem(inner+"__attach_version1.0_#00000000/", 8, nil,
		entry{"3704001F", wide16("innen.txt")})...)

	text := func(fixed map[uint32]uint64, properties ...entry) []entry {
		return outlookItem("", 32, fixed, properties...)
	}
	codepage := func(property uint32, page uint64) map[uint32]uint64 {
		return map[uint32]uint64{property<<16 | typeNumber: page}
	}
	for _, c := range []struct {
		name    string
		content []entry
		want    string
	}{
		{"all that there is", whole, "Kündigung Mietvertrag\nAnna Berg anna@example.com\nJürgen Weiß weiss@example.com\tb@example.com\nKanzlei kanzlei@example.com\n" +
			"Mon, 02 Nov 2026 09:00:00 +0000\n\nДоговор 😀\nBescheid.pdf\n\nAnlage\n\ninnerhalb\ninnen.txt"},
		{
			"recipients as Outlook shows them",
			text(nil, entry{"0037001F", wide16("a")}, entry{"0E04001F", wide16("Anna; Berta")},
				entry{"0E03001F", wide16("Carla")}),
			"a\nAnna; Berta\nCarla",
		},
		{
			"Windows-1251",
			text(codepage(propMessageCodepage, 1251), entry{"1000001E", "\xc4\xee\xe3\xee\xe2\xee\xf0"}),
			"Договор",
		},
		{"the code page of the Internet", text(codepage(propInternetCodepage, 28605), entry{"1000001E", "12 \xa4"}), "12 €"},
		{"a locale, and another code page of the Internet",
			text(map[uint32]uint64{propMessageLocale<<16 | typeNumber: 1031, propInternetCodepage<<16 | typeNumber: 1251},
				entry{"0037001E", "Subject \xf6\xe4\xfc"}, entry{"10130102", "<p>\xf6\xe4\xfc</p>"}), "Subject öäü\n\nцдь"},
		{"a locale, and a body in UTF-8", text(map[uint32]uint64{
			propMessageLocale<<16 | typeNumber: 1031, propInternetCodepage<<16 | typeNumber: 65001,
		},
			entry{"0037001E", "Subject \xf6\xe4\xfc"}, entry{"1000001E", "Körper"}), "Subject öäü\n\nKörper"},
		{
			"a locale alone",
			text(map[uint32]uint64{propMessageLocale<<16 | typeNumber: 0x0415}, entry{"1000001E", "\xa3\xf3d\x9f"}),
			"Łódź",
		},
		{"UTF-8 as the code page of a message that is not in it",
			text(map[uint32]uint64{propMessageCodepage<<16 | typeNumber: 65001, propMessageLocale<<16 | typeNumber: 1032},
				entry{"1000001E", "\xcb\xfc\xe3\xef\xf2"}), "Λόγος"},
		{
			"a text that only says that there is a page",
			text(nil, entry{"1000001F", wide16("Kein HTML?")}, entry{"1013001F", wide16("<p>Rumpfwort")}),
			"Kein HTML?\n\nRumpfwort",
		},
		{"no code page", text(nil, entry{"1000001E", "M\xfcller"}), "Müller"},
		{
			"a page in KOI8-R",
			text(codepage(propInternetCodepage, 20866), entry{"10130102", "<p>\xe4\xcf\xc7\xcf\xd7\xcf\xd2</p>"}),
			"Договор",
		},
		{"a page as text", text(nil, entry{"1013001F", wide16("<p>Grüße")}), "Grüße"},
		{
			"a body of blanks before a page",
			text(nil, entry{"1000001F", wide16(" \r\n\x00")}, entry{"10130102", "<p>Grüße"}), "Grüße",
		},
		{"RTF", text(nil, entry{"10090102", literal(`{\rtf1\ansi M\'fcller}`)}), "Müller"},
		{
			"RTF that is stored",
			text(nil, entry{"10090102", "\x00\x00\x00\x00\x00\x00\x00\x00MELA\x00\x00\x00\x00" + `{\rtf1 Hallo}`}),
			"Hallo",
		},
		{"RTF with references", text(nil, entry{"10090102", rtfExample}), "hello world"},
		{
			"RTF with something behind its end",
			text(nil, entry{"10090102", strings.TrimSuffix(literal(`{\rtf1 a`), "\x00") + "\x01\x0d\x70behind it"}),
			"a",
		},
		{"a page within RTF", text(nil, entry{"10090102", literal(page)}), "Schöne\nGrüße €"},
		{"nothing", text(nil), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var want error
			if strings.Contains(c.want, ".pdf") {
				want = textio.ErrContained
			}
			if got, err := readtest.Text(t, Outlook, filed(c.content...), textLimit); got != c.want || err != want {
				t.Errorf("%q, %v\nwant %q", got, err, c.want)
			}
		})
	}
}

// nested returns a message with messages nested in each other. depth is the number of messages.
func nested(depth int) []byte {
	var all []entry
	folder, head := "", 32
	for range depth {
		all = append(all, outlookItem(folder, head, nil, entry{"0037001F", wide16("a")})...)
		folder, head = folder+"__attach_version1.0_#00000000/__substg1.0_3701000D/", 24
	}
	return filed(all...)
}

func hostileOutlook() []HostileFile {
	many := outlookItem("", 32, nil)
	for i := range maxParts + 1 {
		many = append(many, outlookItem(fmt.Sprintf("__attach_version1.0_#%08X/", i), 8, nil, entry{"3704001F", "a\x00"})...)
	}
	// Each token refers to the byte before it. So two bytes become 17.
	const before = `{\rtf1 {\pict   `
	bomb := []byte(literal(before))
	bomb = bomb[:len(bomb)-1]
	at := len(rtfDictionary) + len(before)
	for range 2_200_000 {
		bomb = append(bomb, 0xff)
		for range 8 {
			from := (at + rtfWindow - 1) % rtfWindow
			bomb = append(bomb, byte(from>>4), byte(from<<4)|0xf)
			at = (at + 17) % rtfWindow
		}
	}
	return []HostileFile{
		{"messages within messages", nested(maxDepth + 1), "", nil},
		{"messages within messages that do not end", nested(maxDepth + 2), "", textio.ErrInflated},
		{"more attachments than any message has", filed(many...), "", textio.ErrInflated},
		{
			"RTF that unfolds into more than is read",
			filed(outlookItem("", 32, nil, entry{"10090102", string(bomb)})...), "", textio.ErrInflated,
		},
		{"properties that are cut", filed(entry{propertyStream, "abc"}), "", textio.ErrBroken},
		{
			"RTF of another method",
			filed(outlookItem("", 32, nil, entry{"10090102", strings.Repeat("x", 20)})...), "", textio.ErrBroken,
		},
		{"no message", filed(entry{"WordDocument", ""}), "", textio.ErrBroken},
	}
}
