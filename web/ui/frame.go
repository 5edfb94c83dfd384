package ui

import (
	"cmp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/a-h/templ"
)

// link is an entry of the navigation or of a menu.
type link struct {
	Address, Name, Icon, Key string
	Here, Last               bool
	// Own says that the page is about the person and does not exist below /sandbox.
	Own bool
}

// Own returns the address of a page about the person, which is the same in both environments.
func Own(path string) templ.SafeURL { return templ.SafeURL(path) }

// at returns the address of a navigation entry.
func (f Frame) at(l link) templ.SafeURL {
	if l.Own {
		return Own(l.Address)
	}
	return f.To(l.Address)
}

// has reports whether a page exists at this path.
func (f Frame) has(path string) bool { return f.Has == nil || f.Has(path) }

// opens reports whether the reader may open the page at this path.
func (f Frame) opens(path string) bool {
	if f.Opens == nil {
		return f.has(path)
	}
	return f.Opens(path)
}

// may reports whether the reader may read or write a family. verb is "read" or "write".
func (f Frame) may(family, verb string) bool { return f.May == nil || f.May(family, verb) }

// places returns the entries of the navigation that the reader may open.
func (f Frame) places() []link {
	places := []link{{Address: "/", Name: f.Say("Today"), Icon: "house", Here: f.Here == "today"}}
	for _, p := range []struct{ family, name, icon string }{
		{"contacts", f.Say("Contacts"), "users"},
		{"companies", f.Say("Companies"), "building-2"},
		{"tasks", f.Say("Tasks"), "square-check-big"},
		{"documents", f.Say("Documents"), "file-text"},
	} {
		if f.may(p.family, "read") && f.has("/"+p.family) {
			places = append(places, link{Address: "/" + p.family, Name: p.name, Icon: p.icon, Here: f.Here == p.family})
		}
	}
	if f.has("/help") {
		places = append(places, link{
			Address: "/help", Name: f.Say("Help"), Icon: "circle-question-mark", Here: f.Here == "help",
			Last: true,
		})
	}
	if f.has("/settings") {
		places = append(places, link{
			Address: "/settings", Name: f.Say("Settings"), Icon: "settings", Here: f.Here == "settings",
			Last: true, Own: true,
		})
	}
	return places
}

// creatable returns the entries of the menu for new records.
func (f Frame) creatable() []link {
	var all []link
	for _, c := range f.commandsIf(func(c *command) bool { return c.group == Create }) {
		all = append(all, link{Address: c.Href, Name: c.Name, Icon: c.Icon, Key: c.Keys})
	}
	return all
}

func (f Frame) mayWriteAny() bool { return len(f.creatable()) > 0 }

func (f Frame) bellLabel() string {
	return f.Plural(f.Bell, "Notifications: %d unread",
		"Notifications: %d unread")
}

func (f Frame) find() string { return cmp.Or(f.Find, "/search") }

// bellCount returns the number of unread notifications. Above 99 it is "99+", as there is little
// room.
func (f Frame) bellCount() string {
	if f.Bell > 99 {
		return "99+"
	}
	return f.Number(f.Bell)
}

// initials returns the first letters of the first and the last word of a name. Titles such as "Dr."
// are left out: words of three characters or more that end with a period.
func initials(name string) string {
	var named []string
	for word := range strings.FieldsSeq(name) {
		if !strings.HasSuffix(word, ".") || utf8.RuneCountInString(word) < 3 {
			named = append(named, word)
		}
	}
	words := strings.FieldsFunc(cmp.Or(strings.Join(named, " "), name),
		func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
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

// colorScheme returns the colour schemes that the browser may use for its own controls.
func colorScheme(theme string) string {
	if theme == "" {
		return "light dark"
	}
	return theme
}
