package today

import (
	"net/url"
	"strconv"
	"time"

	"kartei/kit/clock"
	"kartei/kit/i18n"
	"kartei/record/contact"
	"kartei/record/lookup"
	"kartei/web/records"
	"kartei/web/shell"
)

// today is the data of the start page: due tasks, recently opened records, today's changes in the
// office, and unread notifications.
type today struct {
	// due has the person's open tasks that are due by the end of the day, by due date. next is the
	// first task after these, or nil. more says that there are more due tasks.
	due    []shell.Values
	next   shell.Values
	more   bool
	recent []lookup.Hit
	groups []changeGroup
	// busy says that there are more changes than the groups show.
	busy  bool
	bell  []bellEntry
	names map[string]string
	// empty says that the office has no contacts yet.
	empty bool
}

// changeGroup has the records of a family that one person changed in the same way today.
type changeGroup struct {
	lookup.ChangeGroup
	family *records.Family
}

const (
	dueShown    = 20
	recentShown = 6
	groupsShown = 8
	bellOfToday = 3
)

// showToday serves the start page. Its API calls run in parallel.
func showToday(v *shell.Request) shell.View {
	p := today{names: map[string]string{}}
	if err := shell.Together(
		func() error { return p.readTasks(v) },
		func() error { return p.readRecent(v) },
		func() error { return p.readChanges(v) },
		func() error { return p.readBell(v) },
	); err != nil {
		return v.Failed(err)
	}
	if err := p.resolve(v); err != nil {
		return v.Failed(err)
	}
	return v.OK(v.Words.Say("Today"), "today", todayView(v, p))
}

// readTasks reads the person's open tasks. They are sorted by due date, so the due tasks come
// first.
func (p *today) readTasks(v *shell.Request) error {
	if !v.Session.May(records.Tasks.Read) {
		return nil
	}
	page, err := records.ReadPage(v, &records.Tasks, url.Values{
		"assigneeId": {v.Session.Principal.ID}, "status": {"open"}, "sort": {"dueAt"}, "limit": {strconv.Itoa(dueShown + 1)},
	})
	if err != nil {
		return err
	}
	ends := midnight(v).AddDate(0, 0, 1)
	for _, task := range page.Records {
		switch due, has := shell.TimeOf(task["dueAt"]); {
		case !has || !due.Before(ends):
			p.next = task
			return nil
		case len(p.due) == dueShown:
			p.more = true
			return nil
		}
		p.due = append(p.due, task)
	}
	return nil
}

func (p *today) readRecent(v *shell.Request) error {
	r, err := shell.Ask(v, lookup.Recent, lookup.RecentInput{Limit: recentShown})
	p.recent = r.Data
	return err
}

// readChanges reads the changes since midnight, grouped by person, kind of change and family.
func (p *today) readChanges(v *shell.Request) error {
	changed, err := shell.Ask(v, lookup.Changes, lookup.ChangesInput{Since: clock.FromTime(midnight(v))})
	for _, g := range changed.Groups {
		if f := records.FamilyOf(g.Object); f != nil {
			p.groups = append(p.groups, changeGroup{g, f})
		}
	}
	p.busy = changed.Capped || len(p.groups) > groupsShown
	p.groups = p.groups[:min(len(p.groups), groupsShown)]
	return err
}

// readBell reads the newest unread notifications.
func (p *today) readBell(v *shell.Request) error {
	if v.Session.Bell == 0 {
		return nil
	}
	page, err := bellOf(v, "", 20)
	for _, e := range page.Data {
		if e.ReadAt == 0 && len(p.bell) < bellOfToday {
			p.bell = append(p.bell, e)
		}
	}
	return err
}

// resolve adds the names. If there is nothing to show, it also checks whether the office is empty.
func (p *today) resolve(v *shell.Request) error {
	var whos, ids []string
	for _, g := range p.groups {
		whos = append(whos, shell.Present(g.Principal)...)
		ids = append(ids, g.IDs...)
	}
	for _, t := range p.due {
		ids = append(ids, shell.Present(t["contactId"], t["companyId"])...)
	}
	return shell.Together(
		func() error { return v.NamesOf(whos, p.names) },
		func() error { return v.TitlesOf(ids, p.names) },
		func() error {
			if len(p.due)+len(p.recent)+len(p.groups) > 0 || p.next != nil || !v.Session.May(records.Contacts.Read) {
				return nil
			}
			n, err := shell.Fetch[records.CountAnswer](v, contact.Count, shell.Arguments{})
			p.empty = err == nil && n.Count == 0
			return err
		},
	)
}

// midnight returns the start of today in the person's time zone.
func midnight(v *shell.Request) time.Time {
	y, m, d := v.Words.Now.In(v.Zone()).Date()
	return time.Date(y, m, d, 0, 0, 0, 0, v.Zone())
}

// what returns a text such as "changed 3 contacts".
func (g changeGroup) what(v *shell.Request) string {
	said := done[g.Act+" "+g.Object]
	return v.Words.Plural(g.Count, said.one, said.many)
}

// done maps a kind of change and a kind of record to the texts for one record and for several.
var done = map[string]struct{ one, many i18n.Text }{
	"created contact":  {"created a contact", "created %d contacts"},
	"updated contact":  {"changed a contact", "changed %d contacts"},
	"created company":  {"created a company", "created %d companies"},
	"updated company":  {"changed a company", "changed %d companies"},
	"created task":     {"created a task", "created %d tasks"},
	"updated task":     {"changed a task", "changed %d tasks"},
	"completed task":   {"completed a task", "completed %d tasks"},
	"created document": {"created a document", "created %d documents"},
	"updated document": {"changed a document", "changed %d documents"},
}

// named returns the ids of the group's records whose names are known, and the number of other
// records.
func (g changeGroup) named(names map[string]string) (ids []string, others int) {
	for _, id := range g.IDs {
		if names[id] != "" {
			ids = append(ids, id)
		}
	}
	return ids, g.Count - len(ids)
}
