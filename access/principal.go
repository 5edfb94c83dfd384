package access

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"kartei/kit/clock"
	"kartei/kit/id"
	"kartei/store/db"
)

// PrincipalInfo is a user or a service account as administration shows it.
type PrincipalInfo struct {
	ID   string        `json:"id"`
	Type PrincipalType `json:"type"`
	// OrganizationID is always that of a live organization; its sandbox has
	// the same principals.
	OrganizationID string `json:"organizationId"`
	Name           string `json:"name"`
	// Email is empty for service accounts.
	Email string `json:"email,omitempty"`
	// Language is that of what is sent to a user: de or en.
	Language  string       `json:"language,omitempty"`
	Role      Role         `json:"role"`
	Rights    Rights       `json:"rights"`
	Disabled  bool         `json:"disabled"`
	CreatedAt clock.Micros `json:"createdAt"`

	// Home is the number of that organization.
	Home int64 `json:"-"`
}

// The languages in which a user may be written to.
const (
	German  = "de"
	English = "en"
)

// Prefix returns that of the identifiers of the kind.
func (t PrincipalType) Prefix() string {
	if t == UserPrincipal {
		return id.User
	}
	return id.ServiceAccount
}

// PrincipalIn reads a principal inside a transaction; with an empty kind, of either
// kind. Unknown ones are 404.
func PrincipalIn(ctx context.Context, tx db.Tx, kind PrincipalType, principalID string) (PrincipalInfo, error) {
	missing := unknown("Einen Benutzer oder ein Dienstkonto", "user or service account")
	switch kind {
	case UserPrincipal:
		missing = unknown("Einen Benutzer", "user")
	case ServiceAccountPrincipal:
		missing = unknown("Ein Dienstkonto", "service account")
	}
	isUser, isService := id.Valid(id.User, principalID), id.Valid(id.ServiceAccount, principalID)
	if !isUser && !isService || isUser && kind == ServiceAccountPrincipal || isService && kind == UserPrincipal {
		return PrincipalInfo{}, missing
	}
	p, err := ScanPrincipal(tx.QueryRow(ctx, selectPrincipal, principalID))
	if errors.Is(err, db.ErrNoRows) {
		return PrincipalInfo{}, missing
	}
	return p, err
}

// ScanPrincipal reads a row of PrincipalColumns.
func ScanPrincipal(row db.Row) (PrincipalInfo, error) {
	var p PrincipalInfo
	var rights string
	err := row.Scan(&p.ID, &p.Type, &p.Home, &p.OrganizationID, &p.Name, &p.Email, &p.Role, &rights, &p.Disabled, &p.CreatedAt, &p.Language)
	if err != nil {
		return p, err
	}
	if p.Type == ServiceAccountPrincipal {
		p.Language = ""
	}
	p.Rights = Rights{}
	if err := json.Unmarshal([]byte(rights), &p.Rights); err != nil {
		return p, fmt.Errorf("access: principal %s: rights: %w", p.ID, err)
	}
	return p, nil
}

// FoldEmail makes addresses comparable that reach the same mailbox.
func FoldEmail(s string) string { return strings.ToLower(s) }

// PrincipalExists reports whether id is a user or service account of an
// organization; a sandbox has those of the organization that it stands beside.
// Disabled ones exist too: they stay owners of what they own.
func PrincipalExists(ctx context.Context, tx db.Tx, organization int64, id string) (bool, error) {
	var one int64
	err := tx.QueryRow(ctx, selectPrincipalExists, organization, id).Scan(&one)
	if errors.Is(err, db.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// PrincipalIDs returns all users and service accounts of an organization, as
// PrincipalExists has them.
func PrincipalIDs(ctx context.Context, tx db.Tx, organization int64) (ids []string, err error) {
	return db.Values[string](ctx, tx, selectPrincipalIDs, organization)
}
