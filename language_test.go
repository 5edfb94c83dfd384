package kartei_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// These are the limits of the language test, each with its goal. A limit may only fall. When the
// code improves, lower the limit to the new figure.
const (
	// maxRoundabout is the maximum number of phrases 'that of' and 'those of' in 1,000 lines of
	// comments. The goal is reached.
	maxRoundabout = 1.0
	// maxParticiples is the maximum share of types that are named by a participle, in percent. The
	// goal of 1 is reached.
	maxParticiples = 0.2
	// maxInverted is the maximum number of conditions err == nil for each err != nil. The goal is
	// 0.05. Tests do not count, because they often expect an error.
	maxInverted = 0.087
	// maxPrefixed is the maximum number of names like mostRows and usualRows. The goal is reached.
	maxPrefixed = 0
	// maxLong is the maximum share of lines with more than 120 columns, in percent. The goal of 1
	// is reached.
	maxLong = 1.0
	// maxColumns is the maximum length of a line. A tab counts as one column, because its width is
	// a setting of the reader's editor.
	maxColumns = 120
)

// handwritten returns the Go files of this module that people write, with the tests. It leaves out
// generated templates and folders with data of tests. A folder with a go.mod is a module of its
// own.
func handwritten(t *testing.T) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			base := d.Name()
			if name != "." && (strings.HasPrefix(base, ".") || base == "testdata" || base == "node_modules" || base == "bin") {
				return fs.SkipDir
			}
			if _, err := os.Stat(filepath.Join(name, "go.mod")); err == nil && name != "." {
				return fs.SkipDir
			}
			return nil
		}
		if strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_templ.go") {
			names = append(names, filepath.ToSlash(name))
		}
		return nil
	})
	if err != nil || len(names) < 1000 {
		t.Fatalf("only %d files were found: %v", len(names), err)
	}
	return names
}

// offence is a place that breaks a rule. report prints offences with the highest weight first.
type offence struct {
	place, text string
	weight      int
}

// tally counts all places of a kind, and has the places that break the rule.
type tally struct {
	all   int
	found []offence
}

func (c *tally) add(place, text string, weight int) {
	c.found = append(c.found, offence{place, text, weight})
}

// report fails the test if too many places break the rule: more than limit in unit places. It
// prints the worst of them.
func (c *tally) report(t *testing.T, limit, unit float64, what string) {
	t.Helper()
	if c.all < 1000 {
		t.Fatalf("only %d places were read", c.all)
	}
	rate := float64(len(c.found)) * unit / float64(c.all)
	t.Logf("%s: %d of %d, rate %.3f", what, len(c.found), c.all, rate)
	if rate <= limit {
		return
	}
	slices.SortStableFunc(c.found, func(a, b offence) int { return b.weight - a.weight })
	var worst strings.Builder
	for _, o := range c.found[:min(len(c.found), 30)] {
		fmt.Fprintf(&worst, "%s: %.140s\n", o.place, o.text)
	}
	t.Errorf("%s: %d of %d, rate %.3f, at most %.3f. The worst:\n%s", what, len(c.found), c.all, rate, limit, &worst)
}

// language has the counts for the files that were read.
type language struct {
	comments, types, inverted, lines tally
	// prefixed are the constants, variables and functions with a name like mostRows.
	prefixed []offence
	// misnamed are the comments that begin with a name other than the declared one.
	misnamed []offence
}

var roundabout = regexp.MustCompile(`(?i)\b(?:that|those)\s+of\b`)

// prefix matches names that begin with most or usual. The words max and default replace these.
var prefix = regexp.MustCompile(`^(?:[mM]ost|[uU]sual)(?:[A-Z0-9]|$)`)

// irregular are participles that do not end in -ing, -ed or -en.
var irregular = words(`begun bent born bought bound bred brought built caught cut done drawn dug fed felt
	flown fought found gone grown heard held hung kept known laid led left lent lit lost made meant met
	paid put read said sent set shot shown shut sold sought spent split spoken spun stood stuck sworn
	taught thought told torn understood unread unsent won worn wound`)

// nouns are nouns with the ending of a participle.
var nouns = words(`anything binding building drawing embed encoding feed filing finding greeting heading holding
	king listing mapping meaning meeting need nothing offering padding posting reading recording ring run screen
	seed setting shed sibling sighting something speed string thing timing token train warning wing`)

func words(list string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(list) {
		set[w] = true
	}
	return set
}

// lastWord returns the last word of a camel-case name, in lower case.
func lastWord(name string) string {
	runes := []rune(name)
	i := len(runes) - 1
	for i > 0 && (!unicode.IsUpper(runes[i]) ||
		unicode.IsUpper(runes[i-1]) && (i+1 == len(runes) || unicode.IsUpper(runes[i+1]))) {
		i--
	}
	return strings.ToLower(string(runes[i:]))
}

// participle reports whether the name of a type is a participle. Its last word then ends in -ing,
// -ed or -en and is not in nouns, or it is in irregular.
func participle(name string) bool {
	word := lastWord(name)
	ends := slices.ContainsFunc([]string{"ing", "ed", "en"}, func(end string) bool { return strings.HasSuffix(word, end) })
	return (ends || irregular[word]) && !nouns[word]
}

// documented returns the doc comment of a declaration and the names that it declares.
func documented(n ast.Node) (doc *ast.CommentGroup, names []string) {
	list := func(idents []*ast.Ident) (names []string) {
		for _, i := range idents {
			names = append(names, i.Name)
		}
		return names
	}
	switch n := n.(type) {
	case *ast.FuncDecl:
		return n.Doc, []string{n.Name.Name}
	case *ast.GenDecl:
		for _, spec := range n.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				names = append(names, spec.Name.Name)
			case *ast.ValueSpec:
				names = append(names, list(spec.Names)...)
			}
		}
		return n.Doc, names
	case *ast.TypeSpec:
		return n.Doc, []string{n.Name.Name}
	case *ast.ValueSpec:
		return n.Doc, list(n.Names)
	case *ast.Field:
		return n.Doc, list(n.Names)
	}
	return nil, nil
}

