package legacy

import (
	"encoding/binary"
	"io"
	"strings"
	"unicode/utf16"

	"kartei/extract/textio"
)

// Record types of a presentation (MS-PPT).
const (
	pptDocument = 1000 // a container
	pptSlide    = 1011 // has the persist id of a slide; the texts of the slide's outline follow
	pptUnicode  = 4000 // text in UTF-16
	pptBytes    = 4008 // text in the lower bytes of UTF-16
	pptSlides   = 4080 // a container
	pptEdit     = 4085 // a user edit: the changes of one save
	pptPersists = 6002 // a persist directory: the offsets of objects
)

// Limits and constants of presentations.
const (
	pptPlain      = 0xe391c05f // mark of a file without a password
	pptSealed     = 0xf3d1c4df
	maxPersists   = 1 << 20
	maxPPTRecords = 8 << 20 // of a file; slides may be nested
	maxPPTText    = 4 << 20 // bytes of a text
)

// PowerPoint reads a presentation of PowerPoint 97 or later: the slides in their order, and then
// the notes. It skips the master slides. Each save appends changes to the file. So PowerPoint reads
// only the objects in the latest persist directories.
func PowerPoint(in *textio.Input, out *textio.Sink) error {
	c, err := openCompound(in)
	if err != nil {
		return err
	}
	user, err := c.main("current user")
	if err != nil {
		return err
	}
	head, err := user.part(0, 20)
	if err != nil {
		return err
	}
	switch binary.LittleEndian.Uint32(head[12:]) {
	case pptSealed:
		return textio.ErrEncrypted
	case pptPlain:
	default:
		return textio.ErrBroken
	}
	s, err := c.main("powerpoint document")
	if err != nil {
		return err
	}
	if err := c.properties(out); err != nil {
		return err
	}
	p := powerpoint97{
		s:      s,
		out:    out,
		places: map[uint32]int64{},
		read:   map[int64]bool{},
		left:   maxPPTRecords,
		bytes:  textio.MaxUnpacked,
	}
	document, err := p.table(int64(binary.LittleEndian.Uint32(head[16:])))
	if err != nil {
		return err
	}
	return p.document(document)
}

type powerpoint97 struct {
	s      *stream
	out    *textio.Sink
	places map[uint32]int64 // the offset of each object by its persist id
	read   map[int64]bool   // offsets of slides that were read
	left   int              // records that may still be read
	bytes  int64            // bytes of texts that may still be read
}

// pptRecord is a record: a container of other records, or an atom.
type pptRecord struct {
	kind, instance uint16
	container      bool
	from, to       int64 // offsets of the content
}

// record reads the header of the record at an offset. It returns ErrBroken if the record does not
// end by end.
func (p *powerpoint97) record(at, end int64) (r pptRecord, err error) {
	if p.left--; p.left < 0 {
		return r, textio.ErrInflated
	}
	var b [8]byte
	if n, err := p.s.ReadAt(b[:], at); n < len(b) || err != nil && err != io.EOF {
		return r, textio.ErrBroken
	}
	version := binary.LittleEndian.Uint16(b[:])
	r = pptRecord{kind: binary.LittleEndian.Uint16(b[2:]), instance: version >> 4, container: version&0xf == 0xf,
		from: at + 8,
		to:   at + 8 + int64(binary.LittleEndian.Uint32(b[4:]))}
	if r.to > end {
		return r, textio.ErrBroken
	}
	return r, nil
}

// table reads the user edits, from the last to the first. It returns the offset of the document.
func (p *powerpoint97) table(at int64) (int64, error) {
	document := uint32(0)
	for before := p.s.size; ; {
		if at >= before {
			return 0, textio.ErrBroken // otherwise the edits could form a cycle
		}
		before = at
		r, err := p.record(at, p.s.size)
		if err != nil {
			return 0, err
		}
		edit, err := p.s.part(r.from, min(r.to-r.from, 32))
		switch {
		case err != nil:
			return 0, err
		case r.kind != pptEdit || len(edit) < 28:
			return 0, textio.ErrBroken
		case len(edit) == 32: // the edit has the key of an encrypted file
			return 0, textio.ErrEncrypted
		}
		if document == 0 {
			document = binary.LittleEndian.Uint32(edit[16:])
		}
		if err := p.persists(int64(binary.LittleEndian.Uint32(edit[12:]))); err != nil {
			return 0, err
		}
		if at = int64(binary.LittleEndian.Uint32(edit[8:])); at == 0 {
			break
		}
	}
	place, is := p.places[document]
	if !is {
		return 0, textio.ErrBroken
	}
	return place, nil
}

