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

// sayAgain is the interval between two log entries about spans that cannot be
// sent.
const sayAgain = 10 * time.Minute

// maxReason bounds the reason in the log, which may contain a collector's
// answer.
const maxReason = 300

// New returns a tracer for the settings. It returns nil, which traces nothing,
// if they name no endpoint. Spans wait in a bounded queue (2,048,
// OTEL_BSP_MAX_QUEUE_SIZE). If it is full, further spans are dropped, and no
// call waits.
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

// resource describes the sender of the spans. It omits the machine's name, the
// user and the command line, which the library would add by itself.
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

// Close sends the waiting spans, until ctx ends.
func (t *Tracer) Close(ctx context.Context) error {
	if t == nil {
		return nil
	}
	if err := t.stop(ctx); err != nil { // only spans are lost, so the program does not end with an error
		t.exporter.log.Warn("spans were not sent before the end", "error", reason(err))
	}
	return nil
}

// Sent returns the number of sent spans, and of spans that could not be sent.
func (t *Tracer) Sent() (sent, lost int64) {
	if t == nil {
		return 0, 0
	}
	return t.exporter.sent.Load(), t.exporter.lost.Load()
}

// exporter logs once that spans cannot be sent, not for each batch.
type exporter struct {
	sdk.SpanExporter
	now        func() time.Time
	log        *slog.Logger
	sent, lost atomic.Int64

	mu      sync.Mutex
	failing bool
	told    time.Time
}

// ExportSpans never fails, because the library would write an error to standard
// error.
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
