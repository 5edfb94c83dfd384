// Package process owns what long acts have in common: whose rights they have, and how their end is told.
package process

import (
	"context"
	"errors"

	"kartei/access"
	"kartei/api/op"
	"kartei/kit/clock"
	"kartei/people/audit"
	"kartei/store/db"
	"kartei/store/job"
)

// Delegation names the call that asked for a job, and the person whose rights the job has.
type Delegation struct {
	// By is the person, Kind the kind of the caller's credential.
	By, Kind        string
	Door, RequestID string
}

// DelegationOf returns the delegation of a call that works with the rights of an actor.
func DelegationOf(c *op.Call, a *access.Actor) Delegation {
	return Delegation{a.PrincipalID(), string(c.Actor.Credential().Kind), c.Door, c.RequestID}
}

var (
	// ErrNoRight means that a person was disabled or lost a right that the job needs.
	ErrNoRight = errors.New("process: the person of the job lacks a right")
	// ErrNotOpen means that the organization is closed or being deleted.
	ErrNotOpen = errors.New("process: the organization of the job is not open")
)

// Call returns the call of one transaction of a job, with the rights that the person has
// now. Without one of the scopes it fails.
func (d Delegation) Call(ctx context.Context, tx db.Tx, organization int64, now clock.Micros, s *op.Services, scopes ...string) (*op.Call, error) {
	actor, err := access.PersonFor(ctx, tx, organization, d.By)
	switch {
	case errors.Is(err, db.ErrNoRows):
		return nil, ErrNoRight
	case err != nil:
		return nil, err
	case actor.Organization().State != access.Open: // a person then lacks the right too
		return nil, ErrNotOpen
	case actor.Disabled():
		return nil, ErrNoRight
	}
	for _, scope := range scopes {
		if !actor.May(scope) {
			return nil, ErrNoRight
		}
	}
	return &op.Call{Actor: actor, Tx: tx, Now: now, RequestID: d.RequestID, Door: d.Door, Services: s, IfMatch: op.Precondition{Waived: true}}, nil
}

// Line returns the line of the audit log for the end of a job. In the place of a
// credential it has the job: the line of the call that asked for it has the credential,
// and the same request id.
func (d Delegation) Line(j *job.Job, word string, now clock.Micros) audit.Line {
	by := d.By
	if d.Kind == audit.OperatorKind {
		by = "" // the operator acted, with the rights of that person
	}
	return audit.Line{
		Time: now, PrincipalID: by, CredentialKind: d.Kind, CredentialID: j.ID,
		Door: "job", Operation: j.Kind, Word: word, RequestID: d.RequestID,
	}
}
