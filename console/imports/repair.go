package imports

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/text/language"

	"kartei/console/imports/source"
	"kartei/kit/fault"
	"kartei/kit/invisible"
	"kartei/record"
)

// A value never refuses a person. What it means is repaired where that is plain, else it
// goes into the note, or is left out, and is told.

// emptyValue is what people and programs write in place of nothing in every member, and in
// lines of the note.
const emptyValue = `-+|–+|—+|_+|\?+|\.+|/|n/a|n\.a\.|k\. ?A\.?|k\. ?a\.?|\(null\)|undefined|NaN|(?i:keine angaben?|not specified|unspecified|nicht angegeben)|#+|#(NV|N/A|REF!|WERT!|VALUE!|NAME\?|BEZUG!|NULL!|DIV/0!|ZAHL!|NUM!)`

var (
	// nothings are what people and programs write in place of nothing.
	nothings = regexp.MustCompile(`^(` + emptyValue + `|(?i:x+|n/?a|null|nil|none|nan|keine?|ohne|leer|unbekannt|unknown|nicht bekannt|nicht vorhanden|entfällt))$`)
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
	case "lastName", "firstName", "middleName", targetName, "suffix", "jobTitle", "address.more":
		return nobodies
	case "address.street", "address.city", "address.place", "address.region", "address.whole":
		return nowheres
	case source.Other, "department":
		return unlisted
	}
	return nothings
}

// means reports whether an item says something. Otherwise it is told.
func (e *entry) means(i item) bool {
	if e.exact {
		return true
	}
	if nothingOf(i.member).MatchString(i.text) {
		e.tell(LeftOut, i.member, i, fault.InvalidFormat, useless)
		return false
	}
	return true
}

// meaning returns the items of a member that say something.
func (e *entry) meaning(member string) (list []item) {
	for _, i := range e.has(member) {
		if e.means(i) {
			list = append(list, i)
		}
	}
	return list
}

// namePerson sets the members of a person's name, and what belongs to it.
func (e *entry) namePerson() {
	names, prefix := map[string]string{}, ""
	for _, member := range []string{"lastName", "firstName", "middleName"} {
		taken := false
		for _, i := range e.meaning(member) {
			switch text := e.oneLine(i.text); {
			case i.slot == source.Nobility:
				prefix = strings.TrimSpace(text + " " + prefix)
			case i.slot == source.Prefix:
				prefix = strings.TrimSpace(prefix + " " + text)
			case taken && member != "middleName":
				e.move(member, e.say(member), i, noPlace, onlyOne)
			default:
				names[member], taken = strings.TrimSpace(names[member]+" "+text), true
			}
		}
	}
	e.name("lastName", withPrefix(prefix, names["lastName"]))
	e.name("firstName", strings.TrimSpace(names["firstName"]+" "+names["middleName"]))
	spokenTitles := e.titles()
	for _, i := range e.has("salutation") {
		e.salute(i)
	}
	for _, i := range spokenTitles {
		switch known := salutationOf(i.text); e.body["salutation"] {
		case nil:
			e.body["salutation"] = known
		case known:
		default:
			e.move("title", e.say("title"), i, noPlace, onlyOne)
		}
	}
	e.wholeName()
	e.suffixes()
	for n, i := range e.meaning(targetCompany) {
		if n > 0 {
			if !strings.EqualFold(i.text, e.company) {
				e.move(targetCompany, e.say("firm"), i, noPlace, onlyOne)
			}
			continue
		}
		if e.company = e.oneLine(i.text); nameKey(e.company) == "" {
			e.company = ""
			e.move(targetCompany, e.say("firm"), i, fault.InvalidFormat, fault.Text{DE: "Dieser Name hat keine Buchstaben und keine Ziffern.", EN: "This name has no letters and no digits."})
		} else if len([]rune(e.company)) > 200 {
			e.company = ""
			e.move(targetCompany, e.say("firm"), i, fault.TooLong, fault.Text{DE: "Der Name einer Firma hat höchstens 200 Zeichen.", EN: "The name of a company has at most 200 characters."})
		}
	}
	e.jobs()
}

