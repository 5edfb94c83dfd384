package rest

import (
	"bytes"
	"io"
	"net/http"
	"time"

	"kartei/api"
	"kartei/kit/fault"
)

// Refusal returns a function that writes the response to a request that
// net/http refuses before any handler runs. The response is a problem document
// like any other. Its language is German, because no header was read.
func Refusal(a *api.API) func(status int) []byte {
	return func(status int) []byte {
		header := http.Header{"Date": {time.Now().UTC().Format(http.TimeFormat)}}
		detail, known := refusals[status]
		if !known {
			detail = refusals[http.StatusBadRequest]
		}
		refused := a.Refuse(&fault.Fault{Code: fault.InvalidRequest, Detail: &detail}, Prefix, nil, header)
		answer := http.Response{
			StatusCode: refused.Status, ProtoMajor: 1, ProtoMinor: 1, Header: header, Close: true,
			ContentLength: int64(len(refused.Body)), Body: io.NopCloser(bytes.NewReader(refused.Body)),
		}
		var b bytes.Buffer
		_ = answer.Write(&b) // a buffer never fails
		return b.Bytes()
	}
}

// refusals explain what net/http rejected, by its status.
var refusals = map[int]fault.Text{
	http.StatusBadRequest: {
		DE: "Die Anfrage ist kein gültiges HTTP/1.1. Prüfen Sie die erste Zeile (Pfad und Prozentzeichen), den Header Host und die Schreibweise aller Header.",
		EN: "The request is not valid HTTP/1.1. Check the first line (path and percent signs), the header Host, and the form of all headers.",
	},
	http.StatusExpectationFailed: {
		DE: "Der Header Expect kennt nur 100-continue.",
		EN: "The header Expect takes 100-continue only.",
	},
	http.StatusRequestHeaderFieldsTooLarge: {
		DE: "Die Header der Anfrage sind zusammen zu groß.",
		EN: "The headers of the request are too large in all.",
	},
	http.StatusNotImplemented: {
		DE: "Der Header Transfer-Encoding kennt nur chunked.",
		EN: "The header Transfer-Encoding takes chunked only.",
	},
}
