package extract

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"path"
	"slices"
	"strings"

	"kartei/extract/legacy"
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

// The further reasons why a file could not be unpacked.
const (
	// Legacy is a workbook of Excel before 2007.
	Legacy Reason = "legacy"
	// Foreign is a workbook of another format: OpenDocument, Numbers, or binary.
	Foreign Reason = "foreign"
)

// MaxParts bounds the bytes of all parts of a file.
const MaxParts = 64 << 20

// maxBook bounds the bytes that are inflated for the parts of a file. 100,000 rows with 40
// columns take some 200 MiB of XML, which is read twice and never held.
const maxBook = 768 << 20

var (
	errLegacy  = errors.New("extract: a workbook of a format before 2007")
	errForeign = errors.New("extract: a workbook of another format")
)

// Unpack returns the parts of an organization's file: the files of an archive, or the sheets
// of a workbook. Its text is not cleaned, because files have many encodings. An error comes
// from ctx, from reading r or from starting a process, as in Within.
func (x *Extractor) Unpack(ctx context.Context, organization int64, r io.Reader) ([]Part, Reason, error) {
	if err := x.slots.enter(ctx, organization); err != nil {
		return nil, "", err
	}
	defer x.slots.leave(organization)
	t := x.reading(unpacking, "", x.options.Time)
	t.output = MaxParts + 1
	e, err := x.runOn(ctx, r, t)
	if err != nil {
		return nil, "", err
	}
	reason, known := reasons[e.code]
	if !known {
		reason = Crashed
	}
	if len(e.wrote) > MaxParts {
		reason = Inflated
	}
	if reason != Complete {
		return nil, reason, nil
	}
	parts, err := parseParts(e.wrote)
	if err != nil {
		return nil, Crashed, nil
	}
	return parts, Complete, nil
}

