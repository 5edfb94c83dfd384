package developer

import (
	"bytes"
	"context"
	"io"
	"testing"

	"kartei/cmd/kartei/command"
	"kartei/test/dbtest"
)

// line is a command line with the commands of this package.
type line struct {
	command.Globals
	API API `cmd:"" name:"api"`
}

func TestMain(m *testing.M) { dbtest.Main(m) }

// runLine runs a command line in this process.
func runLine(
	ctx context.Context, environ map[string]string, out io.Writer, args ...string,
) (status int, errs string) {
	var e bytes.Buffer
	look := func(name string) (string, bool) { v, ok := environ[name]; return v, ok }
	status = command.Run(ctx, new(line), args, look, out, &e)
	return status, e.String()
}
