// Package account owns how people sign in: their accounts, factors and sessions.
package account

import (
	"context"
	"errors"

	"kartei/access"
	"kartei/api/op"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/people/identity"
	"kartei/people/notify"
	"kartei/people/passkey"
	"kartei/people/profile"
	"kartei/people/signin"
	"kartei/store/db"
)

// Session is the session of the caller, with the data that pages show.
type Session struct {
	ID string `json:"id"`
	// Email is the sign-in address of the account.
	Email string `json:"email"`
	// Principal is the person as whom the session acts.
	Principal Person `json:"principal"`
	// Preferences are the person's settings for pages.
	Preferences profile.Preferences `json:"preferences"`
	// Organization is the organization of the call: a live one or its sandbox.
	Organization access.OrganizationInfo `json:"organization"`
	// Scopes are the person's present scopes, sorted. Administers says that the person may call
	// operations for admins.
	Scopes      []string `json:"scopes"`
	Administers bool     `json:"administers"`
	// Persons are all persons of the account, in all organizations.
	Persons []Person `json:"persons"`
	// SecondFactorFrom is the time from which the organization requires a second factor. It is zero
	// if none is required or the account has one. SecondFactorDue says that this time has come.
	// Then the person can only call operations that set up a factor.
	SecondFactorFrom clock.Micros `json:"secondFactorFrom,omitzero"`
	SecondFactorDue  bool         `json:"secondFactorDue,omitempty"`
	// FreshUntil is the time until which the sign-in counts as recent.
	FreshUntil clock.Micros `json:"freshUntil"`
	// ExpiresAt is the end of the session if no further call comes. EndsAt is the latest possible
	// end.
	ExpiresAt clock.Micros `json:"expiresAt"`
	EndsAt    clock.Micros `json:"endsAt"`
	Trusted   bool         `json:"trusted"`
	// Bell is the number of unread notices of the person, at most 100.
	Bell int `json:"bell"`
	// HasKey says that the person has an API key, and so probably writes programs.
	HasKey bool `json:"hasKey"`
	// Mails says that the instance can send emails.
	Mails bool `json:"mails"`
}

const (
	selectOwnSession = `select s.id, s.organization, s.expires_at, s.idle, s.method, s.device, p.preferences,
		(select count(*) from (select 1 from notices n where n.organization = s.organization and n.principal = s.principal_id and n.read_at = 0 limit 100) unread),
		exists(select 1 from api_keys k where k.principal_id = s.principal_id and k.revoked_at = 0), ` + accountMembers +
		` from sessions s
		join principals p on p.id = s.principal_id join accounts a on a.id = s.account_id where s.id = $1 and s.principal_id = $2`

	sessionColumns = `select s.id, s.organization, o.name, s.created_at, s.last_seen_at, s.expires_at, s.idle, s.address, s.agent
		from sessions s join organizations o on o.number = s.organization`
	selectDeviceOf = `select device from sessions where id = $1 and account_id = $2`
	// selectSessions has a limit that no account reaches.
	selectSessions = sessionColumns + ` where s.account_id = $1 and s.ended_at = 0 and s.expires_at > $2 and s.last_seen_at + s.idle > $2 order by s.id desc limit 100`
)

// Own is the session of the caller, with its account and its person.
type Own struct {
	id          string
	account     accountRow
	home        int64
	endsAt      clock.Micros
	idle        clock.Micros
	method      access.Method
	device      string
	preferences string
	bell        int
	hasKey      bool
}

// FindOwn returns the session of the caller. It fails with fault.NotFound if the credential of the
// call is not a session.
func FindOwn(ctx context.Context, c *op.Call) (s Own, err error) {
	a := &s.account
	err = c.Tx.QueryRow(ctx, selectOwnSession, c.Actor.Credential().ID, c.Actor.PrincipalID()).Scan(
		&s.id, &s.home, &s.endsAt, &s.idle, &s.method, &s.device, &s.preferences, &s.bell, &s.hasKey, &a.id, &a.email,
		&a.password, &a.totp, &a.totpStep, &a.totpSince, &a.passwordChanged)
	if errors.Is(err, db.ErrNoRows) {
		err = fault.New(fault.NotFound)
	}
	return s, err
}

// Account returns the id of the session's account.
func (s *Own) Account() string { return s.account.id }

// Home returns the number of the person's organization.
func (s *Own) Home() int64 { return s.home }

func (s *Own) trusted() bool { return s.idle > clock.Micros(access.SessionIdle.Microseconds()) }

// GetSession returns the session of the caller.
var GetSession = op.New("session.get", op.Read, getSession, op.By(op.Member), op.Always)

