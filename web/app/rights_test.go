package app

import (
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"kartei/web/shell"
)

var write = flag.Bool("write", false, "write the table of pages into docs/operating/web.md (make docs)")

// TestTableOfPages checks the table of pages in docs/operating/web.md: who can see each page, and
// who can send its form.
func TestTableOfPages(t *testing.T) {
	const file = "../../docs/operating/web.md"
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	const from, to = "<!-- pages: make docs -->\n", "<!-- end of pages -->"
	before, rest, begins := strings.Cut(string(page), from)
	_, after, ends := strings.Cut(rest, to)
	if !begins || !ends {
		t.Fatalf("%s has no place for the table", file)
	}
	want := before + from + "\n" + tableOfPages() + "\n" + to + after
	if want == string(page) {
		return
	}
	if !*write {
		t.Fatalf("the table of pages in %s is not that of Pages: make docs", file)
	}
	if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

// tableOfPages returns the table with a row for each path, in the order of Pages. It leaves out
// streams and the choices that scripts request.
func tableOfPages() string {
	var b strings.Builder
	b.WriteString("| Page | Seen by | Acts |\n|---|---|---|\n")
	var paths []string
	for _, p := range Pages {
		if p.Method == "GET" && !p.Streams() && !slices.Contains(paths, p.Path) && !strings.HasPrefix(p.Path, "/choices/") {
			paths = append(paths, p.Path)
		}
	}
	for _, path := range paths {
		var sees, acts string
		for _, p := range Pages {
			switch {
			case p.Path != path:
			case p.Method == "GET":
				sees = whom(&p)
			default:
				acts = whom(&p)
			}
		}
		b.WriteString("| `" + path + "` | " + sees + " | " + acts + " |\n")
	}
	return b.String()
}

// whom returns the text that says who may request a page.
func whom(p *shell.Page) string {
	who := "whoever is signed in"
	if p.Open() {
		who = "everyone"
	} else if scope := p.Scope(); scope != "" {
		who = "`" + scope + "`"
	} else if p.AdminsOnly() {
		who = "admins"
	}
	if p.AsksFresh() && !p.Open() {
		who += ", with a recent sign-in"
	}
	return who
}
