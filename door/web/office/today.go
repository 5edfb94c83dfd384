package office

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"kartei/kit/clock"
)

// today is the start page: what is due, what the person opened last, what changed
// today in the office, and what the bell says.
type today struct {
	// due are the open tasks of the person until the end of the day, by due date. next
	// is the first one after them, or nil. more says that there are further due ones.
	due    []values
	next   values
	more   bool
	recent []hit
	groups []changeGroup
	// busy says that more has changed than the groups show.
	busy  bool
	bell  []bellEntry
	names map[string]string
	// empty says that the office has no contact yet.
	empty bool
}

// recordChange is a record with its last change.
type recordChange struct {
	Object    string `json:"object"`
	ID        string `json:"id"`
	Act       string `json:"act"`
	Principal string `json:"principalId"`
	ChangedAt string `json:"changedAt"`
}

// changeGroup has the records of a family with the same act of the same person.
type changeGroup struct {
	family  *family
	act     string
	who     string
	at      string
	records []string
}

const (
	dueShown      = 20
	recentShown   = 6
	changesAsked  = 60
	groupsShown   = 8
	namesOfGroups = 3
	bellOfToday   = 3
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
	page, err := ask[listed](v, "tasks.list", arguments{query: url.Values{
		"assigneeId": {v.session.Principal.ID}, "status": {"open"}, "sort": {"dueAt"}, "limit": {strconv.Itoa(dueShown + 1)},
	}})
	if err != nil {
		return err
	}
	ends := v.midnight().AddDate(0, 0, 1)
	for _, raw := range page.Data {
		task, err := flatten(raw)
		if err != nil {
			return err
		}
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
	r, err := ask[struct {
		Data []hit `json:"data"`
	}](v, "lookup.recent", arguments{body: map[string]any{"limit": recentShown}})
	p.recent = r.Data
	return err
}

// readChanges reads what changed since midnight, and groups it by person, act and
// family.
func (p *today) readChanges(v *request) error {
	page, err := ask[struct {
		Data    []recordChange `json:"data"`
		HasMore bool           `json:"hasMore"`
	}](v, "records.changes", arguments{body: map[string]any{"since": clock.FromTime(v.midnight()).String(), "limit": changesAsked}})
	if err != nil {
		return err
	}
	p.busy = page.HasMore
	for _, c := range page.Data {
		act := c.Act
		if act != "created" && act != "completed" {
			act = "updated"
		}
		i := slices.IndexFunc(p.groups, func(g changeGroup) bool {
			return g.family.object == c.Object && g.act == act && g.who == c.Principal
		})
		if f := familyOf(c.Object); i < 0 && f != nil {
			if i = len(p.groups); i == groupsShown {
				p.busy = true
				continue
			}
			p.groups = append(p.groups, changeGroup{family: f, act: act, who: c.Principal, at: c.ChangedAt})
		}
		if i >= 0 && i < len(p.groups) {
			p.groups[i].records = append(p.groups[i].records, c.ID)
		}
	}
	return nil
}

// readBell reads the newest entries of the bell that the person has not read.
func (p *today) readBell(v *request) error {
	if v.session.Bell == 0 {
		return nil
	}
	page, err := v.bell("", 20)
	for _, e := range page.Data {
		if e.ReadAt == "" && len(p.bell) < bellOfToday {
			p.bell = append(p.bell, e)
		}
	}
	return err
}

// resolve adds the names, and asks whether an office with nothing to show is empty.
func (p *today) resolve(v *request) error {
	var whos, records []string
	for _, g := range p.groups {
		if g.who != "" {
			whos = append(whos, g.who)
		}
		records = append(records, g.records[:min(len(g.records), namesOfGroups)]...)
	}
	for _, t := range p.due {
		records = append(records, present(t["contactId"], t["companyId"])...)
	}
	return together(
		func() error { return v.namesOf(whos, p.names) },
		func() error { return v.titlesOf(records, p.names) },
		func() error {
			if len(p.due)+len(p.recent)+len(p.groups) > 0 || p.next != nil || !v.session.may(contacts.read) {
				return nil
			}
			n, err := ask[counted](v, "contacts.count", arguments{})
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
	n, w := len(g.records), v.words
	many := strconv.Itoa(n) + " "
	de := map[string]string{"created": "angelegt", "updated": "geändert", "completed": "erledigt"}[g.act]
	en := map[string]string{"created": "created ", "updated": "changed ", "completed": "completed "}[g.act]
	if n == 1 {
		article := map[string]string{"contact": "einen Kontakt ", "company": "eine Firma ", "task": "eine Aufgabe ", "document": "ein Dokument "}[g.family.object]
		return w.Say("hat "+article+de, en+"a "+g.family.lower())
	}
	return w.Say("hat "+many+g.family.many.DE+" "+de, en+many+strings.ToLower(g.family.many.EN))
}

// named returns the first records of the group whose names are known, and how many
// others there are.
func (g changeGroup) named(names map[string]string) (ids []string, others int) {
	for _, id := range g.records[:min(len(g.records), namesOfGroups)] {
		if names[id] != "" {
			ids = append(ids, id)
		}
	}
	return ids, len(g.records) - len(ids)
}
