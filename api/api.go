package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"sync/atomic"
	"time"

	"kartei/access"
	"kartei/api/openapi"
	"kartei/api/schema"
	"kartei/app"
	"kartei/company"
	"kartei/contact"
	"kartei/document"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/masterkey"
	"kartei/kit/trace"
	"kartei/limit"
	"kartei/requestlog"
	"kartei/store/db"
	"kartei/store/replay"
	"kartei/task"
)

// Families are the kinds of record that this release serves.
var Families = []app.Family{contact.Contacts.Family, company.Companies.Family, task.Tasks.Family, document.Documents.Family}

// table is Operations, for functions that stand in it themselves.
var table []Operation

func init() { table = Operations }

// Authenticator accepts or refuses what a caller presents; see access.Directory.
type Authenticator interface {
	Resolve(ctx context.Context, p access.Presented, from netip.Addr, fresh bool) (a *access.Actor, assumed bool, err error)
	Confirm(ctx context.Context, tx db.Tx, a *access.Actor) error
	Used(a *access.Actor, from netip.Addr)
	Forget()
}

// Options are what an API is made of.
type Options struct {
	DB      db.DB
	Access  Authenticator
	Limiter limit.Limiter
	// Log keeps the calls. An API that is pending for good needs none, nor DB and
	// Access.
	Log    *requestlog.Log
	Clock  clock.Clock
	Logger *slog.Logger
	// Versions are those that are served, the oldest first; at least one is no
	// candidate.
	Versions []Version
	// CursorKey is 32 secret bytes, the same on all replicas.
	CursorKey []byte
	// Answers encrypts stored answers that hold a secret; with the same keys on
	// all replicas.
	Answers masterkey.Vault
	// Files is the store of files, with the rules for those that it accepts.
	Files app.Files
	// Webhooks is what operations on webhook endpoints need.
	Webhooks app.Webhooks
	// Settings is what administrative operations need. Its Versions may be empty:
	// then they are those that are served.
	Settings app.Settings
	// DocsBase is the address below which /problems/{CODE} and /docs/openapi.json
	// are found.
	DocsBase string
	// MaxCalls is how many calls may be answered at the same time; one more is
	// 429 OVERLOADED. Zero is 1,024.
	MaxCalls int
	// MaxTransfers is how many files may be on their way at the same time; one more
	// is 429 OVERLOADED. Zero is 256. MaxTransfersEach is how many of them may be of
	// one organization; one more is 429 RATE_LIMITED. Zero is 32.
	MaxTransfers, MaxTransfersEach int
	// Transfers, if set, observes files in transit.
	Transfers TransferObserver
	// Observe, if set, is called for every answer.
	Observe func(Observation)
	// Tracer, if set, has calls be spans.
	Tracer *trace.Tracer
}

// Observation is what metrics are made of.
type Observation struct {
	// Operation is the operationId, empty if the path is not in the table.
	Operation string
	Status    int
	Code      string
	Duration  time.Duration
}

// API serves the operations of the table. It is safe for use by several
// goroutines.
type API struct {
	db       db.DB
	access   Authenticator
	limiter  limit.Limiter
	log      *requestlog.Log
	clock    clock.Clock
	logger   *slog.Logger
	docsBase string
	observe  func(Observation)
	tracer   *trace.Tracer // nil if nothing is traced
	services *app.Services
	answers  replay.Vault
	routes   routes
	versions map[string]*served
	// names are those of the versions, the oldest first; current is the newest
	// that is no candidate, the default of calls that name none.
	names    []string
	current  string
	busy     inFlight
	pending  atomic.Bool
	paused   atomic.Bool
	maxCalls int64
	inFlight atomic.Int64
	lastCall atomic.Int64 // when the last one began, in microseconds
	// declared is what the limit headers say before a caller is known.
	declared  limit.Decision
	transfers transfers
}

