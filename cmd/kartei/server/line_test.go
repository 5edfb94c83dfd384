package server

import (
	"testing"

	"kartei/cmd/kartei/command"
	"kartei/test/dbtest"
	"kartei/test/linetest"
)

// line is a command line with the commands of this package.
type line struct {
	command.Globals
	Migrate Migrate `cmd:"" name:"migrate"`
	Backup  Backup  `cmd:"" name:"backup"`
	Restore Restore `cmd:"" name:"restore"`
	Copy    Copy    `cmd:"" name:"copy"`
	Blobs   Blobs   `cmd:"" name:"blobs"`
	Conf    Config  `cmd:"" name:"config"`
	Release Version `cmd:"" name:"version"`
}

func TestMain(m *testing.M) { dbtest.Main(m) }

// runLine runs a command line in this process.
func runLine(t *testing.T, environ map[string]string, args ...string) (status int, out, errs string) {
	return linetest.Run(t.Context(), new(line), environ, args...)
}

// newFolder returns a new data folder with an empty database.
func newFolder(t *testing.T) linetest.Folder {
	return linetest.NewFolder(t, func() command.Line { return new(line) })
}
