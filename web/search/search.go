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

// These are the maximum numbers of results in a family: below the search field, on the page of all
// families, and on the page of one family.
const (
	hitsBelow = 5
	hitsOfAll = 8
	hitsOfOne = 50
)

// searchPage is the data of the page of search results.
type searchPage struct {
	// q is the text in the search field.
	q string
	lookup.FindOutput
	// in is the family of the selected tab, or nil for all families.
	in *records.Family
	// counts has the groups of all families, with the numbers of results.
	counts []lookup.Group
	// forgets says that the person has switched off the list of recently opened records.
	forgets bool
}

// showSearch serves the search results of all families. For an empty text it shows recently opened
// records.
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
	case fault.Is(err, fault.ValidationFailed): // a text that is too long has no results
		p = searchPage{q: q}
	case err != nil:
		return v.Failed(err)
	case v.URL.Query().Get("open") != "" && p.Best != "":
		return goTo(v, p.Best)
	}
	return v.OK(v.Words.Say("Search: %s", q), "", searchView(v, p))
}

// findAll searches all families for a text. For the family of the selected tab it returns more
// results.
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
	} else if p.counts, err = countsOf(v, all, find); err != nil { // the text itself selects a family by its prefix
		return p, err
	}
	if p.in != nil && all.Thing == nil {
		p.FindOutput, err = find(records.Letters[p.in.Name]+all.Q, hitsOfOne, false)
	}
	return p, err
}

// countsOf returns the groups of all families if the text of the search selects one family.
func countsOf(v *shell.Request, f lookup.FindOutput, find func(string, int, bool) (lookup.FindOutput, error)) ([]lookup.Group, error) {
	wide, err := find(f.Q, 1, true)
	return wide.Groups, err
}

// paletteList is the element id of the list of results in the command palette.
const paletteList = "command-hits"

// suggest serves the suggestions below the search field or in the command palette.
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

// findRecent returns the records that the person opened recently, in the form of search results.
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

// noteOpened stores that the person has opened a record. The script of the record's page calls it.
// See docs/decisions/0044.
func noteOpened(v *shell.Request) shell.View {
	if !v.Session.Remembers() {
		return shell.Status(204)
	}
	if _, err := shell.Ask(v, lookup.Opened, lookup.OpenedInput{ID: v.Sent.Text("id")}); err != nil {
		return shell.Status(shell.AsFault(err).Code.Status())
	}
	return shell.Status(204)
}

// optionGroup is a heading with choices below the search field. first is the number of choices
// before this group.
type optionGroup struct {
	heading string
	first   int
	choices []ui.Choice
}

// optionsOf returns the search results as choices, grouped by family. The Enter key opens the best
// one.
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

// extras returns the choices after the search results: a link to all results, or a new record.
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

// excerptBefore and excerptAfter are the maximum numbers of bytes that an excerpt shows before and
// after its first mark.
const (
	excerptBefore = 60
	excerptAfter  = 160
)

// showWords serves an excerpt of a document with the matching words. Reading the text of a document
// takes a moment, so the page of results loads each excerpt separately.
func showWords(v *shell.Request) shell.View {
	t, err := shell.Ask(v, document.GetText, document.TextInput{ID: v.PathValue("id"), Query: v.URL.Query().Get("q")})
	if err != nil {
		return shell.Status(shell.AsFault(err).Code.Status())
	}
	return shell.HTML{Body: wordsView(v, excerptOf(t))}
}

// excerptOf cuts a text to the surroundings of its first mark, at white space. It returns an empty
// text if there is no mark.
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

// showAny redirects to the page of the id in the path.
func showAny(v *shell.Request) shell.View { return goTo(v, v.PathValue("id")) }

// goTo redirects to the page of an id. If the id has no page, it redirects to a search for the id.
func goTo(v *shell.Request, id string) shell.View {
	if path := v.PathOf(id); path != "" {
		return v.SeeOther(path)
	}
	switch kind, _, _ := strings.Cut(id, "_"); kind {
	case "gra", "cli": // the list of applications has an anchor for each
		return v.SeeOther(shell.ApplicationsPath + "#" + url.PathEscape(id))
	case "dlv":
		if path := attemptPath(v, id); path != "" {
			return v.SeeOther(path)
		}
	}
	return v.SeeOther(searchFor(id))
}

