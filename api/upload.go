package api

import (
	"context"
	"io"
	"net/http"

	"kartei/kit/fault"
	"kartei/store/blob"
)

// Uploads takes the files that are sent to the addresses of upload sessions,
// which are no operations of the table.
type Uploads struct {
	API *API
	// Receiver has the rules; see upload.Receiver.
	Receiver FileReceiver
}

// FileReceiver takes files; its errors are faults, or those of the database.
type FileReceiver interface {
	Open(token, method string, header map[string][]string) (blob.Upload, error)
	Receive(ctx context.Context, granted blob.Upload, body io.Reader, announced int64) error
}

// Incoming is a request with a file, as its door received it.
type Incoming struct {
	Token, Method string
	// Header holds the request's headers under their canonical names.
	Header map[string][]string
	// Body is read as fast as the client sends.
	Body io.Reader
	// Size is how many bytes are announced, -1 if nobody said.
	Size int64
	// Broken reports, after Body failed, whether the client went away or is too slow.
	Broken func() bool
}

// uploadInstance is what a problem document names as its instance: the address
// itself is a secret.
const uploadInstance = "/uploads"

// Receive takes a file and returns the answer: 204, or a problem document.
// header is filled with the answer's headers.
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
	how := Failed // by a panic
	defer func() { transfer.End(how) }()
	err = u.Receiver.Receive(ctx, granted, &counted{in.Body, transfer}, in.Size)
	how = ended(err, in.Broken())
	return err
}

// ended says how a transfer ended.
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

// counted counts the bytes of a transfer as they come.
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
