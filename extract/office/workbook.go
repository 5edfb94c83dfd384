package office

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"encoding/xml"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"kartei/extract/bundle"
	"kartei/extract/textio"
)

// This file reads the rows of an Excel workbook (ECMA-376 part 1, section 18) as its sheets show
// them.

// The limits of Excel, and for reading a workbook.
const (
	maxColumns = 16_384
	maxCell    = 64 << 10
	maxMerges  = 65_536
	maxStyles  = 65_536
)

// workbook is a workbook that is being read.
type workbook struct {
	*archive
	shared []string
	// formats are the number formats of cells. The style of a cell is an index of this list.
	formats []*numberFormat
	// since1904 says that days count from 1904, as in Excel on old Macs.
	since1904 bool
}

// mainPart returns the name of the part that lists the sheets, and whether the archive has this
// part.
func (a *archive) mainPart() (string, bool) {
	for _, r := range a.relations("") {
		if strings.HasSuffix(r.kind, "/officeDocument") && a.part(r.target) != nil {
			return r.target, true
		}
	}
	const defaultPath = "xl/workbook.xml"
	return defaultPath, a.part(defaultPath) != nil
}

// relation is a link from one part to another.
type relation struct{ id, kind, target string }

// relations returns the relations of a part. The empty name means the whole archive.
func (a *archive) relations(of string) (list []relation) {
	dir, base := path.Split(of)
	_ = a.each(a.part(path.Join(dir, "_rels", base+".rels")), func(token xml.Token) error {
		// errors are ignored, since the usual names are tried if there are no relations
		if t, is := token.(xml.StartElement); is && t.Name.Local == "Relationship" {
			target := textio.Attribute(t, "Target")
			if rooted, is := strings.CutPrefix(target, "/"); is {
				target = path.Clean(rooted)
			} else {
				target = path.Join(dir, target)
			}
			list = append(list, relation{textio.Attribute(t, "Id"), textio.Attribute(t, "Type"), target})
		}
		return nil
	})
	return list
}

// sheetOf is an entry in the workbook's list of sheets.
type sheetOf struct {
	name, id string
	hidden   bool
}

// workbook writes the sheets of a workbook as parts. name is the path of the workbook in the
// archive.
func (a *archive) workbook(main, name string, p *bundle.Writer) error {
	w := &workbook{archive: a}
	list, err := w.sheets(main)
	if err != nil {
		return err
	}
	files := map[string]*zip.File{}
	for _, r := range a.relations(main) {
		switch {
		case strings.HasSuffix(r.kind, "/worksheet"):
			files[r.id] = a.part(r.target)
		case strings.HasSuffix(r.kind, "/sharedStrings"):
			w.shared, err = a.sharedTexts(a.part(r.target))
		case strings.HasSuffix(r.kind, "/styles"):
			err = w.styles(a.part(r.target))
		}
		if err != nil {
			return err
		}
	}
	for _, s := range list {
		part := bundle.Part{Name: name, Sheet: s.name}
		switch {
		case files[s.id] == nil: // a chart
			continue
		case s.hidden:
			part.LeftOut = bundle.Hidden
		default:
			if part.Content, err = w.encoded(files[s.id], p.Left()); err != nil {
				return err
			}
		}
		if err := p.Add(part); err != nil {
			return err
		}
	}
	return nil
}

// sheets reads the list of sheets.
func (w *workbook) sheets(main string) (list []sheetOf, err error) {
	err = w.each(w.part(main), func(token xml.Token) error {
		t, is := token.(xml.StartElement)
		switch {
		case is && t.Name.Local == "workbookPr":
			since := textio.Attribute(t, "date1904")
			w.since1904 = since == "1" || since == "true"
		case is && t.Name.Local == "sheet":
			state := textio.Attribute(t, "state")
			list = append(list, sheetOf{cutTo(textio.Attribute(t, "name"), maxName), textio.Attribute(t, "id"), state == "hidden" ||
				state == "veryHidden"})
		}
		return nil
	})
	return list, err
}

