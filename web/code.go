package web

import (
	"context"
	"html"
	"io"
	"regexp"
	"strings"

	"github.com/a-h/templ"
)

// coloured are the languages with syntax highlighting. The same tokens are highlighted in all of
// them: strings, names before a colon, numbers and constants, and comments.
var coloured = map[string]bool{
	"sh": true, "shell": true, "bash": true, "json": true, "go": true, "python": true, "javascript": true, "js": true,
}

// token matches the tokens to highlight in a line. A slash or a hash begins a comment only after
// white space, since addresses contain both.
var token = regexp.MustCompile(`("(?:[^"\\]|\\.)*"\s*:)|("(?:[^"\\]|\\.)*"|'[^']*')|((?:^|\s)(?:#|//)\s.*)|\b(true|false|null|nil|None|True|False|\d+(?:\.\d+)?)\b`)

// tokenClasses are the CSS classes for the groups of token.
var tokenClasses = [...]string{"k", "s", "c", "n"}

// codeBlock returns HTML for code, with an optional title. Long lines wrap with a hanging indent.
// The script of the pages adds a button that copies the code.
func codeBlock(title, language, code string) string {
	var b strings.Builder
	b.WriteString(`<div class="code">`)
	if title != "" {
		b.WriteString(`<p class="title">` + html.EscapeString(title) + `</p>`)
	}
	b.WriteString(`<pre><code>`)
	for line := range strings.Lines(strings.TrimSuffix(code, "\n")) {
		b.WriteString(`<span>`)
		writeLine(&b, line, coloured[strings.ToLower(language)])
		b.WriteString(`</span>`)
	}
	b.WriteString(`</code></pre></div>`)
	return b.String()
}

// code returns the same HTML as a component.
func code(title, language, source string) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		_, err := io.WriteString(w, codeBlock(title, language, source))
		return err
	})
}

func writeLine(b *strings.Builder, line string, colour bool) {
	if !colour {
		b.WriteString(html.EscapeString(line))
		return
	}
	from := 0
	for _, m := range token.FindAllStringSubmatchIndex(line, -1) {
		for group, class := range tokenClasses {
			start, end := m[2*group+2], m[2*group+3]
			if start < 0 {
				continue
			}
			b.WriteString(html.EscapeString(line[from:start]))
			b.WriteString(`<i class="` + class + `">` + html.EscapeString(strings.TrimSuffix(line[start:end], "\n")) + `</i>`)
			if from = end; strings.HasSuffix(line[start:end], "\n") {
				from--
			}
		}
	}
	b.WriteString(html.EscapeString(line[from:]))
}
