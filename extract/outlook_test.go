package extract

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

const outlook = "application/vnd.ms-outlook"

// outlookItem returns the streams of a message: its properties by the ends of their
// names, below a folder.
func outlookItem(folder string, head int, fixed map[uint32]uint64, properties ...entry) []entry {
	item := []entry{{folder + propertyStream, outlookProperties(head, fixed)}}
	for _, p := range properties {
		item = append(item, entry{folder + "__substg1.0_" + p.name, p.content})
	}
	return item
}

// literal returns compressed RTF of bytes that are stored one by one.
func literal(rtf string) string {
	b := append(make([]byte, 8), "LZFu\x00\x00\x00\x00"...)
	for len(rtf) >= 8 {
		b = append(append(b, 0), rtf[:8]...)
		rtf = rtf[8:]
	}
	return string(append(append(b, 0), rtf...))
}

// rtfExample is the first of MS-OXRTFCP, section 3.1.
const rtfExample = "\x2d\x00\x00\x00\x2b\x00\x00\x00LZFu\xf1\xc5\xc7\xa7\x03\x00\x0a\x00rcpg125\x42\x32\x0a\xf3\x20hel\x09\x00\x20bw\x05\xb0ld}\x0a\x80\x0f\xa0"

func TestExtractOutlook(t *testing.T) {
	const page = `{\rtf1\ansi\ansicpg1252\fromhtml1 {\fonttbl{\f0 Arial;}}{\*\htmltag19 <html>}{\*\htmltag64 <p>}\htmlrtf \par\htmlrtf0 ` +
		`Sch{\*\htmltag84 &ouml;}\htmlrtf \'f6\htmlrtf0 ne{\*\htmltag84 <br>}\htmlrtf \line \htmlrtf0 Gr\'fc\'dfe{\*\mhtmltag4 weg} {\htmlrtf nur hier}\u8364?{\*\htmltag72 </p>}}`
	recipient := func(n int, kind uint64, name, address string) []entry {
		fixed := map[uint32]uint64{}
		if kind > 0 {
			fixed[propRecipientKind<<16|typeNumber] = kind
		}
		return outlookItem(fmt.Sprintf("__recip_version1.0_#%08X/", n), 8, fixed, entry{"3001001F", wide16(name)}, entry{"3003001F", wide16(address)})
	}
	whole := outlookItem("", 32, map[uint32]uint64{propSubmitted<<16 | typeTime: uint64(time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC).Unix()+11_644_473_600) * 10_000_000},
		entry{"0037001F", wide16("Kündigung\r\nMietvertrag")}, entry{"0042001F", wide16("Anna Berg")}, entry{"0065001F", wide16("/O=EXCHANGE/CN=ANNA")},
		entry{"5D01001F", wide16("anna@example.com")}, entry{"1000001F", wide16("Договор 😀\r\n")}, entry{"10130102", "<p>dasselbe"})
	whole = append(whole, recipient(0, 2, "Kanzlei", "kanzlei@example.com")...)
	whole = append(whole, recipient(1, 1, "Jürgen Weiß", "weiss@example.com")...)
	whole = append(whole, recipient(2, 3, "Niemand", "bcc@example.com")...)
	whole = append(whole, recipient(3, 0, "b@example.com", "b@example.com")...)
	whole = append(whole, outlookItem("__attach_version1.0_#00000000/", 8, nil, entry{"3704001F", wide16("BESCHE~1.PDF")}, entry{"3707001F", wide16("Bescheid.pdf")})...)
	inner := "__attach_version1.0_#00000001/__substg1.0_3701000D/"
	whole = append(whole, outlookItem("__attach_version1.0_#00000001/", 8, nil, entry{"3001001F", wide16("Anlage")})...)
	whole = append(whole, outlookItem(inner, 24, nil, entry{"0037001F", wide16("Anlage")}, entry{"10130102", "<b>inne</b>rhalb"})...)
	whole = append(whole, outlookItem(inner+"__attach_version1.0_#00000000/", 8, nil, entry{"3704001F", wide16("innen.txt")})...)

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
		{"recipients as Outlook shows them", text(nil, entry{"0037001F", wide16("a")}, entry{"0E04001F", wide16("Anna; Berta")}, entry{"0E03001F", wide16("Carla")}), "a\nAnna; Berta\nCarla"},
		{"Windows-1251", text(codepage(propMessageCodepage, 1251), entry{"1000001E", "\xc4\xee\xe3\xee\xe2\xee\xf0"}), "Договор"},
		{"the code page of the Internet", text(codepage(propInternetCodepage, 28605), entry{"1000001E", "12 \xa4"}), "12 €"},
		{"no code page", text(nil, entry{"1000001E", "M\xfcller"}), "Müller"},
		{"a page in KOI8-R", text(codepage(propInternetCodepage, 20866), entry{"10130102", "<p>\xe4\xcf\xc7\xcf\xd7\xcf\xd2</p>"}), "Договор"},
		{"a page as text", text(nil, entry{"1013001F", wide16("<p>Grüße")}), "Grüße"},
		{"a body of blanks before a page", text(nil, entry{"1000001F", wide16(" \r\n\x00")}, entry{"10130102", "<p>Grüße"}), "Grüße"},
		{"RTF", text(nil, entry{"10090102", literal(`{\rtf1\ansi M\'fcller}`)}), "Müller"},
		{"RTF that is stored", text(nil, entry{"10090102", "\x00\x00\x00\x00\x00\x00\x00\x00MELA\x00\x00\x00\x00" + `{\rtf1 Hallo}`}), "Hallo"},
		{"RTF with references", text(nil, entry{"10090102", rtfExample}), "hello world"},
		{"RTF with something behind its end", text(nil, entry{"10090102", strings.TrimSuffix(literal(`{\rtf1 a`), "\x00") + "\x01\x0d\x70behind it"}), "a"},
		{"a page within RTF", text(nil, entry{"10090102", literal(page)}), "Schöne\nGrüße €"},
		{"nothing", text(nil), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := textOf(t, Limits{}, string(filed(c.content...)), outlook); got != (Text{Body: c.want}) {
				t.Errorf("%+v\nwant %q", got, c.want)
			}
		})
	}
}

