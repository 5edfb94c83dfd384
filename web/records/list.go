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

// PageSize is the maximum number of rows on a page of a list. People do not read longer lists, but
// search them. A page around a record has up to ahead rows before the record. The record is then
// visible without scrolling.
const (
	PageSize = 50
	ahead    = 5
)

// listAnswer is one page of an API response that lists records.
type listAnswer struct {
	Records    []shell.Values
	HasMore    bool
	NextCursor string
}

// ReadPage calls the operation that lists a family's records.
func ReadPage(v *shell.Request, f *Family, query url.Values) (listAnswer, error) {
	a := v.Send(f.Acts.list, shell.Arguments{Query: query})
	if err := a.Err(); err != nil {
		return listAnswer{}, err
	}
	return readListed(a.Body)
}

// readListed decodes the response of that operation.
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

// CountAnswer is the number of records. Capped says that there are more.
type CountAnswer struct {
	Count  int  `json:"count"`
	Capped bool `json:"capped"`
}

// Listing has the query parameters of a list: filters, order and position. The address of a record
// has the parameters too. The page of a record thus shows the list from which it was opened.
type Listing struct {
	Family                               *Family
	Q, Sort, Cursor, Tag, Company, Owner string
	Mine                                 bool
	// Tab and Assignee apply only to tasks.
	Tab, Assignee string
	// Kind applies only to documents. About is the id of the contact, company or task to which
	// tasks or documents refer.
	Kind, About string
	// Near is the id of the record around which the page is, if there is no cursor.
	Near string
	// Back says that the page ends at the cursor. Otherwise the page begins there.
	Back bool
	// Lifted says that the address has a search text and also filters. A search ignores filters.
	Lifted bool
}

// ByDue and ByReference are the orders of tasks by due date, and of tasks and documents by file number.
const ByDue, ByReference = "dueAt", "reference"

// These are the sort orders of contacts and companies, of tasks, and of documents. The first is the default.
var (
	byName  = []shell.Option{shell.NewOption("name", "by name"), recentlyChanged}
	ofTasks = []shell.Option{shell.NewOption(ByDue, "by due date"), byReference, recentlyChanged}
	ofFiles = []shell.Option{shell.NewOption("name", "by name"), byReference, recentlyChanged}

	byReference     = shell.NewOption(ByReference, "by file number")
	recentlyChanged = shell.NewOption("-updatedAt", "recently changed")
)

// leavesOut reports whether the order of the listing leaves out records without a file number.
func (l Listing) leavesOut() bool {
	return l.Sort == ByReference && l.Q == "" && l.Tab != DoneTab
}

// ListingOf parses the query parameters of a list.
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

// searching returns the listing without filters if it has a search text.
func (l Listing) searching() Listing {
	if l.Q == "" {
		return l
	}
	l.Near = "" // search results are ordered only by rank
	only := Listing{Family: l.Family, Q: l.Q, Sort: l.Sort, Cursor: l.Cursor, Back: l.Back, Tab: l.Tab}
	only.Lifted = l != only
	return only
}

// abouts maps the prefix of an id to the filter for records that refer to such an id.
var abouts = map[string]string{"con": "contactId", "cmp": "companyId", "tsk": "taskId"}

// aboutFilter returns the name of the filter for About. It is empty if the family has no such
// filter.
func (l Listing) aboutFilter() string {
	prefix, _, _ := strings.Cut(l.About, "_")
	if name := abouts[prefix]; l.Family.Has(name) {
		return name
	}
	return ""
}

// made is the value of a combobox whose text is a new value.
const made = "+"

// TagIn returns the tag in a form or a query: the chosen tag, or else the typed text.
func TagIn(q url.Values) string {
	if tag := shell.Normal(q.Get("tag")); tag != "" && tag != made {
		return tag
	}
	return shell.Normal(q.Get("tag" + TextSuffix))
}

// query returns the query parameters of the listing, without default values.
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

// At returns a path with the query parameters of the listing.
func (l Listing) At(path string) string { return path + l.suffix() }

// suffix returns the query of the listing with its question mark. It may be empty.
func (l Listing) suffix() string {
	if q := l.query().Encode(); q != "" {
		return "?" + q
	}
	return ""
}

// From returns the listing that begins at a cursor. If back is true, the listing ends there.
func (l Listing) From(cursor string, back bool) Listing {
	l.Cursor, l.Back, l.Near = cursor, back, ""
	return l
}

// near returns the listing around the record with this id.
func (l Listing) near(id string) Listing {
	l.Cursor, l.Back, l.Near = "", false, id
	return l
}

