package journey

import (
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"kartei/test/dbtest"
	"kartei/test/waittest"
	"kartei/test/webtest"
)

// program is an application on the computer of a person. It listens on a port for the redirect from
// the authorization server.
type program struct {
	address string
	came    chan url.Values
}

// newProgram starts a program that listens on this host. It skips the test if the machine lacks the
// host.
func newProgram(t *testing.T, host string) *program {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		t.Skipf("this machine has no %s: %v", host, err)
	}
	p := &program{came: make(chan url.Values, 10)}
	server := &httptest.Server{Listener: l,
		Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/callback" {
				p.came <- r.URL.Query()
			}
		})}}
	server.Start()
	t.Cleanup(server.Close)
	p.address = "http://" + l.Addr().String() + "/callback"
	return p
}

// answer returns the query of the next redirect to the program.
func (p *program) answer(t *testing.T, tab *webtest.Tab) url.Values {
	t.Helper()
	select {
	case q := <-p.came:
		return q
	case <-time.After(waittest.Bound):
		t.Fatalf("nothing came back to the program: %v", tab.Console())
		return nil
	}
}

// asking returns the URL of an authorization request. set has names and values of changed
// parameters in turn.
func (o *Office) asking(redirect string, set ...string) string {
	o.Helper()
	address := o.visitor(o.Helene()).asking()
	path, query, _ := strings.Cut(address, "?")
	q, err := url.ParseQuery(query)
	if err != nil {
		o.Fatal(err)
	}
	q.Set("redirect_uri", redirect)
	for i := 0; i < len(set); i += 2 {
		q.Set(set[i], set[i+1])
	}
	return o.BaseURL + path + "?" + q.Encode()
}

// TestConsentGoesBack checks that the browser follows the redirect to a program on the person's
// computer, on any loopback address. The content security policy must not block it. This holds
// after the form of the consent, and after the form of the sign-in.
func TestConsentGoesBack(t *testing.T) {
	o := Open(t, dbtest.SQLiteURL(t), Contacts(0))
	o.asking("x") // stores the application
	dbtest.Run(t, o.DB, `update organizations set applications = 'all'`)
	dbtest.Run(t, o.DB, `update oauth_clients set redirect_uris = '["http://127.0.0.1/callback", "http://[::1]/callback", "com.example.calendar:/callback"]' where id = $1`, anApplication)
	tab := o.SignedIn(o.Helene(), webtest.View{Width: 1280, Language: "de"})
	for _, host := range []string{"127.0.0.1", "::1"} {
		p := newProgram(t, host)
		for _, decision := range []string{"allow", "deny"} {
			tab.Open(o.asking(p.address))
			if n := webtest.Eval[int](tab, `document.querySelectorAll("[name=scopes]:checked").length`); n != 0 {
				t.Errorf("%d rights are ticked", n)
			}
			tab.Click(`[name="scopes"][value="contacts:read"]`)
			tab.Click(`[name="decision"][value="` + decision + `"]`)
			q := p.answer(t, tab)
			if q.Get("state") != "x" || (decision == "allow") != q.Has("code") ||
				(decision == "deny") != (q.Get("error") == "access_denied") {
				t.Errorf("%s at %s: %v", decision, host, q)
			}
		}
		// A wrong request is redirected at once, and also after the form of the sign-in.
		tab.Open(o.asking(p.address, "code_challenge", ""))
		if q := p.answer(t, tab); q.Get("error") != "invalid_request" {
			t.Errorf("%v", q)
		}
	}
	clean(t, tab)

	p := newProgram(t, "127.0.0.1")
	visitor := o.Browser.Tab(webtest.View{Width: 1280, Language: "de"})
	visitor.Open(o.invited("nora@kanzlei-morgenstern.example"))
	visitor.Fill(`[name="name"]`, "Nora Neu")
	visitor.Fill(`[name="password"]`, secretWords)
	visitor.Press(webtest.Enter)
	visitor.At("/")
	dbtest.Run(t, o.DB, `delete from sessions where principal_id not in ($1)`, o.Helene())
	o.Directory.Forget()
	visitor.Open(o.asking(p.address, "code_challenge", ""))
	visitor.At("/signin")
	visitor.Fill(`[name="email"]`, "nora@kanzlei-morgenstern.example")
	visitor.Fill(`[name="password"]`, secretWords)
	visitor.Press(webtest.Enter)
	if q := p.answer(t, visitor); q.Get("error") != "invalid_request" {
		t.Errorf("%v", q)
	}

	// A private-use scheme would start its program, and this machine has none. The content security
	// policy must permit the redirect.
	tab.Open(o.asking("com.example.calendar:/callback"))
	tab.Says("com.example.calendar:")
	tab.Click(`[name="scopes"][value="contacts:read"]`)
	tab.Click(`[name="decision"][value="allow"]`)
	for watch := waittest.New(); len(dbtest.Texts(t, o.DB, `select id from oauth_grants`)) < 3; {
		select {
		case <-watch.Stuck():
			t.Fatal("the answer does not arrive")
		case <-time.After(20 * time.Millisecond):
		}
	}
	for _, said := range tab.Console() {
		if strings.Contains(said, "Content Security Policy") || strings.Contains(said, "form-action") {
			t.Errorf("the console says %s", said)
		}
	}
}
