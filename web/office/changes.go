package office

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"kartei/access"
	"kartei/api/op"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/transfer/bulk"
	"kartei/web/ui"
)

// wholeChange is a change of a whole list with the words of its pages.
type wholeChange struct{ bulk.Act }

// path is the page of a change.
func (c *wholeChange) path() string { return changesPath + "/" + c.ID }

// undoable reports whether the change can be taken back.
func (c *wholeChange) undoable(v *request) bool {
	return (c.State == bulk.Finished || c.State == bulk.Stopped) && !c.Undo && c.Counts[bulk.Changed] > 0 && c.KeptUntil > clock.FromTime(v.words.Now)
}

// family returns the family of the records.
func (c *wholeChange) family() *family {
	if c.Family == companies.name {
		return &companies
	}
	return &contacts
}

// title says what the change does.
func (c *wholeChange) title(v *request, names map[string]string) string {
	say := v.words.Say
	switch c.Kind {
	case bulk.Tag:
		return say("Schlagwort „"+c.Value+"“ ergänzen", "Add the tag “"+c.Value+"”")
	case bulk.Untag:
		return say("Schlagwort „"+c.Value+"“ entfernen", "Remove the tag “"+c.Value+"”")
	case bulk.Owner:
		name := first(names[c.Value], c.Value)
		return say("An "+name+" übergeben", "Hand over to "+name)
	}
	label := c.family().field("visibility").labelOf(c.Value).In(v.words.Language)
	return say("Sichtbar für: "+label, "Visible to: "+label)
}

// badge says in a word where the change is.
func (c *wholeChange) badge(v *request) (ui.Kind, string) {
	say := v.words.Say
	switch {
	case c.State.Works() && c.Waits:
		return ui.Info, say("wartet", "waiting")
	case c.State.Works():
		return ui.Info, say("läuft", "in progress")
	case c.State == bulk.Stopped:
		return ui.Warn, say("angehalten", "stopped")
	case c.State == bulk.Undone:
		return ui.Info, say("rückgängig gemacht", "undone")
	}
	return ui.OK, say("fertig", "done")
}

// step says what a job does.
func (c *wholeChange) step(v *request) string {
	switch {
	case c.Waits:
		return v.words.Say("Wartet, bis eine andere Änderung fertig ist", "Waiting until another change is done")
	case c.State == bulk.Collecting:
		return v.words.Say("Die Einträge werden gesucht", "Finding the entries")
	case c.State == bulk.Undoing:
		return v.words.Say("Wird rückgängig gemacht", "Being undone")
	}
	return v.words.Say("Wird geändert", "Being changed")
}

// wholeOutcomes are the outcomes in the order of a sum.
var wholeOutcomes = []struct {
	outcome bulk.Outcome
	label   fault.Text
}{
	{bulk.Changed, text("geändert", "changed")},
	{bulk.Unchanged, text("unverändert", "unchanged")},
	{bulk.Refused, text("abgelehnt", "refused")},
	{bulk.Restored, text("zurückgenommen", "taken back")},
	{bulk.Kept, text("seither anders", "different since")},
	{bulk.Gone, text("nicht mehr vorhanden", "gone")},
}

// sums says in one line what became of the records.
func (c *wholeChange) sums(v *request) string {
	var parts []string
	for _, o := range wholeOutcomes {
		if n := c.Counts[o.outcome]; n > 0 {
			parts = append(parts, v.number(n)+" "+o.label.In(v.words.Language))
		}
	}
	if len(parts) == 0 && c.State != bulk.Collecting {
		return v.words.Plural(int(c.Records), "ein Eintrag", "%d Einträge", "one entry", "%d entries")
	}
	return strings.Join(parts, ", ")
}

// why says why a change stopped.
func (c *wholeChange) why(v *request) string {
	say := v.words.Say
	switch c.Reason {
	case bulk.NoRight:
		return say("Der Person, die sie begonnen hat, fehlt das Recht dazu. Wer es hat, kann sie fortsetzen.", "The person who began it lacks the right to it. Who has it can resume it.")
	case bulk.NotOpen:
		return say("Das Büro ist geschlossen.", "The office is closed.")
	case bulk.TooMany:
		return say("Die Liste hat mehr als 500.000 Einträge. Es wurde nichts geändert; bitte grenzen Sie die Liste ein.", "The list has more than 500,000 entries. Nothing was changed; please narrow the list.")
	}
	return say("Was schon geändert ist, bleibt so. Sie können fortsetzen oder rückgängig machen.", "What is changed already stays so. You can resume or undo.")
}

// changesPage is the list of changes of whole lists.
type changesPage struct {
	list  []wholeChange
	names map[string]string
	pages ui.Pages
}

const changesShown = 20

// showChanges serves the list of changes of whole lists.
func showChanges(v *request) view {
	p := changesPage{names: map[string]string{}}
	after := v.URL.Query().Get("after")
	found, err := ask(v, bulk.List, bulk.ListInput{After: after, Limit: changesShown})
	if err != nil {
		return v.failed(err)
	}
	for _, c := range found.Data {
		p.list = append(p.list, wholeChange{c})
	}
	if after != "" {
		p.pages.Newer = v.look().To(changesPath)
	}
	if found.HasMore {
		p.pages.Older = v.look().To(changesPath + "?" + url.Values{"after": {p.list[len(p.list)-1].ID}}.Encode())
	}
	if err := v.namesOf(peopleOf(p.list...), p.names); err != nil {
		return v.failed(err)
	}
	return v.ok(v.words.Say("Änderungen ganzer Listen", "Changes of whole lists"), changesPath, changesView(v, p))
}

// peopleOf returns the people whom changes name.
func peopleOf(list ...wholeChange) []string {
	ids := map[string]bool{}
	for _, c := range list {
		ids[c.PrincipalID] = true
		if c.Kind == bulk.Owner {
			ids[c.Value] = true
		}
	}
	return slices.Sorted(maps.Keys(ids))
}

// changePage is the page of a change.
type changePage struct {
	wholeChange
	names  map[string]string
	report bulk.Report
}

// showChange serves the page of a change.
func showChange(v *request) view {
	p := changePage{names: map[string]string{}}
	var err error
	if p.Act, err = ask(v, bulk.Get, access.ByID{ID: v.PathValue("id")}); err != nil {
		return v.failed(err)
	}
	if p.State.Works() {
		v.w.Header().Set("Refresh", "2")
	} else if err := p.read(v); err != nil {
		return v.failed(err)
	}
	if err := v.namesOf(peopleOf(p.wholeChange), p.names); err != nil {
		return v.failed(err)
	}
	return v.ok(p.title(v, p.names), p.family().name, changeView(v, p))
}

// read reads which records stayed as they were.
func (p *changePage) read(v *request) error {
	var err error
	if p.report, err = ask(v, bulk.GetReport, access.ByID{ID: p.ID}); err != nil {
		return err
	}
	var ids []string
	for _, l := range p.report.Records {
		ids = append(ids, l.RecordID)
	}
	return v.titlesOf(ids, p.names)
}

// actOnChange runs an operation on a change, and goes back to its page, which says how far
// it is.
func actOnChange(row op.Operation[access.ByID, bulk.Act]) func(*request) view {
	return func(v *request) view {
		id := v.PathValue("id")
		a := do(v, row, access.ByID{ID: id}, once)
		if a.Fault != nil && !a.is(fault.ValidationFailed) {
			return v.failed(a.Fault)
		}
		return v.seeOther(changesPath + "/" + id)
	}
}
