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
	// Part is the number of the part, from 1. Zero means the first part with a hit, or part 1 if
	// there is no hit.
	Part int `json:"part,omitempty"`
	// Query has the search words that are marked in the text.
	Query string `json:"q,omitempty"`
}

// DocumentText is a part of a document's text.
type DocumentText struct {
	Part  int `json:"part"`
	Parts int `json:"parts"`
	// Paged says that each part is a page with the same number.
	Paged bool   `json:"paged"`
	Text  string `json:"text"`
	// Marks are the ranges of Text that match the query, in bytes.
	Marks []search.Span `json:"marks"`
	// Found has the number of hits for each part with at least one hit.
	Found []PartHits `json:"found"`
	// Cut says that the document has more text than was read.
	Cut bool `json:"cut,omitempty"`
	// Reason says why text is missing.
	Reason extract.Reason `json:"reason,omitempty"`
}

// PartHits is the number of hits in a part.
type PartHits struct {
	Part int `json:"part"`
	Hits int `json:"hits"`
}

// Records returns 1.
func (DocumentText) Records() int { return 1 }

// readText returns the text of the document if the caller sees it. Reading takes a moment, so it
// happens before the transaction.
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

// GetText is the operation that returns a part of a document's text with its hits.
var GetText = op.NewPrefetched("documents.text", op.Read, readText, getText, op.By(op.Member))

// GetTextForTool is GetText for AI assistants.
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

// partSize is the approximate size of a part in bytes. It is the text of three or four pages of a
// letter.
const partSize = 12 << 10

// divide divides a text into its pages, or into parts of about partSize bytes. A part ends at the
// end of a paragraph, a line or a word if there is one in its second half.
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
