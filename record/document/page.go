package document

import (
	"context"
	"errors"
	"io"
	"time"

	"kartei/access"
	"kartei/api/op"
	"kartei/extract"
	"kartei/extract/drawing"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/record/search"
	"kartei/record/upload"
	"kartei/store/db"
)

// PageInput is the input of GetPage.
type PageInput struct {
	ID string `json:"id"`
	// Page is the number of the page, from 1. Zero means 1.
	Page int `json:"page,omitempty"`
	// DPI is the resolution of the image: 96 or 144. Zero means 96.
	DPI int `json:"dpi,omitempty"`
	// Query has the search words that are marked on the page.
	Query string `json:"q,omitempty"`
	// WithoutImage leaves out the image. The web application requests the size and the hits of a
	// page, and the browser requests the image separately.
	WithoutImage bool `json:"withoutImage,omitempty"`
}

// Page is a rendered page of a document.
type Page struct {
	Page  int `json:"page"`
	Pages int `json:"pages"`
	// Width and Height are the size of the image in pixels.
	Width       int    `json:"width"`
	Height      int    `json:"height"`
	ContentType string `json:"contentType,omitempty"`
	Image       []byte `json:"image,omitempty"`
	// Text is the text of the page, for people who do not see the image.
	Text string `json:"text,omitempty"`
	Hits []Hit  `json:"hits"`
	// Reason says why there is no image.
	Reason extract.Reason `json:"reason,omitempty"`
}

// Records returns 1.
func (Page) Records() int { return 1 }

// Hit is a place on a page that matches the query. It has several boxes if it continues on the
// next line.
type Hit struct {
	// Span is the range of the hit in the text, in bytes.
	Span  search.Span `json:"span"`
	Boxes []Rect      `json:"boxes"`
}

// Rect is a rectangle in the image, in pixels.
type Rect struct {
	X      int `json:"x"`
	Y      int `json:"y"`
	Width  int `json:"width"`
	Height int `json:"height"`
}

// maxPages is the maximum page number in a request.
const maxPages = 1_000_000

// wrong returns the violations of the input.
func (in *PageInput) wrong() []fault.Field {
	var wrong []fault.Field
	if in.Page < 0 || in.Page > maxPages {
		wrong = append(wrong, fault.Field{Name: "page", Code: fault.OutOfRange, Limit: fault.Range{Min: 1, Max: maxPages}})
	}
	if in.DPI != 0 && in.DPI != 96 && in.DPI != 144 {
		wrong = append(wrong, fault.Field{Name: "dpi", Code: fault.NotInEnum, Limit: []string{"96", "144"}})
	}
	return wrong
}

// sheet returns the page number and the resolution, with defaults for zero.
func (in *PageInput) sheet() drawing.Sheet {
	return drawing.Sheet{Number: max(in.Page, 1), DPI: max(in.DPI, 96)}
}

// drawPage renders the page if the caller sees the document. Rendering takes a moment, so it
// happens before the transaction.
func drawPage(ctx context.Context, c *op.Call, in PageInput) (*extract.Page, error) {
	if wrong := in.wrong(); len(wrong) > 0 {
		return nil, fault.Invalid(wrong...)
	}
	f, err := visibleFile(ctx, c, in.ID)
	if err != nil {
		return nil, err
	}
	page, err := Viewer.In(c).Page(ctx, f, in.sheet())
	return page, seeing(err)
}

// GetPage is the operation that returns a page of a document with its hits.
var GetPage = op.NewPrefetched("documents.page", op.Read, drawPage, getPage, op.By(op.Member))

func getPage(ctx context.Context, c *op.Call, in PageInput, drawn *extract.Page) (Page, error) {
	if _, err := seen(ctx, c, in.ID); err != nil { // the document may have changed since the rendering
		return Page{}, err
	}
	if drawn.Reason == extract.Complete && drawn.Number > drawn.Pages {
		return Page{}, fault.Invalid(fault.Field{
			Name:  "page",
			Code:  fault.OutOfRange,
			Limit: fault.Range{Min: 1, Max: int64(drawn.Pages)},
		})
	}
	p := Page{
		Page: drawn.Number, Pages: drawn.Pages, Width: drawn.Width, Height: drawn.Height, ContentType: drawn.ContentType,
		Text: drawn.Text, Hits: hits(drawn, in.Query), Reason: drawn.Reason,
	}
	if !in.WithoutImage {
		p.Image = drawn.Image
	}
	return p, nil
}

// visibleFile returns the file of a document that the caller sees. It reads the document in a
// transaction of its own.
func visibleFile(ctx context.Context, c *op.Call, name string) (f extract.File, err error) {
	store := upload.Service.In(c).Store
	err = c.Services.Read(ctx, func(tx db.Tx) error {
		reading := *c
		reading.Tx = tx
		fields, err := seen(ctx, &reading, name)
		if err != nil {
			return err
		}
		f = extract.File{
			Organization: c.Actor.Org(), Name: Kept(c.Actor.Org(), name), ContentType: fields.ContentType,
			Size: fields.Size,
		}
		return nil
	})
	f.Open = func(ctx context.Context) (io.ReadCloser, error) { return store.Open(ctx, f.Name) }
	return f, err
}

// seen returns the members of a document that the caller sees. It fails with a fault if the
// caller may not read documents, or does not see this one.
func seen(ctx context.Context, c *op.Call, name string) (*Fields, error) {
	if err := mayRead(c); err != nil {
		return nil, err
	}
	f, _, err := Documents.Members(ctx, c, name)
	return f, err
}

// mayRead returns a fault if the caller does not have the right to read documents.
func mayRead(c *op.Call) error {
	if !c.Actor.May(Documents.ReadScope()) {
		return &fault.Fault{Code: fault.Forbidden, Reason: string(access.NoScope), Detail: mayNotRead}
	}
	return nil
}

// seeing returns the fault for an error of Viewer.
func seeing(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, extract.ErrBusy):
		return &fault.Fault{Code: fault.Overloaded, RetryAfter: drawRetry, Detail: beingDrawn}
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	}
	return upload.Unopened(err)
}

// drawRetry is the time after which a client should ask again for a page that is still being
// rendered.
const drawRetry = 2 * time.Second

var (
	mayNotRead = i18n.Text("You do not have the right to read documents. An admin of your organization can help.")
	beingDrawn = i18n.Text("The page is still being drawn, or many others wait before it. Please try again shortly.")
)
