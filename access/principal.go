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
	// OrganizationID is always the id of a live organization; its sandbox has
	// the same principals.
	OrganizationID string `json:"organizationId"`
	Name           string `json:"name"`
	// Email is empty for service accounts.
	Email string `json:"email,omitempty"`
	// Language is the language of emails to a user: de or en.
	Language  string       `json:"language,omitempty"`
	Role      Role         `json:"role"`
	Rights    Rights       `json:"rights"`
	Disabled  bool         `json:"disabled"`
	CreatedAt clock.Micros `json:"createdAt"`
	// ErasedAt is when a person was erased; such a person has no name and no
	// address.
	ErasedAt clock.Micros `json:"erasedAt,omitzero"`
	// SignIn is how a user signs in. Rows about one user, and lists of one organization,
	// have it.
	SignIn *SignIn `json:"signIn,omitempty"`

	// Home is the number of that organization.
	Home int64 `json:"-"`
}

// SignIn is how a user signs in, as far as admins see it.
type SignIn struct {
	// Joined says that an account signs in as the user: an invitation was accepted.
	Joined bool `json:"joined"`
	// SecondFactor says that the account has a passkey or a generator of codes.
	SecondFactor bool `json:"secondFactor"`
	// SSO says that the account is linked with an OpenID provider.
	SSO bool `json:"sso"`
	// LastSeenAt is the last call of a session of the user that is still kept. Sessions
	// of the account in other organizations are none of the admin's business.
	LastSeenAt clock.Micros `json:"lastSeenAt"`
}

// Prefix returns the id prefix of the kind.
func (t PrincipalType) Prefix() string {
	if t == UserPrincipal {
		return id.User
	}
	return id.ServiceAccount
}

// PrincipalIn reads a principal inside a transaction, of either kind if kind is
// empty. An unknown id is NOT_FOUND.
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

// ScanPrincipal reads a row of PrincipalColumns.
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

// ErasedName is what an erased person is called.
var ErasedName = i18n.Text("Erased person")

// FoldEmail returns a form in which two addresses of the same mailbox are
// equal. A letter whose small form belongs to another capital stays as it is, such as
// the Kelvin sign or the Turkish İ: an address with such a letter belongs to another
// mailbox, which somebody else may have.
func FoldEmail(s string) string {
	return strings.Map(func(r rune) rune {
		if small := unicode.ToLower(r); unicode.ToUpper(small) == r {
			return small
		}
		return r
	}, s)
}

// PrincipalExists reports whether id is a user or service account of an
// organization. A sandbox has the principals of its live organization. Disabled
// ones count too, because they still own their records. Erased ones do not:
// nothing may be given to them.
func PrincipalExists(ctx context.Context, tx db.Tx, organization int64, id string) (bool, error) {
	var one int64
	err := tx.QueryRow(ctx, selectPrincipalExists, organization, id).Scan(&one)
	if errors.Is(err, db.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// PrincipalIDs returns the ids of all principals for which PrincipalExists is
// true.
func PrincipalIDs(ctx context.Context, tx db.Tx, organization int64) (ids []string, err error) {
	return db.Values[string](ctx, tx, selectPrincipalIDs, organization)
}