// parseParts reads what packer wrote. A child is not trusted.
func parseParts(b []byte) (list []Part, err error) {
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

// packer writes parts.
type packer struct {
	out  io.Writer
	left int
}

// add writes a part: a line with what it is, and its content.
func (p *packer) add(part Part) error {
	part.Size = len(part.Content)
	head, err := json.Marshal(part)
	if err != nil {
		return err
	}
	head = append(head, '\n')
	if p.left -= len(head) + part.Size; p.left < 0 {
		return textio.ErrInflated
	}
	if _, err := p.out.Write(head); err != nil {
		return err
	}
	_, err = p.out.Write(part.Content)
	return err
}

// unpackTo writes the parts of a file. It runs in the child process.
func unpackTo(out io.Writer, in *textio.Input) error {
	whole, err := in.Hold()
	if err != nil {
		return err
	}
	a, err := openParts(whole, whole.Size, maxBook)
	if err != nil {
		return err
	}
	p := &packer{out: out, left: MaxParts}
	if main, is := a.mainPart(); is {
		return a.workbook(main, "", p)
	}
	return a.unpack(p)
}

// openParts opens an archive, or returns the reason if the file is a compound
// file.
func openParts(r io.ReaderAt, size, limit int64) (*archive, error) {
	if isCompound(r) {
		for _, name := range legacy.RootEntries(r, size) {
			switch name {
			case "encryptedpackage":
				return nil, textio.ErrEncrypted
			case "workbook", "book":
				return nil, errLegacy
			}
		}
		return nil, textio.ErrUnsupported
	}
	a, err := newArchive(r, size, limit)
	if err != nil {
		return nil, err
	}
	return a, a.foreign()
}

// foreign refuses documents that are archives, and no workbook of Excel.
func (a *archive) foreign() error {
	for _, f := range a.File {
		switch name := strings.ToLower(f.Name); {
		case name == "xl/workbook.bin", strings.HasSuffix(name, ".iwa"):
			return errForeign
		case name == "mimetype" && startsWith(f, "application/vnd.oasis.opendocument."),
			name == "meta-inf/manifest.xml" && a.part("content.xml") != nil:
			return errForeign
		case name == "word/document.xml", name == "ppt/presentation.xml":
			return textio.ErrUnsupported
		}
	}
	return nil
}

// startsWith reports whether an entry begins with a text.
func startsWith(f *zip.File, text string) bool {
	r, err := f.Open()
	if err != nil {
		return false
	}
	defer r.Close()
	head := make([]byte, len(text))
	n, _ := io.ReadFull(r, head)
	return string(head[:n]) == text
}

// filesRead are the endings of files whose content is read.
var filesRead = []string{".vcf", ".vcard", ".csv", ".tsv", ".txt"}

// booksRead are the endings of workbooks whose content is read.
var booksRead = []string{".xlsx", ".xlsm", ".xltx"}

// unpack writes the files of an archive. One that cannot be read is named.
func (a *archive) unpack(p *packer) error {
	for _, f := range a.File {
		name := nameOf(f)
		if strings.HasSuffix(name, "/") || ofSystem(name) {
			continue
		}
		if err := a.unpackFile(f, name, p); err != nil {
			return err
		}
	}
	return nil
}

func (a *archive) unpackFile(f *zip.File, name string, p *packer) error {
	const sealedFlag = 1
	ending := strings.ToLower(path.Ext(name))
	book := slices.Contains(booksRead, ending)
	switch {
	case ending == ".zip":
		return p.add(Part{Name: name, LeftOut: Nested})
	case !book && !slices.Contains(filesRead, ending):
		return p.add(Part{Name: name, LeftOut: OtherKind})
	case f.Flags&sealedFlag != 0:
		return p.add(Part{Name: name, LeftOut: Sealed})
	}
	content, err := a.content(f)
	if err == nil && book {
		err = a.nestedBook(content, name, p)
	} else if err == nil {
		err = p.add(Part{Name: name, Content: content})
	}
	switch {
	case errors.Is(err, textio.ErrEncrypted):
		return p.add(Part{Name: name, LeftOut: Sealed})
	case errors.Is(err, textio.ErrBroken):
		return p.add(Part{Name: name, LeftOut: Unreadable})
	case errors.Is(err, errLegacy), errors.Is(err, errForeign), errors.Is(err, textio.ErrUnsupported):
		return p.add(Part{Name: name, LeftOut: OtherKind})
	}
	return err
}

// nestedBook writes the sheets of a workbook that is in the archive.
func (a *archive) nestedBook(content []byte, name string, p *packer) error {
	book, err := openParts(bytes.NewReader(content), int64(len(content)), a.left)
	if err != nil {
		return err
	}
	main, is := book.mainPart()
	if !is {
		return textio.ErrBroken
	}
	err = book.workbook(main, name, p)
	a.left = book.left
	return err
}

// content returns the bytes of a file, within the bounds of the archive.
func (a *archive) content(f *zip.File) ([]byte, error) {
	r, err := f.Open()
	if err != nil {
		return nil, textio.ErrBroken
	}
	defer r.Close()
	content, err := io.ReadAll(a.bounded(f, r))
	switch {
	case errors.Is(err, textio.ErrInflated), len(content) > MaxParts:
		return nil, textio.ErrInflated
	case err != nil:
		return nil, textio.ErrBroken
	}
	return content, nil
}

// maxName bounds the characters of a name.
const maxName = 200

// nameOf returns the name of a file as people see it.
func nameOf(f *zip.File) string {
	name := strings.Map(textio.Kept, strings.ReplaceAll(decodedName(f), `\`, "/"))
	if runes := []rune(name); len(runes) > maxName { // the ending stays
		name = string(runes[len(runes)-maxName:])
	}
	return name
}

// ofSystem reports whether a system made a file for itself.
func ofSystem(name string) bool {
	base := path.Base(name)
	return strings.HasPrefix(name, "__MACOSX/") || strings.HasPrefix(base, "._") || base == ".DS_Store" ||
		strings.EqualFold(base, "thumbs.db") || strings.EqualFold(base, "desktop.ini")
}
