package access

import (
	"context"
	"net/netip"

	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/store/db"
)

// Credential describes the credential with which a caller proved its identity. It does not
// contain the secret.
type Credential struct {
	// ID is the id of the credential: key_... for an API key, and gra_..., the id of the grant,
	// for an access token. Limits and the request log use it.
	ID   string
	Kind Kind
	// Short is the part of the credential that people recognize. For an API key, it is the first
	// 8 characters of the kid. For other kinds, it is id.Short of ID.
	Short string
	// Environment is test or live. It is empty for kinds without an environment.
	Environment string
	// VersionPin is the API version to which the credential is bound (YYYY-MM-DD). Empty means
	// the current version.
	VersionPin string
	// Audience is the resource for which a token was issued (RFC 8707): V1 or MCP. It is empty
	// for kinds that are not bound to a resource.
	Audience string
	// Grant is the grant of an access token. It is nil for other kinds.
	Grant *Grant
	// ExpiresAt is the time at which the credential expires, or zero if it does not expire.
	ExpiresAt clock.Micros
	// FreshUntil is the time until which the caller's sign-in counts as recent. It is zero for
	// kinds without a sign-in.
	FreshUntil clock.Micros
	// SecondFactorFrom is the time from which the organization requires a second factor that the
	// account does not have. It is zero if the account has one, or if none is required.
	SecondFactorFrom clock.Micros
	// Duties are the stages of the call path that apply to the credential's kind.
	Duties Duties
}

// Grant is the permission of a principal for an application (RFC 6749, section 1.3).
type Grant struct {
	// ClientID is the id of the application, and ClientName is its name for people.
	ClientID, ClientName string
	// ExpiresAt is the latest time at which the grant ends.
	CreatedAt, ExpiresAt clock.Micros
}

// The resources for which tokens are issued.
const (
	// V1 is the API. MCP is the interface for AI assistants.
	V1  = "v1"
	MCP = "mcp"
)

// Kind is a kind of credential.
type Kind string

// The values of Kind.
const (
	// Key is an API key of a program.
	Key Kind = "key"
	// Token is an access token. An application acts with it for a principal who has given consent
	// (OAuth 2.1).
	Token Kind = "token"
	// Session is the sign-in of a person with a browser.
	Session Kind = "session"
	// Operator is the operator of the instance. This kind has no secret, because only the
	// operator can connect to its door.
	Operator Kind = "operator"
	// Anonymous is a caller without a credential. Some operations allow such calls.
	Anonymous Kind = "anonymous"
)

// Duties are the stages of the call path that apply to a kind of credential.
type Duties struct {
	// Gate applies the organization's switches for programs: the module, the declaration of
	// secrecy and the level (see Actor.Gate).
	Gate bool
	// Version executes a call in the API version that it requests or that its key pins. Kinds
	// without this duty get the internal version, whose lists have more parameters.
	Version bool
	// Preview requires the header Svc-Preview for operations of the preview channel.
	Preview bool
	// IdempotencyKey requires the header Idempotency-Key for creations.
	IdempotencyKey bool
	// Precondition requires the header If-Match for changes and deletions.
	Precondition bool
	// Limits counts calls towards the rate limits and quotas.
	Limits bool
	// Person says that the caller is a person at a screen and not a program. Limits then uses the
	// policies of sessions, and RequestLog writes only changes and refusals. Every change accepts
	// an Idempotency-Key. A closed organization can still be read (see Actor.Gate).
	Person bool
	// RequestLog writes calls to the request log. For a kind without Limits, it writes only a
	// sample if many calls arrive (see package requestlog).
	RequestLog bool
	// Console allows operations that are not in the contract. A kind without Console is for
	// programs, even if they act for an admin. Such a kind can call only the operations that are
	// open to all callers.
	Console bool
}

// duties has the duties of each kind. There is no other such table.
var duties = map[Kind]Duties{
	Key: {
		Gate: true, Version: true, Preview: true, IdempotencyKey: true, Precondition: true, Limits: true,
		RequestLog: true,
	},
	Token: {
		Gate: true, Version: true, Preview: true, IdempotencyKey: true, Precondition: true, Limits: true,
		RequestLog: true,
	},
	// The organization's switches and the warnings of the preview channel concern programs. The
	// forms of the web application send the revision that they change.
	Session:   {Precondition: true, Limits: true, RequestLog: true, Console: true, Person: true},
	Operator:  {Console: true},
	Anonymous: {},
	// The empty kind is for work that a principal began and that continues without it. Such work
	// obeys the organization's switches.
	"": {Gate: true},
}

// Scheme is the way in which a caller presents its credential.
type Scheme string

// The schemes that a Directory resolves by itself.
const (
	// Bearer is the header Authorization: Bearer (RFC 6750). The text is an API key or an access
	// token.
	Bearer Scheme = "bearer"
	// Local is a door to which only the operator can connect, such as the socket in the data
	// folder. There is no text.
	Local Scheme = "local"
	// Cookie is the cookie of the web application. The text is the token of a session, which acts
	// in its live organization.
	Cookie Scheme = "cookie"
	// SandboxCookie is the same cookie, sent to a path of the sandbox. The session acts in the
	// sandbox of its organization.
	SandboxCookie Scheme = "sandbox"
)

