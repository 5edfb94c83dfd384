package shell

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/web/ui"
)

// Look returns the part of the request that all templates need: language, theme, nonce and
// environment.
func (v *Request) Look() ui.View {
	root := ""
	if v.Sandbox {
		root = SandboxPath
	}
	p, theme := v.Session.Preferences, ""
	address, _ := v.Context().Value(addressKey{}).(string)
	if p.Theme == "light" || p.Theme == "dark" {
		theme = p.Theme
	}
	return ui.View{
		Words: v.Words, Nonce: v.nonce, Root: root, Asset: v.Site.Asset,
		Me: v.Session.Principal.ID, Theme: theme, Compact: p.Density == "compact", Keys: v.Session.SingleKeys(), Address: address,
	}
}

// Frame returns the data of the page frame: navigation, person, banners and search field. here is
// the page's place in the navigation.
func (v *Request) Frame(title, here string) ui.Frame {
	f := ui.Frame{
		View: v.Look(), Title: title, Here: here, Live: v.Site.application.Live(v, here),
		Person: v.Session.Principal.Name, Organization: v.Session.Organization.Name,
		OtherOrganizations: len(v.Session.Persons) > 1, Others: v.Session.others(), Bell: v.Session.Bell, Query: v.URL.Query().Get("q"),
		May: func(family, verb string) bool { return v.Session.May(family + ":" + verb) },
		Has: func(path string) bool { return v.Site.PageAt(path) != nil },
		Opens: func(path string) bool {
			page := v.Site.PageAt(path)
			return page != nil && v.Session.mayOpen(page)
		},
		SignOut: v.Mint(),
	}
	if here == settingsPlace {
		f.Styles = "settings.css"
	}
	if v.Session.SecondFactorFrom != 0 {
		f.Banner = factorBanner(v)
	}
	if v.Session.Organization.EraseAt != nil {
		f.Banner = erasureBanner(v)
	}
	if v.Site.ReadOnly != nil && v.Site.ReadOnly() {
		f.Banner = ui.Banner(ui.Warn, v.Words.Say("Nothing can be stored at present"), v.Words.Say(
			"Reading and searching go on. The log tells the operator why."))
	}
	return f
}

// erasureBanner tells people on which day their organization is deleted.
func erasureBanner(v *Request) templ.Component {
	text := v.Words.Say("Only admins still read, and can export everything.")
	if v.Session.Administers {
		text = v.Words.Say("Until then you read everything and can export it.")
	}
	return ui.Banner(ui.Bad, v.Words.Say("This organization is being deleted, on %s.", v.Words.Day(v.Session.Organization.EraseAt.Time())),
		Joined(" ", text, v.Words.Say("The operator can still cancel the deletion.")))
}

// OK returns a page of the application with status 200. here is its place in the navigation.
func (v *Request) OK(title, here string, content templ.Component) HTML {
	note, _ := v.Context().Value(NoteKey{}).(*Toast)
	if note == nil {
		note = v.Site.application.Note(v)
	}
	return HTML{Body: AppPage(v.Frame(title, here), content, note)}
}

// Card returns a page for a caller who is not signed in.
func (v *Request) Card(title string, content templ.Component) HTML {
	return HTML{Body: cardPage(v.Look(), title, content)}
}

// NoteKey is the context key of the note (*Toast) on a page that is shown after a change.
type NoteKey struct{}

// Done returns the response after a change: the page at path. A script gets the page itself, with a
// note that offers to undo the change. Without a script the response is a redirect. Reloading the
// page then sends nothing again.
func (v *Request) Done(path string, note *Toast) View {
	if v.Header.Get("HX-Request") == "" {
		return v.SeeOther(path)
	}
	v.Writer.Header().Set("HX-Push-Url", v.Address(path))
	return v.Instead(path, NoteKey{}, note)
}

