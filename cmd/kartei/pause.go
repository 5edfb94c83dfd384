package main

import (
	"context"
	"fmt"

	"kartei/instance"
)

type pauseCmd struct{ JSON }

// Run pauses the API. Every call is answered 503 API_PAUSED until kartei
// resume, even after a restart.
func (c *pauseCmd) Run(ctx context.Context, g *Globals) error {
	return switchAPI(ctx, g, c.JSON, "pause")
}

// Help returns the text below the command's summary.
func (*pauseCmd) Help() string {
	return `Pages, the operator's listener and background work go on: webhooks are still delivered.`
}

type resumeCmd struct{ JSON }

// Run ends a pause.
func (c *resumeCmd) Run(ctx context.Context, g *Globals) error {
	return switchAPI(ctx, g, c.JSON, "resume")
}

func switchAPI(ctx context.Context, g *Globals, j JSON, act string) error {
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
		return g.print(state)
	}
	if state.Paused {
		fmt.Fprintln(g.Out, "The API is paused: calls are answered 503 API_PAUSED until kartei resume.")
	} else {
		fmt.Fprintln(g.Out, "The API answers calls.")
	}
	return nil
}
