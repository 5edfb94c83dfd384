package trace

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
)

// sayAgain is the minimum time between two log lines about spans that cannot be sent.
const sayAgain = 10 * time.Minute

// maxReason is the maximum length in bytes of an error in the log. An error may contain a response
// of the collector.
const maxReason = 300

// New returns a Tracer with these settings. It returns nil if the settings have no endpoint. It
// returns an error if the settings are invalid.
//
// Spans wait in a queue of limited length (2,048 by default, see OTEL_BSP_MAX_QUEUE_SIZE). If the
// queue is full, new spans are dropped, and API calls do not wait.
func New(ctx context.Context, s Settings, version string, now func() time.Time, log *slog.Logger) (*Tracer, error) {
	if s.Endpoint == "" {
		return nil, nil
	}
	if err := s.check(); err != nil {
		return nil, err
	}
	sampler, err := s.sampler()
	if err != nil {
		return nil, err
	}
	client, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(s.Endpoint), otlptracehttp.WithHeaders(s.Headers))
	if err != nil {
		return nil, fmt.Errorf("traces: %w", err)
	}
	e := &exporter{SpanExporter: client, now: now, log: log}
	provider := sdk.NewTracerProvider(sdk.WithSampler(sdk.AlwaysSample()), sdk.WithIDGenerator(generator{}),
		sdk.WithBatcher(e), sdk.WithResource(s.resource(version)))
	return &Tracer{tracer: provider.Tracer("kartei"), sampler: sampler, exporter: e, stop: provider.Shutdown}, nil
}

// resource returns the attributes of the sender of the spans. By default, the library would also
// send the name of the machine, the user and the command line.
func (s *Settings) resource(version string) *resource.Resource {
	list := []attribute.KeyValue{
		attribute.String("service.name", cmp.Or(s.Service, s.Resource["service.name"], defaultService)),
		attribute.String("service.version", version),
		attribute.String("service.instance.id", instanceID()),
	}
	for name, value := range s.Resource {
		if name != "service.name" {
			list = append(list, attribute.String(name, value))
		}
	}
	return resource.NewSchemaless(list...)
}

// Close sends the waiting spans and stops the Tracer, at the latest when ctx ends. It always
// returns nil, and logs an error instead.
func (t *Tracer) Close(ctx context.Context) error {
	if t == nil {
		return nil
	}
	if err := t.stop(ctx); err != nil { // only spans are lost, so the program should not end with an error
		t.exporter.log.Warn("spans were not sent before the end", "error", reason(err))
	}
	return nil
}

// Sent returns the number of sent spans, and the number of spans that could not be sent.
func (t *Tracer) Sent() (sent, lost int64) {
	if t == nil {
		return 0, 0
	}
	return t.exporter.sent.Load(), t.exporter.lost.Load()
}

// exporter wraps a SpanExporter. It logs only the first failure to send spans, and again after
// sayAgain.
type exporter struct {
	sdk.SpanExporter
	now        func() time.Time
	log        *slog.Logger
	sent, lost atomic.Int64

	mu      sync.Mutex
	failing bool
	told    time.Time
}

// ExportSpans sends spans. It always returns nil, because the library would write an error to
// stderr.
func (e *exporter) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	err := e.SpanExporter.ExportSpans(ctx, spans)
	if err == nil {
		e.sent.Add(int64(len(spans)))
	} else {
		e.lost.Add(int64(len(spans)))
	}
	e.tell(err)
	return nil
}

func (e *exporter) tell(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := e.now()
	switch {
	case err == nil && e.failing:
		e.failing = false
		e.log.Info("spans are sent again", "lost", e.lost.Load())
	case err != nil && (!e.failing || now.Sub(e.told) >= sayAgain):
		e.failing, e.told = true, now
		e.log.Warn("spans cannot be sent to the collector; the service itself is not affected", "error", reason(err),
			"lost", e.lost.Load())
	}
}

func reason(err error) string {
	text := err.Error()
	return text[:min(len(text), maxReason)]
}
