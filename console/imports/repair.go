package imports

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/text/language"

	"kartei/console/imports/source"
	"kartei/kit/fault"
	"kartei/kit/invisible"
	"kartei/record"
)

// A value never refuses a person. What it means is repaired where that is plain, else it
// goes into the note, or is left out, and is told.

// nothings are what people and programs write in place of nothing.
var nothings = regexp.MustCompile(`^(?i)(-+|–|—|\?+|\.+|/|x+|n/?a|n\.a\.|k\.? ?a\.?|null|\(null\)|nil|none|undefined|nan|keine?|keine angabe|ohne|leer|unbekannt|unknown|nicht bekannt|#(nv|n/a|ref!|wert!|value!|name\?|bezug!|null!|div/0!|zahl!|num!))$`)

// errors are what spreadsheets write in place of a value: they are no names either.
var sheetErrors = regexp.MustCompile(`^(NULL|\(null\)|#(NV|N/A|REF!|WERT!|VALUE!|NAME\?|BEZUG!|NULL!|DIV/0!|ZAHL!|NUM!))$`)

// means reports whether an item says something. Otherwise it is told.
func (e *entry) means(i item, typed bool) bool {
	if e.exact {
		return true
	}
	if sheetErrors.MatchString(i.text) || typed && nothings.MatchString(i.text) {
		e.tell(LeftOut, i.member, i, fault.InvalidFormat, useless)
		return false
	}
	return true
}

// meaning returns the items of a member that say something.
func (e *entry) meaning(member string, typed bool) (list []item) {
	for _, i := range e.has(member) {
		if e.means(i, typed) {
			list = append(list, i)
		}
	}
	return list
}

