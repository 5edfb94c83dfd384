package db_test

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"

	"kartei/store/db"
	"kartei/test/dbtest"
)

// An operation that fails because of another one in its group returns after
// that one is stored. Otherwise a client could learn that a record is deleted
// and then read it.
func TestGroupMembersLearnNothingBeforeTheCommit(t *testing.T) {
	d := dbtest.SQLite(t)
	table(t, d)
	release := occupy(t, d)
	results := make(chan error, 3)
	go func() {
		results <- d.Write(ctx, func(tx db.Tx) error {
			_, err := tx.Exec(ctx, "insert into things (n) values (1)")
			return err
		})
	}()
	waitFor(d, 1)
	there, told := errors.New("it is there"), make(chan struct{})
	go func() {
		err := d.Write(ctx, func(tx db.Tx) error {
			var n int
			if err := tx.QueryRow(ctx, "select n from things").Scan(&n); err != nil {
				return err
			}
			return there
		})
		close(told)
		if !errors.Is(err, there) {
			err = errors.Join(errors.New("the second did not see the first"), err)
		} else {
			err = nil
		}
		results <- err
	}()
	waitFor(d, 2)
	go func() {
		results <- d.Write(ctx, func(db.Tx) error {
			for range 10_000 { // time enough for a caller that got an answer
				runtime.Gosched()
			}
			select {
			case <-told: // correct if the group took too long and was split before this one
				var n int
				if err := d.Read(ctx, func(tx db.Tx) error { return tx.QueryRow(ctx, "select n from things").Scan(&n) }); err != nil {
					return fmt.Errorf("the second was told before the first was stored: %w", err)
				}
			default:
			}
			return nil
		})
	}()
	waitFor(d, 3)
	release()
	for range cap(results) {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
}

// Organizations take turns: many changes of one do not hold up the others, and
// its own run in order.
func TestOrganizationsTakeTurns(t *testing.T) {
	d := dbtest.SQLite(t)
	release := occupy(t, d)
	var order []int64 // only the writer's goroutine appends
	results := make(chan error, 7)
	for i, organization := range []int64{1, 1, 1, 1, 2, 3, 2} {
		go func() {
			results <- d.WriteIn(ctx, organization, func(db.Tx) error {
				order = append(order, organization*10+int64(i))
				return nil
			})
		}()
		waitFor(d, i+1)
	}
	release()
	for range cap(results) {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
	if want := []int64{10, 24, 35, 11, 26, 12, 13}; !slices.Equal(order, want) {
		t.Errorf("they went %v, want %v", order, want)
	}
}