// Instead returns the page at path as the response to this request. The context of that page's
// request has the value under the key.
func (v *Request) Instead(path string, key, value any) View {
	next := v.Clone(context.WithValue(v.Context(), key, value))
	path, query, _ := strings.Cut(path, "?")
	next.Method, next.Body, next.PostForm = http.MethodGet, http.NoBody, nil
	next.URL = &url.URL{Path: v.Address(path), RawQuery: query}
	return Forward{To: next}
}

// Lead returns the page at path without a redirect, which would cost a second round trip. A script
// writes the address of that page into the address bar.
func (v *Request) Lead(path string) View { return v.Instead(path, addressKey{}, v.Address(path)) }

// addressKey is the context key of the address of a page that Lead shows.
type addressKey struct{}

// Here returns the path of this page with another value of a query parameter. An empty value
// removes the parameter.
func (v *Request) Here(parameter, value string) string {
	q := v.URL.Query()
	q.Set(parameter, value)
	if value == "" {
		q.Del(parameter)
	}
	path := strings.TrimPrefix(v.URL.Path, v.Look().Root)
	if len(q) > 0 {
		path += "?" + q.Encode()
	}
	return path
}

// Swap returns the htmx attributes of a link that replaces the main content of the page without a
// full page load.
func (v *Request) Swap(path string) ui.Hx { return v.Look().Get(path).With(intoMain) }

// intoMain replaces the main content of the page. intoMainPushed also adds the address to the
// browser's history.
var (
	intoMain       = ui.Hx{}.Target("#main").Select("#main").Morph()
	intoMainPushed = intoMain.Push()
)

// Afresh makes a script replace the whole content of the page by the response. Otherwise a radio button
// that a person has clicked would stay as it is.
func (v *Request) Afresh() {
	v.Writer.Header().Set("HX-Reswap", "outerHTML scroll:top scrollTarget:window")
}

// SwapForm returns the htmx attributes of a form whose response replaces the main content.
func (v *Request) SwapForm(path string) ui.Hx {
	return v.Look().Post(path).With(intoMain)
}

// ProblemPage is the data of a page about a refused or failed request.
type ProblemPage struct {
	Title, Text string
	// Wrong has one message for each invalid field.
	Wrong []string
	// Wait is the time after which to try again. It is zero if waiting does not help.
	Wait time.Duration
	// Again is the form that the person can send again, or nil.
	Again *Again
	// Home is the person to whom the page belongs, if it is not the person of the session, or nil.
	Home *home
	// Elsewhere says that the page belongs to another person than the session.
	Elsewhere bool
	// Kept is the text that a person typed, to read and to copy.
	Kept string
	// Reload is the address of the page itself, if trying again may help. It may be empty.
	Reload string
	// Back is an address on another site, and BackTo is its host. Both may be empty.
	Back, BackTo string
	// RequestID is the id of the call that failed with an internal error. It may be empty.
	RequestID string
}

// Again is a form that was not stored, and that can be sent again unchanged.
type Again struct {
	Action string
	Token  string
	Fields url.Values
}

// Failed returns a page about an error. If the refusal is temporary, the page has a button that
// sends the form again. The token is the same, so the change happens only once. A script gets only
// a message, and shows it above the page with the form.
func (v *Request) Failed(err error) View {
	f := AsFault(err)
	if f.Code == fault.Unauthenticated {
		return v.askToSignIn()
	}
	p := ProblemPage{Wait: f.Wait()}
	p.Title, p.Text = v.Refusal(f)
	for _, field := range f.Fields {
		p.Wrong = append(p.Wrong, Joined(": ", v.Words.Say(parameters[field.Name]), field.Message(v.Words.Language)))
	}
	switch f.Code {
	case fault.NotFound:
		p.Title, p.Text = v.Words.Say("Not found"), v.Words.Say(
			"This page does not exist, or you may not see it.")
		if v.refreshing() {
			p.Title, p.Text = v.Words.Say("No longer here"), v.Words.Say(
				"This was just deleted, or you may no longer see it.")
		}
	case fault.IdempotencyPayloadMismatch: // the person went back to a form that was already sent, and changed it
		return v.sendAgain(f.Code.Status(), v.Words.Say(sentBefore))
	case fault.RateLimited, fault.Overloaded, fault.APIPaused, fault.InstancePending, fault.Upstream:
		v.offerAgain(&p)
	case fault.Internal:
		p.RequestID = v.Broken
		v.offerAgain(&p)
		v.Site.Logger.Error("a page failed", "page", v.Page.Path, "error", err)
	}
	return v.Problem(f.Code.Status(), p)
}

