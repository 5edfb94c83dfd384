package office

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"kartei/kit/fault"
	"kartei/record"
	"kartei/record/lookup"
	"kartei/web/i18n"

	"github.com/a-h/templ"
)

// recordPage is the content of the page of a record.
type recordPage struct {
	family *family
	record values
	// names are the names of what the record refers to, by id.
	names map[string]string
	// tasks, documents and contacts refer to the record. Those of a family that the
	// person may not read are nil.
	tasks, documents, contacts []values
	history                    []record.Change
	// moreHistory says that the history is longer.
	moreHistory bool
	// list is the list that the record was opened from.
	list recordList
	// mayWrite says that the person may change the record.
	mayWrite bool
	// file is the file of a document, else nil.
	file recordFile
	// edit is the form of the member that is edited in place, or nil.
	edit *recordForm
	// editing is the name of that member.
	editing string
}

// recordFile is the file of a record, as its page shows it.
type recordFile interface {
	// read reads what is shown of a file of a media type.
	read(v *request, contentType string) error
	// view draws the file.
	view(v *request) templ.Component
	// finds reports whether the person searches within the file.
	finds() bool
}

// showRecord serves the page of a record. draw draws it. file returns the file of a record, and is
// nil for a family without files.
func showRecord(f *family, draw func(*request, recordPage) templ.Component, file func(v *request, id string) recordFile) func(*request) view {
	return func(v *request) view { return v.record(f, draw, file) }
}

// record draws the page of a record.
func (v *request) record(f *family, draw func(*request, recordPage) templ.Component, file func(v *request, id string) recordFile) view {
	id := v.PathValue("id")
	record, err := v.get(f, id)
	if err != nil {
		return v.failed(err)
	}
	p := recordPage{family: f, record: record, names: map[string]string{}, mayWrite: v.session.may(f.write)}
	refer := func(to *family, member string, into *[]values, order string) func() error {
		return func() (err error) {
			if v.session.may(to.read) {
				*into, err = v.referring(to, member, id, order)
			}
			return err
		}
	}
	reads := []func() error{
		func() (err error) {
			p.list, err = f.beside(v, record)
			return err
		},
		func() (err error) {
			p.history, p.moreHistory, err = v.history(id)
			return err
		},
	}
	if file != nil {
		p.file = file(v, id)
		reads = append(reads, func() error { return p.file.read(v, record["contentType"]) })
	}
	if f != &tasks && f != &documents {
		reads = append(reads, refer(&tasks, f.object+"Id", &p.tasks, "dueAt"))
	}
	if f != &documents {
		reads = append(reads, refer(&documents, f.object+"Id", &p.documents, "name"))
	}
	if f == &companies {
		reads = append(reads, refer(&contacts, "companyId", &p.contacts, "name"))
	}
	if err := together(reads...); err != nil {
		return v.failed(err)
	}
	persons, others := f.references(append(p.list.referring(), p.record))
	if err := v.named(append(persons, people(p.history)...), others, p.names); err != nil {
		return v.failed(err)
	}
	p.list.names = p.names
	if name := v.URL.Query().Get("edit"); p.mayWrite && (f.has(name) || f.group(name) != nil) {
		p.editing = name
		p.edit = &recordForm{family: f, id: id, was: p.record, typed: p.record, revision: revisionOf(p.record), token: v.mint(), names: p.names}
		if refused, is := v.Context().Value(refusedKey{}).(recordForm); is {
			if err := f.resolve(v, p.names, refused.typed); err != nil {
				return v.failed(err)
			}
			refused.names, p.edit = p.names, &refused
		}
	}
	out := v.ok(f.heading(p.record), f.name, draw(v, p))
	if p.edit != nil && p.edit.problem != nil {
		out.status = p.edit.problem.Code.Status()
	}
	return out
}

// refusedKey is the key of a refused form in the context of the page that shows it in
// place.
type refusedKey struct{}

// placeField names the member, or the group of members, that a form edits in place.
const placeField = "place"

// historyShown is the number of changes that the page of a record shows at first.
const historyShown = 10

// mostHistory is more than a history has: the server keeps some 200 changes.
const mostHistory = 1000