// titles sets the title, and returns the titles that are salutations: English Outlook means
// Mr by it.
func (e *entry) titles() (spoken []item) {
	taken := false
	for _, i := range e.meaning("title") {
		switch {
		case salutationOf(i.text) != "" && !e.exact:
			spoken = append(spoken, i)
		case taken:
			e.move("title", e.say("title"), i, noPlace, onlyOne)
		default:
			e.set("title", i, i.text)
			taken = true
		}
	}
	return spoken
}

// withPrefix returns a last name with what stands before it: von.
func withPrefix(prefix, last string) string {
	if last == "" || prefix == "" || strings.HasPrefix(last, prefix+" ") {
		return last
	}
	return prefix + " " + last
}

// oneLine returns a text as a member has it that is one line.
func (e *entry) oneLine(text string) string {
	if !e.exact {
		text = invisible.Tidy(lineText(text))
	}
	return record.Clean(text)
}

// jobs sets the job.
func (e *entry) jobs() {
	for n, i := range e.meaning("jobTitle") {
		switch {
		case n == 0 && !e.firm:
			e.set("jobTitle", i, i.text)
		case e.firm || !strings.EqualFold(i.text, e.text("jobTitle")):
			e.move("jobTitle", e.labelled("jobTitle", i.kind), i, noPlace, onlyOne)
		}
	}
}

// name sets a part of the name, if there is one.
func (e *entry) name(member, text string) {
	if text != "" {
		i := item{member: member, text: text}
		if list := e.has(member); len(list) > 0 {
			i.heading = list[0].heading
		}
		e.set(member, i, text)
	}
}

// wholeName divides a whole name, unless its parts are there. Of a name that says more
// than its parts nothing is lost.
func (e *entry) wholeName() {
	for _, i := range e.meaning(targetName) {
		if e.exact {
			return
		}
		text := record.Clean(invisible.Tidy(lineText(i.text)))
		if e.text("lastName") == "" && e.text("firstName") == "" {
			if e.saysAddress(text) {
				continue
			}
			e.takeName(i, text)
			continue
		}
		all := []string{e.text("title"), e.text("firstName"), e.text("lastName"), e.first(targetCompany), e.first("suffix"), e.first("title"), e.first("email")}
		if !says(strings.Join(all, " "), text) {
			e.move(targetName, e.say("name"), i, noPlace, noField)
		}
	}
}

// takeName sets the parts of a whole name. What is not sure of them is told.
func (e *entry) takeName(i item, text string) {
	p := divide(text, i.slot == source.LastFirst)
	e.name("lastName", p.last)
	e.name("firstName", p.first)
	if p.title != "" && e.text("title") == "" {
		e.set("title", i, p.title)
	} else if p.title != "" && !says(e.text("title"), p.title) {
		title := i
		title.text = p.title
		e.move("title", e.say("title"), title, noPlace, onlyOne)
	}
	if p.salutation != "" && e.body["salutation"] == nil {
		e.body["salutation"] = p.salutation
	}
	rest := i
	if rest.text = p.maiden; p.maiden != "" {
		e.move(targetName, e.say("maiden"), rest, noPlace, noField)
	}
	if rest.text = p.remark; p.remark != "" {
		e.move(targetName, e.say("suffix"), rest, noPlace, noField)
	}
	switch {
	case p.whole || p.firm:
		e.tell(Altered, "lastName", i, noPlace, fault.Text{DE: "Das ist nicht der Name einer einzelnen Person. Er steht als Ganzes im Nachnamen.", EN: "This is not the name of one person. It stands as a whole in the last name."})
	case p.doubtful:
		e.tell(Altered, "lastName", i, noPlace, fault.Text{DE: "Vor- und Nachname sind nicht sicher.", EN: "First and last name are not sure."})
	}
}

