package look

import (
	"encoding/json"
	"strings"

	"kartei/kit/fault"
)

// Command is something that a person does from any page: with the palette, with
// keys, or with the link or the button that it stands for. The list of commands
// feeds the palette, the page of help, the menus, the scripts of keys and the tests.
type Command struct {
	// ID names the command in scripts: go.contacts.
	ID string
	// Name says what it does, in the reader's language.
	Name, Icon string
	// Keys are the keys with spaces between them: "g k". Also are those of the other
	// language, which work too. Control stands for the Command key on a Mac.
	Keys, Also string
	// Href is the path of the page that it opens. Without one it acts on the page
	// that is shown.
	Href string
	// Own says that the page is the reader's own, in no environment.
	Own   bool
	Group Group
	// Listed says that the palette has it. The others only have keys.
	Listed bool
}

// Group is a heading under which commands stand.
type Group int

// The groups, in their order.
const (
	OnPage Group = iota
	GoTo
	Create
	Everywhere
	Moves
)

// command is a line of the list of commands.
type command struct {
	id    string
	group Group
	// keys are those of each language.
	keys fault.Text
	name fault.Text
	icon string
	href string
	// family and verb are the right that it needs, if any.
	family, verb string
	listed       bool
	own          bool
}

func both(keys string) fault.Text { return fault.Text{DE: keys, EN: keys} }

