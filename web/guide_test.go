package web

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"

	"kartei/docs"
	"kartei/kit/i18n"
)

// section is the part of the guide below one heading.
type section struct {
	level int
	title string
	// blocks are the kinds and structures of its paragraphs, lists, tables and code blocks. code is
	// the code itself.
	blocks, code []string
	// links are the sorted link targets. names are the words in backticks, which must not be
	// translated.
	links []string
	names map[string]bool
	// words is the whole text without line breaks.
	words string
}

// sum returns a hash of the section's text.
func (s section) sum() string {
	return fmt.Sprintf("%x", sha256.Sum256([]byte(s.title+"\n"+s.words)))[:12]
}

// sectionsOf returns the sections of a guide, in order.
func sectionsOf(text []byte) []section {
	text = marks.ReplaceAll(text, nil)
	a := newArticle(text, i18n.English)
	var all []section
	for n := a.tree.FirstChild(); n != nil; n = n.NextSibling() {
		if h, ok := n.(*ast.Heading); ok {
			all = append(all, section{level: h.Level, title: plainText(h, text), names: map[string]bool{}})
			continue
		}
		all[len(all)-1].add(n, text)
	}
	return all
}

// add adds a block and its content to the section.
func (s *section) add(block ast.Node, text []byte) {
	s.blocks = append(s.blocks, shape(block))
	_ = ast.Walk(block, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.FencedCodeBlock:
			s.code = append(s.code, string(n.Lines().Value(text)))
		case *ast.CodeSpan:
			s.names[strings.Join(strings.Fields(plainText(n, text)), " ")] = true
		case *ast.Link:
			s.links = append(s.links, string(n.Destination))
			slices.Sort(s.links)
		case *ast.Text:
			s.words += string(n.Segment.Value(text)) + " "
		}
		return ast.WalkContinue, nil
	})
}

// shape returns the kind of a block, with the shapes of the blocks in it.
func shape(block ast.Node) string {
	var inside []string
	for n := block.FirstChild(); n != nil && n.Type() == ast.TypeBlock; n = n.NextSibling() {
		inside = append(inside, shape(n))
	}
	kind := block.Kind().String()
	switch {
	case kind == "TextBlock":
		kind = "Paragraph"
	case block.Kind() == east.KindTableCell:
		return "Cell"
	}
	if len(inside) == 0 {
		return kind
	}
	return kind + "(" + strings.Join(inside, " ") + ")"
}

// TestGuidesAgree compares the English and the German guide, heading by heading: both have the same
// blocks, code, links and names. It also compares both with recorded hashes. If only one of the two
// changes, the test fails.
func TestGuidesAgree(t *testing.T) {
	english, german := sectionsOf(docs.Guide), sectionsOf(docs.GuideDE)
	for i := range min(len(english), len(german)) {
		e, g := english[i], german[i]
		if e.level != g.level || !slices.Equal(e.blocks, g.blocks) {
			t.Fatalf("below “%s” docs/guide.md has, with a heading of level %d,\n%s\nand docs/guide.de.md has below “%s”, of level %d,\n%s",
				e.title, e.level, strings.Join(e.blocks, "\n"), g.title, g.level, strings.Join(g.blocks, "\n"))
		}
		for k := range e.code {
			if e.code[k] != g.code[k] {
				t.Errorf("below “%s” the guides differ in their code:\n%s\n%s", e.title, e.code[k], g.code[k])
			}
		}
		if !slices.Equal(e.links, g.links) {
			t.Errorf("below “%s” the guides link to different places:\n%s\n%s", e.title, e.links, g.links)
		}
		if !maps.Equal(e.names, g.names) {
			t.Errorf("below “%s” the guides name different things in backticks:\n%s\n%s",
				e.title, slices.Sorted(maps.Keys(e.names)), slices.Sorted(maps.Keys(g.names)))
		}
	}
	if len(english) != len(german) {
		t.Fatalf("docs/guide.md has %d headings, docs/guide.de.md %d", len(english), len(german))
	}
	checkSums(t, english, german)
}

// checkSums compares the hashes of the sections with the recorded ones.
func checkSums(t *testing.T, english, german []section) {
	const file, again = "testdata/guides.txt", "KARTEI_TEST_UPDATE=1 go test ./web -run TestGuidesAgree records both"
	var now strings.Builder
	for i, e := range english {
		fmt.Fprintf(&now, "%s %s %s\n", e.sum(), german[i].sum(), e.title)
	}
	if os.Getenv("KARTEI_TEST_UPDATE") != "" {
		if err := os.WriteFile(file, []byte(now.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	recorded, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string][2]string{}
	for line := range strings.Lines(string(recorded)) {
		if parts := strings.SplitN(strings.TrimSpace(line), " ", 3); len(parts) == 3 {
			sums[parts[2]] = [2]string{parts[0], parts[1]}
		}
	}
	for i, e := range english {
		was := sums[e.title]
		switch inEnglish, inGerman := was[0] != e.sum(), was[1] != german[i].sum(); {
		case inEnglish && inGerman:
			t.Errorf("both guides changed below “%s”: %s", e.title, again)
		case inEnglish:
			t.Errorf("docs/guide.md changed below “%s”, and docs/guide.de.md did not below “%s”: mend it, then %s", e.title,
				german[i].title, again)
		case inGerman:
			t.Errorf("docs/guide.de.md changed below “%s”, and docs/guide.md did not below “%s”: mend it, then %s",
				german[i].title, e.title, again)
		}
	}
	if string(recorded) != now.String() && !t.Failed() {
		t.Errorf("%s has other headings than the guides: %s", file, again)
	}
}
