package mcp

import (
	"bytes"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"kartei/api"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/kit/loopback"
)

// These are the media types of a response.
const (
	jsonForm  = "application/json"
	eventForm = "text/event-stream"
)

// accepted reports which media types of a response the client accepts (RFC 9110, section 12.5.1).
// The protocol requires both, but many clients send only one.
func accepted(header []string) (asJSON, asEvents bool) {
	kinds := strings.Split(strings.Join(header, ","), ",")
	if len(header) == 0 || strings.TrimSpace(strings.Join(kinds, "")) == "" {
		return true, true
	}
	return takes(kinds, jsonForm), takes(kinds, eventForm)
}

// takes reports whether a list of media ranges includes a media type. The most specific range
// decides.
func takes(kinds []string, form string) bool {
	major, _, _ := strings.Cut(form, "/")
	for _, wanted := range []string{form, major + "/*", "*/*"} {
		for _, kind := range kinds {
			name, parameters, err := mime.ParseMediaType(kind)
			if err != nil || name != wanted {
				continue
			}
			weight, err := strconv.ParseFloat(parameters["q"], 64)
			return err != nil || weight > 0
		}
	}
	return false
}

// acceptingBoth returns a copy of the request with the Accept header that the protocol requires.
func acceptingBoth(r *http.Request) *http.Request {
	r = r.WithContext(r.Context())
	r.Header = r.Header.Clone()
	r.Header.Set("Accept", jsonForm+", "+eventForm)
	return r
}

// asEvent returns a JSON-RPC response as the only event of an event stream.
func asEvent(answer []byte) []byte {
	event := append([]byte("event: message\ndata: "),
		bytes.ReplaceAll(bytes.TrimSpace(answer), []byte("\n"), []byte("\ndata: "))...)
	return append(event, "\n\n"...)
}

// problem sends a problem document (RFC 9457) for a request that is no JSON-RPC request.
func problem(a *api.API, w http.ResponseWriter, r *http.Request, err error) {
	response := a.Refuse(err, Path, r.Header["Accept-Language"], w.Header())
	w.Header().Set("Content-Length", strconv.Itoa(len(response.Body)))
	w.WriteHeader(response.Status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(response.Body) //nolint:gosec // JSON; a client that went away needs no error
	}
}

// Closed returns the handler for an instance on which the Model Context Protocol is disabled.
func Closed(a *api.API) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		problem(a, w, r, &fault.Fault{Code: fault.NotFound, Detail: "This instance lets no assistants in."})
	})
}

// Serves reports whether a path belongs to Handler.
func Serves(path string) bool { return path == Path || strings.HasPrefix(path, Path+"/") }

// methodNotAllowed is the error for a method other than POST and OPTIONS.
var methodNotAllowed = fault.Fault{Code: fault.MethodNotAllowed, Header: map[string]string{"Allow": "POST, OPTIONS"}}

// refusals maps a status of the SDK to an error code, for responses in plain text.
var refusals = map[int]fault.Code{
	http.StatusForbidden: fault.Forbidden, http.StatusNotFound: fault.NotFound,
	http.StatusMethodNotAllowed:      fault.MethodNotAllowed,
	http.StatusRequestEntityTooLarge: fault.PayloadTooLarge, http.StatusUnsupportedMediaType: fault.UnsupportedMediaType,
	http.StatusInternalServerError: fault.Internal,
}

// refusedBySDK returns the error for a response of the SDK that is no JSON-RPC response, or nil.
func refusedBySDK(answer *answerBuffer) *fault.Fault {
	if answer.code < http.StatusBadRequest || !strings.HasPrefix(answer.header.Get("Content-Type"), "text/plain") {
		return nil
	}
	code, known := refusals[answer.code]
	if !known {
		code = fault.InvalidRequest
	}
	why := strings.TrimSpace(answer.String())
	return &fault.Fault{Code: code, Detail: i18n.Format("The request does not follow the protocol: %s", why)}
}

func refusal(code fault.Code, said i18n.Text) *fault.Fault {
	return &fault.Fault{Code: code, Detail: said}
}

var (
	foreign    = refusal(fault.Forbidden, "This host or origin is not the instance's.")
	compressed = refusal(fault.UnsupportedMediaType, "A request is sent uncompressed.")
	tooLarge   = refusal(fault.PayloadTooLarge, "The request has more than 1 MiB.")
	cutOff     = refusal(fault.InvalidRequest, "The request did not arrive as a whole.")
	severalOne = refusal(fault.InvalidRequest, "A request is one JSON object.")
	unfitForm  = refusal(fault.NotAcceptable, "The header Accept allows neither application/json nor text/event-stream.")
)

// sameHost reports whether the Host header names the host of the instance. All names of the local
// machine are the same host.
func sameHost(asked, own string) bool {
	if strings.EqualFold(asked, own) {
		return true
	}
	a, b := url.URL{Host: asked}, url.URL{Host: own}
	return a.Port() == b.Port() && loopback.Host(a.Hostname()) && loopback.Host(b.Hostname())
}