// namePerson sets the members of a person's name, and what belongs to it.
func (e *entry) namePerson() {
	names := map[string]string{}
	for _, member := range []string{"lastName", "firstName", "middleName"} {
		for n, i := range e.meaning(member, false) {
			switch text := e.oneLine(i.text); {
			case n > 0 && member != "middleName":
				e.move(member, e.say(member), i, noPlace, onlyOne)
			default:
				names[member] = strings.TrimSpace(names[member] + " " + text)
			}
		}
	}
	e.name("lastName", names["lastName"])
	e.name("firstName", strings.TrimSpace(names["firstName"]+" "+names["middleName"]))
	for n, i := range e.meaning("title", true) {
		if known := salutationOf(i.text); known != "" && !e.exact && len(e.has("salutation")) == 0 { // English Outlook means Mr by it
			e.body["salutation"] = known
		} else if n > 0 {
			e.move("title", e.say("title"), i, noPlace, onlyOne)
		} else {
			e.set("title", i, i.text)
		}
	}
	for _, i := range e.has("salutation") {
		e.salute(i)
	}
	e.wholeName()
	e.suffixes()
	for n, i := range e.meaning(targetCompany, false) {
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

// oneLine returns a text as a member has it that is one line.
func (e *entry) oneLine(text string) string {
	if !e.exact {
		text = invisible.Tidy(lineText(text))
	}
	return record.Clean(text)
}

// jobs sets the job.
func (e *entry) jobs() {
	for n, i := range e.meaning("jobTitle", false) {
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
	for _, i := range e.meaning(targetName, false) {
		if e.exact {
			return
		}
		text := record.Clean(invisible.Tidy(lineText(i.text)))
		if e.text("lastName") == "" && e.text("firstName") == "" {
			if e.saysAddress(text) {
				continue
			}
			p := divide(text)
			e.name("lastName", p.last)
			e.name("firstName", p.first)
			if p.title != "" && e.text("title") == "" {
				e.set("title", i, p.title)
			}
			if p.salutation != "" && e.body["salutation"] == nil {
				e.body["salutation"] = p.salutation
			}
			continue
		}
		all := []string{e.text("title"), e.text("firstName"), e.text("lastName"), e.first(targetCompany), e.first("suffix"), e.first("title"), e.first("email")}
		if !says(strings.Join(all, " "), text) {
			e.move(targetName, e.say("name"), i, noPlace, noField)
		}
	}
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
// last name, a degree to the title.
func (e *entry) suffixes() {
	for _, i := range e.meaning("suffix", false) {
		text := record.Clean(lineText(i.text))
		switch {
		case (generation.MatchString(text) || roman.MatchString(text)) && e.text("lastName") != "":
			e.name("lastName", e.text("lastName")+" "+text)
		case e.text("title") == "" || !strings.Contains(e.text("title"), text):
			e.set("title", i, strings.TrimPrefix(e.text("title")+", "+text, ", "))
		}
	}
}

// unsaluted are salutations of more or less than one person, which contacts have not.
func (e *entry) salute(i item) {
	text := strings.TrimSpace(invisible.Remove(lineText(i.text)))
	if known := salutationOf(text); known != "" {
		e.body["salutation"] = known
		return
	}
	first, rest, _ := strings.Cut(text, " ")
	switch known := salutationOf(first); {
	case known != "" && rest != "" && isTitle(rest): // Frau Dr.
		e.body["salutation"] = known
		if e.text("title") == "" {
			e.set("title", i, rest)
		}
	case known != "" && e.text("lastName") != "" && says(e.text("title")+" "+e.text("firstName")+" "+e.text("lastName"), rest): // Frau Müller
		e.body["salutation"] = known
	case isTitle(text) && e.text("title") == "":
		e.set("title", i, text)
		e.tell(Altered, "title", i, fault.NotInEnum, fault.Text{DE: "Das ist ein Titel und keine Anrede.", EN: "This is a title and no salutation."})
	default:
		e.tell(LeftOut, "salutation", i, fault.NotInEnum, fault.Text{DE: "Diese Anrede gibt es nicht. Möglich sind Frau, Herr und divers.", EN: "There is no such salutation. Possible are Ms, Mr and Mx."})
	}
}

// nameFirm sets the name of an entry that is a company itself.
func (e *entry) nameFirm() {
	name, from := "", ""
	for _, member := range []string{targetCompany, targetName, "lastName"} {
		for _, i := range e.meaning(member, false) {
			text := e.oneLine(i.text)
			switch {
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
			for _, i := range e.meaning(member, false) {
				if !says(name, i.text) {
					e.move(member, e.say(member), i, noPlace, noField)
				}
			}
		}
	}
	for _, member := range []string{"middleName", "suffix", "title", "salutation"} {
		for _, i := range e.has(member) {
			e.move(member, e.say(member), i, noPlace, noField)
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
	for _, i := range e.meaning("email", true) {
		address, name := emailOf(i.text)
		if e.exact {
			address, name = i.text, ""
		}
		switch {
		case address == "":
			e.move("email", e.labelled("email", i.kind), i, fault.InvalidFormat, fault.Text{DE: "Das Format ist nicht gültig.", EN: "The format is not valid."})
			continue
		case name != "" && !e.firm && e.text("lastName") == "" && e.text("firstName") == "":
			p := divide(name)
			e.name("lastName", p.last)
			e.name("firstName", p.first)
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
	for _, i := range e.meaning("website", true) {
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
	list := slices.Concat(e.meaning("mobile", true), e.meaning("phone", true))
	for _, i := range list {
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
			number, rest := remark(text)
			e.set(member, i, number)
			if rest != "" {
				i.text = text
				e.move(i.member, e.labelled(i.member, i.kind), i, fault.TooLong, fault.Text{DE: "Eine Telefonnummer hat höchstens 50 Zeichen. Die Bemerkung dahinter steht in der Notiz.", EN: "A telephone number has at most 50 characters. The remark behind it is in the note."})
			}
		}
	}
	for _, i := range e.meaning("fax", true) {
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
		for _, i := range e.meaning("address."+part, part != "more") {
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
				set(&g.street, text)
			case "houseNumber":
				g.number = strings.TrimSpace(g.number + text)
			case "more":
				g.more = append(g.more, text)
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
				g.whole(text)
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
		set("street", a.streetLine())
	}
	set("postalCode", a.postalCode)
	set("city", a.city)
	if a.country != "" {
		code, known := countryOf(a.country)
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
func (e *entry) born(c *content, year int) {
	if y, m, d := e.first("birthday.year"), e.first("birthday.month"), e.first("birthday.day"); y+m+d != "" {
		i := item{member: "birthday", text: strings.Join([]string{y, m, d}, "-"), heading: e.has(cmp.Or(map[bool]string{true: "birthday.year"}[y != ""], map[bool]string{true: "birthday.month"}[m != ""], "birthday.day"))[0].heading}
		if y == "" {
			i.text = d + "." + m + "."
		}
		e.items["birthday"] = append(e.items["birthday"], i)
	}
	for n, i := range e.meaning("birthday", true) {
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
	if !e.means(i, true) {
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
		e.becomeFirm()
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

// becomeFirm makes a company of a contact that has only one.
func (e *entry) becomeFirm() {
	e.firm, e.body["name"], e.company = true, e.company, ""
	for _, member := range []string{"mobile", "title", "jobTitle", "salutation", "birthday", "language"} {
		value := e.text(member)
		delete(e.body, member)
		switch {
		case value == "" || member == "salutation":
		case member == "mobile" && e.text("phone") == "":
			e.body["phone"] = value
		default:
			e.move(member, e.say(member), item{text: value}, noPlace, noField)
		}
	}
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