var sentBefore = i18n.Text("This form was sent already, with other content. To store this too, send it again.")

// Refusal returns a title and a text about a fault, in words for people. The detail of a fault is
// written for clients of the API.
func (v *Request) Refusal(f *fault.Fault) (title, text string) {
	title, text = f.Title(v.Words.Language), Plain(f.DetailIn(v.Words.Language), v.Words.Language)
	switch {
	case f.Code == fault.RateLimited && v.Sent != nil:
		return v.Words.Say("Too much at once"), v.Words.Say(
			"You have made many changes in a short time. Your last entry is not stored yet; it stays here.")
	case f.Code == fault.RateLimited:
		return v.Words.Say("Too much at once"), v.Words.Say(
			"You have opened many pages in a short time. You can go on in a moment.")
	case f.Code == fault.QuotaExhausted:
		return v.Words.Say("Limit reached"), v.Words.Say(
			"To protect the data, there is a limit to what one person reads in an hour and deletes in a day. If your office needs more, the operator can change it.")
	case f.Code == fault.ValidationFailed && f.Detail == "":
		return title, v.Words.Say("This cannot be stored like this.")
	case f.Code == fault.InvalidRequest && f.Detail == "":
		return v.Words.Say("Not readable"), v.Words.Say(
			"What your browser sent could not be read. Nothing was changed.")
	case f.Code == fault.PayloadTooLarge && f.Detail == "":
		return v.Words.Say("Too large"), v.Words.Say(
			"This is more than can be sent at once. Nothing was changed.")
	case f.Code == fault.IdempotencyPayloadMismatch:
		return title, v.Words.Say(sentBefore)
	case f.Code == fault.APIPaused:
		text = v.Words.Say(
			"Kartei is paused, for example for maintenance. Please try again later.")
	case f.Code == fault.InstancePending && f.Detail == "":
		text = v.Words.Say(
			"Kartei is not ready at the moment. Please try again in a moment.")
	}
	if f.Code.Status() >= http.StatusInternalServerError && f.Code != fault.Internal {
		title = v.Words.Say("Not possible at present")
	}
	if f.Code.Status() >= http.StatusInternalServerError {
		text = Joined(" ", text, v.serversFault())
	}
	return title, text
}

// Reason returns a text that says why a form was refused, to be shown at the form. It is the detail
// of the fault. For a server error it is the text of Refusal.
func (v *Request) Reason(f *fault.Fault) string {
	switch {
	case f.Code.Status() >= http.StatusInternalServerError:
		_, text := v.Refusal(f)
		return text
	case f.Detail != "": // the API has no detail for a 401; only sign-in operations have one
		return v.Words.Say(f.Detail)
	}
	return f.DetailIn(v.Words.Language)
}

// serversFault returns a text that says that the server failed, and whether the input is still
// there. It is empty if no form was sent.
func (v *Request) serversFault() string {
	hidden := func(name string) bool { return v.Sent.Has(name) }
	switch {
	case v.Sent != nil && v.Sent.File != nil: // a browser does not choose a file again by itself
		return v.Words.Say(
			"This is the server's fault, and not your file's. Please choose it again; everything else is still here.")
	case v.inQueue():
		return v.Words.Say(
			"This is the server's fault, and not your file's. It stays here, and can be sent again.")
	case v.Sent == nil:
		return ""
	case slices.ContainsFunc(secretFields, hidden):
		return v.Words.Say("This is the server's fault, and not that of your entry.")
	}
	return v.Words.Say(
		"This is the server's fault, and not that of your entry. It stays here, and can be sent again.")
}

