package journey

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"kartei/test/dbtest"
	"kartei/test/webtest"
)

// feltLine is the simulated latency of the network.
const feltLine = 50 * time.Millisecond

// watchKeys is a script that records two times in milliseconds since 1970: the last key press, and
// the first matches below the search field. The time of the key press survives the page.
const watchKeys = `(() => {
	const now = () => performance.timeOrigin + performance.now(), list = document.getElementById("find-list");
	window.hitsAt = 0;
	document.addEventListener("keydown", () => sessionStorage.setItem("pressed", now()), true);
	new MutationObserver(() => { if (!list.hidden && list.querySelector('[role="option"]')) { window.hitsAt = now(); } })
		.observe(list, { childList: true, subtree: true, attributes: true });
	return null;
})()`

// watchRecord is a script that records when the page of a record was drawn in place of another
// page. This is one frame after the record has arrived.
const watchRecord = `(() => {
	window.recordAt = 0;
	const seen = new MutationObserver(() => {
		if (!document.querySelector("#pane h1")) { return; }
		seen.disconnect();
		requestAnimationFrame(() => setTimeout(() => { window.recordAt = performance.timeOrigin + performance.now(); }));
	});
	seen.observe(document.body, { childList: true, subtree: true });
	return null;
})()`

// painted is a script that returns the time of the first paint in milliseconds since 1970, or 0.
const painted = `(() => { const p = performance.getEntriesByName("first-contentful-paint")[0]; return p ? performance.timeOrigin + p.startTime : 0; })()`

// answered is a script that returns the time at which the whole response with the record had
// arrived.
const answered = `(performance.timeOrigin + performance.getEntriesByType("resource").findLast((e) => e.initiatorType === "fetch" && e.name.includes("/contacts/")).responseEnd)`

// TestFelt measures and prints delays on a network with a latency of 50 ms: matches after a key,
// the page of a record after Enter, and the record of a caller. It checks nothing. It runs only
// with KARTEI_FELT=1 and needs a quiet machine. bench measures the server's part in a large office.
func TestFelt(t *testing.T) {
	if os.Getenv("KARTEI_FELT") == "" {
		t.Skip("only measures: KARTEI_FELT=1 go test ./test/journey -run 'TestFelt$' -v")
	}
	o := Open(t, dbtest.SQLiteURL(t), Contacts(2000))
	id := o.caller()
	tab := o.SignedIn(o.Jonas(), webtest.View{Width: 1280, Language: "de"})
	tab.Open(o.BaseURL + "/")
	tab.Slow(feltLine)
	felt := map[string][]float64{}
	for range 20 {
		tab.Open(o.BaseURL + "/")
		webtest.Eval[any](tab, watchKeys)
		tab.Press("/")
		for _, letter := range "zwir" {
			webtest.Eval[any](tab, `window.hitsAt = 0, null`)
			tab.Type(string(letter))
			tab.Until(`window.hitsAt > 0`)
			felt["hits after a key"] = append(felt["hits after a key"],
				webtest.Eval[float64](tab, `window.hitsAt - sessionStorage.getItem("pressed")`))
		}
		webtest.Eval[any](tab, watchRecord)
		tab.Press(webtest.Enter)
		tab.At("/contacts/" + id)
		tab.Until(`window.recordAt > 0`)
		felt["answer after Enter"] = append(felt["answer after Enter"],
			webtest.Eval[float64](tab, answered+` - sessionStorage.getItem("pressed")`))
		felt["record after Enter"] = append(felt["record after Enter"],
			webtest.Eval[float64](tab, `window.recordAt - sessionStorage.getItem("pressed")`))
		tab.Open(o.BaseURL + "/call?number=0176+99887766")
		tab.Until(painted + ` > 0`)
		felt["record of a caller"] = append(felt["record of a caller"],
			webtest.Eval[float64](tab, painted+` - performance.timeOrigin`))
		tab.Open(o.BaseURL + "/healthz")
		tab.Until(painted + ` > 0`)
		felt["two words"] = append(felt["two words"], webtest.Eval[float64](tab, painted+` - performance.timeOrigin`))
	}
	for _, what := range []string{
		"hits after a key", "answer after Enter", "record after Enter", "record of a caller", "two words",
	} {
		list := felt[what]
		slices.Sort(list)
		fmt.Printf("%s: p50 %.0f ms, p95 %.0f ms of %d\n", what, list[len(list)/2], list[len(list)*95/100], len(list))
	}
}
