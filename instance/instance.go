// Package instance owns one running Kartei: it assembles the parts, starts them in order and stops them in reverse.
package instance

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"kartei/access"
	"kartei/api"
	"kartei/api/op"
	"kartei/api/release"
	"kartei/api/transit"
	"kartei/extract"
	"kartei/extract/filetype"
	"kartei/instance/config"
	"kartei/integration/dispatch"
	"kartei/integration/grant"
	"kartei/integration/limit"
	"kartei/integration/oauth"
	"kartei/integration/requestlog"
	"kartei/integration/webhook"
	"kartei/kit/clock"
	"kartei/kit/egress"
	"kartei/kit/masterkey"
	"kartei/kit/serve"
	"kartei/kit/telemetry"
	"kartei/kit/trace"
	"kartei/people/notify"
	"kartei/people/organization"
	"kartei/people/signin"
	"kartei/people/sso"
	"kartei/record/document"
	"kartei/record/duplicate"
	"kartei/record/search"
	"kartei/record/upload"
	"kartei/store/blob"
	"kartei/store/db"
	"kartei/store/db/move"
	"kartei/store/db/open"
	"kartei/store/db/sqlite"
	"kartei/store/job"
	"kartei/store/replay"
	"kartei/store/schema"
	"kartei/transfer/imports"
	"kartei/transfer/merge"
)

// Config has the settings and dependencies of an instance.
type Config struct {
	Store  config.Store
	Server config.Server
	// Version and Commit are shown in the metrics.
	Version, Commit string
	// Traces are the settings of tracing. The zero value switches tracing off.
	Traces trace.Settings
	// Clock is the source of the time; nil means the system's clock. A nil Logger means
	// slog.Default().
	Clock  clock.Clock
	Logger *slog.Logger
	// Inherited is the public listener if another program has opened it. Then Server.Listen is not
	// used.
	Inherited net.Listener
	// Wait makes Start wait if the database is unavailable (see open.Away). Without it, Start
	// fails.
	Wait bool
	// Reserve reserves disk space beside an SQLite database for the case of a full disk, see
	// sqlite.ReserveSize.
	Reserve bool
}

// Instance is a running Kartei. Its exported fields are for programs that run an instance in their
// own process: the demo, tests and benchmarks.
type Instance struct {
	// Handler serves all requests of the public listener.
	Handler   http.Handler
	API       *api.API
	DB        db.DB
	Directory *access.Directory
	Log       *requestlog.Log
	// Blobs is the store of the files of documents.
	Blobs blob.Store
	// Files is the configuration of operations on files.
	Files  upload.Files
	viewer *extract.Viewer
	// BaseURL is the public URL of the instance, without /v1.
	BaseURL string
	// OperatorURL is the URL of the operator's listener. It is empty if there is no such listener.
	OperatorURL string
	// MasterKeyCreated is true if this start created the master key.
	MasterKeyCreated bool

	config      Config
	clock       clock.Clock
	logger      *slog.Logger
	keys        masterkey.Ring
	metrics     *telemetry.Metrics
	groups      prometheus.Observer
	statements  atomic.Int64 // number of statements that were sent to the database
	logPages    atomic.Int64 // number of pages that were written to SQLite's write-ahead log
	violations  func(directive string)
	limits      *limit.Ledger
	types       filetype.Allowlist
	receiver    *upload.Receiver
	notices     *notify.Center
	jobs        *job.Runner
	guard       *egress.Guard
	tracer      *trace.Tracer // nil without tracing
	sender      *dispatch.Sender
	provider    *sso.Provider    // nil without single sign-on
	documents   *grant.Documents // metadata documents of applications; nil if they are switched off
	dispatcher  *dispatch.Dispatcher
	readiness   telemetry.Readiness
	migrated    atomic.Bool
	away        atomic.Pointer[error] // the reason why the start waits for the database
	files       condition
	dates       condition // fails if the newest change has a date ahead of the clock
	scanner     condition // has no ping if no scanner is configured
	maker       *document.Maker
	extractor   *extract.Extractor
	reader      condition // checked once; fails if the process that reads texts is not confined
	listens     bool
	public      *serve.Server
	operator    *serve.Server
	certificate *serve.Certificate // nil without TLS

	stop   context.CancelFunc // ends the background work
	ground sync.WaitGroup
	failed chan error
	once   sync.Once
	ended  error
}

