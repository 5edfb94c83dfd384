package oauth

import (
	"context"
	"errors"
	"slices"
	"time"

	"kartei/access"
	"kartei/api/op"
	"kartei/integration/grant"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/kit/id"
	"kartei/people/organization"
	"kartei/people/signin"
	"kartei/store/db"
)

// The values of Prompt.Refused.
const (
	applicationsOff = "off"
	notApproved     = "asked"
)

// requestsOfHour is the maximum number of applications for which a person asks the admins in an
// hour. An application can make a person's browser open its consent page, so the requests need a
// bound.
const requestsOfHour = 10

// admit fails with FORBIDDEN if the caller may not connect the application. If the caller is an
// admin, admit also approves the application. verified says that an admin has approved the
// application's document.
func admit(
	ctx context.Context, c *op.Call, o *access.OrganizationInfo, client *grant.Client,
) (verified bool, err error) {
	s, err := grant.StandingOf(ctx, c.Tx, o, client, c.Actor.PrincipalID())
	switch {
	case err != nil:
		return false, err
	case s.Setting == access.NoApplications:
		return false, &fault.Fault{Code: fault.Forbidden, Detail: noApplications}
	case !s.Open() && !c.Actor.SeesAll():
		return false, &fault.Fault{Code: fault.Forbidden, Detail: adminFirst}
	case !s.Open():
		a, err := grant.ApproveClient(ctx, c.Tx, c.Now, s.Live, client, c.Actor.PrincipalID(), c.Actor.PrincipalID())
		if err != nil {
			return false, err
		}
		if err = tellApproved(ctx, c, &a); err != nil {
			return false, err
		}
		c.Audit.Changed("approved", false, true)
		s.Approved = true
	}
	return client.Kind == grant.ByDocument && s.Approved, nil
}

var (
	noApplications = i18n.Text("Your office does not allow applications.")
	adminFirst     = i18n.Text("An admin has to approve this application first.")
)

// askAdmins sends a notice to the admins that the caller wants to connect an application. A
// repeated request of the caller sends no further notice.
func askAdmins(ctx context.Context, c *op.Call, live int64, client *grant.Client) error {
	a, first, err := grant.AskFor(ctx, c.Tx, c.Now, live, client, c.Actor.PrincipalID())
	if err != nil || !first {
		return err
	}
	limit := signin.Limit{
		Subject: "approval|" + c.Actor.PrincipalID(), Window: time.Hour, Most: requestsOfHour, Keeps: true,
	}
	err = signin.Attempt(ctx, c.Tx, c.Now, limit)
	if left := signin.Waits(err); left > 0 {
		return &fault.Fault{Code: fault.RateLimited, RetryAfter: left, Detail: tooManyDocuments}
	}
	if err != nil {
		return err
	}
	return tellAsked(ctx, c, &a, c.Actor.PrincipalID())
}

// ApprovalInfo describes an application that people may connect, or a request that waits for an
// admin.
type ApprovalInfo struct {
	ID string `json:"id"`
	// ClientID is the client_id of the application. Client is its name for people.
	ClientID   string     `json:"clientId"`
	Client     string     `json:"client"`
	ClientKind grant.Kind `json:"clientKind"`
	// Hosts are the hosts of the redirect URIs. For the private scheme of a program, the entry is
	// the scheme.
	Hosts []string `json:"hosts"`
	// PrincipalID is the person who may connect the application. Empty means everybody.
	PrincipalID string `json:"principalId,omitempty"`
	// AskedBy has the ids of the people who wait for the approval.
	AskedBy []string     `json:"askedBy"`
	AskedAt clock.Micros `json:"askedAt"`
	// ApprovedAt is the time of the approval, and is missing while the request waits. ApprovedBy is
	// the id of the admin, and is empty for the operator.
	ApprovedAt clock.Micros `json:"approvedAt,omitzero"`
	ApprovedBy string       `json:"approvedBy,omitempty"`
}

