package command

import (
	"os"
	"path/filepath"
	"testing"
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