func getSession(ctx context.Context, c *op.Call, _ op.None) (s Session, err error) {
	mine, err := FindOwn(ctx, c)
	if err != nil {
		return s, err
	}
	credential := c.Actor.Credential()
	s.ID, s.FreshUntil, s.ExpiresAt = credential.ID, credential.FreshUntil, credential.ExpiresAt
	s.SecondFactorFrom, s.SecondFactorDue = credential.SecondFactorFrom, c.Actor.SecondFactor(c.Now) != nil
	s.Email, s.EndsAt, s.Trusted = mine.account.email, mine.endsAt, mine.trusted()
	s.Bell, s.HasKey, s.Mails = mine.bell, mine.hasKey, notify.Mails.In(c)
	s.Scopes, s.Administers = c.Actor.Scopes(), c.Actor.SeesAll()
	if s.Preferences, err = profile.ReadPreferences(mine.preferences); err != nil {
		return s, err
	}
	if s.Organization, err = access.OrganizationIn(ctx, c.Tx, c.Actor.Organization().ID); err != nil {
		return s, err
	}
	all, err := allPersonsOf(ctx, c.Tx, mine.account.id)
	s.Persons = []Person{}
	for _, p := range all {
		if p.ID == c.Actor.PrincipalID() {
			s.Principal = p
		}
		if !p.out {
			s.Persons = append(s.Persons, p)
		}
	}
	return s, err
}

// SwitchInput is the input of Switch.
type SwitchInput struct {
	Principal string `json:"principalId"`
}

// Switch makes the session act as another person of the account, and gives it a new token. The time
// of the sign-in does not change.
var Switch = op.New("session.switch", op.Administer, switchOrganization, op.By(op.Member), op.Always, op.Unstored,
	op.Audited("session.switch"))

func switchOrganization(ctx context.Context, c *op.Call, in SwitchInput) (SignedIn, error) {
	s, err := FindOwn(ctx, c)
	if err != nil {
		return SignedIn{}, err
	}
	persons, err := personsOf(ctx, c.Tx, s.account.id)
	if err != nil {
		return SignedIn{}, err
	}
	for _, p := range persons {
		if p.ID != in.Principal {
			continue
		}
		if err := p.admits(c, s.method); err != nil {
			return SignedIn{}, err
		}
		token, err := access.MoveSession(ctx, c.Tx, s.id, p.home, p.ID)
		c.Audit.About(p.home, s.id)
		c.Audit.By(p.ID)
		return SignedIn{Status: "signedIn", Token: token, EndsAt: s.endsAt, Person: &p}, err
	}
	return SignedIn{}, fault.Invalid(fault.Field{Name: "principalId", Code: fault.FieldNotFound})
}

// SignOut ends the session of the caller.
var SignOut = op.New("signin.out", op.Administer, signOut, op.By(op.Member), op.Always, op.Audited("session.end"))

func signOut(ctx context.Context, c *op.Call, _ op.None) (op.Nothing, error) {
	s, err := FindOwn(ctx, c)
	if err != nil {
		return op.Nothing{}, err
	}
	c.Audit.About(s.home, s.id)
	_, err = access.EndSession(ctx, c.Tx, c.Now, s.account.id, s.id)
	return op.Nothing{}, err
}

// Browser is a session in the list of its owner.
type Browser struct {
	ID string `json:"id"`
	// Current is true for the session of the caller.
	Current bool `json:"current"`
	// OrganizationName is the name of the organization in which the session acts.
	OrganizationName string       `json:"organizationName"`
	CreatedAt        clock.Micros `json:"createdAt"`
	LastSeenAt       clock.Micros `json:"lastSeenAt"`
	ExpiresAt        clock.Micros `json:"expiresAt"`
	Trusted          bool         `json:"trusted"`
	Address          string       `json:"address"`
	Agent            string       `json:"agent"`
}

// ListSessions is the operation that calls Own.Sessions.
var ListSessions = op.New("sessions.list", op.Read, listSessions, op.By(op.Member), op.Always)

func listSessions(ctx context.Context, c *op.Call, _ op.None) (l op.Entries[Browser], err error) {
	s, err := FindOwn(ctx, c)
	if err == nil {
		l.Data, err = s.Sessions(ctx, c)
	}
	return l, err
}

// Sessions returns the sessions of the account, the newest first.
func (s *Own) Sessions(ctx context.Context, c *op.Call) ([]Browser, error) {
	all, err := db.List(ctx, c.Tx, func(row db.Row) (b Browser, err error) {
		var home int64
		var idle clock.Micros
		err = row.Scan(&b.ID, &home, &b.OrganizationName, &b.CreatedAt, &b.LastSeenAt, &b.ExpiresAt, &idle, &b.Address,
			&b.Agent)
		b.Current, b.ExpiresAt = b.ID == s.id, min(b.ExpiresAt, b.LastSeenAt+idle)
		b.Trusted = (&Own{idle: idle}).trusted()
		return b, err
	}, selectSessions, s.account.id, c.Now)
	return append([]Browser{}, all...), err
}

