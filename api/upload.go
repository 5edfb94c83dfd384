package api

import (
	"context"
	"io"
	"log/slog"
	"net/http"

	"kartei/api/op"
	"kartei/api/transit"
	"kartei/kit/fault"
	"kartei/record/upload"
	"kartei/store/blob"
)

// Uploads receives files at the addresses of upload sessions. These addresses are not in the table
// of operations.
type Uploads struct {
	API *API
	// Receiver checks and stores the files. See upload.Receiver.
	Receiver FileReceiver
}

// FileReceiver checks and stores files. Its errors are faults, or come from the database.
type FileReceiver interface {
	Open(token, method string, header map[string][]string) (blob.Upload, error)
	Receive(ctx context.Context, granted blob.Upload, body io.Reader, announced int64) error
	Take(ctx context.Context, granted blob.Upload, credential string, body io.Reader, announced int64) error
}

// UploadRequest is a request whose body is a file, independent of the protocol.
type UploadRequest struct {
	Token, Method string
	// Header holds the headers of the request under their canonical names.
	Header map[string][]string
	// Body returns the bytes of the file as they arrive from the client.
	Body io.Reader
	// Size is the number of bytes that the client announced, or -1 if it did not announce any.
	Size int64
	// Broken is called after the transfer. It reports whether the client disconnected or is too
	// slow.
	Broken func() bool
}

// uploadInstance is the member instance of problem documents. The real address of an upload is a
// secret.
const uploadInstance = "/uploads"

// Receive receives a file and returns the response: 204, or a problem document. The headers of the
// response are set in header.
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

// Take receives a file for an upload session of a person who is signed in. The file does not go to
// the session's address. So Take also works if clients send files directly to a bucket. If a
// document is already being made from the file, Take reads nothing and returns the id of that
// operation.
func (u *Uploads) Take(
	ctx context.Context, by Caller, session string, in *UploadRequest,
) (operation string, err error) {
	ticket, err := Call(ctx, u.API, by, upload.GetTicket, op.ByID{ID: session})
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

// transfer receives a file and counts it among the running transfers.
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

// ended returns the result of a transfer for the metrics. broken says that the client disconnected
// or is too slow.
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
