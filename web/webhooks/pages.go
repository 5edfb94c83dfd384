// Package webhooks owns the pages of webhook endpoints and of the event feed.
package webhooks

import (
	"kartei/api/op"
	"kartei/integration/event"
	"kartei/integration/webhook"
	"kartei/people/principal"
	"kartei/record/lookup"
	"kartei/web/shell"
)

// Pages are the pages of this package. Each has its method, its path, the operations that it may
// call, and its handler.
var Pages = []shell.Page{
	shell.Private("GET", "/settings/interfaces/events", op.List{event.Read, webhook.OutcomesOf, lookup.Titles, principal.ResolveNames}, showEvents),
	shell.Private("GET", "/settings/interfaces/events/{id}", op.List{event.Read, webhook.DeliveriesOf, lookup.Titles, principal.ResolveNames}, showEvent),
	shell.Private("GET", "/settings/interfaces/webhooks", op.List{webhook.ListInfos, principal.ResolveNames}, showWebhooks),
	shell.Private("GET", "/settings/interfaces/webhooks/new", op.List{webhook.ListInfos}, showNewWebhook),
	shell.Private("POST", "/settings/interfaces/webhooks/new", op.List{webhook.CreateByPerson}, createWebhook),
	shell.Private("GET", "/settings/interfaces/webhooks/{id}", op.List{webhook.GetInfo, webhook.ListAttempts, principal.ResolveNames}, showWebhook),
	shell.Private("POST", "/settings/interfaces/webhooks/{id}", op.List{webhook.ChangeByPerson, webhook.GetInfo, webhook.ListAttempts, principal.ResolveNames}, saveWebhook),
	shell.Private("POST", "/settings/interfaces/webhooks/{id}/test", op.List{webhook.SendTest, webhook.GetInfo}, testWebhook),
	shell.Private("GET", "/settings/interfaces/webhooks/{id}/tests/{event}", op.List{webhook.GetInfo, webhook.ListAttempts}, showTest),
	shell.Private("POST", "/settings/interfaces/webhooks/{id}/enable", op.List{webhook.Enable, webhook.GetInfo}, enableWebhook),
	shell.Private("POST", "/settings/interfaces/webhooks/{id}/resend", op.List{webhook.Resend, webhook.GetInfo, webhook.ListAttempts, principal.ResolveNames}, resendTo),
	shell.Private("POST", "/settings/interfaces/webhooks/{id}/rotate", op.List{webhook.RotateByPerson, webhook.GetInfo}, rotateWebhook),
	shell.Private("GET", "/settings/interfaces/webhooks/{id}/delete", op.List{webhook.GetInfo}, askToDeleteWebhook),
	shell.Private("POST", "/settings/interfaces/webhooks/{id}/delete", op.List{webhook.DeleteByPerson, webhook.GetInfo}, deleteWebhook),
}
