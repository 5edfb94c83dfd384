package rest

import (
	"net/http"
	"strconv"

	"kartei/api"
	"kartei/door/transfer"
)

// UploadPrefix is the beginning of the paths for the files of upload sessions. It is used only with
// local storage.
const UploadPrefix = "/uploads/"

// UploadHandler returns the handler that receives the files of upload sessions below UploadPrefix.
func UploadHandler(u *api.Uploads) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := transfer.Body(w, r)
		answer := u.Receive(r.Context(), &api.UploadRequest{
			Token: r.URL.Path[len(UploadPrefix):], Method: r.Method, Header: r.Header, Body: body, Size: r.ContentLength,
			Broken: body.Broken,
		}, w.Header())
		transfer.Answer(w)
		if answer.Body != nil {
			w.Header().Set("Content-Length", strconv.Itoa(len(answer.Body)))
		}
		if answer.Fault != nil && r.ProtoMajor == 1 {
			w.Header().Set("Connection", "close") // the rest of the file is not read
		}
		w.WriteHeader(answer.Status)
		w.Write(answer.Body) // ignored: the client has disconnected
	})
}
