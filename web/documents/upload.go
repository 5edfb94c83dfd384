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

// uploadForm is the data of the form for a new document.
type uploadForm struct {
	records.Form
	terms shell.Terms
	// why is the reason why the file was refused. failed is the error if no field is wrong. Both
	// may be empty.
	why, failed string
	// wait is the time after which to try again. It is zero if waiting does not help.
	wait time.Duration
}

// about has the members with the contact, company or task to which a document refers.
var about = []string{"contactId", "companyId", "taskId"}

// showUpload serves the form for a new document. The query has the record to which the document
// will refer.
func showUpload(v *shell.Request) shell.View {
	typed := shell.Values{}
	for _, name := range about {
		typed[name] = v.URL.Query().Get(name)
	}
	return drawUpload(v, uploadForm{Form: records.Form{Typed: typed}}, http.StatusOK)
}

// drawUpload returns the form for a new document, with error messages.
func drawUpload(v *shell.Request, f uploadForm, status int) shell.View {
	var err error
	if f.terms, err = shell.ReadTerms(v); err != nil {
		return v.Failed(err)
	}
	f.Family, f.Token, f.Names = &records.Documents, v.Mint(), map[string]string{}
	if err := records.Documents.Resolve(v, f.Names, f.Typed); err != nil {
		return v.Failed(err)
	}
	return v.OK(v.Words.Say("File a document"), records.Documents.Name, uploadView(v, f)).WithStatus(status)
}

// createDocument creates a document from the file in the form, or from an upload that is complete.
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
		t, err := shell.ReadTerms(v)
		if err != nil {
			return v.Failed(err)
		}
		once = file.Key(once)
		in := &api.UploadRequest{Body: file.Reader, Size: file.Size, Broken: file.Incoming.Broken}
		if uploaded, err = receive(v, t, file.Name, file.ContentType, in, once+".f"); err != nil {
			return refusedUpload(v, typed, shell.AsFault(err))
		}
	}
	begun, err := begin(v, uploaded, typed.Body(), once)
	if err != nil {
		return refusedUpload(v, typed, shell.AsFault(err))
	}
	if v.Sent.Get("part") == "line" {
		return shell.PlainText{Status: http.StatusOK, Text: begun}
	}
	return v.SeeOther("/operations/" + begun)
}

// begin creates a document from an upload session with its bytes. It returns the id of the operation.
func begin(v *shell.Request, uploaded string, members map[string]any, once string) (string, error) {
	members["uploadId"] = uploaded
	begun, err := shell.Fetch[begunOperation](v, document.Create, shell.Arguments{Body: members, Once: once})
	return begun.ID, err
}

// FileText creates a document from a text that a page makes. name is the name of the file, and members are
// further members of the document. It returns the id of the operation. once is the idempotency key: for the same
// key, name and text there is one document. The page needs the operations document.Create, upload.Create and
// upload.GetTerms.
func FileText(v *shell.Request, name, text string, members map[string]any, once string) (operation string, err error) {
	t, err := shell.ReadTerms(v)
	if err != nil {
		return "", err
	}
	in := &api.UploadRequest{
		Body: strings.NewReader(text), Size: int64(len(text)), Broken: func() bool { return false },
	}
	uploaded, err := receive(v, t, name, "text/plain", in, once+".f")
	if err != nil {
		return "", err
	}
	return begin(v, uploaded, members, once)
}

// numbered returns the idempotency key for one of several files that a script uploads from a page.
// step identifies the step of the upload.
func numbered(v *shell.Request, step string) string {
	n, _ := strconv.ParseUint(v.Sent.Get("n"), 10, 32)
	return v.Sent.Token + "." + step + strconv.FormatUint(n, 10)
}

// plainly returns a plain text response that tells a script why a file was refused. If why is
// empty, the text follows from the fault.
func plainly(v *shell.Request, f *fault.Fault, why string) shell.View {
	if wait := f.Wait(); wait > 0 {
		v.Writer.Header().Set("Retry-After", strconv.Itoa(int((wait+time.Second-1)/time.Second)))
	}
	return shell.PlainText{Status: f.Code.Status(), Text: cmp.Or(why, v.Reason(f))}
}

// beginUpload creates an upload session and returns its id to a script. A file can thus be refused
// before its bytes are sent.
func beginUpload(v *shell.Request) shell.View {
	t, err := shell.ReadTerms(v)
	if err != nil {
		return plainly(v, shell.AsFault(err), "")
	}
	size, _ := strconv.ParseInt(v.Sent.Get("size"), 10, 64)
	session, err := openUpload(v, t, shell.FileName(v.Sent.Get("name")), v.Sent.Get("type"), size, numbered(v, "u"))
	if err != nil {
		return plainly(v, shell.AsFault(err), WhyRefused(v, shell.AsFault(err)))
	}
	return shell.PlainText{Status: http.StatusOK, Text: session}
}

// receiveUpload streams the file in the request body into an upload session.
func receiveUpload(v *shell.Request) shell.View {
	body := transfer.Body(v.Writer, v.Request)
	_, err := v.Site.Uploads.Take(v.Context(), v.Caller(false), v.PathValue("upload"), &api.UploadRequest{Body: body, Size: v.ContentLength, Broken: body.Broken})
	if err != nil && v.ContentLength < shell.MaxUnread {
		_, _ = io.CopyN(io.Discard, body, shell.MaxUnread) // a browser shows the response only after it has sent the body
	}
	transfer.Answer(v.Writer)
	if err != nil {
		return plainly(v, shell.AsFault(err), WhyRefused(v, shell.AsFault(err)))
	}
	return shell.PlainText{Status: http.StatusOK, Text: v.PathValue("upload")}
}

