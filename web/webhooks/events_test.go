package webhooks_test

import (
	"regexp"
	"strings"
	"testing"

	"kartei/access"
	"kartei/integration/event"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/test/pagetest"
	"kartei/web/shell"
)

const eventsPath = "/settings/interfaces/events"

var eventAddress = regexp.MustCompile(eventsPath + `/evt_[0-9a-z]+`)

// requestAddress matches the path of the page of an API call.
var requestAddress = regexp.MustCompile(shell.RequestsPath + `/req_[0-9a-z]+`)

// TestEventsOnPages checks that the feed shows each event with its record and the person who caused
// it. The page of an event shows its deliveries, and can send it again.
func TestEventsOnPages(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b, other := pagetest.Open(t, o, access.Member), pagetest.Open(t, o, access.Admin)
		b.Get(eventsPath).Want(200, "Kein Ereignis", "30 Tage lang")
		path := pagetest.Hook(b, "env=live&name=CRM&types=*&url=https://crm.example.com/hook")
		contact := b.Get("/contacts/new").Send("/contacts/new", "lastName", "Berg").Want(303).Location
		b.Get(contact+"/edit").Send(contact, "firstName", "Anna").Want(303)
		b.Get("/sandbox/tasks/new").Send("/sandbox/tasks/new", "title", "Probe").Want(303)
		list := b.Get(eventsPath).Want(200, "Kontakt angelegt", "Kontakt geändert", "Berg", "Petra Morgenstern", "Vorname", `href="`+contact+`"`)
		if strings.Contains(list.Body, "Probe") {
			t.Error("the feed of the organization shows the sandbox")
		}
		b.Get(eventsPath+"?env=test").Want(200, "Aufgabe angelegt", "Probe", `href="/sandbox/tasks/tsk_`)
		b.Get(eventsPath+"?family=task").Want(200, "Kein Ereignis", "Ohne Filter")
		b.Get(eventsPath+"?family=contact&since=2020-01-01&until=2020-01-02").Want(200, "Kein Ereignis")
		day := o.Clock.Now().Format("2006-01-02")
		b.Get(eventsPath+"?family=contact&since="+day+"&until="+day).Want(200, "Kontakt geändert", `value="`+day+`"`)
		b.Get(eventsPath+"?since=2020-01-02&until=2020-01-01").Want(200, "Der erste Tag liegt nach dem letzten", "Kontakt geändert")
		one := eventAddress.FindString(list.Body)
		id := one[len(eventsPath)+1:]
		about := b.Get(one).Want(200, "contact.updated", "Vorname", "<code>displayName, firstName</code>", "<code>r2</code>", "Petra Morgenstern", "An keinen Ihrer Endpunkte")
		b.Get(requestAddress.FindString(about.Body)).Want(200, "contacts.update")
		if seen := other.Get(one).Want(200); !requestAddress.MatchString(seen.Body) {
			t.Error("an admin has no link to the call")
		}
		if seen := pagetest.Open(t, o, access.Member).Get(one).Want(200); requestAddress.MatchString(seen.Body) {
			t.Error("a colleague has a link to a call of somebody else")
		}
		attempted(t, o, path, id, "failed", 503, "HTTP_STATUS")
		shown := b.Get(one).Want(200, "CRM", "503 · 87 ms", "Der Empfänger ist gescheitert")
		if list := b.Get(eventsPath).Want(200, "gescheitert"); strings.Contains(list.Body, "zugestellt") {
			t.Error("the list says that a failed event was delivered")
		}
		setHook(t, o, path, `cursor = (select max(tick) from events)`)
		sent := shown.Send(path + "/resend").Want(303).Location
		b.Get(eventsPath).Want(200, "steht aus")
		b.Get(sent).Want(200, "Ein Ereignis wird nachgesendet", "Der nächste Versuch ist fällig")
		if !strings.HasPrefix(sent, one) {
			t.Errorf("sending again leads to %s", sent)
		}
		if got := other.Get(eventsPath).Want(200, "Kontakt geändert"); strings.Contains(got.Body, "steht aus") {
			t.Error("the list shows an admin deliveries at the endpoint of a member")
		}
		if got := other.Get(one).Want(200, "contact.updated"); strings.Contains(got.Text(), "CRM") {
			t.Error("an admin sees the delivery at the endpoint of a member")
		}
		// The path /go/ with an id redirects to the page of the object.
		var delivery string
		dbtest.Get(t, d, []any{&delivery}, `select id from webhook_attempts where event_id = $1`, id)
		if to := b.Get("/go/" + delivery).Want(303).Location; to != path+"?from="+delivery+"#"+delivery {
			t.Errorf("the delivery leads to %s", to)
		}
		b.Get(path+"?from="+delivery).Want(200, `id="`+delivery+`"`)
		for name, want := range map[string]string{id: one, path[len(shell.WebhooksPath)+1:]: path} {
			if to := b.Get("/go/" + name).Want(303).Location; to != want {
				t.Errorf("%s leads to %s", name, to)
			}
		}
		if to := other.Get("/go/" + delivery).Want(303).Location; strings.Contains(to, "whe_") {
			t.Errorf("the delivery of somebody else leads to %s", to)
		}
		b.Get(contact + "/delete").Send(contact + "/delete").Want(303)
		b.Get(eventsPath).Want(200, "Kontakt gelöscht")
		b.Get(one).Want(200, "contact.updated")
		b.Get(eventsPath + "/evt_01m7xt6sane2a9hpasvbmaayqz").Want(404)
	})
}

// TestEventPages checks the links between the pages of the feed.
func TestEventPages(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b := pagetest.Open(t, o, access.Member)
		for range 60 {
			o.As(access.Member).Do("POST", "/tasks", map[string]any{"title": "Anrufen"}).Want(201)
		}
		first := b.Get(eventsPath + "?env=test&family=task").Want(200)
		older := first.Link("next")
		if n := len(eventAddress.FindAllString(first.Body, -1)); n != 50 || first.Link("prev") != "" {
			t.Errorf("the first page has %d events", n)
		}
		second := b.Get(older).Want(200)
		if n := len(eventAddress.FindAllString(second.Body, -1)); n != 10 || second.Link("next") != "" || second.Link("prev") != eventsPath+"?env=test&family=task" {
			t.Errorf("the second page has %d events, before it %s", n, second.Link("prev"))
		}
	})
}

// TestEventWords checks that the form offers every type of event to which endpoints can subscribe.
func TestEventWords(t *testing.T) {
	o := apitest.New(t, dbtest.SQLite(t))
	form := pagetest.Open(t, o, access.Member).Get(shell.WebhooksPath + "/new?types=*").Fields(shell.WebhooksPath + "/new")
	if got, want := strings.Join(form["types"], " "), strings.Join(event.Subscribable(), " "); got != want {
		t.Errorf("the form offers %s, and the types are %s: eventTypes", got, want)
	}
}
