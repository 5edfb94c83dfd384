package imports

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"kartei/api/op"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/record"
	"kartei/record/contact"
	"kartei/store/db"
)

// Of several entries of one file about a contact that the file brought, the later ones fill
// what the first has not. What they say otherwise goes into the note. How an import treats
// records that were there before makes no difference to it.

// selectMade finds which of some records an import has created, and of which entries.
const selectMade = `select record_id, number, line, file from import_lines where organization = $1 and import_id = $2 and state = 'created' and record_id `

// readMade notes of entries that the import itself created the records that they are about,
// and of which entries it did. A contact that it created is no namesake.
func (x *work) readMade(ctx context.Context, tx db.Tx, list []*candidate) error {
	var ids []string
	for _, n := range list {
		if id := n.there(); id != "" {
			ids = append(ids, id)
		}
	}
	if x.state != Running || len(ids) == 0 {
		return nil
	}
	rows, err := tx.Query(ctx, selectMade+tx.Dialect().In("$3"), x.organization, x.id, db.Texts(record.Unique(ids)))
	if err != nil {
		return err
	}
	defer rows.Close()
	all := map[string]sighting{}
	for rows.Next() {
		var id, file string
		var s sighting
		if err := rows.Scan(&id, &s.number, &s.line, &file); err != nil {
			return err
		}
		if s.file, err = x.openFile(s.number, file); err != nil {
			return err
		}
		all[id] = s
	}
	for _, n := range list {
		first, made := all[n.there()]
		switch {
		case !made:
		case n.match == nil && !n.firm:
			n.namesake = ""
		default:
			n.made, n.first = n.match != nil, first
			n.first.firmKey = n.firmKey
		}
	}
	return rows.Err()
}

// there is the record that an entry is about, or else a contact of its name.
func (x *candidate) there() string {
	switch {
	case x.match != nil:
		return x.match.ID
	case x.firmMatch != nil:
		return x.firmMatch.ID
	}
	return x.namesake
}

// membersOf returns members as a body has them.
func membersOf(fields any) (has map[string]any, err error) {
	raw, err := json.Marshal(fields)
	if err == nil {
		err = json.Unmarshal(raw, &has)
	}
	return has, err
}

// joinedEntry is an entry on its way to a contact that an earlier entry of the file
// made.
type joinedEntry struct {
	entry
	note string
}

// line adds a value as a line of the note, unless the note has it.
func (j *joinedEntry) line(member string, i item) {
	if line := j.say(member) + ": " + strings.ReplaceAll(i.text, "\n", ", "); !hasLine(j.note, line) {
		j.move(member, j.say(member), i, noPlace, onlyOne)
	}
}

// itemOf returns a value as it is told.
func (e *entry) itemOf(member, text string) item {
	i := item{text: text}
	for _, name := range []string{"=" + member, member} {
		if list := e.has(name); len(list) > 0 {
			i.heading = list[0].heading
			break
		}
	}
	return i
}

// join returns what an entry changes of a contact that an earlier one made, and what is told
// of what it says otherwise. otherFirm says that it has another company.
func (x *candidate) join(has map[string]any, otherFirm bool) (map[string]any, []problem) {
	j := joinedEntry{entry: *x.entry}
	j.note, _ = has["note"].(string)
	j.lines, j.told, j.noteSize = nil, nil, utf8.RuneCountInString(j.note)
	body := maps.Clone(x.body)
	delete(body, "visibility")
	delete(body, "note")
	for _, name := range slices.Sorted(maps.Keys(body)) {
		switch value := body[name].(type) {
		case string:
			if is, _ := has[name].(string); is != "" && !strings.EqualFold(is, value) {
				j.line(name, x.itemOf(name, value))
			}
		case map[string]any:
			if is, _ := has[name].(map[string]any); contradicts(value, is) {
				i := x.itemOf("address.city", addressLine(value))
				j.line(name, i)
				delete(body, name)
			}
		case []string:
			body[name] = j.tagsFor(has, value, x)
		}
	}
	if otherFirm {
		j.move(targetCompany, j.say("firm"), x.itemOf(targetCompany, x.company), noPlace, onlyOne)
	}
	for line := range strings.Lines(x.text("note")) {
		if line = strings.TrimSuffix(line, "\n"); line != "" && !hasLine(j.note, line) && !j.addLine(line) {
			j.tell(LeftOut, "note", x.itemOf("note", line), fault.TooLong, noteFull)
		}
	}
	patch := changed(body, has, Fill)
	if len(j.lines) > 0 {
		patch["note"] = strings.TrimPrefix(j.note+"\n"+strings.Join(j.lines, "\n"), "\n")
	}
	return patch, j.told
}

