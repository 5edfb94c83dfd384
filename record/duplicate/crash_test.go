package duplicate_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"kartei/access"
	"kartei/kit/clock"
	"kartei/record/contact"
	"kartei/record/duplicate"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/test/seed"
)

var errKilled = errors.New("killed")

// deadly is a database whose transactions of the finder fail at random, before or after the commit, as
// if the process had died.
type deadly struct {
	db.DB
	r *rand.Rand
}

func (d *deadly) WriteIn(ctx context.Context, organization int64, f func(db.Tx) error) error {
	switch d.r.IntN(3) {
	case 0:
		return d.DB.WriteIn(ctx, organization, func(tx db.Tx) error {
			if err := f(tx); err != nil {
				return err
			}
			return errKilled
		})
	case 1:
		if err := d.DB.WriteIn(ctx, organization, f); err != nil {
			return err
		}
		return errKilled
	}
	return d.DB.WriteIn(ctx, organization, f)
}

// TestFinderSurvivesKills checks that a finder that dies within or after its transactions loses nothing:
// the next one finds all pairs.
func TestFinderSurvivesKills(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		w, r := newWorld(t, d), seed.Rand(t)
		killed := 0
		for range 12 {
			for range 6 {
				w.create(drawn(r))
			}
			dying := newFinder(&deadly{w.DB, r}, w.Clock)
			for {
				err := dying.Once(w.ctx)
				if err == nil {
					break
				}
				if !errors.Is(err, errKilled) {
					t.Fatal(err)
				}
				killed++
			}
			w.check()
		}
		if killed == 0 {
			t.Error("no finder was killed")
		}
	})
}

// busyDB is a database whose queue of writers is full at the first attempts.
type busyDB struct {
	db.DB
	full int
}

func (b *busyDB) WriteIn(ctx context.Context, organization int64, f func(db.Tx) error) error {
	if b.full--; b.full >= 0 {
		return db.ErrBusy
	}
	return b.DB.WriteIn(ctx, organization, f)
}

// TestFinderWaitsForWriters checks that the finder tries again if the queue of writers is full.
func TestFinderWaitsForWriters(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		w := newWorld(t, d)
		f := contact.Fields{FirstName: new("Anna"), LastName: new("Berg"), Email: new("anna@mail.example")}
		w.create(f)
		w.create(f)
		if err := newFinder(&busyDB{w.DB, 3}, w.Clock).Once(w.ctx); err != nil {
			t.Fatal(err)
		}
		w.check()
	})
}

// TestFindersOfReplicas checks that several finders at once find what one finds.
func TestFindersOfReplicas(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		w, r := newWorld(t, d), seed.Rand(t)
		for range 60 {
			w.create(drawn(r))
		}
		var wait sync.WaitGroup
		for range 4 {
			wait.Go(func() {
				if err := newFinder(w.DB, w.Clock).Once(w.ctx); err != nil {
					t.Error(err)
				}
			})
		}
		wait.Wait()
		w.check()
	})
}

// TestFinderBeginsAnew checks that a new version of the rules compares all records again, and replaces
// keys and pairs of the old one.
func TestFinderBeginsAnew(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		w, r := newWorld(t, d), seed.Rand(t)
		for range 30 {
			w.create(drawn(r))
		}
		w.once()
		dbtest.Run(t, w.DB, `update duplicate_progress set version = -1`)
		dbtest.Run(t, w.DB, `delete from duplicate_pairs where rank = 2`)
		dbtest.Run(t, w.DB, `update duplicate_pairs set rank = 2, reasons = 'city'`)
		dbtest.Run(t, w.DB, `update duplicate_keys set key = key + 281474976710656`)
		dbtest.Run(t, w.DB, `update duplicate_records set keys = '[]'`)
		dbtest.Run(t, w.DB, `delete from duplicate_keys`)
		w.once()
		w.check()
	})
}