// ListApprovals is the operation that lists the approved applications and the requests that wait
// for an admin. A person who is not an admin sees the approvals for them and their own requests.
var ListApprovals = op.New("clients.approvals", op.Read, listApprovals, op.By(op.Member|op.Operator))

func listApprovals(ctx context.Context, c *op.Call, in op.Page) (page op.Entries[ApprovalInfo], err error) {
	o, err := c.FindOrganization(ctx, in.Organization)
	if err != nil {
		return page, err
	}
	limit, err := op.PageSize(in.Limit, op.MaxPage)
	if err != nil {
		return page, err
	}
	principal := c.Actor.PrincipalID()
	if c.Administers() {
		principal = ""
	}
	found, err := grant.Approvals(ctx, c.Tx, o.Live, principal, in.After, limit+1)
	list := make([]ApprovalInfo, len(found))
	for i := range found {
		if list[i], err = approvalInfo(ctx, c.Tx, &found[i]); err != nil {
			return page, err
		}
		if principal != "" { // other people's requests are not shown
			list[i].AskedBy = slices.DeleteFunc(list[i].AskedBy, func(by string) bool { return by != principal })
		}
	}
	return op.PageOf(list, limit), err
}

func approvalInfo(ctx context.Context, tx db.Tx, a *grant.Approval) (ApprovalInfo, error) {
	client, err := grant.ClientByID(ctx, tx, a.Client)
	info := ApprovalInfo{
		ID: a.ID, ClientID: client.ClientID, Client: client.Name, ClientKind: client.Kind, Hosts: []string{},
		PrincipalID: a.Principal,
		AskedBy:     append([]string{}, a.AskedBy...), AskedAt: a.AskedAt, ApprovedAt: a.ApprovedAt, ApprovedBy: a.ApprovedBy,
	}
	for _, address := range client.RedirectURIs {
		host := grant.Host(address)
		if host == "" {
			host = originOf(address)
		}
		if !slices.Contains(info.Hosts, host) {
			info.Hosts = append(info.Hosts, host)
		}
	}
	return info, err
}

// ApproveInput is the input of Approve. It has the id of a request, or the client_id of an
// application without a request.
type ApproveInput struct {
	// Organization is the id of a live organization.
	Organization string `json:"organizationId,omitempty"`
	ID           string `json:"id,omitempty"`
	// ClientID is the client_id of the application. Principal is the person who may connect it. An
	// application with a document is approved for everybody.
	ClientID  string `json:"clientId,omitempty"`
	Principal string `json:"principalId,omitempty"`
}

// findApplication returns the application of an approval. It runs before the transaction, because
// it may fetch the application's document.
func findApplication(ctx context.Context, c *op.Call, in ApproveInput) (client grant.Client, err error) {
	if in.ID != "" || in.ClientID == "" {
		return client, nil
	}
	return findClient(ctx, c, in.ClientID)
}

// Approve is the operation that lets people connect an application.
var Approve = op.NewPrefetched("clients.approve", op.Administer, findApplication, approve,
	op.By(op.Admin|op.Operator), op.Fresh, op.Gives, op.Audited("client.approve"))

func approve(ctx context.Context, c *op.Call, in ApproveInput, client grant.Client) (info ApprovalInfo, err error) {
	o, err := c.FindOrganization(ctx, in.Organization)
	if err != nil {
		return info, err
	}
	a, err := in.find(ctx, c, &o, &client)
	if err != nil {
		return info, err
	}
	was := a.ApprovedAt
	if err := a.Approve(ctx, c.Tx, c.Now, c.Actor.PrincipalID()); err != nil {
		return info, err
	}
	info, err = approvalInfo(ctx, c.Tx, &a.Approval)
	if err != nil {
		return info, err
	}
	a.audit(c, info.ClientID)
	if was != 0 {
		return info, nil
	}
	if err := c.Gives(ctx, op.Gain{Word: op.ClientKnown, ID: info.ClientID, Organization: a.Organization}); err != nil {
		return info, err
	}
	return info, tellApproved(ctx, c, &a.Approval)
}