// nested returns a message within a message, so many deep.
func nested(depth int) []byte {
	var all []entry
	folder, head := "", 32
	for range depth {
		all = append(all, outlookItem(folder, head, nil, entry{"0037001F", wide16("a")})...)
		folder, head = folder+"__attach_version1.0_#00000000/__substg1.0_3701000D/", 24
	}
	return filed(all...)
}

func TestOutlookThatIsHostile(t *testing.T) {
	many := outlookItem("", 32, nil)
	for i := range maxParts + 1 {
		many = append(many, outlookItem(fmt.Sprintf("__attach_version1.0_#%08X/", i), 8, nil, entry{"3704001F", "a\x00"})...)
	}
	// Each token is a reference to the byte before: 2 bytes become 17.
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
	for _, c := range []struct {
		name    string
		content []byte
		want    Reason
	}{
		{"messages within messages", nested(maxDepth + 1), Complete},
		{"messages within messages that do not end", nested(maxDepth + 2), Inflated},
		{"more attachments than any message has", filed(many...), Inflated},
		{"RTF that unfolds into more than is read", filed(outlookItem("", 32, nil, entry{"10090102", string(bomb)})...), Inflated},
		{"properties that are cut", filed(entry{propertyStream, "abc"}), Broken},
		{"RTF of another method", filed(outlookItem("", 32, nil, entry{"10090102", strings.Repeat("x", 20)})...), Broken},
		{"no message", filed(entry{"WordDocument", ""}), Broken},
	} {
		t.Run(c.name, func(t *testing.T) {
			if text := textOf(t, Limits{Memory: 256 << 20}, string(c.content), outlook); text.Reason != c.want {
				t.Errorf("%q, %.100q; want %q", text.Reason, text.Body, c.want)
			}
		})
	}
}

// readHere runs a reader in this process.
func readHere(r reader, content []byte) (string, error) {
	var out bytes.Buffer
	s := newSink(&out, 1<<20)
	err := r(&input{Reader: bytes.NewReader(content), limits: Limits{}.withDefaults()}, s)
	s.close()
	return out.String(), err
}

// compoundReaders are those of compound files, with a file for each.
var compoundReaders = []struct {
	name string
	read reader
}{
	{"letter.msg", readOutlook},
	{"draft.msg", readOutlook},
	{"notes.doc", readWord97},
	{"book.xls", readExcel97},
	{"slides.ppt", readPowerPoint97},
}