// persists reads a persist directory. It keeps the offset of an object that a later edit already
// set.
func (p *powerpoint97) persists(at int64) error {
	r, err := p.record(at, p.s.size)
	switch {
	case err != nil:
		return err
	case r.kind != pptPersists:
		return textio.ErrBroken
	case r.to-r.from > 4*maxPersists:
		return textio.ErrInflated
	}
	b, err := p.s.part(r.from, r.to-r.from)
	if err != nil {
		return err
	}
	for len(b) >= 4 {
		first := binary.LittleEndian.Uint32(b)
		id, count := first&0xfffff, int(first>>20)
		b = b[4:]
		if p.left -= count + 1; p.left < 0 {
			return textio.ErrInflated
		} else if len(b) < 4*count {
			return textio.ErrBroken
		}
		for i := range count {
			if _, later := p.places[id+uint32(i)]; !later {
				p.places[id+uint32(i)] = int64(binary.LittleEndian.Uint32(b[4*i:]))
			}
		}
		b = b[4*count:]
	}
	return nil
}

// document reads the list of slides and the list of notes.
func (p *powerpoint97) document(at int64) error {
	d, err := p.record(at, p.s.size)
	if err != nil {
		return err
	}
	if d.kind != pptDocument {
		return textio.ErrBroken
	}
	var lists [3]pptRecord // of slides, masters and notes
	for at := d.from; at < d.to; {
		r, err := p.record(at, d.to)
		if err != nil {
			return err
		}
		if r.kind == pptSlides && int(r.instance) < len(lists) {
			lists[r.instance] = r
		}
		at = r.to
	}
	for _, l := range []pptRecord{lists[0], lists[2]} {
		if err := p.list(l); err != nil {
			return err
		}
	}
	return p.out.Err()
}

// list reads a list of slides. For each slide it writes the texts of the outline, and then the
// slide's other texts.
func (p *powerpoint97) list(l pptRecord) error {
	slide := uint32(0)
	for at := l.from; at < l.to; {
		r, err := p.record(at, l.to)
		if err != nil {
			return err
		}
		if r.kind == pptSlide {
			if err := p.slide(slide); err != nil {
				return err
			}
			b, err := p.s.part(r.from, min(r.to-r.from, 4))
			if err != nil || len(b) < 4 {
				return textio.ErrBroken
			}
			slide = binary.LittleEndian.Uint32(b)
			p.out.Paragraph()
		}
		if err := p.text(r); err != nil {
			return err
		}
		at = r.to
	}
	return p.slide(slide)
}

// slide writes the texts of a slide, at any depth of nesting. It writes a slide only once.
func (p *powerpoint97) slide(id uint32) error {
	place, is := p.places[id]
	if !is || p.read[place] {
		return nil
	}
	p.read[place] = true
	s, err := p.record(place, p.s.size)
	if err != nil {
		return err
	}
	for at := s.from; at < s.to; {
		r, err := p.record(at, s.to)
		if err != nil {
			return err
		}
		if err := p.text(r); err != nil {
			return err
		}
		if at = r.to; r.container {
			at = r.from
		}
	}
	return nil
}

// text writes the text of a text record. It skips a single asterisk, the placeholder of the slide
// number or date.
func (p *powerpoint97) text(r pptRecord) error {
	if r.kind != pptUnicode && r.kind != pptBytes {
		return nil
	}
	if p.bytes -= r.to - r.from; p.bytes < 0 || r.to-r.from > maxPPTText {
		return textio.ErrInflated
	}
	b, err := p.s.part(r.from, r.to-r.from)
	if err != nil {
		return err
	}
	units := make([]uint16, 0, len(b))
	if r.kind == pptBytes {
		for _, c := range b {
			units = append(units, uint16(c))
		}
	} else {
		for ; len(b) >= 2; b = b[2:] {
			units = append(units, binary.LittleEndian.Uint16(b))
		}
	}
	if t := string(utf16.Decode(units)); t != "*" {
		p.out.Line()
		p.out.Text(pptLines.Replace(t))
	}
	return p.out.Err()
}

// pptLines replaces the characters that end paragraphs and lines by line feeds.
var pptLines = strings.NewReplacer("\r", "\n", "\v", "\n")
