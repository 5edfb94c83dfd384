// Package vcard owns the form in which address books give and take contacts: vCard 4.0 (RFC 6350) and before.
package vcard

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// MediaType is the media type of a file of cards.
const MediaType = "text/vcard; charset=utf-8"

// Card is a card in the making.
type Card struct {
	b strings.Builder
	// old says that the card is one of version 3.0 (RFC 2426), which Outlook and Apple read.
	old bool
}

// New begins a card of a kind: individual or org.
func New(kind string) *Card {
	c := new(Card)
	c.line("BEGIN:VCARD")
	c.line("VERSION:4.0")
	c.line("KIND:" + kind)
	return c
}

// NewOld begins a card of version 3.0. It has no kinds: Apple's sign says that it is an
// organization.
func NewOld(kind string) *Card {
	c := &Card{old: true}
	c.line("BEGIN:VCARD")
	c.line("VERSION:3.0")
	if kind == "org" {
		c.line("X-ABSHOWAS:COMPANY")
	}
	return c
}

// Add adds a property with one text, unless the text is empty. name may have
// parameters: TEL;TYPE=cell.
func (c *Card) Add(name, text string) {
	if text != "" {
		c.line(name + ":" + escaped(text, false))
	}
}

// Day adds a property whose value is a day, as 2006-01-02, unless it is empty.
func (c *Card) Day(name, day string) {
	if !c.old { // version 4.0 has the basic form alone
		day = strings.ReplaceAll(day, "-", "")
	}
	c.Add(name, day)
}

// URI adds a property whose value is an address, unless the address is empty. name has
// the parameter VALUE=uri.
func (c *Card) URI(name, address string) {
	switch {
	case c.old: // version 3.0 has numbers as text
		c.Add(strings.Replace(name, ";VALUE=uri", "", 1),
			strings.Replace(strings.TrimPrefix(address, "tel:"), ";ext=", " ext. ", 1))
	case address != "":
		c.line(name + ":" + address)
	}
}

// TypedParameter is the parameter with the text that somebody typed, beside the address
// that was made of it. Programs that do not know it leave it out (RFC 6350, 3.3).
const TypedParameter = "X-KARTEI-TYPED"

// Typed returns the parameter for a typed text, in quotes, and escaped by RFC 6868.
func Typed(text string) string {
	return ";" + TypedParameter + `="` + typedEscapes.Replace(text) + `"`
}

var typedEscapes = strings.NewReplacer("^", "^^", "\r\n", "^n", "\n", "^n", "\r", "^n", `"`, "^'")

// Parts adds a property whose value has parts, such as N or ADR, unless all of them
// are empty.
func (c *Card) Parts(name string, parts ...string) {
	c.joined(name, ";", parts, true)
}

// List adds a property whose value is a list of texts, such as CATEGORIES.
func (c *Card) List(name string, texts ...string) {
	c.joined(name, ",", texts, false)
}

func (c *Card) joined(name, separator string, texts []string, structured bool) {
	all, some := make([]string, len(texts)), false
	for i, t := range texts {
		all[i] = escaped(t, structured)
		some = some || t != ""
	}
	if some || c.old && name == "N" { // version 3.0 has no card without a name
		c.line(name + ":" + strings.Join(all, separator))
	}
}

// String returns the whole card.
func (c *Card) String() string { return c.b.String() + "END:VCARD\r\n" }

// escapes is for texts (RFC 6350, 3.4), escapesPart for a part of a value, which a
// semicolon ends.
var (
	escapes     = strings.NewReplacer(`\`, `\\`, ",", `\,`, "\r\n", `\n`, "\n", `\n`, "\r", `\n`)
	escapesPart = strings.NewReplacer(`\`, `\\`, ",", `\,`, ";", `\;`, "\r\n", `\n`, "\n", `\n`, "\r", `\n`)
)

// escaped returns a text as a line has it. Control characters, which no value may
// have, are left out.
func escaped(text string, structured bool) string {
	if structured {
		text = escapesPart.Replace(text)
	} else {
		text = escapes.Replace(text)
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' || r == 0x7f {
			return -1
		}
		return r
	}, text)
}

// addresses matches what says that a number is an address: version 3.0 has digits.
var addresses = regexp.MustCompile(`^(TEL[^:"]*);VALUE=uri((?:;[^:"]*="[^"]*")?):tel:`)

// longest is how many bytes a line has at most, without its end.
const longest = 75

// line writes a line, folded where it is too long, and never within a character.
func (c *Card) line(text string) {
	if c.old {
		text = addresses.ReplaceAllString(text, "$1$2:")
	}
	for room := longest; len(text) > room; room = longest - 1 {
		at := room
		for !utf8.RuneStart(text[at]) {
			at--
		}
		c.b.WriteString(text[:at] + "\r\n ")
		text = text[at:]
	}
	c.b.WriteString(text + "\r\n")
}
