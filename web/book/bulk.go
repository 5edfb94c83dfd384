package book

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"kartei/api"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/transfer/bulk"
	"kartei/web/records"
	"kartei/web/shell"
	"kartei/web/ui"
)

const (
	// maxChosen is the maximum number of selected records: a page of a list has no more.
	maxChosen = records.PageSize
	// batchSize is the maximum number of calls in a batch.
	batchSize = 20
	// countedFrom is the largest number of records that a person can erase without typing the
	// number.
	countedFrom = 5
	// maxErased is the maximum number of deletions of a session in a minute.
	maxErased = 30
)

// pick is a selected record, with the revision and the name that the person saw.
type pick struct{ id, revision, name string }

// bulkResult is a bulk action on selected records, and its outcome.
type bulkResult struct {
	family *records.Family
	act    string
	picks  []pick
	// records are the selected records as they were before the action.
	records []shell.Values
	// done are the changed records after the action.
	done    []shell.Values
	refused []unchangedRecord
	// member is the member that the action changes. former has its values before the action, by id.
	member string
	former map[string]string
	// what is the new value in words.
	what string
	// back is the path of the list.
	back string
}

// unchangedRecord is a selected record that the action did not change. gone says that the record no
// longer exists.
type unchangedRecord struct {
	id, name, why string
	gone          bool
}

// beginBulk returns the handler that runs a bulk action on the selected records of a list. It
// changes each record with a separate call, which expects the revision that the person saw.
func beginBulk(f *records.Family) func(*shell.Request) shell.View {
	return func(v *shell.Request) shell.View {
		b := bulkResult{family: f, act: v.PathValue("act"), former: map[string]string{}}
		b.back = f.ListingOf(v.URL.Query()).At("/" + f.Name)
		if v.Sent.Get(wholeField) != "" {
			return changeOnAll(v, &b)
		}
		var err error
		if b.picks, err = readPicks(v, f); err != nil {
			return v.Failed(err)
		}
		if len(b.picks) == 0 {
			return notDone(v, b, v.Words.Say("No entry is selected."))
		}
		if err := readChosen(v, &b); err != nil {
			return v.Failed(err)
		}
		switch b.act {
		case "delete":
			return askToErase(v, b, false)
		case "erase":
			if len(b.records) > countedFrom && v.Sent.Text("count") != strconv.Itoa(len(b.records)) {
				return askToErase(v, b, true)
			}
		}
		calls, problem := callsOf(v, &b)
		if problem != "" {
			return notDone(v, b, problem)
		}
		if asksFirst(v, &b, calls) { // the check comes before any change
			v.Stale = true
			return v.Failed(&fault.Fault{Code: fault.Forbidden})
		}
		if err := runAll(v, &b, calls); err != nil {
			return v.Failed(err)
		}
		if len(b.refused) > 0 {
			out := v.OK(b.title(v), f.Name, bulkReport(v, b))
			return out
		}
		return v.Done(b.back, b.note(v))
	}
}

// asksFirst reports whether a call makes another person's private record accessible to others while
// the sign-in is not recent (record.giveAway).
func asksFirst(v *shell.Request, b *bulkResult, calls []batchCall) bool {
	if b.member != "ownerId" && b.member != "visibility" || clock.Now(v.Site.Clock) < v.Session.FreshUntil {
		return false
	}
	return slices.ContainsFunc(b.records, func(r shell.Values) bool {
		return r["visibility"] == "private" && r["ownerId"] != v.Session.Principal.ID &&
			slices.ContainsFunc(calls, func(c batchCall) bool { return c.ID == r["id"] })
	})
}

// notDone returns the response if nothing was done. With scripts it is a note above the list, and
// otherwise a page.
func notDone(v *shell.Request, b bulkResult, why string) shell.View {
	if v.Scripted() {
		return v.Done(b.back, &shell.Toast{Bad: true, Text: why})
	}
	return v.Problem(fault.ValidationFailed.Status(), shell.ProblemPage{Title: v.Words.Say("Nothing changed"), Text: why})
}