// history returns the last changes of a record, or all, and whether there are more.
func (v *request) history(id string) ([]record.Change, bool, error) {
	limit := historyShown
	if v.URL.Query().Get("history") == "all" {
		limit = mostHistory
	}
	found, err := ask(v, record.History, record.HistoryInput{ID: id, Limit: limit})
	return found.Data, found.HasMore, err
}

// people returns the ids of those who made changes, or the keys of changes, and the grants.
func people(history []record.Change) []string {
	var ids []string
	for _, c := range history {
		ids = append(ids, present(c.Principal)...)
		if c.Key != nil {
			ids = append(ids, present(c.Key.MadeBy)...)
		} else {
			ids = append(ids, present(c.Credential)...)
		}
	}
	return ids
}

// has reports whether a family has a member that can be typed.
func (f *family) has(name string) bool {
	return slices.Contains(f.names(), name) && !f.field(name).unasked
}

// referringShown is how many records a page names that refer to its own.
const referringShown = 10

// allAbout returns the address of the list of all records of the family that name a
// record by a member.
func (f *family) allAbout(member, id string) string {
	l := f.listingOf(url.Values{"tab": {allTab}, "about": {id}, member: {id}})
	return l.at("/" + f.name)
}

// referring returns the first records of a family that name a record.
func (v *request) referring(f *family, member, id, order string) ([]values, error) {
	q := url.Values{member: {id}, "sort": {order}, "limit": {strconv.Itoa(referringShown)}}
	if f == &tasks {
		q.Set("status", "open")
	}
	page, err := v.listed(f, q)
	return page.records, err
}

// recordForm is a form as it is drawn: for a new record, for a change, or for a
// decision between two changes.
type recordForm struct {
	family *family
	// id is empty for a new record.
	id string
	// was has the values that the person saw, and typed the values of the fields.
	was, typed values
	revision   int64
	names      map[string]string
	token      string
	// problem is why the form was not stored, and wrong the messages by field.
	problem *fault.Fault
	wrong   map[string]string
	// unclear are the texts of references that fit none or several.
	unclear map[string]unclear
	// conflicts need a decision. theirs are the members that only the other person
	// changed.
	conflicts []conflict
	theirs    []string
	// by says who stored the other change, and at when.
	by string
	at time.Time
	// gone says that the record was deleted while the form was open.
	gone bool
	// similar are records that may be the same as a new one. made is the id of the
	// record that was stored just before it.
	similar []lookup.Like
	made    string
	// stopped says that the form was not stored because of similar, which the person
	// had not seen.
	stopped bool
}

// unsent reports whether the form was sent and holds what is not stored: nobody leaves
// it by accident.
func (f *recordForm) unsent() bool {
	return f.problem != nil || len(f.conflicts) > 0 || f.gone || f.stopped
}

// asked returns the fields of the form besides those that need a decision. The first
// one of a part has its heading.
func (f *recordForm) asked(v *request) (list []field) {
	var part fault.Text
	for _, m := range f.family.fields {
		if m.part.EN != "" {
			part = m.part
		}
		if f.conflicting(m.name) || m.unasked || m.restricted && !f.mayShare(v) {
			continue
		}
		m.part, part = part, fault.Text{}
		list = append(list, m)
	}
	return list
}

// showForm serves the form of a new record, filled from the address, or of a
// change.
func showForm(f *family) func(*request) view {
	return func(v *request) view {
		form := recordForm{family: f, id: v.PathValue("id"), typed: values{}, token: v.mint(), names: map[string]string{}}
		if form.id != "" {
			record, err := v.get(f, form.id)
			if err != nil {
				return v.failed(err)
			}
			form.was, form.typed, form.revision = record, maps.Clone(record), revisionOf(record)
			if caller := numberOf(v.URL.Query().Get(callerField)); caller != "" && f.inBook() {
				form.addCaller(caller)
			}
		} else {
			form.typed["ownerId"], form.typed["assigneeId"] = v.session.Principal.ID, v.session.Principal.ID
			form.made = v.URL.Query().Get("made")
		}
		for _, m := range f.fields {
			if given := v.URL.Query().Get(m.name); given != "" && form.id == "" {
				form.typed[m.name] = given
			}
		}
		return v.draw(form, http.StatusOK)
	}
}

