package office

import (
	"net/http"
	"net/url"
	"strings"

	"kartei/people/account"
	"kartei/web/ui"
)

// helpPage is what the page of help shows.
type helpPage struct {
	frame ui.Frame
	// back is the page that the switch of the keys leads back to.
	back string
	// inside says that the help stands over a page, and not on its own.
	inside bool
}

// showHelp serves the page of help, its content for the sheet over another page, or the
// list of the palette.
func showHelp(v *request) view {
	title := v.words.Say("Hilfe", "Help")
	p := helpPage{frame: v.frame(title, "help"), back: "/help", inside: v.part("sheet")}
	if v.part("commands") {
		return view{status: http.StatusOK, body: ui.Palette(p.frame)}
	}
	if !p.inside {
		return v.ok(title, "help", helpView(v, p))
	}
	if u, err := url.Parse(v.Header.Get("HX-Current-URL")); err == nil {
		p.back = local(strings.TrimPrefix(u.RequestURI(), v.look().Root))
	}
	return view{status: http.StatusOK, body: helpSheet(v, p)}
}

// switchKeys switches the single keys of the person on or off.
func switchKeys(v *request) view {
	on := v.form.Get("keys") == "on"
	if _, err := ask(v, account.SetProfile, account.ProfileChange{SingleKeys: &on}, once); err != nil {
		return v.failed(err)
	}
	return v.seeOther(local(v.form.Get("back")))
}

// switchTheme chooses the colours of the person. Storing the same twice is storing it
// once, so the call needs no idempotency key: the token is the one of the page.
func switchTheme(v *request) view {
	if _, err := ask(v, account.SetProfile, account.ProfileChange{Theme: new(v.form.text("theme"))}); err != nil {
		return v.failed(err)
	}
	return v.seeOther(local(v.form.Get("back")))
}

// rights says what the person may do with a family.
func (v *request) rights(f *family) string {
	switch {
	case v.session.may(f.write):
		return v.words.Say("lesen und schreiben", "read and write")
	case v.session.may(f.read):
		return v.words.Say("nur lesen", "read only")
	}
	return v.words.Say("kein Zugang", "no access")
}
