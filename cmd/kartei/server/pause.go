package server

import (
	"context"
	"fmt"

	"kartei/cmd/kartei/command"
	"kartei/instance"
)

// Pause is the command that pauses the API.
type Pause struct{ command.JSON }

// Run pauses the API. Then every call fails with 503 API_PAUSED until kartei resume, even after a
// restart.
func (c *Pause) Run(ctx context.Context, g *command.Globals) error {
	return switchAPI(ctx, g, c.JSON, "pause")
}

// Help returns the help text below the summary.
func (*Pause) Help() string {
	return `Pages, the operator's listener and background work go on: webhooks are still delivered.`
}

// Resume is the command that ends a pause of the API.
type Resume struct{ command.JSON }

// Run ends a pause.
func (c *Resume) Run(ctx context.Context, g *command.Globals) error {
	return switchAPI(ctx, g, c.JSON, "resume")
}

func switchAPI(ctx context.Context, g *command.Globals, j command.JSON, act string) error {
	acts, done, err := g.Connect(ctx)
	if err != nil {
		return err
	}
	defer done()
	var state instance.PauseState
	if err := acts.Call(ctx, act, instance.Nothing{}, &state); err != nil {
		return err
	}
	if j.JSON {
		return g.PrintJSON(state)
	}
	if state.Paused {
		fmt.Fprintln(g.Out, "The API is paused: calls are answered 503 API_PAUSED until kartei resume.")
	} else {
		fmt.Fprintln(g.Out, "The API answers calls.")
	}
	return nil
}
