package journey

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"kartei/integration/usage"
	"kartei/kit/clock"
	"kartei/kit/id"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/test/webtest"
)

// shown maps the name of a screenshot to the path of its page. People look at these pages before a
// release.
func (o *Office) shown() map[string]string {
	return map[string]string{
		"01-signin":     "/signin",
		"02-today":      "/",
		"03-search":     "/search?q=m%C3%BCller",
		"04-contacts":   "/contacts",
		"05-contact":    "/contacts/" + o.First("contacts"),
		"06-form":       "/contacts/" + o.First("contacts") + "/edit",
		"07-company":    "/companies/" + o.First("companies"),
		"08-tasks":      "/tasks",
		"09-documents":  "/documents",
		"10-document":   "/documents/" + o.First("documents"),
		"11-profile":    "/settings/profile",
		"12-data":       "/settings/data",
		"12-access":     "/contacts/" + o.First("contacts") + "/access",
		"12-missing":    "/contacts/con_01m7xt6sane2a9hpasvbmaayqz",
		"13-keys":       "/settings/interfaces/keys",
		"14-new-key":    "/settings/interfaces/keys/new",
		"14-linked":     "/settings/interfaces/keys/new?name=Spiegel&scopes=contacts:read,deals:read&days=45",
		"15-requests":   "/settings/interfaces/requests",
		"15-days":       "/settings/interfaces/requests?from=2026-11-01&to=2099-01-01&status=200",
		"16-settings":   "/settings",
		"17-usage":      "/settings/interfaces/usage?days=90",
		"17-events":     "/settings/interfaces/events",
		"18-webhooks":   "/settings/interfaces/webhooks",
		"19-new-hook":   "/settings/interfaces/webhooks/new?types=contact.*,task.completed",
		"35-people":     "/settings/people",
		"36-person":     "/settings/people/" + o.Jonas(),
		"37-leave":      "/settings/people/" + o.Jonas() + "/leave",
		"38-office":     "/settings/organization",
		"39-audit":      "/settings/audit",
		"40-security":   "/settings/security",
		"42-consent":    o.visitor(o.Helene()).asking(),
		"43-changes":    "/changes",
		"44-duplicates": "/duplicates",
		"45-merged":     "/duplicates/merged",
		"46-conflicts":  "/conflicts?id=" + o.First("contacts"),
	}
}

// states maps the name of a screenshot to a function that brings a tab into a state without a path
// of its own.
func (o *Office) states() map[string]func(tab *webtest.Tab) {
	contact := "/contacts/" + o.First("contacts")
	return map[string]func(tab *webtest.Tab){
		"20-empty":   func(tab *webtest.Tab) { tab.Open(o.BaseURL + "/contacts?q=xyzzy") },
		"21-sandbox": func(tab *webtest.Tab) { tab.Open(o.BaseURL + "/sandbox/contacts") },
		"22-unknown": func(tab *webtest.Tab) { tab.Open(o.BaseURL + "/kontakte") },
		"23-refused": func(tab *webtest.Tab) {
			tab.Open(o.BaseURL + "/contacts/new")
			tab.Fill("#f-email", "niemand")
			submit(tab)
			tab.Until(`document.querySelector("[aria-invalid]")`)
		},
		"24-similar": func(tab *webtest.Tab) {
			var c struct{ FirstName, LastName string }
			o.Call("GET", contact, nil, &c)
			tab.Open(o.BaseURL + "/contacts/new")
			tab.Fill("#f-firstName", c.FirstName)
			tab.Fill("#f-lastName", c.LastName)
			tab.Until(`document.querySelector("#similar li")`)
		},
		"25-merge": func(tab *webtest.Tab) {
			tab.Open(o.BaseURL + contact + "/edit")
			o.Call("PATCH", contact, map[string]any{"jobTitle": "Richterin " + strconv.Itoa(rand.IntN(1000))}, nil)
			tab.Fill("#f-jobTitle", "Rechtsanwältin")
			submit(tab)
			tab.Until(`document.querySelector("fieldset.decision")`)
		},
		"26-selected": func(tab *webtest.Tab) {
			tab.Open(o.BaseURL + "/contacts")
			tab.Click(`tbody tr:nth-child(2) input.pick`)
			tab.Click(`tbody tr:nth-child(4) input.pick`)
		},
		"28-made-key": func(tab *webtest.Tab) {
			tab.Open(o.BaseURL + "/settings/interfaces/keys/new?name=Spiegel")
			submit(tab)
			tab.Says("Diesen Schlüssel sehen Sie nur jetzt.")
		},
		"29-key": func(tab *webtest.Tab) {
			tab.Open(o.BaseURL + "/settings/interfaces/keys")
			tab.Click(`main ul.set a[href^="/settings/interfaces/keys/key_"]`)
			tab.Says("Letzte Aufrufe")
		},
		"30-request": func(tab *webtest.Tab) {
			o.Call("PATCH", contact, map[string]any{"jobTitle": "Notarin " + strconv.Itoa(rand.IntN(1000))}, nil)
			tab.Open(o.BaseURL + "/settings/interfaces/requests?operation=contacts.update")
			tab.Click(`main ul.set a[href^="/settings/interfaces/requests/req_"]`)
			tab.Says("Was daraus wurde")
		},
		"31-made-hook": func(tab *webtest.Tab) {
			tab.Open(o.BaseURL + "/settings/interfaces/webhooks/new?name=CRM&env=live&types=contact.*&url=https://crm.example.com/hook")
			submit(tab)
			tab.Says("Dieses Geheimnis sehen Sie nur jetzt.")
		},
		"32-disabled-hook": func(tab *webtest.Tab) {
			o.Disabled()
			tab.Open(o.BaseURL + "/settings/interfaces/webhooks")
			tab.Says("abgeschaltet")
		},
		"33-hook": func(tab *webtest.Tab) {
			tab.Open(o.BaseURL + "/settings/interfaces/webhooks/" + o.Disabled())
			tab.Says("410 Gone")
		},
		"34-event": func(tab *webtest.Tab) {
			tab.Open(o.BaseURL + "/settings/interfaces/events")
			tab.Click(`main ul.set strong a`)
			tab.Says("Das Ereignis")
		},
		"47-asked": func(tab *webtest.Tab) {
			tab.SetCookie(o.BaseURL, o.Cookie(o.Jonas()))
			tab.Open(o.BaseURL + o.visitor(o.Helene()).asking())
			tab.SetCookie(o.BaseURL, o.Cookie(o.Helene()))
		},
		"48-approval": func(tab *webtest.Tab) {
			o.visitor(o.Helene()).connected()
			tab.Open(o.BaseURL + "/settings/interfaces/applications")
			tab.Click(`#waiting ~ ul a, section[aria-labelledby="waiting"] a`)
			tab.Says("Freigeben heißt")
		},
		"45-applications": func(tab *webtest.Tab) {
			o.visitor(o.Helene()).connected()
			tab.Open(o.BaseURL + "/settings/interfaces/applications")
		},
		"46-application": func(tab *webtest.Tab) {
			o.visitor(o.Helene()).connected()
			tab.Open(o.BaseURL + "/settings/interfaces/applications/new")
		},
		"27-deletion": func(tab *webtest.Tab) {
			tab.Open(o.BaseURL + contact)
			tab.Click(`[popovertarget="more"]`)
			tab.Click(`#more .danger`)
			tab.Until(`document.querySelector("dialog[open]")`)
		},
	}
}

