package book

import (
	"github.com/a-h/templ"

	"kartei/record/lookup"
	"kartei/web/records"
	"kartei/web/shell"
	"kartei/web/ui"
)

// showBook returns the handler of the list of contacts or companies.
func showBook(f *records.Family) func(*shell.Request) shell.View {
	return records.ShowList(f, func(v *shell.Request, l records.List) shell.View {
		return v.OK(v.Words.Say(f.Many), f.Name, bookListView(v, l))
	})
}

// bookColumns returns the header cells of the table. If wide is false, a record is shown beside the
// table, and there are fewer columns.
func bookColumns(l records.List, v *shell.Request, wide bool) []ui.Column {
	say := v.Words.Say
	sorted := func(name, order string) ui.Column {
		c := ui.Column{Name: name}
		if l.Listing.Q != "" {
			return c
		}
		if l.Listing.Sort == order {
			c.Sorted = map[string]string{"name": "ascending", "-updatedAt": "descending"}[order]
			return c
		}
		to := l.Listing.From("", false)
		to.Sort = order
		c.Href = v.Look().To(to.At("/" + l.Family.Name))
		return c
	}
	name, changed := sorted(say("Name"), "name"), sorted(say("Changed"), "-updatedAt")
	name.Class, changed.Class = "main", "when"
	columns := []ui.Column{{Name: say("Selection"), Class: "pick"}, name}
	if l.Family.Has("companyId") && wide {
		columns = append(columns, ui.Column{Name: say("Company"), Class: "wide"})
	}
	if !wide {
		return append(columns, ui.Column{Name: say("Phone"), Class: "tel"})
	}
	return append(columns, ui.Column{Name: say("Phone"), Class: "tel"}, ui.Column{Name: say("City"), Class: "wide"},
		ui.Column{Name: say("Tags"), Class: "wide"}, changed)
}

// showTags serves the tags in use as options of a combobox.
func showTags(v *shell.Request) shell.View {
	q := v.URL.Query()
	used, err := shell.Ask(v, lookup.Tags, lookup.TagsInput{Family: q.Get("family"), Q: q.Get("q")})
	if err != nil {
		return v.Failed(err)
	}
	choices := make([]ui.Choice, len(used.Data))
	for i, tag := range used.Data {
		choices[i] = ui.Choice{Value: tag, Text: tag, Icon: "tag"}
	}
	return shell.HTML{Body: ui.OptionList(v.Look(), q.Get("list"), choices, newTag(v, shell.Normal(q.Get("q")), used.Data))}
}

// newTag returns the label of the choice that adds a new tag. It is empty if the tag is in use.
func newTag(v *shell.Request, typed string, used []string) string {
	for _, tag := range used {
		if tag == typed {
			return ""
		}
	}
	if typed == "" {
		return ""
	}
	return v.Words.Say("Use “%s”", typed)
}

// hasMore reports whether the list has more records than the page shows.
func hasMore(l records.List) bool { return l.Count.Capped || l.Count.Count > len(l.Rows) }

// printNote returns a note for the printed list that says how many of the entries it contains. It
// is empty if the page shows all entries.
func printNote(l records.List, v *shell.Request) string {
	if !hasMore(l) {
		return ""
	}
	n, all := v.Words.Number(len(l.Rows)), v.Words.Number(l.Count.Count)
	if l.Count.Capped {
		return v.Words.Say("%s of more than %s entries. A table has all of them: export the list.", n, all)
	}
	return v.Words.Say("%s of %s entries. A table has all of them: export the list.", n, all)
}

// allText returns the label of the checkbox that selects all records of the list. If selected is
// true, the text says that they are selected.
func allText(l records.List, v *shell.Request, selected bool) string {
	say, n := v.Words.Say, v.Words.Number(l.Count.Count)
	switch {
	case selected && l.Count.Capped:
		return say("More than %s selected", n)
	case selected:
		return say("%s selected", n)
	case l.Count.Capped:
		return say("Select all entries of this list, more than %s", n)
	}
	return say("Select all %s entries of this list", n)
}

// bulkAct returns the address of a bulk action on the list, with the list's filters.
func bulkAct(l records.List, v *shell.Request, act string) templ.SafeURL {
	return v.Look().To(bulkPath(l, act))
}

// bulkPath returns the path of a bulk action without the prefix of the sandbox.
func bulkPath(l records.List, act string) string {
	if act == "export" || act == "labels" {
		return l.Listing.At("/" + l.Family.Name + "/" + act)
	}
	return l.Listing.At("/bulk/" + l.Family.Name + "/" + act)
}

// chosen returns the value of the checkbox of a row: the record's id, revision and name.
func chosen(f *records.Family, r shell.Values) string {
	return r["id"] + "|" + r["revision"] + "|" + f.Heading(r)
}
