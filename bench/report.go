package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
)

// figure is one row of the table: a goal and a measured value.
type figure struct {
	What     string  `json:"what"`
	Goal     string  `json:"goal"`
	Measured string  `json:"measured"`
	Limit    string  `json:"limit,omitempty"`
	Value    float64 `json:"value"`
	Reached  bool    `json:"reached"`
}

// document is the output of --json.
type document struct {
	At      time.Time `json:"at"`
	Go      string    `json:"go"`
	System  string    `json:"system"`
	CPUs    int       `json:"cpus"`
	CPU     string    `json:"cpu"`
	Records int       `json:"records"`
	// Organizations is the number of organizations, if they are measured.
	Organizations int `json:"organizations,omitempty"`
	// Documents is the number of documents, if they are measured.
	Documents int `json:"documents,omitempty"`
	// Webhooks is the number of deliveries.
	Webhooks int                 `json:"webhooks,omitempty"`
	Seconds  float64             `json:"seconds"`
	Runs     int                 `json:"runs"`
	Figures  []figure            `json:"figures"`
	Results  map[string][]result `json:"results"`
	// Memory is the peak of RssAnon of the large server in each run, in MB.
	Memory []float64 `json:"memory"`
}

// report prints the table and writes the figures.
func (b *bench) report(out io.Writer) error { return b.write(out, b.figures()) }

func (b *bench) write(out io.Writer, figures []figure) error {
	d := document{
		At: time.Now().UTC().Truncate(time.Second), Go: runtime.Version(), System: runtime.GOOS + "/" + runtime.GOARCH,
		CPUs: runtime.NumCPU(), CPU: processor(), Records: b.records, Organizations: b.organizations,
		Documents: b.documents, Webhooks: b.webhooks, Seconds: b.seconds, Runs: b.runs,
		Figures: figures, Results: b.results, Memory: b.memory,
	}
	if b.json != "" {
		text, err := json.MarshalIndent(d, "", "  ")
		if err != nil {
			return err
		}
		if err := os.WriteFile(b.json, append(text, '\n'), 0o644); err != nil {
			return err
		}
	}
	if b.markdown {
		return d.markdown(out)
	}
	return d.table(out)
}

// median returns the median of a value over the runs of a series.
func (b *bench) median(name string, pick func(result) float64) float64 {
	var values []float64
	for _, r := range b.results[name] {
		values = append(values, pick(r))
	}
	return middle(values)
}

func middle(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(values))
	if n := len(s); n%2 == 0 {
		return (s[n/2-1] + s[n/2]) / 2
	}
	return s[len(s)/2]
}

func perSecond(r result) float64 { return r.PerSecond }
func p99(r result) float64       { return r.P99 }

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

func (b *bench) figures() []figure {
	rows := number(float64(b.records))
	few, many := "10 hits", number(float64(b.records)/5)+" hits"
	list := []figure{
		b.against("GET /contacts/{id}, 16 connections", getLarge, getBare, "bare server", 0.50),
		b.against("GET /contacts?limit=25, 16 connections", listLarge, listBare, "bare server", 0.25),
		b.against("the hundredth page", listHundth, listLarge, "the first", 0.90),
	}
	if b.small != nil {
		list = append(list,
			b.against("GET /contacts/{id} among "+rows, getLarge, getSmall, "among "+number(small), 0.80),
			b.against("GET /contacts?limit=25 among "+rows, listLarge, listSmall, "among "+number(small), 0.80))
	}
	list = append(list,
		b.against("POST /contacts, 64 connections", postLarge, postLoop, "a row and an fsync each", 1.00),
		b.within("POST /contacts, 64 connections", postLarge, 50),
		b.batches(),
		b.within("search, "+few+", 1 client", clients(searchFew, 1), 25),
		b.within("search, "+many+", 1 client", clients(searchMany, 1), 25),
		b.within("search, "+few+", 16 clients", clients(searchFew, 16), 100),
		b.within("search, "+many+", 16 clients", clients(searchMany, 16), 100),
		b.within("count of all", countAll, 5),
		b.within("count, "+few, countFew, 5),
		b.within("count, "+many, countMany, 5))
	list = slices.DeleteFunc(list, func(f figure) bool { return f.Value == 0 }) // not measured because of --only
	return append(list, b.memories()...)
}

