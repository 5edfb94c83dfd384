// Package records owns what calls about contacts cost: among few or many, in many organizations, and beside pgbench.
package records

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"kartei/bench/data"
	"kartei/bench/load"
	"kartei/bench/measure"
	"kartei/bench/process"
	"kartei/bench/report"
)

// Measure measures reads, lists, searches and creates on SQLite.
func Measure(ctx context.Context, b *measure.Bench) error {
	if err := start(ctx, b); err != nil {
		return err
	}
	began := time.Now()
	for i := range b.Runs {
		if err := b.Round(ctx, i); err != nil {
			return err
		}
	}
	report.Say("measured for %s", time.Since(began).Round(time.Second))
	return b.Write(os.Stdout, figures(b))
}

// start prepares the offices, the servers, the baselines and the loads.
func start(ctx context.Context, b *measure.Bench) (err error) {
	if b.Large, err = openPlace(ctx, b, b.Records); err != nil {
		return err
	}
	if b.Records > Small {
		if b.Small, err = openPlace(ctx, b, Small); err != nil {
			return err
		}
	}
	if b.Contents, err = data.Bodies(data.Size{Records: 2000}); err != nil {
		return err
	}
	if err := b.StartLoad(ctx); err != nil {
		return err
	}
	one, err := fetch(b.Large, "/contacts/"+b.Large.IDs[0])
	if err != nil {
		return err
	}
	page, err := fetch(b.Large, "/contacts?limit=25")
	if err != nil {
		return err
	}
	bareGet, err := bare(ctx, b, one)
	if err != nil {
		return err
	}
	bareList, err := bare(ctx, b, page)
	if err != nil {
		return err
	}
	inserter, err := b.Helper(ctx, "insert")
	if err != nil {
		return err
	}
	return plan(b, bareGet, bareList, inserter)
}

func openPlace(ctx context.Context, b *measure.Bench, records int) (*measure.Place, error) {
	report.Say("%d contacts: preparing a copy in %s", records, b.Data)
	o, err := b.Prepare(ctx, data.Size{Records: records})
	if err != nil {
		return nil, err
	}
	p, err := b.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	return p, o.Warm()
}

// bare starts a baseline server that always sends the response a.
func bare(ctx context.Context, b *measure.Bench, a answer) (measure.Target, error) {
	h, err := b.Helper(ctx, "bare")
	if err != nil {
		return measure.Target{}, err
	}
	t := measure.Target{Pid: h.Pid()}
	return t, h.Ask(a, &t.Address)
}

// plan adds the series in the order of a round. Series that are compared follow each other.
func plan(b *measure.Bench, bareGet, bareList measure.Target, inserter *process.Helper) error {
	large := b.Large.Target()
	b.Add(getBare, bareGet, 16, []string{b.Large.Get("/contacts/" + b.Large.IDs[0])})
	b.Add(getLarge, large, 16, b.Large.Gets())
	if b.Small != nil {
		b.Add(getSmall, b.Small.Target(), 16, b.Small.Gets())
	}
	hundredth, err := hundredthPage(b.Large)
	if err != nil {
		return err
	}
	first := "/contacts?limit=25"
	b.Add(listBare, bareList, 16, []string{b.Large.Get(first)})
	b.Add(listLarge, large, 16, []string{b.Large.Get(first)})
	b.Add(listHundth, large, 16, []string{b.Large.Get(hundredth)})
	if b.Small != nil {
		b.Add(listSmall, b.Small.Target(), 16, []string{b.Small.Get(first)})
	}
	few, many := b.Large.Searches("/contacts?limit=25&q=")
	for _, n := range []int{1, 16} {
		b.Add(measure.WithClients(searchFew, n), large, n, few)
		b.Add(measure.WithClients(searchMany, n), large, n, many)
	}
	few, many = b.Large.Searches("/contacts/count?q=")
	b.Add(countAll, large, 1, []string{b.Large.Get("/contacts/count")})
	b.Add(countFew, large, 1, few)
	b.Add(countMany, large, 1, many)
	b.Series = append(b.Series, measure.Series{
		Name: postLoop, Of: measure.Target{Pid: inserter.Pid()}, Run: func() (r load.Result, err error) {
			return r, inserter.Ask(loop{b.Large.Dir, b.Time(), b.Contents}, &r)
		},
	})
	posts := make([]string, len(b.Contents))
	for i, body := range b.Contents {
		posts[i] = b.Large.Post(body)
	}
	b.AddWanting(postLarge, large, 64, posts, http.StatusCreated)
	b.AddWanting(postOne, large, 1, posts, http.StatusCreated)
	batches := make([]string, len(posts)/measure.InBatch)
	for i := range batches {
		batches[i] = b.Large.Batch(b.Contents[i*measure.InBatch : (i+1)*measure.InBatch])
	}
	b.AddWanting(postBatch, large, 1, batches, http.StatusOK)
	return b.ChooseSeries()
}

// fetch makes a GET request and returns the response, for a baseline server.
func fetch(p *measure.Place, path string) (answer, error) {
	request, err := http.NewRequest("GET", "http://"+p.Address+"/v1"+path, nil)
	if err != nil {
		return answer{}, err
	}
	request.Header.Set("Authorization", "Bearer "+p.Key)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("GET %s: %s: %s", path, response.Status, body)
	}
	response.Header.Del("Date") // net/http sets this header itself
	return answer{response.Header, body}, err
}

// hundredthPage follows the list to its hundredth page and returns the path of this page.
func hundredthPage(p *measure.Place) (path string, err error) {
	path = "/contacts?limit=25"
	for range 99 {
		a, err := fetch(p, path)
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

// Names of the series.
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
