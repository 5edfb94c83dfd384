package apitest

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"slices"
	"sync"
	"time"

	"kartei/api"
	"kartei/api/op"
	"kartei/extract"
	"kartei/extract/filetype"
	"kartei/integration/webhook"
	"kartei/kit/clock"
	"kartei/kit/masterkey"
	"kartei/people/notify"
	"kartei/people/offboarding"
	"kartei/record/document"
	"kartei/record/upload"
	"kartei/store/blob"
	"kartei/store/db"
	"kartei/store/job"
	"kartei/test/waittest"
	"kartei/transfer/bulk"
	"kartei/transfer/imports"
	"kartei/transfer/merge"
	"kartei/transfer/process"
)

// MaxFile is the maximum size of a file in an office, in bytes.
const MaxFile = 1 << 20

// MaxStaged is the maximum sum of the announced sizes of an office's open uploads, in bytes.
const MaxStaged = 64 << 20

// BaseURL is the base URL of all offices.
const BaseURL = "https://kartei.example"

// depot holds the blob store of a database, and the signal for the ends of its jobs. Offices on the
// same database share its job queue, so they share the depot too.
type depot struct {
	store  *blob.Local
	folder string
	worked *signal
}

var depots sync.Map // maps a db.DB to its *depot

// files opens the blob store of the office.
func (o *Office) files() {
	o.Helper()
	if p, known := depots.Load(o.DB); known {
		o.Store, o.Folder, o.worked = p.(*depot).store, p.(*depot).folder, p.(*depot).worked
		return
	}
	key, _, err := masterkey.LoadOrCreate(o.TempDir() + "/master.key")
	if err != nil {
		o.Fatal(err)
	}
	o.Folder = o.TempDir()
	store, err := blob.NewLocal(o.Folder, blob.LocalOptions{Keys: masterkey.Ring{Current: key}, BaseURL: BaseURL})
	if err != nil {
		o.Fatal(err)
	}
	o.Store, o.worked = store, newSignal()
	d := o.DB
	depots.Store(d, &depot{o.Store, o.Folder, o.worked})
	o.Cleanup(func() {
		depots.Delete(d)
		store.Close()
	})
}

// blobs returns the blob store that the API and the jobs of the office use.
func (o *Office) blobs() blob.Store {
	if o.options.stored != nil {
		return o.options.stored(o.Store)
	}
	return o.Store
}

// Stored makes an office use the blob store that wrap returns.
func Stored(wrap func(blob.Store) blob.Store) Option { return func(o *options) { o.stored = wrap } }

// Workshop has the parts that run an office's jobs.
type Workshop struct {
	DB       db.DB
	Maker    *document.Maker
	Receiver *upload.Receiver
	Options  job.Options
}

// Working makes an office call change on the parts that run its jobs, before the jobs start.
func Working(change func(*Workshop)) Option { return func(o *options) { o.working = change } }

// fileOptions returns the options of the API for files.
func (o *Office) fileOptions() upload.Files {
	return upload.Files{
		Store: o.blobs(), MaxSize: MaxFile, MaxStaged: MaxStaged, Declared: filetype.Allow().Declared,
		Types: filetype.Allow().Names(),
	}
}

// viewer returns the document viewer of the office. It is closed when the test ends.
func (o *Office) viewer() *extract.Viewer {
	viewer := o.extractor().NewViewer()
	o.Cleanup(viewer.Close)
	return viewer
}

// extractor returns the text extractor of the office.
func (o *Office) extractor() *extract.Extractor {
	o.Helper()
	x, err := extract.New(o.options.texts)
	if err != nil {
		o.Fatal(err)
	}
	return x
}

// Texts sets the options for the extraction of texts and the rendering of pages.
func Texts(x extract.Options) Option { return func(o *options) { o.texts = x } }

