package documents

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"kartei/bench/data"
	"kartei/bench/measure"
	"kartei/bench/report"
	"kartei/store/db"
)

// transferSize is the size of the transferred files: 100 MiB.
const transferSize = 100 << 20

// file returns the content of an uploaded file. The content cannot be compressed.
func file() io.Reader { return io.LimitReader(rand.NewChaCha8([32]byte{7}), transferSize) }

// ServeCopies is the baseline process for uploads and downloads. It copies a request to a file, or
// a file to the response, and computes the SHA-256. It writes its address to out, and ends when in
// ends.
func ServeCopies(in io.Reader, out io.Writer) error {
	var dir string
	decoder := json.NewDecoder(in)
	if err := decoder.Decode(&dir); err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := copyOver(dir, w, r); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	}))
	if err := json.NewEncoder(out).Encode(l.Addr().String()); err != nil {
		return err
	}
	if err := decoder.Decode(&dir); !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

func copyOver(dir string, w http.ResponseWriter, r *http.Request) (err error) {
	path := filepath.Join(dir, "copied")
	sum, buffer := sha256.New(), make([]byte, 64<<10)
	if r.Method == http.MethodGet {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		w.Header().Set("Content-Length", fmt.Sprint(transferSize))
		_, err = io.CopyBuffer(struct{ io.Writer }{w}, struct{ io.Reader }{io.TeeReader(f, sum)}, buffer)
		return err
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := io.CopyBuffer(struct{ io.Writer }{f}, struct{ io.Reader }{io.TeeReader(r.Body, sum)},
		buffer); err != nil {
		return err
	}
	return f.Sync()
}

// desk opens an office without records, for transfers.
func desk(ctx context.Context, b *measure.Bench) (*measure.Place, error) {
	dir, err := os.MkdirTemp(b.Data, "run-")
	if err != nil {
		return nil, err
	}
	o := &data.Office{Dir: dir, URL: data.Database(dir)}
	b.RemoveLater(o)
	d, f, err := data.Found(ctx, o.URL, db.Options{})
	if err != nil {
		return nil, err
	}
	o.Key = f.Key
	if err := d.Close(); err != nil {
		return nil, err
	}
	return b.Open(ctx, o)
}

// session is the response of POST /uploads.
type session struct {
	ID, URL string
	Headers map[string]string
}

func newSession(p *measure.Place, name, kind string, size int64) (s session, err error) {
	return s, p.Call("POST", "/uploads", map[string]any{"fileName": name, "contentType": kind, "size": size}, &s)
}

// send uploads a file with PUT and returns the duration.
func send(url string, headers map[string]string, body io.Reader, size int64) (time.Duration, error) {
	r, err := http.NewRequest("PUT", url, body)
	if err != nil {
		return 0, err
	}
	for name, value := range headers {
		r.Header.Set(name, value)
	}
	r.ContentLength = size
	start := time.Now()
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err
	}
	defer a.Body.Close()
	if a.StatusCode >= 300 {
		text, _ := io.ReadAll(a.Body)
		return 0, fmt.Errorf("PUT: %s: %s", a.Status, text)
	}
	return time.Since(start), nil
}

// receive downloads a file, discards it and returns the duration.
func receive(url, key string) (time.Duration, error) {
	r, err := http.NewRequest("GET", url, nil)
	if err != nil {
		return 0, err
	}
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	start := time.Now()
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err
	}
	defer a.Body.Close()
	n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, a.Body, make([]byte, 64<<10))
	if err != nil {
		return time.Since(start), err
	}
	if a.StatusCode != http.StatusOK || n != transferSize {
		err = fmt.Errorf("GET: %s, %d bytes", a.Status, n)
	}
	return time.Since(start), err
}

// concurrentTransfers is the number of concurrent transfers in the measurement of memory.
const concurrentTransfers = 20

