package legacy

import (
	"bytes"
	"encoding/binary"
	"os"
	"strings"
	"testing"

	"kartei/extract/textio"
	"kartei/test/readtest"
)

// compoundReaders are the readers of compound files, each with a file in testdata.
var compoundReaders = []struct {
	name string
	read textio.ReadFunc
}{
	{"letter.msg", Outlook},
	{"draft.msg", Outlook},
	{"notes.doc", Word},
	{"book.xls", Excel},
	{"slides.ppt", PowerPoint},
}

// TestTruncatedCompoundFile checks that a truncated file is either read or reported as broken. Its
// text is not longer than the text of the whole file.
func TestTruncatedCompoundFile(t *testing.T) {
	for _, c := range compoundReaders {
		content, err := os.ReadFile("../testdata/" + c.name)
		if err != nil {
			t.Fatal(err)
		}
		whole, err := readtest.Text(t, c.read, content, textLimit)
		if err != nil && err != textio.ErrContained || whole == "" {
			t.Fatalf("%s: %q, %v", c.name, whole, err)
		}
		broken := 0
		for n := 0; n < len(content); n += 64 {
			text, err := readtest.Text(t, c.read, content[:n], textLimit)
			if err != nil && err != textio.ErrContained {
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

// TestCorruptedCompoundFile checks that no number in the tables and the directory makes the reader
// run forever or use more memory than the file's size.
func TestCorruptedCompoundFile(t *testing.T) {
	content := filed(outlookItem("", 32, nil, entry{"0037001F", wide16("a")},
		entry{"1000001F", wide16(strings.Repeat("b", 9000))})...)
	fat := (int(binary.LittleEndian.Uint32(content[76:])) + 1) * 512
	directory := (int(binary.LittleEndian.Uint32(content[48:])) + 1) * 512
	for at := 24; at < fat+256; at += 4 {
		switch at {
		case 100: // the table has only one sector
			at = directory
		case directory + 512:
			at = fat
		}
		for _, v := range []uint32{0, 1, 2, 0x7fffffff, 0xfffffff9, 0xfffffffe, 0xffffffff} {
			turned := bytes.Clone(content)
			binary.LittleEndian.PutUint32(turned[at:], v)
			readtest.Text(t, Outlook, turned, textLimit)
		}
	}
}

func hostileCompounds() []HostileFile {
	message := outlookItem("", 32, nil, entry{"0037001F", wide16("a")},
		entry{"1000001F", wide16(strings.Repeat("b", 9000))})
	whole := filed(message...)
	turn := func(at int, v uint32) []byte {
		b := bytes.Clone(whole)
		binary.LittleEndian.PutUint32(b[at:], v)
		return b
	}
	field := func(at int) int { return int(binary.LittleEndian.Uint32(whole[at:])) }
	fat := (field(76) + 1) * 512
	directory := (field(48) + 1) * 512
	return []HostileFile{
		{"as it is", whole, "", nil},
		{"a directory that goes in circles", turn(fat+4*field(48), uint32(field(48))), "", nil},
		{"an entry that is its own sibling", turn(directory+3*128+72, 3), "", textio.ErrBroken},
		{"a root that is its own child", turn(directory+76, 0), "", textio.ErrBroken},
		{"a stream that is longer than its chain", turn(directory+128*3+120, 0xffffffff), "", textio.ErrBroken},
		{"a stream that goes in circles", turn(fat, 0), "", nil},
		{"sectors of another size", turn(30, 31), "", textio.ErrBroken},
		{"tables without end", turn(76, 0xfffffff0), "", textio.ErrBroken},
		{"16,000 storages within each other", linkedEntries(16_000, 76), "", textio.ErrBroken},
		{"100,000 storages within each other", linkedEntries(100_000, 76), "", textio.ErrBroken},
		{"700,000 left siblings", linkedEntries(700_000, 68), "", textio.ErrInflated},
		{"700,000 right siblings", linkedEntries(700_000, 72), "", textio.ErrInflated},
	}
}

// linkedEntries returns a compound file with count storages in a chain. Each storage refers to the
// next in the field at offset. Offset 76 is the child, and 68 and 72 are the siblings.
func linkedEntries(count, offset int) []byte {
	const sector, free, end, inFAT = 4096, 0xffffffff, 0xfffffffe, 0xfffffffd
	le := binary.LittleEndian
	directory := (count + sector/128) / (sector / 128) // count and the root entry
	fats := directory/(sector/4) + 1
	b := make([]byte, sector*(1+fats+directory))
	copy(b, Signature)
	b[24], b[26], b[28], b[29], b[30], b[32] = 0x3e, 4, 0xfe, 0xff, 12, 6
	for at, v := range map[int]uint32{44: uint32(fats), 48: uint32(fats), 56: 4096, 60: end, 68: end} {
		le.PutUint32(b[at:], v)
	}
	for i := range 109 {
		le.PutUint32(b[76+4*i:], map[bool]uint32{true: uint32(i), false: free}[i < fats])
	}
	table := b[sector:]
	for i := range fats {
		le.PutUint32(table[4*i:], inFAT)
	}
	for i := range directory {
		le.PutUint32(table[4*(fats+i):], map[bool]uint32{true: uint32(fats + i + 1), false: end}[i < directory-1])
	}
	for i := range count + 1 {
		e := b[sector*(1+fats)+128*i:]
		e[0], e[64], e[66], e[67] = 'a', 4, 1, 1
		for _, at := range []int{68, 72, 76} {
			le.PutUint32(e[at:], free)
		}
		at := offset
		if i == 0 {
			e[66], at = 5, 76
		}
		if i < count {
			le.PutUint32(e[at:], uint32(i+1))
		}
	}
	return b
}

// TestCompoundFileOfVersion4 checks that a file with sectors of 4096 bytes is read.
func TestCompoundFileOfVersion4(t *testing.T) {
	content := filedIn(4096, outlookItem("", 32, nil, entry{"0037001F", wide16("Betreff")},
		entry{"1000001F", wide16(strings.Repeat("Wort ", 1000))})...)
	want := "Betreff\n\n" + strings.TrimSpace(strings.Repeat("Wort ", 1000))
	if text, err := readtest.Text(t, Outlook, content, textLimit); text != want || err != nil {
		t.Errorf("%.100q, %v", text, err)
	}
}
