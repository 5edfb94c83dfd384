package kartei_test

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

var write = flag.Bool("write", false, "write the tree into README.md (make docs)")

// first and last are the folders at the beginning and the end of the tree in README.md. Other
// folders come between them, in the order of their names.
var (
	first = []string{"api", "record", "people", "integration", "transfer", "access"}
	last  = []string{"door", "web", "store", "extract", "instance", "cmd", "kit", "test", "bench", "docs", "packaging", "ci"}
)

// groups are the lines in README.md for folders without a package of their own.
var groups = map[string]string{
	"people":      "who works in an office: accounts, roles, sign-in, notices, what is remembered of their acts",
	"integration": "what other programs hold on to: webhooks, events, grants, limits, logs of calls, batches",
	"transfer":    "many records at once: imports, exports, acts on whole lists",
	"door":        "the ways in: they translate, and decide nothing",
	"store":       "what is kept",
	"cmd":         "the program kartei, and its way to an instance elsewhere",
	"kit":         "what every package may use; it knows nothing of the product",
	"test":        "helpers of tests, and the tests of the whole binary",
	"deploy":      "files for the programs beside Kartei: alerts of Prometheus, a dashboard of Grafana",
	"packaging":   "what builds a release: archives, packages for Debian and Red Hat, images",
	"ci":          "the checks of every change; .ci/run runs them all",
}

const treeWidth = 110

// TestReadmeTree checks that the tree in README.md has the first sentences of the package comments.
// With -write it writes the tree.
func TestReadmeTree(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	before, rest, _ := strings.Cut(string(readme), "## The tree\n\n```\n")
	written, after, found := strings.Cut(rest, "```\n")
	if !found {
		t.Fatal("README.md has no tree")
	}
	want := tree(t)
	switch {
	case written == want:
	case *write:
		if err := os.WriteFile("README.md", []byte(before+"## The tree\n\n```\n"+want+"```\n"+after), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Error("the tree in README.md is not what the packages say; write it with: make docs")
	}
}

// tree returns the tree with a line for each folder: its name and what its package owns.
func tree(t *testing.T) string {
	t.Helper()
	lines := maps.Clone(groups)
	for name, p := range read(t) {
		_, owned, _ := strings.Cut(p.doc, " owns ")
		owned, _, _ = strings.Cut(owned, "\n")
		lines[name] = strings.TrimSuffix(owned, ".")
	}
	delete(lines, ".")
	everyFolderHasALine(t, lines)
	var b strings.Builder
	for _, name := range slices.SortedFunc(maps.Keys(lines), byPlace) {
		label := name + "/"
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			if _, within := lines[dir]; within {
				label = strings.Repeat("  ", strings.Count(dir, "/")+1) + strings.TrimPrefix(label, dir+"/")
				break
			}
		}
		line := fmt.Sprintf("%-15s %s\n", label, lines[name])
		if len(line) > treeWidth+1 {
			t.Errorf("the line of %s has %d characters, and may have %d: shorten the package's sentence", name, len(line)-1,
				treeWidth)
		}
		b.WriteString(line)
	}
	return b.String()
}

// everyFolderHasALine fails the test if a folder at the root has no line, and no package below it
// has one.
func everyFolderHasALine(t *testing.T, lines map[string]string) {
	t.Helper()
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !e.IsDir() || slices.Contains([]string{"bin", "dist", "screenshots"}, e.Name()) ||
			strings.HasPrefix(e.Name(), ".") {
			continue
		}
		if !slices.ContainsFunc(slices.Collect(maps.Keys(lines)),
			func(name string) bool { return name == e.Name() || strings.HasPrefix(name, e.Name()+"/") }) {
			t.Errorf("%s/ holds no package: give it a line in groups", e.Name())
		}
	}
	for name := range groups {
		if _, err := os.Stat(name); err != nil {
			t.Errorf("groups has a line for %s/, which does not exist", name)
		}
	}
}

// byPlace compares two folders by their order in the tree.
func byPlace(a, b string) int {
	return cmp.Or(cmp.Compare(place(a), place(b)), strings.Compare(a, b))
}

// place returns the position of a name's top folder in the tree.
func place(name string) int {
	top, _, _ := strings.Cut(name, "/")
	if i := slices.Index(first, top); i >= 0 {
		return i
	}
	return len(first) + 1 + slices.Index(last, top)
}

// TestMakeHelp checks that plain `make` prints all targets of the Makefile.
func TestMakeHelp(t *testing.T) {
	makefile, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	_, targets, _ := strings.Cut(string(makefile), ".PHONY: help ")
	targets, _, _ = strings.Cut(targets, "\n")
	printed, err := exec.Command("make").Output()
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	for line := range strings.Lines(string(printed)) {
		told = append(told, strings.Fields(line)[1])
	}
	want := strings.Fields(targets)
	slices.Sort(want)
	slices.Sort(told)
	if !slices.Equal(told, want) {
		t.Errorf("make tells %v, the Makefile has %v", told, want)
	}
}