// misnamed returns the first word of a comment if it is a name other than the declared names. It
// returns "" for other comments. A word in lower case counts as a name, because sentences begin
// with a capital letter.
func misnamed(text string, names []string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(text), " ")
	first = strings.TrimRight(first, ",.:;'\n")
	r, _ := utf8.DecodeRuneInString(first)
	if len(names) == 0 || !unicode.IsLower(r) || !token.IsIdentifier(first) || slices.Contains(names, first) {
		return ""
	}
	return first
}

// read adds the counts of one file.
func (l *language) read(name string, source []byte) error {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil || ast.IsGenerated(file) {
		return err
	}
	place := func(p token.Pos) string { return fmt.Sprintf("%s:%d", name, files.Position(p).Line) }
	for _, group := range file.Comments {
		for _, comment := range group.List {
			l.comments.all += strings.Count(comment.Text, "\n") + 1
		}
		for range roundabout.FindAllString(group.Text(), -1) {
			l.comments.add(place(group.Pos()), strings.Join(strings.Fields(group.Text()), " "), 0)
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if doc, names := documented(n); doc != nil {
			if first := misnamed(doc.Text(), names); first != "" {
				l.misnamed = append(l.misnamed, offence{
					place: place(doc.Pos()), text: fmt.Sprintf("%s, where %s is declared", first, strings.Join(names, ", ")),
				})
			}
		}
		switch n := n.(type) {
		case *ast.TypeSpec:
			if l.types.all++; participle(n.Name.Name) {
				l.types.add(place(n.Pos()), n.Name.Name, 0)
			}
		case *ast.BinaryExpr:
			l.compare(n, place)
		}
		return true
	})
	for name, at := range declared(file) {
		if prefix.MatchString(name) {
			l.prefixed = append(l.prefixed, offence{place: place(at), text: name})
		}
	}
	number := 0
	for line := range strings.Lines(string(source)) {
		number++
		l.lines.all++
		if columns := utf8.RuneCountInString(strings.TrimRight(line, "\n")); columns > maxColumns {
			l.lines.add(fmt.Sprintf("%s:%d", name, number), strings.TrimSpace(line), columns)
		}
	}
	return nil
}

// compare counts a comparison of err with nil. Tests do not count.
func (l *language) compare(n *ast.BinaryExpr, place func(token.Pos) string) {
	left, isName := n.X.(*ast.Ident)
	right, isNil := n.Y.(*ast.Ident)
	at := place(n.Pos())
	if !isName || !isNil || left.Name != "err" || right.Name != "nil" || strings.Contains(at, "_test.go:") {
		return
	}
	switch n.Op {
	case token.NEQ:
		l.inverted.all++
	case token.EQL:
		l.inverted.add(at, "err == nil", 0)
	}
}

// declared returns the constants, variables and functions that a file declares at package level,
// with their positions.
func declared(file *ast.File) map[string]token.Pos {
	names := map[string]token.Pos{}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			names[d.Name.Name] = d.Name.Pos()
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if v, ok := spec.(*ast.ValueSpec); ok {
					for _, name := range v.Names {
						names[name.Name] = name.Pos()
					}
				}
			}
		}
	}
	return names
}

func TestLanguage(t *testing.T) {
	var l language
	for _, name := range handwritten(t) {
		source, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.read(name, source); err != nil {
			t.Fatal(err)
		}
	}
	l.comments.report(t, maxRoundabout, 1000, "phrases that make a reader look back")
	l.types.report(t, maxParticiples, 100, "types named by a participle")
	l.inverted.report(t, maxInverted, 1, "err == nil")
	l.lines.report(t, maxLong, 100, "long lines")
	for _, o := range l.misnamed {
		t.Errorf("%s: the comment begins with %s", o.place, o.text)
	}
	if len(l.prefixed) > maxPrefixed {
		t.Errorf("%d names begin with most or usual, and max or default is meant; at most %d:", len(l.prefixed), maxPrefixed)
		for _, o := range l.prefixed {
			t.Errorf("%s: %s", o.place, o.text)
		}
	}
}

// TestLanguageCounts checks the counts for a small file with at least one offence of each kind.
func TestLanguageCounts(t *testing.T) {
	const source = `package p

// mostRows is that
// of the table, and those of others.
const mostRows, token = 1, 2

type (
	chosen     int
	rawPut     int
	rowSetting int
	screen     int
	Row        int
)

// g returns false with an error.
func f(err error) bool {
	if err != nil {
		return false
	}
	return err == nil
}
`
	var l language
	if err := l.read("p.go", []byte(source+"var s = \""+strings.Repeat("ä", maxColumns)+"\"\n")); err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(len(l.comments.found), l.comments.all, len(l.types.found), l.types.all, len(l.inverted.found),
		l.inverted.all, len(l.lines.found), len(l.prefixed), len(l.misnamed))
	if want := fmt.Sprint(2, 3, 2, 5, 1, 1, 1, 1, 1); got != want {
		t.Errorf("counts %s, want %s", got, want)
	}
	for name, word := range map[string]string{"rawPut": "put", "HTTPServer": "server", "readDB": "db", "x": "x"} {
		if got := lastWord(name); got != word {
			t.Errorf("the last word of %s is %q, want %q", name, got, word)
		}
	}
}
