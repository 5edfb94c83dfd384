package rest

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"kartei/api"
	"kartei/kit/fault"
	"kartei/store/blob"
)

// UploadPrefix is where the files of upload sessions are sent to on local
// storage.
const UploadPrefix = "/uploads/"

// Uploads takes files.
type Uploads struct {
	// Verify returns what a token grants.
	Verify func(token string) (blob.Upload, error)
	// Receive streams a file into the store, of which so many bytes are
	// announced; -1 where nobody said.
	Receive func(ctx context.Context, granted blob.Upload, body io.Reader, announced int64) error
	// API writes the problem documents.
	API *api.API
}

// ServeHTTP takes the PUT of one file. Who has the address may send: there is
// no other credential.
func (u *Uploads) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := u.take(w, r); err != nil {
		if r.ProtoMajor == 1 {
			w.Header().Set("Connection", "close") // the rest of the file is not read
		}
		refused := u.API.Refuse(err, strings.TrimSuffix(UploadPrefix, "/"), r.Header["Accept-Language"], w.Header()) // the address itself is a secret
		w.Header().Set("Content-Length", strconv.Itoa(len(refused.Body)))
		w.WriteHeader(refused.Status)
		w.Write(refused.Body)
		return
	}
	u.API.Done(w.Header())
	w.WriteHeader(http.StatusNoContent)
}

func (u *Uploads) take(w http.ResponseWriter, r *http.Request) error {
	if err := u.API.Ready(); err != nil {
		return err
	}
	granted, err := u.Verify(r.URL.Path[len(UploadPrefix):])
	switch {
	case errors.Is(err, blob.ErrExpired):
		return &fault.Fault{Code: fault.NotFound, Detail: &late}
	case err != nil:
		return &fault.Fault{Code: fault.NotFound, Detail: &noTarget}
	case r.Method != http.MethodPut:
		return &fault.Fault{Code: fault.MethodNotAllowed, Header: map[string]string{"Allow": http.MethodPut}}
	}
	if sent := mediaType(r.Header.Get("Content-Type")); sent != granted.ContentType {
		return &fault.Fault{Code: fault.UnsupportedMediaType, Detail: &fault.Text{
			DE: "Der Upload wurde für den Medientyp " + granted.ContentType + " begonnen. Senden Sie genau die Header, die er nennt.",
			EN: "The upload was begun for the media type " + granted.ContentType + ". Send exactly the headers that it names.",
		}}
	}
	if err := whole(r.Header); err != nil {
		return err
	}
	transfer, err := u.API.Transfer(granted.Organization(), api.Up)
	if err != nil {
		return err
	}
	how := api.Failed // by a panic
	defer func() { transfer.End(how) }()
	control := http.NewResponseController(w)
	control.SetWriteDeadline(time.Time{}) // until there is an answer
	body := &pacedReader{r.Body, &pace{deadline: control.SetReadDeadline, transfer: transfer}}
	err = u.Receive(r.Context(), granted, body, r.ContentLength)
	control.SetWriteDeadline(time.Now().Add(patience))
	err = explain(err)
	how = ended(err, body.failed)
	return err
}

// ended says how a transfer ended.
func ended(err error, broken bool) string {
	switch {
	case err == nil:
		return api.Whole
	case broken:
		return api.Broken
	case fault.From(err).Code.Status() < http.StatusInternalServerError:
		return api.Refused
	}
	return api.Failed
}

// explain turns what Receive returns into what the client is told.
func explain(err error) error {
	var source *blob.SourceError
	switch {
	case errors.As(err, &source): // the client went away or is too slow
		return &fault.Fault{Code: fault.UploadIncomplete, Cause: err}
	case errors.Is(err, blob.ErrUnavailable):
		return &fault.Fault{Code: fault.InstancePending, Detail: &storeAway, RetryAfter: 5 * time.Second, Cause: err}
	case errors.Is(err, blob.ErrFull):
		return &fault.Fault{Code: fault.InstancePending, Detail: &noRoom, RetryAfter: patience, Cause: err}
	}
	return err
}

// whole refuses what is a part of a file, or a form of it that somebody would
// have to undo: what is sent is the file (RFC 9110, sections 14.5 and 8.4).
func whole(h http.Header) error {
	if h["Content-Range"] != nil {
		return &fault.Fault{Code: fault.InvalidRequest, Detail: &noPart, Fields: []fault.Field{{Name: "Content-Range", Code: fault.UnknownField}}}
	}
	if coding := h.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return &fault.Fault{Code: fault.UnsupportedMediaType, Detail: &coded}
	}
	return nil
}

func mediaType(header string) string {
	kind, _, _ := strings.Cut(header, ";")
	return strings.ToLower(strings.TrimSpace(kind))
}

var (
	late = fault.Text{
		DE: "Die Zeit für diesen Upload ist abgelaufen. Beginnen Sie einen neuen mit POST /v1/uploads.",
		EN: "The time for this upload is over. Begin a new one with POST /v1/uploads.",
	}
	noTarget = fault.Text{
		DE: "Diese Adresse gehört zu keinem Upload. Verwenden Sie url aus der Antwort auf POST /v1/uploads unverändert.",
		EN: "This address belongs to no upload. Use url of the answer to POST /v1/uploads as it is.",
	}
	noPart = fault.Text{
		DE: "Eine Datei lässt sich nicht in Teilen senden. Senden Sie sie ganz, ohne Content-Range.",
		EN: "A file cannot be sent in parts. Send all of it, without Content-Range.",
	}
	coded = fault.Text{
		DE: "Die Datei wird gespeichert, wie sie gesendet wird. Senden Sie sie unkomprimiert, ohne Content-Encoding.",
		EN: "The file is stored as it is sent. Send it without compression and without Content-Encoding.",
	}
	storeAway = fault.Text{
		DE: "Die Datei lässt sich zurzeit nicht speichern. Gespeichert wurde nichts; senden Sie sie später noch einmal.",
		EN: "The file cannot be stored at the moment. Nothing was stored; send it again later.",
	}
	noRoom = fault.Text{
		DE: "Für die Datei ist zurzeit kein Platz. Gespeichert wurde nichts; senden Sie sie später noch einmal.",
		EN: "There is no room for the file at the moment. Nothing was stored; send it again later.",
	}
)
