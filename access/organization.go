package access

import (
	"context"
	"errors"

	"kartei/kit/clock"
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

	// Number is the key under which the rows of the organization are kept. Live is
	// the number of the organization that holds its people: its own, or that of the
	// organization beside which the sandbox stands.
	Number int64 `json:"-"`
	Live   int64 `json:"-"`
}

// OrganizationIn reads an organization inside a transaction. Unknown ones are 404.
func OrganizationIn(ctx context.Context, tx db.Tx, orgID string) (OrganizationInfo, error) {
	if !id.Valid(id.Organization, orgID) {
		return OrganizationInfo{}, unknown("Eine Organisation", "organization")
	}
	o, err := ScanOrganization(tx.QueryRow(ctx, selectOrganization, orgID))
	if errors.Is(err, db.ErrNoRows) {
		return OrganizationInfo{}, unknown("Eine Organisation", "organization")
	}
	return o, err
}

// ScanOrganization reads a row of OrganizationColumns.
func ScanOrganization(row db.Row) (OrganizationInfo, error) {
	var o OrganizationInfo
	var module, secrecy bool
	var eraseAt clock.Micros
	err := row.Scan(&o.Number, &o.ID, &o.Name, &o.Live, &module, &secrecy, &o.Level, &o.State, &o.CreatedAt, &eraseAt,
		&o.SandboxID, &o.SandboxOf)
	if eraseAt > 0 {
		o.EraseAt = &eraseAt
	}
	o.Module, o.Secrecy = pick(module, "on", "off"), pick(secrecy, "declared", "undeclared")
	return o, err
}
