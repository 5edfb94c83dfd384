package legacy

import (
	"bufio"
	"encoding/binary"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf16"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"

	"kartei/extract/textio"
)

// Record types of a workbook (MS-XLS).
const (
	xlsFormula   = 0x0006
	xlsEnd       = 0x000a
	xlsPassword  = 0x002f
	xlsContinue  = 0x003c
	xlsCodepage  = 0x0042
	xlsSheet     = 0x0085
	xlsManyRK    = 0x00bd
	xlsRichLabel = 0x00d6
	xlsShared    = 0x00fc
	xlsSharedOf  = 0x00fd
	xlsNumber    = 0x0203
	xlsLabel     = 0x0204
	xlsTruth     = 0x0205
	xlsString    = 0x0207
	xlsRK        = 0x027e
	xlsBegin     = 0x0809
)

const (
	xlsVersion   = 0x0600 // BIFF8, of Excel 97 and later
	xlsVersion95 = 0x0500 // BIFF5, of Excel 5 and 95
	xlsMacPage   = 0x8000
	xlsWinPage   = 0x8001
	xlsGlobals   = 0x0005
	xlsWorksheet = 0x0010
	xlsMacros    = 0x0040
	maxShared    = 32 << 20 // maximum size in bytes of the strings that the cells of a workbook share
	sharedCost   = 16       // added to the length of each shared string, so that the number of empty strings is limited too
)

// Excel reads a workbook of Excel 5 or later. It writes the names of the sheets, and then each row
// as a line. Dates are written as the numbers of their cells. If a file also has a workbook for
// Excel 95, Excel reads only the newer workbook.
func Excel(in *textio.Input, out *textio.Sink) error {
	c, err := openCompound(in)
	if err != nil {
		return err
	}
	s, err := c.open(0, "workbook")
	if err != nil {
		return err
	}
	if s == nil {
		s, err = c.main("book")
	}
	if err != nil {
		return err
	}
	if err := c.properties(out); err != nil {
		return err
	}
	x := workbook{r: &xlsReader{r: bufio.NewReaderSize(s.reader(), 16<<10)}, out: out}
	return x.write()
}

// xlsReader reads the records of a workbook. A long record continues in the records after it.
type xlsReader struct {
	r      *bufio.Reader
	kind   uint16
	left   int // unread bytes of the record
	number [8]byte
	// narrow is the encoding of strings in workbooks of Excel 95. It is nil for newer workbooks.
	narrow encoding.Encoding
}

// next advances to the next record. It returns io.EOF after the last record.
func (x *xlsReader) next() error {
	if _, err := x.r.Discard(x.left); err != nil {
		return textio.ErrBroken
	}
	x.left = 0
	head, err := x.r.Peek(4)
	if err == io.EOF {
		return err // fewer bytes are padding of the last sector
	}
	if err != nil {
		return textio.ErrBroken
	}
	x.kind, x.left = binary.LittleEndian.Uint16(head), int(binary.LittleEndian.Uint16(head[2:]))
	_, err = x.r.Discard(4)
	return err
}

// goesOn advances to the record that continues the current record. It returns ErrBroken if the next
// record is of another type.
func (x *xlsReader) goesOn() error {
	head, err := x.r.Peek(2)
	if err != nil || x.left > 0 || binary.LittleEndian.Uint16(head) != xlsContinue {
		return textio.ErrBroken
	}
	return x.next()
}

// fill reads len(p) bytes of the record and of the records that continue it.
func (x *xlsReader) fill(p []byte) error {
	for len(p) > 0 {
		if x.left == 0 {
			if err := x.goesOn(); err != nil {
				return err
			}
			continue
		}
		n, err := x.r.Read(p[:min(len(p), x.left)])
		if err != nil {
			return textio.ErrBroken
		}
		p, x.left = p[n:], x.left-n
	}
	return nil
}

// skip skips n bytes of the record and of the records that continue it.
func (x *xlsReader) skip(n int) error {
	for n > 0 {
		if x.left == 0 {
			if err := x.goesOn(); err != nil {
				return err
			}
			continue
		}
		m, err := x.r.Discard(min(n, x.left))
		if err != nil {
			return textio.ErrBroken
		}
		n, x.left = n-m, x.left-m
	}
	return nil
}