// secondNames decides what Name 2 is: the first name behind a last name, or the rest of the
// name of a company. Else it stays what stands behind a name. A Name 1 of several words is
// a whole name.
func (e *entry) secondNames() {
	list := e.has("lastName")
	at := slices.IndexFunc(list, func(i item) bool { return i.slot == source.Name1 })
	if at < 0 || e.exact || e.firm {
		return
	}
	name, given := e.oneLine(list[at].text), len(e.has("firstName")) > 0
	for n, i := range e.has("suffix") {
		text := e.oneLine(i.text)
		if i.slot != source.Name2 || !nobodies.MatchString(text) && text == "" {
			continue
		}
		switch {
		case !isFirmName(name) && isFirmName(name+" "+text):
			list[at].text = name + " " + text
		case !given && !isFirmName(name) && !several(strings.Fields(name)) && isLastName(name) && firstNames.MatchString(text) && !isTitle(text) && !isDegree(text) && !generation.MatchString(text):
			i.member, i.slot = "firstName", ""
			e.items["firstName"] = append(e.items["firstName"], i)
		default:
			continue
		}
		e.items["suffix"] = slices.Delete(slices.Clone(e.items["suffix"]), n, n+1)
		break
	}
	if len(e.has("firstName")) == 0 && !isLastName(name) && len(e.has(targetName)) == 0 && !isFirmName(list[at].text) {
		i := list[at]
		i.member, i.slot = targetName, ""
		e.items[targetName] = []item{i}
		e.items["lastName"] = slices.Delete(slices.Clone(list), at, at+1)
	}
}

// firstNames matches what looks like first names.
var firstNames = regexp.MustCompile(`^\p{Lu}[\p{L}'-]+( (\p{Lu}[\p{L}'-]*\.?)){0,2}$`)

// isLastName reports whether a name is one word, with what may stand before it.
func isLastName(name string) bool {
	words := strings.Fields(name)
	return len(words) == 1 || len(words) > 1 && isPrefix(strings.Join(words[:len(words)-1], " "))
}

// isCompany reports whether an entry is a company: its salutation says so, its name does, or
// it has the name of a company alone.
func (e *entry) isCompany() bool {
	if e.exact {
		return false
	}
	first := func(member string) (item, bool) {
		for _, i := range e.has(member) {
			if i.slot != source.Nobility && i.slot != source.Prefix && !nothingOf(member).MatchString(i.text) && !(member == targetName && e.saysAddress(i.text)) {
				return i, true
			}
		}
		return item{}, false
	}
	company, hasCompany := first(targetCompany)
	name, named := first("lastName")
	if !named {
		name, named = first(targetName)
	}
	_, given := first("firstName")
	switch {
	case slices.ContainsFunc(e.has("salutation"), func(i item) bool { return firmSalutation.MatchString(strings.TrimSpace(i.text)) }):
		return hasCompany || named || given
	case given, hasCompany && named && !says(company.text, name.text):
		return false
	case !named:
		return hasCompany && !slices.ContainsFunc(e.has("email"), func(i item) bool { _, of := emailOf(i.text); return of != "" && !strings.EqualFold(of, company.text) })
	case isFirmName(e.oneLine(name.text)):
		if !hasCompany {
			e.tell(Altered, targetName, name, noPlace, fault.Text{DE: "Das ist der Name einer Firma. Der Eintrag ist eine Firma.", EN: "This is the name of a company. The entry is a company."})
		}
		return true
	}
	return false
}

// saysAddress reports whether a name is the email, the number or the company of the
// entry: programs write it in place of a name.
func (e *entry) saysAddress(text string) bool {
	for _, member := range []string{"email", "phone", "mobile", targetCompany} {
		if slices.ContainsFunc(e.has(member), func(i item) bool { return strings.EqualFold(strings.TrimSpace(i.text), text) }) {
			return true
		}
	}
	return false
}

// suffixes sets what stands behind a name: what tells a parent from a child belongs to the
// last name, a degree to the title. Anything else goes into the note.
func (e *entry) suffixes() {
	for _, i := range e.meaning("suffix") {
		text := record.Clean(lineText(i.text))
		switch {
		case e.exact, isDegree(text):
			if !strings.Contains(e.text("title"), text) {
				e.set("title", i, strings.TrimPrefix(e.text("title")+", "+text, ", "))
			}
		case (generation.MatchString(text) || roman.MatchString(text)) && e.text("lastName") != "":
			e.name("lastName", e.text("lastName")+" "+text)
		case isPrefix(text) && e.text("lastName") != "":
			e.name("lastName", withPrefix(text, e.text("lastName")))
		case !says(e.text("title")+" "+e.text("firstName")+" "+e.text("lastName"), text):
			e.move("suffix", e.say("suffix"), i, noPlace, noField)
		}
	}
}

