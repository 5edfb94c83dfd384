package source

import (
	"errors"
	"io"
	"strings"

	"kartei/kit/sheet"
)

// headingRows is how far down the headings of a table may stand.
const headingRows = 20

// sampled is how many rows tell what a column is whose heading is silent.
const sampled = 100

// row is a row that was read ahead.
type row struct {
	cells []string
	// at are the columns of the cells. Without them each column has a cell.
	at   []int
	line int
	err  error
}

// filled returns a row with a cell for each column.
func (r row) filled() row {
	if r.at == nil {
		return r
	}
	cells := make([]string, r.at[len(r.at)-1]+1)
	for i, at := range r.at {
		cells[at] = r.cells[i]
	}
	return row{cells: cells, line: r.line, err: r.err}
}

// openTable opens a table of a text.
func (f *File) openTable(from io.Reader, begin []byte) error {
	r := sheet.NewReader(from, sheet.Separator(string(begin)))
	r.Text = func(cell []byte) string { return f.decoder.text(cell, "") }
	f.Format = CSV
	return f.openRows(func() (row, error) {
		cells, line, err := r.Read()
		if err != nil && !errors.Is(err, sheet.ErrRow) {
			return row{}, err
		}
		return row{cells: cells, line: line, err: err}, nil
	})
}

// openRows finds the headings of a table, or guesses what its columns are.
func (f *File) openRows(read func() (row, error)) error {
	var ahead []row
	for len(ahead) < sampled {
		next, err := read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		ahead = append(ahead, next.filled())
	}
	at := headingsAt(ahead)
	var headings []string
	if at >= 0 {
		headings = ahead[at].cells
		f.Above = at
		ahead = ahead[at+1:]
	}
	f.guess(headings, ahead)
	f.read = func() (Entry, error) {
		var next row
		if len(ahead) > 0 {
			next, ahead = ahead[0], ahead[1:]
		} else if further, err := read(); err != nil {
			return Entry{}, err
		} else {
			next = further
		}
		if next.err != nil {
			return Entry{Line: next.line}, ErrEntry
		}
		e := Entry{Line: next.line}
		for i, cell := range next.cells {
			at := i
			if next.at != nil {
				at = next.at[i]
			}
			if cell != "" {
				e.Values = append(e.Values, Value{Column: at, Text: cell})
			}
		}
		return e, nil
	}
	return nil
}

// headingsAt returns which row has the headings, -1 for none: of the first rows the one
// with most headings that are known. Else it is the first one, if none of its cells
// could be a value.
func headingsAt(rows []row) int {
	best, limit := -1, 0
	for i, r := range rows[:min(len(rows), headingRows)] {
		filled := len(present(r.cells...))
		if n := known(r.cells); n > limit && (n > 1 || n*2 >= filled) && !strings.Contains(strings.Join(r.cells, ""), "@") {
			best, limit = i, n
		}
	}
	switch {
	case best >= 0:
		return best
	case len(rows) > 0 && rows[0].err == nil && !strings.ContainsAny(strings.Join(rows[0].cells, " "), "@0123456789\n"):
		return 0
	}
	return -1
}
