package exports

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"maps"
	"slices"
	"strings"

	"kartei/kit/clock"
	"kartei/kit/i18n"
	"kartei/record"
	"kartei/record/contact"
	"kartei/record/document"
	"kartei/record/task"
)

// summary is a page with everything about a contact, for people to read and to print. It is HTML
// without scripts and images, which every browser can show.
type summary struct {
	*export
	contact   *contact.Fields
	json      []byte
	company   string
	history   []record.Change
	tasks     []task.Fields
	documents []document.Fields
	// names are the names of people and service accounts, by id.
	names map[string]string
	bytes.Buffer
}

// labels are the members of a contact in the order of the page, each with its label.
var labels = []struct {
	member string
	i18n.Text
}{
	{"salutation", "Salutation"}, {"title", "Title"},
	{"firstName", "First name"}, {"lastName", "Last name"},
	{"nameSuffix", "Suffix"},
	{"displayName", "Displayed name"},
	{"birthday", "Birthday"},
	{"language", "Language"}, {"companyId", "Company"},
	{"jobTitle", "Job title"},
	{"department", "Department"},
	{"email", "Email"}, {"additionalEmails", "Additional emails"},
	{"phone", "Telephone"}, {"mobile", "Mobile telephone"},
	{"additionalPhones", "Additional telephone numbers"},
	{"website", "Website"},
	{"address.street", "Street and number"},
	{"address.postalCode", "Postal code"},
	{"address.city", "City"}, {"address.region", "Region"},
	{"address.country", "Country"},
	{"additionalAddresses", "Additional addresses"},
	{"note", "Note"}, {"tags", "Tags"},
	{"externalId", "External ID"}, {"attributes", "Attributes"},
	{"ownerId", "Owner [in an export]"},
	{"visibility", "Visibility"},
	{"id", "Identifier"}, {"createdAt", "Created"},
	{"updatedAt", "Last changed"},
}

// values has the texts for values that are words of the API.
var values = map[string]i18n.Text{
	"salutation.mr": "Mr", "salutation.ms": "Ms",
	"salutation.mx":           "Mx",
	"visibility.organization": "everybody in the office",
	"visibility.private":      "the owner and admins alone",
	"label.work":              "work", "label.home": "home",
	"label.mobile": "Mobile", "label.fax": "Fax", "label.other": "other [of a label]",
	"status.open": "open", "status.completed": "completed",
	"act.created": "created", "act.updated": "changed",
	"act.deleted": "deleted",
	"door.rest":   "by the API",
	"door.web":    "in the web application",
	"door.job":    "by work in the background",
	"door.admin":  "by the operator [through]",
}

// value returns the text for a value of a member. It returns other values unchanged.
func (s *summary) value(member, text string) string {
	if t, known := values[member+"."+text]; known {
		return t.In(s.Language)
	}
	return text
}

const style = `body{font:16px/1.5 system-ui,sans-serif;max-width:48rem;margin:2rem auto;padding:0 1rem;color:#1a1a1a;background:#fff}
h1{font-size:1.6rem}h2{font-size:1.2rem;margin-top:2rem;border-bottom:1px solid #767676}
dl{display:grid;grid-template-columns:12rem 1fr;gap:.25rem 1rem}dt{color:#555}dd{margin:0;white-space:pre-line;overflow-wrap:anywhere}
li{margin:.4rem 0;overflow-wrap:anywhere}@media(max-width:30rem){dl{grid-template-columns:1fr}dd{margin-bottom:.5rem}}`

// page returns the page.
func (s *summary) page() []byte {
	title := s.say("Stored personal data")
	s.write(`<!doctype html><html lang="%s"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><title>%s</title><style>`+style+`</style></head><body>`,
		string(s.Language), title)
	s.write("<h1>%s</h1>\n<p>%s</p>\n", title, s.say("As of: %s", s.time(s.Begun)))
	s.members()
	s.taskList()
	s.documentList()
	s.changes()
	s.write("</body></html>\n")
	return s.Bytes()
}

// write writes HTML. It escapes texts and inserts them into format.
func (s *summary) write(format string, texts ...string) {
	args := make([]any, len(texts))
	for i, t := range texts {
		args[i] = html.EscapeString(t)
	}
	fmt.Fprintf(&s.Buffer, format, args...)
}

// time returns the text of a time with its time zone, because readers may be in another zone.
func (s *summary) time(at clock.Micros) string {
	if s.Language == i18n.German {
		return at.Time().UTC().Format("02.01.2006 15:04 UTC")
	}
	return at.Time().UTC().Format("2 January 2006 15:04 UTC")
}

// members writes the members of the contact that have a value.
func (s *summary) members() {
	var all map[string]any
	if err := json.Unmarshal(s.json, &all); err != nil {
		panic("exports: " + err.Error()) // the API wrote it
	}
	s.write("<h2>%s</h2>\n<dl>\n", s.say("Contact"))
	for _, l := range labels {
		if text := s.member(l.member, all); text != "" {
			s.write("<dt>%s</dt><dd>%s</dd>\n", l.In(s.Language), text)
		}
	}
	s.write("</dl>\n")
}

