package office

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"kartei/api/op"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/transfer/bulk"
	"kartei/web/ui"
)

// changesPath is the list of changes of whole lists.
const changesPath = "/changes"

// wholeField is the box that chooses all records of a list.
const wholeField = "whole"

// wholeChange is a change of a whole list, as bulk.get returns it.
type wholeChange struct {
	ID          string           `json:"id"`
	PrincipalID string           `json:"principalId"`
	Family      string           `json:"family"`
	Kind        string           `json:"kind"`
	Value       string           `json:"value"`
	State       string           `json:"state"`
	Waits       bool             `json:"waits"`
	Records     int64            `json:"records"`
	Done        int64            `json:"done"`
	Counts      map[string]int64 `json:"counts"`
	Undo        bool             `json:"undo"`
	Reason      string           `json:"reason"`
	CreatedAt   clock.Micros     `json:"createdAt"`
	KeptUntil   clock.Micros     `json:"keptUntil"`
}

// path is the page of a change.
func (c *wholeChange) path() string { return changesPath + "/" + c.ID }

// works reports whether a job works on the change.
func (c *wholeChange) works() bool {
	return slices.Contains([]string{"collecting", "running", "undoing"}, c.State)
}

// undoable reports whether the change can be taken back.
func (c *wholeChange) undoable(v *request) bool {
	return (c.State == "finished" || c.State == "stopped") && !c.Undo && c.Counts["changed"] > 0 && c.KeptUntil > clock.FromTime(v.words.Now)
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
	case "tag":
		return say("Schlagwort „"+c.Value+"“ ergänzen", "Add the tag “"+c.Value+"”")
	case "untag":
		return say("Schlagwort „"+c.Value+"“ entfernen", "Remove the tag “"+c.Value+"”")
	case "owner":
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
	case c.works() && c.Waits:
		return ui.Info, say("wartet", "waiting")
	case c.works():
		return ui.Info, say("läuft", "in progress")
	case c.State == "stopped":
		return ui.Warn, say("angehalten", "stopped")
	case c.State == "undone":
		return ui.Info, say("rückgängig gemacht", "undone")
	}
	return ui.OK, say("fertig", "done")
}

// step says what a job does.
func (c *wholeChange) step(v *request) string {
	switch {
	case c.Waits:
		return v.words.Say("Wartet, bis eine andere Änderung fertig ist", "Waiting until another change is done")
	case c.State == "collecting":
		return v.words.Say("Die Einträge werden gesucht", "Finding the entries")
	case c.State == "undoing":
		return v.words.Say("Wird rückgängig gemacht", "Being undone")
	}
	return v.words.Say("Wird geändert", "Being changed")
}

// wholeOutcomes are the outcomes in the order of a sum.
var wholeOutcomes = []option{
	{"changed", text("geändert", "changed")},
	{"unchanged", text("unverändert", "unchanged")},
	{"refused", text("abgelehnt", "refused")},
	{"restored", text("zurückgenommen", "taken back")},
	{"kept", text("seither anders", "different since")},
	{"gone", text("nicht mehr vorhanden", "gone")},
}

// sums says in one line what became of the records.
func (c *wholeChange) sums(v *request) string {
	var parts []string
	for _, o := range wholeOutcomes {
		if n := c.Counts[o.value]; n > 0 {
			parts = append(parts, v.number(n)+" "+o.label.In(v.words.Language))
		}
	}
	if len(parts) == 0 && c.State != "collecting" {
		return v.words.Plural(int(c.Records), "ein Eintrag", "%d Einträge", "one entry", "%d entries")
	}
	return strings.Join(parts, ", ")
}

