package api

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io"
	"log/slog"
	"reflect"
	"time"

	"kartei/api/internal/header"
	"kartei/api/op"
	"kartei/api/transit"
	"kartei/kit/fault"
	"kartei/record/upload"
	"kartei/store/blob"
	"kartei/store/db"
)

// File is an answer that a door streams, as a whole or in ranges.
type File struct {
	blob.Reader
	// Created is the time at which the file was stored.
	Created  time.Time
	call     *call
	api      *API
	transfer *transit.Transfer
	err      error
	code     string // of the problem, or empty
}

// AnswersFile reports whether the operation answers with a file.
func (o *Operation) AnswersFile() bool {
	return o.Output == reflect.TypeFor[op.File]()
}

// beginTransfer begins the transfer of a file. It is refused with 503 while calls are, and with
// 429 if there are too many transfers.
func (a *API) beginTransfer(organization int64, direction string) (*transit.Transfer, error) {
	if err := a.Ready(); err != nil {
		return nil, err
	}
	return a.transfers.Begin(organization, direction)
}

// Transfers returns the number of files in transit.
func (a *API) Transfers() int { return a.transfers.Count() }

// openFile opens the file of the answer.
func (a *API) openFile(ctx context.Context, c *call) error {
	f := c.result.file
	t, err := a.beginTransfer(c.actor.Org(), transit.Down)
	if err != nil {
		return err
	}
	r, err := f.Open(ctx)
	if err != nil {
		t.End(transit.Failed)
	}
	if errors.Is(err, blob.ErrNotExist) { // the record may have been deleted after it was read
		gone := a.db.Read(ctx, func(tx db.Tx) error {
			_, err := a.operate(ctx, c, tx)
			return err
		})
		if gone != nil {
			return gone
		}
	}
	if err != nil {
		return upload.Unopened(err)
	}
	c.file = &File{Reader: r, Created: f.Created.Time(), call: c, api: a, transfer: t}
	return nil
}

// Read reads from the file. It keeps the first error for the log: the door and
// the client only see that the answer breaks off.
func (f *File) Read(p []byte) (int, error) {
	n, err := f.Reader.Read(p)
	if err != nil && f.err == nil && !errors.Is(err, io.EOF) {
		f.err = err
	}
	return n, err
}

// Moved counts bytes sent to the client.
func (f *File) Moved(bytes int) { f.transfer.Moved(bytes) }

// Sent completes the call, with the final status of the door. taken reports
// whether the client received everything. Sent must be called once.
func (f *File) Sent(status int, taken bool) {
	c, how := f.call, transit.Whole
	switch {
	case f.err != nil:
		how = transit.Failed
		f.api.logOf(c).Error("file not sent completely", slog.String("request", c.id), slog.Any("error", f.err))
	case !taken:
		how = transit.Broken
	case f.code != "":
		how = transit.Refused
	}
	_ = f.end(how) // opened for reading only
	f.api.settle(c)
	f.api.record(c, status, f.code, nil)
}

// Close ends the transfer without sending any of the file.
func (f *File) Close() error { return f.end(transit.Refused) }

func (f *File) end(how string) error {
	f.transfer.End(how)
	return f.Reader.Close()
}

// Refuse returns the problem document for a range outside the file, and sets
// its headers.
func (f *File) Refuse() *Response {
	c := f.call
	for _, name := range []string{
		"Content-Disposition", "Content-Security-Policy", "ETag", "Repr-Digest", "Last-Modified",
	} {
		delete(c.header, name)
	}
	refused := c.withDetail(fault.New(fault.RangeNotSatisfiable))
	c.header["Cache-Control"] = noCache // net/http removes it from refused ranges
	f.api.setFaultHeaders(c, refused, func(name, value string) { c.header[name] = []string{value} })
	f.code = string(refused.Code)
	return &Response{Status: refused.Code.Status(), Header: c.header, Body: f.api.problem(c, refused)}
}

// setFileHeaders sets the headers of a file. A file is a download and is never
// displayed, because its content comes from clients and is not trusted.
func (c *call) setFileHeaders(f *op.File, set func(name, value string)) {
	set("Content-Type", f.ContentType)
	set("Content-Disposition", header.Disposition(f.Name))
	set("Content-Security-Policy", "default-src 'none'; sandbox")
	if sum, err := hex.DecodeString(f.SHA256); err == nil {
		set("Repr-Digest", "sha-256=:"+base64.StdEncoding.EncodeToString(sum)+":") // RFC 9530
	}
}
