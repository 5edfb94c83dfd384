package command

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/alecthomas/kong"
)

// TestPackagedFile checks when the configuration file of a package is read.
func TestPackagedFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kartei.toml")
	s := newResolver(os.LookupEnv)
	s.defaultFile = file
	if got := s.packaged("serve"); got != "" {
		t.Errorf("%q, although the file does not exist", got)
	}
	if err := os.WriteFile(file, []byte("listen = \"127.0.0.1:0\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for command, want := range map[string]string{"serve": file, "user invite": file, "demo": ""} {
		if got := s.packaged(command); got != want {
			t.Errorf("%s: %q, want %q", command, got, want)
		}
	}
}

// TestRereadOfPackagedFile checks that the file of a package is read again, although no flag names it.
func TestRereadOfPackagedFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kartei.toml")
	write := func(level string) {
		t.Helper()
		if err := os.WriteFile(file, []byte("log_level = \""+level+"\"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("info")
	s := newResolver(func(string) (string, bool) { return "", false })
	s.defaultFile = file
	if err := s.open(new(kong.Context)); err != nil {
		t.Fatal(err)
	}
	write("debug")
	if value, found, err := (&Globals{settings: s}).Reread("log-level"); value != "debug" || !found || err != nil {
		t.Errorf("%q, %v, %v", value, found, err)
	}
}
