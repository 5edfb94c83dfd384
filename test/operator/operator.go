// Package operator owns an Operator, which administers an instance in tests.
package operator

import (
	"context"
	"net/netip"

	"kartei/access"
	"kartei/api/op"
	"kartei/api/optest"
	"kartei/integration/key"
	"kartei/kit/clock"
	"kartei/people/organization"
	"kartei/people/principal"
	"kartei/store/db"
)

// Operator calls operations as the operator of an instance, each in its own transaction.
type Operator struct {
	db        db.DB
	clock     clock.Clock
	directory *access.Directory
	services  op.Services
}

// New returns the operator of a database. versions are the API versions that keys may pin, the
// current one first. The default is 2026-11-01.
func New(d db.DB, c clock.Clock, dir *access.Directory, versions ...string) *Operator {
	if len(versions) == 0 {
		versions = []string{"2026-11-01"}
	}
	return &Operator{d, c, dir, op.Services{Versions: versions}}
}

// With returns a copy of o with other services. The versions stay.
func (o *Operator) With(s op.Services) *Operator {
	s.Versions = o.services.Versions
	return &Operator{o.db, o.clock, o.directory, s}
}

// Run calls an operation as the operator.
func Run[I, O any](ctx context.Context, o *Operator, of op.Operation[I, O], in I) (out O, err error) {
	return Do(ctx, o, func(ctx context.Context, c *op.Call, in I) (O, error) { return optest.Run(ctx, c, of, in) }, in)
}

// Do calls the function f of an operation as the operator.
func Do[I, O any](
	ctx context.Context, o *Operator, f func(context.Context, *op.Call, I) (O, error), in I,
) (out O, err error) {
	actor, _, err := o.directory.Resolve(ctx, access.Presentation{Scheme: access.Local}, netip.Addr{}, true)
	if err != nil {
		return out, err
	}
	defer o.directory.Forget()
	err = o.db.Write(ctx, func(tx db.Tx) (err error) {
		out, err = f(ctx, &op.Call{Actor: actor, Tx: tx, Now: clock.Now(o.clock), Services: &o.services}, in)
		return err
	})
	if err != nil {
		return *new(O), err
	}
	return out, nil
}

// CreateOrganization calls organization.Create.
func (o *Operator) CreateOrganization(ctx context.Context, in organization.New) (access.OrganizationInfo, error) {
	return Run(ctx, o, organization.Create, in)
}

// ListOrganizations calls organization.List.
func (o *Operator) ListOrganizations(
	ctx context.Context, in op.Page,
) (op.Entries[access.OrganizationInfo], error) {
	return Run(ctx, o, organization.List, in)
}

// GetOrganization calls organization.Get.
func (o *Operator) GetOrganization(ctx context.Context, in op.ByID) (access.OrganizationInfo, error) {
	out, err := Run(ctx, o, organization.Get, in)
	return out.OrganizationInfo, err
}

// SetOrganization calls organization.Set.
func (o *Operator) SetOrganization(ctx context.Context, in organization.Change) (access.OrganizationInfo, error) {
	return Do(ctx, o, organization.Set, in)
}

// EraseOrganization calls organization.Erase.
func (o *Operator) EraseOrganization(ctx context.Context, in op.ByID) (access.OrganizationInfo, error) {
	return Run(ctx, o, organization.Erase, in)
}

// CreateUser calls principal.CreateUser.
func (o *Operator) CreateUser(ctx context.Context, in principal.New) (access.PrincipalInfo, error) {
	return Run(ctx, o, principal.CreateUser, in)
}

// CreateServiceAccount calls principal.CreateServiceAccount.
func (o *Operator) CreateServiceAccount(ctx context.Context, in principal.New) (access.PrincipalInfo, error) {
	return Run(ctx, o, principal.CreateServiceAccount, in)
}

// ListUsers calls principal.ListUsers.
func (o *Operator) ListUsers(ctx context.Context, in op.Page) (op.Entries[access.PrincipalInfo], error) {
	return Run(ctx, o, principal.ListUsers, in)
}

// ListServiceAccounts calls principal.ListServiceAccounts.
func (o *Operator) ListServiceAccounts(ctx context.Context, in op.Page) (op.Entries[access.PrincipalInfo], error) {
	return Run(ctx, o, principal.ListServiceAccounts, in)
}

// GetPrincipal calls principal.FindOwn.
func (o *Operator) GetPrincipal(ctx context.Context, in op.ByID) (access.PrincipalInfo, error) {
	return Do(ctx, o, func(ctx context.Context, c *op.Call, in op.ByID) (access.PrincipalInfo, error) {
		return principal.FindOwn(ctx, c, in.ID)
	}, in)
}

// SetUser calls principal.SetUser.
func (o *Operator) SetUser(ctx context.Context, in principal.Change) (access.PrincipalInfo, error) {
	return Run(ctx, o, principal.SetUser, in)
}

// SetServiceAccount calls principal.SetServiceAccount.
func (o *Operator) SetServiceAccount(ctx context.Context, in principal.Change) (access.PrincipalInfo, error) {
	return Run(ctx, o, principal.SetServiceAccount, in)
}

// CreateKey calls key.Create.
func (o *Operator) CreateKey(ctx context.Context, in key.New) (key.WithSecret, error) {
	return Run(ctx, o, key.Create, in)
}

// ListKeys calls key.List.
func (o *Operator) ListKeys(ctx context.Context, in key.FindInput) (op.Entries[key.Info], error) {
	return Run(ctx, o, key.List, in)
}

// GetKey calls key.Get.
func (o *Operator) GetKey(ctx context.Context, in op.ByID) (key.Info, error) {
	return Run(ctx, o, key.Get, in)
}

// PauseKey calls key.Pause.
func (o *Operator) PauseKey(ctx context.Context, in op.ByID) (key.Info, error) {
	return Run(ctx, o, key.Pause, in)
}

// ResumeKey calls key.Resume.
func (o *Operator) ResumeKey(ctx context.Context, in op.ByID) (key.Info, error) {
	return Run(ctx, o, key.Resume, in)
}

// RevokeKey calls key.Revoke.
func (o *Operator) RevokeKey(ctx context.Context, in op.ByID) (key.Info, error) {
	return Do(ctx, o, key.Revoke, in)
}

// RotateKey calls key.Rotate.
func (o *Operator) RotateKey(ctx context.Context, in key.Rotation) (key.WithSecret, error) {
	return Run(ctx, o, key.Rotate, in)
}
