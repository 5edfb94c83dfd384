package office

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"kartei/api"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/id"
	"kartei/transfer/bulk"
	"kartei/web/ui"
)

const (
	// mostChosen bounds the chosen records: a page of a list shows no more.
	mostChosen = pageSize
	// batchSize bounds the calls of a batch.
	batchSize = 20
	// countedFrom is the largest number of records that are erased without typing it.
	countedFrom = 5
	// mostErased is the number of deletions that a session may make in a minute.
	mostErased = 30
)

// pick is a chosen record, at the revision and by the name that was seen.
type pick struct{ id, revision, name string }

// bulkDone is an act on chosen records, and its outcome.
type bulkDone struct {
	family *family
	act    string
	picks  []pick
	// records are the chosen ones as they were read before.
	records []values
	// done are those that were changed, as they are now.
	done    []values
	refused []notChanged
	// member is the member that changes, and former are its values before, by id.
	member string
	former map[string]string
	// what is the value that was set, in words.
	what string
	// back leads to the list.
	back string
}

// notChanged is a chosen record that stayed as it was. One that is gone has no page.
type notChanged struct {
	id, name, why string
	gone          bool
}

// beginBulk acts on the chosen records of a list: each on its own, with the revision that
// the person saw.
func beginBulk(f *family) func(*request) view {
	return func(v *request) view {
		b := bulkDone{family: f, act: v.PathValue("act"), former: map[string]string{}}
		b.back = f.listingOf(v.URL.Query()).at("/" + f.name)
		if v.form.Get(wholeField) != "" {
			return v.changeOnAll(&b)
		}
		var err error
		if b.picks, err = v.picks(f); err != nil {
			return v.failed(err)
		}
		if len(b.picks) == 0 {
			return v.notDone(b, v.words.Say("Es ist kein Eintrag ausgewählt.", "No entry is selected."))
		}
		if err := v.readChosen(&b); err != nil {
			return v.failed(err)
		}
		switch b.act {
		case "delete":
			return v.askToErase(b, false)
		case "erase":
			if len(b.records) > countedFrom && v.form.text("count") != strconv.Itoa(len(b.records)) {
				return v.askToErase(b, true)
			}
		}
		calls, problem := v.callsOf(&b)
		if problem != "" {
			return v.notDone(b, problem)
		}
		if v.asksFirst(&b, calls) { // before anything is changed
			v.stale = true
			return v.failed(&fault.Fault{Code: fault.Forbidden})
		}
		if err := v.runAll(&b, calls); err != nil {
			return v.failed(err)
		}
		if len(b.refused) > 0 {
			out := v.ok(b.title(v), f.name, bulkReport(v, b))
			return out
		}
		return v.done(b.back, b.note(v))
	}
}

// asksFirst reports whether a call gives a private record of somebody else away, and the sign-in
// is not recent (record.giveAway).
func (v *request) asksFirst(b *bulkDone, calls []batchCall) bool {
	if b.member != "ownerId" && b.member != "visibility" || clock.Now(v.office.Clock) < v.session.FreshUntil {
		return false
	}
	return slices.ContainsFunc(b.records, func(r values) bool {
		return r["visibility"] == "private" && r["ownerId"] != v.session.Principal.ID &&
			slices.ContainsFunc(calls, func(c batchCall) bool { return c.ID == r["id"] })
	})
}

// notDone says above the list why nothing was done. Without a script a page says it.
func (v *request) notDone(b bulkDone, why string) view {
	if v.scripted() {
		return v.done(b.back, &toast{Bad: true, Text: why})
	}
	return v.problem(fault.ValidationFailed.Status(), problemPage{Title: v.words.Say("Nichts geändert", "Nothing changed"), Text: why})
}

// picks returns the chosen records of the form. A choice that no page of the family
// offers is refused as a whole.
func (v *request) picks(f *family) ([]pick, error) {
	var list []pick
	for _, text := range v.form.Values["pick"] {
		parts := append(strings.SplitN(text, "|", 3), "", "")
		p := pick{parts[0], parts[1], parts[2]}
		if n, err := strconv.ParseInt(p.revision, 10, 64); err != nil || n < 1 || !f.holds(p.id) {
			return nil, &fault.Fault{Code: fault.ValidationFailed, Detail: &unknownPick}
		}
		if !slices.ContainsFunc(list, func(q pick) bool { return q.id == p.id }) {
			list = append(list, p)
		}
		if len(list) > mostChosen {
			return nil, &fault.Fault{Code: fault.ValidationFailed, Detail: &tooManyPicks}
		}
	}
	return list, nil
}

