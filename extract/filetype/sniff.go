package filetype

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/gabriel-vasile/mimetype"
	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/net/html/atom"

	"kartei/extract/legacy"
	"kartei/extract/mail"
	"kartei/extract/textio"
)

// Refusal is the reason why a file is refused as a document.
type Refusal string

// The reasons for a refusal. Clients get the problem UPLOAD_REJECTED for both.
const (
	Allowed    Refusal = ""
	NotAllowed Refusal = "type_not_allowed" // files of the declared type are not accepted
	NotAsSaid  Refusal = "type_mismatch"    // the content does not have the declared type, or it is a second format at the same time
)

// Verdict is the result of Sniff.
type Verdict struct {
	Type    string // the media type to store; empty if the declared type is unknown
	Found   string // the detected type; only for the log
	Refusal Refusal
}

// headSize is the number of bytes that are read from the beginning of a file. PDF readers accept
// the header of a PDF within the first 1024 bytes.
const headSize = 4096

// Sniff checks whether the content of a file has the declared type, and whether this type is
// allowed. It reads a limited part of the file: its beginning, its end and 4 MiB of an archive's
// directory. Errors come from reading r.
func (t Allowlist) Sniff(r io.ReadSeeker, size int64, declared string) (Verdict, error) {
	k := find(declared)
	if k == nil {
		return Verdict{Refusal: NotAllowed}, nil
	}
	v := Verdict{Type: k.name}
	if !t[k.name] {
		v.Refusal = NotAllowed
		return v, nil
	}
	in := &content{r: r, size: size}
	v.Found = in.detect(k)
	if in.err != nil {
		return Verdict{}, in.err
	}
	if !slices.Contains(k.detectedAs, v.Found) && !(slices.Contains(k.detectedAs, "package") && isPackage(v.Found)) {
		v.Type, v.Refusal = t.within(k, v.Found)
	}
	return v, nil
}

// within returns the type of a file whose content does not have the declared type. It accepts the
// types in insteadOf. For example, old programs write RTF with the extension .doc, and Word opens
// such files.
func (t Allowlist) within(k *kind, found string) (string, Refusal) {
	for _, name := range insteadOf[k.name] {
		if is := find(name); t[is.name] && slices.Contains(is.detectedAs, found) {
			return is.name, Allowed
		}
	}
	return k.name, NotAsSaid
}

// isPackage reports whether a type is a document in a ZIP archive.
func isPackage(found string) bool {
	return strings.HasPrefix(found, OOXML) || strings.HasPrefix(found, ODF) || strings.Contains(found, ".macroenabled.")
}

// content is a file whose type is to be detected.
type content struct {
	r    io.ReadSeeker
	size int64
	err  error // the first error of reading
}

// ReadAt implements io.ReaderAt. It uses Seek and Read if the file has no ReadAt.
func (c *content) ReadAt(p []byte, off int64) (n int, err error) {
	if at, is := c.r.(io.ReaderAt); is {
		n, err = at.ReadAt(p, off)
	} else if _, err = c.r.Seek(off, io.SeekStart); err == nil {
		if n, err = io.ReadFull(c.r, p); errors.Is(err, io.ErrUnexpectedEOF) {
			err = io.EOF
		}
	}
	if err != nil && err != io.EOF && c.err == nil {
		c.err = err
	}
	return n, err
}

// part returns up to n bytes from the offset off.
func (c *content) part(off, n int64) []byte {
	if off < 0 || off >= c.size {
		return nil
	}
	b := make([]byte, min(n, c.size-off))
	n2, _ := c.ReadAt(b, off)
	return b[:n2]
}

// detect returns the type of the content. It returns the names that kinds has in detectedAs.
func (c *content) detect(declared *kind) string {
	if c.size == 0 {
		return empty
	}
	head := c.part(0, headSize)
	found := recognise(head)
	if ended := bytes.TrimRight(head, padding); found == Unknown && int64(len(head)) == c.size && len(ended) > 0 {
		head, found = ended, recognise(ended) // text followed by padding
	}
	if found == "application/zip" {
		return c.archive(head)
	}
	switch _, ends := c.directory(true); {
	case ends:
		return Polyglot // another format, followed by an archive
	case found == "application/x-ole-storage":
		return c.compound()
	case found == "application/pdf":
		return found
	}
	return asText(found, head, declared)
}