// Start opens the listeners, opens the database, migrates the database and returns when the
// instance is ready. Until then the operator's listener answers, and the API answers 503
// INSTANCE_PENDING. If Listen or OperatorListen is empty, this listener is not opened. If Start
// returns an error, it has stopped everything. If the error is about a listener, Start has created
// no file.
func Start(ctx context.Context, c Config) (_ *Instance, err error) {
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	i := &Instance{config: c, clock: c.Clock, logger: c.Logger, stop: stop, failed: make(chan error, 4)}
	if i.clock == nil {
		i.clock = clock.System
	}
	if i.logger == nil {
		i.logger = slog.Default()
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, i.Close(ctx))
		}
	}()
	steps := []func(context.Context) error{
		i.bind, i.prepare, i.patient("the database", i.open), i.listen, i.patient("the folder of the files", i.openBlobs), i.wire,
		i.patient("the database", i.migrate),
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	if err := i.run(background); err != nil {
		return nil, err
	}
	return i, nil
}

// bind opens the listeners. Connections wait until listen and wire serve them. bind is the first
// step, so that a start on a port that is taken creates no master key and no database.
func (i *Instance) bind(context.Context) (err error) {
	s := &i.config.Server
	if s.OperatorListen != "" {
		if i.operator, err = serve.Listen(string(s.OperatorListen), operatorBounds(i.logger)); err != nil {
			return fmt.Errorf("--operator-listen: %w", err)
		}
		i.OperatorURL = i.operator.URL()
	}
	i.BaseURL = string(s.BaseURL)
	if s.Listen != "" {
		bounds, err := publicBounds(s, i.clock, i.logger)
		if err != nil {
			return err
		}
		bounds.Inherited = i.config.Inherited
		if i.public, err = serve.Listen(string(s.Listen), bounds); err != nil {
			return fmt.Errorf("--listen: %w", err)
		}
		i.certificate = bounds.Certificate
		if i.BaseURL == "" {
			i.BaseURL = i.public.URL()
		}
	}
	if i.BaseURL == "" {
		i.BaseURL = "http://localhost"
	}
	return nil
}

// prepare creates the data folder, reads the master keys and sets up metrics
// and tracing.
func (i *Instance) prepare(ctx context.Context) (err error) {
	if err := os.MkdirAll(string(i.config.Store.DataDir), 0o700); err != nil {
		return fmt.Errorf("the data folder: %w", err)
	}
	i.keys.Current, i.MasterKeyCreated, err = masterkey.LoadOrCreate(i.config.Server.MasterKey(&i.config.Store))
	if err != nil {
		return err
	}
	if i.keys.Previous, err = previousKeys(i.config.Server.PreviousMasterKeyFiles); err != nil {
		return err
	}
	i.metrics = telemetry.NewMetrics(i.config.Version, i.config.Commit)
	i.groups, i.violations = i.metrics.GroupSizes(), i.metrics.Violations()
	return i.takeTracer(ctx)
}

// open opens the database, and locks an SQLite database.
func (i *Instance) open(ctx context.Context) (err error) {
	reserve := int64(0)
	if i.config.Reserve {
		reserve = sqlite.ReserveSize
	}
	i.DB, err = open.Database(ctx, i.config.Store.Database(), db.Options{
		Clock: i.clock, Logger: i.logger, Traced: i.tracer != nil, Reserve: reserve,
		Grouped: func(writes int) { i.groups.Observe(float64(writes)) },
		Logged:  func(pages int) { i.logPages.Add(int64(pages)) },
		Stated:  func(string) { i.statements.Add(1) },
	})
	return err
}

