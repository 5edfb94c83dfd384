package documents

import (
	"cmp"
	"encoding/json"
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
	"kartei/kit/i18n"
	"kartei/record/document"
	"kartei/record/operation"
	"kartei/record/upload"
	"kartei/web/records"
	"kartei/web/shell"
)

// uploadForm is the form of a new document.
type uploadForm struct {
	records.Form
	terms records.Terms
	// why says why the file was refused, and failed why nothing was filed although no
	// field is wrong.
	why, failed string
	// wait is the time after which to try again.
	wait time.Duration
}

// about are the members that say what a document is about.
var about = []string{"contactId", "companyId", "taskId"}

// showUpload serves the form of a new document. The address says what it is about.
func showUpload(v *shell.Request) shell.View {
	typed := shell.Values{}
	for _, name := range about {
		typed[name] = v.URL.Query().Get(name)
	}
	return drawUpload(v, uploadForm{Form: records.Form{Typed: typed}}, http.StatusOK)
}

// drawUpload draws the form of a new document, and says what is wrong with it.
func drawUpload(v *shell.Request, f uploadForm, status int) shell.View {
	var err error
	if f.terms, err = records.ReadTerms(v); err != nil {
		return v.Failed(err)
	}
	f.Family, f.Token, f.Names = &records.Documents, v.Mint(), map[string]string{}
	if err := records.Documents.Resolve(v, f.Names, f.Typed); err != nil {
		return v.Failed(err)
	}
	return v.OK(v.Words.Say("File a document"), records.Documents.Name, uploadView(v, f)).WithStatus(status)
}

// createDocument makes a document of the file of a form, or of a file that has
// arrived already.
func createDocument(v *shell.Request) shell.View {
	typed := v.Sent.Members(append([]string{"name"}, about...))
	file, once := v.Sent.File, v.Sent.Token
	uploaded := v.Sent.Text("uploadId")
	if uploaded != "" {
		once = numbered(v, "d")
	} else {
		if file == nil {
			return refusedUpload(v, typed, fault.Invalid(fault.Field{Name: "file", Code: fault.Required, Text: shell.NoFile}))
		}
		t, err := records.ReadTerms(v)
		if err != nil {
			return v.Failed(err)
		}
		once = file.Key(once)
		if uploaded, err = receive(v, t, file, once+".f"); err != nil {
			return refusedUpload(v, typed, shell.AsFault(err))
		}
	}
	body := typed.Body()
	body["uploadId"] = uploaded
	begun, err := shell.Fetch[begunOperation](v, document.Create, shell.Arguments{Body: body, Once: once})
	if err != nil {
		return refusedUpload(v, typed, shell.AsFault(err))
	}
	if v.Sent.Get("part") == "line" {
		return shell.PlainText{Status: http.StatusOK, Text: begun.ID}
	}
	return v.SeeOther("/operations/" + begun.ID)
}

// numbered returns the idempotency key of one of the files that a script sends from a
// page.
func numbered(v *shell.Request, step string) string {
	n, _ := strconv.ParseUint(v.Sent.Get("n"), 10, 32)
	return v.Sent.Token + "." + step + strconv.FormatUint(n, 10)
}

// plainly answers a script with why a file was refused, in words.
func plainly(v *shell.Request, f *fault.Fault, why string) shell.View {
	if wait := f.Wait(); wait > 0 {
		v.Writer.Header().Set("Retry-After", strconv.Itoa(int((wait+time.Second-1)/time.Second)))
	}
	return shell.PlainText{Status: f.Code.Status(), Text: cmp.Or(why, v.Reason(f))}
}

