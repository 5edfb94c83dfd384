package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"time"

	"kartei/api/op"
	"kartei/kit/clock"
	"kartei/record"
	documents "kartei/record/document"
	"kartei/record/search"
	"kartei/store/db"
)

// The names of the series of documents, for --only.
const (
	findFew   = "find, few hits"
	findMany  = "find, many hits"
	findTwo   = "find, two frequent words"
	numberFew = "number, few hits"
	numberMny = "number, many hits"
)

// onDocuments measures documents: transfers of files, reads during running
// operations, and searches in the content.
func (b *bench) onDocuments(ctx context.Context) (err error) {
	if b.load, err = b.helper(ctx, "load"); err != nil {
		return err
	}
	type part struct {
		name string
		run  func(context.Context, *bench) ([]figure, error)
	}
	parts, err := choose([]part{{"transfer", onTransfers}, {"drain", onQueue}, {"find", onContent}},
		func(p part) string { return p.name }, b.only)
	if err != nil {
		return err
	}
	var list []figure
	for _, part := range parts {
		figures, err := part.run(ctx, b)
		if err != nil {
			return err
		}
		list = append(list, figures...)
	}
	return b.write(os.Stdout, list)
}

// onContent searches documents with text, and measures the indexing of long
// ones.
func onContent(ctx context.Context, b *bench) ([]figure, error) {
	o, err := library(ctx, b.data, b.documents)
	if err != nil {
		return nil, err
	}
	s, err := serve(ctx, b.program, o.dir, o.url, b.profile != "")
	if err != nil {
		return nil, err
	}
	b.servers = append(b.servers, s)
	p := &place{office: o, server: s}
	few, many := p.searches("/documents?limit=25&q=")
	var two []string
	for i, group := range groups {
		two = append(two, p.get("/documents?limit=25&q="+url.QueryEscape(group+" "+newVocabulary().words[20+i])))
	}
	begin := len(b.series)
	for _, n := range []int{1, 16} {
		b.add(clients(findFew, n), p.target(), n, few)
		b.add(clients(findMany, n), p.target(), n, many)
		b.add(clients(findTwo, n), p.target(), n, two)
	}
	few, many = p.searches("/documents/count?q=")
	b.add(numberFew, p.target(), 1, few)
	b.add(numberMny, p.target(), 1, many)
	b.series = b.series[begin:]
	for i := range b.runs {
		if err := b.round(ctx, i); err != nil {
			return nil, err
		}
	}
	if err := s.end(); err != nil {
		return nil, err
	}
	b.servers = slices.DeleteFunc(b.servers, func(o *server) bool { return o == s })
	held, err := o.intake(ctx)
	if err != nil {
		return nil, err
	}
	hits := number(float64(b.documents)/5) + " hits"
	return append([]figure{
		b.within("search in content, 10 hits, 1 client", clients(findFew, 1), 25),
		b.within("search in content, "+hits+", 1 client", clients(findMany, 1), 25),
		b.within("search in content, two frequent words, 1 client", clients(findTwo, 1), 25),
		b.within("search in content, 10 hits, 16 clients", clients(findFew, 16), 100),
		b.within("search in content, "+hits+", 16 clients", clients(findMany, 16), 100),
		b.within("search in content, two frequent words, 16 clients", clients(findTwo, 16), 100),
		b.within("count, 10 hits", numberFew, 5),
		b.within("count, "+hits, numberMny, 5),
	}, held...), nil
}

// intake creates 64 documents of 4,096 words and eight with the maximum number
// of words. It then hides them from everyone but their owner, and deletes them.
// It reports the longest transaction, which blocks all other writers, and the
// longest wait of a concurrent writer.
func (o *office) intake(ctx context.Context) ([]figure, error) {
	d, f, err := found(ctx, o.url, db.Options{})
	if err != nil {
		return nil, err
	}
	defer d.Close()
	i := &intake{d: d, founder: f, vocabulary: newVocabulary(), mover: search.NewMover(d, clock.System)}
	var list []figure
	for _, c := range []struct{ documents, words int }{{64, 4096}, {8, maxWords}} {
		figures, err := i.of(ctx, c.documents, c.words)
		if err != nil {
			return nil, err
		}
		list = append(list, figures...)
	}
	return list, nil
}

