package documents

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"kartei/kit/fault"
	"kartei/record/document"
	"kartei/web/records"
	"kartei/web/shell"
	"kartei/web/ui"
)

// viewer is the view of a document's file: a page as an image, or the text.
type viewer struct {
	id string
	// words is the text of a search: from the search field of the viewer (find), or else from the
	// search in the list.
	words, find string
	// paged says that the document has page images. asText says that the text is requested
	// nevertheless.
	paged, asText bool
	zoom          string
	// hit is the number of the current match on the page, from 1. It is zero if there is none.
	hit int
	// page is nil if the text is shown. text is nil if the page is shown without a search.
	page *document.Page
	text *document.DocumentText
	// busy is the time to wait if the page cannot be drawn yet. It is zero otherwise.
	busy time.Duration
	// lost says that the file is missing, or that its storage is unavailable.
	lost bool
	// query has the query parameters of the page, which its links keep.
	query url.Values
}

// These are the zoom levels of a page: the width of the viewer, or one of two fixed sizes.
const (
	fitWidth = "fit"
	natural  = "100"
	large    = "150"
)

// dpi returns the resolution of page images in dots per inch.
func (d *viewer) dpi() int {
	if d.zoom == large {
		return 144
	}
	return 96
}

// openViewer returns the view of a document's file.
func openViewer(v *shell.Request, id string) records.File { return viewerOf(v, id) }

// View renders the file.
func (d *viewer) View(v *shell.Request) templ.Component { return viewerView(v, d) }

// Finds reports whether the person searches within the file.
func (d *viewer) Finds() bool { return d.find != "" }

// viewerOf parses the query of a document's page.
func viewerOf(v *shell.Request, id string) *viewer {
	q := v.URL.Query()
	d := &viewer{id: id, find: strings.TrimSpace(q.Get("find")), asText: q.Get("view") == "text", zoom: q.Get("zoom"), query: q}
	d.words = cmp.Or(d.find, strings.TrimSpace(q.Get("q")))
	if d.zoom != natural && d.zoom != large {
		d.zoom = fitWidth
	}
	d.hit, _ = strconv.Atoi(q.Get("hit"))
	return d
}

// Read loads the page or the text. It is no error if the page is still being drawn, if many people
// wait, or if the file cannot be read. The other facts about the document are then still shown.
func (d *viewer) Read(v *shell.Request, contentType string) error {
	d.paged = contentType == "application/pdf" || strings.HasPrefix(contentType, "image/")
	number, _ := strconv.Atoi(v.URL.Query().Get("page"))
	var err error
	if d.words != "" || d.asText || !d.paged {
		d.text, err = d.readText(v, number)
		if err == nil && number == 0 {
			number = d.text.Part
		}
	}
	if err == nil && d.paged && !d.asText {
		d.page, err = d.draw(v, max(number, 1), false)
	}
	switch f := asFaultOf(err); {
	case f == nil:
	case f.Code == fault.Overloaded, f.Code == fault.RateLimited:
		d.busy, err = max(f.Wait(), time.Second), nil
		v.Writer.Header().Set("Refresh", strconv.Itoa(int(d.busy.Seconds())+1))
	case f.Code == fault.Internal, f.Code == fault.Upstream:
		d.page, d.text, d.lost, err = nil, nil, true, nil
	}
	if d.hit == 0 && d.hits() > 0 {
		d.hit = 1
	}
	if d.hit < 0 || d.hit > d.hits() {
		d.hit = d.hits()
	}
	return err
}

// asFaultOf returns the fault of an error, or nil if the error is nil.
func asFaultOf(err error) *fault.Fault {
	if err == nil {
		return nil
	}
	return shell.AsFault(err)
}

// readText reads a part of the text. Part 0 means the first part with a match.
func (d *viewer) readText(v *shell.Request, part int) (*document.DocumentText, error) {
	t, err := shell.Ask(v, document.GetText, document.TextInput{ID: d.id, Part: max(part, 0), Query: d.words})
	if fault.Is(err, fault.ValidationFailed) && part > 0 { // an address after the last part
		return d.readText(v, 0)
	}
	return &t, err
}

