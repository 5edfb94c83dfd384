package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"time"

	"kartei/api/op"
	"kartei/kit/clock"
	"kartei/kit/id"
	"kartei/kit/progress"
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
		run  func(context.Context) ([]figure, error)
	}
	parts, err := choose([]part{{"transfer", b.onTransfers}, {"drain", b.onQueue}, {"find", b.onContent}},
		func(p part) string { return p.name }, b.only)
	if err != nil {
		return err
	}
	var list []figure
	for _, part := range parts {
		figures, err := part.run(ctx)
		if err != nil {
			return err
		}
		list = append(list, figures...)
	}
	return b.write(os.Stdout, list)
}

// onContent searches documents with text, and measures the indexing of long
// ones.
func (b *bench) onContent(ctx context.Context) ([]figure, error) {
	o, err := library(ctx, b.data, b.documents)
	if err != nil {
		return nil, err
	}
	s, err := serve(ctx, b.program, o.dir, o.url, b.profile != "")
	if err != nil {
		return nil, err
	}
	b.servers = append(b.servers, s)
	p := &place{o, s, 0}
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

// library returns the kept office with documents, filled if necessary. It
// measures the kept data itself, since a copy would double the space.
func library(ctx context.Context, root string, n int) (*office, error) {
	dir := filepath.Join(root, fmt.Sprintf("documents-%d", n))
	if !isFilled(dir, n) {
		say("%s documents: filling %s", number(float64(n)), dir)
		if err := os.RemoveAll(dir); err != nil {
			return nil, err
		}
		if err := fillLibrary(ctx, dir, n); err != nil {
			return nil, fmt.Errorf("fill %s: %w", dir, err)
		}
	}
	d, f, err := found(ctx, database(dir), db.Options{})
	if err != nil {
		return nil, err
	}
	return &office{dir: dir, url: database(dir), records: n, key: f.key}, d.Close()
}

// fillLibrary creates documents by the functions that an operation calls after
// it has read a file's text, many in one transaction.
func fillLibrary(ctx context.Context, dir string, n int) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	d, f, err := found(ctx, database(dir), db.Options{NoSync: true})
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
				if _, err := store(ctx, tx, f, from+i, words); err != nil {
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
	// The state after ten minutes without writes.
	if err := search.NewMerger(d, clock.System).Once(ctx, clock.Now(clock.System).Add(time.Hour)); err != nil {
		return err
	}
	if err := d.Close(); err != nil {
		return err
	}
	return writeState(dir, n)
}

// contents generates the words of documents while the caller stores them.
func contents(n int) <-chan []*search.Document {
	out := make(chan []*search.Document, 4)
	go func() {
		defer close(out)
		v := newVocabulary()
		for i := 0; i < n; {
			batch := make([]*search.Document, 0, 200)
			for ; len(batch) < cap(batch) && i < n; i++ {
				batch = append(batch, v.content(i, v.length(i)))
			}
			out <- batch
		}
	}()
	return out
}

// store creates document i with the words of its content.
func store(ctx context.Context, tx db.Tx, f founder, i int, words *search.Document) (name string, err error) {
	call := &op.Call{
		Actor: f.actor, Tx: tx, Now: clock.Now(clock.System),
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
				if _, err = tx.Tick(ctx, i.actor.Org(), clock.Now(clock.System)); err != nil {
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

// maxWords is the maximum number of words of a document that the index keeps.
const maxWords = 10_000

// vocabulary has German-like words. The frequency of the n-th word is
// proportional to 1/n^0.9.
type vocabulary struct {
	words []string
	upTo  []float64
}

func newVocabulary() *vocabulary {
	v := &vocabulary{}
	parts := strings.Fields(`kauf recht miet vertrag leist gericht frist zahl klar antrag klag schluss pflicht sach
		termin wert gesell haft bau rech steuer schuld pfand erb ehe kind unfall sicher kredit zins buerg macht urteil
		weis zeug gut kost walt datum ord satz pruef schreib stell nehm geb halt trag setz fuehr bank amt teil haus
		geld land staat jahr post grund`)
	for _, end := range []string{"", "en", "ung", "er", "e", "lich", "s", "bar"} {
		for _, second := range parts {
			for _, first := range parts {
				v.words = append(v.words, first+second+end)
			}
		}
	}
	// Frequent words must have nothing else in common.
	r := rand.New(rand.NewPCG(3, 3))
	r.Shuffle(len(v.words), func(i, j int) { v.words[i], v.words[j] = v.words[j], v.words[i] })
	sum := 0.0
	for i := range v.words {
		sum += 1 / math.Pow(float64(i+1), 0.9)
		v.upTo = append(v.upTo, sum)
	}
	return v
}

// length returns the number of different words in the content of document i.
// The average is 600, most documents have 50 to 1,000, and one in 200 has the
// maximum.
func (v *vocabulary) length(i int) int {
	r := rand.New(rand.NewPCG(uint64(i), 5))
	if i%200 == 77 {
		return maxWords
	}
	return min(maxWords, int(420*math.Exp(0.7*r.NormFloat64())))
}

// content returns the words of the text of document i.
func (v *vocabulary) content(i, length int) *search.Document {
	d := new(search.Document)
	d.Add(search.Note, v.text(i, length))
	return d
}

// text returns a text of length different words. A fifth of all documents share
// each group word, such as 'Mandantschaft', and ten share a file word.
func (v *vocabulary) text(i, length int) string {
	r := rand.New(rand.NewPCG(uint64(i), 13))
	seen := make(map[string]bool, length)
	list := []string{groups[i%len(groups)], fileWord(i / 10)}
	for len(list) < length {
		word := v.words[sort.SearchFloat64s(v.upTo, r.Float64()*v.upTo[len(v.upTo)-1])]
		if !seen[word] {
			seen[word] = true
			list = append(list, word)
		}
	}
	return strings.Join(list, " ")
}
