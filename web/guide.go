package web

import (
	"bytes"
	"regexp"

	"kartei/docs"
	"kartei/kit/i18n"
)

// These are the other paths of the guide: the example program, and the guide as Markdown.
const (
	pathMirror        = "/guide/mirror.go"
	pathGuideMarkdown = "/guide.md"
)

// marks matches the lines that mark the commands of the guide for ci/readme.sh.
var marks = regexp.MustCompile(`(?m)^<!-- .* -->\n`)

// guide returns the guide in a language, without the marks. baseURL replaces the address in the
// commands.
func guide(baseURL string, l i18n.Language) []byte {
	text := docs.Guide
	if l == i18n.German {
		text = docs.GuideDE
	}
	text = marks.ReplaceAll(text, nil)
	text = bytes.ReplaceAll(text, []byte("http://localhost:8080"), []byte(baseURL))
	return bytes.ReplaceAll(text, []byte("](examples/mirror/main.go)"), []byte("]("+pathMirror+")"))
}

// guideArticle returns the guide as an article. In both languages, the headings have the ids of the
// English guide. A link to a heading thus works in both.
func guideArticle(baseURL string, l i18n.Language) article {
	english := newArticle(guide(baseURL, i18n.English), i18n.English)
	if l != i18n.German {
		return english
	}
	return newArticle(guide(baseURL, l), l).withIDs(english)
}
