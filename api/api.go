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

// Families are all families of records: contacts, companies, tasks and documents.
var Families = []op.Family{
	contact.Contacts.Family, company.Companies.Family, task.Tasks.Family, document.Documents.Family,
}

// table is a copy of Operations. The functions that Table refers to cannot use Operations, because
// the initialization would be circular.
var table []Operation

func init() {
	table = Operations
	for i := range table {
		table[i].prepare()
	}
}

// Authenticator accepts or refuses credentials. access.Directory implements and documents it.
type Authenticator interface {
	Resolve(ctx context.Context, p access.Presentation, from netip.Addr, fresh bool) (a *access.Actor, assumed bool, err error)
	Confirm(ctx context.Context, tx db.Tx, a *access.Actor) error
	Used(a *access.Actor, from netip.Addr)
	Forget()
	// Flush writes the times at which credentials were last used to the database.
	Flush(ctx context.Context) error
}

// Options configure an API.
type Options struct {
	DB      db.DB
	Access  Authenticator
	Limiter limit.Limiter
	// Log is the request log. It is nil only for an API that stays pending. Such an API needs no DB
	// and no Access either.
	Log    *requestlog.Log
	Clock  clock.Clock
	Logger *slog.Logger
	// Versions are the served versions of the API, the oldest first. At least one must not be a
	// candidate.
	Versions []release.Version
	// CursorKey is the secret key of cursors, 32 bytes, the same on all replicas.
	CursorKey []byte
	// Answers encrypts the stored responses of calls with an Idempotency-Key. Its keys are the same
	// on all replicas.
	Answers masterkey.Vault
	// Services are the services that operations declare with op.Need. An API that stays pending
	// needs none.
	Services []op.ServiceValue
	// BaseURL is the address of the instance for people. It is empty if it is not known.
	BaseURL string
	// DocsBase is the address of the instance. The paths /problems/{CODE} and /docs/openapi.json
	// are relative to it.
	DocsBase string
	// MaxCalls is the maximum number of concurrent calls. Further calls get 429 OVERLOADED. Zero
	// means 1,024.
	MaxCalls int
	// MaxTransfers is the maximum number of concurrent uploads and downloads of files. Further ones
	// get 429 OVERLOADED. Zero means 256. MaxTransfersEach is the maximum number for one
	// organization. Further ones get 429 RATE_LIMITED. Zero means 32.
	MaxTransfers, MaxTransfersEach int
	// Transfers, if set, observes uploads and downloads.
	Transfers transit.Observer
	// Observe, if set, is called with the result of every call.
	Observe func(Observation)
	// Tracer, if set, records a span for every call.
	Tracer *trace.Tracer
}

// Observation is the result of a call, for the metrics.
type Observation struct {
	// Operation is the id of the operation. It is empty if no operation has the path.
	Operation string
	Status    int
	Code      string
	Duration  time.Duration
}

// API runs the operations of Table. It is safe for concurrent use.
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
	tracer     *trace.Tracer // nil if tracing is off
	services   *op.Services
	answers    replay.Vault
	routes     routes
	versions   map[string]*servedVersion
	// internal is the version for credentials that have no version, such as sessions.
	internal *servedVersion
	// names are the names of the versions, the oldest first. current is the name of the newest
	// version that is not a candidate. It is the default.
	names    []string
	current  string
	busy     inFlight
	pending  atomic.Bool
	paused   atomic.Bool
	maxCalls int64
	inFlight atomic.Int64
	lastCall atomic.Int64 // start of the last call, in microseconds
	// declared has the limits of the headers of calls whose caller is not known.
	declared  limit.Decision
	transfers *transit.Counter
	watches   *watch.Hub
}

// New returns an API. It fails if CursorKey is wrong, if a service is missing, if a frozen document
// cannot be compiled, or if all versions are candidates.
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

