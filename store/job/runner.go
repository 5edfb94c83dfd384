package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"kartei/kit/clock"
	"kartei/kit/telemetry"
	"kartei/kit/trace"
	"kartei/store/db"
)

const (
	// Poll is the interval in which an idle runner looks for work without a
	// notification, for example jobs of a dead replica. Its own process wakes
	// it for new jobs, and on PostgreSQL so do busy replicas.
	Poll = 30 * time.Second
	// tellEvery is the interval in which a replica with too much work wakes the
	// others.
	tellEvery = time.Second
	// afterFailure is the pause after a failed poll.
	afterFailure = 5 * time.Second
	// grace bounds the time for jobs to end when the process stops.
	grace = 10 * time.Second
	// defaultLease is the default of Handler.Lease.
	defaultLease = time.Minute
	// defaultLimit is the default of Handler.Limit.
	defaultLimit = time.Hour
	// unknown is the pause of a job whose kind this release does not know. A
	// replica of a newer release may have a handler.
	unknown = time.Minute
	// backoff bounds the pause before the second attempt. The bound doubles
	// with each further attempt, up to longest. The pause is a random part of
	// it, so that jobs that failed together do not return together.
	backoff = 2 * time.Second
	longest = 15 * time.Minute
	// maxError bounds the stored error of a job, in bytes.
	maxError = 500
)

// The outcomes of a claim.
const (
	Finished = "finished"
	Again    = "again"  // failed, to be retried
	Waits    = "later"  // the handler said Later
	Failed   = "failed" // given up
	Lost     = "lost"   // another process claimed it
	Returned = "returned"
)

// Options configure a Runner. The zero value is valid.
type Options struct {
	// Workers is the number of jobs that run at once; zero means 8.
	// PerOrganization bounds the jobs of one organization; zero means fewer
	// than half of Workers, but at least 1.
	Workers, PerOrganization int
	Logger                   *slog.Logger
	// Observe receives the end of each claim.
	Observe func(kind, outcome string, took time.Duration)
	// Tracer, if set, records a span for each claim of a periodic job, or of a
	// job that a traced call enqueued.
	Tracer *trace.Tracer
	// Rand returns a random number in [0,n).
	Rand func(n int64) int64
}

// Runner claims jobs and runs them. Any number of runners may share a database.
type Runner struct {
	db       db.DB
	clock    clock.Clock
	handlers map[string]*Handler
	opts     Options
	log      *slog.Logger
	// lease is the lease of a claim until the job's handler is known.
	lease time.Duration
	wake  chan struct{}
	told  time.Time // when other replicas were last woken

	mu      sync.Mutex
	running map[int64]int // by organization
	count   int
	ground  sync.WaitGroup
}

// NewRunner returns a runner with handlers, each of a different kind.
func NewRunner(d db.DB, c clock.Clock, handlers []Handler, o Options) *Runner {
	o.Workers = cmp.Or(o.Workers, 8)
	o.PerOrganization = cmp.Or(o.PerOrganization, max(1, (o.Workers-1)/2)) // an organization and its sandbox count as two
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Observe == nil {
		o.Observe = func(string, string, time.Duration) {}
	}
	if o.Rand == nil {
		o.Rand = rand.Int64N
	}
	r := &Runner{
		db: d, clock: c, opts: o, log: o.Logger, handlers: map[string]*Handler{}, lease: defaultLease,
		wake: make(chan struct{}, 1), running: map[int64]int{},
	}
	for _, h := range handlers {
		if r.handlers[h.Kind] != nil {
			panic("job: two handlers of kind " + h.Kind)
		}
		h.Lease, h.Limit = cmp.Or(h.Lease, defaultLease), cmp.Or(h.Limit, defaultLimit)
		r.lease = min(r.lease, h.Lease)
		r.handlers[h.Kind] = &h
	}
	return r
}

// Wake makes the runner look for work now.
func (r *Runner) Wake() {
	select {
	case r.wake <- struct{}{}:
	default: // a wake-up is already pending
	}
}

// Run runs jobs until ctx ends. Running jobs are then given back, and other
// processes claim them at once. Run waits for them for a bounded time.
func (r *Runner) Run(ctx context.Context) {
	r.ground.Go(func() { r.db.Listen(ctx, Topic, func(string) { r.Wake() }) })
	scheduled := false
	for ctx.Err() == nil {
		var err error
		next := clock.Now(r.clock)
		if !scheduled {
			err = r.schedule(ctx)
			scheduled = err == nil
		}
		if err == nil {
			next, err = r.look(ctx)
		}
		if err != nil {
			next = clock.Now(r.clock).Add(afterFailure)
			if ctx.Err() == nil {
				r.log.Log(ctx, levelOf(err, slog.LevelError), "jobs cannot be read", "error", err)
			}
		}
		select {
		case <-ctx.Done():
		case <-r.wake:
		case <-r.at(next):
		}
	}
	r.end()
}

