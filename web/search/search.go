package search

import (
	"cmp"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/a-h/templ"

	"kartei/kit/fault"
	"kartei/record/document"
	"kartei/record/lookup"
	"kartei/record/search"
	"kartei/web/records"
	"kartei/web/shell"
	"kartei/web/ui"
)

// The hits of a family: below the field, on the page of all families, and on the
// page of one.
const (
	hitsBelow = 5
	hitsOfAll = 8
	hitsOfOne = 50
)

// searchPage is the content of the page of a search.
type searchPage struct {
	// q is the text in the field.
	q string
	lookup.FindOutput
	// in is the family whose tab is open, or nil.
	in *records.Family
	// counts has the groups of all families, with their counts.
	counts []lookup.Group
	// forgets says that the person does not want a list of what they opened.
	forgets bool
}

// showSearch serves the hits of all families. An empty field shows what the person
// opened lately.
func showSearch(v *shell.Request) shell.View {
	q := strings.TrimSpace(v.URL.Query().Get("q"))
	switch {
	case v.Part("hits"):
		return suggest(v, q, v.URL.Query().Get("list") == paletteList)
	case q == "":
		f, err := findRecent(v, hitsOfOne)
		if err != nil {
			return v.Failed(err)
		}
		return v.OK(v.Words.Say("Search [noun]"), "", searchView(v, searchPage{FindOutput: f, forgets: !v.Session.Remembers()}))
	}
	p, err := findAll(v, q, records.FamilyOf(v.URL.Query().Get("in")))
	switch {
	case fault.Is(err, fault.ValidationFailed): // a text that is too long names nothing
		p = searchPage{q: q}
	case err != nil:
		return v.Failed(err)
	case v.URL.Query().Get("open") != "" && p.Best != "":
		return goTo(v, p.Best)
	}
	return v.OK(v.Words.Say("Search: %s", q), "", searchView(v, p))
}

// findAll finds a text in all families, and more of it in the one whose tab is open.
func findAll(v *shell.Request, q string, in *records.Family) (searchPage, error) {
	p := searchPage{q: q}
	find := func(q string, limit int, counts bool) (lookup.FindOutput, error) {
		return shell.Ask(v, lookup.Find, lookup.FindInput{Q: q, Limit: limit, Counts: counts})
	}
	all, err := find(q, hitsOfAll, true)
	if err != nil {
		return p, err
	}
	p.FindOutput, p.counts, p.in = all, all.Groups, records.FamilyOf(all.Family)
	if p.in == nil {
		p.in = in
	} else if p.counts, err = countsOf(v, all, find); err != nil { // the text itself names a family
		return p, err
	}
	if p.in != nil && all.Thing == nil {
		p.FindOutput, err = find(records.Letters[p.in.Name]+all.Q, hitsOfOne, false)
	}
	return p, err
}

// countsOf returns the groups of all families for a search whose text names one of
// them.
func countsOf(v *shell.Request, f lookup.FindOutput, find func(string, int, bool) (lookup.FindOutput, error)) ([]lookup.Group, error) {
	wide, err := find(f.Q, 1, true)
	return wide.Groups, err
}

// paletteList is the list of hits in the palette.
const paletteList = "command-hits"

// suggest serves the lines below the field or in the palette.
func suggest(v *shell.Request, q string, inPalette bool) shell.View {
	list, limit := "find-list", 8
	if inPalette {
		list, limit = paletteList, hitsBelow
	}
	if q == "" {
		f, err := findRecent(v, limit)
		if err != nil {
			return v.Failed(err)
		}
		return shell.HTML{Body: suggestions(v, list, q, f)}
	}
	f, err := shell.Ask(v, lookup.Find, lookup.FindInput{Q: q, Limit: hitsBelow})
	if err != nil && !fault.Is(err, fault.ValidationFailed) {
		return v.Failed(err)
	}
	return shell.HTML{Body: suggestions(v, list, q, f)}
}

// findRecent returns what the person opened lately, as hits without a search.
func findRecent(v *shell.Request, limit int) (lookup.FindOutput, error) {
	if !v.Session.Remembers() {
		return lookup.FindOutput{}, nil
	}
	r, err := shell.Ask(v, lookup.Recent, lookup.RecentInput{Limit: min(limit, 20)})
	if err != nil || len(r.Data) == 0 {
		return lookup.FindOutput{}, err
	}
	return lookup.FindOutput{Groups: []lookup.Group{{Hits: r.Data}}}, nil
}

// noteOpened serves the script of a page that shows a record: it notes that the
// person has opened it. See docs/decisions/0044.
func noteOpened(v *shell.Request) shell.View {
	if !v.Session.Remembers() {
		return shell.Status(204)
	}
	if _, err := shell.Ask(v, lookup.Opened, lookup.OpenedInput{ID: v.Sent.Text("id")}); err != nil {
		return shell.Status(shell.AsFault(err).Code.Status())
	}
	return shell.Status(204)
}

// optionGroup is a heading with choices below the field. first is the number of
// choices above it.
type optionGroup struct {
	heading string
	first   int
	choices []ui.Choice
}

