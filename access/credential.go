package access

import (
	"context"
	"net/netip"

	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/store/db"
)

// Credential describes what proved the identity of a caller. It never holds the
// secret.
type Credential struct {
	// ID is the credential's id: key_... for an API key, and for an access token
	// gra_..., the id of its grant. Limits and the request log count by it.
	ID   string
	Kind Kind
	// Short is the part of a credential that people recognize: the first 8
	// characters of an API key's kid, for other kinds id.Short of ID.
	Short string
	// Environment is test or live, and empty for kinds that know neither.
	Environment string
	// VersionPin is the version of the API that the credential pins (YYYY-MM-DD).
	// Empty means the current one.
	VersionPin string
	// Audience is the resource that a token was issued for (RFC 8707): V1 or MCP. It is
	// empty for kinds that are bound to none.
	Audience string
	// Grant is what an access token rests on, nil for other kinds.
	Grant *Grant
	// ExpiresAt is the time at which the credential expires, or zero.
	ExpiresAt clock.Micros
	// FreshUntil is the time until which the sign-in of the caller counts as
	// recent. It is zero for kinds without a sign-in.
	FreshUntil clock.Micros
	// SecondFactorFrom is the time from which the organization asks the caller for a
	// second factor that the account does not have. It is zero if it has one, or if none
	// is required.
	SecondFactorFrom clock.Micros
	// Duties are the kind's duties.
	Duties Duties
}

// Grant is what a principal lets an application do (RFC 6749, section 1.3).
type Grant struct {
	// ClientID is the name by which the application calls itself, ClientName what people
	// call it.
	ClientID, ClientName string
	// ExpiresAt is the end at the latest.
	CreatedAt, ExpiresAt clock.Micros
}

// The resources that tokens are issued for.
const (
	// V1 is the API, MCP the interface for assistants.
	V1  = "v1"
	MCP = "mcp"
)

// Kind is a kind of credential.
type Kind string

// The kinds of credential.
const (
	// Key is an API key, with which a program calls.
	Key Kind = "key"
	// Token is an access token, with which an application calls for a principal that let
	// it (OAuth 2.1).
	Token Kind = "token"
	// Session is the sign-in of a person with a browser.
	Session Kind = "session"
	// Operator has no secret: only the operator can reach the door itself.
	Operator Kind = "operator"
	// Anonymous is no credential: the caller did not sign in, which some
	// operations allow.
	Anonymous Kind = "anonymous"
)

// Duties are the rules of the path that apply to a kind of credential.
type Duties struct {
	// Gate applies the organization's switches for programs: the module, the
	// declaration of secrecy and the level (see Actor.Gate).
	Gate bool
	// Version serves a call in the version that it names or that its key pins. Kinds
	// without it get the internal version, whose lists can do more.
	Version bool
	// Preview requires the header Svc-Preview for operations of the preview channel.
	Preview bool
	// IdempotencyKey requires the header Idempotency-Key for creations.
	IdempotencyKey bool
	// Precondition requires the header If-Match for changes and deletions.
	Precondition bool
	// Limits charges calls to the rate limits and quotas.
	Limits bool
	// Person is set for a person at a screen instead of a program. Limits then
	// charges the policies of sessions, and RequestLog writes only changes and
	// refusals. Every change accepts an Idempotency-Key, and an organization that is
	// closed can still be read (see Actor.Gate).
	Person bool
	// RequestLog writes calls to the request log. Of a kind without Limits it keeps
	// a sample if they come fast (see package requestlog).
	RequestLog bool
	// Console opens the operations that are not in the contract. Without it only those
	// that anyone may call are open: the kind is for programs, even an admin's.
	Console bool
}

// duties is the only table of the duties of each kind.
var duties = map[Kind]Duties{
	Key: {
		Gate: true, Version: true, Preview: true, IdempotencyKey: true, Precondition: true, Limits: true,
		RequestLog: true,
	},
	Token: {
		Gate: true, Version: true, Preview: true, IdempotencyKey: true, Precondition: true, Limits: true,
		RequestLog: true,
	},
	// The organization's switches are about programs, and so is what the preview
	// channel warns of. Forms carry the revision that they change.
	Session:   {Precondition: true, Limits: true, RequestLog: true, Console: true, Person: true},
	Operator:  {Console: true},
	Anonymous: {},
	// Work that a principal began, and that continues without it, obeys the
	// organization's switches.
	"": {Gate: true},
}

