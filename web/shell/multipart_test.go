package shell

import (
	"bytes"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode/utf8"

	"kartei/kit/fault"
)

// sendForm returns the form that readForm parses from a body.
func sendForm(body []byte, contentType string) (*Form, error) {
	r := httptest.NewRequest(http.MethodPost, "/documents/new", bytes.NewReader(body))
	r.Header.Set("Content-Type", contentType)
	return readForm(httptest.NewRecorder(), r, true)
}

// FuzzFileForm checks that forms written by mime/multipart arrive unchanged, byte for byte. A form
// that is not UTF-8 is refused.
func FuzzFileForm(f *testing.F) {
	f.Add("name", "Bescheid\r\nzwei", "scan.pdf", []byte("%PDF-1.7\r\n--x--\r\n"))
	f.Add("was.name", "a\nb\rc\r\n", `say "cheese".txt`, []byte{})
	f.Add("n\"\r\n", strings.Repeat("-", 70000), "..", []byte("\r\n"))
	f.Add("\x10", strings.Repeat("-", 60000), "scan.pdf", []byte{})
	f.Add("name", "", "\n", []byte("a name of a line break"))
	f.Add("0", "\xac", "scan.pdf", []byte("a value that is not UTF-8"))
	f.Fuzz(func(t *testing.T, name, value, file string, content []byte) {
		var body bytes.Buffer
		w := multipart.NewWriter(&body)
		_ = w.WriteField("first", value)
		_ = w.WriteField(name, value)
		part, _ := w.CreateFormFile("file", file)
		_, _ = part.Write(content)
		_ = w.Close()
		got, err := sendForm(body.Bytes(), w.FormDataContentType())
		if !utf8.ValidString(value) {
			if !fault.Is(err, fault.InvalidRequest) && !fault.Is(err, fault.PayloadTooLarge) {
				t.Errorf("a value that is not UTF-8: %v", err)
			}
			return
		}
		if body.Len()-len(content) > maxHead-1000 {
			if err == nil {
				return // some of the long forms fit
			}
			// A malformed field may come before the limit is reached.
			if malformed := fault.Is(err, fault.InvalidRequest) && unreadable(body.Bytes(), w.Boundary()); !fault.Is(err, fault.PayloadTooLarge) && !malformed {
				t.Errorf("a form with %d bytes before its file: %v", body.Len(), err)
			}
			return
		}
		if err != nil {
			if _, unfit := errors.AsType[*fault.Fault](err); unfit && unreadable(body.Bytes(), w.Boundary()) {
				return
			}
			t.Fatalf("%q: %v", body.Bytes(), err)
		}
		if got.Get("first") != value {
			t.Errorf("a value arrived as %q, was %q", got.Get("first"), value)
		}
		if got.File == nil {
			if file != "" {
				t.Fatalf("the file %q did not arrive", file)
			}
			return
		}
		if read, err := io.ReadAll(got.File); err != nil || !bytes.Equal(read, content) || got.File.Size != int64(len(content)) {
			t.Errorf("a file of %d bytes arrived as %d of %d: %v", len(content), len(read), got.File.Size, err)
		}
	})
}

// unreadable reports whether mime/multipart cannot read the form either.
func unreadable(body []byte, boundary string) bool {
	r := multipart.NewReader(bytes.NewReader(body), boundary)
	for {
		part, err := r.NextPart()
		if err != nil {
			return !errors.Is(err, io.EOF)
		}
		if _, err := io.Copy(io.Discard, part); err != nil {
			return true
		}
	}
}

// FuzzForm checks that readForm returns a form or a fault for any body. The values of a form are
// never longer than the body.
func FuzzForm(f *testing.F) {
	const multi = "multipart/form-data; boundary=b"
	f.Add([]byte("--b\r\nContent-Disposition: form-data; name=\"form-token\"\r\n\r\nx\r\n--b--\r\n"), multi)
	f.Add([]byte("--b\r\nContent-Disposition: form-data; name=\"f\"; filename=\"a\"\r\n\r\n--b--"), multi)
	f.Add([]byte("form-token=a&was.name=b&name=%zz"), "application/x-www-form-urlencoded")
	f.Add([]byte("{}"), "application/json")
	f.Fuzz(func(t *testing.T, body []byte, contentType string) {
		got, err := sendForm(body, contentType)
		if err != nil {
			if _, said := errors.AsType[*fault.Fault](err); !said || got != nil {
				t.Errorf("%q: %v, %v", body, got, err)
			}
			return
		}
		sum := 0
		for _, list := range got.Values {
			for _, value := range list {
				sum += len(value)
			}
		}
		if got.File != nil {
			n, _ := io.Copy(io.Discard, got.File)
			sum += int(n)
		}
		if sum > len(body) {
			t.Errorf("%d bytes arrived, %d were sent: %q", sum, len(body), body)
		}
	})
}
