package access

import (
	"errors"
	"strings"

	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/i18n"
)

// Reason is the reason why a caller was refused. Only the request log has it.
type Reason string

// The values of Reason. The response is the same 401 for all reasons above the empty line.
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

// Refusal is the cause of a fault for a refused credential. It has all known details of the
// credential, so that the owner finds the refusal in the request log.
type Refusal struct {
	Reason Reason
	// KeyID and KidShort are empty and Organization is zero if the credential is unknown.
	KeyID        string
	KidShort     string
	Organization int64
}

// Error returns the reason.
func (r *Refusal) Error() string { return "access: credential refused: " + string(r.Reason) }

// RefusalOf returns the refusal in err, or nil.
func RefusalOf(err error) *Refusal {
	var r *Refusal
	if errors.As(err, &r) {
		return r
	}
	return nil
}

// refused returns the common 401 for all failures of a credential.
func refused(reason Reason, c Credential, organization int64) *fault.Fault {
	return &fault.Fault{
		Code:   fault.Unauthenticated,
		Reason: string(reason),
		Cause:  &Refusal{Reason: reason, KeyID: c.ID, KidShort: c.Short, Organization: organization},
	}
}

// Lacking returns the fault for a call that lacks scopes.
func Lacking(scopes ...string) *fault.Fault {
	said := i18n.Text("This call lacks the scope %s.")
	if len(scopes) > 1 {
		said = "This call lacks the scopes %s."
	}
	detail := i18n.Format(said, strings.Join(scopes, ", "))
	return &fault.Fault{Code: fault.Forbidden, Reason: string(NoScope), Detail: detail}
}

// SecondFactor returns a fault if the organization requires a second factor and the person has
// none.
func (a *Actor) SecondFactor(now clock.Micros) error {
	if from := a.Credential().SecondFactorFrom; from == 0 || now < from {
		return nil
	}
	return &fault.Fault{Code: fault.Forbidden, Reason: string(NoSecondFactor), Detail: needsFactor}
}

var needsFactor = i18n.Text("Your organization requires a second factor. Set one up first: a passkey or an authenticator app.")

// Recent returns a fault unless the caller has signed in recently or is the operator.
func (a *Actor) Recent(now clock.Micros) error {
	if a.Credential().Kind == Operator || now < a.Credential().FreshUntil {
		return nil
	}
	return &fault.Fault{Code: fault.Forbidden, Reason: string(NotFresh), Detail: signInAgain}
}

var signInAgain = i18n.Text("This requires a recent sign-in. Please sign in again.")
