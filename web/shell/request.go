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

// Request is one request for a page.
type Request struct {
	*http.Request
	Site    *Site
	Writer  http.ResponseWriter
	Page    *Page
	Sandbox bool
	nonce   string
	// Token is the text of the session's cookie.
	Token string
	// Session describes the caller. It is empty on pages for everyone.
	Session Session
	Words   i18n.Words
	// naming guards names, broken and stale while calls run side by side.
	naming sync.Mutex
	// Sent is the submitted form of a POST.
	Sent *Form
	// Broken is the id of a call that failed by an error of the program.
	Broken string
	// Stale is true after an operation has asked for a recent sign-in: see confirmFirst.
	Stale bool
}

// page returns the handler of a row of Pages.
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

// cookie returns the text of the session's cookie, empty if there is none.
func (v *Request) cookie() string { return v.cookieNamed(v.Site.Cookie) }

func (v *Request) cookieNamed(name string) string {
	if c := v.CookiesNamed(name); len(c) > 0 {
		return c[0].Value
	}
	return ""
}

// serve runs the checks of every page, and then the page.
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
			return v.Page.Serve(v) // it removes the cookie
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

// wellFormed reports whether everything that was sent is text that can be stored:
// UTF-8 without NUL. Browsers send nothing else.
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

// NotAllowed is shown in place of a page that needs a right.
var NotAllowed = i18n.Text("You do not have the right to do this. An admin of your office can give it to you.")

// show sends a view.
func (v *Request) show(out View) {
	if v.Sent != nil && v.Sent.File != nil {
		v.Sent.File.leave(v)
	}
	out.answer(v)
}

// wantsData reports whether the caller is a script that takes JSON.
func (v *Request) wantsData() bool { return v.Header.Get("Accept") == "application/json" }

// Identify asks who is calling.
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

// Arguments are the arguments of a call as a client sends them.
type Arguments struct {
	ID    string
	Query url.Values
	Body  any
	// Match is the revision that a change expects, for If-Match. Zero sends none.
	Match int64
	// Once is the idempotency key.
	Once string
	// Sandbox calls in the sandbox, also from a page that is about the person.
	Sandbox bool
}

// reply is the answer to a call, as its bytes.
type reply struct {
	*api.Response
}

// everywhere are the operations that every page may call: the session, and the factors that
// confirm it.
var everywhere = op.List{account.GetSession, account.GetFactors}

// uses returns an error if a page calls an operation that its line in Pages does not name.
func (v *Request) uses(o op.Any) error {
	if everywhere.Has(o) || v.Page.Uses.Has(o) {
		return nil
	}
	return fmt.Errorf("the page %s calls %s, which its line does not name", v.Page.Path, o.About().ID)
}

// Send runs an operation with arguments as a client sends them. So pages for all families of
// records have one form.
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

// note notes what an answer means for the page.
func (v *Request) note(r *api.Response) {
	v.naming.Lock()
	defer v.naming.Unlock()
	if r.Fault != nil && r.Fault.Code == fault.Internal {
		v.Broken = strings.Join(r.Header["Request-Id"], "")
	}
	v.Stale = v.Stale || api.Stale(r.Fault)
}

// How changes how an operation is called.
type How func(v *Request, by *api.Caller)

// Once makes a change that its form begins no more than once, also if the browser sends it again.
func Once(v *Request, by *api.Caller) { by.Header["Idempotency-Key"] = []string{v.Sent.Token} }

// InSandbox calls in the sandbox, also from a page that is about the person.
func InSandbox(sandbox bool) How {
	return func(v *Request, by *api.Caller) {
		if sandbox {
			by.Credential = api.Cookie(v.Token, true)
		}
	}
}

// Answer is the answer of an operation.
type Answer[Out any] struct {
	Status int
	Fault  *fault.Fault
	Value  Out
}

// Is reports whether the call was refused with a code.
func (a Answer[Out]) Is(code fault.Code) bool { return a.Fault != nil && a.Fault.Code == code }

// Err returns the fault, or nil.
func (a Answer[Out]) Err() error {
	if a.Fault == nil {
		return nil
	}
	return a.Fault
}

// Do runs an operation.
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

// Ask is do for an operation whose refusal is the end of the page.
func Ask[In, Out any](v *Request, o op.Operation[In, Out], in In, how ...How) (Out, error) {
	a := Do(v, o, in, how...)
	return a.Value, a.Err()
}

// Caller returns who calls, in the sandbox or in the environment of the page.
func (v *Request) Caller(sandbox bool) api.Caller {
	return api.Caller{Door: api.Web, Credential: api.Cookie(v.Token, sandbox || v.Sandbox), Address: v.Site.Address(v.Request), Trace: v.Site.Trace(v.Request), Device: v.cookieNamed(v.Site.deviceCookie()), Header: map[string][]string{
		"Accept-Language": {string(v.Words.Language)},
		"User-Agent":      {v.UserAgent()},
	}}
}

// Is reports whether the call was refused with a code.
func (a reply) Is(code fault.Code) bool { return a.Fault != nil && a.Fault.Code == code }

// Err returns the fault, or nil.
func (a reply) Err() error {
	if a.Fault == nil {
		return nil
	}
	return a.Fault
}

// Fetch is send for an answer in the types of the pages.
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

// Address returns the address of a page of the environment that the request is about.
func (v *Request) Address(path string) string { return string(v.Look().To(path)) }

// Mint returns a token for a new form.
func (v *Request) Mint() string { return v.Site.Tokens.Mint(v.Session.Principal.ID) }

// SeeOther redirects to a page after a change.
func (v *Request) SeeOther(path string) View { return Redirect{To: v.Address(path)} }

// AsFault returns the fault of an error.
func AsFault(err error) *fault.Fault {
	if f, is := errors.AsType[*fault.Fault](err); is {
		return f
	}
	return fault.Wrap(err)
}

// FieldTexts returns the messages of a fault by field.
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
