// Package applications owns the pages of applications that act for a person: consent, connections, approvals.
package applications

import (
	"kartei/api/op"
	"kartei/integration/oauth"
	"kartei/people/account"
	"kartei/people/agent"
	"kartei/people/principal"
	"kartei/web/shell"
)

// Pages are the pages of this package. Each has its method, its path, the operations that it may
// call, and its handler.
var Pages = []shell.Page{
	shell.Private("GET", shell.ActingPath, op.List{agent.List}, showActing, shell.Enrols),
	shell.Private("POST", shell.ActingPath+"/end", op.List{agent.End}, endAllActing, shell.Enrols),
	shell.Private("POST", shell.ActingPath+"/{id}/end", op.List{agent.End, account.RemovePasskey, account.UnlinkSSO}, endActing, shell.Enrols),

	shell.Private("GET", consentPath, op.List{oauth.Ask}, showConsent),
	shell.Private("POST", consentPath, op.List{oauth.Answer, oauth.Ask}, answerConsent),
	shell.Private("GET", shell.ApplicationsPath, op.List{oauth.ListGrants, oauth.ListClients, oauth.ListApprovals, principal.ResolveNames}, showApplications),
	shell.Private("POST", shell.ApplicationsPath+"/{id}/end", op.List{oauth.EndGrant}, endGrant),
	shell.Private("POST", shell.ApplicationsPath+"/{id}/renew", op.List{oauth.RenewGrant}, renewGrant),
	shell.Private("GET", approvalsPath+"/{id}", op.List{oauth.ListApprovals, principal.ResolveNames}, showApproval),
	shell.Private("POST", approvalsPath+"/{id}/approve", op.List{oauth.Approve}, approve),
	shell.Private("POST", approvalsPath+"/{id}/revoke", op.List{oauth.Disapprove}, disapprove),
	shell.Private("GET", shell.ApplicationsPath+"/new", op.List{oauth.CreateClient, principal.ListServiceAccounts}, showNewClient),
	shell.Private("POST", shell.ApplicationsPath+"/new", op.List{oauth.CreateClient, principal.ListServiceAccounts}, createClient),
	shell.Private("POST", shell.ApplicationsPath+"/{id}/rotate", op.List{oauth.RotateClient}, rotateClient),
	shell.Private("POST", shell.ApplicationsPath+"/{id}/disable", op.List{oauth.SetClient}, switchClient(true)),
	shell.Private("POST", shell.ApplicationsPath+"/{id}/enable", op.List{oauth.SetClient}, switchClient(false)),
}
