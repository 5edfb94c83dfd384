package search

import (
	"testing"
	"time"

	"kartei/clock"
	"kartei/db"
	"kartei/dbtest"
)

// hasty is a clock on which every wait is over at once.
type hasty struct{ *clock.Fake }

func (h hasty) After(d time.Duration) <-chan time.Time {
	c := h.Fake.After(d)
	h.Advance(d)
	return c
}

// What writers left half merged is merged once they have rested, and every
// posting is still where it belongs.
func TestMergerEndsWhatWritersBegan(t *testing.T) {
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
