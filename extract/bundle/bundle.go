// Package bundle owns the parts of a file that has several, as a child hands them to the server.
package bundle

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"kartei/extract/textio"
)

// Part is what a file with several parts has: a file of an archive, or the rows of a sheet.
type Part struct {
	// Name is the path of the file in the archive. It is empty if the file itself is a workbook.
	Name string `json:"name,omitempty"`
	// Sheet is the name of the sheet whose rows are the content.
	Sheet string `json:"sheet,omitempty"`
	// LeftOut says why there is no content.
	LeftOut LeftOut `json:"leftOut,omitempty"`
	// Size is the length of the content.
	Size int `json:"size,omitempty"`
	// Content are the bytes of a file, or lines with a Row in JSON each.
	Content []byte `json:"-"`
}

// Row is a row of a sheet.
type Row struct {
	// Number counts the rows of the sheet from 1.
	Number int `json:"n"`
	// At are the columns of the cells, from 0 and ascending. Cells are their texts, never empty.
	At    []int    `json:"at"`
	Cells []string `json:"c"`
}

// LeftOut says why a part was left out.
type LeftOut string

// The reasons.
const (
	// OtherKind is a file that is no table and no vCard.
	OtherKind LeftOut = "kind"
	// Nested is an archive in an archive.
	Nested LeftOut = "nested"
	// Sealed has a password, Unreadable is broken.
	Sealed     LeftOut = "encrypted"
	Unreadable LeftOut = "broken"
	// Hidden is a sheet that the workbook does not show.
	Hidden LeftOut = "hidden"
)

// MaxSize bounds the bytes of all parts of a file.
const MaxSize = 64 << 20

// Parse reads what a Writer wrote. A child is not trusted.
func Parse(b []byte) (list []Part, err error) {
	for len(b) > 0 {
		head, rest, found := bytes.Cut(b, []byte("\n"))
		var p Part
		if err := json.Unmarshal(head, &p); err != nil || !found || p.Size < 0 || p.Size > len(rest) {
			return nil, errors.Join(textio.ErrBroken, err)
		}
		p.Content = rest[:p.Size:p.Size]
		list, b = append(list, p), rest[p.Size:]
	}
	return list, nil
}

// Writer writes parts, at most MaxSize bytes of them.
type Writer struct {
	out  io.Writer
	left int
}

// NewWriter returns a writer of parts.
func NewWriter(out io.Writer) *Writer { return &Writer{out: out, left: MaxSize} }

// Left returns the number of bytes that may still be written.
func (w *Writer) Left() int { return w.left }

// Add writes a part: a line with what it is, and its content. Beyond the bound the
// error is textio.ErrInflated.
func (w *Writer) Add(part Part) error {
	part.Size = len(part.Content)
	head, err := json.Marshal(part)
	if err != nil {
		return err
	}
	head = append(head, '\n')
	if w.left -= len(head) + part.Size; w.left < 0 {
		return textio.ErrInflated
	}
	if _, err := w.out.Write(head); err != nil {
		return err
	}
	_, err = w.out.Write(part.Content)
	return err
}
