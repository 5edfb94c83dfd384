package office

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"kartei/kit/fault"
	"kartei/web/ui"

	"github.com/a-h/templ"
)

// look returns the reader and the answer, as every part of a page knows them.
func (v *request) look() ui.View {
	root := ""
	if v.sandbox {
		root = sandboxPath
	}
	p, theme := v.session.Preferences, ""
	address, _ := v.Context().Value(addressKey{}).(string)
	if p.Theme == "light" || p.Theme == "dark" {
		theme = p.Theme
	}
	return ui.View{
		Words: v.words, Nonce: v.nonce, Root: root, Asset: v.office.Asset,
		Me: v.session.Principal.ID, Theme: theme, Compact: p.Density == "compact", Keys: v.session.singleKeys(), Address: address,
	}
}

// frame returns what stands around a page of the application.
func (v *request) frame(title, here string) ui.Frame {
	f := ui.Frame{
		View: v.look(), Title: title, Here: here, Live: v.office.rooms.Live(v, here),
		Person: v.session.Principal.Name, Organization: v.session.Organization.Name,
		OtherOrganizations: len(v.session.Persons) > 1, Others: v.session.others(), Bell: v.session.Bell, Query: v.URL.Query().Get("q"),
		May: func(family, verb string) bool { return v.session.may(family + ":" + verb) },
		Has: func(path string) bool { return v.office.pageAt(path) != nil },
		Opens: func(path string) bool {
			page := v.office.pageAt(path)
			return page != nil && v.session.mayOpen(page)
		},
		SignOut: v.mint(),
	}
	if here == settingsPlace {
		f.Styles = "settings.css"
	}
	if v.session.SecondFactorFrom != 0 {
		f.Banner = factorBanner(v)
	}
	if v.session.Organization.EraseAt != nil {
		f.Banner = erasureBanner(v)
	}
	if v.office.ReadOnly != nil && v.office.ReadOnly() {
		f.Banner = ui.Banner(ui.Warn, v.words.Say("Zurzeit wird nichts gespeichert", "Nothing can be stored at present"), v.words.Say(
			"Lesen und Suchen gehen weiter. Wer Kartei betreibt, sieht den Grund im Protokoll.",
			"Reading and searching go on. The log tells the operator why."))
	}
	return f
}

// erasureBanner tells the people of an organization when it is erased.
func erasureBanner(v *request) templ.Component {
	text := v.words.Say("Nur die Administration liest noch und kann alles exportieren.", "Only admins still read, and can export everything.")
	if v.session.Administers {
		text = v.words.Say("Bis dahin lesen Sie alles und können es exportieren.", "Until then you read everything and can export it.")
	}
	return ui.Banner(ui.Bad, v.words.Say("Diese Organisation wird gelöscht, am ", "This organization is being deleted, on ")+v.words.Day(v.session.Organization.EraseAt.Time())+".",
		joined(" ", text, v.words.Say("Der Betreiber kann die Löschung noch abbrechen.", "The operator can still cancel the deletion.")))
}

// ok answers with a page of the application.
func (v *request) ok(title, here string, content templ.Component) view {
	note, _ := v.Context().Value(noteKey{}).(*toast)
	if note == nil {
		note = v.office.rooms.Note(v)
	}
	return view{status: http.StatusOK, body: appPage(v.frame(title, here), content, note)}
}

// noteKey is the key of the note in the context of a page that is shown after a
// change.
type noteKey struct{}

// done ends a change: it shows the page at path. With a script the answer is the page
// itself, with a note that can take the change back. Without one it is a redirect, so
// that reloading sends nothing again.
func (v *request) done(path string, note *toast) view {
	if v.Header.Get("HX-Request") == "" {
		return v.seeOther(path)
	}
	v.w.Header().Set("HX-Push-Url", v.url(path))
	return v.instead(path, noteKey{}, note)
}

// instead shows the page at path in place of this one, with a value in the context of
// its request.
func (v *request) instead(path string, key, value any) view {
	next := v.Clone(context.WithValue(v.Context(), key, value))
	path, query, _ := strings.Cut(path, "?")
	next.Method, next.Body, next.PostForm = http.MethodGet, http.NoBody, nil
	next.URL = &url.URL{Path: v.url(path), RawQuery: query}
	return view{next: next}
}

