// Package today owns the start page, the notifications and the help.
package today

import (
	"kartei/api/op"
	"kartei/people/account"
	"kartei/people/notify"
	"kartei/people/profile"
	"kartei/record/contact"
	"kartei/record/lookup"
	"kartei/record/task"
	"kartei/web/records"
	"kartei/web/shell"
)

// Pages has the pages of this package.
var Pages = []shell.Page{
	shell.Inside("GET", "/", op.List{account.GetSession, task.List, task.Get, lookup.Changes, notify.ListBell, lookup.Recent, contact.Count}.And(records.ListOps), showToday),
	shell.Inside("GET", "/bell", op.List{notify.ListBell, lookup.Titles}, showBell),
	shell.Inside("POST", "/bell", op.List{notify.ReadBell}, readBell),

	shell.Inside("GET", "/help", nil, showHelp),
	shell.Inside("POST", "/help", op.List{profile.Set}, switchKeys),
	shell.Inside("POST", "/theme", op.List{profile.Set}, switchTheme),
}
