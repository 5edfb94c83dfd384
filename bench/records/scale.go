package records

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"

	"kartei/bench/data"
	"kartei/bench/measure"
	"kartei/bench/report"
)

// kinds are the reads to compare. least is the share of the small office's throughput that the
// large office must reach. It is 1/1.2 for reads, and half for searches and their counts.
var kinds = []struct {
	name, what string
	least      float64
}{
	{"get", "GET /contacts/{id}", 1 / 1.2},
	{"list", "the first page of 25", 1 / 1.2},
	{"list, hundredth page", "the hundredth page", 1 / 1.2},
	{"delta", "25 changes since some time (updatedSince)", 1 / 1.2},
	{"count", "count of all", 1 / 1.2},
	{"count, delta", "count of the changes since some time", 1 / 1.2},
	{"count, few hits", "count of 10 hits", 0.5},
	{"count, many hits", "count of a fifth of all as hits", 0.5},
	{"search, few hits", "search with 10 hits", 0.5},
	{"search, many hits", "search with a fifth of all as hits", 0.5},
}

// scaleClients is the number of connections. It is enough to keep both processors of a small
// machine busy.
const scaleClients = 8

// MeasureScale compares reads in an office with many contacts with the same reads in an office with
// few. It uses the kept data without a copy, since a copy would double the space.
func MeasureScale(ctx context.Context, b *measure.Bench) (err error) {
	if b.Records <= Small {
		return fmt.Errorf("with --scale, --records must be more than %d", Small)
	}
	kept, database := data.Kept, 0
	if b.Postgres {
		k, err := data.StartServer(b.Data)
		if err != nil {
			return err
		}
		defer k.Stop()
		kept, database = k.Office, k.Pid()
		defer b.End() // the servers must end before their database
	}
	for _, p := range []struct {
		place   **measure.Place
		records int
	}{{&b.Large, b.Records}, {&b.Small, Small}} {
		o, err := kept(ctx, b.Data, p.records)
		if err != nil {
			return err
		}
		if err := o.Tidy(ctx); err != nil {
			return err
		}
		at, err := b.Open(ctx, o)
		if err != nil {
			return err
		}
		at.Database = database
		*p.place = at
	}
	if err := b.StartLoad(ctx); err != nil {
		return err
	}
	if err := planScale(b); err != nil {
		return err
	}
	for i := range b.Runs {
		if err := b.Round(ctx, i); err != nil {
			return err
		}
	}
	return b.Write(os.Stdout, scales(b))
}

// ofSmall returns the name of the small office's series of a kind. The kind itself is the name of
// the large office's series.
func ofSmall(kind string) string { return kind + ", small" }

// planScale adds the two series of each kind next to each other.
func planScale(b *measure.Bench) error {
	few, err := reads(b.Small)
	if err != nil {
		return err
	}
	many, err := reads(b.Large)
	if err != nil {
		return err
	}
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = k.name
	}
	if names, err = measure.Choose(names, measure.Itself, b.Only); err != nil {
		return err
	}
	for _, name := range names {
		b.Add(ofSmall(name), b.Small.Target(), scaleClients, few[name])
		b.Add(name, b.Large.Target(), scaleClients, many[name])
	}
	return nil
}

// reads returns the requests of each kind by the kind's name.
func reads(p *measure.Place) (map[string][]string, error) {
	hundredth, err := hundredthPage(p)
	if err != nil {
		return nil, err
	}
	since, err := changes(p)
	if err != nil {
		return nil, err
	}
	var deltas, counts []string
	for _, at := range since {
		deltas = append(deltas, p.Get("/contacts?limit=25&includeDeleted=true&updatedSince="+url.QueryEscape(at)))
		counts = append(counts, p.Get("/contacts/count?updatedSince="+url.QueryEscape(at)))
	}
	searchFew, searchMany := p.Searches("/contacts?limit=25&q=")
	countFew, countMany := p.Searches("/contacts/count?q=")
	return map[string][]string{
		"get": p.Gets(), "list": {p.Get("/contacts?limit=25")}, "list, hundredth page": {p.Get(hundredth)},
		"delta": deltas, "count": {p.Get("/contacts/count")}, "count, delta": counts,
		"count, few hits": countFew, "count, many hits": countMany,
		"search, few hits": searchFew, "search, many hits": searchMany,
	}, nil
}

// changes returns the times at which contacts were changed. The contacts are spread over the whole
// table.
func changes(p *measure.Place) (list []string, err error) {
	for i := 0; i < len(p.IDs); i += max(1, len(p.IDs)/100) {
		a, err := fetch(p, "/contacts/"+p.IDs[i])
		if err != nil {
			return nil, err
		}
		var contact struct{ UpdatedAt string }
		if err := json.Unmarshal(a.Body, &contact); err != nil {
			return nil, err
		}
		list = append(list, contact.UpdatedAt)
	}
	return list, nil
}

func scales(b *measure.Bench) []report.Figure {
	var list []report.Figure
	for _, k := range kinds {
		if b.Results[k.name] == nil {
			continue // not measured because of --only
		}
		f := b.Against(k.what, k.name, ofSmall(k.name), "among "+report.Number(Small), k.least)
		f.Measured += fmt.Sprintf(", p99 %.2f ms", b.Median(k.name, measure.P99))
		list = append(list, f)
	}
	return append(list, b.Memories()...)
}
