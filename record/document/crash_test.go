package document_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"kartei/access"
	"kartei/kit/clock"
	"kartei/store/blob"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/test/seed"
	"kartei/test/waittest"

	"pgregory.net/rapid"
)

// faults ends an attempt of a job at one of its steps. A step is a call of the store or a
// transaction of the database.
type faults struct {
	mu   sync.Mutex
	step int // number of steps until the one that ends the attempt, or 0 for none
	how  string
	hit  bool
	dead int // number of lines in the log about job ends that could not be stored
}

// ways are the ways to end an attempt at a step: before its effect, after it, or with a panic.
var ways = []string{"before", "after", "panic"}

var errStep = errors.New("test: the attempt ends here")

// arm chooses the step that ends the attempt. step is counted from the next step on, and 0
// chooses none. how is one of ways.
func (f *faults) arm(step int, how string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.step, f.how, f.hit = step, how, false
}

// reached reports whether the chosen step was reached.
func (f *faults) reached() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.hit
}

// through runs do as one step. If arm chose this step, through ends the attempt
// before the step, after it, or with a panic.
func (f *faults) through(do func() error) error {
	f.mu.Lock()
	how := ""
	if f.step > 0 {
		if f.step--; f.step == 0 {
			how, f.hit = f.how, true
		}
	}
	f.mu.Unlock()
	switch how {
	case "before":
		return errStep
	case "panic":
		panic(errStep)
	}
	if err := do(); err != nil || how == "" {
		return err
	}
	return errStep
}

// recovering is through with an error in place of a panic. It is for goroutines outside of the
// worker, which do not recover from a panic.
func (f *faults) recovering(do func() error) (err error) {
	defer func() {
		if recover() != nil {
			err = errStep
		}
	}()
	return f.through(do)
}

// faultyStore is the store of the workers. Each call is a step of its faults.
type faultyStore struct {
	blob.Store
	*faults
}

func (s faultyStore) Keep(ctx context.Context, from, to string) error {
	return s.through(func() error { return s.Store.Keep(ctx, from, to) })
}

func (s faultyStore) Delete(ctx context.Context, name string) error {
	return s.through(func() error { return s.Store.Delete(ctx, name) })
}

func (s faultyStore) Stat(ctx context.Context, name string) (info blob.Info, err error) {
	err = s.through(func() (err error) { info, err = s.Store.Stat(ctx, name); return err })
	return info, err
}

func (s faultyStore) Open(ctx context.Context, name string) (r blob.Reader, err error) {
	err = s.through(func() (err error) { r, err = s.Store.Open(ctx, name); return err })
	if err != nil {
		return nil, err
	}
	return faultyReader{r, s.faults}, nil
}

type faultyReader struct {
	blob.Reader
	*faults
}

func (r faultyReader) Read(p []byte) (n int, err error) {
	err = r.recovering(func() (err error) { n, err = r.Reader.Read(p); return err })
	return n, err
}

func (r faultyReader) ReadAt(p []byte, off int64) (n int, err error) {
	err = r.recovering(func() (err error) { n, err = r.Reader.ReadAt(p, off); return err })
	return n, err
}

var _ io.ReaderAt = faultyReader{}

// faultyDB is the database of the workers. Each transaction is a step of its faults. It fails, or
// its commit is reported as failed.
type faultyDB struct {
	db.DB
	*faults
}

func (d faultyDB) WriteIn(ctx context.Context, organization int64, f func(db.Tx) error) error {
	if organization == 0 {
		return d.DB.WriteIn(ctx, organization, f)
	}
	return d.recovering(func() error { return d.DB.WriteIn(ctx, organization, f) })
}

// faulty returns an office whose workers meet the faults.
func faulty(t testing.TB, d db.DB) (*apitest.Office, *faults) {
	f := new(faults)
	return apitest.New(t, d, apitest.Replicas(1), apitest.Working(func(w *apitest.Workshop) {
		w.DB, w.Maker.Store = faultyDB{w.DB, f}, faultyStore{w.Maker.Store, f}
		w.Receiver.Store = faultyStore{w.Receiver.Store, f}
		w.Options.Rand = func(int64) int64 { return 0 } // jobs are retried at once
	})), f
}

