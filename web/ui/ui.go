// Package ui owns how pages look: the frame around them, and the parts that all of them are made of.
//
// A part is a template with plain values. Its style is in static/app.css, with the colours
// of tokens.css, and its behaviour in script/: without the script it still works.
// styleguide.templ shows it in all states. KARTEI_SCREENSHOTS=/tmp/parts go test ./web
// -run TestParts draws those, for a person who looks at each.
package ui

import (
	"context"
	"io"
	"strings"

	"github.com/a-h/templ"

	"kartei/kit/i18n"
)

// AnswerHeader is in each answer of the web application. The script of a page shows no
// answer without it: a proxy or a captive portal has sent that one (script/answer.js).
const AnswerHeader = "Kartei-Answer"

// View is the reader and the answer, as every page and every part knows them.
type View struct {
	i18n.Words
	// Nonce is the answer's own. Elements with attributes of htmx carry it, and so
	// do scripts.
	Nonce string
	// Root is in front of the address of every page: empty, or /sandbox.
	Root string
	// Theme is light or dark if the reader chose one. Empty follows the system.
	Theme string
	// Styles is the name of a style sheet beside app.css, empty for none.
	Styles string
	// Compact makes rows of tables lower.
	Compact bool
	// Address is the page's own address, if the browser asked for another one. A script
	// writes it into the browser.
	Address string
	// Me is the id of the person whose page it is. A script compares it with the
	// person who signs in again over the page.
	Me string
	// Keys is whether single keys are shortcuts.
	Keys bool
	// Asset returns the address of a file below /static/ by its name. A script speaks the
	// language.
	Asset func(name string, l i18n.Language) string
}

// To returns the address of a page within the reader's environment. The settings are the
// same in both.
func (v View) To(path string) templ.SafeURL {
	if strings.HasPrefix(path, "/settings/") {
		return Own(path)
	}
	return templ.SafeURL(v.Root + path)
}

// Sandbox reports whether the reader is in the sandbox.
func (v View) Sandbox() bool { return v.Root != "" }

// Icon draws an icon of 16 px. Screen readers skip it: words stand beside it, or
// in the label of the control around it.
func Icon(name string) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		_, err := io.WriteString(w, `<svg class="icon" viewBox="0 0 24 24" aria-hidden="true">`+icons[name]+`</svg>`)
		return err
	})
}
