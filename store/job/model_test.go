package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"kartei/kit/clock"
	"kartei/store/db"
	"kartei/test/dbtest"
	"kartei/test/seed"
)

// row is a job of the model.
type row struct {
	organization    int64
	key, state, err string
	claim           int64
	attempt         int
	due, started    clock.Micros
}

// soon changes a waiting job as Enqueue does with Spec.Soon.
func (r *row) soon(due clock.Micros, s Spec) {
	if r.attempt > 0 {
		due = max(due, r.started.Add(s.Rest))
	}
	r.due, r.attempt = min(r.due, due), min(r.attempt, s.Attempts)
}

// plain is a simple model of the queue in memory, with the runners to compare. The payload of a job
// is its name in the model.
type plain struct {
	*rapid.T
	db      db.DB
	clock   *clock.Fake
	runners []*Runner
	base    int64 // first organization of this check
	rows    map[string]*row
	// held has the claimed jobs, including jobs that another runner has claimed since.
	held []*Job
	next int
}

const (
	modelKind     = "a"
	modelAttempts = 3
	modelLease    = time.Minute
	organizations = 3
)

var (
	errModel   = errors.New("no")
	modelStart = time.Date(2026, 11, 1, 9, 0, 0, 0, time.UTC)
)

// must fails the check if there is an error.
func (p *plain) must(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

func (p *plain) now() clock.Micros { return clock.Now(p.clock) }

// Enqueue enqueues a job, and adds it to the model unless its key is in use.
func (p *plain) Enqueue(*rapid.T) {
	organization := p.base + rapid.Int64Range(0, organizations-1).Draw(p.T, "organization")
	key := rapid.SampledFrom([]string{"", "", "k", "l"}).Draw(p.T, "key")
	due := p.now().Add(time.Duration(rapid.IntRange(-60, 120).Draw(p.T, "due")) * time.Second)
	name := fmt.Sprint("job ", p.next)
	p.next++
	s := Spec{Kind: modelKind, Key: key, Payload: name, Due: due, Soon: rapid.Bool().Draw(p.T, "soon")}
	if s.Soon {
		s.Attempts, s.Rest = rapid.IntRange(0, 2).Draw(p.T,
			"attempts"), time.Duration(rapid.IntRange(0, 120).Draw(p.T, "rest"))*time.Second
	}
	p.must(p.db.WriteIn(context.Background(), organization, func(tx db.Tx) error {
		return Enqueue(context.Background(), tx, organization, p.now(), s)
	}))
	for _, r := range p.rows {
		if key != "" && r.organization == organization && r.key == key && r.state != "failed" {
			if s.Soon && r.state == "waiting" {
				r.soon(max(due, p.now()), s)
			}
			return
		}
	}
	p.rows[name] = &row{organization: organization, key: key, state: "waiting", due: max(due, p.now())}
}

// Advance moves the clock by some seconds.
func (p *plain) Advance(*rapid.T) {
	p.clock.Advance(time.Duration(rapid.IntRange(1, 90).Draw(p.T, "seconds")) * time.Second)
}

// Claim claims jobs, and checks that they are the due jobs with the earliest due times.
func (p *plain) Claim(*rapid.T) {
	organization := p.base + rapid.Int64Range(0, organizations-1).Draw(p.T, "organization")
	limit := rapid.IntRange(1, 3).Draw(p.T, "most")
	jobs, err := p.runners[rapid.IntRange(0, len(p.runners)-1).Draw(p.T, "runner")].claim(context.Background(),
		organization, p.now(), limit)
	p.must(err)
	var due []*row
	for _, r := range p.rows {
		if r.organization == organization && r.state != "failed" && r.due <= p.now() {
			due = append(due, r)
		}
	}
	slices.SortFunc(due, func(a, b *row) int { return cmp.Compare(a.due, b.due) })
	if len(jobs) != min(limit, len(due)) {
		p.Fatalf("%d jobs taken, %d of %d are due", len(jobs), limit, len(due))
	}
	for _, j := range jobs {
		r := p.rows[p.name(j)]
		if r == nil || !slices.Contains(due, r) || r.due > due[len(jobs)-1].due {
			p.Fatalf("%s was taken out of its turn: %+v", p.name(j), r)
		}
		if r.claim++; j.claim != r.claim || j.Attempt != r.attempt+1 || j.err != r.err || j.Key != r.key {
			p.Fatalf("taken as %+v, want %+v", j, r)
		}
		r.attempt++
	}
	for _, j := range jobs {
		r := p.rows[p.name(j)]
		r.state, r.due, r.started = "running", p.now().Add(modelLease), p.now()
	}
	p.held = append(p.held, jobs...)
}

func (p *plain) name(j *Job) (name string) {
	p.must(j.Decode(&name))
	return name
}

// end calls does for a random claim, which may be old. It checks that does has an effect only if
// the job was not claimed again since.
func (p *plain) end(does func(r *Runner, h *Handler, j *Job) error, then func(r *row, j *Job)) {
	if len(p.held) == 0 {
		p.Skip("nobody holds a job")
	}
	j := new(Job)
	*j = *rapid.SampledFrom(p.held).Draw(p.T, "job")
	j.ended = false // a process that seemed dead may use its claim again
	r := p.rows[p.name(j)]
	mine := r != nil && r.state == "running" && r.claim == j.claim
	h := &Handler{Kind: modelKind, Attempts: modelAttempts,
		GaveUp: func(_ context.Context, tx db.Tx, _ *Job, _ error) error {
			if !mine {
				p.Error("an effect of one who lost the job")
			}
			return nil
		}}
	err := does(p.runners[0], h, j)
	switch {
	case mine && err != nil:
		p.Fatalf("%v", err)
	case !mine && !errors.Is(err, ErrLost):
		p.Fatalf("of a job that another has, or that is gone: %v", err)
	case mine:
		then(r, j)
	}
}

// Finish finishes a job.
func (p *plain) Finish(*rapid.T) {
	p.end(func(_ *Runner, _ *Handler, j *Job) error { return j.Finish(context.Background(), nil) },
		func(_ *row, j *Job) { delete(p.rows, p.name(j)) })
}

// Update renews the lease of a job.
func (p *plain) Update(*rapid.T) {
	p.end(func(_ *Runner, _ *Handler, j *Job) error {
		j.lease = modelLease
		return j.Update(context.Background(), func(db.Tx) error { return nil })
	}, func(r *row, _ *Job) { r.due = p.now().Add(modelLease) })
}

// Fail ends an attempt with an error, so the job is retried or given up.
func (p *plain) Fail(*rapid.T) {
	p.end(func(r *Runner, h *Handler, j *Job) error {
		_, err := r.settle(context.Background(), h, j, errModel, false, slog.New(slog.DiscardHandler))
		return err
	}, func(r *row, j *Job) {
		r.state, r.err, r.due = "waiting", errModel.Error(), p.now().Add(backoff<<(r.attempt-1))
		if r.attempt >= modelAttempts {
			r.state, r.due = "failed", p.now()
		}
	})
}

// Later ends an attempt with the error Later.
func (p *plain) Later(*rapid.T) {
	p.end(func(r *Runner, h *Handler, j *Job) error {
		_, err := r.settle(context.Background(), h, j, Later(time.Minute), false, slog.New(slog.DiscardHandler))
		return err
	}, func(r *row, _ *Job) {
		r.state, r.due = "waiting", p.now().Add(time.Minute)
		r.attempt--
	})
}

// Check compares all stored jobs with the model.
func (p *plain) Check(*rapid.T) {
	stored := map[string]row{}
	turns := map[int64]clock.Micros{}
	p.must(p.db.Read(context.Background(), func(tx db.Tx) error {
		clear(stored)
		rows, err := tx.Query(context.Background(),
			`select organization, payload, key, state, error, claim, attempt, due_at, started_at from jobs where organization >= $1`, p.base)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var r row
			j := Job{}
			if err := rows.Scan(&r.organization, &j.Payload, &r.key, &r.state, &r.err, &r.claim, &r.attempt, &r.due,
				&r.started); err != nil {
				return err
			}
			stored[p.name(&j)] = r
		}
		rows.Close()
		for n := range int64(organizations) {
			turn := clock.Micros(math.MaxInt64)
			err := tx.QueryRow(context.Background(), `select due_at from job_turns where organization = $1`,
				p.base+n).Scan(&turn)
			if err != nil && !errors.Is(err, db.ErrNoRows) {
				return err
			}
			turns[p.base+n] = turn
		}
		return rows.Err()
	}))
	if len(stored) != len(p.rows) {
		p.Errorf("%d jobs are stored, want %d", len(stored), len(p.rows))
	}
	for name, want := range p.rows {
		if stored[name] != *want {
			p.Errorf("%s is %+v, want %+v", name, stored[name], *want)
		}
		if turn := turns[want.organization]; want.state != "failed" && turn > max(want.due, p.now()) {
			p.Errorf("the turn comes %v after %s is due, and is not due yet", turn.Sub(want.due), name)
		}
	}
}

// TestModel checks that the queue behaves as a simple model, over random sequences of calls. A
// process with a claim may be slow or dead for any time.
func TestModel(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		others := []db.DB{d, d}
		if other := dbtest.Again(t, d); other != nil {
			others[1] = other
		}
		base := int64(0)
		seed.Check(t, func(t *rapid.T) {
			base += organizations
			p := &plain{T: t, db: d, clock: clock.NewFake(modelStart), base: base, rows: map[string]*row{}}
			for _, d := range others {
				p.runners = append(p.runners, NewRunner(d, p.clock, []Handler{{Kind: modelKind, Lease: modelLease}},
					Options{Rand: func(n int64) int64 { return n }}))
			}
			t.Repeat(map[string]func(*rapid.T){
				"": p.Check, "enqueue": p.Enqueue, "advance": p.Advance, "claim": p.Claim, "claim more": p.Claim,
				"finish": p.Finish, "update": p.Update, "fail": p.Fail, "later": p.Later,
			})
			// The next check must not find the jobs of this check.
			if err := d.Write(context.Background(), func(tx db.Tx) error {
				tx.Queue(`delete from jobs where organization >= $1`, p.base)
				return nil
			}); err != nil {
				t.Fatal(err)
			}
		})
	})
}