// readPicks returns the selected records in the form. It refuses the whole form if a selection
// could not come from a page of the family.
func readPicks(v *shell.Request, f *records.Family) ([]pick, error) {
	var list []pick
	for _, text := range v.Sent.Values["pick"] {
		parts := append(strings.SplitN(text, "|", 3), "", "")
		p := pick{parts[0], parts[1], parts[2]}
		if n, err := strconv.ParseInt(p.revision, 10, 64); err != nil || n < 1 || records.FamilyOfID(p.id) != f {
			return nil, &fault.Fault{Code: fault.ValidationFailed, Detail: unknownPick}
		}
		if !slices.ContainsFunc(list, func(q pick) bool { return q.id == p.id }) {
			list = append(list, p)
		}
		if len(list) > maxChosen {
			return nil, &fault.Fault{Code: fault.ValidationFailed, Detail: tooManyPicks}
		}
	}
	return list, nil
}

var (
	unknownPick  = i18n.Text("The selection has something that is no entry of this list. Nothing was changed. Please select again in the list.")
	tooManyPicks = i18n.Format("At most %d entries can be selected at once. Nothing was changed.", maxChosen)
)

// batchCall is one call in the request of a batch.
type batchCall struct {
	ID      string            `json:"id"`
	Method  string            `json:"method"`
	Path    string            `json:"path"`
	Headers map[string]string `json:"headers,omitempty"`
	Body    map[string]any    `json:"body,omitempty"`
}

// batchResult is one result in the response of a batch.
type batchResult struct {
	ID     string          `json:"id"`
	Status int             `json:"status"`
	Body   json.RawMessage `json:"body"`
}

// batch runs calls in batches of batchSize.
func batch(v *shell.Request, calls []batchCall) ([]batchResult, error) {
	var all []batchResult
	for part := range slices.Chunk(calls, batchSize) {
		out, err := shell.Fetch[struct {
			Results []batchResult `json:"results"`
		}](v, api.RunBatch, shell.Arguments{Body: map[string]any{"calls": part}})
		if err != nil {
			return all, err
		}
		all = append(all, out.Results...)
	}
	return all, nil
}

// readChosen reads the selected records. Records that do not exist any more are added to b.refused.
func readChosen(v *shell.Request, b *bulkResult) error {
	var calls []batchCall
	for _, p := range b.picks {
		calls = append(calls, batchCall{ID: p.id, Method: "GET", Path: "/" + b.family.Name + "/" + p.id})
	}
	results, err := batch(v, calls)
	for _, r := range results {
		if r.Status != http.StatusOK {
			b.refused = append(b.refused, unchangedRecord{r.ID, b.picked(r.ID).name, why(v, r), r.Status == http.StatusNotFound})
			continue
		}
		record, err := shell.Flatten(r.Body)
		if err != nil {
			return err
		}
		b.records = append(b.records, record)
	}
	return err
}

// why returns the reason why a call of a batch was refused.
func why(v *shell.Request, r batchResult) string {
	switch r.Status {
	case http.StatusNotFound:
		return v.Words.Say("Deleted in the meantime, or you may no longer see it.")
	case http.StatusPreconditionFailed:
		return v.Words.Say("Somebody changed it in the meantime. Please look at it again.")
	case http.StatusForbidden:
		return v.Words.Say("Only the owner and admins may do this.")
	case http.StatusTooManyRequests:
		return v.Words.Say("Too many changes at once. Please try again in a minute.")
	}
	var problem struct {
		Detail string `json:"detail"`
		Errors []struct {
			Message string `json:"message"`
		} `json:"errors"`
	}
	_ = json.Unmarshal(r.Body, &problem) // without a detail, the default text follows
	if len(problem.Errors) > 0 {
		return problem.Errors[0].Message
	}
	return cmp.Or(problem.Detail, v.Words.Say("Not saved."))
}

