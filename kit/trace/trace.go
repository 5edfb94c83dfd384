// Package trace owns the spans of calls, statements, jobs and deliveries, for operators with a collector.
//
// A nil Tracer traces nothing, and all methods accept a nil Span, so callers need no conditions.
// The context of a call that is not sampled has no Span. For such a call, the cost is one look-up
// in the context.
//
// A Span must not contain data of clients or records: names, addresses, queries, bodies, parameters
// of statements or texts of errors. It may contain names from the source code (operations, tables,
// kinds of jobs, codes), numbers, and opaque ids of requests, jobs, events and endpoints.
package trace

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	random "math/rand/v2"
	"strings"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	otel "go.opentelemetry.io/otel/trace"
)

// Tracer begins traces and sends their spans to a collector.
type Tracer struct {
	tracer otel.Tracer
	// sampler decides before a span is created. The library would create a span and a context for
	// every call before it asks the sampler.
	sampler  sdk.Sampler
	exporter *exporter
	stop     func(context.Context) error
}

// Kind is the kind of a span in OpenTelemetry, for example the client or the server of a call.
type Kind = otel.SpanKind

// The kinds of spans.
const (
	Internal = otel.SpanKindInternal
	Server   = otel.SpanKindServer
	Client   = otel.SpanKindClient
	Consumer = otel.SpanKindConsumer
)

// Span is one step of a trace. All its methods accept a nil Span.
type Span struct {
	tracer *Tracer
	otel   otel.Span
	ctx    context.Context // context of the library for child spans
	// coarse says that statements are counted, but have no spans. Child spans inherit it.
	coarse     bool
	statements atomic.Int64
}

// kinds has the options to start a span of each kind. They are created once, because each creation
// costs two allocations.
var kinds = map[Kind][]otel.SpanStartOption{
	Internal: {otel.WithSpanKind(Internal)}, Server: {otel.WithSpanKind(Server)},
	Client: {otel.WithSpanKind(Client)}, Consumer: {otel.WithSpanKind(Consumer)},
}

// Begin begins a span without a parent in this process. parent is the result of Span.Parent, or the
// traceparent header of a trusted caller (W3C Trace Context). If parent is empty or malformed, a
// new trace begins. Begin returns nil if the trace is not sampled.
func (t *Tracer) Begin(name string, kind Kind, parent string) *Span {
	if t == nil {
		return nil
	}
	ctx := context.Background()
	if parent != "" {
		ctx = otel.ContextWithRemoteSpanContext(ctx, parse(parent))
	}
	parameters := sdk.SamplingParameters{
		ParentContext: ctx, TraceID: otel.SpanContextFromContext(ctx).TraceID(), Name: name, Kind: kind,
	}
	if !parameters.TraceID.IsValid() {
		parameters.TraceID = newTraceID()
	}
	if t.sampler.ShouldSample(parameters).Decision != sdk.RecordAndSample {
		return nil
	}
	return t.start(context.WithValue(ctx, decisionKey{}, parameters.TraceID), name, kind)
}

// Continue does the same as Begin, for work that a call has begun. It returns nil if parent is
// empty, which means that the call was not traced.
func (t *Tracer) Continue(name string, kind Kind, parent string) *Span {
	if t == nil || parent == "" {
		return nil
	}
	return t.Begin(name, kind, parent)
}

func (t *Tracer) start(ctx context.Context, name string, kind Kind) *Span {
	ctx, span := t.tracer.Start(ctx, name, kinds[kind]...)
	if !span.IsRecording() {
		return nil
	}
	return &Span{tracer: t, otel: span, ctx: ctx}
}

// parse parses a traceparent header. For a malformed header the result is invalid.
func parse(parent string) otel.SpanContext {
	ctx := propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{"traceparent": parent})
	return otel.SpanContextFromContext(ctx)
}

type key struct{}

// Within returns a context with the span. If s is nil, it returns ctx.
func Within(ctx context.Context, s *Span) context.Context {
	if s == nil {
		return ctx
	}
	return context.WithValue(ctx, key{}, s)
}

// Of returns the span in the context, or nil.
func Of(ctx context.Context) *Span {
	s, _ := ctx.Value(key{}).(*Span)
	return s
}

// Child begins a child span.
func (s *Span) Child(name string, kind Kind) *Span {
	if s == nil {
		return nil
	}
	child := s.tracer.start(s.ctx, name, kind)
	if child != nil {
		child.coarse = s.coarse
	}
	return child
}

