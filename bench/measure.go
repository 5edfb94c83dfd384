package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// bench is one run of all measurements.
type bench struct {
	options
	large, small *place
	load, insert *helper
	series       []series
	contents     []string
	results      map[string][]result
	memory       []float64 // the peak of each round, in MB
	offices      []*office
	servers      []*server
	helpers      []*helper
}

// place is an office with its server.
type place struct {
	*office
	*server
	database int // see target
}

// series is one measurement that every round repeats.
type series struct {
	name string
	of   target
	run  func() (result, error)
}

// start prepares offices, servers, limits and loads.
func (b *bench) start(ctx context.Context) (err error) {
	if b.large, err = b.open(ctx, b.records); err != nil {
		return err
	}
	if b.records > small {
		if b.small, err = b.open(ctx, small); err != nil {
			return err
		}
	}
	if b.contents, err = bodies(2000); err != nil {
		return err
	}
	if b.load, err = b.helper(ctx, "load"); err != nil {
		return err
	}
	if b.insert, err = b.helper(ctx, "insert"); err != nil {
		return err
	}
	one, err := b.large.fetch("/contacts/" + b.large.ids[0])
	if err != nil {
		return err
	}
	page, err := b.large.fetch("/contacts?limit=25")
	if err != nil {
		return err
	}
	bareGet, err := b.bare(ctx, one)
	if err != nil {
		return err
	}
	bareList, err := b.bare(ctx, page)
	if err != nil {
		return err
	}
	return b.plan(bareGet, bareList)
}

func (b *bench) open(ctx context.Context, records int) (*place, error) {
	say("%d contacts: preparing a copy in %s", records, b.data)
	o, err := prepare(ctx, b.data, records)
	if o != nil {
		b.offices = append(b.offices, o)
	}
	if err != nil {
		return nil, err
	}
	s, err := serve(ctx, b.program, o.dir, database(o.dir), b.profile != "")
	if err != nil {
		return nil, err
	}
	b.servers = append(b.servers, s)
	return &place{o, s, 0}, o.warm()
}

func (b *bench) helper(ctx context.Context, role string) (*helper, error) {
	h, err := startHelper(ctx, role)
	if err != nil {
		return h, err
	}
	b.helpers = append(b.helpers, h)
	return h, nil
}

// target is the server of a load.
type target struct {
	address string
	pid     int
	place   *place // nil for a bare server
	// database is the process id of the PostgreSQL server; 0 on SQLite.
	database int
}

// bare starts a bare server.
func (b *bench) bare(ctx context.Context, a answer) (target, error) {
	h, err := b.helper(ctx, "bare")
	if err != nil {
		return target{}, err
	}
	t := target{pid: h.command.Process.Pid}
	return t, h.ask(a, &t.address)
}

func (p *place) target() target { return target{p.address, p.command.Process.Pid, p, p.database} }

// end stops every process and removes the copies of the data. It may be called
// again.
func (b *bench) end() {
	for _, h := range b.helpers {
		if err := h.end(); err != nil {
			say("a helper ended with %v", err)
		}
	}
	for _, s := range b.servers {
		if err := s.end(); err != nil {
			say("the server ended with %v", err)
		}
	}
	for _, o := range b.offices {
		os.RemoveAll(o.dir)
	}
	b.helpers, b.servers, b.offices = nil, nil, nil
}

// The names of the series.
const (
	getBare    = "get, bare server"
	getLarge   = "get"
	getSmall   = "get, small table"
	listBare   = "list, bare server"
	listLarge  = "list"
	listHundth = "list, hundredth page"
	listSmall  = "list, small table"
	searchFew  = "search, few hits"
	searchMany = "search, many hits"
	countAll   = "count"
	countFew   = "count, few hits"
	countMany  = "count, many hits"
	postLoop   = "post, insert loop"
	postLarge  = "post"
	postOne    = "post, 1 client"
	postBatch  = "post, 1 client, batches"
)

