package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

// onRecords measures reads, lists, searches and creations on SQLite.
func (b *bench) onRecords(ctx context.Context) error {
	if err := b.start(ctx); err != nil {
		return err
	}
	began := time.Now()
	for i := range b.runs {
		if err := b.round(ctx, i); err != nil {
			return err
		}
	}
	say("measured for %s", time.Since(began).Round(time.Second))
	return b.write(os.Stdout, b.figures())
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
	return &place{office: o, server: s}, o.warm()
}

// bare starts a bare server.
func (b *bench) bare(ctx context.Context, a answer) (target, error) {
	h, err := b.helper(ctx, "bare")
	if err != nil {
		return target{}, err
	}
	t := target{pid: h.pid()}
	return t, h.ask(a, &t.address)
}

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
	b.series = append(b.series, series{name: postLoop, of: target{pid: b.insert.pid()}, run: func() (r result, err error) {
		return r, b.insert.ask(loop{b.large.dir, b.time(), b.contents}, &r)
	}})
	posts := make([]string, len(b.contents))
	for i, body := range b.contents {
		posts[i] = b.large.post(body)
	}
	b.addWanting(postLarge, large, 64, posts, http.StatusCreated)
	b.addWanting(postOne, large, 1, posts, http.StatusCreated)
	batches := make([]string, len(posts)/inBatch)
	for i := range batches {
		batches[i] = b.large.batch(b.contents[i*inBatch : (i+1)*inBatch])
	}
	b.addWanting(postBatch, large, 1, batches, http.StatusOK)
	return b.chooseSeries()
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