// used stores the counts of 90 days of calls with two keys, and of deliveries.
func (o *Office) used() {
	var number int64
	dbtest.Get(o.TB, o.DB, []any{&number}, `select number from organizations where id = $1`, o.OrganizationID)
	var calls []usage.Call
	keys := []string{id.New(id.Key), id.New(id.Key)}
	for day := range 90 {
		at := clock.Now(o.Clock) - clock.Micros(89-day)*clock.Day
		for i := range 40 + day*day%97 {
			status := map[int]int{3: 404, 17: 403, 41: 429, 67: 500}[i]
			calls = append(calls, usage.Call{Organization: number, Kind: usage.Calls, Subject: keys[i%7/5], At: at,
				Status: max(200, status), Took: time.Duration(1+i%29) * time.Millisecond, Points: 1 + int64(i%4),
				Records: int64(i % 50)})
		}
		for i := range day % 12 {
			calls = append(calls, usage.Call{
				Organization: number, Kind: usage.Deliveries, Subject: "whe_01m7xt6sane2a9hpasvbmaayqz", At: at,
				Status: 200 + i/8*300, Took: 80 * time.Millisecond,
			})
		}
	}
	apitest.Used(o.TB, o.DB, calls...)
}

// TestScreenshots writes screenshots of pages and states in both themes and two widths. It needs a
// folder:
//
//	KARTEI_SCREENSHOTS=/tmp/pages go test ./test/journey -run Screenshots
func TestScreenshots(t *testing.T) {
	folder := os.Getenv("KARTEI_SCREENSHOTS")
	if folder == "" {
		t.Skip("KARTEI_SCREENSHOTS names no folder")
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	o := Open(t, dbtest.SQLiteURL(t), Contacts(360), Documents())
	o.used()
	for _, width := range []int{1280, 320} {
		for _, dark := range []bool{false, true} {
			view := webtest.View{Width: width, Dark: dark, Touch: width < 500, Language: "de"}
			visitor, helene := o.Browser.Tab(view), o.SignedIn(o.Helene(), view)
			for name, address := range o.shown() {
				tab := helene
				if address == "/signin" {
					tab = visitor
				}
				tab.Open(o.BaseURL + address)
				tab.Screenshot(picture(folder, name, view), width < 500)
			}
			for name, lead := range o.states() {
				lead(helene)
				helene.Screenshot(picture(folder, name, view), false)
			}
		}
	}
}

// picture returns the path of a screenshot.
func picture(folder, name string, v webtest.View) string {
	theme := map[bool]string{false: "light", true: "dark"}[v.Dark]
	return filepath.Join(folder, fmt.Sprintf("%s-%d-%s.png", name, v.Width, theme))
}
