// Package report owns what a measurement shows: progress, figures with their goals, and the table of them.
package report

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"kartei/bench/load"
)

// Figure is a row of the table: a measured value and its goal.
type Figure struct {
	What     string  `json:"what"`
	Goal     string  `json:"goal"`
	Measured string  `json:"measured"`
	Limit    string  `json:"limit,omitempty"`
	Value    float64 `json:"value"`
	Reached  bool    `json:"reached"`
}

// Document is the content of the file of --json.
type Document struct {
	At      time.Time `json:"at"`
	Go      string    `json:"go"`
	System  string    `json:"system"`
	CPUs    int       `json:"cpus"`
	CPU     string    `json:"cpu"`
	Records int       `json:"records"`
	// Organizations is the number of organizations, or 0 if they are not measured.
	Organizations int `json:"organizations,omitempty"`
	// Documents is the number of documents, or 0 if they are not measured.
	Documents int `json:"documents,omitempty"`
	// Webhooks is the number of deliveries, or 0 if they are not measured.
	Webhooks int                      `json:"webhooks,omitempty"`
	Seconds  float64                  `json:"seconds"`
	Runs     int                      `json:"runs"`
	Figures  []Figure                 `json:"figures"`
	Results  map[string][]load.Result `json:"results"`
	// Memory is the peak memory (RssAnon) of the large office's server in each run, in MB.
	Memory []float64 `json:"memory"`
}

// Write prints the table, as Markdown if markdown is set. Unless file is empty, it also writes the
// Document to this file.
func (d *Document) Write(out io.Writer, file string, markdown bool) error {
	d.At, d.Go, d.System = time.Now().UTC().Truncate(time.Second), runtime.Version(), runtime.GOOS+"/"+runtime.GOARCH
	d.CPUs, d.CPU = runtime.NumCPU(), processor()
	if file != "" {
		text, err := json.MarshalIndent(d, "", "  ")
		if err != nil {
			return err
		}
		if err := os.WriteFile(file, append(text, '\n'), 0o644); err != nil {
			return err
		}
	}
	if markdown {
		return d.markdown(out)
	}
	return d.table(out)
}

// Median returns the median of values, or 0 if there are none.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(values))
	if n := len(s); n%2 == 0 {
		return (s[n/2-1] + s[n/2]) / 2
	}
	return s[len(s)/2]
}

// Number formats a number with separators, for example 1,000,000.
func Number(v float64) string {
	s := fmt.Sprintf("%.0f", v)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func (f *Figure) verdict() string {
	if f.Goal == "" {
		return ""
	}
	if f.Reached {
		return "reached"
	}
	return "MISSED"
}

func (f *Figure) columns() []string {
	return []string{f.What, f.Goal, f.Measured, f.Limit, fmt.Sprintf("%.0f %%", f.Value*100), f.verdict()}
}

var head = []string{"what", "goal", "measured", "against", "ratio", "verdict"}

func (d *Document) machine() string {
	of := Number(float64(d.Records)) + " contacts"
	if d.Organizations > 0 {
		of = Number(float64(d.Organizations)) + " organizations"
	}
	if d.Documents > 0 {
		of = Number(float64(d.Documents)) + " documents"
	}
	if d.Webhooks > 0 {
		return fmt.Sprintf("%s deliveries, %d × %s, %s, %s, %s", Number(float64(d.Webhooks)), d.CPUs, d.CPU, d.System,
			d.Go, d.At.Format(time.DateOnly))
	}
	return fmt.Sprintf("%s, median of %d runs of %g s, %d × %s, %s, %s, %s", of, d.Runs, d.Seconds,
		d.CPUs, d.CPU, d.System, d.Go, d.At.Format(time.DateOnly))
}

func (d *Document) table(out io.Writer) error {
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

func (d *Document) markdown(out io.Writer) error {
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

// Say prints a line about the progress to standard error.
func Say(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
