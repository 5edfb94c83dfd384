package textio

import (
	"bufio"
	"encoding/xml"
	"io"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// NewXML returns a decoder for hostile XML. It knows only the five predefined
// entities. An entity that the document declares stays text. Callers read raw
// tokens, which need no stack, so deep nesting costs nothing.
func NewXML(r io.Reader) *xml.Decoder {
	buffered := bufio.NewReader(r)
	head, _ := buffered.Peek(2)
	wide := IsUTF16(head)
	if wide {
		r = transform.NewReader(buffered, unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewDecoder())
	} else {
		r = buffered
	}
	d := xml.NewDecoder(r)
	d.Strict = false // an unknown entity becomes text
	d.CharsetReader = Named
	if wide {
		d.CharsetReader = AsIs // the text is already UTF-8, whatever encoding it declares
	}
	return d
}

// AsIs is a CharsetReader for XML that is already UTF-8, whatever encoding it declares.
func AsIs(_ string, r io.Reader) (io.Reader, error) { return r, nil }

// Attribute returns the value of the attribute with a local name. It returns an empty string if
// there is none.
func Attribute(e xml.StartElement, local string) string {
	for _, a := range e.Attr {
		if a.Name.Local == local {
			return a.Value
		}
	}
	return ""
}
