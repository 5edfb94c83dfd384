package pairs

import (
	"context"
	"net/url"
	"os"
	"slices"
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
// with one whose contacts have none. It measures the response times of searches in both, and the
// processor time and the allocations of other calls in pairs. A pair waits until both servers rest.
// The finder of duplicates works through a new office first, about a minute for 100,000 contacts.
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
	b.Small, b.Large = places[0], places[1]
	calls, err := measure.Choose(additionalCalls(bodies), func(c compare) string { return c.name }, b.Only)
	if err != nil {
		return err
	}
	pairs := slices.DeleteFunc(slices.Clone(calls), func(c compare) bool { return c.search })
	searches := slices.DeleteFunc(calls, func(c compare) bool { return !c.search })
	if err := addSearches(b, searches); err != nil {
		return err
	}
	results := make([]comparison, len(pairs))
	for i := range b.Runs {
		if err := b.Round(ctx, i); err != nil {
			return err
		}
		if err := comparePairs(ctx, b, pairs, results, places, nil); err != nil {
			return err
		}
	}
	return b.Write(os.Stdout, additionalFigures(b, searches, pairs, results))
}

// additionalCalls returns the kinds of calls that are measured. bodies has the contacts that each
// server is to create.
func additionalCalls(bodies map[*measure.Place][]string) []compare {
	search := func(name string, requests func(*measure.Place) ([]string, error)) compare {
		return compare{name: name, requests: requests, search: true}
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

// addSearches adds series for the searches in both offices, with one connection and with many.
func addSearches(b *measure.Bench, searches []compare) error {
	for _, c := range searches {
		for _, at := range []struct {
			name  string
			place *measure.Place
		}{{c.name, b.Large}, {without(c.name), b.Small}} {
			requests, err := c.requests(at.place)
			if err != nil {
				return err
			}
			for _, g := range searchGoals {
				b.Add(measure.WithClients(at.name, g.connections), at.place.Target(), g.connections, requests)
			}
		}
	}
	return nil
}

// without returns the name of a series in the office without additional members.
func without(name string) string { return name + ", without" }

func additionalFigures(b *measure.Bench, searches, pairs []compare, results []comparison) (list []report.Figure) {
	for _, c := range searches {
		for _, name := range []string{c.name, without(c.name)} {
			for _, g := range searchGoals {
				name := measure.WithClients(name, g.connections)
				list = append(list, b.Within(name, name, g.limit))
			}
		}
	}
	for i, c := range pairs {
		r := &results[i]
		list = append(list, r.cpu.figure(c.name+": processor time", "without", "µs", "", 0),
			r.allocations.figure(c.name+": allocations", "without", "", "", 0))
	}
	return append(list, b.Memories()...)
}