// measureTransfers compares encrypted uploads and downloads with plain copies, in turn. It also
// measures the memory of many concurrent transfers.
func measureTransfers(ctx context.Context, b *measure.Bench) ([]report.Figure, error) {
	p, err := desk(ctx, b)
	if err != nil {
		return nil, err
	}
	h, err := b.Helper(ctx, "copy")
	if err != nil {
		return nil, err
	}
	var other string
	if err := h.Ask(p.Dir, &other); err != nil {
		return nil, err
	}
	time.Sleep(time.Second)
	idle := p.Memory.Take()
	other = "http://" + other + "/"
	// The uploads do not become documents, and the downloaded document exists before. So no reading
	// of text is measured.
	const kind = "text/plain"
	text := append(bytes.Repeat([]byte("Urteil "), 8), '\n')
	document, err := document(p, "Anlage.txt", kind, func() io.Reader { return &again{text: text, left: transferSize} },
		transferSize)
	if err != nil {
		return nil, err
	}
	content := "http://" + p.Address + "/v1/documents/" + document + "/content"
	up := func() (time.Duration, error) {
		s, err := newSession(p, "Anlage.bin", kind, transferSize)
		if err != nil {
			return 0, err
		}
		took, err := send(s.URL, s.Headers, file(), transferSize)
		return took, errors.Join(err, discard(p, s.ID))
	}
	var ratios [2][]float64
	var times [4][]float64
	for i := range b.Runs + 1 { // the first round warms up and is not counted
		var took [4]time.Duration
		for n, transfer := range []func() (time.Duration, error){
			func() (time.Duration, error) { return send(other, nil, file(), transferSize) }, up,
			func() (time.Duration, error) { return receive(other, "") },
			func() (time.Duration, error) { return receive(content, p.Key) },
		} {
			if took[n], err = transfer(); err != nil {
				return nil, err
			}
		}
		report.Say("%d/%d up %d ms, copied %d ms; down %d ms, copied %d ms", i, b.Runs, took[1].Milliseconds(),
			took[0].Milliseconds(), took[3].Milliseconds(), took[2].Milliseconds())
		if i == 0 {
			continue
		}
		for n, t := range took {
			times[n] = append(times[n], float64(t.Milliseconds()))
		}
		ratios[0] = append(ratios[0], float64(took[1])/float64(took[0]))
		ratios[1] = append(ratios[1], float64(took[3])/float64(took[2]))
	}
	if err := together(up, func() (time.Duration, error) { return receive(content, p.Key) }); err != nil {
		return nil, err
	}
	grown := p.Memory.Take() - idle // the peak since idle, with the peaks of the runs above
	row := func(what string, n int) report.Figure {
		r := report.Median(ratios[n])
		return report.Figure{
			What: what, Goal: "≤ 150 %", Measured: fmt.Sprintf("%.0f ms", report.Median(times[2*n+1])),
			Limit: fmt.Sprintf("copied with SHA-256: %.0f ms", report.Median(times[2*n])), Value: r, Reached: r <= 1.5,
		}
	}
	return []report.Figure{
		row("upload of 100 MiB, encrypted", 0), row("download of 100 MiB, encrypted", 1),
		{
			What:     fmt.Sprintf("memory (RssAnon) above idle with %d transfers of 100 MiB at once", concurrentTransfers),
			Goal:     "< 64 MB",
			Measured: fmt.Sprintf("%.0f MB", grown), Limit: fmt.Sprintf("idle: %.0f MB", idle), Value: grown / 64,
			Reached: grown < 64,
		},
	}, leave(b, p)
}

// together runs transfers concurrently, in equal parts of each way.
func together(ways ...func() (time.Duration, error)) error {
	errs := make([]error, concurrentTransfers)
	var wait sync.WaitGroup
	for i := range concurrentTransfers {
		wait.Go(func() { _, errs[i] = ways[i%len(ways)]() })
	}
	wait.Wait()
	return errors.Join(errs...)
}

// leave stops a server and removes its data to free the space.
func leave(b *measure.Bench, p *measure.Place) error {
	return errors.Join(b.Close(p), os.RemoveAll(p.Dir))
}

// discard removes the uploaded file of a session. Otherwise the file would stay for a day, and the
// disk may be small.
func discard(p *measure.Place, session string) error {
	found, err := filepath.Glob(filepath.Join(p.Dir, "files", "uploads", "*", session+"*"))
	for _, name := range found {
		err = errors.Join(err, os.Remove(name))
	}
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return errFile
	}
	return nil
}

var errFile = errors.New("the file of an upload is missing")

// again is a reader that repeats a text until it has returned left bytes.
type again struct {
	text []byte
	left int
	at   int
}

func (a *again) Read(b []byte) (n int, err error) {
	if a.left == 0 {
		return 0, io.EOF
	}
	for n < len(b) && a.left > 0 {
		m := copy(b[n:min(len(b), n+a.left)], a.text[a.at:])
		n, a.left, a.at = n+m, a.left-m, (a.at+m)%len(a.text)
	}
	return n, nil
}