// recognise returns the type according to the beginning of a file.
func recognise(head []byte) string {
	switch {
	case bytes.HasPrefix(head, []byte("PK\x03\x04")), bytes.HasPrefix(head, []byte("PK\x05\x06")):
		return "application/zip"
	case bytes.HasPrefix(head, []byte(legacy.Signature)):
		return "application/x-ole-storage"
	}
	text := bytes.TrimLeft(bytes.TrimPrefix(head, []byte(mark)), blanks)
	if bytes.HasPrefix(text, []byte(`{\rtf`)) {
		return "text/rtf"
	}
	if at := bytes.Index(head[:min(len(head), pdfWithin)], []byte("%PDF-")); at >= 0 {
		if !means(head[:at]) {
			return "application/pdf"
		}
		return Polyglot
	}
	m := mimetype.Detect(textio.Wide(head))
	for p := m; p != nil; p = p.Parent() {
		if p.Is("text/xml") && !m.Is("application/xhtml+xml") {
			return "text/xml"
		}
	}
	if m.Is("application/json") && m.Extension() == ".har" {
		return "application/json; har"
	}
	if m.Is("application/vnd.microsoft.portable-executable") && !bytes.ContainsFunc(head, isBinary) {
		return "text/plain" // text that begins with MZ; in programs, zero bytes follow
	}
	name, _, _ := strings.Cut(m.String(), ";")
	return name
}

const (
	mark    = "\xef\xbb\xbf" // the byte order mark in UTF-8
	blanks  = " \t\r\n"
	padding = blanks + "\x00\x1a" // bytes that programs write after a text; 1A is the end of file of CP/M and DOS
	// pdfWithin is the number of bytes in which readers search for the header of a PDF. Some files
	// have a line feed, a byte order mark or the header of an HTTP response before the PDF.
	pdfWithin = 1024
)

// signatures are the strings by which readers recognise other formats. They are searched in the
// bytes before or after a file.
var signatures = []string{"PK\x01\x02", "PK\x03\x04", "PK\x05\x06", "%pdf-", legacy.Signature, `{\rtf`, "<html",
	"<head", "<body", "<script", "<svg", "<!doctype",
	"<iframe", "<?", "<%", "<!--"}

// means reports whether the bytes before or after a file could be a file of another format. Blanks,
// padding and up to 1024 meaningless bytes could not.
func means(b []byte) bool {
	trimmed := bytes.Trim(bytes.TrimPrefix(b, []byte(mark)), padding)
	if len(trimmed) == 0 {
		return false
	}
	lower := bytes.ToLower(b)
	for _, s := range signatures {
		if bytes.Contains(b, []byte(s)) || bytes.Contains(lower, []byte(s)) {
			return true
		}
	}
	m := mimetype.Detect(trimmed)
	return len(b) > pdfWithin || !m.Is("text/plain") && !m.Is(Unknown)
}

// isBinary reports whether a character does not occur in text.
func isBinary(r rune) bool { return r < '\t' || r == '\v' || r > '\r' && r < ' ' && r != 0x1b }

// asText corrects the detected type of content that may be text. The library mimetype recognises
// HTML, SVG and JSON only by their first bytes, XML by its declaration, and email by common field
// names.
func asText(found string, head []byte, declared *kind) string {
	if declared.name == "message/rfc822" && (found == Unknown || found == "application/mbox") &&
		mail.Starts(textio.Wide(head)) {
		return "message/rfc822" // with binary content, or a mailbox of several messages
	}
	if !strings.HasPrefix(found, "text/") && found != "image/svg+xml" && found != "application/xhtml+xml" &&
		found != "application/json" {
		return found
	}
	decoded := textio.Wide(head)
	if trimmed := bytes.TrimLeft(bytes.TrimPrefix(decoded, []byte(mark)), blanks); len(trimmed) > 0 && trimmed[0] == '<' {
		return markup(found, trimmed)
	}
	switch {
	case found != "text/plain":
	case declared.name == "application/json" && startsJSON(decoded):
		return "application/json"
	case declared.name == "message/rfc822" && mail.Starts(decoded):
		return "message/rfc822"
	}
	return found
}

// markup returns the type of a text that begins with <. The root element decides between XML, HTML
// and SVG.
func markup(found string, text []byte) string {
	switch root := rootOf(text); {
	case strings.EqualFold(root, "svg"):
		return "image/svg+xml"
	case strings.EqualFold(root, "html"), found == "application/xhtml+xml":
		return "text/html"
	case found == "text/html" && root != "" && atom.Lookup([]byte(strings.ToLower(root))) == 0:
		return "text/xml" // XML that begins with a comment
	case found == "text/plain" && root != "":
		return "text/xml"
	}
	return found
}

// rootOf returns the local name of the first element. It returns an empty string if the text has no
// element or is not XML.
func rootOf(text []byte) string {
	d := xml.NewDecoder(bytes.NewReader(text))
	d.Strict = false
	d.CharsetReader = textio.AsIs
	for {
		token, err := d.RawToken()
		if err != nil {
			return ""
		}
		switch t := token.(type) {
		case xml.StartElement:
			return t.Name.Local
		case xml.CharData:
			if len(bytes.TrimSpace(t)) > 0 {
				return ""
			}
		}
	}
}

// startsJSON reports whether a text is valid JSON or the beginning of valid JSON.
func startsJSON(text []byte) bool {
	d := jsontext.NewDecoder(bytes.NewReader(bytes.TrimPrefix(text, []byte(mark))), jsontext.AllowDuplicateNames(true))
	for n := 0; ; n++ {
		if _, err := d.ReadToken(); err != nil {
			return n > 0 && (err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF))
		}
	}
}
