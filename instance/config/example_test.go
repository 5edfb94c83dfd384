package config

import (
	"os"
	"reflect"
	"strings"
	"testing"
)

// packagedFile is the configuration file of the packages.
const packagedFile = "../../packaging/kartei.toml"

// packagedValues are the settings that the packages set.
var packagedValues = map[string]string{"data-dir": "/var/lib/kartei"}

// TestPackagedFile checks that the configuration file of the packages has all settings. With -write
// it writes the file.
func TestPackagedFile(t *testing.T) {
	want := Example(packagedValues)
	if *write {
		if err := os.WriteFile(packagedFile, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(packagedFile); err != nil || string(got) != want {
		t.Errorf("%s is not what config.go says (%v); write it with: make docs", packagedFile, err)
	}
}

// TestExampleIsAccepted removes the marks before all keys with a default. The file must be read, and
// each value must be the default.
func TestExampleIsAccepted(t *testing.T) {
	var names []string
	want := map[string]string{}
	for _, group := range []reflect.Type{reflect.TypeFor[Store](), reflect.TypeFor[Server]()} {
		for i := range group.NumField() {
			tag := group.Field(i).Tag
			names = append(names, tag.Get("name"))
			want[tag.Get("name")] = tag.Get("default")
			if _, is := tag.Lookup("negatable"); is && tag.Get("default") == "" {
				want[tag.Get("name")] = "false"
			}
		}
	}
	lines := strings.Split(Example(nil), "\n")
	for i, line := range lines {
		if key, is := strings.CutPrefix(line, "#"); is && !strings.HasPrefix(key, " ") && key != "" {
			lines[i] = key
		}
	}
	got, err := readFile([]byte(strings.Join(lines, "\n")), names)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v\nwant %v", got, want)
	}
}
