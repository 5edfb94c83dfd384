// Package sheet owns the form of tables that spreadsheets of offices open and save: CSV with semicolons.
package sheet

import (
	"encoding/csv"
	"io"
	"regexp"
	"strings"
)

// MediaType is the media type of a table.
const MediaType = "text/csv; charset=utf-8"

// Writer writes a table. It begins with a byte order mark: without one, Excel takes
// the file for one in the machine's own code page. German Excel cuts at semicolons.
type Writer struct{ to *csv.Writer }

// NewWriter returns a writer of a table.
func NewWriter(w io.Writer) *Writer {
	to := csv.NewWriter(&bomWriter{Writer: w})
	to.Comma, to.UseCRLF = ';', true
	return &Writer{to}
}

// Row writes a row. A cell that a spreadsheet would run as a formula becomes a text.
func (w *Writer) Row(cells ...string) error {
	safe := make([]string, len(cells))
	for i, c := range cells {
		safe[i] = Guard(lineEnds.Replace(c))
	}
	return w.to.Write(safe)
}

// lineEnds gives a text the one kind of end of line that a table has.
var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// Flush writes what is buffered.
func (w *Writer) Flush() error {
	w.to.Flush()
	return w.to.Error()
}

// bomWriter writes the byte order mark before the first bytes.
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

// formula matches what a spreadsheet takes for a formula, also in full width and
// behind white space, and what Guard made of one.
var formula = regexp.MustCompile(`^'*[\s\x00-\x20\x{feff}]*[=+\-@＝＋－＠]|^'*[\t\r\n]`)

// inner and guarded match the same inside a text, behind what another spreadsheet
// takes for the end of a cell: English Excel cuts at commas, which are not quoted.
var (
	inner   = regexp.MustCompile(`([,;\t\r\n][\x00-\x08\x0b\x0c\x0e-\x20\x{feff}"]*)('*[=+\-@＝＋－＠])`)
	guarded = regexp.MustCompile(`([,;\t\r\n][\x00-\x08\x0b\x0c\x0e-\x20\x{feff}"]*)'('*[=+\-@＝＋－＠])`)
)

// Guard returns a text that no spreadsheet runs: an apostrophe before what looks
// like a formula. A telephone number keeps its plus sign that way, too.
func Guard(text string) string {
	text = inner.ReplaceAllString(text, "${1}'${2}")
	if formula.MatchString(text) {
		return "'" + text
	}
	return text
}

// Unguard returns the text of which Guard made a cell.
func Unguard(cell string) string {
	if rest, cut := strings.CutPrefix(cell, "'"); cut && formula.MatchString(rest) {
		cell = rest
	}
	return guarded.ReplaceAllString(cell, "${1}${2}")
}