// member returns the text of a member.
func (s *summary) member(name string, all map[string]any) string {
	outer, inner, nested := strings.Cut(name, ".")
	v := all[outer]
	if nested {
		object, _ := v.(map[string]any)
		v = object[inner]
	}
	text, _ := v.(string)
	switch {
	case name == "tags":
		return strings.Join(s.contact.Tags, ", ")
	case strings.HasPrefix(name, "additional"):
		return s.additional(v)
	case name == "attributes":
		return attributes(v)
	case name == "companyId" && text != "":
		return joined(s.company, text)
	case name == "ownerId":
		return joined(s.names[text], text)
	case name == "address.country" && text != "":
		return s.country(text)
	case name == "createdAt" || name == "updatedAt":
		var at clock.Micros
		if json.Unmarshal([]byte(`"`+text+`"`), &at) == nil {
			return s.time(at)
		}
	}
	return s.value(name, text)
}

// country returns the name of a country.
func (s *summary) country(code string) string {
	if t, known := i18n.CountryNames[code]; known {
		return t.In(s.Language)
	}
	return code
}

// additional returns the text of a list of emails, numbers or addresses: a line for each, with its label
// in brackets.
func (s *summary) additional(list any) string {
	var lines []string
	all, _ := list.([]any)
	for _, one := range all {
		entry, _ := one.(map[string]any)
		text := func(part string) string { t, _ := entry[part].(string); return t }
		parts := present(text("email"), text("phone"), text("street"),
			strings.Join(present(text("postalCode"), text("city")), " "), text("region"), s.country(text("country")))
		line := strings.Join(parts, ", ")
		if label := text("label"); label != "" {
			line += " (" + s.value("label", label) + ")"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// attributes returns the text of attributes: a line for each.
func attributes(object any) string {
	var lines []string
	all, _ := object.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		text, _ := all[name].(string)
		lines = append(lines, name+": "+text)
	}
	return strings.Join(lines, "\n")
}

// joined returns a name followed by its id.
func joined(name, id string) string {
	if name == "" {
		return id
	}
	return name + " (" + id + ")"
}

// more writes the name of the file with the complete list if a list is longer than the page.
func (s *summary) more(n int, file string) {
	if n == page {
		s.write("<p>%s</p>\n", s.say("Others are in %s.", file))
	}
}

func (s *summary) taskList() {
	if len(s.tasks) == 0 {
		return
	}
	s.write("<h2>%s</h2>\n<ul>\n", s.say("Tasks"))
	for i := range s.tasks {
		t := &s.tasks[i]
		state := s.value("status", string(t.Status))
		if t.DueAt != nil {
			state = s.say("%s, due %s", state, s.time(*t.DueAt))
		}
		s.write("<li>%s (%s)", withReference(t.Reference, t.Title), state)
		if t.Description != nil {
			s.write("<br>%s", *t.Description)
		}
		s.write("</li>\n")
	}
	s.write("</ul>\n")
	s.more(len(s.tasks), "tasks.jsonl")
}

// withReference returns a name with the file number before it, if there is one.
func withReference(reference *string, name string) string {
	if reference == nil {
		return name
	}
	return *reference + " · " + name
}

func (s *summary) documentList() {
	if len(s.documents) == 0 {
		return
	}
	s.write("<h2>%s</h2>\n<ul>\n", s.say("Documents"))
	for i := range s.documents {
		d := &s.documents[i]
		s.write("<li>%s (%s, %s)</li>\n", withReference(d.Reference, d.Name), d.ContentType, i18n.Bytes(d.Size).In(s.Language))
	}
	s.write("</ul>\n")
	s.more(len(s.documents), "documents.jsonl")
}

// changes writes the history of the contact.
func (s *summary) changes() {
	s.write("<h2>%s</h2>\n<ol>\n", s.say("History"))
	for _, c := range s.history {
		var members []string
		for _, m := range c.Members {
			members = append(members, s.label(m))
		}
		what := s.value("act", c.Act)
		if len(members) > 0 {
			what += ": " + strings.Join(members, ", ")
		}
		s.write("<li>%s: %s (%s)</li>\n", s.time(c.ChangedAt), what,
			strings.Join(present(s.names[c.Principal], s.value("door", c.Door)), ", "))
	}
	s.write("</ol>\n")
}

// label returns the label of a member.
func (s *summary) label(member string) string {
	for _, l := range labels {
		if l.member == member {
			return l.In(s.Language)
		}
	}
	return member
}

// present returns the texts that are not empty.
func present(texts ...string) (list []string) {
	for _, t := range texts {
		if t != "" {
			list = append(list, t)
		}
	}
	return list
}

// indented returns JSON with indentation.
func indented(raw []byte) []byte {
	var out bytes.Buffer
	if json.Indent(&out, raw, "", "  ") != nil {
		return raw
	}
	return out.Bytes()
}
