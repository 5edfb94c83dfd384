package pages

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"kartei/access"
	"kartei/api"
	"kartei/api/op"
	"kartei/api/release"
	"kartei/bench/data"
	"kartei/bench/measure"
	"kartei/bench/report"
	"kartei/integration/limit"
	"kartei/kit/clock"
	"kartei/kit/masterkey"
	"kartei/people/account"
	"kartei/people/principal"
	"kartei/record/contact"
	"kartei/record/lookup"
	"kartei/store/db"
)

const (
	// maxFindTime is the maximum 95th percentile of response times while a person types, in
	// milliseconds.
	maxFindTime = 50
	// maxListRatio is the maximum ratio of the time of a search over all families and the time of
	// the four lists.
	maxListRatio = 3
)

// MeasureFinding measures the search over all families while a person types. It compares it with
// the lists of the four families with the same text. Both are calls of the web application in this
// process, without HTTP.
func MeasureFinding(ctx context.Context, b *measure.Bench) error {
	root := filepath.Join(b.Data, "lookup") // other measurements need an office with contacts only
	o, stop, err := data.OpenKept(ctx, root, b.Records, b.Postgres)
	if err != nil {
		return err
	}
	defer stop()
	d, err := sitDown(ctx, o, b.Records)
	if err != nil {
		return err
	}
	defer d.end()
	names := []string{conflictCheck}
	for _, t := range typed {
		names = append(names, t.name)
	}
	if names, err = measure.Choose(names, measure.Itself, b.Only); err != nil {
		return err
	}
	var list []report.Figure
	for _, t := range typed {
		if !slices.Contains(names, t.name) {
			continue
		}
		var texts []string
		for _, p := range d.people {
			if text := t.text(p); text != "" {
				texts = append(texts, text)
			}
		}
		figures, err := d.measure(ctx, t.name, texts, b.Runs)
		if err != nil {
			return err
		}
		list = append(list, figures...)
	}
	if slices.Contains(names, conflictCheck) {
		figures, err := d.measureConflicts(ctx, b.Runs)
		if err != nil {
			return err
		}
		list = append(list, figures...)
	}
	return b.Write(os.Stdout, list)
}

// typed are kinds of search texts that people type. Each text comes from a contact.
var typed = []struct {
	name string
	text func(contact.Fields) string
}{
	{"one letter", func(f contact.Fields) string { return data.Prefix(f.LastName, 1) }},
	{"two letters", func(f contact.Fields) string { return data.Prefix(f.LastName, 2) }},
	{"four letters", func(f contact.Fields) string { return data.Prefix(f.LastName, 4) }},
	{"a last name", func(f contact.Fields) string { return data.Prefix(f.LastName, 50) }},
	{"a first and a last name", func(f contact.Fields) string {
		return strings.TrimSpace(data.Prefix(f.FirstName, 50) + " " + data.Prefix(f.LastName, 50))
	}},
	{"four digits of a number", func(f contact.Fields) string { return data.Prefix(national(f.Mobile), 4) }},
	{"a whole number", func(f contact.Fields) string { return data.Prefix(f.Mobile, 50) }},
	{"an unknown number", func(f contact.Fields) string { return data.Prefix(f.Mobile, 50) + "99" }},
	{"an address", func(f contact.Fields) string { return data.Prefix(f.Email, 254) }},
	{
		"two frequent words",
		func(f contact.Fields) string {
			return data.Groups[len(data.Prefix(f.LastName, 50))%len(data.Groups)] + " aachen"
		},
	},
	{"nothing", func(f contact.Fields) string { return data.Prefix(f.LastName, 50) + "xyz" }},
}

// national returns a telephone number as people write it within the country.
func national(number *string) *string {
	if number == nil {
		return nil
	}
	return new("0" + strings.TrimPrefix(*number, "+49 "))
}

// desk is a member of an office who uses the web application.
type desk struct {
	db     db.DB
	api    *api.API
	cookie api.Credential
	// people are contacts, spread over the whole table.
	people []contact.Fields
}

func (d *desk) end() { d.db.Close() }

// sitDown opens the office with n contacts, and with n/10 records of every other family. It creates
// missing records.
func sitDown(ctx context.Context, o *data.Office, n int) (*desk, error) {
	store, f, err := data.Found(ctx, o.URL, db.Options{})
	if err != nil {
		return nil, err
	}
	d := &desk{db: store}
	if err = f.Furnish(ctx, n/10); err == nil {
		err = d.begin(ctx, f, o)
	}
	if err != nil {
		d.end()
		return nil, err
	}
	return d, nil
}

