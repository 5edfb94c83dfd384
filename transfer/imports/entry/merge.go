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

// This file has the changes of existing records by an entry.

// Patch returns the members that an entry changes in an existing record. before are the present
// members of the record. how is the option for duplicates.
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
	delete(body, "visibility") // a file does not change who can see an existing record
	patch := changed(body, has, how)
	e.patchNote(patch, has)
	return patch, nil
}

// patchNote adds the lines of the entry to the note of an existing record, unless the note contains
// them. Lines that do not fit are omitted.
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

// changed returns the members of body that differ from has and may be changed.
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
		case []string: // tags are added to the present ones
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

// Members returns the members of a record in the form of a JSON body.
func Members(fields any) (has map[string]any, err error) {
	raw, err := json.Marshal(fields)
	if err != nil {
		return has, err
	}
	err = json.Unmarshal(raw, &has)
	return has, err
}

// joinedEntry is an entry that changes a contact which an earlier entry of the same file created.
type joinedEntry struct {
	Entry
	note string
}

// line adds a value as a line of the note, unless the note contains the line.
func (j *joinedEntry) line(member string, i item) {
	if line := j.say(member) + ": " + strings.ReplaceAll(i.text, "\n", ", "); !hasLine(j.note, line) {
		j.move(member, j.say(member), i, noPlace, onlyOne)
	}
}

// Join returns the members that an entry changes in a contact which an earlier entry created. It
// also returns the problems of values that differ from the contact's. otherFirm says that the entry
// has another company.
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

// tagsFor returns the new tags, as many as the contact can have. Other tags become lines of the
// note.
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

// contradicts reports whether two addresses differ in a part that both have.
func contradicts(a, b map[string]any) bool {
	for part, value := range a {
		x, _ := value.(string)
		if y, _ := b[part].(string); x != "" && y != "" && !strings.EqualFold(x, y) {
			return true
		}
	}
	return false
}

// addressLine returns an address in one line.
func addressLine(a map[string]any) string {
	text := func(part string) string { s, _ := a[part].(string); return s }
	parts := []string{
		text("street"), strings.TrimSpace(text("postalCode") + " " + text("city")), text("region"),
		text("country"),
	}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ", ")
}
