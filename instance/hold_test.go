package instance

import (
	"context"
	"errors"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"kartei/kit/clock"
	"kartei/store/db"
	"kartei/store/setting"
	"kartei/test/dbtest"
)

// silent is a database whose writes fail with ErrUnavailable while away is set.
type silent struct {
	db.DB
	away atomic.Bool
}

func (s *silent) Write(ctx context.Context, f func(db.Tx) error) error {
	if s.away.Load() {
		return db.ErrUnavailable
	}
	return s.DB.Write(ctx, f)
}

// TestHoldOfABackup checks that the removal of files stays stopped during a backup, even if the
// database fails for some minutes. If the database fails for longer, the backup returns an error.
func TestHoldOfABackup(t *testing.T) {
	for _, test := range []struct {
		name   string
		away   time.Duration
		back   bool
		lapsed bool
	}{
		{"away for minutes", 9 * time.Minute, true, false},
		{"away for longer", 11 * time.Minute, true, true},
		{"away until the end, for minutes", 9 * time.Minute, false, false},
		{"away until the end, for longer", 11 * time.Minute, false, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			d, c := &silent{DB: dbtest.SQLite(t)}, clock.NewFake(time.Unix(1_800_000_000, 0))
			held := func(want time.Time) {
				t.Helper()
				var until string
				err := d.Read(t.Context(), func(tx db.Tx) (err error) {
					until, err = setting.Get(t.Context(), tx, "files-held-until")
					return err
				})
				if err != nil || until != strconv.FormatInt(want.Add(holdTime).UnixMicro(), 10) {
					t.Errorf("held until %s, %v; want %d", until, err, want.Add(holdTime).UnixMicro())
				}
			}
			release, err := holdFiles(t.Context(), d, c)
			if err != nil {
				t.Fatal(err)
			}
			held(c.Now())
			c.Await(1)
			c.Advance(holdTime / 3)
			c.Await(1)
			held(c.Now())

			last := c.Now()
			d.away.Store(true)
			for c.Now().Before(last.Add(test.away)) {
				c.Advance(min(holdTime/3, last.Add(test.away).Sub(c.Now())))
				c.Await(1)
			}
			held(last)
			if test.back {
				d.away.Store(false)
				c.Advance(holdRetry)
				c.Await(1)
				held(c.Now())
			}
			if err := release(); errors.Is(err, errLapsed) != test.lapsed || (err != nil) != test.lapsed {
				t.Errorf("%v", err)
			}
			if again := release(); (again != nil) != test.lapsed {
				t.Errorf("the second time: %v", again)
			}
		})
	}
}
