package extract

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"unicode/utf16"
)

// Bounds of looking into an archive.
const (
	tailSize      = 22 + 65535 // of the end record, with the longest comment
	directorySize = 4 << 20    // some 40,000 entries; no office document has more
	typesSize     = 1 << 20    // of the list of an office document's parts
)

// directory finds the record with which an archive ends. It reports false
// where the file does not end in one.
func (c *content) directory() (end int64, found bool) {
	tail := c.part(max(0, c.size-tailSize), tailSize)
	for i := len(tail) - 22; i >= 0; i-- {
		if bytes.HasPrefix(tail[i:], []byte("PK\x05\x06")) && int(binary.LittleEndian.Uint16(tail[i+20:])) == len(tail)-i-22 {
			return max(0, c.size-tailSize) + int64(i), true
		}
	}
	return 0, false
}

// whole reports whether the directory lies right before the record at the end
// and counts from the file's first byte, as it does when nothing was put
// before or after the archive.
func (c *content) whole(end int64) bool {
	record := c.part(end, 22)
	if len(record) < 22 {
		return false
	}
	size, offset := int64(binary.LittleEndian.Uint32(record[12:])), int64(binary.LittleEndian.Uint32(record[16:]))
	if large := c.part(end-20, 20); bytes.HasPrefix(large, []byte("PK\x06\x07")) {
		end = int64(binary.LittleEndian.Uint64(large[8:]))
		record = c.part(end, 56)
		if len(record) < 56 || !bytes.HasPrefix(record, []byte("PK\x06\x06")) {
			return false
		}
		size, offset = int64(binary.LittleEndian.Uint64(record[40:])), int64(binary.LittleEndian.Uint64(record[48:]))
	}
	return size >= 0 && offset >= 0 && size <= end && offset == end-size
}

var errDirectory = errors.New("extract: the directory of the archive is too large")

// budget lets an archive's directory be read, but not for ever: the number of
// entries that a directory names is not the number that it has.
type budget struct {
	io.ReaderAt
	left int64
}

func (b *budget) ReadAt(p []byte, off int64) (int, error) {
	if b.left -= int64(len(p)); b.left < 0 {
		return 0, errDirectory
	}
	return b.ReaderAt.ReadAt(p, off)
}

// archive returns what a file is that begins as a ZIP archive.
func (c *content) archive(head []byte) string {
	end, found := c.directory()
	if !found || !c.whole(end) {
		return Unknown
	}
	bounded := &budget{c, directorySize}
	z, err := zip.NewReader(bounded, c.size)
	switch {
	case errors.Is(err, errDirectory):
		return "application/zip" // whatever is in it
	case err != nil:
		return Unknown
	case len(z.File) == 0:
		return "application/zip"
	case !begins(z, head):
		return Polyglot // the head is of another archive than the directory
	}
	bounded.left = 2 * directorySize
	return pack(z)
}

// namesakes is how many entries of the first one's name are looked for in the file.
// An archive has one of each name, and each costs a read.
const namesakes = 16

// begins reports whether the first bytes are the header of an entry.
func begins(z *zip.Reader, head []byte) bool {
	if len(head) < 30 {
		return false
	}
	name, extra := int(binary.LittleEndian.Uint16(head[26:])), int(binary.LittleEndian.Uint16(head[28:]))
	if 30+name > len(head) {
		return false
	}
	looked := 0
	for _, f := range z.File {
		if f.Name != string(head[30:30+name]) {
			continue
		}
		if looked++; looked > namesakes {
			return false
		}
		if at, err := f.DataOffset(); err == nil && at == int64(30+name+extra) {
			return true
		}
	}
	return false
}

// mains are the types of the part with which an office document begins.
var mains = map[string]string{
	ooxml + "wordprocessingml.document.main+xml":                       ooxml + "wordprocessingml.document",
	ooxml + "wordprocessingml.template.main+xml":                       ooxml + "wordprocessingml.template",
	ooxml + "spreadsheetml.sheet.main+xml":                             ooxml + "spreadsheetml.sheet",
	ooxml + "spreadsheetml.template.main+xml":                          ooxml + "spreadsheetml.template",
	ooxml + "presentationml.presentation.main+xml":                     ooxml + "presentationml.presentation",
	ooxml + "presentationml.template.main+xml":                         ooxml + "presentationml.template",
	ooxml + "presentationml.slideshow.main+xml":                        ooxml + "presentationml.slideshow",
	"application/vnd.ms-word.document.macroenabled.main+xml":           "application/vnd.ms-word.document.macroenabled.12",
	"application/vnd.ms-excel.sheet.macroenabled.main+xml":             "application/vnd.ms-excel.sheet.macroenabled.12",
	"application/vnd.ms-powerpoint.presentation.macroenabled.main+xml": "application/vnd.ms-powerpoint.presentation.macroenabled.12",
	"application/vnd.ms-word.template.macroenabledtemplate.main+xml":   "application/vnd.ms-word.template.macroenabled.12",
	"application/vnd.ms-excel.template.macroenabled.main+xml":          "application/vnd.ms-excel.template.macroenabled.12",
	"application/vnd.ms-powerpoint.slideshow.macroenabled.main+xml":    "application/vnd.ms-powerpoint.slideshow.macroenabled.12",
	"application/vnd.ms-excel.sheet.binary.macroenabled.main":          "application/vnd.ms-excel.sheet.binary.macroenabled.12",
	"application/vnd.ms-powerpoint.template.macroenabled.main+xml":     "application/vnd.ms-powerpoint.template.macroenabled.12",
	"application/vnd.ms-powerpoint.addin.macroenabled.main+xml":        "application/vnd.ms-powerpoint.addin.macroenabled.12",
	"application/vnd.ms-excel.addin.macroenabled.main+xml":             "application/vnd.ms-excel.addin.macroenabled.12",
}

