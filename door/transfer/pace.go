package transfer

import (
	"errors"
	"io"
	"net/http"
	"time"

	"kartei/api"
)

// The time for sending or receiving a file. A client that moves no byte for
// patience is disconnected (S3 does so after 20 s, nginx after 60). So is a
// client that falls patience behind the slowest rate, since a byte now and then
// must not hold a connection for hours. Only the time counts in which this side
// waits for the client, not the time of its own disk.
const (
	slowest  = 16 << 10 // bytes a second
	patience = 30 * time.Second
)

// pace holds a client to the slowest rate.
type pace struct {
	deadline func(time.Time) error // of the connection
	transfer mover                 // nil if the bytes are counted elsewhere
	moved    int64
	waited   time.Duration
	failed   bool // the client went away or is too slow
}

// mover counts bytes; see api.File.
type mover interface{ Moved(bytes int) }

// step runs do, which waits for the client and returns the number of bytes
// moved.
func (p *pace) step(do func() (int, error)) (int, error) {
	begun := time.Now()
	behind := time.Duration(p.moved/slowest)*time.Second - p.waited // negative: too slow
	_ = p.deadline(begun.Add(min(patience, patience+behind)))       // a connection without deadlines does not need one
	n, err := do()
	p.waited += time.Since(begun)
	p.moved += int64(n)
	if n > 0 && p.transfer != nil {
		p.transfer.Moved(n)
	}
	p.failed = p.failed || err != nil && !errors.Is(err, io.EOF)
	return n, err
}

// pacedReader is the body of an incoming file.
type pacedReader struct {
	io.Reader
	*pace
}

func (r *pacedReader) Read(b []byte) (int, error) {
	n, err := r.step(func() (int, error) { return r.Reader.Read(b) })
	if err != nil {
		_ = r.deadline(time.Time{}) // net/http goes on reading to notice a disconnect
	}
	return n, err
}

// pacedWriter is the response with an outgoing file.
type pacedWriter struct {
	http.ResponseWriter
	*pace
}

func (w *pacedWriter) Write(b []byte) (int, error) {
	return w.step(func() (int, error) { return w.ResponseWriter.Write(b) })
}

// Body returns the body of a request with a file. The connection's read deadline
// follows its bytes from now on. Answer begins the deadline of the answer.
func Body(w http.ResponseWriter, r *http.Request) *IncomingBody {
	control := http.NewResponseController(w)
	_ = control.SetWriteDeadline(time.Time{}) // no deadline until there is an answer
	return &IncomingBody{pacedReader{r.Body, &pace{deadline: control.SetReadDeadline}}}
}

// IncomingBody is the body of a request with a file.
type IncomingBody struct{ pacedReader }

// Broken reports, after a Read failed, whether the client disconnected or is too
// slow.
func (b *IncomingBody) Broken() bool { return b.failed }

// Answer gives the client its time to take the answer to a file.
func Answer(w http.ResponseWriter) {
	// a connection without deadlines does not need one
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(patience))
}

var _ mover = (*api.File)(nil)
