// Package sample owns the sample office of the demo, Kanzlei Morgenstern, all of it made up.
package sample

import (
	"context"
	"errors"
	"strings"
	"time"

	"kartei/access"
	"kartei/api/op"
	"kartei/integration/key"
	"kartei/kit/clock"
	"kartei/people/organization"
	"kartei/people/principal"
	"kartei/record"
	"kartei/record/company"
	"kartei/record/contact"
	"kartei/record/document"
	"kartei/record/task"
	"kartei/store/db"
)

// Name is the name of the sample office.
const Name = "Kanzlei Morgenstern"

// AdminEmail is the email address of the office's admin.
const AdminEmail = "helene.morgenstern@kanzlei-morgenstern.example"

// MemberEmail is the email address of a member of the office.
const MemberEmail = "jonas.adler@kanzlei-morgenstern.example"

// staff are the people of the office. The first is the admin.
var staff = []principal.New{
	{Name: "Dr. Helene Morgenstern", Email: AdminEmail, Role: access.Admin},
	{Name: "Jonas Adler", Email: MemberEmail, Role: access.Member},
	{Name: "Merve Yıldız", Email: "merve.yildiz@kanzlei-morgenstern.example", Role: access.Member},
	{Name: "Sabine Kolb", Email: "sabine.kolb@kanzlei-morgenstern.example", Role: access.Member},
}

// ErrOther is returned if the database has other organizations. The sample office is never created
// beside real data.
var ErrOther = errors.New("sample: the database has organizations other than " + Name)

// Office has the ids of the sample office in a database.
type Office struct {
	OrganizationID string
	SandboxID      string
	// Users are the ids of the staff, the admin's first.
	Users []string
}

// Loopback are the networks from which the full key can be used.
var Loopback = []string{"127.0.0.0/8", "::1"}

// Operator administers the instance. Packages organization, principal and key have the operations.
type Operator interface {
	ListOrganizations(context.Context, op.Page) (op.Entries[access.OrganizationInfo], error)
	CreateOrganization(context.Context, organization.New) (access.OrganizationInfo, error)
	ListUsers(context.Context, op.Page) (op.Entries[access.PrincipalInfo], error)
	CreateUser(context.Context, principal.New) (access.PrincipalInfo, error)
	CreateKey(context.Context, key.New) (key.WithSecret, error)
}

// Ensure finds the sample office, or creates its missing parts. If a start is interrupted, the next
// start completes the office.
func Ensure(ctx context.Context, by Operator) (Office, error) {
	list, err := by.ListOrganizations(ctx, op.Page{})
	if err != nil {
		return Office{}, err
	}
	var o Office
	for _, organization := range list.Data {
		if organization.Name == Name && organization.SandboxID != "" {
			o.OrganizationID, o.SandboxID = organization.ID, organization.SandboxID
		}
	}
	if o.OrganizationID == "" {
		if len(list.Data) > 0 {
			return Office{}, ErrOther
		}
		made, err := by.CreateOrganization(ctx, organization.New{
			Name: Name, Module: "on", Secrecy: "declared", Level: access.On,
		})
		if err != nil {
			return Office{}, err
		}
		o.OrganizationID, o.SandboxID = made.ID, made.SandboxID
	}
	return o, o.ensureStaff(ctx, by)
}

func (o *Office) ensureStaff(ctx context.Context, by Operator) error {
	users, err := by.ListUsers(ctx, op.Page{Organization: o.OrganizationID})
	if err != nil {
		return err
	}
	known := map[string]string{}
	for _, u := range users.Data {
		known[u.Email] = u.ID
	}
	for _, s := range staff {
		if known[s.Email] == "" {
			s.Organization = o.OrganizationID
			u, err := by.CreateUser(ctx, s)
			if err != nil {
				return err
			}
			known[s.Email] = u.ID
		}
		o.Users = append(o.Users, known[s.Email])
	}
	return nil
}

// Keys are two API keys of the admin for the sandbox.
type Keys struct {
	// Full has every scope and can be used only from this machine.
	Full key.WithSecret
	// Read has the scopes for reading.
	Read key.WithSecret
}

// NewKeys creates the keys. They expire after lifetime.
func (o *Office) NewKeys(ctx context.Context, by Operator, lifetime time.Duration) (Keys, error) {
	key := key.New{
		Organization: o.OrganizationID, Principal: o.Users[0], Environment: access.Test, ExpiresIn: lifetime,
		Name: "demo full", Scopes: access.AllScopes(), Networks: Loopback,
	}
	full, err := by.CreateKey(ctx, key)
	if err != nil {
		return Keys{}, err
	}
	key.Name, key.Scopes, key.Networks = "demo read", access.ReadScopes(), nil
	read, err := by.CreateKey(ctx, key)
	return Keys{full, read}, err
}

// families are the families of records that the office has.
var families = []op.Family{
	contact.Contacts.Family, company.Companies.Family, task.Tasks.Family, document.Documents.Family,
}

// Fill creates companies, n contacts and their tasks in an organization or its sandbox, unless it
// has a contact. It uses one transaction and the functions behind the API, and acts as the office's
// admin.
func (o *Office) Fill(ctx context.Context, d db.DB, c clock.Clock, organization string, n int) error {
	return o.write(ctx, d, c, op.Services{Families: families}, organization, func(call *op.Call) error {
		switch have, err := contact.Contacts.Count(ctx, call, record.CountInput{}); {
		case err != nil:
			return err
		case have.Count > 0:
			return nil
		}
		companies, err := o.fillCompanies(ctx, call)
		if err != nil {
			return err
		}
		return o.fillContacts(ctx, call, n, companies)
	})
}

// write calls f in one transaction. The calls in f are made by the admin in an organization.
func (o *Office) write(
	ctx context.Context, d db.DB, c clock.Clock, s op.Services, organization string, f func(*op.Call) error,
) error {
	return d.Write(ctx, func(tx db.Tx) error {
		in, err := access.OrganizationIn(ctx, tx, organization)
		if err != nil {
			return err
		}
		actor, err := access.ActorFor(ctx, tx, in.Number, o.Users[0])
		if err != nil {
			return err
		}
		return f(&op.Call{Actor: actor, Tx: tx, Now: clock.Now(c), Door: "job", Services: &s})
	})
}

// fillCompanies creates the companies and returns their ids.
func (o *Office) fillCompanies(ctx context.Context, call *op.Call) (ids []string, err error) {
	for _, f := range Companies(o.Users) {
		made, err := company.Companies.Create(ctx, call, &f)
		if err != nil {
			return nil, err
		}
		ids = append(ids, named(made.Location()))
	}
	return ids, nil
}

func (o *Office) fillContacts(ctx context.Context, call *op.Call, n int, companies []string) error {
	people := Contacts(n, o.Users)
	var ids []string
	for i := range people {
		if e := employer(people[i].Email); e >= 0 {
			people[i].CompanyID = &companies[e]
		}
		made, err := contact.Contacts.Create(ctx, call, &people[i])
		if err != nil {
			return err
		}
		ids = append(ids, named(made.Location()))
	}
	for _, e := range tasks(people, o.Users, call.Now) {
		e.ContactID, e.CompanyID = &ids[e.contact], people[e.contact].CompanyID
		made, err := task.Tasks.Create(ctx, call, &e.Fields)
		if err != nil {
			return err
		}
		if !e.done {
			continue
		}
		if _, err := task.Finish(ctx, call, op.ByID{ID: named(made.Location())}); err != nil {
			return err
		}
	}
	return nil
}

// named returns the id at the end of a URL path.
func named(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }
