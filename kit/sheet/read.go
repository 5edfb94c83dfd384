package sheet

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
)

// MaxCell is the maximum size of a cell in bytes. The rest of a larger cell is dropped. A quoted
// cell must also end within MaxCell bytes.
const MaxCell = 64 << 10

// MaxCells is the maximum number of cells in a row, which is the number of columns in Excel.
const MaxCells = 16384

// maxRow is the maximum size of a row in bytes.
const maxRow = 1 << 20

// ErrRow means that a row has too many cells or bytes. Read can still read the rows after it.
var ErrRow = errors.New("sheet: the row cannot be read")

// Reader reads a CSV table that another program wrote. The table is in UTF-8 or in a code page, and
// each cell is decoded by itself.
//
// A quote that is not before a separator is text. For example, "Zum Hirschen" GmbH is a cell with
// its quotes. A quote without an end therefore does not swallow the rows after it. Nor does a quote
// that only the quote of a later row would close.
type Reader struct {
	// Text decodes the bytes of a cell. If it is nil, the bytes are UTF-8.
	Text func([]byte) string
	from *bufio.Reader
	cut  byte
	// ahead has lines that were read but not yet used. ends says that the table ends after ahead.
	ahead []byte
	ends  bool
	line  int
	// open is the number of bytes at the beginning of ahead without an end of a quoted cell. These
	// bytes are not searched again.
	open int
	// width is the number of cells in the first row with at least narrow cells. It is 0 before this
	// row.
	width int
}

// NewReader returns a Reader of a table whose cells are separated by separator. It skips a first
// line that names the separator, such as sep=; in files of Excel.
func NewReader(r io.Reader, separator rune) *Reader {
	b := bufio.NewReaderSize(r, 64<<10)
	if mark, _ := b.Peek(3); string(mark) == "\ufeff" {
		_, _ = b.Discard(3)
	}
	t := &Reader{from: b, cut: byte(separator), line: 1}
	if begin, _ := b.Peek(len(named)); strings.EqualFold(string(begin), named) { // a shorter file has no such line
		_ = t.more() // cannot fail, because Peek has read the line
		t.skip(len(t.ahead))
	}
	return t
}

// named begins a line that names the separator of a table.
const named = "sep="

// Read returns the next row that is not empty, and the number of its first line in the file. It
// returns io.EOF at the end of the table, and ErrRow for a row that is too large.
func (r *Reader) Read() (cells []string, line int, err error) {
	for {
		line = r.line
		raw, used, err := r.row()
		if err != nil {
			return nil, line, err
		}
		cells, empty := make([]string, len(raw)), true
		for i, c := range raw {
			cells[i] = r.text(c[:min(len(c), MaxCell)])
			empty = empty && cells[i] == ""
		}
		r.skip(used)
		if r.width == 0 && len(raw) >= narrow {
			r.width = len(raw)
		}
		switch {
		case len(raw) > MaxCells:
			return nil, line, ErrRow
		case !empty:
			return cells, line, nil
		}
	}
}

// text returns the decoded text of a cell.
func (r *Reader) text(cell []byte) string {
	text := string(cell)
	if r.Text != nil {
		text = r.Text(cell)
	}
	return Text(text)
}

// Text returns the text of a decoded cell. Line ends become \n, white space around the text and
// control characters are removed. The apostrophes of Guard are removed too.
func Text(cell string) string {
	return strings.TrimSpace(strings.Map(printable, Unguard(lineEnds.Replace(cell))))
}

// row returns the cells of the next row, and the number of bytes that the row has in ahead. A row
// with too many bytes is returned with MaxCells+1 cells.
func (r *Reader) row() (cells [][]byte, used int, err error) {
	if len(r.ahead) == 0 {
		if err := r.more(); err != nil {
			return nil, 0, err
		}
	}
	for at := 0; ; {
		cell, next, err := r.cell(at)
		if err != nil {
			return nil, 0, err
		}
		cells = append(cells, cell)
		switch {
		case next >= len(r.ahead):
			return cells, len(r.ahead), nil
		case r.ahead[next] == '\n':
			return cells, next + 1, nil
		case next > maxRow:
			return make([][]byte, MaxCells+1), min(r.lineEnd(next)+1, len(r.ahead)), nil
		}
		at = next + 1
	}
}

// lineEnd returns the offset in ahead of the next line end from an offset on.
func (r *Reader) lineEnd(from int) int {
	if n := bytes.IndexByte(r.ahead[from:], '\n'); n >= 0 {
		return from + n
	}
	return len(r.ahead)
}

// cell returns the cell that begins at an offset in ahead, and the offset of the separator after
// it.
func (r *Reader) cell(at int) (cell []byte, next int, err error) {
	begin := at
	for begin < len(r.ahead) && r.ahead[begin] == ' ' {
		begin++
	}
	if begin < len(r.ahead) && r.ahead[begin] == '"' {
		cell, next, is, err := r.quoted(begin + 1)
		if err != nil || is && !r.tookRows(begin, next) {
			return cell, next, err
		}
	}
	next = r.plainEnd(at)
	return bytes.TrimSuffix(r.ahead[at:next], []byte("\r")), next, nil
}

// narrow is the minimum number of cells in a row by which rows are distinguished from the lines of
// a cell.
const narrow = 3

