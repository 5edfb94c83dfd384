package legacy

import (
	"encoding/binary"
	"slices"
	"unicode/utf16"

	"golang.org/x/text/encoding/charmap"

	"kartei/extract/textio"
)

// Offsets and values in the header of a Word document (the FIB of MS-DOC).
const (
	wordHead      = 0x01aa // bytes of the header that are read
	wordFlags     = 0x0a
	wordLengths   = 0x4c   // lengths of the parts of the text
	wordPieces    = 0x01a2 // offset of the piece table
	wordMark      = 0xa5ec
	wordOldest    = 0x00c1 // Word 97
	wordEncrypted = 0x0100
	wordTable1    = 0x0200
)

// Offsets and values in the header of Word 6 and Word 95. A document that was saved with 'fast
// save' has a piece table. The text of other documents is one piece.
const (
	word95Mark     = 0xa5dc
	word95Language = 0x06
	word95System   = 0x12 // 1 for a Macintosh
	word95Text     = 0x18
	word95Lengths  = 0x34
	word95Pieces   = 0x0160
	word95Fast     = 0x0004
	word95Wide     = 0x1000 // the text is UTF-16
)

// word95WideMarks are the marks of Word 95 for East Asia.
var word95WideMarks = []uint16{0xa697, 0xa698, 0xa699}

// maxPieceTable is the maximum size of the piece table in bytes, enough for 1.4 million pieces.
const maxPieceTable = 16 << 20

// wordOrder lists the parts of the text in the order of the output: the main text, its text boxes,
// footnotes, endnotes, comments, headers and footers, and the text boxes of these. A number is the
// index of a part in the file.
var wordOrder = []int{0, 6, 1, 5, 4, 2, 7}

// Word reads a text document of Word 6 or later. It includes text that was deleted under change
// tracking, since the deletion marks are in another structure, which Word does not read.
func Word(in *textio.Input, out *textio.Sink) error {
	c, err := openCompound(in)
	if err != nil {
		return err
	}
	text, err := c.main("worddocument")
	if err != nil {
		return err
	}
	head, err := text.part(0, min(text.size, wordHead))
	if err != nil || len(head) < 32 {
		return textio.ErrBroken
	}
	mark, flags := binary.LittleEndian.Uint16(head), binary.LittleEndian.Uint16(head[wordFlags:])
	old := mark == word95Mark || slices.Contains(word95WideMarks, mark)
	switch {
	case !old && mark != wordMark:
		return textio.ErrBroken
	case flags&wordEncrypted != 0:
		return textio.ErrEncrypted
	case len(head) < wordHead, !old && binary.LittleEndian.Uint16(head[2:]) < wordOldest:
		return textio.ErrBroken
	}
	if err := c.properties(out); err != nil {
		return err
	}
	w := wordText{out: out, text: text, left: textio.MaxUnpacked, page: charmap.Windows1252}
	lengths := wordLengths
	if old {
		lengths, w.page = word95Lengths, word95Page(head)
		w.pieces, err = word95Table(text, head)
	} else {
		w.pieces, err = wordTable(c, head)
	}
	if err != nil {
		return err
	}
	var ends [8]int64
	var end int64
	for i := range ends {
		end += int64(binary.LittleEndian.Uint32(head[lengths+4*i:]))
		ends[i] = end
	}
	for _, i := range wordOrder {
		out.Paragraph()
		start := int64(0)
		if i > 0 {
			start = ends[i-1]
		}
		if err := w.write(start, ends[i]); err != nil {
			return err
		}
	}
	return out.Err()
}

// wordPiece is a run of characters that are contiguous in the file.
type wordPiece struct {
	start, end int64 // positions in the text, in characters
	at         int64 // offset in the stream
	width      int64 // bytes of a character: 1 in a code page, or 2 in UTF-16
}

// wordTable reads the piece table of Word 97 and later. The table is in a separate stream.
func wordTable(c *compound, head []byte) ([]wordPiece, error) {
	name := "0table"
	if binary.LittleEndian.Uint16(head[wordFlags:])&wordTable1 != 0 {
		name = "1table"
	}
	table, err := c.main(name)
	if err != nil {
		return nil, err
	}
	return wordPieceTable(table, head[wordPieces:])
}

// word95Table returns the pieces of a document of Word 6 or 95.
func word95Table(text *stream, head []byte) ([]wordPiece, error) {
	flags, width := binary.LittleEndian.Uint16(head[wordFlags:]), int64(1)
	if flags&word95Wide != 0 {
		width = 2
	}
	if flags&word95Fast == 0 {
		all := wordPiece{at: int64(binary.LittleEndian.Uint32(head[word95Text:])), width: width}
		for i := range 8 {
			all.end += int64(binary.LittleEndian.Uint32(head[word95Lengths+4*i:]))
		}
		return []wordPiece{all}, nil
	}
	list, err := wordPieceTable(text, head[word95Pieces:])
	for i := range list {
		list[i].width = width
	}
	return list, err
}

