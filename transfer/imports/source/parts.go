package source

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"path"
	"strings"

	"kartei/extract/bundle"
	"kartei/kit/sheet"
)

// Begin is the number of bytes that Packed needs.
const Begin = 8

// Packed reports whether a file is an archive or a workbook. It includes compound files, because
// workbooks with a password and workbooks before 2007 are such files. begin are its first Begin
// bytes.
func Packed(begin []byte) bool {
	return bytes.HasPrefix(begin, []byte("PK\x03\x04")) || bytes.HasPrefix(begin, []byte("PK\x05\x06")) ||
		bytes.HasPrefix(begin, []byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"))
}

// LeftOut is a file of an archive, or a sheet of a workbook, that was not read.
type LeftOut struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// Reasons that package extract does not have.
const (
	// NotChosen is a table next to cards, or next to another table.
	NotChosen = "other"
	// OtherSheet is another sheet than the one with the table.
	OtherSheet = "sheet"
	// NoCards is a file with the file name extension of cards, but without cards.
	NoCards = "noCards"
)

// leaveOut adds a part to LeftOut.
func (f *File) leaveOut(p *bundle.Part, reason string) {
	name := p.Name
	if p.Sheet != "" && name != "" {
		name += ": " + p.Sheet
	} else if p.Sheet != "" {
		name = p.Sheet
	}
	f.LeftOut = append(f.LeftOut, LeftOut{name, reason})
}

// OpenParts returns the entries of all files with cards in an archive. Without cards, it returns
// the entries of the first table in the archive or workbook. If the error is ErrNoTable, LeftOut of
// the returned file has the reasons.
func OpenParts(parts []bundle.Part) (*File, error) {
	f := &File{encoding: UTF8, decoder: &decoder{}}
	var cards, tables, texts []*bundle.Part
	for i := range parts {
		p := &parts[i]
		switch ending := strings.ToLower(path.Ext(p.Name)); {
		case p.LeftOut != "":
			f.leaveOut(p, string(p.LeftOut))
		case p.Sheet == "" && (ending == ".vcf" || ending == ".vcard"):
			cards = append(cards, p)
		case p.Sheet == "" && ending == ".txt":
			texts = append(texts, p)
		default:
			tables = append(tables, p)
		}
	}
	tables = append(tables, texts...)
	if len(cards) > 0 {
		for _, p := range tables {
			if p.Sheet == "" || len(p.Content) > 0 {
				f.leaveOut(p, NotChosen)
			}
		}
		f.openCardFiles(cards)
		return f, nil
	}
	return f, f.openFirstTable(tables)
}

// openCardFiles makes f read the cards of several files, one after the other.
func (f *File) openCardFiles(files []*bundle.Part) {
	f.Format, f.Columns, f.cards = VCard, cardColumns, map[string]bool{}
	several := len(files) > 1
	var now *File
	var name string
	f.read = func() (Entry, error) {
		for {
			for now == nil {
				if len(files) == 0 {
					return Entry{}, io.EOF
				}
				p := files[0]
				files = files[1:]
				opened, err := Open(bytes.NewReader(p.Content))
				p.Content = nil // frees the memory
				if err != nil || opened.Format != VCard {
					f.leaveOut(p, NoCards)
					continue
				}
				if now = opened; several {
					f.Files++
					name = p.Name
				}
			}
			e, err := now.read()
			if !errors.Is(err, io.EOF) {
				e.File = name
				return e, err
			}
			f.take(now)
			now = nil
		}
	}
}

// take adds the encoding, the cards and the groups of a part that was read completely.
func (f *File) take(part *File) {
	switch encoding := part.Encoding(); {
	case f.encoding == UTF8 && !f.begun:
		f.encoding = encoding
	case f.encoding != encoding:
		f.encoding = Mixed
	}
	f.begun = true
	maps.Copy(f.cards, part.cards)
	for member, names := range part.groups {
		for _, name := range names {
			f.addGroup(name, member)
		}
	}
}

// openFirstTable opens the first table. The sheets of one workbook are adjacent.
func (f *File) openFirstTable(tables []*bundle.Part) error {
	leftOut := f.LeftOut
	for i := 0; i < len(tables); {
		p := tables[i]
		end := i + 1
		for end < len(tables) && p.Sheet != "" && tables[end].Sheet != "" && tables[end].Name == p.Name {
			end++
		}
		var opened *File
		var err error
		if p.Sheet == "" {
			opened, err = Open(bytes.NewReader(p.Content))
		} else {
			opened, err = openBook(tables[i:end])
		}
		switch {
		case errors.Is(err, ErrNoTable):
			f.leaveOut(p, string(bundle.Unreadable))
			leftOut = f.LeftOut
			i = end
			continue
		case err != nil:
			return err
		}
		*f = *opened
		f.Sheet = strings.TrimSuffix(p.Name+": "+f.Sheet, ": ")
		f.Sheet = strings.TrimPrefix(f.Sheet, ": ")
		f.LeftOut = append(leftOut, f.LeftOut...)
		for _, p := range tables[end:] {
			if p.Sheet == "" || len(p.Content) > 0 {
				f.leaveOut(p, NotChosen)
			}
		}
		return nil
	}
	return ErrNoTable
}

// openBook opens the sheet of a workbook that most looks like a table: with known headings, else
// with several columns, else not empty. If several sheets are equal in that, it opens the first.
func openBook(sheets []*bundle.Part) (*File, error) {
	best, limit := -1, 0
	for i, p := range sheets {
		rows, err := firstRows(p.Content)
		if err != nil {
			return nil, err
		}
		if n := worth(rows); n > limit {
			best, limit = i, n
		}
	}
	if best < 0 {
		return nil, ErrNoTable
	}
	f := &File{Format: XLSX, Sheet: sheets[best].Sheet, encoding: UTF8, decoder: &decoder{}}
	for i, p := range sheets {
		if i != best && len(p.Content) > 0 {
			f.leaveOut(p, OtherSheet)
		}
	}
	r := json.NewDecoder(bytes.NewReader(sheets[best].Content))
	return f, f.openRows(func() (row, error) { return nextRow(r) })
}

// worth rates how much the rows of a sheet look like a table: 3 with known headings, 2 with several
// columns, 1 if not empty, 0 if empty.
func worth(rows []row) int {
	if at := headingsAt(rows); at >= 0 && known(rows[at].cells) > 1 {
		return 3
	}
	wide := 0
	for _, r := range rows {
		if len(present(r.cells...)) > 1 {
			wide++
		}
	}
	switch {
	case wide > 1:
		return 2
	case len(rows) > 0:
		return 1
	}
	return 0
}

// firstRows returns the first rows of a sheet, with a cell for each column.
func firstRows(content []byte) (rows []row, err error) {
	r := json.NewDecoder(bytes.NewReader(content))
	for len(rows) < sampled {
		next, err := nextRow(r)
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return nil, err
		}
		rows = append(rows, next.filled())
	}
	return rows, nil
}

// nextRow reads a row from the output of the workbook reader. It checks the row, because that
// process is not trusted.
func nextRow(from *json.Decoder) (row, error) {
	var r bundle.Row
	if err := from.Decode(&r); errors.Is(err, io.EOF) {
		return row{}, io.EOF
	} else if err != nil || len(r.At) != len(r.Cells) {
		return row{}, errors.Join(ErrNoTable, err)
	}
	out := row{line: r.Number}
	last := -1
	for i, at := range r.At {
		if at <= last || at >= sheet.MaxCells {
			return row{}, ErrNoTable
		}
		last = at
		if text := sheet.Text(r.Cells[i]); text != "" {
			out.at, out.cells = append(out.at, at), append(out.cells, text)
		}
	}
	return out, nil
}