// batches returns the row that compares creations in batches with single ones.
func (b *bench) batches() figure {
	each := func(r result) float64 { return inBatch * r.PerSecond }
	r := inBatch * b.ratio(postBatch, postOne)
	return figure{
		What: fmt.Sprintf("creations in batches of %d, 1 client", inBatch), Goal: "≥ 300 %",
		Measured: fmt.Sprintf("%s/s", number(b.median(postBatch, each))),
		Limit:    fmt.Sprintf("one by one: %s/s", number(b.median(postOne, perSecond))),
		Value:    r, Reached: r >= 3,
	}
}

// memories returns the rows about memory. Memory may grow by at most a tenth
// from the first run to the last.
func (b *bench) memories() []figure {
	highest := slices.Max(b.memory)
	list := []figure{{
		What: "memory of the server (RssAnon), highest", Goal: "< 300 MB", Measured: fmt.Sprintf("%.0f MB", highest),
		Value: highest / 300, Reached: highest > 0 && highest < 300,
	}}
	if n := len(b.memory); n > 1 {
		grown := b.memory[n-1] / b.memory[0]
		list = append(list, figure{
			What: "the same, last run against the first", Goal: "≤ 110 %", Measured: fmt.Sprintf("%.0f MB", b.memory[n-1]),
			Limit: fmt.Sprintf("first run: %.0f MB", b.memory[0]), Value: grown, Reached: grown <= 1.1,
		})
	}
	return list
}

// number formats a number with separators: 1,000,000.
func number(v float64) string {
	s := fmt.Sprintf("%.0f", v)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func (f *figure) verdict() string {
	if f.Goal == "" {
		return ""
	}
	if f.Reached {
		return "reached"
	}
	return "MISSED"
}

func (f *figure) columns() []string {
	return []string{f.What, f.Goal, f.Measured, f.Limit, fmt.Sprintf("%.0f %%", f.Value*100), f.verdict()}
}

var head = []string{"what", "goal", "measured", "against", "ratio", "verdict"}

func (d *document) machine() string {
	of := number(float64(d.Records)) + " contacts"
	if d.Organizations > 0 {
		of = number(float64(d.Organizations)) + " organizations"
	}
	if d.Documents > 0 {
		of = number(float64(d.Documents)) + " documents"
	}
	if d.Webhooks > 0 {
		return fmt.Sprintf("%s deliveries, %d × %s, %s, %s, %s", number(float64(d.Webhooks)), d.CPUs, d.CPU, d.System,
			d.Go, d.At.Format(time.DateOnly))
	}
	return fmt.Sprintf("%s, median of %d runs of %g s, %d × %s, %s, %s, %s", of, d.Runs, d.Seconds,
		d.CPUs, d.CPU, d.System, d.Go, d.At.Format(time.DateOnly))
}

func (d *document) table(out io.Writer) error {
	rows := [][]string{head}
	for i := range d.Figures {
		rows = append(rows, d.Figures[i].columns())
	}
	width := make([]int, len(head))
	for _, row := range rows {
		for i, cell := range row {
			width[i] = max(width[i], len([]rune(cell)))
		}
	}
	var b strings.Builder
	b.WriteString(d.machine() + "\n\n")
	for _, row := range rows {
		for i, cell := range row {
			b.WriteString(cell + strings.Repeat(" ", width[i]-len([]rune(cell))+2))
		}
		b.WriteString("\n")
	}
	_, err := io.WriteString(out, b.String())
	return err
}

func (d *document) markdown(out io.Writer) error {
	var b strings.Builder
	b.WriteString(d.machine() + "\n\n")
	b.WriteString("| " + strings.Join(head, " | ") + " |\n|" + strings.Repeat("---|", len(head)) + "\n")
	for i := range d.Figures {
		b.WriteString("| " + strings.Join(d.Figures[i].columns(), " | ") + " |\n")
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// processor returns the model name of the processor.
func processor() string {
	b, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "unknown processor"
	}
	for line := range strings.Lines(string(b)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown processor"
}
