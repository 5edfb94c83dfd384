package imports

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/text/language"

	"kartei/kit/clock"
	"kartei/kit/country"
	"kartei/kit/fault"
	"kartei/kit/id"
	"kartei/record"
)

// entry is what an entry of the file says about a contact.
type entry struct {
	// body has the members as contacts.create takes them.
	body map[string]any
	// company is the name of the company, contact the id of the contact itself.
	company, contact string
	wrong            []fault.Field
}

// text returns a member that is a text.
func (e *entry) text(name string) string {
	text, _ := e.body[name].(string)
	return text
}

// refuse notes a value that cannot be read.
func (e *entry) refuse(field string, code fault.FieldCode, de, en string) {
	e.wrong = append(e.wrong, fault.Field{Name: field, Code: code, Text: &fault.Text{DE: de, EN: en}})
}

// read returns what the cells of an entry say.
func (c *content) read(cells []string, now clock.Micros) *entry {
	e := &entry{body: map[string]any{}}
	values := map[string][]string{}
	for i, cell := range cells {
		if i < len(c.Columns) && c.Columns[i].Target != "" && cell != "" {
			values[c.Columns[i].Target] = append(values[c.Columns[i].Target], cell)
		}
	}
	if slices.ContainsFunc(cells[min(len(cells), len(c.Columns)):], func(cell string) bool { return cell != "" }) {
		e.refuse("", fault.ForbiddenCombination, "Diese Zeile hat mehr Zellen als die erste. Vielleicht fehlen Anführungszeichen um einen Text, in dem das Trennzeichen steht.",
			"This row has more cells than the first one. Quotation marks may be missing around a text that has the separator.")
	}
	address := map[string]any{}
	for _, t := range targets {
		if list := values[t.name]; len(list) > 0 {
			if part, is := strings.CutPrefix(t.name, "address."); is {
				e.address(address, part, list[0])
			} else {
				e.set(t.name, list, c.Options.MonthFirst, now.Time().Year())
			}
		}
	}
	if len(address) > 0 {
		e.body["address"] = address
	}
	e.tag(values["tags"], c.Options.Tags)
	return e
}

// set sets a member.
func (e *entry) set(name string, list []string, monthFirst bool, year int) {
	value := list[0]
	switch name {
	case targetName:
		e.name(value)
	case targetCompany:
		e.company = record.Clean(value)
	case targetID:
		if id.Valid(id.Contact, value) {
			e.contact = value
		}
	case "externalId":
		if id.Valid(id.Contact, value) { // cards of Kartei name it so
			e.contact = value
			return
		}
		e.body[name] = value
	case "salutation":
		e.salute(value)
	case "title":
		if known := salutationOf(value); known != "" && e.body["salutation"] == nil { // English Outlook means Mr by it
			e.body["salutation"] = known
			return
		}
		e.body[name] = value
	case "email":
		e.body[name] = strings.TrimPrefix(value, "mailto:")
	case "birthday":
		e.born(value, monthFirst, year)
	case "language":
		e.speak(value)
	case "note":
		e.body[name] = strings.Join(list, "\n")
	case "tags":
	default:
		e.body[name] = value
	}
}

// name divides a whole name: Berg, Anna or Anna Berg.
func (e *entry) name(whole string) {
	last, first, comma := strings.Cut(whole, ",")
	if !comma {
		if i := strings.LastIndexByte(whole, ' '); i >= 0 {
			first, last = whole[:i], whole[i+1:]
		}
	}
	for member, text := range map[string]string{"lastName": last, "firstName": first} {
		if text = strings.TrimSpace(text); text != "" && e.body[member] == nil {
			e.body[member] = text
		}
	}
}

