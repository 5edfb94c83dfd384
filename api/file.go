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

// File is the file of a response. It is sent as a whole or in ranges.
type File struct {
	blob.Reader
	// Created is the time at which the file was stored.
	Created  time.Time
	call     *call
	api      *API
	transfer *transit.Transfer
	err      error
	code     string // of the problem document, or empty
}

// AnswersFile reports whether the response of the operation is a file.
func (o *Operation) AnswersFile() bool {
	return o.Output == reflect.TypeFor[op.File]()
}

// beginTransfer begins the upload or download of a file. It fails with 503 while the instance is
// starting or paused, and with 429 if too many files are being transferred.
func (a *API) beginTransfer(organization int64, direction string) (*transit.Transfer, error) {
	if err := a.Ready(); err != nil {
		return nil, err
	}
	return a.transfers.Begin(organization, direction)
}

// Transfers returns the number of running uploads and downloads.
func (a *API) Transfers() int { return a.transfers.Count() }

// openFile opens the file of the response. If the file does not exist, openFile reads the record
// again, because it may have been deleted in the meantime.
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

// Read reads from the file. It keeps the first error for the log, because the client only sees that
// the response ends too early.
func (f *File) Read(p []byte) (int, error) {
	n, err := f.Reader.Read(p)
	if err != nil && f.err == nil && !errors.Is(err, io.EOF) {
		f.err = err
	}
	return n, err
}

// Moved adds to the number of bytes sent to the client.
func (f *File) Moved(bytes int) { f.transfer.Moved(bytes) }

// Sent ends the call. It must be called once. status is the final HTTP status, and taken says
// whether the client received the whole response.
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
	_ = f.end(how) // an error of Close means nothing for a file opened for reading
	f.api.settle(c)
	f.api.record(c, status, f.code, nil)
}

// Close ends the transfer if none of the file is sent.
func (f *File) Close() error { return f.end(transit.Refused) }

func (f *File) end(how string) error {
	f.transfer.End(how)
	return f.Reader.Close()
}

// Refuse returns the response to a request for a range outside the file: a problem document with
// its headers.
func (f *File) Refuse() *Response {
	c := f.call
	for _, name := range []string{
		"Content-Disposition", "Content-Security-Policy", "ETag", "Repr-Digest", "Last-Modified",
	} {
		delete(c.header, name)
	}
	refused := c.withDetail(fault.New(fault.RangeNotSatisfiable))
	c.header["Cache-Control"] = noCache // net/http removes this header from such a response
	f.api.setFaultHeaders(c, refused, func(name, value string) { c.header[name] = []string{value} })
	f.code = string(refused.Code)
	return &Response{Status: refused.Code.Status(), Header: c.header, Body: f.api.problem(c, refused)}
}

// setFileHeaders sets the headers of a file. Browsers must download the file and not display it,
// because its content comes from clients.
func (c *call) setFileHeaders(f *op.File, set func(name, value string)) {
	set("Content-Type", f.ContentType)
	set("Content-Disposition", header.Disposition(f.Name))
	set("Content-Security-Policy", "default-src 'none'; sandbox")
	if sum, err := hex.DecodeString(f.SHA256); err == nil {
		set("Repr-Digest", "sha-256=:"+base64.StdEncoding.EncodeToString(sum)+":") // RFC 9530
	}
}
