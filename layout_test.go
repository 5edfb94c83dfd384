// Package kartei_test owns the checks of the tree: which package may import which, and that each says what it owns.
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

// floors are the levels of the tree, the lowest first. A package imports only packages of lower
// floors. So imports go in one direction, and packages of the same floor do not import each other.
// A name that ends in a slash stands for all packages below that folder. If several names match a
// package, the longest decides.
var floors = [][]string{
	// These packages are for all others. They contain nothing about the product.
	{"kit/accept", "kit/clock", "kit/id", "kit/invisible"},
	{"kit/phone"},
	{"kit/i18n"},
	{"kit/fault"},
	{"kit/", "api/internal/", "docs", ".", "docs/examples", "store/db/sqlite/driver", "web/codesample"},
	// These are the interface of the readers of file formats, the process that runs a reader, the
	// malware scanner, and the format of postings.
	{"extract/textio", "extract/sandbox", "extract/clamd", "record/search/packed", "record/search/mask"},
	// These are the readers of old formats, drawn pages, and files with several parts.
	{"extract/legacy", "extract/drawing", "extract/bundle"},
	// These are the readers of the other formats, and the list of file types.
	{"extract/mail", "extract/office", "extract/pdf", "extract/picture"},
	{"extract/filetype"},
	// These are the interface of the database, the storage of files, and the extraction of texts.
	{"store/", "extract"},
	// The engines have a common part. Another package chooses between the engines.
	{"store/db/internal/engine"},
	{"store/db/postgres", "store/db/sqlite"},
	{"store/db/open"},
	// These are the schema of the database, and the replicas that share limits.
	{"store/schema", "integration/limit/replicas"},
	// These packages copy and back up the database, limit calls, queue jobs, replay responses and keep settings.
	{"store/db/move", "integration/limit", "store/job", "store/replay", "store/setting"},
	// This package decides how long rows are stored.
	{"store/retention"},
	// These are the callers, the OpenID provider, the search index and the settings.
	{"access", "people/sso", "record/search", "instance/config"},
	// These packages write the audit log, and warn about what others can reach of an instance.
	{"people/audit", "instance/exposure"},
	// This package declares operations and their inputs.
	{"api/op"},
	// This package has the regular expressions of the OpenAPI documents.
	{"api/schema/pattern"},
	// These packages send notices, verify credentials of people, store grants of applications, and
	// list the jobs.
	{"people/notify", "people/signin", "integration/grant", "instance/jobs"},
	// These are the change log, to which records append, API keys, and organizations.
	{"integration/event", "integration/key", "people/organization"},
	// These are users and service accounts, the counts of calls, invitations, the request log, and
	// the pages of the audit log.
	{"people/principal"},
	{"integration/usage", "people/invitation"},
	{"integration/requestlog"},
	{"people/auditlog"},
	// This package is the common part of all records.
	{"record"},
	// These packages receive files, and run work that ends after the response.
	{"record/upload", "record/operation"},
	// These are the families of records. They refer to each other by id and do not import each
	// other.
	{"record/contact", "record/company", "record/task", "record/document", "integration/batch", "integration/webhook"},
	// This package finds contacts and companies that are probably the same.
	{"record/duplicate"},
	// These are the search across all families, and the common parts of imports and of long acts.
	{"record/lookup", "transfer/imports/source", "transfer/process"},
	// These packages remove a person with their records, erase data when its time is over, and
	// compare the files of documents with the rows of the database.
	{"people/offboarding", "instance/erasure", "instance/files"},
	// These packages send the notices about new access, and store what people set for themselves.
	{"people/gains", "people/profile"},
	// These packages store identities at the OpenID provider and passkeys.
	{"people/identity", "people/passkey"},
	// This package looks at what a server needs.
	{"instance/check"},
	// These packages read names, addresses and dates in a file of contacts.
	{"transfer/imports/names", "transfer/imports/places", "transfer/imports/days"},
	// This package maps the columns of such a file to members of records.
	{"transfer/imports/mapping"},
	// These packages turn an entry of the file into a record, and find the existing record for it.
	{"transfer/imports/entry"},
	{"transfer/imports/match"},
	// These packages let people sign in, let applications act for people, import contacts from
	// other programs, change all records of a list, and merge two records.
	{"people/account", "integration/oauth", "transfer/imports", "transfer/bulk", "transfer/merge"},
	// These packages list everything with access to an account, and export everything about a
	// person or an organization as a file.
	{"people/agent", "transfer/exports"},
	// These are the frozen documents of the API versions, the texts in them, the checks of calls
	// against them, the list of the versions, and the headers with a grammar.
	{"api/openapi", "api/words"},
	{"api/schema", "api/release", "api/internal/header"},
	// These are the transfers of files, and the watches for changes.
	{"api/transit", "api/watch"},
	// These are the table of operations with the path of a call, and the sender of webhooks.
	{"api", "integration/dispatch"},
	// These packages draft the next frozen document, and have common parts of the doors.
	{"api/draft", "web/reference", "web/ui", "door/admin/socket", "door/transfer"},
	// shell has the common frame of all pages, and records the common parts of pages about records.
	// The other packages have the pages. Some pages link to others, or show a part of them.
	{"web/shell"},
	{"web/records"},
	{"web/search", "web/documents", "web/tasks", "web/keys", "web/webhooks", "web/signin"},
	{"web/book", "web/duplicates", "web/conflicts", "web/people", "web/applications", "web/today"},
	{"web/data"},
	// These are the doors, and the client for a remote instance.
	{"door/", "web", "web/", "cmd/remote"},
	// These packages run an instance, and create a sample office.
	{"instance", "instance/sample"},
	// These packages are the command line: common parts, the commands, and the list of commands.
	{"cmd/kartei/command"},
	{"cmd/kartei/developer", "cmd/kartei/integration", "cmd/kartei/server", "cmd/kartei/transfer"},
	{"cmd/kartei/people"},
	{"cmd/"},
}

