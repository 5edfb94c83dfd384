package journey

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"kartei/access"
	"kartei/instance/config"
	"kartei/integration/limit"
	"kartei/test/dbtest"
	"kartei/test/waittest"
	"kartei/test/webtest"
)

// password is the password of all people in these tests.
const password = "Kornblume am Wegrand 7"

// line is a proxy between a browser and the office. Tests use it to lose or delay responses.
type line struct {
	*httptest.Server
	// cut is the number of further responses to forms that get lost after the office has sent them.
	cut atomic.Int32
	// wait replaces the seconds to wait in responses, unless it is zero.
	wait atomic.Int32
	// between delays the next response to a form after the office has sent it.
	between atomic.Pointer[pause]
	// streams is the number of open event streams. opened is the number of streams opened so far.
	streams, opened atomic.Int32
}

// pause delays a response of the office.
type pause struct {
	// path is the end of the delayed form's path. answered is closed when the office has responded.
	// over ends the pause when the test closes it.
	path           string
	answered, over chan struct{}
}

// pause delays the next response to a form whose path ends in path.
func (l *line) pause(path string) *pause {
	p := &pause{path, make(chan struct{}), make(chan struct{})}
	l.between.Store(p)
	return p
}

var (
	seconds = regexp.MustCompile(`data-countdown="\d+"`)
	speaks  = webtest.View{Width: 1280, Language: "de"}
)

// line returns a new line to the office.
func (o *Office) line() *line {
	o.Helper()
	target, err := url.Parse(o.BaseURL)
	if err != nil {
		o.Fatal(err)
	}
	l := &line{}
	proxy := &httputil.ReverseProxy{
		FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Host = r.In.Host
			r.Out.Header.Del("Accept-Encoding")
		},
		ModifyResponse: func(r *http.Response) error {
			// Requests that scripts send by themselves are not forms.
			alone := strings.HasSuffix(r.Request.URL.Path, "/similar") || strings.HasSuffix(r.Request.URL.Path, "/opened")
			if r.Request.Method == "POST" && !alone && l.cut.Load() > 0 {
				l.cut.Add(-1)
				panic(http.ErrAbortHandler)
			}
			if p := l.between.Load(); p != nil && r.Request.Method == "POST" && !alone &&
				strings.HasSuffix(r.Request.URL.Path, p.path) && l.between.CompareAndSwap(p, nil) {
				close(p.answered)
				<-p.over
			}
			if n := l.wait.Load(); n > 0 && r.StatusCode >= 400 {
				body, err := io.ReadAll(r.Body)
				if err != nil {
					return err
				}
				text := seconds.ReplaceAllString(string(body), fmt.Sprintf(`data-countdown="%d"`, n))
				r.Body, r.ContentLength = io.NopCloser(strings.NewReader(text)), int64(len(text))
				r.Header.Set("Content-Length", fmt.Sprint(len(text)))
				r.Header.Set("Retry-After", fmt.Sprint(n))
			}
			return nil
		},
	}
	l.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/live") {
			l.opened.Add(1)
			l.streams.Add(1)
			defer l.streams.Add(-1)
		}
		proxy.ServeHTTP(w, r)
	}))
	l.Start()
	l.URL = strings.Replace(l.URL, "127.0.0.1", "localhost", 1)
	o.Cleanup(func() {
		l.CloseClientConnections()
		l.Close()
	})
	return l
}

// endSessions ends all sessions of the office, as an admin can.
func (o *Office) endSessions() {
	o.Helper()
	dbtest.Run(o.TB, o.DB, `update sessions set ended_at = 1`)
	o.Directory.Forget()
}

// passwords sets the password of all people in the office.
func (o *Office) passwords() {
	o.Helper()
	if err := o.SignIn(context.Background(), o.DB, o.Clock, password, true); err != nil {
		o.Fatal(err)
	}
}

// emailOf returns the address with which a person signs in.
func (o *Office) emailOf(principal string) (email string) {
	o.Helper()
	dbtest.Get(o.TB, o.DB, []any{&email}, `select email from principals where id = $1`, principal)
	return email
}

// signInOver signs in with the dialog over the page.
func (o *Office) signInOver(tab *webtest.Tab, principal string) {
	o.Helper()
	tab.Until(`document.querySelector("dialog.over[open] #signin-password")`)
	tab.Fill("#signin-email", o.emailOf(principal))
	tab.Fill("#signin-password", password)
	tab.Press(webtest.Enter)
	tab.Until(`!document.querySelector("dialog.over[open]")`)
}

// found returns the contacts that the search finds by a word.
func (o *Office) found(word string) []person {
	o.Helper()
	var page struct{ Data []person }
	o.Call("GET", "/contacts?limit=10&q="+url.QueryEscape(word), nil, &page)
	return page.Data
}

