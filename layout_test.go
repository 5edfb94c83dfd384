// Package kartei_test owns the checks of the house itself: which folder may know which, and that each says what it owns.
package kartei_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// floors are the floors of the house, from the ground up. A package may import
// packages of lower floors only, so arrows point one way, and neighbours do
// not know each other.
var floors = [][]string{
	// Words that everyone uses; they know nothing of the product.
	{"clock", "id", "fault", "masterkey", "telemetry", "progress", "trace", "docs", ".", "examples", "api/openapi", "api/pattern", "db/sqlite", "web/codesample"},
	// The two engines, the bytes of documents, what they say, the listeners, the
	// way out.
	{"db", "blob", "extract", "serve", "egress"},
	// The points, the queue, the answers that are repeated.
	{"limit", "job", "replay"},
	// Who is calling, finding words, who called when, settings.
	{"access", "search", "requestlog", "config"},
	// What an operation is handed; who is told what; administration.
	{"app", "notify", "admin"},
	// The change log, which records append to; what is kept how long.
	{"event", "retention"},
	// What all records have in common.
	{"record"},
	// How files come, and what goes on after its answer.
	{"upload", "operation"},
	// The records. They refer to each other by name and do not know each other.
	{"contact", "company", "task", "document", "batch", "webhook"},
	// The contract: the table and the path.
	{"api"},
	// What drafts the next frozen document, and what a door shows.
	{"api/draft", "web/reference"},
	// The doors, and what calls from outside.
	{"rest", "web", "remote"},
	// One running Kartei, and an office to fill it with.
	{"instance", "sample"},
	{"cmd/kartei"},
}

// helpers serve tests, measurements and the guide. They may import everything;
// nothing of the product imports them.
var helpers = []string{"dbtest", "apitest", "extract/clamdtest", "webhook/webhooktest", "blob/s3test", "leaktest", "web/webtest", "e2e", "bench", "examples/mirror"}

// walls are what a package must not import although it stands below.
var walls = []struct{ from, to, why string }{
	{"rest", "db", "a door that knows SQL will sooner or later ask it something behind the path's back"},
	{"web", "db", "a door that knows SQL will sooner or later ask it something behind the path's back"},
	{"rest", "access", "a door that knows rights will sooner or later decide on one"},
	{"contact", "limit", "records do not count; the path does"},
	{"record", "limit", "records do not count; the path does"},
	{"record", "requestlog", "records do not log; the path does"},
	{"api", "telemetry", "metrics are wired in by instance, so that tests run without them"},
	{"sample", "api", "the sample office is made by the records' own functions"},
}

// source is one package as its files tell.
type source struct {
	doc     string
	imports map[string]string // path below kartei/, or a foreign one, to a file that imports it
}

// doors are the packages through which calls come.
var doors = []string{"rest", "web"}

// behindPath are the floors of which a door knows nothing: it knows calls, not
// records.
func behindPath() []string {
	first, last := floorOf("event"), floorOf("contact")
	return slices.Concat(floors[first : last+1]...)
}

// read parses all Go files of this module, without those of tests. A folder with a
// go.mod is a module of its own.
func read(t *testing.T) map[string]*source {
	t.Helper()
	packages := map[string]*source{}
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if base := d.Name(); name != "." && (strings.HasPrefix(base, ".") || base == "testdata" || base == "node_modules" || base == "bin") {
				return fs.SkipDir
			}
			if _, err := os.Stat(filepath.Join(name, "go.mod")); err == nil && name != "." {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly|parser.ParseComments)
		if err != nil {
			return err
		}
		dir := path.Dir(filepath.ToSlash(name))
		if packages[dir] == nil {
			packages[dir] = &source{imports: map[string]string{}}
		}
		packages[dir].add(name, file)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return packages
}

func (s *source) add(name string, file *ast.File) {
	if file.Doc != nil && strings.HasPrefix(file.Doc.Text(), "Package ") {
		s.doc += file.Doc.Text()
	}
	for _, spec := range file.Imports {
		imported, _ := strconv.Unquote(spec.Path.Value)
		s.imports[strings.TrimPrefix(imported, "kartei/")] = name
	}
}

func floorOf(name string) int {
	return slices.IndexFunc(floors, func(floor []string) bool { return slices.Contains(floor, name) })
}

