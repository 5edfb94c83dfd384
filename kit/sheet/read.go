package sheet

import (
	"bufio"
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
type Reader struct{ from *csv.Reader }

// NewReader returns a reader of a table whose cells are cut at a separator. A first
// line that names the separator, as Excel writes it, is left out.
func NewReader(r io.Reader, separator rune) *Reader {
	b := bufio.NewReader(r)
	if begin, _ := b.Peek(len(named) + 3); strings.HasPrefix(strings.ToLower(string(begin)), named) { // a shorter file has no such line
		_, _ = b.ReadString('\n') // an error comes again with the first row
	}
	from := csv.NewReader(b)
	from.Comma, from.LazyQuotes, from.FieldsPerRecord = separator, true, -1
	return &Reader{from}
}

// named begins a line that names the separator of a table.
const named = "sep="

// Read returns the next row that is not empty, and the line of the file on which it
// begins. At the end of the table the error is io.EOF.
func (r *Reader) Read() (cells []string, line int, err error) {
	for {
		cells, err = r.from.Read()
		if parse := (*csv.ParseError)(nil); errors.As(err, &parse) {
			return nil, parse.StartLine, ErrRow
		}
		if err != nil {
			return nil, 0, err
		}
		line, _ = r.from.FieldPos(0)
		if len(cells) > MaxCells || slices.ContainsFunc(cells, func(c string) bool { return len(c) > MaxCell }) {
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
