package extract

import (
	"encoding/xml"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"kartei/extract/drawing"
	"kartei/extract/filetype"
	"kartei/extract/legacy"
	"kartei/extract/mail"
	"kartei/extract/office"
	"kartei/extract/pdf"
	"kartei/extract/picture"
	"kartei/extract/textio"
)

// readers maps content types to the functions that read the texts of such files. Files of all other
// types have no text.
var readers = map[string]textio.ReadFunc{
	"application/pdf": pdf.Read,

	filetype.OOXML + "wordprocessingml.document":                 office.Word,
	filetype.OOXML + "wordprocessingml.template":                 office.Word,
	filetype.OOXML + "spreadsheetml.sheet":                       office.Sheets,
	filetype.OOXML + "spreadsheetml.template":                    office.Sheets,
	filetype.OOXML + "presentationml.presentation":               office.Slides,
	filetype.OOXML + "presentationml.template":                   office.Slides,
	filetype.OOXML + "presentationml.slideshow":                  office.Slides,
	"application/vnd.ms-word.document.macroenabled.12":           office.Word,
	"application/vnd.ms-excel.sheet.macroenabled.12":             office.Sheets,
	"application/vnd.ms-powerpoint.presentation.macroenabled.12": office.Slides,

	filetype.ODF + "text":                  office.OpenDocument,
	filetype.ODF + "text-template":         office.OpenDocument,
	filetype.ODF + "spreadsheet":           office.OpenDocument,
	filetype.ODF + "spreadsheet-template":  office.OpenDocument,
	filetype.ODF + "presentation":          office.OpenDocument,
	filetype.ODF + "presentation-template": office.OpenDocument,
	filetype.ODF + "graphics":              office.OpenDocument,

	"application/msword":            legacy.Word,
	"application/vnd.ms-excel":      legacy.Excel,
	"application/vnd.ms-powerpoint": legacy.PowerPoint,
	"application/vnd.ms-outlook":    legacy.Outlook,
	"application/rtf":               legacy.RTF,

	"text/plain":                readPlain,
	"text/csv":                  readPlain,
	"text/tab-separated-values": readPlain,
	"text/markdown":             readPlain,
	"text/html":                 readHTML,
	"application/xml":           readXML,
	"application/json":          readJSON,
	"message/rfc822":            mail.Read,
	"application/zip":           office.Names,
}

// drawings maps content types to the functions that draw such files. SVG and HTML are missing on
// purpose, since their files may contain scripts. HEIC is missing because it has no decoder in Go.
var drawings = map[string]drawing.Func{
	"application/pdf": pdf.Draw,
	"image/png":       picture.Draw,
	"image/jpeg":      picture.Draw,
	"image/gif":       picture.Draw,
	"image/webp":      picture.Draw,
	"image/bmp":       picture.Draw,
	"image/tiff":      picture.DrawTIFF,
}

// readPlain reads plain text and tables in text form, such as CSV.
func readPlain(in *textio.Input, out *textio.Sink) error {
	return textio.CopyText(textio.Decoded(in), out)
}

// readJSON reads the strings and numbers of a JSON text, but not the names of members.
func readJSON(in *textio.Input, out *textio.Sink) error {
	d := jsontext.NewDecoder(textio.Decoded(in), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	for !out.Full() {
		token, err := d.ReadToken()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return textio.ErrBroken
		}
		switch parent, n := d.StackIndex(d.StackDepth()); {
		case token.Kind() == '"' && parent == '{' && n%2 == 1: // the name of a member
		case token.Kind() == '"' || token.Kind() == '0':
			out.Line()
			out.Text(token.String())
		}
	}
	return textio.ErrFull
}

// readHTML reads the text of an HTML page.
func readHTML(in *textio.Input, out *textio.Sink) error {
	return textio.CopyHTML(textio.DecodedPage(in), out)
}

// readXML reads the text of XML elements and the values of attributes.
func readXML(in *textio.Input, out *textio.Sink) error {
	d := textio.NewXML(in)
	for !out.Full() {
		token, err := d.RawToken()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return textio.ErrBroken
		}
		switch t := token.(type) {
		case xml.StartElement:
			out.Line()
			for _, a := range t.Attr {
				if a.Name.Space != "xmlns" && a.Name.Local != "xmlns" {
					out.Text(a.Value + " ")
				}
			}
		case xml.EndElement:
			out.Line()
		case xml.CharData:
			out.Text(string(t))
		}
	}
	return textio.ErrFull
}
