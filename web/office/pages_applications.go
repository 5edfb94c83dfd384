package office

import (
	"kartei/api/op"
	"kartei/integration/oauth"
	"kartei/people/account"
	"kartei/people/settings"
)

// applicationsPages are the pages of this room.
var applicationsPages = []Page{
	private("GET", actingPath, op.List{account.ListActing}, showActing, enrols),
	private("POST", actingPath+"/end", op.List{account.EndActing}, endAllActing, enrols),
	private("POST", actingPath+"/{id}/end", op.List{account.EndActing, account.RemovePasskey, account.UnlinkSSO}, endActing, enrols),

	private("GET", consentPath, op.List{oauth.Ask}, showConsent),
	private("POST", consentPath, op.List{oauth.Answer, oauth.Ask}, answerConsent),
	private("GET", applicationsPath, op.List{oauth.ListGrants, oauth.ListClients, oauth.ListApprovals, settings.ResolveNames}, showApplications),
	private("POST", applicationsPath+"/{id}/end", op.List{oauth.EndGrant}, endGrant),
	private("POST", applicationsPath+"/{id}/renew", op.List{oauth.RenewGrant}, renewGrant),
	private("GET", approvalsPath+"/{id}", op.List{oauth.ListApprovals, settings.ResolveNames}, showApproval),
	private("POST", approvalsPath+"/{id}/approve", op.List{oauth.Approve}, approve),
	private("POST", approvalsPath+"/{id}/revoke", op.List{oauth.Disapprove}, disapprove),
	private("GET", applicationsPath+"/new", op.List{oauth.CreateClient, settings.ListServiceAccounts}, showNewClient),
	private("POST", applicationsPath+"/new", op.List{oauth.CreateClient, settings.ListServiceAccounts}, createClient),
	private("POST", applicationsPath+"/{id}/rotate", op.List{oauth.RotateClient}, rotateClient),
	private("POST", applicationsPath+"/{id}/disable", op.List{oauth.SetClient}, switchClient(true)),
	private("POST", applicationsPath+"/{id}/enable", op.List{oauth.SetClient}, switchClient(false)),
}
