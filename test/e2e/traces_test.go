package e2e

import (
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"kartei/test/dbtest"
	"kartei/test/waittest"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	traces "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// traceCollector is a trace collector with the official protocol definitions.
type traceCollector struct {
	testing.TB
	*httptest.Server
	mu    sync.Mutex
	bytes []byte
	spans []*traces.Span
	// resources are the resource attributes of the senders.
	resources map[string]string
	news      chan struct{} // closed at the next request
}

const collectorToken = "geheimes-wort-des-sammlers"

func newCollector(t testing.TB) *traceCollector {
	c := &traceCollector{TB: t, resources: map[string]string{}, news: make(chan struct{})}
	c.Server = httptest.NewServer(c)
	t.Cleanup(c.Close)
	return c
}

func (c *traceCollector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	var request collector.ExportTraceServiceRequest
	if err := proto.Unmarshal(body, &request); err != nil {
		c.Errorf("not the protocol: %v", err)
	}
	if r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/x-protobuf" ||
		r.Header.Get("X-Token") != collectorToken {
		c.Errorf("%s %s, %v", r.Method, r.URL.Path, r.Header)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bytes = append(c.bytes, body...)
	for _, rs := range request.ResourceSpans {
		for _, a := range rs.Resource.Attributes {
			c.resources[a.Key] = a.Value.GetStringValue()
		}
		for _, ss := range rs.ScopeSpans {
			c.spans = append(c.spans, ss.Spans...)
		}
	}
	close(c.news)
	c.news = make(chan struct{})
	answer, _ := proto.Marshal(&collector.ExportTraceServiceResponse{})
	w.Header().Set("Content-Type", "application/x-protobuf")
	w.Write(answer)
}

// until waits until find accepts a span, and returns it. what is for the failure.
func (c *traceCollector) until(what string, find func(*traces.Span) bool) *traces.Span {
	c.Helper()
	for watch := waittest.New(); ; {
		c.mu.Lock()
		news, n, spans := c.news, slices.IndexFunc(c.spans, find), len(c.spans)
		if n >= 0 {
			defer c.mu.Unlock()
			return c.spans[n]
		}
		c.mu.Unlock()
		select {
		case <-news:
		case <-watch.Stuck(spans):
			c.Fatalf("no span: %s; there are\n%s", what, c.tree())
		}
	}
}

// tree describes all spans, for failures.
func (c *traceCollector) tree() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var text strings.Builder
	for _, s := range c.spans {
		fmt.Fprintf(&text, "%x %x < %x %s %v\n", s.TraceId[:4], s.SpanId, s.ParentSpanId, s.Name, s.Attributes)
	}
	return text.String()
}

// below waits for the span with this name and parent.
func (c *traceCollector) below(parent *traces.Span, name string) *traces.Span {
	c.Helper()
	return c.until(name+" below "+parent.Name, func(s *traces.Span) bool {
		return s.Name == name && string(s.ParentSpanId) == string(parent.SpanId) &&
			string(s.TraceId) == string(parent.TraceId)
	})
}

// call waits for the span of a call. It finds the span by the Request-Id.
func (c *traceCollector) call(a *answer) *traces.Span {
	c.Helper()
	id := a.Header.Get("Request-Id")
	return c.until("the call "+id, func(s *traces.Span) bool { return attribute(s.Attributes, "kartei.request.id") == id })
}

// has reports whether a span has children.
func (c *traceCollector) has(parent *traces.Span) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.ContainsFunc(c.spans, func(s *traces.Span) bool {
		return string(s.ParentSpanId) == string(parent.SpanId)
	})
}

func attribute(list []*common.KeyValue, key string) string {
	for _, a := range list {
		if a.Key == key {
			if n, is := a.Value.Value.(*common.AnyValue_IntValue); is {
				return fmt.Sprint(n.IntValue)
			}
			return a.Value.GetStringValue()
		}
	}
	return ""
}

