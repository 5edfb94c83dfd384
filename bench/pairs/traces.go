package pairs

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"slices"

	"kartei/bench/data"
	"kartei/bench/load"
	"kartei/bench/measure"
	"kartei/bench/report"
)

// tracesPairs is the number of pairs in each run. Many pairs are necessary, since two equal runs
// differ by more than one percent.
const tracesPairs = 4

// maxTraceRatio is the maximum ratio of the cost of a read if one call in a hundred is traced, and
// without traces.
const maxTraceRatio = 1.02

// These environment variables are compared. The address of the collector is added.
var (
	untraced  = []string{"OTEL_SDK_DISABLED=true"}
	hundredth = []string{"OTEL_TRACES_SAMPLER=traceidratio", "OTEL_TRACES_SAMPLER_ARG=0.01"}
	each      = []string{"OTEL_TRACES_SAMPLER=always_on"}
)

// MeasureTraces compares reads without traces and with one call in a hundred traced. It measures
// the processor time and the allocations of the servers, in pairs. Pairs of equal servers show how
// much of a difference is chance.
func MeasureTraces(ctx context.Context, b *measure.Bench) (err error) {
	if err := b.StartLoad(ctx); err != nil {
		return err
	}
	collector, err := b.Helper(ctx, "collect")
	if err != nil {
		return err
	}
	var address string
	if err := collector.Ask("", &address); err != nil {
		return err
	}
	at := map[string]*measure.Place{}
	for name, environment := range map[string][]string{
		"off": untraced, "off again": untraced, "1 %": hundredth, "100 %": each,
	} {
		o, err := b.Prepare(ctx, data.Size{Records: b.Records})
		if err != nil {
			return err
		}
		environment = append(slices.Clone(environment), "OTEL_EXPORTER_OTLP_ENDPOINT=http://"+address)
		if at[name], err = b.OpenBy(ctx, o, b.Program, environment); err != nil {
			return err
		}
	}
	var list []report.Figure
	for _, c := range []struct {
		with, what, goal string
		limit            float64
	}{
		{"off again", "the same server twice, no traces", "", 0},
		{"1 %", "one call in a hundred is traced", "≤ 102 %", maxTraceRatio},
		{"100 %", "each call is traced", "", 0},
	} {
		reads := comparison{name: c.with}
		for n := range tracesPairs * b.Runs {
			if err := reads.pair(ctx, n, at["off"], at[c.with], func(p *measure.Place) (cost, error) { return costOfRead(ctx, b, p) }); err != nil {
				return err
			}
		}
		list = append(list, reads.cpu.figure(c.what+": processor time of a read", "off", "µs", c.goal, c.limit),
			reads.allocations.figure(c.what+": allocations of a read", "off", "", c.goal, c.limit))
	}
	return b.Write(os.Stdout, list)
}

// costOfRead returns the cost of a read for a server.
func costOfRead(ctx context.Context, b *measure.Bench, p *measure.Place) (cost, error) {
	return perCall(ctx, p, func() (int, error) {
		r, err := b.Send(&load.Job{
			Address: p.Address, Connections: 16, Time: b.Time(), Requests: p.Gets(), Want: http.StatusOK,
		})
		return r.Sent, err
	})
}

// ServeCollector is the process of a collector that accepts all spans and stores none. It writes
// its address to out.
func ServeCollector(in io.Reader, out io.Writer) error {
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
