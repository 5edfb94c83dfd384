package legacy

import (
	"encoding/binary"
	"strings"
	"testing"

	"kartei/extract/textio"
	"kartei/test/readtest"
)

// pptRecordOf returns a record. The record is a container if the last digit of version is f.
func pptRecordOf(version, kind uint16, content string) string {
	b := binary.LittleEndian.AppendUint16(nil, version)
	b = binary.LittleEndian.AppendUint16(b, kind)
	return string(binary.LittleEndian.AppendUint32(b, uint32(len(content)))) + content
}

func pptTextOf(s string) string { return pptRecordOf(0, pptUnicode, wide16(s)) }

// pptSlideOf returns the entry for a slide in a list of slides.
func pptSlideOf(id byte) string {
	return pptRecordOf(0, pptSlide, string([]byte{id, 0, 0, 0})+strings.Repeat("\x00", 16))
}

// slidesOf returns a presentation. The document with the given lists has the persist id 1, and the
// objects in things have the ids from 2. If before is not empty, the file was saved once before. In
// that save, the object old had the content before.
func slidesOf(mark uint32, lists string, old int, before string, things ...string) []byte {
	le := binary.LittleEndian
	stream := ""
	save := func(first int, things ...string) {
		table := le.AppendUint32(nil, uint32(first)|uint32(len(things))<<20)
		for _, thing := range things {
			table = le.AppendUint32(table, uint32(len(stream)))
			stream += thing
		}
		edit := make([]byte, 28)
		if before != "" && first == 1 {
			le.PutUint32(edit[8:], uint32(strings.LastIndex(stream, string([]byte{0, 0, 0xf5, 0x0f})))) // the previous edit
		}
		le.PutUint32(edit[12:], uint32(len(stream)))
		le.PutUint32(edit[16:], 1)
		stream += pptRecordOf(0, pptPersists, string(table))
		stream += pptRecordOf(0, pptEdit, string(edit))
	}
	stream = "at the beginning nothing stands."
	if before != "" {
		save(old, before)
	}
	save(1, append([]string{pptRecordOf(0x0f, pptDocument, lists)}, things...)...)
	user := make([]byte, 20)
	le.PutUint32(user[12:], mark)
	le.PutUint32(user[16:], uint32(len(stream)-36))
	return filed(entry{"Current User", string(user)}, entry{"PowerPoint Document", stream})
}

func TestPowerPoint(t *testing.T) {
	slide := func(content ...string) string { return pptRecordOf(0x0f, 1006, strings.Join(content, "")) }
	slides := func(content ...string) string { return pptRecordOf(0x0f, pptSlides, strings.Join(content, "")) }
	masters := func(content ...string) string { return pptRecordOf(0x1f, pptSlides, strings.Join(content, "")) }
	notes := func(content ...string) string { return pptRecordOf(0x2f, pptSlides, strings.Join(content, "")) }
	deep := pptTextOf("tief")
	for range 30 {
		deep = pptRecordOf(0x0f, 0xf003, deep)
	}
	for _, c := range []struct {
		name    string
		content []byte
		want    string
	}{
		{"outlines, slides and notes", slidesOf(pptPlain, masters(pptSlideOf(2), pptTextOf("Vorlage"))+notes(pptSlideOf(5))+
			slides(pptSlideOf(4), pptTextOf("Erste\rZeile\vzwei"), pptSlideOf(3), pptRecordOf(0, pptBytes, "M\xfcller")), 0, "",
			slide(pptTextOf("Vorlage")), slide(pptTextOf("Feld der zweiten")), slide(deep, pptTextOf("*")),
			slide(pptTextOf("Anmerkung"))),
			"Erste\nZeile\nzwei\ntief\n\nMüller\nFeld der zweiten\n\nAnmerkung"},
		{
			"a slide twice",
			slidesOf(pptPlain, slides(pptSlideOf(2), pptSlideOf(2), pptSlideOf(9)), 0, "", slide(pptTextOf("einmal"))),
			"einmal",
		},
		{
			"what was changed",
			slidesOf(pptPlain, slides(pptSlideOf(2)), 2, slide(pptTextOf("vorher")), slide(pptTextOf("nachher"))),
			"nachher",
		},
		{
			"what was not changed",
			slidesOf(pptPlain, slides(pptSlideOf(2), pptSlideOf(3)), 3, slide(pptTextOf("wie vorher")), slide(pptTextOf("neu"))),
			"neu\n\nwie vorher",
		},
		{"nothing", slidesOf(pptPlain, "", 0, ""), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, err := readtest.Text(t, PowerPoint, c.content, textLimit); got != c.want || err != nil {
				t.Errorf("%q, %v\nwant %q", got, err, c.want)
			}
		})
	}
}

