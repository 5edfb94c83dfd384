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
	{"kit/", "api/internal/", "docs", ".", "docs/examples", "store/db/sqlite/driver", "web/codesample"},
	// What a reader of a file format is handed, and the process that runs it; the scanner for
	// malware; the format of postings.
	{"extract/textio", "extract/sandbox", "extract/clamd", "record/search/packed"},
	// What leaves that process beside texts: pages and parts. The readers, and the types of files.
	{"extract/legacy", "extract/drawing", "extract/bundle"},
	{"extract/mail", "extract/office", "extract/pdf", "extract/picture"},
	{"extract/filetype"},
	// The database as all others see it, the bytes of documents, what they say.
	{"store/", "extract"},
	// What both engines are made of; the engines; the choice between them.
	{"store/db/internal/engine"},
	{"store/db/postgres", "store/db/sqlite"},
	{"store/db/open"},
	// The tables of the database; the replicas that share limits.
	{"store/schema", "integration/limit/replicas"},
	// Copies and backups of the database; the points, the queue, the answers
	// that are repeated.
	{"store/db/move", "integration/limit", "store/job", "store/replay"},
	// How long rows are kept.
	{"store/retention"},
	// The caller, the OpenID provider, the index of words, the settings.
	{"access", "people/sso", "record/search", "instance/config"},
	// What Kartei remembers of who did what; what others can reach of an instance.
	{"people/audit", "instance/exposure"},
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
	// How somebody leaves: all of their records, then the person. What is erased in time. The files of
	// documents, beside their rows.
	{"people/offboarding", "instance/erasure", "instance/files"},
	// The notices of access that was given. What people set for themselves.
	{"people/gains", "people/profile"},
	// Who accounts are at the OpenID provider, and their passkeys.
	{"people/identity", "people/passkey"},
	// How names, addresses and days in a file of contacts are read.
	{"transfer/imports/names", "transfer/imports/places", "transfer/imports/days"},
	// What becomes of the columns of such a file.
	{"transfer/imports/mapping"},
	// What an entry says of a contact or a company, and which one it is.
	{"transfer/imports/entry"},
	{"transfer/imports/match"},
	// How people sign in: their accounts, factors and sessions. How applications act for
	// them. How contacts of other programs move in. Acts on all records of a list.
	{"people/account", "integration/oauth", "transfer/imports", "transfer/bulk"},
	// What acts for an account. What leaves as one file: everything about a person, everything of
	// an organization.
	{"people/agent", "transfer/exports"},
	// The frozen documents of the versions, and what they say, enforced.
	{"api/openapi", "api/schema/pattern", "api/words"},
	{"api/schema", "api/release", "api/internal/header"},
	// The files in transit; who watches changes.
	{"api/transit", "api/watch"},
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
	// The command line: what commands share, the commands, their list.
	{"cmd/kartei/command"},
	{"cmd/kartei/developer", "cmd/kartei/integration", "cmd/kartei/server", "cmd/kartei/transfer"},
	{"cmd/kartei/people"},
	{"cmd/"},
}

// helpers serve tests, measurements and the guide. They may import everything;
// nothing of the product imports them.
var helpers = []string{"test/", "api/optest", "bench", "bench/", "docs/examples/mirror"}

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

// engines are the packages that only the store, and who opens it, may import: all others write
// against store/db.
var (
	engines      = []string{"store/db/open", "store/db/postgres", "store/db/sqlite"}
	engineOwners = []string{"store/", "instance", "cmd/"}
)

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

func TestEnginesStandBehindTheInterface(t *testing.T) {
	for name, p := range read(t) {
		for _, engine := range engines {
			if file, found := p.imports[engine]; found && !fitsAny(name, engineOwners) && !fitsAny(name, helpers) {
				t.Errorf("%s imports %s: what is no part of the store writes against store/db", file, engine)
			}
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
	for _, pattern := range slices.Concat(append(floors, helpers, doorKeepers, doorsKnow, engines, engineOwners)...) {
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
		if files[name] > maxFiles || lines[name] > maxLines {
			t.Errorf("%s has %d files and %d lines, at most %d and %d: split it", name, files[name], lines[name], maxFiles, maxLines)
		}
	}
}