// TestCommonKeysMakeNoPairs checks that a key of more than 50 records makes no pairs. A pair that was
// found before stays, also if one of its records changes.
func TestCommonKeysMakeNoPairs(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		w := newWorld(t, d)
		w.finder.Bound(50, 12)
		anna := contact.Fields{FirstName: new("Anna"), LastName: new("Berg")}
		first := w.create(anna)
		w.create(anna)
		w.once()
		for range 60 {
			w.create(anna)
		}
		w.once()
		if got := w.stored(); len(got) != 1 {
			t.Errorf("%d pairs, want the pair of the first two records", len(got))
		}
		anna.Note = new("ruft zurück")
		w.change(first, anna)
		w.once()
		if got := w.stored(); len(got) != 1 {
			t.Errorf("%d pairs after a change, want the pair of the first two records", len(got))
		}
		anna.LastName = new("Tal")
		w.change(first, anna)
		w.once()
		if got := w.stored(); len(got) != 0 {
			t.Errorf("%d pairs after another name", len(got))
		}
	})
}

// TestUnchangedKeysCostNothing checks that a change of other members writes only the progress.
func TestUnchangedKeysCostNothing(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		w := newWorld(t, d)
		f := contact.Fields{FirstName: new("Anna"), LastName: new("Berg"), Email: new("anna@mail.example")}
		a := w.create(f)
		w.create(f)
		w.once()
		watched := &watchedDB{DB: w.DB}
		finder := newFinder(watched, w.Clock)
		f.Note = new("ruft zurück")
		w.change(a, f)
		if err := finder.Once(w.ctx); err != nil {
			t.Fatal(err)
		}
		if len(watched.queued) != 0 {
			t.Errorf("a change of a note writes %q", watched.queued)
		}
		f.Email = new("anna@post.example")
		w.change(a, f)
		if err := finder.Once(w.ctx); err != nil {
			t.Fatal(err)
		}
		if len(watched.queued) == 0 {
			t.Error("a change of an email writes nothing")
		}
		w.check()
	})
}

// watchedDB notes the statements that a finder queues, and tells of each of its transactions.
type watchedDB struct {
	db.DB
	queued []string
	wrote  chan struct{}
	hears  chan struct{}
}

func (w *watchedDB) SubscribeLocal(topic string, f func(string)) func() {
	defer close(w.hears)
	return w.DB.SubscribeLocal(topic, f)
}

func (w *watchedDB) WriteIn(ctx context.Context, organization int64, f func(db.Tx) error) error {
	err := w.DB.WriteIn(ctx, organization, func(tx db.Tx) error {
		t := &watchedTx{Tx: tx}
		err := f(t)
		w.queued = append(w.queued, t.queued...)
		return err
	})
	if w.wrote != nil {
		w.wrote <- struct{}{}
	}
	return err
}

type watchedTx struct {
	db.Tx
	queued []string
}

func (t *watchedTx) Queue(query string, args ...any) {
	t.queued = append(t.queued, query)
	t.Tx.Queue(query, args...)
}

// impatient is a clock whose short waits end at once, and whose polls do not end.
type impatient struct{ clock.Clock }

func (impatient) After(d time.Duration) <-chan time.Time {
	if d >= duplicate.Poll {
		return nil
	}
	return clock.System.After(0)
}

// TestRunFollowsMessages checks that Run begins with what waits, and then compares each changed record
// after the message of its change.
func TestRunFollowsMessages(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		w := newWorld(t, d)
		f := contact.Fields{FirstName: new("Anna"), LastName: new("Berg"), Email: new("anna@mail.example")}
		w.create(f)
		watched := &watchedDB{DB: w.DB, wrote: make(chan struct{}), hears: make(chan struct{})}
		ctx, stop := context.WithCancel(w.ctx)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			duplicate.NewFinder(watched, impatient{w.Clock}).Run(ctx)
		}()
		<-watched.hears
		<-watched.wrote
		w.create(f)
		<-watched.wrote
		w.check()
		if len(w.stored()) != 1 {
			t.Error("the second contact is in no pair")
		}
		stop()
		<-ended
	})
}

