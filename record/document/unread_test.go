package document_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"kartei/access"
	"kartei/extract/clamd"
	"kartei/store/blob"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/clamdtest"
	"kartei/test/dbtest"
)

// brokenStore is a store whose files cannot be opened, or cannot be read to the end.
type brokenStore struct {
	blob.Store
	opening error
	reading *readFailure
}

// readFailure is an error of reads beyond the first bytes. The bytes before it suffice to
// identify the type.
type readFailure struct {
	err   error
	whole int64 // number of bytes that can be read
}

func (s brokenStore) Open(ctx context.Context, name string) (blob.Reader, error) {
	r, err := s.Store.Open(ctx, name)
	switch {
	case err != nil:
		return nil, err
	case s.opening != nil:
		r.Close()
		return nil, s.opening
	case s.reading != nil:
		return &brokenReader{r, s.reading, 0}, nil
	}
	return r, nil
}

type brokenReader struct {
	blob.Reader
	*readFailure
	at int64
}

func (r *brokenReader) Seek(offset int64, whence int) (n int64, err error) {
	n, err = r.Reader.Seek(offset, whence)
	r.at = n
	return n, err
}

func (r *brokenReader) Read(p []byte) (int, error) {
	if r.at >= r.whole {
		return 0, r.err
	}
	n, err := r.Reader.Read(p[:min(int64(len(p)), r.whole-r.at)])
	r.at += int64(n)
	return n, err
}

// failed waits for the end of an operation. It checks the code and the detail of its error.
func failed(t *testing.T, c *apitest.Client, accepted *apitest.Answer, code, words string) {
	t.Helper()
	ended := c.Await(accepted)
	problem, _ := ended.JSON()["error"].(map[string]any)
	if detail, _ := problem["detail"].(string); ended.Text("status") != "failed" || problem["code"] != code ||
		!strings.Contains(detail, words) {
		t.Errorf("%s; want %s, %q", ended.Body, code, words)
	}
}

// onceEach returns 0 as the random delay, so that jobs are retried at once.
func onceEach(int64) int64 { return 0 }

// TestUnreadable checks that permanently unreadable bytes end the operation at once with the
// reason, at any step. Other failures of the store are retried before they end the operation.
// None of them counts as an unavailable scanner.
func TestUnreadable(t *testing.T) {
	clean := []byte("Guten Tag\n")
	daemon := clamdtest.Start(t)
	scanner, err := clamd.New(daemon.URL)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		err   error
		words string
		tries int
	}{
		"damaged":     {blob.ErrDamaged, "beschädigt", 1},
		"unknown key": {blob.ErrUnknownKey, "Hauptschlüssel", 1},
		"away":        {blob.ErrUnavailable, "unerwarteter Fehler", 16},
	} {
		for _, where := range []string{"opening", "scan", "scan or refuse"} {
			t.Run(name+" "+where, func(t *testing.T) {
				dbtest.Each(t, func(t *testing.T, d db.DB) {
					tries := new(atomic.Int64)
					o := apitest.New(t, d, apitest.Replicas(1), apitest.Working(func(w *apitest.Workshop) {
						s := brokenStore{Store: w.Maker.Store}
						if err := fmt.Errorf("test: %w", c.err); where == "opening" {
							s.opening = err
						} else {
							s.reading = &readFailure{err, 5}
							w.Maker.Scanner, w.Maker.RefuseUnscanned = scanner, where == "scan or refuse"
						}
						w.Maker.Store, w.Options.Rand = attemptCounter{s, tries}, onceEach
					}))
					m := o.As(access.Member)
					failed(t, m, m.Do("POST", "/documents", map[string]any{
						"uploadId": m.Upload("a.txt", "text/plain", clean),
					}).Want(202), "INTERNAL", c.words)
					if n := int(tries.Load()); n != c.tries {
						t.Errorf("%d tries, want %d", n, c.tries)
					}
					o.Rest()
					if left := o.Stored(); len(left) > 0 {
						t.Errorf("%q is left", left)
					}
				})
			})
		}
	}
}

