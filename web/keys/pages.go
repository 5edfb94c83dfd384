// Package keys owns the pages of API keys, their calls and their use.
package keys

import (
	"kartei/api/op"
	"kartei/integration/key"
	"kartei/integration/requestlog"
	"kartei/integration/usage"
	"kartei/integration/webhook"
	"kartei/people/principal"
	"kartei/record/contact"
	"kartei/record/lookup"
	"kartei/web/shell"
)

// Pages are the pages of this package. Each has its method, its path, the operations that it may
// call, and its handler.
var Pages = []shell.Page{
	shell.Private("GET", "/settings/interfaces/keys", op.List{key.List, principal.ResolveNames}, showKeys),
	shell.Private("GET", "/settings/interfaces/keys/new", op.List{key.GetTerms, principal.ListServiceAccounts, contact.Count}, showNewKey),
	shell.Private("POST", "/settings/interfaces/keys/new", op.List{key.Create, key.GetTerms, principal.ListServiceAccounts, contact.Count}, createKey),
	shell.Private("GET", "/settings/interfaces/keys/{id}", op.List{key.Get, key.GetTerms, requestlog.List, principal.ResolveNames}, showKey),
	shell.Private("POST", "/settings/interfaces/keys/{id}", op.List{key.Update, key.Get, key.GetTerms, requestlog.List, principal.ResolveNames}, saveKey),
	shell.Private("GET", "/settings/interfaces/keys/{id}/first", op.List{requestlog.List, key.Get}, showFirstCall),
	shell.Private("POST", "/settings/interfaces/keys/{id}/pause", op.List{key.Pause}, actOnKey(key.Pause, "keyPaused")),
	shell.Private("POST", "/settings/interfaces/keys/{id}/resume", op.List{key.Resume}, actOnKey(key.Resume, "keyResumed")),
	shell.Private("POST", "/settings/interfaces/keys/{id}/rotate", op.List{key.Rotate}, rotateKey),
	shell.Private("GET", "/settings/interfaces/keys/{id}/revoke", op.List{key.Get, webhook.ListInfos}, askToRevoke),
	shell.Private("POST", "/settings/interfaces/keys/{id}/revoke", op.List{webhook.RevokeKey}, revokeKey),

	shell.Private("GET", "/settings/interfaces/requests", op.List{requestlog.List, key.List, principal.ResolveNames}, showRequests),
	shell.Private("GET", "/settings/interfaces/requests/{id}", op.List{requestlog.List, lookup.ListCaused, key.Get, principal.ResolveNames, lookup.Titles, webhook.DeliveriesOf}, showRequest),
	shell.Private("POST", "/settings/interfaces/requests/{id}/resend", op.List{webhook.Resend}, resend),

	shell.Private("GET", "/settings/interfaces/usage", op.List{usage.Get, key.List, principal.ResolveNames}, showUsage),
}
