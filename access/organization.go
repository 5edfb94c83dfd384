package access

import (
	"context"
	"errors"

	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/id"
	"kartei/store/db"
)

// OrganizationInfo is an organization as administration shows it.
type OrganizationInfo struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// SandboxID names the sandbox beside a live organization, SandboxOf the
	// live organization beside a sandbox; the other one is empty.
	SandboxID string       `json:"sandboxId,omitempty"`
	SandboxOf string       `json:"sandboxOf,omitempty"`
	Module    string       `json:"module"`  // on or off
	Secrecy   string       `json:"secrecy"` // declared or undeclared
	Level     Level        `json:"level"`
	State     State        `json:"state"`
	CreatedAt clock.Micros `json:"createdAt"`
	// EraseAt is when an organization in the state deleting is erased; nil in
	// other states.
	EraseAt *clock.Micros `json:"eraseAt,omitempty"`

	number int64
	live   int64 // its own number, or that of the organization it is the sandbox of
}

// Number is the key under which the rows of the organization are kept.
func (o OrganizationInfo) Number() int64 { return o.number }

// NewOrganization is what CreateOrganization takes.
type NewOrganization struct {
	Name string `json:"name"`
	// Module, Secrecy and Level may be empty: off, undeclared, off. An
	// organization opens its API deliberately.
	Module  string `json:"module,omitempty"`
	Secrecy string `json:"secrecy,omitempty"`
	Level   Level  `json:"level,omitempty"`
}

// OrganizationChange is what SetOrganization takes; nil leaves a value as it is.
type OrganizationChange struct {
	ID      string  `json:"id"`
	Name    *string `json:"name,omitempty"`
	Module  *string `json:"module,omitempty"`
	Secrecy *string `json:"secrecy,omitempty"`
	Level   *Level  `json:"level,omitempty"`
	State   *State  `json:"state,omitempty"`
}

const sandboxSuffix = " (Sandbox)"

// CreateOrganization makes an organization and, beside it, its sandbox: a
// second organization with its own records and its own change clock, which
// test keys are bound to and whose API is open from the start.
func (d *Directory) CreateOrganization(ctx context.Context, in NewOrganization) (OrganizationInfo, error) {
	var f faults
	live := OrganizationInfo{
		ID: id.New(id.Organization), Module: "off", Secrecy: "undeclared", Level: Off, State: Open, CreatedAt: d.now(),
	}
	in.Name = f.name("name", in.Name)
	live.set(&f, OrganizationChange{
		Name: &in.Name, Module: given(in.Module), Secrecy: given(in.Secrecy), Level: given(in.Level),
	})
	if err := f.err(); err != nil {
		return OrganizationInfo{}, err
	}
	sandbox := OrganizationInfo{
		ID: id.New(id.Organization), Name: live.Name + sandboxSuffix,
		Module: "on", Secrecy: "declared", Level: On, State: Open, CreatedAt: live.CreatedAt,
	}
	live.SandboxID = sandbox.ID
	err := d.act(ctx, func(tx db.Tx) error {
		if err := tx.QueryRow(ctx, selectNextOrganization).Scan(&live.number); err != nil {
			return err
		}
		sandbox.number = live.number + 1
		if err := insertOrganizationRow(ctx, tx, live, nil); err != nil {
			return err
		}
		return insertOrganizationRow(ctx, tx, sandbox, &live.number)
	})
	if err != nil {
		return OrganizationInfo{}, err
	}
	live.live = live.number
	return live, nil
}

func insertOrganizationRow(ctx context.Context, tx db.Tx, o OrganizationInfo, sandboxOf *int64) error {
	_, err := tx.Exec(ctx, insertOrganization, o.number, o.ID, o.Name, sandboxOf,
		o.Module == "on", o.Secrecy == "declared", string(o.Level), string(o.State), int64(o.CreatedAt))
	if errors.Is(err, db.ErrDuplicate) { // somebody took the number at the same time
		return db.ErrConflict
	}
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, insertClock, o.number)
	return err
}

// ListOrganizations lists organizations and sandboxes.
func (d *Directory) ListOrganizations(ctx context.Context, p Page) (List[OrganizationInfo], error) {
	return list(ctx, d, p, scanOrganization, selectOrganizations, p.After)
}

// GetOrganization returns one organization.
func (d *Directory) GetOrganization(ctx context.Context, in ByID) (OrganizationInfo, error) {
	var o OrganizationInfo
	err := d.db.Read(ctx, func(tx db.Tx) (err error) {
		o, err = organizationByID(ctx, tx, in.ID)
		return err
	})
	return o, err
}

