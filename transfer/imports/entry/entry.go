// Package entry owns the members that an entry gives a contact or a company, and the values that fit none.
package entry

import (
	"regexp"
	"slices"
	"strings"

	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/kit/id"
	"kartei/kit/invisible"
	"kartei/record"
	"kartei/transfer/imports/mapping"
	"kartei/transfer/imports/source"
)

// Entry is the content of one entry of a file, as a contact or a company.
type Entry struct {
	// Body contains the members for contacts.create or companies.create.
	Body map[string]any
	// Company is the name of the contact's company.
	Company string
	// FirmID is the id of the contact's company, from an export of Kartei.
	FirmID string
	// Firm says that the entry is a company. Group says that it is a group of cards.
	Firm, Group bool
	// Itself is the id of the record, from an export of Kartei.
	Itself string
	// Exact says that Kartei exported the entry. So its values are not divided, guessed or
	// repaired.
	Exact bool
	// lines are lines for the note, with values that fit no member. noteSize is the length of the
	// note with these lines, in characters.
	lines    []string
	noteSize int
	// Told has the problems of the entry that are shown in the dry run and in the report. Refused says
	// that the entry has no name, and no other value that can be its name.
	Told    []Problem
	Refused bool
	// late says that the entry proved to be a company while it was read.
	late     bool
	language i18n.Language
	items    map[string][]item
	// turns is the number of additional values so far.
	turns int
}

// item is a value of an entry with its meaning.
type item struct {
	member, text, heading string
	// kind is the kind of value: work or home. slot is equal for all parts of one address.
	kind, slot string
	rank       int
	// card says that the value comes from a card. Such values are not divided.
	card bool
	// named says that the kind is a label from the file itself, for example Aktenzeichen.
	named bool
	// additional says that the file has the value in a list of additional values.
	additional bool
	// turn is the number of an additional value, in the order of the file.
	turn int
}

// Text returns the text of a member, or an empty string.
func (e *Entry) Text(name string) string {
	text, _ := e.Body[name].(string)
	return text
}

// put adds an item. It divides cells with several values: Google separates them by :::, and people
// separate emails by commas.
func (e *Entry) put(i item) {
	i.text = strings.TrimSpace(i.text)
	if !i.card && !e.Exact {
		i.text = e.withoutOpenQuote(i, unwrap(i.text))
	}
	parts := []string{i.text}
	if !i.card && !e.Exact && strings.Contains(i.text, ":::") {
		parts = strings.Split(i.text, ":::")
	}
	for n, part := range parts {
		i := i
		if i.text = strings.TrimSpace(part); i.text == "" {
			continue
		}
		if n > 0 {
			i.rank -= 2000
		}
		if n > 0 && strings.HasPrefix(i.member, "address.") {
			i.slot += strings.Repeat("+", n)
		}
		switch i.member {
		case "email":
			e.putEmails(i)
			continue
		case "phone":
			if i.additional && e.Exact {
				break
			}
			if i.kind == "mobile" {
				i.member = "mobile"
			} else if i.kind == "fax" {
				i.member = "fax"
			}
		}
		e.items[i.member] = append(e.items[i.member], i)
	}
}

// betweenEmails matches the text between two email addresses in a cell.
var betweenEmails = regexp.MustCompile(`^[\s;,|/&+]*((?i:oder|or|und|and|u\.|bzw\.?)[\s;,|/&+]*)?$`)

// putEmails adds the email addresses of a cell. If the cell contains other words, the whole cell
// also becomes a line of the note.
func (e *Entry) putEmails(i item) {
	text := invisible.Remove(i.text)
	list := strings.FieldsFunc(text, func(r rune) bool {
		return !e.Exact && (r == ';' || r == ',' || r == '\n' || r == '|')
	})
	if len(list) < 2 || slices.ContainsFunc(list, func(s string) bool { return strings.Count(s, "@") != 1 }) {
		list = []string{text}
	}
	if found := inText.FindAllStringIndex(text, -1); !e.Exact && len(list) == 1 && len(found) > 1 {
		plain, end := true, 0
		list = nil
		for _, at := range found {
			plain = plain && betweenEmails.MatchString(text[end:at[0]])
			list, end = append(list, text[at[0]:at[1]]), at[1]
		}
		if plain = plain && betweenEmails.MatchString(text[end:]); !plain {
			e.move("email", e.labelled("email", i.kind), i, fault.InvalidFormat, takenAs(list[0]))
		}
		e.addEmails(i, list)
		return
	}
	e.addEmails(i, list)
}