// attemptCounter is a store that counts the attempts of an operation.
type attemptCounter struct {
	blob.Store
	tries *atomic.Int64
}

func (s attemptCounter) Keep(ctx context.Context, from, to string) error {
	s.tries.Add(1)
	return s.Store.Keep(ctx, from, to)
}

// scannerOf returns a scanner whose server sends the same response for each file.
func scannerOf(t *testing.T, answer string) *clamd.Scanner {
	t.Helper()
	const file = "Guten Tag\n"
	scanner, err := clamd.New(clamdtest.Answer(t, len("zINSTREAM\x00")+4+len(file)+4, answer))
	if err != nil {
		t.Fatal(err)
	}
	return scanner
}

// TestScannerAnswers checks that an error of clamd, or a response of another program, is retried
// like any failure. The operation waits or is refused only if the scanner is unavailable.
func TestScannerAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		answer string
		away   bool
	}{
		"error":    {"stream: Can't allocate memory ERROR\x00", false},
		"nonsense": {"HTTP/1.1 400 Bad Request\r\n\r\n", false},
		"hangs up": {"", true},
	} {
		for _, refuse := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " refuse ", refuse), func(t *testing.T) {
				dbtest.Each(t, func(t *testing.T, d db.DB) {
					scanner, tries := scannerOf(t, c.answer), new(atomic.Int64)
					o := apitest.New(t, d, apitest.Replicas(1), apitest.Working(func(w *apitest.Workshop) {
						w.Maker.Scanner, w.Maker.RefuseUnscanned = scanner, refuse
						w.Maker.Store, w.Options.Rand = attemptCounter{w.Maker.Store, tries}, onceEach
					}))
					m := o.As(access.Member)
					accepted := m.Do("POST", "/documents", map[string]any{
						"uploadId": m.Upload("a.txt", "text/plain", []byte("Guten Tag\n")),
					}).Want(202)
					want := 1
					switch {
					case c.away && refuse:
						failed(t, m, accepted, "UPSTREAM", "Schadsoftware")
					case c.away:
						for range 20 { // more often than the attempts for any other failure
							o.Rest()
							o.Clock.Advance(31 * time.Second)
						}
						o.Rest()
						if a := m.Do("GET", "/operations/"+accepted.Text("id"), nil).Want(200); a.Text("status") != "running" {
							t.Errorf("%s", a.Body)
						}
						if n := tries.Load(); n <= 16 {
							t.Errorf("asked %d times only", n)
						}
						return
					default:
						failed(t, m, accepted, "INTERNAL", "unerwarteter Fehler")
						want = 16
					}
					if n := int(tries.Load()); n != want {
						t.Errorf("%d tries, want %d", n, want)
					}
				})
			})
		}
	}
}

// stoppedScanner is a scanner that blocks on its first file until the process shuts down.
type stoppedScanner struct {
	came chan struct{}
	once sync.Once
}

func (s *stoppedScanner) Scan(ctx context.Context, _ io.Reader) (string, error) {
	first := false
	s.once.Do(func() { first = true })
	if !first {
		return "", nil
	}
	close(s.came)
	<-ctx.Done()
	return "", fmt.Errorf("%w: the connection was closed", clamd.ErrAway)
}

// TestStopInScan checks that a process which shuts down during a scan releases the operation. The
// next process continues the operation at once.
func TestStopInScan(t *testing.T) {
	for _, refuse := range []bool{false, true} {
		dbtest.Each(t, func(t *testing.T, d db.DB) {
			s := &stoppedScanner{came: make(chan struct{})}
			o := apitest.New(t, d, apitest.Replicas(1), apitest.Working(func(w *apitest.Workshop) {
				w.Maker.Scanner, w.Maker.RefuseUnscanned = s, refuse
			}))
			c := o.As(access.Member)
			accepted := c.Do("POST", "/documents", map[string]any{
				"uploadId": c.Upload("a.txt", "text/plain", []byte("Guten Tag\n")),
			}).Want(202)
			<-s.came
			o.Restart()
			want(t, c.Await(accepted), map[string]any{"status": "succeeded"})
		})
	}
}
