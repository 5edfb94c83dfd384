package shell

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"path"
	"strings"
	"time"

	"kartei/door/transfer"
	"kartei/kit/fault"
	"kartei/kit/i18n"
)

// SentFile is the file in a submitted form. Its bytes are read from the connection, and are never
// in memory as a whole.
type SentFile struct {
	Name, ContentType string
	Size              int64
	io.Reader
	Incoming *transfer.IncomingBody
	boundary string
}

// NoFile is the error text for a form without the file that it needs.
const NoFile = i18n.Text("Please choose a file.")

// Key returns the idempotency key for the upload of the file. token is the token of the form. If
// the form is sent again with the same file, the key is the same. A file with another size or name
// has another key.
func (f *SentFile) Key(token string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s", f.Size, f.Name))
	return token + "." + hex.EncodeToString(sum[:8])
}

// Each calls use with each file of a field that takes several files. The content of f includes the
// parts of the further files. Each returns the first error of use, or ErrBroken if the content is
// incomplete.
func (f *SentFile) Each(use func(name string, content io.Reader) error) error {
	head := "--" + f.boundary + "\r\nContent-Disposition: form-data; name=file; filename=x\r\n\r\n"
	all := multipart.NewReader(io.MultiReader(strings.NewReader(head), f, strings.NewReader("\r\n--"+f.boundary+"--\r\n")), f.boundary)
	name := f.Name
	for {
		part, err := all.NextRawPart()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return ErrBroken
		}
		if name == "" {
			name = FileName(part.FileName())
		}
		if name != "" {
			if err := use(name, part); err != nil {
				return err
			}
		}
		name = ""
	}
}

// maxHead is the maximum size in bytes of the fields before the file.
const maxHead = 64 << 10

// MaxUnread is the maximum number of bytes that are read of a refused file. A browser shows no
// response if the connection closes while the browser is sending.
const MaxUnread = 64 << 20

// readFileForm reads a form of the type multipart/form-data up to its file, which is the last
// field. The API needs the size of a file before its bytes. readFileForm computes the size from the
// Content-Length of the form (RFC 7578, RFC 2046 section 5.1).
func readFileForm(w http.ResponseWriter, r *http.Request, boundary string) (*Form, error) {
	if boundary == "" || r.ContentLength < 0 {
		return nil, fault.New(fault.InvalidRequest)
	}
	incoming := transfer.Body(w, r)
	limited := &io.LimitedReader{R: incoming, N: maxHead}
	p := parts{Reader: bufio.NewReader(limited), boundary: "--" + boundary, fields: url.Values{}}
	file, err := p.fill()
	if limited.N <= 0 && file == nil {
		return nil, fault.New(fault.PayloadTooLarge)
	}
	if err != nil {
		return nil, &fault.Fault{Code: fault.InvalidRequest, Cause: err}
	}
	f, err := newForm(p.fields)
	if err != nil {
		return nil, err
	}
	r.PostForm = p.fields
	if file == nil {
		return f, nil
	}
	before := maxHead - limited.N - int64(p.Buffered())
	end := "\r\n" + p.boundary + "--\r\n"
	file.Size = r.ContentLength - before - int64(len(end))
	if file.Size < 0 {
		return nil, fault.New(fault.InvalidRequest)
	}
	limited.N = r.ContentLength
	file.Reader, file.Incoming = &boundedFile{io.LimitReader(p.Reader, file.Size), p.Reader, end}, incoming
	if file.boundary = boundary; file.Name != "" {
		f.File = file
	}
	return f, nil
}

// parts reads the parts of a multipart form and collects the fields.
type parts struct {
	*bufio.Reader
	boundary string
	fields   url.Values
}

var errForm = errors.New("shell: not a form")

// fill reads the fields up to the file. It returns nil if the form has no file.
func (p *parts) fill() (*SentFile, error) {
	if line, err := p.line(); err != nil || line != p.boundary {
		return nil, errors.Join(errForm, err)
	}
	for {
		head, err := textproto.NewReader(p.Reader).ReadMIMEHeader()
		if err != nil {
			return nil, err
		}
		_, about, err := mime.ParseMediaType(head.Get("Content-Disposition"))
		if err != nil {
			return nil, err
		}
		if name, is := about["filename"]; is {
			return &SentFile{Name: FileName(name), ContentType: head.Get("Content-Type")}, nil
		}
		var value []string
		for {
			line, err := p.line()
			if err != nil {
				return nil, err
			}
			if rest, last := strings.CutPrefix(line, p.boundary); last {
				p.fields.Add(about["name"], strings.Join(value, "\r\n"))
				if rest == "--" {
					return nil, nil
				}
				break
			}
			value = append(value, line)
		}
	}
}

// line returns the text up to the next \r\n. A value may contain other line breaks.
func (p *parts) line() (string, error) {
	var line []byte
	for {
		part, err := p.ReadSlice('\n')
		line = append(line, part...)
		if whole, ends := bytes.CutSuffix(line, []byte("\r\n")); ends || err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return string(whole), err
		}
	}
}

// FileName returns the base name of a file as the person sees it. Browsers write quotes as %22, and
// some send a path. An empty name means that no file was chosen. For a name that has only line
// breaks, FileName returns a dot.
func FileName(sent string) string {
	if sent == "" {
		return ""
	}
	return path.Base(strings.NewReplacer("%22", `"`, "%0D", "", "%0A", "", `\`, "/").Replace(sent))
}

// boundedFile reads the bytes of a file. It returns io.ErrUnexpectedEOF if the end of the form does
// not follow the file.
type boundedFile struct {
	io.Reader
	rest io.Reader
	end  string
}

func (e *boundedFile) Read(b []byte) (int, error) {
	n, err := e.Reader.Read(b)
	if err == io.EOF && e.end != "" {
		end := make([]byte, len(e.end))
		if _, wrong := io.ReadFull(e.rest, end); wrong != nil || !bytes.Equal(end, []byte(e.end)) {
			return n, io.ErrUnexpectedEOF
		}
		e.end = ""
	}
	return n, err
}

// leave stops reading the file before the response is written. For a person who is signed in, it
// first reads and discards up to MaxUnread bytes, so that the browser shows the response.
func (f *SentFile) leave(v *Request) {
	if v.Session.ID != "" {
		_, _ = io.CopyN(io.Discard, f.Incoming, MaxUnread) // an error does not matter, as the response follows in any case
	}
	transfer.Answer(v.Writer)
}

// ErrBroken is the error if the bytes of a file did not arrive.
var ErrBroken = &fault.Fault{Code: fault.UploadIncomplete}

// ExportPatience is the maximum time to send one part of a file that is produced while it is sent.
const ExportPatience = time.Minute
