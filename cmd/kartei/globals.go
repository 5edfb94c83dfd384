package main

import (
	"encoding/json"
	"fmt"
	"io"

	"kartei/config"
)

// Globals is what every command is handed: where the data is, and where to
// write. Commands write results to Out and everything else to Err.
type Globals struct {
	Config       config.File `name:"config" placeholder:"FILE" help:"Configuration file in TOML; its keys are the names of the flags with underscores."`
	config.Store `embed:""`

	Out io.Writer `kong:"-"`
	Err io.Writer `kong:"-"`

	// settings tells where the value of each flag came from.
	settings *settings
}

// JSON is embedded by commands that can answer for scripts.
type JSON struct {
	JSON bool `name:"json" help:"Answer in JSON on one line, for scripts."`
}

// print writes v as one line of JSON.
func (g *Globals) print(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(g.Out, "%s\n", b)
	return err
}