// traced starts a server that sends spans to the collector.
func traced(t testing.TB, c *traceCollector, environment []string, args ...string) *server {
	t.Helper()
	cmd := command(append([]string{
		"serve", "--no-metered", "--listen", "127.0.0.1:0", "--operator-listen", "127.0.0.1:0",
		"--log-format", "json",
	}, args...)...)
	cmd.Env = append(append(cmd.Env, "OTEL_EXPORTER_OTLP_ENDPOINT="+c.URL,
		"OTEL_EXPORTER_OTLP_HEADERS=X-Token="+collectorToken,
		"OTEL_SERVICE_NAME=kanzlei", "OTEL_RESOURCE_ATTRIBUTES=deployment.environment.name=pr%C3%BCfung",
		"OTEL_BSP_SCHEDULE_DELAY=20"), environment...)
	s, err := launchCommand(cmd)
	if err != nil {
		t.Fatal(err)
	}
	s.endsWith(t)
	return s
}

// tracedOffice is an office whose server sends spans. Its webhook endpoint and its names have words
// that must not occur in spans.
type tracedOffice struct {
	client
	*traceCollector
	store, flags []string
	receiver     *receiver
}

// foreign is a Traceparent header from a client.
const foreign = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

func newTracedOffice(t *testing.T, url, dir string) *tracedOffice {
	t.Helper()
	f, c := newFarm(t, map[*behaviour]int{healthy: 1}), newCollector(t)
	o := &tracedOffice{
		traceCollector: c,
		store:          []string{"--data-dir", dir, "--database-url", url},
		receiver:       f.hosts["r0.farm.test"],
	}
	o.flags = append(f.flags(), o.store...)
	s := traced(t, c, nil, o.flags...)
	with := func(args ...string) []string { return append(args, o.store...) }
	org := read[struct{ ID string }](t, with("org", "create", "Kanzlei Zwetschgendatschi", "--module", "on",
		"--secrecy", "declared", "--level", "on")...)
	user := read[struct{ ID string }](t, with("user", "create", "--org", org.ID, "--name", "Walburga Hefekranz",
		"--email", "hefekranz@marker.example", "--role", "admin")...)
	key := read[struct{ Key string }](t, with("key", "create", "--org", org.ID, "--principal", user.ID, "--env", "test",
		"--scopes", "contacts:read,contacts:write,documents:read,documents:write,webhook_endpoints:read,webhook_endpoints:write", "--ip", "127.0.0.1/32")...).Key
	o.client = client{t, s, key}
	endpoint := o.client.call("POST", "/webhook_endpoints",
		`{"name":"Topfenstrudel","url":"https://r0.farm.test/geheimpfad","eventTypes":["contact.created","document.created"]}`,
		201, "", "Idempotency-Key", "endpoint")
	o.receiver.mu.Lock()
	defer o.receiver.mu.Unlock()
	o.receiver.id, o.receiver.secret = endpoint.Text("id"), endpoint.Text("secret")
	return o
}

// TestTraces checks that a creation, its transaction, its job and its delivery are one trace. The
// spans must not contain data of clients or records.
func TestTraces(t *testing.T) {
	t.Parallel()
	dbtest.EachURL(t, func(t *testing.T, url string) {
		dir := t.TempDir()
		o := newTracedOffice(t, url, dir)
		contact := o.traceOfCreate()
		o.traceOfRefusals()
		document := o.client.document("Mohnnudeln.txt", []byte("Powidltascherl"))
		o.traceOfJob()
		o.traceOfBatch()
		o.client.server.stop(t)
		o.traceOfProxy(t)
		o.saysNothing(contact, document, dir)
	})
}

