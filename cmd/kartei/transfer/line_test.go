package transfer

import (
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
