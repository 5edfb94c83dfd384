package office

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/a-h/templ"
	"github.com/klauspost/compress/gzip"

	"kartei/api"
	"kartei/api/op"
	"kartei/door/transfer"
	"kartei/kit/fault"
	"kartei/people/account"
	"kartei/record/document"
	"kartei/web/i18n"
)

// request is one request for a page.
type request struct {
	*http.Request
	office  *handler
	w       http.ResponseWriter
	page    *Page
	sandbox bool
	nonce   string
	// token is the text of the session's cookie.
	token string
	// session describes the caller. It is empty on pages for everyone.
	session session
	words   i18n.Words
	// naming guards names, broken and stale while calls run side by side.
	naming sync.Mutex
	// form is the submitted form of a POST.
	form *form
	// broken is the id of a call that failed by an error of the program.
	broken string
	// stale is true after an operation has asked for a recent sign-in: see confirmFirst.
	stale bool
}

// view is the answer of a page: a status and a component, or a redirect.
type view struct {
	status int
	// body is nil for an answer without content.
	body templ.Component
	// to is the address of a redirect.
	to string
	// next is the page that is shown in place of a redirect.
	next *http.Request
	// plain is a text for a script.
	plain string
	// picture is the picture of a page.
	picture *document.Page
	// file is an answer with a file.
	file *api.Response
	// written is a file that the page itself writes.
	written *written
	// message says that body is a message, which a script shows above the page.
	message bool
	// data is answered as JSON to a script, in place of a page.
	data any
	// secret says that the page shows a secret. It is not compressed then, so that its
	// size tells nothing about the secret.
	secret bool
	// sent says that the page has answered by itself.
	sent bool
}

// page returns the handler of a row of Pages.
func (h *handler) page(p *Page, sandbox bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := &request{Request: r, office: h, w: w, page: p, sandbox: sandbox, nonce: newNonce()}
		if p.reach == reachWatching || v.refreshing() {
			v.Request = r.WithContext(api.Unattended(r.Context()))
		}
		setHeaders(w.Header(), v.nonce)
		v.words = i18n.Words{Language: languageOf(r), Now: h.Clock.Now()}
		v.show(v.serve())
	})
}

// cookie returns the text of the session's cookie, empty if there is none.
func (v *request) cookie() string { return v.cookieNamed(v.office.cookie) }

func (v *request) cookieNamed(name string) string {
	if c := v.CookiesNamed(name); len(c) > 0 {
		return c[0].Value
	}
	return ""
}

// serve runs the checks of every page, and then the page.
func (v *request) serve() view {
	v.token = v.cookie()
	if v.Method == http.MethodPost {
		f, err := readForm(v.w, v.Request, v.page.takesFiles)
		if err != nil {
			return v.failed(err)
		}
		v.form = f
	}
	if !v.wellFormed() {
		return v.failed(&fault.Fault{Code: fault.InvalidRequest, Detail: &notText})
	}
	if v.page.reach != reachOpen && v.page.reach != reachWatching {
		switch err := v.identify(); {
		case fault.Is(err, fault.Unauthenticated):
			return v.askToSignIn()
		case err != nil && v.page.Path == signOutPath:
			return v.page.Serve(v) // it removes the cookie
		case err != nil:
			return v.failed(err)
		}
	}
	if out, refused := v.misplaced(); refused {
		return out
	}
	if v.session.SecondFactorDue && v.page.reach != reachOpen && !v.page.enrols {
		return view{to: securityPath}
	}
	if !v.session.mayOpen(v.page) {
		return v.failed(&fault.Fault{Code: fault.Forbidden, Detail: &notAllowed})
	}
	out := v.page.Serve(v)
	if v.stale {
		return v.confirmFirst()
	}
	return out
}

// wellFormed reports whether everything that was sent is text that can be stored:
// UTF-8 without NUL. Browsers send nothing else.
func (v *request) wellFormed() bool {
	sent := []string{v.URL.Path}
	add := func(lists url.Values) {
		for name, list := range lists {
			sent = append(append(sent, name), list...)
		}
	}
	add(v.URL.Query())
	if v.form != nil {
		add(v.form.Values)
		for _, text := range v.form.was {
			sent = append(sent, text)
		}
	}
	return !slices.ContainsFunc(sent, func(text string) bool { return !utf8.ValidString(text) || strings.ContainsRune(text, 0) })
}

