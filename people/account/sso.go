package account

import (
	"context"
	"errors"
	"slices"

	"kartei/access"
	"kartei/api/op"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/people/audit"
	"kartei/people/identity"
	"kartei/people/invitation"
	"kartei/people/principal"
	"kartei/people/signin"
	"kartei/store/db"
)

// BeginSSOLink returns the redirect to the OpenID provider for a new link of the caller's account.
var BeginSSOLink = op.NewPrefetched("factors.ssoBegin", op.Administer, identity.Ask[op.None], beginSSOLink,
	op.By(op.Member), op.Setup, op.Fresh, op.Audited("account.sso"))

func beginSSOLink(ctx context.Context, c *op.Call, _ op.None, q identity.Question) (identity.Redirect, error) {
	s, err := FindOwn(ctx, c)
	if err != nil {
		return identity.Redirect{}, err
	}
	c.Audit.Omit()
	if linked, err := identity.Linked(ctx, c, s.account.id); err != nil || linked {
		return identity.Redirect{}, orRefuse(err, linkedAlready)
	}
	return q.Leave(c, signin.SSOLink, signin.Way{Account: s.account.id})
}

// BeginSSOFresh returns the redirect to the OpenID provider for a confirmation of the caller's
// sign-in. It stores nothing.
var BeginSSOFresh = op.NewPrefetched("session.ssoBegin", op.Read, identity.AskFresh[identity.To], beginSSOFresh,
	op.By(op.Member), op.Always)

func beginSSOFresh(ctx context.Context, c *op.Call, in identity.To, q identity.Question) (identity.Redirect, error) {
	s, err := FindOwn(ctx, c)
	if err != nil {
		return identity.Redirect{}, err
	}
	if linked, err := identity.Linked(ctx, c, s.account.id); err != nil || !linked {
		return identity.Redirect{}, orRefuse(err, notLinkedHere)
	}
	return q.Leave(c, signin.SSOFresh, signin.Way{Account: s.account.id, Next: in.Next})
}

func orRefuse(err error, why i18n.Text) error {
	if err != nil {
		return err
	}
	return &fault.Fault{Code: fault.Forbidden, Detail: why}
}

// proveSignIn checks the provider's response to a sign-in. Each ticket works once, even if the
// check fails. So a client cannot make the instance query the provider repeatedly.
func proveSignIn(ctx context.Context, c *op.Call, in identity.Return) (identity.Proof, error) {
	return identity.Prove(ctx, c, signin.SSO, in)
}

// proveInvited checks the provider's response to the acceptance of an invitation.
func proveInvited(ctx context.Context, c *op.Call, in identity.Return) (identity.Proof, error) {
	return identity.Prove(ctx, c, signin.SSOInvited, in)
}

// proveLink checks the provider's response to a new link.
func proveLink(ctx context.Context, c *op.Call, in identity.Return) (identity.Proof, error) {
	a, err := identity.Prove(ctx, c, signin.SSOLink, in)
	return a, notSignedOut(err)
}

// proveFresh checks the provider's response to the confirmation of a sign-in.
func proveFresh(ctx context.Context, c *op.Call, in identity.Return) (identity.Proof, error) {
	a, err := identity.Prove(ctx, c, signin.SSOFresh, in)
	return a, notSignedOut(err)
}

// notSignedOut turns fault.Unauthenticated into fault.Forbidden. A client would end the session
// after the former.
func notSignedOut(err error) error {
	if f, is := errors.AsType[*fault.Fault](err); is && f.Code == fault.Unauthenticated {
		return &fault.Fault{Code: fault.Forbidden, Reason: f.Reason, Detail: f.Detail}
	}
	return err
}

// SignInBySSO begins the session of the account that is linked with an identity of the provider. It
// requires no second factor, because the provider is responsible for all factors.
var SignInBySSO = op.NewPrefetched("signin.sso", op.Administer, proveSignIn, signInBySSO, op.By(op.Anyone),
	op.Unstored, op.Audited("session.begin"))

func signInBySSO(ctx context.Context, c *op.Call, _ identity.Return, a identity.Proof) (SignedIn, error) {
	account, err := a.Holder(ctx, c.Tx)
	if err != nil {
		return SignedIn{}, err
	}
	if account == "" {
		return SignedIn{}, notLinked()
	}
	s, err := enterBy(ctx, c, &a, account, signInState{})
	s.Next = a.Way.Next
	return s, err
}

