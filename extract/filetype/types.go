// Package filetype owns what type a file is: which types there are, which are allowed, and which one the bytes are.
package filetype

import (
	"fmt"
	"mime"
	"slices"
	"strings"
)

// kind is a type of file that the server knows.
type kind struct {
	name       string   // its media type in responses
	also       []string // other media types that clients declare
	standard   bool     // allowed by default
	detectedAs []string // the results of detect for files of this kind
}

// The prefixes of the media types of Office Open XML and OpenDocument.
const (
	OOXML = "application/vnd.openxmlformats-officedocument."
	ODF   = "application/vnd.oasis.opendocument."
)

// Results of detect that are not media types of kinds.
const (
	Unknown   = "application/octet-stream"
	Polyglot  = "polyglot"  // two formats at once
	empty     = "empty"     // no bytes
	encrypted = "encrypted" // an office document with a password: a compound file with an encrypted package
)

// texts are the results of detect for content that may be declared as plain text. For example, a
// note that happens to be valid JSON is plain text too. HTML, SVG and programs are missing, since
// they could run code when a person opens them.
var texts = []string{
	empty, "text/plain", "text/csv", "text/tab-separated-values", "text/xml", "application/json", "application/x-ndjson",
	"application/geo+json", "application/json; har", "text/vcard", "text/calendar", "application/x-subrip", "text/vtt",
	"text/vnd.familysearch.gedcom", "message/rfc822",
}

// kinds are all kinds of files that can be allowed. Office documents with macros are separate
// kinds, which are not allowed by default.
var kinds = []kind{
	{"application/pdf", []string{"application/x-pdf"}, true, []string{"application/pdf"}},

	{OOXML + "wordprocessingml.document", nil, true, []string{OOXML + "wordprocessingml.document", encrypted}},
	{OOXML + "wordprocessingml.template", nil, true, []string{OOXML + "wordprocessingml.template", encrypted}},
	{OOXML + "spreadsheetml.sheet", nil, true, []string{OOXML + "spreadsheetml.sheet", encrypted}},
	{OOXML + "spreadsheetml.template", nil, true, []string{OOXML + "spreadsheetml.template", encrypted}},
	{OOXML + "presentationml.presentation", nil, true, []string{OOXML + "presentationml.presentation", encrypted}},
	{OOXML + "presentationml.template", nil, true, []string{OOXML + "presentationml.template", encrypted}},
	{OOXML + "presentationml.slideshow", nil, true, []string{OOXML + "presentationml.slideshow", encrypted}},
	{
		"application/vnd.ms-word.document.macroenabled.12",
		nil,
		false,
		[]string{"application/vnd.ms-word.document.macroenabled.12", encrypted},
	},
	{
		"application/vnd.ms-excel.sheet.macroenabled.12",
		nil,
		false,
		[]string{"application/vnd.ms-excel.sheet.macroenabled.12", encrypted},
	},
	{
		"application/vnd.ms-powerpoint.presentation.macroenabled.12",
		nil,
		false,
		[]string{"application/vnd.ms-powerpoint.presentation.macroenabled.12", encrypted},
	},

	{ODF + "text", nil, true, []string{ODF + "text"}},
	{ODF + "text-template", nil, true, []string{ODF + "text-template"}},
	{ODF + "spreadsheet", nil, true, []string{ODF + "spreadsheet"}},
	{ODF + "spreadsheet-template", nil, true, []string{ODF + "spreadsheet-template"}},
	{ODF + "presentation", nil, true, []string{ODF + "presentation"}},
	{ODF + "presentation-template", nil, true, []string{ODF + "presentation-template"}},
	{ODF + "graphics", nil, true, []string{ODF + "graphics"}},

	{"application/msword", []string{"application/vnd.ms-word"}, true, []string{"application/msword"}},
	{"application/vnd.ms-excel", []string{"application/msexcel"}, true, []string{"application/vnd.ms-excel"}},
	{
		"application/vnd.ms-powerpoint",
		[]string{"application/mspowerpoint"},
		true,
		[]string{"application/vnd.ms-powerpoint"},
	},
	{"application/vnd.ms-outlook", nil, true, []string{"application/vnd.ms-outlook"}},

	{"text/plain", nil, true, texts},
	{"text/csv", []string{"application/csv", "text/x-csv", "text/comma-separated-values"}, true, texts},
	{"text/tab-separated-values", nil, false, texts},
	{"text/markdown", nil, false, texts},
	{"text/html", []string{"application/xhtml+xml"}, false, []string{"text/html"}},
	{"application/rtf", []string{"text/rtf", "text/richtext"}, true, []string{"text/rtf"}},
	{"application/xml", []string{"text/xml"}, true, []string{"text/xml"}},
	{
		"application/json",
		[]string{"text/json"},
		true,
		[]string{"application/json", "application/geo+json", "application/json; har"},
	},
	{"message/rfc822", nil, true, []string{"message/rfc822"}},

	{"image/png", []string{"image/x-png"}, true, []string{"image/png", "image/vnd.mozilla.apng"}},
	{"image/jpeg", []string{"image/jpg", "image/pjpeg"}, true, []string{"image/jpeg"}},
	{"image/gif", nil, true, []string{"image/gif"}},
	{"image/webp", nil, true, []string{"image/webp"}},
	{"image/tiff", []string{"image/tif"}, true, []string{"image/tiff"}},
	{"image/heic", []string{"image/heif", "image/heic-sequence", "image/heif-sequence"}, true,
		[]string{"image/heic", "image/heif", "image/heic-sequence", "image/heif-sequence"}},
	{"image/bmp", []string{"image/x-ms-bmp", "image/x-bmp"}, true, []string{"image/bmp"}},

	{
		"application/zip",
		[]string{"application/x-zip-compressed", "application/x-zip"},
		true,
		[]string{"application/zip", "package"},
	},
}

