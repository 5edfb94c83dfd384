package api

import (
	"context"
	"io"
	"net/http"

	"kartei/kit/fault"
	"kartei/store/blob"
)

// Uploads receives files at the addresses of upload sessions, which are outside
// the table.
type Uploads struct {
	API *API
	// Receiver holds the rules; see upload.Receiver.
	Receiver FileReceiver
}

// FileReceiver receives files. Its errors are faults, or those of the database.
type FileReceiver interface {
	Open(token, method string, header map[string][]string) (blob.Upload, error)
	Receive(ctx context.Context, granted blob.Upload, body io.Reader, announced int64) error
}

// Incoming is a request with a file, as its door passes it.
type Incoming struct {
	Token, Method string
	// Header holds the headers of the request under their canonical names.
	Header map[string][]string
	// Body delivers the bytes at the pace of the client.
	Body io.Reader
	// Size is the announced number of bytes, or -1.
	Size int64
	// Broken reports, after Body failed, whether the client disconnected or is
	// too slow.
	Broken func() bool
}

// uploadInstance is the instance in problem documents. The actual address is a
// secret.
const uploadInstance = "/uploads"

// Receive receives a file and returns the answer: 204, or a problem document.
// header receives the headers of the answer.
func (u *Uploads) Receive(ctx context.Context, in *Incoming, header map[string][]string) *Response {
	if err := u.receive(ctx, in); err != nil {
		return u.API.Refuse(err, uploadInstance, in.Header["Accept-Language"], header)
	}
	u.API.done(header)
	return &Response{Status: http.StatusNoContent, Header: header}
}

func (u *Uploads) receive(ctx context.Context, in *Incoming) error {
	if err := u.API.Ready(); err != nil {
		return err
	}
	granted, err := u.Receiver.Open(in.Token, in.Method, in.Header)
	if err != nil {
		return err
	}
	transfer, err := u.API.Transfer(granted.Organization(), Up)
	if err != nil {
		return err
	}
	how := Failed // after a panic
	defer func() { transfer.End(how) }()
	err = u.Receiver.Receive(ctx, granted, &counted{in.Body, transfer}, in.Size)
	how = ended(err, in.Broken())
	return err
}

// ended returns the result of a transfer.
func ended(err error, broken bool) string {
	switch {
	case err == nil:
		return Whole
	case broken:
		return Broken
	case fault.From(explain(err)).Code.Status() < http.StatusInternalServerError:
		return Refused
	}
	return Failed
}

// counted counts the bytes of a transfer as they arrive.
type counted struct {
	io.Reader
	transfer *Transfer
}

func (r *counted) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if n > 0 {
		r.transfer.Moved(n)
	}
	return n, err
}
