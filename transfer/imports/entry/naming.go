package entry

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/kit/invisible"
	"kartei/record"
	"kartei/transfer/imports/mapping"
	"kartei/transfer/imports/names"
	"kartei/transfer/imports/source"
)

// This file sets the names of an entry: the parts of a name, prefixes and suffixes, salutations and
// titles. It also decides whether the entry is a person or a company.

// namePerson sets the members of a person's name, with title, suffix and salutation. It also sets
// the company, the job title and the department.
func (e *Entry) namePerson() {
	parts, prefix := map[string]string{}, ""
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
				parts[member], taken = strings.TrimSpace(parts[member]+" "+text), true
			}
		}
	}
	e.name("lastName", names.WithPrefix(prefix, parts["lastName"]))
	e.name("firstName", strings.TrimSpace(parts["firstName"]+" "+parts["middleName"]))
	spokenTitles := e.titles()
	for _, i := range e.has("salutation") {
		e.salute(i)
	}
	for _, i := range spokenTitles {
		switch known := names.Salutation(i.text); e.Body["salutation"] {
		case nil:
			e.Body["salutation"] = known
		case known:
		default:
			e.move("title", e.say("title"), i, noPlace, onlyOne)
		}
	}
	e.wholeName()
	e.suffixes()
	for n, i := range e.meaning(mapping.Company) {
		if n > 0 {
			if !strings.EqualFold(i.text, e.Company) {
				e.move(mapping.Company, e.say("firm"), i, noPlace, onlyOne)
			}
			continue
		}
		if e.Company = e.oneLine(i.text); record.NameKey(&e.Company) == "" {
			e.Company = ""
			e.move(mapping.Company, e.say("firm"), i, fault.InvalidFormat, "This name has no letters and no digits.")
		} else if len([]rune(e.Company)) > 200 {
			e.Company = ""
			e.move(mapping.Company, e.say("firm"), i, fault.TooLong, "The name of a company has at most 200 characters.")
		}
	}
	e.work()
}