// salutations are the words for a salutation, in small letters.
var salutations = map[string]string{
	"herr": "mr", "herrn": "mr", "hr": "mr", "mr": "mr", "mister": "mr", "m": "mr", "männlich": "mr", "male": "mr",
	"frau": "ms", "fr": "ms", "mrs": "ms", "ms": "ms", "miss": "ms", "w": "ms", "f": "ms", "weiblich": "ms", "female": "ms",
	"mx": "mx", "divers": "mx", "d": "mx", "ohne anrede": "mx",
}

// unsaluted are salutations of more or less than one person, which contacts have not.
var unsaluted = words("firma company familie family eheleute herren damen")

func salutationOf(text string) string {
	return salutations[strings.TrimSuffix(strings.ToLower(text), ".")]
}

// salute reads a salutation. A title may follow it: Frau Dr.
func (e *entry) salute(text string) {
	if known := salutationOf(text); known != "" {
		e.body["salutation"] = known
		return
	}
	first, rest, _ := strings.Cut(text, " ")
	if known := salutationOf(first); known != "" {
		e.body["salutation"] = known
		if e.body["title"] == nil {
			e.body["title"] = strings.TrimSpace(rest)
		}
		return
	}
	for _, word := range unsaluted {
		if strings.EqualFold(first, word) {
			return
		}
	}
	e.refuse("salutation", fault.NotInEnum, "Diese Anrede gibt es nicht. Möglich sind Frau, Herr und divers.", "There is no such salutation. Possible are Ms, Mr and Mx.")
}

// born reads a day.
func (e *entry) born(text string, monthFirst bool, year int) {
	day, known := dayOf(text, monthFirst, year)
	switch {
	case !known:
		e.refuse("birthday", fault.InvalidFormat, "Das ist kein Datum. Möglich ist zum Beispiel 17.05.1984.", "This is no date. Possible is for example 1984-05-17.")
	case day != "":
		e.body["birthday"] = day
	}
}

// dayOf returns a day as the API writes it. It is empty for what programs write in
// place of no day.
func dayOf(text string, monthFirst bool, year int) (day string, known bool) {
	text, _, _ = strings.Cut(strings.TrimSpace(text), " ") // a time of day may follow
	text, _, _ = strings.Cut(text, "T")
	parts := strings.FieldsFunc(text, func(r rune) bool { return r == '.' || r == '/' || r == '-' })
	if len(parts) == 1 && len(text) == 8 { // 19840517, as cards have it
		parts = []string{text[:4], text[4:6], text[6:]}
	}
	if strings.Trim(text, "0./-") == "" { // 0.0.00 is Outlook's for none
		return "", true
	}
	if len(parts) != 3 {
		return "", false
	}
	var n [3]int
	for i, part := range parts {
		var err error
		if n[i], err = strconv.Atoi(part); err != nil || n[i] < 0 || len(part) > 4 {
			return "", false
		}
	}
	d, m, y := n[0], n[1], n[2]
	switch {
	case len(parts[0]) == 4:
		y, d = n[0], n[2]
	case monthFirst && strings.Contains(text, "/"):
		m, d = n[0], n[1]
	}
	if len(parts[2]) == 2 && len(parts[0]) != 4 { // 84 is 1984: nobody is born after this year
		if y += 2000; y > year {
			y -= 100
		}
	}
	if y < 1000 || m < 1 || m > 12 || d < 1 || d > time.Date(y, time.Month(m)+1, 0, 0, 0, 0, 0, time.UTC).Day() {
		return "", false
	}
	return fmt.Sprintf("%04d-%02d-%02d", y, m, d), true
}