// notLinked returns the error for an identity that has no account. The error is the same if an
// account has the identity's email address.
func notLinked() error {
	return &fault.Fault{Code: fault.Unauthenticated, Reason: string(access.Unknown), Detail: linkFirst}
}

// enterBy begins a session of an account that is linked with the identity.
func enterBy(ctx context.Context, c *op.Call, a *identity.Proof, account string, b signInState) (SignedIn, error) {
	if err := lock(ctx, c.Tx, account); err != nil {
		return SignedIn{}, err
	}
	used, err := a.Use(ctx, c, account)
	if err != nil {
		return SignedIn{}, err
	}
	if !used { // the link was removed since the check
		err = notLinked()
	}
	if err != nil {
		return SignedIn{}, err
	}
	b.Method, b.At = access.BySSO, a.AuthTime
	return enter(ctx, c, account, b)
}

// AcceptBySSO accepts an invitation by single sign-on. The provider must confirm that the person
// has the invited address.
//
// If the identity is linked with an account, the person joins that account. If no account has the
// address, AcceptBySSO creates a linked account. Otherwise the person must enter the account's
// password, because equal addresses are no proof.
var AcceptBySSO = op.NewPrefetched("signin.ssoAccept", op.Administer, proveInvited, acceptBySSO, op.By(op.Anyone),
	op.Unstored, op.Audited("invitation.accept"))

func acceptBySSO(ctx context.Context, c *op.Call, _ identity.Return, a identity.Proof) (AcceptResult, error) {
	i, err := invitation.Open(ctx, c, a.Way.Invitation)
	switch {
	case err != nil:
		return AcceptResult{}, err
	case !a.Verified || a.Email == "":
		return AcceptResult{}, orRefuse(nil, notVerified)
	case access.FoldEmail(a.Email) != access.FoldEmail(i.Email):
		return AcceptResult{}, orRefuse(nil, otherAddress)
	}
	name := a.Way.Name
	if name == "" {
		name = a.Name
	}
	person, account, err := joinInvited(ctx, c, invitation.Acceptance{Token: a.Way.Invitation, Name: name},
		func(email string) (string, error) {
			return accountBy(ctx, c, &a, email, i.HandedOver)
		})
	if err != nil {
		return AcceptResult{}, err
	}
	entering := *c
	entering.Audit = new(audit.Act) // the audit line of AcceptBySSO is enough
	s, err := enterBy(ctx, &entering, &a, account, signInState{Principal: person.ID})
	return AcceptResult{person, s}, err
}

// accountBy returns the account for an invited person, and creates a linked account if the address
// has none. It fails if handedOver is true: the invitation was not mailed, so it proves no address.
func accountBy(ctx context.Context, c *op.Call, a *identity.Proof, email string, handedOver bool) (string, error) {
	account, err := a.Holder(ctx, c.Tx)
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
		return "", err // of two concurrent calls, the second one fails here
	}
	return account, a.Link(ctx, c, account, c.Now)
}

// LinkSSO links the caller's account with an identity. The redirect must have begun in the same
// account. Otherwise an attacker could link their own identity with somebody else's account.
var LinkSSO = op.NewPrefetched("factors.ssoLink", op.Administer, proveLink, linkSSO, op.By(op.Member), op.Setup,
	op.Fresh, op.Gives, op.Audited("account.sso"))

func linkSSO(ctx context.Context, c *op.Call, _ identity.Return, a identity.Proof) (op.Nothing, error) {
	s, err := FindOwn(ctx, c)
	if err != nil {
		return op.Nothing{}, err
	}
	if a.Way.Account != s.account.id {
		return op.Nothing{}, signin.Unknown(db.ErrNoRows)
	}
	if err := lock(ctx, c.Tx, s.account.id); err != nil {
		return op.Nothing{}, err
	}
	if account, err := a.Holder(ctx, c.Tx); err != nil || account != "" && account != s.account.id {
		return op.Nothing{}, orRefuse(err, linkedElsewhere)
	}
	if linked, err := identity.Linked(ctx, c, s.account.id); err != nil || linked {
		return op.Nothing{}, orRefuse(err, linkedAlready)
	}
	if err := a.Link(ctx, c, s.account.id, 0); err != nil {
		return op.Nothing{}, err // if another call linked the identity, the retry of this one finds it
	}
	return op.Nothing{}, s.changed(ctx, c, "sso", ssoLinked)
}

