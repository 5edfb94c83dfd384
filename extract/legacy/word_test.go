package legacy

import (
	"encoding/binary"
	"strings"
	"testing"
	"unicode/utf16"

	"kartei/extract/textio"
	"kartei/test/readtest"
)

// wordOf returns a Word 97 document. lengths are the numbers of characters of its parts. Pieces
// that contain a NUL are UTF-16, and the other pieces are Windows-1252.
func wordOf(flags uint16, lengths []int, pieces ...string) []byte {
	le := binary.LittleEndian
	head := make([]byte, 1024)
	le.PutUint16(head, wordMark)
	le.PutUint16(head[2:], wordOldest)
	le.PutUint16(head[wordFlags:], flags)
	for i, n := range lengths {
		le.PutUint32(head[wordLengths+4*i:], uint32(n))
	}
	text := string(head)
	var starts, places []byte
	at := 0
	for _, p := range pieces {
		starts = le.AppendUint32(starts, uint32(at))
		places = append(places, 0, 0)
		if strings.Contains(p, "\x00") {
			places = le.AppendUint32(places, uint32(len(text)))
			at += len(p) / 2
		} else {
			places = le.AppendUint32(places, uint32(2*len(text))|0x40000000)
			at += len(p)
		}
		places = append(places, 0, 0)
		text += p
	}
	starts = le.AppendUint32(starts, uint32(at))
	table := append([]byte("\x01\x03\x00abc\x02"), le.AppendUint32(nil, uint32(len(starts)+len(places)))...)
	table = append(append(table, starts...), places...)
	b := []byte(text)
	le.PutUint32(b[wordPieces:], 5)
	le.PutUint32(b[wordPieces+4:], uint32(len(table)))
	name := "0Table"
	if flags&wordTable1 != 0 {
		name = "1Table"
	}
	return filed(entry{"WordDocument", string(b)}, entry{name, "xxxxx" + string(table)})
}

// word95Of returns a document of Word 6 or 95. With several pieces, it is a document that was saved
// with 'fast save'.
func word95Of(flags, language uint16, lengths []int, pieces ...string) []byte {
	le := binary.LittleEndian
	head := make([]byte, 1024)
	le.PutUint16(head, word95Mark)
	le.PutUint16(head[2:], 104)
	le.PutUint16(head[word95Language:], language)
	le.PutUint32(head[word95Text:], uint32(len(head)))
	for i, n := range lengths {
		le.PutUint32(head[word95Lengths+4*i:], uint32(n))
	}
	if flags&word95Wide != 0 {
		le.PutUint16(head, word95WideMarks[0])
	}
	width := 1 + int(flags&word95Wide)/word95Wide
	text, at := "", 0
	var starts, places []byte
	for _, p := range pieces {
		starts = le.AppendUint32(starts, uint32(at))
		places = append(le.AppendUint32(append(places, 0, 0), uint32(len(head)+len(text))), 0, 0)
		text, at = text+p, at+len(p)/width
	}
	starts = le.AppendUint32(starts, uint32(at))
	table := append([]byte{2}, le.AppendUint32(nil, uint32(len(starts)+len(places)))...)
	table = append(append(table, starts...), places...)
	if len(pieces) > 1 {
		flags |= word95Fast
		le.PutUint32(head[word95Pieces:], uint32(len(head)+len(text)))
		le.PutUint32(head[word95Pieces+4:], uint32(len(table)))
	}
	le.PutUint16(head[wordFlags:], flags)
	return filed(entry{"WordDocument", string(head) + text + string(table) + strings.Repeat("\x00", 4096)})
}