// parameters maps the query parameters that people type to their names on the page.
var parameters = map[string]i18n.Text{"q": "Search text", "tag": "Tag", "number": "Number"}

// offerAgain adds a button to the page that sends the form again, or that reloads the page.
func (v *Request) offerAgain(p *ProblemPage) {
	if v.Sent != nil {
		p.Again = v.Again(v.Sent.Token)
	} else if v.Method == http.MethodGet {
		p.Reload = v.URL.RequestURI()
	}
}

// sendAgain returns a page that asks the person to send a form again with a new token. Nothing was
// stored. why is the reason.
func (v *Request) sendAgain(status int, why string) View {
	token := v.Mint()
	v.Writer.Header().Set("Kartei-Token", token) // a script puts the token into the form, which is still on the page
	return v.Problem(status, ProblemPage{Title: v.Words.Say("Please send again"), Text: why, Again: v.Again(token)})
}

// Again returns the submitted form with its action, including the query. Passwords and codes are
// left out: the person types them again.
func (v *Request) Again(token string) *Again {
	fields := url.Values{}
	for name, list := range v.PostForm {
		if name != TokenField && !slices.Contains(secretFields, name) {
			fields[name] = list
		}
	}
	return &Again{Action: v.URL.RequestURI(), Token: token, Fields: fields}
}

// secretFields are the names of the fields for passwords and codes.
var secretFields = []string{"password", "current", "repeat", "code", "recoveryCode"}

// Problem returns a page about a refused or failed request. Callers with a session see it within
// the application. A script gets only the message.
func (v *Request) Problem(status int, p ProblemPage) View {
	v.RetryAfter(p.Wait)
	if gone := v.refreshing() && (status == http.StatusNotFound || status == http.StatusForbidden); v.Scripted() && !gone {
		return HTML{Body: faultMessage(v, p), message: true}.WithStatus(status)
	}
	if v.Session.ID == "" {
		return v.Card(p.Title, problemView(v, p)).WithStatus(status)
	}
	return HTML{Body: AppPage(v.Frame(p.Title, ""), problemView(v, p), nil)}.WithStatus(status)
}

// Scripted reports whether htmx sent the request. Its response may be a part of a page.
func (v *Request) Scripted() bool { return v.Header.Get("HX-Request") != "" }

// overPage tells the script to show the response in a dialog above the page. After the sign-in, the
// script sends the same request again.
func (v *Request) overPage() { v.Writer.Header().Set("Kartei-Dialog", "1") }

// askToSignIn returns the sign-in page for a caller without a session. After the sign-in, the
// person returns to the requested page. The sign-in page keeps a submitted form and sends it
// afterwards.
func (v *Request) askToSignIn() View {
	if v.Scripted() {
		v.overPage()
		return v.Site.application.SignIn(v, http.StatusUnauthorized, nil, v.Words.Say(
			"Your sign-in has ended. What you entered is still on the page."))
	}
	if v.Method == http.MethodPut { // the upload script asks the person itself
		return Status(http.StatusUnauthorized)
	}
	if v.Method != http.MethodPost {
		target := v.URL.Path
		if q := v.URL.RawQuery; q != "" {
			target += "?" + q
		}
		if target == "/" {
			return v.Site.application.SignIn(v, http.StatusOK, nil, "")
		}
		return Redirect{To: "/signin?" + url.Values{"next": {target}}.Encode()}
	}
	return v.Site.application.SignIn(v, http.StatusUnauthorized, v.Again(v.Sent.Token), v.Words.Say(
		"Your sign-in has ended. What you entered is still here: sign in, and it will be sent."))
}

