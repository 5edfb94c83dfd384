package journey

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"kartei/test/webtest"
)

// TestWholeList makes all contacts of a list private, looks at the result, and undoes this, with
// and without scripts.
func TestWholeList(t *testing.T) {
	each(t, func(t *testing.T, database string) {
		o := Open(t, database, Contacts(160))
		axe := webtest.Axe(t, "../..")
		for i, v := range ways {
			if i > 0 && strings.HasPrefix(database, "postgres") {
				break // the pages are the same on both engines
			}
			tab := o.SignedIn(o.Helene(), v)
			look := func(step string) {
				t.Helper()
				if folder := os.Getenv("KARTEI_SCREENSHOTS"); folder != "" {
					tab.Screenshot(picture(folder, fmt.Sprintf("41-whole-%s-%t", step, v.NoScript), v), false)
				}
				if v.NoScript {
					return
				}
				for _, fault := range tab.PageFaults(axe) {
					t.Errorf("%s: %s", step, fault)
				}
			}
			pick := func() {
				t.Helper()
				tab.Open(o.BaseURL + "/contacts")
				tab.Click(`tbody tr:nth-child(1) input.pick`)
			}
			pick()
			look("one")
			pick() // the checks have opened a menu that covers the bar
			tab.Click(`[data-whole]`)
			if !v.NoScript {
				tab.Says("160 ausgewählt")
				if !webtest.Eval[bool](tab, `[...document.querySelectorAll("tbody input.pick")].every((box) => box.checked)`) {
					t.Error("the list is selected, and the page is not")
				}
				look("list")
				pick()
				tab.Click(`[data-whole]`)
			}
			tab.Click(`[popovertarget="bulk-visibility"]`)
			tab.Click(`#bulk-visibility [formaction*="/private"]`)
			tab.Says("Rückgängig machen geht bis")
			look("done")
			tab.Click(`form[action$="/undo"] button`)
			tab.Says("zurückgenommen")
			look("undone")
			tab.Click(`main a[href="/changes"]`)
			tab.Says("Sichtbar für")
			look("changes")
		}
	})
}
