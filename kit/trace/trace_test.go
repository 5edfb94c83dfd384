package trace

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	otel "go.opentelemetry.io/otel/trace"
)

func TestSummary(t *testing.T) {
	for query, want := range map[string]string{
		"select tick from clocks where organization = $1":                      "select clocks",
		"select e.tick from (\n\tselect * from events where tick > $1) as e":   "select events",
		"insert into events (organization, tick) values ($1, $2)":              "insert events",
		"update jobs set state = 'running' where id in (select id from other)": "update jobs",
		"delete from jobs where id = $1":                                       "delete jobs",
		"SELECT 1":                                                             "select ",
		"commit":                                                               "commit ",
		"copy words (organization) from stdin":                                 "copy words",
		"select * from \"zwetschge@example.com\"":                              "select ",
		"'kirsche'": "statement ",
		"select 'from kirsche' || $1 from contacts as c": "select contacts",
		"": " ",
		"with recursive w as (select id from tasks) select * from w":            "with tasks",
		"select " + strings.Repeat("a, ", 100) + "b from a_table_far_behind_it": "select ",
	} {
		if operation, table := Summary(query); operation+" "+table != want {
			t.Errorf("%.60q: %q, want %q", query, operation+" "+table, want)
		}
	}
}

func FuzzSummary(f *testing.F) {
	f.Add("select a from b")
	f.Add("insert into x values ('a@b.example', 5)")
	f.Fuzz(func(t *testing.T, query string) {
		operation, table := Summary(query)
		if strings.ContainsFunc(operation+table, func(c rune) bool { return (c < 'a' || c > 'z') && c != '_' }) {
			t.Errorf("%q: %q %q", query, operation, table)
		}
	})
}

func look(pairs ...string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for _, p := range pairs {
			if n, v, _ := strings.Cut(p, "="); n == name {
				return v, true
			}
		}
		return "", false
	}
}

func TestFromEnvironment(t *testing.T) {
	for _, test := range []struct{ set, endpoint, sampling string }{
		{"", "", ""},
		{"OTEL_SERVICE_NAME=x OTEL_TRACES_SAMPLER=always_on", "", ""},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=http://c:4318", "http://c:4318/v1/traces", "parentbased_always_on"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=http://c:4318/", "http://c:4318/v1/traces", "parentbased_always_on"},
		{
			"OTEL_EXPORTER_OTLP_ENDPOINT=http://c OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=https://d/x", "https://d/x",
			"parentbased_always_on",
		},
		{"OTEL_TRACES_EXPORTER=otlp", "http://localhost:4318/v1/traces", "parentbased_always_on"},
		{"OTEL_TRACES_EXPORTER=none OTEL_EXPORTER_OTLP_ENDPOINT=http://c", "", ""},
		{"OTEL_SDK_DISABLED=TRUE OTEL_EXPORTER_OTLP_ENDPOINT=http://c", "", ""},
		{
			"OTEL_EXPORTER_OTLP_ENDPOINT=http://c OTEL_TRACES_SAMPLER=traceidratio OTEL_TRACES_SAMPLER_ARG=0.01",
			"http://c/v1/traces", "traceidratio 0.01",
		},
	} {
		s, err := FromEnvironment(look(strings.Fields(test.set)...))
		if err != nil || s.Endpoint != test.endpoint || test.sampling != "" && s.Sampling() != test.sampling {
			t.Errorf("%s: %+v, %v", test.set, s, err)
		}
	}
	for set, want := range map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT=collector:4318":                                                                          "http://",
		"OTEL_TRACES_EXPORTER=zipkin":                                                                                         "otlp and none",
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://c OTEL_EXPORTER_OTLP_PROTOCOL=grpc":                                               "http/protobuf",
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://c OTEL_TRACES_SAMPLER=sometimes":                                                  "parentbased_traceidratio",
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://c OTEL_TRACES_SAMPLER=traceidratio OTEL_TRACES_SAMPLER_ARG=1%":                    "from 0 to 1",
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://c OTEL_TRACES_SAMPLER=parentbased_traceidratio OTEL_TRACES_SAMPLER_ARG=NaN":       "from 0 to 1",
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://c OTEL_EXPORTER_OTLP_HEADERS=geheim":                                              "NAME=VALUE",
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://c OTEL_RESOURCE_ATTRIBUTES=a=%zz":                                                 "NAME=VALUE",
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://name:geheim@%zz OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=ftp://name:geheim@host/traces": "http://",
	} {
		s, err := FromEnvironment(look(strings.Fields(set)...))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "geheim") {
			t.Errorf("%s: %+v, %v", set, s, err)
		}
	}
}

