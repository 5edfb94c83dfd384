//go:build linux && (amd64 || arm64)

package extract

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	programs "kartei/test/child"
)

// TestUnconfined checks that Confined returns an error if the kernel lacks Landlock or seccomp.
// Texts are then read only if Options.Require is false.
func TestUnconfined(t *testing.T) {
	if features, is := os.LookupEnv("KARTEI_TEST_WITHOUT"); is { // the script of without started this process
		t.Fatal(programs.ExecWithout(strings.Fields(features), append(os.Args[:1:1], os.Args[4:]...), nil))
	}
	for _, c := range []struct{ without, want string }{
		{"", ""}, {"landlock", "Landlock"}, {"seccomp", "seccomp"}, {"landlock seccomp", "Landlock"},
	} {
		t.Run("without "+c.without, func(t *testing.T) {
			for _, require := range []bool{false, true} {
				x, err := New(Options{Cache: cache, Require: require, Program: without(t, c.without)})
				if err != nil {
					t.Fatal(err)
				}
				err = x.Confined(t.Context())
				if (err == nil) != (c.want == "") ||
					err != nil && (!errors.Is(err, ErrUnconfined) || !strings.Contains(err.Error(), c.want)) {
					t.Errorf("%v, want %q", err, c.want)
				}
				want := Text{Body: "Guten Tag"}
				if require && c.want != "" {
					want = Text{Reason: Unconfined}
				}
				if text, err := x.Extract(t.Context(), 1, strings.NewReader("Guten Tag"), "text/plain"); err != nil ||
					text != want {
					t.Errorf("require %t: %+v, %v; want %+v", require, text, err, want)
				}
			}
		})
	}
}

// without returns the path of a script. It runs this test program as on a kernel without the
// features.
func without(t *testing.T, features string) string {
	t.Helper()
	script := filepath.Join(t.TempDir(), "kartei")
	text := fmt.Sprintf("#!/bin/sh\nexport KARTEI_TEST_WITHOUT='%s'\nexec '%s' -test.run '^TestUnconfined$' -- \"$@\"\n", features,
		os.Args[0])
	if err := os.WriteFile(script, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	return script
}
