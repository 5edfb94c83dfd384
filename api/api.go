package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"kartei/access"
	"kartei/api/op"
	"kartei/api/openapi"
	"kartei/api/release"
	"kartei/api/schema"
	"kartei/api/transit"
	"kartei/api/watch"
	"kartei/integration/batch"
	"kartei/integration/key"
	"kartei/integration/limit"
	"kartei/integration/requestlog"
	"kartei/integration/usage"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/masterkey"
	"kartei/kit/trace"
	"kartei/people/signin"
	"kartei/record/company"
	"kartei/record/contact"
	"kartei/record/document"
	"kartei/record/task"
	"kartei/store/db"
	"kartei/store/replay"
)

// Families are the families of records in this release.
var Families = []op.Family{
	contact.Contacts.Family, company.Companies.Family, task.Tasks.Family, document.Documents.Family,
}

// table equals Operations, for functions that are used in its rows.
var table []Operation

func init() {
	table = Operations
	for i := range table {
		table[i].prepare()
	}
}

// Authenticator accepts or refuses credentials; see access.Directory.
type Authenticator interface {
	Resolve(ctx context.Context, p access.Presentation, from netip.Addr, fresh bool) (a *access.Actor, assumed bool, err error)
	Confirm(ctx context.Context, tx db.Tx, a *access.Actor) error
	Used(a *access.Actor, from netip.Addr)
	Forget()
	// Flush writes when credentials were last used.
	Flush(ctx context.Context) error
}

// Options configure an API.
type Options struct {
	DB      db.DB
	Access  Authenticator
	Limiter limit.Limiter
	// Log is the request log. An API that stays pending needs none, and neither
	// DB nor Access.
	Log    *requestlog.Log
	Clock  clock.Clock
	Logger *slog.Logger
	// Versions are the served versions, the oldest first. At least one must not
	// be a candidate.
	Versions []release.Version
	// CursorKey has 32 secret bytes, the same on all replicas.
	CursorKey []byte
	// Answers encrypts stored answers, with the same keys on all replicas.
	Answers masterkey.Vault
	// Services are what nouns need, provided by the instance. An API that stays pending
	// needs none.
	Services []op.ServiceValue
	// BaseURL is the address of the instance for people, if it is known.
	BaseURL string
	// DocsBase is the address of the instance, with /problems/{CODE} and
	// /docs/openapi.json below it.
	DocsBase string
	// MaxCalls bounds concurrent calls; a further one gets 429 OVERLOADED. Zero
	// means 1,024.
	MaxCalls int
	// MaxTransfers bounds the files in transit; a further one gets 429
	// OVERLOADED. Zero means 256. MaxTransfersEach bounds the files of one
	// organization; a further one gets 429 RATE_LIMITED. Zero means 32.
	MaxTransfers, MaxTransfersEach int
	// Transfers, if set, observes files in transit.
	Transfers transit.Observer
	// Observe, if set, is called with every answer.
	Observe func(Observation)
	// Tracer, if set, records calls as spans.
	Tracer *trace.Tracer
}

// Observation is the input of metrics.
type Observation struct {
	// Operation is the operationId, empty if the path is not in the table.
	Operation string
	Status    int
	Code      string
	Duration  time.Duration
}

// API serves the operations of the table. It is safe for concurrent use.
type API struct {
	db         db.DB
	access     Authenticator
	limiter    limit.Limiter
	log        *requestlog.Log
	clock      clock.Clock
	logger     *slog.Logger
	docsBase   string
	challenges map[string]challenges
	observe    func(Observation)
	tracer     *trace.Tracer // nil without tracing
	services   *op.Services
	answers    replay.Vault
	routes     routes
	versions   map[string]*servedVersion
	// internal is the version of kinds of credential without one.
	internal *servedVersion
	// names lists the versions, the oldest first. current is the newest that is
	// not a candidate, and the default.
	names    []string
	current  string
	busy     inFlight
	pending  atomic.Bool
	paused   atomic.Bool
	maxCalls int64
	inFlight atomic.Int64
	lastCall atomic.Int64 // start of the last call, in microseconds
	// declared fills the limit headers while the caller is unknown.
	declared  limit.Decision
	transfers *transit.Counter
	watches   *watch.Hub
}

// New returns an API. It fails if a frozen document cannot be compiled.
func New(o Options) (*API, error) {
	cursors, err := op.NewCursors(o.CursorKey)
	if err != nil {
		return nil, err
	}
	a := &API{
		db: o.DB, access: o.Access, limiter: o.Limiter, log: o.Log, clock: o.Clock, logger: o.Logger,
		docsBase: o.DocsBase, challenges: newChallenges(o.DocsBase), observe: o.Observe, tracer: o.Tracer,
		routes: routesOf(Operations), versions: map[string]*servedVersion{}, answers: replay.Vault{Vault: o.Answers},
	}
	a.services = o.services(a, cursors)
	if missing := a.services.Missing(); o.Log != nil && missing != nil { // it serves programs and people
		return nil, fmt.Errorf("api: nobody provides %s", strings.Join(missing, ", "))
	}
	if err := a.serve(o.Versions); err != nil {
		return nil, err
	}
	a.declared = o.Limiter.Declared(limit.Charge{})
	a.maxCalls = int64(cmp.Or(o.MaxCalls, 1024))
	a.transfers = transit.NewCounter(o.MaxTransfers, o.MaxTransfersEach, o.Transfers, o.Clock.Now)
	a.watches = watch.NewHub(watch.Options{DB: o.DB, Access: o.Access, Clock: o.Clock, Ready: a.Ready, Families: Families})
	return a, nil
}

