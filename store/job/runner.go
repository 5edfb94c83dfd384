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
	// Poll is the interval in which an idle runner looks for jobs without a notification, for
	// example for jobs of a dead replica. Enqueue wakes the runners of its own process for a new
	// job. On PostgreSQL, replicas with too much work wake the runners of other replicas.
	Poll = 30 * time.Second
	// tellEvery is the minimum time between two notifications of a replica with too much work to
	// the others.
	tellEvery = time.Second
	// afterFailure is the pause after the database could not be read.
	afterFailure = 5 * time.Second
	// grace is the maximum time for which Run waits for running jobs when the process stops.
	grace = 10 * time.Second
	// defaultLease is the default of Handler.Lease.
	defaultLease = time.Minute
	// defaultLimit is the default of Handler.Limit.
	defaultLimit = time.Hour
	// unknown is the pause of a job whose kind this release does not know. A replica with a newer
	// release may know the kind.
	unknown = time.Minute
	// backoff is the maximum pause before the second attempt. The maximum doubles with each
	// attempt, up to longest. The pause is a random part of the maximum. So jobs that failed at the
	// same time do not run again at the same time.
	backoff = 2 * time.Second
	longest = 15 * time.Minute
	// maxError is the maximum length in bytes of the stored error of a job.
	maxError = 500
)

// The outcomes of a claim, for Options.Observe.
const (
	Finished = "finished"
	Again    = "again"  // failed, and will be retried
	Waits    = "later"  // the handler returned Later, or the kind is unknown
	Failed   = "failed" // given up
	Lost     = "lost"   // another process has claimed the job
	Returned = "returned"
)

// Options are the settings of a Runner. The zero value is valid.
type Options struct {
	// Workers is the maximum number of running jobs. Zero means 8. PerOrganization is the maximum
	// for one organization. Zero means fewer than half of Workers, but at least 1.
	Workers, PerOrganization int
	Logger                   *slog.Logger
	// Observe is called at the end of each claim, unless it is nil.
	Observe func(kind, outcome string, took time.Duration)
	// Tracer records a span for each claim of a periodic job, and of a job that a traced call has
	// enqueued. It may be nil.
	Tracer *trace.Tracer
	// Rand returns a random number in [0,n). If it is nil, math/rand/v2 is used.
	Rand func(n int64) int64
}

// Runner claims jobs and runs them. Any number of runners may use the same database.
type Runner struct {
	db       db.DB
	clock    clock.Clock
	handlers map[string]*Handler
	opts     Options
	log      *slog.Logger
	// lease is the lease of a new claim. The lease of the handler applies once the handler is
	// known.
	lease time.Duration
	wake  chan struct{}
	told  time.Time // time at which other replicas were last notified

	mu      sync.Mutex
	running map[int64]int // number of running jobs by organization
	count   int
	ground  sync.WaitGroup
}

// NewRunner returns a Runner with these handlers. It panics if two handlers have the same kind.
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

// Wake makes the runner look for due jobs now.
func (r *Runner) Wake() {
	select {
	case r.wake <- struct{}{}:
	default: // another wake-up is pending
	}
}

// Run runs jobs until ctx ends. Then it gives back the running jobs, and other processes can claim
// them at once. It waits for the handlers for a limited time.
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

// at returns a channel that receives at the time t, or at once if t has passed. It checks the clock
// again, because t may pass while the timer is created.
func (r *Runner) at(t clock.Micros) <-chan time.Time {
	c := r.clock.After(t.Sub(clock.Now(r.clock)))
	if clock.Now(r.clock) >= t {
		return r.clock.After(0)
	}
	return c
}

// end waits until the running jobs have ended, but not longer than the duration grace.
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

// turn is the time at which the first job of an organization is due.
type turn struct {
	organization int64
	due          clock.Micros
}

// look claims due jobs for free workers, one organization after the other. The result next is the
// time for the next look. If look has claimed jobs, next is now.
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

// free returns the number of free workers, and the number of organizations whose limit is reached.
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

// room returns how many more jobs of an organization may run in this process.
func (r *Runner) room(organization int64) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.opts.PerOrganization - r.running[organization]
}

// share notifies the other replicas that this replica has too much work.
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

// turns returns the organizations with the earliest due jobs, at most limit.
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

// claim claims at most limit due jobs of one organization. It then sets the organization's due time
// in job_turns to the due time of its next job, and at least to now. So other organizations come
// first.
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

// start runs a claimed job in a goroutine.
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
	if h.Attempts > 0 && j.Attempt > h.Attempts { // the process died in the last attempt, or GaveUp failed
		err = permanent{ErrDied}
		if j.err != "" {
			err = permanent{errors.New(j.err)}
		}
	} else {
		err = r.attempt(ctx, h, j, log)
	}
	outcome, failure := r.settle(settled, h, j, err, ctx.Err() != nil, log)
	if failure != nil && !errors.Is(failure, ErrLost) { // otherwise the lease ends and the job is claimed again
		log.Error("the end of a job could not be stored", "error", failure)
	}
	r.opts.Observe(j.Kind, outcome, r.clock.Now().Sub(began))
	span.Text("kartei.job.outcome", outcome)
	if outcome == Failed || outcome == Again {
		span.Fail(outcome)
	}
}

// span begins the span of a claim. It returns nil if the claim is not traced.
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

// attempt calls the handler. Meanwhile it renews the lease.
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

// call calls the handler and returns a panic as an error.
func call(ctx context.Context, h *Handler, j *Job, log *slog.Logger) (err error) {
	defer func() {
		if v := recover(); v != nil {
			log.Error("job panicked", "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
			err = fmt.Errorf("job: panic: %v", v)
		}
	}()
	return h.Run(ctx, j)
}

// renew renews the lease until ctx ends, each time after a third of it. It calls end when limit has
// passed or the lease is lost. A lease that could not be renewed in time counts as lost.
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

// settle stores the outcome of a claim. err is the error of the attempt. stopping says that the
// process stops. failure is the error of storing the outcome.
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

// levelOf returns the level for logging an error. If the database is not available, it is debug,
// because db.Writes logs that.
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

// back puts a job back into the queue. The attempt does not count.
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

// put ends a claim. The job stays in the queue with this state, and is due after a time.
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

// reason returns the text of an error for storing. The text has at most maxError bytes, and no
// secrets or email addresses. It may quote a file, so control characters and invalid UTF-8 are
// removed.
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