// receive creates an upload session, and streams a file into it. It returns the id of the session. said is the
// media type that the browser sent.
func receive(
	v *shell.Request, t shell.Terms, name, said string, in *api.UploadRequest, once string,
) (string, error) {
	session, err := openUpload(v, t, name, said, in.Size, once)
	if err != nil {
		return "", err
	}
	_, err = v.Site.Uploads.Take(v.Context(), v.Caller(false), session, in)
	return session, err
}

// openUpload creates an upload session for a file, and returns its id. said is the media type that
// the browser sent.
func openUpload(v *shell.Request, t shell.Terms, name, said string, size int64, once string) (string, error) {
	if size == 0 {
		return "", fault.Invalid(fault.Field{Name: "size", Code: fault.Required, Text: emptyFile})
	}
	session, err := shell.Fetch[struct {
		ID string `json:"id"`
	}](v, upload.Create, shell.Arguments{Body: map[string]any{"fileName": name, "contentType": t.TypeOf(name, said), "size": size}, Once: once})
	return session.ID, err
}

const emptyFile = i18n.Text("The file is empty.")

// refusedUpload returns the form with a message that says why no document was created.
func refusedUpload(v *shell.Request, typed shell.Values, f *fault.Fault) shell.View {
	if f.Code == fault.Unauthenticated || f.Code == fault.Internal {
		return v.Failed(f)
	}
	why := WhyRefused(v, f)
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

// WhyRefused returns a text that says why a file was refused. It is empty if the fault is about another field.
func WhyRefused(v *shell.Request, f *fault.Fault) string {
	for _, field := range f.Fields {
		switch field.Name {
		case "contentType":
			t, _ := shell.ReadTerms(v)
			return v.Words.Say("Files of this kind are not accepted. Accepted kinds: %s.", strings.Join(t.Words(v.Words.Language), ", "))
		case "size":
			if field.Code == fault.OutOfRange {
				t, _ := shell.ReadTerms(v)
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

// backTo returns the path of the page after Cancel: the record to which the document would refer,
// or the list of documents.
func (f uploadForm) backTo() string {
	for _, name := range about {
		if id := f.Typed[name]; id != "" {
			return "/" + f.Family.Field(name).To + "/" + url.PathEscape(id)
		}
	}
	return "/documents"
}

// download serves the file of a document as a download. The browser does not display it.
func download(v *shell.Request) shell.View {
	a := v.Send(document.Content, shell.Arguments{ID: v.PathValue("id")})
	if a.Fault != nil {
		return v.Failed(a.Fault)
	}
	return shell.File{Response: a.Response}
}

// begunOperation is a long-running operation of the API.
type begunOperation struct{ operation.Operation }

// failure is the problem document of a failed operation.
type failure struct {
	Code      fault.Code `json:"code"`
	Detail    string     `json:"detail"`
	RequestID string     `json:"requestId"`
	Errors    []struct {
		Field   string `json:"field"`
		Message string `json:"message"`
	} `json:"errors"`
}

// failure returns the problem document of the operation. It is empty if the operation did not fail.
func (o begunOperation) failure() (f failure) {
	_ = json.Unmarshal(o.Error, &f) // an operation that did not fail has no document, or null
	return f
}

// running reports whether the operation of a file in the list has not ended.
func running(list []document.Underway) bool {
	return slices.ContainsFunc(list, func(u document.Underway) bool { return !begunOperation{u.Operation}.ended() })
}

// ended reports whether the operation has succeeded or failed.
func (o begunOperation) ended() bool {
	return o.Status == operation.Succeeded || o.Status == operation.Failed
}

// stage returns a text with the current step of the operation.
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

// why returns a text that says why the operation failed. It is empty if the operation did not fail.
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

// showOperation serves the page of a long-running operation. Only the person who started the
// operation may see it.
func showOperation(v *shell.Request) shell.View {
	o, err := shell.Fetch[begunOperation](v, operation.Get, shell.Arguments{ID: v.PathValue("id")})
	if err != nil {
		return v.Failed(err)
	}
	p := operationPage{begunOperation: o, names: map[string]string{}}
	if o.Result != nil && o.Result.Object == "document" && v.Session.May(records.Documents.Read) {
		p.record, err = records.Get(v, &records.Documents, o.Result.ID)
		if err != nil && !fault.Is(err, fault.NotFound) { // the document was deleted since
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

// operationPage is the data of an operation's page.
type operationPage struct {
	begunOperation
	// record is the new document, or nil if the person may not see it.
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

// about returns the names of the records to which the document refers.
func (p operationPage) about() []string {
	var list []string
	for _, name := range about {
		if id := p.record[name]; id != "" {
			list = append(list, cmp.Or(p.names[id], id))
		}
	}
	return list
}

// again returns the query of the form for another document that refers to the same records.
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

// showDocuments serves the list of documents, together with the person's uploads in progress.
var showDocuments = records.ShowList(&records.Documents, func(v *shell.Request, l records.List) shell.View {
	files, err := shell.Ask(v, document.ListUnderway, op.None{})
	if err != nil {
		return v.Failed(err)
	}
	return v.OK(v.Words.Say(records.Documents.Many), records.Documents.Name, documentsView(v, l, files.Data))
})
