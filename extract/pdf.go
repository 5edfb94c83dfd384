package extract

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/klippa-app/go-pdfium"
	failures "github.com/klippa-app/go-pdfium/errors"
	"github.com/klippa-app/go-pdfium/references"
	"github.com/klippa-app/go-pdfium/requests"
	"github.com/klippa-app/go-pdfium/responses"
	"github.com/klippa-app/go-pdfium/webassembly"
	"github.com/tetratelabs/wazero"

	"kartei/extract/textio"
)

// openPDFium starts PDFium, compiled to WebAssembly: it has memory of its own,
// no file and no network. Compiling it takes seconds of processor time, loading
// it from the cache a tenth of one.
func openPDFium(in *textio.Input) (pdfium.Pdfium, error) {
	if in.Cache != "" {
		if p, err := startPDFium(in, in.Cache); err == nil {
			return p, nil
		}
	}
	return startPDFium(in, "")
}

func startPDFium(in *textio.Input, folder string) (pdfium.Pdfium, error) {
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

// warm fills the cache. A damaged cache is emptied and filled again.
func warm(in *textio.Input, _ *textio.Sink) error {
	_, err := startPDFium(in, in.Cache)
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
	_, err = startPDFium(in, in.Cache)
	return err
}

// openPDF opens the document of a PDF, and counts its pages.
func openPDF(in *textio.Input) (p pdfium.Pdfium, document references.FPDF_DOCUMENT, pages int, err error) {
	whole, err := in.Hold()
	if err != nil {
		return nil, "", 0, err
	}
	if p, err = openPDFium(in); err != nil {
		return nil, "", 0, err
	}
	opened, err := p.OpenDocument(&requests.OpenDocument{FileReader: io.NewSectionReader(whole, 0, whole.Size), FileReaderSize: whole.Size})
	switch {
	case errors.Is(err, failures.ErrPassword), errors.Is(err, failures.ErrSecurity):
		return nil, "", 0, textio.ErrEncrypted
	case err != nil:
		return nil, "", 0, textio.ErrBroken
	}
	count, err := p.FPDF_GetPageCount(&requests.FPDF_GetPageCount{Document: opened.Document})
	if err != nil || count.PageCount == 0 {
		return nil, "", 0, textio.ErrBroken
	}
	return p, opened.Document, count.PageCount, nil
}

// readPDF reads a PDF page by page.
func readPDF(in *textio.Input, out *textio.Sink) error {
	p, document, pages, err := openPDF(in)
	if err != nil {
		return err
	}
	bad := 0
	for i := range pages {
		if i > 0 {
			if err := out.Page(); err != nil {
				return err
			}
		}
		if err := readPage(p, document, i, out); errors.Is(err, textio.ErrFull) {
			return err
		} else if err != nil {
			bad++
		}
	}
	if bad > 0 {
		return textio.ErrBroken
	}
	return nil
}

// loadPage loads a page with its form fields and notes. For that they become
// part of the page, as for printing.
func loadPage(p pdfium.Pdfium, document references.FPDF_DOCUMENT, i int) (references.FPDF_PAGE, error) {
	page, err := p.FPDF_LoadPage(&requests.FPDF_LoadPage{Document: document, Index: i})
	if err != nil {
		return "", err
	}
	flat, err := p.FPDFPage_Flatten(&requests.FPDFPage_Flatten{
		Page: requests.Page{ByReference: &page.Page}, Usage: requests.FPDFPage_FlattenUsageNormalDisplay,
	})
	if flattened := err == nil && flat.Result == responses.FPDFPage_FlattenResultSuccess; !flattened {
		return page.Page, nil // without its forms and notes, which is better than no page
	}
	closePage(p, page.Page)
	if page, err = p.FPDF_LoadPage(&requests.FPDF_LoadPage{Document: document, Index: i}); err != nil {
		return "", err
	}
	return page.Page, nil
}

// readPage reads a page.
func readPage(p pdfium.Pdfium, document references.FPDF_DOCUMENT, i int, out *textio.Sink) error {
	page, err := loadPage(p, document, i)
	if err != nil {
		return err
	}
	defer closePage(p, page)
	text, err := p.FPDFText_LoadPage(&requests.FPDFText_LoadPage{Page: requests.Page{ByReference: &page}})
	if err != nil {
		return err
	}
	err = readChars(p, text.TextPage, out)
	_, closing := p.FPDFText_ClosePage(&requests.FPDFText_ClosePage{TextPage: text.TextPage})
	return errors.Join(err, closing)
}

// closePage frees the memory of a page. An error is ignored, since the process
// ends soon.
func closePage(p pdfium.Pdfium, page references.FPDF_PAGE) {
	_, _ = p.FPDF_ClosePage(&requests.FPDF_ClosePage{Page: page})
}

// charsAtOnce bounds how many characters are copied out of WebAssembly at a
// time.
const charsAtOnce = 1 << 16

func readChars(p pdfium.Pdfium, page references.FPDF_TEXTPAGE, out *textio.Sink) error {
	count, err := p.FPDFText_CountChars(&requests.FPDFText_CountChars{TextPage: page})
	if err != nil {
		return err
	}
	for start := 0; start < count.Count; start += charsAtOnce {
		text, err := p.FPDFText_GetText(&requests.FPDFText_GetText{
			TextPage: page, StartIndex: start, Count: min(charsAtOnce, count.Count-start),
		})
		if err != nil {
			return err
		}
		if err := out.Text(text.Text); err != nil {
			return err
		}
	}
	return nil
}
