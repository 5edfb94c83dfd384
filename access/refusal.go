package access

import (
	"errors"
	"strings"

	"kartei/kit/clock"
	"kartei/kit/fault"
)

// Reason is why a caller was refused. Only the request log has it.
type Reason string

// The reasons. To the caller, all but the last seven are the same 401.
const (
	Missing           Reason = "missing"
	Malformed         Reason = "malformed"
	WrongChecksum     Reason = "checksum"
	Unknown           Reason = "unknown"
	WrongSecret       Reason = "wrong_secret"
	Expired           Reason = "expired"
	Revoked           Reason = "revoked"
	Rotated           Reason = "rotated"
	Paused            Reason = "paused"
	WrongAddress      Reason = "address"
	WrongAudience     Reason = "audience"
	PrincipalDisabled Reason = "principal_disabled"
	APIOff            Reason = "api_off"

	Throttled          Reason = "throttled"
	ModuleOff          Reason = "module_off"
	SecrecyUndeclared  Reason = "secrecy_undeclared"
	LevelRead          Reason = "level_read"
	NoScope            Reason = "scope"
	NotFresh           Reason = "not_fresh"
	NoSecondFactor     Reason = "no_second_factor"
	OrganizationClosed Reason = "organization_closed"
)

// Refusal is the cause of a fault that refuses a credential. It has all known
// details of the credential, so that its owner finds the refusal in the request
// log.
type Refusal struct {
	Reason Reason
	// KeyID and KidShort are empty, and Organization is zero, if no key was
	// found.
	KeyID        string
	KidShort     string
	Organization int64
}

// Error returns the reason.
func (r *Refusal) Error() string { return "access: credential refused: " + string(r.Reason) }

// RefusalOf returns the refusal inside err, or nil.
func RefusalOf(err error) *Refusal {
	var r *Refusal
	if errors.As(err, &r) {
		return r
	}
	return nil
}

// refused returns the one 401 for all failures of a credential.
func refused(reason Reason, c Credential, organization int64) *fault.Fault {
	return &fault.Fault{
		Code:   fault.Unauthenticated,
		Reason: string(reason),
		Cause:  &Refusal{Reason: reason, KeyID: c.ID, KidShort: c.Short, Organization: organization},
	}
}

// Lacking returns the fault for a call without the scopes that it needs.
func Lacking(scopes ...string) *fault.Fault {
	which := fault.Text{DE: "fehlt der Scope ", EN: "the scope "}
	if len(scopes) > 1 {
		which = fault.Text{DE: "fehlen die Scopes ", EN: "the scopes "}
	}
	list := strings.Join(scopes, ", ")
	return &fault.Fault{Code: fault.Forbidden, Reason: string(NoScope), Detail: &fault.Text{
		DE: "Diesem Aufruf " + which.DE + list + ".",
		EN: "This call lacks " + which.EN + list + ".",
	}}
}

// SecondFactor refuses a person who has no second factor, once the organization
// requires one.
func (a *Actor) SecondFactor(now clock.Micros) error {
	if from := a.Credential().SecondFactorFrom; from == 0 || now < from {
		return nil
	}
	return &fault.Fault{Code: fault.Forbidden, Reason: string(NoSecondFactor), Detail: &needsFactor}
}

var needsFactor = fault.Text{
	DE: "Ihre Organisation verlangt einen zweiten Faktor. Richten Sie zuerst einen ein: einen Passkey oder eine App für Einmalcodes.",
	EN: "Your organization requires a second factor. Set one up first: a passkey or an authenticator app.",
}

// Recent refuses what asks for a recent sign-in, unless the caller has signed in recently
// or is the operator.
func (a *Actor) Recent(now clock.Micros) error {
	if a.Credential().Kind == Operator || now < a.Credential().FreshUntil {
		return nil
	}
	return &fault.Fault{Code: fault.Forbidden, Reason: string(NotFresh), Detail: &signInAgain}
}

var signInAgain = fault.Text{
	DE: "Dafür ist eine neue Anmeldung nötig. Bitte melden Sie sich noch einmal an.",
	EN: "This requires a recent sign-in. Please sign in again.",
}