// unsaluted are salutations of more or less than one person, which say nothing more of a
// contact.
var unsaluted = regexp.MustCompile(`^(?i)(an( die| den| das)?|keine anrede|ohne|keine?|herrn?\s*/\s*frau|frau\s*/\s*herrn?|herrn? (oder|bzw\.?) frau|(sehr geehrte )?damen und herren,?|unbekannt|unknown|leer)$`)

// salute reads the salutation. A title beside it is the title.
func (e *entry) salute(i item) {
	text := strings.Trim(invisible.Remove(lineText(i.text)), " ,!")
	if known := salutationOf(text); known != "" {
		e.saluteAs(i, known)
		return
	}
	if nothings.MatchString(text) || nothings.MatchString(strings.TrimSpace(i.text)) || unsaluted.MatchString(text) {
		e.tell(LeftOut, "salutation", i, fault.NotInEnum, noSalutation)
		return
	}
	text = greeting.ReplaceAllString(text, "")
	first, rest, _ := strings.Cut(text, " ")
	known, words := salutationOf(first), nameFields(rest)
	n := titleLength(words)
	title, name := strings.Join(words[:n], " "), strings.Join(words[n:], " ")
	all := strings.Join([]string{e.text("title"), e.text("firstName"), e.text("lastName"), e.first(targetName)}, " ")
	switch {
	case known != "" && len(words) > 0 && name == "", known != "" && name != "" && says(all, name): // Frau Dr., Herr Dr. Müller
		e.saluteAs(i, known)
		e.titleOf(i, title)
	case isTitle(text) && e.text("title") == "":
		e.set("title", i, text)
		e.tell(Altered, "title", i, fault.NotInEnum, fault.Text{DE: "Das ist ein Titel und keine Anrede.", EN: "This is a title and no salutation."})
	case says(all, text): // Liebe Anna
		e.tell(LeftOut, "salutation", i, fault.NotInEnum, noSalutation)
	default:
		e.move("salutation", e.say("salutation"), i, fault.NotInEnum, noSalutation)
	}
}

// saluteAs sets the salutation, unless another one is there.
func (e *entry) saluteAs(i item, known string) {
	switch e.body["salutation"] {
	case nil:
		e.body["salutation"] = known
	case known:
	default:
		e.move("salutation", e.say(cmp.Or(i.kind, "salutation")), i, noPlace, onlyOne)
	}
}

// titleOf sets a title that stands in another member, unless it is there.
func (e *entry) titleOf(i item, title string) {
	switch {
	case title == "" || says(e.text("title"), title):
	case e.text("title") == "":
		e.set("title", i, title)
	default:
		i.text = title
		e.move("title", e.say("title"), i, noPlace, onlyOne)
	}
}

var noSalutation = fault.Text{DE: "Diese Anrede gibt es nicht. Möglich sind Frau, Herr und divers.", EN: "There is no such salutation. Possible are Ms, Mr and Mx."}

// nameFirm sets the name of an entry that is a company itself.
func (e *entry) nameFirm() {
	name, from := "", ""
	for _, member := range []string{targetCompany, targetName, "lastName"} {
		for _, i := range e.meaning(member) {
			text := e.oneLine(i.text)
			if !e.exact {
				text = calledFirm.ReplaceAllString(text, "")
			}
			switch {
			case i.slot == source.Nobility || i.slot == source.Prefix || member == targetName && e.saysAddress(text):
			case name == "" && e.exact:
				name, from = text, member
				e.set("name", i, text)
			case e.exact:
			case name == "":
				if first := e.first("firstName"); member == "lastName" && first != "" {
					text = strings.TrimSpace(first + " " + text)
				}
				name, from = text, member
				e.set("name", i, text)
			case member == "lastName" || text == "" || says(name, text):
			default:
				e.move(member, e.say("name"), i, noPlace, onlyOne)
			}
		}
	}
	if from != "lastName" { // who answers there
		for _, member := range []string{"firstName", "lastName"} {
			for _, i := range e.meaning(member) {
				if !says(name, calledFirm.ReplaceAllString(i.text, "")) {
					e.move(member, e.say(member), i, noPlace, noField)
				}
			}
		}
	}
	for _, member := range []string{"middleName", "suffix", "title", "salutation"} {
		for _, i := range e.meaning(member) {
			if member != "salutation" || !firmSalutation.MatchString(strings.TrimSpace(i.text)) {
				e.move(member, e.say(member), i, noPlace, noField)
			}
		}
	}
	e.jobs()
}

