package office

import (
	"net/http"

	"github.com/a-h/templ"

	"kartei/record/lookup"
	"kartei/web/ui"
)

// showBook serves the list of a family of the address book.
func showBook(f *family) func(*request) view {
	return showList(f, func(v *request, l recordList) view {
		return v.ok(f.many.In(v.words.Language), f.name, bookListView(v, l))
	})
}

// bookColumns are the heads of the table of the address book. Beside a record there is
// room for few of them.
func (l recordList) bookColumns(v *request, wide bool) []ui.Column {
	say := v.words.Say
	sorted := func(name, order string) ui.Column {
		c := ui.Column{Name: name}
		if l.listing.Q != "" {
			return c
		}
		if l.listing.Sort == order {
			c.Sorted = map[string]string{"name": "ascending", "-updatedAt": "descending"}[order]
			return c
		}
		to := l.listing.from("", false)
		to.Sort = order
		c.Href = v.look().To(to.at("/" + l.family.name))
		return c
	}
	name, changed := sorted(say("Name", "Name"), "name"), sorted(say("Geändert", "Changed"), "-updatedAt")
	name.Class, changed.Class = "main", "when"
	columns := []ui.Column{{Name: say("Auswahl", "Selection"), Class: "pick"}, name}
	if l.family == &contacts && wide {
		columns = append(columns, ui.Column{Name: say("Firma", "Company"), Class: "wide"})
	}
	if !wide {
		return append(columns, ui.Column{Name: say("Telefon", "Phone"), Class: "tel"})
	}
	return append(columns, ui.Column{Name: say("Telefon", "Phone"), Class: "tel"}, ui.Column{Name: say("Ort", "City"), Class: "wide"},
		ui.Column{Name: say("Schlagworte", "Tags"), Class: "wide"}, changed)
}

// showTags answers a field for a tag with those in use.
func showTags(v *request) view {
	q := v.URL.Query()
	used, err := ask(v, lookup.Tags, lookup.TagsInput{Family: q.Get("family"), Q: q.Get("q")})
	if err != nil {
		return v.failed(err)
	}
	choices := make([]ui.Choice, len(used.Data))
	for i, tag := range used.Data {
		choices[i] = ui.Choice{Value: tag, Text: tag, Icon: "tag"}
	}
	return view{status: http.StatusOK, body: ui.OptionList(v.look(), q.Get("list"), choices, newTag(v, normal(q.Get("q")), used.Data))}
}

// newTag offers to make a tag that nobody uses yet.
func newTag(v *request, typed string, used []string) string {
	for _, tag := range used {
		if tag == typed {
			return ""
		}
	}
	if typed == "" {
		return ""
	}
	return v.words.Say("„"+typed+"“ verwenden", "Use “"+typed+"”")
}

// hasMore reports whether the list has more records than the page shows.
func (l recordList) hasMore() bool { return l.count.Capped || l.count.Count > len(l.rows) }

// printNote says on paper what of a list is not on it, or nothing.
func (l recordList) printNote(v *request) string {
	if !l.hasMore() {
		return ""
	}
	n, all := v.words.Number(len(l.rows)), v.words.Number(l.count.Count)
	if l.count.Capped {
		return v.words.Say(n+" von mehr als "+all+" Einträgen. Alle stehen in einer Tabelle: Liste exportieren.", n+" of more than "+all+" entries. A table has all of them: export the list.")
	}
	return v.words.Say(n+" von "+all+" Einträgen. Alle stehen in einer Tabelle: Liste exportieren.", n+" of "+all+" entries. A table has all of them: export the list.")
}

// allText offers all records of the list, or says that they are selected.
func (l recordList) allText(v *request, selected bool) string {
	say, n := v.words.Say, v.words.Number(l.count.Count)
	switch {
	case selected && l.count.Capped:
		return say("Mehr als "+n+" ausgewählt", "More than "+n+" selected")
	case selected:
		return say(n+" ausgewählt", n+" selected")
	case l.count.Capped:
		return say("Alle Einträge dieser Liste auswählen, mehr als "+n, "Select all entries of this list, more than "+n)
	}
	return say("Alle "+n+" Einträge dieser Liste auswählen", "Select all "+n+" entries of this list")
}

// act returns the address of an act on the list, with its filters.
func (l recordList) act(v *request, act string) templ.SafeURL {
	return v.look().To(l.bulkPath(act))
}

// bulkPath is act without the environment.
func (l recordList) bulkPath(act string) string {
	if act == "export" || act == "labels" {
		return l.listing.at("/" + l.family.name + "/" + act)
	}
	return l.listing.at("/bulk/" + l.family.name + "/" + act)
}

// chosen is one record of a list that was chosen, at the revision that was seen.
func chosen(f *family, r values) string { return r["id"] + "|" + r["revision"] + "|" + f.heading(r) }
