// Package ui owns how pages look: the frame around them, and the components from which all of them are made.
//
// A component is a template with plain values. Its style is in static/app.css, with the colours of
// tokens.css, and its behaviour in script/. It also works without the script. styleguide.templ
// shows each component in all states. To draw these as images, run:
//
//	KARTEI_SCREENSHOTS=/tmp/parts go test ./web -run TestParts
package ui

import (
	"context"
	"io"
	"strings"

	"github.com/a-h/templ"

	"kartei/kit/i18n"
)

// AnswerHeader is a header in each response of the web application. A response without it comes
// from a proxy or a captive portal, and the script does not show it (script/answer.js).
const AnswerHeader = "Kartei-Answer"

// View has the data about the reader and the response that all components need.
type View struct {
	i18n.Words
	// Nonce is the nonce of the response. Scripts and elements with htmx attributes have it.
	Nonce string
	// Root is the prefix of all paths: empty, or /sandbox.
	Root string
	// Theme is light or dark if the reader has chosen one. If it is empty, the theme of the system
	// is used.
	Theme string
	// Styles is the name of a second style sheet after app.css. It may be empty.
	Styles string
	// Compact makes the rows of tables lower.
	Compact bool
	// Address is the address of the page if the browser requested another one. A script writes it
	// into the address bar. It is empty otherwise.
	Address string
	// Me is the id of the person to whom the page belongs. A script compares it with the person who
	// signs in again in a dialog over the page.
	Me string
	// Keys says that keyboard shortcuts without modifier keys are switched on.
	Keys bool
	// Asset returns the URL of a static file. The language matters for scripts, which contain
	// texts.
	Asset func(name string, l i18n.Language) string
}

// To returns the address of a page in the reader's environment. Paths of settings have no prefix.
func (v View) To(path string) templ.SafeURL {
	if strings.HasPrefix(path, "/settings/") {
		return Own(path)
	}
	return templ.SafeURL(v.Root + path)
}

// Sandbox reports whether the reader is in the sandbox.
func (v View) Sandbox() bool { return v.Root != "" }

// Icon returns an SVG icon of 16 px. Screen readers skip it, since there is a text beside it or a
// label on the control around it.
func Icon(name string) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		_, err := io.WriteString(w, `<svg class="icon" viewBox="0 0 24 24" aria-hidden="true">`+icons[name]+`</svg>`)
		return err
	})
}
