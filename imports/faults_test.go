package imports_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"kartei/access"
	"kartei/imports"
	"kartei/kit/clock"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/test/patience"
)

// faults do something at one of the transactions of the jobs.
type faults struct {
	mu   sync.Mutex
	step int
	do   func(commit func() error) error
	hit  bool
}

// arm makes do have the transaction of a step, counted from now.
func (f *faults) arm(step int, do func(commit func() error) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.step, f.do, f.hit = step, do, false
}

// before does something before a transaction.
func (f *faults) before(step int, do func()) {
	f.arm(step, func(commit func() error) error {
		do()
		return commit()
	})
}

// reached reports whether the step was reached.
func (f *faults) reached() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.hit
}

func (f *faults) through(commit func() error) error {
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
	*faults
}

func (d faultyDB) WriteIn(ctx context.Context, organization int64, f func(db.Tx) error) error {
	if organization == 0 {
		return d.DB.WriteIn(ctx, organization, f)
	}
	return d.through(func() error { return d.DB.WriteIn(ctx, organization, f) })
}

// faultyEach runs a test with an office whose jobs get faults.
func faultyEach(t *testing.T, test func(t *testing.T, o *apitest.Office, f *faults)) {
	t.Helper()
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		f := new(faults)
		test(t, apitest.New(t, d, apitest.Replicas(1), apitest.Working(func(w *apitest.Workshop) {
			w.DB = faultyDB{w.DB, f}
			w.Options.Rand = func(int64) int64 { return 0 } // jobs are retried at once
		})), f)
	})
}

var errStep = errors.New("test: the process ends here")

// rested waits until all jobs are done that are due. If the end of one could not be
// stored, the clock moves to the end of its lease.
func rested(o *apitest.Office) {
	o.Helper()
	dead := 0
	for watch, ends := patience.New(), 0; ; ends++ {
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

// A process ends at each transaction of an import and of its undoing: before the commit,
// or before it learns of it. Each time the next attempt makes nothing twice, and leaves
// nothing out.
func TestEveryStep(t *testing.T) {
	ways := map[string]func(commit func() error) error{
		"before": func(func() error) error { return errStep },
		"after":  func(commit func() error) error { return errors.Join(commit(), errStep) },
	}
	faultyEach(t, func(t *testing.T, o *apitest.Office, f *faults) {
		d := sit(o, access.Member)
		old := d.Do("POST", "/contacts", `{"lastName":"Alt","externalId":"alt","note":"vorher"}`).Want(201).Text("id")
		for how, way := range ways {
			for step := 1; ; step++ {
				name := fmt.Sprintf("%s%d", how, step)
				file := "Nachname;Externe Kennung;Firma;Notiz\n"
				for i := range 110 {
					file += fmt.Sprintf("N%s;%s-%d;F%s-%d;\n", name, name, i, name, i%7)
				}
				file += "Alt;alt;;" + name + "\nFalsch;" + strings.Repeat("x", 201) + ";;\n"
				f.arm(step, way)
				x := d.check(d.upload("a.csv", file), imports.Replace)
				if x.Counts[imports.Created] != 110 || x.Counts[imports.Updated] != 1 || x.Counts[imports.Refused] != 1 {
					t.Fatalf("%s: the dry run counts %v", name, x.Counts)
				}
				x = d.run(x)
				if x.State != imports.Finished || x.Counts[imports.Created] != 110 || x.Counts[imports.Updated] != 1 || x.Counts[imports.Refused] != 1 || x.Companies != 7 {
					t.Fatalf("%s: %+v", name, x)
				}
				if n, c := number(t, o, `select count(*) from contacts where deleted = false`), number(t, o, `select count(*) from companies where deleted = false`); n != 111 || c != 7 {
					t.Fatalf("%s: %d contacts and %d companies", name, n, c)
				}
				x = d.undo(x)
				if x.State != imports.Undone || x.Counts[imports.Deleted] != 110 || x.Counts[imports.Restored] != 1 || x.Companies != 0 {
					t.Fatalf("%s: %+v", name, x)
				}
				if n := number(t, o, `select count(*) from contacts where deleted = false`); n != 1 || d.Do("GET", "/contacts/"+old, nil).Want(200).Text("note") != "vorher" {
					t.Fatalf("%s: %d contacts are left", name, n)
				}
				if !f.reached() {
					if step < 10 {
						t.Errorf("%s: only %d steps", how, step)
					}
					break
				}
			}
		}
		if n := number(t, o, `select count(*) from audit_lines where word in ('records.imported', 'records.importUndone')`); n%2 != 0 {
			t.Errorf("%d lines of the audit log", n)
		}
	})
}