// Scheme is the way in which a caller showed its credential.
type Scheme string

// The schemes that a Directory resolves by itself.
const (
	// Bearer is the header Authorization: Bearer (RFC 6750). The text is an API key or an
	// access token.
	Bearer Scheme = "bearer"
	// Local is a door that only the operator can reach, such as the socket in the
	// data folder. There is no text.
	Local Scheme = "local"
	// Cookie is the cookie of the web application. The text is the token of a
	// session, which acts in its live organization.
	Cookie Scheme = "cookie"
	// SandboxCookie is the same cookie, below the address of the sandbox. The
	// session acts in the sandbox of its organization.
	SandboxCookie Scheme = "sandbox"
)

// granted is the scheme of grants. No door presents it: the secret of a grant is an
// access token.
const granted Scheme = "granted"

// Presentation is a credential as its door received it.
type Presentation struct {
	Scheme Scheme
	// Audience is the resource that is called: V1 or MCP.
	Audience string
	// Text is the secret. It is empty if the caller sent none.
	Text string
}

// Resolve returns the actor of a credential. from is the caller's address.
//
// The actor may come from the cache although another process has changed the
// database since. If so, assumed is true, and the caller must call Confirm
// before it changes or answers anything. With fresh, Resolve asks the database
// itself and assumed is false.
//
// For errors see Authenticate.
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

// operator is the operator of the instance. It belongs to no organization.
var operator = Actor{credential: Credential{Kind: Operator, Duties: duties[Operator]}}

// nobody is a caller who did not sign in.
var nobody = Actor{credential: Credential{Kind: Anonymous, Duties: duties[Anonymous]}}

// Nobody returns a caller who did not sign in. It belongs to no organization.
func Nobody() *Actor { return &nobody }

// Confirm asks the database whether an administrative act may have changed an
// assumed actor. Inside a transaction that costs no round trip of its own: the
// transaction fails with db.ErrStale. With a nil tx, Confirm asks by itself and
// returns db.ErrStale.
func (d *Directory) Confirm(ctx context.Context, tx db.Tx, a *Actor) error {
	if a.bearer == nil {
		return d.sessions.confirm(ctx, tx, a.known)
	}
	return d.bearers.confirm(ctx, tx, a.known)
}

// Used records that a confirmed actor called from an address. Uses of a session are
// recorded when it is read from the database, which is once a minute.
func (d *Directory) Used(a *Actor, from netip.Addr) {
	if a.bearer == nil {
		return
	}
	d.succeeded(a.bearer, source(from.Unmap().WithZone("")), clock.Now(d.clock))
}

// Gate applies the organization's own switches to a caller whose duties include
// them (contract, 'Authentication', points 6 and 8). The order is: module
// publicApi off or professional secrecy not declared, 403 API_MODULE_DISABLED;
// level off, 401 UNAUTHENTICATED. Only the request log distinguishes that from
// a wrong key. Level read refuses no call here: it removes the writing scopes.
//
// An organization that is closed or being deleted refuses every kind with 403
// FORBIDDEN. A person still reads in a closed one, and an admin in one that is
// being deleted. changes says whether the call changes anything.
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

// Module returns 403 API_MODULE_DISABLED unless the organization has enabled the
// module publicApi and has declared its professional secrecy.
func (a *Actor) Module() error {
	switch o := &a.organization; {
	case !o.ModuleOn:
		return &fault.Fault{Code: fault.APIModuleDisabled, Reason: string(ModuleOff)}
	case !o.SecrecyDeclared:
		return &fault.Fault{Code: fault.APIModuleDisabled, Reason: string(SecrecyUndeclared), Detail: undeclared}
	}
	return nil
}