// insteadOf maps declared types to other types that files with such a declaration often have. The
// programs for the declared type open these files too.
var insteadOf = map[string][]string{
	"application/msword":            {"application/rtf", OOXML + "wordprocessingml.document"},
	"application/vnd.ms-excel":      {OOXML + "spreadsheetml.sheet"},
	"application/vnd.ms-powerpoint": {OOXML + "presentationml.presentation"},
	"application/rtf":               {"application/msword", OOXML + "wordprocessingml.document"},
}

// find returns the kind of a declared media type. It ignores case and parameters, and returns nil
// for an unknown type.
func find(declared string) *kind {
	name, _, err := mime.ParseMediaType(declared)
	if err != nil {
		return nil
	}
	i := slices.IndexFunc(kinds, func(k kind) bool { return k.name == name || slices.Contains(k.also, name) })
	if i < 0 {
		return nil
	}
	return &kinds[i]
}

// Name is the media type of a known kind of file.
type Name string

// UnmarshalText sets n to the media type of a kind. It returns an error for an unknown type.
func (n *Name) UnmarshalText(b []byte) error {
	k := find(string(b))
	if k == nil {
		return fmt.Errorf("%q is not a known type of files; accepted are %s", b, strings.Join(Known(), ", "))
	}
	*n = Name(k.name)
	return nil
}

// Known returns the media types of all known kinds of files.
func Known() []string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = k.name
	}
	return names
}

// Allowlist is the set of the media types that are allowed.
type Allowlist map[string]bool

// Allow returns an Allowlist of the given types. Without arguments it allows the default types:
// PDF, office formats without macros, the older office formats, plain text, CSV, RTF, images,
// email, XML, JSON and ZIP.
func Allow(names ...Name) Allowlist {
	t := Allowlist{}
	for _, n := range names {
		if k := find(string(n)); k != nil {
			t[k.name] = true
		}
	}
	if len(names) == 0 {
		for _, k := range kinds {
			if k.standard {
				t[k.name] = true
			}
		}
	}
	return t
}

// Names returns the allowed types in the order of Known.
func (t Allowlist) Names() (names []string) {
	for _, k := range kinds {
		if t[k.name] {
			names = append(names, k.name)
		}
	}
	return names
}

// Declared returns the media type under which a file of a declared type is stored, and whether this
// type is allowed. The name is empty if the declared type is unknown.
func (t Allowlist) Declared(declared string) (name string, allowed bool) {
	k := find(declared)
	if k == nil {
		return "", false
	}
	return k.name, t[k.name]
}