// pack returns what an archive is by its entries.
func pack(z *zip.Reader) string {
	var macros, manifest, program bool
	var list *zip.File
	for _, f := range z.File {
		switch name := strings.ToLower(f.Name); {
		case name == "[content_types].xml":
			list = f
		case strings.HasSuffix(name, "/vbaproject.bin"):
			macros = true
		case name == "meta-inf/manifest.xml":
			manifest = true
		case name == "meta-inf/manifest.mf", name == "androidmanifest.xml":
			program = true
		}
	}
	first := ""
	if f := z.File[0]; f.Name == "mimetype" && f.Method == zip.Store {
		first = strings.TrimSpace(string(inflate(f, 128)))
	}
	switch {
	case strings.HasPrefix(first, odf) && manifest:
		return first
	case strings.HasPrefix(first, odf):
		return Unknown
	case list != nil:
		found := office(inflate(list, typesSize))
		if macros && strings.HasPrefix(found, ooxml) {
			return Unknown // macros in what says that it has none
		}
		return found
	case program:
		return "application/java-archive"
	}
	return "application/zip"
}

// inflate returns the first bytes of an entry.
func inflate(f *zip.File, most int64) []byte {
	r, err := f.Open()
	if err != nil {
		return nil
	}
	defer r.Close()
	b, _ := io.ReadAll(io.LimitReader(r, most))
	return b
}

// office returns the type of a document by the list of its parts. One that
// has two beginnings is nothing.
func office(list []byte) string {
	found := ""
	d := xml.NewDecoder(bytes.NewReader(list))
	for {
		token, err := d.RawToken()
		if err == io.EOF && found != "" {
			return found
		}
		if err != nil {
			return Unknown
		}
		start, is := token.(xml.StartElement)
		if !is {
			continue
		}
		for _, a := range start.Attr {
			if a.Name.Local != "ContentType" {
				continue
			}
			if name := mains[strings.ToLower(a.Value)]; name != "" && found != "" && name != found {
				return Unknown
			} else if name != "" {
				found = name
			}
		}
	}
}

// streams are the entries of a compound file (MS-CFB) by which its kind is
// told, and encrypted office documents.
var streams = map[string]string{
	"worddocument":            "application/msword",
	"workbook":                "application/vnd.ms-excel",
	"book":                    "application/vnd.ms-excel",
	"powerpoint document":     "application/vnd.ms-powerpoint",
	"__properties_version1.0": "application/vnd.ms-outlook",
	"encryptedpackage":        encrypted,
}

// compound returns what a compound file is by the entries of its root. It
// follows the chain of the directory for 4 MiB at most.
func (c *content) compound(head []byte) string {
	if len(head) < 512 {
		return Unknown
	}
	shift := binary.LittleEndian.Uint16(head[30:])
	if shift != 9 && shift != 12 {
		return Unknown
	}
	sector := int64(1) << shift
	at := func(n uint32) int64 { return (int64(n) + 1) * sector }
	next := func(n uint32) uint32 {
		perSector := uint32(sector / 4)
		if n/perSector >= 109 {
			return 0xfffffffe // beyond the table in the header; a directory stands at the front
		}
		fat := binary.LittleEndian.Uint32(head[76+4*(n/perSector):])
		entry := c.part(at(fat)+4*int64(n%perSector), 4)
		if len(entry) < 4 {
			return 0xfffffffe
		}
		return binary.LittleEndian.Uint32(entry)
	}
	var entries []byte
	most := min(directorySize, c.size) // a chain that is longer than the file goes in circles
	for n := binary.LittleEndian.Uint32(head[48:]); n < 0xfffffffa && int64(len(entries)) < most; n = next(n) {
		b := c.part(at(n), sector)
		if int64(len(b)) < sector {
			break
		}
		entries = append(entries, b...)
	}
	return rootStream(entries)
}

// rootStream returns what the siblings below the root say, the first of which
// is the root's child. An entry has 128 bytes: its name, at 64 the name's
// length, at 68 and 72 its siblings, at 76 its child.
func rootStream(entries []byte) string {
	count := uint32(len(entries) / 128)
	if count == 0 {
		return Unknown
	}
	field := func(i uint32, at int) uint32 { return binary.LittleEndian.Uint32(entries[int(i)*128+at:]) }
	seen := make([]bool, count)
	found := ""
	for open := []uint32{field(0, 76)}; len(open) > 0; {
		i := open[len(open)-1]
		open = open[:len(open)-1]
		if i >= count || seen[i] {
			continue
		}
		seen[i] = true
		open = append(open, field(i, 68), field(i, 72))
		switch name := streams[strings.ToLower(entryName(entries[i*128:]))]; {
		case name == "":
		case found != "" && found != name:
			return Polyglot
		default:
			found = name
		}
	}
	if found == "" {
		return "application/x-ole-storage"
	}
	return found
}

func entryName(entry []byte) string {
	n := min(int(binary.LittleEndian.Uint16(entry[64:])), 64) / 2
	units := make([]uint16, 0, 32)
	for i := range n {
		if u := binary.LittleEndian.Uint16(entry[2*i:]); u != 0 {
			units = append(units, u)
		}
	}
	return string(utf16.Decode(units))
}
