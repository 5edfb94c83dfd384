package office

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"kartei/kit/fault"
	"kartei/web/ui"
)

// pageSize is the number of rows of a list. More than fifty are not read, only
// searched. A page near a record begins with up to ahead rows before it: so many that
// the record is in sight without scrolling, below the head of the list.
const (
	pageSize = 50
	ahead    = 5
)

// listed is a page of a list of records.
type listed struct {
	records    []values
	hasMore    bool
	nextCursor string
}

// listed runs the operation that lists a family.
func (v *request) listed(f *family, query url.Values) (listed, error) {
	a := v.send(f.acts.list, arguments{query: query})
	if err := a.err(); err != nil {
		return listed{}, err
	}
	return readListed(a.Body)
}

// readListed reads the answer of a list.
func readListed(body []byte) (page listed, err error) {
	d := newReader(body)
	err = d.object(func(name string) (err error) {
		switch name {
		case "data":
			return d.list(func() error {
				record, err := d.record()
				page.records = append(page.records, record)
				return err
			})
		case "hasMore":
			more, err := d.value()
			page.hasMore = more == "true"
			return err
		case "nextCursor":
			page.nextCursor, err = d.value()
			return err
		}
		return d.SkipValue()
	})
	return page, d.ended(err)
}

// counted is the number of records, up to a cap.
type counted struct {
	Count  int  `json:"count"`
	Capped bool `json:"capped"`
}

// listing is what the address says about a list: which records, and in which order.
// Addresses of records carry it, so that a record knows the list that it came from.
type listing struct {
	family                               *family
	Q, Sort, Cursor, Tag, Company, Owner string
	Mine                                 bool
	// Tab and Assignee are of tasks.
	Tab, Assignee string
	// Kind is of documents. About is the id of what tasks and documents are about.
	Kind, About string
	// Near is the id of the record that the page is around, in place of a cursor.
	Near string
	// Back says that the page ends at the cursor, and does not begin there.
	Back bool
	// Lifted says that the address has a search and filters. The API searches all
	// records, so the filters are not in force.
	Lifted bool
}

// The orders of lists. The first one of a family is its default.
var (
	byName = []option{
		newOption("name", "nach Name", "by name"),
		newOption("-updatedAt", "zuletzt geändert", "recently changed"),
	}
	byDue = []option{
		newOption("dueAt", "nach Fälligkeit", "by due date"),
		newOption("-updatedAt", "zuletzt geändert", "recently changed"),
	}
)

// listingOf reads the address of a page.
func (f *family) listingOf(q url.Values) listing {
	l := listing{
		family: f, Q: q.Get("q"), Sort: q.Get("sort"), Cursor: q.Get("cursor"), Tag: tagIn(q), Company: q.Get("companyId"), Owner: q.Get("ownerId"),
		Mine: q.Get("mine") != "", Back: q.Get("back") != "",
	}
	if l.Cursor == "" {
		l.Near, l.Back = q.Get("near"), false
	}
	if f == &tasks {
		l.Mine, l.Assignee = false, q.Get("assigneeId")
		if tab := q.Get("tab"); tab == allTab || tab == doneTab {
			l.Tab = tab
		}
	}
	if f == &documents && slices.ContainsFunc(kinds, func(o option) bool { return o.value == q.Get("kind") }) {
		l.Kind = q.Get("kind")
	}
	if f == &tasks || f == &documents {
		if l.About = q.Get("about"); l.aboutFilter() == "" {
			l.About = ""
		}
	}
	if !slices.ContainsFunc(f.sorts, func(o option) bool { return o.value == l.Sort }) {
		l.Sort = f.sorts[0].value
	}
	return l.searching()
}

// searching returns the listing of a search without its filters.
func (l listing) searching() listing {
	if l.Q == "" {
		return l
	}
	l.Near = "" // hits have no place besides their rank
	only := listing{family: l.family, Q: l.Q, Sort: l.Sort, Cursor: l.Cursor, Back: l.Back, Tab: l.Tab}
	only.Lifted = l != only
	return only
}

// abouts are the filters for the record that tasks and documents are about, by the
// prefix of its id.
var abouts = map[string]string{"con": "contactId", "cmp": "companyId", "tsk": "taskId"}

// aboutFilter returns the filter for what the list is about. It is empty if the family
// has none for it.
func (l listing) aboutFilter() string {
	prefix, _, _ := strings.Cut(l.About, "_")
	if name := abouts[prefix]; l.family.has(name) {
		return name
	}
	return ""
}