func TestArrowsPointOneWay(t *testing.T) {
	packages := read(t)
	if len(packages) < 20 {
		t.Fatalf("only %d packages were found: is the test run at the root?", len(packages))
	}
	for name, p := range packages {
		if slices.Contains(helpers, name) {
			continue
		}
		floor := floorOf(name)
		if floor < 0 {
			t.Errorf("%s stands on no floor: add it to floors in layout_test.go", name)
			continue
		}
		for imported, file := range p.imports {
			switch below := floorOf(imported); {
			case slices.Contains(helpers, imported):
				t.Errorf("%s imports %s, which is for tests", file, imported)
			case imported == "testing":
				t.Errorf("%s imports testing: helpers of tests belong into a test or into %v", file, helpers)
			case below >= floor:
				t.Errorf("%s imports %s, which does not stand below it", file, imported)
			}
		}
	}
}

func TestWalls(t *testing.T) {
	packages := read(t)
	for _, w := range walls {
		if packages[w.from] == nil || packages[w.to] == nil {
			t.Errorf("the wall from %s to %s is about a package that there is not", w.from, w.to)
			continue
		}
		if file, found := packages[w.from].imports[w.to]; found {
			t.Errorf("%s imports %s: %s", file, w.to, w.why)
		}
	}
}

// TestDoorsKnowNoRecords holds each family, also of the future, away from each door.
func TestDoorsKnowNoRecords(t *testing.T) {
	packages := read(t)
	for _, door := range doors {
		for _, name := range behindPath() {
			if file, found := packages[door].imports[name]; found {
				t.Errorf("%s imports %s: a door knows calls, not records", file, name)
			}
		}
	}
}

var sentence = regexp.MustCompile(`^Package (\w+) owns [^\n]+[^\s.]\.\n`)

func TestEachPackageSaysWhatItOwns(t *testing.T) {
	for name, p := range read(t) {
		want := path.Base(name)
		if strings.HasPrefix(name, "cmd/") || name == "bench" || name == "examples/mirror" {
			want = "main"
		}
		if name == "." {
			want = "kartei"
		}
		m := sentence.FindStringSubmatch(p.doc)
		if m == nil || m[1] != want || strings.Count(p.doc, "Package ") != 1 {
			t.Errorf("%s must open with one sentence 'Package %s owns ...', in one file; it says %q", name, want, p.doc)
		}
	}
}

func TestFloorsStandForFolders(t *testing.T) {
	packages := read(t)
	for _, floor := range floors {
		for _, name := range floor {
			if packages[name] == nil {
				t.Errorf("there is no package %s", name)
			}
		}
	}
}

// TestReadmeShowsEveryFolder holds the tree in README.md to the folders that
// there are.
func TestReadmeShowsEveryFolder(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, tree, _ := strings.Cut(string(readme), "## The tree\n\n```\n")
	tree, _, _ = strings.Cut(tree, "```")
	shown := map[string]bool{}
	for line := range strings.Lines(tree) {
		if strings.HasPrefix(line, " ") {
			continue // within the folder above
		}
		for _, word := range strings.Fields(line) {
			if folder, is := strings.CutSuffix(word, "/"); is {
				shown[strings.Split(folder, "/")[0]] = true
			}
		}
	}
	there := map[string]bool{}
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() && e.Name() != "bin" && !strings.HasPrefix(e.Name(), ".") {
			there[e.Name()] = true
			if !shown[e.Name()] {
				t.Errorf("the tree in README.md does not show %s/", e.Name())
			}
		}
	}
	for folder := range shown {
		if !there[folder] {
			t.Errorf("the tree in README.md shows %s/, which there is not", folder)
		}
	}
}

// What a package's tests make the product say to the data base is looked at
// when they have ended, by dbtest.Main.
func TestStatementsAreLookedAt(t *testing.T) {
	uses, main := map[string]bool{}, map[string]bool{}
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, "_test.go") || name == "layout_test.go" {
			return err
		}
		source, err := os.ReadFile(name)
		dir := path.Dir(filepath.ToSlash(name))
		uses[dir] = uses[dir] || strings.Contains(string(source), `"kartei/dbtest"`) || strings.Contains(string(source), `"kartei/apitest"`)
		main[dir] = main[dir] || strings.Contains(string(source), "dbtest.Main(") || dir == "dbtest" && strings.Contains(string(source), " Main(")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for dir := range uses {
		if uses[dir] && !main[dir] {
			t.Errorf("the tests of %s use dbtest and have no TestMain that calls dbtest.Main", dir)
		}
	}
}