// beginUpload answers a script with the id of an upload session for a file. A refusal
// comes before the bytes.
func beginUpload(v *shell.Request) shell.View {
	t, err := records.ReadTerms(v)
	if err != nil {
		return plainly(v, shell.AsFault(err), "")
	}
	size, _ := strconv.ParseInt(v.Sent.Get("size"), 10, 64)
	session, err := openUpload(v, t, shell.FileName(v.Sent.Get("name")), v.Sent.Get("type"), size, numbered(v, "u"))
	if err != nil {
		return plainly(v, shell.AsFault(err), whyRefused(v, shell.AsFault(err)))
	}
	return shell.PlainText{Status: http.StatusOK, Text: session}
}

// receiveUpload streams the file that a script sends into its upload session.
func receiveUpload(v *shell.Request) shell.View {
	body := transfer.Body(v.Writer, v.Request)
	_, err := v.Site.Uploads.Take(v.Context(), v.Caller(false), v.PathValue("upload"), &api.UploadRequest{Body: body, Size: v.ContentLength, Broken: body.Broken})
	if err != nil && v.ContentLength < shell.MaxUnread {
		_, _ = io.CopyN(io.Discard, body, shell.MaxUnread) // a browser shows the answer then
	}
	transfer.Answer(v.Writer)
	if err != nil {
		return plainly(v, shell.AsFault(err), whyRefused(v, shell.AsFault(err)))
	}
	return shell.PlainText{Status: http.StatusOK, Text: v.PathValue("upload")}
}

// receive opens an upload session and streams a file into it. It returns the
// session's id.
func receive(v *shell.Request, t records.Terms, file *shell.SentFile, once string) (string, error) {
	session, err := openUpload(v, t, file.Name, file.ContentType, file.Size, once)
	if err != nil {
		return "", err
	}
	_, err = v.Site.Uploads.Take(v.Context(), v.Caller(false), session, &api.UploadRequest{Body: file.Reader, Size: file.Size, Broken: file.Incoming.Broken})
	return session, err
}

// openUpload opens an upload session for a file.
func openUpload(v *shell.Request, t records.Terms, name, said string, size int64, once string) (string, error) {
	if size == 0 {
		return "", fault.Invalid(fault.Field{Name: "size", Code: fault.Required, Text: emptyFile})
	}
	session, err := shell.Fetch[struct {
		ID string `json:"id"`
	}](v, upload.Create, shell.Arguments{Body: map[string]any{"fileName": name, "contentType": t.TypeOf(name, said), "size": size}, Once: once})
	return session.ID, err
}

const emptyFile = i18n.Text("The file is empty.")

// refusedUpload draws the form again, and says why no document was made.
func refusedUpload(v *shell.Request, typed shell.Values, f *fault.Fault) shell.View {
	if f.Code == fault.Unauthenticated || f.Code == fault.Internal {
		return v.Failed(f)
	}
	why := whyRefused(v, f)
	if v.Sent.Get("part") == "line" {
		return plainly(v, f, why)
	}
	form := uploadForm{Form: records.Form{Typed: typed, Wrong: shell.FieldTexts(f, v.Words.Language)}, why: why}
	if len(f.Fields) == 0 {
		form.why, form.failed, form.wait = "", why, f.Wait()
		v.RetryAfter(form.wait)
	}
	return drawUpload(v, form, f.Code.Status())
}

// whyRefused says why a file was refused, in everyday words. It is empty if the fault
// is about another field.
func whyRefused(v *shell.Request, f *fault.Fault) string {
	for _, field := range f.Fields {
		switch field.Name {
		case "contentType":
			t, _ := records.ReadTerms(v)
			return v.Words.Say("Files of this kind are not accepted. Accepted kinds: %s.", strings.Join(t.Words(v.Words.Language), ", "))
		case "size":
			if field.Code == fault.OutOfRange {
				t, _ := records.ReadTerms(v)
				return v.Words.Say("The file is too large. The limit is %s.", v.Words.Bytes(t.MaxSize))
			}
			return field.Message(v.Words.Language)
		case "fileName", "file", "name":
			return field.Message(v.Words.Language)
		case "uploadId":
			return v.Words.Say("The transfer is no longer valid. Please choose the file again.")
		}
	}
	if len(f.Fields) > 0 {
		return ""
	}
	switch f.Code {
	case fault.UploadIncomplete, fault.UploadChecksumMismatch, fault.NotFound:
		return v.Words.Say("The file did not arrive completely. Please send it again.")
	case fault.QuotaExhausted:
		return v.Words.Say("So many files of your office are waiting that there is no room for this one. Please try again later.")
	}
	_, why := v.Refusal(f)
	return why
}