// TestSessionEndsMeanwhile ends the session while a person edits in place, fills in a form, or
// completes a task. The sign-in appears in a dialog over the page. Then the same input is stored
// once.
func TestSessionEndsMeanwhile(t *testing.T) {
	each(t, func(t *testing.T, database string) {
		o := Open(t, database, Contacts(20))
		o.passwords()
		o.Speaks(o.Jonas(), "de")
		tab := o.SignedIn(o.Jonas(), speaks)

		id := o.newContact(map[string]any{"lastName": "Abend", "mobile": "0170 1"})
		tab.Open(o.BaseURL + "/contacts/" + id + "?edit=mobile")
		tab.Fill(`[name="mobile"]`, "0170 22")
		o.endSessions()
		tab.Press(webtest.Enter)
		tab.Until(`document.querySelector("dialog.over[open] #signin-password")`)
		tab.Fill("#signin-email", o.emailOf(o.Jonas()))
		// The response arrives a second time, as after a reconnect. The typed address must stay.
		webtest.Eval[any](tab, `document.querySelector('form:has([name="mobile"])').requestSubmit(), null`)
		tab.Until(`performance.getEntriesByType("resource").filter((e) => e.responseStatus === 401).length > 1`)
		if typed := webtest.Eval[string](tab, `document.querySelector("#signin-email").value`); typed != o.emailOf(o.Jonas()) {
			t.Errorf("the dialog has lost the address: %q", typed)
		}
		o.signInOver(tab, o.Jonas())
		tab.Until(`!document.querySelector('[name="mobile"]') && document.querySelector("main").innerText.includes("0170 22")`)
		if now := o.contact(id); *now.Mobile != "0170 22" || now.Revision != 2 {
			t.Errorf("edited in place: %+v", now)
		}

		tab.Open(o.BaseURL + "/contacts/new")
		tab.Fill(`[name="firstName"]`, "Änne")
		tab.Fill(`[name="lastName"]`, "Dämmerung")
		o.endSessions()
		submit(tab)
		o.signInOver(tab, o.Jonas())
		tab.Until(`/^\/contacts\/con_/.test(location.pathname)`)
		if made := o.found("Dämmerung"); len(made) != 1 || made[0].FirstName != "Änne" {
			t.Errorf("the form made %+v", made)
		}

		var task struct{ ID, Status string }
		o.Call("POST", "/tasks", map[string]any{
			"title": "Vor Mitternacht", "assigneeId": o.Jonas(), "dueAt": Begin.Format(time.RFC3339),
		}, &task)
		tab.Open(o.BaseURL + "/")
		o.endSessions()
		tab.Click("#task-" + task.ID + " .round")
		o.signInOver(tab, o.Jonas())
		tab.Says("„Vor Mitternacht“ erledigt")
		if o.Call("GET", "/tasks/"+task.ID, nil, &task); task.Status != "completed" {
			t.Errorf("the task is %s", task.Status)
		}
		if tab.Path() != "/" {
			t.Errorf("the page is %s", tab.Path())
		}

		// Closing the dialog loses no input, and the person can sign in later.
		tab.Open(o.BaseURL + "/contacts/" + id + "/edit")
		tab.Fill(`[name="mobile"]`, "0170 333")
		o.endSessions()
		submit(tab)
		tab.Until(`document.querySelector("dialog.over[open] #signin-password")`)
		tab.Press(webtest.Escape)
		tab.Says("Sie sind abgemeldet")
		if kept := webtest.Eval[string](tab, `document.querySelector('[name="mobile"]').value`); kept != "0170 333" {
			t.Errorf("the field has %q", kept)
		}
		tab.Click("[data-sign-in]")
		o.signInOver(tab, o.Jonas())
		submit(tab)
		tab.At("/contacts/" + id)
		if now := o.contact(id); *now.Mobile != "0170 333" {
			t.Errorf("sent after a later sign-in: %+v", now)
		}
	})
}

// TestLineDies loses the response after the office has stored a form. The page says that the
// outcome is unknown, and sends the same form again. There must be one record.
func TestLineDies(t *testing.T) {
	each(t, func(t *testing.T, database string) {
		o := Open(t, database, Contacts(20))
		o.Speaks(o.Jonas(), "de")
		l := o.line()
		tab := o.SignedIn(o.Jonas(), speaks)
		tab.Open(l.URL + "/contacts/new")
		tab.Fill(`[name="lastName"]`, "Leitung")
		l.cut.Store(1000) // The browser itself retries on each connection that it has kept open.
		submit(tab)
		tab.Says("Die Verbindung ist abgebrochen")
		if kept := webtest.Eval[string](tab, `document.querySelector('[name="lastName"]').value`); kept != "Leitung" {
			t.Errorf("while the line was dead the field had %q", kept)
		}
		l.cut.Store(0)
		tab.Until(`/^\/contacts\/con_/.test(location.pathname)`)
		tab.Until(`!document.querySelector("#faults .banner")`)
		if made := o.found("Leitung"); len(made) != 1 {
			t.Errorf("there are %d records", len(made))
		}

		// Without a connection the input is kept, and it is sent when the connection is back.
		tab.Open(l.URL + "/contacts/new")
		tab.Fill(`[name="lastName"]`, "Funkloch")
		tab.Offline(true)
		tab.Says("Keine Verbindung")
		submit(tab)
		tab.Until(`document.querySelector("form[data-held]")`)
		tab.Offline(false)
		tab.Until(`/^\/contacts\/con_/.test(location.pathname)`)
		if made := o.found("Funkloch"); len(made) != 1 {
			t.Errorf("there are %d records", len(made))
		}
	})
}

