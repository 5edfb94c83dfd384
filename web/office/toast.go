package office

import (
	"strconv"
	"time"

	"kartei/web/ui"
)

// toast says what a change has done, and offers to take it back.
type toast struct {
	Text string
	// Log is what the log of the tab keeps: the text without anything that is in a
	// record. Without it, the log has no line.
	Log string
	// Bad says that something went wrong.
	Bad bool
	// Members are the members that changed: the page says so at their values.
	Members []string
	// Href leads to what changed.
	Href, HrefText string
	// Undo is the form that takes the change back, or nil.
	Undo *undo
}

// undo is a form that stores former values. It expects the revision that the change
// made, so that it never takes back what somebody else has changed since.
type undo struct {
	Action   string
	Token    string
	Revision int64
	Was, Set values
	// Back is the page to show afterwards. If it is empty, the record's page is shown.
	Back string
	// Fields are further fields of the form.
	Fields []ui.Hidden
}

// undoField marks a form that takes a change back.
const undoField = "undo"

// undoing reports whether the form takes a change back.
func (v *request) undoing() bool { return v.form != nil && v.form.Get(undoField) != "" }

// shown returns the note as it is drawn.
func (t *toast) shown() ui.Toast {
	out := ui.Toast{Kind: ui.OK, Text: t.Text, Log: t.Log, Href: t.Href, HrefText: t.HrefText}
	if t.Bad {
		out.Kind = ui.Bad
	}
	if u := t.Undo; u != nil {
		out.Undo = u.Action
		out.Hidden = []ui.Hidden{{Name: tokenField, Value: u.Token}, {Name: revisionField, Value: strconv.FormatInt(u.Revision, 10)}, {Name: undoField, Value: "1"}}
		if u.Back != "" {
			out.Hidden = append(out.Hidden, ui.Hidden{Name: backField, Value: u.Back})
		}
		out.Hidden = append(out.Hidden, u.Fields...)
		for _, name := range sortedNames(u.Set) {
			out.Hidden = append(out.Hidden, ui.Hidden{Name: wasPrefix + name, Value: u.Was[name]}, ui.Hidden{Name: name, Value: u.Set[name]})
		}
	}
	return out
}

// taskNote says how a task is after a change, and offers to undo its completion.
func (v *request) taskNote(task values, back string) *toast {
	title := task["title"]
	if title == "" { // somebody who may write, but not read
		return &toast{Text: v.words.Say("Gespeichert.", "Saved.")}
	}
	if task["status"] == "completed" {
		return &toast{
			Text: v.words.Say("„"+title+"“ erledigt.", "“"+title+"” done."),
			Log:  v.words.Say("Aufgabe erledigt.", "Task done."),
			Undo: &undo{Action: "/tasks/" + task["id"], Token: v.mint(), Revision: revisionOf(task), Was: values{"status": "completed"}, Set: values{"status": "open"}, Back: back},
		}
	}
	t := &toast{Href: "/tasks/" + task["id"], HrefText: v.words.Say("Ansehen", "View")}
	if revisionOf(task) > 1 {
		t.Text = v.words.Say("„"+title+"“ ist wieder offen.", "“"+title+"” is open again.")
		return t
	}
	about := []string{title}
	if due, ok := timeOf(task["dueAt"]); ok {
		about = append(about, v.words.Due(due, v.words.HasClock(due)))
	}
	if task["priority"] == "high" {
		about = append(about, v.words.Say("dringend", "high priority"))
	}
	names := map[string]string{}
	if v.titlesOf([]string{first(task["contactId"], task["companyId"])}, names) == nil {
		about = append(about, names[first(task["contactId"], task["companyId"])])
	}
	t.Text = v.words.Say("Angelegt: ", "Created: ") + joined(" · ", about...)
	return t
}

// shownDue says when a task is due, or was done.
func shownDue(task values) (at time.Time, done, ok bool) {
	if task["status"] == "completed" {
		at, ok = timeOf(first(task["completedAt"], task["updatedAt"]))
		return at, true, ok
	}
	at, ok = timeOf(task["dueAt"])
	return at, false, ok
}
