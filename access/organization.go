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
	// SandboxID is the id of a live organization's sandbox. SandboxOf is the id of a sandbox's
	// live organization. One of them is always empty.
	SandboxID string `json:"sandboxId,omitempty"`
	SandboxOf string `json:"sandboxOf,omitempty"`
	Module    string `json:"module"`  // on or off
	Secrecy   string `json:"secrecy"` // declared or undeclared
	Level     Level  `json:"level"`
	State     State  `json:"state"`
	// Country is the country of the office (ISO 3166-1). It is left out in letters and telephone
	// numbers within the country.
	Country   string       `json:"country"`
	CreatedAt clock.Micros `json:"createdAt"`
	// SecrecyAt is the time when the declaration of secrecy was made or withdrawn. SecrecyBy is
	// the principal who did this. It is empty for the operator.
	SecrecyAt clock.Micros `json:"secrecyAt,omitzero"`
	SecrecyBy string       `json:"secrecyBy,omitempty"`
	// SecondFactor is required or optional. SecondFactorFrom is the time from which people need a
	// second factor. It is zero if the second factor is optional.
	SecondFactor     string       `json:"secondFactor"`
	SecondFactorFrom clock.Micros `json:"secondFactorFrom,omitzero"`
	// Passwords is on or off. If it is off, people sign in only by single sign-on and passkeys.
	// PasswordAdmin is an admin who may always sign in by password.
	Passwords     string `json:"passwords"`
	PasswordAdmin string `json:"passwordAdmin,omitempty"`
	// Applications says which applications people may connect.
	Applications Applications `json:"applications"`
	// EraseAt is the time of the erasure if the state is deleting, and otherwise nil.
	EraseAt *clock.Micros `json:"eraseAt,omitempty"`

	// Number is the first part of the key of every row of the organization. Live is the number of
	// the organization that has the people. For a sandbox, it is the number of the live
	// organization. For a live organization, it is Number.
	Number int64 `json:"-"`
	Live   int64 `json:"-"`
}

// Applications says which applications the people of an organization may connect.
type Applications string

// The values of Applications.
const (
	// NoApplications means that people may not connect applications. The grants of connected
	// applications are suspended.
	NoApplications Applications = "off"
	// KnownApplications means the applications that an admin has approved.
	KnownApplications Applications = "known"
	// AllApplications means that each person decides.
	AllApplications Applications = "all"
)

// OrganizationIn returns an organization, read in a transaction. It fails with NOT_FOUND for an
// unknown id.
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

// ScanOrganization returns the organization in a row of OrganizationColumns.
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