// lead opens the page at path without a redirect, which would take the line twice. The
// page says its own address, which a script writes into the browser.
func (v *request) lead(path string) view { return v.instead(path, addressKey{}, v.url(path)) }

// addressKey is the key of the address of a page that lead opens.
type addressKey struct{}

// here returns the path of this page with another value of a parameter. An empty
// value removes it.
func (v *request) here(parameter, value string) string {
	q := v.URL.Query()
	q.Set(parameter, value)
	if value == "" {
		q.Del(parameter)
	}
	path := strings.TrimPrefix(v.URL.Path, v.look().Root)
	if len(q) > 0 {
		path += "?" + q.Encode()
	}
	return path
}

// swap returns the attributes of a link that replaces the content of the page,
// without loading it anew.
func (v *request) swap(path string) ui.Hx { return v.look().Get(path).With(intoMain) }

// intoMain replaces the content of the page, and intoMainPushed also its address.
var (
	intoMain       = ui.Hx{}.Target("#main").Select("#main").Morph()
	intoMainPushed = intoMain.Push()
)

// swapForm is swap for a form.
func (v *request) swapForm(path string) ui.Hx {
	return v.look().Post(path).With(intoMain)
}

// problemPage is a page about a refusal.
type problemPage struct {
	Title, Text string
	// Wrong lists the faults of the sent fields.
	Wrong []string
	// Wait is the time after which to try again, zero if that does not help.
	Wait time.Duration
	// Again is the form that can be sent again, or nil.
	Again *again
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

// again is a form that was not stored, and that can be sent again as it is.
type again struct {
	Action string
	Token  string
	Fields url.Values
}

// failed answers with a page about an error. A form that is refused for a while can
// be sent again from there, with the same token, so nothing happens twice. A script
// gets the message alone and shows it above the page, on which the form stays.
func (v *request) failed(err error) view {
	f := asFault(err)
	if f.Code == fault.Unauthenticated {
		return v.askToSignIn()
	}
	p := problemPage{Wait: f.Wait()}
	p.Title, p.Text = v.refusal(f)
	for _, field := range f.Fields {
		p.Wrong = append(p.Wrong, joined(": ", parameters[field.Name].In(v.words.Language), field.Message(v.words.Language)))
	}
	switch f.Code {
	case fault.NotFound:
		p.Title, p.Text = v.words.Say("Nicht gefunden", "Not found"), v.words.Say(
			"Diese Seite gibt es nicht, oder Sie dürfen sie nicht sehen.",
			"This page does not exist, or you may not see it.")
		if v.refreshing() {
			p.Title, p.Text = v.words.Say("Nicht mehr da", "No longer here"), v.words.Say(
				"Das wurde gerade gelöscht, oder Sie dürfen es nicht mehr sehen.",
				"This was just deleted, or you may no longer see it.")
		}
	case fault.IdempotencyPayloadMismatch: // somebody went back to a form that was sent, and changed it
		return v.sendAgain(f.Code.Status(), sentBefore.In(v.words.Language))
	case fault.RateLimited, fault.Overloaded, fault.APIPaused, fault.InstancePending, fault.Upstream:
		v.offerAgain(&p)
	case fault.Internal:
		p.RequestID = v.broken
		v.offerAgain(&p)
		v.office.Logger.Error("a page failed", "page", v.page.Path, "error", err)
	}
	return v.problem(f.Code.Status(), p)
}

var sentBefore = text(
	"Dieses Formular wurde schon einmal gesendet, mit anderem Inhalt. Soll auch dieser gespeichert werden, dann senden Sie es noch einmal.",
	"This form was sent already, with other content. To store this too, send it again.")

// refusal says what was refused, and the reason, to a person and not to a client of the API.
func (v *request) refusal(f *fault.Fault) (title, text string) {
	title, text = f.Title(v.words.Language), plain(f.DetailIn(v.words.Language), v.words.Language)
	switch {
	case f.Code == fault.RateLimited && v.form != nil:
		return v.words.Say("Zu viel auf einmal", "Too much at once"), v.words.Say(
			"Sie haben in kurzer Zeit sehr viel geändert. Ihre letzte Eingabe ist noch nicht gespeichert; sie bleibt hier stehen.",
			"You have made many changes in a short time. Your last entry is not stored yet; it stays here.")
	case f.Code == fault.RateLimited:
		return v.words.Say("Zu viel auf einmal", "Too much at once"), v.words.Say(
			"Sie haben in kurzer Zeit sehr viele Seiten aufgerufen. In einem Augenblick geht es weiter.",
			"You have opened many pages in a short time. You can go on in a moment.")
	case f.Code == fault.QuotaExhausted:
		return v.words.Say("Grenze erreicht", "Limit reached"), v.words.Say(
			"Zum Schutz der Daten ist begrenzt, wie viel eine Person in einer Stunde abruft und an einem Tag löscht. Braucht Ihr Büro mehr, kann der Betreiber die Grenze ändern.",
			"To protect the data, there is a limit to what one person reads in an hour and deletes in a day. If your office needs more, the operator can change it.")
	case f.Code == fault.ValidationFailed && f.Detail == nil:
		return title, v.words.Say("Das lässt sich so nicht speichern.", "This cannot be stored like this.")
	case f.Code == fault.InvalidRequest && f.Detail == nil:
		return v.words.Say("Nicht lesbar", "Not readable"), v.words.Say(
			"Was Ihr Browser gesendet hat, ließ sich nicht lesen. Es wurde nichts geändert.",
			"What your browser sent could not be read. Nothing was changed.")
	case f.Code == fault.PayloadTooLarge && f.Detail == nil:
		return v.words.Say("Zu groß", "Too large"), v.words.Say(
			"Das ist mehr, als sich auf einmal senden lässt. Es wurde nichts geändert.",
			"This is more than can be sent at once. Nothing was changed.")
	case f.Code == fault.IdempotencyPayloadMismatch:
		return title, sentBefore.In(v.words.Language)
	case f.Code == fault.APIPaused:
		text = v.words.Say(
			"Kartei ist gerade angehalten, zum Beispiel für eine Wartung. Versuchen Sie es später wieder.",
			"Kartei is paused, for example for maintenance. Please try again later.")
	case f.Code == fault.InstancePending && f.Detail == nil:
		text = v.words.Say(
			"Kartei ist gerade nicht bereit. Versuchen Sie es gleich noch einmal.",
			"Kartei is not ready at the moment. Please try again in a moment.")
	}
	if f.Code.Status() >= http.StatusInternalServerError && f.Code != fault.Internal {
		title = v.words.Say("Zurzeit nicht möglich", "Not possible at present")
	}
	if f.Code.Status() >= http.StatusInternalServerError {
		text = joined(" ", text, v.serversFault())
	}
	return title, text
}

// reason says why a form was refused, where the form stands. The words are the operation's, or
// refusal's if the server is at fault.
func (v *request) reason(f *fault.Fault) string {
	switch {
	case f.Code.Status() >= http.StatusInternalServerError:
		_, text := v.refusal(f)
		return text
	case f.Detail != nil: // the API says nothing about a 401; the operations that sign in do
		return f.Detail.In(v.words.Language)
	}
	return f.DetailIn(v.words.Language)
}

// serversFault says that a change failed by the server, and whether the input
// was kept. It is empty if nothing was sent.
func (v *request) serversFault() string {
	hidden := func(name string) bool { return v.form.Has(name) }
	switch {
	case v.form != nil && v.form.file != nil: // a browser does not choose a file by itself
		return v.words.Say(
			"Das liegt am Server und nicht an Ihrer Datei. Bitte wählen Sie sie noch einmal; alles andere steht noch hier.",
			"This is the server's fault, and not your file's. Please choose it again; everything else is still here.")
	case v.inQueue():
		return v.words.Say(
			"Das liegt am Server und nicht an Ihrer Datei. Sie bleibt hier und kann noch einmal gesendet werden.",
			"This is the server's fault, and not your file's. It stays here, and can be sent again.")
	case v.form == nil:
		return ""
	case slices.ContainsFunc(secretFields, hidden):
		return v.words.Say("Das liegt am Server und nicht an Ihrer Eingabe.", "This is the server's fault, and not that of your entry.")
	}
	return v.words.Say(
		"Das liegt am Server und nicht an Ihrer Eingabe. Sie bleibt hier stehen und kann noch einmal gesendet werden.",
		"This is the server's fault, and not that of your entry. It stays here, and can be sent again.")
}

// parameters are the parameters of addresses that people type.
var parameters = map[string]fault.Text{"q": text("Suchtext", "Search text"), "tag": text("Schlagwort", "Tag"), "number": text("Nummer", "Number")}

// offerAgain offers the same form, or the same page.
func (v *request) offerAgain(p *problemPage) {
	if v.form != nil {
		p.Again = v.again(v.form.token)
	} else if v.Method == http.MethodGet {
		p.Reload = v.URL.RequestURI()
	}
}

// sendAgain asks the person to confirm a form once more. Nothing was stored.
func (v *request) sendAgain(status int, why string) view {
	token := v.mint()
	v.w.Header().Set("Kartei-Token", token) // a script puts it into the form, which stays
	return v.problem(status, problemPage{Title: v.words.Say("Bitte noch einmal senden", "Please send again"), Text: why, Again: v.again(token)})
}

// again returns the submitted form, with the filters in its address. Secrets are not
// written into a page: they are typed again.
func (v *request) again(token string) *again {
	fields := url.Values{}
	for name, list := range v.PostForm {
		if name != tokenField && !slices.Contains(secretFields, name) {
			fields[name] = list
		}
	}
	return &again{Action: v.URL.RequestURI(), Token: token, Fields: fields}
}

// secretFields are the fields in which passwords and codes are typed.
var secretFields = []string{"password", "current", "repeat", "code", "recoveryCode"}

// problem draws a page about a refusal: within the application if the caller is
// known. A script shows only its message.
func (v *request) problem(status int, p problemPage) view {
	v.retryAfter(p.Wait)
	if gone := v.refreshing() && (status == http.StatusNotFound || status == http.StatusForbidden); v.scripted() && !gone {
		return view{status: status, body: faultMessage(v, p), message: true}
	}
	if v.session.ID == "" {
		return view{status: status, body: cardPage(v.look(), p.Title, problemView(v, p))}
	}
	return view{status: status, body: appPage(v.frame(p.Title, ""), problemView(v, p), nil)}
}

// scripted reports whether the caller is a script, which shows parts of the answer.
func (v *request) scripted() bool { return v.Header.Get("HX-Request") != "" }

// overPage tells a script to show the answer in a dialog over the page. Once the
// person is signed in, the script sends the same request again.
func (v *request) overPage() { v.w.Header().Set("Kartei-Dialog", "1") }

// askToSignIn sends a caller without a session to the sign-in page, and back
// afterwards. A form that was being sent travels with it: see askToSignIn.
func (v *request) askToSignIn() view {
	if v.scripted() {
		v.overPage()
		return v.office.rooms.SignIn(v, http.StatusUnauthorized, nil, v.words.Say(
			"Ihre Anmeldung ist abgelaufen. Was Sie eingegeben haben, steht noch auf der Seite.",
			"Your sign-in has ended. What you entered is still on the page."))
	}
	if v.Method == http.MethodPut { // a script sends a file, and asks by itself
		return view{status: http.StatusUnauthorized, plain: fault.New(fault.Unauthenticated).DetailIn(v.words.Language)}
	}
	if v.Method != http.MethodPost {
		target := v.URL.Path
		if q := v.URL.RawQuery; q != "" {
			target += "?" + q
		}
		if target == "/" {
			return v.office.rooms.SignIn(v, http.StatusOK, nil, "")
		}
		return view{to: "/signin?" + url.Values{"next": {target}}.Encode()}
	}
	return v.office.rooms.SignIn(v, http.StatusUnauthorized, v.again(v.form.token), v.words.Say(
		"Ihre Anmeldung ist abgelaufen. Was Sie eingegeben haben, ist noch da: Melden Sie sich an, dann wird es gesendet.",
		"Your sign-in has ended. What you entered is still here: sign in, and it will be sent."))
}

// denyForeign answers a change that a page of another origin sent.
func (h *handler) denyForeign(w http.ResponseWriter, r *http.Request) {
	v := &request{Request: r, office: h, w: w, page: &Page{Path: r.URL.Path}, nonce: newNonce()}
	setHeaders(w.Header(), v.nonce)
	v.words.Language = languageOf(r)
	v.show(v.problem(http.StatusForbidden, problemPage{
		Title: v.words.Say("Abgelehnt", "Refused"),
		Text: v.words.Say("Diese Änderung kam von einer fremden Seite und wurde nicht ausgeführt.",
			"This change came from another site and was not carried out."),
	}))
}

// local returns a path of this site to return to, or /. A foreign address, also one
// that only looks like a path, is not followed.
func local(target string) string {
	u, err := url.Parse(target)
	if err != nil || u.IsAbs() || u.Host != "" || !strings.HasPrefix(u.Path, "/") || strings.Contains(u.Path, "//") || strings.ContainsAny(target, "\\\r\n\t") {
		return "/"
	}
	return u.RequestURI()
}

// kind returns the tone of a message. A fault that passes by itself is only a
// warning.
func (p problemPage) kind() ui.Kind {
	if p.Wait > 0 || p.Elsewhere || p.Again != nil && p.RequestID == "" {
		return ui.Warn
	}
	return ui.Bad
}

// part reports whether a script asks for a part of the page only.
func (v *request) part(name string) bool { return v.URL.Query().Get("part") == name }

// swapTo returns the attributes of a link that shows another page of the same place
// without loading everything anew.
func (v *request) swapTo(path string) ui.Hx { return v.look().Get(path).With(intoMainPushed) }

// dialogOf returns the attributes of a link to a page that a script shows as a
// dialog over this one.
func (v *request) dialogOf(path string) ui.Hx {
	between := "?"
	if strings.Contains(path, "?") {
		between = "&"
	}
	return v.look().Get(path + between + "part=dialog").Target("body").Append()
}

// inDialog answers with a dialog over the page that is there, or with a page of its
// own.
func (v *request) inDialog(title, here string, content templ.Component) view {
	if v.part("dialog") {
		return view{status: http.StatusOK, body: dialogView(v, title, content)}
	}
	return v.ok(title, here, dialogPage(title, content))
}

// retryAfter says when to try again, for browsers and programs.
func (v *request) retryAfter(wait time.Duration) {
	if wait > 0 {
		v.w.Header().Set("Retry-After", seconds(wait))
	}
}

// seconds returns a duration in whole seconds, at least one unless it is zero.
func seconds(d time.Duration) string {
	return strconv.FormatInt(int64((d+time.Second-1)/time.Second), 10)
}

// resumed returns the form that waits for the sign-in, or nil. It leads to a page of
// this site only, and a person sends it by a button.
func (v *request) resumed() *again {
	action := v.form.Get(resumeAction)
	if action == "" || local(action) != action {
		return nil
	}
	fields := url.Values{}
	for name, list := range v.form.Values {
		if len(name) > len(resumeField) && name[:len(resumeField)] == resumeField {
			fields[name[len(resumeField):]] = list
		}
	}
	return &again{Action: action, Token: v.form.Get(resumeToken), Fields: fields}
}

// confirmFirst answers a request for which the sign-in is not recent enough.
func (v *request) confirmFirst() view {
	v.stale = false
	if v.wantsData() {
		return view{status: http.StatusForbidden, data: map[string]any{"confirm": true}}
	}
	var waiting *again
	if v.scripted() {
		v.overPage()
	} else if v.form != nil {
		waiting = v.again(v.form.token)
	}
	return v.office.rooms.Confirm(v, v.URL.RequestURI(), waiting)
}

// sso is what people call the provider, empty if there is none.
func (v *request) sso() string { return v.office.API.SSO() }