var notText = text("Die Angaben sind kein gültiger Text.", "What was sent is no valid text.")

// notAllowed is shown in place of a page that needs a right.
var notAllowed = text(
	"Dafür fehlt Ihnen das Recht. Eine Administratorin oder ein Administrator Ihres Büros kann es Ihnen geben.",
	"You do not have the right to do this. An admin of your office can give it to you.")

// show sends a view.
func (v *request) show(out view) {
	if v.form != nil && v.form.file != nil {
		v.form.file.leave(v)
	}
	if v.refreshing() && out.body != nil && out.status == http.StatusOK {
		out = v.unchanged(out)
	}
	switch {
	case out.sent:
		return
	case out.to != "":
		http.Redirect(v.w, v.Request, out.to, http.StatusSeeOther)
		return
	case out.next != nil:
		v.office.pages.ServeHTTP(v.w, out.next)
		return
	case out.plain != "":
		v.w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		v.w.WriteHeader(out.status)
		_, _ = io.WriteString(v.w, out.plain) // a client that went away needs no error
		return
	case out.picture != nil:
		v.w.Header().Set("Content-Type", out.picture.ContentType)
		v.w.Header().Set("Content-Length", strconv.Itoa(len(out.picture.Image)))
		_, _ = v.w.Write(out.picture.Image) // a client that went away needs no error
		return
	case out.file != nil:
		v.sendFile(out.file)
		return
	case out.written != nil:
		v.sendWritten(out.written)
		return
	case out.data != nil:
		v.showData(out)
		return
	case out.body == nil:
		v.w.WriteHeader(out.status)
		return
	}
	h := v.w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Language", string(v.words.Language))
	if out.message {
		h.Set("HX-Retarget", "#faults")
		h.Set("HX-Reswap", "innerHTML")
		h.Set("HX-Reselect", ".banner")
	}
	packed := fault.AcceptsGzip(v.Header.Get("Accept-Encoding")) && !out.secret
	if packed {
		h.Set("Content-Encoding", "gzip")
	}
	v.w.WriteHeader(out.status)
	if v.Method == http.MethodHead {
		return
	}
	draw := out.body.Render
	if packed {
		draw = pack(draw)
	}
	if err := draw(v.Context(), v.w); err != nil && v.Context().Err() == nil {
		v.office.Logger.Error("a page could not be drawn", slog.String("page", v.page.Path), slog.Any("error", err))
	}
}

// sendFile streams a file, with the headers that make it a download. The API lets programs
// keep a file and ask whether it is the same; a browser keeps nothing.
func (v *request) sendFile(r *api.Response) {
	for name, values := range r.Header {
		if name != "Cache-Control" {
			v.w.Header()[name] = values
		}
	}
	if r.File == nil { // the browser has it already
		v.w.WriteHeader(r.Status)
		return
	}
	transfer.Send(v.w, v.Request, r.File)
}

// sendWritten sends a file. If it cannot be finished the connection is cut, so that
// no browser takes a part for the whole. A connection that the client closed is no
// fault.
func (v *request) sendWritten(f *written) {
	if err := f.send(v.w); err != nil && v.Context().Err() == nil {
		v.office.Logger.Warn("a file could not be sent", slog.String("page", v.page.Path), slog.Any("error", err))
		panic(http.ErrAbortHandler)
	}
}

// showData answers a script.
func (v *request) showData(out view) {
	v.w.Header().Set("Content-Type", "application/json")
	v.w.WriteHeader(out.status)
	if err := json.NewEncoder(v.w).Encode(out.data); err != nil && v.Context().Err() == nil {
		v.office.Logger.Error("an answer could not be sent", slog.String("page", v.page.Path), slog.Any("error", err))
	}
}

// wantsData reports whether the caller is a script that takes JSON.
func (v *request) wantsData() bool { return v.Header.Get("Accept") == "application/json" }

