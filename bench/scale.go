package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
)

// kinds are the compared reads. least is the share of the small office's
// throughput that the large one must reach: 1/1.2 for reads, and half for
// searches and their counts.
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

// scaleClients is the number of connections, enough to keep both processors of
// a small machine busy.
const scaleClients = 8

// onScale compares reads of an office with many contacts with the same reads of
// one with few, on one engine. It reads the kept data itself, since a copy
// would double the space.
func (b *bench) onScale(ctx context.Context) (err error) {
	if b.records <= small {
		return fmt.Errorf("with --scale, --records must be more than %d", small)
	}
	kept, database := keptOffice, 0
	if b.postgres {
		k, err := startKept(b.data)
		if err != nil {
			return err
		}
		defer k.Stop()
		kept, database = k.office, k.Pid()
		defer b.end() // the servers end before their database
	}
	for _, p := range []struct {
		place   **place
		records int
	}{{&b.large, b.records}, {&b.small, small}} {
		o, err := kept(ctx, b.data, p.records)
		if err != nil {
			return err
		}
		if err := o.tidy(ctx); err != nil {
			return err
		}
		s, err := serve(ctx, b.program, o.dir, o.url, b.profile != "")
		if err != nil {
			return err
		}
		b.servers = append(b.servers, s)
		*p.place = &place{office: o, server: s, database: database}
	}
	if b.load, err = b.helper(ctx, "load"); err != nil {
		return err
	}
	if err := b.planScale(); err != nil {
		return err
	}
	for i := range b.runs {
		if err := b.round(ctx, i); err != nil {
			return err
		}
	}
	return b.write(os.Stdout, b.scales())
}

// ofSmall returns the name of the small office's series of a kind. The name of
// the large one's is the kind itself.
func ofSmall(kind string) string { return kind + ", small" }

// planScale puts the two series of each kind next to each other.
func (b *bench) planScale() error {
	few, err := b.small.reads()
	if err != nil {
		return err
	}
	many, err := b.large.reads()
	if err != nil {
		return err
	}
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = k.name
	}
	if names, err = choose(names, itself, b.only); err != nil {
		return err
	}
	for _, name := range names {
		b.add(ofSmall(name), b.small.target(), scaleClients, few[name])
		b.add(name, b.large.target(), scaleClients, many[name])
	}
	return nil
}

// reads returns the requests of each kind.
func (p *place) reads() (map[string][]string, error) {
	hundredth, err := p.hundredthPage()
	if err != nil {
		return nil, err
	}
	since, err := p.changes()
	if err != nil {
		return nil, err
	}
	var deltas, counts []string
	for _, at := range since {
		deltas = append(deltas, p.get("/contacts?limit=25&includeDeleted=true&updatedSince="+url.QueryEscape(at)))
		counts = append(counts, p.get("/contacts/count?updatedSince="+url.QueryEscape(at)))
	}
	searchFew, searchMany := p.searches("/contacts?limit=25&q=")
	countFew, countMany := p.searches("/contacts/count?q=")
	return map[string][]string{
		"get": p.gets(), "list": {p.get("/contacts?limit=25")}, "list, hundredth page": {p.get(hundredth)},
		"delta": deltas, "count": {p.get("/contacts/count")}, "count, delta": counts,
		"count, few hits": countFew, "count, many hits": countMany,
		"search, few hits": searchFew, "search, many hits": searchMany,
	}, nil
}

// changes returns times at which contacts from the whole table were changed.
func (p *place) changes() (list []string, err error) {
	for i := 0; i < len(p.ids); i += max(1, len(p.ids)/100) {
		a, err := p.fetch("/contacts/" + p.ids[i])
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

func (b *bench) scales() []figure {
	var list []figure
	for _, k := range kinds {
		if b.results[k.name] == nil {
			continue // not measured because of --only
		}
		f := b.against(k.what, k.name, ofSmall(k.name), "among "+number(small), k.least)
		f.Measured += fmt.Sprintf(", p99 %.2f ms", b.median(k.name, p99))
		list = append(list, f)
	}
	return append(list, b.memories()...)
}
