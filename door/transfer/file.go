// Package transfer owns files on their way between a client and a door: at the pace of the client, whole or in ranges.
package transfer

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"kartei/api"
)

// maxParts limits the ranges of one request. A request for more gets the whole
// file (RFC 9110, section 14.2). Every range costs the reading of a segment of
// 64 KiB, however small it is, and 10,000 ranges fit into a header.
const maxParts = 32

// parts returns a Range header in the form that net/http understands (RFC 9110,
// section 14). It returns "" if the header has no byte ranges and must be
// ignored. It returns unsatisfiable if the header is malformed or no range is
// satisfiable. Units ignore case, and numbers have no upper limit. net/http
// would answer the last zero bytes of a file with a Content-Range that ends
// before it begins, so such ranges are left out.
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

// unsatisfiable is a range that no file satisfies.
const unsatisfiable = "bytes=x"

// offset returns the number that digits spell, at most size. Without digits it
// is zero.
func offset(digits string, size int64) (n int64, ok bool) {
	for _, c := range []byte(digits) {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = min(n*10+int64(c-'0'), size)
	}
	return n, true
}

// greater reports whether the digits of a spell a larger number than the digits of b.
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

// Send streams a file, or the ranges of it in the request (RFC 9110,
// section 14).
func Send(w http.ResponseWriter, r *http.Request, f *api.File) {
	control := http.NewResponseController(w)
	paced := &pacedWriter{w, &pace{deadline: control.SetWriteDeadline, transfer: f}}
	answer := &fileAnswer{ResponseWriter: paced, status: http.StatusOK}
	defer func() {
		f.Sent(answer.status, !paced.failed)
		control.SetWriteDeadline(time.Now().Add(patience)) // for what net/http still buffers
	}()
	// The API has already checked the other preconditions.
	asked := &http.Request{Method: r.Method, Header: http.Header{}}
	// A Range has no meaning for HEAD (RFC 9110, section 14.2).
	if header := r.Header.Get("Range"); header != "" && r.Method == http.MethodGet &&
		strings.Count(header, ",") < maxParts {
		asked.Header.Set("Range", parts(header, f.Size()))
		if values := r.Header["If-Range"]; values != nil {
			asked.Header["If-Range"] = values
		}
	}
	// ServeContent compares If-Range with the tag under net/http's own name.
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

// fileAnswer records the status, sends the tag once, and drops net/http's own
// text for an unsatisfiable range.
type fileAnswer struct {
	http.ResponseWriter
	status int
}

func (a *fileAnswer) WriteHeader(status int) {
	a.status = status
	delete(a.Header(), "Etag") // the same tag is sent as ETag
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
