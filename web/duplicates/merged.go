package duplicates

import (
	"net/http"
	"net/url"
	"slices"

	"kartei/api/op"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/transfer/merge"
	"kartei/web/shell"
	"kartei/web/ui"
)

// recent is the number of merges among which the page finds the one that the person has just made.
const recent = 20

// mergeOf returns the merge by which a record was deleted. It returns false if the merge is not among
// the newest ones.
func mergeOf(v *shell.Request, gone string) (merge.Merge, bool) {
	list, err := shell.Ask(v, merge.List, merge.ListInput{Limit: recent})
	i := slices.IndexFunc(list.Data, func(m merge.Merge) bool { return m.MergedID == gone })
	if err != nil || i < 0 {
		return merge.Merge{}, false
	}
	return list.Data[i], true
}

// mergedParameter is the query parameter with the id of a merge that was made without scripts. The page
// of the record then shows a note about it.
const mergedParameter = "merged"

// NoteOf returns the note about a merge that was made without scripts. It returns nil if there is none.
func NoteOf(v *shell.Request) *shell.Toast {
	id := v.URL.Query().Get(mergedParameter)
	if id == "" || v.Method != http.MethodGet || !v.Page.Uses.Has(merge.Get) {
		return nil
	}
	m, err := shell.Ask(v, merge.Get, op.ByID{ID: id})
	if err != nil || m.KeptUntil == 0 || m.RecordID != v.PathValue("id") {
		return nil
	}
	return note(v, m)
}

// note returns the note after a merge. The note offers to undo it.
func note(v *shell.Request, m merge.Merge) *shell.Toast {
	said := v.Words.Say("Merged.")
	t := &shell.Toast{Text: said, Log: said, Href: shell.MergedPath, HrefText: v.Words.Say("Merged lately")}
	if m.KeptUntil != 0 {
		t.Undo = &shell.Undo{Action: undoPath(m.ID), Token: v.Mint()}
	}
	return t
}

// undoPath returns the path of the form that undoes a merge.
func undoPath(id string) string { return shell.MergedPath + "/" + id + "/undo" }

// undoMerge undoes a merge, and leads to the record that it creates.
func undoMerge(v *shell.Request) shell.View {
	a := shell.Do(v, merge.Undo, op.ByID{ID: v.PathValue("id")}, shell.Once)
	switch {
	case a.Is(fault.NotFound), a.Is(fault.ValidationFailed):
		return notUndone(v, a.Fault)
	case a.Fault != nil:
		return v.Failed(a.Fault)
	}
	said := v.Words.Say("Undone. This is the entry that was deleted by the merge.")
	return v.Done("/"+a.Value.Family+"/"+a.Value.RestoredID, &shell.Toast{Text: said, Log: said})
}

// notUndone returns the response to an undo that is not possible. With scripts it is a note above the
// list of merges, and otherwise a page.
func notUndone(v *shell.Request, f *fault.Fault) shell.View {
	why := v.Reason(f)
	if len(f.Fields) > 0 {
		why = f.Fields[0].Message(v.Words.Language)
	}
	if v.Scripted() {
		return v.Done(shell.MergedPath, &shell.Toast{Bad: true, Text: why, Log: why})
	}
	return v.Problem(f.Code.Status(), shell.ProblemPage{Title: v.Words.Say("Not undone"), Text: why})
}

// mergedPage is the data of the list of merges.
type mergedPage struct {
	list  []merge.Merge
	names map[string]string
	pages ui.Pages
}

const mergesShown = 20

// showMerged serves the list of the merges of the last seven days.
func showMerged(v *shell.Request) shell.View {
	p := mergedPage{names: map[string]string{}}
	after := v.URL.Query().Get("after")
	found, err := shell.Ask(v, merge.List, merge.ListInput{After: after, Limit: mergesShown})
	if err != nil {
		return v.Failed(err)
	}
	p.list = found.Data
	if after != "" {
		p.pages.Newer = v.Look().To(shell.MergedPath)
	}
	if found.HasMore {
		p.pages.Older = v.Look().To(shell.MergedPath + "?" + url.Values{"after": {p.list[len(p.list)-1].ID}}.Encode())
	}
	var people, entries []string
	for _, m := range p.list {
		people = append(people, shell.Present(m.PrincipalID)...)
		entries = append(entries, shell.Present(m.RecordID, m.RestoredID)...)
	}
	if err := v.Named(people, entries, p.names); err != nil {
		return v.Failed(err)
	}
	return v.OK(v.Words.Say("Merged lately"), shell.MergedPath, mergedView(v, p))
}

// state returns the state of a merge as a badge.
func state(v *shell.Request, m merge.Merge) (ui.Kind, string) {
	text := map[merge.State]i18n.Text{
		merge.Moving: "in progress", merge.Merged: "merged [state]", merge.Undoing: "being undone", merge.Undone: "undone",
	}[m.State]
	if m.State == merge.Merged {
		return ui.OK, v.Words.Say(text)
	}
	return ui.Info, v.Words.Say(text)
}

// moved returns a text with the number of records whose references were moved. It is empty for none.
func moved(v *shell.Request, m merge.Merge) string {
	if m.Moved == 0 {
		return ""
	}
	return v.Words.Plural(int(m.Moved), "one reference moved", "%d references moved")
}

// familyOf returns the family of a merge.
func familyOf(m merge.Merge) *family {
	if m.Family == companies.Name {
		return &companies
	}
	return &contacts
}

// mayUndo reports whether the person can undo a merge now.
func mayUndo(v *shell.Request, m merge.Merge) bool {
	return m.KeptUntil != 0 && v.Session.May(familyOf(m).Write)
}
