package office

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"kartei/api"
	"kartei/api/op"
	"kartei/door/transfer"
	"kartei/kit/fault"
	"kartei/record/document"
	"kartei/record/operation"
	"kartei/record/upload"
)

// uploadForm is the form of a new document.
type uploadForm struct {
	recordForm
	terms terms
	// why says why the file was refused, and failed why nothing was filed although no
	// field is wrong.
	why, failed string
	// wait is the time after which to try again.
	wait time.Duration
}

// about are the members that say what a document is about.
var about = []string{"contactId", "companyId", "taskId"}

// showUpload serves the form of a new document. The address says what it is about.
func showUpload(v *request) view {
	typed := values{}
	for _, name := range about {
		typed[name] = v.URL.Query().Get(name)
	}
	return v.drawUpload(uploadForm{recordForm: recordForm{typed: typed}}, http.StatusOK)
}

// drawUpload draws the form of a new document, and says what is wrong with it.
func (v *request) drawUpload(f uploadForm, status int) view {
	var err error
	if f.terms, err = v.terms(); err != nil {
		return v.failed(err)
	}
	f.family, f.token, f.names = &documents, v.mint(), map[string]string{}
	if err := documents.resolve(v, f.names, f.typed); err != nil {
		return v.failed(err)
	}
	out := v.ok(v.words.Say("Dokument ablegen", "File a document"), documents.name, uploadView(v, f))
	out.status = status
	return out
}

// createDocument makes a document of the file of a form, or of a file that has
// arrived already.
func createDocument(v *request) view {
	typed := v.form.values(append([]string{"name"}, about...))
	file, once := v.form.file, v.form.token
	uploaded := v.form.text("uploadId")
	if uploaded != "" {
		once = v.numbered("d")
	} else {
		if file == nil {
			return v.refusedUpload(typed, fault.Invalid(fault.Field{Name: "file", Code: fault.Required, Text: &noFile}))
		}
		t, err := v.terms()
		if err != nil {
			return v.failed(err)
		}
		once = attemptOf(once, file.name, file.size)
		if uploaded, err = v.receive(t, file, once+".f"); err != nil {
			return v.refusedUpload(typed, asFault(err))
		}
	}
	body := typed.body()
	body["uploadId"] = uploaded
	begun, err := fetch[begunOperation](v, document.Create, arguments{body: body, once: once})
	if err != nil {
		return v.refusedUpload(typed, asFault(err))
	}
	if v.form.Get("part") == "line" {
		return view{status: http.StatusOK, plain: begun.ID}
	}
	return v.seeOther("/operations/" + begun.ID)
}

// attemptOf returns the idempotency key of a file of a form: the same form makes two
// documents of two files, and one of a file that is sent twice.
func attemptOf(token, name string, size int64) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s", size, name))
	return token + "." + hex.EncodeToString(sum[:8])
}

// numbered returns the idempotency key of one of the files that a script sends from a
// page.
func (v *request) numbered(step string) string {
	n, _ := strconv.ParseUint(v.form.Get("n"), 10, 32)
	return v.form.token + "." + step + strconv.FormatUint(n, 10)
}

// plainly answers a script with why a file was refused, in words.
func (v *request) plainly(f *fault.Fault, why string) view {
	if wait := f.Wait(); wait > 0 {
		v.w.Header().Set("Retry-After", strconv.Itoa(int((wait+time.Second-1)/time.Second)))
	}
	return view{status: f.Code.Status(), plain: cmp.Or(why, v.reason(f))}
}

// beginUpload answers a script with the id of an upload session for a file. A refusal
// comes before the bytes.
func beginUpload(v *request) view {
	t, err := v.terms()
	if err != nil {
		return v.plainly(asFault(err), "")
	}
	size, _ := strconv.ParseInt(v.form.Get("size"), 10, 64)
	session, err := v.openUpload(t, fileName(v.form.Get("name")), v.form.Get("type"), size, v.numbered("u"))
	if err != nil {
		return v.plainly(asFault(err), v.whyRefused(asFault(err)))
	}
	return view{status: http.StatusOK, plain: session}
}

// receiveUpload streams the file that a script sends into its upload session.
func receiveUpload(v *request) view {
	body := transfer.Body(v.w, v.Request)
	_, err := v.office.Uploads.Take(v.Context(), v.caller(false), v.PathValue("upload"), &api.Incoming{Body: body, Size: v.ContentLength, Broken: body.Broken})
	if err != nil && v.ContentLength < maxUnread {
		_, _ = io.CopyN(io.Discard, body, maxUnread) // a browser shows the answer then
	}
	transfer.Answer(v.w)
	if err != nil {
		return v.plainly(asFault(err), v.whyRefused(asFault(err)))
	}
	return view{status: http.StatusOK, plain: v.PathValue("upload")}
}

