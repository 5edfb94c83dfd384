// Package kartei_test owns the checks of the tree: which folder may know which, and that each says what it owns.
package kartei_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// floors are the floors of the house, from the ground up. A package imports
// packages of lower floors only, so arrows point one way, and neighbours do not
// know each other. A name that ends in a slash stands for every package below
// that folder, unless a longer name fits.
var floors = [][]string{
	// Words that everyone uses. They know nothing of the product.
	{"kit/accept", "kit/clock", "kit/id", "kit/invisible"},
	{"kit/phone"},
	{"kit/i18n"},
	{"kit/fault"},
	{"kit/", "api/internal/", "docs", ".", "docs/examples", "store/db/sqlite", "web/codesample"},
	// What a reader of a file format is handed, and the process that runs it; the scanner for
	// malware; the format of postings.
	{"extract/textio", "extract/sandbox", "extract/clamd", "record/search/packed"},
	// What leaves that process beside texts: pages and parts. The readers, and the types of files.
	{"extract/legacy", "extract/drawing", "extract/bundle"},
	{"extract/mail", "extract/office", "extract/pdf", "extract/picture"},
	{"extract/filetype"},
	// The database, the bytes of documents, what they say.
	{"store/", "extract"},
	// The tables of the database; the replicas that share limits.
	{"store/schema", "integration/limit/replicas"},
	// Copies and backups of the database; the points, the queue, the answers
	// that are repeated.
	{"store/db/move", "integration/limit", "store/job", "store/replay"},
	// How long rows are kept.
	{"store/retention"},
	// The caller, the OpenID provider, the index of words, the settings.
	{"access", "people/sso", "record/search", "instance/config"},
	// What Kartei remembers of who did what.
	{"people/audit"},
	// Operations, and what each is handed.
	{"api/op"},
	// Whom Kartei tells. What proves a person, and what lets an application act for one.
	{"people/notify", "people/signin", "integration/grant", "instance/jobs"},
	// The change log, which records append to. Keys. The organizations.
	{"integration/event", "integration/key", "people/organization"},
	// Users and service accounts, how much is called, which calls, and what the audit log has.
	{"people/principal"},
	{"integration/usage", "people/invitation"},
	{"integration/requestlog"},
	{"people/auditlog"},
	// What all records have in common.
	{"record"},
	// How files arrive, and work that outlives its answer.
	{"record/upload", "record/operation"},
	// The records. They refer to each other by name and do not know each other.
	{"record/contact", "record/company", "record/task", "record/document", "integration/batch", "integration/webhook"},
	// What long acts have in common. How people find what is in all families.
	{"record/lookup", "transfer/imports/source", "transfer/process"},
	// How somebody leaves: all of their records, then the person.
	{"people/offboarding"},
	// The notices of access that was given.
	{"people/gains"},
	// How people sign in: their accounts, factors and sessions. How applications act for
	// them. How contacts of other programs move in. Acts on all records of a list.
	{"people/account", "integration/oauth", "transfer/imports", "transfer/bulk"},
	// What leaves as one file: everything about a person, everything of an organization.
	{"transfer/exports"},
	// The frozen documents of the versions, and what they say, enforced.
	{"api/openapi", "api/schema/pattern", "api/words"},
	{"api/schema"},
	// The contract: the table and the path; and beside it the sender of events.
	{"api", "integration/dispatch"},
	// What drafts the next frozen document, and what a door shows.
	{"api/draft", "web/reference", "web/ui", "door/admin/socket", "door/transfer"},
	// What stands around every page, and what families of records have in common. The pages, in
	// rooms; some lead to others, or show a part of them.
	{"web/shell"},
	{"web/records"},
	{"web/search", "web/documents", "web/tasks", "web/keys", "web/webhooks", "web/signin"},
	{"web/book", "web/people", "web/applications", "web/today"},
	{"web/data"},
	// The doors, and a client of an instance elsewhere.
	{"door/", "web", "web/", "cmd/remote"},
	// One running Kartei, and an office to fill it with.
	{"instance", "instance/sample"},
	{"cmd/"},
}

// helpers serve tests, measurements and the guide. They may import everything;
// nothing of the product imports them.
var helpers = []string{"test/", "api/optest", "bench", "docs/examples/mirror"}

