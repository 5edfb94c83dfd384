package records

import (
	"cmp"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/record"
	"kartei/record/lookup"
	"kartei/web/shell"
)

// Page is the data of a record's page.
type Page struct {
	Family *Family
	Record shell.Values
	// Names maps the ids to which the record refers to their names.
	Names map[string]string
	// referring has the records that refer to this one, for each family in Referrers. An entry is
	// nil if the person may not read the family.
	referring [][]shell.Values
	History   []record.Change
	// Same are up to two records that are possibly the same one. It is empty for people who may not
	// merge them.
	Same []lookup.Hit
	// MoreHistory says that there are older changes.
	MoreHistory bool
	// List is the list from which the record was opened.
	List List
	// MayWrite says that the person may change the record.
	MayWrite bool
	// file is the file of a document, and otherwise nil.
	file File
	// Edit is the form that edits a member on this page, or nil.
	Edit *Form
	// Editing is the name of the member, or of the group of members, that Edit edits.
	Editing string
}

// File is the part of a record's page about its file.
type File interface {
	// Read loads the data for View. contentType is the media type of the file.
	Read(v *shell.Request, contentType string) error
	// View renders the file.
	View(v *shell.Request) templ.Component
	// Finds reports whether the person searches within the file.
	Finds() bool
}

// Show returns the handler of a record's page. draw renders the page. file returns the file of a
// record. It is nil for a family without files.
func Show(f *Family, draw func(*shell.Request, Page) templ.Component, file func(v *shell.Request, id string) File) func(*shell.Request) shell.View {
	return func(v *shell.Request) shell.View { return drawRecord(v, f, draw, file) }
}

// drawRecord loads the data of a record's page and renders the page.
func drawRecord(v *shell.Request, f *Family, draw func(*shell.Request, Page) templ.Component, file func(v *shell.Request, id string) File) shell.View {
	id := v.PathValue("id")
	record, err := Get(v, f, id)
	if err != nil {
		return Missing(v, err)
	}
	p := Page{Family: f, Record: record, Names: map[string]string{}, MayWrite: v.Session.May(f.Write)}
	reads := []func() error{
		func() (err error) {
			p.List, err = f.beside(v, record)
			return err
		},
		func() (err error) {
			p.History, p.MoreHistory, err = readHistory(v, id)
			return err
		},
	}
	if f.InBook && p.MayWrite {
		reads = append(reads, func() (err error) {
			p.Same, err = SameAs(v, f, id, 2)
			return err
		})
	}
	if file != nil {
		p.file = file(v, id)
		reads = append(reads, func() error { return p.file.Read(v, record["contentType"]) })
	}
	p.referring = make([][]shell.Values, len(f.Referrers))
	for i, by := range f.Referrers {
		if v.Session.May(by.Read) {
			reads = append(reads, func() (err error) {
				p.referring[i], err = referring(v, by, f.Object+"Id", id)
				return err
			})
		}
	}
	if err := shell.Together(reads...); err != nil {
		return v.Failed(err)
	}
	persons, others := f.references(append(p.List.referring(), p.Record))
	if err := v.Named(append(persons, people(p.History)...), others, p.Names); err != nil {
		return v.Failed(err)
	}
	p.List.Names = p.Names
	if name := v.URL.Query().Get("edit"); p.MayWrite && (f.Has(name) || f.Group(name) != nil) {
		p.Editing = name
		p.Edit = &Form{Family: f, inPlace: true, id: id, Was: p.Record, Typed: p.Record, revision: shell.RevisionOf(p.Record), Token: v.Mint(), Names: p.Names}
		if refused, is := v.Context().Value(refusedKey{}).(Form); is {
			if err := f.Resolve(v, p.Names, refused.Typed); err != nil {
				return v.Failed(err)
			}
			refused.Names, refused.inPlace, p.Edit = p.Names, true, &refused
		}
	}
	out := v.OK(f.Heading(p.Record), f.Name, draw(v, p))
	if p.Edit != nil && p.Edit.problem != nil {
		return out.WithStatus(p.Edit.problem.Code.Status())
	}
	return out
}

// refusedKey is the context key of a refused form, for the page that shows the form again.
type refusedKey struct{}

// placeField is the form field with the name of the member, or of the group of members, that the
// form edits on the record's page.
const placeField = "place"