// Statement begins a child span for a database statement. Its name is the summary of the statement.
// count is the number of statements that are sent together. Statement returns nil after Coarse.
func (s *Span) Statement(query string, count int) *Span {
	if s == nil {
		return nil
	}
	s.statements.Add(int64(count))
	if s.coarse {
		return nil
	}
	operation, table := Summary(query)
	child := s.Child(strings.TrimSpace(operation+" "+table), Client)
	if count > 1 {
		child.Number("db.operation.batch.size", int64(count))
	}
	return child
}

// Statements returns the number of statements that were begun on this span.
func (s *Span) Statements() int64 {
	if s == nil {
		return 0
	}
	return s.statements.Load()
}

// Coarse makes Statement count the statements without spans, on this span and on child spans that
// begin later.
func (s *Span) Coarse() {
	if s != nil {
		s.coarse = true
	}
}

// Rename sets the name of the span.
func (s *Span) Rename(name string) {
	if s != nil {
		s.otel.SetName(name)
	}
}

// Texts sets several text attributes. pairs are names and values in turn. Empty values are left
// out.
func (s *Span) Texts(pairs ...string) {
	if s == nil {
		return
	}
	list := make([]attribute.KeyValue, 0, len(pairs)/2)
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			list = append(list, attribute.String(pairs[i], pairs[i+1]))
		}
	}
	s.otel.SetAttributes(list...)
}

// Text sets a text attribute. value must be a name from the source code or an opaque id.
func (s *Span) Text(name, value string) {
	if s != nil {
		s.otel.SetAttributes(attribute.String(name, value))
	}
}

// Number sets a number attribute.
func (s *Span) Number(name string, value int64) {
	if s != nil {
		s.otel.SetAttributes(attribute.Int64(name, value))
	}
}

// Event adds an event at the current time.
func (s *Span) Event(name string) {
	if s != nil {
		s.otel.AddEvent(name)
	}
}

// Fail marks the span as failed. kind must be a code. The text of an error is not allowed, because
// it may contain data that a client has sent.
func (s *Span) Fail(kind string) {
	if s != nil {
		s.otel.SetAttributes(attribute.String("error.type", kind))
		s.otel.SetStatus(codes.Error, "")
	}
}

// End ends the span.
func (s *Span) End() {
	if s != nil {
		s.otel.End()
	}
}

// Parent returns the traceparent header of the span (W3C Trace Context), which Begin accepts. It is
// empty for a nil Span.
func (s *Span) Parent() string {
	if s == nil {
		return ""
	}
	c := s.otel.SpanContext()
	return "00-" + c.TraceID().String() + "-" + c.SpanID().String() + "-" + c.TraceFlags().String()
}

// Stored returns the result of Parent as a parameter of a statement. For a nil Span it is nil,
// which is stored as NULL.
func (s *Span) Stored() any {
	if s == nil {
		return nil
	}
	return s.Parent()
}

// ID returns the id of the trace in hexadecimal. It is empty for a nil Span.
func (s *Span) ID() string {
	if s == nil {
		return ""
	}
	return s.otel.SpanContext().TraceID().String()
}

// decisionKey is the key of the context value with the trace id for which the sampler has decided.
type decisionKey struct{}

// generator generates the ids of spans. A new trace gets the id for which the sampler has decided,
// because other services may decide by this id too.
type generator struct{}

func (generator) NewIDs(ctx context.Context) (otel.TraceID, otel.SpanID) {
	id, is := ctx.Value(decisionKey{}).(otel.TraceID)
	if !is {
		id = newTraceID()
	}
	return id, newSpanID()
}

func (generator) NewSpanID(context.Context, otel.TraceID) otel.SpanID { return newSpanID() }

func newTraceID() (id otel.TraceID) {
	for !id.IsValid() {
		binary.NativeEndian.PutUint64(id[:8], random.Uint64())
		binary.NativeEndian.PutUint64(id[8:], random.Uint64())
	}
	return id
}

func newSpanID() (id otel.SpanID) {
	for !id.IsValid() {
		binary.NativeEndian.PutUint64(id[:], random.Uint64())
	}
	return id
}

// instanceID returns a random id of this process, which distinguishes replicas in traces.
func instanceID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never returns an error
	return hex.EncodeToString(b[:])
}
