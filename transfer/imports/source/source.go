// Package source owns how files of other programs become entries: bytes, encodings, cards, rows and dialects.
//
// Each stage has a file. parts.go selects the files of an archive and the sheets of a workbook.
// bytes.go converts the bytes to one form of text. encoding.go decides the encoding of each value.
// cards.go and table.go find the entries.
//
// dialect.go and dialects.tsv have the meanings of headings. headings.go and headings.txt have the
// meanings of words in headings. guess.go guesses the meaning of values under other headings.
// The package entry interprets the values.
package source

import (
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"
)

// Formats of files.
const (
	CSV   = "csv"
	XLSX  = "xlsx"
	VCard = "vcard"
)

// Members that no record has.
const (
	// Other is a value for a line of the note, with its heading as the label.
	Other = "other"
	// Dropped is a value of a card that no record can contain, such as a picture.
	Dropped = "dropped"
	// Kind is the value that says whether a card is a person, an organization or a group.
	Kind = "kind"
)

// Member is a possible target of a column.
type Member struct {
	Name string
	// Several says that several columns can have this target.
	Several bool
	// Names says that the value can be the name of an entry.
	Names bool
}

// Members are all members in the order in which forms list them.
var Members = []Member{
	{Name: "lastName", Names: true}, {Name: "firstName", Names: true}, {Name: "middleName", Several: true},
	{Name: "name", Names: true}, {Name: "nameSuffix", Several: true},
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
	{Name: "additionalEmail", Several: true}, {Name: "additionalPhone", Several: true},
	{Name: "additionalAddress.street"}, {Name: "additionalAddress.postalCode"}, {Name: "additionalAddress.city"},
	{Name: "additionalAddress.region"}, {Name: "additionalAddress.country"},
	{Name: "additionalEmail.label", Several: true}, {Name: "additionalPhone.label", Several: true},
	{Name: "additionalAddress.label", Several: true},
	{Name: "additionalEmails"}, {Name: "additionalPhones"}, {Name: "additionalAddresses"},
	{Name: "attributes", Several: true},
	{Name: Kind}, {Name: Dropped, Several: true},
}

// MemberOf returns the member with a name, or nil.
func MemberOf(name string) *Member {
	if i := slices.IndexFunc(Members, func(m Member) bool { return m.Name == name }); i >= 0 {
		return &Members[i]
	}
	return nil
}

// Value is a text of an entry, from a cell of a table or a property of a card.
type Value struct {
	// Column is the number of the column in the file, from 0.
	Column int    `json:"c"`
	Text   string `json:"t"`
	// Label is the kind of value of a card's property: home, work. For a line of the note it is the
	// label of the line.
	Label string `json:"l,omitempty"`
	// Slot is equal for the parts of one address of a card.
	Slot string `json:"s,omitempty"`
	// Rank orders the values of one member. The highest rank is preferred.
	Rank int `json:"r,omitempty"`
	// Head is the name of the property, as in the card.
	Head string `json:"h,omitempty"`
}

// Cut returns at most the given number of runes of a text. It appends … if the text was longer.
func Cut(text string, runes int) string {
	for i := range text {
		if runes--; runes < 0 {
			return text[:i] + "…"
		}
	}
	return text
}

// JoinLines joins the lines of a text with commas.
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

// Entry is an entry of a file, before its values are interpreted.
type Entry struct {
	Line int
	// File is the name of the file, if there are several files.
	File   string
	Values []Value
}

// Column is a column of a file.
type Column struct {
	// At is the number of the column in the file, from 0.
	At int
	// Heading is the heading of the column, or empty.
	Heading string
	// Member is the guessed target. It is empty for a column that is left out.
	Member string
	Slot   string
}

// ErrNoTable means that a file is neither a table nor cards.
var ErrNoTable = errors.New("source: neither a table nor cards")

// ErrEntry means that an entry is unreadable or incomplete. The readable part is returned. Further
// entries can be read.
var ErrEntry = errors.New("source: the entry cannot be read")

// File is a file of a known format. Read returns its entries.
type File struct {
	Format  string
	Columns []Column
	// Program is the program that wrote the table, if the headings show it.
	Program string
	// Above is the number of rows above the headings. These rows are left out.
	Above int
	// Files is the number of files with cards that were read, if there are several. Sheet is the
	// sheet that was read, or the table of an archive.
	Files int
	Sheet string
	// LeftOut are the files and sheets that were not read. It is complete after the last entry was
	// read.
	LeftOut []LeftOut

	// groups maps the ids of members to the names of their groups. cards has the ids of all cards.
	groups  map[string][]string
	members int
	cards   map[string]bool
	// begun says that one of several files was read.
	begun    bool
	encoding string
	decoder  *decoder
	read     func() (Entry, error)
}

// Encoding returns the encoding of the values that were read so far.
func (f *File) Encoding() string { return f.decoder.encoding(f.encoding) }

// Read returns the next entry. The error is io.EOF after the last entry, and ErrEntry for an
// unreadable or incomplete entry.
func (f *File) Read() (Entry, error) { return f.read() }

// Companies reports whether the columns are members of companies and not of people.
func (f *File) Companies() bool {
	has := func(names ...string) bool {
		return slices.ContainsFunc(f.Columns, func(c Column) bool { return slices.Contains(names, c.Member) })
	}
	return f.Format != VCard && !has("firstName", "lastName", "birthday", "salutation", "jobTitle", "mobile") &&
		(has("company") && !has("name") || has("legalForm", "vatId", "registerNumber"))
}

// page matches the beginning of an HTML page or a workbook in XML. Web programs write such files
// with the extension .xls.
var page = regexp.MustCompile(`(?i)^\s*<(\?xml|!doctype|html|table|meta)\b`)

// Open opens a file that is a table or cards. It returns ErrNoTable for other files.
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
	if encoding == UTF16 { // the text was converted to UTF-8
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