// historyShown is the number of changes that a record's page shows at first.
const historyShown = 10

// maxHistory is a limit above the number of changes that are stored for a record, which is about
// 200.
const maxHistory = 1000

// readHistory returns the newest changes of a record, and whether there are more. It returns all
// changes if the query has history=all.
func readHistory(v *shell.Request, id string) ([]record.Change, bool, error) {
	limit := historyShown
	if v.URL.Query().Get("history") == "all" {
		limit = maxHistory
	}
	found, err := shell.Ask(v, lookup.History, lookup.HistoryInput{ID: id, Limit: limit})
	return found.Data, found.HasMore, err
}

// people returns the ids to resolve for a history. These are the authors of changes, the creators
// of keys that were used, and the grants that were used.
func people(history []record.Change) []string {
	var ids []string
	for _, c := range history {
		ids = append(ids, shell.Present(c.Principal)...)
		if c.Key != nil {
			ids = append(ids, shell.Present(c.Key.MadeBy)...)
		} else {
			ids = append(ids, shell.Present(c.Credential)...)
		}
	}
	return ids
}

// Has reports whether the family has a member with this name that people can
// edit in forms.
func (f *Family) Has(name string) bool {
	return slices.Contains(f.Names(), name) && !f.Field(name).Unasked
}

// referringShown is the maximum number of referring records of each family on a record's page.
const referringShown = 10

// allAbout returns the address of the list of all records of the family whose member refers to a
// record. id is the id of that record.
func (f *Family) allAbout(member, id string) string {
	l := f.ListingOf(url.Values{"tab": {AllTab}, "about": {id}, member: {id}})
	return l.At("/" + f.Name)
}

// referring returns the first records of a family whose member refers to a record.
func referring(v *shell.Request, f *Family, member, id string) ([]shell.Values, error) {
	q := url.Values{member: {id}, "sort": {f.Sorts[0].Value}, "limit": {strconv.Itoa(referringShown)}}
	if f.completable {
		q.Set("status", "open")
	}
	page, err := ReadPage(v, f, q)
	return page.Records, err
}

// Form is the data of a form: for a new record, for a change, or for the choice between two
// conflicting changes.
type Form struct {
	Family *Family
	// id is the id of the record. It is empty for a new record.
	id string
	// Was has the values that the person saw. Typed has the values of the fields.
	Was, Typed shell.Values
	revision   int64
	Names      map[string]string
	Token      string
	// problem is the reason why the form was not stored, or nil. Wrong has the messages by field.
	problem *fault.Fault
	Wrong   map[string]string
	// unclear has the typed references that do not match exactly one record, by field.
	unclear map[string]unclear
	// conflicts are the members for which the person must choose a value. theirs are the members
	// that only the other person changed.
	conflicts []shell.Conflict
	theirs    []string
	// by is the name of the person who stored the other change, and at is the time of that change.
	by string
	at time.Time
	// gone says that the record was deleted while the form was open.
	gone bool
	// similar are possible duplicates of a new record. made is the id of the record that was
	// created just before.
	similar []lookup.Like
	made    string
	// inPlace says that the form replaces a value on the record's page.
	inPlace bool
	// stopped says that the form was not stored because the person had not seen similar.
	stopped bool
}

// unsent reports whether a submitted form has input that is not stored. The browser then warns
// before the person leaves the page.
func (f *Form) unsent() bool {
	return f.problem != nil || len(f.conflicts) > 0 || f.gone || f.stopped
}

// asked returns the fields of the form without those in conflict. The first field of each part has
// the heading of the part.
func (f *Form) asked(v *shell.Request) (list []Field) {
	var part i18n.Text
	for _, m := range f.Family.Fields {
		if m.part != "" {
			part = m.part
		}
		if f.conflicting(m.Name) || m.Unasked || m.restricted && !f.mayShare(v) {
			continue
		}
		m.part, part = part, ""
		list = append(list, m)
	}
	return list
}

