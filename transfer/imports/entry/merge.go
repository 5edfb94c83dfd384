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

// Patch returns the members that an entry changes in an existing record, and the problems of values
// for which the record has no room. before are the present members of the record. how is the option
// for duplicates.
func (e *Entry) Patch(before any, how mapping.Duplicates, companyID string) (map[string]any, []Problem, error) {
	has, err := Members(before)
	if err != nil {
		return nil, nil, err
	}
	body := maps.Clone(e.Body)
	if companyID != "" && !e.Firm {
		body["companyId"] = companyID
	}
	delete(body, "visibility") // a file does not change who can see an existing record
	var others others
	if how == mapping.Fill {
		others = e.othersFor(has)
		if others.address {
			delete(body, "address")
		}
	}
	patch := changed(body, has, how)
	j := joinedEntry{Entry: *e}
	j.Told, j.lines = nil, nil
	j.note = textIn(patch, "note")
	if _, changes := patch["note"]; !changes {
		j.note = textIn(has, "note")
		j.keepLines(e.lines)
	}
	j.noteSize = utf8.RuneCountInString(j.note)
	j.unite(patch, has, others)
	if len(j.lines) > 0 {
		patch["note"] = strings.TrimPrefix(j.note+"\n"+strings.Join(j.lines, "\n"), "\n")
	} else if _, changes := patch["note"]; !changes && j.note != textIn(has, "note") {
		patch["note"] = j.note
	}
	return patch, j.Told, nil
}

// keepLines adds lines to the note of an existing record, unless the note contains them. Lines that do
// not fit are omitted.
func (j *joinedEntry) keepLines(lines []string) {
	for _, line := range lines {
		size := utf8.RuneCountInString(j.note) + utf8.RuneCountInString(line)
		if j.note != "" && !hasLine(j.note, line) && size < maxNote {
			j.note += "\n" + line
		}
	}
}

// others are the first values of an entry that differ from the record's. They become additional ones.
type others struct {
	members []string
	address bool
}

// othersFor returns the first values of the entry that a record lacks, although it has others.
func (e *Entry) othersFor(has map[string]any) (o others) {
	for _, name := range []string{"email", "mobile", "phone"} {
		if is, value := textIn(has, name), e.Text(name); is != "" && value != "" && is != value {
			o.members = append(o.members, name)
		}
	}
	mine, _ := e.Body["address"].(map[string]any)
	theirs, _ := has["address"].(map[string]any)
	o.address = contradicts(mine, theirs)
	return o
}

// unite adds the additional values of the entry and other first values to the lists of a record. The
// values that do not fit become lines of the note. It also limits the attributes.
func (j *joinedEntry) unite(patch, has map[string]any, o others) {
	j.limitAttributes(patch, has)
	for _, l := range lists {
		all, add := entriesIn(has, l.name), entriesIn(j.Body, l.name)
		if l == &addressList && o.address {
			one := maps.Clone(j.Body["address"].(map[string]any))
			add = slices.Insert(add, 0, j.labelOther(one, "address", ""))
		}
		for _, name := range slices.Backward(o.members) {
			if name == l.member || name == "mobile" && l == &phoneList {
				add = slices.Insert(add, 0, j.labelOther(map[string]any{l.member: j.Text(name)}, name, j.Text(name)))
			}
		}
		known := l.firsts(after(has, patch))
		more := false
		for _, one := range add {
			switch {
			case slices.ContainsFunc(slices.Concat(known, all),
				func(other map[string]any) bool { return l.same(one, other) }):
			case len(all) < record.MaxEntries[l.name]:
				all, more = append(all, one), true
			default:
				j.lineOf(l, one)
			}
		}
		if more {
			list := make([]any, len(all))
			for i := range all {
				list[i] = all[i]
			}
			patch[l.name] = list
		}
	}
}

// after returns the members of a record after a patch.
func after(has, patch map[string]any) map[string]any {
	all := maps.Clone(has)
	for name, value := range patch {
		inner, nested := value.(map[string]any)
		was, is := all[name].(map[string]any)
		if nested && is {
			value = after(was, inner)
		}
		all[name] = value
	}
	return all
}