var (
	// angled matches Anna Berg <anna@example.com>.
	angled = regexp.MustCompile(`^(.*?)<\s*(?:mailto:)?([^<>\s]+@[^<>\s]+)\s*>.*$`)
	// email is what may be an address. The rules of the API say more.
	email = regexp.MustCompile(`^[^\s@<>,;"']+@[^\s@<>,;"']+$`)
	// written matches how people hide an address: anna (at) example.com.
	written = regexp.MustCompile(`(?i)\s*[\[({]\s*(at|ät)\s*[\])}]\s*`)
	// inText finds an address in a text.
	inText = regexp.MustCompile(`[\p{L}\d._%+-]+@[\p{L}\d-]+(\.[\p{L}\d-]+)+`)
)

// emailOf returns the address of a text, and the name beside it.
func emailOf(text string) (address, name string) {
	text = strings.Trim(strings.TrimSpace(invisible.Remove(text)), `"'`)
	if m := angled.FindStringSubmatch(text); m != nil {
		return m[2], strings.Trim(strings.TrimSpace(m[1]), `"'`)
	}
	if len(text) > 7 && strings.EqualFold(text[:7], "mailto:") {
		text = text[7:]
		text, _, _ = strings.Cut(text, "?")
	}
	text = strings.Trim(text, " ,;<>.")
	text = strings.ReplaceAll(written.ReplaceAllString(text, "@"), "＠", "@")
	if email.MatchString(text) {
		return text, ""
	}
	if found := inText.FindAllString(text, -1); len(found) == 1 {
		return found[0], strings.Trim(strings.TrimSpace(strings.Replace(text, found[0], "", 1)), `()[],;:"' `)
	}
	return "", ""
}

// reach sets emails, numbers and addresses of the web.
func (e *entry) reach() {
	for _, i := range e.meaning("email") {
		address, name := emailOf(i.text)
		if e.exact {
			address, name = i.text, ""
		}
		switch {
		case address == "":
			e.move("email", e.labelled("email", i.kind), i, fault.InvalidFormat, fault.Text{DE: "Das Format ist nicht gültig.", EN: "The format is not valid."})
			continue
		case name != "" && !e.firm && e.text("lastName") == "" && e.text("firstName") == "":
			e.takeName(item{member: "email", text: name, heading: i.heading}, name)
		case name != "" && !says(e.text("title")+" "+e.text("firstName")+" "+e.text("lastName")+" "+e.text("name"), name):
			e.tell(Altered, "email", i, fault.InvalidFormat, fault.Text{DE: "Übernommen wurde " + address + ".", EN: "Taken was " + address + "."})
		}
		if e.text("email") == "" {
			e.set("email", i, address)
		} else if !strings.EqualFold(e.text("email"), address) {
			i.text = address
			e.move("email", e.labelled("email", i.kind), i, noPlace, onlyOne)
		}
	}
	e.numbers()
	for _, i := range e.meaning("website") {
		if !e.firm || e.text("website") != "" || !e.link(i) {
			e.move("website", e.labelled("website", i.kind), i, noPlace, noField)
		}
	}
	for _, i := range e.has("email.display") { // Outlook: Anna Berg (anna@example.com)
		if !says(strings.Join([]string{e.text("title"), e.text("firstName"), e.text("lastName"), e.text("name"), e.text("email"), e.company, strings.Join(e.lines, " ")}, " "), i.text) {
			e.move("email", e.say("name"), i, noPlace, noField)
		}
	}
}

// link sets the website of a company.
func (e *entry) link(i item) bool {
	text := strings.TrimSpace(i.text)
	if !strings.Contains(text, "://") {
		text = "https://" + text
	}
	if strings.ContainsAny(text, " \n") || !strings.Contains(text, ".") {
		return false
	}
	e.set("website", i, text)
	return true
}

