package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
)

// cost is the cost of one call: processor time of the server and of its
// PostgreSQL server in microseconds, and the number of objects that the server
// allocates.
type cost struct{ cpu, allocations, database float64 }

// costPairs collects one kind of cost over pairs.
type costPairs struct{ without, with, ratio []float64 }

// comparison collects the costs of pairs.
type comparison struct {
	name                       string
	cpu, allocations, database costPairs
}

// pair measures two servers alternately, in the order without, with, with,
// without, and takes the means. Other work of the machine then affects both.
// Work that a server does after its calls, such as storing the request log,
// counts equally too.
func (c *comparison) pair(ctx context.Context, n int, without, with *place, half func(*place) (cost, error)) error {
	costs := map[*place]cost{}
	for _, p := range []*place{without, with, with, without} {
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
	if without.database != 0 {
		c.database.note(a.database, b.database)
	}
	say("%s, pair %d: %.2f and %.2f µs, %.2f and %.2f allocations", c.name, n+1, a.cpu, b.cpu, a.allocations,
		b.allocations)
	return nil
}

func (c *costPairs) note(without, with float64) {
	c.without, c.with, c.ratio = append(c.without, without), append(c.with, with), append(c.ratio, with/without)
}

// figure returns a row with the median of the pairs' ratios, the quartiles as
// their spread, and the confidence interval of the median. base is the name of
// the baseline.
func (c *costPairs) figure(what, base, unit, goal string, limit float64) figure {
	sorted := slices.Sorted(slices.Values(c.ratio))
	low, high := sorted[len(sorted)/4], sorted[len(sorted)*3/4]
	r := middle(c.ratio)
	from, to := confidence(sorted)
	return figure{
		What: what, Goal: goal, Value: r, Reached: limit == 0 || r <= limit,
		Measured: strings.TrimSpace(fmt.Sprintf("%.2f %s", middle(c.with), unit)) +
			fmt.Sprintf("; %d pairs, half of them %.1f to %.1f %%, median surely %.1f to %.1f %%", len(c.ratio), 100*low,
				100*high, 100*from, 100*to),
		Limit: strings.TrimSpace(fmt.Sprintf("%s: %.2f %s", base, middle(c.without), unit)),
	}
}

// confidence returns the 95 % confidence interval of the median of all possible
// pairs. The number of pairs below that median is binomial for any
// distribution, so the bounds are order statistics.
func confidence(sorted []float64) (from, to float64) {
	n := float64(len(sorted))
	rank := int(math.Floor((n - 1.96*math.Sqrt(n)) / 2))
	rank = min(max(rank, 0), len(sorted)-1)
	return sorted[rank], sorted[len(sorted)-1-rank]
}

// cost returns the cost of each call in work, which returns the number of
// calls. Reading the allocations allocates too. This part is measured before
// the work and subtracted.
func (p *place) cost(work func() (calls int, err error)) (c cost, err error) {
	first, err := p.allocations()
	if err != nil {
		return c, err
	}
	second, err := p.allocations()
	if err != nil {
		return c, err
	}
	cpu, database, err := p.spent()
	if err != nil {
		return c, err
	}
	calls, err := work()
	if err != nil {
		return c, err
	}
	cpuAfter, databaseAfter, err := p.spent()
	if err != nil {
		return c, err
	}
	last, err := p.allocations()
	n := float64(max(1, calls))
	return cost{
		cpu: (cpuAfter - cpu) / n, database: (databaseAfter - database) / n,
		allocations: (last - second - (second - first)) / n,
	}, err
}

// spent returns the processor time that a server and its PostgreSQL server, if
// any, have used since their start, in microseconds.
func (p *place) spent() (cpu, database float64, err error) {
	if p.database != 0 {
		database = float64(usedWithChildren(p.database).Microseconds())
	}
	t, err := processTime(p.pid())
	return float64(t.Nanoseconds()) / 1000, database, err
}