// traceOfCreate creates a contact and returns its id. The spans of the call and of the delivery
// must be one trace. The client cannot choose the id of this trace.
func (o *tracedOffice) traceOfCreate() (contact string) {
	c := o.traceCollector
	c.Helper()
	made := o.client.call("POST", "/contacts",
		`{"lastName":"Kirschmichel","email":"kirsch@marker.example","note":"Germknoedel","externalId":"M-471147"}`,
		201, "", "Idempotency-Key", "semmelknoedel", "Traceparent", foreign)
	create := c.call(made)
	if hex.EncodeToString(create.TraceId) == foreign[3:35] || len(create.ParentSpanId) != 0 {
		c.Error("a stranger chooses the trace")
	}
	if create.Name != "contacts.create" || attribute(create.Attributes, "http.route") != "/v1/contacts" ||
		attribute(create.Attributes, "http.request.method") != "POST" ||
		attribute(create.Attributes, "http.response.status_code") != "201" || create.Kind != traces.Span_SPAN_KIND_SERVER {
		c.Errorf("%v", create)
	}
	c.below(create, "authenticate")
	c.below(create, "limits")
	c.below(create, "decode")
	run := c.below(create, "run")
	write := c.below(run, "db write")
	if attribute(write.Attributes, "kartei.db.statements") == "0" || attribute(write.Attributes, "db.system.name") == "" {
		c.Errorf("%v", write)
	}
	c.until("a statement", func(s *traces.Span) bool {
		return string(s.ParentSpanId) == string(write.SpanId) && s.Kind == traces.Span_SPAN_KIND_CLIENT
	})
	delivery := c.below(create, "webhook delivery")
	if attribute(delivery.Attributes, "kartei.event.type") != "contact.created" ||
		attribute(delivery.Attributes, "http.response.status_code") != "204" {
		c.Errorf("%v", delivery)
	}
	return made.Text("id")
}

// traceOfRefusals sends calls that are refused. Their spans must not have the status error.
func (o *tracedOffice) traceOfRefusals() {
	c := o.traceCollector
	c.Helper()
	o.client.call("GET", "/contacts?q=kirschmichel+germknoedel", "", 200, "")
	o.client.call("GET", "/contacts/con_palatschinken", "", 404, "NOT_FOUND")
	o.client.call("GET", "/palatschinken", "", 404, "NOT_FOUND")
	refused := o.client.call("POST", "/contacts", `{"lastName":"x","email":"buchteln"}`, 422, "VALIDATION_FAILED",
		"Idempotency-Key", "buchteln")
	if span := c.call(refused); attribute(span.Attributes, "kartei.code") != "VALIDATION_FAILED" ||
		span.Status.GetCode() == traces.Status_STATUS_CODE_ERROR {
		c.Errorf("%v", span)
	}
}

// traceOfJob checks the spans of the job that created a document, and of the delivery after it.
func (o *tracedOffice) traceOfJob() {
	c := o.traceCollector
	c.Helper()
	job := c.until("the job", func(s *traces.Span) bool { return s.Name == "job documents.create" })
	call := c.until("the call that enqueued it", func(s *traces.Span) bool { return s.Name == "documents.create" })
	if string(job.TraceId) != string(call.TraceId) || len(job.ParentSpanId) == 0 {
		c.Errorf("the job is not part of its call's trace\n%s", c.tree())
	}
	c.below(job, "db write")
	c.until("the document's delivery", func(s *traces.Span) bool {
		return s.Name == "webhook delivery" && attribute(s.Attributes, "kartei.event.type") == "document.created" &&
			string(s.TraceId) == string(job.TraceId)
	})
}

// traceOfBatch sends a batch. Its parts have spans, but the statements of the parts have none.
func (o *tracedOffice) traceOfBatch() {
	c := o.traceCollector
	c.Helper()
	batch := o.client.call("POST", "/batch",
		`{"calls":[{"id":"a","method":"GET","path":"/contacts"},{"id":"b","method":"GET","path":"/me"}]}`, 200, "")
	whole := c.call(batch)
	part := c.until("a part", func(s *traces.Span) bool {
		return s.Name == "contacts.list" && string(s.TraceId) == string(whole.TraceId)
	})
	if read := c.below(c.below(part, "run"), "db read"); attribute(read.Attributes, "kartei.db.statements") == "0" ||
		c.has(read) {
		c.Errorf("a part of a batch counts its statements, and has no spans of them:\n%s", c.tree())
	}
	if c.resources["service.name"] != "kanzlei" || c.resources["deployment.environment.name"] != "prüfung" ||
		c.resources["service.version"] == "" {
		c.Errorf("%v", c.resources)
	}
}