// A file that was cut is broken and no more, wherever it was cut, and of what
// is there nothing is read that the whole file does not say.
func TestCompoundThatIsCut(t *testing.T) {
	for _, c := range compoundReaders {
		content, err := os.ReadFile("testdata/" + c.name)
		if err != nil {
			t.Fatal(err)
		}
		whole, err := readHere(c.read, content)
		if err != nil || whole == "" {
			t.Fatalf("%s: %q, %v", c.name, whole, err)
		}
		broken := 0
		for n := 0; n < len(content); n += 64 {
			if text, err := readHere(c.read, content[:n]); err != nil {
				broken++
			} else if len(text) > len(whole) {
				t.Errorf("%s: the first %d bytes say %q", c.name, n, text)
			}
		}
		if broken == 0 {
			t.Errorf("%s: it was never broken", c.name)
		}
	}
}

// Each number of the tables and the directory may be any: that ends, and takes
// no more than the file's size.
func TestCompoundThatIsTurned(t *testing.T) {
	content := filed(outlookItem("", 32, nil, entry{"0037001F", wide16("a")}, entry{"1000001F", wide16(strings.Repeat("b", 9000))})...)
	fat := (int(binary.LittleEndian.Uint32(content[76:])) + 1) * 512
	directory := (int(binary.LittleEndian.Uint32(content[48:])) + 1) * 512
	for at := 24; at < fat+256; at += 4 {
		switch at {
		case 100: // of the table's own sectors there is one
			at = directory
		case directory + 512:
			at = fat
		}
		for _, v := range []uint32{0, 1, 2, 0x7fffffff, 0xfffffff9, 0xfffffffe, 0xffffffff} {
			turned := bytes.Clone(content)
			binary.LittleEndian.PutUint32(turned[at:], v)
			readHere(readOutlook, turned)
		}
	}
}

func TestCompoundThatIsHostile(t *testing.T) {
	message := outlookItem("", 32, nil, entry{"0037001F", wide16("a")}, entry{"1000001F", wide16(strings.Repeat("b", 9000))})
	whole := filed(message...)
	turn := func(at int, v uint32) []byte {
		b := bytes.Clone(whole)
		binary.LittleEndian.PutUint32(b[at:], v)
		return b
	}
	field := func(at int) int { return int(binary.LittleEndian.Uint32(whole[at:])) }
	fat := (field(76) + 1) * 512
	directory := (field(48) + 1) * 512
	for _, c := range []struct {
		name    string
		content []byte
		want    Reason
	}{
		{"as it is", whole, Complete},
		{"a directory that goes in circles", turn(fat+4*field(48), uint32(field(48))), Complete},
		{"an entry that is its own sibling", turn(directory+3*128+72, 3), Broken},
		{"a root that is its own child", turn(directory+76, 0), Broken},
		{"a stream that is longer than its chain", turn(directory+128*3+120, 0xffffffff), Broken},
		{"a stream that goes in circles", turn(fat, 0), Complete},
		{"sectors of another size", turn(30, 31), Broken},
		{"tables without end", turn(76, 0xfffffff0), Broken},
	} {
		t.Run(c.name, func(t *testing.T) {
			if text := textOf(t, Limits{Memory: 256 << 20}, string(c.content), outlook); text.Reason != c.want {
				t.Errorf("%q, %.100q; want %q", text.Reason, text.Body, c.want)
			}
		})
	}
}

// Files of version 4 have larger sectors.
func TestCompoundOfLargeSectors(t *testing.T) {
	content := filedIn(4096, outlookItem("", 32, nil, entry{"0037001F", wide16("Betreff")}, entry{"1000001F", wide16(strings.Repeat("Wort ", 1000))})...)
	if text := textOf(t, Limits{}, string(content), outlook); text != (Text{Body: "Betreff\n\n" + strings.TrimSpace(strings.Repeat("Wort ", 1000))}) {
		t.Errorf("%q, %.100q", text.Reason, text.Body)
	}
}

// A large file has tables beyond the header, and is held once.
func TestCompoundThatIsLarge(t *testing.T) {
	if testing.Short() {
		t.Skip("it makes a file of 100 MiB")
	}
	content := filed(outlookItem("", 32, nil, entry{"0037001F", wide16("Betreff")}, entry{"37010102", strings.Repeat("x", 96<<20)}, entry{"1000001F", wide16(strings.Repeat("Wort ", 2000))})...)
	text := textOf(t, Limits{Memory: 256 << 20}, string(content), outlook)
	if text.Reason != Complete || !strings.HasPrefix(text.Body, "Betreff\n\nWort Wort") {
		t.Errorf("%q, %.100q", text.Reason, text.Body)
	}
}
