// Package webhooks owns how fast deliveries of webhooks are, and what calls wait while a backlog drains.
package webhooks

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"kartei/api/op"
	"kartei/bench/data"
	"kartei/bench/load"
	"kartei/bench/measure"
	"kartei/bench/process"
	"kartei/bench/report"
	"kartei/kit/clock"
	"kartei/record/contact"
	"kartei/store/db"
	"kartei/store/db/open"
	"kartei/test/dbtest"
)

// Names of the series of webhooks.
const (
	postHooks    = "deliveries, bare loop"
	deliverHooks = "deliveries"
	calmGet      = "get, nothing to deliver"
	busyGet      = "get, a backlog drains"
)

const (
	// hookEvents is the number of events with which the delay of a first attempt is measured.
	hookEvents = 100
)

// Measure measures deliveries to a TLS receiver: the delay between the commit of an event and its
// arrival, without other load. It also measures the rate at which a backlog is delivered, compared
// with a loop that signs and posts the same bytes. The third value is the duration of calls
// meanwhile.
func Measure(ctx context.Context, b *measure.Bench) (err error) {
	dir, err := os.MkdirTemp(b.Data, "run-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	h := &backlog{Bench: b, dir: dir, url: data.Database(dir)}
	if b.Postgres {
		s, err := dbtest.NewServer("max_connections=100", "shared_buffers=512MB", "max_wal_size=4GB")
		if err != nil {
			return err
		}
		defer s.Remove()
		h.url, h.database = s.URL(), s.Pid()
	}
	defer b.End() // the server must end before its database
	for _, step := range []func(context.Context) error{h.prepare, h.firstAttempts, h.calm, h.fill, h.bareLoop, h.drain} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	idle := report.Median(h.idle)
	list := []report.Figure{
		b.Against("deliveries a second, each with its row in the log", deliverHooks, postHooks,
			"a bare loop that signs and posts", 0.30),
		{
			What: "first attempt after the commit, nothing else to do, median", Goal: "< 100 ms",
			Measured: fmt.Sprintf("%.1f ms", idle),
			Value:    idle / 100, Reached: idle < 100,
		},
	}
	for _, n := range []int{1, 16} {
		calm, busy := b.Median(measure.WithClients(calmGet, n), measure.P99), b.Median(measure.WithClients(busyGet, n), measure.P99)
		list = append(list, report.Figure{
			What: fmt.Sprintf("GET /contacts/{id} while a backlog drains, connections: %d, p99", n), Goal: "< 200 %",
			Measured: fmt.Sprintf("%.2f ms", busy),
			Limit:    fmt.Sprintf("without: %.2f ms", calm), Value: busy / calm, Reached: busy < 2*calm,
		})
	}
	return b.Write(os.Stdout, list)
}

// backlog is an office with many deliveries that wait.
type backlog struct {
	*measure.Bench
	dir, url string
	database int
	key      string
	receiver *Receiver
	loop     *process.Helper
	place    *measure.Place
	contact  string
	body     string    // body of a delivery
	idle     []float64 // delays of first attempts in milliseconds
}

// prepare creates the office, starts all processes, and creates the endpoints.
func (h *backlog) prepare(ctx context.Context) (err error) {
	d, f, err := data.Found(ctx, h.url, db.Options{})
	if err != nil {
		return err
	}
	h.key = f.Key
	if err := d.Close(); err != nil {
		return err
	}
	if err := h.StartLoad(ctx); err != nil {
		return err
	}
	if h.receiver, err = StartReceiver(ctx, h.Bench, h.dir); err != nil {
		return err
	}
	if h.loop, err = h.Helper(ctx, "deliver"); err != nil {
		return err
	}
	if err := h.start(ctx); err != nil {
		return err
	}
	var made struct{ ID string }
	if err := h.place.Call("POST", "/contacts", map[string]any{"lastName": "Morgenstern"}, &made); err != nil {
		return err
	}
	h.contact = made.ID
	for i := range Endpoints + 1 {
		types := []string{"contact.created"}
		if i == Endpoints {
			types = []string{"company.created"}
		}
		if err := h.place.Call("POST", "/webhook_endpoints",
			map[string]any{"name": "bench", "url": fmt.Sprintf("https://r%d.bench.test/", i), "eventTypes": types},
			&made); err != nil {
			return err
		}
	}
	return nil
}

// start starts the server. All endpoints lead to the same receiver.
func (h *backlog) start(ctx context.Context) (err error) {
	o := &data.Office{Dir: h.dir, URL: h.url, Key: h.key}
	if h.place, err = h.Open(ctx, o, h.receiver.Flags(Endpoints+1)...); err != nil {
		return err
	}
	h.place.Database = h.database
	return nil
}

// stop ends the server.
func (h *backlog) stop() error { return h.Close(h.place) }

func (h *backlog) received() (r receiverReport, err error) {
	return r, h.receiver.Ask(struct{}{}, &r)
}

// firstAttempts makes changes one after another and measures the delay of each delivery.
func (h *backlog) firstAttempts(ctx context.Context) error {
	if _, err := h.received(); err != nil {
		return err
	}
	for i := range hookEvents {
		var made struct{ ID string }
		if err := h.place.Call("POST", "/companies", map[string]any{"name": fmt.Sprintf("Firma %d", i)},
			&made); err != nil {
			return err
		}
		for seen := 0; seen == 0; {
			if err := ctx.Err(); err != nil {
				return err
			}
			time.Sleep(50 * time.Millisecond) // long enough that the next event is delivered alone
			r, err := h.received()
			if err != nil {
				return err
			}
			seen += r.Requests
			h.idle = append(h.idle, r.After...)
			if r.Last != "" {
				h.body = r.Last
			}
		}
	}
	report.Say("first attempt after the commit: median %.1f ms", report.Median(h.idle))
	return nil
}

// calm measures calls while nothing is to be delivered.
func (h *backlog) calm(ctx context.Context) error { return h.gets(ctx, calmGet) }

// gets measures reads of a contact as series with the given name.
func (h *backlog) gets(ctx context.Context, name string) error {
	p := h.place
	h.Series = nil
	for _, n := range []int{1, 16} {
		h.Add(measure.WithClients(name, n), p.Target(), n, []string{p.Get("/contacts/" + h.contact)})
	}
	return h.Round(ctx, 0)
}

// fill creates the backlog while no server runs.
func (h *backlog) fill(ctx context.Context) error {
	if err := h.stop(); err != nil {
		return err
	}
	d, f, err := data.Found(ctx, h.url, db.Options{NoSync: true})
	if err != nil {
		return err
	}
	defer d.Close()
	call := &op.Call{
		Actor: f.Actor, Now: clock.Now(clock.System),
		Services: &op.Services{Families: []op.Family{contact.Contacts.Family}},
	}
	for from := 0; from < h.contacts(); from += 1000 {
		err := d.Write(ctx, func(tx db.Tx) error {
			call.Tx = tx
			for i := from; i < min(from+1000, h.contacts()); i++ {
				name := fmt.Sprintf("Rückstand %d", i)
				if _, err := contact.Contacts.Create(ctx, call, &contact.Fields{LastName: &name}); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// contacts returns the number of contacts for the backlog.
func (h *backlog) contacts() int { return (h.Webhooks + Endpoints - 1) / Endpoints }

// bareLoop measures the baseline.
func (h *backlog) bareLoop(context.Context) error {
	var r load.Result
	if err := h.loop.Ask(postJob{h.receiver.address, h.receiver.CA, h.body, h.Time()}, &r); err != nil {
		return err
	}
	report.Say("%-38s %8.0f/s", postHooks, r.PerSecond)
	h.Results[postHooks] = append(h.Results[postHooks], r)
	_, err := h.received()
	return err
}

// drain delivers the backlog: first without calls, then during calls, and then to its end.
// Afterwards it checks that the log has a row for each received request.
func (h *backlog) drain(ctx context.Context) error {
	if err := h.start(ctx); err != nil {
		return err
	}
	begin, total := time.Now(), 0
	wait := func(enough func() bool) error {
		for quiet := time.Now(); !enough(); time.Sleep(10 * time.Millisecond) {
			r, err := h.received()
			if err != nil {
				return err
			}
			if total += r.Requests; r.Requests > 0 {
				quiet = time.Now()
			}
			if time.Since(quiet) > time.Minute || ctx.Err() != nil {
				return fmt.Errorf("only %d of %d deliveries arrived", total, h.size())
			}
		}
		return nil
	}
	// After a tenth of the deliveries, each endpoint has its connections.
	if err := wait(func() bool { return total > h.size()/10 }); err != nil {
		return err
	}
	if h.Profile != "" {
		if err := h.place.Profile(filepath.Join(h.Profile, "deliveries.pprof")); err != nil {
			return err
		}
	}
	before, since := total, time.Now()
	if err := wait(func() bool { return time.Since(since) > h.Time() }); err != nil {
		return err
	}
	r := load.Result{Answers: total - before, PerSecond: float64(total-before) / time.Since(since).Seconds()}
	h.Results[deliverHooks] = append(h.Results[deliverHooks], r)
	report.Say("%-38s %8.0f/s", deliverHooks, r.PerSecond)
	if total >= h.size()/2 {
		report.Say("the backlog is nearly drained before calls are measured: take a larger one, or fewer --seconds")
	}
	if err := h.gets(ctx, busyGet); err != nil {
		return err
	}
	if err := wait(func() bool { return total >= h.size() }); err != nil {
		return err
	}
	report.Say("%s deliveries in %s; memory (RssAnon) of the server at most %.0f MB", report.Number(float64(total)),
		time.Since(begin).Round(time.Second), h.place.Memory.Take())
	if err := h.stop(); err != nil { // the end of the server stores the last attempts
		return err
	}
	rows, err := h.logged(ctx)
	if err != nil {
		return err
	}
	if rows != total {
		return fmt.Errorf("%d deliveries arrived, but the log has %d", total, rows)
	}
	return nil
}

func (h *backlog) size() int { return h.contacts() * Endpoints }

// logged returns the number of rows about contacts in the log of deliveries.
func (h *backlog) logged(ctx context.Context) (n int, err error) {
	d, err := open.Database(ctx, h.url, db.Options{})
	if err != nil {
		return 0, err
	}
	err = d.Read(ctx, func(tx db.Tx) error {
		return tx.QueryRow(ctx, "select count(*) from webhook_attempts where event_type = 'contact.created' and status = 'succeeded'").Scan(&n)
	})
	return n, errors.Join(err, d.Close())
}
