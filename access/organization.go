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
	// SandboxID is the id of a live organization's sandbox, SandboxOf the id of a
	// sandbox's live organization. The other one is empty.
	SandboxID string `json:"sandboxId,omitempty"`
	SandboxOf string `json:"sandboxOf,omitempty"`
	Module    string `json:"module"`  // on or off
	Secrecy   string `json:"secrecy"` // declared or undeclared
	Level     Level  `json:"level"`
	State     State  `json:"state"`
	// Country is where the office is, as ISO 3166-1 writes it: letters and telephone
	// numbers within it do not name it.
	Country   string       `json:"country"`
	CreatedAt clock.Micros `json:"createdAt"`
	// SecrecyAt is when the declaration of secrecy was made or withdrawn, SecrecyBy who
	// did it: empty for the operator.
	SecrecyAt clock.Micros `json:"secrecyAt,omitzero"`
	SecrecyBy string       `json:"secrecyBy,omitempty"`
	// SecondFactor is required or optional. SecondFactorFrom is the time from which
	// people need one, zero if it is optional.
	SecondFactor     string       `json:"secondFactor"`
	SecondFactorFrom clock.Micros `json:"secondFactorFrom,omitzero"`
	// Passwords is on, or off if only single sign-on and passkeys sign in. PasswordAdmin
	// may sign in by password in any case.
	Passwords     string `json:"passwords"`
	PasswordAdmin string `json:"passwordAdmin,omitempty"`
	// Applications says which applications people may connect.
	Applications Applications `json:"applications"`
	// EraseAt is the time of the erasure in the state deleting, and nil
	// otherwise.
	EraseAt *clock.Micros `json:"eraseAt,omitempty"`

	// Number leads the key of every row of the organization. Live is the number
	// of the organization that holds its people: its own number, or for a sandbox
	// its live organization's number.
	Number int64 `json:"-"`
	Live   int64 `json:"-"`
}

// Applications says which applications the people of an organization may connect.
type Applications string

// The values of Applications.
const (
	// NoApplications lets people connect none. Those that are connected rest.
	NoApplications Applications = "off"
	// KnownApplications are those that an admin has approved.
	KnownApplications Applications = "known"
	// AllApplications lets each person decide.
	AllApplications Applications = "all"
)

// OrganizationIn reads an organization inside a transaction. An unknown id is
// NOT_FOUND.
func OrganizationIn(ctx context.Context, tx db.Tx, orgID string) (OrganizationInfo, error) {
	if !id.Valid(id.Organization, orgID) {
		return OrganizationInfo{}, fault.Unknown("There is no organization with this id.")
	}
	o, err := ScanOrganization(tx.QueryRow(ctx, selectOrganization, orgID))
	if errors.Is(err, db.ErrNoRows) {
		return OrganizationInfo{}, fault.Unknown("There is no organization with this id.")
	}
	return o, err
}

// ScanOrganization reads a row of OrganizationColumns.
func ScanOrganization(row db.Row) (OrganizationInfo, error) {
	var o OrganizationInfo
	var module, secrecy, off bool
	var eraseAt clock.Micros
	err := row.Scan(&o.Number, &o.ID, &o.Name, &o.Live, &module, &secrecy, &o.Level, &o.State, &o.CreatedAt, &eraseAt,
		&o.SandboxID, &o.SandboxOf, &o.Country,
		&o.SecrecyAt, &o.SecrecyBy, &o.SecondFactorFrom, &off, &o.PasswordAdmin, &o.Applications)
	if eraseAt > 0 {
		o.EraseAt = &eraseAt
	}
	o.Passwords = pick(off, "off", "on")
	o.SecondFactor = pick(o.SecondFactorFrom != 0, "required", "optional")
	o.Module, o.Secrecy = pick(module, "on", "off"), pick(secrecy, "declared", "undeclared")
	return o, err
}