// styles reads the number formats of the cell styles.
func (w *workbook) styles(f *zip.File) error {
	codes := map[int]string{}
	formats := map[int]*numberFormat{}
	within := false
	return w.each(f, func(token xml.Token) error {
		switch t := token.(type) {
		case xml.StartElement:
			n, _ := strconv.Atoi(textio.Attribute(t, "numFmtId"))
			switch {
			case t.Name.Local == "numFmt":
				codes[n] = cutTo(textio.Attribute(t, "formatCode"), 255)
			case t.Name.Local == "cellXfs":
				within = true
			case t.Name.Local == "xf" && within:
				if len(w.formats) == maxStyles {
					return textio.ErrInflated
				}
				if formats[n] == nil {
					formats[n] = formatOf(n, codes[n])
				}
				w.formats = append(w.formats, formats[n])
			}
		case xml.EndElement:
			within = within && t.Name.Local != "cellXfs"
		}
		return nil
	})
}

// mergedCells are cells in one column that are shown as one cell, in the rows from from to to. Only
// the first has a value.
type mergedCells struct{ column, from, to int }

// merges returns the merged cells that span several rows, by their first row. Readers repeat their
// value in each of these rows.
func (w *workbook) merges(f *zip.File) (map[int][]mergedCells, error) {
	all, n := map[int][]mergedCells{}, 0
	err := w.each(f, func(token xml.Token) error {
		t, is := token.(xml.StartElement)
		if !is || t.Name.Local != "mergeCell" {
			return nil
		}
		if n++; n > maxMerges {
			return textio.ErrInflated
		}
		from, to, _ := strings.Cut(textio.Attribute(t, "ref"), ":")
		column, first := cellAt(from)
		_, last := cellAt(to)
		if column >= 0 && first > 0 && last > first {
			all[first] = append(all[first], mergedCells{column, first, last})
		}
		return nil
	})
	return all, err
}