// New makes an API. It fails if a frozen document cannot be compiled.
func New(o Options) (*API, error) {
	cursors, err := app.NewCursors(o.CursorKey)
	if err != nil {
		return nil, err
	}
	a := &API{
		db: o.DB, access: o.Access, limiter: o.Limiter, log: o.Log, clock: o.Clock, logger: o.Logger,
		docsBase: o.DocsBase, observe: o.Observe, tracer: o.Tracer, routes: routesOf(Operations), versions: map[string]*served{}, answers: replay.Vault{Vault: o.Answers},
		services: &app.Services{Cursors: cursors, Limits: o.Limiter, Families: Families, DocsBase: o.DocsBase, Files: o.Files, Webhooks: o.Webhooks, Logger: o.Logger},
	}
	a.services.Settings = o.settings()
	if err := a.serve(o.Versions); err != nil {
		return nil, err
	}
	a.services.OpenAPI, a.services.InBatch = a.document, a.routes.inBatch
	a.declared = o.Limiter.Declared(limit.Charge{})
	a.maxCalls = int64(cmp.Or(o.MaxCalls, 1024))
	a.transfers = transfers{most: cmp.Or(o.MaxTransfers, 256), each: cmp.Or(o.MaxTransfersEach, 32), observer: o.Transfers, now: o.Clock.Now, of: map[int64]int{}}
	if o.Transfers == nil {
		a.transfers.observer = unobserved{}
	}
	return a, nil
}

// settings returns what administrative operations need.
func (o *Options) settings() app.Settings {
	s := o.Settings
	if len(s.Versions) == 0 {
		s.Versions = Names(o.Versions)
	}
	if s.Flush == nil && o.Log != nil {
		s.Flush = o.Log.Flush
	}
	return s
}

// serve compiles the documents of the versions.
func (a *API) serve(versions []Version) error {
	for i, v := range versions {
		document, _ := openapi.Document(v.Name)
		rules, err := schema.Compile(document, later)
		if err != nil {
			return fmt.Errorf("api: version %s: %w", v.Name, err)
		}
		successor := ""
		if i+1 < len(versions) {
			successor = versions[i+1].Name
		}
		a.versions[v.Name] = newServed(v, successor, rules, a.docsBase)
		a.names = append(a.names, v.Name)
		if !v.Candidate {
			a.current = v.Name
		}
	}
	if a.current == "" {
		return errors.New("api: no version is current")
	}
	return nil
}

// document returns the frozen document of a version that is served.
func (a *API) document(version string) ([]byte, bool) {
	if a.versions[version] == nil {
		return nil, false
	}
	return openapi.Document(version)
}

// Pending makes every call answer 503 INSTANCE_PENDING, or ends that: the
// instance is still starting.
func (a *API) Pending(pending bool) { a.pending.Store(pending) }

// Pause makes every call answer 503 API_PAUSED, or ends that.
func (a *API) Pause(paused bool) { a.paused.Store(paused) }

// pauseRetry is what a paused API asks clients to wait. A pause is ended by
// hand, so there is no better number; a minute keeps them from hammering.
const pauseRetry = time.Minute

// pendingRetry is what an instance that is starting asks clients to wait: a
// migration rarely takes longer.
const pendingRetry = time.Second

// callsApart is the longest pause between two calls of a client that makes one
// after the other.
const callsApart = 100 * time.Millisecond

// Busy reports whether calls are being answered, or were a moment ago.
func (a *API) Busy() bool {
	return a.inFlight.Load() > 0 || a.clock.Now().Sub(time.UnixMicro(a.lastCall.Load())) < callsApart
}

// Ready refuses a request that is none of the table's as calls are refused
// while the instance is not ready, or is paused.
func (a *API) Ready() error {
	if a.pending.Load() {
		return &fault.Fault{Code: fault.InstancePending, RetryAfter: pendingRetry}
	}
	if a.paused.Load() {
		return &fault.Fault{Code: fault.APIPaused, RetryAfter: pauseRetry}
	}
	return nil
}
