package ui

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"kartei/kit/i18n"
)

// Command is something that a person can do from any page: by the command palette, by a keyboard
// shortcut, or by the corresponding link or button. The list of commands is used by the palette,
// the help page, the menus, the scripts and the tests.
type Command struct {
	// ID identifies the command in scripts, as in go.contacts.
	ID string
	// Name is its name in the reader's language.
	Name, Icon string
	// Keys are the keys of the shortcut, separated by spaces, as in "g k". Also has the keys in the
	// other language, which work too. Control means the Command key on a Mac.
	Keys, Also string
	// Href is the path of the page that the command opens. If it is empty, the command acts on the
	// current page.
	Href string
	// Words are other words that people use for the command, in all languages.
	Words string
	// Own says that Href is a page about the person, which is the same in all environments.
	Own   bool
	Group Group
	// Listed says that the palette shows the command. Other commands only have shortcuts.
	Listed bool
}

// Group is a heading above commands.
type Group int

// These are the groups, in their order on the page.
const (
	OnPage Group = iota
	GoTo
	Create
	Everywhere
	Moves
)

// command is an entry of the list of commands.
type command struct {
	id    string
	group Group
	// keys is the text with the shortcut in each language.
	keys i18n.Text
	name i18n.Text
	icon string
	href string
	// family and verb are the right that the command needs. They are empty if it needs none.
	family, verb string
	listed       bool
	own          bool
	// words are other words for the command, in all languages, because people mix languages.
	words string
	// room is the environment in which the command exists. If it is empty, the command exists in
	// both.
	room room
}

// room is an environment: live data or sandbox.
type room string

const (
	live    room = "live"
	sandbox room = "sandbox"
)

