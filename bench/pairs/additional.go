package pairs

import (
	"context"
	"net/http"
	"net/url"
	"os"
	"strings"

	"kartei/bench/data"
	"kartei/bench/measure"
	"kartei/bench/report"
)

// searchGoals are the goals of the 99th percentile of a search in milliseconds, by the number of
// connections.
var searchGoals = []struct {
	connections int
	limit       float64
}{{1, 25}, {16, 100}}

// previewVersion is the version of the API that has the parameter email.
const previewVersion = "2027-02-01"

// MeasureAdditional compares an office whose contacts have additional emails and telephone numbers
// with one whose contacts have none. It measures the processor time and the allocations of the main
// calls in pairs, and the response times of searches in the office with additional members.
func MeasureAdditional(ctx context.Context, b *measure.Bench) error {
	if err := b.StartLoad(ctx); err != nil {
		return err
	}
	var places []*measure.Place
	bodies := map[*measure.Place][]string{}
	for _, size := range []data.Size{{Records: b.Records}, {Records: b.Records, Additional: b.Additional}} {
		o, err := b.Prepare(ctx, size)
		if err != nil {
			return err
		}
		p, err := b.Open(ctx, o, "--environment", "rc")
		if err != nil {
			return err
		}
		if bodies[p], err = data.Bodies(data.Size{Records: created, Additional: size.Additional}); err != nil {
			return err
		}
		places = append(places, p)
	}
	b.Large = places[1]
	calls, err := measure.Choose(additionalCalls(bodies), func(c compare) string { return c.name }, b.Only)
	if err != nil {
		return err
	}
	if err := addSearches(b, calls); err != nil {
		return err
	}
	results := make([]comparison, len(calls))
	for i := range b.Runs {
		if err := b.Round(ctx, i); err != nil {
			return err
		}
		if err := comparePairs(ctx, b, calls, results, places, nil); err != nil {
			return err
		}
	}
	return b.Write(os.Stdout, additionalFigures(b, calls, results))
}

// additionalCalls returns the kinds of calls that are compared. bodies has the contacts that each
// server is to create.
func additionalCalls(bodies map[*measure.Place][]string) []compare {
	search := func(name string, requests func(*measure.Place) ([]string, error)) compare {
		return compare{name: name, calls: 1000, want: http.StatusOK, requests: requests, search: true}
	}
	return []compare{
		search("search, few hits", func(p *measure.Place) ([]string, error) {
			few, _ := p.Searches("/contacts?limit=25&q=")
			return few, nil
		}),
		search("search, many hits", func(p *measure.Place) ([]string, error) {
			_, many := p.Searches("/contacts?limit=25&q=")
			return many, nil
		}),
		search("email=", byEmail),
		getCalls,
		listCalls,
		createCalls(func(p *measure.Place, n int) []string {
			next := bodies[p][:n]
			bodies[p] = append(bodies[p][n:], next...)
			return next
		}),
	}
}

// byEmail returns lists of the contacts that have a certain email: the last email of a contact.
func byEmail(p *measure.Place) (list []string, err error) {
	for _, id := range p.IDs {
		var c struct {
			Email            *string
			AdditionalEmails []struct{ Email string }
		}
		if err := p.Call("GET", "/contacts/"+id, nil, &c); err != nil {
			return nil, err
		}
		if n := len(c.AdditionalEmails); n > 0 {
			c.Email = &c.AdditionalEmails[n-1].Email
		}
		if c.Email != nil {
			list = append(list, inPreview(p.Get("/contacts?email="+url.QueryEscape(*c.Email))))
		}
	}
	return list, nil
}

// inPreview returns a request for previewVersion.
func inPreview(request string) string {
	return strings.Replace(request, "\r\n", "\r\nSvc-Version: "+previewVersion+"\r\n", 1)
}

// addSearches adds series for the searches in the office with additional members, with one
// connection and with many.
func addSearches(b *measure.Bench, calls []compare) error {
	for _, c := range calls {
		if !c.search {
			continue
		}
		requests, err := c.requests(b.Large)
		if err != nil {
			return err
		}
		for _, g := range searchGoals {
			b.Add(measure.WithClients(c.name, g.connections), b.Large.Target(), g.connections, requests)
		}
	}
	return nil
}

func additionalFigures(b *measure.Bench, calls []compare, results []comparison) (list []report.Figure) {
	for i, c := range calls {
		r := &results[i]
		list = append(list, r.cpu.figure(c.name+": processor time", "without", "µs", "", 0),
			r.allocations.figure(c.name+": allocations", "without", "", "", 0))
		if !c.search {
			continue
		}
		for _, g := range searchGoals {
			name := measure.WithClients(c.name, g.connections)
			list = append(list, b.Within(name, name, g.limit))
		}
	}
	return append(list, b.Memories()...)
}