// document creates a document from a file and returns its id.
func document(p *measure.Place, name, kind string, body func() io.Reader, size int64) (string, error) {
	s, err := newSession(p, name, kind, size)
	if err != nil {
		return "", err
	}
	if _, err := send(s.URL, s.Headers, body(), size); err != nil {
		return "", err
	}
	var o operation
	if err := p.Call("POST", "/documents", map[string]any{"uploadId": s.ID}, &o); err != nil {
		return "", err
	}
	for o.Result == nil {
		time.Sleep(100 * time.Millisecond)
		if err := p.Call("GET", "/operations/"+o.ID, nil, &o); err != nil {
			return "", err
		}
		if o.Status == "failed" {
			return "", fmt.Errorf("no document: %s", o.Error)
		}
	}
	return o.Result.ID, nil
}

// operation is an operation in responses of the API.
type operation struct {
	ID, Status string
	Error      json.RawMessage
	Result     *struct{ ID string }
}

// queued is the number of operations that wait at the beginning of a run.
const queued = 1000

// Names of the series of reads, without and with running operations.
const (
	readsAlone  = "drain, reads alone"
	readsBeside = "drain, reads beside operations"
)

// measureQueue compares reads while operations run with reads alone.
func measureQueue(ctx context.Context, b *measure.Bench) ([]report.Figure, error) {
	p, err := desk(ctx, b)
	if err != nil {
		return nil, err
	}
	var made struct{ ID string }
	if err := p.Call("POST", "/contacts", map[string]any{"lastName": "Berg"}, &made); err != nil {
		return nil, err
	}
	var times []float64
	read := []string{p.Get("/contacts/" + made.ID)}
	v := data.NewVocabulary()
	for i := range b.Runs {
		sessions, err := fillQueue(p, v, i)
		if err != nil {
			return nil, err
		}
		b.Series = nil
		b.Add(readsAlone, p.Target(), 16, read)
		if err := b.Round(ctx, i); err != nil {
			return nil, err
		}
		start := time.Now()
		if err := atOnce(len(sessions), func(n int) error {
			var o operation
			return p.Call("POST", "/documents", map[string]any{"uploadId": sessions[n]}, &o)
		}); err != nil {
			return nil, err
		}
		b.Series = nil
		b.Add(readsBeside, p.Target(), 16, read)
		if err := b.Round(ctx, i); err != nil {
			return nil, err
		}
		at := time.Since(start)
		left, err := missing(p, (i+1)*queued)
		if err != nil {
			return nil, err
		}
		report.Say("%d of %d operations were left after %.1f s", left, queued, at.Seconds())
		if left == 0 {
			return nil, errors.New("the operations ended before the reads did: use a shorter --seconds")
		}
		for left > 0 {
			time.Sleep(200 * time.Millisecond)
			if left, err = missing(p, (i+1)*queued); err != nil {
				return nil, err
			}
		}
		times = append(times, time.Since(start).Seconds())
	}
	alone, beside := b.Median(readsAlone, measure.P99), b.Median(readsBeside, measure.P99)
	return []report.Figure{{
		What: fmt.Sprintf("GET /contacts/{id}, 16 connections, p99 while %s operations are carried out", report.Number(queued)),
		Goal: "≤ 200 %",
		Measured: fmt.Sprintf("%.2f ms (%s/s; all done after %.0f s)", beside, report.Number(b.Median(readsBeside, measure.PerSecond)),
			report.Median(times)),
		Limit: fmt.Sprintf("alone: %.2f ms, %s/s", alone, report.Number(b.Median(readsAlone, measure.PerSecond))), Value: beside / alone,
		Reached: beside <= 2*alone,
	}}, leave(b, p)
}

// fillQueue uploads the files of all queued documents and returns the ids of the upload sessions.
func fillQueue(p *measure.Place, v *data.Vocabulary, round int) ([]string, error) {
	sessions := make([]string, queued)
	return sessions, atOnce(queued, func(n int) error {
		text := []byte(v.Text(round*queued+n, 300))
		s, err := newSession(p, fmt.Sprintf("Notiz %d.txt", n), "text/plain", int64(len(text)))
		if err != nil {
			return err
		}
		sessions[n] = s.ID
		_, err = send(s.URL, s.Headers, bytes.NewReader(text), int64(len(text)))
		return err
	})
}

// missing returns how many of want documents do not exist yet.
func missing(p *measure.Place, want int) (int, error) {
	var c struct{ Count int }
	err := p.Call("GET", "/documents/count", nil, &c)
	return want - c.Count, err
}

// atOnce calls do for each number below n, in eight goroutines.
func atOnce(n int, do func(n int) error) error {
	var wait sync.WaitGroup
	errs := make([]error, 8)
	for w := range errs {
		wait.Go(func() {
			for i := w; i < n && errs[w] == nil; i += len(errs) {
				errs[w] = do(i)
			}
		})
	}
	wait.Wait()
	return errors.Join(errs...)
}
