package office

import (
	"strconv"
)

// toast says what a change has done, and offers to take it back.
type toast struct {
	Text string
	// Bad says that something went wrong.
	Bad bool
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
}

// changeNote says which members a form changed, and what somebody else changed
// meanwhile.
func (v *request) changeNote(f *family, id string, s saved) *toast {
	if len(s.Changed) == 0 && len(s.Theirs) == 0 {
		return nil
	}
	var t toast
	if len(s.Changed) > 0 {
		t.Text = v.words.Say(v.labels(f, s.Changed)+" geändert.", v.labels(f, s.Changed)+" changed.")
		u := undo{Action: "/" + f.name + "/" + id, Token: v.mint(), Revision: revisionOf(s.Record), Was: values{}, Set: values{}}
		for _, name := range s.Changed {
			u.Was[name], u.Set[name] = s.Record[name], s.Before[name]
		}
		t.Undo = &u
	}
	if len(s.Theirs) > 0 {
		t.Text = joined(" ", t.Text, v.words.Say("Jemand anderes hat gleichzeitig geändert: ", "Somebody else changed at the same time: ")+v.labels(f, s.Theirs)+".")
	}
	return &t
}

// labels names members: "Mobil und Schlagworte", or their number.
func (v *request) labels(f *family, names []string) string {
	if len(names) > 3 {
		return strconv.Itoa(len(names)) + v.words.Say(" Felder", " fields")
	}
	labels := make([]string, len(names))
	for i, name := range names {
		labels[i] = f.field(name).label.In(v.words.Language)
	}
	return v.words.List(labels)
}
