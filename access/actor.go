// Package access owns the identification of callers: principals, rights, credentials, sessions and throttles.
package access

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"

	"kartei/store/db"
)

// Role gives a principal its default rights in an organization.
type Role string

// The values of Role. An admin sees private records of others. A viewer may only read.
const (
	Admin  Role = "admin"
	Member Role = "member"
	Viewer Role = "viewer"
)

// Level is the organization's switch that limits its API.
type Level string

// The values of Level (contract, table of the gate).
const (
	Off  Level = "off"
	Read Level = "read"
	On   Level = "on"
)

// State is the state of an organization.
type State string

// The values of State. Programs can call only an open organization.
const (
	Open     State = "open"
	Closed   State = "closed"
	Deleting State = "deleting"
)

// Organization is a tenant, or the sandbox of a tenant.
type Organization struct {
	// Number is the first part of the key of every row of the organization.
	Number int64
	ID     string
	Name   string
	// Sandbox is true for the organization in which test keys act.
	Sandbox         bool
	ModuleOn        bool
	SecrecyDeclared bool
	Level           Level
	State           State
}

// PrincipalType says whether a principal is a user or a service account.
type PrincipalType string

// The values of PrincipalType.
const (
	UserPrincipal           PrincipalType = "user"
	ServiceAccountPrincipal PrincipalType = "serviceAccount"
)

// Actor is a caller whose credential was accepted. Only this package creates Actors, and an Actor
// does not change. The zero Actor belongs to no organization and has no rights.
type Actor struct {
	organization  Organization
	principalType PrincipalType
	principalID   string
	principalName string
	role          Role
	rights        Rights
	credential    Credential
	// scopes are the effective scopes, sorted; see effectiveScopes.
	scopes []string
	nets   []netip.Prefix
	// bearer is the cached API key or access token of the actor. It is nil for other kinds of
	// credential. known is the number of administrative acts at the time when the actor was read.
	bearer *cachedBearer
	known  int64
	// disabled says that ActorFor returned a disabled principal. A credential of a disabled
	// principal is refused.
	disabled bool
}

// Organization returns the organization to which the credential is bound.
func (a *Actor) Organization() Organization { return a.organization }

// Org returns the number of the organization, which is the first parameter of most queries.
func (a *Actor) Org() int64 { return a.organization.Number }

// PrincipalID returns the id of the principal: usr_... or svc_....
func (a *Actor) PrincipalID() string { return a.principalID }

// PrincipalName returns the name of the principal.
func (a *Actor) PrincipalName() string { return a.principalName }

// PrincipalType returns the type of the principal.
func (a *Actor) PrincipalType() PrincipalType { return a.principalType }

// Credential returns the credential of the actor. The caller must not change it.
func (a *Actor) Credential() *Credential { return &a.credential }

// Scopes returns the effective scopes, sorted. The caller must not change the slice.
func (a *Actor) Scopes() []string { return a.scopes }

// May reports whether the effective scopes include scope. Every principal has the empty scope.
func (a *Actor) May(scope string) bool {
	if scope == "" {
		return a.principalID != ""
	}
	_, found := slices.BinarySearch(a.scopes, scope)
	return found
}

// OnlyReads reports whether the level of the organization is read and limits the actor.
func (a *Actor) OnlyReads() bool { return a.organization.Level == Read && a.credential.Duties.Gate }

// Caretaker reports whether CaretakerOf returned the actor.
func (a *Actor) Caretaker() bool {
	return a.role == Admin && a.principalID == "" && a.credential.Kind == ""
}

// SeesAll reports whether the actor sees private records of others.
func (a *Actor) SeesAll() bool { return a.role == Admin }

// Disabled reports whether the principal was disabled after its work began. The actor keeps its
// role and rights. The caller decides whether the work continues.
func (a *Actor) Disabled() bool { return a.disabled }

// ActorFor returns a principal as the actor of work that continues without a caller. The actor
// has no credential, and has the current rights of the principal. ActorFor fails with
// db.ErrNoRows if the organization has no such principal.
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

// PersonFor is ActorFor for work that a person began in the web application, or that the operator
// began for a person. The organization's switches for programs do not apply to this actor.
func PersonFor(ctx context.Context, tx db.Tx, organization int64, principal string) (*Actor, error) {
	a, err := ActorFor(ctx, tx, organization, principal)
	if err != nil {
		return a, err
	}
	a.credential.Duties = Duties{Person: true}
	a.scopes = effectiveScopes(allScopes, a)
	return a, nil
}

// CaretakerOf returns the actor for work on all records of an organization. An admin or the
// operator began this work, and it continues without them. The actor sees all records. It has no
// principal and cannot make calls. CaretakerOf fails with db.ErrNoRows if there is no such
// organization.
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
