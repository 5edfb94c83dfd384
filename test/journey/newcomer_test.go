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
// verified. The time of the person is counted by the model, not measured.
func TestFromInvitationToWebhook(t *testing.T) {
	each(t, func(t *testing.T, database string) {
		r, reached := newReceiver(t)
		o := Open(t, database, Contacts(5), reached)
		for i, v := range []webtest.View{{Width: 1280, Language: "de"}, {Width: 320, Touch: true, Language: "en"}} {
			r.set("", false)
			tab := o.Browser.Tab(v)
			tab.Open(o.invited(fmt.Sprintf("integrator%d@kanzlei-morgenstern.example", i)))
			tab.Effort = webtest.Effort{}
			tab.Fill(`[name="name"]`, "Ilse Integrator")
			tab.Fill(`[name="password"]`, secretWords)
			tab.Press(webtest.Enter)
			tab.At("/")
			tab.Click(`[popovertarget="menu-person"]`)
			tab.Click(`#menu-person a[href^="/settings"]`)
			tab.Until(`location.pathname.startsWith("/settings")`)
			if v.Width < 600 { // a telephone shows the menu of the settings as a page
				tab.Click(`.settings-back`)
				tab.At("/settings")
			}
			tab.Click(`main a[href="/settings/interfaces/webhooks"]`)
			tab.At("/settings/interfaces/webhooks")
			tab.Click(`main a[href^="/settings/interfaces/webhooks/new"]`)
			tab.At("/settings/interfaces/webhooks/new")
			tab.Fill(`main [name="name"]`, "CRM")
			tab.Fill(`main [name="url"]`, "https://"+receiverHost+"/hook")
			tab.Click(`main [name="types"][value="contact.created"]`)
			submit(tab)
			tab.Until(`document.querySelector("main .copyable code")`)
			secret := webtest.Eval[string](tab, `document.querySelector("main .copyable code").textContent`)
			tab.Click(`main .copyable button`)
			r.set(secret, false)
			page := webtest.Eval[string](tab, `document.querySelector("main .acts a.primary").getAttribute("href")`)
			tab.Click(`form[action$="/test"] button`)
			r.await(o, "webhook.test "+page[strings.LastIndex(page, "/")+1:])
			e := tab.Effort
			took := time.Duration(e.Keys+e.Typed)*ofKey + time.Duration(e.Clicks)*(ofClick+ofThought)
			t.Logf("%s: %d clicks, %d keys and %d characters: %s", v, e.Clicks, e.Keys, e.Typed, took)
			if took > newcomerTime {
				t.Errorf("%s: an integrator takes %s", v, took)
			}
			want := 13 // twelve clicks and Enter
			if v.Width < 600 {
				want = 14
			}
			cost(t, tab, "from the invitation to a verified webhook", want)
		}
	})
}