// pack returns a drawing whose bytes are compressed.
func pack(draw func(context.Context, io.Writer) error) func(context.Context, io.Writer) error {
	return func(ctx context.Context, w io.Writer) error {
		packer := packers.Get().(*gzip.Writer)
		defer packers.Put(packer)
		packer.Reset(w)
		return errors.Join(draw(ctx, packer), packer.Close())
	}
}

// packers pools the writers of compressed pages. No compressed page has a secret
// beside a text that somebody else can choose: tokens of forms differ in every
// answer.
var packers = sync.Pool{New: func() any {
	w, err := gzip.NewWriterLevel(nil, packing)
	if err != nil {
		panic(err) // packing is no level
	}
	return w
}}

// packing is the level of compression. A list with fifty rows has 1 % more bytes than by
// level 5 of the standard library, which takes 2.5 times as long.
const packing = 6

// identify asks who is calling.
func (v *request) identify() error {
	if v.token == "" {
		return fault.New(fault.Unauthenticated)
	}
	s, err := ask(v, account.GetSession, op.None{})
	if err != nil {
		return err
	}
	v.session = session(s)
	v.words = v.session.words(v.words)
	return nil
}

// arguments are the arguments of a call as a client sends them.
type arguments struct {
	id    string
	query url.Values
	body  any
	// match is the revision that a change expects, for If-Match. Zero sends none.
	match int64
	// once is the idempotency key.
	once string
	// sandbox calls in the sandbox, also from a page that is about the person.
	sandbox bool
}

// reply is the answer to a call, as its bytes.
type reply struct {
	*api.Response
}

// everywhere are the operations that every page may call: the session, and the factors that
// confirm it.
var everywhere = op.List{account.GetSession, account.GetFactors}

// uses returns an error if a page calls an operation that its line in Pages does not name.
func (v *request) uses(o op.Any) error {
	if everywhere.Has(o) || v.page.Uses.Has(o) {
		return nil
	}
	return fmt.Errorf("the page %s calls %s, which its line does not name", v.page.Path, o.About().ID)
}

// send runs an operation with arguments as a client sends them. So pages for all families of
// records have one form.
func (v *request) send(o op.Any, args arguments) reply {
	if err := v.uses(o); err != nil {
		return reply{&api.Response{Status: 500, Fault: fault.Wrap(err)}}
	}
	by := v.caller(args.sandbox)
	if args.match > 0 {
		by.Header["If-Match"] = []string{`"r` + strconv.FormatInt(args.match, 10) + `"`}
	}
	if args.once != "" {
		by.Header["Idempotency-Key"] = []string{args.once}
	}
	r, err := api.Send(v.Context(), v.office.API, by, o, api.Arguments{ID: args.id, Query: args.query, Body: args.body})
	if err != nil {
		return reply{&api.Response{Status: 500, Fault: fault.From(err)}}
	}
	v.note(r)
	return reply{r}
}

// note notes what an answer means for the page.
func (v *request) note(r *api.Response) {
	v.naming.Lock()
	defer v.naming.Unlock()
	if r.Fault != nil && r.Fault.Code == fault.Internal {
		v.broken = strings.Join(r.Header["Request-Id"], "")
	}
	v.stale = v.stale || api.Stale(r.Fault)
}

// how changes how an operation is called.
type how func(v *request, by *api.Caller)

// once makes a change that its form begins no more than once, also if the browser sends it again.
func once(v *request, by *api.Caller) { by.Header["Idempotency-Key"] = []string{v.form.token} }

// inSandbox calls in the sandbox, also from a page that is about the person.
func inSandbox(sandbox bool) how {
	return func(v *request, by *api.Caller) {
		if sandbox {
			by.Credential = api.Cookie(v.token, true)
		}
	}
}

// answer is the answer of an operation.
type answer[Out any] struct {
	Status int
	Fault  *fault.Fault
	Value  Out
}

// is reports whether the call was refused with a code.
func (a answer[Out]) is(code fault.Code) bool { return a.Fault != nil && a.Fault.Code == code }

// err returns the fault, or nil.
func (a answer[Out]) err() error {
	if a.Fault == nil {
		return nil
	}
	return a.Fault
}

