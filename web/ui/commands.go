package ui

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"kartei/kit/fault"
)

// Command is something that a person does from any page: with the palette, with
// keys, or with the link or the button that it stands for. The list of commands
// feeds the palette, the page of help, the menus, the scripts of keys and the tests.
type Command struct {
	// ID names the command in scripts: go.contacts.
	ID string
	// Name is its name in the reader's language.
	Name, Icon string
	// Keys are the keys with spaces between them: "g k". Also are the keys in the other
	// language, which work too. Control stands for the Command key on a Mac.
	Keys, Also string
	// Href is the path of the page that it opens. Without one it acts on the page
	// that is shown.
	Href string
	// Words are what people call it besides its name, in all languages.
	Words string
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
	// keys are the keys in each language.
	keys fault.Text
	name fault.Text
	icon string
	href string
	// family and verb are the right that it needs, if any.
	family, verb string
	listed       bool
	own          bool
	// words are other words for it, of both languages: people mix them.
	words string
	// room is the environment in which it stands; empty means both.
	room room
}

// room is an environment of pages.
type room string

const (
	live    room = "live"
	sandbox room = "sandbox"
)

func both(keys string) fault.Text { return fault.Text{DE: keys, EN: keys} }

// commands is the list. A command that acts on the page presses the element whose
// data-key is its key, or is a function of the same name in keys.js.
var commands = []command{
	{
		id:     "edit",
		group:  OnPage,
		keys:   both("e"),
		name:   fault.Text{DE: "Bearbeiten", EN: "Edit"},
		icon:   "pencil",
		listed: true,
	},
	{
		id:     "complete",
		group:  OnPage,
		keys:   both("x"),
		name:   fault.Text{DE: "Erledigen oder auswählen", EN: "Complete or select"},
		icon:   "check",
		listed: true,
	},
	{
		id:     "selection",
		group:  OnPage,
		keys:   both(","),
		name:   fault.Text{DE: "Zu den Aktionen der Auswahl", EN: "Go to the actions on the selection"},
		icon:   "square-check-big",
		listed: true,
	},
	{
		id:     "quick",
		group:  OnPage,
		keys:   both("t"),
		name:   fault.Text{DE: "Neue Aufgabe in einer Zeile", EN: "New task in one line"},
		icon:   "plus",
		listed: true,
	},
	{
		id:     "upload",
		group:  OnPage,
		keys:   both("u"),
		name:   fault.Text{DE: "Datei ablegen", EN: "Upload a file"},
		icon:   "upload",
		listed: true,
	},
	{
		id:     "more",
		group:  OnPage,
		keys:   both("."),
		name:   fault.Text{DE: "Weitere Aktionen", EN: "More actions"},
		icon:   "ellipsis",
		listed: true,
	},
	{
		id:     "link",
		group:  OnPage,
		keys:   both("y"),
		name:   fault.Text{DE: "Link kopieren", EN: "Copy the link"},
		icon:   "link",
		listed: true,
	},
	{
		id:     "id",
		group:  OnPage,
		name:   fault.Text{DE: "Kennung kopieren", EN: "Copy the identifier"},
		icon:   "copy",
		listed: true,
	},
	{
		id:     "undo",
		group:  OnPage,
		keys:   both("z"),
		name:   fault.Text{DE: "Letzte Änderung zurücknehmen", EN: "Undo the last change"},
		icon:   "undo-2",
		listed: true,
	},
	{
		id:     "hit",
		group:  OnPage,
		keys:   both("n"),
		name:   fault.Text{DE: "Nächster Treffer im Dokument", EN: "Next hit in the document"},
		icon:   "chevron-down",
		listed: true,
	},
	{
		id:     "hitBefore",
		group:  OnPage,
		keys:   both("p"),
		name:   fault.Text{DE: "Voriger Treffer im Dokument", EN: "Previous hit in the document"},
		icon:   "chevron-down",
		listed: true,
	},
	{
		id:     "print",
		group:  OnPage,
		name:   fault.Text{DE: "Seite drucken", EN: "Print the page"},
		icon:   "printer",
		listed: true,
		words:  "drucken ausdrucken drucker pdf print printer paper papier",
	},

	{
		id:     "go.today",
		group:  GoTo,
		keys:   both("g h"),
		name:   fault.Text{DE: "Heute", EN: "Today"},
		icon:   "house",
		href:   "/",
		listed: true,
	},
	{
		id:     "go.contacts",
		group:  GoTo,
		keys:   fault.Text{DE: "g k", EN: "g c"},
		name:   fault.Text{DE: "Kontakte", EN: "Contacts"},
		icon:   "users",
		href:   "/contacts",
		family: "contacts",
		verb:   "read",
		listed: true,
	},
	{
		id:     "go.companies",
		group:  GoTo,
		keys:   fault.Text{DE: "g f", EN: "g o"},
		name:   fault.Text{DE: "Firmen", EN: "Companies"},
		icon:   "building-2",
		href:   "/companies",
		family: "companies",
		verb:   "read",
		listed: true,
	},
	{
		id:     "go.tasks",
		group:  GoTo,
		keys:   fault.Text{DE: "g a", EN: "g t"},
		name:   fault.Text{DE: "Aufgaben", EN: "Tasks"},
		icon:   "square-check-big",
		href:   "/tasks",
		family: "tasks",
		verb:   "read",
		listed: true,
	},
	{
		id:     "go.documents",
		group:  GoTo,
		keys:   both("g d"),
		name:   fault.Text{DE: "Dokumente", EN: "Documents"},
		icon:   "file-text",
		href:   "/documents",
		family: "documents",
		verb:   "read",
		listed: true,
	},
	{
		id:     "go.bell",
		group:  GoTo,
		name:   fault.Text{DE: "Mitteilungen", EN: "Notifications"},
		icon:   "bell",
		href:   "/bell",
		listed: true,
		words:  "glocke hinweise benachrichtigungen erinnerungen bell notices alerts reminders",
	},
	{
		id:     "go.recent",
		group:  GoTo,
		name:   fault.Text{DE: "Zuletzt geöffnet", EN: "Recently opened"},
		icon:   "history",
		href:   "/search",
		listed: true,
	},
	{
		id:     "go.changes",
		group:  GoTo,
		name:   fault.Text{DE: "Änderungen ganzer Listen", EN: "Changes of whole lists"},
		icon:   "list-filter",
		href:   "/changes",
		family: "contacts",
		verb:   "write",
		listed: true,
	},
	{
		id:     "go.settings",
		group:  GoTo,
		keys:   both("g s"),
		name:   fault.Text{DE: "Einstellungen", EN: "Settings"},
		icon:   "settings",
		href:   "/settings",
		listed: true,
		own:    true,
		words:  "optionen konfiguration menü preferences options configuration",
	},
	{id: "go.profile", group: GoTo, name: fault.Text{
		DE: "Profil, Sprache und Darstellung", EN: "Profile, language and appearance",
	}, icon: "user", href: "/settings/profile", listed: true, own: true,
		words: "name zeitzone farben design benachrichtigungen tasten time zone theme colours colors notifications shortcuts account konto"},
	{
		id:     "go.security",
		group:  GoTo,
		name:   fault.Text{DE: "Kennwort und Anmeldung", EN: "Password and sign-in"},
		icon:   "shield-check",
		href:   "/settings/security",
		listed: true,
		own:    true,
		words:  "passwort sicherheit passkey zweiter faktor 2fa totp sitzungen zugang zugänge geräte single sign-on sso security login sessions access devices",
	},
	{
		id:     "go.keys",
		group:  GoTo,
		name:   fault.Text{DE: "API-Schlüssel", EN: "API keys"},
		icon:   "key-round",
		href:   "/settings/interfaces/keys",
		listed: true,
		own:    true,
		words:  "schnittstelle token interface integration",
	},
	{
		id:     "go.requests",
		group:  GoTo,
		name:   fault.Text{DE: "Aufrufe der API", EN: "API calls"},
		icon:   "list",
		href:   "/settings/interfaces/requests",
		listed: true,
		own:    true,
		words:  "log anfragen requests fehler errors",
	},
	{
		id:     "go.events",
		group:  GoTo,
		name:   fault.Text{DE: "Ereignisse", EN: "Events"},
		icon:   "history",
		href:   "/settings/interfaces/events",
		listed: true,
		own:    true,
	},
	{
		id:     "go.webhooks",
		group:  GoTo,
		name:   fault.Text{DE: "Webhooks", EN: "Webhooks"},
		icon:   "webhook",
		href:   "/settings/interfaces/webhooks",
		listed: true,
		own:    true,
	},
	{
		id:     "go.applications",
		group:  GoTo,
		name:   fault.Text{DE: "Verbundene Anwendungen", EN: "Connected applications"},
		icon:   "plug",
		href:   "/settings/interfaces/applications",
		listed: true,
		own:    true,
		words:  "apps oauth mcp assistent claude chatgpt assistant",
	},
	{
		id:     "go.usage",
		group:  GoTo,
		name:   fault.Text{DE: "Nutzung der API", EN: "API usage"},
		icon:   "gauge",
		href:   "/settings/interfaces/usage",
		listed: true,
		own:    true,
		words:  "limits verbrauch statistik statistics quota",
	},
	{
		id:     "go.people",
		group:  GoTo,
		name:   fault.Text{DE: "Personen", EN: "People"},
		icon:   "users",
		href:   "/settings/people",
		listed: true,
		own:    true,
		words:  "benutzer kollegen mitarbeiter team rollen rechte users colleagues members roles rights",
	},
	{
		id:     "go.accounts",
		group:  GoTo,
		name:   fault.Text{DE: "Dienstkonten", EN: "Service accounts"},
		icon:   "command",
		href:   "/settings/service-accounts",
		listed: true,
		own:    true,
		words:  "programme technische benutzer programs robots",
	},
	{id: "go.data", group: GoTo, name: fault.Text{
		DE: "Daten: Importe, Auskunft, Export", EN: "Data: imports, personal data, export",
	}, icon: "file-spreadsheet", href: "/settings/data", listed: true, own: true,
		words: "export exportieren alles herunterladen sichern dsgvo auskunft import download everything gdpr takeout"},
	{
		id:     "go.organization",
		group:  GoTo,
		name:   fault.Text{DE: "Organisation", EN: "Organization"},
		icon:   "building-2",
		href:   "/settings/organization",
		listed: true,
		own:    true,
		words:  "büro kanzlei name api berufsgeheimnis office firm secrecy",
	},
	{
		id:     "go.audit",
		group:  GoTo,
		name:   fault.Text{DE: "Protokoll", EN: "Audit log"},
		icon:   "history",
		href:   "/settings/audit",
		listed: true,
		own:    true,
		words:  "audit log verwaltung nachweis wer hat protocol",
	},
	{
		id:     "go.help",
		group:  GoTo,
		name:   fault.Text{DE: "Hilfe", EN: "Help"},
		icon:   "circle-question-mark",
		href:   "/help",
		listed: true,
		words:  "anleitung support tastatur tasten kürzel shortcuts keyboard keys manual",
	},

	{
		id:     "new.contact",
		group:  Create,
		keys:   fault.Text{DE: "c k", EN: "c c"},
		name:   fault.Text{DE: "Kontakt", EN: "Contact"},
		icon:   "user-plus",
		href:   "/contacts/new",
		family: "contacts",
		verb:   "write",
		listed: true,
	},
	{
		id:     "new.company",
		group:  Create,
		keys:   fault.Text{DE: "c f", EN: "c o"},
		name:   fault.Text{DE: "Firma", EN: "Company"},
		icon:   "building-2",
		href:   "/companies/new",
		family: "companies",
		verb:   "write",
		listed: true,
	},
	{
		id:     "new.task",
		group:  Create,
		keys:   fault.Text{DE: "c a", EN: "c t"},
		name:   fault.Text{DE: "Aufgabe", EN: "Task"},
		icon:   "square-check-big",
		href:   "/tasks/new",
		family: "tasks",
		verb:   "write",
		listed: true,
	},
	{
		id:     "new.document",
		group:  Create,
		keys:   both("c d"),
		name:   fault.Text{DE: "Dokument", EN: "Document"},
		icon:   "upload",
		href:   "/documents/new",
		family: "documents",
		verb:   "write",
		listed: true,
	},

	{id: "find", group: Everywhere, keys: both("/"), name: fault.Text{DE: "Suchen", EN: "Search"}},
	{
		id:    "palette",
		group: Everywhere,
		keys:  both("Control+K"),
		name:  fault.Text{DE: "Befehle, zuletzt Geöffnetes, Kennungen", EN: "Commands, recently opened, identifiers"},
	},
	{
		id:     "help",
		group:  Everywhere,
		keys:   both("?"),
		name:   fault.Text{DE: "Tasten und Hilfe zeigen", EN: "Show keys and help"},
		icon:   "circle-question-mark",
		listed: true,
		words:  "tastatur tastenkürzel kürzel übersicht keyboard shortcuts overview",
	},
	{
		id:    "save",
		group: Everywhere,
		keys:  both("Control+Enter"),
		name:  fault.Text{DE: "Formular speichern", EN: "Save the form"},
	},
	{
		id:    "saveNext",
		group: Everywhere,
		keys:  both("Control+Shift+Enter"),
		name:  fault.Text{DE: "Speichern und den nächsten Eintrag anlegen", EN: "Save and create the next entry"},
	},
	{id: "invite", group: Everywhere, name: fault.Text{DE: "Person einladen", EN: "Invite a person"},
		icon: "user-plus", href: "/settings/people/invite", listed: true, own: true,
		words: "einladung neuer benutzer kollege mitarbeiter hinzufügen invitation new user colleague member add"},
	{id: "import", group: Everywhere, name: fault.Text{DE: "Kontakte importieren", EN: "Import contacts"},
		icon: "file-spreadsheet", href: "/settings/data/new", family: "contacts", verb: "write", listed: true, own: true,
		words: "import einlesen übernehmen csv vcard vcf excel outlook google hochladen upload migrate"},
	{
		id:     "export",
		group:  Everywhere,
		name:   fault.Text{DE: "Daten exportieren", EN: "Export data"},
		icon:   "download",
		href:   "/settings/data",
		listed: true,
		own:    true,
		words:  "export herunterladen csv vcard sichern backup download takeout",
	},
	{
		id:     "dark",
		group:  Everywhere,
		name:   fault.Text{DE: "Dunkle Farben", EN: "Dark colours"},
		icon:   "settings",
		listed: true,
		words:  "dunkel nacht dark mode night theme dunkelmodus schwarz black colors",
	},
	{
		id:     "light",
		group:  Everywhere,
		name:   fault.Text{DE: "Helle Farben", EN: "Light colours"},
		icon:   "settings",
		listed: true,
		words:  "hell tag light mode day theme weiß white colors",
	},
	{
		id:     "sandbox",
		group:  Everywhere,
		name:   fault.Text{DE: "Zur Sandbox", EN: "To the sandbox"},
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
		name:   fault.Text{DE: "Zur Kartei", EN: "To the live data"},
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
		name:   fault.Text{DE: "Abmelden", EN: "Sign out"},
		icon:   "log-out",
		listed: true,
		words:  "ausloggen logout log out beenden verlassen exit quit",
	},

	{id: "next", group: Moves, keys: both("j"), name: fault.Text{DE: "Nächster Eintrag", EN: "Next entry"}},
	{id: "previous", group: Moves, keys: both("k"), name: fault.Text{DE: "Voriger Eintrag", EN: "Previous entry"}},
	{id: "open", group: Moves, keys: both("Enter"), name: fault.Text{DE: "Eintrag öffnen", EN: "Open the entry"}},
	{id: "close", group: Moves, keys: both("Escape"), name: fault.Text{DE: "Eine Ebene schließen", EN: "Close one level"}},
}

