package sqlite_test

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"

	"kartei/store/db"
	"kartei/test/dbtest"
)

// TestGroupMembersLearnNothingBeforeTheCommit checks that a failed operation of a group returns
// only after the commit of the others. It may fail because of them. Otherwise a client could learn
// that a record is deleted, and then read it.
func TestGroupMembersLearnNothingBeforeTheCommit(t *testing.T) {
	d := dbtest.SQLite(t)
	dbtest.Things(t, d)
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
			for range 10_000 { // enough time for a caller that has its result
				runtime.Gosched()
			}
			select {
			case <-told: // correct if the group was split before this operation
				var n int
				if err := d.Read(ctx, func(tx db.Tx) error {
					return tx.QueryRow(ctx, "select n from things").Scan(&n)
				}); err != nil {
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

// TestOrganizationsTakeTurns checks that many changes of one organization do not delay the others.
// The changes of one organization run in order.
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

// TestFailureInGroupUndoesItselfAlone checks that a failed operation has no effect, whether it
// failed after a change or before. The other operations of its group are stored once.
func TestFailureInGroupUndoesItselfAlone(t *testing.T) {
	failed := errors.New("it fails")
	insert := func(n int, then error) func(db.Tx) error {
		return func(tx db.Tx) error {
			_, err := tx.Exec(ctx, "insert into things (n) values ($1)", n)
			return errors.Join(err, then)
		}
	}
	read := func(then error) func(db.Tx) error {
		return func(tx db.Tx) error {
			var n int
			return errors.Join(tx.QueryRow(ctx, "select count(*) from things").Scan(&n), then)
		}
	}
	for name, group := range map[string]struct {
		operations []func(db.Tx) error
		want       []int
	}{
		"a read fails":    {[]func(db.Tx) error{insert(1, nil), read(failed), insert(2, nil)}, []int{1, 2}},
		"a write fails":   {[]func(db.Tx) error{insert(1, nil), insert(2, failed), insert(3, nil)}, []int{1, 3}},
		"the first fails": {[]func(db.Tx) error{insert(1, failed), insert(2, nil), insert(3, nil)}, []int{2, 3}},
		"the last fails":  {[]func(db.Tx) error{insert(1, nil), insert(2, nil), insert(3, failed)}, []int{1, 2}},
		"several fail": {
			[]func(db.Tx) error{insert(1, nil), insert(2, failed), read(failed), insert(3, failed), read(nil), insert(4, nil)},
			[]int{1, 4},
		},
		"all fail": {[]func(db.Tx) error{insert(1, failed), insert(2, failed), read(failed)}, nil},
		"a table is made before it fails": {[]func(db.Tx) error{insert(1, nil), func(tx db.Tx) error {
			_, err := tx.Exec(ctx, "create table others (n bigint)")
			return errors.Join(err, failed)
		}, insert(2, nil), func(tx db.Tx) error {
			var n int
			if err := tx.QueryRow(ctx, "select count(*) from sqlite_schema where name = 'others'").Scan(&n); err != nil ||
				n != 0 {
				return fmt.Errorf("the table is there: %d, %w", n, err)
			}
			return nil
		}}, []int{1, 2}},
		"it fails the second time only": {
			[]func(db.Tx) error{insert(1, nil), second(insert(2, nil), insert(2, failed)), insert(3, failed), insert(4, nil)},
			[]int{1, 4},
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := dbtest.SQLite(t)
			dbtest.Things(t, d)
			release := occupy(t, d)
			results := make([]chan error, len(group.operations))
			for i, operation := range group.operations {
				results[i] = make(chan error, 1)
				go func() { results[i] <- d.Write(ctx, operation) }()
				waitFor(d, i+1)
			}
			release()
			for i := range results {
				if err := <-results[i]; err != nil && !errors.Is(err, failed) {
					t.Errorf("operation %d: %v", i+1, err)
				}
			}
			var got []int
			err := d.Read(ctx, func(tx db.Tx) (err error) {
				got, err = db.Values[int](ctx, tx, "select n from things order by n")
				return err
			})
			if err != nil || !slices.Equal(got, group.want) {
				t.Errorf("stored are %v (%v), want %v", got, err, group.want)
			}
		})
	}
}

// second returns an operation that calls first, and in further runs afterwards.
func second(first, afterwards func(db.Tx) error) func(db.Tx) error {
	ran := false // only the writer's goroutine uses it
	return func(tx db.Tx) error {
		if ran {
			return afterwards(tx)
		}
		ran = true
		return first(tx)
	}
}
