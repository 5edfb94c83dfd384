package search

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"kartei/kit/clock"
	"kartei/store/db"
	"kartei/test/dbtest"
)

// hasty is a clock whose waits all end at once.
type hasty struct{ *clock.Fake }

func (h hasty) After(d time.Duration) <-chan time.Time {
	c := h.Fake.After(d)
	h.Advance(d)
	return c
}

// full is a database whose queue of writers is full at the first attempt.
type full struct {
	watchedDB
	tried atomic.Bool
	hears chan struct{}
}

func (o *full) SubscribeLocal(topic string, f func(string)) func() {
	defer close(o.hears)
	return o.DB.SubscribeLocal(topic, f)
}

func (o *full) WriteIn(ctx context.Context, organization int64, f func(db.Tx) error) error {
	if !o.tried.Swap(true) {
		return db.ErrBusy
	}
	return o.watchedDB.WriteIn(ctx, organization, f)
}

// impatient is a clock whose pauses end at once and whose other waits do not end.
type impatient struct{ clock.Clock }

func (impatient) After(d time.Duration) <-chan time.Time {
	if d != pause {
		return nil
	}
	return clock.System.After(0)
}

// TestMergerPacksAfterAPut checks that the Merger packs after the commit of a Put, even if the
// queue of writers is full at first. Without a Merger, the Put packs.
func TestMergerPacksAfterAPut(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		w := newWorld(d)
		w.found(t)
		unpacked := func(want int) {
			t.Helper()
			list := w.rows(t, `select id from search_documents where organization = $1
				and created > (select coalesce(max(until), 0) from search_segments where organization = $1)`)
			if len(list) != want {
				t.Errorf("%v are in no segment, want %d", list, want)
			}
		}
		ctx, stop := context.WithCancel(w.ctx)
		defer stop()
		o := &full{watchedDB: watchedDB{d, make(chan struct{}, 100)}, hears: make(chan struct{})}
		m := &Merger{o, impatient{clock.System}, w.layout}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			m.Run(ctx)
		}()
		<-o.hears
		w.put(t, "usr_1", false, text("Anna Berg", "", ""))
		<-o.wrote
		unpacked(1)
		w.write(t, func(tx db.Tx) error { // two records are enough for a segment, but their own transaction does not write it
			for i := range 2 {
				s := Subject{
					Organization: w.organization, Family: "contact", ID: fmt.Sprint("con_", i),
					Created: w.created + 1 + clock.Micros(i),
				}
				r := &record{subject: s, doc: text("Karl Tal", "", "")}
				if err := w.layout.put(w.ctx, tx, s, r.doc); err != nil {
					return err
				}
				w.records = append(w.records, r)
			}
			var n int
			err := tx.QueryRow(w.ctx, `select count(*) from search_segments where organization = $1`, w.organization).Scan(&n)
			if n != 0 {
				t.Errorf("the Puts have packed %d segments", n)
			}
			return err
		})
		<-o.wrote
		<-o.wrote
		unpacked(0)
		w.checkRows(t)
		stop()
		<-ended
		w.created += 10
		w.put(t, "usr_1", false, text("Heinz", "", ""))
		w.put(t, "usr_1", false, text("Heinz", "", ""))
		unpacked(0)
		w.checkRows(t)
	})
}

// TestMergerCompletesMergesOfWriters checks that the Merger finishes the merges of writers after
// a time without writes. No posting is lost or doubled.
func TestMergerCompletesMergesOfWriters(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		w := newWorld(d)
		w.layout.haste = 1
		w.found(t)
		for i := range 70 {
			w.put(t, "usr_1", i%5 == 0, text("Anna Berg", "Köln", "Müller kanzlei"))
		}
		building := func() string {
			return w.rows(t, `select cast(count(*) as text) from search_segments where organization = $1 and building = true`)[0]
		}
		if building() == "0" {
			t.Fatal("no merge is under way")
		}
		m := NewMerger(d, hasty{clock.NewFake(time.Date(2026, 11, 1, 9, 0, 0, 0, time.UTC))})
		m.layout = w.layout
		before := w.rows(t, `select cast(segment as text) from search_segments where organization = $1`)
		once := func(at clock.Micros) {
			t.Helper()
			if err := m.Once(w.ctx, at); err != nil {
				t.Fatal(err)
			}
		}
		once(w.created)
		same(t, "segments", before, w.rows(t, `select cast(segment as text) from search_segments where organization = $1`))
		once(w.created + 1)
		if n := building(); n != "0" {
			t.Errorf("%s merges are under way", n)
		}
		for _, level := range w.rows(t, `select cast(level as text) || ': ' || cast(count(*) as text) from search_segments
			where organization = $1 group by level having count(*) >= 2`) {
			t.Errorf("segments of level %s", level)
		}
		w.checkRows(t)
		for range 10 {
			w.put(t, "usr_1", false, text("Anna Berg", "Köln", ""))
		}
		w.checkRows(t)
	})
}
