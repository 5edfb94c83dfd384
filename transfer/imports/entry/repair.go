package entry

import (
	"regexp"
	"slices"
	"strings"

	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/kit/invisible"
	"kartei/record"
	"kartei/transfer/imports/mapping"
	"kartei/transfer/imports/source"
)

// A bad value is no reason to refuse an entry. It is repaired if its meaning is clear. Otherwise it
// goes into the note or is left out, and is reported.

// emptyValue matches placeholders for a missing value, in all members and in lines of the note.
const emptyValue = `-+|–+|—+|_+|\?+|\.+|/|n/a|n\.a\.|k\. ?A\.?|k\. ?a\.?|\(null\)|undefined|NaN|(?i:keine angaben?|not specified|unspecified|nicht angegeben)|#+|#(NV|N/A|REF!|WERT!|VALUE!|NAME\?|BEZUG!|NULL!|DIV/0!|ZAHL!|NUM!)`

var (
	// nothings matches placeholders for a missing value in most members.
	nothings = regexp.MustCompile(`^(` + emptyValue +
		`|(?i:x+|n/?a|null|nil|none|nan|keine?|ohne|leer|unbekannt|unknown|nicht bekannt|nicht vorhanden|entfällt))$`)
	// nowheres matches placeholders for a missing place. It excludes Leer, Ohne and Nil, which are
	// towns.
	nowheres = regexp.MustCompile(`^(` + emptyValue + `|(?i:xx+|n/?a|null|nan|keine?|unbekannt|unknown|nicht bekannt))$`)
	// nobodies matches placeholders for a missing name. It excludes Leer, Null, Na and Unbekannt,
	// which are names of people.
	nobodies = regexp.MustCompile(`^(` + emptyValue + `|NULL)$`)
	// unlisted matches placeholders in values for lines of the note.
	unlisted = regexp.MustCompile(`^(` + emptyValue + `|NULL)$`)
)

// nothingOf returns the pattern of placeholders for a missing value of a member.
func nothingOf(member string) *regexp.Regexp {
	switch member {
	case "lastName", "firstName", "middleName", mapping.Name, "nameSuffix", "jobTitle", "address.more":
		return nobodies
	case "address.street", "address.city", "address.place", "address.region", "address.whole":
		return nowheres
	case source.Other, "department":
		return unlisted
	}
	return nothings
}

// means reports whether an item is not a placeholder. It adds a problem if the item is one.
func (e *Entry) means(i item) bool {
	if e.Exact {
		return true
	}
	if nothingOf(i.member).MatchString(i.text) {
		e.tell(LeftOut, i.member, i, fault.InvalidFormat, useless)
		return false
	}
	return true
}

// meaning returns the items of a member without placeholders.
func (e *Entry) meaning(member string) (list []item) {
	for _, i := range e.has(member) {
		if e.means(i) {
			list = append(list, i)
		}
	}
	return list
}

// oneLine returns a text for a member that cannot have several lines.
func (e *Entry) oneLine(text string) string {
	if !e.Exact {
		text = invisible.Tidy(source.JoinLines(text))
	}
	return record.Clean(text)
}

// giveUp removes a value that violates a rule of the API from Body, and adds it to the note if
// possible. It reports whether it removed a value.
func (e *Entry) giveUp(f fault.Field) bool {
	path := strings.TrimPrefix(f.Name, "body.")
	name, _, _ := strings.Cut(path, "[")
	if strings.HasPrefix(path, "additional") {
		return e.giveUpListed(path, f)
	}
	var value string
	in, member := e.Body, name
	if part, is := strings.CutPrefix(name, "address."); is {
		in, _ = e.Body["address"].(map[string]any)
		member = part
	} else if part, is := strings.CutPrefix(name, "attributes."); is {
		in, _ = e.Body["attributes"].(map[string]any)
		name, member = "attributes", part
	}
	switch v := in[member].(type) {
	case string:
		value = v
	case []string:
		value = strings.Join(v, ", ")
	default:
		return false
	}
	delete(in, member)
	i := item{text: value}
	if name == "attributes" {
		i = e.itemOf(name, value)
	} else if list := e.items["="+name]; len(list) > 0 {
		i = list[0]
	}
	p := problemOf(f)
	if member == "externalId" { // an external id in the note would not help people
		e.tell(LeftOut, name, i, f.Code, i18n.InEach(p.In))
		return true
	}
	if i.text == "" {
		i.text = value
	}
	e.move(name, e.say(member), i, f.Code, i18n.InEach(p.In))
	return true
}

// itemOf returns an item for a problem about a member, with the heading of its column.
func (e *Entry) itemOf(member, text string) item {
	i := item{text: text}
	for _, name := range []string{"=" + member, member} {
		if list := e.has(name); len(list) > 0 {
			i.heading = list[0].heading
			break
		}
	}
	return i
}

// finish adds the lines to the note.
func (e *Entry) finish() {
	if len(e.lines) > 0 {
		e.Body["note"] = strings.TrimPrefix(e.Text("note")+"\n"+strings.Join(e.lines, "\n"), "\n")
	}
}

// hasLine reports whether a note contains a line.
func hasLine(note, line string) bool {
	return slices.Contains(strings.Split(note, "\n"), line)
}

// MoveCompany moves the company of a contact into the note. It reports whether the note changed.
func (e *Entry) MoveCompany(code fault.FieldCode, why i18n.Text) (changed bool) {
	i := item{text: e.Company}
	if list := e.has(mapping.Company); len(list) > 0 {
		i = list[0]
	}
	e.Company = ""
	return e.moveLate(mapping.Company, "firm", i, code, why)
}

// MoveExternalID moves the external id into the note. It reports whether the note changed.
func (e *Entry) MoveExternalID(code fault.FieldCode, why i18n.Text) (changed bool) {
	i := item{text: e.Text("externalId")}
	if list := e.has("=externalId"); len(list) > 0 {
		i = list[0]
	}
	delete(e.Body, "externalId")
	return e.moveLate("externalId", "externalId", i, code, why)
}

// moveLate moves a value into the note after finish. It reports whether the note changed.
func (e *Entry) moveLate(member, word string, i item, code fault.FieldCode, why i18n.Text) (changed bool) {
	before := len(e.lines)
	e.move(member, e.say(word), i, code, why)
	all := e.lines
	if len(all) == before {
		return false
	}
	e.lines = all[before:]
	e.finish()
	e.lines = all
	return true
}
