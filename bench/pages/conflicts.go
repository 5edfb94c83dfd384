package pages

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"kartei/bench/data"
	"kartei/bench/report"
	"kartei/record/contact"
	"kartei/record/lookup"
)

const (
	// conflictCheck is the name of the conflict check among the kinds of texts that are typed.
	conflictCheck = "ten names of a conflict check"
	// namesAtOnce is the number of names of a conflict check.
	namesAtOnce = 10
	// maxCheckTime is the maximum 95th percentile of the time of a conflict check, in milliseconds.
	maxCheckTime = 1000
)

// measureConflicts measures conflict checks of ten people each, with their cities. It compares them with ten
// searches for the same people.
func (d *desk) measureConflicts(ctx context.Context, runs int) ([]report.Figure, error) {
	var checks [][]string
	for people := range slices.Chunk(d.people, namesAtOnce) {
		var lines []string
		for _, p := range people {
			if line := conflictLine(p); line != "" {
				lines = append(lines, line)
			}
		}
		checks = append(checks, lines)
	}
	var took, bare []time.Duration
	for i := range runs + 1 {
		for _, lines := range checks {
			check, err := d.ask(ctx, lookup.Conflicts, lookup.ConflictsInput{Lines: lines})
			if err != nil {
				return nil, err
			}
			var finds time.Duration
			for _, line := range lines {
				name, _, _ := strings.Cut(line, ",")
				find, err := d.find(ctx, name)
				if err != nil {
					return nil, err
				}
				finds += find
			}
			if i > 0 { // the first round warms up
				took, bare = append(took, check), append(bare, finds)
			}
		}
	}
	slices.Sort(took)
	slices.Sort(bare)
	p95 := milliseconds(took, 0.95)
	return []report.Figure{{
		What: conflictCheck + ", p95", Goal: fmt.Sprintf("< %d ms", maxCheckTime),
		Measured: fmt.Sprintf("%.1f ms (p50 %.1f ms, p99 %.1f ms)", p95, milliseconds(took, 0.5), milliseconds(took, 0.99)),
		Limit:    fmt.Sprintf("ten searches: %.1f ms", milliseconds(bare, 0.5)),
		Value:    p95 / maxCheckTime, Reached: p95 < maxCheckTime,
	}}, nil
}

// conflictLine returns the line for a contact: Anna Maier, Köln.
func conflictLine(f contact.Fields) string {
	line := strings.TrimSpace(data.Prefix(f.FirstName, 50) + " " + data.Prefix(f.LastName, 50))
	if line != "" && f.Address != nil && f.Address.City != nil {
		line += ", " + *f.Address.City
	}
	return line
}