// word95Page returns the code page of a document of Word 6 or 95. The code page depends on the
// system and the language.
func word95Page(head []byte) *charmap.Charmap {
	if head[word95System] == 1 {
		return charmap.Macintosh
	}
	language := uint64(binary.LittleEndian.Uint16(head[word95Language:]))
	if page, is := codepage(codepageOf(language)).(*charmap.Charmap); is {
		return page
	}
	return charmap.Windows1252
}

// wordPieceTable reads a piece table. place begins with the offset and the size of the table in the
// stream. Property modifiers before the table are skipped.
func wordPieceTable(table *stream, place []byte) ([]wordPiece, error) {
	size := int64(binary.LittleEndian.Uint32(place[4:]))
	if size > maxPieceTable {
		return nil, textio.ErrInflated
	}
	b, err := table.part(int64(binary.LittleEndian.Uint32(place)), size)
	if err != nil {
		return nil, err
	}
	for len(b) >= 3 && b[0] == 1 {
		b = b[min(len(b), 3+int(binary.LittleEndian.Uint16(b[1:]))):]
	}
	if len(b) < 5 || b[0] != 2 {
		return nil, textio.ErrBroken
	}
	size, b = int64(binary.LittleEndian.Uint32(b[1:])), b[5:]
	if size > int64(len(b)) || size < 4 {
		return nil, textio.ErrBroken
	}
	count := int((size - 4) / 12)
	starts, pieces := b[:4*(count+1)], b[4*(count+1):]
	list := make([]wordPiece, count)
	for i := range list {
		where := binary.LittleEndian.Uint32(pieces[8*i+2:])
		p := wordPiece{start: int64(binary.LittleEndian.Uint32(starts[4*i:])),
			end: int64(binary.LittleEndian.Uint32(starts[4*i+4:])),
			at:  int64(where & 0x3fffffff), width: 2}
		if where&0x40000000 != 0 {
			p.at, p.width = p.at/2, 1
		}
		if p.end < p.start || i > 0 && p.start < list[i-1].end {
			return nil, textio.ErrBroken
		}
		list[i] = p
	}
	return list, nil
}

// wordText writes the characters of a document.
type wordText struct {
	out    *textio.Sink
	text   *stream
	pieces []wordPiece
	page   *charmap.Charmap // code page of pieces with one byte for each character
	fields []bool           // the open fields; true while the instruction of a field is read
	hidden int              // number of open fields whose instruction is read
	half   rune             // a high surrogate
	left   int64            // bytes that may still be read; pieces may overlap, so their sum could exceed the file
	cell   bool             // the last character ended a cell
}

// write writes the characters from the position start to end.
func (w *wordText) write(start, end int64) error {
	w.fields, w.hidden, w.half, w.cell = w.fields[:0], 0, 0, false
	buffer := make([]byte, 16<<10)
	for _, p := range w.pieces {
		from, to := max(start, p.start), min(end, p.end)
		for from < to {
			n := min((to-from)*p.width, int64(len(buffer)))
			if at := p.at + (from-p.start)*p.width; at+n > w.text.size {
				return textio.ErrBroken
			} else if _, err := w.text.ReadAt(buffer[:n], at); err != nil {
				return textio.ErrBroken
			}
			if w.left -= n; w.left < 0 {
				return textio.ErrInflated
			}
			for i := int64(0); i < n; i += p.width {
				var err error
				if p.width == 1 {
					err = w.char(w.page.DecodeByte(buffer[i]))
				} else {
					err = w.unit(rune(binary.LittleEndian.Uint16(buffer[i:])))
				}
				if err != nil {
					return err
				}
			}
			from += n / p.width
		}
	}
	return w.out.Err()
}

func (w *wordText) unit(r rune) error {
	half := w.half
	w.half = 0
	switch {
	case r >= 0xd800 && r < 0xdc00:
		w.half = r
		return nil
	case r >= 0xdc00 && r < 0xe000:
		r = utf16.DecodeRune(half, r)
	}
	return w.char(r)
}

// char writes a character or handles a mark. Fields have marks around their instruction, which is
// hidden, and their result, which is written. Other marks end a cell. Two of these end a row.
func (w *wordText) char(r rune) error {
	switch r {
	case 0x13:
		if len(w.fields) == maxGroups {
			return textio.ErrInflated
		}
		w.fields = append(w.fields, true)
		w.hidden++
	case 0x14, 0x15:
		if n := len(w.fields); n > 0 {
			if w.fields[n-1] {
				w.hidden--
			}
			w.fields[n-1] = false
			if r == 0x15 {
				w.fields = w.fields[:n-1]
			}
		}
	}
	if w.hidden > 0 {
		return w.out.Err()
	}
	ended := w.cell
	w.cell = r == 7 && !ended
	switch r {
	case 7:
		if ended {
			return w.out.Line()
		}
		return w.out.Text("\t")
	case '\r', '\v', 0x0e: // marks at the end of a paragraph, a line and a column
		return w.out.Line()
	case '\f': // mark at the end of a page or a section
		return w.out.Paragraph()
	case 0x1e:
		r = '-'
	}
	return w.out.Text(string(r))
}
