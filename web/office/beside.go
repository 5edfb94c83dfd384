package office

import "kartei/kit/fault"

// beside reads the list that stands beside a record: the page that the address names, if
// the record is on it, or else the page around the record. Hits keep their page, since a
// record has no place among them but its rank. If the list leaves the record out, the page
// of the address stays, or what comes at the place of the record. The list has no names:
// the page asks for all of its names at once.
func (f *family) beside(v *request, record values) (recordList, error) {
	id, asked := record["id"], v.listBeside(f, record)
	implied := asked.Q == "" && asked.Cursor == "" && asked.Near == ""
	if implied {
		asked = asked.near(id)
	}
	list, err := f.unnamed(v, asked)
	if implied {
		list.listing.Near = "" // the address of the record says as much
	}
	if err != nil && !fault.Is(err, fault.CursorMismatch) || err == nil && (implied || asked.Q != "" || list.has(id)) {
		return list, err
	}
	begin := asked.from("", false)
	if !implied && asked.Q == "" {
		around, missing := f.unnamed(v, begin.near(id))
		around.listing = begin
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
func (v *request) listBeside(f *family, record values) listing {
	q := v.URL.Query()
	l := f.listingOf(q)
	if f == &tasks && !q.Has("tab") && len(l.query()) == 0 {
		l.Tab = tabOf(record, v.session.Principal.ID)
	}
	return l
}

// tabOf returns the tab of the list of tasks that has a task.
func tabOf(task values, me string) string {
	switch {
	case task["status"] == "completed":
		return doneTab
	case task["assigneeId"] == me:
		return mineTab
	}
	return allTab
}

// title says which list stands beside a record.
func (l recordList) title(v *request) string {
	say := v.words.Say
	switch {
	case l.listing.Q != "":
		return say("Treffer für „"+l.listing.Q+"“", "Results for “"+l.listing.Q+"”")
	case l.family != &tasks:
		return l.family.many.In(v.words.Language)
	case l.listing.Tab == doneTab:
		return say("Erledigte Aufgaben", "Completed tasks")
	case l.listing.Tab == allTab:
		return say("Offene Aufgaben", "Open tasks")
	}
	return say("Meine Aufgaben", "My tasks")
}

// absent says that the list beside a record does not have it, or nothing.
func (p recordPage) absent(v *request) string {
	switch {
	case p.list.has(p.record["id"]):
		return ""
	case p.list.listing.Q != "":
		return v.words.Say("Der geöffnete Eintrag steht nicht auf dieser Seite der Treffer.", "The open entry is not on this page of the results.")
	}
	return v.words.Say("Der geöffnete Eintrag gehört nicht zu dieser Auswahl.", "The open entry is not in this selection.")
}

// whole returns the address of the record beside the whole list, and keeps what else the
// address says. Words that a document is searched for stay marked.
func (p recordPage) whole(v *request) string {
	q := v.URL.Query()
	for name := range p.list.listing.query() {
		q.Del(name)
	}
	q.Del("tab")
	if words := p.list.listing.Q; p.file != nil && !p.file.finds() && words != "" {
		q.Set("find", words)
	}
	path := "/" + p.family.name + "/" + p.record["id"]
	if len(q) > 0 {
		path += "?" + q.Encode()
	}
	return path
}

// kept returns the address of a task that is about to be done, with the list of open tasks
// that the person works through.
func (p recordPage) kept() string {
	if p.list.listing.Q == "" && p.list.listing.Tab == mineTab {
		return with(p.at(""), "tab", "mine")
	}
	return p.at("")
}