// why says why a change stopped.
func (c *wholeChange) why(v *request) string {
	say := v.words.Say
	switch c.Reason {
	case "noRight":
		return say("Der Person, die sie begonnen hat, fehlt das Recht dazu. Wer es hat, kann sie fortsetzen.", "The person who began it lacks the right to it. Who has it can resume it.")
	case "notOpen":
		return say("Das Büro ist geschlossen.", "The office is closed.")
	case "tooMany":
		return say("Die Liste hat mehr als 500.000 Einträge. Es wurde nichts geändert; bitte grenzen Sie die Liste ein.", "The list has more than 500,000 entries. Nothing was changed; please narrow the list.")
	}
	return say("Was schon geändert ist, bleibt so. Sie können fortsetzen oder rückgängig machen.", "What is changed already stays so. You can resume or undo.")
}

// changeOnAll begins an act on all records of a list, and leads to its page.
func (v *request) changeOnAll(b *bulkDone) view {
	set, problem := v.changeOf(b)
	kind, value := b.act, b.what
	switch {
	case problem != "":
		return v.notDone(*b, problem)
	case b.act == "private" || b.act == "organization":
		kind, value = "visibility", b.act
	case b.act == "owner":
		value = set(nil)
	case b.act != "tag" && b.act != "untag":
		return v.notDone(*b, v.words.Say("Das geht nur mit einzeln ausgewählten Einträgen.", "This can be done with single selected entries only."))
	}
	l := b.family.listingOf(v.URL.Query())
	in := map[string]any{"family": b.family.name, "kind": kind, "value": value}
	if l.Q != "" {
		in["q"] = l.Q
	} else {
		filters := map[string]string{}
		for name, values := range l.filters(v.session.Principal.ID) {
			filters[name] = values[0]
		}
		in["filters"] = filters
	}
	begun, err := fetch[wholeChange](v, bulk.Start, arguments{once: v.form.token, body: in})
	switch {
	case fault.Is(err, fault.ValidationFailed):
		return v.notDone(*b, asFault(err).Fields[0].Message(v.words.Language))
	case fault.Is(err, fault.QuotaExhausted):
		return v.notDone(*b, v.reason(asFault(err)))
	case err != nil:
		return v.failed(err)
	}
	return v.done(begun.path(), nil)
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
	found, err := fetch[listOf[wholeChange]](v, bulk.List, arguments{body: map[string]any{"after": after, "limit": changesShown}})
	if err != nil {
		return v.failed(err)
	}
	p.list = found.Data
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
		if c.Kind == "owner" {
			ids[c.Value] = true
		}
	}
	return slices.Sorted(maps.Keys(ids))
}

// changePage is the page of a change.
type changePage struct {
	wholeChange
	names  map[string]string
	report changeReport
}

// changeReport says which records stayed as they were, and why.
type changeReport struct {
	// Reasons counts the records. Records are the first ones.
	Reasons []struct {
		Message string `json:"message"`
		Count   int64  `json:"count"`
	} `json:"reasons"`
	Left []struct {
		RecordID string `json:"recordId"`
		Message  string `json:"message"`
	} `json:"records"`
}

// showChange serves the page of a change.
func showChange(v *request) view {
	id := v.PathValue("id")
	p := changePage{names: map[string]string{}}
	var err error
	if p.wholeChange, err = fetch[wholeChange](v, bulk.Get, arguments{body: map[string]any{"id": id}}); err != nil {
		return v.failed(err)
	}
	if p.works() {
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
	if p.report, err = fetch[changeReport](v, bulk.GetReport, arguments{body: map[string]any{"id": p.ID}}); err != nil {
		return err
	}
	var ids []string
	for _, l := range p.report.Left {
		ids = append(ids, l.RecordID)
	}
	return v.titlesOf(ids, p.names)
}

// actOnChange calls a row about a change, and goes back to its page, which says how far
// it is.
func actOnChange(row op.Any) func(*request) view {
	return func(v *request) view {
		id := v.PathValue("id")
		a := v.send(row, arguments{once: v.form.token, body: map[string]any{"id": id}})
		if a.Fault != nil && !a.is(fault.ValidationFailed) {
			return v.failed(a.Fault)
		}
		return v.seeOther(changesPath + "/" + id)
	}
}
