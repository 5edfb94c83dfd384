package filetype

import (
	"archive/zip"
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/xml"
	"errors"
	"io"
	"strings"

	"kartei/extract/legacy"
	"kartei/extract/textio"
)

// The limits for reading an archive, in bytes.
const (
	tailSize      = 22 + 65535 // the end record with the longest possible comment
	directorySize = 4 << 20    // the directory: some 40,000 entries, more than any office document has
	typesSize     = 1 << 20    // the list of the parts of an office document
)

// directory returns the offset of the end record of an archive, and whether it was found. If
// exactly is set, the end record must be the end of the file. Otherwise a few meaningless bytes may
// follow, as some programs add them.
func (c *content) directory(exactly bool) (end int64, found bool) {
	tail := c.part(max(0, c.size-tailSize), tailSize)
	for i := len(tail) - 22; i >= 0; i-- {
		if !bytes.HasPrefix(tail[i:], []byte("PK\x05\x06")) {
			continue
		}
		rest := len(tail) - i - 22 - int(binary.LittleEndian.Uint16(tail[i+20:]))
		switch {
		case rest < 0, exactly && rest > 0:
			continue
		case rest > 0 && means(tail[len(tail)-rest:]):
			return 0, false // the ZIP reader would use this end record
		}
		return max(0, c.size-tailSize) + int64(i), true
	}
	return 0, false
}

// whole reports whether the directory ends directly before the end record, and its stated offset is
// right. Both hold only if no bytes were added before the archive.
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

// budget is a reader that fails with errDirectory after left bytes. It limits how much of an
// archive's directory is read, since the number of entries in the end record cannot be trusted.
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

// archive returns the type of a file that begins like a ZIP archive. head is the beginning of the
// file.
func (c *content) archive(head []byte) string {
	end, found := c.directory(false)
	if !found || !c.whole(end) {
		return Unknown
	}
	bounded := &budget{c, directorySize}
	z, err := zip.NewReader(bounded, c.size)
	switch {
	case errors.Is(err, errDirectory):
		return "application/zip" // too many entries to find a more specific type
	case err != nil:
		return Unknown
	case len(z.File) == 0:
		return "application/zip"
	case !begins(z, head):
		return Polyglot // the beginning of the file belongs to another archive than the directory
	}
	bounded.left = 2 * directorySize
	return pack(z)
}

// namesakes is the maximum number of entries with the name of the first entry that begins reads. A
// valid archive has one entry for each name, and each read may be a request to the object store.
const namesakes = 16

// begins reports whether the beginning of the file is the header of an entry in the directory.
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

// mains maps the content types of main parts to the types of the office documents that have such a
// part.
var mains = map[string]string{
	OOXML + "wordprocessingml.document.main+xml":                       OOXML + "wordprocessingml.document",
	OOXML + "wordprocessingml.template.main+xml":                       OOXML + "wordprocessingml.template",
	OOXML + "spreadsheetml.sheet.main+xml":                             OOXML + "spreadsheetml.sheet",
	OOXML + "spreadsheetml.template.main+xml":                          OOXML + "spreadsheetml.template",
	OOXML + "presentationml.presentation.main+xml":                     OOXML + "presentationml.presentation",
	OOXML + "presentationml.template.main+xml":                         OOXML + "presentationml.template",
	OOXML + "presentationml.slideshow.main+xml":                        OOXML + "presentationml.slideshow",
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

// pack returns the type of an archive according to its entries.
func pack(z *zip.Reader) string {
	var macros, program bool
	var list, manifest, own *zip.File
	for _, f := range z.File {
		switch name := strings.ToLower(f.Name); {
		case name == "[content_types].xml":
			list = f
		case strings.HasSuffix(name, "/vbaproject.bin"):
			macros = true
		case name == "meta-inf/manifest.xml":
			manifest = f
		case f.Name == "mimetype" && own == nil:
			own = f
		case name == "meta-inf/manifest.mf", name == "androidmanifest.xml":
			program = true
		}
	}
	switch said := odfType(own, manifest); {
	case strings.HasPrefix(said, ODF) && (manifest == nil || list != nil):
		return Unknown
	case strings.HasPrefix(said, ODF):
		return said
	case list != nil:
		found := office(inflate(list, typesSize))
		if macros && strings.HasPrefix(found, OOXML) {
			return Unknown // the declared type has no macros, but the file does
		}
		return found
	case program:
		return "application/java-archive"
	}
	return "application/zip"
}

// odfType returns the type that an OpenDocument file declares, and an empty string if it declares
// none. The type should be in the entry mimetype, which is the first and not compressed. Programs
// that pack a document again may move or omit this entry. The manifest has the type too.
func odfType(own, manifest *zip.File) string {
	if own != nil {
		if said := strings.TrimSpace(strings.TrimPrefix(string(inflate(own, 128)), mark)); strings.HasPrefix(said, ODF) {
			return said
		}
	}
	if manifest == nil {
		return ""
	}
	d := xml.NewDecoder(bytes.NewReader(inflate(manifest, typesSize)))
	d.Strict = false
	for {
		token, err := d.RawToken()
		if err != nil {
			return ""
		}
		if e, is := token.(xml.StartElement); is && e.Name.Local == "file-entry" && textio.Attribute(e, "full-path") == "/" {
			return textio.Attribute(e, "media-type")
		}
	}
}

// inflate returns the unpacked beginning of an entry, at most limit bytes. It returns nil if the
// entry cannot be opened.
func inflate(f *zip.File, limit int64) []byte {
	r, err := f.Open()
	if err != nil {
		return nil
	}
	defer r.Close()
	b, _ := io.ReadAll(io.LimitReader(r, limit))
	return b
}

// office returns the type of an office document according to its list of parts. The type is Unknown
// if the list has main parts of different types, or none.
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

// streams maps the names of streams in compound files (MS-CFB) to the types of these files.
// encryptedpackage is the stream of an encrypted office document.
var streams = map[string]string{
	"worddocument":            "application/msword",
	"workbook":                "application/vnd.ms-excel",
	"book":                    "application/vnd.ms-excel",
	"powerpoint document":     "application/vnd.ms-powerpoint",
	"__properties_version1.0": "application/vnd.ms-outlook",
	"encryptedpackage":        encrypted,
}

// compound returns the type of a compound file according to the entries of its root.
func (c *content) compound() string {
	names := legacy.RootEntries(c, c.size)
	if names == nil {
		return Unknown
	}
	found := ""
	for _, name := range names {
		switch word := streams[name]; {
		case word == "":
		case found != "" && found != word:
			return Polyglot
		default:
			found = word
		}
	}
	return cmp.Or(found, "application/x-ole-storage")
}
