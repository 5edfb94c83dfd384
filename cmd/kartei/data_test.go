package main

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kartei/kit/masterkey"
)

// TestDataCommands checks that exports work without a server, and that imports need one.
func TestDataCommands(t *testing.T) {
	data := t.TempDir()
	run := func(want int, args ...string) (out, errs string) {
		t.Helper()
		status, out, errs := kartei(nil, append(args, "--data-dir", data)...)
		if status != want {
			t.Fatalf("%q: %d, want %d: %s%s", args, status, want, out, errs)
		}
		return out, errs
	}
	made := func(args ...string) (id string) {
		t.Helper()
		out, _ := run(0, append(args, "--json")...)
		var one struct {
			ID string `json:"id"`
		}
		if err := json.Unmarshal([]byte(out), &one); err != nil {
			t.Fatal(out, err)
		}
		return one.ID
	}
	run(0, "migrate")
	org := made("org", "create", "Kanzlei")
	person := made("user", "create", "--org", org, "--name", "Petra Morgenstern", "--email", "petra@example.com")

	file := filepath.Join(data, "März.csv")
	if err := os.WriteFile(file, []byte("Nachname\nBerg\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"import", "start", file, "--org", org, "--for", person},
		{"import", "list", "--org", org},
		{"import", "run", "imp_x", "--org", org},
	} {
		if _, errs := run(1, args...); !strings.Contains(errs, "no server runs") {
			t.Errorf("%q: %s", args, errs)
		}
	}
	if err := os.WriteFile(filepath.Join(data, "master.key"), bytes.Repeat([]byte("k"), masterkey.Size),
		0o600); err != nil {
		t.Fatal(err)
	}

	for words, want := range map[string]string{
		"org export " + org: "people.jsonl", "user export " + person: "person.json",
	} {
		target := filepath.Join(data, strings.Fields(words)[0]+".zip")
		args := append(strings.Fields(words), "--output", target)
		if _, errs := run(0, args...); !strings.Contains(errs, "not encrypted") {
			t.Errorf("%s: %s", words, errs)
		}
		r, err := zip.OpenReader(target)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Open(want); err != nil {
			t.Errorf("%s: %s", words, err)
		}
		r.Close()
		if info, err := os.Stat(target); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", target, info.Mode(), err)
		}
		run(1, args...) // the file exists already
	}
	missing := filepath.Join(data, "missing.zip")
	run(1, "contact", "export", "con_x", "--org", org, "--output", missing)
	if _, err := os.Stat(missing); err == nil {
		t.Error("a failed export leaves a file")
	}
	if out, _ := run(0, "org", "export", org, "-o", "-"); !strings.HasPrefix(out, "PK") {
		t.Errorf("%.10q", out)
	}
}
