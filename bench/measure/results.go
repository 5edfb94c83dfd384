package measure

import (
	"fmt"
	"io"
	"slices"

	"kartei/bench/load"
	"kartei/bench/report"
)

// Write prints the table of the figures. If --json is set, it also writes a JSON file.
func (b *Bench) Write(out io.Writer, figures []report.Figure) error {
	d := report.Document{
		Records: b.Records, Organizations: b.Organizations, Documents: b.Documents, Webhooks: b.Webhooks,
		Seconds: b.Seconds, Runs: b.Runs, Figures: figures, Results: b.Results, Memory: b.memory,
	}
	return d.Write(out, b.JSON, b.Markdown)
}

// Median returns the median of a value over the results of a series.
func (b *Bench) Median(name string, pick func(load.Result) float64) float64 {
	var values []float64
	for _, r := range b.Results[name] {
		values = append(values, pick(r))
	}
	return report.Median(values)
}

// PerSecond returns the number of responses per second.
func PerSecond(r load.Result) float64 { return r.PerSecond }

// P99 returns the 99th percentile of the response times in milliseconds.
func P99(r load.Result) float64 { return r.P99 }

// Ratio returns the median of the ratios of two series' throughput. Each ratio is of results in the
// same round.
func (b *Bench) Ratio(name, limit string) float64 {
	var ratios []float64
	for i, r := range b.Results[name] {
		ratios = append(ratios, r.PerSecond/b.Results[limit][i].PerSecond)
	}
	return report.Median(ratios)
}

// Against returns a figure that compares the throughput of a series with another series, the limit.
// least is the ratio to reach.
func (b *Bench) Against(what, name, limit, limitIs string, least float64) report.Figure {
	r := b.Ratio(name, limit)
	return report.Figure{
		What: what, Goal: fmt.Sprintf("≥ %.0f %%", least*100),
		Measured: fmt.Sprintf("%s/s", report.Number(b.Median(name, PerSecond))),
		Limit:    fmt.Sprintf("%s: %s/s", limitIs, report.Number(b.Median(limit, PerSecond))),
		Value:    r, Reached: r >= least,
	}
}

// Within returns a figure of the p99 of a series, which must be below limit milliseconds.
func (b *Bench) Within(what, name string, limit float64) report.Figure {
	v := b.Median(name, P99)
	return report.Figure{
		What: what + ", p99", Goal: fmt.Sprintf("< %.0f ms", limit),
		Measured: fmt.Sprintf("%.2f ms (p50 %.2f ms, %s/s)", v, b.Median(name, func(r load.Result) float64 { return r.P50 }),
			report.Number(b.Median(name, PerSecond))),
		Value: v / limit, Reached: v > 0 && v < limit,
	}
}

// Memories returns the figures of memory. Memory may grow by at most a tenth from the first round
// to the last.
func (b *Bench) Memories() []report.Figure {
	highest := slices.Max(b.memory)
	list := []report.Figure{{
		What: "memory of the server (RssAnon), highest", Goal: "< 300 MB", Measured: fmt.Sprintf("%.0f MB", highest),
		Value: highest / 300, Reached: highest > 0 && highest < 300,
	}}
	if n := len(b.memory); n > 1 {
		grown := b.memory[n-1] / b.memory[0]
		list = append(list, report.Figure{
			What: "the same, last run against the first", Goal: "≤ 110 %", Measured: fmt.Sprintf("%.0f MB", b.memory[n-1]),
			Limit: fmt.Sprintf("first run: %.0f MB", b.memory[0]), Value: grown, Reached: grown <= 1.1,
		})
	}
	return list
}
