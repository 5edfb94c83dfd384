package integration

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"time"

	"kartei/cmd/kartei/command"
	"kartei/integration/key"
	"kartei/integration/usage"
)

// Usage is the command that prints the number of calls and deliveries.
type Usage struct {
	Org  string `name:"org" placeholder:"ORG" help:"The organization, org_...; or name a key."`
	Key  string `name:"key" placeholder:"KEY" help:"Only calls with this key, and what is left of its limits: its id (key_...) or the 8 characters after kart_test_ or kart_live_."`
	Days int    `name:"days" default:"30" placeholder:"N" help:"The last N days, up to 91; by hour up to 14."`
	By   string `name:"by" enum:"key,day,hour" default:"key" placeholder:"key|day|hour" help:"A line for each key and webhook endpoint, or for each day or hour (${enum})."`
	Zone string `name:"zone" default:"UTC" placeholder:"ZONE" help:"The time zone of the days, for example Europe/Berlin."`
	command.JSON
}

// Help returns the help text below the summary.
func (*Usage) Help() string {
	return `Counts are kept for 92 days. They have every call of a key, also the refused ones of which the request log
keeps a sample. Deliveries are attempts at webhook endpoints. P50 and P95 are estimates: half of the calls, and 95
of 100, took at most that long.`
}

// Run prints a table with calls. If there are deliveries or limits, it prints a table for each of
// them too.
func (c *Usage) Run(ctx context.Context, g *command.Globals) error {
	if c.Org == "" && c.Key == "" {
		return command.Usagef("give --org or --key")
	}
	in := usage.Input{Organization: c.Org, Key: c.Key, Days: c.Days, Zone: c.Zone}
	if c.By == "hour" {
		in.By = c.By
	}
	u, err := command.Call(ctx, g, usage.Get, in)
	if err != nil {
		return err
	}
	if c.JSON.JSON {
		return g.PrintJSON(u)
	}
	if err := c.table(g, "KEY", &u.Calls); err != nil {
		return err
	}
	if u.Deliveries.Total.Calls > 0 {
		fmt.Fprintln(g.Out)
		if err := c.table(g, "ENDPOINT", &u.Deliveries); err != nil {
			return err
		}
	}
	if c.Key == "" || !u.Metered || len(u.Limits) == 0 {
		return nil
	}
	fmt.Fprintln(g.Out)
	return limitTable(g, u.Limits[0].Policies)
}

// table prints a series with a row for each subject or each period.
func (c *Usage) table(g *command.Globals, subject string, s *usage.Series) error {
	header := []string{"CALLS", "401", "403", "429", "4XX", "5XX", "POINTS", "RECORDS", "P50", "P95"}
	cells := sumCells
	if subject == "ENDPOINT" {
		header, cells = []string{"DELIVERIES", "FAILED", "P50", "P95"}, deliveryCells
	}
	var rows [][]string
	if c.By == "key" {
		for _, one := range s.Subjects {
			rows = append(rows, append([]string{cmp.Or(one.KidShort, one.ID), one.Name}, cells(&one.Sum)...))
		}
		return command.PrintTable(g, append([]string{subject, "NAME"}, header...), rows)
	}
	zone, err := time.LoadLocation(c.Zone)
	if err != nil {
		return err
	}
	for _, p := range s.Points {
		start := p.Start.Time().In(zone)
		rows = append(rows, append([]string{
			start.Format(map[string]string{"day": time.DateOnly, "hour": "2006-01-02 15:04"}[c.By]),
		}, cells(&p.Sum)...))
	}
	return command.PrintTable(g, append([]string{map[string]string{"day": "DAY", "hour": "HOUR"}[c.By]}, header...), rows)
}

func sumCells(s *usage.Sum) (cells []string) {
	for _, n := range []int64{
		s.Calls, s.Unauthenticated, s.Forbidden, s.Limited, s.Rejected, s.Failed, s.Points, s.Records,
	} {
		cells = append(cells, strconv.FormatInt(n, 10))
	}
	return append(cells, took(s.P50Micros), took(s.P95Micros))
}

func deliveryCells(s *usage.Sum) []string {
	return []string{strconv.FormatInt(s.Calls, 10), strconv.FormatInt(s.Failed, 10), took(s.P50Micros), took(s.P95Micros)}
}

func took(micros int64) string { return (time.Duration(micros) * time.Microsecond).String() }

func limitTable(g *command.Globals, policies []key.PolicyBalance) error {
	rows := make([][]string, len(policies))
	for i, p := range policies {
		rows[i] = []string{p.Name, p.Level, p.Unit, strconv.FormatInt(p.Remaining, 10), strconv.FormatInt(p.Capacity, 10),
			(time.Duration(p.WindowSeconds) * time.Second).String(), (time.Duration(p.ResetSeconds) * time.Second).String()}
	}
	return command.PrintTable(g, []string{"LIMIT", "OF", "UNIT", "LEFT", "CAPACITY", "WINDOW", "FULL IN"}, rows)
}
