// Package identity owns who accounts are at the OpenID provider: the way there and back, and the links.
package identity

import (
	"context"
	"errors"
	"log/slog"

	"kartei/access"
	"kartei/api/op"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/kit/id"
	"kartei/kit/input"
	"kartei/people/invitation"
	"kartei/people/signin"
	"kartei/people/sso"
	"kartei/store/db"
)

// Single sign-on has two halves. An operation that begins returns the provider's URL, and a ticket
// that the browser stores meanwhile. An operation that ends takes the ticket and the provider's
// response. Both call the provider outside of a transaction.

// ReturnPath is the path of the page to which the provider redirects people.
const ReturnPath = "/signin/sso/callback"

const (
	selectHolder     = `select account_id from identities where issuer = $1 and subject = $2`
	selectIdentities = `select id, issuer, label, created_at, last_used_at from identities where account_id = $1 order by id`
	countIdentities  = `select count(*) from identities where account_id = $1 and issuer = $2`
	insertIdentity   = `insert into identities (id, account_id, issuer, subject, label, created_at, last_used_at) values ($1, $2, $3, $4, $5, $6, $7)`
	useIdentity      = `update identities set last_used_at = $4, label = case when $5 = '' then label else $5 end where account_id = $1 and issuer = $2 and subject = $3`
	deleteIdentity   = `delete from identities where id = $1 and account_id = $2`
	deleteIdentities = `delete from identities where account_id = $1`
)

// Identity is a link of an account with an identity at a provider.
type Identity struct {
	ID string `json:"id"`
	// Label is the email address from the provider's latest response.
	Label      string       `json:"label"`
	LinkedAt   clock.Micros `json:"linkedAt"`
	LastUsedAt clock.Micros `json:"lastUsedAt,omitzero"`
	// Former says that the instance no longer has this provider.
	Former bool `json:"former,omitempty"`
}

// Redirect is the result of the operations that begin.
type Redirect struct {
	// Address is the provider's URL. Ticket is the ticket that the browser stores until it returns.
	Address string `json:"address"`
	Ticket  string `json:"ticket"`
}

// Secret implements op.Secret.
func (Redirect) Secret() {}

// To is the input of the operations that begin. Next is the path of the page to open afterwards.
type To struct {
	Next string `json:"next,omitempty"`
}

// Invitation is the input of BeginInvited.
type Invitation struct {
	Token string `json:"token"`
	// Name is the name of the person. If it is empty, the name from the provider is used.
	Name string `json:"name,omitempty"`
}

// Question is an authorization request: its URL, and the values that the response must match.
type Question struct {
	address string
	asked   sso.AuthRequest
}

// Ask prepares an authorization request to the provider.
func Ask[I any](ctx context.Context, c *op.Call, _ I) (Question, error) {
	return ask(ctx, c, false)
}

// AskFresh is Ask with a request that the provider authenticates the person again.
func AskFresh[I any](ctx context.Context, c *op.Call, _ I) (Question, error) {
	return ask(ctx, c, true)
}

func ask(ctx context.Context, c *op.Call, fresh bool) (q Question, err error) {
	p, err := provider(c)
	if err != nil {
		return q, err
	}
	if q.address, q.asked, err = p.Ask(ctx, fresh, access.NewToken); err != nil {
		err = providerFault(c, err)
	}
	return q, err
}

func provider(c *op.Call) (*sso.Provider, error) {
	if p := signin.Service.In(c).Provider; p != nil {
		return p, nil
	}
	return nil, &fault.Fault{Code: fault.NotFound, Detail: noProvider}
}

// Leave returns the redirect to the provider. Its ticket is the encrypted way w.
func (q Question) Leave(c *op.Call, kind signin.Kind, w signin.Way) (l Redirect, err error) {
	w.Asked, l.Address = q.asked, q.address
	l.Ticket, err = signin.Service.In(c).SealWay(c.Now, kind, w)
	return l, err
}

