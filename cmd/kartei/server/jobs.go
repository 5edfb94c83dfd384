package server

import (
	"context"
	"fmt"
	"strconv"

	"kartei/api/op"
	"kartei/cmd/kartei/command"
	"kartei/instance"
	"kartei/instance/jobs"
)

// Jobs has the commands for background jobs.
type Jobs struct {
	List  jobsListCmd  `cmd:"" name:"list" default:"withargs" help:"Count jobs, and list those that were given up (the default)."`
	Retry jobsRetryCmd `cmd:"" name:"retry" help:"Retry a job that was given up."`
}

type jobsListCmd struct {
	Limit int `name:"limit" default:"100" placeholder:"N" help:"Maximum number of jobs that were given up, up to 1000."`
	command.JSON
}

// Help returns the help text below the summary.
func (*jobsListCmd) Help() string {
	return `Jobs are background work: documents are made of uploads, and old rows are deleted. SINCE is the time
when the first of them was due (waiting; a future time if none is due yet), begun (running) or given
up (failed). A job that was given up stays for 30 days. ERROR is the last error of one of them, also
of jobs that are tried again.`
}

// Run prints the numbers of jobs, and the failed jobs, the latest first.
func (c *jobsListCmd) Run(ctx context.Context, g *command.Globals) error {
	out, err := command.Call(ctx, g, jobs.List, jobs.Input{Limit: c.Limit})
	if err != nil {
		return err
	}
	if c.JSON.JSON {
		return g.PrintJSON(out)
	}
	rows := make([][]string, len(out.Counts))
	for i, n := range out.Counts {
		rows[i] = []string{n.Kind, n.State, strconv.FormatInt(n.Count, 10), n.Oldest.String(), n.Error}
	}
	if err := command.PrintTable(g, []string{"KIND", "STATE", "COUNT", "SINCE", "ERROR"}, rows); err != nil || len(out.Failed) == 0 {
		return err
	}
	rows = make([][]string, len(out.Failed))
	for i, f := range out.Failed {
		rows[i] = []string{f.ID, f.Organization, f.Kind, f.FailedAt.String(), strconv.Itoa(f.Attempts), f.Error}
	}
	fmt.Fprintln(g.Out)
	return command.PrintTable(g, []string{"FAILED", "ORGANIZATION", "KIND", "TIME", "ATTEMPTS", "ERROR"}, rows)
}

type jobsRetryCmd struct {
	ID string `arg:"" help:"The job, job_..., as kartei jobs shows it."`
	command.JSON
}

// Run retries a job.
func (c *jobsRetryCmd) Run(ctx context.Context, g *command.Globals) error {
	_, running, err := command.CallWhere(ctx, g, jobs.Retry, op.ByID{ID: c.ID})
	if err != nil {
		return err
	}
	if c.JSON.JSON {
		return g.PrintJSON(instance.Nothing{})
	}
	when := "now"
	if !running {
		when = "as soon as a server runs"
	}
	fmt.Fprintf(g.Out, "%s is tried again %s.\n", c.ID, when)
	return nil
}