// SetOrganization changes an organization. Name and state of an organization
// are also those of its sandbox, which has neither of its own; module, secrecy
// and level are each one's own.
func (d *Directory) SetOrganization(ctx context.Context, in OrganizationChange) (OrganizationInfo, error) {
	var o OrganizationInfo
	err := d.act(ctx, func(tx db.Tx) (err error) {
		var f faults
		if o, err = organizationByID(ctx, tx, in.ID); err != nil {
			return err
		}
		if in.Name != nil {
			name := f.name("name", *in.Name)
			in.Name = &name
		}
		if o.SandboxOf != "" {
			if in.Name != nil {
				f.say("name", fault.ReadOnly, "Die Sandbox heißt wie ihre Organisation.", "A sandbox is named like its organization.")
			}
			if in.State != nil {
				f.say("state", fault.ReadOnly, "Der Zustand der Sandbox ist der ihrer Organisation.", "The state of a sandbox is that of its organization.")
			}
		}
		if in.State != nil && *in.State != Deleting && o.EraseAt != nil && *o.EraseAt <= d.now() {
			f.say("state", fault.ReadOnly, "Der Tag der Löschung ist gekommen; sie wird nicht mehr zurückgenommen.",
				"The date of the erasure has come; it cannot be taken back any more.")
		}
		o.set(&f, in)
		if err := f.err(); err != nil {
			return err
		}
		switch {
		case o.State != Deleting:
			o.EraseAt = nil
		case o.EraseAt == nil:
			date := d.now().Add(d.options.Retention)
			o.EraseAt = &date
		}
		if _, err = tx.Exec(ctx, updateOrganization, o.number, o.Name, o.Module == "on",
			o.Secrecy == "declared", string(o.Level), string(o.State), o.eraseAt()); err != nil || o.SandboxOf != "" {
			return err
		}
		_, err = tx.Exec(ctx, updateSandbox, o.number, o.Name+sandboxSuffix, string(o.State), o.eraseAt())
		return err
	})
	if err != nil {
		return OrganizationInfo{}, err
	}
	return o, nil
}

// eraseAt is EraseAt as it is stored.
func (o *OrganizationInfo) eraseAt() clock.Micros {
	if o.EraseAt == nil {
		return 0
	}
	return *o.EraseAt
}

// set applies a change whose name is clean already.
func (o *OrganizationInfo) set(f *faults, c OrganizationChange) {
	if c.Name != nil {
		o.Name = *c.Name
	}
	if c.Module != nil {
		oneOf(f, "module", *c.Module, "on", "off")
		o.Module = *c.Module
	}
	if c.Secrecy != nil {
		oneOf(f, "secrecy", *c.Secrecy, "declared", "undeclared")
		o.Secrecy = *c.Secrecy
	}
	if c.Level != nil {
		oneOf(f, "level", *c.Level, Off, Read, On)
		o.Level = *c.Level
	}
	if c.State != nil {
		oneOf(f, "state", *c.State, Open, Closed, Deleting)
		o.State = *c.State
	}
}

// given returns nil for an empty value, which leaves the default.
func given[T ~string](v T) *T {
	if v == "" {
		return nil
	}
	return &v
}

func organizationByID(ctx context.Context, tx db.Tx, orgID string) (OrganizationInfo, error) {
	if !id.Valid(id.Organization, orgID) {
		return OrganizationInfo{}, unknown("Eine Organisation", "organization")
	}
	o, err := scanOrganization(tx.QueryRow(ctx, selectOrganization, orgID))
	if errors.Is(err, db.ErrNoRows) {
		return OrganizationInfo{}, unknown("Eine Organisation", "organization")
	}
	return o, err
}

func scanOrganization(row db.Row) (OrganizationInfo, error) {
	var o OrganizationInfo
	var module, secrecy bool
	var eraseAt clock.Micros
	err := row.Scan(&o.number, &o.ID, &o.Name, &o.live, &module, &secrecy, &o.Level, &o.State, &o.CreatedAt, &eraseAt,
		&o.SandboxID, &o.SandboxOf)
	if eraseAt > 0 {
		o.EraseAt = &eraseAt
	}
	o.Module, o.Secrecy = pick(module, "on", "off"), pick(secrecy, "declared", "undeclared")
	return o, err
}

// organizationField reads the organization that an input names; one that does
// not exist is a fault of the field, because the input names more than that.
func organizationField(ctx context.Context, tx db.Tx, f *faults, orgID string) (OrganizationInfo, error) {
	if orgID == "" {
		f.add("organizationId", fault.Required, nil)
		return OrganizationInfo{}, nil
	}
	o, err := organizationByID(ctx, tx, orgID)
	if fault.Is(err, fault.NotFound) {
		f.say("organizationId", fault.FieldNotFound, "Eine solche Organisation gibt es nicht.", "There is no such organization.")
		return OrganizationInfo{}, nil
	}
	return o, err
}