// rested waits until all jobs are done, except jobs that expire upload sessions. It advances the
// clock to the next due job. If the end of a job could not be stored, it advances the clock to
// the end of that job's lease.
func (f *faults) rested(o *apitest.Office) {
	o.Helper()
	for watch, ends := waittest.New(), 0; ; ends++ {
		ended := o.Ended()
		dead := strings.Count(o.Logged.String(), "the end of a job could not be stored")
		var open int64
		var due, lease clock.Micros
		err := o.DB.Read(context.Background(), func(tx db.Tx) error {
			return tx.QueryRow(context.Background(),
				`select count(*), coalesce(min(case when state = 'waiting' then due_at end), 0), coalesce(max(case when state = 'running' then due_at end), 0)
				from jobs where kind <> 'uploads.expire' or state = 'running' or due_at <= $1`, clock.Now(o.Clock)).Scan(&open,
				&due, &lease)
		})
		switch next := max(0, due.Sub(clock.Now(o.Clock)), lease.Sub(clock.Now(o.Clock))); {
		case err != nil:
			o.Fatal(err)
		case open == 0:
			return
		case lease == 0 || dead > f.dead:
			f.dead = dead
			o.Clock.Advance(next)
		}
		select {
		case <-ended:
		case <-watch.Stuck(ends):
			o.Fatalf("%d jobs do not end\n%s", open, o.Logged)
		}
	}
}

// TestEveryStep interrupts an operation at each of its steps and at each step of its cleanup, once
// for each kind of interruption. It checks that the next attempt has the same result, and that the
// result is reported once.
func TestEveryStep(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o, f := faulty(t, d)
		c := o.As(access.Member)
		ends := func(id string, status string) map[string]any {
			t.Helper()
			f.rested(o)
			op := c.Do("GET", "/operations/"+id, nil).Want(200)
			want(t, op, map[string]any{"status": status, "progress": 100.0})
			told := 0
			for _, e := range c.Do("GET", "/events?limit=100", nil).Want(200).Data() {
				if e["data"].(map[string]any)["id"] == id {
					told++
				}
			}
			if told != 1 {
				t.Errorf("the end of %s was reported %d times", id, told)
			}
			return op.JSON()
		}
		steps := 0
		for _, how := range ways {
			for step := 1; ; step++ {
				at := fmt.Sprint(how, " step ", step)
				good, bad := []byte("Guten Tag, "+at+"\n"), []byte("MZ\x90\x00\x03\x00\x00\x00\x04\x00\x00\x00")
				f.arm(0, "")
				uploads := []string{c.Upload("a.txt", "text/plain", good), c.Upload("b.txt", "text/plain", bad)}
				f.arm(step, how)
				made := c.Do("POST", "/documents", map[string]any{"uploadId": uploads[0]}).Want(202).Text("id")
				id := ends(made, "succeeded")["result"].(map[string]any)["id"].(string)
				first := f.reached()
				f.arm(step, how)
				refused := c.Do("POST", "/documents", map[string]any{"uploadId": uploads[1]}).Want(202).Text("id")
				ends(refused, "failed")
				second := f.reached()
				f.arm(0, "")
				if a := download(c, id).Want(200); string(a.Body) != string(good) {
					t.Errorf("%s: %q", at, a.Body)
				}
				if found := c.Do("GET", "/documents?q="+how, nil).Want(200).Data(); len(found) != 1 {
					t.Errorf("%s: its text finds %d documents", at, len(found))
				}
				if names := o.Stored(); len(names) != 1 || !strings.HasSuffix(names[0], id) {
					t.Errorf("%s: %q is stored, the document is %s", at, names, id)
				}
				f.arm(step, how)
				c.Do("DELETE", "/documents/"+id, nil, "If-Match", "*").Want(204)
				f.rested(o)
				if names := o.Stored(); len(names) != 0 {
					t.Errorf("%s: %q is left", at, names)
				}
				if t.Failed() {
					t.Fatalf("%s\n%s", at, o.Logged)
				}
				if !first && !second {
					break
				}
				steps++
			}
		}
		if steps < 3*8 {
			t.Errorf("only %d steps were tried", steps)
		}
		t.Logf("%d steps", steps)
	})
}