// listen begins to answer on the operator's listener, but only in its first call.
func (i *Instance) listen(context.Context) error {
	if i.listens {
		return nil
	}
	i.listens = true
	i.readiness.Add("migrations", func(context.Context) error {
		if !i.migrated.Load() {
			return errors.New("the database has not been migrated yet")
		}
		return nil
	})
	i.readiness.Add("database", func(ctx context.Context) error {
		if reason := i.away.Load(); reason != nil {
			return *reason
		}
		return i.DB.Ping(ctx)
	})
	if cert := i.certificate; cert != nil {
		i.metrics.Gauge("kartei_certificate_expiration_timestamp_seconds",
			"End of the certificate that the server shows to clients, in seconds since 1970.",
			func() float64 { return float64(cert.NotAfter().Unix()) })
	}
	if i.operator != nil {
		i.operator.Serve(telemetry.OperatorHandler(i.metrics, &i.readiness))
	}
	i.warnExposed()
	return nil
}

// wire assembles the parts of the instance and begins to serve the API. Until the database is
// migrated, the API answers 503 INSTANCE_PENDING.
func (i *Instance) wire(ctx context.Context) error {
	i.sweepFolder(ctx)
	limits, err := i.config.Server.Limits()
	if err != nil {
		return err
	}
	i.Directory = access.NewDirectory(i.DB, i.clock, accessOptions(&i.config.Store, &i.config.Server))
	if err := i.takeFiles(); err != nil {
		return err
	}
	i.takeDates()
	i.Log = requestlog.New(i.DB, i.clock)
	if i.notices, err = i.center(); err != nil {
		return err
	}
	i.limits = limit.Open(limits, i.clock, limit.Options{
		DB: i.DB, Replica: i.replica(), ServerTime: i.clock == clock.System, Logger: i.logger,
		Alert: i.notices.Alert, Alerted: i.Directory.Forget, // an alert may have paused a key
	})
	if err := i.takeDispatcher(); err != nil {
		return err
	}
	if err := i.takeProvider(); err != nil {
		return err
	}
	i.API, err = i.newAPI(api.Options{
		DB:        i.DB,
		Access:    i.Directory,
		Log:       i.Log,
		Limiter:   countedLimiter{i.limits, i.metrics},
		Transfers: i.metrics.Transfers(transit.Up, transit.Down),
	})
	if err != nil {
		return err
	}
	if i.Handler, err = i.doors(); err != nil {
		return err
	}
	if i.jobs, err = i.runner(); err != nil {
		return err
	}
	i.measure()
	if i.public != nil {
		i.public.Serve(i.Handler)
	}
	return nil
}

// newAPI returns an API in the pending state: it answers all calls with 503 INSTANCE_PENDING.
func (i *Instance) newAPI(o api.Options) (*api.API, error) {
	o.Clock, o.Logger = i.clock, i.logger
	o.MaxCalls = i.config.Server.MaxCalls
	o.Versions = release.VersionsIn(string(i.config.Server.Environment))
	o.CursorKey = i.keys.Current.Derive("cursors")
	o.Answers = i.keys.Vault(replay.Purpose)
	o.DocsBase, o.BaseURL = i.BaseURL, i.BaseURL
	desk := signin.NewDesk(i.DB, i.keys.Vault(signin.SecretsPurpose), i.BaseURL)
	desk.Provider = i.provider
	o.Services = []op.ServiceValue{
		webhook.Service.Is(webhook.Options{Secrets: i.keys.Vault(webhook.SecretsPurpose), Guard: i.guard}),
		upload.Service.Is(i.Files), document.Viewer.Is(i.viewer),
		organization.Retention.Is(time.Duration(i.config.Store.OrganizationRetention)),
		notify.Service.Is(i.notices), notify.Mails.Is(i.config.Server.SMTPURL != ""),
		imports.Secrets.Is(i.keys.Vault(imports.SecretsPurpose)),
		merge.Secrets.Is(i.keys.Vault(merge.SecretsPurpose)), signin.Service.Is(desk),
		oauth.Service.Is(oauth.Options{
			Register: i.config.Server.Registration, Documents: i.documents, Assistants: i.config.Server.MCP,
		}),
	}
	o.MaxTransfers, o.MaxTransfersEach = i.config.Server.MaxTransfers, i.config.Server.MaxTransfersEach
	o.Observe = i.observe()
	o.Tracer = i.tracer
	a, err := api.New(o)
	if err != nil {
		return a, err
	}
	a.Pending(true)
	return a, nil
}

