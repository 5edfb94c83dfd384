package search

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"kartei/kit/clock"
	"kartei/store/db"
	"kartei/test/dbtest"
)

// found inserts the organization and its change clock, which background work needs.
func (w *world) found(t testing.TB) {
	t.Helper()
	w.write(t, func(tx db.Tx) error {
		tx.Queue(`insert into organizations (number, id, name, module_on, secrecy_declared, level, state, created_at)
			values ($1, $2, $2, true, true, 'on', 'open', 1)`, w.organization, fmt.Sprint("org_", w.organization))
		tx.Queue(`insert into clocks (organization, tick) values ($1, 0)`, w.organization)
		return nil
	})
}

func (w *world) moves(t testing.TB) int {
	t.Helper()
	return len(w.rows(t, `select words from search_moves where organization = $1`))
}

func (w *world) mover() *Mover {
	m := NewMover(w.d, hasty{clock.NewFake(time.Date(2026, 11, 1, 9, 0, 0, 0, time.UTC))})
	m.layout = w.layout
	return m
}

// TestMoverCompletesAChange checks a change of visibility of a record with many words. Its
// transaction writes only as many blocks as for a record with few words. A Mover does the rest,
// and another Mover continues after an interruption.
func TestMoverCompletesAChange(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		w := newWorld(d)
		w.layout.atOnce = 50
		w.found(t)
		r := w.put(t, "usr_1", false, text("Anna Berg", "", page(400)))
		w.put(t, "usr_1", false, text("Karl", "", ""))
		w.checkRows(t)
		words := len(r.doc.words)
		finds := func(principal, q string, want bool) {
			t.Helper()
			s := ScopeFor(w.organization, "contact", principal, false)
			if n, _ := w.count(t, defaultBounds, s, Parse(q), 10); n == 1 != want {
				t.Errorf("%s counts %d records with %s", principal, n, q)
			}
			if ids := w.pages(t, defaultBounds, s, Parse(q), 10, func() {}); len(ids) == 1 != want {
				t.Errorf("%s finds %v by %s", principal, ids, q)
			}
		}
		left := func(want int) {
			t.Helper()
			if n := w.moves(t); n != want {
				t.Errorf("%d moves are left, want %d", n, want)
			}
			if n, err := Moving(w.ctx, w.d); err != nil || n != int64(min(want, 1)) {
				t.Errorf("%d records are said to move, %v", n, err)
			}
		}
		rest := (words - 50 + 49) / 50

		w.replace(t, r, "usr_1", true, r.doc)
		left(rest)
		for _, q := range []string{"anna", "wort399"} {
			finds("usr_1", q, true)
			finds("usr_2", q, false)
		}
		w.replace(t, r, "usr_2", true, r.doc)
		left(rest)
		for _, q := range []string{"anna", "wort399"} {
			finds("usr_1", q, false)
		}
		finds("usr_2", "anna", true) // the words of the lowest rank are moved at once

		ctx, stop := context.WithCancel(w.ctx)
		cut := &cutOff{DB: w.d, after: 3, stop: stop}
		m := w.mover()
		m.db = cut
		if err := m.Once(ctx); err == nil {
			t.Error("a round that was cut off has ended well")
		}
		left(rest - 3)
		if err := w.mover().Once(w.ctx); err != nil {
			t.Fatal(err)
		}
		left(0)
		finds("usr_2", "wort399", true)
		w.checkRows(t)

		w.remove(t, r)
		left(rest)
		finds("usr_2", "anna", false)
		finds("usr_2", "wort399", false)
		if err := w.mover().Once(w.ctx); err != nil {
			t.Fatal(err)
		}
		left(0)
		w.checkRows(t)
		if list := w.rows(t, `select postings from search_blocks where organization = $1`); strings.Contains(strings.Join(list, ""), "wort") {
			t.Error("words of the removed record are left")
		}
	})
}

// cutOff is a database that ends the context after a number of writes.
type cutOff struct {
	db.DB
	after int
	stop  func()
}

