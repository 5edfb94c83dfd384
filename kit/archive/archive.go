// Package archive owns how parts become one ZIP file while they arrive, in a bounded part of the memory.
package archive

import (
	"archive/zip"
	"compress/flate"
	"io"
	"path"
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Part is a file of the archive, or the next bytes of one: parts of the same name
// follow each other.
type Part struct {
	// Name is the path within the archive.
	Name string `json:"name"`
	// Content are the bytes.
	Content []byte `json:"content"`
	// Packed says that the bytes are not worth compressing again.
	Packed bool `json:"packed,omitempty"`
}

// Writer writes an archive.
type Writer struct {
	// Modified is the time of all files.
	Modified time.Time
	zip      *zip.Writer
	file     io.Writer
	name     string
}

// NewWriter returns a writer of an archive.
func NewWriter(w io.Writer, modified time.Time) *Writer {
	z := zip.NewWriter(w)
	z.RegisterCompressor(zip.Deflate, func(out io.Writer) (io.WriteCloser, error) {
		return flate.NewWriter(out, flate.BestSpeed)
	})
	return &Writer{Modified: modified, zip: z}
}

// Add writes a part.
func (w *Writer) Add(p Part) (err error) {
	if w.file == nil || w.name != p.Name {
		head := &zip.FileHeader{Name: p.Name, Method: zip.Deflate, Modified: w.Modified}
		if p.Packed {
			head.Method = zip.Store
		}
		if w.file, err = w.zip.CreateHeader(head); err != nil {
			return err
		}
		w.name = p.Name
	}
	_, err = w.file.Write(p.Content)
	return err
}

// Flush passes on what is written so far, as far as whole blocks are compressed.
func (w *Writer) Flush() error { return w.zip.Flush() }

// Close writes the list of the files. An archive without it is none.
func (w *Writer) Close() error { return w.zip.Close() }

// maxName bounds the characters of a name: paths of Windows have 260.
const maxName = 120

// SafeName returns a name that is a file within its folder on every system.
func SafeName(name string) string {
	name = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || strings.ContainsRune(`<>:"/\|?*`, r) || unicode.Is(unicode.Bidi_Control, r) ||
			r == utf8.RuneError {
			return '_'
		}
		return r
	}, name)
	name = strings.Trim(name, ". ")
	if runes := []rune(name); len(runes) > maxName { // the extension stays
		ending := []rune(path.Ext(name))
		if len(ending) > 10 {
			ending = nil
		}
		name = string(runes[:maxName-len(ending)]) + string(ending)
	}
	base, _, _ := strings.Cut(strings.ToUpper(name), ".")
	if name == "" || devices.MatchString(strings.TrimRight(base, " ")) {
		name = "_" + name
	}
	return name
}

// devices are names that Windows takes for devices, with any extension.
var devices = regexp.MustCompile(`^(CON|PRN|AUX|NUL|CONIN\$|CONOUT\$|(COM|LPT)[0-9¹²³])$`)
