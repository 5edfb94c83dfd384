package web

import (
	"bytes"
	"regexp"

	"kartei/docs"
)

// The other addresses of the guide: the example program, and the guide as
// Markdown.
const (
	pathMirror        = "/guide/mirror.go"
	pathGuideMarkdown = "/guide.md"
)

// marks are the lines that mark the commands of the guide for ci/readme.sh.
var marks = regexp.MustCompile(`(?m)^<!-- .* -->\n`)

// guide returns docs/guide.md without the marks, and with baseURL as the
// address in the commands.
func guide(baseURL string) []byte {
	text := marks.ReplaceAll(docs.Guide, nil)
	text = bytes.ReplaceAll(text, []byte("http://localhost:8080"), []byte(baseURL))
	return bytes.ReplaceAll(text, []byte("](../examples/mirror/main.go)"), []byte("]("+pathMirror+")"))
}
