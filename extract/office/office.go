// Package office owns what office documents and archives hold: their texts, and their files and sheets one by one.
package office

import (
	"archive/zip"
	"cmp"
	"encoding/xml"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"

	"kartei/extract/legacy"
	"kartei/extract/textio"
)

// Limits for reading an archive.
const (
	maxEntries = 20_000
	maxRatio   = 250 // ratio of the inflated and the compressed size of an entry, after freeRatio bytes; deflate itself allows 1032
	freeRatio  = 1 << 20
	maxShared  = 32 << 20 // bytes of shared strings
)

// archive is a ZIP archive whose inflated size is limited.
type archive struct {
	*zip.Reader
	left int64 // bytes that may still be inflated
}

func openArchive(in *textio.Input) (*archive, error) {
	whole, err := in.Hold()
	if err != nil {
		return nil, err
	}
	if isCompound(whole) {
		return nil, textio.ErrEncrypted // a compound file is the container of an office document with a password
	}
	return newArchive(whole, whole.Size, textio.MaxUnpacked)
}

// isCompound reports whether a file is a compound file.
func isCompound(r io.ReaderAt) bool {
	signature := make([]byte, len(legacy.Signature))
	_, _ = r.ReadAt(signature, 0)
	return string(signature) == legacy.Signature
}

// newArchive reads the directory of an archive. At most limit bytes may later be inflated.
func newArchive(r io.ReaderAt, size, limit int64) (*archive, error) {
	z, err := zip.NewReader(r, size)
	switch {
	case err != nil:
		return nil, textio.ErrBroken
	case len(z.File) > maxEntries:
		return nil, textio.ErrInflated
	}
	return &archive{z, limit}, nil
}

// decodedName returns the path of an entry in UTF-8.
func decodedName(f *zip.File) string {
	if utf8.ValidString(f.Name) {
		return f.Name
	}
	name, _ := charmap.CodePage437.NewDecoder().String(f.Name) // code page 437 is the specification's; Windows uses it for German names too
	return name
}

// part returns the entry with a name, or nil. It ignores the case of the name.
func (a *archive) part(name string) *zip.File {
	for _, f := range a.File {
		if strings.EqualFold(f.Name, name) {
			return f
		}
	}
	return nil
}

// parts returns the entries whose names match a pattern, in the order of the numbers in their
// names.
func (a *archive) parts(pattern string) []*zip.File {
	var found []*zip.File
	for _, f := range a.File {
		if is, _ := path.Match(pattern, strings.ToLower(f.Name)); is {
			found = append(found, f)
		}
	}
	slices.SortStableFunc(found, func(a, b *zip.File) int { return cmp.Compare(number(a.Name), number(b.Name)) })
	return found
}

// number returns the number at the end of a name before its extension.
func number(name string) int {
	name = strings.TrimSuffix(name, path.Ext(name))
	n, _ := strconv.Atoi(name[len(strings.TrimRight(name, "0123456789")):])
	return n
}

// boundedReader reads an entry. It returns ErrInflated when the entry or the archive exceeds its
// limit.
type boundedReader struct {
	io.ReadCloser
	a     *archive
	out   int64
	limit int64
}

func (i *boundedReader) Read(p []byte) (int, error) {
	n, err := i.ReadCloser.Read(p)
	i.out += int64(n)
	if i.a.left -= int64(n); i.a.left < 0 || i.out > i.limit {
		return n, textio.ErrInflated
	}
	return n, err
}

// bounded returns a boundedReader for the content of an entry.
func (a *archive) bounded(file *zip.File, r io.ReadCloser) *boundedReader {
	return &boundedReader{r, a, 0, max(freeRatio, maxRatio*int64(min(file.CompressedSize64, 1<<40)))}
}

// each calls f with the XML tokens of an entry until f returns an error. A nil entry has no tokens.
func (a *archive) each(file *zip.File, f func(xml.Token) error) error {
	if file == nil {
		return nil
	}
	r, err := file.Open()
	if err != nil {
		return textio.ErrBroken
	}
	defer r.Close()
	bounded := a.bounded(file, r)
	d := textio.NewXML(bounded)
	for {
		token, err := d.RawToken()
		switch {
		case err == io.EOF:
			return nil
		case bounded.out > bounded.limit || a.left < 0:
			return textio.ErrInflated
		case err != nil:
			return textio.ErrBroken
		}
		if err := f(token); err != nil {
			return err
		}
	}
}

// skipper skips XML elements with certain names and everything inside of them.
type skipper struct {
	names []string // local names
	depth int
}

