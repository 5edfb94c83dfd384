package main

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"
)

const (
	fileSize  = 100 << 20
	transfers = 20
)

// filesBench measures how long a file takes to the server and back, against
// copying it over the same loopback with a SHA-256 and an fsync, and what memory
// many of them take at once.
type filesBench struct {
	base, key string
	client    http.Client
	file      []byte
	document  string
}

func onFiles(ctx context.Context, o *options) (err error) {
	dir, err := os.MkdirTemp("", "kartei-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	f := new(filesBench)
	if f.file, err = archive(); err != nil {
		return err
	}
	c := exec.CommandContext(ctx, o.program, "demo", "--json", "--no-metered", "--data", filepath.Join(dir, "data"),
		"--listen", "127.0.0.1:0", "--operator-listen", "127.0.0.1:0", "--body-timeout", "5m", "--write-timeout", "5m")
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
	c.WaitDelay = 20 * time.Second
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err != nil {
		return err
	}
	if err := c.Start(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Process.Signal(syscall.SIGTERM), c.Wait()) }()
	var line struct {
		BaseURL string
		Keys    struct{ Full string }
	}
	if err := json.NewDecoder(out).Decode(&line); err != nil {
		return err
	}
	f.base, f.key = line.BaseURL, line.Keys.Full
	if err := f.makeDocument(); err != nil {
		return err
	}
	if err := f.speed(o.runs, filepath.Join(dir, "copy")); err != nil {
		return err
	}
	return f.memory(c.Process.Pid)
}

// archive returns a ZIP archive with one file that is not compressed: a type that
// is taken, and of which no text is read. It has nearly fileSize bytes.
func archive() ([]byte, error) {
	content := make([]byte, fileSize-150)
	rand.Read(content)
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	file, err := w.CreateHeader(&zip.FileHeader{Name: "a.bin", Method: zip.Store})
	if err == nil {
		_, err = file.Write(content)
	}
	if err = errors.Join(err, w.Close()); err != nil || b.Len() > fileSize {
		return nil, errors.Join(err, fmt.Errorf("an archive of %d bytes", b.Len()))
	}
	return b.Bytes(), nil
}

// speed prints the two ratios.
func (f *filesBench) speed(runs int, path string) error {
	bare, end, err := serveCopies(path)
	if err != nil {
		return err
	}
	defer end()
	session, err := f.begin()
	if err != nil {
		return err
	}
	var copies, uploads, downloads []float64
	for range runs {
		for _, m := range []struct {
			into *[]float64
			do   func() error
		}{
			{&copies, func() error { return f.put(bare, nil) }},
			{&uploads, func() error { return f.put(session.URL, session.Headers) }}, // again and again
			{&downloads, f.download},
		} {
			began := time.Now()
			if err := m.do(); err != nil {
				return err
			}
			*m.into = append(*m.into, time.Since(began).Seconds())
		}
	}
	middle := func(list []float64) float64 { slices.Sort(list); return list[len(list)/2] }
	limit := middle(copies)
	fmt.Printf("copy with SHA-256 and fsync: %.3f s\n", limit)
	fmt.Printf("upload, encrypted: %.3f s, ratio %.2f\n", middle(uploads), middle(uploads)/limit)
	fmt.Printf("download, decrypted: %.3f s, ratio %.2f\n", middle(downloads), middle(downloads)/limit)
	return nil
}

// memory prints what as many transfers at once take above what the server held
// before.
func (f *filesBench) memory(pid int) error {
	for _, m := range []struct {
		name string
		do   func() error
	}{{"downloads", f.download}, {"uploads", f.upload}} {
		idle := anonymous(pid)
		watch := watchMemory(pid)
		errs := make([]error, transfers)
		var wg sync.WaitGroup
		for i := range errs {
			wg.Go(func() { errs[i] = m.do() })
		}
		wg.Wait()
		peak := watch.take()
		watch.end()
		if err := errors.Join(errs...); err != nil {
			return err
		}
		fmt.Printf("%d %s at once: %.0f MB above the %.0f MB before\n", transfers, m.name, peak-idle, idle)
	}
	return nil
}

// serveCopies writes what it is sent into a file and hashes it.
func serveCopies(path string) (url string, end func(), err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		file, err := os.Create(path)
		if err == nil {
			_, err = io.Copy(io.MultiWriter(file, sha256.New()), r.Body)
			err = errors.Join(err, file.Sync(), file.Close())
		}
		if err != nil {
			w.WriteHeader(http.StatusInternalServerError)
		}
	})}
	go s.Serve(l)
	return "http://" + l.Addr().String(), func() { s.Close() }, nil
}

// put sends the file.
func (f *filesBench) put(url string, headers map[string]string) error {
	r, err := http.NewRequest(http.MethodPut, url, bytes.NewReader(f.file))
	if err != nil {
		return err
	}
	for name, value := range headers {
		r.Header.Set(name, value)
	}
	answer, err := f.client.Do(r)
	if err != nil {
		return err
	}
	return ended(answer)
}

// ended reads an answer to its end.
func ended(answer *http.Response) error {
	defer answer.Body.Close()
	if answer.StatusCode >= 300 {
		text, err := io.ReadAll(io.LimitReader(answer.Body, 1000))
		return errors.Join(fmt.Errorf("%d %s", answer.StatusCode, text), err)
	}
	_, err := io.Copy(io.Discard, answer.Body)
	return err
}

// call calls the API.
func (f *filesBench) call(method, path string, body, into any) error {
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return err
		}
	}
	r, err := http.NewRequest(method, f.base+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	for name, value := range map[string]string{
		"Authorization": "Bearer " + f.key, "Svc-Preview": "true", "Content-Type": "application/json", "Idempotency-Key": rand.Text(),
	} {
		r.Header.Set(name, value)
	}
	answer, err := f.client.Do(r)
	if err != nil {
		return err
	}
	if into == nil || answer.StatusCode >= 300 {
		return ended(answer)
	}
	defer answer.Body.Close()
	return json.NewDecoder(answer.Body).Decode(into)
}

type uploadSession struct {
	ID, URL string
	Headers map[string]string
}

// begin opens an upload session.
func (f *filesBench) begin() (s uploadSession, err error) {
	err = f.call("POST", "/uploads", map[string]any{"fileName": "a.zip", "contentType": "application/zip", "size": len(f.file)}, &s)
	return s, err
}

func (f *filesBench) send() (uploadSession, error) {
	s, err := f.begin()
	if err == nil {
		err = f.put(s.URL, s.Headers)
	}
	return s, err
}

func (f *filesBench) upload() error {
	_, err := f.send()
	return err
}

// makeDocument makes the document that is downloaded.
func (f *filesBench) makeDocument() error {
	s, err := f.send()
	if err != nil {
		return err
	}
	var operation struct {
		ID, Status string
		Result     struct{ ID string }
		Error      json.RawMessage
	}
	if err := f.call("POST", "/documents", map[string]any{"uploadId": s.ID}, &operation); err != nil {
		return err
	}
	for operation.Status != "succeeded" {
		if operation.Status == "failed" {
			return fmt.Errorf("no document was made: %s", operation.Error)
		}
		time.Sleep(100 * time.Millisecond)
		if err := f.call("GET", "/operations/"+operation.ID, nil, &operation); err != nil {
			return err
		}
	}
	f.document = operation.Result.ID
	return nil
}

func (f *filesBench) download() error {
	return f.call("GET", "/documents/"+f.document+"/content", nil, nil)
}
