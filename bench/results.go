package main

import (
	"fmt"
	"io"
)

// write prints the table of the figures, and writes them into the file of --json.
func (b *bench) write(out io.Writer, figures []figure) error {
	d := document{
		Records: b.records, Organizations: b.organizations, Documents: b.documents, Webhooks: b.webhooks,
		Seconds: b.seconds, Runs: b.runs, Figures: figures, Results: b.results, Memory: b.memory,
	}
	return d.write(out, b.json, b.markdown)
}

// median returns the median of a value over the runs of a series.
func (b *bench) median(name string, pick func(result) float64) float64 {
	var values []float64
	for _, r := range b.results[name] {
		values = append(values, pick(r))
	}
	return middle(values)
}

func perSecond(r result) float64 { return r.PerSecond }

func p99(r result) float64 { return r.P99 }

// ratio returns the median, over the runs, of one series' throughput divided by
// another's in the same run.
func (b *bench) ratio(name, limit string) float64 {
	var ratios []float64
	for i, r := range b.results[name] {
		ratios = append(ratios, r.PerSecond/b.results[limit][i].PerSecond)
	}
	return middle(ratios)
}

// against returns a row that compares two throughputs.
func (b *bench) against(what, name, limit, limitIs string, least float64) figure {
	r := b.ratio(name, limit)
	return figure{
		What: what, Goal: fmt.Sprintf("≥ %.0f %%", least*100),
		Measured: fmt.Sprintf("%s/s", number(b.median(name, perSecond))),
		Limit:    fmt.Sprintf("%s: %s/s", limitIs, number(b.median(limit, perSecond))),
		Value:    r, Reached: r >= least,
	}
}

// within returns a row about a p99 in milliseconds.
func (b *bench) within(what, name string, limit float64) figure {
	v := b.median(name, p99)
	return figure{
		What: what + ", p99", Goal: fmt.Sprintf("< %.0f ms", limit),
		Measured: fmt.Sprintf("%.2f ms (p50 %.2f ms, %s/s)", v, b.median(name, func(r result) float64 { return r.P50 }),
			number(b.median(name, perSecond))),
		Value: v / limit, Reached: v > 0 && v < limit,
	}
}