// cellAt returns the column, from 0, and the row of a reference such as AB12. A
// missing column or row is -1.
func cellAt(ref string) (column, row int) {
	digits := strings.TrimLeft(ref, "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
	column, row = 0, -1
	for _, c := range ref[:min(len(ref)-len(digits), 4)] {
		column = column*26 + int(c-'A') + 1
	}
	if n, err := strconv.Atoi(digits); err == nil {
		row = n
	}
	return column - 1, row
}

// encoded returns the rows of a sheet as JSON, as in the content of a bundle.Part. Merged cells
// have their value in each of their rows.
func (w *workbook) encoded(f *zip.File, limit int) ([]byte, error) {
	merges, err := w.merges(f)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	encode := json.NewEncoder(&out)
	encode.SetEscapeHTML(false)
	err = w.rows(f, merges, func(r bundle.Row) error {
		if err := encode.Encode(r); err != nil {
			return err
		}
		if out.Len() > limit {
			return textio.ErrInflated
		}
		return nil
	})
	return out.Bytes(), err
}

// lines writes each row of a sheet as a line.
func (w *workbook) lines(f *zip.File, out *textio.Sink) error {
	return w.rows(f, nil, func(r bundle.Row) error {
		for _, cell := range r.Cells {
			out.Text(strings.ReplaceAll(cell, "\n", " ") + "\t")
		}
		return out.Line()
	})
}

// rows calls emit with each row of a sheet that has a cell with text.
func (w *workbook) rows(f *zip.File, merges map[int][]mergedCells, emit func(bundle.Row) error) error {
	r := &sheetReader{workbook: w, merges: merges, emit: emit, open: map[int]spread{}}
	s := skipper{names: []string{"rPh"}} // the pronunciation of Japanese characters
	return w.each(f, func(token xml.Token) error {
		if s.skip(token) {
			return nil
		}
		return r.take(token)
	})
}

// spread is the value of merged cells for the rows below the first. to is the last row.
type spread struct {
	to   int
	text string
}

// sheetReader reads the rows of a sheet.
type sheetReader struct {
	*workbook
	merges map[int][]mergedCells
	open   map[int]spread
	emit   func(bundle.Row) error
	row    bundle.Row
	column int
	kind   string
	style  int
	// within says that the next characters belong to the value of a cell.
	within bool
	text   []byte
}

func (r *sheetReader) take(token xml.Token) error {
	switch t := token.(type) {
	case xml.StartElement:
		r.within = false
		switch t.Name.Local {
		case "row":
			next := r.row.Number + 1
			if n, err := strconv.Atoi(textio.Attribute(t, "r")); err == nil && n >= next {
				next = n
			}
			r.row, r.column = bundle.Row{Number: next}, -1
		case "c":
			r.column++
			if column, _ := cellAt(textio.Attribute(t, "r")); column > r.column {
				r.column = column
			}
			r.kind, r.text = textio.Attribute(t, "t"), r.text[:0]
			r.style, _ = strconv.Atoi(textio.Attribute(t, "s"))
		case "v", "t":
			r.within = true
		}
	case xml.EndElement:
		r.within = false
		switch t.Name.Local {
		case "c":
			if text := r.value(); strings.TrimSpace(text) != "" && r.column < maxColumns {
				r.row.At, r.row.Cells = append(r.row.At, r.column), append(r.row.Cells, text)
			}
		case "row":
			return r.end()
		}
	case xml.CharData:
		if r.within && len(r.text) < maxCell {
			r.text = append(r.text, t[:min(len(t), maxCell-len(r.text))]...)
		}
	}
	return nil
}

// end fills the merged cells of a row and calls emit with the row.
func (r *sheetReader) end() error {
	r.fill()
	for _, m := range r.merges[r.row.Number] {
		for i, at := range r.row.At {
			if at == m.column {
				r.open[m.column] = spread{m.to, r.row.Cells[i]}
			}
		}
	}
	if len(r.row.Cells) == 0 {
		return nil
	}
	return r.emit(r.row)
}

// fill sets the cells of a row that are merged with a cell above.
func (r *sheetReader) fill() {
	if len(r.open) == 0 || len(r.row.Cells) == 0 {
		return
	}
	texts := map[int]string{}
	for column, f := range r.open {
		if f.to < r.row.Number {
			delete(r.open, column)
		} else {
			texts[column] = f.text
		}
	}
	if len(texts) == 0 {
		return
	}
	for i, at := range r.row.At {
		texts[at] = r.row.Cells[i]
	}
	r.row.At, r.row.Cells = slices.Sorted(maps.Keys(texts)), nil
	for _, at := range r.row.At {
		r.row.Cells = append(r.row.Cells, texts[at])
	}
}

// value returns the text that the cell shows.
func (r *sheetReader) value() string {
	text := string(r.text)
	switch r.kind {
	case "s":
		if n, err := strconv.Atoi(strings.TrimSpace(text)); err == nil && n >= 0 && n < len(r.shared) {
			return unescape(r.shared[n])
		}
		return ""
	case "str", "inlineStr":
		return unescape(text)
	case "b":
		if text = strings.TrimSpace(text); text == "1" {
			return "TRUE"
		} else if text == "0" {
			return "FALSE"
		}
		return text
	case "e":
		return text
	case "d":
		return strings.TrimSuffix(text, "T00:00:00")
	}
	f := general
	if r.style >= 0 && r.style < len(r.formats) {
		f = r.formats[r.style]
	}
	return f.show(strings.TrimSpace(text), r.since1904)
}

// escapes matches the notation of Excel for characters that XML cannot contain.
var escapes = regexp.MustCompile(`_x[0-9A-Fa-f]{4}_`)

// unescape replaces the notation in escapes by the characters.
func unescape(text string) string {
	if !strings.Contains(text, "_x") {
		return text
	}
	return escapes.ReplaceAllStringFunc(text, func(e string) string {
		n, err := strconv.ParseUint(e[2:6], 16, 16)
		if err != nil || n >= 0xd800 && n < 0xe000 {
			return e
		}
		return string(rune(n))
	})
}

// cutTo returns the beginning of a text, at most the given number of characters.
func cutTo(text string, runes int) string {
	for i := range text {
		if runes--; runes < 0 {
			return text[:i]
		}
	}
	return text
}