// draw reads a page with its matches. If image is true, it also reads the image.
func (d *viewer) draw(v *shell.Request, number int, image bool) (*document.Page, error) {
	p, err := shell.Ask(v, document.GetPage, document.PageInput{ID: d.id, Page: number, DPI: d.dpi(), Query: d.words, WithoutImage: !image})
	if fault.Is(err, fault.ValidationFailed) && number > 1 && !image {
		return d.draw(v, 1, false)
	}
	return &p, err
}

// number returns the number of the shown page, or of the shown part of the text.
func (d *viewer) number() int {
	if d.page != nil {
		return d.page.Page
	}
	if d.text != nil {
		return d.text.Part
	}
	return 1
}

// maxPrinted is the maximum number of pages that the viewer prints, since it must load all of them.
// People can download longer documents.
const maxPrinted = 300

// printable reports whether the viewer can print the document.
func (d *viewer) printable() bool {
	return d.page != nil && d.count() <= maxPrinted || d.text != nil
}

// count returns the number of pages, or of parts of the text.
func (d *viewer) count() int {
	switch {
	case d.page != nil:
		return max(d.page.Pages, 1)
	case d.text != nil:
		return d.text.Parts
	}
	return 1
}

// hits returns the number of matches on the shown page or part.
func (d *viewer) hits() int {
	if d.page != nil {
		return len(d.page.Hits)
	}
	if d.text != nil {
		return len(d.text.Marks)
	}
	return 0
}

// found returns the number of matches on each page. For the shown page, it counts the marks on the
// image, since a match in the text may be outside the visible page.
func (d *viewer) found() []document.PartHits {
	if d.text == nil {
		return nil
	}
	var list []document.PartHits
	for _, f := range d.text.Found {
		if d.page != nil && f.Part == d.page.Page {
			f.Hits = len(d.page.Hits)
		}
		if f.Hits > 0 {
			list = append(list, f)
		}
	}
	return list
}

// total returns the number of all matches, and the number of the current match among them.
func (d *viewer) total() (all, now int) {
	for _, f := range d.found() {
		if f.Part < d.number() {
			now += f.Hits
		}
		all += f.Hits
	}
	return all, now + d.hit
}

// foundText returns found as text for the script, such as "3:2 7:1": page and number of matches.
func (d *viewer) foundText() string {
	var list []string
	for _, f := range d.found() {
		list = append(list, strconv.Itoa(f.Part)+":"+strconv.Itoa(f.Hits))
	}
	return strings.Join(list, " ")
}

// step returns the address of the next match, or of the previous match if by is negative. The first
// match follows the last one.
func (d *viewer) step(by int) string {
	list := d.found()
	if to := d.hit + by; to >= 1 && to <= d.hits() {
		return d.at("page", strconv.Itoa(d.number()), "hit", strconv.Itoa(to)) + d.anchor(d.number(), to)
	}
	to := list[0]
	if by < 0 {
		to = list[len(list)-1]
	}
	for i := range list {
		if by > 0 && list[i].Part > d.number() {
			to = list[i]
			break
		}
		if k := len(list) - 1 - i; by < 0 && list[k].Part < d.number() {
			to = list[k]
			break
		}
	}
	hit, number := 1, strconv.Itoa(to.Part)
	if by < 0 {
		hit = to.Hits
	}
	if by < 0 && hit > 1 {
		return d.at("page", number, "hit", "-1") + d.anchor(to.Part, hit)
	}
	return d.at("page", number, "hit", strconv.Itoa(hit)) + d.anchor(to.Part, hit)
}

// anchor returns the fragment of the address that identifies a match on a page.
func (d *viewer) anchor(page, hit int) string {
	return "#" + hitID(page, hit)
}

func hitID(page, hit int) string { return "hit-" + strconv.Itoa(page) + "-" + strconv.Itoa(hit) }

// at returns the address of this page with some query parameters set. set has names and values
// alternately. An empty value removes the parameter.
func (d *viewer) at(set ...string) string {
	q := url.Values{}
	for name, list := range d.query {
		if name != "edit" && name != "hit" {
			q[name] = list
		}
	}
	for pair := range slices.Chunk(set, 2) {
		name, value := pair[0], pair[len(pair)-1]
		q.Del(name)
		if value != "" {
			q.Set(name, value)
		}
	}
	if len(q) == 0 {
		return "/documents/" + d.id
	}
	return "/documents/" + d.id + "?" + q.Encode()
}

