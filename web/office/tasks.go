package office

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"kartei/kit/fault"
	"kartei/record/task"
	"kartei/web/ui"
)

// taskList is the list of tasks: a tab of it, its quick line and its filter.
type taskList struct {
	recordList
	// counts are the numbers of the tabs, in their order.
	counts [3]counted
	groups []taskGroup
	line   quickForm
	// who is the field of the filter by assignee.
	who ui.Combo
}

// taskGroup has the tasks of a stretch of time, in their order.
type taskGroup struct {
	name  string
	tasks []values
	// whole says that the group neither began on the page before nor goes on.
	whole bool
	late  bool
}

// tabs are the listings of the tabs: the same list with another tab.
func (l listing) tabs() [3]listing {
	var all [3]listing
	for i, tab := range []string{mineTab, allTab, doneTab} {
		all[i] = listing{family: l.family, Tab: tab, Tag: l.Tag, Assignee: l.Assignee, About: l.About, Sort: l.family.sorts[0].value}
	}
	return all
}

// showTasks serves the list of tasks.
func showTasks(v *request) view {
	l := tasks.listingOf(v.URL.Query())
	who := v.whoField(l)
	if q := v.URL.Query(); q.Has("assigneeId" + textSuffix) { // the filter was sent
		id, unclear, err := v.referred(&tasks, tasks.field("assigneeId"), q)
		switch {
		case err != nil:
			return v.failed(err)
		case unclear == nil:
			l.Assignee = id
			return v.seeOther(l.from("", false).at("/tasks"))
		}
		who.Value, who.Text, who.Errors = "", unclear.Text, []string{unclear.why().In(v.words.Language)}
		l.Assignee = ""
	}
	return v.tasks(l, who, quickForm{token: v.mint()}, http.StatusOK)
}

// whoField returns the field of the filter by assignee.
func (v *request) whoField(l listing) ui.Combo {
	label := v.words.Say("Zuständig", "Assignee")
	return ui.Combo{
		Field:  ui.Field{Name: "assigneeId", Label: label, Value: l.Assignee, Placeholder: label},
		Source: "/choices/people?list=f-assigneeId-list", Offers: true,
	}
}

// queryOf returns the parameters of an address.
func queryOf(path string) url.Values {
	u, err := url.Parse(path)
	if err != nil {
		return nil
	}
	return u.Query()
}

// tasks draws the list of tasks.
func (v *request) tasks(l listing, who ui.Combo, line quickForm, status int) view {
	p := taskList{line: line, who: who}
	reads := []func() error{func() (err error) {
		p.recordList, err = tasks.list(v, l)
		return err
	}}
	for i, tab := range l.tabs() {
		reads = append(reads, func() (err error) {
			p.counts[i], err = fetch[counted](v, task.Count, arguments{query: tab.filters(v.session.Principal.ID)})
			return err
		})
	}
	err := together(reads...)
	if err == nil && l.Assignee != "" {
		err = v.namesOf([]string{l.Assignee}, p.names)
	}
	switch {
	case fault.Is(err, fault.CursorMismatch): // an address of yesterday: the list begins anew
		return v.seeOther(l.from("", false).at("/tasks"))
	case err != nil:
		return v.failed(err)
	}
	if p.who.Text == "" {
		p.who.Text = p.names[l.Assignee]
	}
	p.groups = v.groups(p.recordList)
	out := v.ok(tasks.many.In(v.words.Language), tasks.name, tasksView(v, p))
	out.status = status
	return out
}

// groups cuts a page of open tasks into stretches of time. The tasks stand in the
// order of their due dates already.
func (v *request) groups(l recordList) []taskGroup {
	if l.listing.Tab == doneTab || l.listing.Q != "" {
		return []taskGroup{{tasks: l.rows, whole: true}}
	}
	var all []taskGroup
	for _, t := range l.rows {
		name, late := v.stretch(t["dueAt"])
		if len(all) == 0 || all[len(all)-1].name != name {
			all = append(all, taskGroup{name: name, late: late, whole: true})
		}
		g := &all[len(all)-1]
		g.tasks = append(g.tasks, t)
	}
	if len(all) > 0 {
		_, before := l.newer()
		_, after := l.older()
		all[0].whole = !before
		all[len(all)-1].whole = all[len(all)-1].whole && !after
	}
	return all
}

// stretch returns the stretch of time of a due date in words, by the zone and the
// clock of the person. A week ends with its Sunday.
func (v *request) stretch(dueAt string) (name string, late bool) {
	due, ok := timeOf(dueAt)
	toSunday := (7 - int(v.words.Now.In(v.zone()).Weekday())) % 7
	switch days := v.words.Days(due); {
	case !ok:
		return v.words.Say("Ohne Frist", "Without a date"), false
	case due.Before(v.words.Now):
		return v.words.Say("Überfällig", "Overdue"), true
	case days == 0:
		return v.words.Say("Heute", "Today"), false
	case days <= toSunday:
		return v.words.Say("Diese Woche", "This week"), false
	}
	return v.words.Say("Später", "Later"), false
}

