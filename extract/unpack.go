package extract

import (
	"context"
	"io"

	"kartei/extract/bundle"
)

// These reasons, besides the reasons of Extract, say why a file could not be unpacked.
const (
	// Legacy is the reason for a workbook in the format of Excel before 2007.
	Legacy Reason = "legacy"
	// Foreign is the reason for a workbook in another format: OpenDocument, Numbers or binary
	// Excel.
	Foreign Reason = "foreign"
)

// Unpack returns the parts of a file of an organization: the files of an archive, or the sheets of
// a workbook. The contents of files are not cleaned, since they may have any encoding. If the file
// cannot be unpacked, Unpack returns a Reason. An error comes from ctx, from reading r or from
// starting a process, as in Within.
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