// commands is the list. A command that acts on the page presses the element whose
// data-key is its key, or is a function of the same name in keys.js.
var commands = []command{
	{id: "edit", group: OnPage, keys: both("e"), name: fault.Text{DE: "Bearbeiten", EN: "Edit"}, icon: "pencil", listed: true},
	{id: "complete", group: OnPage, keys: both("x"), name: fault.Text{DE: "Erledigen oder auswählen", EN: "Complete or select"}, icon: "check", listed: true},
	{id: "selection", group: OnPage, keys: both(","), name: fault.Text{DE: "Zu den Aktionen der Auswahl", EN: "Go to the actions on the selection"}, icon: "square-check-big", listed: true},
	{id: "quick", group: OnPage, keys: both("t"), name: fault.Text{DE: "Neue Aufgabe in einer Zeile", EN: "New task in one line"}, icon: "plus", listed: true},
	{id: "upload", group: OnPage, keys: both("u"), name: fault.Text{DE: "Datei ablegen", EN: "Upload a file"}, icon: "upload", listed: true},
	{id: "more", group: OnPage, keys: both("."), name: fault.Text{DE: "Weitere Aktionen", EN: "More actions"}, icon: "ellipsis", listed: true},
	{id: "link", group: OnPage, keys: both("y"), name: fault.Text{DE: "Link kopieren", EN: "Copy the link"}, icon: "link", listed: true},
	{id: "id", group: OnPage, name: fault.Text{DE: "Kennung kopieren", EN: "Copy the identifier"}, icon: "copy", listed: true},
	{id: "undo", group: OnPage, keys: both("z"), name: fault.Text{DE: "Letzte Änderung zurücknehmen", EN: "Undo the last change"}, icon: "undo-2", listed: true},
	{id: "hit", group: OnPage, keys: both("n"), name: fault.Text{DE: "Nächster Treffer im Dokument", EN: "Next hit in the document"}, icon: "chevron-down", listed: true},
	{id: "hitBefore", group: OnPage, keys: both("p"), name: fault.Text{DE: "Voriger Treffer im Dokument", EN: "Previous hit in the document"}, icon: "chevron-down", listed: true},

	{id: "go.today", group: GoTo, keys: both("g h"), name: fault.Text{DE: "Heute", EN: "Today"}, icon: "house", href: "/", listed: true},
	{id: "go.contacts", group: GoTo, keys: fault.Text{DE: "g k", EN: "g c"}, name: fault.Text{DE: "Kontakte", EN: "Contacts"}, icon: "users", href: "/contacts", family: "contacts", verb: "read", listed: true},
	{id: "go.companies", group: GoTo, keys: fault.Text{DE: "g f", EN: "g o"}, name: fault.Text{DE: "Firmen", EN: "Companies"}, icon: "building-2", href: "/companies", family: "companies", verb: "read", listed: true},
	{id: "go.tasks", group: GoTo, keys: fault.Text{DE: "g a", EN: "g t"}, name: fault.Text{DE: "Aufgaben", EN: "Tasks"}, icon: "square-check-big", href: "/tasks", family: "tasks", verb: "read", listed: true},
	{id: "go.documents", group: GoTo, keys: both("g d"), name: fault.Text{DE: "Dokumente", EN: "Documents"}, icon: "file-text", href: "/documents", family: "documents", verb: "read", listed: true},
	{id: "go.bell", group: GoTo, name: fault.Text{DE: "Glocke", EN: "Bell"}, icon: "bell", href: "/bell", listed: true},
	{id: "go.recent", group: GoTo, name: fault.Text{DE: "Zuletzt geöffnet", EN: "Recently opened"}, icon: "history", href: "/search", listed: true},
	{id: "go.changes", group: GoTo, name: fault.Text{DE: "Änderungen ganzer Listen", EN: "Changes of whole lists"}, icon: "list-filter", href: "/changes", family: "contacts", verb: "write", listed: true},
	{id: "go.settings", group: GoTo, keys: both("g s"), name: fault.Text{DE: "Einstellungen", EN: "Settings"}, icon: "settings", href: "/settings", listed: true, own: true},
	{id: "go.security", group: GoTo, name: fault.Text{DE: "Kennwort und Anmeldung", EN: "Password and sign-in"}, icon: "shield-check", href: "/settings/security", listed: true, own: true},
	{id: "go.keys", group: GoTo, name: fault.Text{DE: "API-Schlüssel", EN: "API keys"}, icon: "key-round", href: "/settings/interfaces/keys", listed: true, own: true},
	{id: "go.requests", group: GoTo, name: fault.Text{DE: "Aufrufe der API", EN: "API calls"}, icon: "list", href: "/settings/interfaces/requests", listed: true, own: true},
	{id: "go.events", group: GoTo, name: fault.Text{DE: "Ereignisse", EN: "Events"}, icon: "history", href: "/settings/interfaces/events", listed: true, own: true},
	{id: "go.webhooks", group: GoTo, name: fault.Text{DE: "Webhooks", EN: "Webhooks"}, icon: "webhook", href: "/settings/interfaces/webhooks", listed: true, own: true},
	{id: "go.applications", group: GoTo, name: fault.Text{DE: "Verbundene Anwendungen", EN: "Connected applications"}, icon: "plug", href: "/settings/interfaces/applications", listed: true, own: true},
	{id: "go.usage", group: GoTo, name: fault.Text{DE: "Nutzung der API", EN: "API usage"}, icon: "gauge", href: "/settings/interfaces/usage", listed: true, own: true},
	{id: "go.help", group: GoTo, name: fault.Text{DE: "Hilfe", EN: "Help"}, icon: "circle-question-mark", href: "/help", listed: true},

	{id: "new.contact", group: Create, keys: fault.Text{DE: "c k", EN: "c c"}, name: fault.Text{DE: "Kontakt", EN: "Contact"}, icon: "user-plus", href: "/contacts/new", family: "contacts", verb: "write", listed: true},
	{id: "new.company", group: Create, keys: fault.Text{DE: "c f", EN: "c o"}, name: fault.Text{DE: "Firma", EN: "Company"}, icon: "building-2", href: "/companies/new", family: "companies", verb: "write", listed: true},
	{id: "new.task", group: Create, keys: fault.Text{DE: "c a", EN: "c t"}, name: fault.Text{DE: "Aufgabe", EN: "Task"}, icon: "square-check-big", href: "/tasks/new", family: "tasks", verb: "write", listed: true},
	{id: "new.document", group: Create, keys: both("c d"), name: fault.Text{DE: "Dokument", EN: "Document"}, icon: "upload", href: "/documents/new", family: "documents", verb: "write", listed: true},

	{id: "find", group: Everywhere, keys: both("/"), name: fault.Text{DE: "Suchen", EN: "Search"}},
	{id: "palette", group: Everywhere, keys: both("Control+K"), name: fault.Text{DE: "Befehle, zuletzt Geöffnetes, Kennungen", EN: "Commands, recently opened, identifiers"}},
	{id: "help", group: Everywhere, keys: both("?"), name: fault.Text{DE: "Diese Übersicht", EN: "This overview"}},
	{id: "save", group: Everywhere, keys: both("Control+Enter"), name: fault.Text{DE: "Formular speichern", EN: "Save the form"}},
	{id: "saveNext", group: Everywhere, keys: both("Control+Shift+Enter"), name: fault.Text{DE: "Speichern und den nächsten Eintrag anlegen", EN: "Save and create the next entry"}},

	{id: "next", group: Moves, keys: both("j"), name: fault.Text{DE: "Nächster Eintrag", EN: "Next entry"}},
	{id: "previous", group: Moves, keys: both("k"), name: fault.Text{DE: "Voriger Eintrag", EN: "Previous entry"}},
	{id: "open", group: Moves, keys: both("Enter"), name: fault.Text{DE: "Eintrag öffnen", EN: "Open the entry"}},
	{id: "close", group: Moves, keys: both("Escape"), name: fault.Text{DE: "Eine Ebene schließen", EN: "Close one level"}},
}

