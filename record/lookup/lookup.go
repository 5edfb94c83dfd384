// Package lookup owns finding over all families: one field for names, numbers, words and ids, and what people opened.
package lookup

import (
	"context"
	"slices"
	"unicode/utf8"

	"kartei/api/op"
	"kartei/kit/clock"
	phones "kartei/kit/phone"
	"kartei/record"
	"kartei/record/company"
	"kartei/record/contact"
	"kartei/record/document"
	"kartei/record/search"
	"kartei/record/task"
)

// Hit is a record in a line, with what it was found by.
type Hit struct {
	Object    string       `json:"object"`
	ID        string       `json:"id"`
	CreatedAt clock.Micros `json:"createdAt"`
	UpdatedAt clock.Micros `json:"updatedAt"`
	// Title is the name of the record. Marks are its parts that were found.
	Title string        `json:"title"`
	Marks []search.Span `json:"marks,omitempty"`
	Facts []Fact        `json:"facts"`
	// Exact says that a telephone number, an email address, an external id or the
	// record's id is the whole text that was searched.
	Exact bool `json:"exact,omitempty"`
	// Near says that the searched telephone number is an extension of this one.
	// Nothing has the searched number itself.
	Near bool `json:"near,omitempty"`
	// Opened says that the caller opened the record lately.
	Opened bool `json:"opened,omitempty"`
	// InText says that a word is in the content of the document. Named says that its
	// name has all words, too.
	InText bool `json:"inText,omitempty"`
	Named  bool `json:"named,omitempty"`
	// AtEnd says that the searched digits are the end of a telephone number, and more
	// than its area code stands before them. It may be somebody else's.
	AtEnd bool `json:"atEnd,omitempty"`
}

// Fact is a member of a record in a line. Times are texts as in the API.
type Fact struct {
	// Name is the member's name, for example phone. Members of the address have
	// the name address.
	Name string `json:"name"`
	// ID is the id of a record that the member names. Text is the title of it.
	ID string `json:"id,omitempty"`
	// Text is the member, or the part of a long one around its first mark.
	Text string `json:"text"`
	// Marks are parts of the text in UTF-8: their first byte, and the byte after
	// their last one.
	Marks []search.Span `json:"marks,omitempty"`
}

// family is a family of records as this package shows it.
type family struct {
	op.Family
	searcher func(context.Context, *op.Call) (*search.Reader, error)
	look     func(context.Context, *op.Call, []string) ([]*draft, error)
}

// families are all families, in the order of an answer.
var families = []family{
	familyOf(contact.Contacts, describeContact),
	familyOf(company.Companies, describeCompany),
	familyOf(task.Tasks, describeTask),
	familyOf(document.Documents, describeDocument),
}

func familyOf[T, F any, P interface {
	*F
	record.Fields
}](k *record.Collection[T, F, P], describe func(*draft, P)) family {
	return family{k.Family, k.Searcher, func(ctx context.Context, c *op.Call, names []string) ([]*draft, error) {
		seen, err := k.Look(ctx, c, names)
		list := make([]*draft, 0, len(seen))
		for _, s := range seen {
			d := &draft{Hit: Hit{Object: k.Object, ID: s.ID, CreatedAt: s.Created, UpdatedAt: s.Updated}, words: s.Members.Words}
			describe(d, s.Members)
			list = append(list, d)
		}
		return list, err
	}}
}

// allowed returns the families that the caller may read.
func allowed(c *op.Call) (list []family) {
	for _, f := range families {
		if c.Actor.May(f.ReadScope()) {
			list = append(list, f)
		}
	}
	return list
}

// draft is a hit in the making: its members, of which some are shown.
type draft struct {
	Hit
	members []member
	// identifying are the texts by which a hit is exact.
	identifying []member
	// country is where the record's telephone numbers are.
	country string
	// words returns the words of the record's members.
	words func() *search.Document
}

// member is a text of a record.
type member struct {
	name, text string
	kind       kind
}