// ShowForm returns the handler of the form for a new record or for a change. The form of a new
// record is prefilled from the query.
func ShowForm(f *Family) func(*shell.Request) shell.View {
	return func(v *shell.Request) shell.View {
		form := Form{Family: f, id: v.PathValue("id"), Typed: shell.Values{}, Token: v.Mint(), Names: map[string]string{}}
		if form.id != "" {
			record, err := Get(v, f, form.id)
			if err != nil {
				return Missing(v, err)
			}
			form.Was, form.Typed, form.revision = record, maps.Clone(record), shell.RevisionOf(record)
			if caller := shell.NumberOf(v.URL.Query().Get(CallerField)); caller != "" && f.InBook {
				form.addCaller(caller)
			}
		} else {
			form.Typed["ownerId"], form.Typed["assigneeId"] = v.Session.Principal.ID, v.Session.Principal.ID
			form.made = v.URL.Query().Get("made")
		}
		for _, m := range f.Fields {
			if given := v.URL.Query().Get(m.Name); given != "" && form.id == "" {
				form.Typed[m.Name] = given
			}
		}
		return drawForm(v, form, http.StatusOK)
	}
}

// drawForm returns the page of a form.
func drawForm(v *shell.Request, form Form, status int) shell.View {
	named := []shell.Values{form.Typed}
	for _, c := range form.conflicts {
		named = append(named, shell.Values{c.Name: c.Base}, shell.Values{c.Name: c.Theirs}, shell.Values{c.Name: c.Mine})
	}
	err := shell.Together(
		func() error { return form.Family.Resolve(v, form.Names, named...) },
		func() error { return v.TitlesOf(shell.Present(form.made), form.Names) },
	)
	if err != nil {
		return v.Failed(err)
	}
	title := v.Words.Say(form.Family.another)
	if form.id != "" {
		title = v.Words.Say("Edit: %s", form.Family.Heading(form.Was))
	}
	return v.OK(title, form.Family.Name, formView(v, form)).WithStatus(status)
}

// CreateRecord returns the handler that stores a new record.
func CreateRecord(f *Family) func(*shell.Request) shell.View {
	return func(v *shell.Request) shell.View {
		typed := typedValues(v, f)
		form := Form{Family: f, Typed: typed, Token: v.Sent.Token, Names: map[string]string{}}
		var err error
		if form.unclear, err = refer(v, f, typed); err != nil {
			return refusedForm(v, form, shell.AsFault(err))
		}
		if f.InBook {
			if form.similar, err = findSimilar(v, f, typed); err == nil && unseen(v, form.similar) {
				form.stopped = true
				return drawForm(v, form, http.StatusConflict)
			}
		}
		a := v.Send(f.Acts.create, shell.Arguments{Body: typed.Body(), Once: v.Sent.Token})
		if a.Fault != nil {
			return refusedForm(v, form, a.Fault)
		}
		path, made := "/"+f.Name, ""
		if record, err := shell.Flatten(a.Body); err == nil && record["id"] != "" {
			made = record["id"]
			path += "/" + made
		}
		if v.Sent.Get("next") != "" {
			return v.SeeOther("/" + f.Name + "/new?" + url.Values{"companyId": {typed["companyId"]}, "made": {made}}.Encode())
		}
		said := v.Words.Say("%s created.", f.One)
		return v.Done(path, &shell.Toast{Text: said, Log: said})
	}
}

// SaveRecord returns the handler that stores the form of a change, or a single field.
func SaveRecord(f *Family) func(*shell.Request) shell.View {
	return func(v *shell.Request) shell.View {
		id := v.PathValue("id")
		typed, unclear, unfound := decided(v, f)
		was := shell.Values{}
		for name := range typed {
			was[name] = v.Sent.Was[name]
		}
		form := Form{Family: f, id: id, Was: was, Typed: typed, revision: v.Sent.Revision, Token: v.Sent.Token, Names: map[string]string{}, unclear: unclear}
		if unfound != nil {
			return refusedForm(v, form, shell.AsFault(unfound))
		}
		s, err := Save(v, f, id, was, typed, v.Sent.Revision)
		switch {
		case fault.Is(err, fault.NotFound):
			form.gone, form.id = true, ""
			return drawForm(v, form, http.StatusConflict)
		case err != nil:
			return refusedForm(v, form, shell.AsFault(err))
		case s.Merge != nil && v.Undoing():
			return notUndone(v, f, id, s.Merge)
		case s.Merge != nil:
			form.Was, form.Typed, form.revision = s.Record, typed, shell.RevisionOf(s.Record)
			form.conflicts, form.theirs, form.Token = s.Merge.Conflicts, s.Merge.Theirs, v.Mint()
			for name, value := range s.Merge.Values {
				form.Typed[name] = value
			}
			var members []string
			for _, c := range form.conflicts {
				members = append(members, c.Name)
			}
			form.by, form.at = changedBy(v, id, v.Sent.Revision, append(members, form.theirs...))
			form.complete(s.Record)
			return drawForm(v, form, http.StatusConflict)
		}
		path := Back(v, f.ListingOf(v.URL.Query()).At("/"+f.Name+"/"+id))
		if f.completable && slices.Equal(s.Changed, []string{"status"}) {
			return v.Done(path, TaskNote(v, s.Record, path))
		}
		if len(s.Theirs) > 0 {
			s.By, _ = changedBy(v, id, v.Sent.Revision, s.Theirs)
		}
		return v.Done(path, changeNote(v, f, id, s))
	}
}

