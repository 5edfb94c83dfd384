package journey

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"kartei/test/webtest"
)

// These constants are from the keystroke-level model (Card, Moran and Newell, 1980). They are the
// times of a practised person who types 40 words a minute: for a key, for a click with the way to
// the mouse, and for the thought before an act.
const (
	ofKey     = 280 * time.Millisecond
	ofClick   = (400 + 1100 + 200) * time.Millisecond
	ofThought = 1350 * time.Millisecond
)

// newcomerTime is the maximum time of an integrator from the invitation to the first verified
// webhook, by the model. The goal in real life is five minutes, because a new person also reads and
// looks around.
const newcomerTime = 90 * time.Second

// TestFromInvitationToWebhook checks that an integrator who knows only the URL of a receiver can
// set up a webhook. Starting at the invitation, without a typed address and without a manual, a
// test event arrives and is verified. This also works with the keyboard alone. The time is computed
// by the model and not measured.
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
			if h.Touch { // on a phone, the menu of the settings is a page
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
			case h.keyboard: // the tab key moves to the fields
				want = 9
			}
			cost(t, tab, "from the invitation to a verified webhook", want)
		}
	})
}
