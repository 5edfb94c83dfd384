package transfer

import (
	"errors"
	"io"
	"net/http"
	"time"

	"kartei/api"
)

// These are the limits for sending or receiving a file. A client that transfers no byte for the
// time patience is disconnected. S3 allows 20 s, and nginx 60.
//
// A client is also disconnected if it is the time patience behind the rate slowest. Otherwise a
// byte now and then could hold a connection for hours. Only the time in which the server waits for
// the client counts, and not the time of its disk.
const (
	slowest  = 16 << 10 // bytes a second
	patience = 30 * time.Second
)

// pace measures a transfer and sets its deadlines.
type pace struct {
	deadline func(time.Time) error // sets the deadline of the connection
	transfer mover                 // nil if the bytes are counted elsewhere
	moved    int64
	waited   time.Duration
	failed   bool // the client disconnected or is too slow
}

// mover counts transferred bytes, like api.File.
type mover interface{ Moved(bytes int) }

// step runs do, which reads from the client or writes to it, and returns the number of bytes.
// Before that, step sets the deadline of the connection.
func (p *pace) step(do func() (int, error)) (int, error) {
	begun := time.Now()
	behind := time.Duration(p.moved/slowest)*time.Second - p.waited // negative if too slow
	_ = p.deadline(begun.Add(min(patience, patience+behind)))       // on an error, the connection has no deadlines
	n, err := do()
	p.waited += time.Since(begun)
	p.moved += int64(n)
	if n > 0 && p.transfer != nil {
		p.transfer.Moved(n)
	}
	p.failed = p.failed || err != nil && !errors.Is(err, io.EOF)
	return n, err
}

// pacedReader is the body of a request with a file.
type pacedReader struct {
	io.Reader
	*pace
}

func (r *pacedReader) Read(b []byte) (int, error) {
	n, err := r.step(func() (int, error) { return r.Reader.Read(b) })
	if err != nil {
		_ = r.deadline(time.Time{}) // net/http keeps reading to notice a disconnect
	}
	return n, err
}

// pacedWriter is the response with a file.
type pacedWriter struct {
	http.ResponseWriter
	*pace
}

func (w *pacedWriter) Write(b []byte) (int, error) {
	return w.step(func() (int, error) { return w.ResponseWriter.Write(b) })
}

// Body returns the body of a request with a file. Its reads set the read deadline of the
// connection. There is no write deadline until Answer sets one.
func Body(w http.ResponseWriter, r *http.Request) *IncomingBody {
	control := http.NewResponseController(w)
	_ = control.SetWriteDeadline(time.Time{}) // until Answer
	return &IncomingBody{pacedReader{r.Body, &pace{deadline: control.SetReadDeadline}}}
}

// IncomingBody is the body of a request with a file.
type IncomingBody struct{ pacedReader }

// Broken reports whether a Read failed because the client disconnected or was too slow.
func (b *IncomingBody) Broken() bool { return b.failed }

// Answer sets the deadline for the response to a request with a file.
func Answer(w http.ResponseWriter) {
	// An error means that the connection has no deadlines.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(patience))
}

var _ mover = (*api.File)(nil)
