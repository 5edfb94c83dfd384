package imports

import (
	"strings"
	"unicode/utf8"

	"kartei/kit/fault"
)

// Fate is what became of a value that no member took as it is.
type Fate string

// The fates.
const (
	// InNote is a value that stands in the note, as a line with a label.
	InNote Fate = "note"
	// LeftOut is a value that the record has nowhere.
	LeftOut Fate = "leftOut"
	// Altered is a value that a member took in another form.
	Altered Fate = "altered"
)

// noPlace is the code of values that are right, and for which a record has no place.
const noPlace fault.FieldCode = "NO_PLACE"

const (
	// mostProblems bounds what is told of an entry, mostShown the characters of a value.
	mostProblems = 100
	mostShown    = 2000
	// mostNote is how many characters a note has.
	mostNote = 10_000
)

// problem is what is told of an entry, as it is stored: sealed, because it has values.
type problem struct {
	Field   string          `json:"f,omitempty"`
	Code    fault.FieldCode `json:"c"`
	DE      string          `json:"de"`
	EN      string          `json:"en"`
	Heading string          `json:"h,omitempty"`
	Value   string          `json:"v,omitempty"`
	Fate    Fate            `json:"w,omitempty"`
	// Record is the record that is meant.
	Record string `json:"r,omitempty"`
}

// problemOf returns a violation as it is told.
func problemOf(f fault.Field) problem {
	return problem{
		Field: strings.TrimPrefix(f.Name, "body."), Code: f.Code, DE: f.Message(fault.German),
		EN: f.Message(fault.English),
	}
}

// problemsOf returns violations as they are told.
func problemsOf(fields []fault.Field) (list []problem) {
	for _, f := range fields {
		list = append(list, problemOf(f))
	}
	return list
}

// tell notes what became of a value.
func (e *entry) tell(fate Fate, member string, i item, code fault.FieldCode, why fault.Text) {
	if len(e.told) == mostProblems {
		return
	}
	p := problem{
		Field: member, Code: code, DE: why.DE, EN: why.EN, Heading: i.heading, Value: cut(i.text, mostShown),
		Fate: fate,
	}
	if len(e.told) == mostProblems-1 {
		p = problem{
			Code: noPlace, DE: "Der Eintrag hat noch mehr Angaben, die hier nicht einzeln stehen.",
			EN: "The entry has more values, which are not listed here.",
		}
	}
	e.told = append(e.told, p)
}

// remark notes something of the entry as a whole, which no value and so no fate belongs to.
func (e *entry) remark(code fault.FieldCode, why fault.Text) {
	e.told = append(e.told, problem{Code: code, DE: why.DE, EN: why.EN})
}

