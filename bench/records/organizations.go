package records

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"time"

	"kartei/access"
	"kartei/api"
	"kartei/api/op"
	"kartei/api/release"
	"kartei/bench/data"
	"kartei/bench/measure"
	"kartei/bench/report"
	"kartei/kit/clock"
	"kartei/kit/progress"
	"kartei/record/contact"
	"kartei/store/db"
	"kartei/store/db/open"
	"kartei/store/db/postgres"
	"kartei/store/schema"
	"kartei/test/dbtest"
	"kartei/test/operator"
)

// MeasureOrganizations measures the cost of many organizations in an instance. It compares calls
// spread over all organizations with calls to pgOffices of them. It also measures the memory for
// each organization that is called.
func MeasureOrganizations(ctx context.Context, b *measure.Bench) (err error) {
	if b.Organizations <= pgOffices {
		return fmt.Errorf("--organizations must be more than %d", pgOffices)
	}
	dir, err := os.MkdirTemp(b.Data, "run-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	address, pid := data.Database(dir), 0
	settings := []string{"max_connections=100", "shared_buffers=512MB", "max_wal_size=4GB"}
	switch {
	case b.Citus:
		s, remove, err := dbtest.NewCitus(settings...)
		if err != nil {
			return err
		}
		defer remove()
		address, pid = s.URL(), s.Pid() // processor time of the coordinator only
		if err := distribute(ctx, address); err != nil {
			return err
		}
	case b.Postgres:
		s, err := dbtest.NewServer(settings...)
		if err != nil {
			return err
		}
		defer s.Remove()
		address, pid = s.URL(), s.Pid()
	}
	defer b.End() // the servers must end before their database
	tenants, err := makeTenants(ctx, b, address)
	if err != nil {
		return err
	}
	if b.Postgres || b.Citus {
		if err := data.Settle(ctx, address); err != nil {
			return err
		}
	}
	if err := b.StartLoad(ctx); err != nil {
		return err
	}
	s, err := b.Open(ctx, &data.Office{Dir: dir, URL: address})
	if err != nil {
		return err
	}
	for i := range tenants {
		tenants[i].place.Server, tenants[i].place.Database = s.Server, pid
	}
	if err := planOrganizations(b, tenants); err != nil {
		return err
	}
	// The load itself needs memory too. So it runs with few organizations before the memory is
	// measured.
	for _, few := range b.Series {
		if strings.HasSuffix(few.Name, ofSmall("")) {
			if _, err := few.Run(); err != nil {
				return err
			}
		}
	}
	before := s.Memory.Take()
	for i := range b.Runs {
		if err := b.Round(ctx, i); err != nil {
			return err
		}
	}
	var list []report.Figure
	for _, kind := range []string{"get", "list", "post"} {
		if b.Results[kind] != nil {
			list = append(list, b.Against(kind+" spread over "+report.Number(float64(len(tenants)))+" organizations", kind,
				ofSmall(kind), "over "+report.Number(pgOffices), 1/1.2))
		}
	}
	grown := s.Memory.Take() - before
	return b.Write(os.Stdout, append(list, report.Figure{
		What: "memory (RssAnon) above that of the same calls over " + report.Number(pgOffices) + "", Goal: "< 64 KB an organization",
		Measured: fmt.Sprintf("%.0f MB, %.1f KB an organization", grown, grown*1000/float64(len(tenants))),
		Value:    grown * 1000 / float64(len(tenants)) / 64, Reached: grown*1000/float64(len(tenants)) < 64,
	}))
}

// distribute creates the tables on a Citus cluster and distributes them.
func distribute(ctx context.Context, address string) error {
	d, err := open.Database(ctx, address+"&application_name="+postgres.AloneName, db.Options{})
	if err != nil {
		return err
	}
	if _, err = schema.Migrate(ctx, d); err != nil {
		return errors.Join(err, d.Close())
	}
	_, err = schema.Distribute(ctx, d, false, nil)
	return errors.Join(err, d.Close())
}

// tenant is an organization with an API key and a contact.
type tenant struct {
	place   *measure.Place
	contact string
}

// makeTenants creates the organizations with the functions of the administration.
func makeTenants(ctx context.Context, b *measure.Bench, address string) (list []tenant, err error) {
	d, err := open.Database(ctx, address, db.Options{NoSync: true})
	if err != nil {
		return nil, err
	}
	defer d.Close()
	if _, err := schema.Migrate(ctx, d); err != nil {
		return nil, err
	}
	directory := access.NewDirectory(d, clock.System, access.Options{})
	by := operator.New(d, clock.System, directory, release.Names(release.Versions)...)
	report.Say("%s organizations: making them", report.Number(float64(b.Organizations)))
	bar := progress.New(os.Stderr)
	defer bar.End()
	begun := time.Now()
	for i := range b.Organizations {
		_, o, err := data.NewOffice(ctx, by, i)
		if err != nil {
			return nil, err
		}
		actor, err := directory.Authenticate(ctx, o.Key, access.V1, netip.MustParseAddr("127.0.0.1"))
		if err != nil {
			return nil, err
		}
		var made string
		err = d.WriteIn(ctx, actor.Org(), func(tx db.Tx) error {
			call := &op.Call{Actor: actor, Tx: tx, Now: clock.Now(clock.System), Services: &op.Services{Families: api.Families}}
			a, err := contact.Contacts.Create(ctx, call, &contact.Fields{LastName: new(fmt.Sprint("Berg ", i))})
			made = strings.TrimPrefix(a.Location(), "/contacts/")
			return err
		})
		if err != nil {
			return nil, err
		}
		list = append(list, tenant{&measure.Place{Office: o}, made})
		bar.Tell(int64(i+1), int64(b.Organizations))
	}
	report.Say("%.1f ms each: an organization, a user, a key, a contact",
		float64(time.Since(begun).Milliseconds())/float64(b.Organizations))
	return list, nil
}

func planOrganizations(b *measure.Bench, tenants []tenant) error {
	kinds, err := measure.Choose([]string{"get", "list", "post"}, measure.Itself, b.Only)
	if err != nil {
		return err
	}
	for _, kind := range kinds {
		for _, n := range []int{pgOffices, len(tenants)} {
			name := kind
			if n == pgOffices {
				name = ofSmall(kind)
			}
			var requests []string
			for _, t := range tenants[:n] {
				requests = append(requests, map[string]string{
					"get":  t.place.Get("/contacts/" + t.contact),
					"list": t.place.Get("/contacts?limit=25"),
					"post": t.place.Post(`{"lastName":"Tal"}`),
				}[kind])
			}
			want := map[bool]int{true: 201, false: 200}[kind == "post"]
			b.AddWanting(name, tenants[0].place.Target(), pgClients, requests, want)
		}
	}
	return nil
}
