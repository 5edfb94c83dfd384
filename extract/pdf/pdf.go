// Package pdf owns the reading and the drawing of PDFs by PDFium.
package pdf

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"github.com/klippa-app/go-pdfium"
	failures "github.com/klippa-app/go-pdfium/errors"
	"github.com/klippa-app/go-pdfium/references"
	"github.com/klippa-app/go-pdfium/requests"
	"github.com/klippa-app/go-pdfium/webassembly"
	"github.com/tetratelabs/wazero"

	"kartei/extract/textio"
)

// openEngine starts PDFium as WebAssembly. PDFium then has its own memory, and no access to files
// and the network. Compiling PDFium takes seconds of processor time, and loading it from the cache
// a tenth of a second.
func openEngine(in *textio.Input) (pdfium.Pdfium, error) {
	if in.Cache != "" {
		if p, err := startEngine(in, in.Cache); err == nil {
			return p, nil
		}
	}
	return startEngine(in, "")
}

func startEngine(in *textio.Input, folder string) (pdfium.Pdfium, error) {
	config := wazero.NewRuntimeConfig().WithMemoryLimitPages(uint32(in.Memory / 2 >> 16))
	if folder != "" {
		cache, err := wazero.NewCompilationCacheWithDir(folder)
		if err != nil {
			return nil, err
		}
		config = config.WithCompilationCache(cache)
	}
	pool, err := webassembly.Init(webassembly.Config{
		MinIdle: 1, MaxIdle: 1, MaxTotal: 1,
		FSConfig:      wazero.NewFSConfig(), // the default would be the whole disk
		RuntimeConfig: config,
		Stdout:        io.Discard,
		Stderr:        io.Discard,
	})
	if err != nil {
		return nil, err
	}
	return pool.GetInstance(time.Minute)
}

// Warm fills the cache with the compiled PDFium. If the cache is damaged, Warm empties and fills
// it.
func Warm(in *textio.Input, _ *textio.Sink) error {
	_, err := startEngine(in, in.Cache)
	if err == nil {
		return nil
	}
	entries, err := os.ReadDir(in.Cache)
	for _, e := range entries {
		err = errors.Join(err, os.RemoveAll(filepath.Join(in.Cache, e.Name())))
	}
	if err != nil {
		return err
	}
	_, err = startEngine(in, in.Cache)
	return err
}

// openFile opens a PDF and reads the number of its pages.
func openFile(in *textio.Input) (*file, error) {
	whole, err := in.Hold()
	if err != nil {
		return nil, err
	}
	p, err := openEngine(in)
	if err != nil {
		return nil, err
	}
	f := &file{Pdfium: p, whole: whole}
	f.first, err = f.open()
	if err != nil {
		return nil, err
	}
	count, err := p.FPDF_GetPageCount(&requests.FPDF_GetPageCount{Document: f.first.document})
	if err != nil || count.PageCount == 0 {
		return nil, textio.ErrBroken
	}
	f.pages = count.PageCount
	return f, nil
}

// open opens the file in PDFium. It can be called several times.
func (f *file) open() (*handle, error) {
	opened, err := f.OpenDocument(&requests.OpenDocument{
		FileReader: io.NewSectionReader(f.whole, 0, f.whole.Size), FileReaderSize: f.whole.Size,
	})
	switch {
	case errors.Is(err, failures.ErrPassword), errors.Is(err, failures.ErrSecurity):
		return nil, textio.ErrEncrypted
	case err != nil:
		return nil, textio.ErrBroken
	}
	return &handle{document: opened.Document}, nil
}

// Read reads the text of a PDF, with a form feed between pages. It returns ErrBroken if a page
// cannot be read, and ErrScanned if only some pages are pictures.
func Read(in *textio.Input, out *textio.Sink) error {
	f, err := openFile(in)
	if err != nil {
		return err
	}
	bad, texts, pictures := 0, 0, 0
	for i := range f.pages {
		if i > 0 {
			if err := out.Page(); err != nil {
				return err
			}
		}
		switch err := f.readPage(i, out); {
		case errors.Is(err, textio.ErrFull):
			return err
		case errors.Is(err, textio.ErrScanned):
			pictures++
		case err != nil:
			bad++
		default:
			texts++
		}
	}
	switch {
	case bad > 0:
		return textio.ErrBroken
	case texts > 0 && pictures > 0:
		return textio.ErrScanned
	}
	return nil
}

// readPage reads a page: its text, then comments and the values of fields that the page does not
// show. It returns ErrScanned if the page is a picture without text.
func (f *file) readPage(i int, out *textio.Sink) error {
	page, err := f.page(i)
	if err != nil {
		return err
	}
	defer f.closePage(page.ref)
	if len(page.notes) == 0 && strings.TrimSpace(page.text) == "" && f.pictured(page.ref) {
		return textio.ErrScanned
	}
	runes := []rune(page.text)
	for at, r := range runes {
		if err := out.Text(lineEnd(r, runes[at+1:])); err != nil {
			return err
		}
	}
	for _, n := range page.notes {
		out.Line()
		if err := out.Text(n.text); err != nil {
			return err
		}
	}
	return nil
}

// charsAtOnce is the maximum number of characters that are copied from WebAssembly in one call.
const charsAtOnce = 1 << 16

// chars returns the text of a page.
func (f *file) chars(page references.FPDF_TEXTPAGE) (string, error) {
	count, err := f.FPDFText_CountChars(&requests.FPDFText_CountChars{TextPage: page})
	if err != nil {
		return "", err
	}
	var all strings.Builder
	for start := 0; start < count.Count; start += charsAtOnce {
		text, err := f.FPDFText_GetText(&requests.FPDFText_GetText{
			TextPage: page, StartIndex: start, Count: min(charsAtOnce, count.Count-start),
		})
		if err != nil {
			return "", err
		}
		all.WriteString(text.Text)
	}
	return all.String(), nil
}

// suspended are words that may follow a hyphen in the place of a common second part, as in 'Haus-
// und Grundbesitz'.
var suspended = map[string]bool{
	"und": true, "oder": true, "bzw": true, "sowie": true, "als": true, "bis": true, "noch": true,
	"and": true, "or": true,
}

// lineEnd returns a character of PDFium as text. next are the characters after it. PDFium replaces
// a hyphen at the end of a line by a mark. Before a capital letter, a digit or a word such as
// 'und', the mark becomes a hyphen. Otherwise it becomes an empty string, since the hyphen has
// divided a word.
func lineEnd(r rune, next []rune) string {
	if r != '\x02' && r != '\ufffe' {
		return string(r)
	}
	word := 0
	for word < len(next) && word < 8 && unicode.IsLetter(next[word]) {
		word++
	}
	switch {
	case len(next) > 0 && (unicode.IsUpper(next[0]) || unicode.IsDigit(next[0])):
		return "-"
	case suspended[string(next[:word])]:
		return "- "
	}
	return ""
}