// work runs the jobs of the office until the test ends.
func (o *Office) work() {
	o.Helper()
	logger := slog.New(slog.NewTextHandler(o.Logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
	w := &Workshop{
		DB: o.DB,
		Maker: &document.Maker{
			Clock: o.Clock, Store: o.blobs(), Types: filetype.Allow(), Extractor: o.extractor(), Families: api.Families,
			Logger: logger,
		},
		Receiver: o.receiver(),
		Options:  job.Options{Logger: logger, Observe: func(string, string, time.Duration) { o.worked.tell() }},
	}
	if o.options.working != nil {
		o.options.working(w)
	}
	worker := process.Worker{DB: w.DB, Clock: o.Clock, Services: &op.Services{Families: api.Families}}
	teller := process.Worker{DB: w.DB, Clock: o.Clock, Services: worker.Services.With(notify.Service.Is(o.Notices()))}
	runner := job.NewRunner(w.DB, o.Clock, slices.Concat(w.Maker.Handlers(), w.Receiver.Handlers(),
		webhook.Eraser{Clock: o.Clock}.Handlers(),
		(&webhook.Resender{DB: w.DB, Clock: o.Clock, Families: api.Families}).Handlers(),
		(&bulk.Worker{Worker: teller}).Handlers(), (&merge.Worker{Worker: worker}).Handlers(),
		(&imports.Worker{
			Worker: worker, Secrets: Keys.Vault(imports.SecretsPurpose), Decode: o.API.DecodeBody,
			Extractor: w.Maker.Extractor,
		}).Handlers(),
		(&offboarding.Worker{Worker: worker}).Handlers()), w.Options)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		runner.Run(ctx)
	}()
	o.stopWork = func() {
		stop()
		<-ended
	}
	o.Cleanup(o.stopWork)
}

// Restart stops the job workers of the office, as the end of a process does, and starts new ones.
func (o *Office) Restart() {
	o.Helper()
	o.stopWork()
	o.work()
}

// Uploads returns the receiver of files for upload sessions.
func (o *Office) Uploads() *api.Uploads { return &api.Uploads{API: o.API, Receiver: o.receiver()} }

func (o *Office) receiver() *upload.Receiver {
	return &upload.Receiver{DB: o.DB, Clock: o.Clock, Store: o.blobs(), Access: o.Directory, Addresses: o.Store}
}

// Put sends a file to the URL of an upload session.
func (c *Client) Put(session *Answer, file []byte) *Answer {
	c.Helper()
	s := session.JSON()
	r := httptest.NewRequest(s["method"].(string), s["url"].(string), bytes.NewReader(file))
	for name, value := range s["headers"].(map[string]any) {
		r.Header.Set(name, value.(string))
	}
	w := httptest.NewRecorder()
	c.Handler.ServeHTTP(w, r)
	return &Answer{c.TB, w.Code, w.Result().Header, w.Body.Bytes(), c.Logged}
}

// Upload opens an upload session for a file and sends the file. It returns the id of the session.
func (c *Client) Upload(name, contentType string, file []byte) string {
	c.Helper()
	session := c.Do("POST", "/uploads", map[string]any{
		"fileName": name, "contentType": contentType, "size": len(file),
	}).Want(201)
	c.Put(session, file).Want(204)
	return session.Text("id")
}

// Await waits until the operation of a 202 response has ended. It returns the response with the
// ended operation.
func (c *Client) Await(accepted *Answer) *Answer {
	c.Helper()
	for {
		ended := c.worked.wait()
		a := c.Do("GET", "/operations/"+accepted.Text("id"), nil).Want(200)
		if s := a.Text("status"); s == "succeeded" || s == "failed" {
			return a
		}
		select {
		case <-ended:
		case <-time.After(waittest.Bound):
			c.Fatalf("the operation does not end: %s", a.Body)
		}
	}
}

// Rest waits until no job is running or due. Then all effects of earlier calls are complete.
func (o *Office) Rest() {
	o.Helper()
	for watch, ends := waittest.New(), 0; ; ends++ {
		ended := o.worked.wait()
		var open int64
		err := o.DB.Read(context.Background(), func(tx db.Tx) error {
			return tx.QueryRow(context.Background(),
				"select count(*) from jobs where state = 'running' or state = 'waiting' and due_at <= $1",
				clock.Now(o.Clock)).Scan(&open)
		})
		if err != nil {
			o.Fatal(err)
		}
		if open == 0 {
			return
		}
		select {
		case <-ended:
		case <-watch.Stuck(ends):
			o.Fatalf("%d jobs do not end: %s\n%s", open, o.openJobs(), o.Logged)
		}
	}
}

// openJobs describes the jobs that Rest waits for.
func (o *Office) openJobs() string {
	var list []string
	err := o.DB.Read(context.Background(), func(tx db.Tx) (err error) {
		list, err = db.List(context.Background(), tx, func(row db.Row) (string, error) {
			var kind, state, text string
			var organization, claim, attempt, due, turn int64
			err := row.Scan(&organization, &kind, &state, &claim, &attempt, &due, &turn, &text)
			now := int64(clock.Now(o.Clock))
			return fmt.Sprintf("%s of %d %s, claim %d, attempt %d, due in %d µs, turn in %d µs, %q", kind, organization,
				state, claim, attempt, due-now, turn-now, text), err
		}, `select j.organization, j.kind, j.state, j.claim, j.attempt, j.due_at, t.due_at, j.error from jobs as j join job_turns as t on t.organization = j.organization
			where j.state = 'running' or j.state = 'waiting' and j.due_at <= $1`, clock.Now(o.Clock))
		return err
	})
	return fmt.Sprint(list, err)
}

// Ended returns a channel that is closed when the next job ends. To wait for
// the effect of a job, call Ended before checking for it.
func (o *Office) Ended() <-chan struct{} { return o.worked.wait() }

// Stored returns the names of all stored files of the office, in order.
func (o *Office) Stored() (names []string) {
	o.Helper()
	for info, err := range o.Store.List(context.Background(), "") {
		if err != nil {
			o.Fatal(err)
		}
		names = append(names, info.Name)
	}
	slices.Sort(names)
	return names
}

// Document uploads a file and creates a document with it. members are further members of the
// document. Document returns the id of the document.
func (c *Client) Document(name, contentType string, file []byte, members ...map[string]any) string {
	c.Helper()
	body := map[string]any{"uploadId": c.Upload(name, contentType, file)}
	for _, more := range members {
		for k, v := range more {
			body[k] = v
		}
	}
	ended := c.Await(c.Do("POST", "/documents", body).Want(202))
	result, made := ended.JSON()["result"].(map[string]any)
	if !made {
		c.Fatalf("no document: %s", ended.Body)
	}
	return result["id"].(string)
}

// signal wakes all goroutines that wait for an event.
type signal struct{ next chan chan struct{} }

func newSignal() *signal {
	s := &signal{make(chan chan struct{}, 1)}
	s.next <- make(chan struct{})
	return s
}

// wait returns a channel that is closed at the next event.
func (s *signal) wait() <-chan struct{} {
	c := <-s.next
	s.next <- c
	return c
}

func (s *signal) tell() {
	close(<-s.next)
	s.next <- make(chan struct{})
}