// plan lists the series in the order of a round. Series that are compared stand
// next to each other.
func (b *bench) plan(bareGet, bareList target) error {
	large := b.large.target()
	b.add(getBare, bareGet, 16, []string{b.large.get("/contacts/" + b.large.ids[0])})
	b.add(getLarge, large, 16, b.large.gets())
	if b.small != nil {
		b.add(getSmall, b.small.target(), 16, b.small.gets())
	}
	hundredth, err := b.large.hundredthPage()
	if err != nil {
		return err
	}
	first := "/contacts?limit=25"
	b.add(listBare, bareList, 16, []string{b.large.get(first)})
	b.add(listLarge, large, 16, []string{b.large.get(first)})
	b.add(listHundth, large, 16, []string{b.large.get(hundredth)})
	if b.small != nil {
		b.add(listSmall, b.small.target(), 16, []string{b.small.get(first)})
	}
	few, many := b.large.searches("/contacts?limit=25&q=")
	for _, n := range []int{1, 16} {
		b.add(clients(searchFew, n), large, n, few)
		b.add(clients(searchMany, n), large, n, many)
	}
	few, many = b.large.searches("/contacts/count?q=")
	b.add(countAll, large, 1, []string{b.large.get("/contacts/count")})
	b.add(countFew, large, 1, few)
	b.add(countMany, large, 1, many)
	b.series = append(b.series, series{postLoop, target{pid: b.insert.command.Process.Pid}, func() (r result, err error) {
		return r, b.insert.ask(loop{b.large.dir, b.time(), b.contents}, &r)
	}})
	posts := make([]string, len(b.contents))
	for i, body := range b.contents {
		posts[i] = b.large.post(body)
	}
	b.add(postLarge, large, 64, posts)
	b.addWanting(postOne, large, 1, posts, http.StatusCreated)
	batches := make([]string, len(posts)/inBatch)
	for i := range batches {
		batches[i] = b.large.batch(b.contents[i*inBatch : (i+1)*inBatch])
	}
	b.addWanting(postBatch, large, 1, batches, http.StatusOK)
	return b.chooseSeries()
}

func (s series) called() string { return s.name }

// chooseSeries keeps only the series that match --only.
func (b *bench) chooseSeries() (err error) {
	b.series, err = choose(b.series, series.called, b.only)
	return err
}

// clients returns the name of a series with n clients.
func clients(name string, n int) string { return fmt.Sprintf("%s, %d", name, n) }

func (b *bench) time() time.Duration { return time.Duration(b.seconds * float64(time.Second)) }

// add adds a series of requests. All are GETs except the requests of postLarge.
func (b *bench) add(name string, of target, connections int, requests []string) {
	want := http.StatusOK
	if name == postLarge {
		want = http.StatusCreated
	}
	b.addWanting(name, of, connections, requests, want)
}

// addWanting is add for answers with one status.
func (b *bench) addWanting(name string, of target, connections int, requests []string, want int) {
	b.series = append(b.series, series{name, of, func() (r result, err error) {
		before := used(b.load.command.Process.Pid)
		err = b.load.ask(load{of.address, connections, b.time(), requests, want, 0}, &r)
		r.Client = perAnswer(used(b.load.command.Process.Pid)-before, r)
		return r, err
	}})
}

// perAnswer divides processor time by the number of answers, in microseconds.
func perAnswer(t time.Duration, r result) float64 {
	return float64(t.Microseconds()) / float64(max(1, r.Sent))
}

// round runs every series once.
func (b *bench) round(ctx context.Context, n int) error {
	for _, s := range b.series {
		if err := ctx.Err(); err != nil {
			return err
		}
		r, err := b.measure(s, n)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		if r.Failures > 0 {
			return fmt.Errorf("%s: %s", s.name, r.Failure)
		}
		b.results[s.name] = append(b.results[s.name], r)
		say("%d/%d %-38s %8.0f/s   p50 %7.2f ms   p99 %7.2f ms   cpu %6.0f us   database %4.0f us   client %4.0f us",
			n+1, b.runs, s.name, r.PerSecond, r.P50, r.P99, r.CPU, r.Database, r.Client)
	}
	if b.large != nil {
		b.memory = append(b.memory, b.large.memory.take())
	}
	return nil
}

