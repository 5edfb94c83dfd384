package web

import (
	"bytes"
	"regexp"

	"kartei/docs"
)

// Addresses of the guide beside its page: the example program, and the guide as
// it is written.
const (
	pathMirror        = "/guide/mirror.go"
	pathGuideMarkdown = "/guide.md"
)

// marks are the lines by which ci/readme.sh finds the commands that it tries.
var marks = regexp.MustCompile(`(?m)^<!-- .* -->\n`)

// guide returns docs/guide.md for the instance at baseURL: with its address in
// the commands, and without the marks.
func guide(baseURL string) []byte {
	text := marks.ReplaceAll(docs.Guide, nil)
	text = bytes.ReplaceAll(text, []byte("http://127.0.0.1:8080"), []byte(baseURL))
	return bytes.ReplaceAll(text, []byte("](../examples/mirror/main.go)"), []byte("]("+pathMirror+")"))
}