// Commands are those that the reader may use, in the order of their groups.
func (f Frame) Commands() []Command {
	var list []Command
	for _, c := range commands {
		if c.family != "" && !f.may(c.family, c.verb) || c.href != "" && !f.has(c.href) {
			continue
		}
		out := Command{ID: c.id, Name: c.name.In(f.Language), Icon: c.icon, Keys: c.keys.In(f.Language), Href: c.href, Own: c.own, Group: c.group, Listed: c.listed}
		for _, other := range []string{c.keys.DE, c.keys.EN} {
			if other != out.Keys {
				out.Also = other
			}
		}
		list = append(list, out)
	}
	return list
}

// address returns the address of the page that a command opens.
func (f Frame) address(c Command) string {
	if c.Own {
		return string(Own(c.Href))
	}
	return string(f.To(c.Href))
}

// CommandGroup is a heading with its commands.
type CommandGroup struct {
	Name     string
	Commands []Command
}

// CommandGroups are the commands by group: all of them, or those of the palette.
func (f Frame) CommandGroups(listed bool) []CommandGroup {
	names := map[Group]string{
		OnPage: f.Say("Auf dieser Seite", "On this page"), GoTo: f.Say("Wechseln zu", "Go to"), Create: f.Say("Anlegen", "Create"),
		Everywhere: f.Say("Überall", "Everywhere"), Moves: f.Say("In Listen", "In lists"),
	}
	groups := make([]CommandGroup, len(names))
	for _, c := range f.Commands() {
		if listed && !c.Listed || !listed && c.Keys == "" {
			continue
		}
		groups[c.Group].Name = names[c.Group]
		groups[c.Group].Commands = append(groups[c.Group].Commands, c)
	}
	return groups
}

// shortcuts are the commands with their keys, for the scripts: "go.contacts" has "g
// k" and "g c".
func (f Frame) shortcuts() string {
	keys := map[string][]string{}
	for _, c := range f.Commands() {
		for _, k := range []string{c.Keys, c.Also} {
			if k != "" {
				keys[c.ID] = append(keys[c.ID], k)
			}
		}
	}
	text, _ := json.Marshal(keys)
	return string(text)
}

// keyCaps are the caps of the keys of a command, as they are drawn one after the
// other.
func (v View) keyCaps(keys string) []string {
	var caps []string
	for key := range strings.FieldsSeq(keys) {
		for part := range strings.SplitSeq(key, "+") {
			switch part {
			case "Control":
				part = v.Say("Strg", "Ctrl")
			case "Shift":
				part = v.Say("Umschalt", "Shift")
			case "Escape":
				part = "Esc"
			}
			caps = append(caps, part)
		}
	}
	return caps
}