// draw draws a form.
func (v *request) draw(form recordForm, status int) view {
	named := []values{form.typed}
	for _, c := range form.conflicts {
		named = append(named, values{c.Name: c.Base}, values{c.Name: c.Theirs}, values{c.Name: c.Mine})
	}
	err := together(
		func() error { return form.family.resolve(v, form.names, named...) },
		func() error { return v.titlesOf(present(form.made), form.names) },
	)
	if err != nil {
		return v.failed(err)
	}
	title := form.family.another.In(v.words.Language)
	if form.id != "" {
		title = v.words.Say("Bearbeiten: ", "Edit: ") + form.family.heading(form.was)
	}
	out := v.ok(title, form.family.name, formView(v, form))
	out.status = status
	return out
}

// createRecord stores a new record.
func createRecord(f *family) func(*request) view {
	return func(v *request) view {
		typed := v.typed(f)
		form := recordForm{family: f, typed: typed, token: v.form.token, names: map[string]string{}}
		var err error
		if form.unclear, err = v.refer(f, typed); err != nil {
			return v.refusedForm(form, asFault(err))
		}
		if f.inBook() {
			if form.similar, err = v.similar(f, typed); err == nil && v.unseen(form.similar) {
				form.stopped = true
				return v.draw(form, http.StatusConflict)
			}
		}
		a := v.send(f.acts.create, arguments{body: typed.body(), once: v.form.token})
		if a.Fault != nil {
			return v.refusedForm(form, a.Fault)
		}
		path, made := "/"+f.name, ""
		if record, err := flatten(a.Body); err == nil && record["id"] != "" {
			made = record["id"]
			path += "/" + made
		}
		if v.form.Get("next") != "" {
			return v.seeOther("/" + f.name + "/new?" + url.Values{"companyId": {typed["companyId"]}, "made": {made}}.Encode())
		}
		said := v.words.Say(f.one.DE+" angelegt.", f.one.EN+" created.")
		return v.done(path, &toast{Text: said, Log: said})
	}
}

// saveRecord stores the form of a change, or a single field of it.
func saveRecord(f *family) func(*request) view {
	return func(v *request) view {
		id := v.PathValue("id")
		typed, unclear, unfound := v.decided(f)
		was := values{}
		for name := range typed {
			was[name] = v.form.was[name]
		}
		form := recordForm{family: f, id: id, was: was, typed: typed, revision: v.form.revision, token: v.form.token, names: map[string]string{}, unclear: unclear}
		if unfound != nil {
			return v.refusedForm(form, asFault(unfound))
		}
		s, err := v.save(f, id, was, typed, v.form.revision)
		switch {
		case fault.Is(err, fault.NotFound):
			form.gone, form.id = true, ""
			return v.draw(form, http.StatusConflict)
		case err != nil:
			return v.refusedForm(form, asFault(err))
		case s.Merge != nil && v.undoing():
			return v.notUndone(f, id, s.Merge)
		case s.Merge != nil:
			form.was, form.typed, form.revision = s.Record, typed, revisionOf(s.Record)
			form.conflicts, form.theirs, form.token = s.Merge.Conflicts, s.Merge.Theirs, v.mint()
			for name, value := range s.Merge.Values {
				form.typed[name] = value
			}
			var members []string
			for _, c := range form.conflicts {
				members = append(members, c.Name)
			}
			form.by, form.at = v.changedBy(id, v.form.revision, append(members, form.theirs...))
			form.complete(s.Record)
			return v.draw(form, http.StatusConflict)
		}
		path := v.back(f.listingOf(v.URL.Query()).at("/" + f.name + "/" + id))
		if f == &tasks && slices.Equal(s.Changed, []string{"status"}) {
			return v.done(path, v.taskNote(s.Record, path))
		}
		if len(s.Theirs) > 0 {
			s.By, _ = v.changedBy(id, v.form.revision, s.Theirs)
		}
		return v.done(path, v.changeNote(f, id, s))
	}
}

var nameNeeded = text("Nachname, Vorname oder E-Mail: Eines davon ist nötig.", "Last name, first name or email: one of them is required.")

