package db_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"kartei/kit/clock"
	"kartei/store/db"
	"kartei/test/dbtest"
)

func TestTickIsNowOrOneMore(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		dbtest.Run(t, d, "insert into clocks (organization, tick) values (1, 1000), (2, 5000)")
		for _, c := range []struct{ now, want clock.Micros }{
			{2000, 2000}, {2000, 2001}, {1500, 2002}, {2003, 2003}, {9000, 9000},
		} {
			var got clock.Micros
			err := d.Write(ctx, func(tx db.Tx) (err error) {
				got, err = tx.Tick(ctx, 1, c.now)
				return err
			})
			if err != nil || got != c.want {
				t.Errorf("at %d: tick %d, want %d (%v)", c.now, got, c.want, err)
			}
		}
		var other clock.Micros
		dbtest.Get(t, d, []any{&other}, "select tick from clocks where organization = 2")
		if other != 5000 {
			t.Errorf("another organization's clock went to %d", other)
		}
		err := d.Write(ctx, func(tx db.Tx) error {
			_, err := tx.Tick(ctx, 3, 1)
			return err
		})
		if err == nil {
			t.Error("an organization without a clock got a tick")
		}
	})
}

// TestTicksBecomeVisibleInOrder checks that ticks are unique, and that a reader that has seen a
// tick can read all changes up to it. Sync and the event feed depend on this.
func TestTicksBecomeVisibleInOrder(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		dbtest.Run(t, d, "insert into clocks (organization, tick) values (1, 0)")
		const writers, each = 8, 60
		var wait sync.WaitGroup
		for w := range writers {
			wait.Add(1)
			go func() {
				defer wait.Done()
				writer := fmt.Sprint(w)
				for range each {
					err := d.Write(ctx, func(tx db.Tx) error {
						// The query before Tick lets writers overtake each other.
						if err := tx.QueryRow(ctx, "select count(*) from events where organization = 1 and record_id = $1",
							writer).Scan(new(int)); err != nil {
							return err
						}
						tick, err := tx.Tick(ctx, 1, clock.Micros(time.Now().UnixMicro()))
						if err != nil {
							return err
						}
						tx.Queue("insert into events (organization, tick, id, type, object, record_id) values (1, $1, $2, '', '', $3)", tick, fmt.Sprint(tick), writer)
						return nil
					})
					if err != nil {
						t.Error(err)
						return
					}
				}
			}()
		}
		written := make(chan struct{})
		go func() {
			wait.Wait()
			close(written)
		}()
		var last clock.Micros
		seen := 0
		follow := func() {
			err := d.Read(ctx, func(tx db.Tx) error {
				ticks, err := db.Values[clock.Micros](ctx, tx,
					"select tick from events where organization = 1 and tick > $1 order by tick limit 7", last)
				if len(ticks) > 0 {
					last = ticks[len(ticks)-1]
					seen += len(ticks)
				}
				return err
			})
			if err != nil {
				t.Error(err)
			}
		}
		for running := true; running; {
			select {
			case <-written:
				running = false
			default:
				follow()
			}
		}
		for before := -1; before != seen; {
			before = seen
			follow()
		}
		var stored int
		dbtest.Get(t, d, []any{&stored}, "select count(*) from events where organization = 1")
		if stored != writers*each || seen != stored {
			t.Errorf("%d written, %d stored, %d followed", writers*each, stored, seen)
		}
	})
}

// TestTickRollsBack checks that a rollback also undoes the tick.
func TestTickRollsBack(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		dbtest.Run(t, d, "insert into clocks (organization, tick) values (1, 10)")
		d.Write(ctx, func(tx db.Tx) error {
			if _, err := tx.Tick(ctx, 1, 500); err != nil {
				return err
			}
			return fmt.Errorf("refused")
		})
		var tick clock.Micros
		dbtest.Get(t, d, []any{&tick}, "select tick from clocks where organization = 1")
		if tick != 10 {
			t.Errorf("clock at %d, want 10", tick)
		}
	})
}

// TestNoChangeWithoutAClock checks that Tick fails for an organization without a clock, because it
// is being erased. It also fails if the clock is deleted while the change waits.
func TestNoChangeWithoutAClock(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		dbtest.Run(t, d, "create table changes (n bigint not null primary key)")
		dbtest.Run(t, d, "insert into clocks (organization, tick) values (1, 10)")
		write := func() {
			t.Helper()
			err := d.WriteIn(ctx, 1, func(tx db.Tx) error {
				_, err := tx.Tick(ctx, 1, 20)
				tx.Queue("insert into changes (n) values (1)")
				return err
			})
			if !errors.Is(err, db.ErrNoRows) {
				t.Errorf("a change without a clock: %v", err)
			}
		}
		deleted, ended := make(chan struct{}), make(chan error, 1)
		tell := sync.OnceFunc(func() { close(deleted) })
		go func() {
			ended <- d.Write(ctx, func(tx db.Tx) error {
				_, err := tx.Exec(ctx, "delete from clocks where organization = 1")
				tell()
				for waits := 0; err == nil && waits == 0 && d.Dialect().Name != "sqlite"; {
					err = tx.QueryRow(ctx, "select count(*) from pg_locks where not granted and transactionid = cast(pg_current_xact_id() as xid)").Scan(&waits)
				}
				return err
			})
		}()
		<-deleted
		write()
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		write()
		if n := dbtest.Count(t, d, "changes"); n != 0 {
			t.Errorf("%d changes were taken", n)
		}
	})
}
