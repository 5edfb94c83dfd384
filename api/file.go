package api

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io"
	"log/slog"
	"net/url"
	"reflect"
	"strings"
	"time"

	"kartei/app"
	"kartei/kit/fault"
	"kartei/store/blob"
	"kartei/store/db"
	"kartei/upload"
)

// File is an answer that a door streams, whole or in parts.
type File struct {
	blob.Reader
	// Created is when the file came.
	Created  time.Time
	call     *call
	api      *API
	transfer *Transfer
	err      error
	code     string // of the problem, if there is one
}

// AnswersFile reports whether the operation answers with a file.
func (o *Operation) AnswersFile() bool {
	return o.Run.Output == reflect.TypeFor[app.File]()
}

// openFile opens the file that the operation answers with, unless the client
// has it.
func (a *API) openFile(ctx context.Context, c *call) error {
	f := c.result.file
	if f == nil || c.isCurrent() {
		return nil
	}
	t, err := a.Transfer(c.actor.Org(), Down)
	if err != nil {
		return err
	}
	r, err := f.Open(ctx)
	if err != nil {
		t.End(Failed)
	}
	if errors.Is(err, blob.ErrNotExist) { // the record may have been deleted since it was read
		gone := a.db.Read(ctx, func(tx db.Tx) error {
			_, err := a.operate(ctx, c, tx)
			return err
		})
		if gone != nil {
			return gone
		}
	}
	switch {
	case errors.Is(err, blob.ErrNotExist), upload.Unreadable(err):
		return fault.Wrap(err) // logged for the operator; a retry does not help
	case err != nil:
		return upload.Away(err)
	}
	c.file = &File{Reader: r, Created: f.Created.Time(), call: c, api: a, transfer: t}
	return nil
}

// Read reads on. It keeps the error for the operator: to who streams, and to
// the client, the answer only breaks off.
func (f *File) Read(p []byte) (int, error) {
	n, err := f.Reader.Read(p)
	if err != nil && f.err == nil && !errors.Is(err, io.EOF) {
		f.err = err
	}
	return n, err
}

// Moved says that so many more bytes have gone to the client.
func (f *File) Moved(bytes int) { f.transfer.Moved(bytes) }

// Sent ends what is done for the call, with the status that the door has
// answered in the end; taken says that the client took everything. It must be
// called once.
func (f *File) Sent(status int, taken bool) {
	c, how := f.call, Whole
	switch {
	case f.err != nil:
		how = Failed
		f.api.logOf(c).Error("file not sent whole", slog.String("request", c.id), slog.Any("error", f.err))
	case !taken:
		how = Broken
	case f.code != "":
		how = Refused
	}
	_ = f.end(how) // it was only read
	f.api.settle(c)
	f.api.record(c, status, f.code, nil)
}

// Close ends the transfer of a file without sending any of it.
func (f *File) Close() error { return f.end(Refused) }

func (f *File) end(how string) error {
	f.transfer.End(how)
	return f.Reader.Close()
}

// Refuse returns the problem document for a part of the file that is not
// there, and sets the headers that belong to it.
func (f *File) Refuse() *Response {
	c := f.call
	for _, name := range []string{"Content-Disposition", "Content-Security-Policy", "ETag", "Repr-Digest", "Last-Modified"} {
		delete(c.header, name)
	}
	refused := c.withDetail(fault.New(fault.RangeNotSatisfiable))
	c.header["Cache-Control"] = noCache // net/http takes it from what it refuses
	setFaultHeaders(c, refused, func(name, value string) { c.header[name] = []string{value} })
	f.code = string(refused.Code)
	return &Response{Status: refused.Code.Status(), Header: c.header, Body: f.api.problem(c, refused)}
}

// setFileHeaders says what the file is. It is always to be saved and never
// shown: what clients sent is not ours to vouch for.
func (c *call) setFileHeaders(f *app.File, set func(name, value string)) {
	set("Content-Type", f.ContentType)
	set("Content-Disposition", disposition(f.Name))
	set("Content-Security-Policy", "default-src 'none'; sandbox")
	if sum, err := hex.DecodeString(f.SHA256); err == nil {
		set("Repr-Digest", "sha-256=:"+base64.StdEncoding.EncodeToString(sum)+":") // RFC 9530
	}
}

// disposition names the file for who saves it: in ASCII for the oldest
// clients, and whole (RFC 6266, section 4.3, and RFC 8187).
func disposition(name string) string {
	plain := strings.Map(func(c rune) rune {
		if c < ' ' || c > '~' || c == '"' || c == '\\' || c == '%' {
			return '_'
		}
		return c
	}, name)
	if device(name) { // Windows would open the device
		plain, name = "_"+plain, "_"+name
	}
	return `attachment; filename="` + plain + `"; filename*=UTF-8''` + extended(name)
}

// extended percent-encodes all but the characters of RFC 8187's attr-char that
// url.PathEscape leaves too.
func extended(name string) string {
	return strings.NewReplacer("'", "%27", "(", "%28", ")", "%29", "*", "%2A", ":", "%3A", "@", "%40", "=", "%3D", ",", "%2C", ";", "%3B").Replace(url.PathEscape(name))
}

// device reports whether Windows takes a file name for that of a device,
// whatever its ending is.
func device(name string) bool {
	base, _, _ := strings.Cut(strings.ToUpper(name), ".")
	switch base = strings.TrimRight(base, " "); base {
	case "CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$":
		return true
	}
	number, port := strings.CutPrefix(base, "COM")
	if !port {
		number, port = strings.CutPrefix(base, "LPT")
	}
	return port && number != "" && strings.Contains("0 1 2 3 4 5 6 7 8 9 ¹ ² ³", number) && !strings.Contains(number, " ")
}
