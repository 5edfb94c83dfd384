package journey

import (
	"strings"
	"testing"

	"kartei/test/dbtest"
	"kartei/test/webtest"
)

// TestPrint checks that lists and records are printed without controls, in dark letters even with a
// dark theme, and no wider than A4. A record is printed without the list beside it. The round
// buttons of tasks are printed, so that people can tick them with a pen.
func TestPrint(t *testing.T) {
	o := Open(t, dbtest.SQLiteURL(t))
	id := o.caller()
	const upright, across = 720, 1120 // in pixels: the width of A4 in portrait with margins of 1 cm, and in landscape without margins
	for _, view := range []webtest.View{
		{Width: upright, Language: "de"},
		{Width: upright, Dark: true, Language: "de"},
		{Width: across, Language: "de"},
	} {
		tab := o.SignedIn(o.Jonas(), view)
		for address, want := range map[string]string{
			"/contacts": "Kontakte", "/contacts/" + id: "Zwirner", "/tasks": "Aufgaben", "/companies": "Firmen",
			"/documents": "Dokumente",
		} {
			tab.Open(o.BaseURL + address)
			tab.Print(true)
			type printout struct {
				Text    string
				Pressed []string
				Light   []string
				Beside  int
				Rows    int
			}
			got := webtest.Eval[printout](tab, `(() => {
				const seen = (e) => e.checkVisibility() && e.getBoundingClientRect().width > 1;
				const bright = (e) => { const [r, g, b] = getComputedStyle(e).color.match(/[\d.]+/g).map(Number); return (r * 3 + g * 6 + b) / 10; };
				return {
					text: document.body.innerText,
					pressed: [...document.querySelectorAll("button:not(.round), input, select, nav a")].filter(seen).map((e) => e.outerHTML.slice(0, 120)),
					light: [...document.querySelectorAll("main h1, main td, main th, main dd, main dt, main p, main a")].filter((e) => seen(e) && e.innerText && bright(e) > 150).map((e) => e.outerHTML.slice(0, 120)),
					rows: [...document.querySelectorAll("tbody tr")].filter(seen).length,
					beside: document.documentElement.scrollWidth - innerWidth,
				};
			})()`)
			if !strings.Contains(got.Text, want) || len(got.Pressed) > 0 || len(got.Light) > 0 || got.Beside > 0 {
				t.Errorf("%s (%s): %q is there %t, pressed %q, too light %q, %d px beside the sheet", address, view, want,
					strings.Contains(got.Text, want), got.Pressed, got.Light, got.Beside)
			}
			if list := map[string]bool{"/contacts": true, "/companies": true, "/tasks": true}[address]; list != (got.Rows > 0) {
				t.Errorf("%s (%s): %d rows of a list", address, view, got.Rows)
			}
			tab.Print(false)
		}
	}
}
