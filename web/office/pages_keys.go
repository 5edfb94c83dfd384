package office

import (
	"kartei/api/op"
	"kartei/integration/key"
	"kartei/integration/requestlog"
	"kartei/integration/usage"
	"kartei/integration/webhook"
	"kartei/people/settings"
	"kartei/record/contact"
	"kartei/record/lookup"
)

// keysPages are the pages of this room.
var keysPages = []Page{
	private("GET", "/settings/interfaces/keys", op.List{key.List, settings.ResolveNames}, showKeys),
	private("GET", "/settings/interfaces/keys/new", op.List{key.GetTerms, settings.ListServiceAccounts, contact.Count}, showNewKey),
	private("POST", "/settings/interfaces/keys/new", op.List{key.Create, key.GetTerms, settings.ListServiceAccounts, contact.Count}, createKey),
	private("GET", "/settings/interfaces/keys/{id}", op.List{key.Get, key.GetTerms, requestlog.List, settings.ResolveNames}, showKey),
	private("POST", "/settings/interfaces/keys/{id}", op.List{key.Update, key.Get, key.GetTerms, requestlog.List, settings.ResolveNames}, saveKey),
	private("GET", "/settings/interfaces/keys/{id}/first", op.List{requestlog.List, key.Get}, showFirstCall),
	private("POST", "/settings/interfaces/keys/{id}/pause", op.List{key.Pause}, actOnKey(key.Pause, "keyPaused")),
	private("POST", "/settings/interfaces/keys/{id}/resume", op.List{key.Resume}, actOnKey(key.Resume, "keyResumed")),
	private("POST", "/settings/interfaces/keys/{id}/rotate", op.List{key.Rotate}, rotateKey),
	private("GET", "/settings/interfaces/keys/{id}/revoke", op.List{key.Get, webhook.ListInfos}, askToRevoke),
	private("POST", "/settings/interfaces/keys/{id}/revoke", op.List{webhook.RevokeKey}, revokeKey),

	private("GET", "/settings/interfaces/requests", op.List{requestlog.List, key.List, settings.ResolveNames}, showRequests),
	private("GET", "/settings/interfaces/requests/{id}", op.List{requestlog.List, lookup.ListCaused, key.Get, settings.ResolveNames, lookup.Titles, webhook.DeliveriesOf}, showRequest),
	private("POST", "/settings/interfaces/requests/{id}/resend", op.List{webhook.Resend}, resend),

	private("GET", "/settings/interfaces/usage", op.List{usage.Get, key.List, settings.ResolveNames}, showUsage),
}