// TestEveryStepOfTheEnd ends an attempt at each step of an upload session's expiry, in each way.
// The steps include the second check three hours later. Afterwards, the session has no row and no
// bytes. At no time are there bytes without a session.
func TestEveryStepOfTheEnd(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o, f := faulty(t, d)
		c := o.As(access.Member)
		steps := 0
		for _, how := range ways {
			for step := 1; ; step++ {
				c.Key = o.Key(c.Principal) // API keys expire after 30 days
				c.Upload("a.txt", "text/plain", []byte("Guten Tag\n"))
				met := 0
				for _, later := range []time.Duration{25 * time.Hour, 4 * time.Hour} {
					f.arm(step, how)
					o.Clock.Advance(later)
					f.rested(o)
					if f.reached() {
						met++
					}
					if left, rows := o.Stored(), sessionsOf(o); int64(len(left)) > rows {
						t.Errorf("%s step %d, after %s: %q of %d sessions", how, step, later, left, rows)
					}
				}
				f.arm(0, "")
				if left, rows := o.Stored(), sessionsOf(o); len(left) > 0 || rows > 0 {
					t.Fatalf("%s step %d: %q and %d sessions are left\n%s", how, step, left, rows, o.Logged)
				}
				if met == 0 {
					break
				}
				steps += met
			}
		}
		if steps < 3*6 {
			t.Errorf("only %d steps were tried", steps)
		}
		t.Logf("%d steps", steps)
	})
}

// sessionsOf returns the number of upload sessions.
func sessionsOf(o *apitest.Office) (n int64) {
	o.Helper()
	err := o.DB.Read(context.Background(), func(tx db.Tx) error {
		return tx.QueryRow(context.Background(), "select count(*) from uploads").Scan(&n)
	})
	if err != nil {
		o.Fatal(err)
	}
	return n
}

// officeModel has an office for random calls with faults at any step. It also has the documents
// and files that the office should have.
type officeModel struct {
	*faults
	office *apitest.Office
	client *apitest.Client

	files, made, ends int // counts over all runs: sessions, documents, and expiries of sessions that met a fault

	sessions   []*modelSession   // sessions from which no document was made
	documents  map[string]string // content of each document by its id
	operations map[string]string // expected content by the id of the operation, or "" if it must fail
}

// modelSession is an upload session in the model.
type modelSession struct {
	answer *apitest.Answer
	file   []byte
	sent   bool
}

// TestModel makes random calls with faults at any step. At the end, there is one file for each
// document, with its bytes, and no open job.
func TestModel(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o, f := faulty(t, d)
		m := &officeModel{faults: f, office: o, client: o.As(access.Member)}
		seed.Check(t, func(t *rapid.T) {
			m.sessions, m.documents, m.operations = nil, map[string]string{}, map[string]string{}
			m.whole(t)
			t.Repeat(map[string]func(*rapid.T){
				"open": m.open, "send": m.send, "make": m.makes, "settle": m.settle, "delete": m.deletes, "": m.intact,
			})
			m.settle(t)
			m.complete(t)
			m.clear(t)
		})
		if m.ends == 0 {
			t.Error("no end of sessions met a fault")
		}
		t.Logf("%d sessions, %d documents", m.files, m.made)
	})
}

// whole sends a valid file and makes a document from it, so that each run has at least one
// document.
func (m *officeModel) whole(t *rapid.T) {
	m.files++
	s := &modelSession{file: fmt.Appendf(nil, "Datei %d\n", m.files)}
	s.answer = m.client.Do("POST", "/uploads", session("a.txt", s.file)).Want(201)
	m.client.Put(s.answer, s.file).Want(204)
	m.operations[m.client.Do("POST", "/documents",
		map[string]any{"uploadId": s.answer.Text("id")}).Want(202).Text("id")] = string(s.file)
	m.settle(t)
}

// open begins an upload session for a valid or an executable file.
func (m *officeModel) open(t *rapid.T) {
	m.files++
	file := fmt.Appendf(nil, "Datei %d\n", m.files)
	if rapid.Bool().Draw(t, "bad") {
		file = fmt.Appendf(nil, "MZ\x90\x00\x03\x00\x00\x00%d", m.files)
	}
	body := session("a.txt", file)
	if rapid.Bool().Draw(t, "hash") {
		body["sha256"] = sum(file)
	}
	m.sessions = append(m.sessions, &modelSession{answer: m.client.Do("POST", "/uploads", body).Want(201), file: file})
}

// send sends the bytes of a session, sometimes too many or too few.
func (m *officeModel) send(t *rapid.T) {
	if len(m.sessions) == 0 {
		t.Skip()
	}
	s := rapid.SampledFrom(m.sessions).Draw(t, "session")
	cut := len(s.file)
	if rapid.IntRange(0, 3).Draw(t, "cut") == 3 {
		cut = rapid.IntRange(0, len(s.file)+1).Draw(t, "bytes")
	}
	a := m.client.Put(s.answer, append(slices.Clone(s.file), 'x')[:cut])
	if (a.Status == 204) != (cut == len(s.file)) {
		t.Fatalf("%d of %d bytes: %d %s", cut, len(s.file), a.Status, a.Body)
	}
	s.sent = s.sent || a.Status == 204
}

