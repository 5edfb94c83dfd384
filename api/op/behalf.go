package op

import (
	"context"
	"errors"

	"kartei/access"
	"kartei/kit/clock"
	"kartei/people/audit"
	"kartei/store/db"
	"kartei/store/job"
)

// Behalf names the call that asked for a job, and the person whose rights the job has.
type Behalf struct {
	// By is the person, Kind the kind of the caller's credential.
	By, Kind        string
	Door, RequestID string
}

// BehalfOf returns the behalf of a call that works with the rights of an actor.
func BehalfOf(c *Call, a *access.Actor) Behalf {
	return Behalf{a.PrincipalID(), string(c.Actor.Credential().Kind), c.Door, c.RequestID}
}

var (
	// ErrNoRight means that a person was disabled or lost a right that the job needs.
	ErrNoRight = errors.New("op: the person of the job lacks a right")
	// ErrNotOpen means that the organization is closed or being deleted.
	ErrNotOpen = errors.New("op: the organization of the job is not open")
)

// Call returns the call of one transaction of a job, with the rights that the person has
// now. Without one of the scopes it fails.
func (b Behalf) Call(ctx context.Context, tx db.Tx, organization int64, now clock.Micros, s *Services, scopes ...string) (*Call, error) {
	actor, err := access.PersonFor(ctx, tx, organization, b.By)
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
	return &Call{Actor: actor, Tx: tx, Now: now, RequestID: b.RequestID, Door: b.Door, Services: s, IfMatch: Precondition{Waived: true}}, nil
}

// Line returns the line of the audit log for the end of a job. In the place of a
// credential it has the job: the line of the call that asked for it has the credential,
// and the same request id.
func (b Behalf) Line(j *job.Job, word string, now clock.Micros) audit.Line {
	by := b.By
	if b.Kind == audit.OperatorKind {
		by = "" // the operator acted, with the rights of that person
	}
	return audit.Line{
		Time: now, PrincipalID: by, CredentialKind: b.Kind, CredentialID: j.ID,
		Door: "job", Operation: j.Kind, Word: word, RequestID: b.RequestID,
	}
}
