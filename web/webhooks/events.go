package webhooks

import (
	"net/url"
	"slices"
	"strings"

	"github.com/a-h/templ"

	"kartei/integration/event"
	"kartei/integration/webhook"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/web/records"
	"kartei/web/shell"
	"kartei/web/ui"
)

// eventInfo is an event of the feed and its environment.
type eventInfo struct {
	event.FeedEvent
	sandbox bool
}

// eventsOf adds the environment to events of the feed.
func eventsOf(found []event.FeedEvent, sandbox bool) []eventInfo {
	list := make([]eventInfo, len(found))
	for i, e := range found {
		list[i] = eventInfo{e, sandbox}
	}
	return list
}

// icon returns the name of the icon for the type of the event.
func (e *eventInfo) icon() string {
	if i := slices.IndexFunc(eventTypes, func(t eventType) bool { return t.name == e.Type }); i >= 0 {
		return eventTypes[i].icon
	}
	return "webhook"
}

// record returns the address of the record of the event. It is empty if the record is deleted or
// has no page.
func (e *eventInfo) record() templ.SafeURL {
	path := shell.PathOf(e.Data.ID)
	switch {
	case path == "", strings.HasSuffix(e.Type, ".deleted"):
		return ""
	case e.sandbox && !strings.HasPrefix(path, shell.SettingsPath):
		path = shell.SandboxPath + path
	}
	return ui.Own(path)
}

// changed returns the labels of the changed members.
func (e *eventInfo) changed(v *shell.Request) string {
	if f := records.FamilyOf(e.Data.Object); f != nil && len(e.Members) > 0 {
		return records.Labels(v, f, e.Members)
	}
	return ""
}

// eventsPage has the data of one page of the feed with its filters.
type eventsPage struct {
	events []eventInfo
	// titles has the titles of the records that the person can see. names has the names of people.
	// Both are by id.
	titles, names map[string]string
	// went has the state of the deliveries to the person's webhook endpoints, by the id of the
	// event.
	went         map[string]webhook.Outcome
	sandbox      bool
	object       string
	since, until string
	period       shell.Period
	pages        ui.Pages
}

const eventsShown = 50

// several returns the number of endpoints in parentheses, or an empty string for one.
func several(v *shell.Request, n int) string {
	if n == 1 {
		return ""
	}
	return " (" + v.Words.Number(n) + ")"
}

// outcomes reads the state of the deliveries of all events on the page.
func (p *eventsPage) outcomes(v *shell.Request) error {
	p.went = map[string]webhook.Outcome{}
	if len(p.events) == 0 {
		return nil
	}
	ids := make([]string, len(p.events))
	for i := range p.events {
		ids[i] = p.events[i].ID
	}
	found, err := shell.Ask(v, webhook.OutcomesOf, webhook.OutcomesInput{IDs: ids}, shell.InSandbox(p.sandbox))
	for _, o := range found.Data {
		p.went[o.EventID] = o
	}
	return err
}

// showEvents serves the event feed.
func showEvents(v *shell.Request) shell.View {
	q := v.URL.Query()
	p := eventsPage{sandbox: q.Get("env") == "test", object: q.Get("family"), since: q.Get("since"), until: q.Get("until"), titles: map[string]string{}, names: map[string]string{}}
	if !slices.ContainsFunc(eventFamilies, func(o shell.Option) bool { return o.Value == p.object }) {
		p.object = ""
	}
	p.period = v.DaysIn(p.since, p.until)
	in := event.FeedInput{Object: p.object, Limit: eventsShown, Until: p.period.Until}
	if p.period.Since != 0 {
		in.Since = p.period.Since - 1 // the operation excludes the time itself
	}
	if before, err := clock.Parse(q.Get("before")); err == nil {
		in.Until = before
		p.pages.Newer = ui.Own(p.at(0))
	}
	found, err := shell.Ask(v, event.Read, in, shell.InSandbox(p.sandbox))
	if err != nil {
		return v.Failed(err)
	}
	p.events = eventsOf(found.Data, p.sandbox)
	if found.Next != 0 {
		p.pages.Older = ui.Own(p.at(found.Next))
	}
	if err := shell.Together(
		func() error { return nameEvents(v, p.events, p.sandbox, p.titles, p.names) },
		func() error { return p.outcomes(v) },
	); err != nil {
		return v.Failed(err)
	}
	return v.Settings(shell.EventsPath, eventsTitle(v), eventsView(v, p))
}

