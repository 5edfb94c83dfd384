package shell

import (
	"strconv"

	"kartei/web/ui"
)

// Toast is a short note about a change. It may offer to undo the change.
type Toast struct {
	Text string
	// Log is the text for the log of notes in the browser tab. It contains no content of a record.
	// If it is empty, nothing is logged.
	Log string
	// Bad says that something went wrong.
	Bad bool
	// Members are the members of the record that changed. The page marks their values.
	Members []string
	// Href is a link to the changed record, and HrefText is its text.
	Href, HrefText string
	// Undo is the form that undoes the change, or nil.
	Undo *Undo
}

// Undo is a form that restores former values. It sends the revision that the change made. It thus
// never overwrites a later change by another person.
type Undo struct {
	Action   string
	Token    string
	Revision int64
	Was, Set Values
	// Back is the path of the page to show afterwards. If it is empty, the record's page is shown.
	Back string
	// Fields are further hidden fields of the form.
	Fields []ui.HiddenField
}

// undoField is the name of the field that marks a form of type Undo.
const undoField = "undo"

// Undoing reports whether the submitted form undoes a change.
func (v *Request) Undoing() bool { return v.Sent != nil && v.Sent.Get(undoField) != "" }

// Shown returns the note as data for the template.
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