// traceOfProxy starts a server behind a trusted proxy. The proxy can choose the trace of a call and
// of a tool call, and whether there is a trace. When the server ends, all spans have been sent.
func (o *tracedOffice) traceOfProxy(t *testing.T) {
	t.Helper()
	c := o.traceCollector
	s := traced(t, c, nil, append(o.flags, "--trusted-proxies", "127.0.0.0/8")...)
	o.client.server = s
	tool, err := newHTTPClient(o.client.key).call(s.URL, "POST", "/mcp",
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"me_get","arguments":{}}}`,
		"Traceparent", foreign, "MCP-Protocol-Version", "2025-11-25", "Accept", "application/json, text/event-stream")
	if err != nil || tool.Status != 200 {
		t.Fatalf("a tool: %v %v", tool, err)
	}
	for _, ours := range []*answer{o.client.call("GET", "/me", "", 200, "", "Traceparent", foreign), tool} {
		if span := c.call(ours); hex.EncodeToString(span.TraceId)+"-"+hex.EncodeToString(span.ParentSpanId) != foreign[3:52] {
			t.Errorf("the proxy's trace is not gone on with: %v", span)
		}
	}
	unsampled := o.client.call("GET", "/me", "", 200, "", "Traceparent", strings.TrimSuffix(foreign, "01")+"00")
	s.stop(t) // The end of the server sends the pending spans.
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.spans {
		if attribute(s.Attributes, "kartei.request.id") == unsampled.Header.Get("Request-Id") {
			t.Error("the proxy said that the call is not sampled")
		}
	}
}

// saysNothing checks that the spans do not contain the markers or other data of clients and
// records.
func (o *tracedOffice) saysNothing(markers ...string) {
	c := o.traceCollector
	c.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	everything := strings.ToLower(string(c.bytes))
	for _, marker := range append(markers,
		"zwetschgendatschi", "hefekranz", "marker.example", "topfenstrudel", "farm.test", "geheimpfad", "kirsch",
		"germknoedel", "471147", "semmelknoedel",
		"palatschinken", "buchteln", "mohnnudeln", "powidl", "127.0.0.1", strings.ToLower(o.key),
		strings.ToLower(o.receiver.secret), "kart_test_", "whsec_", collectorToken) {
		if strings.Contains(everything, marker) {
			c.Errorf("the spans say %q", marker)
		}
	}
}

// TestTracesOff checks that the collector gets no spans if tracing is off.
func TestTracesOff(t *testing.T) {
	t.Parallel()
	for _, off := range []string{"OTEL_SDK_DISABLED=true", "OTEL_TRACES_EXPORTER=none", "OTEL_TRACES_SAMPLER=always_off"} {
		c, dir := newCollector(t), t.TempDir()
		s := traced(t, c, []string{off}, "--data-dir", dir)
		o := found(t, "--data-dir", dir)
		client{t, s, o.Key}.call("POST", "/contacts", `{"lastName":"Berg"}`, 201, "", "Idempotency-Key", "one")
		s.stop(t)
		if len(c.spans) > 0 {
			t.Errorf("%s: %s", off, c.tree())
		}
	}
}

// TestTracesAway checks that an unreachable collector causes a single line in the log.
func TestTracesAway(t *testing.T) {
	t.Parallel()
	c, dir := newCollector(t), t.TempDir()
	c.Close()
	s := traced(t, c, []string{"OTEL_BSP_EXPORT_TIMEOUT=100"}, "--data-dir", dir)
	o := found(t, "--data-dir", dir)
	for n := range 30 {
		client{t, s, o.Key}.call("POST", "/contacts", `{"lastName":"Berg"}`, 201, "", "Idempotency-Key", fmt.Sprint(n))
	}
	s.stop(t)
	if n := strings.Count(s.Log(), "spans cannot be sent"); n != 1 {
		t.Errorf("the log says it %d times", n)
	}
}
