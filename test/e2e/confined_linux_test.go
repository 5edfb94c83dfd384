package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"kartei/test/child"
)

// runWithout replaces this process by the program args[3], as on a system without the feature
// args[2]. Old kernels lack it, and strict containers forbid it. It returns if args[1] is not
// without.
func runWithout(args []string) {
	if len(args) < 4 || args[1] != "without" {
		return
	}
	fmt.Fprintln(os.Stderr, child.ExecWithout(args[2:3], args[3:], os.Environ()))
	os.Exit(1)
}

// TestUnconfinedReader checks a server on a system that cannot confine the reader of files. The
// server logs this once. As configured, it extracts texts or not.
func TestUnconfinedReader(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		without, setting, warning string
		confined                  bool
		found                     string
	}{
		{"", "require", "", true, "1"},
		{"landlock", "prefer", "does not confine", false, "1"},
		{"seccomp", "require", "texts of documents are not read", false, "0"},
	} {
		t.Run("without "+c.without+" "+c.setting, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "data")
			args := []string{"serve", "--data-dir", dir, "--listen", "127.0.0.1:0", "--operator-listen", "127.0.0.1:0",
				"--log-format", "json", "--reader-confinement", c.setting}
			cmd := command(args...)
			if c.without != "" {
				cmd = exec.Command(os.Args[0], append([]string{"without", c.without, binary}, args...)...)
				cmd.Env = command().Env
			}
			s, err := launchCommand(cmd)
			if err != nil {
				t.Fatal(err)
			}
			s.endsWith(t)
			if c.warning != "" {
				s.says(t, c.warning)
			}
			gauge := map[bool]string{true: "kartei_reader_confined 1\n", false: "kartei_reader_confined 0\n"}[c.confined]
			operator := newHTTPClient("")
			if a, err := operator.call(s.Operator, "GET", "/metrics", ""); err != nil ||
				!strings.Contains(string(a.Body), gauge) {
				t.Errorf("metrics: %v, want %s", err, gauge)
			}
			if a, err := operator.call(s.Operator, "GET", "/readyz", ""); err != nil || a.Status != 200 ||
				strings.Contains(string(a.Body), "not confined") == c.confined {
				t.Errorf("readyz: %v, %s", err, a.Body)
			}
			limits, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", s.cmd.Process.Pid))
			if core := "Max core file size        0                    0 "; err != nil ||
				!strings.Contains(string(limits), core) {
				t.Errorf("limits: %v\n%s", err, limits)
			}
			o := found(t, "--data-dir", dir)
			w := client{t, s, o.Key}.forFiles(o, "--data-dir", dir)
			w.document("brief.txt", []byte("Kündigung der Garage"))
			if a := w.call("GET", "/documents/count?q=garage", "", 200, ""); a.Text("count") != c.found {
				t.Errorf("found by its text: %s, want %s", a.Body, c.found)
			}
			if a := w.call("GET", "/documents/count?q=brief", "", 200, ""); a.Text("count") != "1" {
				t.Errorf("found by its name: %s", a.Body)
			}
			s.stop(t)
			if n := strings.Count(s.Log(), `"level":"WARN"`); c.confined && n > 0 ||
				!c.confined && strings.Count(s.Log(), c.warning) != 1 {
				t.Errorf("%d warnings:\n%s", n, tail(s.Log()))
			}
		})
	}
}
