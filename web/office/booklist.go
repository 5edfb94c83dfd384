package office

import (
	"net/http"

	"github.com/a-h/templ"

	"kartei/api/op"
	"kartei/kit/fault"
	"kartei/record/document"
	"kartei/record/lookup"
	"kartei/web/ui"
)

// showBook serves the list of a family of the address book, or of documents.
func showBook(f *family) func(*request) view {
	return func(v *request) view {
		asked := f.listingOf(v.URL.Query())
		l, unfound, err := v.narrowed(asked)
		if err != nil {
			return v.failed(err)
		}
		list, err := f.list(v, l)
		switch {
		case fault.Is(err, fault.CursorMismatch): // an address of yesterday: the list begins anew
			return v.seeOther(l.from("", false).at("/" + f.name))
		case err != nil:
			return v.failed(err)
		}
		if v.Header.Get("HX-Request") != "" && v.Header.Get("HX-History-Restore-Request") == "" && v.w.Header().Get("HX-Push-Url") == "" {
			v.w.Header().Set("HX-Push-Url", v.url(l.at("/"+f.name)))
		}
		list.unfound = unfound
		if f.inBook() {
			return v.ok(f.many.In(v.words.Language), f.name, bookListView(v, list))
		}
		files, err := ask(v, document.ListUnderway, op.None{})
		if err != nil {
			return v.failed(err)
		}
		list.underway = files.Data
		return v.ok(f.many.In(v.words.Language), f.name, documentsView(v, list))
	}
}

// narrowed finds the records that typed filters mean: without a script a filter
// arrives as a text. unfound are the filters whose text fits nothing or several
// records.
func (v *request) narrowed(l listing) (out listing, unfound []string, err error) {
	for _, x := range []struct {
		name, to, label string
		into            *string
	}{
		{"companyId", "companies", v.words.Say("Firma", "Company"), &l.Company},
		{"ownerId", "people", v.words.Say("Eigentümer", "Owner"), &l.Owner},
		{"about", anything, aboutLabel(v), &l.About},
	} {
		typed := normal(v.URL.Query().Get(x.name + textSuffix))
		if *x.into != "" || typed == "" {
			continue
		}
		found, err := v.seek(x.to, typed)
		if err != nil {
			return l, nil, err
		}
		if c, clear := found.only(); clear {
			*x.into = c.Value
		} else {
			unfound = append(unfound, x.label+" „"+typed+"“")
		}
	}
	return l, unfound, nil
}

// aboutLabel is the word for what a task or a document is about.
func aboutLabel(v *request) string { return v.words.Say("Worum es geht", "About") }

// filterInForce is a filter of a list in words, and the list without it.
type filterInForce struct {
	text    string
	without listing
}

// narrowings are the filters of a list that are in force.
func (l recordList) narrowings(v *request) []filterInForce {
	var list []filterInForce
	add := func(text string, clear func(*listing)) {
		without := l.listing.from("", false)
		clear(&without)
		list = append(list, filterInForce{text, without})
	}
	if c := l.listing.Company; c != "" {
		add(v.words.Say("Firma: ", "Company: ")+first(l.names[c], c), func(l *listing) { l.Company = "" })
	}
	if k := l.listing.Kind; k != "" {
		add(kindName(k).In(v.words.Language), func(l *listing) { l.Kind = "" })
	}
	if a := l.listing.About; a != "" {
		add(aboutLabel(v)+": "+first(l.names[a], a), func(l *listing) { l.About = "" })
	}
	if t := l.listing.Tag; t != "" {
		add(v.words.Say("Schlagwort: ", "Tag: ")+t, func(l *listing) { l.Tag = "" })
	}
	if o := l.listing.Owner; o != "" {
		add(v.words.Say("Eigentümer: ", "Owner: ")+first(l.names[o], o), func(l *listing) { l.Owner = "" })
	}
	return list
}

// filterCombo is the field of a filter that finds a record or a person.
func (l recordList) filterCombo(v *request, name, to, label, id string) ui.Combo {
	return ui.Combo{
		Field: ui.Field{Name: name, ID: "filter-" + name, Label: label, Value: id, Autocomplete: "off"},
		Text:  l.names[id], Source: "/choices/" + to + "?list=filter-" + name + "-list", Offers: to == "people",
	}
}

// kindField is the choice of a kind of files.
func (l recordList) kindField(v *request) ui.Field {
	f := ui.Field{Name: "kind", ID: "filter-kind", Label: v.words.Say("Art", "Kind"), Value: l.listing.Kind, Options: []ui.Option{{Text: v.words.Say("alle", "all")}}}
	for _, o := range kinds {
		f.Options = append(f.Options, ui.Option{Value: o.value, Text: o.label.In(v.words.Language)})
	}
	return f
}

// tagField is a field for one tag, which finds those in use.
func (f *family) tagField(name, id, label, value string) ui.Combo {
	return ui.Combo{
		Field: ui.Field{Name: name, ID: id, Label: label, Autocomplete: "off"}, Text: value,
		Source: "/choices/tags?family=" + f.name + "&list=" + id + "-list", Offers: true,
	}
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
