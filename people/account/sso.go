package account

import (
	"context"
	"errors"
	"log/slog"
	"slices"

	"kartei/access"
	"kartei/api/op"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/kit/id"
	"kartei/kit/input"
	"kartei/people/audit"
	"kartei/people/invitation"
	"kartei/people/principal"
	"kartei/people/signin"
	"kartei/people/sso"
	"kartei/store/db"
)

// Single sign-on has two halves. An operation that begins returns the address of the provider,
// and a ticket that the browser keeps meanwhile. An operation that ends takes the ticket with
// what the browser brings back. Both talk to the provider outside of a transaction.

// SSOPath is the page to which the provider sends people back.
const SSOPath = "/signin/sso/callback"

const (
	selectHolder     = `select account_id from identities where issuer = $1 and subject = $2`
	selectIdentities = `select id, issuer, label, created_at, last_used_at from identities where account_id = $1 order by id`
	countIdentities  = `select count(*) from identities where account_id = $1 and issuer = $2`
	insertIdentity   = `insert into identities (id, account_id, issuer, subject, label, created_at, last_used_at) values ($1, $2, $3, $4, $5, $6, $7)`
	useIdentity      = `update identities set last_used_at = $4, label = case when $5 = '' then label else $5 end where account_id = $1 and issuer = $2 and subject = $3`
	deleteIdentity   = `delete from identities where id = $1 and account_id = $2`
	deleteIdentities = `delete from identities where account_id = $1`
)

// Identity is who an account is at a provider, as its owner sees it.
type Identity struct {
	ID string `json:"id"`
	// Label is the address that the provider named last.
	Label      string       `json:"label"`
	LinkedAt   clock.Micros `json:"linkedAt"`
	LastUsedAt clock.Micros `json:"lastUsedAt,omitzero"`
	// Former says that the instance has another provider now, or none.
	Former bool `json:"former,omitempty"`
}

// Redirect is the answer of the operations that begin.
type Redirect struct {
	// Address is the page of the provider. Ticket is for the browser that goes there.
	Address string `json:"address"`
	Ticket  string `json:"ticket"`
}

// Secret implements op.Secret.
func (Redirect) Secret() {}

// SSOTo is the input of the operations that begin. Next is the page to open afterwards.
type SSOTo struct {
	Next string `json:"next,omitempty"`
}

// SSOInvitation is the input of BeginSSOInvited.
type SSOInvitation struct {
	Token string `json:"token"`
	// Name is the name of the person. Without it the provider's counts.
	Name string `json:"name,omitempty"`
}

// question is the address of the provider, and what its answer must fit.
type question struct {
	address string
	asked   sso.AuthRequest
}

// prefetchProvider asks the provider where people sign in.
func prefetchProvider[I any](ctx context.Context, c *op.Call, _ I) (question, error) {
	return askProvider(ctx, c, false)
}

// askProviderFresh is prefetchProvider for a sign-in that must be recent.
func askProviderFresh[I any](ctx context.Context, c *op.Call, _ I) (question, error) {
	return askProvider(ctx, c, true)
}

func askProvider(ctx context.Context, c *op.Call, fresh bool) (q question, err error) {
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
	if p := desk(c).Provider; p != nil {
		return p, nil
	}
	return nil, &fault.Fault{Code: fault.NotFound, Detail: noProvider}
}

// leave seals a way.
func (q question) leave(c *op.Call, kind signin.Kind, w signin.Way) (l Redirect, err error) {
	w.Asked, l.Address = q.asked, q.address
	l.Ticket, err = desk(c).SealWay(c.Now, kind, w)
	return l, err
}

// BeginSSO begins a sign-in. It writes nothing.
var BeginSSO = op.NewPrefetched("signin.ssoBegin", op.Read, prefetchProvider[SSOTo], beginSSO, op.By(op.Anyone))

func beginSSO(_ context.Context, c *op.Call, in SSOTo, q question) (Redirect, error) {
	return q.leave(c, signin.SSO, signin.Way{Next: in.Next})
}

// BeginSSOInvited begins the acceptance of an invitation. It writes nothing.
var BeginSSOInvited = op.NewPrefetched("signin.ssoInvited", op.Read, prefetchProvider[SSOInvitation],
	beginSSOInvited, op.By(op.Anyone))