// approval is a grant.Approval with methods for the audit log.
type approval struct{ grant.Approval }

// audit records the application and the person in the audit log.
func (a *approval) audit(c *op.Call, clientID string) {
	c.Audit.About(a.Organization, a.ID)
	c.Audit.Changed("clientId", nil, clientID)
	if a.Principal != "" {
		c.Audit.Changed("principalId", nil, a.Principal)
	}
}

// find returns the approval or the request of the input. If there is none, it creates a request.
func (in *ApproveInput) find(
	ctx context.Context, c *op.Call, o *access.OrganizationInfo, client *grant.Client,
) (a approval, err error) {
	switch {
	case in.ID != "":
		return approvalByID(ctx, c, o, in.ID)
	case client.ID == "":
		return a, fault.Invalid(fault.Field{Name: "clientId", Code: fault.Required})
	case client.Kind == grant.ByAdmin:
		return a, fault.Invalid(fault.Field{Name: "clientId", Code: fault.ForbiddenCombination, Text: ofService})
	case client.Kind == grant.Registered && in.Principal == "":
		return a, fault.Invalid(fault.Field{Name: "principalId", Code: fault.Required, Text: forOne})
	case client.Kind == grant.Registered:
		p, err := access.UserIn(ctx, c.Tx, in.Principal)
		if err != nil && !fault.Is(err, fault.NotFound) {
			return a, err
		}
		if err != nil || p.Home != o.Live {
			return a, fault.Invalid(fault.Field{Name: "principalId", Code: fault.FieldNotFound})
		}
	}
	a.Approval, err = grant.OpenApproval(ctx, c.Tx, c.Now, o.Live, client, in.Principal)
	return a, err
}

var (
	ofService  = i18n.Text("This application acts for a service account. Nobody has to approve it.")
	forOne     = i18n.Text("This application registered itself. It is approved for one person.")
	noApproval = i18n.Text("There is no such approval or request any more.")
)

// approvalByID returns an approval or a request of an organization. It fails with NOT_FOUND if
// there is none.
func approvalByID(ctx context.Context, c *op.Call, o *access.OrganizationInfo, name string) (a approval, err error) {
	missing := &fault.Fault{Code: fault.NotFound, Detail: noApproval}
	if !id.Valid(id.Approval, name) {
		return a, missing
	}
	if a.Approval, err = grant.ApprovalByID(ctx, c.Tx, o.Live, name); errors.Is(err, db.ErrNoRows) {
		err = missing
	}
	return a, err
}

// DisapproveInput is the input of Disapprove.
type DisapproveInput struct {
	// Organization is the id of a live organization.
	Organization string `json:"organizationId,omitempty"`
	ID           string `json:"id"`
}

// Disapprove is the operation that deletes an approval and ends the grants that depend on it. It
// also deletes a request that waits.
var Disapprove = op.New("clients.disapprove", op.Administer, disapprove, op.By(op.Admin|op.Operator), op.Always,
	op.Audited("client.disapprove"))

func disapprove(ctx context.Context, c *op.Call, in DisapproveInput) (op.Nothing, error) {
	if err := access.Changed(ctx, c.Tx); err != nil {
		return op.Nothing{}, err
	}
	o, err := c.FindOrganization(ctx, in.Organization)
	if err != nil {
		return op.Nothing{}, err
	}
	a, err := approvalByID(ctx, c, &o, in.ID)
	if err != nil {
		return op.Nothing{}, err
	}
	info, err := approvalInfo(ctx, c.Tx, &a.Approval)
	if err != nil {
		return op.Nothing{}, err
	}
	a.audit(c, info.ClientID)
	ended, err := a.TakeBack(ctx, c.Tx, c.Now)
	if err != nil {
		return op.Nothing{}, err
	}
	names := make([]string, len(ended))
	for i, g := range ended {
		names[i] = g.ID
	}
	c.Audit.Changed("endedGrants", []string{}, names)
	disabled, err := disableEndpoints(ctx, c, ended...)
	if len(disabled) > 0 {
		c.Audit.Changed("disabledEndpoints", []string{}, disabled)
	}
	return op.Nothing{}, err
}

