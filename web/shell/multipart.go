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

// SentFile is the file of a form. Its bytes arrive as they are read, and are never
// in memory as a whole.
type SentFile struct {
	Name, ContentType string
	Size              int64
	io.Reader
	Incoming *transfer.IncomingBody
	boundary string
}

// NoFile is the refusal of a form without its file.
const NoFile = i18n.Text("Please choose a file.")

// Key returns the idempotency key of the file in the form with a token. A form that is sent twice
// has two keys if the file is another one, and one key if it is the same file.
func (f *SentFile) Key(token string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s", f.Size, f.Name))
	return token + "." + hex.EncodeToString(sum[:8])
}

// Each calls f with each file of a field that takes several. They follow each other in the
// bytes of the first.
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

// maxHead bounds the fields of a form before its file.
const maxHead = 64 << 10

// MaxUnread bounds how much of a refused file is read. A browser that is still
// sending its form shows no answer if the connection breaks.
const MaxUnread = 64 << 20

// readFileForm reads a form of the type multipart/form-data up to its file, which is
// the last field. The API wants to know the size of a file before its bytes: it
// follows from the length of the whole form (RFC 7578, RFC 2046 section 5.1).
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
	f := newForm(p.fields)
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

// parts are the fields of a form, as they arrive.
type parts struct {
	*bufio.Reader
	boundary string
	fields   url.Values
}

var errForm = errors.New("shell: not a form")

// fill reads the fields up to the file, which is nil if there is none.
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

// line reads up to a line break of the form, \r\n. A value may have other ones.
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

// FileName returns the name of a file as its person sees it: browsers write quotes
// as %22, and some send a path. It is empty only if no file was chosen, which a
// browser says by an empty name; of a name of nothing but line breaks a dot is left.
func FileName(sent string) string {
	if sent == "" {
		return ""
	}
	return path.Base(strings.NewReplacer("%22", `"`, "%0D", "", "%0A", "", `\`, "/").Replace(sent))
}

// boundedFile is the bytes of a file, which the end of its form must follow.
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

// leave ends the reading of the file, before the answer. A refused file of a
// signed-in person is read too, up to MaxUnread, so that the browser shows the
// answer.
func (f *SentFile) leave(v *Request) {
	if v.Session.ID != "" {
		_, _ = io.CopyN(io.Discard, f.Incoming, MaxUnread) // the answer matters, the rest does not
	}
	transfer.Answer(v.Writer)
}

// ErrBroken means that the bytes of a file did not arrive.
var ErrBroken = &fault.Fault{Code: fault.UploadIncomplete}

// ExportPatience is how long a connection may take for a part of a file that is written while
// it is read.
const ExportPatience = time.Minute