func beginSSOInvited(ctx context.Context, c *op.Call, in SSOInvitation, q question) (Redirect, error) {
	if _, err := invitation.Open(ctx, c, in.Token); err != nil {
		return Redirect{}, err
	}
	if in.Name = input.TidyName(in.Name); in.Name != "" {
		if code, limit := input.CheckName(in.Name); code != "" {
			return Redirect{}, fault.Invalid(fault.Field{Name: "name", Code: code, Limit: limit})
		}
	}
	return q.leave(c, signin.SSOInvited, signin.Way{Invitation: in.Token, Name: in.Name})
}

// BeginSSOLink begins the link of the caller's account.
var BeginSSOLink = op.NewPrefetched("factors.ssoBegin", op.Administer, prefetchProvider[op.None], beginSSOLink,
	op.By(op.Member), op.Setup, op.Fresh, op.Audited("account.sso"))

func beginSSOLink(ctx context.Context, c *op.Call, _ op.None, q question) (Redirect, error) {
	s, err := ownSession(ctx, c)
	if err != nil {
		return Redirect{}, err
	}
	c.Audit.Omit()
	if linked, err := s.linked(ctx, c); err != nil || linked {
		return Redirect{}, orRefuse(err, linkedAlready)
	}
	return q.leave(c, signin.SSOLink, signin.Way{Account: s.account.id})
}

// BeginSSOFresh begins the confirmation of the caller's sign-in. It writes nothing.
var BeginSSOFresh = op.NewPrefetched("session.ssoBegin", op.Read, askProviderFresh[SSOTo], beginSSOFresh,
	op.By(op.Member), op.Always)

func beginSSOFresh(ctx context.Context, c *op.Call, in SSOTo, q question) (Redirect, error) {
	s, err := ownSession(ctx, c)
	if err != nil {
		return Redirect{}, err
	}
	if linked, err := s.linked(ctx, c); err != nil || !linked {
		return Redirect{}, orRefuse(err, notLinkedHere)
	}
	return q.leave(c, signin.SSOFresh, signin.Way{Account: s.account.id, Next: in.Next})
}

func orRefuse(err error, why i18n.Text) error {
	if err != nil {
		return err
	}
	return &fault.Fault{Code: fault.Forbidden, Detail: why}
}

// linked reports whether the account is linked with the present provider.
func (s *own) linked(ctx context.Context, c *op.Call) (bool, error) {
	p := desk(c).Provider
	if p == nil {
		return false, nil
	}
	var n int64
	err := c.Tx.QueryRow(ctx, countIdentities, s.account.id, p.Issuer()).Scan(&n)
	return n > 0, err
}

// ReturnInput is the input of the operations that end: the ticket that the browser kept, and
// what the provider sent with it.
type ReturnInput struct {
	Ticket string `json:"ticket"`
	sso.Answer
}

// provenIdentity is an identity that the provider has proven, and the way to it.
type provenIdentity struct {
	way signin.Way
	sso.Identity
}

// proveSignIn checks the provider's response. A ticket works once, even if the check
// fails, so nobody makes the instance ask the provider again and again.
func proveSignIn(ctx context.Context, c *op.Call, in ReturnInput) (provenIdentity, error) {
	return prove(ctx, c, signin.SSO, in)
}

// proveInvited is proveSignIn for an invitation.
func proveInvited(ctx context.Context, c *op.Call, in ReturnInput) (provenIdentity, error) {
	return prove(ctx, c, signin.SSOInvited, in)
}

// proveLink is proveSignIn for a link.
func proveLink(ctx context.Context, c *op.Call, in ReturnInput) (provenIdentity, error) {
	a, err := prove(ctx, c, signin.SSOLink, in)
	return a, notSignedOut(err)
}

// proveFresh is proveSignIn for the confirmation of a sign-in.
func proveFresh(ctx context.Context, c *op.Call, in ReturnInput) (provenIdentity, error) {
	a, err := prove(ctx, c, signin.SSOFresh, in)
	return a, notSignedOut(err)
}