// EndInput is the input of EndOwn. ID is the id of one session. Others selects all sessions but the
// caller's.
type EndInput struct {
	ID     string `json:"id,omitempty"`
	Others bool   `json:"others,omitempty"`
}

// EndSessions is the operation that calls EndOwn.
var EndSessions = op.New("sessions.end", op.Administer, EndOwn, op.By(op.Member), op.Always, op.Audited("session.end"))

// EndOwn ends sessions of the caller's account. It fails with fault.NotFound if the session with
// the id has ended.
func EndOwn(ctx context.Context, c *op.Call, in EndInput) (op.Nothing, error) {
	s, err := FindOwn(ctx, c)
	if err != nil {
		return op.Nothing{}, err
	}
	if in.Others {
		c.Audit.About(s.home, c.Actor.PrincipalID())
		if err := access.EndOtherSessions(ctx, c.Tx, c.Now, s.account.id, s.id); err != nil {
			return op.Nothing{}, err
		}
		return op.Nothing{}, signin.ForgetDevices(ctx, c.Tx, s.account.id, s.device)
	}
	c.Audit.About(s.home, in.ID)
	if err := s.forgetDeviceOf(ctx, c, in.ID); err != nil {
		return op.Nothing{}, err
	}
	ended, err := access.EndSession(ctx, c.Tx, c.Now, s.account.id, in.ID)
	if err != nil {
		return op.Nothing{}, err
	}
	if !ended {
		return op.Nothing{}, &fault.Fault{Code: fault.NotFound, Detail: noSession}
	}
	return op.Nothing{}, nil
}

// forgetDeviceOf makes the browser of a session unknown, because its owner may have lost the
// device. The caller's own browser stays known.
func (s *Own) forgetDeviceOf(ctx context.Context, c *op.Call, session string) error {
	device, err := deviceOf(ctx, c.Tx, s.account.id, session)
	if err != nil || device == "" || device == s.device {
		return err
	}
	return signin.ForgetDevice(ctx, c.Tx, s.account.id, device)
}

// deviceOf returns the device id of an account's session, or an empty string.
func deviceOf(ctx context.Context, tx db.Tx, account, session string) (device string, err error) {
	err = tx.QueryRow(ctx, selectDeviceOf, session, account).Scan(&device)
	if errors.Is(err, db.ErrNoRows) {
		err = nil
	}
	return device, err
}

var noSession = i18n.Text("This session has ended already.")

// endOthers ends all sessions of an account except the session but, and forgets all other devices.
// It also deletes the tickets of sign-ins and changes in progress, because these relied on the old
// factors.
func endOthers(ctx context.Context, c *op.Call, account, but string) error {
	if err := lock(ctx, c.Tx, account); err != nil {
		return err
	}
	if err := access.EndOtherSessions(ctx, c.Tx, c.Now, account, but); err != nil {
		return err
	}
	device, err := deviceOf(ctx, c.Tx, account, but)
	if err != nil {
		return err
	}
	if err = signin.ForgetDevices(ctx, c.Tx, account, device); err != nil {
		return err
	}
	return signin.EndTickets(ctx, c.Tx, account, "")
}

// EndSignIns ends all other sessions of the account, and removes its passkeys and links with single
// sign-on. kept is true if passkeys and links stay: the sign-in is not recent, or nobody could sign
// in without them.
func (s *Own) EndSignIns(ctx context.Context, c *op.Call) (kept bool, err error) {
	c.Audit.Hidden("sessions", true)
	if err := endOthers(ctx, c, s.account.id, s.id); err != nil {
		return false, err
	}
	f, err := factorsOf(ctx, c.Tx, &s.account)
	if err != nil {
		return false, err
	}
	links, err := identity.List(ctx, c, s.account.id)
	if err != nil || f.passkeys == 0 && len(links) == 0 {
		return false, err
	}
	serves, err := s.passwordServes(ctx, c)
	if err != nil || !serves || c.Actor.Recent(c.Now) != nil {
		return true, err
	}
	if err := passkey.RemoveAll(ctx, c.Tx, s.account.id); err != nil {
		return false, err
	}
	if _, err := identity.RemoveAll(ctx, c.Tx, s.account.id); err != nil {
		return false, err
	}
	c.Audit.Hidden("passkeys", f.passkeys > 0)
	c.Audit.Hidden("sso", len(links) > 0)
	if err := dropCodes(ctx, c, s.account.id); err != nil {
		return false, err
	}
	if err := s.withoutLink(ctx, c); err != nil {
		return false, err
	}
	return false, tell(ctx, c, s.account.id, allEnded)
}