// uint reads an unsigned number of size bytes.
func (x *xlsReader) uint(size int) (int, error) {
	x.number = [8]byte{}
	err := x.fill(x.number[:size])
	return int(binary.LittleEndian.Uint64(x.number[:])), err
}

// text reads a string. Its length is a number of size bytes. A flag says whether a character has
// one byte or two, and is repeated if the string continues in another record. Formats and phonetic
// text after the string are skipped.
func (x *xlsReader) text(size int) (string, error) {
	length, err := x.uint(size)
	if err != nil {
		return "", err
	}
	if x.narrow != nil {
		b := make([]byte, length)
		if err := x.fill(b); err != nil {
			return "", err
		}
		b, _ = x.narrow.NewDecoder().Bytes(b) // undefined bytes become U+FFFD
		return string(b), nil
	}
	flags, err := x.uint(1)
	if err != nil {
		return "", err
	}
	behind := 0
	if flags&8 != 0 {
		n, err := x.uint(2)
		if err != nil {
			return "", err
		}
		behind += 4 * n
	}
	if flags&4 != 0 {
		n, err := x.uint(4)
		if err != nil {
			return "", err
		}
		behind += n
	}
	units := make([]uint16, 0, length)
	for len(units) < length {
		if x.left == 0 {
			if err := x.goesOn(); err != nil {
				return "", err
			}
			if flags, err = x.uint(1); err != nil {
				return "", err
			}
		}
		unit, err := x.uint(1 + flags&1)
		if err != nil {
			return "", err
		}
		units = append(units, uint16(unit))
	}
	return string(utf16.Decode(units)), x.skip(behind)
}

// workbook writes the text of a workbook. A workbook is a sequence of substreams, the first for the
// workbook and one for each sheet. Further substreams, such as charts, are nested in sheets.
type workbook struct {
	r      *xlsReader
	out    *textio.Sink
	shared []string
	depth  int // of nested substreams
	kind   int // type of the outermost substream
	row    int // of the last cell
	asked  bool
}

