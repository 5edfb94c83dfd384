package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"kartei/test/dbtest"
)

const (
	// againstPairs is the number of pairs that each call has in one run.
	againstPairs = 4
	// maxRatio is the highest allowed cost of a call, relative to its cost
	// with the other program.
	maxRatio = 1.05
	// againstConnections is small, because the scheduler decides how many
	// writes share a transaction. On a busy machine this number varies more.
	againstConnections = 4
	// againstRecords is the number of contacts in each office.
	againstRecords = 10_000
	// againstBodies is the number of different contacts to send.
	againstBodies = 500
)

// compare is one kind of call that is compared between two programs.
type compare struct {
	name string
	// calls is the number of calls in each half of a pair.
	calls int64
	// requests returns the requests to a server, which answers them with want.
	requests func(*place) ([]string, error)
	want     int
	// each is the number of counted units that one call causes; 0 stands for 1.
	each int
	// deliveries is true if each counts the deliveries that a call causes. A
	// measurement then ends when all have arrived.
	deliveries bool
}

// compares are the calls in the order of the table.
func (b *bench) compares() []compare {
	path := func(path string) func(*place) ([]string, error) {
		return func(p *place) ([]string, error) { return []string{p.get(path)}, nil }
	}
	return []compare{
		{
			name: "get", calls: 10_000, want: http.StatusOK,
			requests: func(p *place) ([]string, error) { return p.gets(), nil },
		},
		{name: "list", calls: 3000, want: http.StatusOK, requests: path("/contacts?limit=25")},
		{name: "sync", calls: 1000, want: http.StatusOK, requests: synced},
		{name: "create", calls: 500, want: http.StatusCreated, requests: func(p *place) (list []string, err error) {
			for _, body := range b.contents {
				list = append(list, p.post(body))
			}
			return list, nil
		}},
		{name: "patch", calls: 500, want: http.StatusOK, requests: func(p *place) (list []string, err error) {
			for _, id := range p.ids {
				list = append(list, p.write("PATCH", "/contacts/"+id, `{"lastName":"`+fresh+`"}`, "If-Match: *"))
			}
			return list, nil
		}},
		{name: "batch", calls: 50, want: http.StatusOK, requests: func(p *place) (list []string, err error) {
			for bodies := range slices.Chunk(b.contents, inBatch) {
				list = append(list, p.batch(bodies))
			}
			return list, nil
		}},
		{name: "delivery", calls: 50, want: http.StatusCreated, each: hookEndpoints, deliveries: true,
			requests: func(p *place) ([]string, error) {
				return []string{p.write("POST", "/companies", `{"name":"`+fresh+`"}`, "Idempotency-Key: "+fresh)}, nil
			}},
	}
}

// onAgainst compares the program of this tree with another one. For each of the
// main calls it measures processor time and allocations of the server, in
// pairs. Each program creates its office with its own commands and calls, so
// neither depends on the schema of the other.
func (b *bench) onAgainst(ctx context.Context) (err error) {
	calls, err := choose(b.compares(), func(c compare) string { return c.name }, b.only)
	if err != nil {
		return err
	}
	places, r, end, err := b.newOffices(ctx, b.other, b.program)
	defer end()
	if err != nil {
		return err
	}
	results := make([]comparison, len(calls))
	for run := range b.runs {
		if run > 0 {
			if err := b.restart(ctx, places, r); err != nil {
				return err
			}
		}
		if err := b.comparePairs(ctx, calls, results, places, r); err != nil {
			return err
		}
	}
	return b.write(os.Stdout, b.againstFigures(calls, results))
}

// newOffices starts each program on an office of its own, and a receiver for their
// endpoints. end ends all of them and removes their data, also after an error.
func (b *bench) newOffices(
	ctx context.Context, programs ...string,
) (places []*place, r *receiver, end func(), err error) {
	var undo []func()
	end = func() {
		b.end() // the servers end before their databases
		for _, f := range slices.Backward(undo) {
			f()
		}
	}
	if b.contents, err = bodies(againstBodies); err != nil {
		return nil, nil, end, err
	}
	if b.load, err = b.helper(ctx, "load"); err != nil {
		return nil, nil, end, err
	}
	dir, err := os.MkdirTemp(b.data, "run-")
	if err != nil {
		return nil, nil, end, err
	}
	undo = append(undo, func() { os.RemoveAll(dir) })
	if r, err = startReceiver(ctx, b, dir); err != nil {
		return nil, nil, end, err
	}
	for i, program := range programs {
		p, remove, err := b.startOffice(ctx, program, filepath.Join(dir, fmt.Sprint(i)), r)
		undo = append(undo, remove)
		if err != nil {
			return nil, nil, end, fmt.Errorf("%s: %w", program, err)
		}
		places = append(places, p)
	}
	return places, r, end, nil
}

// restart restarts the servers. Two processes of the same program may differ by
// some percent during their whole life, because of the layout of their memory.
func (b *bench) restart(ctx context.Context, places []*place, r *receiver) (err error) {
	for _, p := range places {
		if err := p.server.end(); err != nil {
			return err
		}
		if err := b.again(ctx, p, r); err != nil {
			return err
		}
	}
	return nil
}

// again starts a server that has ended.
func (b *bench) again(ctx context.Context, p *place, r *receiver) (err error) {
	b.servers = slices.DeleteFunc(b.servers, func(s *server) bool { return s == p.server })
	if p.server, err = serve(ctx, p.server.program(), p.dir, p.url, false, r.flags(hookEndpoints)...); err != nil {
		return err
	}
	b.servers = append(b.servers, p.server)
	return nil
}

// comparePairs measures the pairs of one run.
func (b *bench) comparePairs(
	ctx context.Context, calls []compare, results []comparison, places []*place, r *receiver,
) error {
	for i, c := range calls { // reads come first, before anything is written
		results[i].name = c.name
		half := func(p *place) (cost, error) { return b.calls(ctx, c, p, r) }
		for _, p := range places { // fills caches, pools and prepared statements
			if _, err := half(p); err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
		}
		for n := range againstPairs {
			if err := results[i].pair(ctx, n, places[0], places[1], half); err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
		}
	}
	return nil
}

func (b *bench) againstFigures(calls []compare, results []comparison) (list []figure) {
	for i, c := range calls {
		r := &results[i]
		list = append(list, r.cpu.figure(c.name+": processor time", "before", "µs", "≤ 105 %", maxRatio),
			r.allocations.figure(c.name+": allocations", "before", "", "≤ 105 %", maxRatio))
		if b.postgres {
			list = append(list, r.database.figure(c.name+": processor time of PostgreSQL", "before", "µs", "≤ 105 %", maxRatio))
		}
	}
	return list
}

// calls measures one half of a pair.
func (b *bench) calls(ctx context.Context, c compare, p *place, to *receiver) (cost, error) {
	requests, err := c.requests(p)
	if err != nil {
		return cost{}, err
	}
	return p.cost(func() (int, error) {
		var r result
		err := b.load.ask(load{
			Address: p.address, Connections: againstConnections, Requests: requests, Want: c.want, Count: c.calls,
		}, &r)
		if err != nil {
			return r.Sent * max(1, c.each), err
		}
		if r.Failures > 0 {
			err = errors.New(r.Failure)
		}
		if err != nil {
			return r.Sent * max(1, c.each), err
		}
		if c.deliveries {
			err = to.await(ctx, r.Sent*c.each)
		}
		return r.Sent * max(1, c.each), err
	})
}

