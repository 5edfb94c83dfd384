package entry

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/record"
	"kartei/transfer/imports/mapping"
)

// What an entry changes of a record that is there.

// Patch returns what an entry changes of a record, by the way that was chosen for
// duplicates. before are the members of the record.
func (e *Entry) Patch(before any, how mapping.Duplicates, companyID string) (map[string]any, error) {
	has, err := Members(before)
	if err != nil {
		return nil, err
	}
	body := map[string]any{}
	for name, value := range e.Body {
		body[name] = value
	}
	if companyID != "" && !e.Firm {
		body["companyId"] = companyID
	}
	delete(body, "visibility") // who sees a record that is there is no matter of a file
	patch := changed(body, has, how)
	e.patchNote(patch, has)
	return patch, nil
}

// patchNote keeps the lines of the note for values that no member takes: those that a
// record lacks are added to its note, as far as it has room.
func (e *Entry) patchNote(patch, has map[string]any) {
	note, kept := has["note"].(string)
	if _, changes := patch["note"]; changes || !kept {
		return
	}
	all := note
	for _, line := range e.lines {
		if !hasLine(all, line) && utf8.RuneCountInString(all)+utf8.RuneCountInString(line) < maxNote {
			all += "\n" + line
		}
	}
	if all != note {
		patch["note"] = all
	}
}

// changed returns the members of a body that change what a record has.
func changed(body, has map[string]any, how mapping.Duplicates) map[string]any {
	patch := map[string]any{}
	for name, value := range body {
		is := has[name]
		switch value := value.(type) {
		case map[string]any:
			inner, _ := is.(map[string]any)
			if p := changed(value, inner, how); len(p) > 0 {
				patch[name] = p
			}
		case []string: // tags are added
			var tags []string
			list, _ := is.([]any)
			for _, tag := range list {
				tags = append(tags, tag.(string))
			}
			if all := record.Unique(append(tags, value...)); len(all) > len(tags) {
				patch[name] = all
			}
		default:
			if is == nil || how == mapping.Replace && !reflect.DeepEqual(is, value) {
				patch[name] = value
			}
		}
	}
	return patch
}

// Members returns members as a body has them.
func Members(fields any) (has map[string]any, err error) {
	raw, err := json.Marshal(fields)
	if err != nil {
		return has, err
	}
	err = json.Unmarshal(raw, &has)
	return has, err
}

// joinedEntry is an entry on its way to a contact that an earlier entry of the file
// made.
type joinedEntry struct {
	Entry
	note string
}

// line adds a value as a line of the note, unless the note has it.
func (j *joinedEntry) line(member string, i item) {
	if line := j.say(member) + ": " + strings.ReplaceAll(i.text, "\n", ", "); !hasLine(j.note, line) {
		j.move(member, j.say(member), i, noPlace, onlyOne)
	}
}

// Join returns what an entry changes of a contact that an earlier one made, and what is told
// of what it says otherwise. otherFirm says that it has another company.
func (e *Entry) Join(has map[string]any, otherFirm bool) (map[string]any, []Problem) {
	j := joinedEntry{Entry: *e}
	j.note, _ = has["note"].(string)
	j.lines, j.Told, j.noteSize = nil, nil, utf8.RuneCountInString(j.note)
	body := maps.Clone(e.Body)
	delete(body, "visibility")
	delete(body, "note")
	for _, name := range slices.Sorted(maps.Keys(body)) {
		switch value := body[name].(type) {
		case string:
			if is, _ := has[name].(string); is != "" && !strings.EqualFold(is, value) {
				j.line(name, e.itemOf(name, value))
			}
		case map[string]any:
			if is, _ := has[name].(map[string]any); contradicts(value, is) {
				i := e.itemOf("address.city", addressLine(value))
				j.line(name, i)
				delete(body, name)
			}
		case []string:
			body[name] = j.tagsFor(has, value)
		}
	}
	if otherFirm {
		j.move(mapping.Company, j.say("firm"), e.itemOf(mapping.Company, e.Company), noPlace, onlyOne)
	}
	for line := range strings.Lines(e.Text("note")) {
		if line = strings.TrimSuffix(line, "\n"); line != "" && !hasLine(j.note, line) && !j.addLine(line) {
			j.tell(LeftOut, "note", e.itemOf("note", line), fault.TooLong, noteFull)
		}
	}
	patch := changed(body, has, mapping.Fill)
	if len(j.lines) > 0 {
		patch["note"] = strings.TrimPrefix(j.note+"\n"+strings.Join(j.lines, "\n"), "\n")
	}
	return patch, j.Told
}

var noteFull = i18n.Text("A note has at most 10,000 characters.")

// tagsFor returns the tags for which a contact has room. The others become lines.
func (j *joinedEntry) tagsFor(has map[string]any, tags []string) (list []string) {
	known, _ := has["tags"].([]any)
	room := record.MaxTags - len(known)
	for _, tag := range tags {
		switch {
		case slices.Contains(known, any(tag)):
		case room > 0:
			room--
			list = append(list, tag)
		default:
			j.line("tags", j.itemOf("tags", tag))
		}
	}
	return list
}

// contradicts reports whether an address has a part that another one has otherwise.
func contradicts(a, b map[string]any) bool {
	for part, value := range a {
		x, _ := value.(string)
		if y, _ := b[part].(string); x != "" && y != "" && !strings.EqualFold(x, y) {
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
