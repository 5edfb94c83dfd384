package shell

import (
	"cmp"
	"strconv"
	"time"

	"kartei/web/ui"
)

// Toast says what a change has done, and offers to take it back.
type Toast struct {
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
	Undo *Undo
}

// Undo is a form that stores former values. It expects the revision that the change
// made, so that it never takes back what somebody else has changed since.
type Undo struct {
	Action   string
	Token    string
	Revision int64
	Was, Set Values
	// Back is the page to show afterwards. If it is empty, the record's page is shown.
	Back string
	// Fields are further fields of the form.
	Fields []ui.HiddenField
}

// undoField marks a form that takes a change back.
const undoField = "undo"

// Undoing reports whether the form takes a change back.
func (v *Request) Undoing() bool { return v.Sent != nil && v.Sent.Get(undoField) != "" }

// Shown returns the note as it is drawn.
func (t *Toast) Shown() ui.Toast {
	out := ui.Toast{Kind: ui.OK, Text: t.Text, Log: t.Log, Href: t.Href, HrefText: t.HrefText}
	if t.Bad {
		out.Kind = ui.Bad
	}
	if u := t.Undo; u != nil {
		out.Undo = u.Action
		out.Hidden = []ui.HiddenField{{Name: TokenField, Value: u.Token}, {Name: RevisionField, Value: strconv.FormatInt(u.Revision, 10)}, {Name: undoField, Value: "1"}}
		if u.Back != "" {
			out.Hidden = append(out.Hidden, ui.HiddenField{Name: BackField, Value: u.Back})
		}
		out.Hidden = append(out.Hidden, u.Fields...)
		for _, name := range SortedNames(u.Set) {
			out.Hidden = append(out.Hidden, ui.HiddenField{Name: WasPrefix + name, Value: u.Was[name]}, ui.HiddenField{Name: name, Value: u.Set[name]})
		}
	}
	return out
}

// TaskNote says how a task is after a change, and offers to undo its completion.
func (v *Request) TaskNote(task Values, back string) *Toast {
	title := task["title"]
	if title == "" { // somebody who may write, but not read
		return &Toast{Text: v.Words.Say("Gespeichert.", "Saved.")}
	}
	if task["status"] == "completed" {
		return &Toast{
			Text: v.Words.Say("„"+title+"“ erledigt.", "“"+title+"” done."),
			Log:  v.Words.Say("Aufgabe erledigt.", "Task done."),
			Undo: &Undo{Action: "/tasks/" + task["id"], Token: v.Mint(), Revision: RevisionOf(task), Was: Values{"status": "completed"}, Set: Values{"status": "open"}, Back: back},
		}
	}
	t := &Toast{Href: "/tasks/" + task["id"], HrefText: v.Words.Say("Ansehen", "View")}
	if RevisionOf(task) > 1 {
		t.Text = v.Words.Say("„"+title+"“ ist wieder offen.", "“"+title+"” is open again.")
		return t
	}
	about := []string{title}
	if due, ok := TimeOf(task["dueAt"]); ok {
		about = append(about, v.Words.Due(due, v.Words.HasClock(due)))
	}
	if task["priority"] == "high" {
		about = append(about, v.Words.Say("dringend", "high priority"))
	}
	names := map[string]string{}
	if v.TitlesOf([]string{cmp.Or(task["contactId"], task["companyId"])}, names) == nil {
		about = append(about, names[cmp.Or(task["contactId"], task["companyId"])])
	}
	t.Text = v.Words.Say("Angelegt: ", "Created: ") + Joined(" · ", about...)
	return t
}

// ShownDue says when a task is due, or was done.
func ShownDue(task Values) (at time.Time, done, ok bool) {
	if task["status"] == "completed" {
		at, ok = TimeOf(cmp.Or(task["completedAt"], task["updatedAt"]))
		return at, true, ok
	}
	at, ok = TimeOf(task["dueAt"])
	return at, false, ok
}
