package shell

import (
	"strconv"

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
