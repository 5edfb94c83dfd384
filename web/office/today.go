package office

import (
	"net/url"
	"strconv"
	"strings"
	"time"

	"kartei/kit/clock"
	"kartei/record"
	"kartei/record/contact"
	"kartei/record/lookup"
)

// today is the start page: what is due, what the person opened last, what changed
// today in the office, and what the bell says.
type today struct {
	// due are the open tasks of the person until the end of the day, by due date. next
	// is the first one after them, or nil. more says that there are further due ones.
	due    []values
	next   values
	more   bool
	recent []lookup.Hit
	groups []changeGroup
	// busy says that more has changed than the groups show.
	busy  bool
	bell  []bellEntry
	names map[string]string
	// empty says that the office has no contact yet.
	empty bool
}

// changeGroup has the records of a family with the same act of the same person.
type changeGroup struct {
	record.ChangeGroup
	family *family
}

const (
	dueShown    = 20
	recentShown = 6
	groupsShown = 8
	bellOfToday = 3
)

// showToday serves the start page. Its calls run side by side.
func showToday(v *request) view {
	p := today{names: map[string]string{}}
	if err := together(
		func() error { return p.readTasks(v) },
		func() error { return p.readRecent(v) },
		func() error { return p.readChanges(v) },
		func() error { return p.readBell(v) },
	); err != nil {
		return v.failed(err)
	}
	if err := p.resolve(v); err != nil {
		return v.failed(err)
	}
	return v.ok(v.words.Say("Heute", "Today"), "today", todayView(v, p))
}

// readTasks reads the open tasks of the person. They come by due date, so the due
// ones come first.
func (p *today) readTasks(v *request) error {
	if !v.session.may(tasks.read) {
		return nil
	}
	page, err := v.listed(&tasks, url.Values{
		"assigneeId": {v.session.Principal.ID}, "status": {"open"}, "sort": {"dueAt"}, "limit": {strconv.Itoa(dueShown + 1)},
	})
	if err != nil {
		return err
	}
	ends := v.midnight().AddDate(0, 0, 1)
	for _, task := range page.records {
		switch due, has := timeOf(task["dueAt"]); {
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

func (p *today) readRecent(v *request) error {
	r, err := ask(v, lookup.Recent, lookup.RecentInput{Limit: recentShown})
	p.recent = r.Data
	return err
}

// readChanges reads what changed since midnight, grouped by person, act and family.
func (p *today) readChanges(v *request) error {
	changed, err := ask(v, record.Changes, record.ChangesInput{Since: clock.FromTime(v.midnight())})
	for _, g := range changed.Groups {
		if f := familyOf(g.Object); f != nil {
			p.groups = append(p.groups, changeGroup{g, f})
		}
	}
	p.busy = changed.Capped || len(p.groups) > groupsShown
	p.groups = p.groups[:min(len(p.groups), groupsShown)]
	return err
}

// readBell reads the newest entries of the bell that the person has not read.
func (p *today) readBell(v *request) error {
	if v.session.Bell == 0 {
		return nil
	}
	page, err := v.bell("", 20)
	for _, e := range page.Data {
		if e.ReadAt == 0 && len(p.bell) < bellOfToday {
			p.bell = append(p.bell, e)
		}
	}
	return err
}

// resolve adds the names, and asks whether an office with nothing to show is empty.
func (p *today) resolve(v *request) error {
	var whos, ids []string
	for _, g := range p.groups {
		whos = append(whos, present(g.Principal)...)
		ids = append(ids, g.IDs...)
	}
	for _, t := range p.due {
		ids = append(ids, present(t["contactId"], t["companyId"])...)
	}
	return together(
		func() error { return v.namesOf(whos, p.names) },
		func() error { return v.titlesOf(ids, p.names) },
		func() error {
			if len(p.due)+len(p.recent)+len(p.groups) > 0 || p.next != nil || !v.session.may(contacts.read) {
				return nil
			}
			n, err := fetch[counted](v, contact.Count, arguments{})
			p.empty = err == nil && n.Count == 0
			return err
		},
	)
}

// midnight returns the beginning of the day, where the person is.
func (v *request) midnight() time.Time {
	y, m, d := v.words.Now.In(v.zone()).Date()
	return time.Date(y, m, d, 0, 0, 0, 0, v.zone())
}

// what says what was done: hat 3 Kontakte geändert.
func (g changeGroup) what(v *request) string {
	w := v.words
	de := map[string]string{"created": "angelegt", "updated": "geändert", "completed": "erledigt"}[g.Act]
	en := map[string]string{"created": "created ", "updated": "changed ", "completed": "completed "}[g.Act]
	if g.Count == 1 {
		article := map[string]string{"contact": "einen Kontakt ", "company": "eine Firma ", "task": "eine Aufgabe ", "document": "ein Dokument "}[g.Object]
		return w.Say("hat "+article+de, en+"a "+g.family.lower())
	}
	many := w.Number(g.Count) + " "
	return w.Say("hat "+many+g.family.many.DE+" "+de, en+many+strings.ToLower(g.family.many.EN))
}

// named returns the records of the group whose names are known, and how many others there
// are.
func (g changeGroup) named(names map[string]string) (ids []string, others int) {
	for _, id := range g.IDs {
		if names[id] != "" {
			ids = append(ids, id)
		}
	}
	return ids, g.Count - len(ids)
}
