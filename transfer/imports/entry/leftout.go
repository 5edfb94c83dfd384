package entry

import (
	"slices"
	"strings"
	"unicode/utf8"

	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/transfer/imports/mapping"
	"kartei/transfer/imports/source"
)

// Fate says what happened to a value that no member accepted unchanged.
type Fate string

// The fates.
const (
	// InNote is a value in a line of the note, with a label.
	InNote Fate = "note"
	// LeftOut is a value that the record does not contain.
	LeftOut Fate = "leftOut"
	// Altered is a value that a member accepted in another form.
	Altered Fate = "altered"
)

// noPlace is the code for a valid value without a suitable member in the record.
const noPlace fault.FieldCode = "NO_PLACE"

const (
	// maxProblems is the maximum number of problems of an entry. maxShown is the maximum length of
	// a value in a problem, in characters.
	maxProblems = 100
	maxShown    = 2000
	// maxNote is the maximum length of a note, in characters.
	maxNote = 10_000
)

// Problem is a problem of an entry. It is stored encrypted, because it contains values.
type Problem struct {
	Field   string          `json:"f,omitempty"`
	Code    fault.FieldCode `json:"c"`
	DE      string          `json:"de"`
	EN      string          `json:"en"`
	Heading string          `json:"h,omitempty"`
	Value   string          `json:"v,omitempty"`
	Fate    Fate            `json:"w,omitempty"`
	// Record is the id of another record that the message is about, or empty.
	Record string `json:"r,omitempty"`
}

// NewProblem returns a problem with its message in all languages.
func NewProblem(code fault.FieldCode, why i18n.Text) Problem {
	return Problem{Code: code, DE: why.In(i18n.German), EN: why.In(i18n.English)}
}

// In returns the message of a problem in a language.
func (p *Problem) In(l i18n.Language) string {
	if l == i18n.German || l == "" {
		return p.DE
	}
	return p.EN
}

// problemOf returns the problem for a violated rule.
func problemOf(f fault.Field) Problem {
	p := NewProblem(f.Code, i18n.InEach(f.Message))
	p.Field = strings.TrimPrefix(f.Name, "body.")
	return p
}

// ProblemsOf returns the problems for violated rules.
func ProblemsOf(fields []fault.Field) (list []Problem) {
	for _, f := range fields {
		list = append(list, problemOf(f))
	}
	return list
}

// tell adds a problem about a value. After maxProblems it adds none.
func (e *Entry) tell(fate Fate, member string, i item, code fault.FieldCode, why i18n.Text) {
	if len(e.Told) == maxProblems {
		return
	}
	if len(e.Told) == maxProblems-1 {
		e.remark(noPlace, "The entry has more values, which are not listed here.")
		return
	}
	p := NewProblem(code, why)
	p.Field, p.Heading, p.Value, p.Fate = member, i.heading, source.Cut(i.text, maxShown), fate
	e.Told = append(e.Told, p)
}

// remark adds a problem about the whole entry.
func (e *Entry) remark(code fault.FieldCode, why i18n.Text) {
	e.Told = append(e.Told, NewProblem(code, why))
}

// RuleProblems returns the problems of values that violate a rule, for a refused entry. The values
// count as left out.
func (e *Entry) RuleProblems() (list []Problem) {
	for _, p := range e.Told {
		if p.Code == noPlace {
			continue
		}
		if p.Fate != "" {
			p.Fate = LeftOut
		}
		list = append(list, p)
	}
	return list
}

// move adds a value to the note, and reports the problem. If the note is full, the value is left
// out.
func (e *Entry) move(member, label string, i item, code fault.FieldCode, why i18n.Text) {
	line := strings.ReplaceAll(i.text, "\n", ", ")
	if label != "" {
		line = label + ": " + line
	}
	fate := InNote
	if !e.addLine(line) {
		fate = LeftOut
	}
	e.tell(fate, member, i, code, why)
}

// addLine adds a line to the note. It reports whether the note had room for the line.
func (e *Entry) addLine(line string) bool {
	if n := utf8.RuneCountInString(line) + 1; e.noteSize+n <= maxNote {
		e.lines, e.noteSize = append(e.lines, line), e.noteSize+n
		return true
	}
	return false
}

// Messages about values that violate no rule.
var (
	onlyOne = i18n.Text("There is only one field for this, and it has another value already.")
	noField = i18n.Text("There is no field for this.")
	useless = i18n.Text("This says nothing.")
)