// sheetQuery returns the query for a page that a script loads.
func (d *viewer) sheetQuery() string {
	q := url.Values{}
	if d.words != "" {
		q.Set("q", d.words)
	}
	if d.zoom != fitWidth {
		q.Set("zoom", d.zoom)
	}
	return "?" + q.Encode()
}

// picture returns the path of the image of a page.
func (d *viewer) picture(page, dpi int) string {
	return "/documents/" + d.id + "/pictures/" + strconv.Itoa(page) + "?dpi=" + strconv.Itoa(dpi)
}

// showSheet serves one page of a document to the script of the viewer.
func showSheet(v *shell.Request) shell.View {
	d := viewerOf(v, v.PathValue("id"))
	d.paged = true
	number, _ := strconv.Atoi(v.PathValue("page"))
	var err error
	d.page, err = d.draw(v, max(number, 1), false)
	if f := asFaultOf(err); f != nil {
		if f.Code != fault.Overloaded && f.Code != fault.RateLimited {
			return v.Failed(err)
		}
		d.page, d.busy = nil, max(f.Wait(), time.Second)
		return shell.HTML{Body: busySheet(v, number, d.busy)}
	}
	d.hit = 0
	return shell.HTML{Body: sheet(v, d)}
}

// showPicture serves the image of a page. The browser must not cache the image, so the rights are
// checked for each request and no pages stay on disks.
func showPicture(v *shell.Request) shell.View {
	d := viewerOf(v, v.PathValue("id"))
	d.words = ""
	if v.URL.Query().Get("dpi") == "144" {
		d.zoom = large
	}
	number, _ := strconv.Atoi(v.PathValue("page"))
	p, err := d.draw(v, max(number, 1), true)
	if err == nil && len(p.Image) == 0 {
		err = fault.New(fault.NotFound)
	}
	if err != nil {
		if wait := shell.AsFault(err).Wait(); wait > 0 {
			v.Writer.Header().Set("Retry-After", strconv.Itoa(int((wait+time.Second-1)/time.Second)))
		}
		return v.Failed(err)
	}
	return shell.Picture{Page: p}
}

// reason returns a text that says why a file is not shown. It is empty if the file is shown.
func (d *viewer) reason(v *shell.Request) string {
	reason := ""
	switch {
	case d.lost:
		reason = "lost"
	case d.page != nil:
		reason = string(d.page.Reason)
	case d.text != nil && d.text.Text == "":
		reason = string(d.text.Reason)
	}
	say := v.Words.Say
	switch reason {
	case "":
		return ""
	case "encrypted":
		return say("The file is protected by a password. Download it, and open it with the password.")
	case "lost":
		return say("The file cannot be read at the moment. If that stays so, ask the operator.")
	case "broken":
		return say("The file is damaged or incomplete, and cannot be shown here.")
	case "inflated", "memory", "time", "crashed":
		return say("The file is too large or too complex to be shown here.")
	case "unconfined":
		return say("This server does not show documents. Its operator can change that.")
	}
	if d.asText && d.paged {
		return say("This picture has no text.")
	}
	return say("Files of this kind cannot be shown here.")
}

// piece is a part of a text. hit is the number of the match, or zero for text between matches.
type piece struct {
	text string
	hit  int
}

// pieces splits a text at its matches.
func pieces(t *document.DocumentText) (list []piece) {
	end := 0
	for i, m := range t.Marks {
		list = append(list, piece{t.Text[end:m[0]], 0}, piece{t.Text[m[0]:m[1]], i + 1})
		end = m[1]
	}
	return append(list, piece{t.Text[end:], 0})
}

// number returns a number as text for an attribute.
func number(n int) string { return strconv.Itoa(n) }

// views returns tabs with the zoom levels and the text view.
func (d *viewer) views(v *shell.Request) []ui.Tab {
	tab := func(name, zoom, view string) ui.Tab {
		here := d.asText == (view == "text") && (d.asText || zoom == d.zoom)
		if zoom == fitWidth {
			zoom = ""
		}
		return ui.Tab{Name: name, Href: v.Look().To(d.at("zoom", zoom, "view", view, "page", strconv.Itoa(d.number()))), Here: here}
	}
	return []ui.Tab{
		tab(v.Words.Say("Width"), fitWidth, ""), tab(v.Words.Number(100)+" %", natural, ""), tab(v.Words.Number(150)+" %", large, ""),
		tab(v.Words.Say("Text"), d.zoom, "text"),
	}
}
