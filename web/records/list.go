package records

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/web/shell"
	"kartei/web/ui"
)

// PageSize is the number of rows of a list. More than fifty are not read, only
// searched. A page near a record begins with up to ahead rows before it: so many that
// the record is in sight without scrolling, below the head of the list.
const (
	PageSize = 50
	ahead    = 5
)

// listAnswer is a page of a list of records.
type listAnswer struct {
	Records    []shell.Values
	HasMore    bool
	NextCursor string
}

// ReadPage runs the operation that lists a family.
func ReadPage(v *shell.Request, f *Family, query url.Values) (listAnswer, error) {
	a := v.Send(f.Acts.list, shell.Arguments{Query: query})
	if err := a.Err(); err != nil {
		return listAnswer{}, err
	}
	return readListed(a.Body)
}

// readListed reads the answer of a list.
func readListed(body []byte) (page listAnswer, err error) {
	d := shell.NewRecordReader(body)
	err = d.Object(func(name string) (err error) {
		switch name {
		case "data":
			return d.List(func() error {
				record, err := d.Record()
				page.Records = append(page.Records, record)
				return err
			})
		case "hasMore":
			more, err := d.Value()
			page.HasMore = more == "true"
			return err
		case "nextCursor":
			page.NextCursor, err = d.Value()
			return err
		}
		return d.SkipValue()
	})
	return page, d.Ended(err)
}

// CountAnswer is the number of records, up to a cap.
type CountAnswer struct {
	Count  int  `json:"count"`
	Capped bool `json:"capped"`
}

// Listing is what the address says about a list: which records, and in which order.
// Addresses of records carry it, so that a record knows the list that it came from.
type Listing struct {
	Family                               *Family
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
	byName = []shell.Option{
		shell.NewOption("name", "by name"),
		shell.NewOption("-updatedAt", "recently changed"),
	}
	byDue = []shell.Option{
		shell.NewOption("dueAt", "by due date"),
		shell.NewOption("-updatedAt", "recently changed"),
	}
)

// ListingOf reads the address of a page.
func (f *Family) ListingOf(q url.Values) Listing {
	l := Listing{
		Family: f, Q: q.Get("q"), Sort: q.Get("sort"), Cursor: q.Get("cursor"), Tag: TagIn(q), Company: q.Get("companyId"), Owner: q.Get("ownerId"),
		Mine: f.ByOwner && q.Get("mine") != "", Back: q.Get("back") != "",
	}
	if l.Cursor == "" {
		l.Near, l.Back = q.Get("near"), false
	}
	if f.completable {
		l.Assignee = q.Get("assigneeId")
		if tab := q.Get("tab"); tab == AllTab || tab == DoneTab {
			l.Tab = tab
		}
	}
	if f.Files && slices.ContainsFunc(kinds, func(o shell.Option) bool { return o.Value == q.Get("kind") }) {
		l.Kind = q.Get("kind")
	}
	if f.about {
		if l.About = q.Get("about"); l.aboutFilter() == "" {
			l.About = ""
		}
	}
	if !slices.ContainsFunc(f.Sorts, func(o shell.Option) bool { return o.Value == l.Sort }) {
		l.Sort = f.Sorts[0].Value
	}
	return l.searching()
}

// searching returns the listing of a search without its filters.
func (l Listing) searching() Listing {
	if l.Q == "" {
		return l
	}
	l.Near = "" // hits have no place besides their rank
	only := Listing{Family: l.Family, Q: l.Q, Sort: l.Sort, Cursor: l.Cursor, Back: l.Back, Tab: l.Tab}
	only.Lifted = l != only
	return only
}

// abouts are the filters for the record that tasks and documents are about, by the
// prefix of its id.
var abouts = map[string]string{"con": "contactId", "cmp": "companyId", "tsk": "taskId"}

// aboutFilter returns the filter for what the list is about. It is empty if the family
// has none for it.
func (l Listing) aboutFilter() string {
	prefix, _, _ := strings.Cut(l.About, "_")
	if name := abouts[prefix]; l.Family.Has(name) {
		return name
	}
	return ""
}

// made is the value of a combobox whose text is new.
const made = "+"

