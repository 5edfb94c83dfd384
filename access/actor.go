// Package access owns who is calling: organizations and their gate, principals, their rights, and credentials.
package access

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"

	"kartei/store/db"
)

// Role is the default of a principal's rights in its organization.
type Role string

// The roles. An admin sees private records of others; a viewer never writes.
const (
	Admin  Role = "admin"
	Member Role = "member"
	Viewer Role = "viewer"
)

// Level is the switch by which an organization limits its API.
type Level string

// The levels (contract, table of the gate).
const (
	Off  Level = "off"
	Read Level = "read"
	On   Level = "on"
)

// State is a stage in the life of an organization.
type State string

// The states. Calls reach an open organization only.
const (
	Open     State = "open"
	Closed   State = "closed"
	Deleting State = "deleting"
)

// Organization is one tenant, or the sandbox beside one.
type Organization struct {
	// Number leads the key of every row of the tenant.
	Number int64
	ID     string
	Name   string
	// Sandbox is true for the organization of test keys.
	Sandbox         bool
	ModuleOn        bool
	SecrecyDeclared bool
	Level           Level
	State           State
}

// PrincipalType is user or serviceAccount.
type PrincipalType string

// The two kinds of principal.
const (
	UserPrincipal           PrincipalType = "user"
	ServiceAccountPrincipal PrincipalType = "serviceAccount"
)

// Actor is a caller whose credential was accepted. Only this package makes one,
// and it never changes. The zero Actor belongs to no organization and has no
// rights.
type Actor struct {
	organization  Organization
	principalType PrincipalType
	principalID   string
	principalName string
	role          Role
	rights        Rights
	credential    Credential
	// scopes are the effective ones, sorted; see effectiveScopes.
	scopes []string
	nets   []netip.Prefix
	// bearer is the cached key or token of the actor, nil for other kinds of
	// credential. known counts the administrative acts that the actor takes
	// into account.
	bearer *cachedBearer
	known  int64
	// disabled is true for a disabled principal that ActorFor returned. A
	// credential of such a principal is refused.
	disabled bool
}

// Organization returns the tenant that the credential is bound to.
func (a *Actor) Organization() Organization { return a.organization }

// Org returns the tenant's number, which leads every query.
func (a *Actor) Org() int64 { return a.organization.Number }

// PrincipalID returns usr_... or svc_....
func (a *Actor) PrincipalID() string { return a.principalID }

// PrincipalName returns the name to show.
func (a *Actor) PrincipalName() string { return a.principalName }

// PrincipalType returns user or serviceAccount.
func (a *Actor) PrincipalType() PrincipalType { return a.principalType }

// Credential returns the credential of the actor. The caller must not change
// it.
func (a *Actor) Credential() *Credential { return &a.credential }

// Scopes returns the effective scopes, sorted. The caller must not change it.
func (a *Actor) Scopes() []string { return a.scopes }

// May reports whether the effective scopes include scope. The empty scope is
// everyone's.
func (a *Actor) May(scope string) bool {
	if scope == "" {
		return a.principalID != ""
	}
	_, found := slices.BinarySearch(a.scopes, scope)
	return found
}

// OnlyReads reports whether the level of the organization is read, and restricts the
// actor.
func (a *Actor) OnlyReads() bool { return a.organization.Level == Read && a.credential.Duties.Gate }

// SeesAll reports whether the actor sees private records of others.
func (a *Actor) SeesAll() bool { return a.role == Admin }

// Disabled reports whether the principal was disabled after its work began. The
// actor keeps its role and rights, so the caller decides whether the work goes
// on.
func (a *Actor) Disabled() bool { return a.disabled }

// ActorFor returns a principal as the actor of work that goes on without it.
// The actor has no credential and has the rights that the principal has now.
// ActorFor fails with db.ErrNoRows if the organization has no such principal.
func ActorFor(ctx context.Context, tx db.Tx, organization int64, principal string) (*Actor, error) {
	a := &Actor{principalID: principal, credential: Credential{Duties: duties[""]}}
	var text string
	err := tx.QueryRow(ctx, selectActor, organization, principal).Scan(&a.principalType, &a.principalName, &a.role, &text,
		&a.organization.Number, &a.organization.ID, &a.organization.Name, &a.organization.Sandbox,
		&a.organization.ModuleOn, &a.organization.SecrecyDeclared, &a.organization.Level, &a.organization.State, &a.disabled)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal([]byte(text), &a.rights); err != nil {
		return nil, fmt.Errorf("access: principal %s: rights: %w", principal, err)
	}
	a.scopes = effectiveScopes(allScopes, a)
	return a, nil
}

// PersonFor is ActorFor for work that a person began at a page, or that the operator began
// for a person. The switches of the organization are about programs and do not apply.
func PersonFor(ctx context.Context, tx db.Tx, organization int64, principal string) (*Actor, error) {
	a, err := ActorFor(ctx, tx, organization, principal)
	if err != nil {
		return a, err
	}
	a.credential.Duties = Duties{Person: true}
	a.scopes = effectiveScopes(allScopes, a)
	return a, nil
}

// CaretakerOf returns the actor of work on all records of an organization that an
// admin or the operator began, and that goes on without them. It sees all records,
// is no principal, and calls nothing. It fails with db.ErrNoRows if there is no
// such organization.
func CaretakerOf(ctx context.Context, tx db.Tx, organization int64) (*Actor, error) {
	a := &Actor{role: Admin, credential: Credential{Duties: duties[""]}}
	o := &a.organization
	err := tx.QueryRow(ctx, selectTenant, organization).Scan(&o.Number, &o.ID, &o.Name, &o.Sandbox, &o.ModuleOn,
		&o.SecrecyDeclared, &o.Level, &o.State)
	if err != nil {
		return nil, err
	}
	return a, nil
}
