// Package people owns the pages of people, service accounts, the organization and the audit log.
package people

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
	"kartei/web/shell"
)

// What belongs to a person or a service account, and what is needed to hand it over.
var (
	belongings = op.List{offboarding.Status, key.List, offboarding.Holds, settings.ResolveNames}
	succession = op.List{settings.ListUsers, settings.ListServiceAccounts, key.List, offboarding.Holds, contact.Count, company.Count, document.Count}
)

// Pages are the pages of this package.
var Pages = []shell.Page{
	shell.Private("GET", "/settings/people", op.List{settings.FindNames, settings.ListUsers, settings.ListInvitations}, showPeople),
	shell.Private("GET", "/settings/people/invite", op.List{settings.ListUsers}, showInvite),
	shell.Private("POST", "/settings/people/invite", op.List{settings.Invite}, invite),
	shell.Private("POST", "/settings/people/invitations/{id}/revoke", op.List{settings.RevokeInvitation}, revokeInvitation),
	shell.Private("GET", "/settings/people/{id}", op.List{settings.GetUser}.And(belongings), showPrincipal(&persons)),
	shell.Private("POST", "/settings/people/{id}", op.List{settings.SetUser, settings.GetUser}.And(belongings), savePrincipal(&persons)),
	shell.Private("POST", "/settings/people/{id}/enable", op.List{settings.SetUser, settings.GetUser}.And(belongings), enablePrincipal(&persons)),
	shell.Private("GET", "/settings/people/{id}/leave", op.List{settings.GetUser}.And(succession), showLeave(&persons)),
	shell.Private("POST", "/settings/people/{id}/leave", op.List{settings.SetUser, offboarding.HandOver, settings.GetUser}.And(succession), leave(&persons)),
	shell.Private("POST", "/settings/people/{id}/factors", op.List{account.ResetFactors, settings.GetUser}.And(belongings), resetFactors),
	shell.Private("GET", "/settings/people/{id}/erase", op.List{settings.GetUser}, showErase),
	shell.Private("POST", "/settings/people/{id}/erase", op.List{offboarding.Erase, settings.GetUser}, erase),
	shell.Private("GET", "/settings/service-accounts", op.List{settings.ListServiceAccounts}, showPrincipals(&accounts)),
	shell.Private("GET", "/settings/service-accounts/new", op.List{settings.ListServiceAccounts}, showNewAccount),
	shell.Private("POST", "/settings/service-accounts/new", op.List{settings.CreateServiceAccount}, createAccount),
	shell.Private("GET", "/settings/service-accounts/{id}", op.List{settings.GetServiceAccount}.And(belongings), showPrincipal(&accounts)),
	shell.Private("POST", "/settings/service-accounts/{id}", op.List{settings.SetServiceAccount, settings.GetServiceAccount}.And(belongings), savePrincipal(&accounts)),
	shell.Private("POST", "/settings/service-accounts/{id}/enable", op.List{settings.SetServiceAccount, settings.GetServiceAccount}.And(belongings), enablePrincipal(&accounts)),
	shell.Private("GET", "/settings/service-accounts/{id}/leave", op.List{settings.GetServiceAccount}.And(succession), showLeave(&accounts)),
	shell.Private("POST", "/settings/service-accounts/{id}/leave", op.List{settings.SetServiceAccount, offboarding.HandOver, settings.GetServiceAccount}.And(succession), leave(&accounts)),

	shell.Private("GET", "/settings/organization", op.List{settings.GetOrganization, settings.ListUsers, settings.ResolveNames}, showOrganization),
	shell.Private("POST", "/settings/organization", op.List{oauth.SetOrganization, settings.GetOrganization, settings.ListUsers, settings.ResolveNames}, saveOrganization),
	shell.Private("GET", "/settings/audit", op.List{auditlog.List, settings.ListUsers, settings.ListServiceAccounts, settings.ResolveNames}, showAudit),
	shell.Private("POST", "/settings/audit/export", op.List{exports.BeginAudit, auditlog.List, settings.ResolveNames}, exportAudit),
}
