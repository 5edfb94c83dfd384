package acts

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"time"

	"kartei/bench/browser"
	"kartei/bench/data"
	"kartei/bench/measure"
	"kartei/bench/report"
	"kartei/people/offboarding"
)

// MeasureHandOver measures how long the hand-over of a person's records to another person takes,
// and how long the others of the office wait meanwhile.
func MeasureHandOver(ctx context.Context, b *measure.Bench) error { return atWork(ctx, b, nil, depart) }

// depart hands over the records of one person to another, and then all records of the other person
// back. The office stays for later runs.
func depart(
	ctx context.Context, b *measure.Bench, o *data.Office, c data.Clerk, v *browser.Visitor,
) ([]report.Figure, error) {
	quiet, err := quiet(ctx, b, v)
	if err != nil {
		return nil, err
	}
	var handed int64
	began := time.Now()
	busy, err := work(ctx, v, func(ctx context.Context) error {
		for _, way := range [][2]string{{c.Users[2], c.Users[0]}, {c.Users[0], c.Users[2]}} {
			n, err := handOver(ctx, b, o, way[0], way[1])
			if err != nil {
				return err
			}
			handed += n
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	per := time.Since(began).Seconds() * 10_000 / float64(max(handed, 1))
	list := []report.Figure{{
		What:     fmt.Sprintf("hand-overs of %d records, for each 10,000", handed),
		Measured: fmt.Sprintf("%.1f s", per), Value: per, Reached: true,
	}}
	during, err := besides(quiet, busy, "during a hand-over")
	return append(list, during...), err
}

// handOver hands over the records of a person with the command line, waits for the end and returns
// the number of records.
func handOver(ctx context.Context, b *measure.Bench, o *data.Office, from, to string) (handed int64, err error) {
	run := func(out any, args ...string) error {
		text, err := exec.CommandContext(ctx, b.Program,
			append(args, "--json", "--data-dir", o.Dir, "--database-url", o.URL)...).Output()
		if err != nil {
			return fmt.Errorf("kartei %v: %w", args, err)
		}
		return json.Unmarshal(text, out)
	}
	var begun offboarding.HandOverOutput
	if err := run(&begun, "user", "hand-over", from, "--to", to, "--private"); err != nil {
		return 0, err
	}
	for {
		var status struct{ Data []offboarding.Handover }
		if err := run(&status, "user", "hand-over-status", from); err != nil {
			return 0, err
		}
		for _, h := range status.Data {
			if h.ID != begun.ID || h.FinishedAt == 0 {
				continue
			}
			for _, part := range h.Parts {
				for _, t := range part.Families {
					handed += t.Handed.Owned + t.Handed.Private + t.Handed.Assigned
				}
			}
			return handed, nil
		}
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(time.Second):
		}
	}
}