// skip reports whether a token belongs to a skipped element.
func (s *skipper) skip(token xml.Token) bool {
	switch t := token.(type) {
	case xml.StartElement:
		if s.depth > 0 || slices.Contains(s.names, t.Name.Local) {
			s.depth++
			return true
		}
	case xml.EndElement:
		if s.depth > 0 {
			s.depth--
			return true
		}
	}
	return s.depth > 0
}

// readAll reads parts one after another, in separate paragraphs.
func (a *archive) readAll(out *textio.Sink, read func(*zip.File) error, files ...*zip.File) error {
	for _, f := range files {
		out.Paragraph()
		if err := read(f); err != nil {
			return err
		}
	}
	return nil
}

// properties writes the title, subject, keywords and description of an OOXML or ODF document.
func (a *archive) properties(name string, out *textio.Sink) error {
	within := false
	return a.each(a.part(name), func(token xml.Token) error {
		switch t := token.(type) {
		case xml.StartElement:
			switch t.Name.Local {
			case "title", "subject", "keywords", "keyword", "description":
				within = true
			}
		case xml.EndElement:
			within = false
			return out.Line()
		case xml.CharData:
			if within {
				return out.Text(string(t))
			}
		}
		return nil
	})
}

// runs returns a function that reads a text of Office Open XML (ECMA-376). The elements t contain
// the characters, and p is a paragraph. The element Fallback repeats a drawing for other programs
// and is skipped.
//
// A text field of an old form (FORMTEXT) contains its value as characters. In a list of choices,
// result is the number of the chosen entry. Without a result, the first entry is chosen.
func (a *archive) runs(out *textio.Sink) func(*zip.File) error {
	return func(f *zip.File) error {
		s, within := skipper{names: []string{"Fallback"}}, false
		chosen, entries := 0, -1 // of a list of choices; entries is -1 outside of a list
		return a.each(f, func(token xml.Token) error {
			if s.skip(token) {
				return out.Err()
			}
			switch t := token.(type) {
			case xml.StartElement:
				switch t.Name.Local {
				case "t", "text":
					within = true
				case "ddList":
					chosen, entries = 0, 0
				case "result":
					chosen, _ = strconv.Atoi(textio.Attribute(t, "val"))
				case "listEntry":
					if entries++; entries == chosen+1 && chosen >= 0 {
						return out.Text(textio.Attribute(t, "val"))
					}
				case "noBreakHyphen":
					return out.Text("-")
				case "tab":
					return out.Text("\t")
				case "br", "cr":
					return out.Line()
				}
			case xml.EndElement:
				switch t.Name.Local {
				case "t", "text":
					within = false
				case "ddList":
					entries = -1
				case "tc":
					return out.Text("\t")
				case "p", "tr", "comment", "cm", "threadedComment":
					return out.Line()
				}
			case xml.CharData:
				if within {
					return out.Text(string(t))
				}
			}
			return nil
		})
	}
}

// drawn returns the parts in a folder that contain texts of drawings, diagrams and titles of
// charts.
func (a *archive) drawn(folder string) (files []*zip.File) {
	for _, pattern := range []string{"/drawings/drawing*.xml", "/diagrams/data*.xml", "/charts/chart*.xml"} {
		files = append(files, a.parts(folder+pattern)...)
	}
	return files
}

// Word reads a text document with its notes, comments, headers, footers and drawings.
func Word(in *textio.Input, out *textio.Sink) error {
	a, err := openArchive(in)
	if err != nil {
		return err
	}
	if err := a.properties("docProps/core.xml", out); err != nil {
		return err
	}
	main := a.part("word/document.xml")
	if main == nil {
		return textio.ErrBroken
	}
	files := []*zip.File{main}
	for _, pattern := range []string{
		"word/footnotes.xml", "word/endnotes.xml", "word/comments.xml", "word/header*.xml", "word/footer*.xml",
	} {
		files = append(files, a.parts(pattern)...)
	}
	return a.readAll(out, a.runs(out), append(files, a.drawn("word")...)...)
}

// Slides reads a presentation, with its notes, drawings and comments.
func Slides(in *textio.Input, out *textio.Sink) error {
	a, err := openArchive(in)
	if err != nil {
		return err
	}
	if err := a.properties("docProps/core.xml", out); err != nil {
		return err
	}
	slides := slices.Concat(a.parts("ppt/slides/slide*.xml"), a.parts("ppt/notesslides/notesslide*.xml"),
		a.drawn("ppt"), a.parts("ppt/comments/*.xml"))
	return a.readAll(out, a.runs(out), slides...)
}