func (c *cutOff) WriteIn(ctx context.Context, organization int64, f func(db.Tx) error) error {
	err := c.DB.WriteIn(ctx, organization, f)
	if c.after--; c.after == 0 {
		c.stop()
	}
	return err
}

// TestMoverRuns checks that messages wake Run, and that Run also finds earlier moves.
func TestMoverRuns(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		w := newWorld(d)
		w.layout.atOnce = 50
		w.found(t)
		r := w.put(t, "usr_1", false, text("Anna Berg", "", page(400)))
		w.put(t, "usr_1", false, text("Karl", "", ""))
		w.replace(t, r, "usr_1", true, r.doc)
		ctx, stop := context.WithCancel(w.ctx)
		defer stop()
		moved := make(chan struct{}, 1)
		m := NewMover(&watchedDB{w.d, moved}, clock.System)
		m.layout = w.layout
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			m.Run(ctx)
		}()
		for w.moves(t) > 0 {
			<-moved
		}
		w.replace(t, r, "usr_1", false, r.doc)
		for w.moves(t) > 0 {
			<-moved
		}
		stop()
		<-ended
		w.checkRows(t)
	})
}

// watchedDB is a database that sends on wrote after each write.
type watchedDB struct {
	db.DB
	wrote chan struct{}
}

func (o *watchedDB) WriteIn(ctx context.Context, organization int64, f func(db.Tx) error) error {
	err := o.DB.WriteIn(ctx, organization, f)
	select {
	case o.wrote <- struct{}{}:
	default:
	}
	return err
}

// TestWordUnderTwoAudiences checks a word that is added again before its move. It has postings
// under two audiences for some time, and a search finds its record once.
func TestWordUnderTwoAudiences(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		w := newWorld(d)
		w.layout.atOnce = 2
		r := w.put(t, "usr_1", false, text("Anna Berg", "", "Karl Köln"))
		w.put(t, "usr_1", false, text("Heinz", "", ""))
		w.replace(t, r, "usr_1", true, text("Anna Berg", "", "Karl Köln"))
		w.replace(t, r, "usr_1", true, text("Anna Berg", "", "Karl"))
		w.replace(t, r, "usr_1", true, text("Anna Berg", "", "Karl Köln"))
		if w.moves(t) == 0 {
			t.Fatal("nothing is left to move")
		}
		s := ScopeFor(w.organization, "contact", "usr_1", false)
		for _, q := range []string{"köln", "köln karl"} {
			for _, b := range []bounds{defaultBounds, {few: 0, rare: 1, walk: 10, count: 10, step: 1, bytes: 1000}} {
				if ids := w.pages(t, b, s, Parse(q), 10, func() {}); len(ids) != 1 {
					t.Errorf("%s finds %v", q, ids)
				}
				if n, _ := w.count(t, b, s, Parse(q), 10); n != 1 {
					t.Errorf("%s counts %d", q, n)
				}
			}
		}
		w.moveAll(t)
		w.checkRows(t)
	})
}

// TestFoundBehindHiddenPostings checks that a reader finds a visible record after any number of
// postings of an invisible record.
func TestFoundBehindHiddenPostings(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		w := newWorld(d)
		w.layout.atOnce = 20
		long := w.put(t, "usr_1", false, text("Anna", "", page(900)))
		w.put(t, "usr_1", false, text("Karl", "", "wortzuletzt"))
		if w.replace(t, long, "usr_1", true, long.doc); w.moves(t) == 0 {
			t.Fatal("nothing is left to move")
		}
		s := ScopeFor(w.organization, "contact", "usr_2", false)
		for _, b := range []bounds{defaultBounds, {few: 0, rare: 1, walk: 10, count: 10, step: 1, bytes: 1000}} {
			if ids := w.pages(t, b, s, Parse("wort"), 10, func() {}); len(ids) != 1 {
				t.Errorf("found are %v", ids)
			}
			if n, _ := w.count(t, b, s, Parse("wort"), 10); n != 1 {
				t.Errorf("counted are %d", n)
			}
		}
	})
}