// TagIn returns the tag of a form or of an address: a choice, or else what was typed.
func TagIn(q url.Values) string {
	if tag := shell.Normal(q.Get("tag")); tag != "" && tag != made {
		return tag
	}
	return shell.Normal(q.Get("tag" + TextSuffix))
}

// query returns the parameters of the address, without defaults.
func (l Listing) query() url.Values {
	q := url.Values{}
	for _, p := range [...]struct{ name, value string }{
		{"q", l.Q}, {"cursor", l.Cursor}, {"near", l.Near}, {"tag", l.Tag}, {"companyId", l.Company}, {"ownerId", l.Owner}, {"tab", l.Tab}, {"assigneeId", l.Assignee}, {"kind", l.Kind}, {"about", l.About},
	} {
		if p.value != "" {
			q.Set(p.name, p.value)
		}
	}
	if l.Sort != l.Family.Sorts[0].Value {
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

// At returns an address with the parameters of the listing.
func (l Listing) At(path string) string { return path + l.suffix() }

// suffix returns what addresses with the parameters of the listing end with.
func (l Listing) suffix() string {
	if q := l.query().Encode(); q != "" {
		return "?" + q
	}
	return ""
}

// From returns the listing that begins at a cursor, or that ends there.
func (l Listing) From(cursor string, back bool) Listing {
	l.Cursor, l.Back, l.Near = cursor, back, ""
	return l
}

// near returns the listing around a record.
func (l Listing) near(id string) Listing {
	l.Cursor, l.Back, l.Near = "", false, id
	return l
}

// Parameters returns the parameters of the list. A search has no order,
// because hits are ordered by how well they match.
func (l Listing) Parameters(me string) url.Values {
	q := l.Filters(me)
	q.Set("limit", strconv.Itoa(PageSize))
	switch {
	case l.Q != "":
	case l.Tab == DoneTab: // the order by due date has open tasks only
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
func (l Listing) before(me string) url.Values {
	q := l.Parameters(me)
	q.Set("limit", strconv.Itoa(ahead))
	q.Set("back", "true")
	return q
}

// Filters returns the parameters that a count takes, too.
func (l Listing) Filters(me string) url.Values {
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
		q.Set("ownerId", me)
	}
	if l.Family.completable {
		l.tasksOnly(q, me)
	}
	return q
}

// tasksOnly adds the filters of a tab of tasks.
func (l Listing) tasksOnly(q url.Values, me string) {
	q.Set("status", "open")
	if l.Tab == DoneTab {
		q.Set("status", "completed")
	}
	switch {
	case l.Tab == MineTab:
		q.Set("assigneeId", me)
	case l.Assignee != "":
		q.Set("assigneeId", l.Assignee)
	}
}

// Newer returns the page before this one, or false at the beginning. The API leads
// there from the cursor of this page: see the parameter back.
func (l List) Newer() (Listing, bool) {
	if l.around != "" {
		return l.Listing.From(l.previous, true), l.previous != ""
	}
	if l.Listing.Back {
		return l.Listing.From(l.next, true), l.next != ""
	}
	return l.Listing.From(l.Listing.Cursor, true), l.Listing.Cursor != ""
}

// Older returns the page after this one, or false at the end.
func (l List) Older() (Listing, bool) {
	if l.Listing.Back {
		return l.Listing.From(l.Listing.Cursor, false), true
	}
	return l.Listing.From(l.next, false), l.next != ""
}

// List is a list of records as a page shows it.
type List struct {
	Family  *Family
	Listing Listing
	Rows    []shell.Values
	Count   CountAnswer
	next    string
	// around is the id of the record that the page is around, or empty. previous is then
	// the cursor of the page before it.
	around, previous string
	// Names are the names of the records and people that the rows refer to.
	Names map[string]string
	// unfound are the filters whose text fits none or several.
	unfound []string
}

// List reads a page of a family, with the names that it shows.
func (f *Family) List(v *shell.Request, l Listing) (List, error) {
	out, err := f.unnamed(v, l)
	if err != nil {
		return out, err
	}
	return out, f.Resolve(v, out.Names, out.referring()...)
}

// unnamed reads a page of a family without names.
func (f *Family) unnamed(v *shell.Request, l Listing) (List, error) {
	out := List{Family: f, Listing: l, around: l.Near, Names: map[string]string{}}
	var page, before listAnswer
	err := shell.Together(
		func() (err error) {
			page, err = ReadPage(v, f, l.Parameters(v.Session.Principal.ID))
			return err
		},
		func() (err error) {
			if l.Near != "" {
				before, err = ReadPage(v, f, l.before(v.Session.Principal.ID))
			}
			return err
		},
		func() (err error) {
			out.Count, err = shell.Fetch[CountAnswer](v, f.Acts.Count, shell.Arguments{Query: l.Filters(v.Session.Principal.ID)})
			return err
		},
	)
	if err != nil {
		return out, err
	}
	if page.HasMore {
		out.next = page.NextCursor
	}
	if before.HasMore {
		out.previous = before.NextCursor
	}
	out.Rows = slices.Concat(before.Records, page.Records)
	return out, nil
}

// referring are the records of a list, and its filters, which refer to others too.
func (l List) referring() []shell.Values {
	by := l.Listing
	return append(l.Rows[:len(l.Rows):len(l.Rows)], shell.Values{"companyId": by.Company, "ownerId": by.Owner, by.aboutFilter(): by.About})
}

// has reports whether the page has a record.
func (l List) has(id string) bool {
	return slices.ContainsFunc(l.Rows, func(r shell.Values) bool { return r["id"] == id })
}

// Links makes the addresses of the records of a list, which end alike.
type Links struct{ path, lead, keep string }

// Links returns the addresses of the records of the list.
func (l List) Links() Links {
	lead, keep := l.Listing, l.Listing
	if l.Listing.Q == "" {
		lead = lead.From("", false)
	}
	if keep.Q == "" && keep.Cursor == "" && len(l.Rows) > 0 {
		keep = keep.near(cmp.Or(l.around, l.Rows[0]["id"]))
	}
	return Links{"/" + l.Family.Name + "/", lead.suffix(), keep.suffix()}
}

// LeadTo returns the address of a record of the list, which is opened with the list around
// it. Hits keep their page.
func (l Links) LeadTo(id string) string { return l.path + id + l.lead }

// KeepTo is LeadTo for a script, which opens the record beside the list as it is.
func (l Links) KeepTo(id string) string { return l.path + id + l.keep }

// Resolve adds the names of the records and people that records refer to. A record
// that the person does not see has no name.
func (f *Family) Resolve(v *shell.Request, names map[string]string, records ...shell.Values) error {
	people, others := f.references(records)
	return v.Named(people, others, names)
}

// references returns the ids of the people and of the other records that records refer to.
func (f *Family) references(records []shell.Values) (people, others []string) {
	for _, r := range records {
		for _, m := range f.Fields {
			switch id := r[m.Name]; {
			case m.Kind != Reference || id == "":
			case m.To == "people":
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
	MineTab = ""
	AllTab  = "all"
	DoneTab = "done"
)

// WithParameter returns an address with a parameter.
func WithParameter(path, name, value string) string {
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
var kinds = []shell.Option{
	shell.NewOption("pdf", "PDF"), shell.NewOption("text", "Texts"), shell.NewOption("sheet", "Spreadsheets"),
	shell.NewOption("slides", "Presentations"), shell.NewOption("email", "Emails"), shell.NewOption("image", "Pictures"),
	shell.NewOption("other", "Others"),
}

// kindName returns the name of a kind.
func kindName(kind string) i18n.Text {
	for _, o := range kinds {
		if o.Value == kind {
			return o.Label
		}
	}
	return ""
}

// aboutLabel is the word for what a task or a document is about.
func aboutLabel(v *shell.Request) string { return v.Words.Say("About") }

// filterInForce is a filter of a list in words, and the list without it.
type filterInForce struct {
	text    string
	without Listing
}

// narrowings are the filters of a list that are in force.
func (l List) narrowings(v *shell.Request) []filterInForce {
	var list []filterInForce
	add := func(text string, clear func(*Listing)) {
		without := l.Listing.From("", false)
		clear(&without)
		list = append(list, filterInForce{text, without})
	}
	if c := l.Listing.Company; c != "" {
		add(v.Words.Say("Company: %s", cmp.Or(l.Names[c], c)), func(l *Listing) { l.Company = "" })
	}
	if k := l.Listing.Kind; k != "" {
		add(v.Words.Say(kindName(k)), func(l *Listing) { l.Kind = "" })
	}
	if a := l.Listing.About; a != "" {
		add(aboutLabel(v)+": "+cmp.Or(l.Names[a], a), func(l *Listing) { l.About = "" })
	}
	if t := l.Listing.Tag; t != "" {
		add(v.Words.Say("Tag: %s", t), func(l *Listing) { l.Tag = "" })
	}
	if o := l.Listing.Owner; o != "" {
		add(v.Words.Say("Owner: %s", cmp.Or(l.Names[o], o)), func(l *Listing) { l.Owner = "" })
	}
	return list
}

// filterCombo is the field of a filter that finds a record or a person.
func (l List) filterCombo(v *shell.Request, name, to, label, id string) ui.Combo {
	return ui.Combo{
		Field: ui.Field{Name: name, ID: "filter-" + name, Label: label, Value: id, Autocomplete: "off"},
		Text:  l.Names[id], Source: "/choices/" + to + "?list=filter-" + name + "-list", Offers: to == "people",
	}
}

// kindField is the choice of a kind of files.
func (l List) kindField(v *shell.Request) ui.Field {
	f := ui.Field{Name: "kind", ID: "filter-kind", Label: v.Words.Say("Kind"), Value: l.Listing.Kind, Options: []ui.Option{{Text: v.Words.Say("all")}}}
	for _, o := range kinds {
		f.Options = append(f.Options, ui.Option{Value: o.Value, Text: v.Words.Say(o.Label)})
	}
	return f
}

// TagField is a field for one tag, which finds those in use.
func (f *Family) TagField(name, id, label, value string) ui.Combo {
	return ui.Combo{
		Field: ui.Field{Name: name, ID: id, Label: label, Autocomplete: "off"}, Text: value,
		Source: "/choices/tags?family=" + f.Name + "&list=" + id + "-list", Offers: true,
	}
}

// ShowList serves the list of a family: typed filters are found, and draw answers with the list.
func ShowList(f *Family, draw func(*shell.Request, List) shell.View) func(*shell.Request) shell.View {
	return func(v *shell.Request) shell.View {
		asked := f.ListingOf(v.URL.Query())
		l, unfound, err := narrowed(v, asked)
		if err != nil {
			return v.Failed(err)
		}
		list, err := f.List(v, l)
		switch {
		case fault.Is(err, fault.CursorMismatch): // an address of yesterday: the list begins anew
			return v.SeeOther(l.From("", false).At("/" + f.Name))
		case err != nil:
			return v.Failed(err)
		}
		if v.Header.Get("HX-Request") != "" && v.Header.Get("HX-History-Restore-Request") == "" && v.Writer.Header().Get("HX-Push-Url") == "" {
			v.Writer.Header().Set("HX-Push-Url", v.Address(l.At("/"+f.Name)))
		}
		list.unfound = unfound
		return draw(v, list)
	}
}

// narrowed finds the records that typed filters mean: without a script a filter
// arrives as a text. unfound are the filters whose text fits nothing or several
// records.
func narrowed(v *shell.Request, l Listing) (out Listing, unfound []string, err error) {
	for _, x := range []struct {
		name, to, label string
		into            *string
	}{
		{"companyId", "companies", v.Words.Say("Company"), &l.Company},
		{"ownerId", "people", v.Words.Say("Owner"), &l.Owner},
		{"about", anything, aboutLabel(v), &l.About},
	} {
		typed := shell.Normal(v.URL.Query().Get(x.name + TextSuffix))
		if *x.into != "" || typed == "" {
			continue
		}
		found, err := Seek(v, x.to, typed)
		if err != nil {
			return l, nil, err
		}
		if c, clear := found.Only(); clear {
			*x.into = c.Value
		} else {
			unfound = append(unfound, x.label+" „"+typed+"“")
		}
	}
	return l, unfound, nil
}