// commands has all commands. A command that acts on the page clicks the element whose data-key is
// its shortcut, or calls the function with its id in keys.js.
var commands = []command{
	{
		id:     "edit",
		group:  OnPage,
		keys:   "e [key]",
		name:   "Edit",
		icon:   "pencil",
		listed: true,
	},
	{
		id:     "complete",
		group:  OnPage,
		keys:   "x [key]",
		name:   "Complete or select",
		icon:   "check",
		listed: true,
	},
	{
		id:     "selection",
		group:  OnPage,
		keys:   ", [key]",
		name:   "Go to the actions on the selection",
		icon:   "square-check-big",
		listed: true,
	},
	{
		id:     "quick",
		group:  OnPage,
		keys:   "t [key]",
		name:   "New task in one line",
		icon:   "plus",
		listed: true,
	},
	{
		id:     "upload",
		group:  OnPage,
		keys:   "u [key]",
		name:   "Upload a file",
		icon:   "upload",
		listed: true,
	},
	{
		id:     "more",
		group:  OnPage,
		keys:   ". [key]",
		name:   "More actions",
		icon:   "ellipsis",
		listed: true,
	},
	{
		id:     "link",
		group:  OnPage,
		keys:   "y [key]",
		name:   "Copy the link",
		icon:   "link",
		listed: true,
	},
	{
		id:     "id",
		group:  OnPage,
		name:   "Copy the identifier",
		icon:   "copy",
		listed: true,
	},
	{
		id:     "undo",
		group:  OnPage,
		keys:   "z [key]",
		name:   "Undo the last change",
		icon:   "undo-2",
		listed: true,
	},
	{
		id:     "hit",
		group:  OnPage,
		keys:   "n [key]",
		name:   "Next hit in the document",
		icon:   "chevron-down",
		listed: true,
	},
	{
		id:     "hitBefore",
		group:  OnPage,
		keys:   "p [key]",
		name:   "Previous hit in the document",
		icon:   "chevron-down",
		listed: true,
	},
	{
		id:     "print",
		group:  OnPage,
		name:   "Print the page",
		icon:   "printer",
		listed: true,
		words:  "drucken ausdrucken drucker pdf print printer paper papier",
	},

	{
		id:     "go.today",
		group:  GoTo,
		keys:   "g h [key]",
		name:   "Today",
		icon:   "house",
		href:   "/",
		listed: true,
	},
	{
		id:     "go.contacts",
		group:  GoTo,
		keys:   "g c [key]",
		name:   "Contacts",
		icon:   "users",
		href:   "/contacts",
		family: "contacts",
		verb:   "read",
		listed: true,
	},
	{
		id:     "go.companies",
		group:  GoTo,
		keys:   "g o [key]",
		name:   "Companies",
		icon:   "building-2",
		href:   "/companies",
		family: "companies",
		verb:   "read",
		listed: true,
	},
	{
		id:     "go.tasks",
		group:  GoTo,
		keys:   "g t [key]",
		name:   "Tasks",
		icon:   "square-check-big",
		href:   "/tasks",
		family: "tasks",
		verb:   "read",
		listed: true,
	},
	{
		id:     "go.documents",
		group:  GoTo,
		keys:   "g d [key]",
		name:   "Documents",
		icon:   "file-text",
		href:   "/documents",
		family: "documents",
		verb:   "read",
		listed: true,
	},
	{
		id:     "go.bell",
		group:  GoTo,
		name:   "Notifications",
		icon:   "bell",
		href:   "/bell",
		listed: true,
		words:  "glocke hinweise benachrichtigungen erinnerungen bell notices alerts reminders",
	},
	{
		id:     "go.recent",
		group:  GoTo,
		name:   "Recently opened",
		icon:   "history",
		href:   "/search",
		listed: true,
	},
	{
		id:     "go.changes",
		group:  GoTo,
		name:   "Changes of whole lists",
		icon:   "list-filter",
		href:   "/changes",
		family: "contacts",
		verb:   "write",
		listed: true,
	},
	{
		id: "go.duplicates", group: GoTo, name: "Possible duplicates", icon: "merge", href: "/duplicates",
		family: "contacts", verb: "write", listed: true,
		words: "dubletten duplikate doppelt zusammenführen merge deduplicate twice",
	},
	{
		id: "go.conflicts", group: GoTo, name: "Conflict check", icon: "scale", href: "/conflicts", listed: true,
		words: "interessenkonflikt gegner mandat interest opponent",
	},
	{
		id:     "go.settings",
		group:  GoTo,
		keys:   "g s [key]",
		name:   "Settings",
		icon:   "settings",
		href:   "/settings",
		listed: true,
		own:    true,
		words:  "optionen konfiguration menü preferences options configuration",
	},
	{id: "go.profile", group: GoTo, name: "Profile, language and appearance", icon: "user", href: "/settings/profile", listed: true, own: true,
		words: "name zeitzone farben design benachrichtigungen tasten time zone theme colours colors notifications shortcuts account konto"},
	{
		id:     "go.security",
		group:  GoTo,
		name:   "Password and sign-in",
		icon:   "shield-check",
		href:   "/settings/security",
		listed: true,
		own:    true,
		words:  "passwort sicherheit passkey zweiter faktor 2fa totp sitzungen zugang zugänge geräte single sign-on sso security login sessions access devices",
	},
	{
		id:     "go.keys",
		group:  GoTo,
		name:   "API keys",
		icon:   "key-round",
		href:   "/settings/interfaces/keys",
		listed: true,
		own:    true,
		words:  "schnittstelle token interface integration",
	},
	{
		id:     "go.requests",
		group:  GoTo,
		name:   "API calls",
		icon:   "list",
		href:   "/settings/interfaces/requests",
		listed: true,
		own:    true,
		words:  "log anfragen requests fehler errors",
	},
	{
		id:     "go.events",
		group:  GoTo,
		name:   "Events",
		icon:   "history",
		href:   "/settings/interfaces/events",
		listed: true,
		own:    true,
	},
	{
		id:     "go.webhooks",
		group:  GoTo,
		name:   "Webhooks",
		icon:   "webhook",
		href:   "/settings/interfaces/webhooks",
		listed: true,
		own:    true,
	},
	{
		id:     "go.applications",
		group:  GoTo,
		name:   "Connected applications",
		icon:   "plug",
		href:   "/settings/interfaces/applications",
		listed: true,
		own:    true,
		words:  "apps oauth mcp assistent claude chatgpt assistant",
	},
	{
		id:     "go.usage",
		group:  GoTo,
		name:   "API usage",
		icon:   "gauge",
		href:   "/settings/interfaces/usage",
		listed: true,
		own:    true,
		words:  "limits verbrauch statistik statistics quota",
	},
	{
		id:     "go.people",
		group:  GoTo,
		name:   "People",
		icon:   "users",
		href:   "/settings/people",
		listed: true,
		own:    true,
		words:  "benutzer kollegen mitarbeiter team rollen rechte users colleagues members roles rights",
	},
	{
		id:     "go.accounts",
		group:  GoTo,
		name:   "Service accounts",
		icon:   "command",
		href:   "/settings/service-accounts",
		listed: true,
		own:    true,
		words:  "programme technische benutzer programs robots",
	},
	{id: "go.data", group: GoTo, name: "Data: imports, personal data, export", icon: "file-spreadsheet", href: "/settings/data", listed: true, own: true,
		words: "export exportieren alles herunterladen sichern dsgvo auskunft import download everything gdpr takeout"},
	{
		id:     "go.organization",
		group:  GoTo,
		name:   "Organization",
		icon:   "building-2",
		href:   "/settings/organization",
		listed: true,
		own:    true,
		words:  "büro kanzlei name api berufsgeheimnis office firm secrecy",
	},
	{
		id:     "go.audit",
		group:  GoTo,
		name:   "Audit log",
		icon:   "history",
		href:   "/settings/audit",
		listed: true,
		own:    true,
		words:  "audit log verwaltung nachweis wer hat protocol",
	},
	{
		id:     "go.help",
		group:  GoTo,
		name:   "Help",
		icon:   "circle-question-mark",
		href:   "/help",
		listed: true,
		words:  "anleitung support tastatur tasten kürzel shortcuts keyboard keys manual",
	},

	{
		id:     "new.contact",
		group:  Create,
		keys:   "c c [key]",
		name:   "Contact",
		icon:   "user-plus",
		href:   "/contacts/new",
		family: "contacts",
		verb:   "write",
		listed: true,
	},
	{
		id:     "new.company",
		group:  Create,
		keys:   "c o [key]",
		name:   "Company",
		icon:   "building-2",
		href:   "/companies/new",
		family: "companies",
		verb:   "write",
		listed: true,
	},
	{
		id:     "new.task",
		group:  Create,
		keys:   "c t [key]",
		name:   "Task",
		icon:   "square-check-big",
		href:   "/tasks/new",
		family: "tasks",
		verb:   "write",
		listed: true,
	},
	{
		id:     "new.document",
		group:  Create,
		keys:   "c d [key]",
		name:   "Document",
		icon:   "upload",
		href:   "/documents/new",
		family: "documents",
		verb:   "write",
		listed: true,
	},

	{id: "find", group: Everywhere, keys: "/ [key]", name: "Search"},
	{
		id:    "palette",
		group: Everywhere,
		keys:  "Control+K [key]",
		name:  "Commands, recently opened, identifiers",
	},
	{
		id:     "help",
		group:  Everywhere,
		keys:   "? [key]",
		name:   "Show keys and help",
		icon:   "circle-question-mark",
		listed: true,
		words:  "tastatur tastenkürzel kürzel übersicht keyboard shortcuts overview",
	},
	{
		id:    "save",
		group: Everywhere,
		keys:  "Control+Enter [key]",
		name:  "Save the form",
	},
	{
		id:    "saveNext",
		group: Everywhere,
		keys:  "Control+Shift+Enter [key]",
		name:  "Save and create the next entry",
	},
	{id: "invite", group: Everywhere, name: "Invite a person",
		icon: "user-plus", href: "/settings/people/invite", listed: true, own: true,
		words: "einladung neuer benutzer kollege mitarbeiter hinzufügen invitation new user colleague member add"},
	{id: "import", group: Everywhere, name: "Import contacts",
		icon: "file-spreadsheet", href: "/settings/data/new", family: "contacts", verb: "write", listed: true, own: true,
		words: "import einlesen übernehmen csv vcard vcf excel outlook google hochladen upload migrate"},
	{
		id:     "export",
		group:  Everywhere,
		name:   "Export data",
		icon:   "download",
		href:   "/settings/data",
		listed: true,
		own:    true,
		words:  "export herunterladen csv vcard sichern backup download takeout",
	},
	{
		id:     "dark",
		group:  Everywhere,
		name:   "Dark colours",
		icon:   "settings",
		listed: true,
		words:  "dunkel nacht dark mode night theme dunkelmodus schwarz black colors",
	},
	{
		id:     "light",
		group:  Everywhere,
		name:   "Light colours",
		icon:   "settings",
		listed: true,
		words:  "hell tag light mode day theme weiß white colors",
	},
	{
		id:     "sandbox",
		group:  Everywhere,
		name:   "To the sandbox",
		icon:   "refresh-cw",
		href:   "/sandbox/",
		listed: true,
		own:    true,
		room:   live,
		words:  "testdaten test üben probieren test data try",
	},
	{
		id:     "live",
		group:  Everywhere,
		name:   "To the live data",
		icon:   "refresh-cw",
		href:   "/",
		listed: true,
		own:    true,
		room:   sandbox,
		words:  "sandbox verlassen echte daten leave exit",
	},
	{
		id:     "signOut",
		group:  Everywhere,
		name:   "Sign out",
		icon:   "log-out",
		listed: true,
		words:  "ausloggen logout log out beenden verlassen exit quit",
	},

	{id: "next", group: Moves, keys: "j [key]", name: "Next entry"},
	{id: "previous", group: Moves, keys: "k [key]", name: "Previous entry"},
	{id: "open", group: Moves, keys: "Enter [key]", name: "Open the entry"},
	{id: "close", group: Moves, keys: "Escape [key]", name: "Close one level"},
}