// receive opens an upload session and streams a file into it. It returns the
// session's id.
func (v *request) receive(t terms, file *sentFile, once string) (string, error) {
	session, err := v.openUpload(t, file.name, file.contentType, file.size, once)
	if err != nil {
		return "", err
	}
	_, err = v.office.Uploads.Take(v.Context(), v.caller(false), session, &api.Incoming{Body: file.Reader, Size: file.size, Broken: file.incoming.Broken})
	return session, err
}

// openUpload opens an upload session for a file.
func (v *request) openUpload(t terms, name, said string, size int64, once string) (string, error) {
	if size == 0 {
		return "", fault.Invalid(fault.Field{Name: "size", Code: fault.Required, Text: &emptyFile})
	}
	session, err := fetch[struct {
		ID string `json:"id"`
	}](v, upload.Create, arguments{body: map[string]any{"fileName": name, "contentType": t.typeOf(name, said), "size": size}, once: once})
	return session.ID, err
}

var (
	noFile    = text("Bitte wählen Sie eine Datei.", "Please choose a file.")
	emptyFile = text("Die Datei ist leer.", "The file is empty.")
)

// refusedUpload draws the form again, and says why no document was made.
func (v *request) refusedUpload(typed values, f *fault.Fault) view {
	if f.Code == fault.Unauthenticated || f.Code == fault.Internal {
		return v.failed(f)
	}
	why := v.whyRefused(f)
	if v.form.Get("part") == "line" {
		return v.plainly(f, why)
	}
	form := uploadForm{recordForm: recordForm{typed: typed, wrong: fieldTexts(f, v.words.Language)}, why: why}
	if len(f.Fields) == 0 {
		form.why, form.failed, form.wait = "", why, f.Wait()
		v.retryAfter(form.wait)
	}
	return v.drawUpload(form, f.Code.Status())
}

// whyRefused says why a file was refused, in everyday words. It is empty if the fault
// is about another field.
func (v *request) whyRefused(f *fault.Fault) string {
	for _, field := range f.Fields {
		switch field.Name {
		case "contentType":
			t, _ := v.terms()
			return v.words.Say("Dateien dieser Art werden nicht angenommen. Möglich sind: ", "Files of this kind are not accepted. Accepted kinds: ") + strings.Join(t.words(v.words.Language), ", ") + "."
		case "size":
			if field.Code == fault.OutOfRange {
				t, _ := v.terms()
				return v.words.Say("Die Datei ist zu groß. Möglich sind höchstens ", "The file is too large. The limit is ") + v.words.Bytes(t.MaxSize) + "."
			}
			return field.Message(v.words.Language)
		case "fileName", "file", "name":
			return field.Message(v.words.Language)
		case "uploadId":
			return v.words.Say("Die Übertragung ist nicht mehr gültig. Bitte wählen Sie die Datei noch einmal.", "The transfer is no longer valid. Please choose the file again.")
		}
	}
	if len(f.Fields) > 0 {
		return ""
	}
	switch f.Code {
	case fault.UploadIncomplete, fault.UploadChecksumMismatch, fault.NotFound:
		return v.words.Say("Die Datei ist nicht vollständig angekommen. Bitte senden Sie sie noch einmal.", "The file did not arrive completely. Please send it again.")
	case fault.QuotaExhausted:
		return v.words.Say("Im Büro warten gerade so viele Dateien, dass für diese kein Platz ist. Bitte versuchen Sie es später noch einmal.", "So many files of your office are waiting that there is no room for this one. Please try again later.")
	}
	_, why := v.refusal(f)
	return why
}

// backTo returns where the form leads if it is left: to what it is about.
func (f uploadForm) backTo() string {
	for _, name := range about {
		if id := f.typed[name]; id != "" {
			return "/" + f.family.field(name).to + "/" + url.PathEscape(id)
		}
	}
	return "/documents"
}

// download sends the file of a document. It is a download, and never shown.
func download(v *request) view {
	a := v.send(document.Content, arguments{id: v.PathValue("id")})
	if a.Fault != nil {
		return v.failed(a.Fault)
	}
	return view{file: a.Response}
}

