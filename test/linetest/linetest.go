// Package linetest owns functions with which tests run command lines in their own process, on a data folder.
package linetest

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"strings"
	"testing"

	"kartei/cmd/kartei/command"
)

// Run runs a command line and returns the exit status, the output and the error output. commands is
// a new value. environ has the environment variables that the command sees.
func Run(
	ctx context.Context, commands command.Line, environ map[string]string, args ...string,
) (status int, out, errs string) {
	var o bytes.Buffer
	status, errs = RunTo(ctx, &o, commands, environ, args...)
	return status, o.String(), errs
}

// RunTo is Run for a command that writes its output to out.
func RunTo(
	ctx context.Context, out io.Writer, commands command.Line, environ map[string]string, args ...string,
) (status int, errs string) {
	var e bytes.Buffer
	look := func(name string) (string, bool) { v, ok := environ[name]; return v, ok }
	status = command.Run(ctx, commands, args, look, out, &e)
	return status, e.String()
}

// Folder runs command lines on one data folder, without environment variables.
type Folder struct {
	*testing.T
	Dir string
	// Commands returns a new value of the commands for each line.
	Commands func() command.Line
}

// NewFolder returns a Folder with an empty database. Its commands include migrate.
func NewFolder(t *testing.T, commands func() command.Line) Folder {
	t.Helper()
	dir, err := os.MkdirTemp("", "kartei") // t.TempDir's path can be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	f := Folder{T: t, Dir: dir, Commands: commands}
	if status, _, errs := f.Try("migrate"); status != 0 {
		t.Fatal(errs)
	}
	return f
}

// Try runs a command line. It returns the exit status, the output and the error output.
func (f Folder) Try(line ...string) (status int, out, errs string) {
	return Run(f.Context(), f.Commands(), nil, append([]string{"--data-dir", f.Dir}, line...)...)
}

// Answer runs a command line with --json, which must succeed, and returns the printed members.
func (f Folder) Answer(line ...string) map[string]any {
	f.Helper()
	status, out, errs := f.Try(append(line, "--json")...)
	if status != 0 || errs != "" || strings.Count(out, "\n") != 1 {
		f.Fatalf("%v: status %d, out %q, err %q", line, status, out, errs)
	}
	var members map[string]any
	if err := json.Unmarshal([]byte(out), &members); err != nil {
		f.Fatal(err)
	}
	return members
}
