package journey

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"kartei/test/webtest"
)

// The keystroke-level model says how long a practised person takes: for a key, for the way
// of the hand to the mouse and a click on something, and for the thought before an act
// (Card, Moran and Newell, 1980; 40 words a minute).
const (
	ofKey     = 280 * time.Millisecond
	ofClick   = (400 + 1100 + 200) * time.Millisecond
	ofThought = 1350 * time.Millisecond
)

// newcomerTime is what an integrator may take from the invitation to the first verified
// webhook. The goal is five minutes; somebody new reads and looks around for most of them.
const newcomerTime = 90 * time.Second

// D1: an integrator has an invitation and the address of a receiver, and knows nothing of
// the pages. Without an address typed, and without a manual, a test event arrives and is
// verified, also with the keyboard alone. The time of the person is counted by the model, not
// measured.
func TestFromInvitationToWebhook(t *testing.T) {
	each(t, func(t *testing.T, database string) {
		r, reached := newReceiver(t)
		o := Open(t, database, Contacts(5), reached)
		for i, h := range []hand{
			{View: webtest.View{Width: 1280, Language: "de"}},
			{View: webtest.View{Width: 1280, Language: "de"}, keyboard: true},
			{View: webtest.View{Width: 320, Touch: true, Language: "en"}},
		} {
			r.set("", false)
			tab := o.Browser.Tab(h.View)
			tab.Open(o.invited(fmt.Sprintf("integrator%d@kanzlei-morgenstern.example", i)))
			tab.Effort = webtest.Effort{}
			fill(t, tab, h.keyboard, `[name="name"]`, "Ilse Integrator")
			fill(t, tab, h.keyboard, `[name="password"]`, secretWords)
			tab.Press(webtest.Enter)
			tab.At("/")
			press(t, tab, h.keyboard, `[popovertarget="menu-person"]`)
			press(t, tab, h.keyboard, `#menu-person a[href^="/settings"]`)
			tab.Until(`location.pathname.startsWith("/settings")`)
			if h.Touch { // a telephone shows the menu of the settings as a page
				tab.Click(`.settings-back`)
				tab.At("/settings")
			}
			press(t, tab, h.keyboard, `main a[href="/settings/interfaces/webhooks"]`)
			tab.At("/settings/interfaces/webhooks")
			press(t, tab, h.keyboard, `main a[href^="/settings/interfaces/webhooks/new"]`)
			tab.At("/settings/interfaces/webhooks/new")
			fill(t, tab, h.keyboard, `main [name="name"]`, "CRM")
			fill(t, tab, h.keyboard, `main [name="url"]`, "https://"+receiverHost+"/hook")
			tick(t, tab, h.keyboard, `main [name="types"][value="contact.created"]`)
			press(t, tab, h.keyboard, submitButton)
			tab.Until(`document.querySelector("main .copyable code") && document.readyState === "complete"`)
			secret := webtest.Eval[string](tab, `document.querySelector("main .copyable code").textContent`)
			press(t, tab, h.keyboard, `main .copyable button`)
			r.set(secret, false)
			page := webtest.Eval[string](tab, `document.querySelector("main .acts a.primary").getAttribute("href")`)
			press(t, tab, h.keyboard, `form[action$="/test"] button`)
			r.await(o, "webhook.test "+page[strings.LastIndex(page, "/")+1:])
			e := tab.Effort
			took := time.Duration(e.Keys+e.Typed)*ofKey + time.Duration(e.Clicks)*(ofClick+ofThought)
			t.Logf("%s: %d clicks, %d keys and %d characters: %s", h.View, e.Clicks, e.Keys, e.Typed, took)
			if took > newcomerTime {
				t.Errorf("%s: an integrator takes %s", h.View, took)
			}
			want := 13 // twelve clicks and Enter
			switch {
			case h.Touch:
				want = 14
			case h.keyboard: // the tabulator goes to the fields
				want = 9
			}
			cost(t, tab, "from the invitation to a verified webhook", want)
		}
	})
}