// UnlinkSSO removes a link. It refuses to remove the last way to sign in.
var UnlinkSSO = op.New("factors.ssoUnlink", op.Administer, unlinkSSO, op.By(op.Member), op.Setup, op.Fresh,
	op.Gives, op.Audited("account.sso"))

func unlinkSSO(ctx context.Context, c *op.Call, in ByID) (op.Nothing, error) {
	s, err := FindOwn(ctx, c)
	if err != nil {
		return op.Nothing{}, err
	}
	if err := lock(ctx, c.Tx, s.account.id); err != nil {
		return op.Nothing{}, err
	}
	removed, err := identity.Remove(ctx, c.Tx, s.account.id, in.ID)
	if err != nil {
		return op.Nothing{}, err
	}
	if !removed {
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

// keepsAWay returns an error with the text why if nobody can sign in to the account any more.
func (s *Own) keepsAWay(ctx context.Context, c *op.Call, why i18n.Text) error {
	f, err := factorsOf(ctx, c.Tx, &s.account)
	if err != nil || f.passkeys > 0 {
		return err
	}
	if linked, err := identity.Linked(ctx, c, s.account.id); err != nil || linked {
		return err
	}
	if serves, err := s.passwordServes(ctx, c); err != nil || serves {
		return err
	}
	return orRefuse(nil, why)
}

// withoutLink handles a session that began with a removed link. If the organization allows
// passwords, the session counts from now on as begun with a password. Otherwise withoutLink ends
// the session.
func (s *Own) withoutLink(ctx context.Context, c *op.Call) error {
	if linked, err := identity.Linked(ctx, c, s.account.id); err != nil || linked || s.method != access.BySSO {
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

// passwordServes reports whether the account has a password and belongs to an organization that
// allows passwords.
func (s *Own) passwordServes(ctx context.Context, c *op.Call) (bool, error) {
	if s.account.password == "" {
		return false, nil
	}
	persons, err := personsOf(ctx, c.Tx, s.account.id)
	return slices.ContainsFunc(persons, func(p Person) bool { return p.admits(c, access.ByPassword) == nil }), err
}

// RefreshedSSO is the result of RefreshBySSO. Next is the path of the page to open.
type RefreshedSSO struct {
	Renewal
	Next string `json:"next,omitempty"`
}

// RefreshBySSO makes the sign-in of the session recent, from the time when the person signed in at
// the provider.
var RefreshBySSO = op.NewPrefetched("session.ssoRefresh", op.Administer, proveFresh, refreshBySSO, op.By(op.Member),
	op.Always, op.Unstored, op.Audited("session.refresh"))

func refreshBySSO(ctx context.Context, c *op.Call, _ identity.Return, a identity.Proof) (r RefreshedSSO, err error) {
	s, err := FindOwn(ctx, c)
	if err != nil {
		return r, err
	}
	if a.Way.Account != s.account.id {
		return r, signin.Unknown(db.ErrNoRows)
	}
	used, err := a.Use(ctx, c, s.account.id)
	if err != nil {
		return r, err
	}
	if !used {
		err = orRefuse(nil, somebodyElse)
	}
	if err != nil {
		return r, err
	}
	r.Next = a.Way.Next
	r.Renewal, err = s.refresh(ctx, c, min(a.AuthTime, c.Now))
	return r, err
}

// Unlink removes all links of a person whose provider is gone, or who must no longer sign in by it.
// Only the operator may call it, because the account may belong to other organizations. It ends the
// sessions. If there is no other way to sign in, it returns a link that sets a password.
var Unlink = op.New("people.unlink", op.Administer, unlink, op.By(op.Operator), op.Gives, op.Audited("person.unlink"))

func unlink(ctx context.Context, c *op.Call, in op.ByID) (l FactorReset, err error) {
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
	if removed, err := identity.RemoveAll(ctx, c.Tx, account); err != nil || !removed {
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