// doors are the ways in.
var doors = []string{"door/", "web", "web/"}

// doorsKnow are the packages that a door may import besides other doors. A door translates calls
// of operations, which the nouns declare; the path decides about them.
var doorsKnow = []string{
	"api", "api/", "access", "record", "record/", "people/", "integration/", "transfer/", "kit/", "docs",
	".", "docs/examples",
}

// doorKeepers are the packages that may import a door.
var doorKeepers = []string{"instance", "cmd/"}

// walls are imports that the floors would allow.
var walls = []struct{ from, to, why string }{
	{"record/contact", "integration/limit", "records do not count; the path does"},
	{"record", "integration/limit", "records do not count; the path does"},
	{"record", "integration/requestlog", "records do not log; the path does"},
	{"api", "kit/telemetry", "instance connects the metrics, so that tests run without them"},
	{"instance/sample", "api", "the functions of the records make the sample office"},
}

// source is one package as its files tell.
type source struct {
	doc     string
	imports map[string]string // path below kartei/, or a foreign one, to a file that imports it
}

// read parses all Go files of this module except its tests. A folder with a go.mod is
// a module of its own.
func read(t *testing.T) map[string]*source {
	t.Helper()
	packages := map[string]*source{}
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if base := d.Name(); name != "." && (strings.HasPrefix(base, ".") || base == "testdata" ||
				base == "node_modules" || base == "bin") {
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

// fits reports whether a package has a name, or stands below the folder that
// ends in a slash.
func fits(name, pattern string) bool {
	return name == pattern || strings.HasSuffix(pattern, "/") && strings.HasPrefix(name, pattern)
}

func fitsAny(name string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return fits(name, p) })
}

// floorOf returns the floor of the longest name that fits, or -1.
func floorOf(name string) int {
	found, length := -1, 0
	for i, floor := range floors {
		for _, pattern := range floor {
			if fits(name, pattern) && len(pattern) > length {
				found, length = i, len(pattern)
			}
		}
	}
	return found
}

