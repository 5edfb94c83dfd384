package extract

import (
	"encoding/xml"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"kartei/extract/textio"
)

// readPlain reads plain text, and tables with one row on each line.
func readPlain(in *textio.Input, out *textio.Sink) error {
	return textio.CopyText(textio.Decoded(in), out)
}

// readJSON reads the values of JSON.
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
		case token.Kind() == '"' && parent == '{' && n%2 == 1: // a member's name
		case token.Kind() == '"' || token.Kind() == '0':
			out.Line()
			out.Text(token.String())
		}
	}
	return textio.ErrFull
}

// readHTML reads a page.
func readHTML(in *textio.Input, out *textio.Sink) error {
	return textio.CopyHTML(textio.DecodedPage(in), out)
}

// readXML reads the text of elements and the values of attributes.
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