// numbers sets the telephone numbers.
func (e *entry) numbers() {
	for _, i := range e.callable("mobile", "phone") {
		text := e.oneLine(invisible.Remove(i.text))
		member := i.member
		if e.firm || member == "" {
			member = "phone"
		}
		switch {
		case e.text(member) == text:
		case e.exact:
			e.set(member, i, text)
		case e.text(member) != "":
			e.move(i.member, e.labelled(i.member, i.kind), i, noPlace, onlyOne)
		default:
			number, rest := remark(e.withZero(i, text))
			e.set(member, i, number)
			if rest != "" {
				i.text = text
				e.move(i.member, e.labelled(i.member, i.kind), i, fault.TooLong, fault.Text{DE: "Eine Telefonnummer hat höchstens 50 Zeichen. Die Bemerkung dahinter steht in der Notiz.", EN: "A telephone number has at most 50 characters. The remark behind it is in the note."})
			}
		}
	}
	for _, i := range e.callable("fax") {
		e.move("fax", e.labelled("fax", i.kind), i, noPlace, noField)
	}
}

// remark parts a number from the remark behind it, if both are too long for a number.
func remark(text string) (number, rest string) {
	if len([]rune(text)) <= 50 {
		return text, ""
	}
	at := strings.IndexFunc(text, func(r rune) bool { return !strings.ContainsRune("+0123456789 ()/.-", r) })
	if at < 0 {
		return text, ""
	}
	number = strings.TrimRight(text[:at], " (/.-")
	if strings.Count(number, "(") > strings.Count(number, ")") {
		number = strings.TrimSpace(number[:strings.LastIndexByte(number, '(')])
	}
	if len(number) < 5 {
		return text, ""
	}
	return number, text[at:]
}

// addresses sets the preferred address. The others go into the note.
func (e *entry) addresses() {
	type group struct {
		address
		rank  int
		kind  string
		first item
	}
	groups := map[string]*group{}
	var order []string
	at := func(i item) *group {
		g := groups[i.slot]
		if g == nil {
			g = &group{rank: i.rank, kind: i.kind, first: i}
			groups[i.slot], order = g, append(order, i.slot)
		}
		return g
	}
	for _, part := range []string{"street", "houseNumber", "more", "postalCode", "place", "city", "region", "country", "whole"} {
		for _, i := range e.meaning("address." + part) {
			if part == "postalCode" && e.isLost(i) {
				continue
			}
			g, text, line := at(i), record.Clean(i.text), record.Clean
			if !e.exact {
				text, line = invisible.Tidy(text), lineText
			}
			set := func(into *string, text string) {
				if *into == "" {
					*into = text
				} else if *into != text {
					e.move("address."+part, e.say("address"), i, noPlace, onlyOne)
				}
			}
			switch part {
			case "street":
				set(&g.street, e.withoutName(text))
			case "houseNumber":
				g.number = strings.TrimSpace(g.number + text)
			case "more":
				g.more = append(g.more, boxed(i, text))
			case "postalCode":
				set(&g.postalCode, line(text))
			case "city":
				set(&g.city, line(text))
			case "place":
				g.place(text)
			case "region":
				set(&g.region, line(text))
			case "country":
				set(&g.country, line(text))
			case "whole":
				if g.whole(e.withoutName(text)); g.postalCode == "" {
					e.tell(Altered, "address.street", i, fault.InvalidFormat, fault.Text{DE: "In dieser Anschrift ist keine Postleitzahl mit Ort zu erkennen. Sie steht als Straße.", EN: "This address has no postal code with a city that can be read. It stands as the street."})
				}
			}
		}
	}
	for _, i := range e.has("address.formatted") { // the parts say it again
		if g := at(i); g.address.empty() {
			g.whole(i.text)
		}
	}
	slices.SortStableFunc(order, func(a, b string) int { return groups[b].rank - groups[a].rank })
	for n, slot := range order {
		g := groups[slot]
		switch {
		case g.address.empty():
		case n == 0 || e.body["address"] == nil:
			e.live(&g.address, g.first)
		default:
			i := g.first
			i.text = g.line()
			e.move("address", e.labelled("address", g.kind), i, noPlace, onlyOne)
		}
	}
}