var (
	unknownPick = text(
		"In der Auswahl ist etwas, das kein Eintrag dieser Liste ist. Es wurde nichts geändert. Bitte wählen Sie in der Liste neu aus.",
		"The selection has something that is no entry of this list. Nothing was changed. Please select again in the list.")
	tooManyPicks = text(
		"Auf einmal lassen sich höchstens "+strconv.Itoa(mostChosen)+" Einträge auswählen. Es wurde nichts geändert.",
		"At most "+strconv.Itoa(mostChosen)+" entries can be selected at once. Nothing was changed.")
)

// holds reports whether a text is the id of a record of the family, which may be gone.
func (f *family) holds(text string) bool {
	prefix, _, _ := strings.Cut(text, "_")
	return pathsByPrefix[prefix] == "/"+f.name+"/" && id.Valid(prefix+"_", text)
}

// batchCall is a call of a batch.
type batchCall struct {
	ID      string            `json:"id"`
	Method  string            `json:"method"`
	Path    string            `json:"path"`
	Headers map[string]string `json:"headers,omitempty"`
	Body    map[string]any    `json:"body,omitempty"`
}

// batchResult is the answer to a call of a batch.
type batchResult struct {
	ID     string          `json:"id"`
	Status int             `json:"status"`
	Body   json.RawMessage `json:"body"`
}

// batch runs calls, as many at once as a batch has.
func (v *request) batch(calls []batchCall) ([]batchResult, error) {
	var all []batchResult
	for part := range slices.Chunk(calls, batchSize) {
		out, err := fetch[struct {
			Results []batchResult `json:"results"`
		}](v, api.RunBatch, arguments{body: map[string]any{"calls": part}})
		if err != nil {
			return all, err
		}
		all = append(all, out.Results...)
	}
	return all, nil
}

// readChosen reads the chosen records. Those that are gone are refused.
func (v *request) readChosen(b *bulkDone) error {
	var calls []batchCall
	for _, p := range b.picks {
		calls = append(calls, batchCall{ID: p.id, Method: "GET", Path: "/" + b.family.name + "/" + p.id})
	}
	results, err := v.batch(calls)
	for _, r := range results {
		if r.Status != http.StatusOK {
			b.refused = append(b.refused, notChanged{r.ID, b.picked(r.ID).name, v.why(r), r.Status == http.StatusNotFound})
			continue
		}
		record, err := flatten(r.Body)
		if err != nil {
			return err
		}
		b.records = append(b.records, record)
	}
	return err
}

// why says why a call of a batch was refused.
func (v *request) why(r batchResult) string {
	switch r.Status {
	case http.StatusNotFound:
		return v.words.Say("Inzwischen gelöscht, oder Sie dürfen ihn nicht mehr sehen.", "Deleted in the meantime, or you may no longer see it.")
	case http.StatusPreconditionFailed:
		return v.words.Say("Jemand hat ihn inzwischen geändert. Bitte sehen Sie ihn noch einmal an.", "Somebody changed it in the meantime. Please look at it again.")
	case http.StatusForbidden:
		return v.words.Say("Das dürfen nur der Eigentümer und die Administration.", "Only the owner and admins may do this.")
	case http.StatusTooManyRequests:
		return v.words.Say("Gerade zu viele Änderungen auf einmal. Bitte versuchen Sie es in einer Minute noch einmal.", "Too many changes at once. Please try again in a minute.")
	}
	var problem struct {
		Detail string `json:"detail"`
		Errors []struct {
			Message string `json:"message"`
		} `json:"errors"`
	}
	_ = json.Unmarshal(r.Body, &problem) // without words, the title follows
	if len(problem.Errors) > 0 {
		return problem.Errors[0].Message
	}
	return first(problem.Detail, v.words.Say("Nicht gespeichert.", "Not saved."))
}

