// Package pairs owns costs measured in pairs: two programs, tokens beside keys, tools beside reads, traces.
package pairs

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"kartei/bench/measure"
	"kartei/bench/process"
	"kartei/bench/report"
)

// cost is the cost of a call: the processor time of the server and of its PostgreSQL server in
// microseconds, and the number of objects that the server allocates.
type cost struct{ cpu, allocations, database float64 }

// costPairs has the values of one kind of cost in all pairs.
type costPairs struct{ without, with, ratio []float64 }

// comparison has the costs of all pairs.
type comparison struct {
	name                       string
	cpu, allocations, database costPairs
}

// pair measures two servers in the order without, with, with, without, and adds the means of both.
// So other work of the machine affects both servers.
func (c *comparison) pair(
	ctx context.Context, n int, without, with *measure.Place, half func(*measure.Place) (cost, error),
) error {
	costs := map[*measure.Place]cost{}
	for _, p := range []*measure.Place{without, with, with, without} {
		if err := ctx.Err(); err != nil {
			return err
		}
		one, err := half(p)
		if err != nil {
			return err
		}
		sum := costs[p]
		costs[p] = cost{sum.cpu + one.cpu/2, sum.allocations + one.allocations/2, sum.database + one.database/2}
	}
	a, b := costs[without], costs[with]
	c.cpu.note(a.cpu, b.cpu)
	c.allocations.note(a.allocations, b.allocations)
	if without.Database != 0 {
		c.database.note(a.database, b.database)
	}
	report.Say("%s, pair %d: %.2f and %.2f µs, %.2f and %.2f allocations", c.name, n+1, a.cpu, b.cpu, a.allocations,
		b.allocations)
	return nil
}

func (c *costPairs) note(without, with float64) {
	c.without, c.with, c.ratio = append(c.without, without), append(c.with, with), append(c.ratio, with/without)
}

// figure returns a figure with the median of the ratios, their quartiles and the confidence
// interval of the median. base is the name of the baseline.
func (c *costPairs) figure(what, base, unit, goal string, limit float64) report.Figure {
	sorted := slices.Sorted(slices.Values(c.ratio))
	low, high := sorted[len(sorted)/4], sorted[len(sorted)*3/4]
	r := report.Median(c.ratio)
	from, to := confidence(sorted)
	return report.Figure{
		What: what, Goal: goal, Value: r, Reached: limit == 0 || r <= limit,
		Measured: strings.TrimSpace(fmt.Sprintf("%.2f %s", report.Median(c.with), unit)) +
			fmt.Sprintf("; %d pairs, half of them %.1f to %.1f %%, median surely %.1f to %.1f %%", len(c.ratio), 100*low,
				100*high, 100*from, 100*to),
		Limit: strings.TrimSpace(fmt.Sprintf("%s: %.2f %s", base, report.Median(c.without), unit)),
	}
}

// confidence returns the 95 % confidence interval of the median of all possible pairs. The number
// of pairs below this median has a binomial distribution, so the bounds are order statistics.
func confidence(sorted []float64) (from, to float64) {
	n := float64(len(sorted))
	rank := int(math.Floor((n - 1.96*math.Sqrt(n)) / 2))
	rank = min(max(rank, 0), len(sorted)-1)
	return sorted[rank], sorted[len(sorted)-1-rank]
}

// perCall returns the cost of each call that work makes. work returns the number of calls. What a
// server does after its calls is counted for them, such as storing the request log and looking for
// duplicates. Reading the number of allocations allocates too. This part is measured before and
// subtracted.
func perCall(ctx context.Context, p *measure.Place, work func() (calls int, err error)) (c cost, err error) {
	first, err := p.Allocations()
	if err != nil {
		return c, err
	}
	second, err := p.Allocations()
	if err != nil {
		return c, err
	}
	cpu, database, err := spent(p)
	if err != nil {
		return c, err
	}
	calls, err := work()
	if err != nil {
		return c, err
	}
	if err := process.AwaitRest(ctx, p.Pid()); err != nil {
		return c, err
	}
	cpuAfter, databaseAfter, err := spent(p)
	if err != nil {
		return c, err
	}
	last, err := p.Allocations()
	n := float64(max(1, calls))
	return cost{
		cpu: (cpuAfter - cpu) / n, database: (databaseAfter - database) / n,
		allocations: (last - second - (second - first)) / n,
	}, err
}

// spent returns the processor time that a server and its PostgreSQL server have used since their
// start, in microseconds.
func spent(p *measure.Place) (cpu, database float64, err error) {
	if p.Database != 0 {
		database = float64(process.UsedWithChildren(p.Database).Microseconds())
	}
	t, err := process.ProcessTime(p.Pid())
	return float64(t.Nanoseconds()) / 1000, database, err
}
