// Package account owns how people sign in: their accounts, factors and sessions.
package account

import (
	"context"
	"errors"

	"kartei/access"
	"kartei/app"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/store/db"
)

// Session is the session of the caller as pages need it.
type Session struct {
	ID string `json:"id"`
	// Email is the address of the account.
	Email string `json:"email"`
	// Principal is the person that the session acts as.
	Principal Person `json:"principal"`
	// Organization is the one that the call acts in: a live one or its sandbox.
	Organization access.OrganizationInfo `json:"organization"`
	// Scopes are what the person may do at present, sorted. Administers says that
	// the rows of admins are open.
	Scopes      []string `json:"scopes"`
	Administers bool     `json:"administers"`
	// Persons are all persons of the account, in all organizations.
	Persons []Person `json:"persons"`
	// FreshUntil is the time until which the sign-in counts as recent.
	FreshUntil clock.Micros `json:"freshUntil"`
	// ExpiresAt is the end if no further call comes, EndsAt that at the latest.
	ExpiresAt clock.Micros `json:"expiresAt"`
	EndsAt    clock.Micros `json:"endsAt"`
}

// Person is a person of an account.
type Person struct {
	ID       string      `json:"id"`
	Name     string      `json:"name"`
	Role     access.Role `json:"role"`
	Language string      `json:"language"`
	// OrganizationID is the id of a live organization.
	OrganizationID   string `json:"organizationId"`
	OrganizationName string `json:"organizationName"`
}

const (
	selectSession = `select s.account_id, a.email, s.expires_at from sessions s join accounts a on a.id = s.account_id
		where s.id = $1 and s.principal_id = $2`
	// selectPersons finds those persons of an account that can sign in.
	selectPersons = `select p.id, p.name, p.role, p.language, o.id, o.name from principals p join organizations o on o.number = p.organization
		where p.account_id = $1 and p.disabled = false and p.erased_at = 0 and o.state <> 'deleting' and o.erased_at = 0
		order by o.name, p.id`
)

// GetSession returns the session of the caller.
func GetSession(ctx context.Context, c *app.Call, _ app.None) (s Session, err error) {
	credential := c.Actor.Credential()
	s.ID, s.FreshUntil, s.ExpiresAt = credential.ID, credential.FreshUntil, credential.ExpiresAt
	var account string
	err = c.Tx.QueryRow(ctx, selectSession, s.ID, c.Actor.PrincipalID()).Scan(&account, &s.Email, &s.EndsAt)
	if errors.Is(err, db.ErrNoRows) { // a caller with another kind of credential
		return s, fault.New(fault.NotFound)
	}
	if err == nil {
		s.Organization, err = access.OrganizationIn(ctx, c.Tx, c.Actor.Organization().ID)
	}
	if err == nil {
		s.Persons, err = db.List(ctx, c.Tx, scanPerson, selectPersons, account)
	}
	for _, p := range s.Persons {
		if p.ID == c.Actor.PrincipalID() {
			s.Principal = p
		}
	}
	s.Scopes, s.Administers = c.Actor.Scopes(), c.Actor.SeesAll()
	return s, err
}

func scanPerson(row db.Row) (p Person, err error) {
	err = row.Scan(&p.ID, &p.Name, &p.Role, &p.Language, &p.OrganizationID, &p.OrganizationName)
	return p, err
}
