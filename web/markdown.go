package web

import (
	"context"
	"fmt"
	"html"
	"io"
	"regexp"
	"strings"

	"kartei/kit/i18n"

	"github.com/a-h/templ"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// article is a parsed Markdown document with its table of contents.
type article struct {
	language i18n.Language
	source   []byte
	tree     ast.Node
	contents []heading
}

// heading is an entry of the table of contents. Below has the entries one level lower.
type heading struct {
	ID, Text string
	Below    []heading
}

// markdown renders Markdown as HTML. Headings link to themselves, code blocks wrap and get a copy
// button, and raw HTML is removed.
var markdown = goldmark.New(
	goldmark.WithExtensions(extension.Table),
	goldmark.WithParserOptions(parser.WithAutoHeadingID()),
	goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(blocks{}, 100))),
)

// newArticle parses a Markdown document.
func newArticle(source []byte, l i18n.Language) article {
	tree := markdown.Parser().Parse(text.NewReader(source))
	return article{language: l, source: source, tree: tree, contents: contents(tree, source)}
}

// withIDs returns the article with the heading ids of another article. The other one has the same
// headings in another language. TestGuidesAgree checks this.
func (a article) withIDs(other article) article {
	from := headings(other.tree)
	for i, h := range headings(a.tree) {
		if i < len(from) {
			h.SetAttributeString("id", []byte(headingID(from[i])))
		}
	}
	a.contents = contents(a.tree, a.source)
	return a
}

// Render implements [templ.Component]. Wide tables get a scrollable container.
func (a article) Render(_ context.Context, w io.Writer) error {
	var b strings.Builder
	if err := markdown.Renderer().Render(&b, a.source, a.tree); err != nil {
		return fmt.Errorf("web: %w", err)
	}
	_, err := strings.NewReplacer("<table>", `<div class="wide"><table>`, "</table>", "</table></div>").WriteString(w,
		b.String())
	return err
}

// piece is a part of a line: plain text, code, or a link to a page of the instance.
type piece struct {
	text, href string
	code       bool
}

// inline matches code and links in a line of Markdown. A link has an absolute path.
var inline = regexp.MustCompile("`([^`]*)`|\\[([^\\]]+)\\]\\((/[^)\\s]*)\\)")

// pieces splits a line of Markdown into plain text, code and links.
func pieces(source string) (list []piece) {
	at := 0
	for _, m := range inline.FindAllStringSubmatchIndex(source, -1) {
		list = append(list, piece{text: source[at:m[0]]})
		if m[2] >= 0 {
			list = append(list, piece{text: source[m[2]:m[3]], code: true})
		} else {
			list = append(list, piece{text: source[m[4]:m[5]], href: source[m[6]:m[7]]})
		}
		at = m[1]
	}
	return append(list, piece{text: source[at:]})
}

// paragraphs returns a component that renders Markdown.
func paragraphs(source string) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error { return markdown.Convert([]byte(source), w) })
}

// headings returns the headings of a document in order.
func headings(tree ast.Node) []*ast.Heading {
	var all []*ast.Heading
	for n := tree.FirstChild(); n != nil; n = n.NextSibling() {
		if h, ok := n.(*ast.Heading); ok {
			all = append(all, h)
		}
	}
	return all
}

// contents returns the headings of levels 2 and 3 as a table of contents.
func contents(tree ast.Node, source []byte) []heading {
	var all []heading
	for _, h := range headings(tree) {
		if h.Level < 2 || h.Level > 3 {
			continue
		}
		one := heading{ID: headingID(h), Text: plainText(h, source)}
		if h.Level == 3 && len(all) > 0 {
			last := &all[len(all)-1]
			last.Below = append(last.Below, one)
			continue
		}
		all = append(all, one)
	}
	return all
}

func headingID(n ast.Node) string {
	id, _ := n.AttributeString("id")
	b, _ := id.([]byte)
	return string(b)
}

func plainText(n ast.Node, source []byte) string {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			b.Write(t.Segment.Value(source))
		} else {
			b.WriteString(plainText(c, source))
		}
	}
	return b.String()
}

// blocks renders headings and code blocks, and removes raw HTML.
type blocks struct{}

// RegisterFuncs implements [renderer.NodeRenderer].
func (blocks) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindHeading, func(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		level, id := n.(*ast.Heading).Level, html.EscapeString(headingID(n))
		switch {
		case entering && level == 1:
			fmt.Fprintf(w, `<h1 id="%s">`, id)
		case entering:
			fmt.Fprintf(w, `<h%d id="%s"><a href="#%s">`, level, id, id)
		case level == 1:
			fmt.Fprint(w, "</h1>\n")
		default:
			fmt.Fprintf(w, "</a></h%d>\n", level)
		}
		return ast.WalkContinue, nil
	})
	r.Register(ast.KindFencedCodeBlock, func(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			block := n.(*ast.FencedCodeBlock)
			fmt.Fprint(w, codeBlock("", string(block.Language(source)), string(n.Lines().Value(source))), "\n")
		}
		return ast.WalkSkipChildren, nil
	})
	skip := func(util.BufWriter, []byte, ast.Node, bool) (ast.WalkStatus, error) { return ast.WalkSkipChildren, nil }
	r.Register(ast.KindHTMLBlock, skip)
	r.Register(ast.KindRawHTML, skip)
}
