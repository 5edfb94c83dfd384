package legacy

import (
	"bytes"
	"encoding/binary"

	"kartei/extract/textio"
)

// properties writes the title, subject, keywords and comments of a document (MS-OLEPS). It skips
// broken properties, since the text of the document is more important.
func (c *compound) properties(out *textio.Sink) error {
	s, err := c.open(0, "\x05summaryinformation")
	if s == nil || err != nil {
		return err
	}
	b, _ := s.part(0, min(s.size, 64<<10)) // a thumbnail may follow
	if len(b) < 48 {
		return nil
	}
	at := binary.LittleEndian.Uint32(b[44:])
	if int64(at)+8 > int64(len(b)) {
		return nil
	}
	set := b[at:]
	values := map[uint32][]byte{} // the value of each property, which begins with its type
	for i := range int(min(binary.LittleEndian.Uint32(set[4:]), 100)) {
		if 16+8*i > len(set) {
			break
		}
		if offset := int64(binary.LittleEndian.Uint32(set[12+8*i:])); offset+8 <= int64(len(set)) {
			values[binary.LittleEndian.Uint32(set[8+8*i:])] = set[offset:]
		}
	}
	var page uint16
	if v := values[1]; v != nil {
		page = binary.LittleEndian.Uint16(v[4:])
	}
	for _, id := range []uint32{2, 3, 5, 6} {
		v := values[id]
		if v == nil || binary.LittleEndian.Uint16(v) != 30 {
			continue
		}
		n := int64(binary.LittleEndian.Uint32(v[4:]))
		if n > int64(len(v)-8) {
			continue
		}
		r, err := inCodepage(uint64(page), bytes.NewReader(bytes.TrimRight(v[8:8+n], "\x00")))
		if err != nil {
			return err
		}
		out.Line()
		if err := textio.CopyText(r, out); err != nil {
			return err
		}
	}
	return out.Err()
}
