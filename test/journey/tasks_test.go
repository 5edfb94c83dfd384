package journey

import (
	"testing"

	"kartei/test/dbtest"
	"kartei/test/webtest"
)

// TestTaskLine makes a task in one line, completes it by a key, and takes that back:
// by a key, and on the tab of what is done.
func TestTaskLine(t *testing.T) {
	dbtest.EachURL(t, func(t *testing.T, url string) {
		o := Open(t, url, Contacts(0))
		tab := o.SignedIn(o.Jonas(), webtest.View{Width: 1280, Language: "de"})
		tab.Open(o.BaseURL + "/tasks")
		tab.Click("#f-line")
		tab.Type("Klage prüfen morgen 10 !!")
		tab.Until(`/morgen 10:00/.test(document.getElementById("understood").innerText)`)
		tab.Press(webtest.Enter)
		tab.Until(`document.querySelector("main [data-row]") && document.getElementById("f-line").value === ""`)
		tab.Until(`document.activeElement.id === "f-line"`)
		tab.Says("Angelegt: Klage prüfen")
		tab.Until(`document.querySelectorAll("main [data-complete]").length === 1`)

		tab.Open(o.BaseURL + "/tasks")
		tab.Press("j")
		tab.Press("x")
		tab.Until(`document.querySelector("#toasts [data-undo]") && !document.querySelector("main [data-row]")`)
		tab.Press("z")
		tab.Until(`document.querySelector("main [data-row]") && !document.querySelector("#toasts [data-undo]")`)
		tab.Click("main [data-complete]")
		tab.Until(`!document.querySelector("main [data-row]")`)
		tab.Open(o.BaseURL + "/tasks?tab=done")
		tab.Click("main [data-complete][data-done]")
		tab.Says("ist wieder offen")
		tab.Open(o.BaseURL + "/tasks")
		tab.Until(`document.querySelectorAll("main [data-row]").length === 1`)
	})
}
