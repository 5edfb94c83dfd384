package process_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"testing"
	"time"

	"kartei/api/op"
	"kartei/kit/clock"
	"kartei/people/audit"
	"kartei/store/db"
	"kartei/store/job"
	"kartei/test/dbtest"
	"kartei/transfer/process"
)

// counter is an act that counts its changes. Each Store adds a line to the audit log.
type counter struct {
	process.Run
	n int
	// rights is the count at which the person loses their rights. Zero means that they keep them.
	rights int
}

func (*counter) Load(context.Context, db.Tx, int64, string) error { return nil }

func (c *counter) Call(_ context.Context, tx db.Tx) (*op.Call, error) {
	if c.rights > 0 && c.n >= c.rights {
		return nil, process.StopError{Reason: process.NoRight}
	}
	return &op.Call{Tx: tx}, nil
}

func (c *counter) Snapshot() (restore func()) {
	n := c.n
	return func() { c.n = n }
}

func (c *counter) Store(_ context.Context, tx db.Tx) error {
	return audit.Append(tx, new(audit.Act), audit.Line{Word: "test"})
}

// TestLostJob checks a run whose job another process has taken over. It changes neither the
// database nor the row in memory.
func TestLostJob(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		ctx := t.Context()
		now := clock.NewFake(time.Date(2026, 11, 1, 9, 0, 0, 0, time.UTC))
		w := &process.Worker{DB: d, Clock: now}
		c := new(counter)
		one := func(db.Tx) error { c.n++; return nil }
		lost := make(chan [2]error, 1)
		steps := func(ctx context.Context) error {
			if err := c.Update(ctx, one); err != nil || c.n != 1 {
				t.Errorf("before: %d, %v", c.n, err)
			}
			err := d.Write(ctx, func(tx db.Tx) error {
				_, err := tx.Exec(ctx, `update jobs set claim = claim + 1 where organization = 1`)
				return err
			})
			if err != nil {
				t.Error(err)
			}
			err = c.Update(ctx, one)
			end := c.End(ctx, one)
			lost <- [2]error{err, end}
			return end
		}
		stop := begin(t, d, now, func(ctx context.Context, j *job.Job) error { return c.Do(ctx, w, j, 1, c, steps) })
		got := <-lost
		stop()
		var lines int
		err := d.Read(ctx, func(tx db.Tx) error {
			return tx.QueryRow(ctx, `select count(*) from audit_lines where word = 'test'`).Scan(&lines)
		})
		if !errors.Is(got[0], job.ErrLost) || !errors.Is(got[1], job.ErrLost) || lines != 1 || c.n != 1 || err != nil {
			t.Errorf("%v: %d lines, counted to %d, %v", got, lines, c.n, err)
		}
	})
}

// begin runs a job until the caller calls stop.
func begin(t *testing.T, d db.DB, c clock.Clock, run func(ctx context.Context, j *job.Job) error) (stop func()) {
	t.Helper()
	runner := job.NewRunner(d, c, []job.Handler{{Kind: "test", Run: run}}, job.Options{Logger: slog.New(slog.DiscardHandler)})
	err := d.Write(t.Context(), func(tx db.Tx) error {
		return process.Enqueue(t.Context(), &op.Call{Tx: tx, Now: clock.Now(c)}, 1, "act", job.Spec{Kind: "test"})
	})
	if err != nil {
		t.Fatal(err)
	}
	running, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); runner.Run(running) }()
	return func() { cancel(); <-ended }
}

// TestRightsAtTheEnd checks that an act stops if its person loses a right. An act that has
// already done all of its work ends normally.
func TestRightsAtTheEnd(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		for rights, want := range map[int]error{2: process.StopError{Reason: process.NoRight}, 3: nil} {
			now := clock.NewFake(time.Date(2026, 11, 1, 9, 0, 0, 0, time.UTC))
			w, c := &process.Worker{DB: d, Clock: now}, &counter{rights: rights}
			got := make(chan error, 1)
			stop := begin(t, d, now, func(ctx context.Context, j *job.Job) error {
				return c.Do(ctx, w, j, 1, c, func(ctx context.Context) error {
					got <- process.Each(ctx, &c.Run, job.Portion{Most: 1}, func(db.Tx, int) ([]int, error) {
						return []int{0, 1, 2}[c.n:min(c.n+1, 3)], nil
					}, func(*op.Call, []int) error { c.n++; return nil })
					return c.End(ctx, nil)
				})
			})
			err := <-got
			stop()
			if !errors.Is(err, want) || c.n != rights {
				t.Errorf("with rights for %d of 3 steps: %d steps and %v, want %v", rights, c.n, err, want)
			}
		}
	})
}

// windows is a family with this number of windows of records.
type windows int

func (w windows) Window(_ context.Context, _ db.Tx, _ int64, after string, _ int) (end string, err error) {
	n, _ := strconv.Atoi(after)
	if n++; n > int(w) {
		return "", nil
	}
	return strconv.Itoa(n), nil
}

// TestWalkStoresSeldom checks that a walk visits each record once. It stores its position at each
// hit, and after twenty windows without a hit.
func TestWalkStoresSeldom(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		now := clock.NewFake(time.Date(2026, 11, 1, 9, 0, 0, 0, time.UTC))
		w, c := &process.Worker{DB: d, Clock: now}, new(counter)
		var found, passed []string
		got := make(chan error, 1)
		stop := begin(t, d, now, func(ctx context.Context, j *job.Job) error {
			return c.Do(ctx, w, j, 1, c, func(ctx context.Context) error {
				walk := process.Walk[string]{
					Family: windows(50), Portion: job.Portion{Most: 1}, ID: func(id string) string { return id },
					Find: func(_ *op.Call, _, end string) ([]string, error) {
						if end == "5" || end == "30" {
							return []string{end}, nil
						}
						return nil, nil
					},
					Change: func(_ *op.Call, list []string, after string) error {
						found, passed = append(found, list...), append(passed, after)
						return nil
					},
				}
				got <- walk.Do(ctx, &c.Run, "")
				return c.End(ctx, nil)
			})
		})
		err := <-got
		stop()
		if want := []string{"5", "25", "30", "50"}; err != nil || !slices.Equal(found, []string{"5", "30"}) || !slices.Equal(passed, want) {
			t.Errorf("found %v, stored at %v, want %v: %v", found, passed, want, err)
		}
	})
}
