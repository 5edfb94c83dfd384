package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRename checks that rename replaces a text in the code, in a template, in a script and in the
// catalog. Equal strings that are not texts must not change.
func TestRename(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{
		"go.mod":              "module kartei\n\ngo 1.26\n",
		"kit/i18n/text.go":    "package i18n\n\ntype Text string\n",
		"kit/i18n/de.json":    "{\n\t\"A task\": \"Eine Aufgabe\",\n\t\"Close\": \"Schließen\"\n}\n",
		"web/a.go":            "package web\n\nimport \"kartei/kit/i18n\"\n\nvar A, B i18n.Text = \"A \" + \"task\", \"Close\"\n\nconst plain = \"A task\"\n",
		"web/b_templ.go":      "package web\n\nimport \"kartei/kit/i18n\"\n\nvar C i18n.Text = \"A task\"\n",
		"web/b.templ":         "{ v.Say(\"A task\") } <b class=\"A task\">\n",
		"web/script/a.js":     "say(\"A task\"); say(\"Close\");\n",
		"web/static/pages.js": "\n",
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := rename(dir, "A task", "Close"); err == nil || !strings.Contains(err.Error(), "already") {
		t.Errorf("a text that is there: %v", err)
	}
	if err := rename(dir, "A chore", "A task [noun]"); err == nil {
		t.Error("a text that is not there was renamed")
	}
	if err := rename(dir, "A task", "One task"); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"kit/i18n/de.json": "{\n\t\"Close\": \"Schließen\",\n\t\"One task\": \"Eine Aufgabe\"\n}\n",
		"web/a.go":         strings.Replace(files["web/a.go"], `"A " + "task"`, `"One task"`, 1),
		"web/b.templ":      "{ v.Say(\"One task\") } <b class=\"A task\">\n",
		"web/script/a.js":  "say(\"One task\"); say(\"Close\");\n",
	} {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || string(got) != want {
			t.Errorf("%s: %q %v, want %q", name, got, err, want)
		}
	}
}