var noteFull = i18n.Text("A note has at most 10,000 characters.")

// tagsFor returns the tags for which a contact has room. The others become lines.
func (j *joinedEntry) tagsFor(has map[string]any, tags []string, x *candidate) (list []string) {
	known, _ := has["tags"].([]any)
	room := record.MaxTags - len(known)
	for _, tag := range tags {
		switch {
		case slices.Contains(known, any(tag)):
		case room > 0:
			room--
			list = append(list, tag)
		default:
			j.line("tags", x.itemOf("tags", tag))
		}
	}
	return list
}

// contradicts reports whether an address has a part that another one has otherwise.
func contradicts(a, b map[string]any) bool {
	for part, value := range a {
		x, _ := value.(string)
		if y, _ := b[part].(string); other(x, y) && !strings.EqualFold(x, y) {
			return true
		}
	}
	return false
}

// addressLine returns an address as one line.
func addressLine(a map[string]any) string {
	text := func(part string) string { s, _ := a[part].(string); return s }
	parts := []string{
		text("street"), strings.TrimSpace(text("postalCode") + " " + text("city")), text("region"),
		text("country"),
	}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ", ")
}

// judgeJoin says what would become of an entry about a contact that an earlier one makes.
func (x *work) judgeJoin(ctx context.Context, c *op.Call, n *candidate, first int64) (Outcome, []problem, error) {
	has := x.joined[first]
	if has == nil {
		list, err := x.lines(ctx, c.Tx, selectLines, first-1, 1)
		if err != nil || len(list) == 0 {
			return Updated, nil, err
		}
		e := x.entryOf(list[0].values, clock.Now(x.Clock), c.Actor.May("companies:write"))
		if has, err = membersOf(e.body); err != nil {
			return "", nil, err
		}
		if e.company != "" {
			has[targetCompany] = nameKey(e.company)
		}
		x.joined[first] = has
	}
	firm, _ := has[targetCompany].(string)
	patch, told := n.join(has, other(firm, n.companyKey))
	outcome := n.joinedAs(len(patch) > 0 || firm == "" && n.companyKey != "", x.Options.Duplicates)
	if has[targetCompany] == nil && n.companyKey != "" {
		has[targetCompany] = n.companyKey
	}
	more, err := membersOf(patch)
	for name, value := range more {
		inner, is := has[name].(map[string]any)
		if part, too := value.(map[string]any); is && too {
			maps.Copy(inner, part)
			continue
		}
		has[name] = value
	}
	return outcome, told, err
}

// joinedAs returns the outcome of an entry that changes a contact of an earlier one, or not.
func (x *candidate) joinedAs(changes bool, how Duplicates) Outcome {
	switch {
	case changes:
		return Updated
	case how == Skip:
		return Skipped
	}
	return Unchanged
}

// join changes a contact that an earlier entry made by a later one.
func (b *batch) join(ctx context.Context, n *candidate, target string) (r result, err error) {
	before, _, err := contact.Contacts.Members(ctx, b.Call, target)
	if err != nil {
		return r, err
	}
	has, err := membersOf(before)
	if err != nil {
		return r, err
	}
	n.private = n.private || before.Visibility == record.Private
	firm, made := text(before.CompanyID), (*string)(nil)
	known := n.companyID
	for _, key := range []string{n.companyKey, n.cacheKey()} {
		if known == "" && n.companyKey != "" {
			known = cmp.Or(b.made[key], b.companies[key])
		}
	}
	patch, told := n.join(has, firm != "" && n.companyKey != "" && known != firm)
	if firm == "" && n.companyKey != "" {
		var company string
		if company, made, err = b.companyFor(ctx, n); err != nil {
			return r, err
		}
		patch["companyId"] = company
	}
	r, err = b.write(ctx, updateContact, selectRevision, n.number, target, before, patch)
	if r.outcome == Unchanged {
		r.outcome = n.joinedAs(false, b.Options.Duplicates)
	}
	r.company, r.told = made, told
	return r, err
}
