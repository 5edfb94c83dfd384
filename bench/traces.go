package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// tracesPairs is how many pairs each of the runs has: a difference of a
// hundredth is smaller than that of two runs of the same.
const tracesPairs = 8

// mostForTraces is what a read may cost when one call in a hundred is traced.
const mostForTraces = 1.02

// The environments that are compared. The collector is put in.
var (
	untraced  = []string{"OTEL_SDK_DISABLED=true"}
	hundredth = []string{"OTEL_TRACES_SAMPLER=traceidratio", "OTEL_TRACES_SAMPLER_ARG=0.01"}
	each      = []string{"OTEL_TRACES_SAMPLER=always_on"}
)

// onTraces holds reads of which one in a hundred is traced against the same
// without traces: processor time and allocations of the server, in pairs of which
// each begins with the other one. A pair of the same shows what of a difference is
// chance.
func (b *bench) onTraces(ctx context.Context) (err error) {
	if b.load, err = b.helper(ctx, "load"); err != nil {
		return err
	}
	collector, err := b.helper(ctx, "collect")
	if err != nil {
		return err
	}
	var address string
	if err := collector.ask("", &address); err != nil {
		return err
	}
	at := map[string]*place{}
	for name, environment := range map[string][]string{"off": untraced, "off again": untraced, "1 %": hundredth, "100 %": each} {
		o, err := prepare(ctx, b.data, b.records)
		if o != nil {
			b.offices = append(b.offices, o)
		}
		if err != nil {
			return err
		}
		environment = append(slices.Clone(environment), "OTEL_EXPORTER_OTLP_ENDPOINT=http://"+address)
		s, err := serveIn(ctx, environment, b.program, o.dir, o.url, false)
		if err != nil {
			return err
		}
		b.servers = append(b.servers, s)
		at[name] = &place{o, s, 0}
	}
	var list []figure
	for _, c := range []struct {
		with, what, goal string
		most             float64
	}{
		{"off again", "the same server twice, no traces", "", 0},
		{"1 %", "one call in a hundred is traced", "≤ 102 %", mostForTraces},
		{"100 %", "each call is traced", "", 0},
	} {
		cpu, allocations, err := b.pairs(ctx, at["off"], at[c.with])
		if err != nil {
			return err
		}
		list = append(list, cpu.figure(c.what+": processor time of a read", "µs", c.goal, c.most),
			allocations.figure(c.what+": allocations of a read", "", c.goal, c.most))
	}
	return b.write(os.Stdout, list)
}

// compared are the figures of pairs.
type compared struct{ without, with, ratio []float64 }

// pairs measures reads of two servers in turns.
func (b *bench) pairs(ctx context.Context, without, with *place) (cpu, allocations compared, err error) {
	for n := range tracesPairs * b.runs {
		order := []*place{without, with}
		if n%2 == 1 {
			slices.Reverse(order)
		}
		times, counts := map[*place]float64{}, map[*place]float64{}
		for _, p := range order {
			if times[p], counts[p], err = b.costs(ctx, p); err != nil {
				return cpu, allocations, err
			}
		}
		cpu.note(times[without], times[with])
		allocations.note(counts[without], counts[with])
		say("pair %d: %.2f and %.2f µs, %.2f and %.2f allocations", n+1, times[without], times[with], counts[without], counts[with])
	}
	return cpu, allocations, nil
}

func (c *compared) note(without, with float64) {
	c.without, c.with, c.ratio = append(c.without, without), append(c.with, with), append(c.ratio, with/without)
}

// figure shows the median of the pairs' ratios, and the quartiles as their
// spread.
func (c *compared) figure(what, unit, goal string, most float64) figure {
	sorted := slices.Sorted(slices.Values(c.ratio))
	low, high := sorted[len(sorted)/4], sorted[len(sorted)*3/4]
	r := middle(c.ratio)
	return figure{
		What: what, Goal: goal, Value: r, Reached: most == 0 || r <= most,
		Measured: strings.TrimSpace(fmt.Sprintf("%.2f %s", middle(c.with), unit)) + fmt.Sprintf("; %d pairs, half of them %.1f to %.1f %%", len(c.ratio), 100*low, 100*high),
		Limit:    strings.TrimSpace(fmt.Sprintf("off: %.2f %s", middle(c.without), unit)),
	}
}

// costs returns what one read costs a server: processor time in microseconds,
// and allocations.
func (b *bench) costs(ctx context.Context, p *place) (cpu, allocations float64, err error) {
	if err := ctx.Err(); err != nil {
		return 0, 0, err
	}
	mallocs, err := p.allocations()
	if err != nil {
		return 0, 0, err
	}
	before, err := processTime(p.command.Process.Pid)
	if err != nil {
		return 0, 0, err
	}
	var r result
	if err := b.load.ask(load{p.address, 16, b.time(), p.gets(), http.StatusOK}, &r); err != nil {
		return 0, 0, err
	}
	after, err := processTime(p.command.Process.Pid)
	if err != nil {
		return 0, 0, err
	}
	if r.Failures > 0 {
		return 0, 0, fmt.Errorf("a read: %s", r.Failure)
	}
	more, err := p.allocations()
	n := float64(max(1, r.Sent))
	return float64((after - before).Nanoseconds()) / 1000 / n, (more - mallocs) / n, err
}

// processTime is used to the nanosecond: the clock of another process's
// processor time (clock_getcpuclockid(3)).
func processTime(pid int) (time.Duration, error) {
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|2), &t); err != nil {
		return 0, fmt.Errorf("the processor time of process %d: %w", pid, err)
	}
	return time.Duration(t.Nano()), nil
}

// allocations asks a server for the objects that it has allocated so far.
func (s *server) allocations() (float64, error) {
	response, err := http.Get(s.operator + "/metrics")
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		if value, is := strings.CutPrefix(lines.Text(), "go_memstats_mallocs_total "); is {
			return strconv.ParseFloat(value, 64)
		}
	}
	return 0, fmt.Errorf("%s/metrics has no go_memstats_mallocs_total", s.operator)
}

// collecting is the process of a collector that takes all spans and keeps none.
// It answers its address.
func collecting(in io.Reader, out io.Writer) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
	})}
	go func() { _ = server.Serve(l) }()
	defer server.Close()
	if err := json.NewEncoder(out).Encode(l.Addr().String()); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, in)
	return err
}