func (x *workbook) write() error {
	for !x.out.Full() {
		err := x.r.next()
		switch {
		case err == io.EOF && x.depth > 0:
			return textio.ErrBroken
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
		if err := x.record(); err != nil {
			return err
		}
	}
	return textio.ErrFull
}

func (x *workbook) record() error {
	switch {
	case x.r.kind == xlsBegin:
		return x.begin()
	case x.r.kind == xlsEnd:
		x.depth = max(0, x.depth-1)
	case x.r.kind == xlsPassword:
		return textio.ErrEncrypted
	case x.depth != 1:
	case x.r.kind == xlsCodepage:
		return x.codepage()
	case x.r.kind == xlsSheet:
		return x.sheetName()
	case x.r.kind == xlsShared:
		return x.sharedTexts()
	case x.kind == xlsWorksheet || x.kind == xlsMacros:
		return x.cell()
	}
	return nil
}

func (x *workbook) begin() error {
	version, err := x.r.uint(2)
	switch {
	case err != nil:
		return textio.ErrBroken
	case version == xlsVersion:
	case version != xlsVersion95:
		return textio.ErrBroken
	case x.r.narrow == nil:
		x.r.narrow = charmap.Windows1252
	}
	kind, err := x.r.uint(2)
	if err != nil {
		return err
	}
	if x.depth++; x.depth == 1 {
		x.kind, x.row = kind, -1
		if kind != xlsGlobals {
			return x.out.Paragraph()
		}
	}
	return nil
}

// codepage reads the code page of strings in a workbook of Excel 95.
func (x *workbook) codepage() error {
	page, err := x.r.uint(2)
	if err != nil || x.r.narrow == nil {
		return err
	}
	switch page {
	case xlsMacPage:
		x.r.narrow = charmap.Macintosh
	case xlsWinPage:
	default:
		if e := codepage(uint64(page)); e != nil {
			x.r.narrow = e
		}
	}
	return nil
}

func (x *workbook) sheetName() error {
	if err := x.r.skip(6); err != nil {
		return err
	}
	name, err := x.r.text(1)
	if err != nil {
		return err
	}
	x.out.Line()
	return x.out.Text(name)
}

// sharedTexts reads the shared strings. Cells refer to a shared string by its index.
func (x *workbook) sharedTexts() error {
	if err := x.r.skip(4); err != nil {
		return err
	}
	count, err := x.r.uint(4)
	if err != nil {
		return err
	}
	x.shared = make([]string, 0, min(count, maxShared/sharedCost)) // at most 32 MiB, allocated once
	size := 0
	for range count {
		t, err := x.r.text(2)
		if err != nil {
			return err
		}
		if size += len(t) + sharedCost; size > maxShared {
			return textio.ErrInflated
		}
		x.shared = append(x.shared, t)
	}
	return nil
}

// cell writes the cells of the current record.
func (x *workbook) cell() error {
	switch x.r.kind {
	case xlsString:
		if !x.asked {
			return nil
		}
		x.asked = false
		return x.textCell()
	case xlsFormula, xlsManyRK, xlsRichLabel, xlsSharedOf, xlsNumber, xlsLabel, xlsTruth, xlsRK:
	default:
		return nil
	}
	row, err := x.r.uint(2)
	if err != nil {
		return err
	}
	if row != x.row {
		x.row = row
		x.out.Line()
	}
	if err := x.r.skip(2); err != nil { // the column
		return err
	}
	if x.r.kind == xlsManyRK {
		for x.r.left >= 8 { // the last column follows
			if err := x.rk(); err != nil {
				return err
			}
		}
		return nil
	}
	kind := x.r.kind
	if kind == xlsRK {
		return x.rk()
	}
	if err := x.r.skip(2); err != nil { // the format
		return err
	}
	switch kind {
	case xlsLabel, xlsRichLabel:
		return x.textCell()
	case xlsSharedOf:
		n, err := x.r.uint(4)
		if err != nil || n >= len(x.shared) {
			return err
		}
		return x.put(x.shared[n])
	case xlsTruth:
		value, err := x.r.uint(2)
		if err != nil || value > 1 { // an error value
			return err
		}
		return x.put(strconv.Itoa(value))
	}
	value, err := x.r.uint(8)
	if err != nil {
		return err
	}
	return x.value(uint64(value), kind == xlsFormula)
}

// rk reads and writes a number that is packed into four bytes. It is the upper half of a float64 or
// an integer of 30 bits, and may be divided by a hundred. The format of the cell comes before the
// number.
func (x *workbook) rk() error {
	if err := x.r.skip(2); err != nil {
		return err
	}
	n, err := x.r.uint(4)
	if err != nil {
		return err
	}
	v := math.Float64frombits(uint64(n&^3) << 32)
	if n&2 != 0 {
		v = float64(int32(uint32(n)) >> 2)
	}
	if n&1 != 0 {
		v /= 100
	}
	return x.put(plainNumber(v))
}

// value writes a number or the result of a formula.
func (x *workbook) value(bits uint64, formula bool) error {
	switch {
	case !formula || bits>>48 != 0xffff:
		return x.put(plainNumber(math.Float64frombits(bits)))
	case bits&0xff == 0:
		x.asked = true // the text is in a separate record, which follows
	case bits&0xff == 1:
		return x.put(strconv.Itoa(int(bits >> 16 & 1)))
	}
	return nil
}

// plainNumber formats a number as in .xlsx files, with all its digits.
func plainNumber(v float64) string {
	if a := math.Abs(v); a != 0 && (a < 1e-5 || a >= 1e15) {
		return strconv.FormatFloat(v, 'G', -1, 64)
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

func (x *workbook) textCell() error {
	t, err := x.r.text(2)
	if err != nil {
		return err
	}
	return x.put(t)
}

func (x *workbook) put(t string) error {
	x.out.Text(strings.ReplaceAll(t, "\n", " "))
	return x.out.Text("\t")
}