// live sets the address.
func (e *entry) live(a *address, i item) {
	into := map[string]any{}
	set := func(name, text string) {
		if text != "" {
			into[name] = text
			part := i
			part.text = text
			e.items["=address."+name] = []item{part}
		}
	}
	if e.exact {
		set("street", a.street)
	} else {
		a.tidy()
		if before := a.postalCode; a.lostZero() {
			of := i
			of.text = before
			for _, p := range slices.Concat(e.has("address.postalCode"), e.has("address.place")) {
				if strings.HasPrefix(p.text, before) {
					of = p
				}
			}
			e.tell(Altered, "address.postalCode", of, fault.InvalidFormat, fault.Text{DE: "Dieser Postleitzahl fehlte die Null am Anfang. Übernommen wurde " + a.postalCode + ".", EN: "The zero at the beginning of this postal code was missing. Taken was " + a.postalCode + "."})
		}
		set("street", a.streetLine())
	}
	set("postalCode", a.postalCode)
	set("city", a.city)
	if a.country != "" {
		code, region, known := countryAndRegion(a.country)
		of := i
		of.text = a.country
		for _, c := range e.has("address.country") {
			if lineText(c.text) == a.country {
				of = c
			}
		}
		switch {
		case known:
			set("country", code)
			if a.region == "" {
				a.region = region
			} else if region != "" && !says(a.region, region) {
				e.move("address.country", e.say("country"), of, noPlace, onlyOne)
			}
		case a.region == "":
			a.region = a.country
			e.tell(Altered, "address.country", of, fault.NotInEnum, fault.Text{DE: "Dieses Land ist nicht bekannt. Es steht als Region.", EN: "This country is not known. It stands as the region."})
		default:
			e.move("address.country", e.say("country"), of, fault.NotInEnum, fault.Text{DE: "Dieses Land ist nicht bekannt. Möglich sind Kürzel wie DE und Namen wie Deutschland.", EN: "This country is not known. Possible are codes such as DE and names such as Germany."})
		}
	}
	set("region", a.region)
	if len(into) > 0 {
		e.body["address"] = into
	}
}