// backTo returns where the form leads if it is left: to what it is about.
func (f uploadForm) backTo() string {
	for _, name := range about {
		if id := f.Typed[name]; id != "" {
			return "/" + f.Family.Field(name).To + "/" + url.PathEscape(id)
		}
	}
	return "/documents"
}

// download sends the file of a document. It is a download, and never shown.
func download(v *shell.Request) shell.View {
	a := v.Send(document.Content, shell.Arguments{ID: v.PathValue("id")})
	if a.Fault != nil {
		return v.Failed(a.Fault)
	}
	return shell.File{Response: a.Response}
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
	_ = json.Unmarshal(o.Error, &f) // without a failure there is no document, or null
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
func (o begunOperation) stage(v *shell.Request) string {
	switch {
	case o.Status == operation.Succeeded:
		return v.Words.Say("Checked and filed")
	case o.Progress < 30:
		return v.Words.Say("Being checked …")
	case o.Progress < 60:
		return v.Words.Say("Being scanned for malware …")
	}
	return v.Words.Say("Checked, being read …")
}

// why says why the work failed.
func (o begunOperation) why(v *shell.Request) string {
	f := o.failure()
	switch f.Code {
	case "":
		return ""
	case fault.UploadIncomplete, fault.UploadChecksumMismatch:
		return v.Words.Say("The file did not arrive completely.")
	case fault.Internal:
		return v.Words.Say("The file could not be processed. Please try again.")
	}
	for _, e := range f.Errors {
		return e.Message
	}
	return shell.Plain(f.Detail, v.Words.Language)
}

// showOperation serves the page of work that goes on after its answer. Only the
// person who began it sees it.
func showOperation(v *shell.Request) shell.View {
	o, err := shell.Fetch[begunOperation](v, operation.Get, shell.Arguments{ID: v.PathValue("id")})
	if err != nil {
		return v.Failed(err)
	}
	p := operationPage{begunOperation: o, names: map[string]string{}}
	if o.Result != nil && o.Result.Object == "document" && v.Session.May(records.Documents.Read) {
		p.record, err = records.Get(v, &records.Documents, o.Result.ID)
		if err != nil && !fault.Is(err, fault.NotFound) { // deleted since
			return v.Failed(err)
		}
		if err := records.Documents.Resolve(v, p.names, p.record); err != nil {
			return v.Failed(err)
		}
	}
	if v.Part("line") {
		return shell.HTML{Body: operationLine(v, p)}
	}
	if !o.ended() {
		v.Writer.Header().Set("Refresh", "2")
	}
	return v.OK(p.title(v), records.Documents.Name, operationView(v, p))
}

// operationPage is what the page of an operation shows.
type operationPage struct {
	begunOperation
	// record is the document that was made, if the person sees it.
	record shell.Values
	names  map[string]string
}

func (p operationPage) title(v *shell.Request) string {
	switch {
	case p.Status == operation.Failed:
		return v.Words.Say("Not filed")
	case p.Status == operation.Succeeded:
		return v.Words.Say("Filed")
	}
	return v.Words.Say("Being filed")
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
var showDocuments = records.ShowList(&records.Documents, func(v *shell.Request, l records.List) shell.View {
	files, err := shell.Ask(v, document.ListUnderway, op.None{})
	if err != nil {
		return v.Failed(err)
	}
	return v.OK(v.Words.Say(records.Documents.Many), records.Documents.Name, documentsView(v, l, files.Data))
})
