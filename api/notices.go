package api

import (
	"maps"

	"kartei/integration/oauth"
	"kartei/integration/webhook"
	"kartei/people/account"
	"kartei/people/gains"
	"kartei/people/notify"
	"kartei/record/task"
)

// NoticeForms returns the forms of the notices of all packages.
func NoticeForms() map[notify.Kind]notify.Form {
	all := maps.Clone(notify.Forms)
	maps.Copy(all, webhook.Forms)
	maps.Copy(all, task.Forms)
	maps.Copy(all, oauth.Forms)
	maps.Copy(all, account.Forms)
	maps.Copy(all, gains.Forms)
	return all
}