// denyForeign refuses a change that a page of another origin sent.
func (h *Site) denyForeign(w http.ResponseWriter, r *http.Request) {
	v := &Request{Request: r, Site: h, Writer: w, Page: &Page{Path: r.URL.Path}, nonce: newNonce()}
	setHeaders(w.Header(), v.nonce)
	v.Words.Language = i18n.OfPage(r)
	v.show(v.Problem(http.StatusForbidden, ProblemPage{
		Title: v.Words.Say("Refused"),
		Text:  v.Words.Say("This change came from another site and was not carried out."),
	}))
}

// Local returns target if it is a path on this site, and "/" otherwise. It does not accept an
// address that only looks like a path, such as //example.com.
func Local(target string) string {
	u, err := url.Parse(target)
	if err != nil || u.IsAbs() || u.Host != "" || !strings.HasPrefix(u.Path, "/") || strings.Contains(u.Path, "//") || strings.ContainsAny(target, "\\\r\n\t") {
		return "/"
	}
	return u.RequestURI()
}

// kind returns the severity of the message. A fault that passes by itself is only a warning.
func (p ProblemPage) kind() ui.Kind {
	if p.Wait > 0 || p.Elsewhere || p.Again != nil && p.RequestID == "" {
		return ui.Warn
	}
	return ui.Bad
}

// Part reports whether a script asks only for the named part of the page.
func (v *Request) Part(name string) bool { return v.URL.Query().Get("part") == name }

// SwapTo returns the htmx attributes of a link to another page. The main content is replaced
// without a full page load, and the address is added to the browser's history.
func (v *Request) SwapTo(path string) ui.Hx { return v.Look().Get(path).With(intoMainPushed) }

// DialogOf returns the htmx attributes of a link to a page that a script shows in a dialog above
// the current page.
func (v *Request) DialogOf(path string) ui.Hx {
	between := "?"
	if strings.Contains(path, "?") {
		between = "&"
	}
	return v.Look().Get(path + between + "part=dialog").Target("body").Append()
}

// InDialog returns the content in a dialog if the request asks for one, and otherwise as a page.
func (v *Request) InDialog(title, here string, content templ.Component) HTML {
	if v.Part("dialog") {
		return HTML{Body: dialogView(v, title, content)}
	}
	return v.OK(title, here, dialogPage(title, content))
}

// RetryAfter sets the Retry-After header if wait is not zero.
func (v *Request) RetryAfter(wait time.Duration) {
	if wait > 0 {
		v.Writer.Header().Set("Retry-After", seconds(wait))
	}
}

// seconds returns a duration in whole seconds, rounded up.
func seconds(d time.Duration) string {
	return strconv.FormatInt(int64((d+time.Second-1)/time.Second), 10)
}

// Resumed returns the form that waits until the person has signed in, or nil. Its action is always
// on this site. A person must send the form by a button.
func (v *Request) Resumed() *Again {
	action := v.Sent.Get(resumeAction)
	if action == "" || Local(action) != action {
		return nil
	}
	fields := url.Values{}
	for name, list := range v.Sent.Values {
		if len(name) > len(resumeField) && name[:len(resumeField)] == resumeField {
			fields[name[len(resumeField):]] = list
		}
	}
	return &Again{Action: action, Token: v.Sent.Get(resumeToken), Fields: fields}
}

// confirmFirst returns the response to a request that needs a more recent sign-in: a page on which
// the person confirms it.
func (v *Request) confirmFirst() View {
	v.Stale = false
	if v.wantsData() {
		return JSON{Status: http.StatusForbidden, Value: map[string]any{"confirm": true}}
	}
	var waiting *Again
	if v.Scripted() {
		v.overPage()
	} else if v.Sent != nil {
		waiting = v.Again(v.Sent.Token)
	}
	return v.Site.application.Confirm(v, v.URL.RequestURI(), waiting)
}

// SSO returns the name of the OpenID provider. It is empty if there is none.
func (v *Request) SSO() string { return v.Site.API.SSO() }
