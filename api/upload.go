package api

import (
	"context"
	"io"
	"log/slog"
	"net/http"

	"kartei/access"
	"kartei/api/op"
	"kartei/api/transit"
	"kartei/kit/fault"
	"kartei/record/upload"
	"kartei/store/blob"
)

// Uploads receives files at the addresses of upload sessions, which are outside
// the table.
type Uploads struct {
	API *API
	// Receiver holds the rules; see upload.Receiver.
	Receiver FileReceiver
}

// FileReceiver receives files. Its errors are faults, or come from the database.
type FileReceiver interface {
	Open(token, method string, header map[string][]string) (blob.Upload, error)
	Receive(ctx context.Context, granted blob.Upload, body io.Reader, announced int64) error
	Take(ctx context.Context, granted blob.Upload, credential string, body io.Reader, announced int64) error
}

// UploadRequest is a request with a file, as its door passes it.
type UploadRequest struct {
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
func (u *Uploads) Receive(ctx context.Context, in *UploadRequest, header map[string][]string) *Response {
	if err := u.receive(ctx, in); err != nil {
		return u.API.Refuse(err, uploadInstance, in.Header["Accept-Language"], header)
	}
	u.API.done(header)
	return &Response{Status: http.StatusNoContent, Header: header}
}

func (u *Uploads) receive(ctx context.Context, in *UploadRequest) error {
	if err := u.API.Ready(); err != nil {
		return err
	}
	granted, err := u.Receiver.Open(in.Token, in.Method, in.Header)
	if err != nil {
		return err
	}
	return u.transfer(granted, in, func(body io.Reader) error { return u.Receiver.Receive(ctx, granted, body, in.Size) })
}

// Take receives a file for an upload session of a caller who is signed in. It needs
// no address, so it also takes files that go on to a bucket. If a document is being
// made of the file already, nothing is read, and the operation is returned.
func (u *Uploads) Take(
	ctx context.Context, by Caller, session string, in *UploadRequest,
) (operation string, err error) {
	ticket, err := Call(ctx, u.API, by, upload.GetTicket, access.ByID{ID: session})
	if err != nil || ticket.Operation != "" {
		return ticket.Operation, err
	}
	granted := ticket.Granted()
	err = u.transfer(granted, in, func(body io.Reader) error {
		return u.Receiver.Take(ctx, granted, ticket.Credential, body, in.Size)
	})
	if err == nil {
		return "", nil
	}
	f := fault.From(op.Explain(err))
	if f.Code == fault.Internal {
		u.API.logger.Error("internal error", slog.String("operation", uploadInstance), slog.Any("error", f.Cause))
	}
	return "", f
}

// transfer receives a file, and counts it among the files in transit.
func (u *Uploads) transfer(granted blob.Upload, in *UploadRequest, receive func(io.Reader) error) error {
	transfer, err := u.API.beginTransfer(granted.Organization(), transit.Up)
	if err != nil {
		return err
	}
	how := transit.Failed // after a panic
	defer func() { transfer.End(how) }()
	err = receive(&countingReader{in.Body, transfer})
	how = ended(err, in.Broken())
	return err
}

// ended returns the result of a transfer.
func ended(err error, broken bool) string {
	switch {
	case err == nil:
		return transit.Whole
	case broken:
		return transit.Broken
	case fault.From(op.Explain(err)).Code.Status() < http.StatusInternalServerError:
		return transit.Refused
	}
	return transit.Failed
}

// countingReader counts the bytes of a transfer as they arrive.
type countingReader struct {
	io.Reader
	transfer *transit.Transfer
}

func (r *countingReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if n > 0 {
		r.transfer.Moved(n)
	}
	return n, err
}
