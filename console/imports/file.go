package imports

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"

	"kartei/kit/sheet"
	"kartei/kit/vcard"
)

// The encodings of files.
const (
	utf8Encoding    = "utf-8"
	utf16Encoding   = "utf-16"
	windowsEncoding = "windows-1252"
)

// The formats of files.
const (
	csvFormat   = "csv"
	vcardFormat = "vcard"
)

// encodingOf reads a whole file and returns its encoding. Excel and Outlook save tables
// in the code page of Western Europe, or as UTF-16.
func encodingOf(file io.Reader) (string, error) {
	buffer, held := make([]byte, 64<<10), 0
	first := true
	for {
		n, err := io.ReadFull(file, buffer[held:])
		part := buffer[:held+n]
		ended := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !ended {
			return "", err
		}
		if first && (bytes.HasPrefix(part, []byte{0xff, 0xfe}) || bytes.HasPrefix(part, []byte{0xfe, 0xff})) {
			return utf16Encoding, nil
		}
		first = false
		for len(part) > 0 {
			r, size := utf8.DecodeRune(part)
			if r == utf8.RuneError && size == 1 {
				if !ended && !utf8.FullRune(part) {
					break // its rest comes with the next part
				}
				return windowsEncoding, nil
			}
			part = part[size:]
		}
		if ended {
			return utf8Encoding, nil
		}
		held = copy(buffer, part)
	}
}

// decoded returns a file as UTF-8.
func decoded(file io.Reader, encoding string) io.Reader {
	switch encoding {
	case windowsEncoding:
		return transform.NewReader(file, charmap.Windows1252.NewDecoder())
	case utf16Encoding:
		return transform.NewReader(file, unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewDecoder())
	}
	return file
}

// errEntry means that an entry of a file cannot be read.
var errEntry = errors.New("imports: the entry cannot be read")

// file is what lines are read from.
type file interface {
	// Read returns the cells of the next entry and its line. The error is io.EOF at the
	// end, and errEntry for an entry that cannot be read.
	Read() (cells []string, line int, err error)
}

// begins is how much of a file tells its format.
const begins = 64 << 10

// opened is a file whose format is known.
type opened struct {
	file
	format   string
	headings []string
	// first is an entry that was read already, of a table without headings.
	first []string
	line  int
}

// openFile returns the entries of a file of UTF-8.
func openFile(from io.Reader) (*opened, error) {
	begin := make([]byte, begins)
	n, err := io.ReadFull(from, begin)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, err
	}
	text := strings.TrimPrefix(string(begin[:n]), "\ufeff")
	from = io.MultiReader(strings.NewReader(text), from)
	if strings.HasPrefix(strings.ToUpper(strings.TrimSpace(text)), "BEGIN:VCARD") {
		o := &opened{file: cards{vcard.NewReader(from)}, format: vcardFormat}
		o.headings = append(o.headings, cardColumns[:]...)
		return o, nil
	}
	if strings.ContainsRune(text, 0) { // no text at all
		return nil, errNoTable
	}
	o := &opened{file: rows{sheet.NewReader(from, sheet.Separator(text))}, format: csvFormat}
	cells, line, err := o.file.Read()
	switch {
	case errors.Is(err, io.EOF):
		return o, nil
	case err != nil:
		return nil, errors.Join(errNoTable, err)
	case isHeading(cells):
		o.headings = cells
		return o, nil
	}
	for i := range cells {
		o.headings = append(o.headings, fmt.Sprintf("%c", 'A'+i%26))
	}
	o.first, o.line = slices.Clone(cells), line
	return o, nil
}

// errNoTable means that a file is neither a table nor cards.
var errNoTable = errors.New("imports: neither a table nor cards")

// Read returns the next entry.
func (o *opened) Read() ([]string, int, error) {
	if first := o.first; first != nil {
		o.first = nil
		return first, o.line, nil
	}
	return o.file.Read()
}

// rows are the entries of a table.
type rows struct{ *sheet.Reader }

// Read returns the next row.
func (r rows) Read() ([]string, int, error) {
	cells, line, err := r.Reader.Read()
	if errors.Is(err, sheet.ErrRow) {
		err = errEntry
	}
	return cells, line, err
}

// cards are the entries of a file of cards. Each becomes a row of cardColumns.
type cards struct{ *vcard.Reader }

// cardColumns are the columns of cards, which are targets already.
var cardColumns = words("lastName firstName title company jobTitle email phone mobile address.street address.postalCode address.city address.region address.country birthday language note tags externalId")

// Read returns the next card.
func (r cards) Read() ([]string, int, error) {
	card, line, err := r.Reader.Read()
	if errors.Is(err, vcard.ErrCard) {
		err = errEntry
	}
	if err != nil {
		return nil, line, err
	}
	values, best := map[string]string{}, map[string]int{}
	for _, p := range card {
		take(values, best, &p)
	}
	if values["lastName"] == "" && values["firstName"] == "" { // only FN
		e := &entry{body: map[string]any{}}
		e.name(values["name"])
		values["lastName"], values["firstName"] = e.text("lastName"), e.text("firstName")
	}
	cells := make([]string, len(cardColumns))
	for i, name := range cardColumns {
		cells[i] = strings.TrimSpace(values[name])
	}
	return cells, line, nil
}

// take sets what a property says. Of several the preferred one counts, and that of the
// work before that of the home.
func take(values map[string]string, best map[string]int, p *vcard.Property) {
	rank := 2
	switch {
	case p.Is("pref"):
		rank = 4
	case p.Is("work"):
		rank = 3
	case p.Is("home"):
		rank = 1
	}
	set := func(name, value string) {
		if value != "" && rank > best[name] {
			values[name], best[name] = value, rank
		}
	}
	part := func(i int) string {
		if parts := p.Parts(); i < len(parts) {
			return parts[i]
		}
		return ""
	}
	switch p.Name {
	case "FN":
		set("name", p.Text())
	case "N":
		set("lastName", part(0))
		set("firstName", strings.TrimSpace(part(1)+" "+part(2)))
		set("title", part(3))
	case "ORG":
		set("company", part(0))
	case "TITLE":
		set("jobTitle", p.Text())
	case "ROLE":
		if values["jobTitle"] == "" {
			set("jobTitle", p.Text())
		}
	case "EMAIL":
		set("email", p.Text())
	case "TEL":
		number := strings.TrimPrefix(p.Text(), "tel:")
		switch {
		case p.Is("fax") || p.Is("pager") || p.Is("modem"):
		case p.Is("cell") || p.Is("iphone"):
			set("mobile", number)
		default:
			set("phone", number)
		}
	case "ADR":
		if rank > best["address"] {
			best["address"] = rank
			street := strings.TrimSpace(strings.Join(present(part(2), part(1), part(0)), ", "))
			for i, value := range []string{street, part(5), part(3), part(4), part(6)} {
				values["address."+words("street postalCode city region country")[i]] = value
			}
		}
	case "BDAY":
		set("birthday", p.Text())
	case "LANG":
		set("language", p.Text())
	case "NOTE":
		set("note", p.Text())
	case "CATEGORIES":
		set("tags", strings.Join(p.List(), "\n"))
	case "UID":
		set("externalId", strings.TrimPrefix(cmp.Or(p.Text()), "urn:uuid:"))
	}
}

// present returns the texts that are not empty.
func present(texts ...string) []string {
	return slices.DeleteFunc(texts, func(t string) bool { return strings.TrimSpace(t) == "" })
}
