package server

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"kartei/cmd/kartei/command"
)

// release is the version of the product, and revision its commit. The build of a release sets both
// with the flag -X of the linker. Other builds take the commit from the build information.
// CHANGELOG.md has an entry for the version here.
var (
	release  = "0.1.0"
	revision string
)

// Version is the command that prints the version.
type Version struct{ command.JSON }

// Run prints the version, the commit and the version of Go.
func (c *Version) Run(g *command.Globals) error {
	if c.JSON.JSON {
		return g.PrintJSON(map[string]string{"version": release, "commit": commit(), "go": runtime.Version()})
	}
	_, err := fmt.Fprintf(g.Out, "kartei %s (commit %s, %s)\n", release, commit(), runtime.Version())
	return err
}

// commit returns the commit from which the program was built, or "unknown".
func commit() string {
	if revision != "" {
		return revision
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				return s.Value
			}
		}
	}
	return "unknown"
}