// kind says how a member is shown and searched.
type kind int

const (
	// always is shown in each line.
	always kind = iota
	// phone is always, for a telephone number.
	phone
	// email is always, for an email address.
	email
	// state is always, for a value that no search finds.
	state
	// names is always, for the id of a record, whose title is shown.
	names
	// found is shown if it has a mark.
	found
	// excerpt is found, for a long text.
	excerpt
)

// add adds a member, unless it is not set.
func (d *draft) add(k kind, name string, text *string) {
	if text != nil && *text != "" {
		d.members = append(d.members, member{name, *text, k})
	}
}

// identify adds a text that makes a hit exact.
func (d *draft) identify(k kind, text *string) {
	if text != nil {
		d.identifying = append(d.identifying, member{"", *text, k})
	}
}

// isExact reports whether a text, or one of its readings, identifies the record.
func (d *draft) isExact(q string, readings []search.Query) bool {
	return d.identified(func(m member) bool {
		return m.kind == phone && search.IsNumberOf(q, readings, m.text) || search.Same(q, m.text)
	})
}

// isAtEnd reports whether a text is the end of one of the record's telephone numbers, and
// not all of it behind the area code.
func (d *draft) isAtEnd(q string) bool {
	return search.IsNumber(q) && d.identified(func(m member) bool {
		return m.kind == phone && search.IsEndOf(q, m.text)
	}) &&
		!d.identified(func(m member) bool { return m.kind == phone && phones.IsLocal(q, m.text, d.country) })
}

// identified reports whether one of the identifying texts is as asked.
func (d *draft) identified(as func(member) bool) bool { return slices.ContainsFunc(d.identifying, as) }

// finish marks the hit and chooses its facts. titles has the titles of the records
// that members name; others are not shown.
func (d *draft) finish(m search.Marker, titles map[string]string) Hit {
	d.Marks = m.Text(d.Title)
	d.Facts = []Fact{}
	for _, x := range d.members {
		f := Fact{Name: x.name, Text: x.text}
		switch x.kind {
		case names:
			f.ID, f.Text = x.text, titles[x.text]
			if f.Text == "" {
				continue
			}
		case state:
		case phone:
			f.Marks = m.Phone(x.text)
		case excerpt:
			f.Text, f.Marks = around(x.text, m.Text(x.text))
		default:
			f.Marks = m.Text(x.text)
		}
		if x.kind < found || f.Marks != nil {
			d.Facts = append(d.Facts, f)
		}
	}
	return d.Hit
}

// The bytes of a long text that are shown before and after its first mark,
// approximately.
const (
	before = 40
	after  = 120
)

// around returns the part of a text around its first mark, cut at spaces, and the
// marks in it.
func around(text string, marks []search.Span) (part string, in []search.Span) {
	if len(marks) == 0 {
		return "", nil
	}
	start, end := marks[0][0]-before, marks[0][1]+after
	if start = max(0, start); start > 0 {
		start = wordAfter(text, start, marks[0][0])
	}
	if end = min(len(text), end); end < len(text) {
		end = wordBefore(text, marks[0][1], end)
	}
	lead := ""
	if start > 0 {
		lead = "… "
	}
	part = lead + text[start:end]
	if end < len(text) {
		part += " …"
	}
	for _, m := range marks {
		if m[1] <= end {
			in = append(in, search.Span{m[0] - start + len(lead), m[1] - start + len(lead)})
		}
	}
	return part, in
}

// wordAfter returns where the first word after from begins, at most limit.
func wordAfter(text string, from, limit int) int {
	for i := from; i < limit; i++ {
		if isSpace(text[i]) {
			return i + 1
		}
	}
	return limit
}

// wordBefore returns where the last word before to ends, or the last character if
// there is no space after from.
func wordBefore(text string, from, to int) int {
	for i := to; i > from; i-- {
		if isSpace(text[i]) {
			return i
		}
	}
	for to > from && !utf8.RuneStart(text[to]) {
		to--
	}
	return to
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' }
