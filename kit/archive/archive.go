// Package archive owns the writing of ZIP files in bounded memory, while their content arrives in parts.
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

// Part is a file of a ZIP archive, or some bytes of a file. The parts of one file have the same
// name and follow each other.
type Part struct {
	// Name is the path of the file within the archive.
	Name string `json:"name"`
	// Content has the bytes of the part.
	Content []byte `json:"content"`
	// Packed says that the content is compressed already. The archive then stores the file as it
	// is.
	Packed bool `json:"packed,omitempty"`
}

// Writer writes a ZIP archive.
type Writer struct {
	// Modified is the modification time of all files in the archive.
	Modified time.Time
	zip      *zip.Writer
	file     io.Writer
	name     string
}

// NewWriter returns a Writer that writes a ZIP archive to w. All its files get the time modified.
func NewWriter(w io.Writer, modified time.Time) *Writer {
	z := zip.NewWriter(w)
	z.RegisterCompressor(zip.Deflate, func(out io.Writer) (io.WriteCloser, error) {
		return flate.NewWriter(out, flate.BestSpeed)
	})
	return &Writer{Modified: modified, zip: z}
}

// Add writes a part. If its name differs from the name of the part before, Add begins a new file.
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

// Flush writes the buffered bytes of the archive to the underlying writer. The compressor may hold
// back the end of the current file.
func (w *Writer) Flush() error { return w.zip.Flush() }

// Close writes the central directory of the archive. Without it, the archive cannot be read.
func (w *Writer) Close() error { return w.zip.Close() }

// maxName is the maximum length of a file name in characters. Paths of Windows have at most 260.
const maxName = 120

// SafeName returns a file name that is valid on every system and has no path separators. It
// replaces forbidden characters by underscores and shortens a name of more than maxName characters.
func SafeName(name string) string {
	name = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || strings.ContainsRune(`<>:"/\|?*`, r) || unicode.Is(unicode.Bidi_Control, r) ||
			r == utf8.RuneError {
			return '_'
		}
		return r
	}, name)
	name = strings.Trim(name, ". ")
	if runes := []rune(name); len(runes) > maxName { // keeps the extension
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

// devices matches the file names that Windows reserves for devices. The name before the first point
// decides.
var devices = regexp.MustCompile(`^(CON|PRN|AUX|NUL|CONIN\$|CONOUT\$|(COM|LPT)[0-9¹²³])$`)