// Commands are those that the reader may use, in the order of their groups.
func (f Frame) Commands() []Command {
	return f.commandsIf(func(*command) bool { return true })
}

// commandsIf are the commands that the reader may use and that a function chooses. It
// chooses first: whether the reader may open a page is the longer question.
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
			Own: c.own, Group: c.group, Listed: c.listed,
		}
		out.Words = strings.TrimSpace(c.words + " " + c.name.EN)
		if f.Language == fault.English {
			out.Words = strings.TrimSpace(c.words + " " + c.name.DE)
		}
		for _, other := range []string{c.keys.DE, c.keys.EN} {
			if other != out.Keys {
				out.Also = other
			}
		}
		list = append(list, out)
	}
	return list
}

// Knows reports whether a typed text names a command of the palette, as the script of the
// palette decides it.
func (f Frame) Knows(typed string) bool {
	words := strings.Fields(plain(typed))
	return len(words) > 0 && slices.ContainsFunc(f.Commands(), func(c Command) bool {
		name, also := plain(c.Name), " "+plain(c.Words)
		return c.Listed && !slices.ContainsFunc(words,
			func(w string) bool { return !strings.Contains(name, w) && !strings.Contains(also, " "+w) })
	})
}

// plain returns a text in small letters and without diacritics.
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

// CommandGroups are the commands by group: the commands of the palette if listed is
// true, or else the commands with keys.
func (f Frame) CommandGroups(listed bool) []CommandGroup {
	names := map[Group]string{
		OnPage: f.Say("Auf dieser Seite", "On this page"), GoTo: f.Say("Wechseln zu", "Go to"),
		Create:     f.Say("Anlegen", "Create"),
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

// shortcut is a command with keys, for the scripts.
type shortcut struct {
	Keys []string `json:"keys"`
	Href string   `json:"href,omitempty"`
}

// shortcuts are the commands with keys: "go.contacts" has "g k" and "g c".
func (f Frame) shortcuts() string {
	all := map[string]shortcut{}
	for _, c := range f.commandsIf(func(c *command) bool { return c.keys.EN != "" }) {
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