// refusedForm draws a form again, with everything that was typed, and says why it
// was not stored.
func (v *request) refusedForm(form recordForm, f *fault.Fault) view {
	if v.scripted() && len(f.Fields) == 0 && f.Code != fault.IdempotencyPayloadMismatch || f.Code == fault.Unauthenticated || f.Code == fault.Internal {
		return v.failed(f) // the form stays where it is, or can be sent again as it is
	}
	v.retryAfter(f.Wait())
	form.problem, form.wrong = f, v.wrongs(form, f)
	if place := v.form.Get(placeField); place != "" && form.id != "" && len(f.Fields) > 0 {
		return v.refusedInPlace(form, place)
	}
	if form.id != "" {
		record, err := v.get(form.family, form.id)
		if err != nil {
			return v.failed(f)
		}
		form.complete(record)
	}
	if f.Code == fault.IdempotencyPayloadMismatch { // sent once, then changed and sent again
		form.token = v.mint()
	}
	return v.draw(form, f.Code.Status())
}

// wrongs returns the messages beside the fields of a form.
func (v *request) wrongs(form recordForm, f *fault.Fault) map[string]string {
	texts := fieldTexts(f, v.words.Language)
	for _, m := range form.family.fields {
		if texts[m.name] == "" {
			continue
		}
		switch typed := form.typed[m.name]; {
		case m.kind == momentField && m.typed(v, typed) == typed:
			texts[m.name] = unreadMoment.In(v.words.Language)
		case m.kind == dayField:
			texts[m.name] = unreadDay.In(v.words.Language)
		case m.kind == languageField:
			texts[m.name] = unreadLanguage.In(v.words.Language)
		}
	}
	nameless := func(field fault.Field) bool { return field.Name == "lastName" && field.Code == fault.Required }
	if form.family == &contacts && slices.ContainsFunc(f.Fields, nameless) { // the API says it of each member that would do
		for _, name := range []string{"firstName", "email"} {
			if form.typed[name] == "" {
				delete(texts, name)
			}
		}
		texts["lastName"] = nameNeeded.In(v.words.Language)
	}
	return texts
}

// refusedInPlace shows the page of the record, with the form in its place as it was
// typed, and why it was refused.
func (v *request) refusedInPlace(form recordForm, place string) view {
	return v.instead(v.here("edit", place), refusedKey{}, form)
}

// complete adds the members that were not typed, as they are stored: a form of one
// member becomes one of all, which must not clear the others.
func (f *recordForm) complete(record values) {
	for _, name := range f.family.names() {
		if _, typed := f.typed[name]; !typed {
			f.typed[name], f.was[name] = record[name], record[name]
		}
	}
	f.was["displayName"] = record["displayName"] // which the heading shows
}

// decided returns the values that were typed. In a form with conflicts, a field
// pick.NAME says whose value holds: theirs, mine or another one.
func (v *request) decided(f *family) (values, map[string]unclear, error) {
	typed := v.typed(f)
	unclear, err := v.refer(f, typed)
	for name := range typed {
		switch v.form.Get("pick." + name) {
		case "theirs":
			typed[name] = v.form.was[name]
		case "mine":
			typed[name] = normal(v.form.Get("mine." + name))
		}
	}
	return typed, unclear, err
}

// typed returns the values of a form as the API takes them.
func (v *request) typed(f *family) values {
	typed := v.form.values(f.names())
	for name, value := range typed {
		typed[name] = f.field(name).stored(v, value, v.form.was[name])
	}
	return typed
}

// back returns the page to which a form leads back, or another one.
func (v *request) back(otherwise string) string {
	if path := v.form.Get(backField); path != "" {
		return local(path)
	}
	return otherwise
}

