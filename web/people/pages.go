// Package people owns the pages of people, service accounts, the organization and the audit log.
package people

import (
	"kartei/api/op"
	"kartei/integration/key"
	"kartei/integration/oauth"
	"kartei/people/account"
	"kartei/people/auditlog"
	"kartei/people/invitation"
	"kartei/people/offboarding"
	"kartei/people/organization"
	"kartei/people/principal"
	"kartei/record/company"
	"kartei/record/contact"
	"kartei/record/document"
	"kartei/transfer/exports"
	"kartei/web/shell"
)

// belongings are the operations that read the possessions of a person or a service account.
// succession are the operations that the page for a hand-over needs.
var (
	belongings = op.List{offboarding.Status, key.List, offboarding.Holds, principal.ResolveNames}
	succession = op.List{principal.ListUsers, principal.ListServiceAccounts, key.List, offboarding.Holds, contact.Count, company.Count, document.Count}
)

// Pages are the pages of this package. Each has its method, its path, the operations that it may
// call, and its handler.
var Pages = []shell.Page{
	shell.Private("GET", "/settings/people", op.List{principal.FindNames, principal.ListUsers, invitation.List}, showPeople),
	shell.Private("GET", "/settings/people/invite", op.List{principal.ListUsers}, showInvite),
	shell.Private("POST", "/settings/people/invite", op.List{invitation.Create}, invite),
	shell.Private("POST", "/settings/people/invitations/{id}/revoke", op.List{invitation.Revoke}, revokeInvitation),
	shell.Private("GET", "/settings/people/{id}", op.List{principal.GetUser}.And(belongings), showPrincipal(&persons)),
	shell.Private("POST", "/settings/people/{id}", op.List{principal.SetUser, principal.GetUser}.And(belongings), savePrincipal(&persons)),
	shell.Private("POST", "/settings/people/{id}/enable", op.List{principal.SetUser, principal.GetUser}.And(belongings), enablePrincipal(&persons)),
	shell.Private("GET", "/settings/people/{id}/leave", op.List{principal.GetUser}.And(succession), showLeave(&persons)),
	shell.Private("POST", "/settings/people/{id}/leave", op.List{principal.SetUser, offboarding.HandOver, principal.GetUser}.And(succession), leave(&persons)),
	shell.Private("POST", "/settings/people/{id}/factors", op.List{account.ResetFactors, principal.GetUser}.And(belongings), resetFactors),
	shell.Private("GET", "/settings/people/{id}/erase", op.List{principal.GetUser}, showErase),
	shell.Private("POST", "/settings/people/{id}/erase", op.List{offboarding.Erase, principal.GetUser}, erase),
	shell.Private("GET", "/settings/service-accounts", op.List{principal.ListServiceAccounts}, showPrincipals(&accounts)),
	shell.Private("GET", "/settings/service-accounts/new", op.List{principal.ListServiceAccounts}, showNewAccount),
	shell.Private("POST", "/settings/service-accounts/new", op.List{principal.CreateServiceAccount}, createAccount),
	shell.Private("GET", "/settings/service-accounts/{id}", op.List{principal.GetServiceAccount}.And(belongings), showPrincipal(&accounts)),
	shell.Private("POST", "/settings/service-accounts/{id}", op.List{principal.SetServiceAccount, principal.GetServiceAccount}.And(belongings), savePrincipal(&accounts)),
	shell.Private("POST", "/settings/service-accounts/{id}/enable", op.List{principal.SetServiceAccount, principal.GetServiceAccount}.And(belongings), enablePrincipal(&accounts)),
	shell.Private("GET", "/settings/service-accounts/{id}/leave", op.List{principal.GetServiceAccount}.And(succession), showLeave(&accounts)),
	shell.Private("POST", "/settings/service-accounts/{id}/leave", op.List{principal.SetServiceAccount, offboarding.HandOver, principal.GetServiceAccount}.And(succession), leave(&accounts)),

	shell.Private("GET", "/settings/organization", op.List{organization.Get, principal.ListUsers, principal.ResolveNames}, showOrganization),
	shell.Private("POST", "/settings/organization", op.List{oauth.SetOrganization, organization.Get, principal.ListUsers, principal.ResolveNames}, saveOrganization),
	shell.Private("GET", "/settings/audit", op.List{auditlog.List, principal.ListUsers, principal.ListServiceAccounts, principal.ResolveNames}, showAudit),
	shell.Private("POST", "/settings/audit/export", op.List{exports.BeginAudit, auditlog.List, principal.ResolveNames}, exportAudit),
}
