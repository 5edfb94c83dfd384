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

// A value never refuses a person. What it means is repaired where that is plain, else it
// goes into the note, or is left out, and is told.

// emptyValue is what people and programs write in place of nothing in every member, and in
// lines of the note.
const emptyValue = `-+|–+|—+|_+|\?+|\.+|/|n/a|n\.a\.|k\. ?A\.?|k\. ?a\.?|\(null\)|undefined|NaN|(?i:keine angaben?|not specified|unspecified|nicht angegeben)|#+|#(NV|N/A|REF!|WERT!|VALUE!|NAME\?|BEZUG!|NULL!|DIV/0!|ZAHL!|NUM!)`

var (
	// nothings are what people and programs write in place of nothing.
	nothings = regexp.MustCompile(`^(` + emptyValue +
		`|(?i:x+|n/?a|null|nil|none|nan|keine?|ohne|leer|unbekannt|unknown|nicht bekannt|nicht vorhanden|entfällt))$`)
	// nowheres are the same for places: Leer, Ohne and Nil are towns.
	nowheres = regexp.MustCompile(`^(` + emptyValue + `|(?i:xx+|n/?a|null|nan|keine?|unbekannt|unknown|nicht bekannt))$`)
	// nobodies are the same for names: people are called Leer, Null, Na and Unbekannt.
	nobodies = regexp.MustCompile(`^(` + emptyValue + `|NULL)$`)
	// unlisted are what programs write into lines of the note.
	unlisted = regexp.MustCompile(`^(` + emptyValue + `|NULL)$`)
)

// nothingOf returns what says nothing in a member.
func nothingOf(member string) *regexp.Regexp {
	switch member {
	case "lastName", "firstName", "middleName", mapping.Name, "suffix", "jobTitle", "address.more":
		return nobodies
	case "address.street", "address.city", "address.place", "address.region", "address.whole":
		return nowheres
	case source.Other, "department":
		return unlisted
	}
	return nothings
}

// means reports whether an item says something. Otherwise it is told.
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

// meaning returns the items of a member that say something.
func (e *Entry) meaning(member string) (list []item) {
	for _, i := range e.has(member) {
		if e.means(i) {
			list = append(list, i)
		}
	}
	return list
}

// oneLine returns a text as a member has it that is one line.
func (e *Entry) oneLine(text string) string {
	if !e.Exact {
		text = invisible.Tidy(source.JoinLines(text))
	}
	return record.Clean(text)
}

// giveUp removes a value that breaks a rule of the API from the body, and keeps it in the note if
// it can. It reports whether it removed a value.
func (e *Entry) giveUp(f fault.Field) bool {
	path := strings.TrimPrefix(f.Name, "body.")
	name, _, _ := strings.Cut(path, "[")
	var value string
	in, member := e.Body, name
	if part, is := strings.CutPrefix(name, "address."); is {
		in, _ = e.Body["address"].(map[string]any)
		member = part
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
	if list := e.items["="+name]; len(list) > 0 {
		i = list[0]
	}
	p := problemOf(f)
	if member == "externalId" { // it says nothing to people
		e.tell(LeftOut, name, i, f.Code, i18n.InEach(p.In))
		return true
	}
	if i.text == "" {
		i.text = value
	}
	e.move(name, e.say(member), i, f.Code, i18n.InEach(p.In))
	return true
}

// itemOf returns a value as it is told.
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

// finish sets the note with its lines.
func (e *Entry) finish() {
	if len(e.lines) > 0 {
		e.Body["note"] = strings.TrimPrefix(e.Text("note")+"\n"+strings.Join(e.lines, "\n"), "\n")
	}
}

// hasLine reports whether a note has a line already.
func hasLine(note, line string) bool {
	return slices.Contains(strings.Split(note, "\n"), line)
}

// MoveCompany puts the company of a contact into the note. It reports whether the note changed.
func (e *Entry) MoveCompany(code fault.FieldCode, why i18n.Text) (changed bool) {
	i := item{text: e.Company}
	if list := e.has(mapping.Company); len(list) > 0 {
		i = list[0]
	}
	e.Company = ""
	return e.moveLate(mapping.Company, "firm", i, code, why)
}

// MoveExternalID puts the external id into the note. It reports whether the note changed.
func (e *Entry) MoveExternalID(code fault.FieldCode, why i18n.Text) (changed bool) {
	i := item{text: e.Text("externalId")}
	if list := e.has("=externalId"); len(list) > 0 {
		i = list[0]
	}
	delete(e.Body, "externalId")
	return e.moveLate("externalId", "externalId", i, code, why)
}

// moveLate puts a value of an entry that is read into the note, which has its other lines already.
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
