// Package bundle owns the parts of a file that has several, as a child hands them to the server.
package bundle

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"kartei/extract/textio"
)

// Part is a part of a file: a file of an archive, or a sheet of a workbook.
type Part struct {
	// Name is the path in the archive. It is empty if the unpacked file is itself a workbook.
	Name string `json:"name,omitempty"`
	// Sheet is the name of the sheet. It is empty if the part is not a sheet.
	Sheet string `json:"sheet,omitempty"`
	// LeftOut says why the part has no content. It is empty if the part has its content.
	LeftOut LeftOut `json:"leftOut,omitempty"`
	// Size is the length of Content in bytes.
	Size int `json:"size,omitempty"`
	// Content is the content of a file as it is in the archive. For a sheet it has one line for
	// each row: a Row as JSON.
	Content []byte `json:"-"`
}

// Row is a row of a sheet.
type Row struct {
	// Number is the number of the row in the sheet, from 1.
	Number int `json:"n"`
	// At has the column of each cell, from 0 in ascending order. Cells has the texts, and none is
	// empty.
	At    []int    `json:"at"`
	Cells []string `json:"c"`
}

// LeftOut is a reason why a part has no content.
type LeftOut string

// The reasons why a part has no content.
const (
	// OtherKind means a file that is neither a table nor a vCard file.
	OtherKind LeftOut = "kind"
	// Nested means an archive in the archive.
	Nested LeftOut = "nested"
	// Sealed means a file with a password, and Unreadable a broken file.
	Sealed     LeftOut = "encrypted"
	Unreadable LeftOut = "broken"
	// Hidden means a sheet that Excel does not show.
	Hidden LeftOut = "hidden"
)

// MaxSize is the maximum size of the encoded parts of a file in bytes.
const MaxSize = 64 << 20

// Parse decodes the output of a Writer. It returns an error for invalid output, since the server
// does not trust a child.
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

// Writer writes encoded parts. It writes at most MaxSize bytes.
type Writer struct {
	out  io.Writer
	left int
}

// NewWriter returns a Writer that writes to out.
func NewWriter(out io.Writer) *Writer { return &Writer{out: out, left: MaxSize} }

// Left returns the number of bytes that w may still write.
func (w *Writer) Left() int { return w.left }

// Add writes a part: a line with its members as JSON, and then its content. If the output would
// exceed MaxSize, Add returns textio.ErrInflated.
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
