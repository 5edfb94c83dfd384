package web

import (
	"crypto/rand"
	"net/http"
	"strings"
	"time"

	"kartei/kit/i18n"
	"kartei/web/ui"
)

const pathStyleguide = "/styleguide"

// styleguide serves a page that shows every component in all states, for developers. Its Content
// Security Policy is the same as in the application: scripts need a nonce, and only htmx may turn
// text into markup.
func (h *handler) styleguide(w http.ResponseWriter, r *http.Request) {
	nonce := rand.Text()
	w.Header().Set("Content-Security-Policy",
		"default-src 'none'; script-src 'nonce-"+nonce+"'; style-src 'self'; img-src 'self'; connect-src 'self'; "+
			"form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types htmx")
	w.Header().Set(ui.AnswerHeader, "1")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	view := ui.View{
		Words: i18n.Words{Language: i18n.OfPage(r), Now: time.Now()}, Nonce: nonce, Theme: r.URL.Query().Get("theme"),
		Keys: true, Styles: "settings.css",
		Asset: Asset,
	}
	frame := ui.Frame{
		Find: pathStyleguide + "/find", Has: func(path string) bool { return path != "/help" },
		View: view, Title: view.Say("Parts"), Here: "contacts", Person: "Ida Morgen",
		Organization: "Kanzlei Morgenstern", Bell: 3,
	}
	page := ui.Styleguide(frame)
	if r.URL.Path != pathStyleguide {
		page = ui.StyleOptions(view, r.URL.Query().Get("q"), strings.HasSuffix(r.URL.Path, "/find"))
	}
	if err := page.Render(r.Context(), w); err != nil {
		h.fail(w, err)
	}
}