// SetOrganization is the operation that runs organization.Set. If the organization no longer admits
// applications, it also disables the webhook endpoints that applications created. Their grants only
// pause, but events are sent without a check of the grant.
var SetOrganization = op.New("organizations.set", op.Administer, setOrganization, op.By(op.Admin|op.Operator),
	op.Fresh, op.Gives, op.Audited("organization.set"))

func setOrganization(ctx context.Context, c *op.Call, in organization.Change) (access.OrganizationInfo, error) {
	o, err := organization.Set(ctx, c, in)
	if err != nil || in.Applications == nil || o.Applications != access.NoApplications {
		return o, err
	}
	resting, err := grant.Connected(ctx, c.Tx, c.Now, o.Live)
	if err != nil {
		return o, err
	}
	disabled, err := disableEndpoints(ctx, c, resting...)
	if len(disabled) > 0 {
		c.Audit.Changed("disabledEndpoints", []string{}, disabled)
	}
	return o, err
}

// RenewGrant is the operation that extends a grant by its renewal period. Only the person for whom
// the application acts can renew it. An admin can end a grant, but cannot answer for another
// person.
var RenewGrant = op.New("grants.renew", op.Administer, renewGrant, op.By(op.Self), op.Fresh, op.Gives,
	op.Audited("grant.renew"))

func renewGrant(ctx context.Context, c *op.Call, in op.ByID) (out GrantInfo, err error) {
	missing := &fault.Fault{Code: fault.NotFound, Detail: noGrant}
	if !id.Valid(id.Grant, in.ID) {
		return out, missing
	}
	if err := access.Changed(ctx, c.Tx); err != nil {
		return out, err
	}
	out, err = scanGrant(c.Tx.QueryRow(ctx, selectGrant, in.ID))
	if errors.Is(err, db.ErrNoRows) || err == nil &&
		(!out.of(c) || out.PrincipalID != c.Actor.PrincipalID() || c.Now >= out.ExpiresAt) {
		return out, missing
	}
	if err != nil {
		return out, err
	}
	g, err := grant.GrantByID(ctx, c.Tx, out.ID)
	if err != nil {
		return out, err
	}
	if g.Renewal == 0 || !connected(&g) {
		return out, &fault.Fault{Code: fault.Forbidden, Detail: notRenewable}
	}
	c.Audit.About(out.organization, out.ID)
	before := g.ExpiresAt
	if err := grant.Renew(ctx, c.Tx, c.Now, &g); err != nil {
		return out, err
	}
	c.Audit.Changed("expiresAt", before, g.ExpiresAt)
	out.ExpiresAt = g.ExpiresAt
	return out, tellConnected(ctx, c, &g, true)
}

var notRenewable = i18n.Text("This connection need not be renewed.")

// connected reports whether the application has exchanged its code.
func connected(g *grant.Grant) bool { return g.ExpiresAt.Sub(g.CreatedAt) > grant.CodeLifetime }

// scopeText returns the words for the rights that the scopes give.
func scopeText(scopes []string) i18n.Text {
	said := make([]i18n.Text, len(scopes))
	for i, scope := range scopes {
		said[i] = scopeTexts[scope]
	}
	return i18n.Join(", ", said...)
}

var scopeTexts = map[string]i18n.Text{
	"contacts:read": "read contacts", "contacts:write": "change contacts",
	"companies:read": "read companies", "companies:write": "change companies",
	"tasks:read": "read tasks", "tasks:write": "change tasks",
	"documents:read": "read documents", "documents:write": "change documents",
	"webhook_endpoints:read": "read webhooks", "webhook_endpoints:write": "change webhooks",
}