var nameNeeded = i18n.Text("Last name, first name or email: one of them is required.")

// refusedForm returns the page of a refused form, with all typed values and the reason.
func refusedForm(v *shell.Request, form Form, f *fault.Fault) shell.View {
	if v.Scripted() && len(f.Fields) == 0 && f.Code != fault.IdempotencyPayloadMismatch || f.Code == fault.Unauthenticated || f.Code == fault.Internal {
		return v.Failed(f) // the form is still in the browser, or can be sent again unchanged
	}
	v.RetryAfter(f.Wait())
	form.problem, form.Wrong = f, wrongs(v, form, f)
	if place := v.Sent.Get(placeField); place != "" && form.id != "" && len(f.Fields) > 0 {
		return refusedInPlace(v, form, place)
	}
	if form.id != "" {
		record, err := Get(v, form.Family, form.id)
		if err != nil {
			return v.Failed(f)
		}
		form.complete(record)
	}
	if f.Code == fault.IdempotencyPayloadMismatch { // the form was already sent, and then changed
		form.Token = v.Mint()
	}
	return drawForm(v, form, f.Code.Status())
}

// wrongs returns the error messages by field of a form.
func wrongs(v *shell.Request, form Form, f *fault.Fault) map[string]string {
	texts := shell.FieldTexts(f, v.Words.Language)
	form.Family.wrongEntries(texts, f.Fields, v.Words.Language)
	for _, m := range form.Family.Fields {
		if texts[m.Name] == "" {
			continue
		}
		switch typed := form.Typed[m.Name]; {
		case m.Kind == momentField && m.typed(v, typed) == typed:
			texts[m.Name] = v.Words.Say(unreadMoment)
		case m.Kind == dayField:
			texts[m.Name] = v.Words.Say(unreadDay)
		case m.Kind == languageField:
			texts[m.Name] = v.Words.Say(unreadLanguage)
		}
	}
	nameless := func(field fault.Field) bool { return field.Name == "lastName" && field.Code == fault.Required }
	if slices.ContainsFunc(f.Fields, nameless) { // the API reports each of the members that would be enough
		for _, name := range []string{"firstName", "email"} {
			if form.Typed[name] == "" {
				delete(texts, name)
			}
		}
		texts["lastName"] = v.Words.Say(nameNeeded)
	}
	return texts
}

// refusedInPlace returns the record's page with the refused form in place of the value.
func refusedInPlace(v *shell.Request, form Form, place string) shell.View {
	return v.Instead(v.Here("edit", place), refusedKey{}, form)
}

// complete adds the members that were not typed, with their stored values. A form of one member
// becomes a form of all members, which must not clear the others.
func (f *Form) complete(record shell.Values) {
	for _, name := range f.Family.Names() {
		if _, typed := f.Typed[name]; !typed {
			f.Typed[name], f.Was[name] = record[name], record[name]
		}
	}
	f.Was["displayName"] = record["displayName"] // the heading shows it
}

// decided returns the typed values. In a form with conflicts, the field pick.NAME says which value
// to take: theirs, mine or other.
func decided(v *shell.Request, f *Family) (shell.Values, map[string]unclear, error) {
	typed := typedValues(v, f)
	unclear, err := refer(v, f, typed)
	for name := range typed {
		switch v.Sent.Get("pick." + name) {
		case "theirs":
			typed[name] = v.Sent.Was[name]
		case "mine":
			typed[name] = shell.Normal(v.Sent.Get("mine." + name))
		}
	}
	return typed, unclear, err
}