// at returns a channel that receives at a time. It also receives if that time
// passes between reading the clock and waiting.
func (r *Runner) at(t clock.Micros) <-chan time.Time {
	c := r.clock.After(t.Sub(clock.Now(r.clock)))
	if clock.Now(r.clock) >= t {
		return r.clock.After(0)
	}
	return c
}

// end waits for running jobs.
func (r *Runner) end() {
	ended := make(chan struct{})
	go func() {
		r.ground.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-r.clock.After(grace):
		r.log.Warn("jobs did not end in time; other processes run them again when their leases have ended")
	}
}

// schedule enqueues the jobs of periodic handlers.
func (r *Runner) schedule(ctx context.Context) error {
	return r.db.WriteIn(ctx, 0, func(tx db.Tx) error {
		for kind, h := range r.handlers {
			if h.Every == 0 {
				continue
			}
			if err := Enqueue(ctx, tx, 0, clock.Now(r.clock), Spec{Kind: kind, Key: kind}); err != nil {
				return err
			}
		}
		return nil
	})
}

// turn is the position of an organization in the queue.
type turn struct {
	organization int64
	due          clock.Micros
}

// look claims jobs for free workers, one turn after the other. The result next is the time of the
// next look. If the queue has changed, next is now.
func (r *Runner) look(ctx context.Context) (next clock.Micros, err error) {
	now := clock.Now(r.clock)
	idle := now.Add(Poll)
	free, capped := r.free()
	if free == 0 {
		return idle, nil // the end of a job wakes the runner
	}
	turns, err := r.turns(ctx, free+capped+1)
	if err != nil {
		return 0, err
	}
	changed := false
	for _, t := range turns {
		if t.due > now {
			idle = min(idle, t.due)
			break
		}
		if free == 0 {
			return idle, r.share(ctx)
		}
		limit := min(free, r.room(t.organization))
		if limit == 0 {
			continue
		}
		jobs, err := r.claim(ctx, t.organization, now, limit)
		if err != nil {
			return 0, err
		}
		for _, j := range jobs {
			r.start(ctx, j)
		}
		free -= len(jobs)
		changed = true
	}
	if changed {
		return now, nil
	}
	return idle, nil
}

// free returns the number of free workers, and of organizations at their bound.
func (r *Runner) free() (free, capped int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, n := range r.running {
		if n >= r.opts.PerOrganization {
			capped++
		}
	}
	return r.opts.Workers - r.count, capped
}

// room returns how many more jobs of an organization may run here.
func (r *Runner) room(organization int64) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.opts.PerOrganization - r.running[organization]
}

// share wakes the other replicas if this one has too much work.
func (r *Runner) share(ctx context.Context) error {
	now := r.clock.Now()
	if r.db.Dialect().Name == "sqlite" || now.Sub(r.told) < tellEvery {
		return nil
	}
	r.told = now
	return r.db.Write(ctx, func(tx db.Tx) error {
		tx.Notify(Topic, "")
		return nil
	})
}

// turns returns the first turns.
func (r *Runner) turns(ctx context.Context, limit int) (turns []turn, err error) {
	err = r.db.Read(ctx, func(tx db.Tx) (err error) {
		turns, err = db.List(ctx, tx, func(row db.Row) (t turn, err error) {
			err = row.Scan(&t.organization, &t.due)
			return t, err
		}, selectTurns, limit)
		return err
	})
	return turns, err
}