func eventsTitle(v *shell.Request) string { return v.Words.Say("Events") }

// nameEvents adds the titles of the records to titles, and the names of the people to names.
func nameEvents(v *shell.Request, events []eventInfo, sandbox bool, titles, names map[string]string) error {
	var ids, people []string
	for i := range events {
		e := &events[i]
		if records.FamilyOf(e.Data.Object) != nil {
			ids = append(ids, e.Data.ID)
		}
		people = append(people, shell.Present(e.Principal)...)
	}
	return shell.Together(
		func() error { return v.TitlesIn(sandbox, ids, titles) },
		func() error { return v.NamesOf(people, names) },
	)
}

// at returns the address of the page with its filters. If before is not zero, the page has only
// events before that time.
func (p *eventsPage) at(before clock.Micros) string {
	q := url.Values{}
	for name, value := range map[string]string{"family": p.object, "since": p.since, "until": p.until} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if p.sandbox {
		q.Set("env", "test")
	}
	if before != 0 {
		q.Set("before", before.String())
	}
	if len(q) == 0 {
		return shell.EventsPath
	}
	return shell.EventsPath + "?" + q.Encode()
}

// tabs returns the tabs of the environments.
func (p *eventsPage) tabs(w i18n.Words) []ui.Tab {
	live, test := *p, *p
	live.sandbox, test.sandbox = false, true
	return []ui.Tab{
		{Name: w.Say("Live [environment]"), Href: ui.Own(live.at(0)), Here: !p.sandbox},
		{Name: w.Say("Test [environment]"), Href: ui.Own(test.at(0)), Here: p.sandbox},
	}
}

// narrowed reports whether a filter is set.
func (p *eventsPage) narrowed() bool { return p.object+p.since+p.until != "" }

// oneEvent has the data of the page of one event.
type oneEvent struct {
	event        eventInfo
	title, owner string
	went         []webhook.EventDelivery
	sent         *sentAgain
}

// mayFollow reports whether the person may see the API call that caused the event. Admins may, and
// the person who made the call.
func (p *oneEvent) mayFollow(v *shell.Request) bool {
	return v.Session.Administers || p.event.Principal == v.Session.Principal.ID
}

// showEvent serves the page of one event.
func showEvent(v *shell.Request) shell.View {
	id := v.PathValue("id")
	p, titles, names := oneEvent{sent: sentIn(v.URL.Query())}, map[string]string{}, map[string]string{}
	for _, sandbox := range []bool{false, true} {
		found, err := shell.Ask(v, event.Read, event.FeedInput{ID: id}, shell.InSandbox(sandbox))
		if err != nil {
			return v.Failed(err)
		}
		if len(found.Data) == 0 {
			continue
		}
		events := eventsOf(found.Data, sandbox)
		if err := nameEvents(v, events, sandbox, titles, names); err != nil {
			return v.Failed(err)
		}
		p.event = events[0]
		break
	}
	if p.event.ID == "" {
		return v.Failed(fault.New(fault.NotFound))
	}
	p.title, p.owner = titles[p.event.Data.ID], names[p.event.Principal]
	went, err := shell.Ask(v, webhook.DeliveriesOf, webhook.EventInput{ID: id}, shell.InSandbox(p.event.sandbox))
	if err != nil {
		return v.Failed(err)
	}
	p.went = went.Data
	return v.Settings(shell.EventsPath, eventText(v, p.event.Type), oneEventView(v, p))
}
