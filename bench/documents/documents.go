// Package documents owns what files cost: their transfers, operations, and searches in their text.
package documents

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"time"

	"kartei/api/op"
	"kartei/bench/data"
	"kartei/bench/measure"
	"kartei/bench/report"
	"kartei/kit/clock"
	"kartei/record"
	documents "kartei/record/document"
	"kartei/record/search"
	"kartei/store/db"
)

// Names of the series of documents, for --only.
const (
	findFew   = "find, few hits"
	findMany  = "find, many hits"
	findTwo   = "find, two frequent words"
	numberFew = "number, few hits"
	numberMny = "number, many hits"
)

// Measure measures transfers of files, reads while operations run, and searches in the content of
// documents.
func Measure(ctx context.Context, b *measure.Bench) (err error) {
	if err := b.StartLoad(ctx); err != nil {
		return err
	}
	type part struct {
		name string
		run  func(context.Context, *measure.Bench) ([]report.Figure, error)
	}
	parts, err := measure.Choose([]part{{"transfer", measureTransfers}, {"drain", measureQueue}, {"find", measureContent}},
		func(p part) string { return p.name }, b.Only)
	if err != nil {
		return err
	}
	var list []report.Figure
	for _, part := range parts {
		figures, err := part.run(ctx, b)
		if err != nil {
			return err
		}
		list = append(list, figures...)
	}
	return b.Write(os.Stdout, list)
}

// measureContent measures searches in documents with text, and the indexing of long documents.
func measureContent(ctx context.Context, b *measure.Bench) ([]report.Figure, error) {
	o, err := data.Library(ctx, b.Data, b.Documents)
	if err != nil {
		return nil, err
	}
	p, err := b.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	few, many := p.Searches("/documents?limit=25&q=")
	var two []string
	for i, group := range data.Groups {
		two = append(two, p.Get("/documents?limit=25&q="+url.QueryEscape(group+" "+data.NewVocabulary().Words[20+i])))
	}
	begin := len(b.Series)
	for _, n := range []int{1, 16} {
		b.Add(measure.WithClients(findFew, n), p.Target(), n, few)
		b.Add(measure.WithClients(findMany, n), p.Target(), n, many)
		b.Add(measure.WithClients(findTwo, n), p.Target(), n, two)
	}
	few, many = p.Searches("/documents/count?q=")
	b.Add(numberFew, p.Target(), 1, few)
	b.Add(numberMny, p.Target(), 1, many)
	b.Series = b.Series[begin:]
	for i := range b.Runs {
		if err := b.Round(ctx, i); err != nil {
			return nil, err
		}
	}
	if err := b.Close(p); err != nil {
		return nil, err
	}
	held, err := measureIntake(ctx, o)
	if err != nil {
		return nil, err
	}
	hits := report.Number(float64(b.Documents)/5) + " hits"
	return append([]report.Figure{
		b.Within("search in content, 10 hits, 1 client", measure.WithClients(findFew, 1), 25),
		b.Within("search in content, "+hits+", 1 client", measure.WithClients(findMany, 1), 25),
		b.Within("search in content, two frequent words, 1 client", measure.WithClients(findTwo, 1), 25),
		b.Within("search in content, 10 hits, 16 clients", measure.WithClients(findFew, 16), 100),
		b.Within("search in content, "+hits+", 16 clients", measure.WithClients(findMany, 16), 100),
		b.Within("search in content, two frequent words, 16 clients", measure.WithClients(findTwo, 16), 100),
		b.Within("count, 10 hits", numberFew, 5),
		b.Within("count, "+hits, numberMny, 5),
	}, held...), nil
}

// measureIntake creates 64 documents of 4,096 words and eight documents with the maximum number of
// words. Then it hides them from everyone but their owner, and deletes them. It returns figures of
// the longest transaction, which blocks all other writers, and of the longest wait of a concurrent
// writer.
func measureIntake(ctx context.Context, o *data.Office) ([]report.Figure, error) {
	d, f, err := data.Found(ctx, o.URL, db.Options{})
	if err != nil {
		return nil, err
	}
	defer d.Close()
	i := &intake{d: d, Founder: f, vocabulary: data.NewVocabulary(), mover: search.NewMover(d, clock.System)}
	var list []report.Figure
	for _, c := range []struct{ documents, words int }{{64, 4096}, {8, data.MaxWords}} {
		figures, err := i.of(ctx, c.documents, c.words)
		if err != nil {
			return nil, err
		}
		list = append(list, figures...)
	}
	return list, nil
}

// intake creates, hides and deletes documents in an office.
type intake struct {
	data.Founder
	d          db.DB
	vocabulary *data.Vocabulary
	mover      *search.Mover
}

// of returns the figures for a number of documents with the given number of words.
func (i *intake) of(ctx context.Context, documents, words int) ([]report.Figure, error) {
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
	what := fmt.Sprintf("%d documents of %s words", documents, report.Number(float64(words)))
	return []report.Figure{
		atMost("longest transaction while "+what+" come in", longest, 100),
		atMost("longest to hide one of them from others", hiding, 50),
		atMost("longest to remove one of them", removal, 50),
		atMost("longest that a writer waited while the rest was done in the index", waiting, 50),
	}, nil
}

// put creates a document in the same steps as an operation. It raises longest to the duration of
// its longest transaction.
func (i *intake) put(ctx context.Context, n, length int, longest *float64) (name string, err error) {
	words := i.vocabulary.Content(1_000_000+n, length)
	for left := search.Ahead(words, false); left > 0; {
		err := timed(longest, func() error {
			return i.d.Write(ctx, func(tx db.Tx) (err error) {
				if _, err = tx.Tick(ctx, i.Actor.Org(), clock.Now(clock.System)); err != nil {
					return err
				}
				left, err = search.AheadOf(ctx, tx, i.Actor.Org(), documents.Documents.Object, left)
				return err
			})
		})
		if err != nil {
			return "", err
		}
	}
	err = timed(longest, func() error {
		return i.d.Write(ctx, func(tx db.Tx) (err error) {
			name, err = data.Store(ctx, tx, i.Founder, 1_000_000+n, words)
			return err
		})
	})
	return name, err
}

func (i *intake) call(tx db.Tx) *op.Call {
	return &op.Call{Actor: i.Actor, Tx: tx, Now: clock.Now(clock.System), IfMatch: op.Precondition{Sent: true, Any: true},
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

// wait makes small changes one after another until the search index has moved all words. It raises
// longest to the duration of the longest change in milliseconds.
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
				_, err := tx.Exec(ctx, "update clocks set tick = tick where organization = $1", i.Actor.Org())
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

// atMost returns a figure in milliseconds that must be below bound.
func atMost(what string, ms, bound float64) report.Figure {
	return report.Figure{
		What: what, Goal: fmt.Sprintf("< %.0f ms", bound), Measured: fmt.Sprintf("%.1f ms", ms),
		Value: ms / bound, Reached: ms < bound,
	}
}