// born reads the birthday.
func (e *entry) born(c *content, today string) {
	year, _ := strconv.Atoi(today[:4]) // it is a day
	if y, m, d := e.first("birthday.year"), e.first("birthday.month"), e.first("birthday.day"); y+m+d != "" {
		i := item{member: "birthday", text: strings.Join([]string{y, m, d}, "-"), heading: e.has(cmp.Or(map[bool]string{true: "birthday.year"}[y != ""], map[bool]string{true: "birthday.month"}[m != ""], "birthday.day"))[0].heading}
		if y == "" {
			i.text = d + "." + m + "."
		}
		e.items["birthday"] = append(e.items["birthday"], i)
	}
	for n, i := range e.meaning("birthday") {
		var order dateOrder
		for _, column := range c.Columns {
			if column.Target == "birthday" && column.Heading == i.heading {
				order = column.Dates
			}
		}
		day, known := dayOf(i.text, order, c.Options.MonthFirst, year)
		if len(i.text) == 8 && e.exact {
			day, known = i.text[:4]+"-"+i.text[4:6]+"-"+i.text[6:], true
		} else if e.exact {
			day, known = i.text, true
		} else if len(day) > 4 && day[:4] == "1604" { // Apple's for no year
			known = false
		}
		switch {
		case known && day > today && !e.exact:
			e.move("birthday", e.say("birthday"), i, fault.InvalidFormat, fault.Text{DE: "Dieser Tag ist noch nicht gewesen.", EN: "This day has not been yet."})
		case !known:
			i.text = dayWords(i.text)
			e.move("birthday", e.say("birthday"), i, fault.InvalidFormat, fault.Text{DE: "Das ist kein Datum. Möglich ist zum Beispiel 17.05.1984.", EN: "This is no date. Possible is for example 1984-05-17."})
		case day == "":
		case e.firm || n > 0 && e.text("birthday") != day:
			e.move("birthday", e.say("birthday"), i, noPlace, noField)
		default:
			e.set("birthday", i, day)
		}
	}
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
func (e *entry) speak(i item) {
	if !e.means(i) {
		return
	}
	text := strings.TrimSpace(i.text)
	if e.exact {
		e.set("language", i, text)
		return
	}
	name, rest, _ := strings.Cut(strings.ToLower(text), "(") // Deutsch (AT)
	if tag := tongues[strings.TrimSpace(name)]; tag != "" {
		if region, _, _ := strings.Cut(rest, ")"); len(region) == 2 {
			tag += "-" + strings.ToUpper(region)
		}
		e.set("language", i, tag)
		return
	}
	tag, _, _ := strings.Cut(strings.ReplaceAll(text, "_", "-"), ".") // de_DE.UTF-8
	if _, err := language.Raw.Parse(tag); err != nil || len(tag) > 35 {
		e.move("language", e.say("language"), i, fault.InvalidFormat, fault.Text{DE: "Diese Sprache ist nicht bekannt. Möglich sind Kürzel wie de und Namen wie Deutsch.", EN: "This language is not known. Possible are tags such as de and names such as German."})
		return
	}
	e.set("language", i, tag)
}

// giveUp takes out of the body what breaks a rule of the API, and puts it into the note.
// It reports whether there was something.
func (e *entry) giveUp(f fault.Field) bool {
	path := strings.TrimPrefix(f.Name, "body.")
	name, _, _ := strings.Cut(path, "[")
	var value string
	in, member := e.body, name
	if part, is := strings.CutPrefix(name, "address."); is {
		in, _ = e.body["address"].(map[string]any)
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
		e.tell(LeftOut, name, i, f.Code, fault.Text{DE: p.DE, EN: p.EN})
		return true
	}
	if i.text == "" {
		i.text = value
	}
	e.move(name, e.say(member), i, f.Code, fault.Text{DE: p.DE, EN: p.EN})
	return true
}

// finish sets the note with its lines.
func (e *entry) finish() {
	if len(e.lines) > 0 {
		e.body["note"] = strings.TrimPrefix(e.text("note")+"\n"+strings.Join(e.lines, "\n"), "\n")
	}
}

// nameless gives an entry without a name one that it has in another place: its company
// becomes a company, and a number is a name. It reports whether there is none.
func (e *entry) nameless(mayMake bool) bool {
	if e.firm {
		if e.text("name") == "" {
			e.body["name"] = cmp.Or(e.text("email"), e.text("phone"))
		}
		return e.text("name") == ""
	}
	if e.text("lastName") != "" || e.text("firstName") != "" || e.text("email") != "" {
		return false
	}
	nickname := ""
	if i := slices.IndexFunc(e.has(source.Other), func(i item) bool { return i.kind == "nickname" }); i >= 0 {
		nickname = e.oneLine(e.has(source.Other)[i].text)
	}
	switch number := cmp.Or(e.text("mobile"), e.text("phone")); {
	case nickname != "" && e.company == "":
		e.body["lastName"] = nickname
		e.tell(Altered, "lastName", item{text: nickname}, noPlace, fault.Text{DE: "Der Eintrag hat keinen Namen. Er heißt wie sein Spitzname.", EN: "The entry has no name. It is called by its nickname."})
	case e.company != "" && mayMake:
		e.late = true
	case e.company != "":
		e.body["lastName"], e.company = e.company, ""
	case number != "":
		e.body["lastName"] = number
		e.tell(Altered, "lastName", item{text: number}, noPlace, fault.Text{DE: "Der Eintrag hat keinen Namen. Er heißt wie seine Nummer.", EN: "The entry has no name. It is called like its number."})
	default:
		return true
	}
	return false
}

// becomePerson makes a contact of a company, for whom may create no companies.
func (e *entry) becomePerson() {
	name := e.text("name")
	e.firm = false
	delete(e.body, "name")
	if name != "" {
		e.body["lastName"] = name
	}
	for _, member := range []string{"website", "legalForm", "vatId", "registerNumber"} {
		if value := e.text(member); value != "" {
			delete(e.body, member)
			e.move(member, e.say(member), item{text: value}, noPlace, noField)
		}
	}
}

// hasLine reports whether a note has a line already.
func hasLine(note, line string) bool {
	return slices.Contains(strings.Split(note, "\n"), line)
}
