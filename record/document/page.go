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
	// Page is the number of the page, from 1; 0 stands for 1.
	Page int `json:"page,omitempty"`
	// DPI is 96 or 144; 0 stands for 96.
	DPI int `json:"dpi,omitempty"`
	// Query has the words whose places are marked.
	Query string `json:"q,omitempty"`
	// WithoutImage leaves out the picture: a page of the application asks for
	// the size and the marks, and the browser for the picture.
	WithoutImage bool `json:"withoutImage,omitempty"`
}

// Page is a page of a document as a picture.
type Page struct {
	Page  int `json:"page"`
	Pages int `json:"pages"`
	// Width and Height are the picture's, in pixels.
	Width       int    `json:"width"`
	Height      int    `json:"height"`
	ContentType string `json:"contentType,omitempty"`
	Image       []byte `json:"image,omitempty"`
	// Text is the text of the page, for those who do not see the picture.
	Text string `json:"text,omitempty"`
	Hits []Hit  `json:"hits"`
	// Reason is the reason why there is no picture.
	Reason extract.Reason `json:"reason,omitempty"`
}

// Records returns 1.
func (Page) Records() int { return 1 }

// Hit is a place on a page that a search has found. It has several boxes if it
// goes over the end of a line.
type Hit struct {
	// Span is the part of the text, in bytes.
	Span  search.Span `json:"span"`
	Boxes []Rect      `json:"boxes"`
}

// Rect is a rectangle in the pixels of a picture.
type Rect struct {
	X      int `json:"x"`
	Y      int `json:"y"`
	Width  int `json:"width"`
	Height int `json:"height"`
}

// maxPages bounds the number of a page that is asked for.
const maxPages = 1_000_000

// wrong returns the faults of the input.
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

// sheet returns the page that is asked for.
func (in *PageInput) sheet() drawing.Sheet {
	return drawing.Sheet{Number: max(in.Page, 1), DPI: max(in.DPI, 96)}
}

// drawPage draws the page, if the caller sees the document. It takes a moment,
// so it happens before the transaction.
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

// GetPage returns a page of a document with the places of hits.
var GetPage = op.NewPrefetched("documents.page", op.Read, drawPage, getPage, op.By(op.Member))

func getPage(ctx context.Context, c *op.Call, in PageInput, drawn *extract.Page) (Page, error) {
	if _, err := seen(ctx, c, in.ID); err != nil { // since the drawing began
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

// visibleFile returns the file of a document that the caller sees.
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

// seen returns a document that the caller sees.
func seen(ctx context.Context, c *op.Call, name string) (*Fields, error) {
	if err := mayRead(c); err != nil {
		return nil, err
	}
	f, _, err := Documents.Members(ctx, c, name)
	return f, err
}

// mayRead checks the caller's right to read documents.
func mayRead(c *op.Call) error {
	if !c.Actor.May(Documents.ReadScope()) {
		return &fault.Fault{Code: fault.Forbidden, Reason: string(access.NoScope), Detail: mayNotRead}
	}
	return nil
}

// seeing returns the fault for an error of looking at a file.
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

// drawRetry is when to ask again for a page that is being drawn.
const drawRetry = 2 * time.Second

var (
	mayNotRead = i18n.Text("You do not have the right to read documents. An admin of your organization can help.")
	beingDrawn = i18n.Text("The page is still being drawn, or many others wait before it. Please try again shortly.")
)
