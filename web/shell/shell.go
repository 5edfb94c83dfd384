// Package shell owns what all pages share: sessions, forms, calls of operations, frames and error pages.
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

// Options are the dependencies and the configuration of the pages.
type Options struct {
	API *api.API
	// Uploads receives the files that people upload.
	Uploads *api.Uploads
	// Address returns the client's IP address.
	Address func(*http.Request) netip.Addr
	// Trace returns the traceparent header of a request from a trusted source, and "" otherwise.
	Trace func(*http.Request) string
	// BaseURL is the public address of the instance, without a slash at the end.
	BaseURL string
	Clock   clock.Clock
	// FormKey signs form tokens. It has 32 secret bytes, the same on all replicas.
	FormKey []byte
	// Public serves every path without a page in Pages.
	Public http.Handler
	Logger *slog.Logger
	// Assistants says that the MCP endpoint /mcp for assistants is enabled.
	Assistants bool
	// ReadOnly reports whether the database accepts no writes at present. It may be nil.
	ReadOnly func() bool
	// Violation counts a violation of the Content Security Policy for a directive.
	Violation func(directive string)
	// Asset returns the URL of a static file. The language matters for scripts, which contain
	// texts.
	Asset func(name string, l i18n.Language) string
}

// Application has the pages, and the functions through which the shell calls other packages.
type Application struct {
	// Pages has all pages. Menu has the settings pages that appear in the menu.
	Pages []Page
	Menu  []SettingsGroup
	// SignIn returns the sign-in page as the response to a request for another page. notice says
	// why. waiting is the form to send after the sign-in, or nil.
	SignIn func(v *Request, status int, waiting *Again, notice string) View
	// Confirm returns the page on which a person confirms a sign-in that is not recent enough. next
	// is the page to show afterwards. waiting is the form to send afterwards, or nil.
	Confirm func(v *Request, next string, waiting *Again) View
	// Live returns the families for whose changes a page refreshes, separated by spaces. here is
	// the page's place in the navigation.
	Live func(v *Request, here string) string
	// Note returns the note about the previous change, or nil.
	Note func(v *Request) *Toast
}

// Site serves the pages of the web application.
type Site struct {
	Options
	application Application
	Tokens      formTokens
	pages       *http.ServeMux
	// Secure is true if people reach the instance over TLS.
	Secure bool
	// Cookie is the name of the session cookie.
	Cookie string
	// elsewhere limits the warning of NoteOrigin to one log entry.
	elsewhere sync.Once
}

// Serve returns the handler of the web application. It passes all other paths to Public. Requests
// from other origins are refused if they could change data (http.CrossOriginProtection).
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

// signed sets ui.AnswerHeader on each response of a handler. The header shows that the response
// comes from this application.
func signed(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(ui.AnswerHeader, "1")
		h.ServeHTTP(w, r)
	})
}

// cookieOf returns the name of the session cookie, and whether it is sent only over TLS. With TLS,
// the prefix __Host- binds the cookie to this host. Without TLS, the port is part of the name,
// because browsers share cookies between ports.
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

// Unprotected reports whether a password or a session cookie would travel without encryption. This
// is the case if the connection has no TLS and the browser is not on the same machine.
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

// besideProxy reports whether a request bypassed the proxy that terminates TLS. The Origin header
// of a form has the scheme of its page. Without Origin, besideProxy compares the host. A proxy may
// change the host, but browsers send Sec-Fetch-Site only over TLS. So a different host without
// Sec-Fetch-Site means that the page had no TLS.
func (h *Site) besideProxy(r *http.Request) bool {
	if origin := r.Header.Get("Origin"); origin != "" && origin != "null" {
		return strings.HasPrefix(origin, "http://")
	}
	base, err := url.Parse(h.BaseURL)
	return err == nil && r.Host != base.Host && r.Header.Get("Sec-Fetch-Site") == ""
}

// NoteOrigin logs a warning, once, if a person signs in at another address than BaseURL. Links in
// emails then have the wrong address, and passkeys do not work. The address comes from the Origin
// header, since a proxy may change the host.
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

// NamesHost reports whether the host of BaseURL is a name and not an IP address. Browsers store no
// passkeys for IP addresses.
func (h *Site) NamesHost() bool {
	u, err := url.Parse(h.BaseURL)
	if err != nil || u.Hostname() == "" {
		return false
	}
	_, err = netip.ParseAddr(u.Hostname())
	return err != nil
}

// SignIn sets the session cookie. Max-Age has the lifetime of the session in whole seconds. Expires
// would be compared with the browser's clock, which may be wrong.
func (h *Site) SignIn(w http.ResponseWriter, token string, ends time.Time) {
	lifetime := int(ends.Sub(h.Clock.Now()) / time.Second)
	http.SetCookie(w, &http.Cookie{
		Name: h.Cookie, Value: token, Path: "/", MaxAge: max(lifetime, 1), Secure: h.Secure, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
}

// deviceLifetime is the lifetime of the device cookie in seconds. The instance remembers a browser
// for the same time.
const deviceLifetime = 90 * 24 * 60 * 60

func (h *Site) deviceCookie() string { return h.Cookie + "-device" }

// KeepDevice sets the cookie by which accounts recognize a browser. The cookie stays after the
// sign-out. It gives no access.
func (h *Site) KeepDevice(w http.ResponseWriter, tokens string) {
	http.SetCookie(w, &http.Cookie{
		Name: h.deviceCookie(), Value: tokens, Path: "/", MaxAge: deviceLifetime, Secure: h.Secure, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
}

// SignOut removes the session cookie, and clears the cache and the storage of the browser.
func (h *Site) SignOut(w http.ResponseWriter) {
	http.SetCookie(w, &http.Cookie{Name: h.Cookie, Path: "/", MaxAge: -1, Secure: h.Secure, HttpOnly: true, SameSite: http.SameSiteLaxMode})
	w.Header().Set("Clear-Site-Data", `"cache", "storage"`)
}
