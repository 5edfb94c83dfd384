package rest

import (
	"errors"
	"io"
	"net/http"
	"time"

	"kartei/api"
)

// Time to send or to take a file. A client that moves nothing for patience is
// given up (S3 does so after 20 s, nginx after 60), and so is one that is
// patience behind the slowest rate that is waited for, so that who sends a byte
// now and then does not hold a place for hours. Only the time counts in which
// this side waits for the client, not that in which it waits for its disk.
const (
	slowest  = 16 << 10 // bytes a second
	patience = 30 * time.Second
)

// pace holds a client to the slowest rate that is waited for.
type pace struct {
	deadline func(time.Time) error // of the connection
	transfer mover                 // nil if the bytes are counted elsewhere
	moved    int64
	waited   time.Duration
	failed   bool // the client went away or is too slow
}

// mover is told of bytes; see api.File.
type mover interface{ Moved(bytes int) }

// step does what waits for the client and says how many bytes that moved.
func (p *pace) step(do func() (int, error)) (int, error) {
	begun := time.Now()
	behind := time.Duration(p.moved/slowest)*time.Second - p.waited // negative: too slow
	_ = p.deadline(begun.Add(min(patience, patience+behind)))       // a connection that has none needs none
	n, err := do()
	p.waited += time.Since(begun)
	p.moved += int64(n)
	if n > 0 && p.transfer != nil {
		p.transfer.Moved(n)
	}
	p.failed = p.failed || err != nil && !errors.Is(err, io.EOF)
	return n, err
}

// pacedReader is the body of a file that comes.
type pacedReader struct {
	io.Reader
	*pace
}

func (r *pacedReader) Read(b []byte) (int, error) {
	n, err := r.step(func() (int, error) { return r.Reader.Read(b) })
	if err != nil {
		_ = r.deadline(time.Time{}) // net/http goes on to listen whether the client goes away
	}
	return n, err
}

// pacedWriter is the answer of a file that goes.
type pacedWriter struct {
	http.ResponseWriter
	*pace
}

func (w *pacedWriter) Write(b []byte) (int, error) {
	return w.step(func() (int, error) { return w.ResponseWriter.Write(b) })
}

var _ mover = (*api.File)(nil)