// again is a database that adds a move for a record after each write, a number of times.
type again struct {
	db.DB
	times int
	// fails is the number of an organization whose first write returns an error.
	fails int64
	leave func(tx db.Tx) error
	ended func()
}

func (o *again) WriteIn(ctx context.Context, organization int64, f func(db.Tx) error) error {
	if organization == o.fails {
		o.fails = 0
		return db.ErrBusy
	}
	err := o.DB.WriteIn(ctx, organization, f)
	if o.times--; err == nil && o.times > 0 {
		err = o.DB.Write(ctx, o.leave)
	} else if o.times == 0 {
		o.ended()
	}
	return err
}

// TestMoverServesAll checks a record with many repeated moves. It delays neither a newer record
// of its organization nor another organization, even after a failure.
func TestMoverServesAll(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		w, other := newWorld(d), newWorld(d)
		for _, w := range []*world{w, other} {
			w.layout.atOnce = 50
			w.found(t)
		}
		old := w.put(t, "usr_1", false, text("Anna", "", page(400)))
		newer := w.put(t, "usr_1", false, text("Karl", "", page(400)))
		third := other.put(t, "usr_1", false, text("Karl", "", page(400)))
		other.put(t, "usr_1", false, text("Heinz", "", ""))
		for _, r := range []*record{old, newer} {
			w.replace(t, r, "usr_1", true, r.doc)
		}
		other.replace(t, third, "usr_1", true, third.doc)
		m := w.mover()
		m.db = &again{DB: d, times: 250, fails: other.organization, leave: func(tx db.Tx) error {
			tx.Queue(insertMove+` on conflict do nothing`, w.organization, "contact", int64(old.subject.Created), 1000,
				"usr_1", "0anna")
			return nil
		}, ended: func() {
			for r, w := range map[*record]*world{newer: w, third: other} {
				if left := w.rows(t, fmt.Sprintf(`select words from search_moves where organization = $1 and created = %d`,
					r.subject.Created)); len(left) > 0 {
					t.Errorf("%d moves of %s are left", len(left), r.subject.ID)
				}
			}
		}}
		if err := m.Once(w.ctx); err != nil {
			t.Fatal(err)
		}
		w.checkRows(t)
		other.checkRows(t)
	})
}

// TestPagesHideMovingRecords checks a record that has become invisible to a reader. While its
// postings move, no page shows the record or is short because of it.
func TestPagesHideMovingRecords(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		w := newWorld(d)
		w.layout.atOnce = 2
		r := w.put(t, "usr_1", false, text("Anna", "", page(60)))
		gone := w.put(t, "usr_1", false, text("Berta", "", page(60)))
		w.put(t, "usr_2", false, text("Zacharias", "", "wortschatz")) // after the postings of the other two records
		w.put(t, "usr_2", false, text("Heinz", "", ""))
		w.replace(t, r, "usr_1", true, r.doc)
		w.remove(t, gone)
		b := bounds{few: 1, rare: 2, walk: 5, count: 5, step: 2, bytes: 1000}
		for _, who := range []struct {
			principal string
			admin     bool
			want      int
		}{{"usr_2", false, 1}, {"usr_1", false, 2}, {"usr_3", true, 2}} {
			s := ScopeFor(w.organization, "contact", who.principal, who.admin)
			err := d.Read(w.ctx, func(tx db.Tx) error {
				hits, err := b.find(w.ctx, tx, s, Parse("wort"), nil, 10)
				if err == nil && who.want == 1 && (len(hits.IDs) != 1 || hits.More) {
					t.Errorf("%s: %v, more %v", who.principal, hits.IDs, hits.More)
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			if ids := w.pages(t, b, s, Parse("wort"), 10, func() {}); len(ids) != who.want {
				t.Errorf("%s finds %v", who.principal, ids)
			}
		}
	})
}
