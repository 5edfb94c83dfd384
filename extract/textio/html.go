package textio

import (
	"io"
	"strings"

	"golang.org/x/net/html"
)

// hidden are the elements whose content a browser does not show.
var hidden = map[string]bool{
	"script": true, "style": true, "template": true, "noscript": true, "svg": true, "math": true,
	"head": false,
}

// inline are the elements that do not begin a new line.
var inline = map[string]bool{"a": true, "abbr": true, "b": true, "bdi": true, "bdo": true, "cite": true,
	"code": true, "data": true, "dfn": true,
	"em": true, "font": true, "i": true, "kbd": true, "mark": true, "o:p": true, "q": true, "s": true, "samp": true,
	"small": true, "span": true,
	"strong": true, "sub": true, "sup": true, "time": true, "tt": true, "u": true, "var": true, "wbr": true, "img": true}

// CopyHTML writes the text of an HTML page in UTF-8 to a sink. It builds no tree, so that deeply
// nested elements need no memory.
func CopyHTML(r io.Reader, out *Sink) error {
	z := html.NewTokenizer(r)
	z.SetMaxBuf(8 << 20) // maximum bytes of a tag or text
	within := ""         // the open hidden element
	for !out.Full() {
		switch kind := z.Next(); kind {
		case html.ErrorToken:
			if z.Err() == io.EOF {
				return nil
			}
			return ErrBroken
		case html.TextToken:
			if within == "" {
				out.Text(strings.ReplaceAll(string(z.Text()), "\n", " "))
			}
		case html.StartTagToken, html.EndTagToken, html.SelfClosingTagToken:
			b, _ := z.TagName()
			name := string(b)
			switch {
			case within != "":
				if kind == html.EndTagToken && name == within {
					within = ""
				}
			case hidden[name] && kind == html.StartTagToken:
				within = name
			case name == "td" || name == "th":
				out.Text("\t")
			case !inline[name]:
				out.Line()
			}
		}
	}
	return ErrFull
}
