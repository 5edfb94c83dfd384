package pairs

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"kartei/bench/data"
	"kartei/bench/load"
	"kartei/bench/measure"
	"kartei/bench/report"
	"kartei/bench/webhooks"
	"kartei/test/dbtest"
)

const (
	// againstPairs is the number of pairs for each call in a run.
	againstPairs = 4
	// maxRatio is the maximum ratio of the cost of a call and its cost with the other program.
	maxRatio = 1.05
	// againstConnections is the number of connections. It is small, because the scheduler decides
	// how many writes share a transaction. This number varies more on a busy machine.
	againstConnections = 4
	// Records is the number of contacts in each office.
	Records = 10_000
	// created is the number of different contacts that are created after the first Records. Half
	// a pair creates the next of them, so that contacts are rarely duplicates of each other.
	created = 20_000
)

// compare is a kind of call that is compared between two programs.
type compare struct {
	name string
	// calls is the number of calls in each half of a pair.
	calls int64
	// requests returns the requests to a server. Their responses must have the status want.
	requests func(*measure.Place) ([]string, error)
	want     int
	// each is the number of units for which the cost of a call is counted, such as records of a
	// batch. Zero means 1.
	each int
	// deliveries says that each is the number of deliveries that a call causes. A measurement then
	// ends when all deliveries have arrived.
	deliveries bool
	// search says that response times are measured, and no pairs.
	search bool
}

var (
	getCalls = compare{
		name: "get", calls: 10_000, want: http.StatusOK,
		requests: func(p *measure.Place) ([]string, error) { return p.Gets(), nil },
	}
	listCalls = compare{
		name: "list", calls: 3000, want: http.StatusOK,
		requests: func(p *measure.Place) ([]string, error) { return []string{p.Get("/contacts?limit=25")}, nil },
	}
)

// createCalls returns creations of contacts. next returns the JSON of the next n contacts that a
// server has not got.
func createCalls(next func(p *measure.Place, n int) []string) compare {
	const each = 500
	return compare{name: "create", calls: each, want: http.StatusCreated, requests: func(p *measure.Place) (list []string, err error) {
		for _, body := range next(p, each) {
			list = append(list, p.Post(body))
		}
		return list, nil
	}}
}

// compares returns the kinds of calls in the order of the table.
func compares(b *measure.Bench) []compare {
	sent := map[*measure.Place]int{}
	next := func(p *measure.Place, n int) []string {
		from := sent[p]
		sent[p] = (from + n) % created
		return b.Contents[Records+from : Records+from+n]
	}
	return []compare{
		getCalls, listCalls,
		{name: "sync", calls: 1000, want: http.StatusOK, requests: synced},
		createCalls(next),
		{name: "patch", calls: 500, want: http.StatusOK, requests: func(p *measure.Place) (list []string, err error) {
			for _, id := range p.IDs {
				list = append(list, p.Write("PATCH", "/contacts/"+id, `{"lastName":"`+load.Fresh+`"}`, "If-Match: *"))
			}
			return list, nil
		}},
		{name: "batch", calls: 50, want: http.StatusOK, requests: func(p *measure.Place) (list []string, err error) {
			for bodies := range slices.Chunk(next(p, 50*measure.InBatch), measure.InBatch) {
				list = append(list, p.Batch(bodies))
			}
			return list, nil
		}},
		{name: "delivery", calls: 50, want: http.StatusCreated, each: webhooks.Endpoints, deliveries: true,
			requests: func(p *measure.Place) ([]string, error) {
				return []string{p.Write("POST", "/companies", `{"name":"`+load.Fresh+`"}`, "Idempotency-Key: "+load.Fresh)}, nil
			}},
	}
}

// MeasurePrograms compares the program of this tree with another program. For each of the main
// calls, it measures the processor time and the allocations of the servers, in pairs. Each program
// creates its office with its own commands and calls. So neither depends on the schema of the
// other.
func MeasurePrograms(ctx context.Context, b *measure.Bench) (err error) {
	calls, err := measure.Choose(compares(b), func(c compare) string { return c.name }, b.Only)
	if err != nil {
		return err
	}
	places, r, end, err := newOffices(ctx, b, b.Other, b.Program)
	defer end()
	if err != nil {
		return err
	}
	results := make([]comparison, len(calls))
	for run := range b.Runs {
		if run > 0 {
			if err := restart(ctx, b, places, r); err != nil {
				return err
			}
		}
		if err := comparePairs(ctx, b, calls, results, places, r); err != nil {
			return err
		}
	}
	return b.Write(os.Stdout, againstFigures(b, calls, results))
}

// newOffices starts each program with a new office, and a receiver for their webhook endpoints. The
// function end stops all of them and removes their data. It must be called even after an error.
func newOffices(
	ctx context.Context, b *measure.Bench, programs ...string,
) (places []*measure.Place, r *webhooks.Receiver, end func(), err error) {
	var undo []func()
	end = func() {
		b.End() // the servers must end before their databases
		for _, f := range slices.Backward(undo) {
			f()
		}
	}
	if b.Contents, err = data.Bodies(data.Size{Records: Records + created}); err != nil {
		return nil, nil, end, err
	}
	if err := b.StartLoad(ctx); err != nil {
		return nil, nil, end, err
	}
	dir, err := os.MkdirTemp(b.Data, "run-")
	if err != nil {
		return nil, nil, end, err
	}
	undo = append(undo, func() { os.RemoveAll(dir) })
	if r, err = webhooks.StartReceiver(ctx, b, dir); err != nil {
		return nil, nil, end, err
	}
	for i, program := range programs {
		p, remove, err := startOffice(ctx, b, program, filepath.Join(dir, fmt.Sprint(i)), r)
		undo = append(undo, remove)
		if err != nil {
			return nil, nil, end, fmt.Errorf("%s: %w", program, err)
		}
		places = append(places, p)
	}
	return places, r, end, nil
}