// optionsOf are the hits below the field, by family. Enter opens the best one.
func optionsOf(v *shell.Request, q string, f lookup.FindOutput) []optionGroup {
	var groups []optionGroup
	n := 0
	add := func(heading string, choices ...ui.Choice) {
		groups = append(groups, optionGroup{heading, n, choices})
		n += len(choices)
	}
	for _, g := range f.Groups {
		var list []ui.Choice
		for _, h := range g.Hits {
			c := ui.Choice{Text: h.Title, Marks: records.MarksOf(h.Marks), Icon: records.IconOf(h.Object), Href: string(pageOf(v, h, f.Q)), Best: h.ID == f.Best}
			c.Note, c.NoteMarks = records.NoteOf(v, h)
			list = append(list, c)
		}
		add(groupTitle(v, g), list...)
	}
	if t := f.Thing; t != nil {
		add(v.Words.Say("Identifier"), ui.Choice{
			Text: t.Title, Note: thingKind(v, t), Icon: "link", Best: true, Href: string(cmp.Or(leads(v, cmp.Or(t.Of, t.ID)), v.Look().To(searchFor(q)))),
		})
	}
	return groups
}

// extras are the choices below the hits: all of them, or a new record.
func extras(v *shell.Request, q string, f lookup.FindOutput) []ui.Choice {
	var list []ui.Choice
	if slices.ContainsFunc(f.Groups, func(g lookup.Group) bool { return g.More }) {
		list = append(list, ui.Choice{Text: v.Words.Say("All hits"), Icon: "search", Href: string(v.Look().To(searchFor(q))), Extra: true})
	}
	if n, offered := newFrom(v, q, f); offered {
		list = append(list, ui.Choice{Text: n.text, Icon: "plus", Href: string(v.Look().To(n.href)), Extra: true})
	}
	return list
}

// excerptBefore and excerptAfter are the maximum numbers of bytes that an
// excerpt shows before and after its first mark.
const (
	excerptBefore = 60
	excerptAfter  = 160
)

// showWords serves the sentence of a document that was found by its text. Reading a
// document takes a moment, so the page of hits does not wait for it.
func showWords(v *shell.Request) shell.View {
	t, err := shell.Ask(v, document.GetText, document.TextInput{ID: v.PathValue("id"), Query: v.URL.Query().Get("q")})
	if err != nil {
		return shell.Status(shell.AsFault(err).Code.Status())
	}
	return shell.HTML{Body: wordsView(v, excerptOf(t))}
}

// excerptOf cuts a text to the surroundings of its first mark, at spaces. It is empty
// without a mark.
func excerptOf(e document.DocumentText) document.DocumentText {
	if len(e.Marks) == 0 {
		return document.DocumentText{}
	}
	start, end := max(0, e.Marks[0][0]-excerptBefore), min(len(e.Text), e.Marks[0][1]+excerptAfter)
	if start > 0 {
		if space := strings.IndexAny(e.Text[start:e.Marks[0][0]], " \n\t"); space >= 0 {
			start += space + 1
		} else {
			start = e.Marks[0][0]
		}
	}
	if end < len(e.Text) {
		if space := strings.LastIndexAny(e.Text[e.Marks[0][1]:end], " \n\t"); space >= 0 {
			end = e.Marks[0][1] + space
		} else {
			end = e.Marks[0][1]
		}
	}
	out := document.DocumentText{Text: e.Text[start:end], Part: e.Part, Paged: e.Paged}
	for _, m := range e.Marks {
		if m[1] <= end {
			out.Marks = append(out.Marks, search.Span{m[0] - start, m[1] - start})
		}
	}
	return out
}

// showAny leads from any id to its page.
func showAny(v *shell.Request) shell.View { return goTo(v, v.PathValue("id")) }

// goTo redirects to the page of an id.
func goTo(v *shell.Request, id string) shell.View {
	if path := v.PathOf(id); path != "" {
		return v.SeeOther(path)
	}
	switch kind, _, _ := strings.Cut(id, "_"); kind {
	case "gra", "cli": // in the list of applications
		return v.SeeOther(shell.ApplicationsPath + "#" + url.PathEscape(id))
	case "dlv":
		if path := attemptPath(v, id); path != "" {
			return v.SeeOther(path)
		}
	}
	return v.SeeOther(searchFor(id))
}

// attemptPath returns the place of a delivery in the log of its endpoint, empty if the
// person does not see it.
func attemptPath(v *shell.Request, id string) string {
	for _, sandbox := range []bool{false, true} {
		f, err := shell.Ask(v, lookup.Find, lookup.FindInput{Q: id, Limit: 1}, shell.InSandbox(sandbox))
		if err == nil && f.Thing != nil && f.Thing.Of != "" {
			return shell.WebhooksPath + "/" + f.Thing.Of + "?" + url.Values{"from": {id}}.Encode() + "#" + id
		}
	}
	return ""
}

// pageOf returns the address of the page of a hit. If the text of a document matched, the page
// marks the words of the search.
func pageOf(v *shell.Request, h lookup.Hit, q string) templ.SafeURL {
	path := shell.PathOf(h.ID)
	if h.InText {
		path += "?" + url.Values{"q": {q}}.Encode()
	}
	return v.Look().To(path)
}