// helpers are packages for tests, measurements and the guide. They may import all packages. No
// package of the product imports them.
var helpers = []string{"test/", "api/optest", "bench", "bench/", "docs/examples/mirror"}

// doors are the packages through which calls come in, such as REST and the web application.
var doors = []string{"door/", "web", "web/"}

// doorsKnow are the packages that a door may import besides other doors. A door translates requests
// into calls of operations. It decides nothing itself.
var doorsKnow = []string{
	"api", "api/", "access", "record", "record/", "people/", "integration/", "transfer/", "kit/", "docs",
	".", "docs/examples",
}

// doorKeepers are the packages that may import a door.
var doorKeepers = []string{"instance", "cmd/"}

// walls are forbidden imports that the floors would allow.
var walls = []struct{ from, to, why string }{
	{"record/contact", "integration/limit", "records do not count; the path does"},
	{"record", "integration/limit", "records do not count; the path does"},
	{"record", "integration/requestlog", "records do not log; the path does"},
	{"api", "kit/telemetry", "instance connects the metrics, so that tests run without them"},
	{"instance/sample", "api", "the functions of the records make the sample office"},
}

// engines are the packages that only engineOwners may import. All other packages use the interface
// store/db.
var (
	engines      = []string{"store/db/open", "store/db/postgres", "store/db/sqlite"}
	engineOwners = []string{"store/db/", "store/schema", "instance", "instance/check", "cmd/"}
)

// source is what the files of one package declare about it.
type source struct {
	doc     string
	imports map[string]string // an imported path, without kartei/, to a file that imports it
}

// read parses all Go files of this module except its tests. It returns the packages by their
// folders. A folder with a go.mod is a module of its own.
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

// fits reports whether the name of a package equals the pattern. If the pattern ends in a slash,
// fits reports whether the package is below that folder.
func fits(name, pattern string) bool {
	return name == pattern || strings.HasSuffix(pattern, "/") && strings.HasPrefix(name, pattern)
}

func fitsAny(name string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return fits(name, p) })
}

// floorOf returns the index of the floor with the longest pattern that fits the name, or -1.
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

// TestEnginesStandBehindTheInterface checks that only engineOwners, tests and measurements import an
// engine.
func TestEnginesStandBehindTheInterface(t *testing.T) {
	for name, p := range read(t) {
		for _, engine := range engines {
			if file, found := p.imports[engine]; found && !fitsAny(name, engineOwners) && !fitsAny(name, helpers) {
				t.Errorf("%s imports %s: use the interface store/db", file, engine)
			}
		}
	}
}

// TestDoorsOnlyTranslate checks that a door imports only other doors and doorsKnow. Besides doors,
// only doorKeepers import a door.
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

// TestTemplatesEscape checks that all pages use templ, which escapes texts, and that none uses
// templ.Raw. Only the Go code for Markdown, code samples and icons writes HTML itself.
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

// TestPasswordsAreCostly checks that only tests use NewTestHasher, whose hashes are too fast to
// protect a password.
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

// TestStatementsAreLookedAt checks that packages whose tests use dbtest call dbtest.Main. Main
// checks the SQL statements that were sent during the tests.
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

// maxFiles and maxLines are the maximum numbers of files and lines in one package. Generated files
// and tests do not count. More does not fit into a reader's head.
const (
	maxFiles = 25
	maxLines = 4000
)

// TestPackagesAreSmall checks the numbers of files and lines in each package.
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