func TestArrowsPointOneWay(t *testing.T) {
	packages := read(t)
	if len(packages) < 20 {
		t.Fatalf("only %d packages were found: is the test run at the root?", len(packages))
	}
	for name, p := range packages {
		if fitsAny(name, helpers) {
			continue
		}
		floor := floorOf(name)
		if floor < 0 {
			t.Errorf("%s stands on no floor: add it to floors in layout_test.go", name)
			continue
		}
		for imported, file := range p.imports {
			switch below := floorOf(imported); {
			case fitsAny(imported, helpers):
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

// TestDoorsOnlyTranslate holds every door, also of the future, to the operations
// that nouns declare, and everybody else away from the doors.
func TestDoorsOnlyTranslate(t *testing.T) {
	packages := read(t)
	for name, p := range packages {
		for imported, file := range p.imports {
			_, ours := packages[imported]
			isDoor := fitsAny(name, doors)
			switch {
			case !ours:
			case isDoor && !fitsAny(imported, doors) && !fitsAny(imported, doorsKnow):
				t.Errorf("%s imports %s: a door knows operations, and no database", file, imported)
			case !isDoor && fitsAny(imported, doors) && !fitsAny(name, doorKeepers) && !fitsAny(name, helpers):
				t.Errorf("%s imports %s: doors are opened by %s alone", file, imported, strings.Join(doorKeepers, ", "))
			}
		}
	}
}

var sentence = regexp.MustCompile(`^Package (\w+) owns [^\n]+[^\s.]\.\n`)

func TestEachPackageSaysWhatItOwns(t *testing.T) {
	for name, p := range read(t) {
		want := path.Base(name)
		if name == "cmd/kartei" || name == "bench" || name == "docs/examples/mirror" || name == "kit/i18n/texts" {
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

// Pages have one system of templates, which escapes by itself. Only the renderers of
// Markdown, code and icons write HTML, as Go.
func TestTemplatesEscape(t *testing.T) {
	for name, p := range read(t) {
		if file, found := p.imports["html/template"]; found {
			t.Errorf("%s imports html/template: pages are templ (%s)", file, name)
		}
	}
	seen := 0
	err := filepath.WalkDir("web", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".templ") && !strings.HasSuffix(name, ".go") {
			return err
		}
		source, err := os.ReadFile(name)
		if strings.Contains(string(source), "templ.Raw") {
			t.Errorf("%s uses templ.Raw, which does not escape", name)
		}
		seen++
		return err
	})
	if err != nil || seen < 50 {
		t.Errorf("only %d files were read: %v", seen, err)
	}
}

// TestPasswordsAreCostly holds the hashes that protect nothing to tests.
func TestPasswordsAreCostly(t *testing.T) {
	found := 0
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || name == "layout_test.go" {
			return err
		}
		source, err := os.ReadFile(name)
		if strings.Contains(string(source), "NewTestHasher") {
			found++
			if name = filepath.ToSlash(name); name != "people/signin/password.go" && !strings.HasPrefix(name, "test/") &&
				!strings.HasSuffix(name, "_test.go") {
				t.Errorf("%s makes hashes that protect nothing: NewTestHasher is for tests", name)
			}
		}
		return err
	})
	if err != nil || found < 2 {
		t.Errorf("only %d files name it: %v", found, err)
	}
}

func TestFloorsStandForFolders(t *testing.T) {
	packages := slices.Collect(maps.Keys(read(t)))
	for _, pattern := range slices.Concat(append(floors, helpers, doorKeepers, doorsKnow)...) {
		if !slices.ContainsFunc(packages, func(name string) bool { return fits(name, pattern) }) {
			t.Errorf("there is no package %s", pattern)
		}
	}
}

// What a package's tests make the product say to the database is looked at
// when they have ended, by dbtest.Main.
func TestStatementsAreLookedAt(t *testing.T) {
	uses, main := map[string]bool{}, map[string]bool{}
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, "_test.go") || name == "layout_test.go" {
			return err
		}
		source, err := os.ReadFile(name)
		dir := path.Dir(filepath.ToSlash(name))
		uses[dir] = uses[dir] || strings.Contains(string(source), `"kartei/test/dbtest"`) ||
			strings.Contains(string(source), `"kartei/test/apitest"`)
		main[dir] = main[dir] || strings.Contains(string(source), "dbtest.Main(") ||
			dir == "test/dbtest" && strings.Contains(string(source), " Main(")
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

// maxFiles and maxLines bound a package: files and lines that people write, tests apart. A reader
// keeps as much in mind.
const (
	maxFiles = 25
	maxLines = 4000
)

// large are the packages beyond these bounds, with what they may hold. None is added: a package
// that grows is split. One that has become small enough leaves the list.
var large = map[string]struct{ files, lines int }{
	"api":              {29, 4600},
	"bench":            {28, 7400},
	"cmd/kartei":       {38, 6500},
	"instance":         {29, 3500},
	"people/account":   {14, 4500},
	"store/db":         {40, 5300},
	"transfer/imports": {23, 7100},
}

// TestPackagesAreSmall counts what people write.
func TestPackagesAreSmall(t *testing.T) {
	files, lines := map[string]int{}, map[string]int{}
	for name := range read(t) {
		entries, err := os.ReadDir(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if !strings.HasSuffix(e.Name(), ".templ") && !strings.HasSuffix(e.Name(), ".go") ||
				strings.HasSuffix(e.Name(), "_test.go") || strings.HasSuffix(e.Name(), "_templ.go") {
				continue
			}
			source, err := os.ReadFile(filepath.Join(name, e.Name()))
			if err != nil {
				t.Fatal(err)
			}
			files[name]++
			lines[name] += strings.Count(string(source), "\n")
		}
	}
	for name := range files {
		limit, listed := large[name]
		small := files[name] <= maxFiles && lines[name] <= maxLines
		switch {
		case listed && small:
			t.Errorf("%s has %d files and %d lines: take it from the list", name, files[name], lines[name])
		case listed && (files[name] > limit.files || lines[name] > limit.lines):
			t.Errorf("%s has %d files and %d lines, more than before: split it", name, files[name], lines[name])
		case !listed && !small:
			t.Errorf("%s has %d files and %d lines, at most %d and %d: split it", name, files[name], lines[name], maxFiles,
				maxLines)
		}
	}
}
