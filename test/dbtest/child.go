package dbtest

import (
	"bufio"
	"os"
	"os/exec"
	"testing"
)

// Child starts the program of the tests as a second process, in which none of
// them runs. Its TestMain knows by the environment, NAME=VALUE, what it is for.
// Child returns what the process prints. It is killed with the test.
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
