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

// Look returns the reader and the answer, as every part of a page knows them.
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

// Frame returns what stands around a page of the application.
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

// erasureBanner tells the people of an organization when it is erased.
func erasureBanner(v *Request) templ.Component {
	text := v.Words.Say("Only admins still read, and can export everything.")
	if v.Session.Administers {
		text = v.Words.Say("Until then you read everything and can export it.")
	}
	return ui.Banner(ui.Bad, v.Words.Say("This organization is being deleted, on %s.", v.Words.Day(v.Session.Organization.EraseAt.Time())),
		Joined(" ", text, v.Words.Say("The operator can still cancel the deletion.")))
}

// OK answers with a page of the application.
func (v *Request) OK(title, here string, content templ.Component) HTML {
	note, _ := v.Context().Value(NoteKey{}).(*Toast)
	if note == nil {
		note = v.Site.application.Note(v)
	}
	return HTML{Body: AppPage(v.Frame(title, here), content, note)}
}

// Card answers with a page for a caller who is not signed in.
func (v *Request) Card(title string, content templ.Component) HTML {
	return HTML{Body: cardPage(v.Look(), title, content)}
}

// NoteKey is the key of the note in the context of a page that is shown after a
// change.
type NoteKey struct{}

// Done ends a change: it shows the page at path. With a script the answer is the page
// itself, with a note that can take the change back. Without one it is a redirect, so
// that reloading sends nothing again.
func (v *Request) Done(path string, note *Toast) View {
	if v.Header.Get("HX-Request") == "" {
		return v.SeeOther(path)
	}
	v.Writer.Header().Set("HX-Push-Url", v.Address(path))
	return v.Instead(path, NoteKey{}, note)
}

// Instead shows the page at path in place of this one, with a value in the context of
// its request.
func (v *Request) Instead(path string, key, value any) View {
	next := v.Clone(context.WithValue(v.Context(), key, value))
	path, query, _ := strings.Cut(path, "?")
	next.Method, next.Body, next.PostForm = http.MethodGet, http.NoBody, nil
	next.URL = &url.URL{Path: v.Address(path), RawQuery: query}
	return Forward{To: next}
}

// Lead opens the page at path without a redirect, which would take the line twice. The
// page says its own address, which a script writes into the browser.
func (v *Request) Lead(path string) View { return v.Instead(path, addressKey{}, v.Address(path)) }

// addressKey is the key of the address of a page that lead opens.
type addressKey struct{}

// Here returns the path of this page with another value of a parameter. An empty
// value removes it.
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

// Swap returns the attributes of a link that replaces the content of the page,
// without loading it anew.
func (v *Request) Swap(path string) ui.Hx { return v.Look().Get(path).With(intoMain) }

// intoMain replaces the content of the page, and intoMainPushed also its address.
var (
	intoMain       = ui.Hx{}.Target("#main").Select("#main").Morph()
	intoMainPushed = intoMain.Push()
)

// SwapForm is swap for a form.
func (v *Request) SwapForm(path string) ui.Hx {
	return v.Look().Post(path).With(intoMain)
}

// ProblemPage is a page about a refusal.
type ProblemPage struct {
	Title, Text string
	// Wrong lists the faults of the sent fields.
	Wrong []string
	// Wait is the time after which to try again, zero if that does not help.
	Wait time.Duration
	// Again is the form that can be sent again, or nil.
	Again *Again
	// Home is the organization that the page belongs to, if the session has left it.
	Home *home
	// Elsewhere says that the page belongs to another person than the session.
	Elsewhere bool
	// Kept is what a person typed, to read and to copy.
	Kept string
	// Reload offers the page itself, if it may be there later.
	Reload string
	// Back is an address of somebody else, and BackTo its host.
	Back, BackTo string
	// RequestID is shown for errors of the program.
	RequestID string
}

// Again is a form that was not stored, and that can be sent again as it is.
type Again struct {
	Action string
	Token  string
	Fields url.Values
}

// Failed answers with a page about an error. A form that is refused for a while can
// be sent again from there, with the same token, so nothing happens twice. A script
// gets the message alone and shows it above the page, on which the form stays.
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
	case fault.IdempotencyPayloadMismatch: // somebody went back to a form that was sent, and changed it
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

// Refusal says what was refused, and the reason, to a person and not to a client of the API.
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

// Reason says why a form was refused, where the form stands. The words are the operation's, or
// refusal's if the server is at fault.
func (v *Request) Reason(f *fault.Fault) string {
	switch {
	case f.Code.Status() >= http.StatusInternalServerError:
		_, text := v.Refusal(f)
		return text
	case f.Detail != "": // the API says nothing about a 401; the operations that sign in do
		return v.Words.Say(f.Detail)
	}
	return f.DetailIn(v.Words.Language)
}

