package source

import (
	"errors"
	"io"
	"strings"

	"kartei/kit/sheet"
)

// headingRows is the number of rows in which the headings of a table are searched.
const headingRows = 20

// sampled is the number of rows whose values are examined to guess columns.
const sampled = 100

// row is a row of a table or a sheet.
type row struct {
	cells []string
	// at are the columns of the cells. If it is nil, the cells are in the order of the columns.
	at   []int
	line int
	err  error
}

// filled returns the row with a cell for each column.
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

// openTable opens a table in a text file.
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

// openRows finds the headings of a table, and guesses the meaning of its columns.
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

// headingsAt returns the index of the row with the headings, or -1. It is the row with most known
// headings among the first rows. If there is none, it is the first row, unless a cell of that row
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