// intake is the office for documents that are created and deleted.
type intake struct {
	founder
	d          db.DB
	vocabulary *vocabulary
	mover      *search.Mover
}

// of returns the figures for a number of documents with a number of words.
func (i *intake) of(ctx context.Context, documents, words int) ([]figure, error) {
	var longest, hiding, removal, waiting float64
	var names []string
	for n := range documents {
		name, err := i.put(ctx, n, words, &longest)
		if err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	for _, step := range []struct {
		longest *float64
		do      func(ctx context.Context, c *op.Call, name string) error
	}{{&hiding, hide}, {&removal, remove}} {
		for _, name := range names {
			err := timed(step.longest, func() error {
				return i.d.Write(ctx, func(tx db.Tx) error { return step.do(ctx, i.call(tx), name) })
			})
			if err != nil {
				return nil, err
			}
		}
		if err := i.wait(ctx, &waiting); err != nil {
			return nil, err
		}
	}
	what := fmt.Sprintf("%d documents of %s words", documents, number(float64(words)))
	return []figure{
		atMost("longest transaction while "+what+" come in", longest, 100),
		atMost("longest to hide one of them from others", hiding, 50),
		atMost("longest to remove one of them", removal, 50),
		atMost("longest that a writer waited while the rest was done in the index", waiting, 50),
	}, nil
}

// put creates a document the way an operation does.
func (i *intake) put(ctx context.Context, n, length int, longest *float64) (name string, err error) {
	words := i.vocabulary.content(1_000_000+n, length)
	for left := search.Ahead(words, false); left > 0; {
		err := timed(longest, func() error {
			return i.d.Write(ctx, func(tx db.Tx) (err error) {
				if _, err = db.Tick(ctx, tx, i.actor.Org(), clock.Now(clock.System)); err != nil {
					return err
				}
				left, err = search.AheadOf(ctx, tx, i.actor.Org(), documents.Documents.Object, left)
				return err
			})
		})
		if err != nil {
			return "", err
		}
	}
	err = timed(longest, func() error {
		return i.d.Write(ctx, func(tx db.Tx) (err error) {
			name, err = store(ctx, tx, i.founder, 1_000_000+n, words)
			return err
		})
	})
	return name, err
}

func (i *intake) call(tx db.Tx) *op.Call {
	return &op.Call{Actor: i.actor, Tx: tx, Now: clock.Now(clock.System), IfMatch: op.Precondition{Sent: true, Any: true},
		Services: &op.Services{Families: []op.Family{documents.Documents.Family}}}
}

func hide(ctx context.Context, c *op.Call, name string) error {
	_, err := documents.Documents.Act(ctx, c, name, "updated", func(f *documents.Fields) error {
		f.Visibility = record.Private
		return nil
	})
	return err
}

func remove(ctx context.Context, c *op.Call, name string) error {
	_, err := documents.Documents.Delete(ctx, c, op.ByID{ID: name})
	return err
}

// wait makes small changes one after the other until the rest of the work in
// the index is done.
func (i *intake) wait(ctx context.Context, longest *float64) error {
	done := make(chan error)
	go func() { done <- i.mover.Once(ctx) }()
	for {
		select {
		case err := <-done:
			return err
		default:
		}
		err := timed(longest, func() error {
			return i.d.WriteIn(ctx, 0, func(tx db.Tx) error {
				_, err := tx.Exec(ctx, "update clocks set tick = tick where organization = $1", i.actor.Org())
				return err
			})
		})
		if err != nil {
			return errors.Join(err, <-done)
		}
	}
}

// timed runs a function and raises longest to its duration in milliseconds.
func timed(longest *float64, do func() error) error {
	start := time.Now()
	err := do()
	*longest = max(*longest, float64(time.Since(start).Microseconds())/1000)
	return err
}

// atMost returns a row about milliseconds.
func atMost(what string, ms, bound float64) figure {
	return figure{
		What: what, Goal: fmt.Sprintf("< %.0f ms", bound), Measured: fmt.Sprintf("%.1f ms", ms),
		Value: ms / bound, Reached: ms < bound,
	}
}