// addEmails adds email addresses in their order.
func (e *Entry) addEmails(i item, list []string) {
	for n, part := range list {
		i := i
		i.text, i.rank = strings.TrimSpace(part), i.rank-n
		e.items["email"] = append(e.items["email"], i)
	}
}

// has returns the items of a member.
func (e *Entry) has(member string) []item { return e.items[member] }

// first returns the text of the first item of a member.
func (e *Entry) first(member string) string {
	if list := e.has(member); len(list) > 0 {
		return list[0].text
	}
	return ""
}

// compose sets the members of Body from the items. today is in the format 1984-05-17.
func (e *Entry) compose(p *mapping.Plan, today string) {
	e.notes()
	for _, i := range e.has(source.Dropped) {
		e.tell(LeftOut, "", item{heading: i.heading}, noPlace, noField)
	}
	switch e.first(source.Kind) {
	case "group":
		e.Group = true
		e.tellGroup(p.Groups)
		return
	case "org", "organization":
		e.Firm = true
	}
	e.Firm = e.Firm || p.Options.Companies && !p.OfCards()
	if own := e.first(mapping.ID); e.Exact && own != "" {
		e.Firm = id.Valid(id.Company, own)
	}
	if p.OfCards() && !e.Firm && !e.Exact {
		nameless := len(e.has("lastName")) == 0 && len(e.has("firstName")) == 0
		e.Firm = nameless && e.first(mapping.Company) != "" && e.first(mapping.Name) == e.first(mapping.Company)
	}
	e.identify()
	e.secondNames()
	e.Firm = e.Firm || e.isCompany()
	if e.Firm {
		e.nameFirm()
	} else {
		e.namePerson()
	}
	for _, i := range e.has(mapping.CompanyID) {
		if id.Valid(id.Company, i.text) {
			e.FirmID = i.text
		} else {
			e.move(mapping.CompanyID, i.heading, i, noPlace, noField)
		}
	}
	e.reach()
	e.addresses()
	e.attributes()
	e.born(p, today)
	e.joinVatID()
	e.plain("language", "visibility", "legalForm", "vatId", "registerNumber")
	for _, i := range e.meaning(source.Other) {
		if noDate.MatchString(i.text) { // Outlook writes 0.0.00 for a missing date
			continue
		}
		label := e.say(i.kind)
		if !i.card && !i.named || label == "" {
			label = i.heading
		}
		if says := e.Text("note"); says != "" && strings.Contains(says, i.text) && len(i.text) > 40 {
			continue
		}
		e.move(source.Other, label, i, noPlace, noField)
	}
	e.tag(p.Options.Tags)
}

// notes sets the note. It reports the text that exceeds the maximum length.
func (e *Entry) notes() {
	var texts []string
	for _, i := range e.has("note") {
		texts = append(texts, record.Clean(i.text))
	}
	note := record.Clean(strings.Join(texts, "\n"))
	if note == "" {
		return
	}
	room := maxNote - e.noteSize // cells with emails may have added lines before
	if runes := []rune(note); len(runes) > room {
		note = strings.TrimSpace(string(runes[:room]))
		i := e.has("note")[0]
		i.text = string(runes[room:])
		e.tell(LeftOut, "note", i, fault.TooLong, "A note has at most 10,000 characters. This is what does not fit.")
	}
	e.Body["note"] = note
	e.noteSize += len([]rune(note))
}

// identify sets the id and the external id.
func (e *Entry) identify() {
	for _, member := range []string{mapping.ID, "externalId"} {
		for n, i := range e.has(member) {
			text := invisible.Remove(i.text)
			switch {
			case e.isLost(i):
			case id.Valid(id.Contact, text) || id.Valid(id.Company, text): // Kartei's cards have the id in this property
				e.Itself = text
			case member == mapping.ID:
				e.move(member, "ID", i, noPlace, noField)
			case n > 0 && e.Text(member) != "":
				e.move(member, e.say(member), i, noPlace, onlyOne)
			default:
				e.set(member, i, text)
			}
		}
	}
}

// set sets a member to a text, and stores the item for later repairs.
func (e *Entry) set(member string, i item, text string) {
	if !e.Exact {
		text = invisible.Tidy(source.JoinLines(text))
	}
	if text = record.Clean(text); text == "" {
		return
	}
	e.Body[member] = text
	i.member = member
	e.items["="+member] = []item{i}
}

