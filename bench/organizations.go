package main

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
	"kartei/kit/clock"
	"kartei/kit/progress"
	"kartei/people/organization"
	"kartei/people/principal"
	"kartei/record/contact"
	"kartei/store/db"
	"kartei/store/schema"
	"kartei/test/dbtest"
	"kartei/test/operator"
)

// onOrganizations measures the cost of many organizations in an instance. It
// compares calls spread over all of them with calls over pgOffices of them, and
// measures the memory that each called organization needs.
func (b *bench) onOrganizations(ctx context.Context) (err error) {
	if b.organizations <= pgOffices {
		return fmt.Errorf("--organizations must be more than %d", pgOffices)
	}
	dir, err := os.MkdirTemp(b.data, "run-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	address, pid := database(dir), 0
	settings := []string{"max_connections=100", "shared_buffers=512MB", "max_wal_size=4GB"}
	switch {
	case b.citus:
		s, remove, err := dbtest.NewCitus(settings...)
		if err != nil {
			return err
		}
		defer remove()
		address, pid = s.URL(), s.Pid() // the processor time of the coordinator
		if err := distribute(ctx, address); err != nil {
			return err
		}
	case b.postgres:
		s, err := dbtest.NewServer(settings...)
		if err != nil {
			return err
		}
		defer s.Remove()
		address, pid = s.URL(), s.Pid()
	}
	defer b.end() // the servers end before their database
	tenants, err := b.makeTenants(ctx, address)
	if err != nil {
		return err
	}
	if b.postgres || b.citus {
		if err := settle(ctx, address); err != nil {
			return err
		}
	}
	if b.load, err = b.helper(ctx, "load"); err != nil {
		return err
	}
	s, err := serve(ctx, b.program, dir, address, b.profile != "")
	if err != nil {
		return err
	}
	b.servers = append(b.servers, s)
	for i := range tenants {
		tenants[i].place.server, tenants[i].place.database = s, pid
	}
	if err := b.planOrganizations(tenants); err != nil {
		return err
	}
	// The load itself needs memory with few organizations too, so that is
	// measured first.
	for _, few := range b.series {
		if strings.HasSuffix(few.name, ofSmall("")) {
			if _, err := few.run(); err != nil {
				return err
			}
		}
	}
	before := s.memory.take()
	for i := range b.runs {
		if err := b.round(ctx, i); err != nil {
			return err
		}
	}
	var list []figure
	for _, kind := range []string{"get", "list", "post"} {
		if b.results[kind] != nil {
			list = append(list, b.against(kind+" spread over "+number(float64(len(tenants)))+" organizations", kind,
				ofSmall(kind), "over "+number(pgOffices), 1/1.2))
		}
	}
	grown := s.memory.take() - before
	return b.write(os.Stdout, append(list, figure{
		What: "memory (RssAnon) above that of the same calls over " + number(pgOffices) + "", Goal: "< 64 KB an organization",
		Measured: fmt.Sprintf("%.0f MB, %.1f KB an organization", grown, grown*1000/float64(len(tenants))),
		Value:    grown * 1000 / float64(len(tenants)) / 64, Reached: grown*1000/float64(len(tenants)) < 64,
	}))
}

// distribute creates the tables on a cluster and distributes them.
func distribute(ctx context.Context, address string) error {
	d, err := db.Open(ctx, address+"&application_name="+db.AloneName, db.Options{})
	if err != nil {
		return err
	}
	if _, err = schema.Migrate(ctx, d); err != nil {
		return errors.Join(err, d.Close())
	}
	_, err = schema.Distribute(ctx, d, false, nil)
	return errors.Join(err, d.Close())
}

// tenant is an organization with a key and a contact.
type tenant struct {
	place   *place
	contact string
}

// makeTenants creates the organizations through the functions of the
// administration.
func (b *bench) makeTenants(ctx context.Context, address string) (list []tenant, err error) {
	d, err := db.Open(ctx, address, db.Options{NoSync: true})
	if err != nil {
		return nil, err
	}
	defer d.Close()
	if _, err := schema.Migrate(ctx, d); err != nil {
		return nil, err
	}
	directory := access.NewDirectory(d, clock.System, access.Options{})
	by := operator.New(d, clock.System, directory, release.Names(release.Versions)...)
	say("%s organizations: making them", number(float64(b.organizations)))
	bar := progress.New(os.Stderr)
	defer bar.End()
	begun := time.Now()
	for i := range b.organizations {
		_, o, err := newOffice(ctx, by, i)
		if err != nil {
			return nil, err
		}
		actor, err := directory.Authenticate(ctx, o.key, access.V1, netip.MustParseAddr("127.0.0.1"))
		if err != nil {
			return nil, err
		}
		var made string
		err = d.WriteIn(ctx, actor.Org(), func(tx db.Tx) error {
			call := &op.Call{Actor: actor, Tx: tx, Now: clock.Now(clock.System), Services: &op.Services{Families: api.Families}}
			a, err := contact.Contacts.Create(ctx, call, &contact.Fields{LastName: text("Berg %d", i)})
			made = strings.TrimPrefix(a.Location(), "/contacts/")
			return err
		})
		if err != nil {
			return nil, err
		}
		list = append(list, tenant{&place{office: o}, made})
		bar.Tell(int64(i+1), int64(b.organizations))
	}
	say("%.1f ms each: an organization, a user, a key, a contact",
		float64(time.Since(begun).Milliseconds())/float64(b.organizations))
	return list, nil
}

// newOffice creates an organization with a member and the member's key.
func newOffice(ctx context.Context, op *operator.Operator, n int) (name string, o *office, err error) {
	organization, err := op.CreateOrganization(ctx, organization.New{
		Name: fmt.Sprint("Kanzlei ", n), Module: "on", Secrecy: "declared", Level: access.On,
	})
	if err != nil {
		return "", nil, err
	}
	user, err := op.CreateUser(ctx, principal.New{
		Organization: organization.ID, Name: "Anna Berg", Email: fmt.Sprintf("anna%d@example.com", n),
		Role: access.Member,
	})
	if err != nil {
		return "", nil, err
	}
	key, err := memberKey(ctx, op, organization.ID, user.ID)
	return organization.ID, &office{key: key}, err
}

func (b *bench) planOrganizations(tenants []tenant) error {
	kinds, err := choose([]string{"get", "list", "post"}, itself, b.only)
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
					"get":  t.place.get("/contacts/" + t.contact),
					"list": t.place.get("/contacts?limit=25"),
					"post": t.place.post(`{"lastName":"Tal"}`),
				}[kind])
			}
			want := map[bool]int{true: 201, false: 200}[kind == "post"]
			b.addWanting(name, tenants[0].place.target(), pgClients, requests, want)
		}
	}
	return nil
}
