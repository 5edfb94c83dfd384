package office_test

import (
	"regexp"
	"strings"
	"testing"

	"kartei/access"
	"kartei/integration/event"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
)

const eventsPath = "/settings/interfaces/events"

var eventAddress = regexp.MustCompile(eventsPath + `/evt_[0-9a-z]+`)

// requestAddress is the page of a call.
var requestAddress = regexp.MustCompile(requestsPath + `/req_[0-9a-z]+`)

// TestEventsOnPages reads the feed: what happened, to which record, and by whom. The page
// of an event says where it went, and sends it again.
func TestEventsOnPages(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b, other := open(t, o, access.Member), open(t, o, access.Admin)
		b.get(eventsPath).want(200, "Kein Ereignis", "30 Tage lang")
		path := hook(b, "env=live&name=CRM&types=*&url=https://crm.example.com/hook")
		contact := b.get("/contacts/new").send("/contacts/new", "lastName", "Berg").want(303).Location
		b.get(contact+"/edit").send(contact, "firstName", "Anna").want(303)
		b.get("/sandbox/tasks/new").send("/sandbox/tasks/new", "title", "Probe").want(303)
		list := b.get(eventsPath).want(200, "Kontakt angelegt", "Kontakt geändert", "Berg", "Petra Morgenstern", "Vorname", `href="`+contact+`"`)
		if strings.Contains(list.Body, "Probe") {
			t.Error("the feed of the organization shows the sandbox")
		}
		b.get(eventsPath+"?env=test").want(200, "Aufgabe angelegt", "Probe", `href="/sandbox/tasks/tsk_`)
		b.get(eventsPath+"?family=task").want(200, "Kein Ereignis", "Ohne Filter")
		b.get(eventsPath+"?family=contact&since=2020-01-01&until=2020-01-02").want(200, "Kein Ereignis")
		day := o.Clock.Now().Format("2006-01-02")
		b.get(eventsPath+"?family=contact&since="+day+"&until="+day).want(200, "Kontakt geändert", `value="`+day+`"`)
		b.get(eventsPath+"?since=2020-01-02&until=2020-01-01").want(200, "Der erste Tag liegt nach dem letzten", "Kontakt geändert")
		one := eventAddress.FindString(list.Body)
		id := one[len(eventsPath)+1:]
		about := b.get(one).want(200, "contact.updated", "Vorname", "Petra Morgenstern", "An keinen Ihrer Endpunkte")
		b.get(requestAddress.FindString(about.Body)).want(200, "contacts.update")
		if seen := other.get(one).want(200); !requestAddress.MatchString(seen.Body) {
			t.Error("an admin has no link to the call")
		}
		if seen := open(t, o, access.Member).get(one).want(200); requestAddress.MatchString(seen.Body) {
			t.Error("a colleague has a link to a call of somebody else")
		}
		attempted(t, o, path, id, "failed", 503, "HTTP_STATUS")
		shown := b.get(one).want(200, "CRM", "503 · 87 ms", "Der Empfänger ist gescheitert")
		if list := b.get(eventsPath).want(200, "gescheitert"); strings.Contains(list.Body, "zugestellt") {
			t.Error("the list says that a failed event was delivered")
		}
		setHook(t, o, path, `cursor = (select max(tick) from events)`)
		sent := shown.send(path + "/resend").want(303).Location
		b.get(eventsPath).want(200, "steht aus")
		b.get(sent).want(200, "Ein Ereignis wird nachgesendet", "Der nächste Versuch ist fällig")
		if !strings.HasPrefix(sent, one) {
			t.Errorf("sending again leads to %s", sent)
		}
		if got := other.get(eventsPath).want(200, "Kontakt geändert"); strings.Contains(got.Body, "steht aus") {
			t.Error("the list shows an admin deliveries at the endpoint of a member")
		}
		if got := other.get(one).want(200, "contact.updated"); strings.Contains(got.text(), "CRM") {
			t.Error("an admin sees the delivery at the endpoint of a member")
		}
		// Ids lead to the pages.
		var delivery string
		dbtest.Get(t, d, []any{&delivery}, `select id from webhook_attempts where event_id = $1`, id)
		if to := b.get("/go/" + delivery).want(303).Location; to != path+"?from="+delivery+"#"+delivery {
			t.Errorf("the delivery leads to %s", to)
		}
		b.get(path+"?from="+delivery).want(200, `id="`+delivery+`"`)
		for name, want := range map[string]string{id: one, path[len(webhooksPath)+1:]: path} {
			if to := b.get("/go/" + name).want(303).Location; to != want {
				t.Errorf("%s leads to %s", name, to)
			}
		}
		if to := other.get("/go/" + delivery).want(303).Location; strings.Contains(to, "whe_") {
			t.Errorf("the delivery of somebody else leads to %s", to)
		}
		b.get(contact + "/delete").send(contact + "/delete").want(303)
		b.get(eventsPath).want(200, "Kontakt gelöscht")
		b.get(one).want(200, "contact.updated")
		b.get(eventsPath + "/evt_01m7xt6sane2a9hpasvbmaayqz").want(404)
	})
}

// TestEventPages goes through the feed page by page.
func TestEventPages(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b := open(t, o, access.Member)
		for range 60 {
			o.As(access.Member).Do("POST", "/tasks", map[string]any{"title": "Anrufen"}).Want(201)
		}
		first := b.get(eventsPath + "?env=test&family=task").want(200)
		older := first.link("next")
		if n := len(eventAddress.FindAllString(first.Body, -1)); n != 50 || first.link("prev") != "" {
			t.Errorf("the first page has %d events", n)
		}
		second := b.get(older).want(200)
		if n := len(eventAddress.FindAllString(second.Body, -1)); n != 10 || second.link("next") != "" || second.link("prev") != eventsPath+"?env=test&family=task" {
			t.Errorf("the second page has %d events, before it %s", n, second.link("prev"))
		}
	})
}

// Each type of event has its words.
func TestEventWords(t *testing.T) {
	o := apitest.New(t, dbtest.SQLite(t))
	form := open(t, o, access.Member).get(webhooksPath + "/new?types=*").fields(webhooksPath + "/new")
	if got, want := strings.Join(form["types"], " "), strings.Join(event.Subscribable(), " "); got != want {
		t.Errorf("the form offers %s, and the types are %s: eventTypes", got, want)
	}
}
