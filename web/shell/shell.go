// Package shell owns what stands around every page: sessions, forms, calls of operations, frames and refusals.
package shell

import (
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"

	"kartei/api"
	"kartei/kit/clock"
	"kartei/kit/i18n"
	"kartei/kit/loopback"
	"kartei/web/ui"
)

// Options are what the pages need.
type Options struct {
	API *api.API
	// Uploads receives the files that people send.
	Uploads *api.Uploads
	// Address returns the address that a request comes from.
	Address func(*http.Request) netip.Addr
	// Trace returns the traceparent header of a request if it is believed, and "" otherwise.
	Trace func(*http.Request) string
	// BaseURL is the public address of the instance, without a slash at the end.
	BaseURL string
	Clock   clock.Clock
	// FormKey signs the tokens of forms: 32 secret bytes, the same on all replicas.
	FormKey []byte
	// Public serves every path that is not in Pages.
	Public http.Handler
	Logger *slog.Logger
	// Assistants says that the door for assistants is open, at /mcp.
	Assistants bool
	// ReadOnly reports whether the database takes no writes at present. It may be nil.
	ReadOnly func() bool
	// Violation counts what a browser refused by the content security policy, by the
	// directive of the policy.
	Violation func(directive string)
	// Asset returns the address of a file below /static/ by its name. A script speaks the
	// language.
	Asset func(name string, l i18n.Language) string
}

// Application is what the pages tell the shell around them.
type Application struct {
	// Pages has all pages. Menu has the pages of the settings that a menu leads to.
	Pages []Page
	Menu  []SettingsGroup
	// SignIn draws the page on which a person signs in, in the place of another one, with why
	// it is shown. waiting is the form that is sent afterwards, or nil.
	SignIn func(v *Request, status int, waiting *Again, notice string) View
	// Confirm draws the page on which a person confirms a sign-in that is not recent enough.
	Confirm func(v *Request, next string, waiting *Again) View
	// Live returns the families whose changes a page follows, with a space between them. here
	// is its place in the navigation.
	Live func(v *Request, here string) string
	// Note returns what a page says about the change before it, or nil.
	Note func(v *Request) *Toast
}

// Site serves the pages.
type Site struct {
	Options
	application Application
	Tokens      formTokens
	pages       *http.ServeMux
	// Secure is true if the instance is reached through TLS.
	Secure bool
	// Cookie is the name of the session's cookie.
	Cookie string
	// elsewhere guards the warning of NoteOrigin, which the log gets once.
	elsewhere sync.Once
}

// Serve serves the web application, and passes all other paths on. Requests of
// other origins that change something are refused (http.CrossOriginProtection).
func Serve(o Options, a Application) http.Handler {
	h := &Site{Options: o, application: a, Tokens: formTokens{key: o.FormKey, now: o.Clock.Now}}
	h.Cookie, h.Secure = cookieOf(o.BaseURL)
	h.pages = http.NewServeMux()
	mux := h.pages
	for i := range a.Pages {
		p := &a.Pages[i]
		mux.Handle(p.pattern(""), h.page(p, false))
		if p.reach == reachInside || p.reach == reachWatching {
			mux.Handle(p.pattern(SandboxPath), h.page(p, true))
		}
	}
	mux.HandleFunc("POST "+violationPath, h.countViolation)
	mux.HandleFunc("/", h.outside)
	protection := http.NewCrossOriginProtection()
	protection.SetDenyHandler(http.HandlerFunc(h.denyForeign))
	return signed(protection.Handler(mux))
}

// signed adds the header of our answers to each answer of a handler.
func signed(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(ui.AnswerHeader, "1")
		h.ServeHTTP(w, r)
	})
}

// cookieOf returns the name of the session's cookie, and whether it is sent over
// TLS only. With TLS the prefix __Host- binds it to this host. Without TLS the
// port is a part of the name, because browsers share cookies between ports.
func cookieOf(base string) (name string, secure bool) {
	u, err := url.Parse(base)
	if err != nil || u.Scheme == "https" {
		return "__Host-kartei", true
	}
	if port := u.Port(); port != "" {
		return "kartei-" + port, false
	}
	return "kartei", false
}

// Unprotected reports whether a password or the cookie of a session would travel
// without encryption: the instance has no TLS, and the browser is not on this machine.
func (h *Site) Unprotected(r *http.Request) bool {
	switch {
	case r.TLS != nil:
		return false
	case h.Secure:
		return h.besideProxy(r)
	}
	asked := url.URL{Host: r.Host}
	return !loopback.Host(asked.Hostname())
}

// besideProxy reports whether a browser reached the instance not through the proxy that
// has TLS. A form tells the scheme of its page (Origin). If the host differs and
// Sec-Fetch-Site is missing, the page had no TLS: browsers send that header with TLS
// only. A proxy may change the host.
func (h *Site) besideProxy(r *http.Request) bool {
	if origin := r.Header.Get("Origin"); origin != "" && origin != "null" {
		return strings.HasPrefix(origin, "http://")
	}
	base, err := url.Parse(h.BaseURL)
	return err == nil && r.Host != base.Host && r.Header.Get("Sec-Fetch-Site") == ""
}

// NoteOrigin warns once if a person has signed in at another address than the instance
// has: links in emails lead elsewhere then, and passkeys do not work. The browser tells
// the address (Origin), since a proxy may change the host.
func (h *Site) NoteOrigin(r *http.Request) {
	origin := r.Header.Get("Origin")
	at, err := url.Parse(origin)
	base, baseErr := url.Parse(h.BaseURL)
	if err != nil || baseErr != nil || at.Host == "" || at.Scheme == base.Scheme && at.Host == base.Host {
		return
	}
	h.elsewhere.Do(func() {
		h.Logger.Warn("a person signed in at another address than --base-url; links in emails and passkeys need that one",
			slog.String("address", origin), slog.String("base-url", h.BaseURL))
	})
}

// NamesHost reports whether the address of the instance has a name: browsers keep no
// passkeys for the number of a host.
func (h *Site) NamesHost() bool {
	u, err := url.Parse(h.BaseURL)
	if err != nil || u.Hostname() == "" {
		return false
	}
	_, err = netip.ParseAddr(u.Hostname())
	return err != nil
}

// SignIn sets the cookie of a session. A zero end means that it ends with the
// browser.
func (h *Site) SignIn(w http.ResponseWriter, token string, ends time.Time) {
	http.SetCookie(w, &http.Cookie{
		Name: h.Cookie, Value: token, Path: "/", Expires: ends, Secure: h.Secure, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
}

// deviceLifetime is how long a browser keeps what makes it known, in seconds. It is as long
// as the instance knows it.
const deviceLifetime = 90 * 24 * 60 * 60

func (h *Site) deviceCookie() string { return h.Cookie + "-device" }

// KeepDevice sets the cookie by which accounts know the browser. It stays after the
// sign-out, and opens nothing.
func (h *Site) KeepDevice(w http.ResponseWriter, tokens string) {
	http.SetCookie(w, &http.Cookie{
		Name: h.deviceCookie(), Value: tokens, Path: "/", MaxAge: deviceLifetime, Secure: h.Secure, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
}

// SignOut removes the cookie of the session, and what the browser kept of pages.
func (h *Site) SignOut(w http.ResponseWriter) {
	http.SetCookie(w, &http.Cookie{Name: h.Cookie, Path: "/", MaxAge: -1, Secure: h.Secure, HttpOnly: true, SameSite: http.SameSiteLaxMode})
	w.Header().Set("Clear-Site-Data", `"cache", "storage"`)
}
