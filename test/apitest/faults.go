package apitest

import (
	"context"
	"errors"
	"strings"
	"sync"

	"kartei/kit/clock"
	"kartei/store/db"
	"kartei/test/waittest"
)

// Faults do something at one of the transactions of the jobs of an office.
type Faults struct {
	mu   sync.Mutex
	step int
	do   func(commit func() error) error
	hit  bool
}

// Arm makes do have the transaction of a step, counted from now.
func (f *Faults) Arm(step int, do func(commit func() error) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.step, f.do, f.hit = step, do, false
}

// Before does something before a transaction.
func (f *Faults) Before(step int, do func()) {
	f.Arm(step, func(commit func() error) error {
		do()
		return commit()
	})
}

// Reached reports whether the step was reached.
func (f *Faults) Reached() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.hit
}

func (f *Faults) through(commit func() error) error {
	f.mu.Lock()
	do := f.do
	if f.step > 0 {
		f.step--
	}
	if f.step > 0 || do == nil {
		f.mu.Unlock()
		return commit()
	}
	f.do, f.hit = nil, true
	f.mu.Unlock()
	return do(commit)
}

type faultyDB struct {
	db.DB
	*Faults
}

// WriteIn implements db.DB.
func (d faultyDB) WriteIn(ctx context.Context, organization int64, f func(db.Tx) error) error {
	if organization == 0 {
		return d.DB.WriteIn(ctx, organization, f)
	}
	return d.through(func() error { return d.DB.WriteIn(ctx, organization, f) })
}

// Faulty gives the jobs of an office faults. A job that fails is tried again at once.
func Faulty(f *Faults) Option {
	return Working(func(w *Workshop) {
		w.DB = faultyDB{w.DB, f}
		w.Options.Rand = func(int64) int64 { return 0 }
	})
}

// ErrStep is for Faults that end a process.
var ErrStep = errors.New("test: the process ends here")

// Recover waits until all jobs are done that are due. If the end of one could not be
// stored, the clock moves to the end of its lease.
func (o *Office) Recover() {
	o.Helper()
	dead := 0
	for watch, ends := waittest.New(), 0; ; ends++ {
		ended := o.Ended()
		died := strings.Count(o.Logged.String(), "the end of a job could not be stored")
		var open int64
		var lease clock.Micros
		err := o.DB.Read(o.Context(), func(tx db.Tx) error {
			return tx.QueryRow(o.Context(), `select count(*), coalesce(max(case when state = 'running' then due_at end), 0) from jobs where state = 'running' or due_at <= $1`,
				clock.Now(o.Clock)).Scan(&open, &lease)
		})
		if err != nil {
			o.Fatal(err)
		}
		if open == 0 {
			return
		}
		if died > dead {
			dead = died
			o.Clock.Advance(max(0, lease.Sub(clock.Now(o.Clock))))
		}
		select {
		case <-ended:
		case <-watch.Stuck(ends):
			o.Fatalf("%d jobs do not end\n%s", open, o.Logged)
		}
	}
}

// repeatedDB runs each transaction of the jobs twice, as after a conflict.
type repeatedDB struct{ db.DB }

// WriteIn implements db.DB.
func (d repeatedDB) WriteIn(ctx context.Context, organization int64, f func(db.Tx) error) error {
	again := organization == 0
	return d.DB.WriteIn(ctx, organization, func(tx db.Tx) error {
		if err := f(tx); err != nil || again {
			return err
		}
		again = true
		return db.ErrConflict
	})
}

// Repeated makes each transaction of the jobs of an office run twice. Only the second run
// counts.
func Repeated() Option {
	return Working(func(w *Workshop) { w.DB = repeatedDB{w.DB} })
}