func TestWord(t *testing.T) {
	count := func(s string) int { return len(utf16.Encode([]rune(s))) }
	const main, note, header, comment = "Haupttext", "Fußnote", "Kopf", "Kommentar"
	all := main + note + header + comment
	for _, c := range []struct {
		name    string
		content []byte
		want    string
	}{
		{"Windows-1252", wordOf(0, []int{8}, "M\xfcller \x80"), "Müller €"},
		{"UTF-16 beyond the basic plane", wordOf(wordTable1, []int{count("Договор 😀")}, wide16("Договор 😀")), "Договор 😀"},
		{"pieces in turn", wordOf(0, []int{9}, "abc", wide16("def"), "ghi"), "abcdefghi"},
		{"a character in two pieces", wordOf(0, []int{4}, wide16("a😀")[:4], wide16("😀b")[2:]), "a😀b"},
		{
			"parts", wordOf(0, []int{count(main), count(note), count(header), 0, count(comment)}, wide16(all)),
			"Haupttext\n\nFußnote\n\nKommentar\n\nKopf",
		},
		{"a part that ends within a piece", wordOf(0, []int{3, 1}, "abcd"), "abc\n\nd"},
		{"a table", wordOf(0, []int{14}, "a\ab\a\ac\a\a\ad\a\ae\r"), "a\tb\nc\nd\ne"},
		{"a field", wordOf(0, []int{26}, "a \x13PAGE \x14 7\x15 b \x13TOC\x15 c d e"), "a 7 b c d e"},
		{"fields within fields", wordOf(0, []int{20}, "\x13IF \x13X\x14y\x15\x14ja\x13 Z\x14!\x15\x15."), "ja!."},
		{"fields that do not fit", wordOf(0, []int{6}, "\x15\x14a\x15bc"), "abc"},
		{"a field that does not end, and a note", wordOf(0, []int{3, 2}, "a\x13bcd"), "a\n\ncd"},
		{"breaks", wordOf(0, []int{11}, "a\rb\vc\fd\x1ee\x1ff"), "a\nb\nc\n\nd-ef"},
		{"Word 95", word95Of(0, 0x0407, []int{6, 0, 4}, "M\xfcllerKopf"), "Müller\n\nKopf"},
		{"Word 95, saved fast", word95Of(0, 0x0407, []int{6}, "abc", "d\xe4f"), "abcdäf"},
		{"Word 95 in Cyrillic", word95Of(0, 0x0419, []int{2}, "\xc4\xe0"), "Да"},
		{"Word 95 in UTF-16", word95Of(word95Wide, 0x0411, []int{4}, wide16("日本"), wide16("東京")), "日本東京"},
		{"nothing", wordOf(0, nil), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, err := readtest.Text(t, Word, c.content, textLimit); got != c.want || err != nil {
				t.Errorf("%q, %v\nwant %q", got, err, c.want)
			}
		})
	}
}

func hostileWord() []HostileFile {
	turned := func(at int, v uint32) []byte { // changes the header, which is in the first sector
		b := wordOf(0, []int{3}, strings.Repeat("a", 5000))
		binary.LittleEndian.PutUint32(b[512+at:], v)
		return b
	}
	return []HostileFile{
		{"as it is", turned(0x18, 0), "", nil},
		{"under a password", wordOf(wordEncrypted|wordTable1, []int{1}, "a"), "", textio.ErrEncrypted},
		{"a version of Word that is none", turned(0, 0x0068_a5ec), "", textio.ErrBroken},
		{"Word 95 under a password", word95Of(wordEncrypted, 0x0407, []int{1}, "a"), "", textio.ErrEncrypted},
		{"Word 95 whose text is elsewhere", word95Of(0, 0x0407, []int{60000}, "a"), "", textio.ErrBroken},
		{"no table", filed(entry{"WordDocument", strings.Repeat("\xec\xa5\xc1\x00", 200)}), "", textio.ErrBroken},
		{
			"a head that is cut", filed(entry{"WordDocument", "\xec\xa5\xc1\x00" + strings.Repeat("\x00", 40)}),
			"", textio.ErrBroken,
		},
		{"a table of pieces elsewhere", turned(wordPieces, 5000), "", textio.ErrBroken},
		{"a table of pieces without end", turned(wordPieces+4, 0xffffffff), "", textio.ErrInflated},
		{"pieces that lie at the same place", overlappingPieces(), "", textio.ErrInflated},
		{"a table of pieces of nothing", turned(wordPieces+4, 0), "", textio.ErrBroken},
	}
}

// overlappingPieces returns a document in which all pieces are the same 10,000 hidden characters.
func overlappingPieces() []byte {
	const count, length = 20_000, 10_000
	le := binary.LittleEndian
	head := make([]byte, 1024)
	le.PutUint16(head, wordMark)
	le.PutUint16(head[2:], wordOldest)
	le.PutUint32(head[wordLengths:], count*length)
	table := append([]byte{2}, le.AppendUint32(nil, 4+12*count)...)
	for i := range count + 1 {
		table = le.AppendUint32(table, uint32(i*length))
	}
	for range count {
		table = append(le.AppendUint32(append(table, 0, 0), 2*1024|0x40000000), 0, 0)
	}
	le.PutUint32(head[wordPieces+4:], uint32(len(table)))
	return filed(entry{"WordDocument", string(head) + strings.Repeat("\x01", length)}, entry{"0Table", string(table)})
}
