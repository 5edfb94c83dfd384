package document

import (
	"context"
	"strings"
	"unicode/utf8"

	"kartei/api/op"
	"kartei/extract"
	"kartei/kit/fault"
	"kartei/record/search"
)

// TextInput is the input of GetText.
type TextInput struct {
	ID string `json:"id"`
	// Part is the number of the part, from 1; 0 stands for the first part with
	// a hit, or else for 1.
	Part int `json:"part,omitempty"`
	// Query has the words that are marked.
	Query string `json:"q,omitempty"`
}

// DocumentText is a part of what a document says.
type DocumentText struct {
	Part  int `json:"part"`
	Parts int `json:"parts"`
	// Paged is true if a part is a page, with the same number.
	Paged bool   `json:"paged"`
	Text  string `json:"text"`
	// Marks are the parts of Text that the search has found, in bytes.
	Marks []search.Span `json:"marks"`
	// Found counts the hits of each part that has any.
	Found []PartHits `json:"found"`
	// Cut is true if the document has more text than is read.
	Cut bool `json:"cut,omitempty"`
	// Reason is the reason why text is missing.
	Reason extract.Reason `json:"reason,omitempty"`
}

// PartHits is how many hits a part has.
type PartHits struct {
	Part int `json:"part"`
	Hits int `json:"hits"`
}

// Records returns 1.
func (DocumentText) Records() int { return 1 }

// readText reads the text of the document, if the caller sees it. It takes a
// moment, so it happens before the transaction.
func readText(ctx context.Context, c *op.Call, in TextInput) (*extract.Text, error) {
	if in.Part < 0 || in.Part > maxPages {
		return nil, fault.Invalid(fault.Field{
			Name:  "part",
			Code:  fault.OutOfRange,
			Limit: fault.Range{Min: 1, Max: maxPages},
		})
	}
	f, err := visibleFile(ctx, c, in.ID)
	if err != nil {
		return nil, err
	}
	text, err := Viewer.In(c).Text(ctx, f)
	return text, seeing(err)
}

// GetText returns a part of the text of a document with its hits.
var GetText = op.NewPrefetched("documents.text", op.Read, readText, getText, op.By(op.Member))

// GetTextForTool is GetText for assistants.
var GetTextForTool = op.NewPrefetched("tools.text", op.Read, readText, getText, op.By(op.Program), op.Costs(1),
	op.Needs("documents:read"))

func getText(ctx context.Context, c *op.Call, in TextInput, text *extract.Text) (DocumentText, error) {
	f, err := seen(ctx, c, in.ID)
	if err != nil {
		return DocumentText{}, err
	}
	t := DocumentText{
		Part:   max(in.Part, 1),
		Paged:  f.ContentType == "application/pdf",
		Marks:  []search.Span{},
		Found:  []PartHits{},
		Cut:    text.Cut,
		Reason: text.Reason,
	}
	parts := divide(text.Body, t.Paged)
	t.Parts = len(parts)
	q := search.Parse(in.Query)
	m := search.MarkerOf(q)
	for i, part := range parts {
		if q.Empty() {
			break
		}
		if n := len(m.Text(part)); n > 0 {
			t.Found = append(t.Found, PartHits{i + 1, n})
		}
	}
	if in.Part == 0 && len(t.Found) > 0 {
		t.Part = t.Found[0].Part
	}
	if t.Part > t.Parts {
		return DocumentText{}, fault.Invalid(fault.Field{
			Name:  "part",
			Code:  fault.OutOfRange,
			Limit: fault.Range{Min: 1, Max: int64(t.Parts)},
		})
	}
	t.Text = parts[t.Part-1]
	if !q.Empty() {
		t.Marks = append(t.Marks, m.Text(t.Text)...)
	}
	return t, nil
}

// partSize is about how many bytes a part has: three or four pages of a letter.
const partSize = 12 << 10

// divide cuts a text into its pages, or else into parts of a size that is read at
// once. A part ends with a paragraph, a line or a word, as far as there is one.
func divide(text string, paged bool) (parts []string) {
	if paged {
		return strings.Split(text, "\f")
	}
	for len(text) > partSize {
		end := partSize
		for end > 0 && !utf8.RuneStart(text[end]) {
			end--
		}
		for _, gap := range []string{"\n\n", "\n", "\t", " "} {
			if at := strings.LastIndex(text[:end], gap); at > partSize/2 {
				end = at + len(gap)
				break
			}
		}
		parts = append(parts, strings.TrimRight(text[:end], "\n\t "))
		text = text[end:]
	}
	return append(parts, text)
}