// callsOf returns the calls of a bulk action for the records that it changes. If the action is not
// possible, it returns the problem as a text for the person.
func callsOf(v *shell.Request, b *bulkResult) (calls []batchCall, problem string) {
	change, problem := changeOf(v, b)
	if problem != "" {
		return nil, problem
	}
	for i, record := range b.records {
		match := b.picked(record["id"]).revision
		if b.member == "tags" && b.act != "restore" {
			match = record["revision"] // adding or removing a tag overwrites no other change
		}
		call := batchCall{ID: record["id"], Method: "DELETE", Path: "/" + b.family.Name + "/" + record["id"], Headers: map[string]string{
			"If-Match": `"r` + match + `"`, "Idempotency-Key": v.Sent.Token + "." + strconv.Itoa(i),
		}}
		if b.act != "erase" {
			value := change(record)
			if value == record[b.member] {
				continue
			}
			b.former[record["id"]] = record[b.member]
			call.Method, call.Body = "PATCH", shell.Values{b.member: value}.Patch([]string{b.member})
		}
		calls = append(calls, call)
	}
	return calls, ""
}

// picked returns the selection with this record id.
func (b *bulkResult) picked(id string) pick {
	return b.picks[slices.IndexFunc(b.picks, func(p pick) bool { return p.id == id })]
}

// changeOf returns a function that returns the new value of a record's member b.member.
func changeOf(v *shell.Request, b *bulkResult) (change func(shell.Values) string, problem string) {
	switch b.act {
	case "tag", "untag":
		b.member, b.what = "tags", records.TagIn(v.Sent.Values)
		if b.what == "" {
			return nil, v.Words.Say("Please enter a tag.")
		}
		return func(r shell.Values) string { return retagged(r["tags"], b.what, b.act == "tag") }, ""
	case "owner":
		b.member = "ownerId"
		id, text := v.Sent.Text("ownerId"), v.Sent.Text("ownerId"+records.TextSuffix)
		if id == "" {
			found, err := records.SeekPeople(v, text)
			c, clear := found.Only()
			if err != nil || !clear || text == "" {
				return nil, v.Words.Say("The name fits nobody or several people. Please choose from the list.")
			}
			id, text = c.Value, c.Text
		}
		b.what = text
		return func(shell.Values) string { return id }, ""
	case "private", "organization":
		b.member, b.what = "visibility", v.Words.Say(b.family.Field("visibility").LabelOf(b.act))
		return func(shell.Values) string { return b.act }, ""
	case "restore":
		if b.member = v.Sent.Get("member"); !slices.Contains([]string{"tags", "ownerId", "visibility"}, b.member) {
			return nil, v.Words.Say("This cannot be undone. [entries]")
		}
		return func(r shell.Values) string { return v.Sent.Text("former." + r["id"]) }, ""
	case "erase":
		return nil, ""
	}
	return nil, v.Words.Say("There is no such action here.")
}

// retagged returns the tags of a record with a tag added, or removed if more is false.
func retagged(tags, tag string, more bool) string {
	list := shell.Lines(tags)
	at := slices.IndexFunc(list, func(t string) bool { return strings.EqualFold(t, tag) })
	switch {
	case more && at < 0:
		list = append(list, tag)
	case !more && at >= 0:
		list = slices.Delete(list, at, at+1)
	}
	return strings.Join(list, "\n")
}

// runAll runs the calls of a bulk action, and sorts the records into b.done and b.refused.
func runAll(v *shell.Request, b *bulkResult, calls []batchCall) error {
	names := map[string]string{}
	for _, r := range b.records {
		names[r["id"]] = b.family.Heading(r)
	}
	results, err := batch(v, calls)
	for _, r := range results {
		switch {
		case r.Status == http.StatusNoContent || r.Status == http.StatusNotFound && b.act == "erase":
			b.done = append(b.done, shell.Values{"id": r.ID})
		case r.Status != http.StatusOK:
			b.refused = append(b.refused, unchangedRecord{r.ID, names[r.ID], why(v, r), r.Status == http.StatusNotFound})
		default:
			record, err := shell.Flatten(r.Body)
			if err != nil {
				return err
			}
			b.done = append(b.done, record)
		}
	}
	return err
}

// title returns a text that says how many of the selected records were changed.
func (b *bulkResult) title(v *shell.Request) string {
	all := len(b.picks)
	return v.Words.Say("%s of %s entries changed", strconv.Itoa(len(b.done)), strconv.Itoa(all))
}

