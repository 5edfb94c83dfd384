package office

import (
	"strconv"

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

// changeNote says which members a form changed, and what somebody else changed
// meanwhile.
func (v *request) changeNote(f *family, id string, s saved) *toast {
	if len(s.Changed) == 0 && len(s.Theirs) == 0 {
		return nil
	}
	var t toast
	if len(s.Changed) > 0 {
		t.Text = v.words.Say(v.labels(f, s.Changed)+" geändert.", v.labels(f, s.Changed)+" changed.")
		if v.undoing() {
			t.Text = v.words.Say(v.labels(f, s.Changed)+" wie vorher.", v.labels(f, s.Changed)+" as before.")
		}
		u := undo{Action: f.listingOf(v.URL.Query()).at("/" + f.name + "/" + id), Token: v.mint(), Revision: revisionOf(s.Record), Was: values{}, Set: values{}}
		for _, name := range s.Changed {
			u.Was[name], u.Set[name] = s.Record[name], s.Before[name]
		}
		t.Undo = &u
	}
	if len(s.Theirs) > 0 {
		t.Text = joined(" ", t.Text, v.words.Say(have(first(s.By, "Jemand anderes"))+"gleichzeitig geändert: ", first(s.By, "Somebody else")+" changed at the same time: ")+v.labels(f, s.Theirs)+".")
	}
	t.Log, t.Members = f.one.In(v.words.Language)+": "+t.Text, s.Changed
	return &t
}

// undoField marks a form that takes a change back.
const undoField = "undo"

// undoing reports whether the form takes a change back.
func (v *request) undoing() bool { return v.form != nil && v.form.Get(undoField) != "" }

// notUndone says that somebody has changed the same members since. Their values stay,
// and the history shows them.
func (v *request) notUndone(f *family, id string, m *merged) view {
	var names []string
	for _, c := range m.Conflicts {
		names = append(names, c.Name)
	}
	what := v.labels(f, names)
	path := "/" + f.name + "/" + id
	return v.done(path, &toast{Bad: true, Href: path + "#history", HrefText: v.words.Say("Verlauf", "History"),
		Text: v.words.Say("Nicht zurückgenommen. Inzwischen noch einmal geändert: "+what+".", "Not undone. Changed again since: "+what+"."),
		Log:  v.words.Say("Nicht zurückgenommen: inzwischen geändert.", "Not undone: changed since.")})
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