// serversFault says that a change failed by the server, and whether the input
// was kept. It is empty if nothing was sent.
func (v *Request) serversFault() string {
	hidden := func(name string) bool { return v.Sent.Has(name) }
	switch {
	case v.Sent != nil && v.Sent.File != nil: // a browser does not choose a file by itself
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

// parameters are the parameters of addresses that people type.
var parameters = map[string]i18n.Text{"q": "Search text", "tag": "Tag", "number": "Number"}

// offerAgain offers the same form, or the same page.
func (v *Request) offerAgain(p *ProblemPage) {
	if v.Sent != nil {
		p.Again = v.Again(v.Sent.Token)
	} else if v.Method == http.MethodGet {
		p.Reload = v.URL.RequestURI()
	}
}

// sendAgain asks the person to confirm a form once more. Nothing was stored.
func (v *Request) sendAgain(status int, why string) View {
	token := v.Mint()
	v.Writer.Header().Set("Kartei-Token", token) // a script puts it into the form, which stays
	return v.Problem(status, ProblemPage{Title: v.Words.Say("Please send again"), Text: why, Again: v.Again(token)})
}

// Again returns the submitted form, with the filters in its address. Secrets are not
// written into a page: they are typed again.
func (v *Request) Again(token string) *Again {
	fields := url.Values{}
	for name, list := range v.PostForm {
		if name != TokenField && !slices.Contains(secretFields, name) {
			fields[name] = list
		}
	}
	return &Again{Action: v.URL.RequestURI(), Token: token, Fields: fields}
}

// secretFields are the fields in which passwords and codes are typed.
var secretFields = []string{"password", "current", "repeat", "code", "recoveryCode"}

// Problem draws a page about a refusal: within the application if the caller is
// known. A script shows only its message.
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

// Scripted reports whether the caller is a script, which shows parts of the answer.
func (v *Request) Scripted() bool { return v.Header.Get("HX-Request") != "" }

// overPage tells a script to show the answer in a dialog over the page. Once the
// person is signed in, the script sends the same request again.
func (v *Request) overPage() { v.Writer.Header().Set("Kartei-Dialog", "1") }

// askToSignIn sends a caller without a session to the sign-in page, and back
// afterwards. A form that was being sent travels with it: see AskToSignIn.
func (v *Request) askToSignIn() View {
	if v.Scripted() {
		v.overPage()
		return v.Site.application.SignIn(v, http.StatusUnauthorized, nil, v.Words.Say(
			"Your sign-in has ended. What you entered is still on the page."))
	}
	if v.Method == http.MethodPut { // a script sends a file, and asks by itself
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

// denyForeign answers a change that a page of another origin sent.
func (h *Site) denyForeign(w http.ResponseWriter, r *http.Request) {
	v := &Request{Request: r, Site: h, Writer: w, Page: &Page{Path: r.URL.Path}, nonce: newNonce()}
	setHeaders(w.Header(), v.nonce)
	v.Words.Language = i18n.OfPage(r)
	v.show(v.Problem(http.StatusForbidden, ProblemPage{
		Title: v.Words.Say("Refused"),
		Text:  v.Words.Say("This change came from another site and was not carried out."),
	}))
}

// Local returns a path of this site to return to, or /. A foreign address, also one
// that only looks like a path, is not followed.
func Local(target string) string {
	u, err := url.Parse(target)
	if err != nil || u.IsAbs() || u.Host != "" || !strings.HasPrefix(u.Path, "/") || strings.Contains(u.Path, "//") || strings.ContainsAny(target, "\\\r\n\t") {
		return "/"
	}
	return u.RequestURI()
}

// kind returns the tone of a message. A fault that passes by itself is only a
// warning.
func (p ProblemPage) kind() ui.Kind {
	if p.Wait > 0 || p.Elsewhere || p.Again != nil && p.RequestID == "" {
		return ui.Warn
	}
	return ui.Bad
}

// Part reports whether a script asks for a part of the page only.
func (v *Request) Part(name string) bool { return v.URL.Query().Get("part") == name }

// SwapTo returns the attributes of a link that shows another page of the same place
// without loading everything anew.
func (v *Request) SwapTo(path string) ui.Hx { return v.Look().Get(path).With(intoMainPushed) }

// DialogOf returns the attributes of a link to a page that a script shows as a
// dialog over this one.
func (v *Request) DialogOf(path string) ui.Hx {
	between := "?"
	if strings.Contains(path, "?") {
		between = "&"
	}
	return v.Look().Get(path + between + "part=dialog").Target("body").Append()
}

// InDialog answers with a dialog over the page that is there, or with a page of its
// own.
func (v *Request) InDialog(title, here string, content templ.Component) HTML {
	if v.Part("dialog") {
		return HTML{Body: dialogView(v, title, content)}
	}
	return v.OK(title, here, dialogPage(title, content))
}

// RetryAfter says when to try again, for browsers and programs.
func (v *Request) RetryAfter(wait time.Duration) {
	if wait > 0 {
		v.Writer.Header().Set("Retry-After", seconds(wait))
	}
}

// seconds returns a duration in whole seconds, at least one unless it is zero.
func seconds(d time.Duration) string {
	return strconv.FormatInt(int64((d+time.Second-1)/time.Second), 10)
}

// Resumed returns the form that waits for the sign-in, or nil. It leads to a page of
// this site only, and a person sends it by a button.
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

// confirmFirst answers a request for which the sign-in is not recent enough.
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

// SSO is what people call the provider, empty if there is none.
func (v *Request) SSO() string { return v.Site.API.SSO() }