// TestFinderLeavesErasedOrganizations checks that the finder writes nothing for an organization whose
// erasure has begun. Its erasure begins with the row of the clock.
func TestFinderLeavesErasedOrganizations(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		w := newWorld(t, d)
		w.create(contact.Fields{LastName: new("Berg")})
		dbtest.Run(t, w.DB, `delete from clocks`)
		w.once()
		if n := dbtest.Count(t, w.DB, "duplicate_keys") + dbtest.Count(t, w.DB, "duplicate_progress"); n != 0 {
			t.Errorf("%d rows", n)
		}
	})
}

// TestFinderKeepsOrganizationsApart checks that the same person in two organizations is no pair.
func TestFinderKeepsOrganizationsApart(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		w := newWorld(t, d)
		f := contact.Fields{FirstName: new("Anna"), LastName: new("Berg"), Email: new("anna@mail.example")}
		w.create(f)
		live, _ := w.Organization("Kanzlei Tal")
		stranger := *w
		stranger.Client = &apitest.Client{Office: w.Office, Principal: w.User(access.Member, live)}
		stranger.Key = w.Office.Key(stranger.Principal)
		stranger.create(f)
		w.once()
		if n := dbtest.Count(t, w.DB, "duplicate_pairs"); n != 0 {
			t.Errorf("%d pairs", n)
		}
		if n := dbtest.Count(t, w.DB, "duplicate_records"); n != 2 {
			t.Errorf("%d records have keys, want 2", n)
		}
	})
}

// TestStatementsUseIndexes checks that the statements of the finder and of the list read no whole table
// and no whole index on SQLite, and sort nothing.
func TestStatementsUseIndexes(t *testing.T) {
	d := dbtest.SQLite(t)
	w, r := newWorld(t, d), seed.Rand(t)
	for range 20 {
		w.create(drawn(r))
	}
	spy := &planDB{DB: w.DB, plans: map[string]string{}}
	if err := newFinder(spy, w.Clock).Once(w.ctx); err != nil {
		t.Fatal(err)
	}
	err := spy.Read(w.ctx, func(tx db.Tx) error {
		_, err := duplicate.List(w.ctx, tx, w.organization, "contacts", false, nil, 20)
		if err != nil {
			return err
		}
		_, err = duplicate.Of(w.ctx, tx, w.organization, "con_1", true, nil)
		return err
	})
	if err != nil || len(spy.plans) < 8 {
		t.Fatalf("%d statements: %v", len(spy.plans), err)
	}
	for statement, plan := range spy.plans {
		if strings.Contains(plan, "TEMP B-TREE") {
			t.Errorf("%s\n%s", statement, plan)
		}
		for line := range strings.Lines(plan) {
			if strings.Contains(line, "SCAN") && !strings.Contains(line, "VIRTUAL TABLE") && !strings.Contains(line,
				"SCAN r") &&
				!strings.Contains(line, "SCAN held") && !strings.Contains(statement, "from organizations") {
				t.Errorf("%s\n%s", statement, plan)
			}
		}
	}
}

// planDB notes the plans of the statements that a finder reads with.
type planDB struct {
	db.DB
	plans map[string]string
}

func (p *planDB) Read(ctx context.Context, f func(db.Tx) error) error {
	return p.DB.Read(ctx, func(tx db.Tx) error { return f(&planTx{tx, p}) })
}

type planTx struct {
	db.Tx
	p *planDB
}

func (t *planTx) Query(ctx context.Context, query string, args ...any) (db.Rows, error) {
	plan, err := dbtest.SQLitePlan(ctx, t.Tx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", query, err)
	}
	t.p.plans[query] = plan
	return t.Tx.Query(ctx, query, args...)
}