func hostilePowerPoint() []HostileFile {
	slides := pptRecordOf(0x0f, pptSlides, pptSlideOf(2))
	circle := "0123456789" + pptRecordOf(0, pptPersists, "")
	circle += pptRecordOf(0, pptEdit, "\x00\x00\x00\x00\x00\x00\x00\x00\x12\x00\x00\x00\x0a\x00\x00\x00"+
		strings.Repeat("\x00", 12))
	user := func(at byte) entry {
		return entry{"Current User", strings.Repeat("\x00", 12) + "\x5f\xc0\x91\xe3" + string([]byte{at, 0, 0, 0})}
	}
	sealed := pptRecordOf(0, pptEdit, strings.Repeat("\x00", 32))
	return []HostileFile{
		{"under a password", slidesOf(pptSealed, slides, 0, "", pptTextOf("a")), "", textio.ErrEncrypted},
		{"a key", filed(user(0), entry{"PowerPoint Document", sealed}), "", textio.ErrEncrypted},
		{"another mark", slidesOf(1, slides, 0, "", pptTextOf("a")), "", textio.ErrBroken},
		{"no user", filed(entry{"PowerPoint Document", sealed}), "", textio.ErrBroken},
		{"edits that go in circles", filed(user(18), entry{"PowerPoint Document", circle}), "", textio.ErrBroken},
		{
			"a slide that is longer than the file",
			slidesOf(pptPlain, slides, 0, "", "\x0f\x00\xee\x03\xff\xff\xff\xff"), "", textio.ErrBroken,
		},
		{
			"a text that is longer than its slide",
			slidesOf(pptPlain, slides, 0, "", pptRecordOf(0x0f, 1006, "\x00\x00\xa0\x0f\xff\x00\x00\x00")), "",
			textio.ErrBroken,
		},
		{
			"a text without end",
			slidesOf(pptPlain, slides, 0, "", pptRecordOf(0x0f, 1006, pptTextOf(strings.Repeat("a", maxPPTText)))),
			"", textio.ErrInflated,
		},
		{"slides within each other", slidesWithin(), "", textio.ErrInflated},
		{
			"300,000 short texts",
			slidesOf(pptPlain, slides, 0, "", pptRecordOf(0x0f, 1006, strings.Repeat(pptTextOf("abc"), 300_000))),
			"", nil,
		},
	}
}

// slidesWithin returns a presentation of 2,000 slides. Each slide contains all later slides and a
// hidden text.
func slidesWithin() []byte {
	const count, own = 2000, 8 + 8 + 900
	le := binary.LittleEndian
	text := pptRecordOf(0, pptBytes, strings.Repeat("\x01", 900))
	var slides []byte
	for i := range count {
		slides = append(le.AppendUint32(append(slides, 0x0f, 0, 0xee, 3), uint32((count-i)*own-8)), text...)
	}
	var list string
	table := le.AppendUint32(nil, 1|1<<20)
	table = le.AppendUint32(table, uint32(len(slides)))
	for i := range count {
		list += pptRecordOf(0, pptSlide, string(le.AppendUint32(nil, uint32(i+2))))
		table = le.AppendUint32(le.AppendUint32(table, uint32(i+2)|1<<20), uint32(i*own))
	}
	stream := string(slides) + pptRecordOf(0x0f, pptDocument, pptRecordOf(0x0f, pptSlides, list))
	edit := make([]byte, 28)
	le.PutUint32(edit[12:], uint32(len(stream)))
	le.PutUint32(edit[16:], 1)
	stream += pptRecordOf(0, pptPersists, string(table))
	user := make([]byte, 20)
	le.PutUint32(user[12:], pptPlain)
	le.PutUint32(user[16:], uint32(len(stream)))
	return filed(entry{
		"Current User", string(user),
	}, entry{"PowerPoint Document", stream + pptRecordOf(0, pptEdit, string(edit))})
}
