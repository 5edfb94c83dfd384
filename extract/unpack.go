package extract

import (
	"context"
	"io"

	"kartei/extract/bundle"
)

// The further reasons why a file could not be unpacked.
const (
	// Legacy is a workbook of Excel before 2007.
	Legacy Reason = "legacy"
	// Foreign is a workbook of another format: OpenDocument, Numbers, or binary.
	Foreign Reason = "foreign"
)

// Unpack returns the parts of an organization's file: the files of an archive, or the sheets
// of a workbook. Its text is not cleaned, because files have many encodings. An error comes
// from ctx, from reading r or from starting a process, as in Within.
func (x *Extractor) Unpack(ctx context.Context, organization int64, r io.Reader) ([]bundle.Part, Reason, error) {
	if err := x.slots.Enter(ctx, organization); err != nil {
		return nil, "", err
	}
	defer x.slots.Leave(organization)
	t := x.reading(unpacking, "", x.options.Time)
	t.output = bundle.MaxSize + 1
	e, err := x.run(ctx, r, t)
	if err != nil {
		return nil, "", err
	}
	reason := reasonOf(e)
	if len(e.Wrote) > bundle.MaxSize {
		reason = Inflated
	}
	if reason != Complete {
		return nil, reason, nil
	}
	parts, err := bundle.Parse(e.Wrote)
	if err != nil {
		return nil, Crashed, nil
	}
	return parts, Complete, nil
}