// services returns the services of operations: those of the options, and those that the API itself
// provides.
func (o *Options) services(a *API, cursors *op.Cursors) *op.Services {
	all := op.Services{
		Cursors: cursors, Families: Families, Versions: release.Names(o.Versions), DocsBase: o.DocsBase,
		BaseURL: o.BaseURL, Logger: o.Logger,
	}
	own := []op.ServiceValue{
		key.Limits.Is(o.Limiter), documents.Is(a.document), batch.Allowed.Is(a.routes.inBatch),
		// this one cannot verify passkeys; o.Services may replace it
		signin.Service.Is(signin.NewDesk(o.DB, masterkey.Vault{}, "")),
	}
	if o.DB != nil { // an API that stays pending has none
		all.Read = o.DB.Read
	}
	if o.Log != nil {
		own = append(own, usage.Flush.Is(o.Log.Flush))
	}
	return all.With(append(own, o.Services...)...)
}

// serve compiles the documents of the versions and of the internal version.
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

// compiled has the compiled document of each version. Compiling takes about ten milliseconds, and
// tests open hundreds of APIs in one process.
var compiled sync.Map // by version; a func() (*schema.Document, error)

// rulesOf returns the compiled document of a version. All APIs of a process share it.
func rulesOf(version string, document []byte) (*schema.Document, error) {
	once, _ := compiled.LoadOrStore(version,
		sync.OnceValues(func() (*schema.Document, error) { return schema.Compile(document, release.First) }))
	return once.(func() (*schema.Document, error))()
}

// document returns the frozen document of a served version, and false if the version is not served.
// For the internal version, which is not public, it returns the document of the current version.
func (a *API) document(version string) ([]byte, bool) {
	if version == release.Internal.Name {
		version = a.current
	}
	if a.versions[version] == nil {
		return nil, false
	}
	return openapi.Document(version)
}

// Pending sets whether every call gets 503 INSTANCE_PENDING, because the instance is still
// starting.
func (a *API) Pending(pending bool) { a.pending.Store(pending) }

// Pause sets whether every call gets 503 API_PAUSED. Calls of the operator still run.
func (a *API) Pause(paused bool) { a.paused.Store(paused) }

// pauseRetry is the Retry-After during a pause. The operator ends a pause by a command, so a better
// estimate is not possible. A minute prevents polling at a high rate.
const pauseRetry = time.Minute

// pendingRetry is the Retry-After while the instance starts. A migration rarely takes longer.
const pendingRetry = time.Second

// callsApart is the longest time between two calls of a client that sends one call after the other.
const callsApart = 100 * time.Millisecond

// SSO returns the name of the instance's OpenID provider for people. It is empty if the instance
// has no provider.
func (a *API) SSO() string {
	if p := signin.Service.Of(a.services).Provider; p != nil {
		return p.Name()
	}
	return ""
}

// Busy reports whether a call is running, or began less than callsApart ago.
func (a *API) Busy() bool {
	return a.inFlight.Load() > 0 || a.clock.Now().Sub(time.UnixMicro(a.lastCall.Load())) < callsApart
}

// Ready returns the fault of a request while the instance is starting or paused, and nil otherwise.
// Calls of operations get the same fault.
func (a *API) Ready() error {
	if a.pending.Load() {
		return &fault.Fault{Code: fault.InstancePending, RetryAfter: pendingRetry}
	}
	if a.paused.Load() {
		return &fault.Fault{Code: fault.APIPaused, RetryAfter: pauseRetry}
	}
	return nil
}

// Watch calls tell with the families whose records have changed, until ctx is done or the watch
// ends. It returns nil if ctx is done, and otherwise why the watch ended. See watch.Hub.
func (a *API) Watch(ctx context.Context, who Credential, from netip.Addr, tell func(families []string) error) error {
	return a.watches.Watch(ctx, who, from, tell)
}

// EndWatches ends all watches. Watches that begin later end at once. Otherwise a process that stops
// would wait for its watches.
func (a *API) EndWatches() { a.watches.End() }