// note returns a note that says what was done. It offers to undo the action if this is possible.
func (b *bulkResult) note(v *shell.Request) *shell.Toast {
	n := v.Words.Plural(len(b.done), "One entry", "%d entries")
	say := v.Words.Say
	t := &shell.Toast{Text: map[string]string{
		"tag":          say("%s: tag “%s” added.", n, b.what),
		"untag":        say("%s: tag “%s” removed.", n, b.what),
		"owner":        say("%s: handed over to %s.", n, b.what),
		"private":      say("%s: visible to the owner and admins only.", n),
		"organization": say("%s: visible to %s.", n, b.what),
		"restore":      say("%s: change undone.", n),
		"erase":        say("%s deleted.", n),
	}[b.act]}
	if len(b.done) == 0 {
		t.Text = say("Nothing changed: this is so for the selected entries already.")
	}
	if b.act == "erase" || b.act == "restore" || len(b.done) == 0 {
		return t
	}
	u := &shell.Undo{Action: b.address("restore"), Token: v.Mint(), Fields: []ui.HiddenField{{Name: "member", Value: b.member}}}
	for _, r := range b.done {
		u.Fields = append(u.Fields, ui.HiddenField{Name: "pick", Value: chosen(b.family, r)}, ui.HiddenField{Name: "former." + r["id"], Value: b.former[r["id"]]})
	}
	t.Undo = u
	return t
}

// address returns the address of another bulk action on the same list.
func (b *bulkResult) address(act string) string {
	path, query, _ := strings.Cut(b.back, "?")
	if query != "" {
		query = "?" + query
	}
	return "/bulk" + path + "/" + act + query
}

// askToErase returns the page that asks before records are erased. For more than countedFrom
// records, the person must type their number. wrong says that the typed number was wrong.
func askToErase(v *shell.Request, b bulkResult, wrong bool) shell.View {
	switch {
	case len(b.records) == 0:
		return v.Done(b.back, &shell.Toast{Bad: true, Text: v.Words.Say("The selected entries do not exist any more.")})
	case len(b.records) > maxErased:
		return v.Done(b.back, &shell.Toast{Bad: true, Text: v.Words.Say("At most 30 entries can be deleted at once.")})
	}
	out := v.OK(v.Words.Say("Delete entries"), b.family.Name, bulkDeletion(v, b, wrong))
	if wrong {
		return out.WithStatus(fault.ValidationFailed.Status())
	}
	return out
}

// countField returns the field for the number of records.
func countField(v *shell.Request, n int, wrong bool) ui.Field {
	f := ui.Field{
		Name: "count", Label: v.Words.Say("To be sure: how many entries will be deleted?"),
		Autocomplete: "off", Required: true, Focus: wrong,
	}
	if wrong {
		f.Errors = []string{v.Words.Say("Please type the number: %s", strconv.Itoa(n))}
	}
	return f
}

// changeOnAll starts a bulk action on all records of a list, and redirects to the page of its
// progress.
func changeOnAll(v *shell.Request, b *bulkResult) shell.View {
	set, problem := changeOf(v, b)
	kind, value := bulk.Kind(b.act), b.what
	switch {
	case problem != "":
		return notDone(v, *b, problem)
	case b.act == "private" || b.act == "organization":
		kind, value = bulk.Visibility, b.act
	case b.act == "owner":
		value = set(nil)
	case b.act != "tag" && b.act != "untag":
		return notDone(v, *b, v.Words.Say("This can be done with single selected entries only."))
	}
	l := b.family.ListingOf(v.URL.Query())
	in := bulk.StartInput{Family: b.family.Name, Kind: kind, Value: value}
	if l.Q != "" {
		in.Q = l.Q
	} else {
		in.Filters = map[string]string{}
		for name, values := range l.Filters(v.Session.Principal.ID) {
			in.Filters[name] = values[0]
		}
	}
	begun, err := shell.Ask(v, bulk.Start, in, shell.Once)
	switch {
	case fault.Is(err, fault.ValidationFailed):
		return notDone(v, *b, shell.AsFault(err).Fields[0].Message(v.Words.Language))
	case fault.Is(err, fault.QuotaExhausted):
		return notDone(v, *b, v.Reason(shell.AsFault(err)))
	case err != nil:
		return v.Failed(err)
	}
	return v.Done(shell.ChangesPath+"/"+begun.ID, nil)
}

// wholeField is the name of the checkbox that selects all records of a list.
const wholeField = "whole"
