package entry

import (
	"regexp"
	"strings"

	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/kit/invisible"
	"kartei/kit/website"
	"kartei/record"
	"kartei/transfer/imports/names"
)

// This file sets emails, telephone numbers and websites.

var (
	// angled matches Anna Berg <anna@example.com>.
	angled = regexp.MustCompile(`^(.*?)<\s*(?:mailto:)?([^<>\s]+@[^<>\s]+)\s*>.*$`)
	// email matches a possible email address. The rules of the API are stricter.
	email = regexp.MustCompile(`^[^\s@<>,;"']+@[^\s@<>,;"']+$`)
	// written matches the part of an email address that people write to hide it: anna (at)
	// example.com.
	written = regexp.MustCompile(`(?i)\s*[\[({]\s*(at|ät)\s*[\])}]\s*`)
	// inText matches an email address within a text.
	inText = regexp.MustCompile(`[\p{L}\d._%+-]+@[\p{L}\d-]+(\.[\p{L}\d-]+)+`)
)

// emailOf returns the email address in a text, and the name next to it. Both are empty if there is
// no address.
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

// takenAs returns the message that a value was replaced by text.
func takenAs(text string) i18n.Text {
	return i18n.Format("Taken was %s.", text)
}

// repaired reports whether an email address differs from the text of its cell. Names of the entry
// and brackets around the address do not count.
func (e *Entry) repaired(cell, address string) bool {
	cell = invisible.Remove(cell)
	before, after, found := strings.Cut(cell, address)
	if !found {
		return true
	}
	own := strings.Join([]string{e.Text("title"), e.Text("firstName"), e.Text("lastName"), e.Text("name")}, " ")
	if rest := before + " " + after; len(names.Words(rest)) > 0 {
		return !names.Covers(own, rest)
	}
	return strings.Trim(before+after, " <>\n\t") != ""
}

// reach sets emails, telephone numbers and websites.
func (e *Entry) reach() {
	for _, i := range e.meaning("email") {
		address, name := emailOf(i.text)
		if e.Exact {
			address, name = i.text, ""
		}
		tells := false
		switch {
		case address == "":
			e.move("email", e.labelled("email", i.kind), i, fault.InvalidFormat,
				"The format is not valid.")
			continue
		case name != "" && !e.Firm && e.Text("lastName") == "" && e.Text("firstName") == "":
			e.takeName(item{member: "email", text: name, heading: i.heading}, name)
		case name != "" && !names.Covers(e.Text("title")+" "+e.Text("firstName")+" "+e.Text("lastName")+" "+e.Text("name"), name):
			tells = true
			e.tell(Altered, "email", i, fault.InvalidFormat, takenAs(address))
		}
		if !tells && !e.Exact && e.repaired(i.text, address) {
			e.tell(Altered, "email", i, fault.InvalidFormat, takenAs(address))
		}
		if e.Text("email") == "" && !(i.additional && e.Exact) {
			e.set("email", i, address)
		} else {
			e.addTo(&emailList, i, map[string]any{"email": record.Clean(invisible.Remove(address))})
		}
	}
	e.numbers()
	for _, i := range e.meaning("website") {
		link, is := website.Complete(i.text)
		if e.Exact {
			link, is = i.text, true
		}
		switch {
		case !is:
			e.move("website", e.labelled("website", i.kind), i, fault.InvalidFormat,
				"The format is not valid.")
		case e.Text("website") == "":
			if link != strings.TrimSpace(i.text) {
				e.tell(Altered, "website", i, fault.InvalidFormat, takenAs(link))
			}
			e.set("website", i, link)
		case e.Text("website") != link:
			e.move("website", e.labelled("website", i.kind), i, noPlace, onlyOne)
		}
	}
	for _, i := range e.has("email.display") { // Outlook writes Anna Berg (anna@example.com)
		if !names.Covers(strings.Join([]string{
			e.Text("title"), e.Text("firstName"), e.Text("lastName"), e.Text("name"), e.Text("email"), e.Company,
			strings.Join(e.lines, " "),
		}, " "), i.text) {
			e.move("email", e.say("name"), i, noPlace, noField)
		}
	}
}

// numbers sets the telephone numbers.
func (e *Entry) numbers() {
	for _, i := range e.callable("mobile", "phone") {
		text := e.oneLine(invisible.Remove(i.text))
		if e.Exact {
			text = e.oneLine(i.text)
		}
		member := i.member
		if e.Firm || member == "" {
			member = "phone"
		}
		switch {
		case i.additional && e.Exact:
			e.addTo(&phoneList, i, map[string]any{"phone": text})
		case e.Text(member) == text:
		case e.Exact:
			e.set(member, i, text)
		case e.Text(member) != "":
			e.addNumber(i, text)
		default:
			number, rest := remark(e.withZero(i, text))
			e.set(member, i, number)
			e.moveRemark(i, text, rest)
		}
	}
	for _, i := range e.callable("fax") {
		e.addNumber(i, e.oneLine(invisible.Remove(i.text)))
	}
}

// addNumber adds a number to the additional ones. A long remark after the number goes into the note.
func (e *Entry) addNumber(i item, text string) {
	number, rest := remark(e.withZero(i, text))
	if len([]rune(number)) > maxNumber {
		e.move(i.member, e.labelled(i.member, i.kind), i, fault.TooLong,
			"A telephone number has at most 50 characters.")
		return
	}
	e.addTo(&phoneList, i, map[string]any{"phone": number})
	e.moveRemark(i, text, rest)
}

// moveRemark adds a number with its remark to the note, unless the remark is empty.
func (e *Entry) moveRemark(i item, text, rest string) {
	if rest != "" {
		i.text = text
		e.move(i.member, e.labelled(i.member, i.kind), i, fault.TooLong,
			"A telephone number has at most 50 characters. The remark behind it is in the note.")
	}
}

// maxNumber is the maximum length of a telephone number, in characters.
const maxNumber = 50

// remark separates a number from a remark after it, if the text is too long for a number.
func remark(text string) (number, rest string) {
	if len([]rune(text)) <= maxNumber {
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
