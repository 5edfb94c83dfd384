package look

import (
	"cmp"
	"strings"
	"unicode"
	"unicode/utf8"

	"kartei/kit/fault"
)

// link is a line of the navigation or of a menu.
type link struct {
	Address, Name, Icon, Key string
	Here, Last               bool
}

// has reports whether there is a page at an address.
func (f Frame) has(path string) bool { return f.Has == nil || f.Has(path) }

// may reports whether the reader may read or write a family.
func (f Frame) may(family, verb string) bool { return f.May == nil || f.May(family, verb) }

// places are the lines of the navigation: what the reader may read.
func (f Frame) places() []link {
	places := []link{{Address: "/", Name: f.Say("Heute", "Today"), Icon: "house", Here: f.Here == "today"}}
	for _, p := range []struct{ family, name, icon string }{
		{"contacts", f.Say("Kontakte", "Contacts"), "users"},
		{"companies", f.Say("Firmen", "Companies"), "building-2"},
		{"tasks", f.Say("Aufgaben", "Tasks"), "square-check-big"},
		{"documents", f.Say("Dokumente", "Documents"), "file-text"},
	} {
		if f.may(p.family, "read") && f.has("/"+p.family) {
			places = append(places, link{Address: "/" + p.family, Name: p.name, Icon: p.icon, Here: f.Here == p.family})
		}
	}
	if f.has("/settings/profile") {
		places = append(places, link{
			Address: "/settings/profile", Name: f.Say("Einstellungen", "Settings"), Icon: "settings", Here: f.Here == "settings", Last: true,
		})
	}
	return places
}

// creatable are the lines of the menu of new records. The keys are the second ones
// after c.
func (f Frame) creatable() []link {
	var all []link
	for _, n := range []struct{ family, address, name, icon, key string }{
		{"contacts", "/contacts/new", f.Say("Kontakt", "Contact"), "user-plus", f.Say("c k", "c c")},
		{"companies", "/companies/new", f.Say("Firma", "Company"), "building-2", f.Say("c f", "c o")},
		{"tasks", "/tasks/new", f.Say("Aufgabe", "Task"), "square-check-big", f.Say("c a", "c t")},
		{"documents", "/documents/new", f.Say("Dokument", "Document"), "upload", f.Say("c d", "c d")},
	} {
		if f.may(n.family, "write") && f.has(n.address) {
			all = append(all, link{Address: n.address, Name: n.name, Icon: n.icon, Key: n.key})
		}
	}
	return all
}

func (f Frame) mayWriteAny() bool { return len(f.creatable()) > 0 }

func (f Frame) bellLabel() string {
	return f.Plural(f.Bell, "Glocke: %d Hinweis", "Glocke: %d Hinweise", "Bell: %d notice", "Bell: %d notices")
}

func (f Frame) find() string { return cmp.Or(f.Find, "/search") }

// bellCount is short, so that the bar keeps its form.
func (f Frame) bellCount() string {
	if f.Bell > 99 {
		return "99+"
	}
	return f.Number(f.Bell)
}

// initials returns the first letters of the first and the last word of a name.
func initials(name string) string {
	words := strings.FieldsFunc(name, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	if len(words) > 2 {
		words = []string{words[0], words[len(words)-1]}
	}
	short := ""
	for _, word := range words {
		r, _ := utf8.DecodeRuneInString(word)
		short += string(unicode.ToUpper(r))
	}
	if short == "" {
		return "?"
	}
	return short
}

func (v View) otherLanguage() string {
	if v.English() {
		return string(fault.German)
	}
	return string(fault.English)
}

// colorScheme is what the browser may draw its own controls in.
func colorScheme(theme string) string {
	if theme == "" {
		return "light dark"
	}
	return theme
}
