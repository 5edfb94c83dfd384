package today

import (
	"net/url"
	"strings"

	"kartei/people/profile"
	"kartei/web/records"
	"kartei/web/shell"
	"kartei/web/ui"
)

// helpPage is the data of the help page.
type helpPage struct {
	frame ui.Frame
	// back is the path of the page to show after the switch of the keyboard shortcuts.
	back string
	// inside says that the help is shown in a sheet over another page.
	inside bool
}

// showHelp serves the help page, its content for the sheet over another page, or the list of
// commands for the command palette.
func showHelp(v *shell.Request) shell.View {
	title := v.Words.Say("Help")
	p := helpPage{frame: v.Frame(title, "help"), back: "/help", inside: v.Part("sheet")}
	if v.Part("commands") {
		return shell.HTML{Body: ui.Palette(p.frame)}
	}
	if !p.inside {
		return v.OK(title, "help", helpView(v, p))
	}
	if u, err := url.Parse(v.Header.Get("HX-Current-URL")); err == nil {
		p.back = shell.Local(strings.TrimPrefix(u.RequestURI(), v.Look().Root))
	}
	return shell.HTML{Body: helpSheet(v, p)}
}

// switchKeys switches keyboard shortcuts without modifier keys on or off.
func switchKeys(v *shell.Request) shell.View {
	on := v.Sent.Get("keys") == "on"
	if _, err := shell.Ask(v, profile.Set, profile.Change{SingleKeys: &on}, shell.Once); err != nil {
		return v.Failed(err)
	}
	return v.SeeOther(shell.Local(v.Sent.Get("back")))
}

// switchTheme stores the person's colour theme. The call needs no idempotency key, as storing the
// same theme twice makes no difference.
func switchTheme(v *shell.Request) shell.View {
	if _, err := shell.Ask(v, profile.Set, profile.Change{Theme: new(v.Sent.Text("theme"))}); err != nil {
		return v.Failed(err)
	}
	return v.SeeOther(shell.Local(v.Sent.Get("back")))
}

// rightsOf returns a text with the person's rights in a family.
func rightsOf(v *shell.Request, f *records.Family) string {
	switch {
	case v.Session.May(f.Write):
		return v.Words.Say("read and write")
	case v.Session.May(f.Read):
		return v.Words.Say("read only")
	}
	return v.Words.Say("no access")
}
