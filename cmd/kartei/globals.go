package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"kartei/admin"
	"kartei/config"
	"kartei/instance"
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

// Connect returns the acts of the server that runs on the data, or, where none
// does, acts on the data itself. The function that it returns must be called
// at the end.
func (g *Globals) Connect(ctx context.Context) (admin.Caller, func(), error) {
	return admin.Connect(ctx, admin.Config{
		DataDir: string(g.DataDir),
		Open:    func(ctx context.Context) (admin.Acts, func(), error) { return instance.OpenActs(ctx, &g.Store) },
	})
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
