package office

import (
	"kartei/api/op"
	"kartei/integration/key"
	"kartei/integration/oauth"
	"kartei/people/account"
	"kartei/people/auditlog"
	"kartei/people/offboarding"
	"kartei/people/settings"
	"kartei/record/company"
	"kartei/record/contact"
	"kartei/record/document"
	"kartei/transfer/exports"
)

// What belongs to a person or a service account, and what is needed to hand it over.
var (
	belongings = op.List{offboarding.Status, key.List, offboarding.Holds, settings.ResolveNames}
	succession = op.List{settings.ListUsers, settings.ListServiceAccounts, key.List, offboarding.Holds, contact.Count, company.Count, document.Count}
)

// peoplePages are the pages of this room.
var peoplePages = []Page{
	private("GET", "/settings/people", op.List{settings.FindNames, settings.ListUsers, settings.ListInvitations}, showPeople),
	private("GET", "/settings/people/invite", op.List{settings.ListUsers}, showInvite),
	private("POST", "/settings/people/invite", op.List{settings.Invite}, invite),
	private("POST", "/settings/people/invitations/{id}/revoke", op.List{settings.RevokeInvitation}, revokeInvitation),
	private("GET", "/settings/people/{id}", op.List{settings.GetUser}.And(belongings), showPrincipal(&persons)),
	private("POST", "/settings/people/{id}", op.List{settings.SetUser, settings.GetUser}.And(belongings), savePrincipal(&persons)),
	private("POST", "/settings/people/{id}/enable", op.List{settings.SetUser, settings.GetUser}.And(belongings), enablePrincipal(&persons)),
	private("GET", "/settings/people/{id}/leave", op.List{settings.GetUser}.And(succession), showLeave(&persons)),
	private("POST", "/settings/people/{id}/leave", op.List{settings.SetUser, offboarding.HandOver, settings.GetUser}.And(succession), leave(&persons)),
	private("POST", "/settings/people/{id}/factors", op.List{account.ResetFactors, settings.GetUser}.And(belongings), resetFactors),
	private("GET", "/settings/people/{id}/erase", op.List{settings.GetUser}, showErase),
	private("POST", "/settings/people/{id}/erase", op.List{offboarding.Erase, settings.GetUser}, erase),
	private("GET", "/settings/service-accounts", op.List{settings.ListServiceAccounts}, showPrincipals(&accounts)),
	private("GET", "/settings/service-accounts/new", op.List{settings.ListServiceAccounts}, showNewAccount),
	private("POST", "/settings/service-accounts/new", op.List{settings.CreateServiceAccount}, createAccount),
	private("GET", "/settings/service-accounts/{id}", op.List{settings.GetServiceAccount}.And(belongings), showPrincipal(&accounts)),
	private("POST", "/settings/service-accounts/{id}", op.List{settings.SetServiceAccount, settings.GetServiceAccount}.And(belongings), savePrincipal(&accounts)),
	private("POST", "/settings/service-accounts/{id}/enable", op.List{settings.SetServiceAccount, settings.GetServiceAccount}.And(belongings), enablePrincipal(&accounts)),
	private("GET", "/settings/service-accounts/{id}/leave", op.List{settings.GetServiceAccount}.And(succession), showLeave(&accounts)),
	private("POST", "/settings/service-accounts/{id}/leave", op.List{settings.SetServiceAccount, offboarding.HandOver, settings.GetServiceAccount}.And(succession), leave(&accounts)),

	private("GET", "/settings/organization", op.List{settings.GetOrganization, settings.ListUsers, settings.ResolveNames}, showOrganization),
	private("POST", "/settings/organization", op.List{oauth.SetOrganization, settings.GetOrganization, settings.ListUsers, settings.ResolveNames}, saveOrganization),
	private("GET", "/settings/audit", op.List{auditlog.List, settings.ListUsers, settings.ListServiceAccounts, settings.ResolveNames}, showAudit),
	private("POST", "/settings/audit/export", op.List{exports.BeginAudit, auditlog.List, settings.ResolveNames}, exportAudit),
}
