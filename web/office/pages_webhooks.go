package office

import (
	"kartei/api/op"
	"kartei/integration/event"
	"kartei/integration/webhook"
	"kartei/people/settings"
	"kartei/record/lookup"
)

// webhooksPages are the pages of this room.
var webhooksPages = []Page{
	private("GET", "/settings/interfaces/events", op.List{event.Read, webhook.OutcomesOf, lookup.Titles, settings.ResolveNames}, showEvents),
	private("GET", "/settings/interfaces/events/{id}", op.List{event.Read, webhook.DeliveriesOf, lookup.Titles, settings.ResolveNames}, showEvent),
	private("GET", "/settings/interfaces/webhooks", op.List{webhook.ListInfos, settings.ResolveNames}, showWebhooks),
	private("GET", "/settings/interfaces/webhooks/new", op.List{webhook.ListInfos}, showNewWebhook),
	private("POST", "/settings/interfaces/webhooks/new", op.List{webhook.CreateByPerson}, createWebhook),
	private("GET", "/settings/interfaces/webhooks/{id}", op.List{webhook.GetInfo, webhook.ListAttempts, settings.ResolveNames}, showWebhook),
	private("POST", "/settings/interfaces/webhooks/{id}", op.List{webhook.ChangeByPerson, webhook.GetInfo, webhook.ListAttempts, settings.ResolveNames}, saveWebhook),
	private("POST", "/settings/interfaces/webhooks/{id}/test", op.List{webhook.SendTest, webhook.GetInfo}, testWebhook),
	private("GET", "/settings/interfaces/webhooks/{id}/tests/{event}", op.List{webhook.GetInfo, webhook.ListAttempts}, showTest),
	private("POST", "/settings/interfaces/webhooks/{id}/enable", op.List{webhook.Enable, webhook.GetInfo}, enableWebhook),
	private("POST", "/settings/interfaces/webhooks/{id}/resend", op.List{webhook.Resend, webhook.GetInfo, webhook.ListAttempts, settings.ResolveNames}, resendTo),
	private("POST", "/settings/interfaces/webhooks/{id}/rotate", op.List{webhook.RotateByPerson, webhook.GetInfo}, rotateWebhook),
	private("GET", "/settings/interfaces/webhooks/{id}/delete", op.List{webhook.GetInfo}, askToDeleteWebhook),
	private("POST", "/settings/interfaces/webhooks/{id}/delete", op.List{webhook.DeleteByPerson, webhook.GetInfo}, deleteWebhook),
}
