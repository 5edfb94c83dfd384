package server

import (
	"bytes"
	"testing"

	"kartei/cmd/kartei/command"
	"kartei/test/dbtest"
)

// line is a command line with the commands of this package.
type line struct {
	command.Globals
	Migrate Migrate `cmd:"" name:"migrate"`
	Backup  Backup  `cmd:"" name:"backup"`
	Restore Restore `cmd:"" name:"restore"`
	Blobs   Blobs   `cmd:"" name:"blobs"`
	Conf    Config  `cmd:"" name:"config"`
	Release Version `cmd:"" name:"version"`
}

func TestMain(m *testing.M) { dbtest.Main(m) }

// runLine runs a command line in this process.
func runLine(t *testing.T, environ map[string]string, args ...string) (status int, out, errs string) {
	var o, e bytes.Buffer
	look := func(name string) (string, bool) { v, ok := environ[name]; return v, ok }
	status = command.Run(t.Context(), new(line), args, look, &o, &e)
	return status, o.String(), e.String()
}

// folder runs command lines on one data folder.
type folder struct {
	*testing.T
	dir string
}

func newFolder(t *testing.T) folder {
	f := folder{t, t.TempDir()}
	if status, _, errs := f.try("migrate"); status != 0 {
		t.Fatal(errs)
	}
	return f
}

func (f folder) try(line ...string) (status int, out, errs string) {
	return runLine(f.T, nil, append([]string{"--data-dir", f.dir}, line...)...)
}
