package records

import (
	"kartei/kit/fault"
	"kartei/web/shell"
)

// beside reads the list that stands beside a record: the page that the address names, if
// the record is on it, or else the page around the record. Hits keep their page, since a
// record has no place among them but its rank. If the list leaves the record out, the page
// of the address stays, or what comes at the place of the record. The list has no names:
// the page asks for all of its names at once.
func (f *Family) beside(v *shell.Request, record shell.Values) (List, error) {
	id, asked := record["id"], listBeside(v, f, record)
	implied := asked.Q == "" && asked.Cursor == "" && asked.Near == ""
	if implied {
		asked = asked.near(id)
	}
	list, err := f.unnamed(v, asked)
	if implied {
		list.Listing.Near = "" // the address of the record says as much
	}
	if err != nil && !fault.Is(err, fault.CursorMismatch) || err == nil && (implied || asked.Q != "" || list.has(id)) {
		return list, err
	}
	begin := asked.From("", false)
	if !implied && asked.Q == "" {
		around, missing := f.unnamed(v, begin.near(id))
		around.Listing = begin
		if missing == nil && (err != nil || around.has(id)) || missing != nil && !fault.Is(missing, fault.CursorMismatch) {
			return around, missing
		}
	}
	if err != nil { // an address of yesterday, or a record without a place
		return f.unnamed(v, begin)
	}
	return list, nil
}

// listBeside is the listing that an address names. The address of a task that names none
// has the tab with the task.
func listBeside(v *shell.Request, f *Family, record shell.Values) Listing {
	q := v.URL.Query()
	l := f.ListingOf(q)
	if f.completable && !q.Has("tab") && len(l.query()) == 0 {
		l.Tab = tabOf(record, v.Session.Principal.ID)
	}
	return l
}

// tabOf returns the tab of the list of tasks that has a task.
func tabOf(task shell.Values, me string) string {
	switch {
	case task["status"] == "completed":
		return DoneTab
	case task["assigneeId"] == me:
		return MineTab
	}
	return AllTab
}

// title says which list stands beside a record.
func (l List) title(v *shell.Request) string {
	say := v.Words.Say
	switch {
	case l.Listing.Q != "":
		return say("Results for “%s”", l.Listing.Q)
	case !l.Family.completable:
		return v.Words.Say(l.Family.Many)
	case l.Listing.Tab == DoneTab:
		return say("Completed tasks")
	case l.Listing.Tab == AllTab:
		return say("Open tasks")
	}
	return say("My tasks")
}

// absent says that the list beside a record does not have it, or nothing.
func (p Page) absent(v *shell.Request) string {
	switch {
	case p.List.has(p.Record["id"]):
		return ""
	case p.List.Listing.Q != "":
		return v.Words.Say("The open entry is not on this page of the results.")
	}
	return v.Words.Say("The open entry is not in this selection.")
}

// whole returns the address of the record beside the whole list, and keeps what else the
// address says. Words that a document is searched for stay marked.
func (p Page) whole(v *shell.Request) string {
	q := v.URL.Query()
	for name := range p.List.Listing.query() {
		q.Del(name)
	}
	q.Del("tab")
	if words := p.List.Listing.Q; p.file != nil && !p.file.Finds() && words != "" {
		q.Set("find", words)
	}
	path := "/" + p.Family.Name + "/" + p.Record["id"]
	if len(q) > 0 {
		path += "?" + q.Encode()
	}
	return path
}

// kept returns the address of a task that is about to be done, with the list of open tasks
// that the person works through.
func (p Page) kept() string {
	if p.List.Listing.Q == "" && p.List.Listing.Tab == MineTab {
		return WithParameter(p.At(""), "tab", "mine")
	}
	return p.At("")
}