// made is the value of a combobox whose text is new.
const made = "+"

// tagIn returns the tag of a form or of an address: a choice, or else what was typed.
func tagIn(q url.Values) string {
	if tag := normal(q.Get("tag")); tag != "" && tag != made {
		return tag
	}
	return normal(q.Get("tag" + textSuffix))
}

// query returns the parameters of the address, without defaults.
func (l listing) query() url.Values {
	q := url.Values{}
	for _, p := range [...]struct{ name, value string }{
		{"q", l.Q}, {"cursor", l.Cursor}, {"near", l.Near}, {"tag", l.Tag}, {"companyId", l.Company}, {"ownerId", l.Owner}, {"tab", l.Tab}, {"assigneeId", l.Assignee}, {"kind", l.Kind}, {"about", l.About},
	} {
		if p.value != "" {
			q.Set(p.name, p.value)
		}
	}
	if l.Sort != l.family.sorts[0].value {
		q.Set("sort", l.Sort)
	}
	if l.Mine {
		q.Set("mine", "1")
	}
	if l.Back {
		q.Set("back", "1")
	}
	return q
}

// at returns an address with the parameters of the listing.
func (l listing) at(path string) string { return path + l.suffix() }

// suffix returns what addresses with the parameters of the listing end with.
func (l listing) suffix() string {
	if q := l.query().Encode(); q != "" {
		return "?" + q
	}
	return ""
}

// from returns the listing that begins at a cursor, or that ends there.
func (l listing) from(cursor string, back bool) listing {
	l.Cursor, l.Back, l.Near = cursor, back, ""
	return l
}

// near returns the listing around a record.
func (l listing) near(id string) listing {
	l.Cursor, l.Back, l.Near = "", false, id
	return l
}

// parameters returns the parameters of the list. A search has no order,
// because hits are ordered by how well they match.
func (l listing) parameters(me string) url.Values {
	q := l.filters(me)
	q.Set("limit", strconv.Itoa(pageSize))
	switch {
	case l.Q != "":
	case l.Tab == doneTab: // the order by due date has open tasks only
		q.Set("sort", "-updatedAt")
	default:
		q.Set("sort", l.Sort)
	}
	if l.Cursor != "" {
		q.Set("cursor", l.Cursor)
	}
	if l.Near != "" {
		q.Set("near", l.Near)
	}
	if l.Back {
		q.Set("back", "true")
	}
	return q
}

// before returns the parameters of the rows that come before the record of a page.
func (l listing) before(me string) url.Values {
	q := l.parameters(me)
	q.Set("limit", strconv.Itoa(ahead))
	q.Set("back", "true")
	return q
}

// filters returns the parameters that a count takes, too.
func (l listing) filters(me string) url.Values {
	if l.Q != "" {
		return url.Values{"q": {l.Q}}
	}
	q := url.Values{}
	for name, value := range map[string]string{"tag": l.Tag, "companyId": l.Company, "ownerId": l.Owner, "kind": l.Kind} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if name := l.aboutFilter(); name != "" {
		q.Set(name, l.About)
	}
	if l.Mine {
		q.Set(l.family.mine, me)
	}
	if l.family == &tasks {
		l.tasksOnly(q, me)
	}
	return q
}

// tasksOnly adds the filters of a tab of tasks.
func (l listing) tasksOnly(q url.Values, me string) {
	q.Set("status", "open")
	if l.Tab == doneTab {
		q.Set("status", "completed")
	}
	switch {
	case l.Tab == mineTab:
		q.Set("assigneeId", me)
	case l.Assignee != "":
		q.Set("assigneeId", l.Assignee)
	}
}

// newer returns the page before this one, or false at the beginning. The API leads
// there from the cursor of this page: see the parameter back.
func (l recordList) newer() (listing, bool) {
	if l.around != "" {
		return l.listing.from(l.previous, true), l.previous != ""
	}
	if l.listing.Back {
		return l.listing.from(l.next, true), l.next != ""
	}
	return l.listing.from(l.listing.Cursor, true), l.listing.Cursor != ""
}

// older returns the page after this one, or false at the end.
func (l recordList) older() (listing, bool) {
	if l.listing.Back {
		return l.listing.from(l.listing.Cursor, false), true
	}
	return l.listing.from(l.next, false), l.next != ""
}

