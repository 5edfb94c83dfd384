package rest

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"kartei/api"
)

// maxParts is how many parts of a file may be asked for at once; who asks for
// more gets all of it (RFC 9110, section 14.2). Each costs the reading of a
// segment of 64 KiB, however small it is, and 10,000 fit into a header.
const maxParts = 32

// something returns a Range header without the parts that are the last zero
// bytes, which no file has (RFC 9110, section 14.1.2): net/http sends them, with
// a Content-Range that ends before it begins.
func something(header string, size int64) string {
	unit, list, is := strings.Cut(header, "=")
	if !is {
		return header
	}
	var parts []string
	for part := range strings.SplitSeq(list, ",") {
		zeros, suffix := strings.CutPrefix(strings.Trim(part, " \t"), "-")
		zeros = strings.TrimSpace(zeros)
		if !suffix || zeros == "" || strings.Trim(zeros, "0") != "" {
			parts = append(parts, part)
		}
	}
	if parts == nil {
		return unit + "=" + strconv.FormatInt(size, 10) + "-"
	}
	return unit + "=" + strings.Join(parts, ",")
}

// sendFile streams a file, or the parts of it that the client asks for (RFC
// 9110, section 14).
func sendFile(w http.ResponseWriter, r *http.Request, f *api.File) {
	control := http.NewResponseController(w)
	paced := &pacedWriter{w, &pace{deadline: control.SetWriteDeadline, transfer: f}}
	answer := &fileAnswer{ResponseWriter: paced, status: http.StatusOK}
	defer func() {
		f.Sent(answer.status, !paced.failed)
		control.SetWriteDeadline(time.Now().Add(patience)) // what net/http still holds
	}()
	// The other preconditions are the API's business, which has looked at them.
	asked := &http.Request{Method: r.Method, Header: http.Header{}}
	if parts := r.Header.Get("Range"); parts != "" && strings.Count(parts, ",") < maxParts {
		asked.Header.Set("Range", something(parts, f.Size()))
		if values := r.Header["If-Range"]; values != nil {
			asked.Header["If-Range"] = values
		}
	}
	http.ServeContent(answer, asked, "", f.Created, f)
	if answer.status == http.StatusRequestedRangeNotSatisfiable {
		refused := f.Refuse()
		w.Header().Set("Content-Length", strconv.Itoa(len(refused.Body)))
		w.WriteHeader(refused.Status)
		if r.Method != http.MethodHead {
			w.Write(refused.Body)
		}
	}
}

// fileAnswer notes the status, and keeps back net/http's own words for a range
// that is not there.
type fileAnswer struct {
	http.ResponseWriter
	status int
}

func (a *fileAnswer) WriteHeader(status int) {
	a.status = status
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
