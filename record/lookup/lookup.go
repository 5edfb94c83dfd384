// Package lookup owns the search over all families, similar records, and records opened or changed lately.
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
	"kartei/record/duplicate"
	"kartei/record/search"
	"kartei/record/task"
	"kartei/store/db"
)

// Hit is a record in a result line, with the parts that match the query.
type Hit struct {
	Object    string       `json:"object"`
	ID        string       `json:"id"`
	CreatedAt clock.Micros `json:"createdAt"`
	UpdatedAt clock.Micros `json:"updatedAt"`
	// Title is the name of the record. Marks are the parts of the title that match the query.
	Title string        `json:"title"`
	Marks []search.Span `json:"marks,omitempty"`
	Facts []Fact        `json:"facts"`
	// Exact says that the whole search text is a telephone number, an email address, an external
	// id or the id of the record.
	Exact bool `json:"exact,omitempty"`
	// Near says that the searched telephone number is an extension of this record's number. No
	// record has the searched number itself.
	Near bool `json:"near,omitempty"`
	// Opened says that the caller opened the record recently.
	Opened bool `json:"opened,omitempty"`
	// InText says that the content of the document has words of the query. Named says that the
	// name of the document has all words of the query.
	InText bool `json:"inText,omitempty"`
	Named  bool `json:"named,omitempty"`
	// AtEnd says that the searched digits are the end of a telephone number, and more than the
	// area code precedes them. The number may belong to somebody else.
	AtEnd bool `json:"atEnd,omitempty"`
}

// Fact is a member of a record in a result line. Times have the text form of the API.
type Fact struct {
	// Name is the name of the member, for example phone. It is address for all members of the
	// address.
	Name string `json:"name"`
	// ID is the id of another record if the member is a reference. Text is then the title of that
	// record.
	ID string `json:"id,omitempty"`
	// Text is the text of the member. For a long text, it is the part around the first mark.
	Text string `json:"text"`
	// Marks are the parts of Text that match the query, as indexes of bytes.
	Marks []search.Span `json:"marks,omitempty"`
}

// family has the functions of this package for a family of records.
type family struct {
	op.Family
	searcher func(context.Context, *op.Call) (*search.Reader, error)
	look     func(context.Context, *op.Call, []string) ([]*draft, error)
	count    func(context.Context, *op.Call, record.CountInput, ...any) (record.Count, error)
	// whole returns a reader of all records of an organization, and every returns records by their ids, whoever
	// may see them. Their results must not reach anybody who may not.
	whole func(context.Context, db.Tx, int64) (*search.Reader, error)
	every func(context.Context, db.Tx, int64, []string) ([]*draft, error)
	// referring is record.Referrer.Referring.
	referring func(ctx context.Context, tx db.Tx, organization int64, family, to string, limit int) ([]string, error)
	// texts says that the records are tasks or documents. Names stand in their texts.
	texts bool
}

// comparable reports whether records of the family are compared with each other, as contacts and companies are.
func (f *family) comparable() bool { return !f.texts }

// families are all families in the order of the output.
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
	drafts := func(list []record.Sight[P], err error) ([]*draft, error) {
		all := make([]*draft, 0, len(list))
		for _, s := range list {
			d := &draft{Hit: Hit{Object: k.Object, ID: s.ID, CreatedAt: s.Created, UpdatedAt: s.Updated}, words: s.Members.Words}
			describe(d, s.Members)
			all = append(all, d)
		}
		return all, err
	}
	return family{
		Family: k.Family, searcher: k.Searcher, count: k.Count, whole: k.WholeSearcher, referring: k.Referring,
		look: func(ctx context.Context, c *op.Call, names []string) ([]*draft, error) {
			return drafts(k.Look(ctx, c, names))
		},
		every: func(ctx context.Context, tx db.Tx, organization int64, ids []string) ([]*draft, error) {
			return drafts(k.LivingByID(ctx, tx, organization, ids))
		},
		texts: k.Object == task.Tasks.Object || k.Object == document.Documents.Object,
	}
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

// draft is a hit with all its members, before it has marks and facts.
type draft struct {
	Hit
	members []member
	// identifying are the texts that make the hit exact if the search text equals one of them.
	identifying []member
	// keptCheck says that the record is a document with the attribute KeptCheck.
	keptCheck bool
	// streets are the streets of the record's addresses, in the form of streetKey.
	streets []string
	// country is the country code for the record's telephone numbers.
	country string
	// words returns the search words of the record's members.
	words func() *search.Document
	// subject returns what the record is compared by. It is nil for families that are not compared.
	subject func() *duplicate.Subject
}

// member is a member of a record as text.
type member struct {
	name, text string
	kind       kind
}

// kind says when a member is shown and how it is searched.
type kind int

const (
	// always is the kind of a text that each line shows.
	always kind = iota
	// phone is the kind of a telephone number that each line shows.
	phone
	// email is the kind of an email address that each line shows.
	email
	// state is the kind of a value that each line shows and that the search index does not have.
	state
	// names is the kind of a reference. Each line shows the title of the other record.
	names
	// found is the kind of a text that a line shows only if it has a mark.
	found
	// foundPhone is the kind of a telephone number that a line shows only if it has a mark.
	foundPhone
	// excerpt is the kind of a long text. A line shows only the part around its first mark.
	excerpt
)

// add adds a member if it is set.
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

// isExact reports whether the search text, or one of its readings, identifies the record.
func (d *draft) isExact(q string, readings []search.Query) bool {
	return d.identified(func(m member) bool {
		return m.kind == phone && search.IsNumberOf(q, readings, m.text) || search.Same(q, m.text)
	})
}

// isAtEnd reports whether the search text is the end of one of the record's telephone numbers. It
// returns false if the text is such a number without its area code.
func (d *draft) isAtEnd(q string) bool {
	return search.IsNumber(q) && d.identified(func(m member) bool {
		return m.kind == phone && search.IsEndOf(q, m.text)
	}) &&
		!d.identified(func(m member) bool { return m.kind == phone && phones.IsLocal(q, m.text, d.country) })
}

// identified reports whether as returns true for at least one identifying text.
func (d *draft) identified(as func(member) bool) bool { return slices.ContainsFunc(d.identifying, as) }

// finish adds the marks and the facts, and returns the hit. titles has the titles of the records
// in references. A reference without a title is not shown.
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
		case phone, foundPhone:
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

// before and after are the approximate numbers of bytes that around keeps before and after the
// first mark.
const (
	before = 40
	after  = 120
)

// around returns the part of a text around its first mark, cut at spaces, and the marks in this
// part.
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

// wordAfter returns the index of the first word after from. It returns at most limit.
func wordAfter(text string, from, limit int) int {
	for i := from; i < limit; i++ {
		if isSpace(text[i]) {
			return i + 1
		}
	}
	return limit
}

// wordBefore returns the index at which the last word before to ends. If there is no space after
// from, it returns the end of the last whole character.
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
