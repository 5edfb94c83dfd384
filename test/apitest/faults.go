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

// Faults runs a function in place of one of the transactions of an office's jobs.
type Faults struct {
	mu   sync.Mutex
	step int
	do   func(commit func() error) error
	hit  bool
}

// Arm makes do run in place of the transaction with this number, counted from now. do can call
// commit to run the transaction.
func (f *Faults) Arm(step int, do func(commit func() error) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.step, f.do, f.hit = step, do, false
}

// Before runs do before the transaction with this number.
func (f *Faults) Before(step int, do func()) {
	f.Arm(step, func(commit func() error) error {
		do()
		return commit()
	})
}

// Reached reports whether the jobs have come to the transaction of the last Arm or Before.
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

// Faulty gives the jobs of an office faults. A failed job is retried without delay.
func Faulty(f *Faults) Option {
	return Working(func(w *Workshop) {
		w.DB = faultyDB{w.DB, f}
		w.Options.Rand = func(int64) int64 { return 0 }
	})
}

// ErrStep is an error for functions of Faults that stand for the end of the process.
var ErrStep = errors.New("test: the process ends here")

// Recover waits until no job is running or due. If the end of a job could not be stored, the job is
// still running. Recover then moves the clock to the end of the job's lease.
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

// repeatedDB runs each transaction of the jobs twice, as happens after a conflict.
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

// Repeated makes each transaction of an office's jobs run twice. Only the second run is committed.
func Repeated() Option {
	return Working(func(w *Workshop) { w.DB = repeatedDB{w.DB} })
}