// labelWords maps kinds of values and members to their labels in the note and in the report.
var labelWords = map[string]i18n.Text{
	"work": "work", "home": "home",
	"other": "other", "main": "main",
	"direct": "direct", "company": "company", "car": "car",
	"assistant": "assistant",
	"callback":  "callback", "isdn": "ISDN", "radio": "radio",
	"school": "school",
	"pager":  "pager", "textphone": "textphone",
	"tty": "textphone", "profession": "profession",
	"role":     "role",
	"nickname": "Nickname", "anniversary": "Anniversary",
	"gender": "Gender", "impp": "Messenger",
	"related": "Relation", "spouse": "Spouse",
	"manager": "Manager", "children": "Children",
	"maiden": "Maiden name", "maidenname": "Maiden name",
	"office": "Office", "telex": "Telex",
	"geo": "Coordinates", "tz": "Time zone",
	"expertise": "Expertise", "hobby": "Hobby",
	"interest": "Interest", "member": "Member",
	"skype": "Skype", "socialprofile": "Profile",
	"birthplace": "Place of birth", "deathdate": "Day of death",
	"fax": "Fax", "email": "Email", "phone": "Phone",
	"mobile": "Mobile", "website": "Website",
	"address": "Address", "department": "Department",
	"jobTitle": "Job title", "title": "Title",
	"name": "Display name", "lastName": "Last name",
	"firstName": "First name", "birthday": "Birthday",
	"language": "Language", "externalId": "External ID",
	"salutation": "Salutation", "tags": "Tag",
	"legalForm": "Legal form", "vatId": "VAT ID",
	"registerNumber": "Register number", "nameSuffix": "Suffix",
	"country": "Country", "note": "Note", "firm": "Company",
	"visibility": "Visibility",
	"child":      "Child", "mother": "Mother",
	"father": "Father", "parent": "Parent",
	"brother": "Brother", "sister": "Sister",
	"friend": "Friend", "partner": "Partner",
	"domestic_partner": "Domestic partner", "relative": "Relative",
	"referred_by": "Referred by",
	"son":         "Son", "daughter": "Daughter",
	"abrelatednames": "Relation", "abdate": "Date",
	"imaddress": "Messenger", "assistantphone": "assistant",
	"assistantsname": "assistant",
	"managersname":   "Manager", "spousesname": "Spouse",
	"profile": "Profile", "blog": "Blog",
	"blog-url": "Blog", "video-url": "Video chat",
	"ttytdd":               "textphone",
	"phonetic-first-name":  "First name (phonetic)",
	"phonetic-last-name":   "Last name (phonetic)",
	"phonetic-middle-name": "Middle name (phonetic)",
	"phonetic-org":         "Company (phonetic)",
	"google-talk-id":       "Google Talk", "caluri": "Calendar",
	"caladruri": "Calendar address", "fburl": "Availability",
	"attributes": "Attributes",
	"street":     "Street", "postalCode": "Postal code [short]",
	"city": "City", "region": "Region",
}

// kindOf returns the kind of value for a label from another program. It returns an unknown label
// unchanged.
func kindOf(label string) string {
	label = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(label), "*"))
	if strings.Contains(strings.ToLower(label), "fax") {
		return "fax"
	}
	switch strings.ToLower(label) {
	case "work", "arbeit", "geschäftlich", "dienstlich", "büro", "office", "business", "beruflich", "firma", "internet", "travail", "bureau", "lavoro":
		if strings.EqualFold(label, "internet") {
			return ""
		}
		return "work"
	case "home", "privat", "private", "personal", "zuhause", "zu hause", "domicile", "casa", "persönlich":
		return "home"
	case "mobile", "mobil", "cell", "handy", "iphone", "mobiltelefon", "portable", "cellulare", "work mobile":
		return "mobile"
	case "main", "haupt", "hauptnummer", "zentrale":
		return "main"
	case "other", "andere", "sonstige", "weitere":
		return "other"
	case "homepage", "home page": // a homepage is an ordinary website
		return ""
	}
	return label
}

// say returns the label of a kind of value in the language of the import. It returns an unknown
// word unchanged.
func (e *Entry) say(word string) string {
	t, known := labelWords[word]
	if !known {
		t, known = foldedWords[strings.ToLower(word)]
	}
	if known {
		return t.In(e.language)
	}
	return word
}

// foldedWords has the labels of labelWords by kinds in lower case. Google writes both Spouse and
// SPOUSE.
var foldedWords = func() map[string]i18n.Text {
	all := map[string]i18n.Text{}
	for label, word := range labelWords {
		all[strings.ToLower(label)] = word
	}
	return all
}()

// labelled returns the label of a line in the note: E-Mail privat.
func (e *Entry) labelled(word, kind string) string {
	label := e.say(word)
	if kind != "" && kind != word && strings.Trim(kind, "0123456789") != "" {
		label += " " + e.say(kind)
	}
	return label
}

var (
	aGroup      = i18n.Text("This is a group and no contact. It is left out.")
	onlyInGroup = i18n.Text("This address is in the group only. No contact in this file has it.")
	aGroupOf    = i18n.Text("This is a group and no contact. Its members in this file get its name as a tag.")
)

// tellGroup reports that the entry is a group, and nothing else. groups maps the ids of members to
// the names of their groups.
func (e *Entry) tellGroup(groups map[string][]string) {
	name := item{heading: "FN", text: e.first(mapping.Name)}
	if name.text == "" {
		name.text = e.first("lastName")
	}
	why, fate := aGroup, LeftOut
	for _, names := range groups {
		if slices.Contains(names, name.text) {
			why, fate = aGroupOf, Altered
			break
		}
	}
	e.Told = nil
	e.tell(fate, "", name, noPlace, why)
	for _, i := range e.has("email") {
		e.tell(LeftOut, "email", i, noPlace, onlyInGroup)
	}
}
