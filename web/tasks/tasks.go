package tasks

import (
	"cmp"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"kartei/kit/fault"
	"kartei/record/task"
	"kartei/web/records"
	"kartei/web/shell"
	"kartei/web/ui"
)

// taskList is the data of the page with the list of tasks.
type taskList struct {
	records.List
	// counts has the number of tasks in each tab, in the order of the tabs.
	counts [3]records.CountAnswer
	groups []taskGroup
	line   quickForm
	// who is the combobox of the filter by assignee.
	who ui.Combo
}

// taskGroup has the tasks of a period, such as this week, or of a file, in the order of due dates.
type taskGroup struct {
	name  string
	tasks []shell.Values
	// whole says that all tasks of the group are on this page.
	whole bool
	late  bool
}

// tabsOf returns the listings of the three tabs. Each has the same filters.
func tabsOf(l records.Listing) [3]records.Listing {
	var all [3]records.Listing
	for i, tab := range []string{records.MineTab, records.AllTab, records.DoneTab} {
		all[i] = records.Listing{Family: l.Family, Tab: tab, Tag: l.Tag, Assignee: l.Assignee, About: l.About, Sort: l.Sort}
	}
	return all
}

// showTasks serves the list of tasks.
func showTasks(v *shell.Request) shell.View {
	l := records.Tasks.ListingOf(v.URL.Query())
	who := whoField(v, l)
	if q := v.URL.Query(); q.Has("assigneeId" + records.TextSuffix) { // the filter form was submitted
		id, unclear, err := records.Referred(v, records.Tasks.Field("assigneeId"), q)
		switch {
		case err != nil:
			return v.Failed(err)
		case unclear == nil:
			l.Assignee = id
			return v.SeeOther(l.From("", false).At("/tasks"))
		}
		who.Value, who.Text, who.Errors = "", unclear.Text, []string{v.Words.Say(unclear.Why())}
		l.Assignee = ""
	}
	return drawTasks(v, l, who, quickForm{token: v.Mint()}, http.StatusOK)
}

// whoField returns the combobox of the filter by assignee.
func whoField(v *shell.Request, l records.Listing) ui.Combo {
	label := v.Words.Say("Assignee")
	return ui.Combo{
		Field:  ui.Field{Name: "assigneeId", Label: label, Value: l.Assignee, Placeholder: label},
		Source: "/choices/people?list=f-assigneeId-list", Offers: true,
	}
}

// queryOf returns the query parameters of an address.
func queryOf(path string) url.Values {
	u, err := url.Parse(path)
	if err != nil {
		return nil
	}
	return u.Query()
}

// drawTasks reads the list of tasks and returns its page.
func drawTasks(v *shell.Request, l records.Listing, who ui.Combo, line quickForm, status int) shell.View {
	p := taskList{line: line, who: who}
	reads := []func() error{func() (err error) {
		p.List, err = records.Tasks.List(v, l)
		return err
	}}
	for i, tab := range tabsOf(l) {
		reads = append(reads, func() (err error) {
			p.counts[i], err = shell.Fetch[records.CountAnswer](v, task.Count, shell.Arguments{Query: tab.Filters(v.Session.Principal.ID)})
			return err
		})
	}
	err := shell.Together(reads...)
	if err == nil && l.Assignee != "" {
		err = v.NamesOf([]string{l.Assignee}, p.Names)
	}
	switch {
	case fault.Is(err, fault.CursorMismatch): // the cursor has expired
		return v.SeeOther(l.From("", false).At("/tasks"))
	case err != nil:
		return v.Failed(err)
	}
	if p.who.Text == "" {
		p.who.Text = p.Names[l.Assignee]
	}
	p.groups = groupsOf(v, p.List)
	return v.OK(v.Words.Say(records.Tasks.Many), records.Tasks.Name, tasksView(v, p)).WithStatus(status)
}

// groupsOf divides a page of open tasks into periods or files. The tasks are already in the order of due dates or
// of file numbers. Tasks in another order are one group without a name.
func groupsOf(v *shell.Request, l records.List) []taskGroup {
	byFile := l.Listing.Sort == records.ByReference
	if l.Listing.Tab == records.DoneTab || l.Listing.Q != "" || !byFile && l.Listing.Sort != records.ByDue {
		return []taskGroup{{tasks: l.Rows, whole: true}}
	}
	var all []taskGroup
	for _, t := range l.Rows {
		name, late := t["reference"], false
		if !byFile {
			name, late = stretch(v, t["dueAt"])
		}
		if len(all) == 0 || !strings.EqualFold(all[len(all)-1].name, name) {
			all = append(all, taskGroup{name: name, late: late, whole: true})
		}
		g := &all[len(all)-1]
		g.tasks = append(g.tasks, t)
	}
	if len(all) > 0 {
		_, before := l.Newer()
		_, after := l.Older()
		all[0].whole = !before
		all[len(all)-1].whole = all[len(all)-1].whole && !after
	}
	return all
}

// stretch returns the name of the period of a due date, in the person's time zone. late says that
// the task is overdue. A week ends on Sunday.
func stretch(v *shell.Request, dueAt string) (name string, late bool) {
	due, ok := shell.TimeOf(dueAt)
	toSunday := (7 - int(v.Words.Now.In(v.Zone()).Weekday())) % 7
	switch days := v.Words.Days(due); {
	case !ok:
		return v.Words.Say("Without a date"), false
	case due.Before(v.Words.Now):
		return v.Words.Say("Overdue"), true
	case days == 0:
		return v.Words.Say("Today"), false
	case days <= toSunday:
		return v.Words.Say("This week"), false
	}
	return v.Words.Say("Later"), false
}