// next returns the task that comes next, if none is due today.
func (p taskList) next(v *request) values {
	if _, before := p.newer(); before || p.listing.Tab != mineTab || p.listing.Q != "" || len(p.rows) == 0 {
		return nil
	}
	due, ok := timeOf(p.rows[0]["dueAt"])
	if ok && v.words.Days(due) <= 0 {
		return nil
	}
	return p.rows[0]
}

// tabList are the tabs with their numbers.
func (p taskList) tabList(v *request) []ui.Tab {
	names := []string{v.words.Say("Meine", "Mine"), v.words.Say("Alle", "All"), v.words.Say("Erledigt", "Done")}
	var list []ui.Tab
	for i, tab := range p.listing.tabs() {
		list = append(list, ui.Tab{Name: names[i], Href: v.look().To(tab.at("/tasks")), Count: countText(v.words, p.counts[i]), Here: tab.Tab == p.listing.Tab && p.listing.Q == ""})
	}
	return list
}

// columns are the heads of the table of tasks.
func (p taskList) columns(v *request) []ui.Column {
	say := v.words.Say
	when := ui.Column{Name: say("Fällig", "Due"), Class: "when"}
	if p.listing.Tab == doneTab {
		when.Name = say("Erledigt", "Done")
	}
	return []ui.Column{
		{Name: say("Erledigen", "Complete"), Class: "pick"}, {Name: say("Aufgabe", "Task"), Class: "main"},
		{Name: say("Worum es geht", "About"), Class: "wide"}, {Name: say("Zuständig", "Assignee"), Class: "wide"}, when,
	}
}

// assignee is who has a task to do.
func (p taskList) assignee(v *request, t values) string {
	if t["assigneeId"] == v.session.Principal.ID {
		return v.words.Say("ich", "me")
	}
	return p.names[t["assigneeId"]]
}

// about are the names of what a task is about.
func (p taskList) about(t values) string {
	return joined(" · ", p.names[t["contactId"]], p.names[t["companyId"]], p.names[t["documentId"]])
}

// completeTask marks a task as done. The note takes it back.
func completeTask(v *request) view {
	id := v.PathValue("id")
	a := v.send(task.Complete, arguments{id: id, once: v.onceFor(id)})
	if a.Fault != nil {
		return v.failed(a.Fault)
	}
	task, err := flatten(a.Body)
	if err != nil {
		task = values{"id": id, "status": "completed"}
	}
	return v.doneTask(task)
}

// reopenTask opens a completed task again.
func reopenTask(v *request) view {
	id := v.PathValue("id")
	task, err := v.get(&tasks, id)
	if err != nil {
		return v.failed(err)
	}
	v.form.token = v.onceFor(id)
	s, err := v.save(&tasks, id, values{"status": task["status"]}, values{"status": "open"}, revisionOf(task))
	switch {
	case err != nil:
		return v.failed(err)
	case s.Merge != nil || s.Record == nil:
		return v.doneTask(task)
	}
	return v.doneTask(s.Record)
}

// onceFor returns the idempotency key of an act on one of the records of a list. Its
// form has one token for all of them.
func (v *request) onceFor(id string) string { return v.form.token + "." + id }

// doneTask ends a change of a task: it leads back, and says how the task is now.
func (v *request) doneTask(task values) view {
	back := local(v.form.Get(backField))
	if v.Header.Get("HX-Request") == "" {
		back = with(back, didParameter, task["id"])
	}
	return v.done(back, v.taskNote(task, strings.SplitN(back, "#", 2)[0]))
}

// didParameter names the task that a form without a script has changed, so that the
// next page says so.
const didParameter = "did"

// NoteOf returns the note about a task that a form without a script has just changed. It is nil
// if there is nothing to show.
func NoteOf(v *request) *toast {
	id := v.URL.Query().Get(didParameter)
	if id == "" || v.Method != http.MethodGet || !v.page.Uses.Has(task.Get) || !v.session.may(tasks.read) {
		return nil
	}
	task, err := v.get(&tasks, id)
	if err != nil {
		return nil
	}
	return v.taskNote(task, v.here(didParameter, ""))
}

// size returns the number of tasks of a group that is not cut.
func (g taskGroup) size() string {
	if !g.whole {
		return ""
	}
	return strconv.Itoa(len(g.tasks))
}

// others says how many tasks are open in the office, if the person has none.
func (p taskList) others(v *request) string {
	if n := p.counts[1]; p.listing.Tab == mineTab && n.Count > 0 {
		return v.words.Plural(n.Count, "Im Büro ist eine Aufgabe offen.", "Im Büro sind %d Aufgaben offen.", "One task is open in the office.", "%d tasks are open in the office.")
	}
	return v.words.Say("Es gibt keine offene Aufgabe.", "There is no open task.")
}