// plain sets members from texts that need no conversion.
func (e *Entry) plain(members ...string) {
	for _, member := range members {
		for n, i := range e.has(member) {
			contacts := member == "language" || member == "visibility"
			switch {
			case contacts && e.Firm && member == "language", !contacts && !e.Firm:
				e.move(member, e.say(member), i, noPlace, noField)
			case e.isLost(i):
			case member == "visibility": // Outlook has two columns for visibility
				e.show(i)
			case n > 0:
				e.move(member, e.say(member), i, noPlace, onlyOne)
			case member == "language":
				e.speak(i)
			default:
				e.set(member, i, i.text)
			}
		}
	}
}

var (
	// hidden are values with which other programs mark a contact as private. open are values of
	// contacts that all people can see.
	hidden = []string{
		"ein", "true", "wahr", "ja", "yes", "1", "-1", "persönlich", "personal", "privat", "vertraulich",
		"confidential",
	}
	open = []string{"aus", "false", "falsch", "nein", "no", "0", "normal", "public", "öffentlich"}

	becamePrivate = i18n.Text("The entry was confidential. Only its owner sees it.")
)

// show sets the visibility from a value of Kartei or of another program.
func (e *Entry) show(i item) {
	was := e.Body["visibility"] != nil
	switch text := strings.ToLower(i.text); {
	case text == "private", strings.HasPrefix(text, "nur eigentümer"), strings.HasPrefix(text, "the owner and"):
		e.Body["visibility"] = "private"
	case slices.Contains(hidden, text):
		e.Body["visibility"] = "private"
	case text == "organization", slices.Contains(open,
		text), strings.HasPrefix(text, "alle im büro"), strings.HasPrefix(text, "everyone"):
	default:
		e.move("visibility", e.say("visibility"), i, noPlace, noField)
		return
	}
	if !was && !e.Exact && e.Body["visibility"] != nil {
		e.tell(Altered, "visibility", i, noPlace, becamePrivate)
	}
}

// tag sets the tags of the entry. more are the tags that the import adds to all records.
func (e *Entry) tag(more []string) {
	var list []string
	add := func(i item) {
		tag := record.Clean(i.text)
		switch ofGoogle := googleGroup(tag); {
		case ofGoogle == "" || e.Exact:
		case ofGoogle == "starred":
			e.tell(LeftOut, "tags", i, noPlace, noField)
			return
		default:
			return
		}
		if !e.Exact {
			// Google writes * myContacts.
			tag = record.Clean(strings.ReplaceAll(invisible.Tidy(strings.TrimPrefix(tag, "* ")), "\n", " "))
		}
		switch {
		case tag == "" || slices.Contains(list, tag):
		case len([]rune(tag)) > 50:
			e.move("tags", e.say("tags"), i, fault.TooLong, "A tag has at most 50 characters.")
		case len(list)+len(more) >= 20:
			e.move("tags", e.say("tags"), i, fault.TooLong, "At most 20 tags are possible.")
		default:
			list = append(list, tag)
		}
	}
	for _, i := range e.has("tags") {
		texts := []string{i.text}
		switch {
		case !i.card:
			texts = divideTags(i.text)
		case !e.Exact:
			texts = strings.Split(escapedCommas.ReplaceAllString(i.text, "\x00$1"), "\x00")
		}
		for _, text := range texts {
			i.text = text
			add(i)
		}
	}
	if list = record.Unique(append(list, more...)); len(list) > 0 {
		e.Body["tags"] = list
	}
}

// escapedCommas matches commas between the tags of a card from a program that escapes them by mistake.
// Within a tag, a space follows a comma.
var escapedCommas = regexp.MustCompile(`,(\pL)`)

// googleGroup returns the group of Google that a tag stands for, or an empty string. Google adds
// all contacts to myContacts, so that group has no information.
func googleGroup(tag string) string {
	name := strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(tag, "* ")), " ", "")
	switch name {
	case "mycontacts", "starred":
		return name
	case "starredinandroid":
		return "starred"
	}
	return ""
}

// divideTags returns the tags in a cell. A tag in quotes can contain separators.
func divideTags(cell string) (list []string) {
	var b strings.Builder
	quoted := false
	end := func() {
		if tag := strings.TrimSpace(b.String()); tag != "" {
			list = append(list, tag)
		}
		b.Reset()
	}
	runes := []rune(cell)
	for at := 0; at < len(runes); at++ {
		r := runes[at]
		switch {
		case r == '"' && quoted && at+1 < len(runes) && runes[at+1] == '"':
			b.WriteRune(r)
			at++
		case r == '"' && quoted:
			quoted = false
		case r == '"' && strings.TrimSpace(b.String()) == "" && slices.Contains(runes[at+1:], '"'):
			quoted = true
		case !quoted && (r == ',' || r == ';' || r == '\n'):
			end()
		default:
			b.WriteRune(r)
		}
	}
	end()
	return list
}