// startOffice starts a program on new data and creates an office there with
// contacts and endpoints. remove removes everything but the server.
func (b *bench) startOffice(
	ctx context.Context, program, dir string, r *receiver,
) (p *place, remove func(), err error) {
	remove = func() {}
	p = &place{office: &office{dir: dir, url: database(dir), records: b.records}}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, remove, err
	}
	if b.postgres {
		s, err := dbtest.NewServer("max_connections=100", "shared_buffers=512MB", "max_wal_size=4GB")
		if err != nil {
			return nil, remove, err
		}
		p.url, p.database, remove = s.URL(), s.Pid(), s.Remove
	}
	if p.server, err = serve(ctx, program, dir, p.url, false, r.flags(hookEndpoints)...); err != nil {
		return nil, remove, err
	}
	b.servers = append(b.servers, p.server)
	if p.key, err = p.newKey(ctx, program); err != nil {
		return nil, remove, err
	}
	for i := range hookEndpoints {
		var made struct{ ID string }
		if err := p.call("POST", "/webhook_endpoints",
			map[string]any{
				"name":       "bench",
				"url":        fmt.Sprintf("https://r%d.bench.test/", i),
				"eventTypes": []string{"company.created"},
			}, &made); err != nil {
			return nil, remove, err
		}
	}
	return p, remove, b.fillByCalls(p)
}

// newKey creates an organization with an administrator and a member. It returns
// the member's key.
func (p *place) newKey(ctx context.Context, program string) (string, error) {
	command := func(answer any, arguments ...string) error {
		arguments = append(arguments, "--data-dir", p.dir, "--database-url", p.url, "--json")
		c := exec.CommandContext(ctx, program, arguments...)
		var failure bytes.Buffer
		c.Stderr = &failure
		out, err := c.Output()
		if err != nil {
			return fmt.Errorf("%s: %w: %s", arguments[:2], err, &failure)
		}
		return json.Unmarshal(out, answer)
	}
	var organization, member struct{ ID string }
	if err := command(&organization, "org", "create", "Kanzlei Beispiel", "--module", "on", "--secrecy", "declared",
		"--level", "on"); err != nil {
		return "", err
	}
	for _, role := range []string{"admin", "member"} {
		if err := command(&member, "user", "create", "--org", organization.ID, "--name", "Anna Berg", "--email",
			role+"@example.com", "--role", role); err != nil {
			return "", err
		}
	}
	var key struct{ Key string }
	err := command(&key, "key", "create", "--org", organization.ID, "--principal", member.ID, "--env", "test", "--ip",
		"127.0.0.1/32",
		"--scopes", "contacts:read,contacts:write,companies:read,companies:write,webhook_endpoints:read,webhook_endpoints:write")
	return key.Key, err
}

// fillByCalls creates the contacts over the API, in batches, and picks the
// contacts to read. It uses one connection, so that both search indexes get the
// same segments.
func (b *bench) fillByCalls(p *place) error {
	var batches []string
	for bodies := range slices.Chunk(b.contents, inBatch) {
		batches = append(batches, p.batch(bodies))
	}
	var r result
	err := b.load.ask(load{
		Address: p.address, Connections: 1, Requests: batches, Want: http.StatusOK,
		Count: int64(p.records / inBatch),
	}, &r)
	if err != nil {
		return err
	}
	if r.Failures > 0 {
		return errors.New(r.Failure)
	}
	for path := "/contacts?limit=100"; path != "" && len(p.ids) < 1000; {
		var page struct {
			Data       []struct{ ID, UpdatedAt string }
			HasMore    bool
			NextCursor string
		}
		if err := p.call("GET", path, nil, &page); err != nil {
			return err
		}
		for _, c := range page.Data {
			p.ids, p.since = append(p.ids, c.ID), c.UpdatedAt
		}
		if path = ""; page.HasMore {
			path = "/contacts?limit=100&cursor=" + page.NextCursor
		}
	}
	return nil
}

// synced returns the request of a client that follows the changes of contacts
// and asks for the next hundred.
func synced(p *place) ([]string, error) {
	return []string{p.get("/contacts?limit=100&includeDeleted=true&updatedSince=" + url.QueryEscape(p.since))}, nil
}
