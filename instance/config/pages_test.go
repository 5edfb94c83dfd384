package config

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

var write = flag.Bool("write", false, "write the tables of settings into docs/operating/settings.md (make docs)")

// operating is the folder of the documentation for operators.
const operating = "../../docs/operating"

// tables is the line before the generated part of settings.md. The generated part extends to the
// end of the file.
const tables = "<!-- The tables are written from instance/config/config.go: make docs -->\n"

// TestSettingsPage checks that docs/operating/settings.md has the tables of all settings. Each
// setting must link to a page with more about it.
func TestSettingsPage(t *testing.T) {
	file := filepath.Join(operating, "settings.md")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, written, found := strings.Cut(string(text), tables)
	if !found {
		t.Fatalf("%s has no line %q", file, tables)
	}
	want := settingsTables(t)
	switch {
	case written == want:
	case *write:
		if err := os.WriteFile(file, []byte(before+tables+want), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("the tables of %s are not those of config.go; write them with: make docs", file)
	}
}

// settingsTables returns a table of the settings for each page that settings link to, in the order
// of the settings.
func settingsTables(t *testing.T) string {
	t.Helper()
	var pages []string
	rows := map[string][]string{}
	for _, group := range []reflect.Type{reflect.TypeFor[Store](), reflect.TypeFor[Server]()} {
		for i := range group.NumField() {
			tag := group.Field(i).Tag
			page := tag.Get("page")
			if !slices.Contains(pages, page) {
				pages = append(pages, page)
			}
			rows[page] = append(rows[page], row(group.Field(i)))
		}
	}
	var b strings.Builder
	for _, page := range pages {
		fmt.Fprintf(&b, "\n## [%s](%s)\n\n| Flag | Value | Default | What |\n|---|---|---|---|\n%s", title(t, page), page,
			strings.Join(rows[page], ""))
	}
	return b.String()
}

// row returns the table row of a setting. The value of a list ends with ",...", as in the help
// text.
func row(setting reflect.StructField) string {
	tag := setting.Tag
	cell := func(text, none string) string {
		if text == "" {
			return none
		}
		return "`" + strings.ReplaceAll(text, "|", `\|`) + "`"
	}
	name, value, none := tag.Get("name"), tag.Get("placeholder"), "none"
	if setting.Type.Name() == "" && setting.Type.Kind() == reflect.Slice {
		value += ",..."
	}
	if _, is := tag.Lookup("negatable"); is {
		name, value, none = "[no-]"+name, "true|false", "`false`"
	}
	return fmt.Sprintf("| `--%s` | %s | %s | %s |\n", name, cell(value, "none"), cell(tag.Get("default"), none),
		tag.Get("help"))
}

// title returns the heading of a page. It fails the test if the page has none.
func title(t *testing.T, page string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(operating, page))
	heading, _, _ := strings.Cut(string(text), "\n")
	name, is := strings.CutPrefix(heading, "# ")
	if err != nil || !is {
		t.Fatalf("a setting names the page %q, which has no heading: %v", page, err)
	}
	return name
}

// TestOperatingPages checks that README.md links each page for operators, and that the first
// sentence of each page states its purpose.
func TestOperatingPages(t *testing.T) {
	index, err := os.ReadFile(filepath.Join(operating, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob(filepath.Join(operating, "*.md"))
	if err != nil || len(pages) < 20 {
		t.Fatalf("%d pages: %v", len(pages), err)
	}
	for _, file := range pages {
		name := filepath.Base(file)
		if name == "README.md" {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(index), "("+name+")") {
			t.Errorf("README.md does not lead to %s", name)
		}
		if _, body, _ := strings.Cut(string(text), "\n\n"); !strings.HasPrefix(body, "This page ") {
			t.Errorf("%s does not say in its first sentence what it is for: begin with 'This page '", name)
		}
	}
}
