package kartei_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestTheCompilerKeepsTheWall checks that a page which calls the function of an operation directly
// does not compile. A page that uses api.Call compiles.
func TestTheCompilerKeepsTheWall(t *testing.T) {
	for name, page := range map[string]struct{ imports, body, want string }{
		"along the path": {
			`"context"; "kartei/api"; "kartei/api/op"; "kartei/integration/key"`,
			`func page(a *api.API) { _, _ = api.Call(context.Background(), a, api.Caller{}, key.Pause, op.ByID{}) }; var _ = page`, "",
		},
		"the function of an operation": {
			`"context"; "kartei/api/op"; "kartei/integration/key"`,
			`func page() { key.Pause(context.Background(), new(op.Call), op.ByID{}) }`, "cannot call",
		},
		"its unexported name": {
			`"context"; "kartei/api/op"; "kartei/integration/key"`,
			`func page() { key.pause(context.Background(), new(op.Call), op.ByID{}) }`, "undefined: key.pause",
		},
		"the accessor of functions": {
			`"kartei/api/internal/function"; "kartei/integration/key"`,
			`var page = function.Of(key.Pause.Row)`, "use of internal package kartei/api/internal/function not allowed",
		},
		"an input of another operation": {
			`"context"; "kartei/api"; "kartei/integration/key"`,
			`func page(a *api.API) { api.Call(context.Background(), a, api.Caller{}, key.Pause, key.New{}) }`, "does not match",
		},
		"a misspelled operation": {
			`"kartei/api/op"; "kartei/integration/key"`, `var page = op.List{key.Pauses}`, "undefined: key.Pauses",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err := build(t, "package around\n\nimport ("+page.imports+")\n\n"+page.body+"\n")
			if failed := err != nil; failed != (page.want != "") || !strings.Contains(out, page.want) {
				t.Errorf("the build says %q (%v), want %q", out, err, page.want)
			}
		})
	}
}

// build compiles a package below web that exists only in the test. It returns the output of the
// compiler.
func build(t *testing.T, source string) (out string, err error) {
	t.Helper()
	dir := t.TempDir()
	file, overlay := filepath.Join(dir, "around.go"), filepath.Join(dir, "overlay.json")
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	replace, err := json.Marshal(map[string]any{
		"Replace": map[string]string{filepath.Join(here, "web", "around", "around.go"): file},
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{file: source, overlay: string(replace)} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	said, err := exec.CommandContext(t.Context(), "go", "build", "-overlay", overlay, "-o", os.DevNull,
		"./web/around").CombinedOutput()
	return string(said), err
}
