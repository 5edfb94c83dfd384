package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"kartei/cmd/kartei/command"
)

// TestHintOfServe runs the commands that a first start prints as a shell reads them, in the printed
// order and while the server runs. The name of the data folder has characters that mean something to
// a shell, and the database is named by a flag.
func TestHintOfServe(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the commands are for a POSIX shell")
	}
	dir, err := os.MkdirTemp("", "it's $HOME `x` ") // t.TempDir's path can be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	none := func(string) (string, bool) { return "", false }
	ctx, stop := context.WithCancel(t.Context())
	out, errs := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		ended <- command.Run(ctx, newCommands(), []string{"serve", "--data-dir", dir, "--database-url",
			"sqlite:" + filepath.Join(dir, "own.db"), "--listen", "127.0.0.1:0", "--operator-listen", "127.0.0.1:0"},
			none, io.Discard, errs)
		errs.Close()
	}()
	defer func() {
		stop()
		if status := <-ended; status != 0 {
			t.Errorf("serve ends with %d", status)
		}
	}()
	printed := hint(out)
	go io.Copy(io.Discard, out)
	if len(printed) != 4 {
		t.Fatalf("the hint has the commands %q", printed)
	}
	ids := strings.NewReplacer()
	var made []map[string]any
	for _, line := range printed {
		words := shellWords(t, ids.Replace(line))
		var answer map[string]any
		var printed, errs strings.Builder
		status := command.Run(t.Context(), newCommands(), append(words[1:], "--json"), none, &printed, &errs)
		if err := json.Unmarshal([]byte(printed.String()), &answer); err != nil || status != 0 || words[0] != os.Args[0] {
			t.Fatalf("%s: status %d, %s", line, status, &errs)
		}
		made = append(made, answer)
		ids = strings.NewReplacer("ORG", made[0]["id"].(string), "SVC", answer["id"].(string))
	}
	if link, _ := made[1]["link"].(string); !strings.Contains(link, "/invitation#") {
		t.Errorf("the first admin gets %v", made[1])
	}
}

// hint reads the output of serve to the end of the printed commands, and returns the commands.
func hint(r io.Reader) (printed []string) {
	within := false
	for lines := bufio.NewScanner(r); lines.Scan(); {
		switch text := lines.Text(); {
		case strings.HasPrefix(text, "Next, in another terminal"):
			within = true
		case within && !strings.HasPrefix(text, "  "):
			return printed
		case within:
			printed = append(printed, strings.TrimPrefix(text, "  "))
		}
	}
	return printed
}

// shellWords returns the words of a command line as a shell reads them.
func shellWords(t *testing.T, line string) []string {
	t.Helper()
	out, err := exec.Command("sh", "-c", "printf '%s\\n' "+line).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
}
