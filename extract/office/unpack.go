package office

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"path"
	"slices"
	"strings"

	"kartei/extract/bundle"
	"kartei/extract/legacy"
	"kartei/extract/textio"
)

// maxBook is the maximum number of bytes that are inflated for the parts of a file. 100,000 rows
// with 40 columns need some 200 MiB of XML. This XML is read twice and never held in memory.
const maxBook = 768 << 20

// Errors of Unpack, besides the errors of a textio.ReadFunc.
var (
	ErrLegacy  = errors.New("extract: a workbook of a format before 2007")
	ErrForeign = errors.New("extract: a workbook of another format")
)

// Unpack writes the parts of a file: the files of an archive, or the sheets of a
// workbook. Its errors are ErrLegacy, ErrForeign and the errors of a textio.ReadFunc.
func Unpack(out io.Writer, in *textio.Input) error {
	whole, err := in.Hold()
	if err != nil {
		return err
	}
	a, err := openParts(whole, whole.Size, maxBook)
	if err != nil {
		return err
	}
	p := bundle.NewWriter(out)
	if main, is := a.mainPart(); is {
		return a.workbook(main, "", p)
	}
	return a.unpack(p)
}

// openParts opens an archive. If the file is a compound file, the error says of which kind.
func openParts(r io.ReaderAt, size, limit int64) (*archive, error) {
	if isCompound(r) {
		for _, name := range legacy.RootEntries(r, size) {
			switch name {
			case "encryptedpackage":
				return nil, textio.ErrEncrypted
			case "workbook", "book":
				return nil, ErrLegacy
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

// foreign returns an error if the archive is an office document but not a workbook of Excel.
func (a *archive) foreign() error {
	for _, f := range a.File {
		switch name := strings.ToLower(f.Name); {
		case name == "xl/workbook.bin", strings.HasSuffix(name, ".iwa"):
			return ErrForeign
		case name == "mimetype" && startsWith(f, "application/vnd.oasis.opendocument."),
			name == "meta-inf/manifest.xml" && a.part("content.xml") != nil:
			return ErrForeign
		case name == "word/document.xml", name == "ppt/presentation.xml":
			return textio.ErrUnsupported
		}
	}
	return nil
}

// startsWith reports whether the content of an entry begins with a text.
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

// filesRead are the extensions of files whose content is a part.
var filesRead = []string{".vcf", ".vcard", ".csv", ".tsv", ".txt"}

// booksRead are the extensions of workbooks whose sheets are parts.
var booksRead = []string{".xlsx", ".xlsm", ".xltx"}

// unpack writes the files of an archive as parts. A file that cannot be read becomes a part without
// content.
func (a *archive) unpack(p *bundle.Writer) error {
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

func (a *archive) unpackFile(f *zip.File, name string, p *bundle.Writer) error {
	const sealedFlag = 1
	ending := strings.ToLower(path.Ext(name))
	book := slices.Contains(booksRead, ending)
	switch {
	case ending == ".zip":
		return p.Add(bundle.Part{Name: name, LeftOut: bundle.Nested})
	case !book && !slices.Contains(filesRead, ending):
		return p.Add(bundle.Part{Name: name, LeftOut: bundle.OtherKind})
	case f.Flags&sealedFlag != 0:
		return p.Add(bundle.Part{Name: name, LeftOut: bundle.Sealed})
	}
	content, err := a.content(f)
	if err == nil && book {
		err = a.nestedBook(content, name, p)
	} else if err == nil {
		err = p.Add(bundle.Part{Name: name, Content: content})
	}
	switch {
	case errors.Is(err, textio.ErrEncrypted):
		return p.Add(bundle.Part{Name: name, LeftOut: bundle.Sealed})
	case errors.Is(err, textio.ErrBroken):
		return p.Add(bundle.Part{Name: name, LeftOut: bundle.Unreadable})
	case errors.Is(err, ErrLegacy), errors.Is(err, ErrForeign), errors.Is(err, textio.ErrUnsupported):
		return p.Add(bundle.Part{Name: name, LeftOut: bundle.OtherKind})
	}
	return err
}

// nestedBook adds the sheets of a workbook from the archive to p.
func (a *archive) nestedBook(content []byte, name string, p *bundle.Writer) error {
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

// content returns the content of a file. It returns ErrInflated if the content exceeds a limit.
func (a *archive) content(f *zip.File) ([]byte, error) {
	r, err := f.Open()
	if err != nil {
		return nil, textio.ErrBroken
	}
	defer r.Close()
	content, err := io.ReadAll(a.bounded(f, r))
	switch {
	case errors.Is(err, textio.ErrInflated), len(content) > bundle.MaxSize:
		return nil, textio.ErrInflated
	case err != nil:
		return nil, textio.ErrBroken
	}
	return content, nil
}

// maxName is the maximum length of a name in characters.
const maxName = 200

// nameOf returns the path of a file without control characters. A long path is cut at its
// beginning.
func nameOf(f *zip.File) string {
	name := strings.Map(textio.Kept, strings.ReplaceAll(decodedName(f), `\`, "/"))
	if runes := []rune(name); len(runes) > maxName { // the extension stays
		name = string(runes[len(runes)-maxName:])
	}
	return name
}

// ofSystem reports whether an operating system added a file to the archive for its own use.
func ofSystem(name string) bool {
	base := path.Base(name)
	return strings.HasPrefix(name, "__MACOSX/") || strings.HasPrefix(base, "._") || base == ".DS_Store" ||
		strings.EqualFold(base, "thumbs.db") || strings.EqualFold(base, "desktop.ini")
}
