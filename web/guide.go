package web

import (
	"bytes"
	"fmt"
	"html/template"
	"regexp"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"

	"kartei/docs"
)

// pathMirror is where the guide's example program is.
const pathMirror = "/guide/mirror.go"

// marks are the lines by which ci/readme.sh finds the commands that it tries.
var marks = regexp.MustCompile(`(?m)^<!-- .* -->\n`)

// guide draws docs/guide.md for the instance at baseURL: with its address in
// the commands. Raw HTML in the document is left out.
func guide(baseURL string) (template.HTML, error) {
	text := marks.ReplaceAll(docs.Guide, nil)
	text = bytes.ReplaceAll(text, []byte("http://127.0.0.1:8080"), []byte(baseURL))
	text = bytes.ReplaceAll(text, []byte("](../examples/mirror/main.go)"), []byte("]("+pathMirror+")"))
	var b bytes.Buffer
	markdown := goldmark.New(goldmark.WithExtensions(extension.Table), goldmark.WithParserOptions(parser.WithAutoHeadingID()))
	if err := markdown.Convert(text, &b); err != nil {
		return "", fmt.Errorf("web: the guide: %w", err)
	}
	drawn := b.Bytes()
	// What is wider than a phone scrolls, also by keyboard (WCAG 2.2, 2.1.1).
	for _, wide := range [][2]string{
		{"<pre>", `<pre tabindex="0">`},
		{"<table>", `<div class="scroll" role="region" aria-label="Table" tabindex="0"><table>`},
		{"</table>", "</table></div>"},
	} {
		drawn = bytes.ReplaceAll(drawn, []byte(wide[0]), []byte(wide[1]))
	}
	return template.HTML(drawn), nil
}
