package journey

import (
	"testing"

	"kartei/test/dbtest"
	"kartei/test/webtest"
)

// TestReach checks shortcuts: Shift selects a range of a list, and keys open the actions on the
// selection and the quick line. The most important field of a form comes first. The focus stays in
// place.
func TestReach(t *testing.T) {
	o := Open(t, dbtest.SQLiteURL(t))
	tab := o.SignedIn(o.Jonas(), webtest.View{Width: 1280, Language: "de"})
	tab.Open(o.BaseURL + "/contacts")
	const box = `document.querySelectorAll("tbody input.pick")`
	webtest.Eval[any](tab, box+`[2].click(), `+box+
		`[6].dispatchEvent(new MouseEvent("click", {bubbles: true, cancelable: true, shiftKey: true})), null`)
	if got := webtest.Eval[int](tab, `[...`+box+`].filter((b) => b.checked).length`); got != 5 {
		t.Errorf("Shift chose %d records, want 5", got)
	}
	webtest.Eval[any](tab, `document.activeElement.blur(), null`)
	tab.Press(",")
	tab.Until(`document.activeElement.closest("#bulk")`)

	tab.Click(`[popovertarget="bulk-visibility"]`)
	tab.Click(`#bulk-visibility button`)
	tab.Until(`document.querySelector(".toast") && document.activeElement !== document.body && document.activeElement.checkVisibility()`)

	tab.Open(o.BaseURL + "/contacts/" + o.caller())
	if webtest.Eval[bool](tab, `(() => { const p = document.getElementById("pane"); p.scrollTop = 1e6; return p.scrollHeight > innerHeight && p.lastElementChild.getBoundingClientRect().bottom > innerHeight + 1; })()`) {
		t.Error("the end of a record cannot be reached")
	}
	tab.Press("e")
	tab.Until(`document.activeElement.name === "lastName"`)

	tab.Open(o.BaseURL + "/tasks")
	tab.Press("t")
	tab.Type("Rückruf @m")
	tab.Until(`document.querySelectorAll('#understood input[type="radio"]').length === 5`)
	tab.Press(webtest.Tabulator + webtest.Tabulator)
	tab.Press(" ")
	tab.Until(`document.querySelector('#understood input[type="radio"]:checked')`)
	tab.Press(webtest.Enter)
	tab.Says("Rückruf")
	tab.Until(`document.getElementById("f-line").value === ""`)
	for _, said := range tab.Console() {
		t.Error(said)
	}
}
