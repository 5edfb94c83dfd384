package rest

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
	"time"

	"kartei/api"
	"kartei/kit/fault"
	"kartei/kit/i18n"
)

// Refusal returns a function that returns the whole HTTP response to a request that net/http
// refuses before any handler runs. The response is a problem document (RFC 9457). Its language is
// German, because the Accept-Language header was not read.
func Refusal(a *api.API) func(status int) []byte {
	return func(status int) []byte {
		header := http.Header{"Date": {time.Now().UTC().Format(http.TimeFormat)}}
		detail, known := refusals[status]
		if !known {
			detail = refusals[http.StatusBadRequest]
		}
		refused := a.RefuseUnread(&fault.Fault{Code: fault.InvalidRequest, Detail: detail}, header)
		answer := http.Response{
			StatusCode: refused.Status, ProtoMajor: 1, ProtoMinor: 1, Header: header, Close: true,
			ContentLength: int64(len(refused.Body)), Body: io.NopCloser(bytes.NewReader(refused.Body)),
		}
		var b bytes.Buffer
		_ = answer.Write(&b) // a buffer returns no error
		return b.Bytes()
	}
}

// ForServer returns the handler of requests with the target '*' (RFC 9112, section 3.2.4). Only
// OPTIONS may have this target. The preface of HTTP/2 on a connection without TLS looks like such a
// request too.
func ForServer(a *api.API) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodOptions {
			w.WriteHeader(a.Options(w.Header()).Status)
			return
		}
		detail := refusals[http.StatusBadRequest]
		response := a.RefuseUnread(&fault.Fault{Code: fault.InvalidRequest, Detail: detail}, w.Header())
		w.Header().Set("Connection", "close")
		w.Header().Set("Content-Length", strconv.Itoa(len(response.Body)))
		w.WriteHeader(response.Status)
		_, _ = w.Write(response.Body) // ignored: the client has disconnected
	})
}

// refusals has the explanations for requests that net/http refuses, by status.
var refusals = map[int]i18n.Text{
	http.StatusBadRequest:                  "The request is not valid HTTP/1.1. Check the first line (path and percent signs), the header Host, and the form of all headers.",
	http.StatusExpectationFailed:           "The header Expect takes 100-continue only.",
	http.StatusRequestHeaderFieldsTooLarge: "The headers of the request are too large in all.",
	http.StatusNotImplemented:              "The header Transfer-Encoding takes chunked only.",
}
