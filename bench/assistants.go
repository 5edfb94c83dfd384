package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
)

// mostOfGet is the highest cost of a tool that reads a contact, relative to the same read
// over REST.
const mostOfGet = 3.0

// onAssistants measures what the tool that reads a contact costs, beside the same read over
// REST, with the same key: processor time and allocations of one server, in pairs.
func (b *bench) onAssistants(ctx context.Context) error {
	places, _, end, err := b.newOffices(ctx, b.program)
	defer end()
	if err != nil {
		return err
	}
	rest := places[0]
	assistant := *rest // the same server through the other door
	c := comparison{name: "contacts_get"}
	measure := func(p *place) (cost, error) {
		const calls = 3000
		return p.cost(func() (int, error) {
			for n := range calls {
				id := p.ids[n%len(p.ids)]
				var err error
				if p == rest {
					var contact struct{ ID string }
					err = p.call("GET", "/contacts/"+id, nil, &contact)
				} else {
					err = p.tool(ctx, "contacts_get", `{"id":"`+id+`"}`)
				}
				if err != nil {
					return 0, err
				}
			}
			return calls, nil
		})
	}
	for _, p := range []*place{rest, &assistant} { // fills caches
		if _, err := measure(p); err != nil {
			return err
		}
	}
	for n := range againstPairs * b.runs {
		if err := c.pair(ctx, n, rest, &assistant, measure); err != nil {
			return err
		}
	}
	goal := fmt.Sprintf("≤ %.0f %%", 100*mostOfGet)
	return b.write(os.Stdout, []figure{
		c.cpu.figure("contacts_get: processor time", "GET /contacts/{id}", "µs", goal, mostOfGet),
		c.allocations.figure("contacts_get: allocations", "GET /contacts/{id}", "", goal, mostOfGet),
	})
}

// tool calls a tool, as a client of the older revision does.
func (p *place) tool(ctx context.Context, name, arguments string) error {
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + name + `","arguments":` + arguments + `}}`
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+p.address+"/mcp", bytes.NewReader([]byte(body)))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+p.key)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && (answer.StatusCode != http.StatusOK || !bytes.Contains(text, []byte(`"structuredContent"`))) {
		err = fmt.Errorf("%s: %s: %.300s", name, answer.Status, text)
	}
	return err
}
