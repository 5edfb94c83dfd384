package shell

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"kartei/access"
	"kartei/api"
	"kartei/api/op"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/people/account"
)

// Request is one HTTP request for a page.
type Request struct {
	*http.Request
	Site    *Site
	Writer  http.ResponseWriter
	Page    *Page
	Sandbox bool
	nonce   string
	// Token is the value of the session cookie.
	Token string
	// Session is the caller's session. It is empty on pages that need no session.
	Session Session
	Words   i18n.Words
	// naming guards Broken, Stale and the maps of names, as calls may run in parallel.
	naming sync.Mutex
	// Sent is the submitted form of a POST request, and otherwise nil.
	Sent *Form
	// Broken is the request id of a call that failed with an internal error.
	Broken string
	// Stale is true if an operation was refused because it needs a recent sign-in: see
	// confirmFirst.
	Stale bool
}

// page returns the HTTP handler of an entry of Pages.
func (h *Site) page(p *Page, sandbox bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := &Request{Request: r, Site: h, Writer: w, Page: p, Sandbox: sandbox, nonce: newNonce()}
		if p.reach == reachWatching || v.refreshing() {
			v.Request = r.WithContext(access.Unattended(r.Context()))
		}
		setHeaders(w.Header(), v.nonce)
		v.Words = i18n.Words{Language: i18n.OfPage(r), Now: h.Clock.Now()}
		v.show(v.serve())
	})
}

// cookie returns the value of the session cookie. It is empty if there is none.
func (v *Request) cookie() string { return v.cookieNamed(v.Site.Cookie) }

func (v *Request) cookieNamed(name string) string {
	if c := v.CookiesNamed(name); len(c) > 0 {
		return c[0].Value
	}
	return ""
}

// serve runs the checks for every page, and then the handler of the page.
func (v *Request) serve() View {
	v.Token = v.cookie()
	if v.Method == http.MethodPost {
		f, err := readForm(v.Writer, v.Request, v.Page.takesFiles)
		if err != nil {
			return v.Failed(err)
		}
		v.Sent = f
	}
	if !v.wellFormed() {
		return v.Failed(&fault.Fault{Code: fault.InvalidRequest, Detail: notText})
	}
	if v.Page.reach != reachOpen && v.Page.reach != reachWatching {
		switch err := v.Identify(); {
		case fault.Is(err, fault.Unauthenticated):
			return v.askToSignIn()
		case err != nil && v.Page.Path == SignOutPath:
			return v.Page.Serve(v) // the handler removes the cookie
		case err != nil:
			return v.Failed(err)
		}
	}
	if out := v.misplaced(); out != nil {
		return out
	}
	if v.Session.SecondFactorDue && v.Page.reach != reachOpen && !v.Page.enrols {
		return Redirect{To: SecurityPath}
	}
	if !v.Session.mayOpen(v.Page) {
		return v.Failed(&fault.Fault{Code: fault.Forbidden, Detail: NotAllowed})
	}
	out := v.Page.Serve(v)
	if v.Stale {
		return v.confirmFirst()
	}
	return out
}

// wellFormed reports whether the path, the query and the form are valid UTF-8 without NUL. Browsers
// send nothing else, and the database stores nothing else.
func (v *Request) wellFormed() bool {
	sent := []string{v.URL.Path}
	add := func(lists url.Values) {
		for name, list := range lists {
			sent = append(append(sent, name), list...)
		}
	}
	add(v.URL.Query())
	if v.Sent != nil {
		add(v.Sent.Values)
		for _, text := range v.Sent.Was {
			sent = append(sent, text)
		}
	}
	return !slices.ContainsFunc(sent, func(text string) bool { return !utf8.ValidString(text) || strings.ContainsRune(text, 0) })
}

var notText = i18n.Text("What was sent is no valid text.")

// NotAllowed is the text that replaces a page if the person lacks a right.
var NotAllowed = i18n.Text("You do not have the right to do this. An admin of your office can give it to you.")

// show sends a response.
func (v *Request) show(out View) {
	if v.Sent != nil && v.Sent.File != nil {
		v.Sent.File.leave(v)
	}
	out.answer(v)
}

// wantsData reports whether the request comes from a script that expects JSON.
func (v *Request) wantsData() bool { return v.Header.Get("Accept") == "application/json" }

// Identify loads the session of the cookie into v.Session. It fails with the fault unauthenticated
// if there is no valid session.
func (v *Request) Identify() error {
	if v.Token == "" {
		return fault.New(fault.Unauthenticated)
	}
	s, err := Ask(v, account.GetSession, op.None{})
	if err != nil {
		return err
	}
	v.Session = Session(s)
	v.Words = v.Session.words(v.Words)
	return nil
}

// Arguments are the arguments of an operation in the form in which an API client sends them.
type Arguments struct {
	ID    string
	Query url.Values
	Body  any
	// Match is the expected revision of the record, for If-Match. Zero sends no If-Match.
	Match int64
	// Once is the idempotency key. If it is empty, none is sent.
	Once string
	// Sandbox makes the call in the sandbox, also from a page that is about the person.
	Sandbox bool
}

// reply is an encoded response of the API.
type reply struct {
	*api.Response
}

// everywhere has the operations that every page may call: they read the session, and the factors
// with which a person confirms a sign-in.
var everywhere = op.List{account.GetSession, account.GetFactors}

// uses returns an error if the page may not call an operation, because its Uses does not contain
// the operation.
func (v *Request) uses(o op.Any) error {
	if everywhere.Has(o) || v.Page.Uses.Has(o) {
		return nil
	}
	return fmt.Errorf("the page %s calls %s, which its line does not name", v.Page.Path, o.About().ID)
}