// titles sets the title. It returns the values that are salutations, because English Outlook has Mr
// in the column of the title.
func (e *Entry) titles() (spoken []item) {
	taken := false
	for _, i := range e.meaning("title") {
		switch {
		case names.Salutation(i.text) != "" && !e.Exact:
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

// work sets the job title and the department. Companies have neither.
func (e *Entry) work() {
	for _, member := range []string{"jobTitle", "department"} {
		for n, i := range e.meaning(member) {
			label := e.labelled(member, i.kind)
			if i.kind == "role" || i.kind == "profession" {
				label = e.say(i.kind)
			}
			switch {
			case e.Firm:
				e.move(member, label, i, noPlace, noField)
			case n == 0:
				e.set(member, i, i.text)
			case !strings.EqualFold(i.text, e.Text(member)):
				e.move(member, label, i, noPlace, onlyOne)
			}
		}
	}
}

// name sets a part of the name, unless text is empty.
func (e *Entry) name(member, text string) {
	if text != "" {
		i := item{member: member, text: text}
		if list := e.has(member); len(list) > 0 {
			i.heading = list[0].heading
		}
		e.set(member, i, text)
	}
}

// wholeName divides a whole name into its parts, unless the entry already has them. Words of the
// whole name that the parts lack are added to the note.
func (e *Entry) wholeName() {
	for _, i := range e.meaning(mapping.Name) {
		if e.Exact {
			return
		}
		text := record.Clean(invisible.Tidy(source.JoinLines(i.text)))
		if e.Text("lastName") == "" && e.Text("firstName") == "" {
			if e.saysAddress(text) {
				continue
			}
			e.takeName(i, text)
			continue
		}
		all := []string{
			e.Text("title"), e.Text("firstName"), e.Text("lastName"), e.first(mapping.Company), e.first("nameSuffix"),
			e.Text("nameSuffix"), e.first("title"), e.first("email"),
		}
		if !names.Covers(strings.Join(all, " "), text) {
			e.move(mapping.Name, e.say("name"), i, noPlace, noField)
		}
	}
}

// takeName sets the parts of a whole name. It reports uncertain parts.
func (e *Entry) takeName(i item, text string) {
	p := names.Divide(text, i.slot == source.LastFirst)
	e.name("lastName", p.Last)
	e.name("firstName", p.First)
	if p.Title != "" && e.Text("title") == "" {
		e.set("title", i, p.Title)
	} else if p.Title != "" && !names.Covers(e.Text("title"), p.Title) {
		title := i
		title.text = p.Title
		e.move("title", e.say("title"), title, noPlace, onlyOne)
	}
	if suffix := i; p.Suffix != "" {
		suffix.text = p.Suffix
		e.suffix(suffix)
	}
	if p.Salutation != "" && e.Body["salutation"] == nil {
		e.Body["salutation"] = p.Salutation
	}
	rest := i
	if rest.text = p.Maiden; p.Maiden != "" {
		e.move(mapping.Name, e.say("maiden"), rest, noPlace, noField)
	}
	if rest.text = p.Remark; p.Remark != "" {
		e.move(mapping.Name, e.say("nameSuffix"), rest, noPlace, noField)
	}
	switch {
	case p.Whole || p.Firm:
		e.tell(Altered, "lastName", i, noPlace,
			"This is not the name of one person. It stands as a whole in the last name.")
	case p.Doubtful:
		e.tell(Altered, "lastName", i, noPlace, "First and last name are not sure.")
	}
}

// secondNames decides the meaning of the column Name 2. After a last name it is a first name, and
// after the name of a company it is the rest of that name. Otherwise it stays a suffix. If Name 1
// has several words, it is a whole name.
func (e *Entry) secondNames() {
	list := e.has("lastName")
	at := slices.IndexFunc(list, func(i item) bool { return i.slot == source.Name1 })
	if at < 0 || e.Exact || e.Firm {
		return
	}
	name, given := e.oneLine(list[at].text), len(e.has("firstName")) > 0
	for n, i := range e.has("nameSuffix") {
		text := e.oneLine(i.text)
		if i.slot != source.Name2 || !nobodies.MatchString(text) && text == "" {
			continue
		}
		switch {
		case !names.IsFirm(name) && names.IsFirm(name+" "+text):
			list[at].text = name + " " + text
		case !given && !names.IsFirm(name) && !names.Several(name) && names.IsLast(name) &&
			names.AreFirst(text):
			i.member, i.slot = "firstName", ""
			e.items["firstName"] = append(e.items["firstName"], i)
		default:
			continue
		}
		e.items["nameSuffix"] = slices.Delete(slices.Clone(e.items["nameSuffix"]), n, n+1)
		break
	}
	if len(e.has("firstName")) == 0 && !names.IsLast(name) && len(e.has(mapping.Name)) == 0 && !names.IsFirm(list[at].text) {
		i := list[at]
		i.member, i.slot = mapping.Name, ""
		e.items[mapping.Name] = []item{i}
		e.items["lastName"] = slices.Delete(slices.Clone(list), at, at+1)
	}
}

// isCompany reports whether an entry is a company. That is so if its salutation or its name says
// so, or if its only name is the name of a company.
func (e *Entry) isCompany() bool {
	if e.Exact {
		return false
	}
	first := func(member string) (item, bool) {
		for _, i := range e.has(member) {
			if i.slot != source.Nobility && i.slot != source.Prefix && !nothingOf(member).MatchString(i.text) &&
				!(member == mapping.Name && e.saysAddress(i.text)) {
				return i, true
			}
		}
		return item{}, false
	}
	company, hasCompany := first(mapping.Company)
	name, named := first("lastName")
	if !named {
		name, named = first(mapping.Name)
	}
	_, given := first("firstName")
	switch {
	case slices.ContainsFunc(e.has("salutation"),
		func(i item) bool { return names.IsFirmSalutation(i.text) }):
		return hasCompany || named || given
	case given && e.isDividedFirm() && (!hasCompany || names.Covers(company.text, e.first(mapping.Name))):
		if !hasCompany {
			e.tell(Altered, mapping.Name, e.has(mapping.Name)[0], noPlace, isCompanyName)
		}
		return true
	case given, hasCompany && named && !names.Covers(company.text, name.text):
		return false
	case !named:
		return hasCompany && !slices.ContainsFunc(e.has("email"),
			func(i item) bool { _, of := emailOf(i.text); return of != "" && !strings.EqualFold(of, company.text) })
	case names.IsFirm(e.oneLine(name.text)):
		if !hasCompany {
			e.tell(Altered, mapping.Name, name, noPlace, isCompanyName)
		}
		return true
	}
	return false
}

var isCompanyName = i18n.Text("This is the name of a company. The entry is a company.")

// isDividedFirm reports whether the whole name is a company's, and a program has divided it into the parts
// of a person's name: Elbe Immobilien KG into KG, Elbe and Immobilien.
func (e *Entry) isDividedFirm() bool {
	whole := e.first(mapping.Name)
	var parts []string
	for _, member := range []string{"title", "firstName", "middleName", "lastName", "nameSuffix"} {
		parts = append(parts, e.first(member))
	}
	all := strings.Join(parts, " ")
	return names.IsFirm(e.oneLine(whole)) && names.Covers(all, whole) && names.Covers(whole, all)
}

// saysAddress reports whether a name is the email address, the number or the company of the entry.
// Programs use these if the name is missing.
func (e *Entry) saysAddress(text string) bool {
	for _, member := range []string{"email", "phone", "mobile", mapping.Company} {
		if slices.ContainsFunc(e.has(member), func(i item) bool {
			return strings.EqualFold(strings.TrimSpace(i.text), text)
		}) {
			return true
		}
	}
	return false
}

// suffixes sets the suffix of a name. A title such as Dr. becomes the title, and a prefix such as
// von becomes part of the last name. A text in a column such as Name 2 that is no suffix of a name
// goes into the note.
func (e *Entry) suffixes() {
	for _, i := range e.meaning("nameSuffix") {
		text := record.Clean(source.JoinLines(i.text))
		switch {
		case e.Exact:
			e.suffix(i)
		case names.IsTitle(text):
			e.titleOf(i, text)
		case names.IsPrefix(text) && e.Text("lastName") != "":
			e.name("lastName", names.WithPrefix(text, e.Text("lastName")))
		case names.Covers(e.Text("title")+" "+e.Text("firstName")+" "+e.Text("lastName"), text):
		case i.slot == source.Name2 && !names.IsDegree(text) && !names.IsGeneration(text):
			e.move("nameSuffix", e.say("nameSuffix"), i, noPlace, noField)
		default:
			e.suffix(i)
		}
	}
}

// suffix adds a text to the suffix of the name, unless the suffix contains it.
func (e *Entry) suffix(i item) {
	switch before := e.Text("nameSuffix"); {
	case before == "":
		e.set("nameSuffix", i, i.text)
	case !names.Covers(before, i.text):
		e.set("nameSuffix", i, before+", "+i.text)
	}
}

// unsaluted matches salutations for nobody or for several people.
var unsaluted = regexp.MustCompile(`^(?i)(an( die| den| das)?|keine anrede|ohne|keine?|herrn?\s*/\s*frau|frau\s*/\s*herrn?|herrn? (oder|bzw\.?) frau|(sehr geehrte )?damen und herren,?|unbekannt|unknown|leer)$`)

// salute sets the salutation. If the text also contains a title, salute sets the title.
func (e *Entry) salute(i item) {
	text := strings.Trim(invisible.Remove(source.JoinLines(i.text)), " ,!")
	if known := names.Salutation(text); known != "" {
		e.saluteAs(i, known)
		return
	}
	if nothings.MatchString(text) || nothings.MatchString(strings.TrimSpace(i.text)) || unsaluted.MatchString(text) {
		e.tell(LeftOut, "salutation", i, fault.NotInEnum, noSalutation)
		return
	}
	text = names.WithoutGreeting(text)
	first, rest, _ := strings.Cut(text, " ")
	known := names.Salutation(first)
	title, name := names.CutTitle(rest)
	all := strings.Join([]string{e.Text("title"), e.Text("firstName"), e.Text("lastName"), e.first(mapping.Name)}, " ")
	switch {
	case known != "" && title != "" && name == "", known != "" && name != "" && names.Covers(all, name):
		// Frau Dr., or Herr Dr. Müller
		e.saluteAs(i, known)
		e.titleOf(i, title)
	case names.IsTitle(text) && e.Text("title") == "":
		e.set("title", i, text)
		e.tell(Altered, "title", i, fault.NotInEnum, "This is a title and no salutation.")
	case names.Covers(all, text): // Liebe Anna
		e.tell(LeftOut, "salutation", i, fault.NotInEnum, noSalutation)
	default:
		e.move("salutation", e.say("salutation"), i, fault.NotInEnum, noSalutation)
	}
}

// saluteAs sets the salutation, unless the entry has another one already.
func (e *Entry) saluteAs(i item, known string) {
	switch e.Body["salutation"] {
	case nil:
		e.Body["salutation"] = known
	case known:
	default:
		e.move("salutation", e.say(cmp.Or(i.kind, "salutation")), i, noPlace, onlyOne)
	}
}

// titleOf sets a title from the value of another member, unless the title contains it.
func (e *Entry) titleOf(i item, title string) {
	switch {
	case title == "" || names.Covers(e.Text("title"), title):
	case e.Text("title") == "":
		e.set("title", i, title)
	default:
		i.text = title
		e.move("title", e.say("title"), i, noPlace, onlyOne)
	}
}

var noSalutation = i18n.Text("There is no such salutation. Possible are Ms, Mr and Mx.")

// nameFirm sets the name of an entry that is a company.
func (e *Entry) nameFirm() {
	name, from := "", ""
	for _, member := range []string{mapping.Company, mapping.Name, "lastName"} {
		for _, i := range e.meaning(member) {
			text := e.oneLine(i.text)
			said := text
			if !e.Exact {
				text = names.WithoutFirm(text)
			}
			switch {
			case i.slot == source.Nobility || i.slot == source.Prefix || member == mapping.Name && e.saysAddress(text):
			case name == "" && e.Exact:
				name, from = text, member
				e.set("name", i, text)
			case e.Exact:
			case name == "":
				if first := e.first("firstName"); member == "lastName" && first != "" {
					text = strings.TrimSpace(first + " " + text)
				}
				name, from = text, member
				e.set("name", i, text)
				if names.WithoutFirm(said) != said {
					e.tell(Altered, "name", i, noPlace, takenAs(text))
				}
			case member == "lastName" || text == "" || names.Covers(name, text):
			default:
				e.move(member, e.say("name"), i, noPlace, onlyOne)
			}
		}
	}
	if from != "lastName" { // the name of a contact person
		for _, member := range []string{"firstName", "lastName"} {
			for _, i := range e.meaning(member) {
				if !names.Covers(name, names.WithoutFirm(i.text)) {
					e.move(member, e.say(member), i, noPlace, noField)
				}
			}
		}
	}
	for _, member := range []string{"middleName", "nameSuffix", "title", "salutation"} {
		for _, i := range e.meaning(member) {
			says := names.IsFirmSalutation(i.text)
			if member != "salutation" {
				says = names.Covers(name, i.text)
			}
			if !says {
				e.move(member, e.say(member), i, noPlace, noField)
			}
		}
	}
	e.work()
}

// nameless handles an entry without a name. It uses another value as the name: the entry becomes a
// company if it has one, or a number becomes its name. It reports whether no such value exists.
// mayMake says that the person may create companies.
func (e *Entry) nameless(mayMake bool) bool {
	if e.Firm {
		if e.Text("name") == "" {
			if name := cmp.Or(e.Text("email"), e.Text("phone")); name != "" {
				e.Body["name"] = name
				e.tell(Altered, "name", item{
					text: name,
				}, noPlace, "The company has no name. It is called like its email address or number.")
			}
		}
		return e.Text("name") == ""
	}
	if e.Text("lastName") != "" || e.Text("firstName") != "" || e.Text("email") != "" {
		return false
	}
	nickname := ""
	if i := slices.IndexFunc(e.has(source.Other), func(i item) bool { return strings.EqualFold(i.kind, "nickname") }); i >= 0 {
		nickname = e.oneLine(e.has(source.Other)[i].text)
	}
	switch number := cmp.Or(e.Text("mobile"), e.Text("phone")); {
	case nickname != "" && e.Company == "":
		e.Body["lastName"] = nickname
		e.tell(Altered, "lastName", item{
			text: nickname,
		}, noPlace, "The entry has no name. It is called by its nickname.")
	case e.Company != "" && mayMake:
		e.late = true
	case e.Company != "":
		e.Body["lastName"] = e.Company
		e.tell(Altered, mapping.Company, e.itemOf(mapping.Company, e.Company), noPlace, noFirms)
		e.Company = ""
	case number != "":
		e.Body["lastName"] = number
		e.tell(Altered, "lastName", item{
			text: number,
		}, noPlace, "The entry has no name. It is called like its number.")
	default:
		return true
	}
	return false
}

var noFirms = i18n.Text("You lack the right to create companies. The entry is a contact, and the name of the company is its last name.")

// becomePerson turns a company into a contact, because the person of the import may not create
// companies.
func (e *Entry) becomePerson() {
	name := e.Text("name")
	e.Firm = false
	delete(e.Body, "name")
	if name != "" {
		e.Body["lastName"] = name
		e.tell(Altered, mapping.Name, e.itemOf(mapping.Name, name), noPlace, noFirms)
	}
	for _, member := range []string{"legalForm", "vatId", "registerNumber"} {
		if value := e.Text(member); value != "" {
			delete(e.Body, member)
			e.move(member, e.say(member), item{text: value}, noPlace, noField)
		}
	}
}
