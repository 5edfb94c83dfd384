package dbtest

import (
	"bufio"
	"os"
	"os/exec"
	"testing"
)

// Child starts the test program as a second process, which runs no tests. Its TestMain finds its
// task in the environment. environment has the form NAME=VALUE. Child returns the process and its
// output. The process is killed when the test ends.
func Child(t *testing.T, environment ...string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), environment...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	return cmd, bufio.NewScanner(out)
}
