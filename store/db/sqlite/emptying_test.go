package sqlite

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"kartei/kit/clock"
	"kartei/store/db"
)

// TestEmptyingTellsItsCause checks that the server logs the cause once if the write-ahead log
// cannot be truncated for over a minute.
func TestEmptyingTellsItsCause(t *testing.T) {
	for _, c := range []struct {
		err    error
		full   bool // whether a write failed because the disk is full
		reader bool
	}{
		{errLogInUse, false, true},
		{errLogInUse, true, false},
		{errors.New("the disk is broken"), false, false},
		{db.ErrClosed, false, false},
	} {
		var log bytes.Buffer
		now := clock.NewFake(time.Unix(1_800_000_000, 0))
		w := &writer{clock: now, log: slog.New(slog.NewTextHandler(&log, nil))}
		w.reclaim.Store(c.full)
		cause := c.err.Error()
		if c.full {
			cause = "the disk is full"
		}
		e := truncation{since: now.Now()}
		if wait := e.again(w, c.err); wait != time.Second || log.Len() > 0 {
			t.Errorf("%v: the first attempt comes again after %s and says %q", c.err, wait, &log)
		}
		now.Advance(emptyLate)
		for range 5 {
			e.again(w, c.err)
		}
		if e.wait != emptyRetry {
			t.Errorf("%v: the wait is %s, want %s", c.err, e.wait, emptyRetry)
		}
		want := 1
		if errors.Is(c.err, db.ErrClosed) {
			want = 0
		}
		said := log.String()
		if strings.Count(said, "cannot be emptied") != want || strings.Contains(said, "a backup") != c.reader ||
			want == 1 && !c.reader && !strings.Contains(said, cause) {
			t.Errorf("%v: the log says %q", c.err, said)
		}
	}
}
