// Package source owns how files of other programs become entries: bytes, encodings, cards, rows and dialects.
//
// Each stage has a file: parts.go takes the files of an archive and the sheets of a workbook,
// bytes.go makes one kind of text of the bytes, encoding.go decides the encoding of each value,
// cards.go and table.go find the entries. dialect.go and dialects.tsv say what headings mean,
// headings.go and headings.txt what their words do, guess.go what values mean where headings are
// silent. What an entry says is a matter of package entry.
package source

import (
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"
)

// The formats of files.
const (
	CSV   = "csv"
	XLSX  = "xlsx"
	VCard = "vcard"
)

// The members that no record has.
const (
	// Other becomes a line of the note, under its heading.
	Other = "other"
	// Dropped is what a card has and no record can take: pictures, keys.
	Dropped = "dropped"
	// Kind says whether a card is a person, an organization or a group.
	Kind = "kind"
)

// Member is what a column can become.
type Member struct {
	Name string
	// Several columns may be it.
	Several bool
	// Names says that it can name an entry.
	Names bool
}

// Members are all of them, in the order of a form.
var Members = []Member{
	{Name: "lastName", Names: true}, {Name: "firstName", Names: true}, {Name: "middleName", Several: true},
	{Name: "name", Names: true}, {Name: "suffix", Several: true},
	{Name: "salutation"}, {Name: "title"}, {Name: "company", Names: true}, {Name: "companyId"},
	{Name: "department", Several: true}, {Name: "jobTitle"},
	{Name: "email", Several: true, Names: true}, {Name: "phone", Several: true, Names: true},
	{Name: "mobile", Several: true, Names: true}, {Name: "fax", Several: true}, {Name: "website", Several: true},
	{Name: "address.street"}, {Name: "address.houseNumber", Several: true}, {Name: "address.more", Several: true},
	{Name: "address.postalCode"}, {Name: "address.city"},
	{Name: "address.place"}, {Name: "address.region"}, {Name: "address.country"}, {Name: "address.whole"},
	{Name: "address.formatted", Several: true},
	{Name: "birthday"}, {Name: "birthday.day"}, {Name: "birthday.month"}, {Name: "birthday.year"}, {Name: "language"},
	{Name: "note", Several: true}, {Name: Other, Several: true}, {Name: "tags", Several: true}, {Name: "externalId"},
	{Name: "id"}, {Name: "visibility", Several: true},
	{Name: "legalForm"}, {Name: "vatId"}, {Name: "registerNumber"},
	{Name: "email.label", Several: true}, {Name: "phone.label", Several: true}, {Name: "address.label", Several: true},
	{Name: "website.label", Several: true},
	{Name: "other.label", Several: true}, {Name: "email.display", Several: true},
	{Name: Kind}, {Name: Dropped, Several: true},
}

// MemberOf returns a member by its name, or nil.
func MemberOf(name string) *Member {
	if i := slices.IndexFunc(Members, func(m Member) bool { return m.Name == name }); i >= 0 {
		return &Members[i]
	}
	return nil
}

// Value is a text of an entry: the cell of a table, or a property of a card.
type Value struct {
	// Column is the number of its column in the file, from 0.
	Column int    `json:"c"`
	Text   string `json:"t"`
	// Label says what kind of value a property of a card is: home, work. That of a line
	// of the note is what the line is called.
	Label string `json:"l,omitempty"`
	// Slot is the same for the parts of one address of a card.
	Slot string `json:"s,omitempty"`
	// Rank orders the values of one member: the highest counts.
	Rank int `json:"r,omitempty"`
	// Head is the property as the card names it.
	Head string `json:"h,omitempty"`
}

// Cut returns at most so many runes of a text, with … behind what is cut.
func Cut(text string, runes int) string {
	for i := range text {
		if runes--; runes < 0 {
			return text[:i] + "…"
		}
	}
	return text
}

// JoinLines returns the lines of a text as one, with commas between them.
func JoinLines(text string) string {
	var parts []string
	for part := range strings.FieldsFuncSeq(text,
		func(r rune) bool { return r == '\n' || r == '\r' || r == '\u2028' || r == '\u2029' || r == '\v' }) {
		if part = strings.TrimSuffix(strings.TrimSpace(part), ","); part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, ", ")
}

// Entry is an entry of a file.
type Entry struct {
	Line int
	// File is the name of its file, if there are several.
	File   string
	Values []Value
}

// Column is a column of a file.
type Column struct {
	// At is its number in the file, from 0.
	At int
	// Heading is empty for a column without one.
	Heading string
	// Member is what was guessed, empty for a column that is left out.
	Member string
	Slot   string
}

// ErrNoTable means that a file is neither a table nor cards.
var ErrNoTable = errors.New("source: neither a table nor cards")

// ErrEntry means that an entry cannot be read, or not as a whole. What was read of it is
// returned. The entries behind it can be read.
var ErrEntry = errors.New("source: the entry cannot be read")

// File is a file whose form is known.
type File struct {
	Format  string
	Columns []Column
	// Program wrote the table, as far as its headings tell.
	Program string
	// Above counts the rows above the headings, which are left out.
	Above int
	// Files counts the files of cards that were read, if there are several. Sheet is the
	// sheet that was read, or the table of an archive.
	Files int
	Sheet string
	// LeftOut are the files and sheets that are not read. It is whole once all entries are
	// read.
	LeftOut []LeftOut

	// groups are the names of groups by their members, and cards the ids of cards.
	groups  map[string][]string
	members int
	cards   map[string]bool
	// begun says that a file of several was read.
	begun    bool
	encoding string
	decoder  *decoder
	read     func() (Entry, error)
}

// Encoding returns the encoding of what was read.
func (f *File) Encoding() string { return f.decoder.encoding(f.encoding) }

// Read returns the next entry. The error is io.EOF at the end, and ErrEntry for an entry
// that cannot be read.
func (f *File) Read() (Entry, error) { return f.read() }

// Companies reports whether the columns are members of companies, and of no people.
func (f *File) Companies() bool {
	has := func(names ...string) bool {
		return slices.ContainsFunc(f.Columns, func(c Column) bool { return slices.Contains(names, c.Member) })
	}
	return f.Format != VCard && !has("firstName", "lastName", "birthday", "salutation", "jobTitle", "mobile") &&
		(has("company") && !has("name") || has("legalForm", "vatId", "registerNumber"))
}

// page matches the beginning of a page or a workbook in XML. Programs on the web write these
// and call them .xls.
var page = regexp.MustCompile(`(?i)^\s*<(\?xml|!doctype|html|table|meta)\b`)

// Open returns the entries of a file.
func Open(from io.Reader) (*File, error) {
	text, encoding, err := plain(from)
	if err != nil {
		return nil, err
	}
	begin := make([]byte, begins)
	n, err := io.ReadFull(text, begin)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, err
	}
	for begin = begin[:n]; strings.HasPrefix(string(begin[:min(n, 3)]), "\ufeff"); n = len(begin) {
		begin = begin[3:]
	}
	if page.Match(begin) {
		return nil, ErrNoTable
	}
	f := &File{encoding: encoding, decoder: &decoder{mac: text.alone}}
	if encoding == UTF16 { // it is UTF-8 now, but for what the file has wrong
		f.decoder.mac = false
	} else {
		f.decoder.look(begin)
	}
	all := io.MultiReader(strings.NewReader(string(begin)), text)
	if card.Match(begin) {
		f.openCards(all)
		return f, nil
	}
	return f, f.openTable(all, begin)
}