// exitTime is the time for pgbench's connections to end before the processor
// time of their server is read. A connection that ended later would count for
// the next series.
const exitTime = 300 * time.Millisecond

func (b *bench) measure(s series, n int) (r result, err error) {
	if b.profile != "" && s.of.place != nil {
		file := fmt.Sprintf("%s-%d.pprof", strings.NewReplacer(", ", "-", " ", "-").Replace(s.name), n+1)
		if err := s.of.place.profile(filepath.Join(b.profile, file)); err != nil {
			return r, err
		}
		defer func() { err = errors.Join(err, s.of.place.profile("")) }()
	}
	server, database := used(s.of.pid), time.Duration(0)
	if s.of.database != 0 {
		time.Sleep(exitTime)
		database = usedWithChildren(s.of.database)
	}
	r, err = s.run()
	r.CPU = perAnswer(used(s.of.pid)-server, r)
	if s.of.database != 0 {
		r.Database = perAnswer(usedWithChildren(s.of.database)-database, r)
	}
	return r, err
}

// get returns a GET in the form of an ordinary client.
func (p *place) get(path string) string {
	return "GET /v1" + path + " HTTP/1.1\r\nHost: " + p.address +
		"\r\nUser-Agent: kartei-bench\r\nAuthorization: Bearer " + p.key +
		"\r\nAccept: application/json\r\n\r\n"
}

func (p *place) post(body string) string {
	return p.write("POST", "/contacts", body, "Idempotency-Key: "+fresh)
}

// write returns a writing request in the form of an ordinary client, with extra
// headers.
func (p *place) write(method, path, body string, headers ...string) string {
	return method + " /v1" + path + " HTTP/1.1\r\nHost: " + p.address +
		"\r\nUser-Agent: kartei-bench\r\nAuthorization: Bearer " + p.key +
		"\r\nAccept: application/json\r\nContent-Type: application/json\r\nSvc-Preview: true\r\n" +
		strings.Join(append(headers, fmt.Sprintf("Content-Length: %d", len(body))), "\r\n") + "\r\n\r\n" + body
}

// inBatch is the number of creations in a batch.
const inBatch = 20

func (p *place) batch(bodies []string) string {
	calls := make([]string, len(bodies))
	for i, body := range bodies {
		own := fmt.Sprintf("%s-%d", fresh, i)
		calls[i] = fmt.Sprintf(`{"method":"POST","path":"/contacts","headers":{"Idempotency-Key":"%s"},"body":%s}`, own,
			strings.ReplaceAll(body, fresh, own))
	}
	body := `{"calls":[` + strings.Join(calls, ",") + `]}`
	return p.write("POST", "/batch", body)
}

func (p *place) gets() []string {
	list := make([]string, len(p.ids))
	for i, id := range p.ids {
		list[i] = p.get("/contacts/" + id)
	}
	return list
}

// searches returns requests for words that ten contacts have, and for words
// that a fifth of all have.
func (p *place) searches(path string) (few, many []string) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 1000 {
		few = append(few, p.get(path+fileWord(r.IntN(p.records/12))))
	}
	for _, word := range groups {
		many = append(many, p.get(path+url.QueryEscape(word)))
	}
	return few, many
}

// fetch makes one call and returns the answer for a bare server.
func (p *place) fetch(path string) (answer, error) {
	request, err := http.NewRequest("GET", "http://"+p.address+"/v1"+path, nil)
	if err != nil {
		return answer{}, err
	}
	request.Header.Set("Authorization", "Bearer "+p.key)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("GET %s: %s: %s", path, response.Status, body)
	}
	response.Header.Del("Date") // net/http writes its own
	return answer{response.Header, body}, err
}

// hundredthPage follows the list to its hundredth page and returns the path.
func (p *place) hundredthPage() (path string, err error) {
	path = "/contacts?limit=25"
	for range 99 {
		a, err := p.fetch(path)
		if err != nil {
			return "", err
		}
		var page struct{ NextCursor string }
		if err := json.Unmarshal(a.Body, &page); err != nil {
			return "", err
		}
		path = "/contacts?limit=25&cursor=" + page.NextCursor
	}
	return path, nil
}
