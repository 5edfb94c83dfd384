package filetype

import (
	"path"
	"slices"
	"strings"
)

// endings maps media types to the extensions of file names, in lower case. The first extension is
// added to a name that has none of them. Operating systems choose the program for a file by its
// extension. So a text file with the name 'Rechnung.hta' would run as a program.
var endings = map[string][]string{
	"application/pdf": {"pdf"},

	OOXML + "wordprocessingml.document":                          {"docx"},
	OOXML + "wordprocessingml.template":                          {"dotx"},
	OOXML + "spreadsheetml.sheet":                                {"xlsx"},
	OOXML + "spreadsheetml.template":                             {"xltx"},
	OOXML + "presentationml.presentation":                        {"pptx"},
	OOXML + "presentationml.template":                            {"potx"},
	OOXML + "presentationml.slideshow":                           {"ppsx"},
	"application/vnd.ms-word.document.macroenabled.12":           {"docm"},
	"application/vnd.ms-excel.sheet.macroenabled.12":             {"xlsm"},
	"application/vnd.ms-powerpoint.presentation.macroenabled.12": {"pptm"},

	ODF + "text":                  {"odt"},
	ODF + "text-template":         {"ott"},
	ODF + "spreadsheet":           {"ods"},
	ODF + "spreadsheet-template":  {"ots"},
	ODF + "presentation":          {"odp"},
	ODF + "presentation-template": {"otp"},
	ODF + "graphics":              {"odg"},

	"application/msword":            {"doc", "dot"},
	"application/vnd.ms-excel":      {"xls", "xlt"},
	"application/vnd.ms-powerpoint": {"ppt", "pps", "pot"},
	"application/vnd.ms-outlook":    {"msg"},

	"text/plain": {"txt", "text", "log", "md", "markdown", "csv", "tsv", "asc", "ini", "cfg", "conf", "yaml", "yml",
		"toml", "tex", "bib",
		"rst", "vcf", "ics", "srt", "vtt", "ged", "json", "xml", "eml"},
	"text/csv":                  {"csv", "txt"},
	"text/tab-separated-values": {"tsv", "tab", "txt"},
	"text/markdown":             {"md", "markdown", "txt"},
	"text/html":                 {"html", "htm", "xhtml"},
	"application/rtf":           {"rtf"},
	"application/xml":           {"xml"},
	"application/json":          {"json", "geojson", "har"},
	"message/rfc822":            {"eml"},

	"image/png":  {"png", "apng"},
	"image/jpeg": {"jpg", "jpeg", "jpe"},
	"image/gif":  {"gif"},
	"image/webp": {"webp"},
	"image/tiff": {"tiff", "tif"},
	"image/heic": {"heic", "heif"},
	"image/bmp":  {"bmp"},

	"application/zip": {"zip"},
}

// Endings returns the extensions of file names of a content type, without dots. The most usual one
// is the first.
func Endings(contentType string) []string { return slices.Clone(endings[contentType]) }

// WithEnding returns the name under which a file of a content type may be saved. If name has no
// extension of the type, WithEnding adds the first one.
func WithEnding(name, contentType string) string {
	fit := endings[contentType]
	if len(fit) == 0 || slices.Contains(fit, strings.ToLower(strings.TrimPrefix(path.Ext(name), "."))) {
		return name
	}
	return name + "." + fit[0]
}