// next returns the first task if no task is due today or earlier. It returns nil otherwise.
func (p taskList) next(v *shell.Request) shell.Values {
	if _, before := p.Newer(); before || p.Listing.Tab != records.MineTab || p.Listing.Q != "" ||
		p.Listing.Sort != records.ByDue || len(p.Rows) == 0 {
		return nil
	}
	due, ok := shell.TimeOf(p.Rows[0]["dueAt"])
	if ok && v.Words.Days(due) <= 0 {
		return nil
	}
	return p.Rows[0]
}

// tabList returns the tabs with their numbers.
func (p taskList) tabList(v *shell.Request) []ui.Tab {
	names := []string{v.Words.Say("Mine"), v.Words.Say("All"), v.Words.Say("Done")}
	var list []ui.Tab
	for i, tab := range tabsOf(p.Listing) {
		list = append(list, ui.Tab{Name: names[i], Href: v.Look().To(tab.At("/tasks")), Count: records.CountText(v.Words, p.counts[i]), Here: tab.Tab == p.Listing.Tab && p.Listing.Q == ""})
	}
	return list
}

// columns returns the header cells of the table of tasks.
func (p taskList) columns(v *shell.Request) []ui.Column {
	say := v.Words.Say
	when := ui.Column{Name: say("Due"), Class: "when"}
	if p.Listing.Tab == records.DoneTab {
		when.Name = say("Done")
	}
	return []ui.Column{
		{Name: say("Complete"), Class: "pick"}, {Name: say("Task"), Class: "main"},
		{Name: say("About"), Class: "wide"}, {Name: say("Assignee"), Class: "wide"}, when,
	}
}

// assignee returns the name of the task's assignee.
func (p taskList) assignee(v *shell.Request, t shell.Values) string {
	if t["assigneeId"] == v.Session.Principal.ID {
		return v.Words.Say("me")
	}
	return p.Names[t["assigneeId"]]
}

// about returns the file number of a task, and the names of the records to which it refers.
func (p taskList) about(t shell.Values) string {
	return shell.Joined(" · ", t["reference"], p.Names[t["contactId"]], p.Names[t["companyId"]], p.Names[t["documentId"]])
}

// completeTask completes a task. The note offers to undo this.
func completeTask(v *shell.Request) shell.View {
	id := v.PathValue("id")
	a := v.Send(task.Complete, shell.Arguments{ID: id, Once: onceFor(v, id)})
	if a.Fault != nil {
		return v.Failed(a.Fault)
	}
	task, err := shell.Flatten(a.Body)
	if err != nil {
		task = shell.Values{"id": id, "status": "completed"}
	}
	return doneTask(v, task)
}

// reopenTask reopens a completed task.
func reopenTask(v *shell.Request) shell.View {
	id := v.PathValue("id")
	task, err := records.Get(v, &records.Tasks, id)
	if err != nil {
		return v.Failed(err)
	}
	v.Sent.Token = onceFor(v, id)
	s, err := records.Save(v, &records.Tasks, id, shell.Values{"status": task["status"]}, shell.Values{"status": "open"}, shell.RevisionOf(task))
	switch {
	case err != nil:
		return v.Failed(err)
	case s.Merge != nil || s.Record == nil:
		return doneTask(v, task)
	}
	return doneTask(v, s.Record)
}

// onceFor returns the idempotency key of a change of one task in a list. The form has one token for
// all tasks.
func onceFor(v *shell.Request, id string) string { return v.Sent.Token + "." + id }

// doneTask returns the response to a change of a task: the previous page, with a note about the
// task.
func doneTask(v *shell.Request, task shell.Values) shell.View {
	back := shell.Local(v.Sent.Get(shell.BackField))
	if v.Header.Get("HX-Request") == "" {
		back = records.WithParameter(back, didParameter, task["id"])
	}
	return v.Done(back, records.TaskNote(v, task, strings.SplitN(back, "#", 2)[0]))
}

// didParameter is the query parameter with the id of a task that was changed without scripts. The
// next page shows a note about the task.
const didParameter = "did"

// NoteOf returns the note about a task that was just changed without scripts. It returns nil if
// there is none.
func NoteOf(v *shell.Request) *shell.Toast {
	id := v.URL.Query().Get(didParameter)
	if id == "" || v.Method != http.MethodGet || !v.Page.Uses.Has(task.Get) || !v.Session.May(records.Tasks.Read) {
		return nil
	}
	task, err := records.Get(v, &records.Tasks, id)
	if err != nil {
		return nil
	}
	return records.TaskNote(v, task, v.Here(didParameter, ""))
}

// size returns the number of tasks in a group. It is empty if the group has tasks on other pages.
func (g taskGroup) size() string {
	if !g.whole {
		return ""
	}
	return strconv.Itoa(len(g.tasks))
}

// others returns a text with the number of open tasks in the office, for a person without tasks.
func (p taskList) others(v *shell.Request) string {
	if n := p.counts[1]; p.Listing.Tab == records.MineTab && n.Count > 0 {
		return v.Words.Plural(n.Count, "One task is open in the office.", "%d tasks are open in the office.")
	}
	return v.Words.Say("There is no open task.")
}

// shownDue returns the time at which a task is due. For a completed task, it returns the time of
// the completion, and done is true. ok is false if there is no time.
func shownDue(task shell.Values) (at time.Time, done, ok bool) {
	if task["status"] == "completed" {
		at, ok = shell.TimeOf(cmp.Or(task["completedAt"], task["updatedAt"]))
		return at, true, ok
	}
	at, ok = shell.TimeOf(task["dueAt"])
	return at, false, ok
}