// callsOf returns the calls of an act on the records that it changes, or the problem
// that prevents it.
func (v *request) callsOf(b *bulkDone) (calls []batchCall, problem string) {
	change, problem := v.changeOf(b)
	if problem != "" {
		return nil, problem
	}
	for i, record := range b.records {
		match := b.picked(record["id"]).revision
		if b.member == "tags" && b.act != "restore" {
			match = record["revision"] // a tag more or less takes nothing from another change
		}
		call := batchCall{ID: record["id"], Method: "DELETE", Path: "/" + b.family.name + "/" + record["id"], Headers: map[string]string{
			"If-Match": `"r` + match + `"`, "Idempotency-Key": v.form.token + "." + strconv.Itoa(i),
		}}
		if b.act != "erase" {
			value := change(record)
			if value == record[b.member] {
				continue
			}
			b.former[record["id"]] = record[b.member]
			call.Method, call.Body = "PATCH", values{b.member: value}.patch([]string{b.member})
		}
		calls = append(calls, call)
	}
	return calls, ""
}

// picked returns a record as it was chosen.
func (b *bulkDone) picked(id string) pick {
	return b.picks[slices.IndexFunc(b.picks, func(p pick) bool { return p.id == id })]
}

// changeOf returns the new value of the member that an act changes.
func (v *request) changeOf(b *bulkDone) (change func(values) string, problem string) {
	switch b.act {
	case "tag", "untag":
		b.member, b.what = "tags", tagIn(v.form.Values)
		if b.what == "" {
			return nil, v.words.Say("Bitte geben Sie ein Schlagwort ein.", "Please enter a tag.")
		}
		return func(r values) string { return retagged(r["tags"], b.what, b.act == "tag") }, ""
	case "owner":
		b.member = "ownerId"
		id, text := v.form.text("ownerId"), v.form.text("ownerId"+textSuffix)
		if id == "" {
			found, err := v.seekPeople(text)
			c, clear := found.only()
			if err != nil || !clear || text == "" {
				return nil, v.words.Say("Der Name passt auf niemanden oder auf mehrere. Bitte wählen Sie aus der Liste.", "The name fits nobody or several people. Please choose from the list.")
			}
			id, text = c.Value, c.Text
		}
		b.what = text
		return func(values) string { return id }, ""
	case "private", "organization":
		b.member, b.what = "visibility", b.family.field("visibility").labelOf(b.act).In(v.words.Language)
		return func(values) string { return b.act }, ""
	case "restore":
		if b.member = v.form.Get("member"); !slices.Contains([]string{"tags", "ownerId", "visibility"}, b.member) {
			return nil, v.words.Say("Das lässt sich nicht rückgängig machen.", "This cannot be undone.")
		}
		return func(r values) string { return v.form.text("former." + r["id"]) }, ""
	case "erase":
		return nil, ""
	}
	return nil, v.words.Say("Das gibt es hier nicht.", "There is no such action here.")
}

// retagged returns the tags of a record with one more, or without one.
func retagged(tags, tag string, more bool) string {
	list := lines(tags)
	at := slices.IndexFunc(list, func(t string) bool { return strings.EqualFold(t, tag) })
	switch {
	case more && at < 0:
		list = append(list, tag)
	case !more && at >= 0:
		list = slices.Delete(list, at, at+1)
	}
	return strings.Join(list, "\n")
}

// runAll runs the calls of an act, and sorts their answers.
func (v *request) runAll(b *bulkDone, calls []batchCall) error {
	names := map[string]string{}
	for _, r := range b.records {
		names[r["id"]] = b.family.heading(r)
	}
	results, err := v.batch(calls)
	for _, r := range results {
		switch {
		case r.Status == http.StatusNoContent || r.Status == http.StatusNotFound && b.act == "erase":
			b.done = append(b.done, values{"id": r.ID})
		case r.Status != http.StatusOK:
			b.refused = append(b.refused, notChanged{r.ID, names[r.ID], v.why(r), r.Status == http.StatusNotFound})
		default:
			record, err := flatten(r.Body)
			if err != nil {
				return err
			}
			b.done = append(b.done, record)
		}
	}
	return err
}

// title says how many of the chosen records were changed.
func (b *bulkDone) title(v *request) string {
	all := len(b.picks)
	return v.words.Say(strconv.Itoa(len(b.done))+" von "+strconv.Itoa(all)+" Einträgen geändert", strconv.Itoa(len(b.done))+" of "+strconv.Itoa(all)+" entries changed")
}

