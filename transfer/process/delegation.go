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

// Delegation describes the call that began a job, and the person whose rights the job has.
type Delegation struct {
	// By is the id of the person. Kind is the kind of the caller's credential.
	By, Kind        string
	Door, RequestID string
}

// DelegationOf returns the delegation for a call, whose job will have the rights of an actor.
func DelegationOf(c *op.Call, a *access.Actor) Delegation {
	return Delegation{a.PrincipalID(), string(c.Actor.Credential().Kind), c.Door, c.RequestID}
}

// Call returns a call for one transaction of a job, with the current rights of the person. It
// fails with a StopError if the person lacks one of the scopes or the organization is not open.
func (d Delegation) Call(
	ctx context.Context, tx db.Tx, organization int64, now clock.Micros, s *op.Services, scopes ...string,
) (*op.Call, error) {
	actor, err := access.PersonFor(ctx, tx, organization, d.By)
	switch {
	case errors.Is(err, db.ErrNoRows):
		return nil, StopError{NoRight}
	case err != nil:
		return nil, err
	case actor.Organization().State != access.Open: // the person would then also lack the right
		return nil, StopError{NotOpen}
	case actor.Disabled():
		return nil, StopError{NoRight}
	}
	if Require(actor, scopes...) != nil {
		return nil, StopError{NoRight}
	}
	return &op.Call{
		Actor:      actor,
		Tx:         tx,
		Now:        now,
		RequestID:  d.RequestID,
		Background: true,
		Door:       d.Door,
		Services:   s,
		IfMatch:    op.Precondition{Waived: true},
	}, nil
}

// Require returns a fault if the actor lacks one of the scopes.
func Require(a *access.Actor, scopes ...string) error {
	for _, scope := range scopes {
		if !a.May(scope) {
			return access.Lacking(scope)
		}
	}
	return nil
}

// Line returns the line of the audit log for the end of a job. Its credential is the job. The
// line for the call that began the job has the credential of the caller, and the same request id.
func (d Delegation) Line(j *job.Job, word string, now clock.Micros) audit.Line {
	by := d.By
	if d.Kind == audit.OperatorKind {
		by = "" // the operator began the job, with the rights of that person
	}
	return audit.Line{
		Time: now, PrincipalID: by, CredentialKind: d.Kind, CredentialID: j.ID,
		Door: "job", Operation: j.Kind, Word: word, RequestID: d.RequestID,
	}
}