// TestCountdown pauses the API. The page says how long to wait, and the form keeps its input. After
// the wait the form can be sent.
func TestCountdown(t *testing.T) {
	o := Open(t, dbtest.SQLiteURL(t), Contacts(20))
	o.Speaks(o.Jonas(), "de")
	l := o.line()
	tab := o.SignedIn(o.Jonas(), speaks)
	tab.Open(l.URL + "/contacts/new")
	tab.Fill(`[name="lastName"]`, "Geduld")
	l.wait.Store(3)
	o.API.Pause(true)
	submit(tab)
	tab.Until(`document.querySelector("#faults .banner [data-countdown]") && document.querySelector("form[data-held] button[aria-disabled]")`)
	if kept := webtest.Eval[string](tab, `document.querySelector('[name="lastName"]').value`); kept != "Geduld" {
		t.Errorf("the field has %q", kept)
	}
	o.API.Pause(false)
	tab.Says("jetzt noch einmal")
	tab.Until(`!document.querySelector("[data-held]")`)
	submit(tab)
	tab.Until(`/^\/contacts\/con_/.test(location.pathname)`)
	if made := o.found("Geduld"); len(made) != 1 {
		t.Errorf("there are %d records", len(made))
	}
}

// TestCountdownOfSignIn checks that the page counts down to the next attempt after too many wrong
// passwords.
func TestCountdownOfSignIn(t *testing.T) {
	o := Open(t, dbtest.SQLiteURL(t), Contacts(0))
	o.passwords()
	tab := o.Browser.Tab(speaks)
	tab.Open(o.BaseURL + "/signin")
	for !webtest.Eval[bool](tab, `!!document.querySelector("[data-countdown]")`) {
		tab.Fill(`[name="email"]`, o.emailOf(o.Jonas()))
		tab.Fill(`[name="password"]`, "falsch falsch falsch")
		webtest.Eval[any](tab, `document.body.dataset.old = "1", null`)
		tab.Click(`main button[type="submit"]`)
		tab.Until(`document.body && !document.body.dataset.old && document.readyState === "complete"`)
	}
	tab.Until(`document.querySelector("form[data-held]") || document.body.innerText.includes("jetzt noch einmal")`)
	tab.Until(`!document.querySelector("form[data-held]")`)
	o.Clock.Advance(5 * time.Minute)
	tab.Fill(`[name="email"]`, o.emailOf(o.Jonas()))
	tab.Fill(`[name="password"]`, password)
	tab.Click(`main button[type="submit"]`)
	tab.At("/")
}

// TestTwoTabsOneStream checks that two tabs of a browser share one event stream. Changes of other
// people appear in both tabs. This still works when the tab with the stream is closed.
func TestTwoTabsOneStream(t *testing.T) {
	each(t, func(t *testing.T, database string) {
		o := Open(t, database, Contacts(20))
		l := o.line()
		id := o.newContact(map[string]any{"lastName": "Aalbers"})
		one := o.SignedIn(o.Jonas(), speaks)
		one.Open(l.URL + "/contacts")
		one.Until(`"leads" in document.documentElement.dataset`)
		two := one.Beside(speaks)
		two.Open(l.URL + "/contacts/" + id)
		await(t, func() bool { return l.streams.Load() == 1 })
		rename := func(name string) {
			t.Helper()
			o.Call("PATCH", "/contacts/"+id, map[string]any{"lastName": name}, nil)
			two.Says(name)
		}
		rename("Aaltje")
		one.Says("Aaltje")
		if n := l.opened.Load(); n != 1 {
			t.Errorf("two tabs opened %d streams", n)
		}
		if webtest.Eval[bool](two, `"leads" in document.documentElement.dataset`) {
			t.Error("both tabs lead")
		}
		one.Open("about:blank")
		two.Until(`"leads" in document.documentElement.dataset`)
		await(t, func() bool { return l.opened.Load() == 2 && l.streams.Load() == 1 })
		rename("Aaron")
	})
}