// Parameters returns the arguments of the operation that lists records. me is the id of the person.
// Search results have no sort order, as they are ordered by rank.
func (l Listing) Parameters(me string) url.Values {
	q := l.Filters(me)
	q.Set("limit", strconv.Itoa(PageSize))
	switch {
	case l.Q != "":
	case l.Tab == DoneTab: // only open tasks have the other orders
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

// before returns the arguments for the rows before the record in Near.
func (l Listing) before(me string) url.Values {
	q := l.Parameters(me)
	q.Set("limit", strconv.Itoa(ahead))
	q.Set("back", "true")
	return q
}

// Filters returns the arguments that the operations list and count have in common.
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

// tasksOnly adds the filters for the tab of the task list.
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

// Newer returns the listing of the previous page. It returns false on the first page. The API pages
// backwards from a cursor: see the parameter back.
func (l List) Newer() (Listing, bool) {
	if l.around != "" {
		return l.Listing.From(l.previous, true), l.previous != ""
	}
	if l.Listing.Back {
		return l.Listing.From(l.next, true), l.next != ""
	}
	return l.Listing.From(l.Listing.Cursor, true), l.Listing.Cursor != ""
}

// Older returns the listing of the next page. It returns false on the last page.
func (l List) Older() (Listing, bool) {
	if l.Listing.Back {
		return l.Listing.From(l.Listing.Cursor, false), true
	}
	return l.Listing.From(l.next, false), l.next != ""
}

// List is one page of a list of records.
type List struct {
	Family  *Family
	Listing Listing
	Rows    []shell.Values
	Count   CountAnswer
	next    string
	// around is the id of the record around which the page is. It may be empty. previous is the
	// cursor of the page before this one, if around is set.
	around, previous string
	// Names maps the ids of the records and people to which rows refer to their names.
	Names map[string]string
	// unfound has the filters whose text does not match exactly one record.
	unfound []string
}

// List reads a page of a list, with the names that it shows.
func (f *Family) List(v *shell.Request, l Listing) (List, error) {
	out, err := f.unnamed(v, l)
	if err != nil {
		return out, err
	}
	return out, f.Resolve(v, out.Names, out.referring()...)
}

// unnamed reads a page of a list without names.
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

// referring returns the rows and one more record, whose members are the ids in the filters. Resolve
// then finds names for all of them.
func (l List) referring() []shell.Values {
	by := l.Listing
	return append(l.Rows[:len(l.Rows):len(l.Rows)], shell.Values{"companyId": by.Company, "ownerId": by.Owner, by.aboutFilter(): by.About})
}

// has reports whether the page contains the record with this id.
func (l List) has(id string) bool {
	return slices.ContainsFunc(l.Rows, func(r shell.Values) bool { return r["id"] == id })
}

// Links makes the addresses of the records of a list.
type Links struct{ path, lead, keep string }

// Links returns the maker of the records' addresses.
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

// LeadTo returns the address of a record, beside the page of the list around the record. For search
// results the address has the current page.
func (l Links) LeadTo(id string) string { return l.path + id + l.lead }

// KeepTo returns the address of a record for a script, beside the current page of the list.
func (l Links) KeepTo(id string) string { return l.path + id + l.keep }

// Resolve adds the names of the records and people to which records refer. It leaves out records
// that the person may not see.
func (f *Family) Resolve(v *shell.Request, names map[string]string, records ...shell.Values) error {
	people, others := f.references(records)
	return v.Named(people, others, names)
}

// references returns the ids of the people and of the other records to which records refer.
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

// These are the tabs of the task list. MineTab has the person's own open tasks.
const (
	MineTab = ""
	AllTab  = "all"
	DoneTab = "done"
)

// WithParameter returns an address with a query parameter set to a value.
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

// kinds are the options of the filter for kinds of files.
var kinds = []shell.Option{
	shell.NewOption("pdf", "PDF"), shell.NewOption("text", "Texts"), shell.NewOption("sheet", "Spreadsheets"),
	shell.NewOption("slides", "Presentations"), shell.NewOption("email", "Emails"), shell.NewOption("image", "Pictures"),
	shell.NewOption("other", "Others"),
}

// kindName returns the label of a kind of files. It is empty for an unknown kind.
func kindName(kind string) i18n.Text {
	for _, o := range kinds {
		if o.Value == kind {
			return o.Label
		}
	}
	return ""
}

// aboutLabel returns the label for the contact, company or task to which a record refers.
func aboutLabel(v *shell.Request) string { return v.Words.Say("About") }

// filterInForce is the text of an active filter, and the listing without the filter.
type filterInForce struct {
	text    string
	without Listing
}

// narrowings returns the active filters of a list.
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

// filterCombo returns the combobox of a filter by a record or a person. id is the current value.
func (l List) filterCombo(v *shell.Request, name, to, label, id string) ui.Combo {
	return ui.Combo{
		Field: ui.Field{Name: name, ID: "filter-" + name, Label: label, Value: id, Autocomplete: "off"},
		Text:  l.Names[id], Source: "/choices/" + to + "?list=filter-" + name + "-list", Offers: to == "people",
	}
}

// kindField returns the select for a kind of files.
func (l List) kindField(v *shell.Request) ui.Field {
	f := ui.Field{Name: "kind", ID: "filter-kind", Label: v.Words.Say("Kind"), Value: l.Listing.Kind, Options: []ui.Option{{Text: v.Words.Say("all")}}}
	for _, o := range kinds {
		f.Options = append(f.Options, ui.Option{Value: o.Value, Text: v.Words.Say(o.Label)})
	}
	return f
}

// TagField returns a combobox for one tag, which suggests existing tags.
func (f *Family) TagField(name, id, label, value string) ui.Combo {
	return ui.Combo{
		Field: ui.Field{Name: name, ID: id, Label: label, Autocomplete: "off"}, Text: value,
		Source: "/choices/tags?family=" + f.Name + "&list=" + id + "-list", Offers: true,
	}
}

// ShowList returns the handler of a family's list. It resolves typed filters to ids, and then draw
// renders the list.
func ShowList(f *Family, draw func(*shell.Request, List) shell.View) func(*shell.Request) shell.View {
	return func(v *shell.Request) shell.View {
		asked := f.ListingOf(v.URL.Query())
		l, unfound, err := narrowed(v, asked)
		if err != nil {
			return v.Failed(err)
		}
		list, err := f.List(v, l)
		switch {
		case fault.Is(err, fault.CursorMismatch): // the cursor has expired
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

// narrowed replaces the typed texts of filters by ids. Without scripts, a browser sends the text of
// a filter. unfound has the filters whose text does not match exactly one record.
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