// begin signs a member in and selects people.
func (d *desk) begin(ctx context.Context, f data.Founder, o *data.Office) (err error) {
	member := f.Office.Users[1]
	var token string
	now := clock.Now(clock.System)
	if err := d.db.Write(ctx, func(tx db.Tx) error {
		p, err := access.PrincipalIn(ctx, tx, "", member)
		if err != nil {
			return err
		}
		name, err := account.Create(ctx, tx, now, fmt.Sprintf("bench-%d@example.com", now))
		if err != nil {
			return err
		}
		if err = principal.Join(ctx, tx, member, name); err != nil {
			return err
		}
		token, _, err = access.BeginSession(ctx, tx, now, access.NewSession{
			ProvenAt: now, Account: name, Organization: p.Home, Principal: member, Address: "127.0.0.1",
			Agent: "bench",
		})
		return err
	}); err != nil {
		return err
	}
	d.cookie = api.Cookie(token, true)
	if err := d.open(f, masterkey.Vault{}); err != nil {
		return err
	}
	step := max(1, len(o.IDs)/400)
	return d.db.Read(ctx, func(tx db.Tx) error {
		call := &op.Call{Actor: f.Actor, Tx: tx, Now: now, Services: &op.Services{Families: api.Families}}
		for i := 0; i < len(o.IDs); i += step {
			seen, err := contact.Contacts.Look(ctx, call, o.IDs[i:i+1])
			if err != nil {
				return err
			}
			for _, s := range seen {
				d.people = append(d.people, *s.Members)
			}
		}
		return nil
	})
}

// open opens the API without limits. answers encrypts the stored responses of changes.
func (d *desk) open(f data.Founder, answers masterkey.Vault) (err error) {
	limits := limit.Open(limit.Config{}, clock.System, limit.Options{DB: d.db, Replica: "bench"})
	d.api, err = api.New(api.Options{
		DB: d.db, Access: f.Directory, Limiter: limits, Clock: clock.System, Logger: slog.New(slog.DiscardHandler),
		Versions: release.Versions, CursorKey: make([]byte, 32), Answers: answers,
	})
	return err
}

// do makes a call of the web application and returns the duration.
func (d *desk) do(ctx context.Context, r *api.Request) (time.Duration, error) {
	r.Door, r.Credential, r.Address = api.Web, d.cookie, netip.MustParseAddr("127.0.0.1")
	begin := time.Now()
	got := d.api.Do(ctx, r, nil)
	took := time.Since(begin)
	if got.Status != 200 {
		return 0, fmt.Errorf("%s: %d %s", r.Path, got.Status, got.Body)
	}
	return took, nil
}

// find searches all families for a text.
func (d *desk) find(ctx context.Context, q string) (time.Duration, error) {
	return d.ask(ctx, lookup.Find, lookup.FindInput{Q: q})
}

// ask calls an operation of the web application and returns the duration.
func (d *desk) ask(ctx context.Context, o op.Any, in any) (time.Duration, error) {
	body, err := json.Marshal(in)
	if err != nil {
		return 0, err
	}
	return d.do(ctx, &api.Request{
		Operation: api.ByID(o.About().ID), HasBody: true, Body: func() ([]byte, error) { return body, nil },
	})
}

// lists searches the lists of the four families one after another, and returns the total duration.
func (d *desk) lists(ctx context.Context, q string) (sum time.Duration, err error) {
	for _, f := range api.Families {
		took, err := d.do(ctx, &api.Request{Method: "GET", Path: "/" + f.Plural, Query: "limit=5&q=" + url.QueryEscape(q)})
		if err != nil {
			return 0, err
		}
		sum += took
	}
	return sum, nil
}

// measure searches for each text several times, in turn with the lists.
func (d *desk) measure(ctx context.Context, name string, texts []string, runs int) ([]report.Figure, error) {
	var found, listed []time.Duration
	var sum, bare time.Duration
	for i := range runs + 1 {
		for _, q := range texts {
			took, err := d.find(ctx, q)
			if err != nil {
				return nil, err
			}
			lists, err := d.lists(ctx, q)
			if err != nil {
				return nil, err
			}
			if i == 0 {
				continue // the first round warms up
			}
			found, listed = append(found, took), append(listed, lists)
			sum, bare = sum+took, bare+lists
		}
	}
	slices.Sort(found)
	slices.Sort(listed)
	ratio := float64(sum) / float64(max(bare, 1))
	p95 := milliseconds(found, 0.95)
	return []report.Figure{
		{What: "find " + name + ", p95", Goal: fmt.Sprintf("< %d ms", maxFindTime),
			Measured: fmt.Sprintf("%.2f ms (p50 %.2f ms, p99 %.2f ms)", p95, milliseconds(found, 0.5), milliseconds(found, 0.99)),
			Value:    p95 / maxFindTime, Reached: p95 < maxFindTime},
		{What: "find " + name, Goal: fmt.Sprintf("≤ %d %%", maxListRatio*100),
			Measured: fmt.Sprintf("%.2f ms", float64(sum.Microseconds())/1000/float64(len(found))),
			Limit:    fmt.Sprintf("four lists: %.2f ms", float64(bare.Microseconds())/1000/float64(len(found))),
			Value:    ratio, Reached: ratio <= maxListRatio},
	}, nil
}

// milliseconds returns the duration below which a share of a sorted list lies, in milliseconds.
func milliseconds(list []time.Duration, share float64) float64 {
	return float64(list[int(share*float64(len(list)-1))].Microseconds()) / 1000
}