// TestDisabledTracingAllocatesNothing checks that the methods of a nil Tracer and of nil Spans
// allocate no memory.
func TestDisabledTracingAllocatesNothing(t *testing.T) {
	ctx := t.Context()
	var off *Tracer
	if n := testing.AllocsPerRun(100, func() {
		span := off.Begin("call", Server, "")
		within := Within(ctx, span)
		child := Of(within).Child("run", Internal)
		child.Statement("select 1 from contacts", 1).End()
		child.Text("a", "b")
		child.Event("c")
		child.Fail("d")
		child.End()
		if span.Parent() != "" || span.Stored() != nil || span.ID() != "" {
			t.Error("a nil span has an id")
		}
		span.End()
	}); n != 0 {
		t.Errorf("%g allocations", n)
	}
}

// failingCollector is a SpanExporter that returns err.
type failingCollector struct {
	sdk.SpanExporter
	err error
}

func (f *failingCollector) ExportSpans(context.Context, []sdk.ReadOnlySpan) error { return f.err }

// TestExportFailureIsLoggedOnce checks that failures to send spans are logged once in ten minutes.
// The first success after a failure must be logged too.
func TestExportFailureIsLoggedOnce(t *testing.T) {
	var log bytes.Buffer
	now := time.Date(2026, 11, 1, 9, 0, 0, 0, time.UTC)
	collector := &failingCollector{err: errors.New("connection refused")}
	e := &exporter{
		SpanExporter: collector, now: func() time.Time { return now },
		log: slog.New(slog.NewTextHandler(&log, nil)),
	}
	send := func(n int) {
		for range n {
			if err := e.ExportSpans(t.Context(), make([]sdk.ReadOnlySpan, 3)); err != nil {
				t.Error(err)
			}
			now = now.Add(time.Second)
		}
	}
	said := func(want int) {
		t.Helper()
		if n := strings.Count(log.String(), "\n"); n != want {
			t.Errorf("%d lines, want %d:\n%s", n, want, log.String())
		}
	}
	send(500)
	said(1)
	send(200)
	said(2)
	collector.err = nil
	send(10)
	said(3)
	if e.sent.Load() != 30 || e.lost.Load() != 2100 {
		t.Errorf("%d sent, %d lost", e.sent.Load(), e.lost.Load())
	}
}

// TestUnsampledCallAllocatesNothing checks that a call that is not sampled allocates no memory. It
// also checks that the sampling decision of a trusted caller is followed. A trace must keep the id
// for which the sampler has decided.
func TestUnsampledCallAllocatesNothing(t *testing.T) {
	of := func(sampler, arg string) *Tracer {
		tracer, err := New(t.Context(), Settings{
			Endpoint: "http://127.0.0.1:1/v1/traces", Sampler: sampler, SamplerArg: arg,
		}, "test", time.Now, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			ended, cancel := context.WithCancel(context.Background())
			cancel()
			_ = tracer.Close(ended)
		})
		return tracer
	}
	never := of("traceidratio", "0")
	if n := testing.AllocsPerRun(100, func() {
		if never.Begin("call", Server, "") != nil {
			t.Error("sampled")
		}
	}); n != 0 {
		t.Errorf("%g allocations", n)
	}
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0"
	byParent := of("parentbased_traceidratio", "0")
	if s := byParent.Begin("call", Server, parent+"1"); s.ID() != parent[3:35] {
		t.Errorf("%q", s.ID())
	}
	for _, refused := range []string{parent + "0", "", "00-zz", parent + "1-more"} {
		if byParent.Begin("call", Server, refused) != nil {
			t.Errorf("%s: sampled", refused)
		}
	}
	half, n := of("traceidratio", "0.5"), 0
	for range 1000 {
		s := half.Begin("call", Server, "")
		if s == nil {
			continue
		}
		n++
		if id, _ := otel.TraceIDFromHex(s.ID()); sdk.TraceIDRatioBased(0.5).ShouldSample(sdk.SamplingParameters{
			ParentContext: t.Context(), TraceID: id,
		}).Decision != sdk.RecordAndSample {
			t.Fatal("the trace has another id than the sampler saw")
		}
		if again := half.Continue("job", Consumer, s.Parent()); again.ID() != s.ID() {
			t.Fatal("a job that was enqueued by a sampled call is not of its trace")
		}
	}
	if n < 350 || n > 650 {
		t.Errorf("%d of 1000 sampled", n)
	}
}
