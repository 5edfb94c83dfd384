package webtest_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"kartei/test/webtest"
)

func TestMain(m *testing.M) {
	defer webtest.Stop()
	m.Run()
}

// page is an HTML page with a paragraph that a script can move down.
const page = `<!doctype html><html lang="en"><title>Moves</title><h1>Moves</h1><div id="gap"></div><p>A paragraph that is seen.</p>
<button type="button">Move</button><script>
const drawn = (n) => new Promise((done) => { const next = () => (n-- > 0 ? requestAnimationFrame(next) : done()); next(); });
const move = () => { document.getElementById("gap").style.height = "200px"; return drawn(3); };
const busy = (ms) => { const end = performance.now() + ms; while (performance.now() < end) { } };
document.querySelector("button").addEventListener("click", () => { busy(700); window.moved = move().then(() => true); });
</script></html>`

func open(t *testing.T) *webtest.Tab {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, page)
	}))
	t.Cleanup(server.Close)
	tab := webtest.Start(t).Tab(webtest.View{Width: 800})
	tab.Open(server.URL)
	return tab
}

// TestShifts checks that a movement after a click is no fault, even on a slow machine. A movement
// without a click is a fault. So is a movement long after a click.
func TestShifts(t *testing.T) {
	for _, c := range []struct {
		name, script string
		click, fault bool
	}{
		{"nothing moves", `drawn(3)`, false, false},
		{"without a click", `move()`, false, true},
		{"a slow answer to a click", `window.moved`, true, false},
		{
			"long after a click",
			`window.moved.then(() => drawn(40)).then(() => { document.getElementById("gap").style.height = "0"; return drawn(3); })`,
			true, true,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			tab := open(t)
			if c.click {
				tab.Click("button")
				tab.Until(`window.moved`)
			}
			webtest.Eval[any](tab, c.script+`.then(() => null)`)
			if got := tab.Shifts(); (len(got) > 0) != c.fault {
				t.Errorf("shifts: %s", strings.Join(got, "; "))
			}
		})
	}
}
