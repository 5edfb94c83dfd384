// Package vcard owns the reading and writing of vCards, in version 4.0 (RFC 6350) and earlier versions.
package vcard

import (
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// MediaType is the media type of a vCard file.
const MediaType = "text/vcard; charset=utf-8"

// Card is a card that is being written.
type Card struct {
	b strings.Builder
	// items is the number of groups that Item has begun.
	items int
	// old says that the card has version 3.0 (RFC 2426), which Outlook, Apple and Evolution read.
	old bool
}

// New begins a card of version 4.0. kind is individual or org.
func New(kind string) *Card {
	c := new(Card)
	c.line("BEGIN:VCARD")
	c.line("VERSION:4.0")
	c.line("KIND:" + kind)
	return c
}

// NewOld begins a card of version 3.0. kind is individual or org. Version 3.0 has no kinds, so an
// organization is marked by a property of Apple.
func NewOld(kind string) *Card {
	c := &Card{old: true}
	c.line("BEGIN:VCARD")
	c.line("VERSION:3.0")
	if kind == "org" {
		c.line("X-ABSHOWAS:COMPANY")
	}
	return c
}

// Add adds a property with a text, unless the text is empty. name may have parameters, as in
// TEL;TYPE=cell.
func (c *Card) Add(name, text string) {
	if text != "" {
		c.line(name + ":" + escaped(text, c.old))
	}
}

// Day adds a property with a date in the form 2006-01-02, unless it is empty.
func (c *Card) Day(name, day string) {
	if !c.old { // version 4.0 has only the basic form 20060102
		day = strings.ReplaceAll(day, "-", "")
	}
	c.Add(name, day)
}

// Old reports whether the card has version 3.0.
func (c *Card) Old() bool { return c.old }

// Item begins a group of properties. It returns the beginning of their names: item1. and so on.
func (c *Card) Item() string {
	c.items++
	return "item" + strconv.Itoa(c.items) + "."
}

// Link adds a property with the address of a page, unless the address is empty. Programs disagree whether a
// URI has escapes. So commas, semicolons and backslashes are percent-encoded, and the parameter
// TypedParameter has the address itself.
func (c *Card) Link(name, address string) {
	if encoded := linkEscapes.Replace(address); encoded != address {
		name, address = name+Typed(address), encoded
	}
	c.Add(name, address)
}

var linkEscapes = strings.NewReplacer(",", "%2C", ";", "%3B", `\`, "%5C")

// URI adds a property with a URI, unless the URI is empty. name has the parameter VALUE=uri.
func (c *Card) URI(name, address string) {
	switch {
	case c.old: // version 3.0 has the number as text
		c.Add(strings.Replace(name, ";VALUE=uri", "", 1),
			strings.Replace(strings.TrimPrefix(address, "tel:"), ";ext=", " ext. ", 1))
	case address != "":
		c.line(name + ":" + address)
	}
}

// TypedParameter is the parameter with the text as a person typed it. The value of the property is
// the URI made of this text. Programs that do not know the parameter ignore it (RFC 6350, 3.3).
const TypedParameter = "X-KARTEI-TYPED"

// Typed returns the parameter TypedParameter for a text, in quotes and escaped (RFC 6868).
func Typed(text string) string {
	return ";" + TypedParameter + `="` + typedEscapes.Replace(text) + `"`
}

// LabelParameter is the parameter of a value in a list of additional values, with its label in the list.
// It is empty for a value without a label. So a card of Kartei can be read exactly.
const LabelParameter = "X-KARTEI-LABEL"

// Label returns the parameter LabelParameter for a label, in quotes and escaped (RFC 6868).
func Label(label string) string {
	return ";" + LabelParameter + `="` + typedEscapes.Replace(label) + `"`
}

var typedEscapes = strings.NewReplacer("^", "^^", "\r\n", "^n", "\n", "^n", "\r", "^n", `"`, "^'")

// Parts adds a property with a structured value, such as N or ADR, unless all parts are empty.
func (c *Card) Parts(name string, parts ...string) {
	c.joined(name, ";", parts, true)
}

// List adds a property with a list of texts, such as CATEGORIES, unless all texts are empty.
func (c *Card) List(name string, texts ...string) {
	c.joined(name, ",", texts, c.old)
}

func (c *Card) joined(name, separator string, texts []string, semicolons bool) {
	all, some := make([]string, len(texts)), false
	for i, t := range texts {
		all[i] = escaped(t, semicolons)
		some = some || t != ""
	}
	if some || c.old && name == "N" { // version 3.0 needs the property N in each card
		c.line(name + ":" + strings.Join(all, separator))
	}
}

// String returns the complete card.
func (c *Card) String() string { return c.b.String() + "END:VCARD\r\n" }

// escapes is for texts (RFC 6350, 3.4). escapesPart is for parts of a structured value, and for all texts of
// version 3.0 (RFC 2426, 4), in which semicolons are escaped too. In version 4.0 Thunderbird and Nextcloud
// would show the backslash. In version 3.0 Evolution would cut the text at the semicolon.
var (
	escapes     = strings.NewReplacer(`\`, `\\`, ",", `\,`, "\r\n", `\n`, "\n", `\n`, "\r", `\n`)
	escapesPart = strings.NewReplacer(`\`, `\\`, ",", `\,`, ";", `\;`, "\r\n", `\n`, "\n", `\n`, "\r", `\n`)
)

// escaped returns a text with escapes for a value. It removes control characters, which a value
// must not have. semicolons says that semicolons are escaped.
func escaped(text string, semicolons bool) string {
	if semicolons {
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

// addresses matches a telephone number as a tel URI. In version 3.0 it becomes a text.
var addresses = regexp.MustCompile(`^(TEL[^:"]*);VALUE=uri((?:;[^:"]*="[^"]*")?):tel:`)

// longest is the maximum length of a line in bytes, without the line end.
const longest = 75

// line writes a line. It folds a long line between two characters.
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
