package access

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/kit/id"
	"kartei/store/db"
)

// PrincipalInfo is a user or a service account as administration shows it.
type PrincipalInfo struct {
	ID   string        `json:"id"`
	Type PrincipalType `json:"type"`
	// OrganizationID is the id of the live organization. The sandbox has the same principals.
	OrganizationID string `json:"organizationId"`
	Name           string `json:"name"`
	// Email is empty for service accounts.
	Email string `json:"email,omitempty"`
	// Language is the language of emails to the user: de or en. It is empty for service accounts.
	Language  string       `json:"language,omitempty"`
	Role      Role         `json:"role"`
	Rights    Rights       `json:"rights"`
	Disabled  bool         `json:"disabled"`
	CreatedAt clock.Micros `json:"createdAt"`
	// ErasedAt is the time when the person was erased, or zero. An erased person has no name and
	// no address.
	ErasedAt clock.Micros `json:"erasedAt,omitzero"`
	// SignIn says how a user signs in. It is nil except in operations about one user and in lists
	// of one organization.
	SignIn *SignIn `json:"signIn,omitempty"`

	// Home is the number of the live organization.
	Home int64 `json:"-"`
}

// SignIn has the information about a user's sign-in that admins see.
type SignIn struct {
	// Joined says that the user has accepted an invitation and has an account.
	Joined bool `json:"joined"`
	// SecondFactor says that the account has a passkey or a TOTP secret.
	SecondFactor bool `json:"secondFactor"`
	// SSO says that the account is linked with an OpenID provider.
	SSO bool `json:"sso"`
	// LastSeenAt is the time of the last call of the user's stored sessions. Sessions of the
	// account in other organizations do not count, because this admin must not see them.
	LastSeenAt clock.Micros `json:"lastSeenAt"`
}

// Prefix returns the prefix of the ids of this type.
func (t PrincipalType) Prefix() string {
	if t == UserPrincipal {
		return id.User
	}
	return id.ServiceAccount
}

// PrincipalIn returns a principal, read in a transaction. If kind is empty, the principal may
// have either type. PrincipalIn fails with NOT_FOUND for an unknown id.
func PrincipalIn(ctx context.Context, tx db.Tx, kind PrincipalType, principalID string) (PrincipalInfo, error) {
	missing := fault.Unknown("There is no user or service account with this id.")
	switch kind {
	case UserPrincipal:
		missing = fault.Unknown("There is no user with this id.")
	case ServiceAccountPrincipal:
		missing = fault.Unknown("There is no service account with this id.")
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

// ScanPrincipal returns the principal in a row of PrincipalColumns.
func ScanPrincipal(row db.Row) (PrincipalInfo, error) {
	var p PrincipalInfo
	var rights string
	err := row.Scan(&p.ID, &p.Type, &p.Home, &p.OrganizationID, &p.Name, &p.Email, &p.Role, &rights, &p.Disabled,
		&p.CreatedAt, &p.Language, &p.ErasedAt)
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

// ErasedName is the displayed name of an erased person.
var ErasedName = i18n.Text("Erased person")

// FoldEmail returns a form in which two addresses of the same mailbox are equal. It is in lower
// case, except for some letters such as the Kelvin sign or the Turkish İ. The lower-case form of
// such a letter belongs to another capital letter. An address with it may belong to somebody
// else's mailbox.
func FoldEmail(s string) string {
	return strings.Map(func(r rune) rune {
		if small := unicode.ToLower(r); unicode.ToUpper(small) == r {
			return small
		}
		return r
	}, s)
}

// PrincipalExists reports whether id is a user or service account of an organization. A sandbox
// has the principals of its live organization. Disabled principals count too, because they still
// own their records. Erased principals do not count, because they must not get anything.
func PrincipalExists(ctx context.Context, tx db.Tx, organization int64, id string) (bool, error) {
	var one int64
	err := tx.QueryRow(ctx, selectPrincipalExists, organization, id).Scan(&one)
	if errors.Is(err, db.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// PrincipalIDs returns the ids of all principals for which PrincipalExists is true.
func PrincipalIDs(ctx context.Context, tx db.Tx, organization int64) (ids []string, err error) {
	return db.Values[string](ctx, tx, selectPrincipalIDs, organization)
}
