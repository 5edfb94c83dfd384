package rest

import (
	"net/http"
	"strconv"
	"time"

	"kartei/api"
)

// UploadPrefix is the path that takes the files of upload sessions if local
// storage is used.
const UploadPrefix = "/uploads/"

// UploadHandler serves everything below UploadPrefix.
func UploadHandler(u *api.Uploads) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		control.SetWriteDeadline(time.Time{}) // no deadline until there is an answer
		body := &pacedReader{r.Body, &pace{deadline: control.SetReadDeadline}}
		answer := u.Receive(r.Context(), &api.Incoming{
			Token: r.URL.Path[len(UploadPrefix):], Method: r.Method, Header: r.Header, Body: body, Size: r.ContentLength,
			Broken: func() bool { return body.failed },
		}, w.Header())
		control.SetWriteDeadline(time.Now().Add(patience))
		if answer.Body != nil {
			w.Header().Set("Content-Length", strconv.Itoa(len(answer.Body)))
		}
		if answer.Fault != nil && r.ProtoMajor == 1 {
			w.Header().Set("Connection", "close") // the rest of the file is not read
		}
		w.WriteHeader(answer.Status)
		w.Write(answer.Body) // a client that went away needs no error
	})
}