// begunOperation is work that goes on after its answer.
type begunOperation struct{ operation.Operation }

// failure is why work failed, as its problem document says it.
type failure struct {
	Code      fault.Code `json:"code"`
	Detail    string     `json:"detail"`
	RequestID string     `json:"requestId"`
	Errors    []struct {
		Field   string `json:"field"`
		Message string `json:"message"`
	} `json:"errors"`
}

// failure returns why the work failed. It is empty for work that did not fail.
func (o begunOperation) failure() (f failure) {
	_ = decode(o.Error, &f) // without a failure there is no document, or null
	return f
}

// running reports whether a file of a list is still being worked on.
func running(list []document.Underway) bool {
	return slices.ContainsFunc(list, func(u document.Underway) bool { return !begunOperation{u.Operation}.ended() })
}

// ended reports whether the work has ended.
func (o begunOperation) ended() bool {
	return o.Status == operation.Succeeded || o.Status == operation.Failed
}

// stage says what is being done now.
func (o begunOperation) stage(v *request) string {
	switch {
	case o.Status == operation.Succeeded:
		return v.words.Say("Geprüft und abgelegt", "Checked and filed")
	case o.Progress < 30:
		return v.words.Say("Wird geprüft …", "Being checked …")
	case o.Progress < 60:
		return v.words.Say("Wird auf Schadsoftware geprüft …", "Being scanned for malware …")
	}
	return v.words.Say("Geprüft, wird gelesen …", "Checked, being read …")
}

// why says why the work failed.
func (o begunOperation) why(v *request) string {
	f := o.failure()
	switch f.Code {
	case "":
		return ""
	case fault.UploadIncomplete, fault.UploadChecksumMismatch:
		return v.words.Say("Die Datei ist nicht vollständig angekommen.", "The file did not arrive completely.")
	case fault.Internal:
		return v.words.Say("Die Datei konnte nicht verarbeitet werden. Bitte versuchen Sie es noch einmal.", "The file could not be processed. Please try again.")
	}
	for _, e := range f.Errors {
		return e.Message
	}
	return plain(f.Detail, v.words.Language)
}

// showOperation serves the page of work that goes on after its answer. Only the
// person who began it sees it.
func showOperation(v *request) view {
	o, err := fetch[begunOperation](v, operation.Get, arguments{id: v.PathValue("id")})
	if err != nil {
		return v.failed(err)
	}
	p := operationPage{begunOperation: o, names: map[string]string{}}
	if o.Result != nil && o.Result.Object == "document" && v.session.may(documents.read) {
		p.record, err = v.get(&documents, o.Result.ID)
		if err != nil && !fault.Is(err, fault.NotFound) { // deleted since
			return v.failed(err)
		}
		if err := documents.resolve(v, p.names, p.record); err != nil {
			return v.failed(err)
		}
	}
	if v.part("line") {
		return view{status: http.StatusOK, body: operationLine(v, p)}
	}
	if !o.ended() {
		v.w.Header().Set("Refresh", "2")
	}
	return v.ok(p.title(v), documents.name, operationView(v, p))
}

// operationPage is what the page of an operation shows.
type operationPage struct {
	begunOperation
	// record is the document that was made, if the person sees it.
	record values
	names  map[string]string
}

func (p operationPage) title(v *request) string {
	switch {
	case p.Status == operation.Failed:
		return v.words.Say("Nicht abgelegt", "Not filed")
	case p.Status == operation.Succeeded:
		return v.words.Say("Abgelegt", "Filed")
	}
	return v.words.Say("Wird abgelegt", "Being filed")
}

// about names what the document is about.
func (p operationPage) about() []string {
	var list []string
	for _, name := range about {
		if id := p.record[name]; id != "" {
			list = append(list, cmp.Or(p.names[id], id))
		}
	}
	return list
}

// again returns the parameters of the form for another document about the same.
func (p operationPage) again() string {
	q := url.Values{}
	for _, name := range about {
		if id := p.record[name]; id != "" {
			q.Set(name, id)
		}
	}
	if len(q) == 0 {
		return ""
	}
	return "?" + q.Encode()
}

// showDocuments serves the list of documents, with the files of the caller that are being made
// into documents.
var showDocuments = showList(&documents, func(v *request, l recordList) view {
	files, err := ask(v, document.ListUnderway, op.None{})
	if err != nil {
		return v.failed(err)
	}
	return v.ok(documents.many.In(v.words.Language), documents.name, documentsView(v, l, files.Data))
})