// migrate migrates the database to the schema of this release. It checks the copy, the master key
// and the place of the files. Then it ends the pending state of the API.
func (i *Instance) migrate(ctx context.Context) error {
	began := i.clock.Now()
	if err := i.checkLost(ctx); err != nil {
		return err
	}
	state, err := schema.Migrate(ctx, i.DB)
	if err != nil {
		return err
	}
	if err := move.CheckCopied(ctx, i.DB); err != nil {
		return err
	}
	if err := i.checkMasterKey(ctx); err != nil {
		return err
	}
	if err := i.place().Begin(ctx, watchPatience); err != nil {
		return err
	}
	if err := i.limits.Start(ctx); err != nil {
		return err
	}
	paused, err := isPaused(ctx, i.DB)
	if err != nil {
		return err
	}
	i.API.Pause(paused)
	i.API.Pending(false)
	i.migrated.Store(true)
	i.logger.Info("database ready", "engine", i.DB.Dialect().Name, "schema", state.Version,
		"took", i.clock.Now().Sub(began).Round(time.Millisecond))
	return nil
}

// run starts the background work, which ends with Close.
func (i *Instance) run(ctx context.Context) error {
	if err := i.administer(ctx); err != nil {
		return err
	}
	i.ground.Go(func() {
		i.Directory.Run(ctx, func(err error) {
			if !errors.Is(err, db.ErrUnavailable) { // db.Writes reports this error
				i.logger.Error("last uses not written", "error", err)
			}
		})
	})
	i.ground.Go(func() { i.limits.Run(ctx) })
	i.ground.Go(func() { i.tryWrites(ctx) })
	i.ground.Go(func() { i.sweepBlobs(ctx) })
	i.ground.Go(func() { i.watch(ctx, &i.files) })
	i.ground.Go(func() { i.watch(ctx, &i.dates) })
	if i.scanner.ping != nil {
		i.ground.Go(func() { i.watch(ctx, &i.scanner) })
	}
	i.ground.Go(func() { i.checkReader(ctx) })
	i.ground.Go(func() { i.jobs.Run(ctx) })
	i.ground.Go(func() { i.deliver(ctx) })
	i.ground.Go(func() { search.NewMerger(i.DB, i.clock).Run(ctx) })
	i.ground.Go(func() { search.NewMover(i.DB, i.clock).Run(ctx) })
	i.ground.Go(func() { duplicate.NewFinder(i.DB, i.clock).Run(ctx) })
	if i.DB.Dialect().Name != "sqlite" {
		i.ground.Go(func() { i.follow(ctx) })
	}
	for _, s := range []*serve.Server{i.public, i.operator} {
		if s != nil {
			i.ground.Go(func() { i.report(s.Wait(ctx)) })
		}
	}
	return nil
}

