// Package files owns the checks that a folder or bucket is the right one, and that its files agree with the rows.
package files

import (
	"context"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"kartei/kit/clock"
	"kartei/record/document"
	"kartei/record/upload"
	"kartei/store/blob"
	"kartei/store/db"
)

// CheckInput is the input of the act blobs.check.
type CheckInput struct {
	Quick  bool `json:"quick"`
	Remove bool `json:"remove"`
	// Age is the minimum age in seconds of a file without a row that is a finding.
	Age int64 `json:"age"`
}

// CheckOutput is the output of the act blobs.check.
type CheckOutput struct {
	blob.CheckCounts
	// Found is the number of all findings, and Left the number of findings that were not removed.
	// Findings has up to 5,000 of them.
	Found    int            `json:"found"`
	Left     int            `json:"left"`
	Findings []blob.Finding `json:"findings"`
}

// maxFindings is the maximum number of Findings in an output.
const maxFindings = 5000

// Check compares the files of a store with the rows of the database, and removes files without rows
// if in.Remove is set.
func Check(ctx context.Context, d db.DB, s blob.Store, c clock.Clock, in CheckInput) (CheckOutput, error) {
	out := CheckOutput{Findings: []blob.Finding{}}
	check := blob.Check{
		Store: s, Rows: Rows{d}, Quick: in.Quick, Remove: in.Remove,
		Before: c.Now().Add(-time.Duration(in.Age) * time.Second),
		Found: func(f blob.Finding) {
			if !f.Removed {
				out.Left++
			}
			if out.Found++; len(out.Findings) < maxFindings {
				out.Findings = append(out.Findings, f)
			}
		},
	}
	var err error
	out.CheckCounts, err = check.Run(ctx)
	return out, err
}

// Rows looks up the rows of files in the database. Each query has its own transaction, so that none
// is open while files are read.
type Rows struct{ DB db.DB }

// Wanted returns the files of all documents.
func (r Rows) Wanted(ctx context.Context) iter.Seq2[blob.Reference, error] {
	return func(yield func(blob.Reference, error) bool) {
		var organizations []int64
		err := r.DB.Read(ctx, func(tx db.Tx) (err error) {
			organizations, err = db.Organizations(ctx, tx)
			return err
		})
		if err != nil {
			yield(blob.Reference{}, err)
			return
		}
		for _, organization := range organizations {
			if !r.of(ctx, organization, yield) {
				return
			}
		}
	}
}

// of yields the files of the documents of an organization. It reports whether to continue.
func (r Rows) of(ctx context.Context, organization int64, yield func(blob.Reference, error) bool) bool {
	for after := ""; ; {
		var page []blob.Reference
		err := r.DB.Read(ctx, func(tx db.Tx) (err error) {
			page, after, err = document.Files(ctx, tx, organization, after)
			return err
		})
		if err != nil {
			yield(blob.Reference{}, err)
			return false
		}
		if len(page) == 0 {
			return true
		}
		for _, w := range page {
			if !yield(w, nil) {
				return false
			}
		}
	}
}

// Has reports whether a document or an upload session has a file with this name.
func (r Rows) Has(ctx context.Context, name string) (bool, error) {
	return r.ask(ctx, name, document.HasFile)
}

// Pending reports whether an operation is still creating or erasing a document's file. It returns
// false for a file of an upload session, because Has has checked such files.
func (r Rows) Pending(ctx context.Context, name string) (bool, error) {
	if strings.HasPrefix(name, blob.Staged) {
		return false, nil
	}
	return r.ask(ctx, name, document.FilePending)
}

// ask calls the function document for a file of a document, and upload.HasStaged for a file of an
// upload session. It returns an error if name is not the name of a file.
func (r Rows) ask(
	ctx context.Context, name string, document func(context.Context, db.Tx, int64, string) (bool, error),
) (yes bool, err error) {
	parts := strings.Split(name, "/")
	if len(parts) != 3 {
		return false, fmt.Errorf("instance: %q is not the name of a file", name)
	}
	organization, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil {
		return false, fmt.Errorf("instance: %q is not the name of a file", name)
	}
	if parts[0] == "uploads" {
		document = upload.HasStaged
	}
	err = r.DB.Read(ctx, func(tx db.Tx) (err error) {
		yes, err = document(ctx, tx, organization, parts[2])
		return err
	})
	return yes, err
}