// Begin returns the redirect to the provider for a sign-in. It stores nothing.
var Begin = op.NewPrefetched("signin.ssoBegin", op.Read, Ask[To], begin, op.By(op.Anyone))

func begin(_ context.Context, c *op.Call, in To, q Question) (Redirect, error) {
	return q.Leave(c, signin.SSO, signin.Way{Next: in.Next})
}

// BeginInvited returns the redirect to the provider for the acceptance of an invitation. It stores
// nothing.
var BeginInvited = op.NewPrefetched("signin.ssoInvited", op.Read, Ask[Invitation],
	beginInvited, op.By(op.Anyone))

func beginInvited(ctx context.Context, c *op.Call, in Invitation, q Question) (Redirect, error) {
	if _, err := invitation.Open(ctx, c, in.Token); err != nil {
		return Redirect{}, err
	}
	var f input.Faults
	if in.Name = input.TidyName(in.Name); in.Name != "" {
		in.Name = f.Name("name", in.Name)
	}
	if err := f.Err(); err != nil {
		return Redirect{}, err
	}
	return q.Leave(c, signin.SSOInvited, signin.Way{Invitation: in.Token, Name: in.Name})
}

// Linked reports whether an account is linked with the present provider.
func Linked(ctx context.Context, c *op.Call, account string) (bool, error) {
	p := signin.Service.In(c).Provider
	if p == nil {
		return false, nil
	}
	var n int64
	err := c.Tx.QueryRow(ctx, countIdentities, account, p.Issuer()).Scan(&n)
	return n > 0, err
}

// Return is the input of the operations that end: the ticket that the browser stored, and the
// provider's response.
type Return struct {
	Ticket string `json:"ticket"`
	sso.Answer
}

// Proof is a verified identity, with the way from its ticket.
type Proof struct {
	Way signin.Way
	sso.Identity
}

// Prove checks the provider's response. Each ticket works once, even if the check fails. So a
// client cannot make the instance query the provider repeatedly.
func Prove(ctx context.Context, c *op.Call, kind signin.Kind, in Return) (a Proof, err error) {
	p, err := provider(c)
	if err != nil {
		return a, err
	}
	if a.Way, err = signin.Service.In(c).OpenWay(c.Now, kind, in.Ticket); err != nil {
		return a, signin.Unknown(err)
	}
	if !a.Way.Asked.Answers(in.Answer) {
		return a, signin.Unknown(db.ErrNoRows)
	}
	if err := countReturn(ctx, c); err != nil {
		return a, err
	}
	if err := signin.Service.In(c).DB.Write(ctx, func(tx db.Tx) error {
		return signin.UseWay(ctx, tx, c.Now, kind, a.Way)
	}); err != nil {
		return a, signin.Unknown(err)
	}
	if in.Error != "" {
		return a, &fault.Fault{Code: fault.Unauthenticated, Reason: string(access.WrongSecret), Detail: sentAway}
	}
	a.Identity, err = p.Prove(ctx, a.Way.Asked, in.Answer, kind == signin.SSOInvited || kind == signin.SSOLink)
	if err == nil && kind == signin.SSOFresh && a.AuthTime.Add(access.SignInFresh) <= c.Now {
		err = sso.ErrNotRecent // the person returned too late
	}
	if err != nil {
		err = providerFault(c, err)
	}
	return a, err
}

// countReturn limits the returns from the provider by network and session, because the account is
// not known yet.
func countReturn(ctx context.Context, c *op.Call) error {
	var from signin.Origin
	err := c.Services.Read(ctx, func(tx db.Tx) (err error) {
		from, err = signin.FindBrowser(ctx, c, tx)
		return err
	})
	if err != nil {
		return err
	}
	if by := c.Actor.Credential(); by.Kind == access.Session {
		from.Proof = by.ID
	}
	return signin.CountAttempt(ctx, c, from.NetworkLimits()...)
}

// maxLogged is the maximum length of an error in the log, in bytes. An error may quote a response.
const maxLogged = 300

