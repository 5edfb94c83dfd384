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
)

// openPDFium starts PDFium, which is compiled to WebAssembly: it sees memory of
// its own, no file and no network. Translating it takes seconds of a processor,
// taking the translation from the cache a tenth of one.
func openPDFium(in *input) (pdfium.Pdfium, error) {
	if in.cache != "" {
		if p, err := startPDFium(in, in.cache); err == nil {
			return p, nil
		}
	}
	return startPDFium(in, "")
}

func startPDFium(in *input, folder string) (pdfium.Pdfium, error) {
	config := wazero.NewRuntimeConfig().WithMemoryLimitPages(uint32(in.limits.Memory / 2 >> 16))
	if folder != "" {
		cache, err := wazero.NewCompilationCacheWithDir(folder)
		if err != nil {
			return nil, err
		}
		config = config.WithCompilationCache(cache)
	}
	pool, err := webassembly.Init(webassembly.Config{
		MinIdle: 1, MaxIdle: 1, MaxTotal: 1,
		FSConfig:      wazero.NewFSConfig(), // without it, the whole disk
		RuntimeConfig: config,
		Stdout:        io.Discard,
		Stderr:        io.Discard,
	})
	if err != nil {
		return nil, err
	}
	return pool.GetInstance(time.Minute)
}

// warm fills the cache. What is damaged there is made anew.
func warm(in *input, _ *sink) error {
	_, err := startPDFium(in, in.cache)
	if err == nil {
		return nil
	}
	entries, err := os.ReadDir(in.cache)
	for _, e := range entries {
		err = errors.Join(err, os.RemoveAll(filepath.Join(in.cache, e.Name())))
	}
	if err != nil {
		return err
	}
	_, err = startPDFium(in, in.cache)
	return err
}

// readPDF reads a PDF page by page.
func readPDF(in *input, out *sink) error {
	whole, err := in.hold()
	if err != nil {
		return err
	}
	p, err := openPDFium(in)
	if err != nil {
		return err
	}
	opened, err := p.OpenDocument(&requests.OpenDocument{FileReader: io.NewSectionReader(whole, 0, whole.size), FileReaderSize: whole.size})
	switch {
	case errors.Is(err, failures.ErrPassword), errors.Is(err, failures.ErrSecurity):
		return errEncrypted
	case err != nil:
		return errBroken
	}
	count, err := p.FPDF_GetPageCount(&requests.FPDF_GetPageCount{Document: opened.Document})
	if err != nil {
		return errBroken
	}
	bad := 0
	for i := range count.PageCount {
		out.paragraph()
		if err := readPage(p, opened.Document, i, out); errors.Is(err, errFull) {
			return err
		} else if err != nil {
			bad++
		}
	}
	if bad > 0 || count.PageCount == 0 {
		return errBroken
	}
	return nil
}

// readPage reads a page, with what was filled in and noted on it: for that,
// forms and notes become part of the page, as if for printing.
func readPage(p pdfium.Pdfium, document references.FPDF_DOCUMENT, i int, out *sink) error {
	page, err := p.FPDF_LoadPage(&requests.FPDF_LoadPage{Document: document, Index: i})
	if err != nil {
		return err
	}
	flat, err := p.FPDFPage_Flatten(&requests.FPDFPage_Flatten{
		Page: requests.Page{ByReference: &page.Page}, Usage: requests.FPDFPage_FlattenUsageNormalDisplay,
	})
	if err == nil && flat.Result == responses.FPDFPage_FlattenResultSuccess {
		closePage(p, page.Page)
		if page, err = p.FPDF_LoadPage(&requests.FPDF_LoadPage{Document: document, Index: i}); err != nil {
			return err
		}
	}
	defer closePage(p, page.Page)
	text, err := p.FPDFText_LoadPage(&requests.FPDFText_LoadPage{Page: requests.Page{ByReference: &page.Page}})
	if err != nil {
		return err
	}
	err = readChars(p, text.TextPage, out)
	_, closing := p.FPDFText_ClosePage(&requests.FPDFText_ClosePage{TextPage: text.TextPage})
	return errors.Join(err, closing)
}

// closePage gives its memory back. Where that fails, the process ends soon.
func closePage(p pdfium.Pdfium, page references.FPDF_PAGE) {
	_, _ = p.FPDF_ClosePage(&requests.FPDF_ClosePage{Page: page})
}

// charsAtOnce bounds what is copied out of WebAssembly at a time.
const charsAtOnce = 1 << 16

func readChars(p pdfium.Pdfium, page references.FPDF_TEXTPAGE, out *sink) error {
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
		if err := out.text(text.Text); err != nil {
			return err
		}
	}
	return nil
}
