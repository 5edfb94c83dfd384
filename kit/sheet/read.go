package sheet

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
)

// MaxCell bounds the bytes of a cell, and how far the end of a quote is looked for.
// What a cell has more is cut.
const MaxCell = 64 << 10

// MaxCells bounds the cells of a row: Excel has as many columns.
const MaxCells = 16384

// maxRow bounds the bytes of a row.
const maxRow = 1 << 20

// ErrRow means that a row cannot be read. The rows behind it can.
var ErrRow = errors.New("sheet: the row cannot be read")

// Reader reads a table that some other program wrote. Its bytes are in UTF-8 or in
// a code page. Each cell is decoded by itself.
//
// A quote that is not before a separator is text: "Zum Hirschen" GmbH is a cell as it
// stands. So a quote that is never closed takes nothing of the rows behind it. Neither does
// one that a quote of a later row seems to close.
type Reader struct {
	// Text makes a text of the bytes of a cell. Without it the bytes are the text.
	Text func([]byte) string
	from *bufio.Reader
	cut  byte
	// ahead has lines that were read and not used yet, and ends is true at the end of the
	// table behind them.
	ahead []byte
	ends  bool
	line  int
	// open is how many bytes of ahead have no end of a cell in quotes: behind a quote that
	// is never closed nothing is looked for again.
	open int
	// width is how many cells the first row of a table has, 0 if it is narrower than a table.
	width int
}

// NewReader returns a reader of a table whose cells are cut at a separator. A first
// line that names the separator, as Excel writes it, is left out.
func NewReader(r io.Reader, separator rune) *Reader {
	b := bufio.NewReaderSize(r, 64<<10)
	if mark, _ := b.Peek(3); string(mark) == "\ufeff" {
		_, _ = b.Discard(3)
	}
	t := &Reader{from: b, cut: byte(separator), line: 1}
	if begin, _ := b.Peek(len(named)); strings.EqualFold(string(begin), named) { // a shorter file has no such line
		_ = t.more() // the line was peeked at
		t.skip(len(t.ahead))
	}
	return t
}

// named begins a line that names the separator of a table.
const named = "sep="

// Read returns the next row that is not empty, and the line of the file on which it
// begins. At the end of the table the error is io.EOF.
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

// text returns what a cell says.
func (r *Reader) text(cell []byte) string {
	text := string(cell)
	if r.Text != nil {
		text = r.Text(cell)
	}
	return Text(text)
}

// Text returns what the text of a cell says: with one kind of line end, without what Guard
// added, and without characters that no text has.
func Text(cell string) string {
	return strings.TrimSpace(strings.Map(printable, Unguard(lineEnds.Replace(cell))))
}

// row returns the cells of the next row, and how many bytes of ahead it has.
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

// lineEnd returns where the line ends in which a byte is.
func (r *Reader) lineEnd(from int) int {
	if n := bytes.IndexByte(r.ahead[from:], '\n'); n >= 0 {
		return from + n
	}
	return len(r.ahead)
}

// cell returns a cell that begins at a byte, and where its separator is.
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

// narrow is how many cells a row has at least that tells rows from lines of a cell.
const narrow = 3

// tookRows reports whether a cell in quotes has swallowed whole rows. Then each line of the cell
// has as many separators as a row.
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

// plainEnd returns where a cell without quotes ends.
func (r *Reader) plainEnd(at int) int {
	for i, c := range r.ahead[at:] {
		if c == r.cut || c == '\n' {
			return at + i
		}
	}
	return len(r.ahead)
}

// quoted returns a cell behind its first quote. is is false if the quote is text.
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
		if i+1 < len(r.ahead) && r.ahead[i+1] == '"' { // a quote of the text
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
		begins := r.ahead[i-1] == r.cut || r.ahead[i-1] == '\n' // another cell, so that this one has no end
		if end := r.plainEnd(i); begins || !bytes.HasSuffix(bytes.TrimRight(r.ahead[i+1:end], " \r"), []byte(`"`)) {
			return nil, 0, false, nil // as in "Zum Hirschen" GmbH
		}
		cell, lazy = append(cell, '"'), true // as in "Der "Hirsch" am Markt"
	}
}

// closes reports whether only white space is before the next separator, and where that
// is.
func (r *Reader) closes(at int) (end int, closed bool) {
	for ; at < len(r.ahead) && (r.ahead[at] == ' ' || r.ahead[at] == '\r'); at++ {
	}
	return at, at >= len(r.ahead) || r.ahead[at] == r.cut || r.ahead[at] == '\n'
}

// more reads a line. At the end of the table the error is io.EOF.
func (r *Reader) more() error {
	for {
		part, err := r.from.ReadSlice('\n')
		r.ahead = append(r.ahead, part...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull) && len(r.ahead) <= 2*maxRow:
			continue
		case errors.Is(err, bufio.ErrBufferFull): // cut here: no table has such a line
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

// skip forgets bytes of ahead.
func (r *Reader) skip(n int) {
	r.line += bytes.Count(r.ahead[:n], []byte("\n"))
	r.open = max(0, r.open-n)
	r.ahead = r.ahead[n:]
}

// printable leaves out characters that no text has.
func printable(c rune) rune {
	if c < ' ' && c != '\n' && c != '\t' || c == 0x7f || c == '\ufeff' {
		return -1
	}
	return c
}

// separators are what programs cut cells at, the most usual in offices first.
var separators = []rune{';', ',', '\t', '|'}

// Separator guesses what cells are cut at, by the beginning of a table: what gives its
// first rows the most cells, and all of them as many.
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

// sampled is the number of rows from which the separator is guessed.
const sampled = 30

// fit rates a separator: by the number of cells that most rows have.
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
