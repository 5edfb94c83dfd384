package data

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"kartei/api/op"
	"kartei/bench/report"
	"kartei/kit/clock"
	"kartei/kit/id"
	"kartei/kit/progress"
	documents "kartei/record/document"
	"kartei/record/search"
	"kartei/store/db"
)

// Library returns the office with n documents that stays for later runs. It fills the office first
// if necessary. The measurement uses this data without a copy, since a copy would double the space.
func Library(ctx context.Context, root string, n int) (*Office, error) {
	dir := filepath.Join(root, fmt.Sprintf("documents-%d", n))
	if !isFilled(dir, Size{Records: n}) {
		report.Say("%s documents: filling %s", report.Number(float64(n)), dir)
		if err := os.RemoveAll(dir); err != nil {
			return nil, err
		}
		if err := fillLibrary(ctx, dir, n); err != nil {
			return nil, fmt.Errorf("fill %s: %w", dir, err)
		}
	}
	d, f, err := Found(ctx, Database(dir), db.Options{})
	if err != nil {
		return nil, err
	}
	return &Office{Dir: dir, URL: Database(dir), Records: n, Key: f.Key}, d.Close()
}

// fillLibrary creates documents with many in each transaction. It calls the functions that an
// operation calls after it has read a file's text.
func fillLibrary(ctx context.Context, dir string, n int) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	d, f, err := Found(ctx, Database(dir), db.Options{NoSync: true})
	if err != nil {
		return err
	}
	defer d.Close()
	bar := progress.New(os.Stderr)
	defer bar.End()
	from := 0
	for batch := range contents(n) {
		err := d.Write(ctx, func(tx db.Tx) error {
			for i, words := range batch {
				if _, err := Store(ctx, tx, f, from+i, words); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		from += len(batch)
		bar.Tell(int64(from), int64(n))
	}
	// This merges the search index as after ten minutes without writes.
	if err := search.NewMerger(d, clock.System).Once(ctx, clock.Now(clock.System).Add(time.Hour)); err != nil {
		return err
	}
	if err := d.Close(); err != nil {
		return err
	}
	return writeState(dir, Size{Records: n})
}

// contents returns a channel of batches of the documents' words. It generates words while the
// caller stores a batch.
func contents(n int) <-chan []*search.Document {
	out := make(chan []*search.Document, 4)
	go func() {
		defer close(out)
		v := NewVocabulary()
		for i := 0; i < n; {
			batch := make([]*search.Document, 0, 200)
			for ; len(batch) < cap(batch) && i < n; i++ {
				batch = append(batch, v.Content(i, v.length(i)))
			}
			out <- batch
		}
	}()
	return out
}

// Store creates the document with number i and the given words, and returns its id.
func Store(ctx context.Context, tx db.Tx, f Founder, i int, words *search.Document) (name string, err error) {
	call := &op.Call{
		Actor: f.Actor, Tx: tx, Now: clock.Now(clock.System),
		Services: &op.Services{Families: []op.Family{documents.Documents.Family}},
	}
	fields := documents.Fields{
		Name: fmt.Sprintf("Schriftsatz_%d.pdf", i), ContentType: "application/pdf", Size: 48_213,
		SHA256: strings.Repeat("0", 64), UploadID: id.New(id.Upload),
	}
	if err := documents.Documents.Check(ctx, call, &fields); err != nil {
		return "", err
	}
	name = id.New(id.Document)
	_, err = documents.Documents.Insert(ctx, call, name, &fields, words)
	return name, err
}