// deleteRecord erases a record. The dialog before it said that this is final.
func deleteRecord(f *family) func(*request) view {
	return func(v *request) view {
		a := v.send(f.acts.remove, arguments{id: v.PathValue("id"), match: max(v.form.revision, 1), once: v.form.token})
		switch {
		case a.is(fault.NotFound): // somebody else was quicker
			return v.done("/"+f.name, &toast{Bad: true, Text: v.words.Say("Diesen Eintrag gibt es nicht mehr.", "This entry does not exist any more.")})
		case a.is(fault.PreconditionFailed):
			return v.done("/"+f.name+"/"+v.PathValue("id"), &toast{Bad: true, Text: v.words.Say(
				"Nicht gelöscht: Der Eintrag wurde inzwischen geändert. Bitte sehen Sie ihn noch einmal an.",
				"Not deleted: the entry was changed in the meantime. Please look at it again.")})
		case a.Fault != nil:
			return v.failed(a.Fault)
		}
		return v.done("/"+f.name, &toast{Text: v.words.Say("Gelöscht.", "Deleted."), Log: v.words.Say(f.one.DE+" gelöscht.", f.one.EN+" deleted.")})
	}
}

// names returns the names of the members that a form may have.
func (f *family) names() []string {
	names := make([]string, len(f.fields))
	for i, m := range f.fields {
		names[i] = m.name
	}
	return names
}

// field returns the description of a member.
func (f *family) field(name string) field {
	for _, m := range f.fields {
		if m.name == name {
			return m
		}
	}
	return field{name: name, label: text(name, name)}
}

// changeNote says which members a form changed, and what somebody else changed
// meanwhile.
func (v *request) changeNote(f *family, id string, s saved) *toast {
	if len(s.Changed) == 0 && len(s.Theirs) == 0 {
		return nil
	}
	var t toast
	if len(s.Changed) > 0 {
		t.Text = v.words.Say(v.labels(f, s.Changed)+" geändert.", v.labels(f, s.Changed)+" changed.")
		if v.undoing() {
			t.Text = v.words.Say(v.labels(f, s.Changed)+" wie vorher.", v.labels(f, s.Changed)+" as before.")
		}
		u := undo{Action: f.listingOf(v.URL.Query()).at("/" + f.name + "/" + id), Token: v.mint(), Revision: revisionOf(s.Record), Was: values{}, Set: values{}}
		for _, name := range s.Changed {
			u.Was[name], u.Set[name] = s.Record[name], s.Before[name]
		}
		t.Undo = &u
	}
	if len(s.Theirs) > 0 {
		t.Text = joined(" ", t.Text, v.words.Say(have(first(s.By, "Jemand anderes"))+"gleichzeitig geändert: ", first(s.By, "Somebody else")+" changed at the same time: ")+v.labels(f, s.Theirs)+".")
	}
	t.Log, t.Members = f.one.In(v.words.Language)+": "+t.Text, s.Changed
	return &t
}

// notUndone says that somebody has changed the same members since. Their values stay,
// and the history shows them.
func (v *request) notUndone(f *family, id string, m *merged) view {
	var names []string
	for _, c := range m.Conflicts {
		names = append(names, c.Name)
	}
	what := v.labels(f, names)
	path := "/" + f.name + "/" + id
	return v.done(path, &toast{Bad: true, Href: path + "#history", HrefText: v.words.Say("Verlauf", "History"),
		Text: v.words.Say("Nicht zurückgenommen. Inzwischen noch einmal geändert: "+what+".", "Not undone. Changed again since: "+what+"."),
		Log:  v.words.Say("Nicht zurückgenommen: inzwischen geändert.", "Not undone: changed since.")})
}

// get reads a record.
func (v *request) get(f *family, id string) (values, error) {
	a := v.send(f.acts.get, arguments{id: id})
	if err := a.err(); err != nil {
		return nil, err
	}
	return flatten(a.Body)
}

// dropText says to what files belong that are dropped on a page.
func dropText(v *request, f *family, record values) string {
	if record == nil || !f.takesDocuments() {
		return v.words.Say("Als Dokumente ablegen", "File as documents")
	}
	name := f.heading(record)
	return v.words.Say("Ablegen bei „"+name+"“", "File with “"+name+"”")
}

// inBook reports whether records of a family are entries of the address book.
func (f *family) inBook() bool { return f == &contacts || f == &companies }

// at returns the address of a page of the record, with the list that it was opened
// from.
func (p recordPage) at(page string) string {
	return p.list.listing.at("/" + p.family.name + "/" + p.record["id"] + page)
}

