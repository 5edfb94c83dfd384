package records

import (
	"kartei/kit/fault"
	"kartei/web/shell"
)

// beside reads the page of the list that is shown beside a record, without names.
//
// It reads the page that the address names, if the record is on that page, and otherwise the page
// around the record. For search results it always reads the page of the address: results are
// ordered by rank, so there is no page around a record. If the record does not match the filters,
// beside reads the page of the address, or the page at the position of the record.
func (f *Family) beside(v *shell.Request, record shell.Values) (List, error) {
	id, asked := record["id"], listBeside(v, f, record)
	implied := asked.Q == "" && asked.Cursor == "" && asked.Near == ""
	if implied {
		asked = asked.near(id)
	}
	list, err := f.unnamed(v, asked)
	if implied {
		list.Listing.Near = "" // the address of the record implies Near
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
	if err != nil { // the cursor has expired, or the record has no position
		return f.unnamed(v, begin)
	}
	return list, nil
}

// listBeside returns the listing that the address of a record names. If the address of a task names
// none, the tab is the one that contains the task.
func listBeside(v *shell.Request, f *Family, record shell.Values) Listing {
	q := v.URL.Query()
	l := f.ListingOf(q)
	if f.completable && !q.Has("tab") && len(l.query()) == 0 {
		l.Tab = tabOf(record, v.Session.Principal.ID)
	}
	return l
}

// tabOf returns the tab of the task list that contains a task.
func tabOf(task shell.Values, me string) string {
	switch {
	case task["status"] == "completed":
		return DoneTab
	case task["assigneeId"] == me:
		return MineTab
	}
	return AllTab
}

// title returns the title of the list beside a record.
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

// absent returns a text that says that the list does not contain the record. It is empty if the
// list contains the record.
func (p Page) absent(v *shell.Request) string {
	switch {
	case p.List.has(p.Record["id"]):
		return ""
	case p.List.Listing.Q != "":
		return v.Words.Say("The open entry is not on this page of the results.")
	}
	return v.Words.Say("The open entry is not in this selection.")
}

// whole returns the address of the record beside the unfiltered list. It keeps all other parameters
// of the address. For a document, the text of the search stays marked in the file.
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

// kept returns the address of a task that is about to be completed, beside the list of open tasks
// that the person works through.
func (p Page) kept() string {
	if p.List.Listing.Q == "" && p.List.Listing.Tab == MineTab {
		return WithParameter(p.At(""), "tab", "mine")
	}
	return p.At("")
}