// searchFor returns the path of a search.
func searchFor(q string) string { return "/search?" + url.Values{"q": {q}}.Encode() }

// searchTitle returns the heading of the hits.
func searchTitle(v *shell.Request, p searchPage) string {
	if p.q == "" {
		return v.Words.Say("Recently opened")
	}
	return v.Words.Say("Hits for “%s”", p.q)
}

// tabs are the families that the person may read, with the number of hits of each.
func (p searchPage) tabs(v *shell.Request) []ui.Tab {
	tab := func(name string, f *records.Family) ui.Tab {
		address := url.Values{"q": {cmp.Or(p.Q, p.q)}}
		if f != nil {
			address.Set("in", f.Name)
		}
		return ui.Tab{Name: name, Href: v.Look().To("/search?" + address.Encode()), Here: p.in == f}
	}
	tabs := []ui.Tab{tab(v.Words.Say("All"), nil)}
	for _, f := range records.Families {
		if !v.Session.May(f.Read) {
			continue
		}
		t := tab(v.Words.Say(f.Many), f)
		t.Count = "0"
		for _, g := range p.counts {
			if g.Family == f.Name && g.Count != nil {
				t.Count = records.CountText(v.Words, records.CountAnswer(*g.Count))
			}
		}
		tabs = append(tabs, t)
	}
	return tabs
}

// groupTitle returns the heading of the hits of a family.
func groupTitle(v *shell.Request, g lookup.Group) string {
	if f := records.FamilyOf(g.Family); f != nil {
		return v.Words.Say(f.Many)
	}
	return v.Words.Say("Recently opened")
}

// thingKind returns what a thing is, in words.
func thingKind(v *shell.Request, t *lookup.Thing) string {
	switch t.Object {
	case "request":
		return v.Words.Say("API call")
	case "event":
		return v.Words.Say("Event")
	case "operation":
		return v.Words.Say("Operation [of the audit log]")
	case "delivery":
		return v.Words.Say("Delivery")
	case "webhookEndpoint":
		return "Webhook"
	case "key":
		return v.Words.Say("Key")
	case "serviceAccount":
		return v.Words.Say("Service account")
	}
	return v.Words.Say("Person")
}

// isElsewhere reports whether a thing is a call that was made in the other environment.
func isElsewhere(v *shell.Request, t *lookup.Thing) bool {
	return t.OrganizationID != "" && t.OrganizationID != v.Session.Organization.ID
}

// offer is a new record that is made from a searched text.
type offer struct{ href, text string }

// anID is a text of the form of an id.
var anID = regexp.MustCompile(`^[a-z]{3}_[0-9a-z]{20,}$`)

// newFrom offers a new record, if nothing was found and the person may create it: a
// contact, or one of the family that the text names.
func newFrom(v *shell.Request, q string, f lookup.FindOutput) (offer, bool) {
	text := cmp.Or(f.Q, q)
	if q == "" || text == "" || len(f.Groups) > 0 || f.Thing != nil || anID.MatchString(text) || utf8.RuneCountInString(text) > 200 {
		return offer{}, false
	}
	to := records.FamilyOf(f.Family)
	if to == nil {
		to = &records.Contacts
	}
	if !v.Session.May(to.Write) || to.Files {
		return offer{}, false
	}
	o := offer{"/" + to.Name + "/new?" + url.Values{to.Begins: {text}}.Encode(), to.Offer(v.Words, text)}
	if to == &records.Contacts {
		o.href = NewContact(text)
	}
	return o, true
}

// NewContact returns the form of a new contact with a text as its number, its
// address, or its name.
func NewContact(text string) string {
	q := url.Values{}
	switch {
	case strings.Contains(text, "@"):
		q.Set("email", text)
	case !strings.ContainsFunc(text, unicode.IsLetter):
		member := "phone"
		if records.IsMobile(text) {
			member = "mobile"
		}
		q.Set(member, text)
	default:
		if firstName, lastName := splitName(text); lastName != "" {
			q.Set("lastName", lastName)
			if firstName != "" {
				q.Set("firstName", firstName)
			}
		}
	}
	return "/contacts/new?" + q.Encode()
}

// splitName returns the first and the last name of "Anna von Berg" or of "von Berg,
// Anna".
func splitName(text string) (firstName, lastName string) {
	if last, rest, comma := strings.Cut(text, ","); comma {
		return strings.TrimSpace(rest), strings.TrimSpace(last)
	}
	words := strings.Fields(text)
	at := len(words) - 1
	for i := 1; i < len(words)-1; i++ {
		if r, _ := utf8.DecodeRuneInString(words[i]); unicode.IsLower(r) { // von, van, de
			at = i
			break
		}
	}
	if at < 0 {
		return "", ""
	}
	return strings.Join(words[:at], " "), strings.Join(words[at:], " ")
}

// leads returns the address of the page of an id, or an empty text.
func leads(v *shell.Request, id string) (address templ.SafeURL) {
	if path := v.PathOf(id); path != "" {
		return v.Look().To(path)
	}
	return ""
}
