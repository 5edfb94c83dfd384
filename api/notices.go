package api

import (
	"maps"

	"kartei/console/oauth"
	"kartei/notify"
	"kartei/task"
	"kartei/webhook"
)

// NoticeForms returns the forms of all notices of the families and endpoints.
func NoticeForms() map[notify.Kind]notify.Form {
	all := maps.Clone(webhook.Forms)
	maps.Copy(all, task.Forms)
	maps.Copy(all, oauth.Forms)
	return all
}
