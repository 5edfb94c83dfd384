package api

import (
	"maps"

	"kartei/people/account"
	"kartei/people/gains"
	"kartei/integration/oauth"
	"kartei/people/notify"
	"kartei/record/task"
	"kartei/integration/webhook"
)

// NoticeForms returns the forms of all notices.
func NoticeForms() map[notify.Kind]notify.Form {
	all := maps.Clone(notify.Forms)
	maps.Copy(all, webhook.Forms)
	maps.Copy(all, task.Forms)
	maps.Copy(all, oauth.Forms)
	maps.Copy(all, account.Forms)
	maps.Copy(all, gains.Forms)
	return all
}