// notSignedOut turns a refusal of the provider into one that leaves the session.
func notSignedOut(err error) error {
	if f, is := errors.AsType[*fault.Fault](err); is && f.Code == fault.Unauthenticated {
		return &fault.Fault{Code: fault.Forbidden, Reason: f.Reason, Detail: f.Detail}
	}
	return err
}

func prove(ctx context.Context, c *op.Call, kind signin.Kind, in ReturnInput) (a provenIdentity, err error) {
	p, err := provider(c)
	if err != nil {
		return a, err
	}
	if a.way, err = desk(c).OpenWay(c.Now, kind, in.Ticket); err != nil || !a.way.Asked.Answers(in.Answer) {
		return a, unknown(orNone(err))
	}
	if err := countReturn(ctx, c); err != nil {
		return a, err
	}
	if err := desk(c).DB.Write(ctx, func(tx db.Tx) error {
		return signin.UseWay(ctx, tx, c.Now, kind, a.way)
	}); err != nil {
		return a, unknown(err)
	}
	if in.Error != "" {
		return a, &fault.Fault{Code: fault.Unauthenticated, Reason: string(access.WrongSecret), Detail: sentAway}
	}
	a.Identity, err = p.Prove(ctx, a.way.Asked, in.Answer, kind == signin.SSOInvited || kind == signin.SSOLink)
	if err != nil {
		err = providerFault(c, err)
	}
	return a, err
}

// countReturn bounds the people who come back, before they are known.
func countReturn(ctx context.Context, c *op.Call) error {
	var from signin.Origin
	err := c.Services.Read(ctx, func(tx db.Tx) (err error) {
		from, err = signin.FindBrowser(ctx, tx, c.Now, c.Device, c.Address)
		return err
	})
	if err != nil {
		return err
	}
	if by := c.Actor.Credential(); by.Kind == access.Session {
		from.Proof = by.ID
	}
	return attempt(ctx, c, from.NetworkLimits()...)
}

// maxLogged bounds what the log tells of an error, in bytes: it may quote an answer.
const maxLogged = 300