// typedValues returns the values of the submitted form in the form that the API accepts.
func typedValues(v *shell.Request, f *Family) shell.Values {
	typed := v.Sent.Members(f.Names())
	for name, value := range typed {
		typed[name] = f.Field(name).stored(v, value, v.Sent.Was[name])
	}
	return typed
}

// Back returns the path in the form's BackField. If the form has none, it returns otherwise.
func Back(v *shell.Request, otherwise string) string {
	if path := v.Sent.Get(shell.BackField); path != "" {
		return shell.Local(path)
	}
	return otherwise
}

// DeleteRecord returns the handler that erases a record. The person has confirmed this in a dialog.
func DeleteRecord(f *Family) func(*shell.Request) shell.View {
	return func(v *shell.Request) shell.View {
		a := v.Send(f.Acts.remove, shell.Arguments{ID: v.PathValue("id"), Match: max(v.Sent.Revision, 1), Once: v.Sent.Token})
		switch {
		case a.Is(fault.NotFound): // another person has deleted the record
			return v.Done("/"+f.Name, &shell.Toast{Bad: true, Text: v.Words.Say("This entry does not exist any more.")})
		case a.Is(fault.PreconditionFailed):
			return v.Done("/"+f.Name+"/"+v.PathValue("id"), &shell.Toast{Bad: true, Text: v.Words.Say(
				"Not deleted: the entry was changed in the meantime. Please look at it again.")})
		case a.Fault != nil:
			return v.Failed(a.Fault)
		}
		return v.Done("/"+f.Name, &shell.Toast{Text: v.Words.Say("Deleted."), Log: v.Words.Say("%s deleted.", f.One)})
	}
}

// Names returns the names of all fields of the family.
func (f *Family) Names() []string {
	names := make([]string, len(f.Fields))
	for i, m := range f.Fields {
		names[i] = m.Name
	}
	return names
}

// Field returns the field of a member. For an unknown member, the label is the name.
func (f *Family) Field(name string) Field {
	for _, m := range f.Fields {
		if m.Name == name {
			return m
		}
	}
	return Field{Name: name, Label: i18n.Format("%s", name)}
}

// changeNote returns the note after a change. The note says which members were changed, also by
// another person meanwhile, and offers to undo the change.
func changeNote(v *shell.Request, f *Family, id string, s saveResult) *shell.Toast {
	if len(s.Changed) == 0 && len(s.Theirs) == 0 {
		return nil
	}
	var t shell.Toast
	if len(s.Changed) > 0 {
		t.Text = v.Words.Say("%s changed.", Labels(v, f, s.Changed))
		if v.Undoing() {
			t.Text = v.Words.Say("%s as before.", Labels(v, f, s.Changed))
		}
		u := shell.Undo{Action: f.ListingOf(v.URL.Query()).At("/" + f.Name + "/" + id), Token: v.Mint(), Revision: shell.RevisionOf(s.Record), Was: shell.Values{}, Set: shell.Values{}}
		for _, name := range s.Changed {
			u.Was[name], u.Set[name] = s.Record[name], s.Before[name]
		}
		t.Undo = &u
	}
	if len(s.Theirs) > 0 {
		t.Text = shell.Joined(" ", t.Text, s.changedToo(v, f))
	}
	t.Log, t.Members = v.Words.Say(f.One)+": "+t.Text, s.Changed
	return &t
}

// changedToo returns a sentence that says what another person changed at the same time.
func (s saveResult) changedToo(v *shell.Request, f *Family) string {
	who := cmp.Or(s.By, v.Words.Say("Somebody else"))
	if several(v, who) {
		return v.Words.Say("%s changed at the same time: %s. [several]", who, Labels(v, f, s.Theirs))
	}
	return v.Words.Say("%s changed at the same time: %s.", who, Labels(v, f, s.Theirs))
}