// tongues are the names of languages, in small letters.
var tongues = map[string]string{
	"deutsch": "de", "german": "de", "englisch": "en", "english": "en", "französisch": "fr", "french": "fr", "italienisch": "it", "italian": "it",
	"spanisch": "es", "spanish": "es", "polnisch": "pl", "polish": "pl", "türkisch": "tr", "turkish": "tr", "russisch": "ru", "russian": "ru",
	"niederländisch": "nl", "dutch": "nl", "ukrainisch": "uk", "ukrainian": "uk", "arabisch": "ar", "arabic": "ar", "portugiesisch": "pt", "portuguese": "pt",
	"griechisch": "el", "greek": "el", "kroatisch": "hr", "croatian": "hr", "serbisch": "sr", "serbian": "sr", "rumänisch": "ro", "romanian": "ro",
	"tschechisch": "cs", "czech": "cs", "dänisch": "da", "danish": "da", "schwedisch": "sv", "swedish": "sv", "ungarisch": "hu", "hungarian": "hu",
	"chinesisch": "zh", "chinese": "zh", "persisch": "fa", "persian": "fa", "bulgarisch": "bg", "bulgarian": "bg", "albanisch": "sq", "albanian": "sq",
}

// speak reads a language: its name or its tag.
func (e *entry) speak(text string) {
	name := strings.ToLower(text)
	if at := strings.IndexByte(name, '('); at > 0 { // Deutsch (Österreich)
		name = strings.TrimSpace(name[:at])
	}
	if tag := tongues[name]; tag != "" {
		e.body["language"] = tag
		return
	}
	if _, err := language.Parse(text); err != nil || len(name) > 35 {
		e.refuse("language", fault.InvalidFormat, "Diese Sprache ist nicht bekannt. Möglich sind Kürzel wie de und Namen wie Deutsch.", "This language is not known. Possible are tags such as de and names such as German.")
		return
	}
	e.body["language"] = text
}

// countries are the codes of all countries by their names in German and English, and by
// other names that address books have, in folded form.
var countries = func() map[string]string {
	all := map[string]string{}
	for code, name := range country.Names {
		all[foldHeading(name.DE)], all[foldHeading(name.EN)] = code, code
	}
	for line := range strings.Lines(otherNames) {
		code, names, _ := strings.Cut(strings.TrimSpace(line), " ")
		for name := range strings.SplitSeq(names, ",") {
			all[foldHeading(name)] = code
		}
	}
	return all
}()

const otherNames = `DE D,BRD,GER,DEU,Bundesrepublik Deutschland,Federal Republic of Germany
AT A,AUT,Republik Österreich
CH CHE,Suisse,Svizzera,Schweizerische Eidgenossenschaft
LI FL
LU L
NL Holland
BE B
FR F
IT I
ES E
PT P
CZ Tschechische Republik,Czech Republic
BA Bosnien,Bosnien und Herzegowina,Bosnia and Herzegovina
TR Türkiye
GB Großbritannien,England,Schottland,Wales,Nordirland,UK,Great Britain,Scotland,Northern Ireland
RU Russische Föderation,Russian Federation
US USA,Vereinigte Staaten von Amerika,United States of America
AE UAE
CN Volksrepublik China,People's Republic of China
HK Hongkong,Hong Kong
KR Republik Korea,Republic of Korea
`

// address reads a part of the address.
func (e *entry) address(into map[string]any, part, value string) {
	if part != "country" {
		into[part] = value
		return
	}
	switch code := countries[foldHeading(value)]; {
	case code != "":
		into[part] = code
	case utf8.RuneCountInString(value) == 2:
		into[part] = strings.ToUpper(value)
	default:
		e.refuse("address.country", fault.NotInEnum, "Dieses Land ist nicht bekannt. Möglich sind Kürzel wie DE und Namen wie Deutschland.", "This country is not known. Possible are codes such as DE and names such as Germany.")
	}
}

// tag sets the tags: those of the file and those of the whole import.
func (e *entry) tag(cells, more []string) {
	var list []string
	for _, cell := range cells {
		for tag := range strings.FieldsFuncSeq(cell, func(r rune) bool { return r == ',' || r == ';' || r == '\n' }) {
			if tag = record.Clean(strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(tag), "* "))); tag != "" { // Google: * myContacts
				list = append(list, tag)
			}
		}
	}
	if list = record.Unique(append(list, more...)); len(list) > 0 {
		e.body["tags"] = list
	}
}