// await waits until holds returns true. It fails the test after waittest.Bound.
func await(t testing.TB, holds func() bool) {
	t.Helper()
	watch := waittest.New()
	for !holds() {
		select {
		case <-watch.Stuck():
			t.Fatal("it never holds")
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// TestTypingStays checks that a change of another person does not replace an open form or field. A
// message says who changed what, and both changes are stored.
func TestTypingStays(t *testing.T) {
	each(t, func(t *testing.T, database string) {
		o := Open(t, database, Contacts(20))
		o.Speaks(o.Jonas(), "de")
		for _, open := range []string{"/edit", "?edit=mobile"} {
			id := o.newContact(map[string]any{"lastName": "Streit", "mobile": "0170 1"})
			tab := o.SignedIn(o.Jonas(), speaks)
			tab.Open(o.BaseURL + "/contacts/" + id + open)
			tab.Until(`"leads" in document.documentElement.dataset`)
			tab.Fill(`[name="mobile"]`, "0170 2")
			o.Call("PATCH", "/contacts/"+id, map[string]any{"jobTitle": "Notarin"}, nil)
			tab.Says("hat gerade Funktion geändert")
			if kept := webtest.Eval[string](tab, `document.activeElement.name + " " + document.activeElement.value`); kept != "mobile 0170 2" {
				t.Errorf("%s: the field has %q", open, kept)
			}
			tab.Type("2")
			tab.Press(webtest.Enter)
			tab.Until(`location.pathname.endsWith("` + id + `") && !document.querySelector('[name="mobile"]')`)
			if now := o.contact(id); *now.Mobile != "0170 22" || *now.JobTitle != "Notarin" {
				t.Errorf("%s: stored is %+v", open, now)
			}
		}
	})
}

// TestPageFollows checks that a change of another person does not replace a field in which somebody
// types. When the field is empty and has lost the focus, the list shows the change.
func TestPageFollows(t *testing.T) {
	o := Open(t, dbtest.SQLiteURL(t), Contacts(20))
	id := o.newContact(map[string]any{"lastName": "Aalbers"})
	tab := o.SignedIn(o.Jonas(), speaks)
	tab.Open(o.BaseURL + "/contacts")
	tab.Until(`"leads" in document.documentElement.dataset`)
	tab.Fill(`main [name="q"]`, "halb getipp")
	o.Call("PATCH", "/contacts/"+id, map[string]any{"lastName": "Aaltje"}, nil)
	other := o.SignedIn(o.Helene(), speaks)
	other.Open(o.BaseURL + "/contacts")
	other.Says("Aaltje")
	tab.Type("t")
	if kept := webtest.Eval[string](tab, `document.querySelector('main [name="q"]').value`); kept != "halb getippt" {
		t.Errorf("the field has %q", kept)
	}
	tab.Fill(`main [name="q"]`, "")
	webtest.Eval[any](tab, `document.activeElement.blur(), null`)
	tab.Says("Aaltje")
}

// TestTooManyChanges checks that a person over the limit of changes sees how long to wait, with and
// without scripts. The form keeps the input, and it is stored once afterwards.
func TestTooManyChanges(t *testing.T) {
	axe := webtest.Axe(t, "../..")
	o := Open(t, dbtest.SQLiteURL(t), Contacts(3), Server(func(s *config.Server) {
		s.Metered, s.Limit = true, []limit.Override{{Name: "session-writes", Quota: 1, Capacity: 1}}
	}))
	l := o.line()
	l.wait.Store(2)
	for i, v := range ways {
		tab := o.SignedIn(o.NewPerson([]string{"Ada", "Bert", "Cleo"}[i]+" Eilig", access.Member), v)
		for _, name := range []string{"Erster", "Zweiter"} {
			tab.Open(l.URL + "/contacts/new")
			tab.Fill(`[name="lastName"]`, name+strconv.Itoa(i))
			submit(tab)
			if name == "Erster" {
				tab.Until(`/^.contacts.con_/.test(location.pathname)`)
			}
		}
		tab.Until(`document.querySelector("[data-countdown]")`)
		tab.Says("Ihre letzte Eingabe ist noch nicht gespeichert")
		for _, found := range tab.Faults(axe) {
			if !loaded(found, 429) {
				t.Errorf("%s: %s", v, found)
			}
		}
		if len(o.found("Zweiter"+strconv.Itoa(i))) > 0 {
			t.Errorf("%s: what was refused is stored", v)
		}
		if !v.NoScript {
			tab.Says("jetzt noch einmal versuchen")
		}
		o.Clock.Advance(2 * time.Minute)
		submit(tab)
		tab.Until(`/^.contacts.con_/.test(location.pathname)`)
		if !v.NoScript {
			tab.Says("Kontakt angelegt.")
		}
	}
}