// notUndone returns the response to an undo that came too late: another person has changed the same
// members since. Their values stay. The note has a link to the history.
func notUndone(v *shell.Request, f *Family, id string, m *shell.MergeResult) shell.View {
	var names []string
	for _, c := range m.Conflicts {
		names = append(names, c.Name)
	}
	what := Labels(v, f, names)
	path := "/" + f.Name + "/" + id
	return v.Done(path, &shell.Toast{Bad: true, Href: path + "#history", HrefText: v.Words.Say("History"),
		Text: v.Words.Say("Not undone. Changed again since: %s.", what),
		Log:  v.Words.Say("Not undone: changed since.")})
}

// Get reads the record with this id.
func Get(v *shell.Request, f *Family, id string) (shell.Values, error) {
	a := v.Send(f.Acts.get, shell.Arguments{ID: id})
	if err := a.Err(); err != nil {
		return nil, err
	}
	return shell.Flatten(a.Body)
}

// dropText returns the text that says to which record files belong that are dropped on the page.
func dropText(v *shell.Request, f *Family, record shell.Values) string {
	if record == nil || !f.takesDocuments() {
		return v.Words.Say("File as documents")
	}
	name := f.Heading(record)
	return v.Words.Say("File with “%s”", name)
}

// At returns the address of the record, or of a page below it, with the listing in the query. page
// is the end of the path.
func (p Page) At(page string) string {
	return p.List.Listing.At("/" + p.Family.Name + "/" + p.Record["id"] + page)
}

// Path returns the address of the record, or of a page below it, without a query. page is the end
// of the path.
func (p Page) Path(v *shell.Request, page string) templ.SafeURL {
	return v.Look().To("/" + p.Family.Name + "/" + p.Record["id"] + page)
}

// door returns a text that says by which interface a change was made. It is empty for a change by a
// page. Changes by Kartei itself are the hand-over of records when a person leaves, and the sample
// office.
func door(w i18n.Words, c record.Change) string {
	switch c.Door {
	case "web":
		return ""
	case "rest":
		return w.Say("through the API")
	case "mcp":
		return w.Say("through an assistant")
	case "job":
		if c.Act == "updated" {
			return w.Say("by Kartei, as entries were handed over")
		}
		return w.Say("by Kartei, as an example")
	}
	return w.Say("by the operator")
}

// credentialOf returns a text with the API key or the application of a change. It also says who
// created the key, and so has seen its secret, if this is another person than the author of the
// change.
func credentialOf(v *shell.Request, c record.Change, names map[string]string) string {
	switch {
	case c.Key != nil:
		title, made := shell.KeyTitle(c.Key.Name, c.Key.Environment, c.Key.KidShort), shell.KeyMadeBy(v, c.Key.MadeBy, names)
		if c.Key.MadeBy == c.Principal {
			return v.Words.Say("with the key %s", title)
		}
		return v.Words.Say("with the key %s, created %s", title, made)
	case names[c.Credential] != "":
		return v.Words.Say("by the application %s", names[c.Credential])
	}
	return ""
}

// textFact returns a text that says how much of a file's text was extracted. It is empty if all
// text was extracted.
func textFact(v *shell.Request, record shell.Values) string {
	status, reason := record["textStatus"], record["textReason"]
	say := v.Words.Say
	switch status {
	case "none":
		if strings.HasPrefix(record["contentType"], "image/") {
			return say("Pictures are not read as text. The search finds the file by name and tags only.")
		}
		return say("The file has no readable text, for example because it is a scan. The search finds it by name and tags only.")
	case "partial":
		return say("Only read in part: %s The search finds this part only.", MissingText(v, reason))
	case "unread":
		return say("Not read: %s The search finds the file by name and tags only.", MissingText(v, reason))
	}
	return ""
}

// MissingText returns a sentence that says why text of a file is missing.
func MissingText(v *shell.Request, reason string) string {
	say := v.Words.Say
	switch reason {
	case "encrypted":
		return say("The content is encrypted or protected by a password.")
	case "damaged", "broken":
		return say("The file is damaged or incomplete.")
	case "too_long":
		return say("The text is longer than Kartei reads.")
	case "too_complex", "inflated", "memory", "time", "crashed":
		return say("The file is too large or too complex.")
	case "scanned":
		return say("Some pages are pictures, for example scans.")
	case "contained":
		return say("Files inside of the file are not read, for example attachments.")
	case "overdrawn":
		return say("The reading time of your organization was used up.")
	case "unavailable", "unconfined":
		return say("This server does not read files.")
	}
	return say("Files of this kind are not read here.")
}
