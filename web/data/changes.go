package data

import (
	"cmp"
	"maps"
	"net/url"
	"slices"
	"strings"

	"kartei/api/op"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/transfer/bulk"
	"kartei/web/records"
	"kartei/web/shell"
	"kartei/web/ui"
)

// wholeChange is a bulk change of all records of a list, with the texts for its pages.
type wholeChange struct{ bulk.Act }

// path returns the path of the change's page.
func (c *wholeChange) path() string { return shell.ChangesPath + "/" + c.ID }

// undoable reports whether the change can be undone now.
func (c *wholeChange) undoable(v *shell.Request) bool {
	return (c.State == bulk.Finished || c.State == bulk.Stopped) && !c.Undo && c.Counts[bulk.Changed] > 0 && c.KeptUntil > clock.FromTime(v.Words.Now)
}

// family returns the family of the changed records.
func (c *wholeChange) family() *records.Family {
	if c.Family == records.Companies.Name {
		return &records.Companies
	}
	return &records.Contacts
}

// title returns what the change does. names has the names of people by id.
func (c *wholeChange) title(v *shell.Request, names map[string]string) string {
	say := v.Words.Say
	switch c.Kind {
	case bulk.Tag:
		return say("Add the tag “%s”", c.Value)
	case bulk.Untag:
		return say("Remove the tag “%s”", c.Value)
	case bulk.Owner:
		name := cmp.Or(names[c.Value], c.Value)
		return say("Hand over to %s", name)
	}
	label := v.Words.Say(c.family().Field("visibility").LabelOf(c.Value))
	return say("Visible to: %s", label)
}

// badge returns the state of the change as a badge.
func (c *wholeChange) badge(v *shell.Request) (ui.Kind, string) {
	say := v.Words.Say
	switch {
	case c.State.Works() && c.Waits:
		return ui.Info, say("waiting")
	case c.State.Works():
		return ui.Info, say("in progress")
	case c.State == bulk.Stopped:
		return ui.Warn, say("stopped")
	case c.State == bulk.Undone:
		return ui.Info, say("undone")
	}
	return ui.OK, say("done [work]")
}

// step returns the current step of a running change.
func (c *wholeChange) step(v *shell.Request) string {
	switch {
	case c.Waits:
		return v.Words.Say("Waiting until another change is done")
	case c.State == bulk.Collecting:
		return v.Words.Say("Finding the entries")
	case c.State == bulk.Undoing:
		return v.Words.Say("Being undone")
	}
	return v.Words.Say("Being changed")
}

// wholeOutcomes are the outcomes of records, in the order of sums.
var wholeOutcomes = []struct {
	outcome bulk.Outcome
	label   i18n.Text
}{
	{bulk.Changed, "changed"},
	{bulk.Unchanged, "unchanged"},
	{bulk.Refused, "refused"},
	{bulk.Restored, "taken back"},
	{bulk.Kept, "different since"},
	{bulk.Gone, "gone"},
}

// sums returns the number of records for each outcome, in one line.
func (c *wholeChange) sums(v *shell.Request) string {
	var parts []string
	for _, o := range wholeOutcomes {
		if n := c.Counts[o.outcome]; n > 0 {
			parts = append(parts, v.Number(n)+" "+v.Words.Say(o.label))
		}
	}
	if len(parts) == 0 && c.State != bulk.Collecting {
		return v.Words.Plural(int(c.Records), "one entry", "%d entries [in a sentence]")
	}
	return strings.Join(parts, ", ")
}

// why returns the reason why the change stopped.
func (c *wholeChange) why(v *shell.Request) string {
	say := v.Words.Say
	switch c.Reason {
	case bulk.NoRight:
		return say("The person who began it lacks the right to it. Who has it can resume it.")
	case bulk.NotOpen:
		return say("The office is closed.")
	case bulk.TooMany:
		return say("The list has more than 500,000 entries. Nothing was changed; please narrow the list.")
	}
	return say("What is changed already stays so. You can resume or undo.")
}

// changesPage has the data of the list of bulk changes.
type changesPage struct {
	list  []wholeChange
	names map[string]string
	pages ui.Pages
}

const changesShown = 20

// showChanges serves the list of bulk changes.
func showChanges(v *shell.Request) shell.View {
	p := changesPage{names: map[string]string{}}
	after := v.URL.Query().Get("after")
	found, err := shell.Ask(v, bulk.List, bulk.ListInput{After: after, Limit: changesShown})
	if err != nil {
		return v.Failed(err)
	}
	for _, c := range found.Data {
		p.list = append(p.list, wholeChange{c})
	}
	if after != "" {
		p.pages.Newer = v.Look().To(shell.ChangesPath)
	}
	if found.HasMore {
		p.pages.Older = v.Look().To(shell.ChangesPath + "?" + url.Values{"after": {p.list[len(p.list)-1].ID}}.Encode())
	}
	if err := v.NamesOf(peopleOf(p.list...), p.names); err != nil {
		return v.Failed(err)
	}
	return v.OK(v.Words.Say("Changes of whole lists"), shell.ChangesPath, changesView(v, p))
}

// peopleOf returns the ids of the people in the changes, sorted.
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

// changePage has the data of the page of one change.
type changePage struct {
	wholeChange
	names  map[string]string
	report bulk.Report
}

// showChange serves the page of one change. A running change reloads its page every two seconds.
func showChange(v *shell.Request) shell.View {
	p := changePage{names: map[string]string{}}
	var err error
	if p.Act, err = shell.Ask(v, bulk.Get, op.ByID{ID: v.PathValue("id")}); err != nil {
		return v.Failed(err)
	}
	if p.State.Works() {
		v.Writer.Header().Set("Refresh", "2")
	} else if err := p.read(v); err != nil {
		return v.Failed(err)
	}
	if err := v.NamesOf(peopleOf(p.wholeChange), p.names); err != nil {
		return v.Failed(err)
	}
	return v.OK(p.title(v, p.names), p.family().Name, changeView(v, p))
}

// read reads the report of the records that were left unchanged, and their titles.
func (p *changePage) read(v *shell.Request) error {
	var err error
	if p.report, err = shell.Ask(v, bulk.GetReport, op.ByID{ID: p.ID}); err != nil {
		return err
	}
	var ids []string
	for _, l := range p.report.Records {
		ids = append(ids, l.RecordID)
	}
	return v.TitlesOf(ids, p.names)
}

// actOnChange returns a handler that runs the operation row on a change. The handler redirects to
// the change's page, which shows the new state.
func actOnChange(row op.Operation[op.ByID, bulk.Act]) func(*shell.Request) shell.View {
	return func(v *shell.Request) shell.View {
		id := v.PathValue("id")
		a := shell.Do(v, row, op.ByID{ID: id}, shell.Once)
		if a.Fault != nil && !a.Is(fault.ValidationFailed) {
			return v.Failed(a.Fault)
		}
		return v.SeeOther(shell.ChangesPath + "/" + id)
	}
}