// do runs an operation.
func do[In, Out any](v *request, o op.Operation[In, Out], in In, how ...how) answer[Out] {
	if err := v.uses(o); err != nil {
		return answer[Out]{Status: 500, Fault: fault.Wrap(err)}
	}
	by := v.caller(false)
	for _, change := range how {
		change(v, &by)
	}
	r, err := api.Answer(v.Context(), v.office.API, by, o, in)
	if err != nil {
		return answer[Out]{Status: 500, Fault: fault.From(err)}
	}
	v.note(r)
	a := answer[Out]{Status: r.Status, Fault: r.Fault}
	if a.Fault == nil {
		if a.Value, err = api.Value[Out](r); err != nil {
			a.Status, a.Fault = 500, fault.From(err)
		}
	}
	return a
}

// ask is do for an operation whose refusal is the end of the page.
func ask[In, Out any](v *request, o op.Operation[In, Out], in In, how ...how) (Out, error) {
	a := do(v, o, in, how...)
	return a.Value, a.err()
}

// caller returns who calls, in the sandbox or in the environment of the page.
func (v *request) caller(sandbox bool) api.Caller {
	return api.Caller{Door: api.Web, Credential: api.Cookie(v.token, sandbox || v.sandbox), Address: v.office.Address(v.Request), Trace: v.office.Trace(v.Request), Device: v.cookieNamed(v.office.deviceCookie()), Header: map[string][]string{
		"Accept-Language": {string(v.words.Language)},
		"User-Agent":      {v.UserAgent()},
	}}
}

// is reports whether the call was refused with a code.
func (a reply) is(code fault.Code) bool { return a.Fault != nil && a.Fault.Code == code }

// err returns the fault, or nil.
func (a reply) err() error {
	if a.Fault == nil {
		return nil
	}
	return a.Fault
}

// fetch is send for an answer in the types of the pages.
func fetch[T any](v *request, o op.Any, args arguments) (out T, err error) {
	a := v.send(o, args)
	if err := a.err(); err != nil {
		return out, err
	}
	if len(a.Body) > 0 {
		err = decode(a.Body, &out)
	}
	return out, err
}

// url returns the address of a page of the environment that the request is about.
func (v *request) url(path string) string { return string(v.look().To(path)) }

// mint returns a token for a new form.
func (v *request) mint() string { return v.office.tokens.mint(v.session.Principal.ID) }

// seeOther redirects to a page after a change.
func (v *request) seeOther(path string) view { return view{to: v.url(path)} }

// asFault returns the fault of an error.
func asFault(err error) *fault.Fault {
	if f, is := errors.AsType[*fault.Fault](err); is {
		return f
	}
	return fault.Wrap(err)
}

// fieldTexts returns the messages of a fault by field.
func fieldTexts(f *fault.Fault, in fault.Language) map[string]string {
	texts := map[string]string{}
	for _, field := range f.Fields {
		name, _, _ := strings.Cut(field.Name, "[")
		if texts[name] == "" {
			texts[name] = field.Message(in)
		}
	}
	return texts
}

// written is a file that a page writes for the browser to store.
type written struct {
	name, mediaType string
	write           func(http.ResponseWriter) error
}

// send writes the file.
func (f *written) send(w http.ResponseWriter) error {
	f.head(w)
	return f.write(w)
}

// head writes the headers of the file. The policy holds if a browser shows it
// instead of storing it.
func (f *written) head(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", f.mediaType)
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": f.name}))
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	w.WriteHeader(http.StatusOK)
}

// nameOfFile returns the name of a file from a text: without what file systems and
// mail programs take for something else.
func nameOfFile(text, ending string) string {
	name := strings.Map(func(r rune) rune {
		if r < ' ' || strings.ContainsRune(`<>:"/\|?*`, r) || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0x200e || r == 0x200f {
			return ' '
		}
		return r
	}, text)
	name = strings.Trim(strings.Join(strings.Fields(name), " "), ". ")
	if runes := []rune(name); len(runes) > 80 {
		name = string(runes[:80])
	}
	return first(name, "kartei") + "." + ending
}
