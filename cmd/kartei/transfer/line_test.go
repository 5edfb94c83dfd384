package transfer

import (
	"bytes"
	"testing"

	"kartei/cmd/kartei/command"
	"kartei/test/dbtest"
)

// line is a command line with the commands of this package.
type line struct {
	command.Globals
	Contact Contact `cmd:"" name:"contact"`
}

func TestMain(m *testing.M) { dbtest.Main(m) }

// runLine runs a command line in this process.
func runLine(t *testing.T, environ map[string]string, args ...string) (status int, out, errs string) {
	var o, e bytes.Buffer
	look := func(name string) (string, bool) { v, ok := environ[name]; return v, ok }
	status = command.Run(t.Context(), new(line), args, look, &o, &e)
	return status, o.String(), e.String()
}