// labelOther sets the label of a first value that becomes an additional one.
func (j *joinedEntry) labelOther(one map[string]any, member, text string) map[string]any {
	of := j.items["="+member]
	if member == "address" {
		for _, part := range addressParts {
			if of = j.items["=address."+part]; len(of) > 0 {
				break
			}
		}
	}
	i := item{member: member, text: text}
	if len(of) > 0 {
		i = of[0]
		i.member = member
	}
	if label := j.label(i); label != "" && len([]rune(label)) <= record.MaxLabel {
		one["label"] = label
	}
	return one
}

// lineOf adds an entry of a full list as a line of the note, unless the note contains the line.
func (j *joinedEntry) lineOf(l *list, one map[string]any) {
	i, label := item{text: textIn(one, l.member)}, textIn(one, "label")
	if l == &addressList {
		i.text = addressLine(one)
	}
	for part, value := range one {
		if list := j.items["="+l.name+"."+part+"="+value.(string)]; len(list) > 0 {
			i.heading = list[0].heading
			break
		}
	}
	if label != "fax" && label != "mobile" {
		label = j.labelled(l.member, label)
	} else {
		label = j.say(label)
	}
	if !hasLine(j.note, label+": "+i.text) {
		j.move(l.member, label, i, fault.TooLong, l.full)
	}
}

// limitAttributes removes the new attributes from a patch for which a record has no room. They become
// lines of the note.
func (j *joinedEntry) limitAttributes(patch, has map[string]any) {
	is, _ := has["attributes"].(map[string]any)
	mine, _ := patch["attributes"].(map[string]any)
	room := record.MaxAttributes - len(is)
	for _, name := range slices.Sorted(maps.Keys(mine)) {
		if _, known := is[name]; known {
			continue
		}
		if room--; room >= 0 {
			continue
		}
		if text := textIn(mine, name); !hasLine(j.note, name+": "+text) {
			j.move("attributes", name, j.itemOf("attributes", text), fault.TooLong, manyAttributes)
		}
		if delete(mine, name); len(mine) == 0 {
			delete(patch, "attributes")
		}
	}
}

// changed returns the members of body that differ from has and may be changed.
func changed(body, has map[string]any, how mapping.Duplicates) map[string]any {
	patch := map[string]any{}
	for name, value := range body {
		is := has[name]
		switch value := value.(type) {
		case []any: // see unite
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

// Former returns the patch that restores a record after another patch. before are the members before
// that. A patch merges attributes by name, so new ones are null.
func Former(before any, patch map[string]any) (map[string]any, error) {
	has, err := Members(before)
	if err != nil {
		return nil, err
	}
	was, _ := has["attributes"].(map[string]any)
	if is, changes := patch["attributes"].(map[string]any); changes {
		all := maps.Clone(was)
		if all == nil {
			all = map[string]any{}
		}
		for name := range is {
			if _, known := was[name]; !known {
				all[name] = nil
			}
		}
		has["attributes"] = all
	}
	return has, nil
}

// joinedEntry is an entry that changes an existing contact, or one that an earlier entry of the same file
// created.
type joinedEntry struct {
	Entry
	note string
}

// line adds a value as a line of the note, unless the note contains the line.
func (j *joinedEntry) line(member string, i item) { j.lineAs(member, j.say(member), i) }

// lineAs is line with a label.
func (j *joinedEntry) lineAs(member, label string, i item) {
	if line := label + ": " + strings.ReplaceAll(i.text, "\n", ", "); !hasLine(j.note, line) {
		j.move(member, label, i, noPlace, onlyOne)
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
	others := e.othersFor(has)
	if others.address {
		delete(body, "address")
	}
	for _, name := range slices.Sorted(maps.Keys(body)) {
		switch value := body[name].(type) {
		case string:
			is := textIn(has, name)
			if is != "" && !strings.EqualFold(is, value) && !slices.Contains(others.members, name) {
				j.line(name, e.itemOf(name, value))
			}
		case map[string]any:
			is, _ := has[name].(map[string]any)
			for _, inner := range slices.Sorted(maps.Keys(value)) { // other attributes of the same name
				if is := textIn(is, inner); is != "" && is != textIn(value, inner) && name == "attributes" {
					j.lineAs(name, inner, e.itemOf(name, textIn(value, inner)))
				}
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
	j.unite(patch, has, others)
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
		if y, _ := b[part].(string); x != "" && y != "" && placeEssence(x) != placeEssence(y) {
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