// restart restarts the servers. During their whole life, two processes of the same program may
// differ by some percent, because of the layout of their memory.
func restart(ctx context.Context, b *measure.Bench, places []*measure.Place, r *webhooks.Receiver) (err error) {
	for _, p := range places {
		if err := b.Close(p); err != nil {
			return err
		}
		if err := again(ctx, b, p, r); err != nil {
			return err
		}
	}
	return nil
}

// again starts a server that was stopped.
func again(ctx context.Context, b *measure.Bench, p *measure.Place, r *webhooks.Receiver) error {
	started, err := b.OpenBy(ctx, p.Office, p.Server.Program(), nil, r.Flags(webhooks.Endpoints)...)
	if err != nil {
		return err
	}
	p.Server = started.Server
	return nil
}

// comparePairs measures the pairs of a run.
func comparePairs(
	ctx context.Context, b *measure.Bench, calls []compare, results []comparison, places []*measure.Place, r *webhooks.Receiver,
) error {
	for i, c := range calls { // reads come first, before anything is written
		results[i].name = c.name
		half := func(p *measure.Place) (cost, error) { return costOfCalls(ctx, b, c, p, r) }
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

func againstFigures(b *measure.Bench, calls []compare, results []comparison) (list []report.Figure) {
	for i, c := range calls {
		r := &results[i]
		list = append(list, r.cpu.figure(c.name+": processor time", "before", "µs", "≤ 105 %", maxRatio),
			r.allocations.figure(c.name+": allocations", "before", "", "≤ 105 %", maxRatio))
		if b.Postgres {
			list = append(list, r.database.figure(c.name+": processor time of PostgreSQL", "before", "µs", "≤ 105 %", maxRatio))
		}
	}
	return list
}

// costOfCalls measures half of a pair: the calls to one server.
func costOfCalls(
	ctx context.Context, b *measure.Bench, c compare, p *measure.Place, to *webhooks.Receiver,
) (cost, error) {
	requests, err := c.requests(p)
	if err != nil {
		return cost{}, err
	}
	return perCall(ctx, p, func() (int, error) {
		r, err := b.Send(&load.Job{
			Address: p.Address, Connections: againstConnections, Requests: requests, Want: c.want, Count: c.calls,
		})
		if err != nil {
			return r.Sent * max(1, c.each), err
		}
		if c.deliveries {
			err = to.Await(ctx, r.Sent*c.each)
		}
		return r.Sent * max(1, c.each), err
	})
}

// startOffice starts a program with new data, and creates an office with contacts and webhook
// endpoints. The function remove removes everything but the server.
func startOffice(
	ctx context.Context, b *measure.Bench, program, dir string, r *webhooks.Receiver,
) (p *measure.Place, remove func(), err error) {
	remove = func() {}
	o, database := &data.Office{Dir: dir, URL: data.Database(dir), Records: b.Records}, 0
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, remove, err
	}
	if b.Postgres {
		s, err := dbtest.NewServer("max_connections=100", "shared_buffers=512MB", "max_wal_size=4GB")
		if err != nil {
			return nil, remove, err
		}
		o.URL, database, remove = s.URL(), s.Pid(), s.Remove
	}
	if p, err = b.OpenBy(ctx, o, program, nil, r.Flags(webhooks.Endpoints)...); err != nil {
		return nil, remove, err
	}
	p.Database = database
	if p.Key, err = newKey(ctx, p, program); err != nil {
		return nil, remove, err
	}
	for i := range webhooks.Endpoints {
		var made struct{ ID string }
		if err := p.Call("POST", "/webhook_endpoints",
			map[string]any{
				"name":       "bench",
				"url":        fmt.Sprintf("https://r%d.bench.test/", i),
				"eventTypes": []string{"company.created"},
			}, &made); err != nil {
			return nil, remove, err
		}
	}
	return p, remove, fillByCalls(b, p)
}

// newKey creates an organization with an admin and a member, and returns the member's key.
func newKey(ctx context.Context, p *measure.Place, program string) (string, error) {
	command := func(answer any, arguments ...string) error {
		arguments = append(arguments, "--data-dir", p.Dir, "--database-url", p.URL, "--json")
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

// fillByCalls creates the contacts over the API in batches, and selects the contacts to read. It
// uses one connection, so that the search indexes of both offices get the same segments.
func fillByCalls(b *measure.Bench, p *measure.Place) error {
	var batches []string
	for bodies := range slices.Chunk(b.Contents[:p.Records], measure.InBatch) {
		batches = append(batches, p.Batch(bodies))
	}
	if _, err := b.Send(&load.Job{
		Address: p.Address, Connections: 1, Requests: batches, Want: http.StatusOK,
		Count: int64(p.Records / measure.InBatch),
	}); err != nil {
		return err
	}
	for path := "/contacts?limit=100"; path != "" && len(p.IDs) < 1000; {
		var page struct {
			Data       []struct{ ID, UpdatedAt string }
			HasMore    bool
			NextCursor string
		}
		if err := p.Call("GET", path, nil, &page); err != nil {
			return err
		}
		for _, c := range page.Data {
			p.IDs, p.Since = append(p.IDs, c.ID), c.UpdatedAt
		}
		if path = ""; page.HasMore {
			path = "/contacts?limit=100&cursor=" + page.NextCursor
		}
	}
	return nil
}

// synced returns the request of a client that synchronizes contacts: the next hundred changes.
func synced(p *measure.Place) ([]string, error) {
	return []string{p.Get("/contacts?limit=100&includeDeleted=true&updatedSince=" + url.QueryEscape(p.Since))}, nil
}
