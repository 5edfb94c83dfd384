package pairs

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"kartei/bench/measure"
	"kartei/bench/process"
	"kartei/bench/report"
)

// maxGetRatio is the maximum ratio of the cost of a tool that reads a contact and the cost of the
// same read over REST.
const maxGetRatio = 3.0

// maxMemory is the maximum memory that a call of this tool may allocate, in bytes.
const maxMemory = 64 << 10

// MeasureAssistants measures the cost of an assistant's calls, compared with the read of a contact
// over REST with the same key. The cost is the processor time and the allocations of one server, in
// pairs, and the memory of a call.
func MeasureAssistants(ctx context.Context, b *measure.Bench) error {
	places, _, end, err := newOffices(ctx, b, b.Program)
	defer end()
	if err != nil {
		return err
	}
	rest := places[0]
	assistant := *rest // the same server, over MCP
	var rows []report.Figure
	for _, q := range []question{
		{"tools/call", `{"name":"contacts_get","arguments":{"id":"{id}"}}`, true},
		{"tools/list", `{}`, false},
		{"resources/read", `{"uri":"kartei://contacts/{id}"}`, false},
	} {
		some, err := costOf(ctx, b, q, rest, &assistant)
		if err != nil {
			return err
		}
		rows = append(rows, some...)
	}
	return b.Write(os.Stdout, rows)
}

// question is a request that an assistant repeats.
type question struct {
	method, params string // {id} stands for the id of a contact
	goals          bool
}

// costOf returns the figures of a question: its processor time, allocations and memory.
func costOf(
	ctx context.Context, b *measure.Bench, q question, rest, assistant *measure.Place,
) ([]report.Figure, error) {
	const calls = 3000
	half := func(p *measure.Place) (cost, error) {
		return perCall(ctx, p, func() (int, error) {
			for n := range calls {
				id := p.IDs[n%len(p.IDs)]
				var err error
				if p == rest {
					var contact struct{ ID string }
					err = p.Call("GET", "/contacts/"+id, nil, &contact)
				} else {
					err = ask(ctx, p, q.method, strings.ReplaceAll(q.params, "{id}", id))
				}
				if err != nil {
					return 0, err
				}
			}
			return calls, nil
		})
	}
	for _, p := range []*measure.Place{rest, assistant} { // fills caches
		if _, err := half(p); err != nil {
			return nil, err
		}
	}
	c := comparison{name: q.method}
	for n := range againstPairs * b.Runs {
		if err := c.pair(ctx, n, rest, assistant, half); err != nil {
			return nil, err
		}
	}
	memory, err := memoryOf(rest.Server, func() error { _, err := half(assistant); return err })
	if err != nil {
		return nil, err
	}
	memory /= calls
	row := report.Figure{
		What: q.method + ": memory of a call", Measured: fmt.Sprintf("%.1f KiB", memory/1024),
		Value: memory / maxMemory, Reached: true,
	}
	goal, limit := "", 0.0
	if q.goals {
		goal, limit = fmt.Sprintf("≤ %.0f %%", 100*maxGetRatio), maxGetRatio
		row.Goal, row.Reached = fmt.Sprintf("≤ %d KiB", maxMemory>>10), memory <= maxMemory
	}
	const base = "GET /contacts/{id}"
	return []report.Figure{
		c.cpu.figure(q.method+": processor time", base, "µs", goal, limit),
		c.allocations.figure(q.method+": allocations", base, "", "", 0), row,
	}, nil
}

// memoryOf returns the number of bytes that a server allocates while work runs.
func memoryOf(s *process.Server, work func() error) (float64, error) {
	before, err := s.Metric("go_memstats_alloc_bytes_total")
	if err != nil {
		return 0, err
	}
	if err = work(); err != nil {
		return 0, err
	}
	after, err := s.Metric("go_memstats_alloc_bytes_total")
	return after - before, err
}

// ask sends an MCP request, as a client of the older protocol revision does.
func ask(ctx context.Context, p *measure.Place, method, params string) error {
	body := `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + params + `}`
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+p.Address+"/mcp", strings.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+p.Key)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK || !bytes.Contains(text, []byte(`"result"`)) {
		return fmt.Errorf("%s: %s: %.300s", method, answer.Status, text)
	}
	return nil
}
