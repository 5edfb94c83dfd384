// Package transfer owns the transfer of files over HTTP: at the pace of the client, whole or in ranges.
package transfer

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"kartei/api"
)

// maxParts is the maximum number of ranges in a request. A request with more gets the whole file
// (RFC 9110, section 14.2). A header can have 10,000 ranges, and even the smallest range costs the
// read of a segment of 64 KiB.
const maxParts = 32

// parts normalizes a Range header for net/http (RFC 9110, section 14). The unit may have any case,
// and numbers have no maximum. If the header has no byte ranges and must be ignored, parts returns
// "". If the header is malformed or no range is satisfiable, parts returns unsatisfiable.
//
// parts leaves out ranges for the last zero bytes. For these, net/http would send a Content-Range
// that ends before it begins.
func parts(header string, size int64) string {
	unit, list, is := strings.Cut(header, "=")
	if !is || !strings.EqualFold(unit, "bytes") {
		return ""
	}
	kept, any := []string{}, false
	for part := range strings.SplitSeq(list, ",") {
		part = strings.Trim(part, " \t")
		if part == "" {
			continue
		}
		any = true
		first, last, is := strings.Cut(part, "-")
		from, ok := offset(first, size)
		to, ok2 := offset(last, size)
		switch {
		case !is || !ok || !ok2 || first == "" && last == "" || first != "" && last != "" && greater(first, last):
			return unsatisfiable
		case first == "" && to > 0, first != "" && from < size:
			kept = append(kept, formatted(first, from)+"-"+formatted(last, to))
		}
	}
	switch {
	case len(kept) > 0:
		return "bytes=" + strings.Join(kept, ",")
	case any:
		return unsatisfiable
	}
	return ""
}

// unsatisfiable is a Range header that no file satisfies.
const unsatisfiable = "bytes=x"

// offset returns the number in digits, or size if the number is larger. The result for no digits is
// zero. ok is false if there is another character.
func offset(digits string, size int64) (n int64, ok bool) {
	for _, c := range []byte(digits) {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = min(n*10+int64(c-'0'), size)
	}
	return n, true
}

// greater reports whether the number in a is larger than the number in b.
func greater(a, b string) bool {
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	return len(a) > len(b) || len(a) == len(b) && a > b
}

func formatted(digits string, n int64) string {
	if digits == "" {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

// Send streams a file, or the ranges of the file that the request names (RFC 9110, section 14).
func Send(w http.ResponseWriter, r *http.Request, f *api.File) {
	control := http.NewResponseController(w)
	paced := &pacedWriter{w, &pace{deadline: control.SetWriteDeadline, transfer: f}}
	answer := &fileAnswer{ResponseWriter: paced, status: http.StatusOK}
	defer func() {
		f.Sent(answer.status, !paced.failed)
		control.SetWriteDeadline(time.Now().Add(patience)) // for the bytes that net/http still buffers
	}()
	// The API has already checked the other preconditions.
	asked := &http.Request{Method: r.Method, Header: http.Header{}}
	// HEAD ignores a Range header (RFC 9110, section 14.2).
	if header := r.Header.Get("Range"); header != "" && r.Method == http.MethodGet &&
		strings.Count(header, ",") < maxParts {
		asked.Header.Set("Range", parts(header, f.Size()))
		if values := r.Header["If-Range"]; values != nil {
			asked.Header["If-Range"] = values
		}
	}
	// ServeContent compares If-Range with the header under the key Etag.
	w.Header()["Etag"] = w.Header()["ETag"]
	http.ServeContent(answer, asked, "", f.Created, f)
	if answer.status == http.StatusRequestedRangeNotSatisfiable {
		refused := f.Refuse()
		w.Header().Set("Content-Range", "bytes */"+strconv.FormatInt(f.Size(), 10))
		w.Header().Set("Content-Length", strconv.Itoa(len(refused.Body)))
		w.WriteHeader(refused.Status)
		if r.Method != http.MethodHead {
			w.Write(refused.Body)
		}
	}
}

// fileAnswer is a ResponseWriter that records the status and sends the entity tag only as ETag. For
// an unsatisfiable range, it drops the text of net/http.
type fileAnswer struct {
	http.ResponseWriter
	status int
}

func (a *fileAnswer) WriteHeader(status int) {
	a.status = status
	delete(a.Header(), "Etag") // ETag has the same value
	if status != http.StatusRequestedRangeNotSatisfiable {
		a.ResponseWriter.WriteHeader(status)
	}
}

func (a *fileAnswer) Write(p []byte) (int, error) {
	if a.status == http.StatusRequestedRangeNotSatisfiable {
		return len(p), nil
	}
	return a.ResponseWriter.Write(p)
}