// services returns what operations need beyond a call: what the instance provides, and what
// the API itself does.
func (o *Options) services(a *API, cursors *op.Cursors) *op.Services {
	all := op.Services{
		Cursors: cursors, Families: Families, Versions: release.Names(o.Versions), DocsBase: o.DocsBase,
		BaseURL: o.BaseURL, Logger: o.Logger,
	}
	own := []op.ServiceValue{
		key.Limits.Is(o.Limiter), documents.Is(a.document), batch.Allowed.Is(a.routes.inBatch),
		// it knows no passkeys, unless the instance provides another one
		signin.Service.Is(signin.NewDesk(o.DB, masterkey.Vault{}, "")),
	}
	if o.DB != nil { // an API that is pending for good has none
		all.Read = o.DB.Read
	}
	if o.Log != nil {
		own = append(own, usage.Flush.Is(o.Log.Flush))
	}
	return all.With(append(own, o.Services...)...)
}

// serve compiles the documents of the versions.
func (a *API) serve(versions []release.Version) error {
	for i, v := range versions {
		document, _ := openapi.Document(v.Name)
		rules, err := rulesOf(v.Name, document)
		if err != nil {
			return fmt.Errorf("api: version %s: %w", v.Name, err)
		}
		successor := ""
		if i+1 < len(versions) {
			successor = versions[i+1].Name
		}
		a.versions[v.Name] = newServedVersion(v, successor, rules, a.docsBase)
		a.names = append(a.names, v.Name)
		if !v.Candidate {
			a.current = v.Name
		}
	}
	if a.current == "" {
		return errors.New("api: no version is current")
	}
	rules, err := rulesOf(release.Internal.Name, openapi.OfSessions())
	if err != nil {
		return fmt.Errorf("api: the internal version: %w", err)
	}
	a.internal = &servedVersion{Version: release.Internal, rules: rules, svcVersion: []string{release.Internal.Name}}
	return nil
}

// compiled has the rules of each document. To compile one takes some ten milliseconds, and
// tests open hundreds of APIs in a process.
var compiled sync.Map // by version; a func() (*schema.Document, error)

// rulesOf returns the rules of a version's document, which the APIs of a process share.
func rulesOf(version string, document []byte) (*schema.Document, error) {
	once, _ := compiled.LoadOrStore(version,
		sync.OnceValues(func() (*schema.Document, error) { return schema.Compile(document, release.First) }))
	return once.(func() (*schema.Document, error))()
}

// document returns the frozen document of a served version. A caller of the
// internal version, which is not shown, gets the current one.
func (a *API) document(version string) ([]byte, bool) {
	if version == release.Internal.Name {
		version = a.current
	}
	if a.versions[version] == nil {
		return nil, false
	}
	return openapi.Document(version)
}

// Pending sets whether every call gets 503 INSTANCE_PENDING, because the
// instance is still starting.
func (a *API) Pending(pending bool) { a.pending.Store(pending) }

// Pause sets whether every call gets 503 API_PAUSED.
func (a *API) Pause(paused bool) { a.paused.Store(paused) }

// pauseRetry is the Retry-After during a pause. The operator ends a pause
// manually, so there is no better estimate. A minute prevents polling at a high
// rate.
const pauseRetry = time.Minute

// pendingRetry is the Retry-After during the start: a migration rarely takes
// longer.
const pendingRetry = time.Second

// callsApart is the longest pause between the calls of a sequential client.
const callsApart = 100 * time.Millisecond

// SSO is what people call the OpenID provider of the instance, empty if it has none.
func (a *API) SSO() string {
	if p := signin.Service.Of(a.services).Provider; p != nil {
		return p.Name()
	}
	return ""
}

// Busy reports whether calls are running, or were a moment ago.
func (a *API) Busy() bool {
	return a.inFlight.Load() > 0 || a.clock.Now().Sub(time.UnixMicro(a.lastCall.Load())) < callsApart
}

// Ready returns the refusal of a request outside the table while the instance
// is not ready or is paused. Calls get the same.
func (a *API) Ready() error {
	if a.pending.Load() {
		return &fault.Fault{Code: fault.InstancePending, RetryAfter: pendingRetry}
	}
	if a.paused.Load() {
		return &fault.Fault{Code: fault.APIPaused, RetryAfter: pauseRetry}
	}
	return nil
}

// Watch tells a person in which families records have changed; see watch.Hub.
func (a *API) Watch(ctx context.Context, who Credential, from netip.Addr, tell func(families []string) error) error {
	return a.watches.Watch(ctx, who, from, tell)
}

// EndWatches ends all watches, also later ones. A process that stops would wait
// for them.
func (a *API) EndWatches() { a.watches.End() }