// providerFault returns the fault for a failed single sign-on, and logs the reason for the
// operator.
func providerFault(c *op.Call, err error) error {
	if errors.Is(err, sso.ErrBusy) {
		return signin.Throttled(signin.ErrBusy)
	}
	why := err.Error()
	c.Services.Logger.Warn("single sign-on failed", slog.String("request", c.RequestID),
		slog.String("reason", why[:min(len(why), maxLogged)]))
	switch {
	case errors.Is(err, sso.ErrAway):
		return &fault.Fault{Code: fault.Upstream, Detail: providerAway, Cause: err}
	case errors.Is(err, sso.ErrUnknownTime):
		return &fault.Fault{Code: fault.Unauthenticated, Reason: string(access.WrongSecret), Detail: unknownTime}
	case errors.Is(err, sso.ErrNotRecent):
		return &fault.Fault{Code: fault.Unauthenticated, Reason: string(access.WrongSecret), Detail: notRecent}
	}
	return &fault.Fault{Code: fault.Unauthenticated, Reason: string(access.WrongSecret), Detail: provesNothing}
}

// Holder returns the id of the account that is linked with the identity, or an empty string.
func (a *Proof) Holder(ctx context.Context, tx db.Tx) (account string, err error) {
	err = tx.QueryRow(ctx, selectHolder, a.Issuer, a.Subject).Scan(&account)
	if errors.Is(err, db.ErrNoRows) {
		err = nil
	}
	return account, err
}

// Use stores the time at which an identity of an account was used. It reports whether the account
// has the identity.
func (a *Proof) Use(ctx context.Context, c *op.Call, account string) (bool, error) {
	n, err := c.Tx.Exec(ctx, useIdentity, account, a.Issuer, a.Subject, c.Now, a.Email)
	return n > 0, err
}

// Link links an identity with an account. used is the time of its last use. Link fails with
// db.ErrDuplicate if the identity is linked already.
func (a *Proof) Link(ctx context.Context, c *op.Call, account string, used clock.Micros) error {
	_, err := c.Tx.Exec(ctx, insertIdentity, id.New(id.Identity), account, a.Issuer, a.Subject, a.Email, c.Now, used)
	return err
}

// List returns the links of an account, the oldest first.
func List(ctx context.Context, c *op.Call, account string) ([]Identity, error) {
	found, err := db.List(ctx, c.Tx, func(row db.Row) (i Identity, err error) {
		var issuer string
		err = row.Scan(&i.ID, &issuer, &i.Label, &i.LinkedAt, &i.LastUsedAt)
		i.Former = signin.Service.In(c).Provider == nil || signin.Service.In(c).Provider.Issuer() != issuer
		return i, err
	}, selectIdentities, account)
	return append([]Identity{}, found...), err
}

// Remove removes a link of an account. It reports whether the link existed.
func Remove(ctx context.Context, tx db.Tx, account, identity string) (bool, error) {
	n, err := tx.Exec(ctx, deleteIdentity, identity, account)
	return n > 0, err
}

// RemoveAll removes all links of an account. It reports whether there was a link.
func RemoveAll(ctx context.Context, tx db.Tx, account string) (bool, error) {
	n, err := tx.Exec(ctx, deleteIdentities, account)
	return n > 0, err
}

var (
	noProvider    = i18n.Text("This instance has no single sign-on.")
	providerAway  = i18n.Text("Single sign-on is not possible at present: the provider does not answer. Try again in some minutes, or sign in with a password or a passkey.")
	sentAway      = i18n.Text("The sign-in was cancelled at the provider, or refused by it.")
	provesNothing = i18n.Text("The answer of the provider was not valid, so nobody is signed in. Try again. If that does not help, ask who operates this instance.")
	notRecent     = i18n.Text("The provider did not ask you to sign in again. Try again, or confirm with a password or a passkey.")
	unknownTime   = i18n.Text("The provider does not tell when you signed in there. Confirm with a password or a passkey. If you have neither, set a password by 'Forgot password'.")
)