// Commands returns the commands that the reader may use, in the order of their groups.
func (f Frame) Commands() []Command {
	return f.commandsIf(func(*command) bool { return true })
}

// commandsIf returns the commands for which chosen returns true and which the reader may use. It
// calls chosen first, since the check of rights takes longer.
func (f Frame) commandsIf(chosen func(*command) bool) []Command {
	var list []Command
	for i := range commands {
		c := &commands[i]
		switch {
		case !chosen(c):
			continue
		case c.family != "" && !f.may(c.family, c.verb), c.room == live && f.Sandbox(), c.room == sandbox && !f.Sandbox():
			continue
		case c.href != "" && c.room == "" && !f.opens(c.href):
			continue
		}
		out := Command{
			ID: c.id, Name: c.name.In(f.Language), Icon: c.icon, Keys: c.keys.In(f.Language), Href: c.href,
			Own: c.own, Group: c.group, Listed: c.listed, Words: c.words,
		}
		for _, l := range i18n.Languages {
			if l == f.Language {
				continue
			}
			out.Words = strings.TrimSpace(out.Words + " " + c.name.In(l))
			if other := c.keys.In(l); other != out.Keys {
				out.Also = other
			}
		}
		list = append(list, out)
	}
	return list
}

// Knows reports whether a typed text matches a command in the palette. The script of the palette
// uses the same rules.
func (f Frame) Knows(typed string) bool {
	words := strings.Fields(plain(typed))
	return len(words) > 0 && slices.ContainsFunc(f.Commands(), func(c Command) bool {
		name, also := plain(c.Name), " "+plain(c.Words)
		return c.Listed && !slices.ContainsFunc(words,
			func(w string) bool { return !strings.Contains(name, w) && !strings.Contains(also, " "+w) })
	})
}