// makes begins an operation that makes a document. One of the operation's attempts may meet a
// fault.
func (m *officeModel) makes(t *rapid.T) {
	if len(m.sessions) == 0 {
		t.Skip()
	}
	i := rapid.IntRange(0, len(m.sessions)-1).Draw(t, "session")
	s := m.sessions[i]
	m.arm(rapid.IntRange(0, 14).Draw(t, "step"), rapid.SampledFrom(ways).Draw(t, "how"))
	a := m.client.Do("POST", "/documents", map[string]any{"uploadId": s.answer.Text("id")})
	if (a.Status == 202) != s.sent {
		t.Fatalf("sent %t: %d %s", s.sent, a.Status, a.Body)
	}
	if !s.sent {
		return
	}
	m.operations[a.Text("id")] = ""
	if !strings.HasPrefix(string(s.file), "MZ") {
		m.operations[a.Text("id")] = string(s.file)
	}
	m.sessions = slices.Delete(m.sessions, i, i+1)
}

// settle waits for all operations and checks their results.
func (m *officeModel) settle(t *rapid.T) {
	m.rested(m.office)
	for id, content := range m.operations {
		op := m.client.Do("GET", "/operations/"+id, nil).Want(200)
		switch result, _ := op.JSON()["result"].(map[string]any); {
		case content == "" && op.Text("status") != "failed", content != "" && op.Text("status") != "succeeded":
			t.Fatalf("%q: %s", content, op.Body)
		case content != "":
			m.documents[result["id"].(string)] = content
			m.made++
		}
	}
	clear(m.operations)
}

// deletes deletes a document. One attempt to delete its file may meet a fault.
func (m *officeModel) deletes(t *rapid.T) {
	m.settle(t)
	if len(m.documents) == 0 {
		t.Skip()
	}
	id := rapid.SampledFrom(slices.Sorted(maps.Keys(m.documents))).Draw(t, "document")
	m.arm(rapid.IntRange(0, 5).Draw(t, "step"), rapid.SampledFrom(ways).Draw(t, "how"))
	m.client.Do("DELETE", "/documents/"+id, nil, "If-Match", "*").Want(204)
	delete(m.documents, id)
}

// intact checks the bytes of all documents.
func (m *officeModel) intact(t *rapid.T) {
	for id, content := range m.documents {
		if a := download(m.client, id).Want(200); string(a.Body) != content {
			t.Fatalf("%s is %q, was %q", id, a.Body, content)
		}
	}
}

// complete checks that the store has exactly the files of the documents and sessions.
func (m *officeModel) complete(t *rapid.T) {
	staged := 0
	for _, s := range m.sessions {
		if s.sent {
			staged++
		}
	}
	files := 0
	for _, name := range m.office.Stored() {
		if !strings.HasPrefix(name, "files/") {
			staged--
			continue
		}
		files++
		if _, known := m.documents[name[strings.LastIndex(name, "/")+1:]]; !known {
			t.Fatalf("%s is nobody's", name)
		}
	}
	if files != len(m.documents) || staged != 0 {
		t.Fatalf("%d files of %d documents, %d staged too few", files, len(m.documents), staged)
	}
}

// clear deletes the documents and lets the sessions expire, so that the next run begins with an
// empty office. It also waits for the second check of each session.
func (m *officeModel) clear(t *rapid.T) {
	for id := range m.documents {
		m.client.Do("DELETE", "/documents/"+id, nil, "If-Match", "*").Want(204)
	}
	m.rested(m.office)
	for _, later := range []time.Duration{25 * time.Hour, 4 * time.Hour} {
		m.arm(rapid.IntRange(0, 8).Draw(t, "step"), rapid.SampledFrom(ways).Draw(t, "how"))
		m.office.Clock.Advance(later)
		m.rested(m.office)
		if m.reached() {
			m.ends++
		}
	}
	m.arm(0, "")
	m.client.Key = m.office.Key(m.client.Principal) // API keys expire after 30 days
	if left, rows := m.office.Stored(), sessionsOf(m.office); len(left) > 0 || rows > 0 {
		t.Fatalf("%q and %d sessions are left", left, rows)
	}
}