// path returns the address of a page of the record.
func (p recordPage) path(v *request, page string) templ.SafeURL {
	return v.look().To("/" + p.family.name + "/" + p.record["id"] + page)
}

// door says by which door a change came, unless it came by a page. Kartei itself hands
// over the entries of who leaves, and makes the sample office.
func door(w i18n.Words, c record.Change) string {
	switch c.Door {
	case "web":
		return ""
	case "rest":
		return w.Say("über die API", "through the API")
	case "mcp":
		return w.Say("über einen Assistenten", "through an assistant")
	case "job":
		if c.Act == "updated" {
			return w.Say("von Kartei, bei der Übergabe von Einträgen", "by Kartei, as entries were handed over")
		}
		return w.Say("von Kartei, als Beispiel", "by Kartei, as an example")
	}
	return w.Say("vom Betreiber", "by the operator")
}

// credentialOf names the key or the application of a change. Who made a key, and so has seen
// its secret, is said unless that is who the change is by.
func credentialOf(v *request, c record.Change, names map[string]string) string {
	switch {
	case c.Key != nil:
		title, made := keyTitle(c.Key.Name, c.Key.Environment, c.Key.KidShort), keyMadeBy(v, c.Key.MadeBy, names)
		if c.Key.MadeBy == c.Principal {
			return v.words.Say("mit dem Schlüssel ", "with the key ") + title
		}
		return v.words.Say("mit dem Schlüssel "+title+", erstellt "+made, "with the key "+title+", created "+made)
	case names[c.Credential] != "":
		return v.words.Say("durch die Anwendung ", "by the application ") + names[c.Credential]
	}
	return ""
}

// textFact says how much of a file's text was read, if that is not all of it.
func textFact(v *request, record values) string {
	status, reason := record["textStatus"], record["textReason"]
	say := v.words.Say
	switch status {
	case "none":
		if strings.HasPrefix(record["contentType"], "image/") {
			return say("Bilder werden nicht als Text gelesen. Die Suche findet die Datei nur über Name und Schlagwörter.", "Pictures are not read as text. The search finds the file by name and tags only.")
		}
		return say("Die Datei enthält keinen lesbaren Text, zum Beispiel weil sie ein Scan ist. Die Suche findet sie nur über Name und Schlagworte.", "The file has no readable text, for example because it is a scan. The search finds it by name and tags only.")
	case "partial":
		return say("Nur teilweise gelesen: ", "Only read in part: ") + missingText(v, reason) + " " + say("Die Suche findet nur diesen Teil.", "The search finds this part only.")
	case "unread":
		return say("Nicht gelesen: ", "Not read: ") + missingText(v, reason) + " " + say("Die Suche findet die Datei nur über Name und Schlagworte.", "The search finds the file by name and tags only.")
	}
	return ""
}

// missingText says why text of a file is missing.
func missingText(v *request, reason string) string {
	say := v.words.Say
	switch reason {
	case "encrypted":
		return say("Der Inhalt ist verschlüsselt oder mit einem Kennwort geschützt.", "The content is encrypted or protected by a password.")
	case "damaged", "broken":
		return say("Die Datei ist beschädigt oder unvollständig.", "The file is damaged or incomplete.")
	case "too_long":
		return say("Der Text ist länger, als gelesen wird.", "The text is longer than Kartei reads.")
	case "too_complex", "inflated", "memory", "time", "crashed":
		return say("Die Datei ist zu groß oder zu aufwendig.", "The file is too large or too complex.")
	case "scanned":
		return say("Einige Seiten sind Bilder, zum Beispiel Scans.", "Some pages are pictures, for example scans.")
	case "contained":
		return say("Dateien in der Datei werden nicht gelesen, zum Beispiel Anhänge.", "Files inside of the file are not read, for example attachments.")
	case "overdrawn":
		return say("Die Lesezeit Ihrer Organisation war verbraucht.", "The reading time of your organization was used up.")
	case "unavailable", "unconfined":
		return say("Dieser Server liest keine Dateien.", "This server does not read files.")
	}
	return say("Dateien dieser Art werden hier nicht gelesen.", "Files of this kind are not read here.")
}