// plain returns a text in lower case and without diacritics.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, norm.NFD.String(strings.ReplaceAll(strings.ToLower(text), "ß", "ss")))
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

// CommandGroups returns the commands by group. If listed is true, they are the commands in the
// palette, and otherwise the commands with a shortcut.
func (f Frame) CommandGroups(listed bool) []CommandGroup {
	names := map[Group]string{
		OnPage: f.Say("On this page"), GoTo: f.Say("Go to"),
		Create:     f.Say("Create"),
		Everywhere: f.Say("Everywhere"), Moves: f.Say("In lists"),
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

// shortcut is the JSON object of a command with a keyboard shortcut, for the scripts.
type shortcut struct {
	Keys []string `json:"keys"`
	Href string   `json:"href,omitempty"`
}

// shortcuts returns a JSON object that maps the ids of commands to their shortcuts. For example,
// go.contacts has "g k" and "g c".
func (f Frame) shortcuts() string {
	all := map[string]shortcut{}
	for _, c := range f.commandsIf(func(c *command) bool { return c.keys != "" }) {
		s := shortcut{Keys: []string{c.Keys}}
		if c.Also != "" {
			s.Keys = append(s.Keys, c.Also)
		}
		if c.Href != "" {
			s.Href = f.address(c)
		}
		all[c.ID] = s
	}
	text, _ := json.Marshal(all)
	return string(text)
}

// keyCaps returns the labels of the keys in a shortcut.
func (v View) keyCaps(keys string) []string {
	var caps []string
	for key := range strings.FieldsSeq(keys) {
		for part := range strings.SplitSeq(key, "+") {
			switch part {
			case "Control":
				part = v.Say("Ctrl")
			case "Shift":
				part = v.Say("Shift")
			case "Escape":
				part = "Esc"
			}
			caps = append(caps, part)
		}
	}
	return caps
}
