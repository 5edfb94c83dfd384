package sheet

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"slices"
	"strings"
)

// MaxCell bounds the bytes of a cell. A quote that is never closed makes one cell of
// everything behind it.
const MaxCell = 64 << 10

// MaxCells bounds the cells of a row.
const MaxCells = 500

// ErrRow means that a row cannot be read. The rows behind it can.
var ErrRow = errors.New("sheet: the row cannot be read")

// Reader reads a table that some other program wrote, as UTF-8.
type Reader struct {
	from *csv.Reader
	// raw has what was read behind the last row, which began at the byte base.
	raw  bytes.Buffer
	base int64
}

// NewReader returns a reader of a table whose cells are cut at a separator. A first
// line that names the separator, as Excel writes it, is left out.
func NewReader(r io.Reader, separator rune) *Reader {
	b := bufio.NewReader(r)
	if begin, _ := b.Peek(len(named) + 3); strings.HasPrefix(strings.ToLower(string(begin)), named) { // a shorter file has no such line
		_, _ = b.ReadString('\n') // an error comes again with the first row
	}
	t := &Reader{}
	t.from = csv.NewReader(io.TeeReader(b, &t.raw))
	t.from.Comma, t.from.LazyQuotes, t.from.FieldsPerRecord = separator, true, -1
	return t
}

// named begins a line that names the separator of a table.
const named = "sep="

// Read returns the next row that is not empty, and the line of the file on which it
// begins. At the end of the table the error is io.EOF.
func (r *Reader) Read() (cells []string, line int, err error) {
	for {
		cells, err = r.from.Read()
		if parse := (*csv.ParseError)(nil); errors.As(err, &parse) {
			r.unclosed()
			return nil, parse.StartLine, ErrRow
		}
		if err != nil {
			return nil, 0, err
		}
		line, _ = r.from.FieldPos(0)
		if r.unclosed() || len(cells) > MaxCells || slices.ContainsFunc(cells, func(c string) bool { return len(c) > MaxCell }) {
			return nil, line, ErrRow
		}
		empty := true
		for i, c := range cells {
			cells[i] = strings.TrimSpace(strings.Map(printable, Unguard(c)))
			empty = empty && cells[i] == ""
		}
		if !empty {
			return cells, line, nil
		}
	}
}

// unclosed forgets the text of the row that was read, and reports whether a quote is
// open at its end. Such a row has the rest of the table in its last cell.
func (r *Reader) unclosed() bool {
	end := r.from.InputOffset()
	row := r.raw.Next(int(end - r.base))
	r.base = end
	separator, open, begins := string(r.from.Comma), false, true
	for len(row) > 0 {
		n := 1
		switch rest, is := bytes.CutPrefix(row, []byte(`"`)); {
		case open && is && bytes.HasPrefix(rest, []byte(`"`)):
			n = 2 // a quote of the text
		case open && is: // one before other text is lazy, and stays within
			open = len(rest) > 0 && !bytes.HasPrefix(rest, []byte(separator)) && rest[0] != '\n' && !bytes.HasPrefix(rest, []byte("\r\n"))
			begins = false
		case open:
		case begins && is:
			open, begins = true, false
		case bytes.HasPrefix(row, []byte(separator)):
			n, begins = len(separator), true
		default:
			begins = row[0] == '\n' || begins && row[0] == '\r'
		}
		row = row[n:]
	}
	return open
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
	best, most := separators[0], 0
	if rest, is := strings.CutPrefix(strings.ToLower(begin), named); is && rest != "" {
		if s := rune(rest[0]); slices.Contains(separators, s) {
			return s
		}
	}
	for _, s := range separators {
		if n := fit(begin, s); n > most {
			best, most = s, n
		}
	}
	return best
}

// sampled is the number of rows from which the separator is guessed.
const sampled = 10

// fit rates a separator.
func fit(begin string, separator rune) int {
	r := NewReader(strings.NewReader(begin), separator)
	first, same := 0, 0
	for range sampled {
		cells, _, err := r.Read()
		switch {
		case err != nil:
			return first * (1 + same)
		case first == 0:
			if first = len(cells); first == 1 {
				return 0
			}
		case len(cells) == first:
			same++
		}
	}
	return first * (1 + same)
}
