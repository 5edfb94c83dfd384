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

// Call returns the call of one transaction of a job, with the rights that the person has
// now. It fails with a StopError without one of the scopes.
func (d Delegation) Call(
	ctx context.Context, tx db.Tx, organization int64, now clock.Micros, s *op.Services, scopes ...string,
) (*op.Call, error) {
	actor, err := access.PersonFor(ctx, tx, organization, d.By)
	switch {
	case errors.Is(err, db.ErrNoRows):
		return nil, StopError{NoRight}
	case err != nil:
		return nil, err
	case actor.Organization().State != access.Open: // a person then lacks the right too
		return nil, StopError{NotOpen}
	case actor.Disabled():
		return nil, StopError{NoRight}
	}
	if Require(actor, scopes...) != nil {
		return nil, StopError{NoRight}
	}
	return &op.Call{
		Actor:     actor,
		Tx:        tx,
		Now:       now,
		RequestID: d.RequestID,
		Door:      d.Door,
		Services:  s,
		IfMatch:   op.Precondition{Waived: true},
	}, nil
}

// Require refuses those who lack one of the scopes.
func Require(a *access.Actor, scopes ...string) error {
	for _, scope := range scopes {
		if !a.May(scope) {
			return access.Lacking(scope)
		}
	}
	return nil
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