// granted is the scheme under which the finder of grants is registered. No door presents it,
// because a caller with a grant presents an access token.
const granted Scheme = "granted"

// Presentation is a credential as its door received it.
type Presentation struct {
	Scheme Scheme
	// Audience is the resource to which the call was sent: V1 or MCP.
	Audience string
	// Text is the secret. It is empty if the caller sent none.
	Text string
}

// Resolve returns the actor of a credential. from is the address of the caller.
//
// The actor may come from the cache although another process has meanwhile changed the database.
// Then assumed is true, and the caller must call Confirm before it changes or returns anything.
// If fresh is true, Resolve asks the database, and assumed is false.
//
// The errors are the same as for Authenticate.
func (d *Directory) Resolve(
	ctx context.Context, p Presentation, from netip.Addr, fresh bool,
) (a *Actor, assumed bool, err error) {
	switch p.Scheme {
	case Bearer:
		if !fresh {
			if a = d.recognize(p.Text, p.Audience, from); a != nil {
				return a, true, nil
			}
		}
		a, err = d.Authenticate(ctx, p.Text, p.Audience, from)
		return a, false, err
	case Local:
		return &operator, false, nil
	}
	f := d.finders[p.Scheme]
	switch {
	case p.Text == "":
		return nil, false, refused(Missing, Credential{}, 0)
	case f.ByText == nil:
		return nil, false, refused(Malformed, Credential{}, 0)
	}
	if f.Kind == Session {
		return d.session(ctx, &f, p, from, fresh)
	}
	a, err = d.find(ctx, &f, p.Text, from)
	return a, false, err
}

// operator is the actor for the operator of the instance. It belongs to no organization.
var operator = Actor{credential: Credential{Kind: Operator, Duties: duties[Operator]}}

// nobody is the actor for a caller without a credential.
var nobody = Actor{credential: Credential{Kind: Anonymous, Duties: duties[Anonymous]}}

// Nobody returns the actor for a caller without a credential. It belongs to no organization.
func Nobody() *Actor { return &nobody }

// Confirm checks an assumed actor. It fails with db.ErrStale if an administrative act may have
// changed the actor. Inside a transaction, the check needs no round trip of its own, and the
// transaction fails with db.ErrStale. If tx is nil, Confirm asks the database itself.
func (d *Directory) Confirm(ctx context.Context, tx db.Tx, a *Actor) error {
	if a.bearer == nil {
		return d.sessions.confirm(ctx, tx, a.known)
	}
	return d.bearers.confirm(ctx, tx, a.known)
}

// Used records that a confirmed actor made a call from an address. The use of a session is
// recorded when the session is read from the database, which happens once a minute.
func (d *Directory) Used(a *Actor, from netip.Addr) {
	if a.bearer == nil {
		return
	}
	d.succeeded(a.bearer, source(from.Unmap().WithZone("")), clock.Now(d.clock))
}

// Gate returns a fault if the organization does not allow the call. changes says whether the call
// changes anything.
//
// For a credential with the duty Gate, it applies the organization's switches for programs
// (contract, 'Authentication', points 6 and 8), in this order:
//   - If the module publicApi is off or professional secrecy is not declared, the fault is 403
//     API_MODULE_DISABLED.
//   - If the level is off, the fault is 401 UNAUTHENTICATED. Only the request log distinguishes
//     it from a wrong key.
//
// The level read causes no fault here, because it removes the writing scopes.
//
// An organization that is closed or being deleted refuses calls of every kind with 403 FORBIDDEN.
// But people may still read in a closed organization, and admins in one that is being deleted.
func (a *Actor) Gate(changes bool) error {
	o := &a.organization
	if a.credential.Duties.Gate {
		if err := a.Module(); err != nil {
			return err
		}
		if o.apiOff() {
			return refused(APIOff, a.credential, o.Number)
		}
	}
	switch kind := a.credential.Kind; {
	case o.State == Open, kind == Operator, kind == Anonymous:
		return nil
	case a.credential.Duties.Person && !changes && (o.State == Closed || o.State == Deleting && a.role == Admin):
		return nil
	case a.credential.Duties.Person && o.State == Deleting:
		return closedBecause(onlyAdmins)
	case a.credential.Duties.Person:
		return closedBecause(onlyReading)
	}
	return closedBecause(closed)
}

func closedBecause(detail i18n.Text) error {
	return &fault.Fault{Code: fault.Forbidden, Reason: string(OrganizationClosed), Detail: detail}
}

// Module returns 403 API_MODULE_DISABLED unless the organization has enabled the module publicApi
// and has declared its professional secrecy.
func (a *Actor) Module() error {
	switch o := &a.organization; {
	case !o.ModuleOn:
		return &fault.Fault{Code: fault.APIModuleDisabled, Reason: string(ModuleOff)}
	case !o.SecrecyDeclared:
		return &fault.Fault{Code: fault.APIModuleDisabled, Reason: string(SecrecyUndeclared), Detail: undeclared}
	}
	return nil
}