// Send runs an operation with the arguments of an API client. Pages can thus treat all families of
// records alike.
func (v *Request) Send(o op.Any, args Arguments) reply {
	if err := v.uses(o); err != nil {
		return reply{&api.Response{Status: 500, Fault: fault.Wrap(err)}}
	}
	by := v.Caller(args.Sandbox)
	if args.Match > 0 {
		by.Header["If-Match"] = []string{`"r` + strconv.FormatInt(args.Match, 10) + `"`}
	}
	if args.Once != "" {
		by.Header["Idempotency-Key"] = []string{args.Once}
	}
	r, err := api.Send(v.Context(), v.Site.API, by, o, api.Arguments{ID: args.ID, Query: args.Query, Body: args.Body})
	if err != nil {
		return reply{&api.Response{Status: 500, Fault: fault.From(err)}}
	}
	v.note(r)
	return reply{r}
}

// note stores the request id of an internal error in v.Broken, and sets v.Stale if the call needs a
// recent sign-in.
func (v *Request) note(r *api.Response) {
	v.naming.Lock()
	defer v.naming.Unlock()
	if r.Fault != nil && r.Fault.Code == fault.Internal {
		v.Broken = strings.Join(r.Header["Request-Id"], "")
	}
	v.Stale = v.Stale || api.Stale(r.Fault)
}

// How is an option of a call: a function that changes the caller's credential or headers.
type How func(v *Request, by *api.Caller)

// Once sends the token of the form as idempotency key. The change then happens only once, even if
// the browser sends the form again.
func Once(v *Request, by *api.Caller) { by.Header["Idempotency-Key"] = []string{v.Sent.Token} }

// InSandbox makes the call in the sandbox if sandbox is true, also from a page that is about the
// person.
func InSandbox(sandbox bool) How {
	return func(v *Request, by *api.Caller) {
		if sandbox {
			by.Credential = api.Cookie(v.Token, true)
		}
	}
}

// Answer is the result of an operation: an HTTP status, and a value or a fault.
type Answer[Out any] struct {
	Status int
	Fault  *fault.Fault
	Value  Out
}

// Is reports whether the call was refused with this code.
func (a Answer[Out]) Is(code fault.Code) bool { return a.Fault != nil && a.Fault.Code == code }

// Err returns the fault, or nil.
func (a Answer[Out]) Err() error {
	if a.Fault == nil {
		return nil
	}
	return a.Fault
}

// Do runs an operation. Its result has a fault if the operation fails.
func Do[In, Out any](v *Request, o op.Operation[In, Out], in In, how ...How) Answer[Out] {
	if err := v.uses(o); err != nil {
		return Answer[Out]{Status: 500, Fault: fault.Wrap(err)}
	}
	by := v.Caller(false)
	for _, change := range how {
		change(v, &by)
	}
	r, err := api.Answer(v.Context(), v.Site.API, by, o, in)
	if err != nil {
		return Answer[Out]{Status: 500, Fault: fault.From(err)}
	}
	v.note(r)
	a := Answer[Out]{Status: r.Status, Fault: r.Fault}
	if a.Fault == nil {
		if a.Value, err = api.Value[Out](r); err != nil {
			a.Status, a.Fault = 500, fault.From(err)
		}
	}
	return a
}

// Ask runs an operation and returns its value, or its fault as an error. It is for operations
// without which the page cannot be shown.
func Ask[In, Out any](v *Request, o op.Operation[In, Out], in In, how ...How) (Out, error) {
	a := Do(v, o, in, how...)
	return a.Value, a.Err()
}

// Caller returns the caller for the API: the session with the address and the headers of the
// request. The environment is the sandbox if sandbox is true, and otherwise the page's.
func (v *Request) Caller(sandbox bool) api.Caller {
	return api.Caller{Door: api.Web, Credential: api.Cookie(v.Token, sandbox || v.Sandbox), Address: v.Site.Address(v.Request), Trace: v.Site.Trace(v.Request), Device: v.cookieNamed(v.Site.deviceCookie()), Header: map[string][]string{
		"Accept-Language": {string(v.Words.Language)},
		"User-Agent":      {v.UserAgent()},
	}}
}

// Is reports whether the call was refused with this code.
func (a reply) Is(code fault.Code) bool { return a.Fault != nil && a.Fault.Code == code }

// Err returns the fault, or nil.
func (a reply) Err() error {
	if a.Fault == nil {
		return nil
	}
	return a.Fault
}

// Fetch runs an operation like Send, and decodes the JSON of the response into a T.
func Fetch[T any](v *Request, o op.Any, args Arguments) (out T, err error) {
	a := v.Send(o, args)
	if err := a.Err(); err != nil {
		return out, err
	}
	if len(a.Body) > 0 {
		err = json.Unmarshal(a.Body, &out)
	}
	return out, err
}

// Address returns the full path of a page in the environment of the request.
func (v *Request) Address(path string) string { return string(v.Look().To(path)) }

// Mint returns a new form token for the person.
func (v *Request) Mint() string { return v.Site.Tokens.Mint(v.Session.Principal.ID) }

// SeeOther returns a redirect (303) to a page after a change.
func (v *Request) SeeOther(path string) View { return Redirect{To: v.Address(path)} }

// AsFault returns the fault in the error's chain. Any other error becomes an internal fault.
func AsFault(err error) *fault.Fault {
	if f, is := errors.AsType[*fault.Fault](err); is {
		return f
	}
	return fault.Wrap(err)
}

// FieldTexts returns the first message of a fault for each field.
func FieldTexts(f *fault.Fault, in i18n.Language) map[string]string {
	texts := map[string]string{}
	for _, field := range f.Fields {
		name, _, _ := strings.Cut(field.Name, "[")
		if texts[name] == "" {
			texts[name] = field.Message(in)
		}
	}
	return texts
}
