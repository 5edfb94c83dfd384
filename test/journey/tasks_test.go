package journey

import (
	"fmt"
	"testing"

	"kartei/test/dbtest"
	"kartei/test/webtest"
)

// TestTaskLine creates a task with the quick line and completes it by a key. Then it undoes this by
// a key, and on the tab with completed tasks.
func TestTaskLine(t *testing.T) {
	each(t, func(t *testing.T, url string) {
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

// TestFocusStays checks the focus. After a task is completed on the start page, the next task has
// the focus. The palette acts on the row that had the focus. A filtered list announces its title.
// The key for undo reports if there is nothing to undo.
func TestFocusStays(t *testing.T) {
	o := Open(t, dbtest.SQLiteURL(t), Contacts(3))
	for _, title := range []string{"Erste", "Zweite", "Dritte"} {
		o.Call("POST", "/tasks", map[string]any{"title": title, "dueAt": "2026-11-23T09:00:00Z", "assigneeId": o.Jonas()},
			nil)
	}
	tab := o.SignedIn(o.Jonas(), webtest.View{Width: 1280, Language: "de"})
	tab.Open(o.BaseURL + "/")
	left := func(n int) {
		t.Helper()
		tab.Until(fmt.Sprintf(`document.querySelectorAll(".due-tasks li").length === %d && document.activeElement.matches(%q)`, n, map[bool]string{true: ".due-tasks [data-row]", false: "main"}[n > 0]))
	}
	tab.Click(".due-tasks [data-complete]")
	left(2)
	tab.Press("x")
	left(1)
	tab.Control("k")
	tab.Type("erledigen")
	tab.Until(`!document.getElementById("do-complete").hidden`)
	tab.Press(webtest.Enter)
	left(0)

	tab.Open(o.BaseURL + "/contacts")
	tab.Fill(`.filters [name="q"]`, o.contact(o.First("contacts")).LastName)
	tab.Press(webtest.Enter)
	tab.Until(`[...document.querySelectorAll("[role=status]")].some((e) => e.textContent === "Kontakte 1")`)
	tab.Open(o.BaseURL + "/contacts")
	tab.Press("z")
	tab.Press("z")
	tab.Says("Es gibt nichts mehr zurückzunehmen.")
	if n := webtest.Eval[int](tab, `document.querySelectorAll("#toasts .toast").length`); n != 1 {
		t.Errorf("it is said %d times", n)
	}
}
