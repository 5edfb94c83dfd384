package api

import (
	"maps"

	"kartei/console/account"
	"kartei/console/gains"
	"kartei/console/oauth"
	"kartei/notify"
	"kartei/task"
	"kartei/webhook"
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