// Sheets reads a workbook: the names of the sheets, then each row as a line, and then drawings and
// comments.
func Sheets(in *textio.Input, out *textio.Sink) error {
	a, err := openArchive(in)
	if err != nil {
		return err
	}
	if err := a.properties("docProps/core.xml", out); err != nil {
		return err
	}
	w := &workbook{archive: a}
	list, err := w.sheets("xl/workbook.xml")
	for _, s := range list {
		out.Line()
		out.Text(s.name)
	}
	if err != nil {
		return err
	}
	if err = w.styles(a.part("xl/styles.xml")); err != nil {
		return err
	}
	if w.shared, err = a.sharedTexts(a.part("xl/sharedStrings.xml")); err != nil {
		return err
	}
	if err = a.readAll(out, func(f *zip.File) error { return w.lines(f, out) },
		a.parts("xl/worksheets/sheet*.xml")...); err != nil {
		return err
	}
	comments := a.parts("xl/threadedcomments/*.xml")
	if len(comments) == 0 { // threaded comments are repeated as ordinary comments for older programs
		comments = slices.Concat(a.parts("xl/comments*.xml"), a.parts("xl/comments/*.xml"))
	}
	return a.readAll(out, a.runs(out), append(a.drawn("xl"), comments...)...)
}

// sharedTexts returns the shared strings. Cells refer to a shared string by its index.
func (a *archive) sharedTexts(f *zip.File) ([]string, error) {
	var texts []string
	var item strings.Builder
	within, size := false, 0
	s := skipper{names: []string{"rPh"}} // the pronunciation of Japanese characters
	err := a.each(f, func(token xml.Token) error {
		if s.skip(token) {
			return nil
		}
		switch t := token.(type) {
		case xml.StartElement:
			within = t.Name.Local == "t"
		case xml.EndElement:
			within = false
			if t.Name.Local == "si" {
				texts = append(texts, item.String())
				item.Reset()
			}
		case xml.CharData:
			if within {
				item.Write(t)
				if size += len(t); size > maxShared {
					return textio.ErrInflated
				}
			}
		}
		return nil
	})
	return texts, err
}

// OpenDocument reads the paragraphs and headings of an OpenDocument file (ISO/IEC 26300). It omits
// text that was deleted under change tracking.
func OpenDocument(in *textio.Input, out *textio.Sink) error {
	a, err := openArchive(in)
	if err != nil {
		return err
	}
	sealed := false
	err = a.each(a.part("META-INF/manifest.xml"), func(token xml.Token) error {
		t, is := token.(xml.StartElement)
		sealed = sealed || is && (t.Name.Local == "encryption-data" || t.Name.Local == "encrypted-key")
		return nil
	})
	switch {
	case err != nil:
		return err
	case sealed:
		return textio.ErrEncrypted
	}
	if err := a.properties("meta.xml", out); err != nil {
		return err
	}
	out.Paragraph()
	content := a.part("content.xml")
	if content == nil {
		return textio.ErrBroken
	}
	s, depth := skipper{names: []string{"tracked-changes", "forms"}}, 0 // depth of nested paragraphs: a note is inside of a paragraph
	return a.each(content, func(token xml.Token) error {
		if s.skip(token) {
			return out.Err()
		}
		switch t := token.(type) {
		case xml.StartElement:
			switch t.Name.Local {
			case "p", "h":
				depth++
				if depth > 1 {
					return out.Line()
				}
			case "tab":
				return out.Text("\t")
			case "s":
				return out.Text(" ")
			case "line-break":
				return out.Line()
			case "page":
				return out.Paragraph()
			case "table":
				out.Paragraph()
				return out.Text(textio.Attribute(t, "name") + "\n")
			}
		case xml.EndElement:
			switch t.Name.Local {
			case "p", "h":
				depth--
				return out.Line()
			case "table-cell":
				out.Join()
				return out.Text("\t")
			case "table-row":
				return out.Line()
			}
		case xml.CharData:
			if depth > 0 {
				return out.Text(string(t))
			}
		}
		return nil
	})
}

// Names writes the names of an archive's entries, and reads no entry. It returns ErrContained if
// the archive has entries.
func Names(in *textio.Input, out *textio.Sink) error {
	a, err := openArchive(in)
	if err != nil {
		return err
	}
	for _, f := range a.File {
		out.Line()
		if err := out.Text(decodedName(f)); err != nil {
			return err
		}
	}
	if len(a.File) > 0 {
		return textio.ErrContained
	}
	return nil
}