// tookRows reports whether a quoted cell has swallowed whole rows. Its sign is that each line of
// the cell has as many separators as a row.
func (r *Reader) tookRows(begin, next int) bool {
	if r.width == 0 || !bytes.Contains(r.ahead[begin:next], []byte("\n")) ||
		bytes.Contains(r.ahead[:begin], []byte("\n")) {
		return false
	}
	for line := range bytes.SplitSeq(r.ahead[:r.lineEnd(next)], []byte("\n")) {
		if bytes.Count(line, []byte{r.cut}) != r.width-1 {
			return false
		}
	}
	r.open = max(r.open, next)
	return true
}

// plainEnd returns the offset at which a cell without quotes ends.
func (r *Reader) plainEnd(at int) int {
	for i, c := range r.ahead[at:] {
		if c == r.cut || c == '\n' {
			return at + i
		}
	}
	return len(r.ahead)
}

// quoted returns a quoted cell. at is the offset after its first quote, and next the offset of the
// separator after the cell. is is false if this quote is text and begins no quoted cell.
func (r *Reader) quoted(at int) (cell []byte, next int, is bool, err error) {
	lazy := false
	for i := at; ; i++ {
		if i-at > MaxCell {
			r.open = len(r.ahead)
			return nil, 0, false, nil
		}
		if i >= len(r.ahead) {
			if r.ends {
				r.open = len(r.ahead)
				return nil, 0, false, nil
			}
			if err := r.more(); err != nil && !errors.Is(err, io.EOF) {
				return nil, 0, false, err
			}
			i--
			continue
		}
		if r.ahead[i] != '"' {
			if r.ahead[i] == '\n' && i < r.open {
				return nil, 0, false, nil
			}
			cell = append(cell, r.ahead[i])
			continue
		}
		if i+1 < len(r.ahead) && r.ahead[i+1] == '"' { // an escaped quote
			cell = append(cell, '"')
			if end, closed := r.closes(i + 2); lazy && closed {
				return cell, end, true, nil
			}
			i++
			continue
		}
		if end, closed := r.closes(i + 1); closed {
			return cell, end, true, nil
		}
		begins := r.ahead[i-1] == r.cut || r.ahead[i-1] == '\n' // the next cell begins, so this cell has no end
		if end := r.plainEnd(i); begins || !bytes.HasSuffix(bytes.TrimRight(r.ahead[i+1:end], " \r"), []byte(`"`)) {
			return nil, 0, false, nil // for example: "Zum Hirschen" GmbH
		}
		cell, lazy = append(cell, '"'), true // for example: "Der "Hirsch" am Markt"
	}
}

// closes reports whether only white space is before the next separator. end is the offset of the
// separator.
func (r *Reader) closes(at int) (end int, closed bool) {
	for ; at < len(r.ahead) && (r.ahead[at] == ' ' || r.ahead[at] == '\r'); at++ {
	}
	return at, at >= len(r.ahead) || r.ahead[at] == r.cut || r.ahead[at] == '\n'
}

// more appends the next line to ahead. It returns io.EOF at the end of the table.
func (r *Reader) more() error {
	for {
		part, err := r.from.ReadSlice('\n')
		r.ahead = append(r.ahead, part...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull) && len(r.ahead) <= 2*maxRow:
			continue
		case errors.Is(err, bufio.ErrBufferFull): // no real table has such a long line
			r.ahead = append(r.ahead, '\n')
			return nil
		case errors.Is(err, io.EOF):
			r.ends = true
			if len(part) > 0 {
				return nil
			}
		}
		return err
	}
}

// skip removes the first n bytes of ahead.
func (r *Reader) skip(n int) {
	r.line += bytes.Count(r.ahead[:n], []byte("\n"))
	r.open = max(0, r.open-n)
	r.ahead = r.ahead[n:]
}

// printable returns -1 for control characters and byte order marks, which strings.Map then removes.
func printable(c rune) rune {
	if c < ' ' && c != '\n' && c != '\t' || c == 0x7f || c == '\ufeff' {
		return -1
	}
	return c
}

// separators are the separators that programs write, the most usual in offices first.
var separators = []rune{';', ',', '\t', '|'}

// Separator guesses the separator of a table by its beginning. It returns the separator that gives
// most rows the same high number of cells.
func Separator(begin string) rune {
	best, bestFit := separators[0], 0
	if rest, is := strings.CutPrefix(strings.ToLower(begin), named); is && rest != "" {
		if s := rune(rest[0]); slices.Contains(separators, s) {
			return s
		}
	}
	for _, s := range separators {
		if n := fit(begin, s); n > bestFit {
			best, bestFit = s, n
		}
	}
	return best
}

// sampled is the number of rows by which Separator guesses.
const sampled = 30

// fit returns how well a separator fits: the highest product of a number of cells and the number of
// rows with so many cells.
func fit(begin string, separator rune) (best int) {
	r := NewReader(strings.NewReader(begin), separator)
	rows := map[int]int{}
	for range sampled {
		cells, _, err := r.Read()
		if err != nil {
			break
		}
		if n := len(cells); n > 1 {
			rows[n]++
			best = max(best, n*rows[n])
		}
	}
	return best
}