// attemptPath returns the address of a delivery in the log of its webhook endpoint. It is empty if
// the person may not see the delivery.
func attemptPath(v *shell.Request, id string) string {
	for _, sandbox := range []bool{false, true} {
		f, err := shell.Ask(v, lookup.Find, lookup.FindInput{Q: id, Limit: 1}, shell.InSandbox(sandbox))
		if err == nil && f.Thing != nil && f.Thing.Of != "" {
			return shell.WebhooksPath + "/" + f.Thing.Of + "?" + url.Values{"from": {id}}.Encode() + "#" + id
		}
	}
	return ""
}

// pageOf returns the address of the page of a search result. If the text of a document matched, the
// page marks the words of the search.
func pageOf(v *shell.Request, h lookup.Hit, q string) templ.SafeURL {
	path := shell.PathOf(h.ID)
	if h.InText {
		path += "?" + url.Values{"q": {q}}.Encode()
	}
	return v.Look().To(path)
}

// searchFor returns the path of a search for a text.
func searchFor(q string) string { return "/search?" + url.Values{"q": {q}}.Encode() }

// searchTitle returns the heading of the page.
func searchTitle(v *shell.Request, p searchPage) string {
	if p.q == "" {
		return v.Words.Say("Recently opened")
	}
	return v.Words.Say("Hits for “%s”", p.q)
}

// tabs returns the tabs of the families that the person may read, with the number of results in
// each.
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

// groupTitle returns the heading of a family's results.
func groupTitle(v *shell.Request, g lookup.Group) string {
	if f := records.FamilyOf(g.Family); f != nil {
		return v.Words.Say(f.Many)
	}
	return v.Words.Say("Recently opened")
}

// thingKind returns the name of a thing's kind. A thing is an object with an id that is not a
// record.
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

// isElsewhere reports whether a thing belongs to the other environment, live or sandbox.
func isElsewhere(v *shell.Request, t *lookup.Thing) bool {
	return t.OrganizationID != "" && t.OrganizationID != v.Session.Organization.ID
}

// offer is a link to the form of a new record, which is prefilled with the text of a search.
type offer struct{ href, text string }

// anID matches a text in the format of an id.
var anID = regexp.MustCompile(`^[a-z]{3}_[0-9a-z]{20,}$`)

// newFrom offers a new record if nothing was found and the person may create it. The record is a
// contact, or a record of the family that the text selects by its prefix.
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

// NewContact returns the address of the form for a new contact. The form is prefilled with the text
// as the email address, the telephone number or the name.
func NewContact(text string) string {
	q := url.Values{}
	switch {
	case strings.Contains(text, "@"):
		q.Set("email", text)
	case !strings.ContainsFunc(text, unicode.IsLetter):
		member := "phone"
		if shell.IsMobile(text) {
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

// splitName splits a name such as "Anna von Berg" or "von Berg, Anna" into first and last name.
func splitName(text string) (firstName, lastName string) {
	if last, rest, comma := strings.Cut(text, ","); comma {
		return strings.TrimSpace(rest), strings.TrimSpace(last)
	}
	words := strings.Fields(text)
	at := len(words) - 1
	for i := 1; i < len(words)-1; i++ {
		if r, _ := utf8.DecodeRuneInString(words[i]); unicode.IsLower(r) { // for example von, van, de
			at = i
			break
		}
	}
	if at < 0 {
		return "", ""
	}
	return strings.Join(words[:at], " "), strings.Join(words[at:], " ")
}

// leads returns the address of the page of an id. It is empty if there is none.
func leads(v *shell.Request, id string) (address templ.SafeURL) {
	if path := v.PathOf(id); path != "" {
		return v.Look().To(path)
	}
	return ""
}