// claim claims jobs of one organization. Its turn then moves behind the others,
// or to the due time of its next job.
func (r *Runner) claim(ctx context.Context, organization int64, now clock.Micros, limit int) (jobs []*Job, err error) {
	err = r.db.Write(ctx, func(tx db.Tx) error {
		jobs = jobs[:0]
		tx.Queue(keepTurn, organization, never)
		rows, err := tx.Query(ctx, claimJobs, organization, now, now.Add(r.lease), limit)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			j := &Job{Organization: organization, db: r.db, clock: r.clock, lease: r.lease, until: now.Add(r.lease)}
			if err := rows.Scan(&j.ID, &j.Kind, &j.Key, &j.Payload, &j.claim, &j.Attempt, &j.err, &j.CreatedAt,
				&j.trace); err != nil {
				return err
			}
			jobs = append(jobs, j)
		}
		if err := rows.Err(); err != nil {
			return err
		}
		rows.Close()
		tx.Queue(setTurn, organization, now, never)
		return nil
	})
	slices.SortFunc(jobs, func(a, b *Job) int {
		return cmp.Or(cmp.Compare(a.CreatedAt, b.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	return jobs, err
}

// start runs a job in a goroutine.
func (r *Runner) start(ctx context.Context, j *Job) {
	r.mu.Lock()
	r.running[j.Organization]++
	r.count++
	r.mu.Unlock()
	r.ground.Go(func() {
		defer func() {
			r.mu.Lock()
			if r.running[j.Organization]--; r.running[j.Organization] == 0 {
				delete(r.running, j.Organization)
			}
			r.count--
			r.mu.Unlock()
			r.Wake()
		}()
		r.work(ctx, j)
	})
}

// work runs a job and stores its outcome.
func (r *Runner) work(ctx context.Context, j *Job) {
	began := r.clock.Now()
	log := r.log.With(slog.String("job", j.ID), slog.String("kind", j.Kind), slog.Int("attempt", j.Attempt))
	h := r.handlers[j.Kind]
	span := r.span(j, h)
	defer span.End()
	if span != nil {
		ctx, log = trace.Within(ctx, span), log.With(slog.String("trace_id", span.ID()))
	}
	settled := context.WithoutCancel(ctx)
	if h == nil {
		log.Warn("this release cannot run jobs of this kind; they wait for a release that can")
		if err := r.back(settled, j, unknown, "this release cannot run jobs of this kind; they wait for a release that can"); err != nil {
			log.Error("the job could not be given back", "error", err)
		}
		r.opts.Observe(j.Kind, Waits, r.clock.Now().Sub(began))
		return
	}
	var err error
	if h.Attempts > 0 && j.Attempt > h.Attempts { // the last attempt ended with its process, or in GaveUp
		err = permanent{ErrDied}
		if j.err != "" {
			err = permanent{errors.New(j.err)}
		}
	} else {
		err = r.attempt(ctx, h, j, log)
	}
	outcome, failure := r.settle(settled, h, j, err, ctx.Err() != nil, log)
	if failure != nil && !errors.Is(failure, ErrLost) { // the lease ends and the job is claimed again
		log.Error("the end of a job could not be stored", "error", failure)
	}
	r.opts.Observe(j.Kind, outcome, r.clock.Now().Sub(began))
	span.Text("kartei.job.outcome", outcome)
	if outcome == Failed || outcome == Again {
		span.Fail(outcome)
	}
}

// span begins the span of a claim.
func (r *Runner) span(j *Job, h *Handler) *trace.Span {
	if r.opts.Tracer == nil || h == nil {
		return nil
	}
	var span *trace.Span
	if h.Every > 0 {
		span = r.opts.Tracer.Begin("job "+j.Kind, trace.Consumer, "")
	} else {
		span = r.opts.Tracer.Continue("job "+j.Kind, trace.Consumer, j.trace)
	}
	span.Text("kartei.job.id", j.ID)
	span.Number("kartei.job.attempt", int64(j.Attempt))
	return span
}

// attempt calls the handler and renews the lease meanwhile.
func (r *Runner) attempt(ctx context.Context, h *Handler, j *Job, log *slog.Logger) error {
	ctx, cancel := context.WithCancelCause(ctx)
	var beside sync.WaitGroup
	first := j.lease
	j.lease = h.Lease
	beside.Go(func() { r.renew(ctx, j, first, h.Limit, cancel) })
	err := call(ctx, h, j, log)
	cancel(nil)
	beside.Wait()
	if cause := context.Cause(ctx); err != nil && (cause == ErrLost || cause == ErrTooLong) {
		return cause
	}
	return err
}

// call calls the handler and turns a panic into an error.
func call(ctx context.Context, h *Handler, j *Job, log *slog.Logger) (err error) {
	defer func() {
		if v := recover(); v != nil {
			log.Error("job panicked", "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
			err = fmt.Errorf("job: panic: %v", v)
		}
	}()
	return h.Run(ctx, j)
}

// renew renews the lease after each third of it until ctx ends. It ends the
// attempt at the limit, or if the lease is lost. A lease that could not be
// renewed in time counts as lost.
func (r *Runner) renew(ctx context.Context, j *Job, lease, limit time.Duration, end context.CancelCauseFunc) {
	until := j.until
	beat, late := until.Add(-lease*2/3), r.clock.After(limit)
	for {
		select {
		case <-ctx.Done():
			return
		case <-late:
			end(ErrTooLong)
			return
		case <-r.at(beat):
		}
		now := clock.Now(r.clock)
		next := now.Add(j.lease)
		beat = now.Add(j.lease / 3)
		n := int64(0)
		err := r.db.Write(ctx, func(tx db.Tx) (err error) {
			n, err = tx.Exec(ctx, renewJob, j.Organization, j.ID, j.claim, next)
			return err
		})
		switch {
		case err == nil && n > 0:
			until = next
		case err == nil, clock.Now(r.clock) >= until:
			end(ErrLost)
			return
		}
	}
}

// settle stores the outcome of a claim.
func (r *Runner) settle(
	ctx context.Context, h *Handler, j *Job, err error, stopping bool, log *slog.Logger,
) (outcome string, failure error) {
	var wait later
	given := h.Attempts > 0 && j.Attempt >= h.Attempts
	switch {
	case j.ended:
		return Finished, nil
	case err == nil && h.Every > 0:
		j.Attempt = 1
		return Finished, r.back(ctx, j, h.Every, "")
	case err == nil:
		return Finished, j.Finish(ctx, nil)
	case errors.Is(err, ErrLost):
		log.Warn("another process has taken over the job")
		return Lost, nil
	case errors.As(err, &wait):
		return Waits, r.back(ctx, j, max(0, wait.after), j.err)
	case stopping && !errors.As(err, new(permanent)):
		return Returned, r.back(ctx, j, 0, j.err)
	case given || errors.As(err, new(permanent)):
		failure = r.giveUp(ctx, h, j, err)
		if failure == nil && h.GivenUp != nil {
			h.GivenUp(j)
		}
		if failure == nil || errors.Is(failure, ErrLost) {
			log.Error("job failed", "error", err)
			return Failed, failure
		}
		log.Error("the job could not be given up", "error", failure)
	default:
		log.Log(ctx, levelOf(err, slog.LevelWarn), "job to be tried again", "error", err)
	}
	var f func(db.Tx) error
	if h.PutBack != nil {
		f = func(tx db.Tx) error { return h.PutBack(ctx, tx, j) }
	}
	return Again, r.put(ctx, j, "waiting", j.Attempt, r.pause(h, j.Attempt), reason(err), f)
}

// levelOf returns the level of an error. It is the debug level if the database is away,
// because db.Writes reports that.
func levelOf(err error, level slog.Level) slog.Level {
	if errors.Is(err, db.ErrUnavailable) {
		return slog.LevelDebug
	}
	return level
}

// pause returns the pause before the next attempt.
func (r *Runner) pause(h *Handler, attempt int) time.Duration {
	if h.Backoff != nil {
		return h.Backoff(attempt)
	}
	limit := longest
	if h.Every > 0 {
		limit = min(limit, h.Every)
	}
	if doubled := backoff << min(attempt-1, 20); doubled < limit {
		limit = doubled
	}
	return time.Duration(r.opts.Rand(int64(limit)))
}

// back gives a job back without counting the attempt.
func (r *Runner) back(ctx context.Context, j *Job, after time.Duration, reason string) error {
	return r.put(ctx, j, "waiting", j.Attempt-1, after, reason, nil)
}

// giveUp marks a job as failed and calls GaveUp in the same transaction.
func (r *Runner) giveUp(ctx context.Context, h *Handler, j *Job, cause error) error {
	if p := (permanent{}); errors.As(cause, &p) {
		cause = p.error
	}
	f := func(tx db.Tx) error {
		if h.Secret {
			tx.Queue(clearPayload, j.Organization, j.ID)
		}
		if h.GaveUp == nil {
			return nil
		}
		return h.GaveUp(ctx, tx, j, cause)
	}
	return r.put(ctx, j, "failed", j.Attempt, 0, reason(cause), f)
}

// put ends the claim of a job that stays in the queue.
func (r *Runner) put(
	ctx context.Context, j *Job, state string, attempt int, after time.Duration, reason string, f func(db.Tx) error,
) error {
	due := clock.Now(r.clock).Add(after)
	comes := due
	if state == "failed" {
		comes = never
	}
	return j.fenced(ctx, comes, f, putBack, state, attempt, due, reason)
}

// reason returns an error in the form that is stored. It is bounded, without
// text that looks like a secret or an address. Since it may quote a file, it
// has no bytes that a database refuses or a terminal obeys.
func reason(err error) string {
	text := telemetry.Clean(err.Error())
	text = strings.ToValidUTF8(text[:min(len(text), maxError)], "")
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
}
