package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// release is the product's version; CHANGELOG.md has an entry for it.
const release = "0.1.0"

type versionCmd struct{ JSON }

// Run prints the version, the commit where the build knows it, and the
// compiler.
func (c *versionCmd) Run(g *Globals) error {
	commit := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				commit = s.Value
			}
		}
	}
	if c.JSON.JSON {
		return g.print(map[string]string{"version": release, "commit": commit, "go": runtime.Version()})
	}
	_, err := fmt.Fprintf(g.Out, "kartei %s (commit %s, %s)\n", release, commit, runtime.Version())
	return err
}
