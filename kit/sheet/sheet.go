// Package sheet owns the reading and writing of CSV tables that spreadsheets open and save.
package sheet

import (
	"encoding/csv"
	"io"
	"regexp"
	"strings"
)

// MediaType is the media type of a table.
const MediaType = "text/csv; charset=utf-8"

// Writer writes a CSV table. The separator is the semicolon, as in German Excel. The table begins
// with a byte order mark, because Excel otherwise assumes the code page of the machine.
type Writer struct{ to *csv.Writer }

// NewWriter returns a Writer that writes a table to w.
func NewWriter(w io.Writer) *Writer {
	to := csv.NewWriter(&bomWriter{Writer: w})
	to.Comma, to.UseCRLF = ';', true
	return &Writer{to}
}

// Row writes a row. Guard changes each cell that a spreadsheet could run as a formula.
func (w *Writer) Row(cells ...string) error {
	safe := make([]string, len(cells))
	for i, c := range cells {
		safe[i] = Guard(lineEnds.Replace(c))
	}
	return w.to.Write(safe)
}

// lineEnds replaces all line ends by \n.
var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// Flush writes the buffered rows. It returns the first error of the Writer.
func (w *Writer) Flush() error {
	w.to.Flush()
	return w.to.Error()
}

// bomWriter writes a byte order mark before the first bytes.
type bomWriter struct {
	io.Writer
	begun bool
}

func (m *bomWriter) Write(b []byte) (int, error) {
	if !m.begun {
		m.begun = true
		if _, err := io.WriteString(m.Writer, "\ufeff"); err != nil {
			return 0, err
		}
	}
	return m.Writer.Write(b)
}

// formula matches a text that a spreadsheet runs as a formula. The signs may be of full width, and
// white space or apostrophes of Guard may come before.
var formula = regexp.MustCompile(`^'*[\s\x00-\x20\x{feff}]*[=+\-@＝＋－＠]|^'*[\t\r\n]`)

// inner matches a formula within a text, after a character that ends a cell for some spreadsheet.
// English Excel, for example, splits cells at commas. guarded matches the result of Guard for such
// a formula.
var (
	inner   = regexp.MustCompile(`([,;\t\r\n][\x00-\x08\x0b\x0c\x0e-\x20\x{feff}"]*)('*[=+\-@＝＋－＠])`)
	guarded = regexp.MustCompile(`([,;\t\r\n][\x00-\x08\x0b\x0c\x0e-\x20\x{feff}"]*)'('*[=+\-@＝＋－＠])`)
)

// Guard returns the text with an apostrophe before each formula, so that no spreadsheet runs it.
// The apostrophe also keeps the plus sign of telephone numbers.
func Guard(text string) string {
	text = inner.ReplaceAllString(text, "${1}'${2}")
	if formula.MatchString(text) {
		return "'" + text
	}
	return text
}

// Unguard returns the text from which Guard made a cell.
func Unguard(cell string) string {
	if rest, cut := strings.CutPrefix(cell, "'"); cut && formula.MatchString(rest) {
		cell = rest
	}
	return guarded.ReplaceAllString(cell, "${1}${2}")
}