// move puts a value into the note.
func (e *entry) move(member, label string, i item, code fault.FieldCode, why fault.Text) {
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

// addLine adds a line to the note, if it has room.
func (e *entry) addLine(line string) bool {
	if n := utf8.RuneCountInString(line) + 1; e.noteSize+n <= mostNote {
		e.lines, e.noteSize = append(e.lines, line), e.noteSize+n
		return true
	}
	return false
}

// The reasons that are no rules of a member.
var (
	onlyOne = fault.Text{
		DE: "Dafür gibt es nur ein Feld, und es enthält schon eine andere Angabe.",
		EN: "There is only one field for this, and it has another value already.",
	}
	noField = fault.Text{DE: "Dafür gibt es kein Feld.", EN: "There is no field for this."}
	useless = fault.Text{DE: "Das ist keine Angabe.", EN: "This says nothing."}
)

// labelWords are the words for kinds of values, in the note and in the report.
var labelWords = map[string]fault.Text{
	"work": {DE: "geschäftlich", EN: "work"}, "home": {DE: "privat", EN: "home"},
	"other": {DE: "weitere", EN: "other"}, "main": {DE: "Zentrale", EN: "main"},
	"direct": {DE: "Durchwahl", EN: "direct"}, "company": {DE: "Firma", EN: "company"}, "car": {DE: "Auto", EN: "car"},
	"assistant": {DE: "Assistenz", EN: "assistant"},
	"callback":  {DE: "Rückruf", EN: "callback"}, "isdn": {DE: "ISDN", EN: "ISDN"}, "radio": {DE: "Funk", EN: "radio"},
	"school": {DE: "Schule", EN: "school"},
	"pager":  {DE: "Pager", EN: "pager"}, "textphone": {DE: "Schreibtelefon", EN: "textphone"},
	"tty": {DE: "Schreibtelefon", EN: "textphone"}, "profession": {DE: "Beruf", EN: "profession"},
	"role":     {DE: "Rolle", EN: "role"},
	"nickname": {DE: "Spitzname", EN: "Nickname"}, "anniversary": {DE: "Jahrestag", EN: "Anniversary"},
	"gender": {DE: "Geschlecht", EN: "Gender"}, "impp": {DE: "Messenger", EN: "Messenger"},
	"related": {DE: "Beziehung", EN: "Relation"}, "spouse": {DE: "Partner", EN: "Spouse"},
	"manager": {DE: "Vorgesetzt", EN: "Manager"}, "children": {DE: "Kinder", EN: "Children"},
	"maiden": {DE: "Geburtsname", EN: "Maiden name"}, "maidenname": {DE: "Geburtsname", EN: "Maiden name"},
	"office": {DE: "Büro", EN: "Office"}, "telex": {DE: "Telex", EN: "Telex"},
	"geo": {DE: "Koordinaten", EN: "Coordinates"}, "tz": {DE: "Zeitzone", EN: "Time zone"},
	"expertise": {DE: "Fachgebiet", EN: "Expertise"}, "hobby": {DE: "Hobby", EN: "Hobby"},
	"interest": {DE: "Interesse", EN: "Interest"}, "member": {DE: "Mitglied", EN: "Member"},
	"skype": {DE: "Skype", EN: "Skype"}, "socialprofile": {DE: "Profil", EN: "Profile"},
	"birthplace": {DE: "Geburtsort", EN: "Place of birth"}, "deathdate": {DE: "Todestag", EN: "Day of death"},
	"fax": {DE: "Fax", EN: "Fax"}, "email": {DE: "E-Mail", EN: "Email"}, "phone": {DE: "Telefon", EN: "Phone"},
	"mobile": {DE: "Mobil", EN: "Mobile"}, "website": {DE: "Website", EN: "Website"},
	"address": {DE: "Anschrift", EN: "Address"}, "department": {DE: "Abteilung", EN: "Department"},
	"jobTitle": {DE: "Funktion", EN: "Job title"}, "title": {DE: "Titel", EN: "Title"},
	"name": {DE: "Anzeigename", EN: "Display name"}, "lastName": {DE: "Nachname", EN: "Last name"},
	"firstName": {DE: "Vorname", EN: "First name"}, "birthday": {DE: "Geburtstag", EN: "Birthday"},
	"language": {DE: "Sprache", EN: "Language"}, "externalId": {DE: "Externe Kennung", EN: "External ID"},
	"salutation": {DE: "Anrede", EN: "Salutation"}, "tags": {DE: "Schlagwort", EN: "Tag"},
	"legalForm": {DE: "Rechtsform", EN: "Legal form"}, "vatId": {DE: "USt-IdNr.", EN: "VAT ID"},
	"registerNumber": {DE: "Registernummer", EN: "Register number"}, "suffix": {DE: "Namenszusatz", EN: "Suffix"},
	"country": {DE: "Land", EN: "Country"}, "note": {DE: "Notiz", EN: "Note"}, "firm": {DE: "Firma", EN: "Company"},
	"visibility": {DE: "Sichtbarkeit", EN: "Visibility"},
	"child":      {DE: "Kind", EN: "Child"}, "mother": {DE: "Mutter", EN: "Mother"},
	"father": {DE: "Vater", EN: "Father"}, "parent": {DE: "Elternteil", EN: "Parent"},
	"brother": {DE: "Bruder", EN: "Brother"}, "sister": {DE: "Schwester", EN: "Sister"},
	"friend": {DE: "Freund/in", EN: "Friend"}, "partner": {DE: "Partner", EN: "Partner"},
	"domestic_partner": {DE: "Lebenspartner", EN: "Domestic partner"}, "relative": {DE: "Verwandt", EN: "Relative"},
	"referred_by": {DE: "Empfohlen von", EN: "Referred by"},
	"son":         {DE: "Sohn", EN: "Son"}, "daughter": {DE: "Tochter", EN: "Daughter"},
	"abrelatednames": {DE: "Beziehung", EN: "Relation"}, "abdate": {DE: "Datum", EN: "Date"},
	"imaddress": {DE: "Messenger", EN: "Messenger"}, "assistantphone": {DE: "Assistenz", EN: "assistant"},
	"assistantsname": {DE: "Assistenz", EN: "assistant"},
	"managersname":   {DE: "Vorgesetzt", EN: "Manager"}, "spousesname": {DE: "Partner", EN: "Spouse"},
	"profile": {DE: "Profil", EN: "Profile"}, "blog": {DE: "Blog", EN: "Blog"},
	"phonetic-first-name":  {DE: "Vorname (Aussprache)", EN: "First name (phonetic)"},
	"phonetic-last-name":   {DE: "Nachname (Aussprache)", EN: "Last name (phonetic)"},
	"phonetic-middle-name": {DE: "Weiterer Vorname (Aussprache)", EN: "Middle name (phonetic)"},
	"phonetic-org":         {DE: "Firma (Aussprache)", EN: "Company (phonetic)"},
	"google-talk-id":       {DE: "Google Talk", EN: "Google Talk"}, "caluri": {DE: "Kalender", EN: "Calendar"},
	"caladruri": {DE: "Kalenderadresse", EN: "Calendar address"}, "fburl": {DE: "Verfügbarkeit", EN: "Availability"},
	"street": {DE: "Straße", EN: "Street"}, "postalCode": {DE: "PLZ", EN: "Postal code"},
	"city": {DE: "Ort", EN: "City"}, "region": {DE: "Region", EN: "Region"},
}

// kindOf returns what kind of value a label of some program means.
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
	case "homepage", "home page": // every website is one
		return ""
	}
	return label
}

// say returns a word in the language of the import: a known one, or as the file has it.
func (e *entry) say(word string) string {
	t, known := labelWords[word]
	if !known {
		t, known = foldedWords[strings.ToLower(word)]
	}
	if known {
		return t.In(e.language)
	}
	return word
}

// foldedWords are the words by their labels in small letters: Google writes Spouse, and
// SPOUSE.
var foldedWords = func() map[string]fault.Text {
	all := map[string]fault.Text{}
	for label, word := range labelWords {
		all[strings.ToLower(label)] = word
	}
	return all
}()

// labelled returns the label of a line of the note: E-Mail privat.
func (e *entry) labelled(word, kind string) string {
	label := e.say(word)
	if kind != "" && kind != word && strings.Trim(kind, "0123456789") != "" {
		label += " " + e.say(kind)
	}
	return label
}
