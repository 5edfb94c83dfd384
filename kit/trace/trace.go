// Package trace owns the spans of calls, statements, jobs and deliveries, for operators with a collector.
//
// A nil Tracer traces nothing, and a nil Span notes nothing, so callers need no
// conditions. A call that is not sampled has no span in its context. Code below
// it finds no span, which costs one look-up.
//
// A span never holds data of clients or records: no names, addresses, queries,
// bodies, parameters of statements or texts of errors. It holds names from the
// source code (operations, tables, kinds of jobs, codes), numbers, and opaque
// ids of requests, jobs, events and endpoints.
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

// Tracer begins traces.
type Tracer struct {
	tracer otel.Tracer
	// sampler is asked here. The library would make a span and a context for
	// every call before it asks.
	sampler  sdk.Sampler
	exporter *exporter
	stop     func(context.Context) error
}

// Kind is the side of a call that a span belongs to.
type Kind = otel.SpanKind

// The kinds of spans.
const (
	Internal = otel.SpanKindInternal
	Server   = otel.SpanKindServer
	Client   = otel.SpanKindClient
	Consumer = otel.SpanKindConsumer
)

// Span is one step of a trace. Its methods work on nil.
type Span struct {
	tracer *Tracer
	otel   otel.Span
	ctx    context.Context // parent of its children, for the library
	// A coarse span and its children count statements and make no spans for
	// them.
	coarse     bool
	statements atomic.Int64
}

// The options of starting spans are made once, because each would cost two
// allocations.
var kinds = map[Kind][]otel.SpanStartOption{
	Internal: {otel.WithSpanKind(Internal)}, Server: {otel.WithSpanKind(Server)},
	Client: {otel.WithSpanKind(Client)}, Consumer: {otel.WithSpanKind(Consumer)},
}

// Begin begins a span without a parent in this process. parent is a result of
// Span.Parent, or the traceparent header of a trusted caller (W3C Trace
// Context). If it is empty or malformed, a new trace begins. Begin returns nil
// if the trace is not sampled.
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

// Continue is like Begin for work that a call asked for. It returns nil if that
// call was not traced.
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

// parse parses a traceparent. A malformed one gives no parent.
func parse(parent string) otel.SpanContext {
	ctx := propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{"traceparent": parent})
	return otel.SpanContextFromContext(ctx)
}

type key struct{}

// Within returns a context that carries the span; for nil, ctx itself.
func Within(ctx context.Context, s *Span) context.Context {
	if s == nil {
		return ctx
	}
	return context.WithValue(ctx, key{}, s)
}

// Of returns the span that a context carries, or nil.
func Of(ctx context.Context) *Span {
	s, _ := ctx.Value(key{}).(*Span)
	return s
}

// Child begins a span below this one.
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

// Statement begins the span of a statement, with its first word and table.
// count is the number of statements that are sent together.
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

// Statements returns the number of statements below the span.
func (s *Span) Statements() int64 {
	if s == nil {
		return 0
	}
	return s.statements.Load()
}

// Coarse makes the span only count the statements below it.
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

// Texts sets several text attributes, in pairs of name and value. Empty values
// are left out.
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

// Text sets a text attribute. It must be a name from the source code or an
// opaque id.
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

// Event adds an event at the present time.
func (s *Span) Event(name string) {
	if s != nil {
		s.otel.AddEvent(name)
	}
}

// Fail marks the span as failed. The kind is a code, never the text of an error,
// which may repeat what a client sent.
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

// Parent returns the span in the form that Begin takes (traceparent of W3C
// Trace Context); empty for nil.
func (s *Span) Parent() string {
	if s == nil {
		return ""
	}
	c := s.otel.SpanContext()
	return "00-" + c.TraceID().String() + "-" + c.SpanID().String() + "-" + c.TraceFlags().String()
}

// Stored is Parent as a parameter of a statement: NULL without a span.
func (s *Span) Stored() any {
	if s == nil {
		return nil
	}
	return s.Parent()
}

// ID returns the trace's id; empty for nil.
func (s *Span) ID() string {
	if s == nil {
		return ""
	}
	return s.otel.SpanContext().TraceID().String()
}

// decisionKey is the context key of the trace id for which the sampler decided.
type decisionKey struct{}

// generator makes the ids of spans. A trace keeps the id for which the sampler
// decided, because other services may decide by the same id.
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

// instanceID returns a random name for this run. It distinguishes replicas
// without the names of machines.
func instanceID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // it never fails
	return hex.EncodeToString(b[:])
}