// note says what was done, and offers to undo it if that is possible.
func (b *bulkDone) note(v *request) *toast {
	n := v.words.Plural(len(b.done), "Ein Eintrag", "%d Einträge", "One entry", "%d entries")
	say := v.words.Say
	t := &toast{Text: map[string]string{
		"tag":          say(n+": Schlagwort „"+b.what+"“ ergänzt.", n+": tag “"+b.what+"” added."),
		"untag":        say(n+": Schlagwort „"+b.what+"“ entfernt.", n+": tag “"+b.what+"” removed."),
		"owner":        say(n+": an "+b.what+" übergeben.", n+": handed over to "+b.what+"."),
		"private":      say(n+": sichtbar nur für Eigentümer und Administration.", n+": visible to "+b.what+"."),
		"organization": say(n+": sichtbar für "+b.what+".", n+": visible to "+b.what+"."),
		"restore":      say(n+": Änderung zurückgenommen.", n+": change undone."),
		"erase":        say(n+" gelöscht.", n+" deleted."),
	}[b.act]}
	if len(b.done) == 0 {
		t.Text = say("Nichts geändert: Das gilt für die ausgewählten Einträge schon.", "Nothing changed: this is so for the selected entries already.")
	}
	if b.act == "erase" || b.act == "restore" || len(b.done) == 0 {
		return t
	}
	u := &undo{Action: b.address("restore"), Token: v.mint(), Fields: []ui.Hidden{{Name: "member", Value: b.member}}}
	for _, r := range b.done {
		u.Fields = append(u.Fields, ui.Hidden{Name: "pick", Value: chosen(b.family, r)}, ui.Hidden{Name: "former." + r["id"], Value: b.former[r["id"]]})
	}
	t.Undo = u
	return t
}

// address returns the address of an act on the same list.
func (b *bulkDone) address(act string) string {
	path, query, _ := strings.Cut(b.back, "?")
	if query != "" {
		query = "?" + query
	}
	return "/bulk" + path + "/" + act + query
}

// askToErase asks before records are erased: for their number, if they are many.
func (v *request) askToErase(b bulkDone, wrong bool) view {
	switch {
	case len(b.records) == 0:
		return v.done(b.back, &toast{Bad: true, Text: v.words.Say("Die ausgewählten Einträge gibt es nicht mehr.", "The selected entries do not exist any more.")})
	case len(b.records) > mostErased:
		return v.done(b.back, &toast{Bad: true, Text: v.words.Say("Auf einmal lassen sich höchstens 30 Einträge löschen.", "At most 30 entries can be deleted at once.")})
	}
	out := v.ok(v.words.Say("Einträge löschen", "Delete entries"), b.family.name, bulkDeletion(v, b, wrong))
	if wrong {
		out.status = fault.ValidationFailed.Status()
	}
	return out
}

// countField is the field in which the number of records is typed.
func countField(v *request, n int, wrong bool) ui.Field {
	f := ui.Field{
		Name: "count", Label: v.words.Say("Zur Sicherheit: Wie viele Einträge werden gelöscht?", "To be sure: how many entries will be deleted?"),
		Autocomplete: "off", Required: true, Focus: wrong,
	}
	if wrong {
		f.Errors = []string{v.words.Say("Bitte geben Sie die Zahl ein: ", "Please type the number: ") + strconv.Itoa(n)}
	}
	return f
}

// changeOnAll begins an act on all records of a list, and leads to its page.
func (v *request) changeOnAll(b *bulkDone) view {
	set, problem := v.changeOf(b)
	kind, value := bulk.Kind(b.act), b.what
	switch {
	case problem != "":
		return v.notDone(*b, problem)
	case b.act == "private" || b.act == "organization":
		kind, value = bulk.Visibility, b.act
	case b.act == "owner":
		value = set(nil)
	case b.act != "tag" && b.act != "untag":
		return v.notDone(*b, v.words.Say("Das geht nur mit einzeln ausgewählten Einträgen.", "This can be done with single selected entries only."))
	}
	l := b.family.listingOf(v.URL.Query())
	in := bulk.StartInput{Family: b.family.name, Kind: kind, Value: value}
	if l.Q != "" {
		in.Q = l.Q
	} else {
		in.Filters = map[string]string{}
		for name, values := range l.filters(v.session.Principal.ID) {
			in.Filters[name] = values[0]
		}
	}
	begun, err := ask(v, bulk.Start, in, once)
	switch {
	case fault.Is(err, fault.ValidationFailed):
		return v.notDone(*b, asFault(err).Fields[0].Message(v.words.Language))
	case fault.Is(err, fault.QuotaExhausted):
		return v.notDone(*b, v.reason(asFault(err)))
	case err != nil:
		return v.failed(err)
	}
	return v.done(changesPath+"/"+begun.ID, nil)
}

// wholeField is the box that chooses all records of a list.
const wholeField = "whole"
