package extract

import (
	"bufio"
	"encoding/xml"
	"io"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"

	"kartei/extract/textio"
)

// newXML returns a decoder for hostile XML. It knows only the five predefined
// entities. An entity that the document declares stays text. Callers read raw
// tokens, which need no stack, so deep nesting costs nothing.
func newXML(r io.Reader) *xml.Decoder {
	buffered := bufio.NewReader(r)
	head, _ := buffered.Peek(2)
	wide := textio.IsUTF16(head)
	if wide {
		r = transform.NewReader(buffered, unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewDecoder())
	} else {
		r = buffered
	}
	d := xml.NewDecoder(r)
	d.Strict = false // an unknown entity is text
	d.CharsetReader = textio.Named
	if wide {
		d.CharsetReader = asIs // it is UTF-8 already, also if it declares another encoding
	}
	return d
}

func asIs(_ string, r io.Reader) (io.Reader, error) { return r, nil }

// readXML reads the text of elements and the values of attributes.
func readXML(in *textio.Input, out *textio.Sink) error {
	d := newXML(in)
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