// providerFault says in words that single sign-on failed, and tells the operator why.
func providerFault(c *op.Call, err error) error {
	if errors.Is(err, sso.ErrBusy) {
		return throttled(signin.ErrBusy)
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

// SignInBySSO begins the session of the account that is linked with an identity. The
// provider answers for all factors.
var SignInBySSO = op.NewPrefetched("signin.sso", op.Administer, proveSignIn, signInBySSO, op.By(op.Anyone),
	op.Unstored, op.Audited("session.begin"))

func signInBySSO(ctx context.Context, c *op.Call, _ ReturnInput, a provenIdentity) (SignedIn, error) {
	account, err := a.holder(ctx, c.Tx)
	if err != nil {
		return SignedIn{}, err
	}
	if account == "" {
		return SignedIn{}, notLinked()
	}
	s, err := a.enter(ctx, c, account, signInState{})
	s.Next = a.way.Next
	return s, err
}

// notLinked is the one answer to an identity without an account. Whether an account has
// the same address makes no difference.
func notLinked() error {
	return &fault.Fault{Code: fault.Unauthenticated, Reason: string(access.Unknown), Detail: linkFirst}
}

// holder returns the account of an identity, empty if there is none.
func (a *provenIdentity) holder(ctx context.Context, tx db.Tx) (account string, err error) {
	err = tx.QueryRow(ctx, selectHolder, a.Issuer, a.Subject).Scan(&account)
	if errors.Is(err, db.ErrNoRows) {
		err = nil
	}
	return account, err
}

// enter signs in to an account that has the identity.
func (a *provenIdentity) enter(ctx context.Context, c *op.Call, account string, b signInState) (SignedIn, error) {
	if err := lock(ctx, c.Tx, account); err != nil {
		return SignedIn{}, err
	}
	used, err := a.use(ctx, c, account)
	if err != nil {
		return SignedIn{}, err
	}
	if !used { // the link was removed meanwhile
		err = notLinked()
	}
	if err != nil {
		return SignedIn{}, err
	}
	b.Method, b.At = access.BySSO, a.AuthTime
	return enter(ctx, c, account, b)
}

// use notes that an identity of an account was used, and reports whether it is one.
func (a *provenIdentity) use(ctx context.Context, c *op.Call, account string) (bool, error) {
	n, err := c.Tx.Exec(ctx, useIdentity, account, a.Issuer, a.Subject, c.Now, a.Email)
	return n > 0, err
}

// link gives an identity to an account.
func (a *provenIdentity) link(ctx context.Context, c *op.Call, account string, used clock.Micros) error {
	_, err := c.Tx.Exec(ctx, insertIdentity, id.New(id.Identity), account, a.Issuer, a.Subject, a.Email, c.Now, used)
	return err
}

// AcceptBySSO accepts an invitation. The provider must say that the person has the
// invited address. A new account is linked. One that has the identity already is the
// person's, too. Any other account of the address asks for its password: equal
// addresses link nothing.
var AcceptBySSO = op.NewPrefetched("signin.ssoAccept", op.Administer, proveInvited, acceptBySSO, op.By(op.Anyone),
	op.Unstored, op.Audited("invitation.accept"))

func acceptBySSO(ctx context.Context, c *op.Call, _ ReturnInput, a provenIdentity) (AcceptResult, error) {
	i, err := invitation.Open(ctx, c, a.way.Invitation)
	switch {
	case err != nil:
		return AcceptResult{}, err
	case !a.Verified || a.Email == "":
		return AcceptResult{}, orRefuse(nil, notVerified)
	case access.FoldEmail(a.Email) != access.FoldEmail(i.Email):
		return AcceptResult{}, orRefuse(nil, otherAddress)
	}
	name := a.way.Name
	if name == "" {
		name = a.Name
	}
	person, account, err := joinInvited(ctx, c, invitation.Acceptance{Token: a.way.Invitation, Name: name},
		func(email string) (string, error) {
			return a.accountOf(ctx, c, email, i.HandedOver)
		})
	if err != nil {
		return AcceptResult{}, err
	}
	entering := *c
	entering.Audit = new(audit.Act) // the line of the acceptance is enough
	s, err := a.enter(ctx, &entering, account, signInState{Principal: person.ID})
	return AcceptResult{person, s}, err
}

// accountOf returns the account of a person who accepts an invitation, and makes it if
// the address has none. An invitation that an admin handed over links nothing.
func (a *provenIdentity) accountOf(ctx context.Context, c *op.Call, email string, handedOver bool) (string, error) {
	account, err := a.holder(ctx, c.Tx)
	if err != nil || account != "" {
		return account, err
	}
	if handedOver {
		return "", orRefuse(nil, handedLink)
	}
	known, err := byEmail(ctx, c.Tx, email)
	if err != nil || known.id != "" {
		return "", orRefuse(err, passwordFirst)
	}
	if account, err = Create(ctx, c.Tx, c.Now, email); err != nil {
		return "", err // of two at the same time the second one finds the account
	}
	return account, a.link(ctx, c, account, c.Now)
}

// LinkSSO links the account of the caller with an identity. The way must have begun as
// the same account: nobody links an identity of their own with somebody else's account.
var LinkSSO = op.NewPrefetched("factors.ssoLink", op.Administer, proveLink, linkSSO, op.By(op.Member), op.Setup,
	op.Fresh, op.Gives, op.Audited("account.sso"))

func linkSSO(ctx context.Context, c *op.Call, _ ReturnInput, a provenIdentity) (op.Nothing, error) {
	s, err := ownSession(ctx, c)
	if err != nil {
		return op.Nothing{}, err
	}
	if a.way.Account != s.account.id {
		return op.Nothing{}, unknown(db.ErrNoRows)
	}
	if err := lock(ctx, c.Tx, s.account.id); err != nil {
		return op.Nothing{}, err
	}
	if account, err := a.holder(ctx, c.Tx); err != nil || account != "" && account != s.account.id {
		return op.Nothing{}, orRefuse(err, linkedElsewhere)
	}
	if linked, err := s.linked(ctx, c); err != nil || linked {
		return op.Nothing{}, orRefuse(err, linkedAlready)
	}
	if err := a.link(ctx, c, s.account.id, 0); err != nil {
		return op.Nothing{}, err // an identity that another call took is found when this one runs again
	}
	return op.Nothing{}, s.changed(ctx, c, "sso", ssoLinked)
}

// UnlinkSSO removes a link. The last way to sign in stays.
var UnlinkSSO = op.New("factors.ssoUnlink", op.Administer, unlinkSSO, op.By(op.Member), op.Setup, op.Fresh,
	op.Gives, op.Audited("account.sso"))

func unlinkSSO(ctx context.Context, c *op.Call, in ByID) (op.Nothing, error) {
	s, err := ownSession(ctx, c)
	if err != nil {
		return op.Nothing{}, err
	}
	if err := lock(ctx, c.Tx, s.account.id); err != nil {
		return op.Nothing{}, err
	}
	n, err := c.Tx.Exec(ctx, deleteIdentity, in.ID, s.account.id)
	if err != nil {
		return op.Nothing{}, err
	}
	if n == 0 {
		return op.Nothing{}, fault.New(fault.NotFound)
	}
	if err := s.keepsAWay(ctx, c, lastLink); err != nil {
		return op.Nothing{}, err
	}
	if err := s.withoutLink(ctx, c); err != nil {
		return op.Nothing{}, err
	}
	return op.Nothing{}, s.changed(ctx, c, "sso", ssoUnlinked)
}

// keepsAWay refuses a change after which nobody could sign in to the account.
func (s *own) keepsAWay(ctx context.Context, c *op.Call, why i18n.Text) error {
	f, err := factorsOf(ctx, c.Tx, &s.account)
	if err != nil || f.passkeys > 0 {
		return err
	}
	if linked, err := s.linked(ctx, c); err != nil || linked {
		return err
	}
	if serves, err := s.passwordServes(ctx, c); err != nil || serves {
		return err
	}
	return orRefuse(nil, why)
}

// withoutLink handles a session that began with a removed link. If its organization admits
// passwords, the session counts as begun with a password from now on. Otherwise it ends.
func (s *own) withoutLink(ctx context.Context, c *op.Call) error {
	if linked, err := s.linked(ctx, c); err != nil || linked || s.method != access.BySSO {
		return err
	}
	persons, err := personsOf(ctx, c.Tx, s.account.id)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(persons, func(p Person) bool {
		return p.ID == c.Actor.PrincipalID() && p.admits(c, access.ByPassword) == nil
	}) {
		return access.KeepSession(ctx, c.Tx, s.id, access.ByPassword)
	}
	_, err = access.EndSession(ctx, c.Tx, c.Now, s.account.id, s.id)
	return err
}

// passwordServes reports whether the account has a password, and an organization that
// admits it.
func (s *own) passwordServes(ctx context.Context, c *op.Call) (bool, error) {
	if s.account.password == "" {
		return false, nil
	}
	persons, err := personsOf(ctx, c.Tx, s.account.id)
	return slices.ContainsFunc(persons, func(p Person) bool { return p.admits(c, access.ByPassword) == nil }), err
}

// identities returns the links of an account.
func identities(ctx context.Context, c *op.Call, account string) ([]Identity, error) {
	found, err := db.List(ctx, c.Tx, func(row db.Row) (i Identity, err error) {
		var issuer string
		err = row.Scan(&i.ID, &issuer, &i.Label, &i.LinkedAt, &i.LastUsedAt)
		i.Former = desk(c).Provider == nil || desk(c).Provider.Issuer() != issuer
		return i, err
	}, selectIdentities, account)
	return append([]Identity{}, found...), err
}

// RefreshedSSO is the answer of RefreshBySSO. Next is the page to open.
type RefreshedSSO struct {
	Renewal
	Next string `json:"next,omitempty"`
}

// RefreshBySSO makes the sign-in of the session recent, from the time at which the person
// signed in at the provider.
var RefreshBySSO = op.NewPrefetched("session.ssoRefresh", op.Administer, proveFresh, refreshBySSO, op.By(op.Member),
	op.Always, op.Unstored, op.Audited("session.refresh"))

func refreshBySSO(ctx context.Context, c *op.Call, _ ReturnInput, a provenIdentity) (r RefreshedSSO, err error) {
	s, err := ownSession(ctx, c)
	if err != nil {
		return r, err
	}
	if a.way.Account != s.account.id {
		return r, unknown(db.ErrNoRows)
	}
	used, err := a.use(ctx, c, s.account.id)
	if err != nil {
		return r, err
	}
	if !used {
		err = orRefuse(nil, somebodyElse)
	}
	if err != nil {
		return r, err
	}
	if a.AuthTime = min(a.AuthTime, c.Now); a.AuthTime.Add(access.SignInFresh) <= c.Now { // the person came back late
		return r, orRefuse(nil, notRecent)
	}
	r.Next = a.way.Next
	r.Renewal, err = s.refresh(ctx, c, a.AuthTime)
	return r, err
}

// Unlink removes the links of a person whose provider is gone, or who must not come
// back by it. Only the operator may: the account may belong to other organizations. It
// ends the sessions, and returns a link that sets a password if there is no other way
// to sign in.
var Unlink = op.New("people.unlink", op.Administer, unlink, op.By(op.Operator), op.Gives, op.Audited("person.unlink"))

func unlink(ctx context.Context, c *op.Call, in access.ByID) (l FactorReset, err error) {
	p, err := principal.Find(ctx, c, access.UserPrincipal, in.ID)
	if err != nil {
		return l, err
	}
	c.Audit.About(p.Home, p.ID)
	c.Audit.Hidden("sso", true)
	var account string
	if err := c.Tx.QueryRow(ctx, selectAccountOf, p.ID).Scan(&account); err != nil {
		return l, err
	}
	if err := endOthers(ctx, c, account, ""); err != nil {
		return l, err
	}
	if n, err := c.Tx.Exec(ctx, deleteIdentities, account); err != nil || n == 0 {
		return l, orRefuse(err, nothingLinked)
	}
	a, err := byID(ctx, c.Tx, account)
	if err != nil {
		return l, err
	}
	f, err := factorsOf(ctx, c.Tx, &a)
	if err != nil {
		return l, err
	}
	if a.password == "" && f.passkeys == 0 {
		err = l.issue(ctx, c, account)
	}
	if err != nil {
		return l, err
	}
	return l, tell(ctx, c, account, ssoUnlinked)
}

var (
	noProvider      = i18n.Text("This instance has no single sign-on.")
	providerAway    = i18n.Text("Single sign-on is not possible at present: the provider does not answer. Try again in some minutes, or sign in with a password or a passkey.")
	sentAway        = i18n.Text("The sign-in was cancelled at the provider, or refused by it.")
	provesNothing   = i18n.Text("The answer of the provider was not valid, so nobody is signed in. Try again. If that does not help, ask who operates this instance.")
	notRecent       = i18n.Text("The provider did not ask you to sign in again. Try again, or confirm with a password or a passkey.")
	unknownTime     = i18n.Text("The provider does not tell when you signed in there. Confirm with a password or a passkey. If you have neither, set a password by 'Forgot password'.")
	linkFirst       = i18n.Text("Your account at the provider is linked with no account here. If you have one, sign in with its password or passkey, and link it under settings, security. Otherwise ask an admin for an invitation.")
	handedLink      = i18n.Text("This link did not come by email, so it links nothing. Accept the invitation with a password or a passkey, and link the account afterwards under settings, security.")
	notVerified     = i18n.Text("The provider does not confirm that the invited address is yours. Accept the invitation with a password or a passkey, and link the account afterwards under settings, security.")
	otherAddress    = i18n.Text("The invitation is for another address than the one that the provider names. Ask for an invitation to that one, or accept with a password or a passkey.")
	passwordFirst   = i18n.Text("This address has an account already, which is not linked with single sign-on. Accept the invitation with its password, and link it afterwards under settings, security.")
	linkedElsewhere = i18n.Text("This account at the provider is linked with another account here. Unlink it there first.")
	linkedAlready   = i18n.Text("Your account is linked already. Unlink it first, to link it anew.")
	notLinkedHere   = i18n.Text("Your account is not linked with single sign-on.")
	lastLink        = i18n.Text("Without this link you could not sign in any more. Add a passkey first, or set a password if your organization allows sign-in by it.")
	somebodyElse    = i18n.Text("Somebody else signed in at the provider than the person with whom your account is linked.")
	nothingLinked   = i18n.Text("The account of this person is not linked with single sign-on.")
)