// recordList is a list of records as a page shows it.
type recordList struct {
	family  *family
	listing listing
	rows    []values
	count   counted
	next    string
	// around is the id of the record that the page is around, or empty. previous is then
	// the cursor of the page before it.
	around, previous string
	// names are the names of the records and people that the rows refer to.
	names map[string]string
	// unfound are the filters whose text fits none or several.
	unfound []string
}

// list reads a page of a family, with the names that it shows.
func (f *family) list(v *request, l listing) (recordList, error) {
	out, err := f.unnamed(v, l)
	if err != nil {
		return out, err
	}
	return out, f.resolve(v, out.names, out.referring()...)
}

// unnamed reads a page of a family without names.
func (f *family) unnamed(v *request, l listing) (recordList, error) {
	out := recordList{family: f, listing: l, around: l.Near, names: map[string]string{}}
	var page, before listed
	err := together(
		func() (err error) {
			page, err = v.listed(f, l.parameters(v.session.Principal.ID))
			return err
		},
		func() (err error) {
			if l.Near != "" {
				before, err = v.listed(f, l.before(v.session.Principal.ID))
			}
			return err
		},
		func() (err error) {
			out.count, err = fetch[counted](v, f.acts.count, arguments{query: l.filters(v.session.Principal.ID)})
			return err
		},
	)
	if err != nil {
		return out, err
	}
	if page.hasMore {
		out.next = page.nextCursor
	}
	if before.hasMore {
		out.previous = before.nextCursor
	}
	out.rows = slices.Concat(before.records, page.records)
	return out, nil
}

// referring are the records of a list, and its filters, which refer to others too.
func (l recordList) referring() []values {
	by := l.listing
	return append(l.rows[:len(l.rows):len(l.rows)], values{"companyId": by.Company, "ownerId": by.Owner, by.aboutFilter(): by.About})
}

// has reports whether the page has a record.
func (l recordList) has(id string) bool {
	return slices.ContainsFunc(l.rows, func(r values) bool { return r["id"] == id })
}

// links makes the addresses of the records of a list, which end alike.
type links struct{ path, lead, keep string }

// links returns the addresses of the records of the list.
func (l recordList) links() links {
	lead, keep := l.listing, l.listing
	if l.listing.Q == "" {
		lead = lead.from("", false)
	}
	if keep.Q == "" && keep.Cursor == "" && len(l.rows) > 0 {
		keep = keep.near(first(l.around, l.rows[0]["id"]))
	}
	return links{"/" + l.family.name + "/", lead.suffix(), keep.suffix()}
}

// leadTo returns the address of a record of the list, which is opened with the list around
// it. Hits keep their page.
func (l links) leadTo(id string) string { return l.path + id + l.lead }

// keepTo is leadTo for a script, which opens the record beside the list as it is.
func (l links) keepTo(id string) string { return l.path + id + l.keep }

// resolve adds the names of the records and people that records refer to. A record
// that the person does not see has no name.
func (f *family) resolve(v *request, names map[string]string, records ...values) error {
	people, others := f.references(records)
	return v.named(people, others, names)
}

// references returns the ids of the people and of the other records that records refer to.
func (f *family) references(records []values) (people, others []string) {
	for _, r := range records {
		for _, m := range f.fields {
			switch id := r[m.name]; {
			case m.kind != reference || id == "":
			case m.to == "people":
				people = append(people, id)
			default:
				others = append(others, id)
			}
		}
	}
	return people, others
}

// The tabs of the list of tasks. The empty one has the open tasks of the person.
const (
	mineTab = ""
	allTab  = "all"
	doneTab = "done"
)

// with returns an address with a parameter.
func with(path, name, value string) string {
	u, err := url.Parse(path)
	if err != nil {
		return path
	}
	q := u.Query()
	q.Set(name, value)
	u.RawQuery = q.Encode()
	return u.String()
}

// kinds are the kinds of files that a list is narrowed to.
var kinds = []option{
	newOption("pdf", "PDF", "PDF"), newOption("text", "Texte", "Texts"), newOption("sheet", "Tabellen", "Spreadsheets"),
	newOption("slides", "Präsentationen", "Presentations"), newOption("email", "E-Mails", "Emails"), newOption("image", "Bilder", "Pictures"),
	newOption("other", "Andere", "Others"),
}

// kindName returns the name of a kind.
func kindName(kind string) fault.Text {
	for _, o := range kinds {
		if o.value == kind {
			return o.label
		}
	}
	return fault.Text{}
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

// showList serves the list of a family: typed filters are found, and draw answers with the list.
func showList(f *family, draw func(*request, recordList) view) func(*request) view {
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
		return draw(v, list)
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