// center returns the Center that notifies people. It sends emails through the configured SMTP
// server. Without such a server, it writes the emails to files.
func (i *Instance) center() (*notify.Center, error) {
	s := &i.config.Server
	o := notify.Options{DB: i.DB, Clock: i.clock, Logger: i.logger, From: string(s.MailFrom),
		PauseExhausted: s.PauseExhausted, Forms: api.NoticeForms(), BaseURL: i.BaseURL,
		Vault: i.keys.Vault(notify.MessagePurpose)}
	base, err := url.Parse(i.BaseURL)
	if err != nil {
		return nil, err
	}
	if o.Host = base.Hostname(); net.ParseIP(o.Host) != nil {
		o.Host = "localhost"
	}
	if o.From == "" {
		o.From = "kartei@" + o.Host
	}
	o.Sender = notify.Files(filepath.Join(string(i.config.Store.DataDir), "mail"))
	if s.SMTPURL != "" {
		if o.Sender, err = notify.NewSMTP(string(s.SMTPURL)); err != nil {
			return nil, err
		}
	}
	return notify.New(o), nil
}

// replica returns the name of this process among the replicas of the database. The name is a hash
// of the host name and the data folder. Only one process at a time uses a data folder.
func (i *Instance) replica() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	dir, err := filepath.Abs(string(i.config.Store.DataDir))
	if err != nil {
		dir = string(i.config.Store.DataDir)
	}
	sum := sha256.Sum256([]byte(host + "\x00" + dir))
	return hex.EncodeToString(sum[:12])
}

// report sends an error to Failed. If the channel is full, the error is dropped.
func (i *Instance) report(err error) {
	if err == nil {
		return
	}
	select {
	case i.failed <- err:
	default:
	}
}

// Reload reads the certificate and its key again, and logs the result. All other settings of the
// instance are in force from the next start on.
func (i *Instance) Reload() {
	if i.certificate == nil {
		i.logger.Info("reload: there is no certificate to read again; other settings need a restart")
		return
	}
	i.logger.Info("reload: the certificate and its key are read again; other settings need a restart")
	i.certificate.Reload()
}

// Failed returns a channel of errors after which a part of the instance no longer works. The
// program that started the instance should then call Close.
func (i *Instance) Failed() <-chan error { return i.failed }

// Close stops the instance. First the instance reports that it is not ready, and accepts calls
// during the drain time. Then Close waits for running calls until ctx ends. Finally it stores
// pending writes and closes the database. A second call returns the result of the first.
func (i *Instance) Close(ctx context.Context) error {
	i.once.Do(func() { i.ended = i.close(ctx) })
	return i.ended
}

func (i *Instance) close(ctx context.Context) error {
	i.readiness.Stop()
	var errs []error
	add := func(what string, err error) {
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", what, err))
		}
	}
	if i.public != nil {
		i.drain(ctx)
		if i.API != nil {
			i.API.EndWatches()
		}
		add("calls in flight", i.public.Shutdown(ctx))
	}
	i.stop()
	i.ground.Wait()
	// The following steps take milliseconds. They get time even if ctx has ended.
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if i.Log != nil {
		add("request log", i.Log.Close(last))
	}
	add("traces", i.tracer.Close(last))
	if i.provider != nil {
		i.provider.Close()
	}
	if i.documents != nil {
		i.documents.Close()
	}
	if i.operator != nil {
		add("operator's listener", i.operator.Shutdown(last))
	}
	if i.viewer != nil {
		i.viewer.Close()
	}
	if i.Blobs != nil {
		add("files of documents", i.Blobs.Close())
	}
	if i.DB != nil {
		add("database", i.DB.Close())
	}
	return errors.Join(errs...)
}

// drain waits for the drain time, or until ctx ends. Meanwhile load balancers notice that this
// instance stops, and new calls are still answered.
func (i *Instance) drain(ctx context.Context) {
	d := time.Duration(i.config.Server.DrainTime)
	if d == 0 || !i.migrated.Load() { // an instance that was never ready gets no traffic
		return
	}
	i.public.Drain()
	select {
	case <-i.clock.After(d):
	case <-ctx.Done():
	}
}
